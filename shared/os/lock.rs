//! One `mh-setup` at a time.

use std::fs::TryLockError;
use std::path::Path;

use super::Error;

/// Holds a folder until it is dropped. The folder itself is locked, so nothing is left lying.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "holding it is all it is for")] std::fs::File);

/// Lock the folder that a file is in, behind a link if the file is one.
///
/// # Errors
/// Another one holds it, or it cannot be opened.
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
