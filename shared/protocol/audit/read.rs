//! A line of the audit, as a run reads it back.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The reason for the denial of a tool that is not offered.
const WITHHELD: &str = "is not offered in this step: what the frame admits is";

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Judgement {
    /// By RFC 3339.
    pub at: Option<String>,
    pub event: Option<String>,
    pub session_id: Option<String>,
    /// Only on a sub-agent's calls.
    pub agent_id: Option<String>,
    pub call_id: Option<String>,
    pub tool: Option<String>,
    /// The operations in words.
    pub operations: Vec<String>,
    /// Null where inputs are not recorded.
    pub input: Option<Box<RawValue>>,
    pub decision: Decided,
    pub decided_by: String,
    pub seam: String,
    pub micros: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Decided {
    /// `allow`, `abstain`, `deny` or `replace`.
    pub decision: String,
    /// Only with `deny`.
    pub reason: Option<String>,
    /// Only with `replace`, where inputs are recorded.
    pub input: Option<Box<RawValue>>,
}

impl Judgement {
    /// A denial that the audit does not have, since no hook was asked.
    pub fn denial(call_id: &str, reason: &str, by: &str, seam: &str) -> Judgement {
        Judgement {
            call_id: Some(call_id.into()),
            decision: Decided { decision: "deny".into(), reason: Some(reason.into()), input: None },
            decided_by: by.into(),
            seam: seam.into(),
            ..Judgement::default()
        }
    }

    /// The denial of a tool that the frame keeps from being offered.
    pub fn withheld(call_id: &str) -> Judgement {
        Judgement::denial(call_id, WITHHELD, "frame", "registration")
    }

    pub fn read(line: &[u8]) -> Option<Judgement> {
        serde_json::from_slice(line).ok()
    }

    /// Whether this decision settled if the call runs. `gate` is the vendor's one event that comes before every call.
    pub fn gates(&self, gate: &str) -> bool {
        self.event.as_deref().is_none_or(|event| event == gate)
    }

    /// Whether this decision lets the call run. After an abstain, the vendor decides.
    pub fn grants(&self) -> bool {
        matches!(self.decision.decision.as_str(), "allow" | "replace")
    }

    pub fn denies(&self) -> bool {
        self.decision.decision == "deny"
    }

    pub fn reason(&self) -> Option<&str> {
        self.decision.reason.as_deref()
    }

    /// Whether this line belongs to the session. An audit file may be shared between sessions, and any program may
    /// write to it.
    pub fn of(&self, session: Option<&str>) -> bool {
        match (session, &self.session_id) {
            (Some(session), Some(own)) => session == own,
            _ => true,
        }
    }
}

/// Whether two inputs are the same JSON value; their spelling does not matter.
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
        // a denial that the audit does not have names no event
        assert!(gates(None, "PreToolUse"));
    }
}
