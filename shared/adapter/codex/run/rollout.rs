//! Codex's rollout file: the calls that really ran, by the ids that the hook saw.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::adapter::codex::Codex;
use crate::adapter::run::record::{figures, list, owned, text};
use crate::adapter::run::{CallEnd, Journal, Journaled, JournaledCall, JournaledScript, TurnEvent};
use crate::os::{self, LINES, MOST, open_regular, too_long, unread};
use crate::protocol::UNATTENDED;

/// Codex's rollouts below its folder.
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

    fn read(&self, path: &Path, own: bool, into: &mut Journaled) -> Result<(), os::Error> {
        read(path, own, into)
    }

    fn is_own(&self, path: &Path, session: &str) -> bool {
        named(path, session)
    }

    /// Commands, patches, pictures, agents and MCP calls leave one (0.171.0); calls that Codex itself answers do not.
    fn leaves_record(&self, tool: &str) -> bool {
        matches!(tool, "Bash" | "apply_patch" | "view_image" | "spawn_agent")
            || tool.starts_with(Codex::FACTS.mcp.prefix)
    }

    fn unapproved(&self, tool: &str, told: &str) -> bool {
        let by =
            |tools: &[&str]| tools.contains(&tool) || tools.is_empty() && tool.starts_with(Codex::FACTS.mcp.prefix);
        UNAPPROVED.iter().any(|(tools, words)| by(tools) && told.contains(words))
    }
}

/// The text that Codex 0.171.0 gives the model about a call that needed an approval which nobody could give, by tool;
/// MCP tools have no entry.
const UNAPPROVED: [(&[&str], &str); 3] = [
    (&["Bash"], "reject command"),
    (&["apply_patch"], "rejected by user approval settings"),
    (&[], "requires approval, but approval policy is never"),
];

/// The beginning of the model's text about a command that runs or has run: its record comes when it ends.
const COMMAND: &str = "Chunk ID: ";

/// The tool that runs commands; hooks get it under another name.
const COMMANDS: &str = "exec_command";

/// Beginnings of texts about success that are neither JSON nor parts.
const WELL: [&str; 4] = ["Exit code: 0", "Plan updated", "Wall time: ", "It is "];

/// Tools that are no call of their own: a script consists of its calls, and the others wait, or look for tools.
const NO_TOOL: [&str; 3] = ["exec", "wait", "tool_search"];

/// Items that are no call, or only wait (0.171.0). Items of any other kind must have been put to the hook.
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
    // the progress of an agent, whose start was a call
    "SubAgentActivity",
];

/// The longest first record that is read, in bytes; it holds the session's instructions.
const FIRST: u64 = 16 * 1024 * 1024;

/// The session's own rollout, and those of the sub-agents that it started.
fn files(home: &Path, session: &str) -> Vec<PathBuf> {
    let mut found = walk(home);
    found.retain(|path| belongs(path, session));
    found
}

/// Every rollout file below the vendor's folder.
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

fn named(path: &Path, session: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(session))
}

/// Whether a rollout is this session's, by its name or by the session in its first record.
fn belongs(path: &Path, session: &str) -> bool {
    if named(path, session) {
        return true;
    }
    let Ok(file) = open_regular(path) else { return false };
    let mut first = String::new();
    let read = BufReader::new(file.take(FIRST)).read_line(&mut first);
    let record: Value = serde_json::from_str(&first).unwrap_or_default();
    read.is_ok() && text(&record, "/payload/session_id") == Some(session)
}

fn read(path: &Path, own: bool, into: &mut Journaled) -> Result<(), os::Error> {
    let file = open_regular(path)?;
    if file.metadata().map_err(|error| unread(path, error))?.len() > MOST {
        return Err(too_long(path));
    }
    for (number, line) in (1..).zip(BufReader::new(file.take(MOST)).split(b'\n')) {
        if number > LINES {
            return Err(too_long(path));
        }
        let line = line.map_err(|error| unread(path, error))?;
        let Ok(record) = serde_json::from_slice::<Value>(&line) else { continue };
        if text(&record, "/type") == Some("turn_context") {
            into.model = text(&record, "/payload/model").map(String::from);
        }
        into.unseen.extend(unseen(&record));
        let (at, events) = told(&record);
        for event in events {
            hear(event, at.as_deref(), own, into);
        }
    }
    Ok(())
}

