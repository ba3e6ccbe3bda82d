//! Claude Code's `stream-json` (measured on 2.1.332).

use std::collections::HashSet;

use serde_json::Value;

use super::{count, facts, list, owned, text};
use crate::turn::{Event, Figures, Warning};

/// How the result of a call begins that failed before it came to a hook or to running.
const NEVER_RAN: &str = "<tool_use_error>";

/// Reads the stream.
#[derive(Debug, Default)]
pub struct Claude {
    requests: HashSet<String>,
}

impl Claude {
    pub fn record(&mut self, record: &Value) -> Vec<Event> {
        let kind = (text(record, "/type").unwrap_or_default(), text(record, "/subtype").unwrap_or_default());
        match kind {
            ("system", "init") => {
                vec![Event::Started {
                    session: owned(record, "/session_id"),
                    model: owned(record, "/model"),
                    facts: facts(record, &STARTED),
                }]
            }
            // a hook that started and gave no verdict: missing, killed, late, or no valid answer
            ("system", "informational") if text(record, "/tag") == Some("hook_no_verdict") => vec![Event::HookFailed {
                hook: "a hook".into(),
                why: text(record, "/content").unwrap_or("it gave no verdict").into(),
            }],
            // what came of it is told in its response; some start before the session is told of
            ("system", "hook_started") => Vec::new(),
            ("system", "thinking_tokens") => count(record, "/estimated_tokens")
                .map(|tokens| Event::Estimate { tokens, delta: count(record, "/estimated_tokens_delta") })
                .into_iter()
                .collect(),
            ("system", "hook_response") => hook(record).into_iter().collect(),
            ("assistant", _) => self.assistant(record),
            ("user", _) => list(record, "/message/content").iter().filter_map(|block| result(record, block)).collect(),
            ("result", subtype) => vec![ended(record, subtype)],
            // the vendor tries again for minutes, whatever the fault: a refused key too
            ("system", "api_retry") if count(record, "/error_status") == Some(401) => {
                vec![Event::Unauthorized { text: retry(record) }]
            }
            ("system", "api_retry") => vec![Event::Notice { code: Warning::Retry, text: retry(record) }],
            ("rate_limit_event", _) => vec![Event::RateLimit { info: facts(record, &LIMIT) }],
            (kind, subtype) => vec![Event::Opaque {
                kind: kind.into(),
                subtype: Some(subtype.to_string()).filter(|subtype| !subtype.is_empty()),
            }],
        }
    }

    fn assistant(&mut self, record: &Value) -> Vec<Event> {
        let nested = text(record, "/parent_tool_use_id").is_some();
        let request = owned(record, "/message/id");
        let mut events = Vec::new();
        if let Some(request) = &request
            && !nested
            && self.requests.insert(request.clone())
        {
            // the record is of a message that has only begun: its output is not counted yet
            let used = |name| count(record, &format!("/message/usage/{name}"));
            let figures = Figures {
                input: used("input_tokens"),
                cached: used("cache_read_input_tokens"),
                created: used("cache_creation_input_tokens"),
                ..Figures::default()
            };
            let figures = Some(figures).filter(|figures| *figures != Figures::default());
            events.push(Event::ModelCall { request: request.clone(), model: owned(record, "/message/model"), figures });
        }
        for block in list(record, "/message/content") {
            match text(block, "/type") {
                Some("text") if !nested => events.push(Event::Text {
                    text: text(block, "/text").unwrap_or_default().into(),
                    request: request.clone(),
                }),
                Some("thinking") if !nested => {
                    let text = text(block, "/thinking").unwrap_or_default().into();
                    events.push(Event::Thinking { text, request: request.clone() });
                }
                Some("tool_use") => events.push(Event::Requested {
                    call_id: text(block, "/id").unwrap_or_default().into(),
                    tool: text(block, "/name").unwrap_or_default().into(),
                    input: block.get("input").cloned().unwrap_or_default(),
                    nested,
                }),
                _ => {}
            }
        }
        events
    }
}

/// The members of the first record that are told, by the names of their line.
const STARTED: [(&str, &str); 11] = [
    ("permission_mode", "/permissionMode"),
    ("credential_source", "/apiKeySource"),
    ("output_style", "/output_style"),
    ("cwd", "/cwd"),
    ("offered_tools", "/tools"),
    ("slash_commands", "/slash_commands"),
    ("skills", "/skills"),
    ("agents", "/agents"),
    ("plugins", "/plugins"),
    ("mcp_servers", "/mcp_servers"),
    ("harness_version", "/claude_code_version"),
];

