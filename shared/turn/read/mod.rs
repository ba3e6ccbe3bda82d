//! The vendors' streams, read line by line.
//!
//! A field that is missing, new or of another type than it was is no fault: each is looked up for
//! itself, and a record without a word here becomes [`Event::Opaque`].

mod claude;
mod codex;
pub mod rollout;

use serde_json::Value;

use super::{Event, Kind};

/// Reads one vendor's stream.
#[derive(Debug)]
pub enum Reader {
    /// `--output-format stream-json`
    Claude(claude::Claude),
    /// `exec --json`
    Codex(codex::Codex),
}

impl Reader {
    /// A reader for a fresh stream.
    pub fn new(kind: Kind) -> Reader {
        match kind {
            Kind::Claude => Reader::Claude(claude::Claude::default()),
            Kind::Codex => Reader::Codex(codex::Codex::default()),
        }
    }

    /// What a line of the stream tells.
    pub fn line(&mut self, line: &[u8]) -> Vec<Event> {
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            return match line.trim_ascii().is_empty() {
                true => Vec::new(),
                false => vec![Event::Opaque { kind: "no json".into() }],
            };
        };
        match self {
            Reader::Claude(reader) => reader.record(&record),
            Reader::Codex(reader) => reader.record(&record),
        }
    }
}

/// The string at this pointer.
fn text<'a>(record: &'a Value, at: &str) -> Option<&'a str> {
    record.pointer(at).and_then(Value::as_str)
}

/// The same, owned.
fn owned(record: &Value, at: &str) -> Option<String> {
    text(record, at).map(String::from)
}

/// The count at this pointer.
fn count(record: &Value, at: &str) -> Option<u64> {
    record.pointer(at).and_then(Value::as_u64)
}

/// The list at this pointer; none is an empty one.
fn list<'a>(record: &'a Value, at: &str) -> &'a [Value] {
    record.pointer(at).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
