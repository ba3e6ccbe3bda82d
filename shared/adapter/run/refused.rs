//! The reasons why a vendor is not launched.

use std::{fmt, io};

use crate::os;

/// A layer around a launch that would override its decisions: its name, its effect, and the advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadowed(String);

impl Shadowed {
    /// From the layer's name and its effect.
    pub fn by(what: impl fmt::Display, how: impl fmt::Display) -> Shadowed {
        Shadowed(format!("{what}: {how}"))
    }

    /// From a line that has both already.
    pub fn line(line: String) -> Shadowed {
        Shadowed(line)
    }
}

impl fmt::Display for Shadowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Shadowed {}

/// A part of a launch that could not be made.
#[derive(Debug)]
pub enum Unprepared {
    /// A folder of the run's own.
    Folder(os::Error),
    /// A file in that folder.
    File(io::Error),
    /// The order does not allow it.
    Order(String),
}

impl fmt::Display for Unprepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // the run's own folder means nothing to the reader of this message
            Unprepared::Folder(error) => f.write_str(&error.why()),
            Unprepared::File(error) => f.write_str(&os::words_of(error)),
            Unprepared::Order(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Unprepared {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Unprepared::Folder(error) => Some(error),
            Unprepared::File(error) => Some(error),
            Unprepared::Order(_) => None,
        }
    }
}

impl From<os::Error> for Unprepared {
    fn from(error: os::Error) -> Self {
        Unprepared::Folder(error)
    }
}

impl From<io::Error> for Unprepared {
    fn from(error: io::Error) -> Self {
        Unprepared::File(error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn what_a_launch_lacks_is_said_in_the_words_of_its_cause() {
        let file = fs_err::read("/nowhere/at all").unwrap_err();
        let file = Unprepared::from(file);
        assert_eq!(file.to_string(), "failed to open file `/nowhere/at all`: no such file or directory");
        let folder = Unprepared::from(os::open_regular("/nowhere".as_ref()).unwrap_err());
        assert_eq!(folder.to_string(), "no such file or directory");
        assert!(file.source().is_some() && folder.source().is_some());
        assert_eq!(Shadowed::by("/etc/x", "it takes out hooks").to_string(), "/etc/x: it takes out hooks");
    }
}
