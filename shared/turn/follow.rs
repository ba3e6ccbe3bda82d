//! A file that others append lines to, read as it grows.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Where in a file the reading stands.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    at: u64,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

impl Follow {
    /// Read this file from this byte on.
    pub fn new(path: PathBuf, at: u64) -> Follow {
        Follow { path, at, rest: Vec::new() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lines that are new and whole, without their line feeds. A file that is not there has none.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn lines(&mut self) -> std::io::Result<Vec<Vec<u8>>> {
        let mut file = match fs_err::File::open(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        if file.metadata()?.len() <= self.at {
            return Ok(Vec::new());
        }
        file.seek(SeekFrom::Start(self.at))?;
        let before = self.rest.len();
        file.read_to_end(&mut self.rest)?;
        self.at += u64::try_from(self.rest.len() - before).unwrap_or(0);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let rest = self.rest.split_off(end + 1);
        let whole = std::mem::replace(&mut self.rest, rest);
        Ok(whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_line_is_told_once_and_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut follow = Follow::new(path.clone(), 2);
        assert!(follow.lines().unwrap().is_empty());
        let mut file = std::fs::File::create(&path).unwrap();
        for (added, told) in [("x\n", &[][..]), ("one\ntw", &["one"]), ("", &[]), ("o\n\nthree\n", &["two", "three"])] {
            file.write_all(added.as_bytes()).unwrap();
            assert_eq!(follow.lines().unwrap(), told.iter().map(|line| line.as_bytes()).collect::<Vec<_>>());
        }
    }
}
