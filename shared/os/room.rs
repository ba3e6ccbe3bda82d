//! The run's private folder: it holds the audit and every file that must lie out of the agent's sight.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Error;

/// A folder that only this user can enter. Dropping the value removes it.
#[derive(Debug)]
pub struct PrivateRoom {
    path: PathBuf,
}

/// An id that no other run on this machine has.
pub fn run_id() -> String {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("mh-run-{}-{nanos:x}", std::process::id())
}

impl PrivateRoom {
    /// Make the folder in the user's runtime folder, which a sandbox that lets tools write to the temporary folder does
    /// not cover. Without a runtime folder it is made in the temporary folder.
    pub fn new(run: &str) -> Result<PrivateRoom, Error> {
        let me = rustix::process::geteuid().as_raw();
        let own = |folder: &PathBuf| std::fs::metadata(folder).is_ok_and(|found| found.is_dir() && found.uid() == me);
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let base = runtime.filter(own).unwrap_or_else(std::env::temp_dir);
        let path = base.join(run);
        // fails if it exists, so another user's folder is never taken
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| Error::by(&path, "", error))?;
        match std::fs::canonicalize(&path) {
            Ok(path) => Ok(PrivateRoom { path }),
            Err(error) => Err(Error::by(&path, "", error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A subfolder; made if it is missing.
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
