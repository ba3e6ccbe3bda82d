//! Codex's rollout file, which tells what really ran by the ids that the hook saw.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::adapter::codex::Codex;
use crate::adapter::run::record::{figures, list, owned, text};
use crate::adapter::run::{CallEnd, Journal, Journaled, TurnEvent};
use crate::os::{self, LINES, MOST, open_regular, too_long, unread};

/// Codex's rollouts, below its folder.
#[derive(Debug)]
pub struct Rollouts;

impl Journal for Rollouts {
    fn files(&self, home: &Path, session: &str) -> Vec<PathBuf> {
        files(home, session)
    }

    fn file(&self, home: &Path, id: &str) -> Option<PathBuf> {
        file(home, id)
    }

    fn line(&self, bytes: &[u8]) -> (Option<String>, Vec<TurnEvent>) {
        line(bytes)
    }

    fn read(&self, path: &Path, into: &mut Journaled) -> Result<(), os::Error> {
        read(path, into)
    }

    /// A command may run on, and its record come later.
    fn comes_later(&self, tool: &str) -> bool {
        tool == "Bash"
    }
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

/// The longest first record of a rollout that is read, in bytes; it holds the session's instructions.
const FIRST: u64 = 16 * 1024 * 1024;

/// Its own, and, where the same session started them, those of its sub-agents.
fn files(home: &Path, session: &str) -> Vec<PathBuf> {
    let mut found = walk(home);
    found.retain(|path| belongs(path, session));
    found
}

/// All rollout files below the vendor's folder.
fn walk(home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![home.join("sessions")];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
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
    let Ok(file) = open_regular(path) else { return false };
    let mut first = String::new();
    let read = BufReader::new(file.take(FIRST)).read_line(&mut first);
    let record: Value = serde_json::from_str(&first).unwrap_or_default();
    read.is_ok() && text(&record, "/payload/session_id") == Some(session)
}

fn read(path: &Path, into: &mut Journaled) -> Result<(), os::Error> {
    let file = open_regular(path)?;
    if file.metadata().map_err(|error| unread(path, error))?.len() > MOST {
        return Err(too_long(path));
    }
    for (number, line) in (1..).zip(BufReader::new(file.take(MOST)).split(b'\n')) {
        if number > LINES {
            return Err(too_long(path));
        }
        let Ok(record) = serde_json::from_slice::<Value>(&line.map_err(|error| unread(path, error))?) else { continue };
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

/// The newest folders are looked into first: a person's hold thousands of files.
fn file(home: &Path, id: &str) -> Option<PathBuf> {
    let mut left = vec![home.join("sessions")];
    while let Some(path) = left.pop() {
        let Ok(entries) = fs_err::read_dir(&path) else { continue };
        let mut below: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        let named = |path: &&PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.contains(id) && name.ends_with(".jsonl"))
        };
        if let Some(found) = below.iter().find(named) {
            return Some(found.clone());
        }
        below.retain(|path| path.extension().is_none());
        below.sort();
        left.extend(below);
    }
    None
}

fn line(line: &[u8]) -> (Option<String>, Vec<TurnEvent>) {
    let record: Value = serde_json::from_slice(line).unwrap_or_default();
    let word = |at| text(&record, at).unwrap_or_default();
    let event = match (word("/type"), word("/payload/type")) {
        ("token_usage_record", _) => owned(&record, "/payload/response_id").map(|request| TurnEvent::ModelCall {
            request,
            model: None,
            figures: Some(figures(&record, "/payload/usage")),
        }),
        (_, "item_completed") => said(&record).or_else(|| result(&record)),
        (_, "function_call_output") if blocked(&record) > 0 => denied(&record),
        (_, "custom_tool_call_output") if blocked(&record) > 0 && !is_script(&record) => denied(&record),
        (_, "function_call_output" | "custom_tool_call_output") => {
            owned(&record, "/payload/call_id").map(|call_id| TurnEvent::Output { call_id, content: output(&record) })
        }
        (_, "token_count") => return (owned(&record, "/timestamp"), limits(&record)),
        _ => None,
    };
    (owned(&record, "/timestamp"), event.into_iter().collect())
}

/// What the model says or thinks. Here it stands in one row with its calls.
fn said(record: &Value) -> Option<TurnEvent> {
    match text(record, "/payload/item/type")? {
        "AgentMessage" => {
            let parts = list(record, "/payload/item/content").iter().filter_map(|part| text(part, "/text"));
            Some(TurnEvent::Text { text: parts.collect(), request: None })
        }
        "Reasoning" => {
            let parts = list(record, "/payload/item/summary_text").iter().filter_map(Value::as_str);
            Some(TurnEvent::Thinking { text: parts.collect::<Vec<_>>().join("\n\n"), request: None })
        }
        _ => None,
    }
}

/// What the model was told of a call.
fn output(record: &Value) -> String {
    owned(record, "/payload/output").unwrap_or_else(|| words(record, "/payload/output"))
}

/// The same of one that a hook blocked.
fn denied(record: &Value) -> Option<TurnEvent> {
    let call_id = owned(record, "/payload/call_id")?;
    Some(TurnEvent::Result(CallEnd { call_id, failed: true, content: output(record), ..CallEnd::default() }))
}

/// Whether it is the output of a script of several calls, each with an id of its own.
fn is_script(record: &Value) -> bool {
    list(record, "/payload/output")
        .iter()
        .filter_map(|part| text(part, "/text"))
        .any(|text| text.starts_with("Script "))
}

/// The words of a list of parts.
fn words(record: &Value, at: &str) -> String {
    list(record, at).iter().filter_map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n")
}

/// What is left of the limits that the service has told of.
fn limits(record: &Value) -> Vec<TurnEvent> {
    let info = |window: &&str| {
        let at = |name: &str| record.pointer(&format!("/payload/rate_limits/{window}/{name}")).cloned();
        let used = at("used_percent")?.as_f64()?;
        let status = record.pointer("/payload/rate_limits/rate_limit_reached_type");
        Some(json!({"status": status, "window": window, "resets_at": at("resets_at"), "utilization": used / 100.0}))
    };
    ["primary", "secondary"].iter().filter_map(info).map(|info| TurnEvent::RateLimit { info: Box::new(info) }).collect()
}

fn result(record: &Value) -> Option<TurnEvent> {
    let item = record.pointer("/payload/item")?;
    let kind = text(item, "/type").filter(|kind| !NO_CALL.contains(kind))?;
    let status = text(item, "/status");
    let content = ["/aggregated_output", "/stdout", "/error/message", "/query"].iter().find_map(|at| text(item, at));
    let content = content.map_or_else(|| words(item, "/result/content"), String::from);
    Some(TurnEvent::Result(CallEnd {
        call_id: owned(item, "/id")?,
        failed: status.is_some_and(|status| status != "completed"),
        content,
        ran: !matches!(status, Some("declined" | "blocked")),
        exit_code: item.get("exit_code").and_then(Value::as_i64),
        record: Some(Box::new(item.clone())),
        ..CallEnd::default()
    }))
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

fn item(record: &Value, into: &mut Journaled) {
    let word = |at| text(record, at).unwrap_or_default();
    let (kind, id) = (word("/payload/item/type"), word("/payload/item/id"));
    if NO_CALL.contains(&kind) {
        return;
    }
    let call = (id.to_string(), kind.to_string());
    match kind {
        _ if Codex::FACTS.unseen.iter().any(|(unseen, _)| *unseen == kind) => into.unseen.push(call),
        "CommandExecution" if word("/payload/item/source").contains("interaction") => into.unseen.push(call),
        // a patch or a call that was refused is told too
        _ if matches!(word("/payload/item/status"), "declined" | "blocked") => {}
        _ => into.ran.push(call),
    }
}
