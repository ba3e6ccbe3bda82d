//! Ending every process that a turn started, and keeping those processes from reading this one.
//!
//! Both vendors run tools in sessions and process groups of their own, so tools outlive the vendor and its group. This
//! process is their subreaper: orphans become its children, so it can find them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::io::Errno;
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

/// The parent's number in a line of `/proc/PID/stat`: the second word after the program's name, which may hold blanks
/// and brackets.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_by_each_own_list_and_by_all_processes() {
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
    fn the_parent_is_read_after_any_program_name() {
        assert_eq!(parent("12 (a) b) c) S 7 12 12 0"), Some(7));
        assert_eq!(parent(""), None);
    }
}
