//! What a run prints line by line, in one of two forms.
//!
//! Both are told the same: a turn whose calls are joined up, each asked for once, then decided, then
//! over, whichever of the vendor's records and the hooks' came first.

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
    /// The vendor's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Option<Box<RawValue>>,
    /// The operations that it needs, as JSON.
    pub operations: Option<Box<RawValue>>,
    /// The paths that it is about, as JSON.
    pub subjects: Option<Box<RawValue>>,
    /// The sub-agent, on its calls.
    pub agent: Option<String>,
    /// The folder that relative paths are relative to.
    pub cwd: Option<String>,
    /// Whether it is a sub-agent's.
    pub nested: bool,
}

/// One thing to be told.
#[derive(Debug)]
pub enum Item<'a> {
    /// The vendor's session has begun.
    Started {
        /// Its id.
        session: Option<&'a str>,
        /// The model.
        model: Option<&'a str>,
        /// What else the vendor says of it.
        facts: &'a Value,
    },
    /// A response of the model.
    Text {
        /// The words.
        text: &'a str,
        /// The model call.
        request: Option<&'a str>,
    },
    /// What the model thought.
    Thinking {
        /// The words.
        text: &'a str,
        /// The model call.
        request: Option<&'a str>,
    },
    /// How much it has thought so far, by the vendor's estimate.
    Estimate {
        /// Tokens.
        tokens: u64,
        /// How many of them are new.
        delta: Option<u64>,
    },
    /// A call is asked for.
    Requested {
        /// The call.
        call: &'a ToldCall,
        /// How long it waits for the embedder, in milliseconds, if it does.
        waits: Option<u64>,
        /// Where its decision takes hold.
        seam: &'a str,
    },
    /// It is decided.
    Decided {
        /// The call.
        call: &'a ToldCall,
        /// The decision.
        judgement: &'a Judgement,
        /// From the question to the decision, in milliseconds.
        latency: Option<u64>,
    },
    /// It is over.
    Result {
        /// The call.
        call: &'a ToldCall,
        /// Whether the vendor calls it a failure, where it says.
        failed: Option<bool>,
        /// Whether it needed an approval which nobody could give.
        unapproved: bool,
        /// What the model was told.
        content: &'a str,
        /// The exit code of a command.
        exit_code: Option<i64>,
        /// The vendor's own record of it.
        record: Option<&'a Value>,
        /// Which of the vendor's records that is.
        source: &'a str,
    },
    /// A model call was made.
    ModelCall {
        /// The vendor's id of it.
        request: &'a str,
        /// The model.
        model: Option<&'a str>,
        /// What it used.
        figures: &'a Figures,
    },
    /// What is left of a limit.
    RateLimit(&'a Value),
    /// A warning.
    Warning {
        /// What kind.
        code: Warning,
        /// What.
        message: &'a str,
    },
    /// The vendor's service does not take the credentials.
    Unauthorized {
        /// The vendor's words.
        detail: &'a str,
        /// The number of the line.
        line: u64,
    },
    /// A record that there is no word for.
    Opaque {
        /// The vendor's type of it.
        kind: &'a str,
        /// And its subtype.
        subtype: Option<&'a str>,
        /// SHA-256 over its line.
        digest: &'a str,
        /// The number of the line.
        line: u64,
    },
    /// A command was answered.
    Answered {
        /// The command's id, or `-`.
        id: &'a str,
        /// What came of it.
        outcome: Result<(), (Code, &'a str)>,
    },
}

/// How a run ended.
#[derive(Debug)]
pub struct TurnEnd<'a> {
    /// The turn.
    pub turn: &'a Turn,
    /// What it came to.
    pub outcome: Outcome,
    /// Why, where it did not answer.
    pub error: Option<&'a str>,
    /// Whether there is an answer, and it is to be trusted.
    pub answered: bool,
    /// How the process ended.
    pub ending: &'a Ending,
    /// What the projections need besides.
    pub printed: &'a Printed<'a>,
    /// Whether what the step owes was looked for.
    pub checked: bool,
}

/// One of the two forms.
pub trait Lines {
    /// The lines that this makes, with their line feeds. `at` is the vendor's own time of it.
    fn tell(&mut self, at: Option<&str>, item: &Item<'_>) -> String;

    /// The last lines.
    fn end(&mut self, end: &TurnEnd<'_>) -> String;
}
