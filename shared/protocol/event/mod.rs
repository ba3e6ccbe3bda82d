//! `metaharness.event/1`: what a run tells, line by line.
//!
//! Shapes only; which of them a run can know is for the room `run` to say. A field that is not
//! known is null, never 0 and never an empty list; those that are left out when empty say so.

mod session;

pub use session::{
    Census, FinalAnswer, Hermetic, Imposed, McpServer, ObservedModel, PermissionDenial, Plugin, SessionEnded,
    SessionStarted, Unavailable, Withheld,
};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{EVENT, one_line};

/// Numbers the lines of one run, from 1. There is one of them in a run.
#[derive(Debug)]
pub struct Numbered {
    run: String,
    said: u64,
}

impl Numbered {
    /// For the run of this id.
    pub fn new(run: String) -> Numbered {
        Numbered { run, said: 0 }
    }

    /// The run's id.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// How many lines there were.
    pub fn said(&self) -> u64 {
        self.said
    }

    /// The next line, with its line feed. `at` is the vendor's own time of it, by RFC 3339.
    pub fn line(&mut self, at: Option<&str>, event: &EventBody<'_>) -> String {
        self.said += 1;
        let line = Envelope { format: EVENT, seq: self.said, run: &self.run, at, event };
        one_line(serde_json::to_string(&line).unwrap_or_default())
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    format: &'a str,
    seq: u64,
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    #[serde(flatten)]
    event: &'a EventBody<'a>,
}

/// One thing that happened.
#[derive(Debug, Serialize)]
#[serde(tag = "event")]
pub enum EventBody<'a> {
    /// The vendor's session has begun.
    #[serde(rename = "session.started")]
    SessionStarted(Box<SessionStarted<'a>>),
    /// It is over: the vendor's terminal record, and the run's own count of decisions.
    #[serde(rename = "session.ended")]
    SessionEnded(Box<SessionEnded<'a>>),
    /// The frame's step is in force.
    #[serde(rename = "step.entered")]
    StepEntered {
        /// Which step.
        step: Value,
        /// The digest of its frame.
        frame_digest: &'a str,
    },
    /// The step is over.
    #[serde(rename = "step.left")]
    StepLeft {
        /// Which step.
        step: Value,
        /// How.
        outcome: StepOutcome<'a>,
    },
    /// The vendor's turn has begun.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// Its number in the run.
        turn: u32,
        /// The digest of the frame that it goes by.
        frame_digest: Option<&'a str>,
    },
    /// The vendor's turn is over.
    #[serde(rename = "turn.ended")]
    TurnEnded {
        /// Its number in the run.
        turn: u32,
        /// Why the model stopped, in the vendor's word.
        stop_reason: Option<&'a str>,
    },
    /// A response of the model, whole.
    #[serde(rename = "text")]
    Text {
        /// The words.
        text: &'a str,
        /// The vendor's id of the model call.
        request_id: Option<&'a str>,
    },
    /// What the model thought, as far as the vendor shows it.
    #[serde(rename = "thinking")]
    Thinking {
        /// The words.
        text: &'a str,
        /// The vendor's id of the model call.
        request_id: Option<&'a str>,
    },
    /// How much the model has thought so far, by the vendor's own estimate.
    #[serde(rename = "thinking.estimate")]
    ThinkingEstimate {
        /// Tokens, in this model call.
        estimate: u64,
        /// How many of them are new.
        delta: Option<u64>,
    },
    /// The model asks for a tool call. Each call has one such line, before all others about it.
    #[serde(rename = "tool.requested")]
    ToolRequested(ToolRequested<'a>),
    /// What was decided about a call, as it went out to the vendor.
    #[serde(rename = "tool.decided")]
    ToolDecided {
        /// The call.
        call_id: &'a str,
        /// The decision.
        decision: DecisionBody<'a>,
        /// `embedder`, `frame`, `deadline`, `adapter` or `observe`.
        decided_by: &'a str,
        /// `registration`, `hook`, `control_request`, `owned_tool` or `none`.
        seam: &'a str,
        /// From the question to the decision, in milliseconds.
        latency_ms: Option<u64>,
    },
    /// What became of a call.
    #[serde(rename = "tool.result")]
    ToolResult {
        /// The call.
        call_id: &'a str,
        /// Whether the vendor calls it a failure; null where it only tells the model, in words.
        is_error: Option<bool>,
        /// What the model was told, or what the tool gave.
        content: &'a str,
        /// The length of the content in bytes.
        bytes: usize,
        /// The vendor's own record of the result.
        tool_use_result: Option<&'a Value>,
        /// The exit code of a command.
        exit_code: Option<i64>,
        /// Which record of the vendor's this is from: `stream` or `rollout`; `hook` where there is none,
        /// since the call was denied.
        outcome_source: &'a str,
    },
    /// What a model call, or where there is no `request_id` the whole turn, used.
    #[serde(rename = "usage")]
    Usage {
        /// The vendor's id of the model call.
        request_id: Option<&'a str>,
        /// The model.
        model: Option<&'a str>,
        /// The figures.
        usage: Usage,
    },
    /// What is left of the vendor's limits.
    #[serde(rename = "rate_limit")]
    RateLimit {
        /// The figures.
        info: RateLimit<'a>,
    },
    /// The one answer to a command.
    #[serde(rename = "command.result")]
    CommandResult {
        /// The command's id, or `-`.
        id: &'a str,
        /// How it went.
        outcome: CommandOutcome<'a>,
    },
    /// Something that a caller should know.
    #[serde(rename = "warning")]
    Warning {
        /// What kind, for programs.
        code: &'a str,
        /// What, for people.
        message: &'a str,
    },
    /// A record of the vendor's that there is no word for.
    #[serde(rename = "opaque")]
    Opaque {
        /// The vendor's type of it.
        vendor_type: &'a str,
        /// And its subtype.
        vendor_subtype: Option<&'a str>,
        /// SHA-256 over its line, without the line feed.
        digest: &'a str,
        /// The number of its line in the vendor's stream, from 1.
        source_line: u64,
    },
    /// The vendor's service does not take the credentials.
    #[serde(rename = "auth.expired")]
    AuthExpired {
        /// Where they came from.
        credential_source: Option<&'a str>,
        /// What the vendor says.
        detail: &'a str,
        /// The number of its line in the vendor's stream, from 1.
        source_line: u64,
    },
    /// The last line.
    #[serde(rename = "stream.closed")]
    StreamClosed {
        /// How many lines stand before it.
        events: u64,
        /// `completed`, `budget`, `killed`, `error` or `steer-halt`.
        reason: &'a str,
        /// The run's id.
        run_id: &'a str,
        /// How the vendor's process ended.
        process: Process,
    },
}

/// How a step ended.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum StepOutcome<'a> {
    /// It did what it owes.
    Completed,
    /// It did not.
    Failed {
        /// Why.
        reason: &'a str,
    },
    /// It is not known.
    NoVerdict {
        /// Why.
        reason: &'a str,
    },
}

/// `tool.requested`
#[derive(Debug, Serialize)]
pub struct ToolRequested<'a> {
    /// The vendor's id of the call.
    pub call_id: &'a str,
    /// The tool, as the vendor names it.
    pub name: &'a str,
    /// Its input.
    pub input: Option<&'a RawValue>,
    /// The operations that it needs; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<&'a RawValue>,
    /// The paths that it is about; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects: Option<&'a RawValue>,
    /// Whether it waits for a `tool.decide`.
    pub decision_required: bool,
    /// How long it waits, in milliseconds from this line.
    pub deadline_ms: Option<u64>,
    /// Where the decision takes hold.
    pub seam: &'a str,
    /// Which vendor's call it is; this and the three below are ours, and a reader that does not
    /// know them passes over them.
    pub vendor: &'a str,
    /// The sub-agent, on its calls.
    pub agent_id: Option<&'a str>,
    /// The folder that relative paths of the input are relative to.
    pub cwd: Option<&'a str>,
    /// The digest of the frame in force.
    pub frame_digest: Option<&'a str>,
}

