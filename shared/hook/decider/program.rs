//! A decider that is a program.
//!
//! The program gets pipes of its own: Codex waits for every process that holds the hook's stderr, and runs the call
//! when its patience is over. It also gets a process group of its own, which ends with the answer.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Progress, Unanswered, only_line, put, take, unblock, wait_any};
use crate::decide::clipped;
use crate::frame::shown;
use crate::os::signals;
use crate::os::words;

/// Variables that change a program before its first line. A vendor's own settings can put them into the hook's
/// environment in mid-session (Claude Code, `env`).
const LOADED: [&str; 6] = ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "PYTHONSTARTUP"];

/// The time between two looks at a program that has sent its line or closed its stdout.
const PAUSE: Duration = Duration::from_millis(1);

/// Start the program, send the line, take the answer, and end the program.
pub fn ask(program: &Path, line: &[u8], deadline: Instant) -> Result<Vec<u8>, Unanswered> {
    let mut command = Command::new(program);
    for name in LOADED {
        command.env_remove(name);
    }
    // the agent can choose the hook's folder
    command.current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = signals::free(|| command.spawn());
    let mut child = started.map_err(|error| Unanswered::fault(format!("cannot be started: {}", words(error))))?;
    let said = converse(&mut child, line, deadline);
    // the program is not reaped yet, so the number is still its own
    if let Some(group) = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let status = child.wait().map_err(|error| Unanswered::fault(format!("was lost: {}", words(error))));
    let (said, complaint) = said?;
    match status? {
        status if status.success() => only_line(said),
        status => Err(Unanswered::fault(failed(status, &complaint))),
    }
}

fn failed(status: ExitStatus, complaint: &[u8]) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended in an unknown way".into(),
    };
    let complaint = String::from_utf8_lossy(complaint);
    match complaint.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{how}: {}", clipped(&shown(line.trim()), 200)),
        None => how,
    }
}

/// Until the program has ended and its output is read. A grandchild may hold the output open: then the bytes in the
/// pipe at the program's end are all.
fn converse(child: &mut Child, mut line: &[u8], deadline: Instant) -> Result<(Vec<u8>, Vec<u8>), Unanswered> {
    let (mut stdin, mut stdout, mut stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    stdin.as_ref().map_or(Ok(()), unblock)?;
    stdout.as_ref().map_or(Ok(()), unblock)?;
    stderr.as_ref().map_or(Ok(()), unblock)?;
    let (mut said, mut complaint) = (Vec::new(), Vec::new());
    loop {
        let over = ended(child);
        if let Some(file) = &stdin
            && !matches!(put(file, &mut line), Ok(Progress::Went | Progress::Later))
        {
            // the line is written, or the program does not want it: the answer is checked for the call's id anyway
            stdin = None;
        }
        let heard = drain(&mut stdout, &mut said)?;
        drain(&mut stderr, &mut complaint)?;
        complaint.truncate(4096);
        if over && !heard {
            return Ok((said, complaint));
        }
        let closing = over || stdout.is_none() || said.contains(&b'\n');
        let mut files = Vec::with_capacity(3);
        files.extend(stdin.iter().map(|file| PollFd::new(file, PollFlags::OUT)));
        files.extend(stdout.iter().map(|file| PollFd::new(file, PollFlags::IN)));
        files.extend(stderr.iter().map(|file| PollFd::new(file, PollFlags::IN)));
        wait_any(&mut files, closing.then_some(PAUSE), deadline)?;
    }
}

/// Read the available bytes; `true` if there were any. At its end the file is dropped.
fn drain(file: &mut Option<impl rustix::fd::AsFd>, into: &mut Vec<u8>) -> Result<bool, Unanswered> {
    let mut any = false;
    while let Some(open) = file {
        match take(open, into)? {
            Progress::Went => any = true,
            Progress::Later => break,
            Progress::Over => *file = None,
        }
    }
    Ok(any)
}

/// Whether the program has ended. It stays unreaped, so its group number stays its own.
fn ended(child: &Child) -> bool {
    let Some(pid) = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0)) else { return true };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), look), Ok(None))
}
