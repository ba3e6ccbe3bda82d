//! A vendor's configuration as a file: its text, and its path as an entry can have it.

use std::path::{Path, PathBuf};

use super::Unplaced;
use crate::adapter::Environment;
use crate::os;

/// The longest configuration that is read, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// The text of a file; `None` if there is no file of that name.
pub fn text_of(file: &Path) -> Option<Result<String, String>> {
    #[expect(clippy::disallowed_methods, reason = "whoever asks names the file")]
    let found = std::fs::symlink_metadata(file);
    if let Err(error) = found {
        return (error.kind() != std::io::ErrorKind::NotFound).then(|| Err(os::words(error)));
    }
    let bytes = os::read_bounded(file, LONGEST).map_err(|refusal| refusal.to_string());
    Some(bytes.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| format!("byte {}: not UTF-8", error.utf8_error().valid_up_to()))
    }))
}

/// An absolute path, its folder with links followed. A link that is the file itself stays, since its target may change
/// from step to step.
///
/// # Errors
/// There is no working folder, or no path.
pub fn absolute(path: &Path) -> Result<PathBuf, os::Error> {
    let whole = std::path::absolute(path).map_err(|error| os::Error::by(path, "", error))?;
    let real = whole.parent().and_then(|folder| fs_err::canonicalize(folder).ok());
    Ok(match (real, whole.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => fs_err::canonicalize(&whole).unwrap_or(whole),
    })
}

/// The folder that a variable names; `None` if the variable is missing or empty.
///
/// # Errors
/// The path is relative, so the folder would depend on where the vendor starts.
pub fn named_by(variable: &str, environment: Environment<'_>) -> Result<Option<PathBuf>, Unplaced> {
    match environment(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from) {
        Some(folder) if folder.is_relative() => Err(Unplaced::Missing(format!(
            "{variable} is {}, a relative path, which is another folder wherever the vendor is started; make it absolute",
            folder.display()
        ))),
        folder => Ok(folder),
    }
}

/// A path that can stand in JSON and TOML.
///
/// # Errors
/// It is not UTF-8.
pub fn in_words(path: &Path) -> Result<String, os::Error> {
    path.to_str().map(String::from).ok_or_else(|| os::Error::fault(path, "not UTF-8, so no entry can name it"))
}
