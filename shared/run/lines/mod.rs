//! The lines that a run prints, in one of two forms.
//!
//! Both forms get the same items: each call is requested once, then decided, then over, whichever of the vendor's
//! records and the hooks' came first.

mod events;
mod stream;

pub use events::{About, Events};
pub use stream::{StreamLines, StreamTold};

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Code, Ending, Judgement, Outcome, Printed, Turn};
use crate::adapter::run::{Figures, Warning};

/// A call, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct ToldCall {
    pub id: String,
    pub tool: String,
    pub input: Option<Box<RawValue>>,
    /// The operations that the call needs, as JSON.
    pub operations: Option<Box<RawValue>>,
    /// The paths that the call names, as JSON.
    pub subjects: Option<Box<RawValue>>,
    /// Set on the calls of a sub-agent.
    pub agent: Option<String>,
    /// The base of relative paths.
    pub cwd: Option<String>,
    /// Whether a sub-agent made the call.
    pub nested: bool,
}

/// A fact of the turn for one line.
#[derive(Debug)]
pub enum Item<'a> {
    /// The vendor's session has begun.
    Started {
        session: Option<&'a str>,
        model: Option<&'a str>,
        /// The rest of the vendor's record.
        facts: &'a Value,
    },
    /// A response of the model.
    Text {
        text: &'a str,
        /// The id of the model call.
        request: Option<&'a str>,
    },
    Thinking {
        text: &'a str,
        /// The id of the model call.
        request: Option<&'a str>,
    },
    /// The amount of reasoning so far, by the vendor's estimate.
    Estimate {
        /// All tokens.
        tokens: u64,
        /// The new tokens among them.
        delta: Option<u64>,
    },
    /// A call is asked for.
    Requested {
        call: &'a ToldCall,
        /// The time that the call waits for the embedder, in milliseconds, if it waits.
        waits: Option<u64>,
        /// The place where the call's decision takes hold.
        seam: &'a str,
    },
    Decided {
        call: &'a ToldCall,
        judgement: &'a Judgement,
        /// The milliseconds from the question to the decision.
        latency: Option<u64>,
    },
    Result {
        call: &'a ToldCall,
        /// The vendor's own word for whether the call failed.
        failed: Option<bool>,
        /// Whether the call needed an approval that nobody could give.
        unapproved: bool,
        /// The text that the model got.
        content: &'a str,
        /// The exit code, if the call was a command.
        exit_code: Option<i64>,
        /// The vendor's own record of the call.
        record: Option<&'a Value>,
        /// The vendor's record that the result comes from.
        source: &'a str,
    },
    ModelCall {
        /// The vendor's id of the model call.
        request: &'a str,
        model: Option<&'a str>,
        /// The tokens and the cost of the model call.
        figures: &'a Figures,
    },
    /// The state of a rate limit.
    RateLimit(&'a Value),
    Warning {
        code: Warning,
        message: &'a str,
    },
    /// The vendor's service refuses the credentials.
    Unauthorized {
        /// The vendor's words.
        detail: &'a str,
        /// The number of the record's line.
        line: u64,
    },
    /// A record of a type that this program does not know.
    Opaque {
        /// The record's type.
        kind: &'a str,
        subtype: Option<&'a str>,
        /// SHA-256 over the record's line.
        digest: &'a str,
        /// The number of the record's line.
        line: u64,
    },
    Answered {
        /// The command's id, or `-`.
        id: &'a str,
        /// The refusal, if there is one.
        outcome: Result<(), (Code, &'a str)>,
    },
}

#[derive(Debug)]
pub struct TurnEnd<'a> {
    pub turn: &'a Turn,
    /// The turn's outcome.
    pub outcome: Outcome,
    /// The reason, if there is no answer.
    pub error: Option<&'a str>,
    /// Whether there is an answer that is to be trusted.
    pub answered: bool,
    pub ending: &'a Ending,
    /// The fields that the `json` form has besides the turn.
    pub printed: &'a Printed<'a>,
    /// Whether the turn was checked for what the step owes.
    pub checked: bool,
}

pub trait Lines {
    /// The lines for an item, with their line feeds. `at` is the vendor's own time of the record.
    fn tell(&mut self, at: Option<&str>, item: &Item<'_>) -> String;

    /// The last lines.
    fn end(&mut self, end: &TurnEnd<'_>) -> String;
}
