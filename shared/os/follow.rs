//! Reading a file while other programs append lines to it.

use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::file::unread;
use super::{Error, open_regular};

/// The most that is read of one file in a turn, in bytes. The file may be writable by anybody, and an ordinary turn
/// adds far less.
pub const MOST: u64 = 512 * 1024 * 1024;

/// The most lines that are read of one file in a turn. The byte limit alone would not do: what is kept of a line can be
/// larger than a short line.
pub const LINES: u64 = 1_000_000;

/// The bytes that are read at once.
const PIECE: u64 = 1024 * 1024;

/// A position in a file that grows.
#[derive(Debug, Default)]
pub struct Follow {
    path: PathBuf,
    from: u64,
    at: u64,
    lines: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
}

impl Follow {
    pub fn new(path: PathBuf, at: u64) -> Follow {
        Follow { path, from: at, at, lines: 0, rest: Vec::new() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Pass on each new whole line, without its line feed, up to the file's present end: a file that never stops
    /// growing blocks nobody. A file that is missing has no lines.
    ///
    /// # Errors
    /// The file exists and cannot be read, or is no regular file; or more was added than [`MOST`] and [`LINES`] allow.
    pub fn lines(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let mut file = match open_regular(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let end = file.metadata().map_err(Error::plain)?.len();
        if end.saturating_sub(self.from) > MOST || self.lines > LINES {
            return Err(too_long(&self.path));
        }
        if end <= self.at {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.at)).map_err(Error::plain)?;
        while self.at < end {
            let before = self.rest.len();
            let read = (&mut file).take(PIECE.min(end - self.at)).read_to_end(&mut self.rest).map_err(Error::plain)?;
            if read == 0 {
                break;
            }
            self.at += u64::try_from(read).unwrap_or(0);
            let Some(feed) = self.rest.iter().skip(before).rposition(|byte| *byte == b'\n') else { continue };
            let rest = self.rest.split_off(before + feed + 1);
            let whole = std::mem::replace(&mut self.rest, rest);
            for line in whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                self.lines += 1;
                if self.lines > LINES {
                    return Err(too_long(&self.path));
                }
                each(line);
            }
        }
        Ok(())
    }
}

pub fn too_long(path: &Path) -> Error {
    unread(path, io::Error::other(format!("more than {LINES} lines or {MOST} bytes were added to it")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn told(follow: &mut Follow) -> Vec<String> {
        let mut told = Vec::new();
        follow.lines(&mut |line| told.push(String::from_utf8(line.into()).unwrap())).unwrap();
        told
    }

    #[test]
    fn a_line_is_passed_on_once_and_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut follow = Follow::new(path.clone(), 2);
        assert!(told(&mut follow).is_empty());
        let mut file = fs_err::File::create(&path).unwrap();
        for (added, lines) in [("x\n", &[][..]), ("one\ntw", &["one"]), ("", &[]), ("o\n\nthree\n", &["two", "three"])]
        {
            file.write_all(added.as_bytes()).unwrap();
            assert_eq!(told(&mut follow), lines);
        }
    }

    #[test]
    fn a_line_of_several_pieces_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let long = "x".repeat(3 * PIECE as usize);
        fs_err::write(&path, format!("one\n{long}\n{long}\ntwo\nhalf")).unwrap();
        let mut follow = Follow::new(path, 0);
        assert!(told(&mut follow) == ["one", &long, &long, "two"]);
        assert!(told(&mut follow).is_empty());
    }

    #[test]
    fn a_file_that_grows_beyond_the_limits_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        // without a byte on the disk
        fs_err::File::create(&path).unwrap().set_len(MOST + 9).unwrap();
        let mut follow = Follow::new(path.clone(), 8);
        let why = follow.lines(&mut |_| {}).unwrap_err().to_string();
        assert!(why.contains("more than") && why.contains(path.to_str().unwrap()), "{why}");
        fs_err::write(&path, "\n\n1\n".repeat(LINES as usize + 1)).unwrap();
        let (mut follow, mut heard) = (Follow::new(path.clone(), 0), 0);
        for _ in 0..2 {
            assert!(follow.lines(&mut |_| heard += 1).unwrap_err().to_string().contains("more than"));
            assert_eq!(heard, LINES);
        }
        // what was there before counts for nothing
        fs_err::File::create(&path).unwrap().set_len(MOST + 9).unwrap();
        let mut follow = Follow::new(path, MOST);
        assert!(told(&mut follow).is_empty());
    }
}
