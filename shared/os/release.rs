//! The vendor's program and its release.

use std::fmt;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::os;

/// How long a program may take to tell its release.
const PATIENCE: Duration = Duration::from_secs(20);

/// A release: three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(u64, u64, u64);

impl Release {
    /// The first word of a text that is three numbers with dots between.
    pub fn find(text: &str) -> Option<Release> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
            let mut parts = word.split('.').map(|part| part.parse().ok());
            let release = Release(parts.next()??, parts.next()??, parts.next()??);
            parts.next().is_none().then_some(release)
        })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// What is known of the vendor's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// None of its name is on PATH.
    Nowhere,
    /// It is there and does not say its release; why.
    Silent(PathBuf, String),
    /// It is there, of this release.
    At(PathBuf, Release),
}

/// Look for a program on PATH and ask it for its release.
pub fn installed(word: &str) -> Installed {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let found =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(word)).find(runs);
    let Some(program) = found else { return Installed::Nowhere };
    let mut command = Command::new(&program);
    command.arg("--version");
    match said(command) {
        Ok(text) => match Release::find(&text) {
            Some(release) => Installed::At(program, release),
            None => Installed::Silent(program, "its --version names none".into()),
        },
        Err(why) => Installed::Silent(program, why),
    }
}

/// The most that is kept of what a program says, in bytes.
const KEPT: u64 = 1 << 20;

/// What a program says on its standard output, or the first megabyte of it.
///
/// # Errors
/// It could not be started, or was not done in time.
pub fn said(mut command: Command) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = started(command)?;
    let heard = listen(child.stdout.take());
    ended(&mut child, PATIENCE)?;
    Ok(heard.recv_timeout(LEFT_OPEN).unwrap_or_default())
}

/// How long what was said is waited for once a program has ended: a child of its own may hold the other end open, and on
/// a busy machine the reader may not have come to it yet.
pub const LEFT_OPEN: Duration = Duration::from_secs(5);

/// Start a program in a group of its own, so that it can be ended with all that it starts.
///
/// # Errors
/// It could not be started.
pub fn started(mut command: Command) -> Result<Child, String> {
    use std::os::unix::process::CommandExt as _;
    // the command holds the child's ends of its pipes, and goes with this function: an end would not be seen else
    command.process_group(0).spawn().map_err(os::words)
}

/// Wait for a program's end, and end it with its group when that takes too long.
///
/// # Errors
/// It was not done in time.
pub fn ended(child: &mut Child, patience: Duration) -> Result<ExitStatus, String> {
    let start = Instant::now();
    loop {
        match child.try_wait().map_err(os::words)? {
            Some(status) => return Ok(status),
            None if start.elapsed() > patience => {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it was not done after {} seconds", patience.as_secs()));
            }
            None => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

/// Read a program's words while it runs: it would wait for a reader once a pipe is full. What is over the first megabyte
/// is read and dropped.
pub fn listen(from: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = from.by_ref().take(KEPT).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        let _ = tell.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_found_in_what_the_vendors_say_and_compared_by_number() {
        let release = |text| Release::find(text).unwrap();
        assert_eq!(release("2.1.332 (Claude Code)").to_string(), "2.1.332");
        assert_eq!(release("codex-cli 0.171.0\n").to_string(), "0.171.0");
        assert_eq!(Release::find("v2 or so, 1.2"), None);
        assert!(release("2.1.9") < release("2.1.295") && release("2.2.0") > release("2.1.295"));
    }

    #[test]
    fn a_program_that_says_more_than_a_pipe_holds_is_heard_out() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo first; head -c 3000000 /dev/zero; exit 3"]);
        let text = said(command).unwrap();
        assert!(text.starts_with("first\n") && text.len() == 1 << 20, "{}", text.len());
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_has_started() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = started(command).unwrap();
        let heard = listen(child.stdout.take());
        assert!(ended(&mut child, Duration::from_millis(300)).unwrap_err().contains("not done after"));
        // the end of its output is seen, so nothing holds it open any more
        assert!(heard.recv_timeout(Duration::from_secs(60)).unwrap().trim().parse::<u32>().is_ok());
    }
}
