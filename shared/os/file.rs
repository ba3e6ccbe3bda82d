//! Reading a file that somebody else names: once, up to a limit, without blocking.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{Access, FileType, Mode, OFlags, access, fstat, open};
use rustix::io::Errno;

use super::Error;
use crate::seal::Refusal;

/// Open a regular file to read it. A FIFO, a device or a folder is refused without blocking, so a process that puts one
/// in the file's place holds nothing up.
pub fn open_regular(path: &Path) -> Result<std::fs::File, Error> {
    regular(path).map(|(file, _)| file.into()).map_err(|error| unread(path, error))
}

/// Whether something can be made in a folder, or in the nearest one above it that is there.
///
/// # Errors
/// Why not.
pub fn can_write_below(folder: &Path) -> Result<(), Error> {
    let there = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    let refused = |error| Error::by(there, "", error);
    if !there.is_dir() {
        return Err(refused(std::io::Error::from(Errno::NOTDIR)));
    }
    access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| refused(error.into()))
}

pub fn unread(path: &Path, error: std::io::Error) -> Error {
    Error::undone("cannot read", path, error)
}

fn regular(path: &Path) -> std::io::Result<(OwnedFd, usize)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = open(path, flags, Mode::empty())?;
    let found = fstat(&file)?;
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => return Ok((file, usize::try_from(found.st_size).unwrap_or(usize::MAX))),
        FileType::Directory => "a folder",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    };
    Err(std::io::Error::other(format!("it is {kind}, not a regular file")))
}

/// Read a regular file of at most `limit` bytes through one handle, so that the bytes that are checked are the bytes
/// that were read.
///
/// The refusal is [`Refusal::Unreadable`] or [`Refusal::TooLarge`].
pub fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, Refusal> {
    let unreadable = |error: std::io::Error| Refusal::Unreadable(words(error));
    let (file, size) = regular(path).map_err(unreadable)?;
    if size > limit {
        return Err(Refusal::TooLarge);
    }
    // one byte more than the file holds, so that its end is seen without growing
    let mut bytes = Vec::with_capacity(size + 1);
    loop {
        match rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            // the whole file, and the buffer had room for more: this is the end
            Ok(_) if bytes.len() == size => return Ok(bytes),
            Ok(_) if bytes.len() > limit => return Err(Refusal::TooLarge),
            Ok(_) if bytes.len() == bytes.capacity() => bytes.reserve(64 * 1024),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(unreadable(error.into())),
        }
    }
}

/// An error of the system without its number. Where the error names a file, the name stays in front.
pub fn words(error: impl Into<std::io::Error>) -> String {
    words_of(&error.into())
}

pub fn words_of(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let words = text.rsplit_once("`: ").map_or(0, |(file, _)| file.len() + 3);
    let mut letters = text[words..].chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase()).into_iter();
    text[..words].chars().chain(first).chain(letters).collect()
}