/// A decision.
#[derive(Debug, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum DecisionBody<'a> {
    /// The call is granted.
    Allow,
    /// Nothing is claimed.
    Abstain,
    /// The call does not run.
    Deny {
        /// Why.
        reason: &'a str,
    },
    /// It runs with another input.
    Replace {
        /// The input, where it is known.
        input: Option<&'a RawValue>,
    },
}

/// What was used.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct Usage {
    /// Tokens in.
    pub input_tokens: Option<u64>,
    /// Tokens out.
    pub output_tokens: Option<u64>,
    /// Tokens in that came from the vendor's cache.
    pub cache_read_input_tokens: Option<u64>,
    /// Tokens in that were put into it.
    pub cache_creation_input_tokens: Option<u64>,
    /// The vendor's tier of service.
    pub service_tier: Option<String>,
    /// Tokens out that were thinking.
    pub thinking_tokens: Option<u64>,
    /// The vendor's count of iterations.
    pub iterations: Option<u64>,
    /// The vendor's word for the speed.
    pub speed: Option<String>,
    /// What it cost.
    pub cost_usd: Option<f64>,
}

/// What is left of a limit.
#[derive(Debug, Default, Serialize)]
pub struct RateLimit<'a> {
    /// The vendor's word.
    pub status: Option<&'a str>,
    /// Which limit.
    pub window: Option<&'a str>,
    /// When it starts anew, in seconds of Unix time.
    pub resets_at: Option<u64>,
    /// How much is used; 1 is all.
    pub utilization: Option<f64>,
    /// Whether it is paid for beyond.
    pub using_overage: Option<bool>,
}

/// How a command went.
#[derive(Debug, Serialize)]
#[serde(tag = "result", rename_all = "lowercase")]
pub enum CommandOutcome<'a> {
    /// It was done.
    Ok {
        /// When it takes hold, where that is not now.
        applies_at: Option<&'a str>,
    },
    /// It was not.
    Refused {
        /// Why.
        refused: Refused<'a>,
    },
}

/// Why a command was not done.
#[derive(Debug, Serialize)]
pub struct Refused<'a> {
    /// One of the five codes.
    pub code: &'a str,
    /// For people.
    pub reason: &'a str,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Process {
    /// By itself.
    Exited {
        /// With this code.
        code: i32,
    },
    /// By a signal.
    Signaled {
        /// This one.
        signal: i32,
    },
    /// Nobody knows.
    Unknown,
}