fn hear(event: TurnEvent, at: Option<&str>, own: bool, into: &mut Journaled) {
    match event {
        TurnEvent::ModelCall { figures, .. } => {
            into.model_calls += 1;
            if let Some(figures) = figures.filter(|_| own) {
                into.figures.add(&figures);
            }
        }
        TurnEvent::Requested { call_id: id, tool, input, .. } if into.calls.iter().all(|call| call.id != id) => {
            into.calls.push(JournaledCall { id, tool, input, nested: !own, end: None });
        }
        TurnEvent::Result(end) => match into.calls.iter_mut().find(|call| call.id == end.call_id) {
            // a record of what ran is better than the text that the model got
            Some(call) if call.end.as_ref().is_none_or(|before| before.told && !end.told) => call.end = Some(end),
            Some(_) => {}
            None => {
                let tool = end.record.as_deref().map(tool_of).unwrap_or_default();
                into.calls.push(JournaledCall {
                    id: end.call_id.clone(),
                    tool,
                    input: Value::Null,
                    nested: !own,
                    end: Some(end),
                });
            }
        },
        TurnEvent::Script { content } => {
            let by_hook = said_blocked(&content);
            into.scripts.push(JournaledScript { at: at.map(String::from), told: content, by_hook });
        }
        _ => {}
    }
}

/// The tool whose calls leave a record of this kind, under its name for hooks.
fn tool_of(item: &Value) -> String {
    let word = |at| text(item, at).unwrap_or_default();
    match word("/type") {
        "CommandExecution" => "Bash".into(),
        "FileChange" => "apply_patch".into(),
        "ImageView" => "view_image".into(),
        "McpToolCall" => format!("mcp__{}__{}", word("/server"), word("/tool")),
        other => other.into(),
    }
}

/// The newest folders come first, since a user may have thousands of files.
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
    told(&serde_json::from_slice(line).unwrap_or_default())
}

fn told(record: &Value) -> (Option<String>, Vec<TurnEvent>) {
    let word = |at| text(record, at).unwrap_or_default();
    let event = match (word("/type"), word("/payload/type")) {
        ("token_usage_record", _) => Some(TurnEvent::ModelCall {
            request: word("/payload/response_id").into(),
            model: None,
            figures: Some(figures(record, "/payload/usage")),
        }),
        (_, "item_completed") => said(record).or_else(|| result(record)),
        (_, "function_call" | "custom_tool_call") => requested(record),
        (_, "function_call_output" | "custom_tool_call_output") => answered(record),
        (_, "token_count") => return (owned(record, "/timestamp"), limits(record)),
        _ => None,
    };
    (owned(record, "/timestamp"), event.into_iter().collect())
}

/// A call of the model's, with its tool's name for hooks.
fn requested(record: &Value) -> Option<TurnEvent> {
    let name = text(record, "/payload/name").filter(|name| !NO_TOOL.contains(name))?;
    let (given, patch) = (text(record, "/payload/arguments"), text(record, "/payload/input"));
    let arguments = given.map(|given| serde_json::from_str(given).unwrap_or_else(|_| json!(given)));
    let input = match (name, arguments, patch) {
        (COMMANDS, Some(arguments), _) if arguments.get("cmd").is_some_and(Value::is_string) => {
            json!({"command": arguments.get("cmd")})
        }
        (_, Some(arguments), _) => arguments,
        (_, None, patch) => json!({"command": patch}),
    };
    let tool = match text(record, "/payload/namespace") {
        _ if name == COMMANDS => "Bash".into(),
        // no second separator where either side has an underscore already
        Some(space) if space.starts_with("mcp__") && !space.ends_with('_') && !name.starts_with('_') => {
            format!("{space}__{name}")
        }
        Some(space) if space != "functions" => format!("{space}{name}"),
        _ => name.into(),
    };
    Some(TurnEvent::Requested { call_id: owned(record, "/payload/call_id")?, tool, input, nested: false })
}

