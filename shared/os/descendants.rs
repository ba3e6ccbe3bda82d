//! Ending every process that a turn started, and keeping those processes from reading this one.
//!
//! Both vendors run tools in sessions and process groups of their own, so tools outlive the vendor and its group. This
//! process is their subreaper: orphans become its children, so it can find them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use super::Error;

/// The time after which [`end_all`] gives up on programs that keep starting new processes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keep other programs of the same user from opening this process's descriptors: stdout carries the answer, and stdin
/// may carry the embedder's commands. Root is kept out only if it may not trace.
#[cfg(target_os = "linux")]
pub fn shut() -> Result<(), Error> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Error::plain)
}

/// Elsewhere no path leads to a process's descriptors.
#[cfg(not(target_os = "linux"))]
pub fn shut() -> Result<(), Error> {
    Ok(())
}

/// Become the parent of every process that is orphaned below this one.
#[cfg(target_os = "linux")]
pub fn adopt() -> Result<(), Error> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(Error::plain)
}

/// Not measured elsewhere: processes that a vendor started in other groups may live on.
#[cfg(not(target_os = "linux"))]
pub fn adopt() -> Result<(), Error> {
    Ok(())
}

/// End and reap every descendant of this process. A caller that waits for one of them by itself may find it reaped
/// already.
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

/// The parent's number in a line of `/proc/PID/stat`: the second word after the program's name, which may hold blanks
/// and brackets.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_after_any_program_name() {
        assert_eq!(parent("12 (a) b) c) S 7 12 12 0"), Some(7));
        assert_eq!(parent(""), None);
    }
}
