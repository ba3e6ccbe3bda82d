//! Codex's rollout file, which tells what really ran by the ids that the hook saw.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{figures, owned, text};
use crate::turn::Event;
use crate::vendor::{Vendor as _, codex::Codex};

/// What a rollout tells of a turn.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// Calls that ran: their id and what they are.
    pub ran: Vec<(String, String)>,
    /// Calls that ran and that no hook ever sees.
    pub unseen: Vec<(String, String)>,
    /// How many calls the model was told are blocked by a hook, as far as that shows.
    pub blocked: usize,
    /// How many model calls were made.
    pub model_calls: u64,
    /// The model.
    pub model: Option<String>,
}

/// Items that are no call, or one that only waits (0.171.0). Any other kind has to have been put to
/// the hook.
const NO_CALL: [&str; 11] = [
    "UserMessage",
    "AgentMessage",
    "Reasoning",
    "Plan",
    "ContextCompaction",
    "HookPrompt",
    "FunctionCallOutput",
    "EnteredReviewMode",
    "ExitedReviewMode",
    "Sleep",
    // what became of an agent whose start was a call
    "SubAgentActivity",
];

/// The rollout files of a session below the vendor's folder: its own, and, where the same session
/// started them, those of its sub-agents.
pub fn files(home: &Path, session: &str) -> Vec<PathBuf> {
    let mut found = walk(home);
    found.retain(|path| belongs(path, session));
    found
}

/// All rollout files below the vendor's folder.
fn walk(home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![home.join("sessions")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                found.push(path);
            }
        }
    }
    found
}

/// By its name, or by the session that its first record names.
fn belongs(path: &Path, session: &str) -> bool {
    if path.file_name().is_some_and(|name| name.to_string_lossy().contains(session)) {
        return true;
    }
    let Ok(file) = fs_err::File::open(path) else { return false };
    let mut first = String::new();
    let read = BufReader::new(file).read_line(&mut first);
    let record: Value = serde_json::from_str(&first).unwrap_or_default();
    read.is_ok() && text(&record, "/payload/session_id") == Some(session)
}

/// Add what a rollout file tells.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path, into: &mut Rollout) -> std::io::Result<()> {
    for line in BufReader::new(fs_err::File::open(path)?).split(b'\n') {
        let Ok(record) = serde_json::from_slice::<Value>(&line?) else { continue };
        match (text(&record, "/type"), text(&record, "/payload/type")) {
            (Some("token_usage_record"), _) => into.model_calls += 1,
            (Some("turn_context"), _) => into.model = text(&record, "/payload/model").map(String::from),
            (_, Some("item_completed")) => item(&record, into),
            (_, Some("function_call_output" | "custom_tool_call_output")) => into.blocked += blocked(&record),
            _ => {}
        }
    }
    Ok(())
}

/// The session's own file, once it is there.
pub fn file(home: &Path, session: &str) -> Option<PathBuf> {
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(session));
    walk(home).into_iter().find(named)
}

/// What a line tells of calls and of model calls, by the ids that the hook saw, and the vendor's own
/// time of it.
pub fn line(line: &[u8]) -> (Option<String>, Vec<Event>) {
    let record: Value = serde_json::from_slice(line).unwrap_or_default();
    let word = |at| text(&record, at).unwrap_or_default();
    let event = match (word("/type"), word("/payload/type")) {
        ("token_usage_record", _) => owned(&record, "/payload/response_id")
            .map(|request| Event::ModelCall { request, figures: Some(figures(&record, "/payload/usage")) }),
        (_, "item_completed") => result(&record),
        (_, "function_call_output" | "custom_tool_call_output") if blocked(&record) > 0 => {
            owned(&record, "/payload/call_id").map(|call_id| Event::Result {
                call_id,
                failed: true,
                content: word("/payload/output").into(),
                ran: false,
                exit_code: None,
                record: None,
            })
        }
        _ => None,
    };
    (owned(&record, "/timestamp"), event.into_iter().collect())
}

fn result(record: &Value) -> Option<Event> {
    let item = record.pointer("/payload/item")?;
    let kind = text(item, "/type").filter(|kind| !NO_CALL.contains(kind))?;
    let status = text(item, "/status");
    let content = ["/aggregated_output", "/stdout", "/error/message", "/query"].iter().find_map(|at| text(item, at));
    Some(Event::Result {
        call_id: owned(item, "/id")?,
        failed: status.is_some_and(|status| status != "completed"),
        content: content.unwrap_or_default().into(),
        ran: !matches!(status, Some("declined" | "blocked")),
        exit_code: item.get("exit_code").and_then(Value::as_i64),
        record: Some(Box::new(item.clone())),
    })
    .filter(|_| !kind.is_empty())
}

/// Whether the output of a call is what the vendor says of one that a hook blocked: all of it, or
/// the error that ended a script of several.
fn blocked(record: &Value) -> usize {
    let said = |text: &str| {
        let text = text.rsplit("Script error:\n").next().unwrap_or(text);
        ["Command blocked by PreToolUse hook: ", "Tool call blocked by PreToolUse hook: "]
            .iter()
            .any(|words| text.starts_with(words))
    };
    match record.pointer("/payload/output") {
        Some(Value::String(output)) => usize::from(said(output)),
        Some(Value::Array(parts)) => usize::from(parts.iter().filter_map(|part| text(part, "/text")).any(said)),
        _ => 0,
    }
}

fn item(record: &Value, into: &mut Rollout) {
    let word = |at| text(record, at).unwrap_or_default();
    let (kind, id) = (word("/payload/item/type"), word("/payload/item/id"));
    if NO_CALL.contains(&kind) {
        return;
    }
    let call = (id.to_string(), kind.to_string());
    match kind {
        _ if Codex::UNSEEN.iter().any(|(unseen, _)| *unseen == kind) => into.unseen.push(call),
        "CommandExecution" if word("/payload/item/source").contains("interaction") => into.unseen.push(call),
        // a patch or a call that was refused is told too
        _ if matches!(word("/payload/item/status"), "declined" | "blocked") => {}
        _ => into.ran.push(call),
    }
}
