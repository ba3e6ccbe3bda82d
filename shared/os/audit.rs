//! The audit file: each line is appended whole or not at all.
//!
//! This protects against accidents. An agent that has a shell can append lines too.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use super::Error;

/// The time by RFC 3339 in UTC. A clock before 1970 or after 9999 gives the first or the last moment of that range,
/// since RFC 3339 has no others.
pub fn now() -> String {
    let last = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    humantime::format_rfc3339_millis(SystemTime::now().clamp(UNIX_EPOCH, last)).to_string()
}

/// Append a line, line feed included, by one write. The file is made readable for its owner alone. A link is not
/// followed, only a regular file is written to, and nothing blocks.
///
/// The system never mixes one append with another. A line that a crash cut short is ended first; two hooks that see the
/// same stump leave a blank line.
pub fn append(path: &Path, text: &str) -> Result<(), Error> {
    let (file, size) = open_audit(path)?;
    let mut line = Vec::new();
    if let Some(last) = size.checked_sub(1) {
        let mut byte = [b'\n'];
        rustix::io::pread(&file, &mut byte, last).map_err(|error| Error::by(path, "", error))?;
        line.extend((byte != [b'\n']).then_some(b'\n'));
    }
    line.extend(text.as_bytes());
    match rustix::io::write(&file, &line) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(_) => Err(Error::fault(path, "the disk is full, or a limit is reached")),
        Err(error) => Err(Error::by(path, "", error)),
    }
}

/// Open the audit as [`append`] does; the number is its size. A file that is missing is made.
pub fn open_audit(path: &Path) -> Result<(rustix::fd::OwnedFd, u64), Error> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::RUSR | Mode::WUSR).map_err(|error| match error {
        Errno::LOOP => Error::fault(path, "it is a link"),
        error => Error::by(path, "", error),
    })?;
    let found = fstat(&file).map_err(|error| Error::by(path, "", error))?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok((file, u64::try_from(found.st_size).unwrap_or(0))),
        _ => Err(Error::fault(path, "it is not a regular file")),
    }
}
