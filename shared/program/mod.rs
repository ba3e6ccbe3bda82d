//! The programs: arguments in, exit code out. `bins/` only starts them.

mod consult;
mod explain;
mod governed;
mod hook;
mod new;
mod seal;
mod setup;
mod verify;

pub use consult::Embedder;
pub use governed::run as turn;
pub use hook::{Judged, Surroundings, hook, judge};
pub use seal::seal;
pub use setup::setup;
pub use verify::verify;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use crate::frame::Operation;
use crate::host;
use crate::seal::{MAX_BYTES, Refusal, VerifiedFrame};

/// The release of the whole package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How a program for people ends. A higher number wins where several things went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
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
struct Stop {
    end: End,
    why: String,
}

impl Stop {
    fn usage(why: impl Into<String>) -> Stop {
        Stop { end: End::Failed, why: format!("{}; see --help", why.into()) }
    }

    fn failed(why: impl Into<String>) -> Stop {
        Stop { end: End::Failed, why: why.into() }
    }

    fn refused(why: impl Into<String>) -> Stop {
        Stop { end: End::Refused, why: why.into() }
    }

    /// A document that is refused, under the name of its file.
    fn document(file: &str, refusal: &Refusal) -> Stop {
        let end = if let Refusal::Unreadable(_) = refusal { End::Failed } else { End::Refused };
        Stop { end, why: format!("{file}: {}: {refusal}", refusal.name()) }
    }
}

impl From<lexopt::Error> for Stop {
    fn from(error: lexopt::Error) -> Self {
        Stop::usage(error.to_string())
    }
}

/// Run a program for people: what it returns is printed, what stops it goes to stderr.
fn run(program: &str, work: impl FnOnce() -> Result<(String, End), Stop>) -> ExitCode {
    let end = match work() {
        Ok((text, end)) if text.is_empty() || host::say(program, &text) => end,
        Ok(_) => End::Failed,
        Err(stop) => {
            complain(program, &stop.why);
            stop.end
        }
    };
    end.into()
}

/// What a program says about itself, where this argument asks for that.
fn about(argument: &lexopt::Arg<'_>, program: &str, help: &str) -> Option<String> {
    match argument {
        lexopt::Arg::Short('h') | lexopt::Arg::Long("help") => Some(help.into()),
        lexopt::Arg::Short('V') | lexopt::Arg::Long("version") => Some(format!("{program} {VERSION}\n")),
        _ => None,
    }
}

/// A line on stderr. What is said may be another program's words: they stay on this line.
fn complain(program: &str, what: &str) {
    host::tell(&format!("{program}: {}\n", tame(what, "")));
}

/// Text for a person's terminal: what that would act on, or show in another order, stands there by its escapes. These
/// controls are kept.
fn tame(text: &str, kept: &str) -> String {
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

/// The bytes of a file, or of standard input for `-`.
fn read(file: &Path) -> Result<Vec<u8>, Refusal> {
    if file != Path::new("-") {
        return host::read_bounded(file, MAX_BYTES);
    }
    let mut bytes = Vec::new();
    match std::io::stdin().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() > MAX_BYTES => Err(Refusal::TooLarge),
        Ok(_) => Ok(bytes),
        Err(error) => Err(Refusal::Unreadable(host::words(error))),
    }
}

/// What `--print` can print.
#[derive(Debug, Clone, Copy)]
enum Print {
    Digest,
    Canonical,
    Text,
}

impl Print {
    fn from_word(word: &str) -> Result<Print, Stop> {
        match word {
            "digest" => Ok(Print::Digest),
            "canonical" => Ok(Print::Canonical),
            "text" => Ok(Print::Text),
            _ => Err(Stop::usage(format!("--print takes digest, canonical or text, not {word:?}"))),
        }
    }

    /// The canonical bytes come without a newline, so that `sha256sum` gives the digest.
    fn of(self, frame: &VerifiedFrame) -> String {
        match self {
            Print::Digest => format!("{}\n", frame.digest()),
            Print::Canonical => frame.canonical(),
            Print::Text => frame.text().whole() + "\n",
        }
    }
}

/// The value of a flag, which has to be text.
fn text(value: OsString, flag: &str) -> Result<String, Stop> {
    value.into_string().map_err(|value| Stop::usage(format!("{flag} is not UTF-8: {value:?}")))
}

/// An operation as a flag has it.
fn operation(word: &str) -> Result<Operation, Stop> {
    Operation::from_word(word).ok_or_else(|| {
        Stop::usage(format!(
            "{word:?} is no operation; there are file.read, file.write, file.edit, dir.list, search, shell, web.read, \
             skill.load, subagent.spawn, task.todo, and mcp.call:SERVER/TOOL"
        ))
    })
}
