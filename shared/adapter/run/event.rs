//! The events of a vendor's record, independent of the vendor.

use serde_json::Value;

/// An event of a turn. The names are those of `metaharness.event/1`.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// `session.started`
    Started {
        /// The vendor's id of the session.
        session: Option<String>,
        /// The model that the vendor resolved.
        model: Option<String>,
        /// Further values, under the names in [`TurnEvent::Started`]'s line.
        facts: Box<Value>,
    },
    /// `text`: a whole response of the model.
    Text {
        text: String,
        /// The vendor's id of the model call.
        request: Option<String>,
    },
    /// `thinking`
    Thinking {
        text: String,
        /// The vendor's id of the model call.
        request: Option<String>,
    },
    /// `thinking.estimate`
    Estimate {
        /// The reasoning tokens of this model call so far.
        tokens: u64,
        /// The new tokens among them.
        delta: Option<u64>,
    },
    /// `tool.requested`
    Requested {
        /// The vendor's id of the call; where `hooked` is set, the one that the hook saw.
        call_id: String,
        /// The vendor's name for the tool.
        tool: String,
        input: Value,
        /// Whether a sub-agent made the call.
        nested: bool,
    },
    /// `tool.result`
    Result(CallEnd),
    /// The model got the output of a script that made calls.
    Script { content: String },
    /// The reply stopped at the output cap, and the vendor lets the model go on with it.
    Continued,
    ModelCall {
        /// The vendor's id of the model call.
        request: String,
        /// The model, if the vendor reports it for each call.
        model: Option<String>,
        /// The tokens, if the vendor reports them for each call.
        figures: Option<Figures>,
    },
    /// A hook ran that is not ours, or something was loaded that can bring one.
    Stranger {
        /// Its name.
        what: String,
        /// Its power or its effect.
        why: String,
    },
    /// A hook answered at the gate.
    HookAnswered,
    /// A hook of ours failed, by the vendor's record.
    HookFailed {
        hook: String,
        /// The vendor's words.
        why: String,
    },
    /// `warning`
    Notice {
        code: Warning,
        /// The vendor's words.
        text: String,
    },
    /// `auth.expired`: the vendor's service refuses the credentials.
    Unauthorized {
        /// The vendor's words.
        text: String,
    },
    /// `rate_limit`
    RateLimit {
        /// The limit's state, under the names in the line.
        info: Box<Value>,
    },
    /// `session.ended`: the terminal record.
    Ended {
        /// Whether the vendor calls the turn a failure.
        failed: bool,
        /// The model's last text, if the record has it.
        answer: Option<String>,
        /// The structured answer, if one was asked for; then nothing else is the answer.
        structured: Option<String>,
        /// The vendor's words about a failure.
        error: Option<String>,
        /// Whether the reply stopped at the output cap.
        truncated: bool,
        /// Whether a hook stopped the prompt, so that no request was made.
        blocked: bool,
        /// Calls that the vendor's own permissions refused: id, tool, input.
        denials: Vec<(String, String, Value)>,
        figures: Figures,
        /// Further values, under the names in [`TurnEvent::Ended`]'s line.
        facts: Box<Value>,
    },
    /// `opaque`: a record of a type that this reader does not know.
    Opaque {
        /// The record's type.
        kind: String,
        subtype: Option<String>,
    },
}

/// The party that let a call run or stopped it, by the vendor's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// A hook let it run.
    HookLet,
    /// Something else let it run: a rule, a mode, a person.
    OtherLet,
    /// A hook stopped it.
    HookStopped,
    /// Something else stopped it.
    OtherStopped,
}

/// The subject of a warning. The words never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// No frame is in force.
    NoFrame,
    /// The vendor's release is newer than the measured one.
    OffPin,
    /// The vendor's service failed, and the vendor retries.
    Retry,
    /// An MCP server did not start.
    Server,
    /// Another message of the vendor's.
    Notice,
    /// A hook failed, by the vendor's record.
    HookFailed,
    /// A hook refused an event that is no call.
    HookRefused,
    /// A waiting call was denied because nobody could decide it any more.
    Abandoned,
    /// A call id came again with another tool or input.
    Mutated,
    /// A call ran without the decision that it needed.
    Gap,
    /// The vendor ended without a terminal record.
    NoTerminalRecord,
}

impl Warning {
    /// Every kind of warning.
    pub const ALL: [Warning; 11] = [
        Warning::NoFrame,
        Warning::OffPin,
        Warning::Retry,
        Warning::Server,
        Warning::Notice,
        Warning::HookFailed,
        Warning::HookRefused,
        Warning::Abandoned,
        Warning::Mutated,
        Warning::Gap,
        Warning::NoTerminalRecord,
    ];

    /// The word in the outputs.
    pub fn word(self) -> &'static str {
        match self {
            Warning::NoFrame => "NO_FRAME_IN_FORCE",
            Warning::OffPin => "VERSION_OFF_PIN",
            Warning::Retry => "VENDOR_API_RETRY",
            Warning::Server => "MCP_SERVER_FAILED",
            Warning::Notice => "VENDOR_NOTICE",
            Warning::HookFailed => "hook-failed",
            Warning::HookRefused => "hook-refused",
            Warning::Abandoned => "PENDING_CALL_ABANDONED",
            Warning::Mutated => "REQUEST_MUTATED",
            Warning::Gap => "COVERAGE_GAP",
            Warning::NoTerminalRecord => "NO_TERMINAL_RECORD",
        }
    }
}

/// The tokens and model calls of a turn. An unknown figure is `None`, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    pub input: Option<u64>,
    pub output: Option<u64>,
    /// Input tokens from the vendor's cache.
    pub cached: Option<u64>,
    /// Input tokens that were put into the vendor's cache.
    pub created: Option<u64>,
    /// Output tokens for reasoning.
    pub reasoning: Option<u64>,
}

impl Figures {
    /// Add the figures of one more model call.
    pub fn add(&mut self, more: &Figures) {
        let sum = |one: &mut Option<u64>, other: Option<u64>| {
            *one = one.map_or(other, |one| Some(one.saturating_add(other.unwrap_or(0))));
        };
        sum(&mut self.input, more.input);
        sum(&mut self.output, more.output);
        sum(&mut self.cached, more.cached);
        sum(&mut self.created, more.created);
        sum(&mut self.reasoning, more.reasoning);
    }
}

/// The end of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallEnd {
    pub call_id: String,
    /// Whether the vendor calls it a failure.
    pub failed: bool,
    /// The text that the model got.
    pub content: String,
    /// Whether the call ran at all, as far as the record shows.
    pub ran: bool,
    /// The party that let it run or stopped it, if the vendor names it.
    pub witness: Option<Witness>,
    /// The exit code, if the call was a command.
    pub exit_code: Option<i64>,
    /// The vendor's own record of the call.
    pub record: Option<Box<Value>>,
    /// Whether the vendor reports that it was told not to offer the tool.
    pub withheld: bool,
    /// Whether the vendor reports that a hook stopped the call, by its answer or by its failure.
    pub by_hook: bool,
    /// Whether the vendor reports that the call needed an approval that nobody could give; `None` if its record has no
    /// field for that.
    pub unapproved: Option<bool>,
    /// Whether this end is read from a sentence that the model got: it counts only if no better record comes.
    pub told: bool,
}
