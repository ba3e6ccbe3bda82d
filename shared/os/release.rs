//! A vendor's program: where it lies, which release it is, and its output while it runs.

use std::fmt;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::os;

/// The time that [`said`] gives a program.
const PATIENCE: Duration = Duration::from_secs(20);

/// A release number of three parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(u64, u64, u64);

impl Release {
    /// The first release number in a text.
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

/// The result of looking for a vendor's program on PATH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    Nowhere,
    /// The program exists and does not tell its release, for this reason.
    Silent(PathBuf, String),
    At(PathBuf, Release),
}

/// The first program of this name in the absolute folders of PATH. An empty or relative folder is passed over: what it
/// holds depends on the working folder.
pub fn on_path(word: &str) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(word)).find(runs)
}

pub fn installed(word: &str) -> Installed {
    let Some(program) = on_path(word) else { return Installed::Nowhere };
    match said(asking_release(&program)) {
        Ok(text) => match Release::find(&text) {
            Some(release) => Installed::At(program, release),
            None => Installed::Silent(program, "its --version names none".into()),
        },
        Err(why) => Installed::Silent(program, why.to_string()),
    }
}

pub fn asking_release(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--version");
    command
}

/// The most that is kept of a program's output, in bytes.
const KEPT: u64 = 1 << 20;

/// The reason why a program's output could not be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    Unstarted(String),
    /// Waiting for its end failed.
    Lost(String),
    /// It ran longer than this.
    Endless(Duration),
    /// It ended, and a child of its own holds its stdout open.
    LeftOpen,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::Unstarted(why) | NoAnswer::Lost(why) => f.write_str(why),
            NoAnswer::Endless(patience) => write!(f, "it was not done after {} seconds", patience.as_secs()),
            NoAnswer::LeftOpen => f.write_str("its output had no end"),
        }
    }
}

impl std::error::Error for NoAnswer {}

/// A program's stdout, at most its first megabyte. Empty where a child of the program still holds stdout open
/// [`LEFT_OPEN`] after its end.
pub fn said(command: Command) -> Result<String, NoAnswer> {
    match said_within(command, PATIENCE, LEFT_OPEN) {
        Err(NoAnswer::LeftOpen) => Ok(String::new()),
        said => said,
    }
}

/// A program's stdout. `patience` is the time for the program to end, and `open` the time after that for its stdout to
/// end.
pub fn said_within(mut command: Command, patience: Duration, open: Duration) -> Result<String, NoAnswer> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = started(command)?;
    let heard = listen(child.stdout.take());
    ended(&mut child, patience)?;
    heard.recv_timeout(open).map_err(|_| NoAnswer::LeftOpen)
}

/// The time that stdout may stay open after a program's end: a child may hold it, and on a busy machine the reading
/// thread may be late.
pub const LEFT_OPEN: Duration = Duration::from_secs(5);

/// Start a program in a process group of its own, so that the program can be ended with everything it starts.
pub fn started(mut command: Command) -> Result<Child, NoAnswer> {
    use std::os::unix::process::CommandExt as _;
    // the command holds the child's ends of the pipes and is dropped here; kept, it would keep the pipes open
    command.process_group(0).spawn().map_err(|error| NoAnswer::Unstarted(os::words(error)))
}

/// Wait for a program's end. After `patience`, end it with its process group.
pub fn ended(child: &mut Child, patience: Duration) -> Result<ExitStatus, NoAnswer> {
    let start = Instant::now();
    loop {
        match child.try_wait().map_err(|error| NoAnswer::Lost(os::words(error)))? {
            Some(status) => return Ok(status),
            None if start.elapsed() > patience => {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.kill();
                let _ = child.wait();
                return Err(NoAnswer::Endless(patience));
            }
            None => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

/// Read a program's output while it runs, since a program with a full pipe waits for a reader. Bytes after the first
/// megabyte are dropped.
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
    fn a_release_is_found_in_the_vendors_output_and_compared_by_number() {
        let release = |text| Release::find(text).unwrap();
        assert_eq!(release("2.1.332 (Claude Code)").to_string(), "2.1.332");
        assert_eq!(release("codex-cli 0.171.0\n").to_string(), "0.171.0");
        assert_eq!(release("codex-cli 0.172.0-alpha.1").to_string(), "0.172.0");
        assert_eq!(Release::find("v2 or so, 1.2"), None);
        assert!(release("2.1.9") < release("2.1.295") && release("2.2.0") > release("2.1.295"));
    }

    #[test]
    fn a_program_that_writes_more_than_a_pipe_holds_is_read_to_its_end() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo first; head -c 3000000 /dev/zero; exit 3"]);
        let text = said(command).unwrap();
        assert!(text.starts_with("first\n") && text.len() == 1 << 20, "{}", text.len());
    }

    #[test]
    fn a_child_that_holds_stdout_open_is_not_waited_for() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo 1.2.3; sleep 3 &"]);
        let said = said_within(command, PATIENCE, Duration::from_millis(50));
        assert_eq!(said, Err(NoAnswer::LeftOpen));
        let missing = said_within(Command::new("/nowhere/at/all"), PATIENCE, PATIENCE);
        assert_eq!(missing, Err(NoAnswer::Unstarted("no such file or directory".into())));
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = started(command).unwrap();
        let heard = listen(child.stdout.take());
        assert!(ended(&mut child, Duration::from_millis(300)).unwrap_err().to_string().contains("not done after"));
        // its stdout ends only when no process holds it open any more
        assert!(heard.recv_timeout(Duration::from_secs(60)).unwrap().trim().parse::<u32>().is_ok());
    }
}
