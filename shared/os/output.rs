//! The one write.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::fd::BorrowedFd;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, stat};
use rustix::io::Errno;

use super::input::wait;
use super::{Error, Exit};

/// How long a reader of a program for people may take.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How long one who reads along may take nothing.
const IDLE: Duration = Duration::from_secs(3);

/// What a pipe takes at once when it takes anything.
const TAKEN_WHOLE: usize = 4096;

/// What goes out: everything the hook process says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wire {
    /// Nothing, or one JSON object with its newline.
    pub stdout: String,
    /// Nothing, or the reason.
    pub stderr: String,
    /// Whether the process ends with 2.
    pub block: bool,
    /// Whether the vendor takes exit 2 with blank stderr for permission, so that an answer whose
    /// stderr is lost must go out by stdout alone.
    pub needs_stderr: bool,
}

impl Wire {
    /// Zero bytes, exit 0.
    pub fn silence() -> Wire {
        Wire::default()
    }
}

/// Give the answer. What cannot be given ends in a block: an answer that is lost is, to a vendor,
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

/// Whether what was written can have been heard at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// By whoever is there.
    There,
    /// It went into a file, for a person to read later: no vendor gives its hooks one.
    Nowhere,
}

/// Write text for a person to standard output; `false`, and a line on stderr, where that fails.
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

/// Write text for a person to stderr. That nobody hears it changes nothing.
pub fn tell(text: &str) {
    let _ = put(rustix::stdio::stderr(), text.as_bytes(), Instant::now() + PATIENCE);
}

/// Write text for a person to stderr, where it is read: `false`, when nobody has taken anything for
/// some seconds.
pub fn tell_if_read(text: &str) -> bool {
    let stderr = rustix::stdio::stderr();
    text.as_bytes().chunks(TAKEN_WHOLE).all(|piece| {
        let until = Instant::now() + IDLE;
        wait(&stderr, PollFlags::OUT, until).is_ok() && put(stderr, piece, until).is_ok()
    })
}

/// Whether a descriptor was closed when the process began. The runtime has put `/dev/null` there
/// then, for reading and writing; a shell that means `/dev/null` opens it for writing.
pub fn is_closed(file: BorrowedFd<'_>) -> bool {
    is_null(file) && fcntl_getfl(file).map_or(true, |flags| flags.contains(OFlags::RDWR))
}

/// Write what a vendor has to hear. On `/dev/null`, `/dev/zero` and their like writing succeeds, and nobody does.
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

/// Write all of it, however long the reader takes.
pub fn put_all(file: BorrowedFd<'_>, text: &[u8]) -> Result<(), Error> {
    put(file, text, Instant::now() + Duration::from_secs(31_536_000))
}

/// What a pipe takes without waiting, once it has any room at all (`PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// How long an output is tried even where the deadline has passed: the other one may have used it up.
const MOMENT: Duration = Duration::from_millis(500);

/// Write all of it. A full pipe that nobody reads would hold a plain write for ever, so nothing is
/// written before there is room for it.
fn put(file: BorrowedFd<'_>, mut left: &[u8], deadline: Instant) -> Result<(), Error> {
    let deadline = deadline.max(Instant::now() + MOMENT);
    while !left.is_empty() {
        // what cannot be waited for is written all the same: that tells what is wrong with it
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
