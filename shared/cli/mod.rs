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
mod voice;

#[cfg(feature = "run")]
pub use run::run as turn;
pub use seal::seal;
#[cfg(feature = "setup")]
pub use setup::setup;
pub use verify::verify;

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;

use crate::frame::{BARE_OPERATIONS, Operation, Part, parts};
use crate::os::{self, End, Stop, complain};
use crate::seal::{MAX_BYTES, Refusal, VerifiedFrame};

/// Run a program for people: its result is printed, and an error goes to stderr.
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

/// The bytes of a file, or of stdin for `-`.
fn read(program: &str, file: &Path) -> Result<Vec<u8>, Refusal> {
    if file != Path::new("-") {
        return os::read_bounded(file, MAX_BYTES);
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        complain(
            program,
            "standard input is a terminal: type or paste the document, and end it by Ctrl-D; or see --help",
        );
    }
    let mut bytes = Vec::new();
    match stdin.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() > MAX_BYTES => Err(Refusal::TooLarge),
        Ok(_) => Ok(bytes),
        Err(error) => Err(Refusal::Unreadable(os::words(error))),
    }
}

/// The forms of `--print`.
#[derive(Debug, Clone, Copy)]
enum Print {
    Digest,
    Canonical,
    Text,
    Enforced,
}

impl Print {
    const WORDS: [(&str, Print); 4] = [
        ("digest", Print::Digest),
        ("canonical", Print::Canonical),
        ("text", Print::Text),
        ("enforced", Print::Enforced),
    ];

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

/// The effects of the frame's parts: enforced, checked after the turn, or only told to the model.
fn enforced(frame: &VerifiedFrame) -> String {
    let mut out = String::new();
    for Part { key, held, how, here } in parts(frame.frame()) {
        let how = if how.is_empty() { "to the model" } else { how };
        let here = if here.is_empty() { "nothing here".into() } else { here };
        out.push_str(&format!("{key:<12} {:<9} {how}\n{:<12} {here}\n", held.word(), ""));
    }
    out
}

/// The names of the operations without parameters for a help text, in lines of this width, with this indent from the
/// second line on.
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
