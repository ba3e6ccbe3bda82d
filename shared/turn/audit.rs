//! The run's audit, read back: what the hooks decided.

use std::path::Path;

use serde_json::Value;

/// One decision of a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The event's name.
    pub event: String,
    /// The vendor's id of the call.
    pub call_id: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// `allow`, `abstain`, `deny` or `replace`.
    pub decision: String,
    /// Why, where it is a denial.
    pub reason: Option<String>,
    /// Who decided.
    pub decided_by: String,
}

impl Judgement {
    /// Whether it is a denial.
    pub fn denies(&self) -> bool {
        self.decision == "deny"
    }
}

/// Read an audit, from this byte on. A file that is not there holds no decision.
///
/// # Errors
/// It is there and cannot be read.
pub fn read(path: &Path, from: u64) -> std::io::Result<Vec<Judgement>> {
    let bytes = match fs_err::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let start = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
    let lines = bytes.get(start..).unwrap_or_default().split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()).map(|record| judgement(&record)).collect())
}

fn judgement(record: &Value) -> Judgement {
    let word = |at: &str| record.pointer(at).and_then(Value::as_str).map(String::from);
    Judgement {
        event: word("/event").unwrap_or_default(),
        call_id: word("/call_id"),
        tool: word("/tool"),
        decision: word("/decision/decision").unwrap_or_default(),
        reason: word("/decision/reason"),
        decided_by: word("/decided_by").unwrap_or_default(),
    }
}
