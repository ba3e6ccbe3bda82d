use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::file::words_of;

/// An operation on a file, a descriptor or this process that failed.
#[derive(Debug)]
pub enum Error {
    /// Shown as ``cannot read `FILE`: why``.
    Undone { doing: &'static str, path: PathBuf, source: io::Error },
    /// Shown as `FILE: what: why`.
    File {
        path: PathBuf,
        /// Empty where the system's error says it all.
        what: Cow<'static, str>,
        source: Option<io::Error>,
    },
    /// Shown as `what: why`.
    Process {
        /// Empty where the system's error says it all.
        what: &'static str,
        source: Option<io::Error>,
    },
}

impl Error {
    pub fn fault(path: &Path, what: impl Into<Cow<'static, str>>) -> Error {
        Error::File { path: path.into(), what: what.into(), source: None }
    }

    pub fn by(path: &Path, what: &'static str, source: impl Into<io::Error>) -> Error {
        Error::File { path: path.into(), what: what.into(), source: Some(source.into()) }
    }

    pub(super) fn undone(doing: &'static str, path: &Path, source: io::Error) -> Error {
        Error::Undone { doing, path: path.into(), source }
    }

    pub(super) fn process(what: &'static str) -> Error {
        Error::Process { what, source: None }
    }

    /// An error of the system that needs no words of ours: it names its file, or there is none.
    pub(super) fn plain(source: impl Into<io::Error>) -> Error {
        Error::Process { what: "", source: Some(source.into()) }
    }

    /// The message without the file's name, for a caller that names the file itself.
    pub fn why(&self) -> String {
        match self {
            Error::Undone { source, .. } => words_of(source),
            Error::File { what, source, .. } => joined(what, source.as_ref()),
            Error::Process { what, source } => joined(what, source.as_ref()),
        }
    }

    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Error::Undone { source, .. } => source.kind(),
            Error::File { source, .. } | Error::Process { source, .. } => {
                source.as_ref().map_or(io::ErrorKind::Other, io::Error::kind)
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Undone { doing, path, .. } => write!(f, "{doing} `{}`: {}", path.display(), self.why()),
            Error::File { path, .. } => write!(f, "{}: {}", path.display(), self.why()),
            Error::Process { .. } => f.write_str(&self.why()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Undone { source, .. } => Some(source),
            Error::File { source, .. } | Error::Process { source, .. } => source.as_ref().map(|source| source as _),
        }
    }
}

fn joined(what: &str, source: Option<&io::Error>) -> String {
    match source {
        None => what.into(),
        Some(source) if what.is_empty() => words_of(source),
        Some(source) => format!("{what}: {}", words_of(source)),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn an_error_names_the_operation_the_file_and_the_reason() {
        let denied = || io::Error::from_raw_os_error(13);
        let file = Path::new("/a/b");
        for (error, shown, why, source) in [
            (
                Error::undone("cannot read", file, denied()),
                "cannot read `/a/b`: permission denied",
                "permission denied",
                true,
            ),
            (Error::fault(file, "it is a link"), "/a/b: it is a link", "it is a link", false),
            (Error::by(file, "", denied()), "/a/b: permission denied", "permission denied", true),
            (
                Error::by(file, "it cannot be locked", denied()),
                "/a/b: it cannot be locked: permission denied",
                "it cannot be locked: permission denied",
                true,
            ),
            (Error::plain(denied()), "permission denied", "permission denied", true),
            (Error::process("it is closed"), "it is closed", "it is closed", false),
        ] {
            assert_eq!((error.to_string(), error.why()), (shown.into(), why.into()));
            assert_eq!(error.source().is_some(), source, "{shown}");
            assert_eq!(error.kind() == io::ErrorKind::PermissionDenied, source, "{shown}");
        }
    }
}