/// And of the last.
const ENDED: [(&str, &str); 12] = [
    ("subtype", "/subtype"),
    ("stop_reason", "/stop_reason"),
    ("api_error_status", "/api_error_status"),
    ("num_turns", "/num_turns"),
    ("duration_ms", "/duration_ms"),
    ("duration_api_ms", "/duration_api_ms"),
    ("ttft_ms", "/ttft_ms"),
    ("time_to_request_ms", "/time_to_request_ms"),
    ("total_cost_usd", "/total_cost_usd"),
    ("model_usage", "/modelUsage"),
    ("service_tier", "/usage/service_tier"),
    ("speed", "/usage/speed"),
];

/// And of one about a limit.
const LIMIT: [(&str, &str); 5] = [
    ("status", "/rate_limit_info/status"),
    ("window", "/rate_limit_info/rateLimitType"),
    ("resets_at", "/rate_limit_info/resetsAt"),
    ("utilization", "/rate_limit_info/utilization"),
    ("using_overage", "/rate_limit_info/isUsingOverage"),
];

/// What a record of another try says.
fn retry(record: &Value) -> String {
    let number = |at| count(record, at).map_or("?".into(), |number| number.to_string());
    format!(
        "the model's service failed ({}, status {}), try {} of {}",
        text(record, "/error").unwrap_or("unknown"),
        number("/error_status"),
        number("/attempt"),
        number("/max_retries")
    )
}

/// A hook's end, as the vendor saw it: 0 and 2 are the two that ours has.
fn hook(record: &Value) -> Option<Event> {
    let code = record.pointer("/exit_code").and_then(Value::as_i64);
    let outcome = text(record, "/outcome").unwrap_or_default();
    let well = matches!(code, Some(0 | 2)) && outcome != "cancelled";
    (!well).then(|| Event::HookFailed {
        hook: text(record, "/hook_name").unwrap_or("a hook").into(),
        why: match code {
            Some(code) => format!("it ended with exit code {code}"),
            None => format!("it ended without an exit code ({outcome})"),
        },
    })
}

fn result(record: &Value, block: &Value) -> Option<Event> {
    if text(block, "/type") != Some("tool_result") {
        return None;
    }
    let content = match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    };
    Some(Event::Result {
        call_id: text(block, "/tool_use_id").unwrap_or_default().into(),
        failed: block.get("is_error").and_then(Value::as_bool).unwrap_or(false),
        ran: !content.starts_with(NEVER_RAN),
        content,
        exit_code: None,
        record: record.get("tool_use_result").filter(|result| !result.is_null()).cloned().map(Box::new),
    })
}

fn ended(record: &Value, subtype: &str) -> Event {
    let failed = record.pointer("/is_error").and_then(Value::as_bool).unwrap_or(subtype != "success");
    let structured = record.get("structured_output").filter(|value| !value.is_null()).map(Value::to_string);
    let words = owned(record, "/result").filter(|words| !words.is_empty());
    let errors: Vec<&str> = list(record, "/errors").iter().filter_map(Value::as_str).collect();
    let error = match (failed, errors.is_empty()) {
        (false, _) => None,
        (true, false) => Some(errors.join("; ")),
        (true, true) => words.clone().or_else(|| Some(format!("the turn ended with {subtype}"))),
    };
    let denials = list(record, "/permission_denials").iter().map(|denial| {
        let word = |at| text(denial, at).unwrap_or_default().to_string();
        (word("/tool_use_id"), word("/tool_name"), denial.get("tool_input").cloned().unwrap_or_default())
    });
    Event::Ended {
        failed,
        answer: structured.or_else(|| words.filter(|_| !failed)),
        error,
        truncated: text(record, "/stop_reason") == Some("max_tokens"),
        // a prompt that a hook blocks costs no request, and is called a success
        blocked: !failed && count(record, "/num_turns") == Some(0),
        denials: denials.collect(),
        figures: Figures {
            input: count(record, "/usage/input_tokens"),
            output: count(record, "/usage/output_tokens"),
            cached: count(record, "/usage/cache_read_input_tokens"),
            created: count(record, "/usage/cache_creation_input_tokens"),
            reasoning: count(record, "/usage/output_tokens_details/thinking_tokens"),
        },
        facts: facts(record, &ENDED),
    }
}
