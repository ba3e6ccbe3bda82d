//! The commands of the protocol that a run honours, and the reasons for refusing the others.

use std::fmt;

use crate::adapter::Hook;
use crate::adapter::run::Shadowed;
use crate::protocol::{DECIDE, commands};

/// The mode of decisions in which an admitted call is put to the embedder.
pub const ASK: &str = "ask";

/// The codes of refused commands. They never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The vendor, or this run, cannot do it.
    UnsupportedControl,
    /// No call of this id was ever put to the embedder.
    UnknownCall,
    /// The call is decided already, or its turn is over.
    TooLate,
    /// The line is no command, or one of its fields is bad.
    Malformed,
    /// The vendor would take the command, but another layer would override it.
    Shadowed,
}

impl Code {
    /// Every code.
    pub const ALL: [Code; 5] =
        [Code::UnsupportedControl, Code::UnknownCall, Code::TooLate, Code::Malformed, Code::Shadowed];

    /// The code as the protocol writes it.
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

/// The reason why a run that needs a control is not started.
#[derive(Debug)]
pub enum Unhonoured {
    Unsupported {
        control: String,
        /// Words that follow the command's name.
        why: String,
    },
    /// Another layer would override the decisions.
    Shadowed(Shadowed),
}

impl Unhonoured {
    pub fn code(&self) -> Code {
        match self {
            Unhonoured::Unsupported { .. } => Code::UnsupportedControl,
            Unhonoured::Shadowed(_) => Code::Shadowed,
        }
    }

    pub fn command(&self) -> &str {
        match self {
            Unhonoured::Unsupported { control, .. } => control,
            Unhonoured::Shadowed(_) => DECIDE,
        }
    }
}

impl From<Shadowed> for Unhonoured {
    fn from(shadowed: Shadowed) -> Self {
        Unhonoured::Shadowed(shadowed)
    }
}

impl fmt::Display for Unhonoured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code().word();
        match self {
            Unhonoured::Unsupported { control, why } => write!(f, "{code}: {control} {why}"),
            Unhonoured::Shadowed(shadowed) => write!(f, "{code}: {shadowed}"),
        }
    }
}

impl std::error::Error for Unhonoured {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Unhonoured::Unsupported { .. } => None,
            Unhonoured::Shadowed(shadowed) => Some(shadowed),
        }
    }
}

/// The reason why a command cannot be honoured, to follow its name; `None` if it is honoured. After its prompt, neither
/// vendor's headless program takes anything but a signal (Claude Code 2.1.332, Codex 0.171.0).
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

/// Every command; with a reason if it cannot be honoured.
pub fn controls(vendor: &dyn Hook) -> impl Iterator<Item = (&'static str, Option<String>)> + '_ {
    commands().map(move |command| (command, unsupported(vendor, command)))
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn what_keeps_a_run_from_its_start_begins_with_its_code() {
        let shadowed = Unhonoured::from(Shadowed::by("--settings", "it takes no value"));
        assert_eq!(shadowed.to_string(), "SHADOWED: --settings: it takes no value");
        assert_eq!((shadowed.command(), shadowed.source().is_some()), (DECIDE, true));
        let lacking = Unhonoured::Unsupported { control: "frame.set".into(), why: "cannot be honoured".into() };
        assert_eq!(lacking.to_string(), "UNSUPPORTED_CONTROL: frame.set cannot be honoured");
        assert_eq!((lacking.command(), lacking.source().is_some()), ("frame.set", false));
    }
}
