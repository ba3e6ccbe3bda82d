//! Records for the stand-ins of the two vendors. Each was written by the real program (Claude Code 2.1.332, Codex
//! 0.171.0), and is cut down to the members that are read.

use serde_json::{Value, json};

use crate::common::room::{Ended, Room};

/// A stand-in's command that prints a record.
pub fn say(record: &Value) -> String {
    format!("say '{record}'\n")
}

/// A line for Codex's rollout.
pub fn rollout(payload: &Value) -> String {
    let record = json!({"type": "response_item", "timestamp": "9999-01-01T00:00:00.000Z", "payload": payload});
    format!("printf '%s\\n' '{record}' >> \"$rollout\"\n")
}

/// A call as the model of Codex made it.
pub fn made(id: &str, name: &str, arguments: &Value) -> String {
    rollout(&json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string()}))
}

/// The text that the model got about it.
pub fn told(id: &str, words: &str) -> String {
    rollout(&json!({"type": "function_call_output", "call_id": id, "output": words}))
}

/// A turn in this form: its exit code and its lines.
pub fn lines(room: &Room, kind: &str, form: &str, more: &[&str]) -> (Ended, Vec<Value>) {
    let ended = room.run(kind, &[&["--output-format", form], more].concat());
    let lines = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (ended, lines)
}

/// The one line of this type or event.
pub fn only<'a>(lines: &'a [Value], word: &str) -> &'a Value {
    let found: Vec<&Value> = lines.iter().filter(|line| line["type"] == word || line["event"] == word).collect();
    assert_eq!(found.len(), 1, "{word}: {lines:?}");
    found[0]
}

/// A Claude turn whose call needed an approval that nobody could give.
pub fn gated() -> String {
    let denied = json!({"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "c1"});
    let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "c1",
        "is_error": true, "content": "touch needs approval."}]}, "tool_result_meta": [{"id": "c1", "non_execution_kind":
        "user-rejected", "permission_decision": {"decision": "reject", "source": "config"}}]});
    let end = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 2, "result": "fine",
        "total_cost_usd": 0.5, "permission_denials": [{"tool_name": "Bash", "tool_use_id": "c1",
        "tool_input": {"command": "touch a"}}]});
    let call = "use c1 Bash '{\"command\":\"touch a\"}'; hook PreToolUse Bash c1 '{\"command\":\"touch a\"}'\n";
    let text = "say '{\"type\":\"assistant\",\"message\":{\"id\":\"m9\",\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}}'\n";
    format!("begin\n{call}{}{}{text}{}", say(&denied), say(&result), say(&end))
}

/// A message of the model.
pub fn message(id: &str, blocks: &Value) -> String {
    say(&json!({"type": "assistant", "message": {"id": id, "model": "m", "content": blocks}}))
}

pub fn text(words: &str) -> Value {
    json!([{"type": "text", "text": words}])
}

/// The vendor's own words to the model after a reply stopped at the output cap.
pub fn go_on() -> String {
    say(&json!({"type": "user", "isSynthetic": true, "message": {"role": "user", "content":
        [{"type": "text", "text": "Output token limit hit. Resume directly."}]}}))
}

pub fn result(words: &str) -> String {
    say(&json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 2, "result": words}))
}
