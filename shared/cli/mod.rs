//! The programs: arguments in, exit code out. `bins/` only starts them.

mod explain;
mod faults;
mod new;
#[cfg(feature = "run")]
mod run;
mod seal;
#[cfg(feature = "setup")]
mod setup;
mod verify;

#[cfg(feature = "run")]
pub use run::run as turn;
pub use seal::seal;
#[cfg(feature = "setup")]
pub use setup::setup;
pub use verify::verify;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use crate::frame::{BARE_OPERATIONS, NoOperation, Operation, Part, parts};
use crate::os::{self, End, Stop, VERSION, complain};
use crate::seal::{MAX_BYTES, Refusal, VerifiedFrame};

/// Run a program for people: what it returns is printed, what stops it goes to stderr.
fn conclude(program: &str, work: impl FnOnce() -> Result<(String, End), Stop>) -> ExitCode {
    let end = match work() {
        Ok((text, end)) if text.is_empty() || os::say(program, &text) => end,
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

/// The bytes of a file, or of standard input for `-`.
fn read(file: &Path) -> Result<Vec<u8>, Refusal> {
    if file != Path::new("-") {
        return os::read_bounded(file, MAX_BYTES);
    }
    let mut bytes = Vec::new();
    match std::io::stdin().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() > MAX_BYTES => Err(Refusal::TooLarge),
        Ok(_) => Ok(bytes),
        Err(error) => Err(Refusal::Unreadable(os::words(error))),
    }
}

/// What `--print` can print.
#[derive(Debug, Clone, Copy)]
enum Print {
    Digest,
    Canonical,
    Text,
    Enforced,
}

impl Print {
    fn from_word(word: &str) -> Result<Print, Stop> {
        match word {
            "digest" => Ok(Print::Digest),
            "canonical" => Ok(Print::Canonical),
            "text" => Ok(Print::Text),
            "enforced" => Ok(Print::Enforced),
            _ => Err(Stop::usage(format!("--print takes digest, canonical, text or enforced, not {word:?}"))),
        }
    }

    /// The canonical bytes come without a newline, so that `sha256sum` gives the digest.
    fn of(self, frame: &VerifiedFrame) -> String {
        match self {
            Print::Digest => format!("{}\n", frame.digest()),
            Print::Canonical => frame.canonical(),
            Print::Text => frame.text().whole() + "\n",
            Print::Enforced => enforced(frame),
        }
    }
}

/// What of a frame is enforced, what is looked at when a turn is over, and what the model is only told.
fn enforced(frame: &VerifiedFrame) -> String {
    let mut out = String::new();
    for Part { key, held, how, here } in parts(frame.frame()) {
        let how = if how.is_empty() { "to the model" } else { how };
        let here = if here.is_empty() { "nothing here".into() } else { here };
        out.push_str(&format!("{key:<12} {:<9} {how}\n{:<12} {here}\n", held.word(), ""));
    }
    out
}

/// The value of a flag, which has to be text.
fn text(value: OsString, flag: &str) -> Result<String, Stop> {
    value.into_string().map_err(|value| Stop::usage(format!("{flag} is not UTF-8: {value:?}")))
}

/// An operation as a flag has it; `pair` is the flag that takes the names of an MCP server and its tool apart.
fn operation(word: &str, pair: &str) -> Result<Operation, Stop> {
    Operation::from_word(word).map_err(|why| match why {
        NoOperation::Unknown => Stop::usage(format!(
            "{word:?} is no operation; there are {}, and mcp.call:SERVER/TOOL",
            BARE_OPERATIONS.each_ref().map(Operation::name).join(", ")
        )),
        NoOperation::Ambiguous => {
            Stop::usage(format!("{word:?} does not say which slash ends the server's name; write {pair} SERVER TOOL"))
        }
    })
}

/// The names of the operations without parameters, for a help text: in lines of this width, that follow one another by
/// as many blanks.
fn listed(indent: usize, width: usize) -> String {
    let (mut text, mut line) = (String::new(), 0);
    for name in BARE_OPERATIONS.each_ref().map(Operation::name) {
        if line > 0 && line + 1 + name.len() > width {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
            line = 0;
        }
        if line > 0 {
            text.push(' ');
            line += 1;
        }
        text.push_str(name);
        line += name.len();
    }
    text
}
