//! Writing to stdout and stderr.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::fd::BorrowedFd;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, stat};
use rustix::io::Errno;

use super::input::wait;
use super::{Error, Exit};

/// The time that a program for people waits for its reader.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The time after which stderr counts as unread.
const IDLE: Duration = Duration::from_secs(3);

/// A hook's whole answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wire {
    /// Empty, or one JSON object with its line feed.
    pub stdout: String,
    /// Empty, or the reason.
    pub stderr: String,
    /// The process ends with 2.
    pub block: bool,
    /// The vendor takes exit 2 with a blank stderr for permission, so an answer whose stderr is lost must go out by
    /// stdout alone.
    pub needs_stderr: bool,
}

impl Wire {
    /// No output and exit 0.
    pub fn silence() -> Wire {
        Wire::default()
    }
}

/// Write the answer. If a part of it cannot be written, the exit code blocks the call: a vendor takes a lost answer for
/// permission to go on.
pub fn deliver(wire: &Wire, deadline: Instant) -> Exit {
    let stderr = rustix::stdio::stderr();
    let stdout = match wire.stdout.is_empty() {
        true => Ok(Heard::Nowhere),
        false => answer(rustix::stdio::stdout(), &wire.stdout, deadline),
    };
    let stdout = match stdout {
        Ok(heard) => heard,
        Err(why) => {
            let lost = format!("the answer could not be written to standard output: {why}\n");
            let _ = answer(stderr, if wire.stderr.is_empty() { &lost } else { &wire.stderr }, deadline);
            return Exit::Blocked;
        }
    };
    let stderr = match wire.stderr.is_empty() {
        true => Heard::There,
        false => answer(stderr, &wire.stderr, deadline).unwrap_or(Heard::Nowhere),
    };
    match (stderr, stdout) {
        _ if !wire.block => Exit::Answered,
        (Heard::Nowhere, Heard::There) if wire.needs_stderr => Exit::Answered,
        _ => Exit::Blocked,
    }
}

/// Whether a vendor can have read what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    There,
    /// Into a file, for a person to read later: no vendor gives its hooks a file.
    Nowhere,
}

/// Write text for a person to stdout. On failure, stderr says so and the result is `false`.
pub fn say(program: &str, text: &str) -> bool {
    let stdout = rustix::stdio::stdout();
    let written = match is_closed(stdout) {
        true => Err(Error::process("it is closed")),
        false => put(stdout, text.as_bytes(), Instant::now() + PATIENCE),
    };
    if let Err(why) = &written {
        tell(&format!("{program}: could not write to standard output: {why}\n"));
    }
    written.is_ok()
}

/// Write text for a person to stderr. A failure changes nothing.
pub fn tell(text: &str) {
    let _ = put(rustix::stdio::stderr(), text.as_bytes(), Instant::now() + PATIENCE);
}

/// Write text for a person to stderr. The result is `false` once nobody has read anything for [`IDLE`].
pub fn tell_if_read(text: &str) -> bool {
    let stderr = rustix::stdio::stderr();
    text.as_bytes().chunks(AT_ONCE).all(|piece| {
        let until = Instant::now() + IDLE;
        wait(&stderr, PollFlags::OUT, until).is_ok() && put(stderr, piece, until).is_ok()
    })
}

/// Whether a descriptor was closed when the process began. Rust's runtime has opened `/dev/null` in its place for
/// reading and writing; a shell's `> /dev/null` opens it for writing alone.
pub fn is_closed(file: BorrowedFd<'_>) -> bool {
    is_null(file) && fcntl_getfl(file).map_or(true, |flags| flags.contains(OFlags::RDWR))
}

/// Write for a vendor. Writing to `/dev/null` and other devices succeeds though no vendor reads them, so it is an error
/// here.
fn answer(file: BorrowedFd<'_>, text: &str, deadline: Instant) -> Result<Heard, Error> {
    let heard = match fstat(file).map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(FileType::CharacterDevice) if !file.is_terminal() => Err("it is closed, /dev/null, or another device"),
        Ok(FileType::RegularFile) => Ok(Heard::Nowhere),
        Ok(_) => Ok(Heard::There),
        Err(_) => Err("it is closed"),
    }
    .map_err(Error::process)?;
    put(file, text.as_bytes(), deadline).map(|()| heard)
}

/// Write all of it, however long the reader takes: the deadline is a year away.
pub fn put_all(file: BorrowedFd<'_>, text: &[u8]) -> Result<(), Error> {
    put(file, text, Instant::now() + Duration::from_secs(31_536_000))
}

/// The bytes that a pipe takes without blocking, once it has any room (`PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// The time that each output gets even if the deadline has passed: the other output may have used it up.
const MOMENT: Duration = Duration::from_millis(500);

/// Write all of it. A plain write to a full pipe that nobody reads would block for ever, so each write waits for room.
fn put(file: BorrowedFd<'_>, mut left: &[u8], deadline: Instant) -> Result<(), Error> {
    let deadline = deadline.max(Instant::now() + MOMENT);
    while !left.is_empty() {
        // a descriptor that cannot be waited for is written to all the same: the write's error says what is wrong with
        // it
        if let Err(why) = wait(&file, PollFlags::OUT, deadline)
            && deadline <= Instant::now()
        {
            return Err(why);
        }
        match rustix::io::write(file, &left[..left.len().min(AT_ONCE)]) {
            Ok(0) => return Err(Error::process("nothing was taken")),
            Ok(taken) => left = &left[taken..],
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(Error::plain(error)),
        }
    }
    Ok(())
}

fn is_null(file: BorrowedFd<'_>) -> bool {
    let device = |mode| FileType::from_raw_mode(mode) == FileType::CharacterDevice;
    match fstat(file) {
        Ok(found) if device(found.st_mode) => stat("/dev/null").is_ok_and(|null| null.st_rdev == found.st_rdev),
        Ok(_) => false,
        Err(_) => true,
    }
}
