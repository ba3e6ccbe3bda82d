//! The lock that lets one `mh-setup` at a time change a folder.

use std::fs::TryLockError;
use std::path::Path;

use super::Error;

/// The lock on a folder, until it is dropped. The folder itself is locked, so no lock file is left behind.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "dropping the file unlocks the folder")] std::fs::File);

/// Lock the folder of a file, or of the file that a link leads to.
///
/// # Errors
/// Another `mh-setup` holds the lock, or the folder cannot be opened.
pub fn lock(file: &Path) -> Result<Lock, Error> {
    let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.into());
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let open = std::fs::File::open(folder).map_err(|error| Error::by(folder, "", error))?;
    match open.try_lock() {
        Ok(()) => Ok(Lock(open)),
        Err(TryLockError::WouldBlock) => {
            Err(Error::fault(folder, "another mh-setup is at work in this folder; try again when it is done"))
        }
        Err(TryLockError::Error(error)) => Err(Error::by(folder, "it cannot be locked", error)),
    }
}
