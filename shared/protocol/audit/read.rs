//! A line of the audit, as a run reads it back.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::frame::{MCP_CALL, Operation};
use crate::protocol::UNATTENDED;

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
    /// The same as objects; a release before 0.2.0 wrote none.
    pub needs: Option<Vec<Needed>>,
    /// The tool's input, where it is recorded.
    pub input: Option<Box<RawValue>>,
    pub decision: Decided,
    pub decided_by: String,
    pub seam: String,
    pub micros: u64,
}

/// An operation that a call needs, as a hook recorded it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Needed {
    /// Its name.
    pub op: String,
    /// The server of an MCP tool; none where it cannot be told.
    pub server: Option<String>,
    /// The tool itself.
    pub tool: Option<String>,
}

impl Needed {
    fn operation(self) -> Option<Operation> {
        match (self.op == MCP_CALL, self.server, self.tool) {
            (true, Some(server), Some(tool)) => Some(Operation::McpCall { server, tool }),
            (true, ..) => None,
            (false, ..) => Operation::bare(&self.op),
        }
    }
}

/// A decision, as a hook recorded it.
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

    /// Read a line of an audit.
    pub fn read(line: &[u8]) -> Option<Judgement> {
        serde_json::from_slice(line).ok()
    }

    /// The operations that the call needs, of those that can be told. Words are read where nothing better is there, and one
    /// that could be read as two is none.
    pub fn operations(&self) -> Vec<Operation> {
        let word = |word: &String| Operation::from_word(&word.replacen("mcp.call ", "mcp.call:", 1)).ok();
        match &self.needs {
            Some(needs) => needs.iter().cloned().filter_map(Needed::operation).collect(),
            None => self.operations.iter().filter_map(word).collect(),
        }
    }

    /// Whether it settled whether a call runs. `gate` is the vendor's event before a call; no other comes before every one.
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

/// Whether two inputs are the same JSON value; their spelling does not matter.
pub fn same(one: &RawValue, other: &RawValue) -> bool {
    let value = |input: &RawValue| serde_json::from_str::<serde_json::Value>(input.get()).ok();
    value(one) == value(other)
}

#[cfg(test)]
mod tests {
    use super::Judgement;

    #[test]
    fn operations_are_read_as_objects_and_of_an_older_audit_as_words_that_say_one_thing() {
        let read = |line: &str| {
            let words = Judgement::read(line.as_bytes()).unwrap().operations();
            words.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" ")
        };
        let pair = |server: &str, tool: &str| format!("McpCall {{ server: {server:?}, tool: {tool:?} }}");
        let words = r#""operations":["mcp.call a/b/c","shell"]"#;
        let needs = r#""needs":[{"op":"mcp.call","server":"a/b","tool":"c"},{"op":"shell"},{"op":"later"}]"#;
        assert_eq!(read(&format!("{{{words},{needs}}}")), format!("{} Shell", pair("a/b", "c")));
        assert_eq!(read(&format!("{{{words}}}")), "Shell");
        assert_eq!(read(r#"{"operations":["mcp.call lab/note"]}"#), pair("lab", "note"));
        let ambiguous = r#""needs":[{"op":"mcp.call","rendered":"mcp__a__b__c"}]"#;
        assert_eq!(read(&format!("{{{words},{ambiguous}}}")), "");
    }

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
