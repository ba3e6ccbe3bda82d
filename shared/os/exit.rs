//! Exit codes, and messages on stderr.

use std::fmt;
use std::process::ExitCode;

use super::Error;
use super::output::tell;
use crate::seal::Refusal;

/// The exit code of a hook: 0, or 2 for "this must not run". Both vendors take 1, 101 and every signal for permission
/// to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Answered,
    Blocked,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Answered => 0.into(),
            Exit::Blocked => 2.into(),
        }
    }
}

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The exit code of a program for people. The highest wins where one run handles several documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Good = 0,
    /// A document is refused, or the answer is no.
    Refused = 1,
    /// The command line is wrong, or a file cannot be read or written.
    Failed = 2,
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        (end as u8).into()
    }
}

/// A program that ends early: its exit code, and the message for stderr.
#[derive(Debug)]
pub struct Stop {
    pub end: End,
    /// The program's name is not part of it.
    pub why: String,
}

impl Stop {
    pub fn usage(why: impl Into<String>) -> Stop {
        Stop { end: End::Failed, why: format!("{}; see --help", why.into()) }
    }

    pub fn failed(why: impl Into<String>) -> Stop {
        Stop { end: End::Failed, why: why.into() }
    }

    pub fn refused(why: impl Into<String>) -> Stop {
        Stop { end: End::Refused, why: why.into() }
    }

    pub fn document(file: &str, refusal: &Refusal) -> Stop {
        match refusal {
            // that it is unreadable is what these words say
            Refusal::Unreadable(why) => Stop::failed(format!("{file}: {why}")),
            refusal => Stop::refused(format!("{file}: {}: {refusal}", refusal.name())),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Stop {}

impl From<lexopt::Error> for Stop {
    fn from(error: lexopt::Error) -> Self {
        Stop::usage(super::mistake::misread(&error))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::failed(error.to_string())
    }
}

/// Write one line to stderr. `what` may hold another program's words, so its line breaks are escaped.
pub fn complain(program: &str, what: &str) {
    tell(&format!("{program}: {}\n", tame(what, "")));
}

/// Text for a terminal: every control character and every character that changes the reading order is escaped, except
/// those in `kept`.
pub fn tame(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if kept.contains(c) => out.push(c),
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.extend(c.escape_unicode()),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}
