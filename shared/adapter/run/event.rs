//! What a vendor's record tells of a turn, in no vendor's words.

use serde_json::Value;

/// One thing that happened. The names are those of `metaharness.event/1`.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// `session.started`
    Started {
        /// The vendor's id of the session.
        session: Option<String>,
        /// The model that the vendor resolved to.
        model: Option<String>,
        /// What else the vendor says of it, by the names that [`TurnEvent::Started`]'s line has.
        facts: Box<Value>,
    },
    /// `text`: a response of the model, whole.
    Text {
        /// The words.
        text: String,
        /// The vendor's id of the model call it came from.
        request: Option<String>,
    },
    /// `thinking`
    Thinking {
        /// The words.
        text: String,
        /// The vendor's id of the model call it came from.
        request: Option<String>,
    },
    /// `thinking.estimate`
    Estimate {
        /// Tokens that were thought in this model call so far.
        tokens: u64,
        /// How many of them are new.
        delta: Option<u64>,
    },
    /// `tool.requested`
    Requested {
        /// The vendor's id of the call, the one that the hook saw where `hooked` says so.
        call_id: String,
        /// The tool, as the vendor names it.
        tool: String,
        /// Its input.
        input: Value,
        /// Whether it is a sub-agent's.
        nested: bool,
    },
    /// `tool.result`
    Result(CallEnd),
    /// The model was given the output of a script that made calls.
    Script {
        /// The words.
        content: String,
    },
    /// The reply stopped at the output cap, and the vendor lets the model go on with it.
    Continued,
    /// A model call was made.
    ModelCall {
        /// The vendor's id of it.
        request: String,
        /// The model, where the vendor says so for each.
        model: Option<String>,
        /// What it used, where the vendor says so for each.
        figures: Option<Figures>,
    },
    /// A hook ran that is none of ours, or something was loaded that can bring one.
    Stranger {
        /// What it is.
        what: String,
        /// What it can do, or did.
        why: String,
    },
    /// A hook answered at the gate.
    HookAnswered,
    /// A hook of ours did not do its work, as the vendor has it.
    HookFailed {
        /// Which hook.
        hook: String,
        /// What the vendor says.
        why: String,
    },
    /// `warning`
    Notice {
        /// What kind.
        code: Warning,
        /// The words.
        text: String,
    },
    /// `auth.expired`: the vendor's service does not take the credentials.
    Unauthorized {
        /// The words.
        text: String,
    },
    /// `rate_limit`
    RateLimit {
        /// What is left, by the names that the line has.
        info: Box<Value>,
    },
    /// `session.ended`: the terminal record.
    Ended {
        /// Whether the vendor calls the turn a failure.
        failed: bool,
        /// The model's last words, where the record has them.
        answer: Option<String>,
        /// The answer by a schema, where one was asked for: that and nothing else is the answer.
        structured: Option<String>,
        /// The vendor's words for a failure.
        error: Option<String>,
        /// Whether the reply stopped at the output cap.
        truncated: bool,
        /// Whether no request was made because a hook stopped the prompt.
        blocked: bool,
        /// Calls that the vendor's own permissions refused: id, tool, input.
        denials: Vec<(String, String, Value)>,
        /// The figures.
        figures: Figures,
        /// What else the vendor says of it, by the names that [`TurnEvent::Ended`]'s line has.
        facts: Box<Value>,
    },
    /// `opaque`: a record that this reader has no word for.
    Opaque {
        /// The vendor's type of it.
        kind: String,
        /// And its subtype.
        subtype: Option<String>,
    },
}

/// By whose word a call went on or not, as the vendor has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// A hook let it run.
    HookLet,
    /// Something else did: a rule, a mode, a person.
    OtherLet,
    /// A hook stopped it.
    HookStopped,
    /// Something else did.
    OtherStopped,
}

/// What a warning is about. The words never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// No frame is in force.
    NoFrame,
    /// The vendor's release is newer than the one that was measured.
    OffPin,
    /// The vendor's service failed, and the vendor tries again.
    Retry,
    /// An MCP server could not be started.
    Server,
    /// Something else that the vendor says.
    Notice,
    /// A hook did not do its work, as the vendor has it.
    HookFailed,
    /// A hook refused something that is no call.
    HookRefused,
    /// A call that waited was denied because nobody could decide it any more.
    Abandoned,
    /// A call came again with another tool or input.
    Mutated,
    /// A call ran without the decision that it must have had.
    Gap,
    /// The vendor ended without saying how the turn went.
    NoTerminalRecord,
}

impl Warning {
    /// All of them.
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

    /// The word for it.
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

/// What a turn used. What is not known is `None`, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Tokens in.
    pub input: Option<u64>,
    /// Tokens out.
    pub output: Option<u64>,
    /// Tokens in that came from the vendor's cache.
    pub cached: Option<u64>,
    /// Tokens in that were put into the vendor's cache.
    pub created: Option<u64>,
    /// Tokens out that were reasoning.
    pub reasoning: Option<u64>,
}

impl Figures {
    /// Add those of one more model call.
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

/// How a call ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallEnd {
    /// Which call it belongs to.
    pub call_id: String,
    /// Whether the vendor calls it a failure.
    pub failed: bool,
    /// What the model was told.
    pub content: String,
    /// Whether the call was run at all, as far as the record shows.
    pub ran: bool,
    /// By whose word, where the vendor says so.
    pub witness: Option<Witness>,
    /// The exit code of a command.
    pub exit_code: Option<i64>,
    /// The vendor's own record of it.
    pub record: Option<Box<Value>>,
    /// Whether the vendor says that it was told not to offer the tool.
    pub withheld: bool,
    /// Whether the vendor says that a hook stopped it, by its answer or by its failure.
    pub by_hook: bool,
    /// Whether the vendor says that it needed an approval which nobody could give; `None` where its record has no word for
    /// that.
    pub unapproved: Option<bool>,
    /// Whether this is all that the record will have of it, should no better word come: what the model was told, by a
    /// sentence that is read here.
    pub told: bool,
}
