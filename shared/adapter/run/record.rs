//! The vendors' streams, read line by line.
//!
//! A field that is missing, new or of another type than before is no fault: each is looked up by itself, and a record
//! of an unknown type becomes [`TurnEvent::Opaque`].

use serde_json::Value;

use super::{Figures, Run, Stream, TurnEvent};

/// Reads one vendor's stream.
#[derive(Debug)]
pub struct StreamReader(Box<dyn Stream>);

impl StreamReader {
    pub fn new(vendor: &dyn Run) -> StreamReader {
        StreamReader(vendor.stream())
    }

    /// The events of a line, with the vendor's own time.
    pub fn line(&mut self, line: &[u8]) -> (Option<String>, Vec<TurnEvent>) {
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            return match line.trim_ascii().is_empty() {
                true => (None, Vec::new()),
                false => (None, vec![TurnEvent::Opaque { kind: "no json".into(), subtype: None }]),
            };
        };
        (owned(&record, "/timestamp"), self.0.record(&record))
    }
}

/// The string at this pointer.
pub fn text<'a>(record: &'a Value, at: &str) -> Option<&'a str> {
    record.pointer(at).and_then(Value::as_str)
}

pub fn owned(record: &Value, at: &str) -> Option<String> {
    text(record, at).map(String::from)
}

/// The count at this pointer.
pub fn count(record: &Value, at: &str) -> Option<u64> {
    record.pointer(at).and_then(Value::as_u64)
}

/// The figures at this pointer, by the names that the Responses API gives them.
pub fn figures(record: &Value, at: &str) -> Figures {
    let number = |name| count(record, &format!("{at}/{name}"));
    Figures {
        input: number("input_tokens"),
        output: number("output_tokens"),
        cached: number("cached_input_tokens"),
        created: number("cache_write_input_tokens"),
        reasoning: number("reasoning_output_tokens"),
    }
}

/// The values that are kept of a record: for each name the value at its pointer, if there is one.
pub fn facts(record: &Value, names: &[(&str, &str)]) -> Box<Value> {
    let kept = names.iter().filter_map(|(name, at)| Some(((*name).to_string(), record.pointer(at)?.clone())));
    Box::new(Value::Object(kept.filter(|(_, value)| !value.is_null()).collect()))
}

/// The list at this pointer, empty if there is none.
pub fn list<'a>(record: &'a Value, at: &str) -> &'a [Value] {
    record.pointer(at).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
