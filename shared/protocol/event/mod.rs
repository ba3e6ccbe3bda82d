//! The lines of `metaharness.event/1`, which a run writes.
//!
//! These are shapes; the room `run` decides which of them a run can fill. An unknown field is null, never 0 and never
//! an empty list. The fields that are left out instead say so.

mod session;

pub use session::{
    Census, FinalAnswer, Hermetic, Imposed, McpServer, ObservedModel, PermissionDenial, Plugin, SessionEnded,
    SessionStarted, Unavailable, Withheld,
};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{EVENT, one_line};

/// Writes the lines of one run and numbers them from 1. A run has exactly one of these.
#[derive(Debug)]
pub struct Numbered {
    run: String,
    said: u64,
}

impl Numbered {
    pub fn new(run: String) -> Numbered {
        Numbered { run, said: 0 }
    }

    pub fn run(&self) -> &str {
        &self.run
    }

    pub fn said(&self) -> u64 {
        self.said
    }

    /// The next line, with its line feed. `at` is the vendor's own time for it, by RFC 3339.
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

#[derive(Debug, Serialize)]
#[serde(tag = "event")]
pub enum EventBody<'a> {
    #[serde(rename = "session.started")]
    SessionStarted(Box<SessionStarted<'a>>),
    /// The vendor's last record, and the run's own count of decisions.
    #[serde(rename = "session.ended")]
    SessionEnded(Box<SessionEnded<'a>>),
    #[serde(rename = "step.entered")]
    StepEntered { step: Value, frame_digest: &'a str },
    #[serde(rename = "step.left")]
    StepLeft { step: Value, outcome: StepOutcome<'a> },
    #[serde(rename = "turn.started")]
    TurnStarted { turn: u32, frame_digest: Option<&'a str> },
    #[serde(rename = "turn.ended")]
    TurnEnded {
        turn: u32,
        /// The vendor's word for the reason why the model stopped.
        stop_reason: Option<&'a str>,
    },
    /// One whole response of the model.
    #[serde(rename = "text")]
    Text { text: &'a str, request_id: Option<&'a str> },
    /// The model's thinking, as far as the vendor shows it.
    #[serde(rename = "thinking")]
    Thinking { text: &'a str, request_id: Option<&'a str> },
    /// The length of the model's thinking so far, by the vendor's estimate.
    #[serde(rename = "thinking.estimate")]
    ThinkingEstimate {
        /// Tokens since the model call began.
        estimate: u64,
        /// Tokens since the last estimate.
        delta: Option<u64>,
    },
    /// The model asks for a tool call. Each call has one such line, before every other line about it.
    #[serde(rename = "tool.requested")]
    ToolRequested(ToolRequested<'a>),
    /// The decision about a call, as it went out to the vendor.
    #[serde(rename = "tool.decided")]
    ToolDecided {
        call_id: &'a str,
        decision: DecisionBody<'a>,
        /// `embedder`, `frame`, `deadline`, `adapter` or `observe`.
        decided_by: &'a str,
        /// `registration`, `hook`, `control_request`, `owned_tool` or `none`.
        seam: &'a str,
        latency_ms: Option<u64>,
    },
    #[serde(rename = "tool.result")]
    ToolResult {
        call_id: &'a str,
        /// Null where the vendor tells the model of a failure in words alone.
        is_error: Option<bool>,
        /// The text for the model, or the tool's output.
        content: &'a str,
        /// The length of `content`.
        bytes: usize,
        tool_use_result: Option<&'a Value>,
        exit_code: Option<i64>,
        /// The vendor's record that this is from: `stream` or `rollout`. `hook` for a denied call, which has no record.
        outcome_source: &'a str,
    },
    /// The use of one model call, or of the whole turn where `request_id` is null.
    #[serde(rename = "usage")]
    Usage { request_id: Option<&'a str>, model: Option<&'a str>, usage: Usage },
    #[serde(rename = "rate_limit")]
    RateLimit { info: RateLimit<'a> },
    #[serde(rename = "command.result")]
    CommandResult {
        /// The command's id, or `-` where it has none.
        id: &'a str,
        outcome: CommandOutcome<'a>,
    },
    #[serde(rename = "warning")]
    Warning {
        /// For programs.
        code: &'a str,
        message: &'a str,
    },
    /// A record of the vendor's that the protocol has no event for.
    #[serde(rename = "opaque")]
    Opaque {
        vendor_type: &'a str,
        vendor_subtype: Option<&'a str>,
        /// SHA-256 over the record's line, without the line feed.
        digest: &'a str,
        /// The number of its line in the vendor's stream, from 1.
        source_line: u64,
    },
    /// The vendor's service refused the credentials.
    #[serde(rename = "auth.expired")]
    AuthExpired {
        credential_source: Option<&'a str>,
        detail: &'a str,
        /// The number of its line in the vendor's stream, from 1.
        source_line: u64,
    },
    #[serde(rename = "stream.closed")]
    StreamClosed {
        /// The number of lines before this one.
        events: u64,
        /// `completed`, `budget`, `killed`, `error` or `steer-halt`.
        reason: &'a str,
        run_id: &'a str,
        process: Process,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum StepOutcome<'a> {
    /// The step handed off what it owes.
    Completed,
    Failed {
        reason: &'a str,
    },
    NoVerdict {
        reason: &'a str,
    },
}

#[derive(Debug, Serialize)]
pub struct ToolRequested<'a> {
    pub call_id: &'a str,
    pub name: &'a str,
    pub input: Option<&'a RawValue>,
    /// Left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<&'a RawValue>,
    /// Left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects: Option<&'a RawValue>,
    /// The call waits for a `tool.decide`.
    pub decision_required: bool,
    /// Milliseconds from this line.
    pub deadline_ms: Option<u64>,
    pub seam: &'a str,
    /// This field and the next three are not in the protocol; a reader that does not know them passes over them.
    pub vendor: &'a str,
    /// Only on a sub-agent's calls.
    pub agent_id: Option<&'a str>,
    /// The folder for the input's relative paths.
    pub cwd: Option<&'a str>,
    pub frame_digest: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum DecisionBody<'a> {
    Allow,
    Abstain,
    Deny {
        reason: &'a str,
    },
    Replace {
        /// Null where inputs are not recorded.
        input: Option<&'a RawValue>,
    },
}

#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    /// The vendor's word.
    pub service_tier: Option<String>,
    /// A part of `output_tokens`.
    pub thinking_tokens: Option<u64>,
    /// The vendor's count.
    pub iterations: Option<u64>,
    /// The vendor's word.
    pub speed: Option<String>,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
pub struct RateLimit<'a> {
    pub status: Option<&'a str>,
    pub window: Option<&'a str>,
    /// Seconds of Unix time.
    pub resets_at: Option<u64>,
    /// 1 is the whole limit.
    pub utilization: Option<f64>,
    /// Use beyond the limit is paid for.
    pub using_overage: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "result", rename_all = "lowercase")]
pub enum CommandOutcome<'a> {
    Ok {
        /// Null where the command took hold at once.
        applies_at: Option<&'a str>,
    },
    Refused {
        refused: Refused<'a>,
    },
}

#[derive(Debug, Serialize)]
pub struct Refused<'a> {
    /// One of the protocol's five codes.
    pub code: &'a str,
    pub reason: &'a str,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Process {
    Exited { code: i32 },
    Signaled { signal: i32 },
    Unknown,
}
