//! Which commands of the protocol a run honours, and why it refuses the others.

use crate::adapter::Hook;
use crate::protocol::commands;

/// The mode of decisions in which an admitted call is put to the embedder.
pub const ASK: &str = "ask";

/// The codes by which a command is refused. They never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// This vendor, or this run, cannot do it.
    UnsupportedControl,
    /// No call of this id was ever put to the embedder.
    UnknownCall,
    /// It was, and is decided, or its turn is over.
    TooLate,
    /// It is no command, or a field of it is bad.
    Malformed,
    /// The vendor would take it, and another layer would override it.
    Shadowed,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 5] =
        [Code::UnsupportedControl, Code::UnknownCall, Code::TooLate, Code::Malformed, Code::Shadowed];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Code::UnsupportedControl => "UNSUPPORTED_CONTROL",
            Code::UnknownCall => "UNKNOWN_CALL",
            Code::TooLate => "TOO_LATE",
            Code::Malformed => "MALFORMED",
            Code::Shadowed => "SHADOWED",
        }
    }
}

/// Why a command cannot be honoured, to follow its name; `None` where it is. Neither vendor's
/// headless program takes anything after its prompt but a signal (Claude Code 2.1.332, Codex 0.171.0).
pub fn unsupported(vendor: &dyn Hook, command: &str) -> Option<String> {
    let vendor = vendor.facts().word;
    match command {
        "tool.decide" | "interrupt" | "halt" => None,
        "frame.set" => Some(format!(
            "cannot be honoured with {vendor}: its operations could be enforced from the next call on, and its text \
             could not reach the model; start the next step as a run of its own, with its own frame"
        )),
        "permission.set" => {
            Some(format!("cannot be honoured with {vendor}: the mode of a headless turn is set when it is started"))
        }
        _ => Some(format!("cannot be honoured with {vendor}: a headless turn takes no words after its prompt")),
    }
}

/// All commands, and why each cannot be honoured, if it cannot.
pub fn controls(vendor: &dyn Hook) -> impl Iterator<Item = (&'static str, Option<String>)> + '_ {
    commands().map(move |command| (command, unsupported(vendor, command)))
}
