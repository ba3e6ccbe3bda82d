//! A line of the audit, read back.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocol::UNATTENDED;

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
    /// A denial that stands in no audit, since no hook came to it.
    pub fn denial(call_id: &str, reason: &str, by: &str, seam: &str) -> Judgement {
        Judgement {
            call_id: Some(call_id.into()),
            decision: Decided { decision: "deny".into(), reason: Some(reason.into()), input: None },
            decided_by: by.into(),
            seam: seam.into(),
            ..Judgement::default()
        }
    }

    /// Read a line of an audit.
    pub fn read(line: &[u8]) -> Option<Judgement> {
        serde_json::from_slice(line).ok()
    }

    /// Whether it settled whether a call runs. `gate` is the vendor's event before a call; no other comes before every one.
    pub fn gates(&self, gate: &str) -> bool {
        self.event.as_deref().is_none_or(|event| event == gate)
    }

    /// Whether it lets a call run in the run's own name, not the vendor's.
    pub fn grants(&self) -> bool {
        matches!(self.decision.decision.as_str(), "allow" | "replace")
    }

    /// Whether it is a denial.
    pub fn denies(&self) -> bool {
        self.decision.decision == "deny"
    }

    /// Why, where it is a denial.
    pub fn reason(&self) -> Option<&str> {
        self.decision.reason.as_deref()
    }

    /// Whether it is a denial by a hook that could not decide: its reason is about itself, and begins with its own name.
    pub fn undecided(&self, program: &str) -> bool {
        let own = |reason: &str| reason.strip_prefix(program).is_some_and(|rest| rest.starts_with(": "));
        self.denies() && self.reason().is_some_and(own)
    }

    /// Whether it says no more than that nobody can approve the call, which the hook itself admits.
    pub fn unattended(&self) -> bool {
        self.reason() == Some(UNATTENDED)
    }

    /// The tool's input, where it is recorded.
    pub fn input_value(&self) -> Option<serde_json::Value> {
        serde_json::from_str(self.input.as_ref()?.get()).ok()
    }

    /// Whether it belongs to this session: an audit file may be shared, and its lines are anybody's.
    pub fn of(&self, session: Option<&str>) -> bool {
        match (session, &self.session_id) {
            (Some(session), Some(own)) => session == own,
            _ => true,
        }
    }
}

/// Whether two inputs are the same value, however each is written.
pub fn same(one: &RawValue, other: &RawValue) -> bool {
    let value = |input: &RawValue| serde_json::from_str::<serde_json::Value>(input.get()).ok();
    value(one) == value(other)
}

#[cfg(test)]
mod tests {
    use super::Judgement;

    #[test]
    fn only_the_event_before_a_call_settles_it() {
        let gates = |event: Option<&str>, gate: &str| {
            Judgement { event: event.map(String::from), ..Judgement::default() }.gates(gate)
        };
        assert!(gates(Some("PreToolUse"), "PreToolUse") && gates(Some("BeforeCall"), "BeforeCall"));
        assert!(!gates(Some("PermissionRequest"), "PreToolUse") && !gates(Some("PreToolUse"), "BeforeCall"));
        // a denial that stands in no audit has no event
        assert!(gates(None, "PreToolUse"));
    }
}
