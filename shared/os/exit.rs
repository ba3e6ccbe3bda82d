//! How a process ends, and what it says to a person.

use std::fmt;
use std::process::ExitCode;

use super::Error;
use super::output::tell;
use crate::seal::Refusal;

/// The end of a process that must never end in any other way: 0, or 2 for "this must not run".
/// Both vendors take 1, 101 and every signal for permission to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0
    Answered,
    /// 2
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

/// The release of the whole package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How a program for people ends. A higher number wins where several things went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// All is well.
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

/// A program that ends early: how, and what it says on stderr after its name.
#[derive(Debug)]
pub struct Stop {
    /// The exit code.
    pub end: End,
    /// Without the program's name.
    pub why: String,
}

impl Stop {
    /// The command line is wrong.
    pub fn usage(why: impl Into<String>) -> Stop {
        Stop { end: End::Failed, why: format!("{}; see --help", why.into()) }
    }

    /// Something cannot be read, written or started.
    pub fn failed(why: impl Into<String>) -> Stop {
        Stop { end: End::Failed, why: why.into() }
    }

    /// The answer is no.
    pub fn refused(why: impl Into<String>) -> Stop {
        Stop { end: End::Refused, why: why.into() }
    }

    /// A document that is refused, under the name of its file.
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

/// A line on stderr. What is said may be another program's words: they stay on this line.
pub fn complain(program: &str, what: &str) {
    tell(&format!("{program}: {}\n", tame(what, "")));
}

/// Text for a person's terminal: what that would act on, or show in another order, stands there by its escapes. These
/// controls are kept.
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