/// The text that the model got about a call or a script. Without a record there is nothing else, and a text that is not
/// known to report success counts as failure.
fn answered(record: &Value) -> Option<TurnEvent> {
    let content = output(record);
    if is_script(record) {
        // a script that runs on is reported again
        return (!content.starts_with("Script running")).then_some(TurnEvent::Script { content });
    }
    let by_hook = blocked(record);
    let Some(call_id) = owned(record, "/payload/call_id") else {
        return by_hook.then_some(TurnEvent::Script { content });
    };
    if content.starts_with(COMMAND) {
        return None;
    }
    let unapproved = UNAPPROVED.iter().any(|(_, words)| content.contains(words)) && !by_hook;
    // for success Codex answers in JSON, in parts, or with an empty text
    let well = content.is_empty()
        || serde_json::from_str(&content).is_ok_and(|value: Value| value.is_object() || value.is_array())
        || record.pointer("/payload/output").is_some_and(Value::is_array)
        || WELL.iter().any(|words| content.starts_with(words));
    let failed = unapproved || by_hook || !well;
    let told = !by_hook;
    Some(TurnEvent::Result(CallEnd {
        call_id,
        failed,
        content,
        by_hook,
        told,
        unapproved: Some(unapproved),
        ..CallEnd::default()
    }))
}

/// The model's text and reasoning. Here it comes in sequence with the calls.
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

/// The text that the model got about a call.
fn output(record: &Value) -> String {
    owned(record, "/payload/output").unwrap_or_else(|| words(record, "/payload/output"))
}

/// Whether this is the output of a script of several calls, each with an id of its own.
fn is_script(record: &Value) -> bool {
    list(record, "/payload/output")
        .iter()
        .filter_map(|part| text(part, "/text"))
        .any(|text| text.starts_with("Script "))
}

/// The text of a list of parts.
fn words(record: &Value, at: &str) -> String {
    list(record, at).iter().filter_map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n")
}

/// The state of the limits that the service reported.
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
    let tool = tool_of(item);
    let failed = status.is_some_and(|status| status != "completed");
    let unapproved = failed && (Rollouts.unapproved(&tool, &content) || content.contains(UNATTENDED));
    Some(TurnEvent::Result(CallEnd {
        call_id: owned(item, "/id")?,
        failed,
        content,
        ran: !matches!(status, Some("declined" | "blocked")),
        unapproved: Some(unapproved),
        exit_code: item.get("exit_code").and_then(Value::as_i64),
        record: Some(Box::new(item.clone())),
        ..CallEnd::default()
    }))
    .filter(|_| !kind.is_empty())
}

/// Whether this text reports a call that a hook blocked: as a whole, or as the error that ended a script of several
/// calls.
fn said_blocked(words: &str) -> bool {
    let words = words.rsplit("Script error:\n").next().unwrap_or(words);
    ["Command blocked by PreToolUse hook: ", "Tool call blocked by PreToolUse hook: "]
        .iter()
        .any(|blocked| words.starts_with(blocked))
}

fn blocked(record: &Value) -> bool {
    match record.pointer("/payload/output") {
        Some(Value::String(output)) => said_blocked(output),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| text(part, "/text")).any(said_blocked),
        _ => false,
    }
}

/// A call that hooks never see.
fn unseen(record: &Value) -> Option<(String, String)> {
    let word = |at| text(record, at).unwrap_or_default();
    if word("/payload/type") != "item_completed" {
        return None;
    }
    let (kind, id) = (word("/payload/item/type"), word("/payload/item/id"));
    let typed = kind == "CommandExecution" && word("/payload/item/source").contains("interaction");
    let seen = !typed && Codex::FACTS.unseen.iter().all(|(unseen, _)| *unseen != kind);
    (!seen).then(|| (id.to_string(), kind.to_string()))
}
