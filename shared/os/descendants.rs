//! Ending everything that a turn started, and keeping out of its reach.
//!
//! Both vendors run tools in sessions and groups of their own, so the end of the vendor, or of its
//! group, leaves them. As their subreaper this process inherits what is orphaned, and can find it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use super::Error;

/// How long to go on ending what keeps starting new processes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Let no other program of the same user open what this one has open: its standard output is the answer, and its standard
/// input may be an embedder's word. Root is not kept out, unless the right to trace is taken from it.
///
/// # Errors
/// The system refuses it.
#[cfg(target_os = "linux")]
pub fn shut() -> Result<(), Error> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Error::plain)
}

/// Descriptors have no names there.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn shut() -> Result<(), Error> {
    Ok(())
}

/// Become the parent of whatever is orphaned below this process.
///
/// # Errors
/// The system has no such thing, or refuses it.
#[cfg(target_os = "linux")]
pub fn adopt() -> Result<(), Error> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(Error::plain)
}

/// Not measured there: what a vendor leaves in other groups may live on.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn adopt() -> Result<(), Error> {
    Ok(())
}

/// End every descendant of this process, and reap it. Whoever else waits for one of them may find
/// that it is reaped.
pub fn end_all() {
    let deadline = Instant::now() + PATIENCE;
    loop {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let left = descendants(std::process::id());
        if left.is_empty() || Instant::now() > deadline {
            return;
        }
        for pid in left {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// All processes below this one.
fn descendants(own: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let (Some(pid), Ok(stat)) = (pid, std::fs::read_to_string(entry.path().join("stat")))
            && let Some(parent) = parent(&stat)
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut all = Vec::new();
    let mut next = vec![own];
    while let Some(pid) = next.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            all.push(child);
            next.push(child);
        }
    }
    all
}

/// The parent in a line of `stat`: the second word after the name, which may hold anything.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_behind_any_name() {
        assert_eq!(parent("12 (a) b) c) S 7 12 12 0"), Some(7));
        assert_eq!(parent(""), None);
    }
}
