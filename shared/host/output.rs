//! The one write.

use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::fd::BorrowedFd;
use rustix::fs::{FileType, fstat, stat};
use rustix::io::Errno;

use super::Exit;
use super::file::words;
use super::input::wait;
use crate::vendor::Wire;

/// How long a reader of a program for people may take.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Give the answer. What cannot be given ends in a block: an answer that is lost is, to a vendor,
/// leave to go on.
pub fn deliver(wire: &Wire, deadline: Instant) -> Exit {
    let stderr = rustix::stdio::stderr();
    let stdout_fault = match wire.stdout.is_empty() {
        true => None,
        false => put(rustix::stdio::stdout(), &wire.stdout, deadline).err(),
    };
    if let Some(why) = stdout_fault {
        let lost = format!("the answer could not be written to standard output: {why}\n");
        let _ = put(stderr, if wire.stderr.is_empty() { &lost } else { &wire.stderr }, deadline);
        return Exit::Blocked;
    }
    let stderr_lost = !wire.stderr.is_empty() && put(stderr, &wire.stderr, deadline).is_err();
    if !wire.block || (stderr_lost && wire.needs_stderr && !wire.stdout.is_empty()) {
        return Exit::Answered;
    }
    Exit::Blocked
}

/// Write text for a person to standard output; `false`, and a line on stderr, where that fails.
pub fn say(program: &str, text: &str) -> bool {
    let written = put(rustix::stdio::stdout(), text, Instant::now() + PATIENCE);
    if let Err(why) = &written {
        tell(&format!("{program}: could not write to standard output: {why}\n"));
    }
    written.is_ok()
}

/// Write text for a person to stderr. That nobody hears it changes nothing.
pub fn tell(text: &str) {
    let _ = put(rustix::stdio::stderr(), text, Instant::now() + PATIENCE);
}

/// Write all of it. A descriptor that was closed when the process began is `/dev/null` by now,
/// where writing succeeds and nobody reads.
fn put(file: BorrowedFd<'_>, text: &str, deadline: Instant) -> Result<(), String> {
    if is_null(file) {
        return Err("it is closed, or /dev/null".into());
    }
    let mut left = text.as_bytes();
    while !left.is_empty() {
        match rustix::io::write(file, left) {
            Ok(0) => return Err("nothing was taken".into()),
            Ok(taken) => left = &left[taken..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait(&file, PollFlags::OUT, deadline)?,
            Err(error) => return Err(words(error)),
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
