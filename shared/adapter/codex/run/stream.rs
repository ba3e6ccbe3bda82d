//! Codex's `exec --json` (measured on 0.171.0). Its items have ids of their own, so calls are read here only to name
//! the failed ones; the rollout tells which calls ran.

use serde_json::{Value, json};

use crate::adapter::run::record::{figures, owned, text};
use crate::adapter::run::{CallEnd, Figures, Stream, TurnEvent, Warning};

/// The beginning of the vendor's message about a missing variable for the key.
const NO_KEY: &str = "Missing environment variable";

/// The beginning of its messages while it tries to reach the model's service.
const TRIES: &str = "Reconnecting";

#[derive(Debug, Default)]
pub struct ExecJson {
    messages: u64,
    errors: Vec<String>,
    /// Calls that were reported when they began.
    begun: Vec<String>,
}

impl Stream for ExecJson {
    fn record(&mut self, record: &Value) -> Vec<TurnEvent> {
        match text(record, "/type").unwrap_or_default() {
            "thread.started" => {
                vec![TurnEvent::Started { session: owned(record, "/thread_id"), model: None, facts: Box::default() }]
            }
            "turn.started" => Vec::new(),
            "item.started" => {
                self.begun.extend(owned(record, "/item/id"));
                call(record).into_iter().collect()
            }
            "item.completed" => self.completed(record),
            "item.updated" => Vec::new(),
            "turn.completed" => vec![TurnEvent::Ended {
                failed: false,
                answer: None,
                structured: None,
                error: None,
                truncated: false,
                blocked: self.messages == 0,
                denials: Vec::new(),
                figures: figures(record, "/usage"),
                facts: Box::new(json!({"subtype": "turn.completed"})),
            }],
            "turn.failed" => vec![self.failed(text(record, "/error/message"))],
            // this comes before the terminal record, which repeats it
            "error" => {
                let Some(words) = owned(record, "/message").filter(|words| !words.trim().is_empty()) else {
                    return Vec::new();
                };
                self.errors.push(words.clone());
                match (status(&words), words.starts_with(TRIES)) {
                    (Some(401), _) => vec![TurnEvent::Unauthorized { text: words }],
                    _ if words.starts_with(NO_KEY) => vec![TurnEvent::Unauthorized { text: words }],
                    (_, true) => vec![TurnEvent::Notice { code: Warning::Retry, text: words }],
                    _ => Vec::new(),
                }
            }
            kind => vec![TurnEvent::Opaque { kind: kind.into(), subtype: None }],
        }
    }
}

impl ExecJson {
    fn failed(&mut self, message: Option<&str>) -> TurnEvent {
        let said = message.filter(|message| !message.trim().is_empty());
        let error = said.map(String::from).or_else(|| self.errors.last().cloned());
        let error = error.unwrap_or_else(|| "the turn failed without a word".into());
        let facts = Box::new(json!({"subtype": "turn.failed", "api_error_status": status(&error)}));
        TurnEvent::Ended {
            failed: true,
            answer: None,
            structured: None,
            truncated: error.contains("max_output_tokens"),
            error: Some(error),
            blocked: false,
            denials: Vec::new(),
            figures: Figures::default(),
            facts,
        }
    }

    fn completed(&mut self, record: &Value) -> Vec<TurnEvent> {
        match text(record, "/item/type").unwrap_or_default() {
            "agent_message" => {
                self.messages += 1;
                vec![TurnEvent::Text { text: text(record, "/item/text").unwrap_or_default().into(), request: None }]
            }
            // an item has an id of its own, but none of its model call
            "reasoning" => {
                vec![TurnEvent::Thinking { text: text(record, "/item/text").unwrap_or_default().into(), request: None }]
            }
            "error" => {
                let words = text(record, "/item/message").unwrap_or_default();
                vec![match words.contains("failed to parse hooks config") {
                    true => TurnEvent::HookFailed { hook: "the hooks".into(), why: words.into() },
                    false => TurnEvent::Notice { code: Warning::Notice, text: words.into() },
                }]
            }
            _ => {
                let begun = owned(record, "/item/id").is_some_and(|id| self.begun.contains(&id));
                let call = if begun { None } else { call(record) };
                call.into_iter().chain(result(record)).collect()
            }
        }
    }
}

/// The HTTP status in an error of the model's service.
fn status(error: &str) -> Option<u16> {
    let (_, rest) = error.split_once("unexpected status ")?;
    rest.split(' ').next()?.parse().ok()
}

/// The call of an item, with its tool's name for hooks.
fn call(record: &Value) -> Option<TurnEvent> {
    let item = record.get("item")?;
    let (tool, input) = match text(item, "/type")? {
        "command_execution" => ("Bash".into(), json!({"command": item.get("command")})),
        "file_change" => ("apply_patch".into(), json!({"changes": item.get("changes")})),
        "mcp_tool_call" => {
            let name = |at| text(item, at).unwrap_or_default();
            (format!("mcp__{}__{}", name("/server"), name("/tool")), item.get("arguments").cloned().unwrap_or_default())
        }
        "web_search" => ("web_search".into(), json!({"query": item.get("query")})),
        _ => return None,
    };
    Some(TurnEvent::Requested { call_id: owned(item, "/id")?, tool, input, nested: false })
}

fn result(record: &Value) -> Option<TurnEvent> {
    let item = record.get("item")?;
    let failed = text(item, "/status").is_some_and(|status| status != "completed");
    Some(TurnEvent::Result(CallEnd {
        call_id: owned(item, "/id")?,
        failed,
        content: text(item, "/aggregated_output").or(text(item, "/error/message")).unwrap_or_default().into(),
        ran: true,
        exit_code: item.get("exit_code").and_then(Value::as_i64),
        ..CallEnd::default()
    }))
}
