//! The run's audit, read back: what the hooks decided.

use serde::Deserialize;
use serde_json::value::RawValue;

/// One decision of a hook.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Judgement {
    /// When it was made, by RFC 3339.
    pub at: Option<String>,
    /// The event's name.
    pub event: Option<String>,
    /// The vendor's session.
    pub session_id: Option<String>,
    /// The sub-agent, on its calls.
    pub agent_id: Option<String>,
    /// The vendor's id of the call.
    pub call_id: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The operations that the call needs, in words.
    pub operations: Vec<String>,
    /// The tool's input, where it is recorded.
    pub input: Option<Box<RawValue>>,
    /// The decision as it went out.
    pub decision: Decided,
    /// Who decided.
    pub decided_by: String,
    /// Where the decision took hold.
    pub seam: String,
    /// The hook's own time, in microseconds.
    pub micros: u64,
}

/// A decision, as a hook recorded it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Decided {
    /// `allow`, `abstain`, `deny` or `replace`.
    pub decision: String,
    /// Why, where it is a denial.
    pub reason: Option<String>,
    /// The input that took the place of the tool's own, where it is recorded.
    pub input: Option<Box<RawValue>>,
}

impl Judgement {
    /// Read a line of an audit.
    pub fn read(line: &[u8]) -> Option<Judgement> {
        serde_json::from_slice(line).ok()
    }

    /// Whether it is a denial.
    pub fn denies(&self) -> bool {
        self.decision.decision == "deny"
    }

    /// Why, where it is a denial.
    pub fn reason(&self) -> Option<&str> {
        self.decision.reason.as_deref()
    }

    /// Whether it belongs to this session: an audit file may be shared, and its lines are anybody's.
    pub fn of(&self, session: Option<&str>) -> bool {
        match (session, &self.session_id) {
            (Some(session), Some(own)) => session == own,
            _ => true,
        }
    }
}
