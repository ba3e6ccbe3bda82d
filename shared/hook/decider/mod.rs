//! Asking an embedder: one line out, one line back, or a named fault.
//!
//! Nothing here judges an answer. An answer that is not whole or not in time is a fault, and a fault is a denial.

mod program;
mod socket;

#[cfg(feature = "run")]
pub use socket::same_user;

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec};
use rustix::fd::AsFd;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::os::words;
use crate::protocol::MAX_LINE;

/// The party that is asked about every call that the frame admits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// A program, started for each call.
    Program(PathBuf),
    /// A socket with a listener.
    Socket(PathBuf),
}

impl Decider {
    /// The forms that [`Decider::parse`] accepts, in words.
    pub const TAKES: &str = "exec:/abs/program or unix:/abs/socket";

    /// Only absolute paths are accepted, since the agent can change the working folder.
    pub fn parse(value: &OsStr) -> Option<Decider> {
        let bytes = value.as_bytes();
        let path = |bytes: &[u8]| Some(PathBuf::from(OsStr::from_bytes(bytes))).filter(|path| path.is_absolute());
        match (bytes.strip_prefix(b"exec:"), bytes.strip_prefix(b"unix:")) {
            (Some(rest), _) => path(rest).map(Decider::Program),
            (_, Some(rest)) => path(rest).map(Decider::Socket),
            _ => None,
        }
    }

    /// The program's or the socket's file.
    pub fn path(&self) -> &Path {
        match self {
            Decider::Program(path) | Decider::Socket(path) => path,
        }
    }

    /// Send a line and return the line that answers it, without its line feed.
    ///
    /// # Errors
    /// There is not one whole line before the deadline.
    pub fn ask(&self, line: &str, deadline: Instant) -> Result<Vec<u8>, Unanswered> {
        match self {
            Decider::Program(path) => program::ask(path, line.as_bytes(), deadline),
            Decider::Socket(path) => socket::ask(path, line.as_bytes(), deadline),
        }
    }
}

impl fmt::Display for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decider::Program(path) => write!(f, "exec:{}", path.display()),
            Decider::Socket(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The reason why there is no answer, to follow `the decider … `.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// Whether the time was over.
    pub late: bool,
    pub why: String,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Unanswered {}

impl Unanswered {
    fn late() -> Self {
        Unanswered { late: true, why: "was not done when the deadline passed".into() }
    }

    fn fault(why: impl Into<String>) -> Self {
        Unanswered { late: false, why: why.into() }
    }
}

/// The one line of a decider's output.
fn only_line(mut said: Vec<u8>) -> Result<Vec<u8>, Unanswered> {
    let end = said.iter().position(|byte| *byte == b'\n').unwrap_or(said.len());
    if said.get(end..).is_some_and(|rest| rest.iter().any(|byte| !byte.is_ascii_whitespace())) {
        return Err(Unanswered::fault("said more than one line"));
    }
    said.truncate(end);
    match said.iter().all(u8::is_ascii_whitespace) {
        true => Err(Unanswered::fault("said nothing")),
        false => Ok(said),
    }
}

/// Wait for any of these, at most this long and never past the deadline.
fn wait_any(files: &mut [PollFd<'_>], at_most: Option<Duration>, deadline: Instant) -> Result<(), Unanswered> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Unanswered::late());
    }
    let wait = at_most.map_or(left, |at_most| left.min(at_most));
    let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
    match rustix::event::poll(files, Some(&wait)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(Unanswered::fault(format!("cannot be waited for: {}", words(error)))),
    }
}

/// Make one of our descriptors non-blocking.
fn unblock(file: impl AsFd) -> Result<(), Unanswered> {
    let flags = rustix::fs::fcntl_getfl(&file).unwrap_or(OFlags::empty());
    rustix::fs::fcntl_setfl(&file, flags | OFlags::NONBLOCK)
        .map_err(|error| Unanswered::fault(format!("cannot be asked: {}", words(error))))
}

/// The result of a read or a write that does not block.
enum Progress {
    Went,
    Later,
    Over,
}

/// Read the available bytes, up to a line's limit and the one byte more that shows that it is exceeded.
fn take(file: impl AsFd, into: &mut Vec<u8>) -> Result<Progress, Unanswered> {
    into.reserve(16 * 1024);
    match rustix::io::read(file, rustix::buffer::spare_capacity(into)) {
        Ok(0) => Ok(Progress::Over),
        Ok(_) if into.len() > MAX_LINE => Err(Unanswered::fault(format!("said more than {MAX_LINE} bytes"))),
        Ok(_) => Ok(Progress::Went),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Progress::Later),
        Err(error) => Err(Unanswered::fault(format!("cannot be heard: {}", words(error)))),
    }
}

/// Write as much as goes, and remove it from the front.
fn put(file: impl AsFd, left: &mut &[u8]) -> Result<Progress, Errno> {
    match rustix::io::write(file, left) {
        Ok(written) => {
            *left = left.get(written..).unwrap_or_default();
            Ok(if left.is_empty() { Progress::Over } else { Progress::Went })
        }
        Err(Errno::AGAIN | Errno::INTR) => Ok(Progress::Later),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decider_is_named_by_kind_and_absolute_path() {
        let parse = |word: &str| Decider::parse(OsStr::new(word));
        assert_eq!(parse("exec:/a b"), Some(Decider::Program("/a b".into())));
        assert_eq!(parse("unix:/s"), Some(Decider::Socket("/s".into())));
        for none in ["exec:a", "unix:", "exec:", "/a", ""] {
            assert_eq!(parse(none), None, "{none}");
        }
    }

    #[test]
    fn exactly_one_line_is_an_answer() {
        let line = |said: &str| only_line(said.into()).map(|line| String::from_utf8(line).unwrap()).map_err(|u| u.why);
        assert_eq!(line("{}"), Ok("{}".into()));
        assert_eq!(line("{}\n \n"), Ok("{}".into()));
        assert_eq!(line("{}\n{}\n"), Err("said more than one line".into()));
        assert_eq!(line(" \n"), Err("said nothing".into()));
        assert_eq!(line(""), Err("said nothing".into()));
    }
}
