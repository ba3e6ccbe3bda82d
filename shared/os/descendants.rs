//! Ending everything that a turn started, and keeping out of its reach.
//!
//! Both vendors run tools in sessions and groups of their own, so the end of the vendor, or of its
//! group, leaves them. As their subreaper this process inherits what is orphaned, and can find it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::io::Errno;
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
        // whatever is orphaned below is this process's child, so where it has none it has no descendants
        let childless = loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        if childless || Instant::now() > deadline {
            return;
        }
        for pid in descendants(std::process::id()) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// All processes below this one, as far as they can be told while they come and go.
fn descendants(own: u32) -> Vec<u32> {
    let mut all = Vec::new();
    let mut next = vec![own];
    while let Some(pid) = next.pop() {
        match children(pid) {
            Some(children) => {
                all.extend(&children);
                next.extend(children);
            }
            // it is gone, or the kernel keeps no such lists (CONFIG_PROC_CHILDREN; Linux 3.5)
            None if pid == own => return searched(own),
            None => {}
        }
    }
    all
}

/// The children of a process, by its threads: each has a list of those that it made.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => all.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
            // a thread may have ended
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(all)
}

/// The same by the parents of all processes that there are.
fn searched(own: u32) -> Vec<u32> {
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
    fn what_is_below_a_process_is_found_by_its_own_lists_and_by_all_there_are() {
        use std::io::{BufRead as _, BufReader};
        use std::process::{Command, Stdio};
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "sh -c 'sleep 600 & echo; wait' & setsid sleep 600 & read -r _; kill 0"]);
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        let patience = Instant::now() + PATIENCE;
        while descendants(child.id()).len() < 3 && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(5));
        }
        let sorted = |mut all: Vec<u32>| {
            all.sort_unstable();
            all
        };
        let (by_lists, by_all) = (sorted(descendants(child.id())), sorted(searched(child.id())));
        for pid in by_all.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?)) {
            kill_process(pid, Signal::KILL).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((by_lists.len(), &by_lists), (3, &by_all));
        assert_eq!(children(u32::MAX), None);
    }

    #[test]
    fn the_parent_is_read_behind_any_name() {
        assert_eq!(parent("12 (a) b) c) S 7 12 12 0"), Some(7));
        assert_eq!(parent(""), None);
    }
}
