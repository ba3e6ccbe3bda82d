//! The run's own folder: its audit, and what a vendor must not find elsewhere.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Error;

/// A folder that only this user can look into, gone when the run is over.
#[derive(Debug)]
pub struct PrivateRoom {
    path: PathBuf,
}

/// An id for a run, which no other run on this machine has.
pub fn run_id() -> String {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("mh-run-{}-{nanos:x}", std::process::id())
}

impl PrivateRoom {
    /// Make it under this name: in the user's runtime folder, where a sandbox that lets tools write to the
    /// temporary folder does not reach, else in the temporary folder.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn new(run: &str) -> Result<PrivateRoom, Error> {
        let me = rustix::process::geteuid().as_raw();
        let own = |folder: &PathBuf| std::fs::metadata(folder).is_ok_and(|found| found.is_dir() && found.uid() == me);
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let base = runtime.filter(own).unwrap_or_else(std::env::temp_dir);
        let path = base.join(run);
        // exclusive, so nobody else's folder is ever taken
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| Error::by(&path, "", error))?;
        match std::fs::canonicalize(&path) {
            Ok(path) => Ok(PrivateRoom { path }),
            Err(error) => Err(Error::by(&path, "", error)),
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A folder in it, made if need be.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(|error| Error::by(&path, "", error))?;
        Ok(path)
    }
}

impl Drop for PrivateRoom {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
