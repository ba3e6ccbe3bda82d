//! Claude Code's `stream-json` (measured on 2.1.332).

use std::collections::HashSet;

use serde_json::Value;

use crate::adapter::claude::{Claude, EVENTS};
use crate::adapter::run::record::{count, facts, list, owned, text};
use crate::adapter::run::{CallEnd, Figures, Stream, TurnEvent, Warning, Witness};

/// The event before a call.
const GATE: &str = Claude::FACTS.gate;

/// The beginning of the result of a call that failed before its hook and before running.
const NEVER_RAN: &str = "<tool_use_error>";

/// Words in the result of a call of a withheld tool.
const NOT_OFFERED: &str = "is disabled for this session";

/// The vendor's reason for a call of which nothing ran and which a person would have been asked about.
const UNAPPROVED: &str = "user-rejected";

/// The vendor's word for missing or refused credentials.
const NO_LOGIN: &str = "authentication_failed";

/// The model of a message that no model wrote.
const NO_MODEL: &str = "<synthetic>";

/// The vendor's word for a reply that stopped at the output cap and was not continued again.
const CAPPED: &str = "max_output_tokens";

#[derive(Debug, Default)]
pub struct StreamJson {
    requests: HashSet<String>,
    /// The running hooks of events that come one at a time, by the vendor's names for them.
    at_work: Vec<String>,
    /// Calls that the vendor reports as denied for want of an approval, before their results.
    unapproved: HashSet<String>,
    /// The id of the model's last reply.
    last: Option<String>,
    /// Whether that reply called no tool; if the vendor goes on, the next reply continues it.
    would_end: bool,
}

/// Events that come one at a time: two hooks running at one of them are two registered hooks.
const ONCE: [&str; 2] = ["SessionStart", "UserPromptSubmit"];

impl Stream for StreamJson {
    fn record(&mut self, record: &Value) -> Vec<TurnEvent> {
        let kind = (text(record, "/type").unwrap_or_default(), text(record, "/subtype").unwrap_or_default());
        match kind {
            ("system", "init") => {
                let started = TurnEvent::Started {
                    session: owned(record, "/session_id"),
                    model: owned(record, "/model"),
                    facts: facts(record, &STARTED),
                };
                let brought = list(record, "/plugins").iter().filter_map(plugin);
                let silent = list(record, "/mcp_servers").iter().filter_map(server);
                std::iter::once(started).chain(brought).chain(silent).collect()
            }
            // a hook that started and gave no verdict: missing, killed, late, or with an invalid answer
            ("system", "informational") if text(record, "/tag") == Some("hook_no_verdict") => {
                vec![TurnEvent::HookFailed {
                    hook: "a hook".into(),
                    why: text(record, "/content").unwrap_or("it gave no verdict").into(),
                }]
            }
            // its response reports the outcome; some hooks start before the session is reported
            ("system", "hook_started") => self.hook_started(record).into_iter().collect(),
            ("system", "thinking_tokens") => count(record, "/estimated_tokens")
                .map(|tokens| TurnEvent::Estimate { tokens, delta: count(record, "/estimated_tokens_delta") })
                .into_iter()
                .collect(),
            ("system", "hook_response") => {
                let name = text(record, "/hook_name").unwrap_or_default();
                if let Some(place) = self.at_work.iter().position(|working| working == name) {
                    self.at_work.remove(place);
                }
                let answered = event_of(record) == Some(GATE);
                hook(record).into_iter().chain(answered.then_some(TurnEvent::HookAnswered)).collect()
            }
            ("assistant", _) => self.assistant(record),
            ("system", "permission_denied") => {
                self.unapproved.extend(owned(record, "/tool_use_id"));
                Vec::new()
            }
            ("user", _) if self.would_end && continues(record) => vec![TurnEvent::Continued],
            ("user", _) => self.user(record),
            // a turn without a prompt, for work in the background: it is not this run's
            ("result", subtype) if record.pointer("/origin/kind").is_some() => {
                vec![TurnEvent::Opaque { kind: "result".into(), subtype: Some(subtype.into()) }]
            }
            ("result", subtype) => vec![ended(record, subtype)],
            // the vendor retries for minutes after any failure, even for a refused key
            ("system", "api_retry") if count(record, "/error_status") == Some(401) => {
                vec![TurnEvent::Unauthorized { text: retry(record) }]
            }
            ("system", "api_retry") => vec![TurnEvent::Notice { code: Warning::Retry, text: retry(record) }],
            ("rate_limit_event", _) => vec![TurnEvent::RateLimit { info: facts(record, &LIMIT) }],
            (kind, subtype) => vec![TurnEvent::Opaque {
                kind: kind.into(),
                subtype: Some(subtype.to_string()).filter(|subtype| !subtype.is_empty()),
            }],
        }
    }
}

impl StreamJson {
    /// A starting hook, if it is not ours: its event is none of ours, or it runs beside ours.
    fn hook_started(&mut self, record: &Value) -> Option<TurnEvent> {
        let event = event_of(record)?;
        let name = text(record, "/hook_name").unwrap_or(event);
        if !EVENTS.contains(&event) {
            let why = "a hook ran at it that is none of this run's";
            return Some(TurnEvent::Stranger { what: name.into(), why: why.into() });
        }
        if !ONCE.contains(&event) {
            return None;
        }
        let beside = self.at_work.iter().any(|working| working == name);
        self.at_work.push(name.into());
        let why = "a hook ran at it beside this run's own";
        beside.then(|| TurnEvent::Stranger { what: name.into(), why: why.into() })
    }

    fn user(&self, record: &Value) -> Vec<TurnEvent> {
        let blocks = list(record, "/message/content").iter();
        blocks.flat_map(|block| result(record, block, &self.unapproved)).collect()
    }

    fn assistant(&mut self, record: &Value) -> Vec<TurnEvent> {
        let nested = text(record, "/parent_tool_use_id").is_some();
        if text(record, "/message/model") == Some(NO_MODEL) {
            // the vendor's own words, which are in its last record too
            let words = list(record, "/message/content").iter().filter_map(|block| text(block, "/text"));
            let words = words.filter(|words| !words.trim().is_empty()).map(String::from);
            return match text(record, "/error") {
                Some(NO_LOGIN) => words.map(|text| TurnEvent::Unauthorized { text }).collect(),
                _ => words.map(|text| TurnEvent::Notice { code: Warning::Notice, text }).collect(),
            };
        }
        let request = owned(record, "/message/id");
        let mut events = Vec::new();
        if let Some(request) = &request
            && !nested
            && self.requests.insert(request.clone())
        {
            // the record is written when the message begins, so its output is not counted yet
            let used = |name| count(record, &format!("/message/usage/{name}"));
            let figures = Figures {
                input: used("input_tokens"),
                cached: used("cache_read_input_tokens"),
                created: used("cache_creation_input_tokens"),
                ..Figures::default()
            };
            let figures = Some(figures).filter(|figures| *figures != Figures::default());
            events.push(TurnEvent::ModelCall {
                request: request.clone(),
                model: owned(record, "/message/model"),
                figures,
            });
        }
        if !nested {
            let calls = list(record, "/message/content").iter().any(|block| text(block, "/type") == Some("tool_use"));
            // each block has a record of its own
            self.would_end = !calls && (self.would_end || self.last != request);
            self.last.clone_from(&request);
        }
        for block in list(record, "/message/content") {
            match text(block, "/type") {
                Some("text") if !nested => events.push(TurnEvent::Text {
                    text: text(block, "/text").unwrap_or_default().into(),
                    request: request.clone(),
                }),
                Some("thinking") if !nested => {
                    let text = text(block, "/thinking").unwrap_or_default().into();
                    events.push(TurnEvent::Thinking { text, request: request.clone() });
                }
                Some("tool_use") => events.push(TurnEvent::Requested {
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

/// The members of the first record that are passed on, with their names in the line.
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

/// The members of the last record that are passed on.
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

/// The members of a rate limit record that are passed on.
const LIMIT: [(&str, &str); 5] = [
    ("status", "/rate_limit_info/status"),
    ("window", "/rate_limit_info/rateLimitType"),
    ("resets_at", "/rate_limit_info/resetsAt"),
    ("utilization", "/rate_limit_info/utilization"),
    ("using_overage", "/rate_limit_info/isUsingOverage"),
];

/// Whether the vendor itself tells the model to go on, in words outside every call's result.
fn continues(record: &Value) -> bool {
    let own = record.get("isSynthetic").and_then(Value::as_bool) == Some(true);
    let blocks = list(record, "/message/content");
    own && !blocks.is_empty() && blocks.iter().all(|block| text(block, "/type") == Some("text"))
}

/// The words about a retry.
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

/// The event of a hook's record.
fn event_of(record: &Value) -> Option<&str> {
    let named = || text(record, "/hook_name")?.split(':').next();
    text(record, "/hook_event").or_else(named)
}

/// A plugin that the session loaded and the vendor did not bring: it may hold hooks and commands of its own.
fn plugin(plugin: &Value) -> Option<TurnEvent> {
    const BUILT_IN: &str = "builtin";
    let name = plugin.as_str().or_else(|| text(plugin, "/name")).unwrap_or("a plugin");
    let why = "the session loaded this plugin, which the run did not give it";
    (text(plugin, "/path") != Some(BUILT_IN))
        .then(|| TurnEvent::Stranger { what: format!("plugin {name}"), why: why.into() })
}

/// An MCP server that is missing: the model does not get its tools, and no other record tells that.
fn server(server: &Value) -> Option<TurnEvent> {
    let status = text(server, "/status").filter(|status| matches!(*status, "failed" | "needs-auth"))?;
    let name = text(server, "/name").unwrap_or("without a name");
    let text =
        format!("the mcp server {name} is not there ({status}), and its tools are not offered: see --mcp-config");
    Some(TurnEvent::Notice { code: Warning::Server, text })
}

/// The vendor's facts about a call besides its result.
#[derive(Default)]
struct Meta {
    witness: Option<Witness>,
    /// Whether the call was turned down, so that nothing of it ran.
    turned_down: bool,
    /// Whether that was for want of an approval, if a reason is given.
    unapproved: Option<bool>,
    /// Whether another person's plugin took part.
    plugin: bool,
}

/// The entry of `tool_result_meta` for a call (2.1.332; older releases have none): the decision about its permission,
/// the party that made it, and for a `reject` the reason why nothing ran. A `reject` without a reason is about a call
/// that had begun.
fn meta(record: &Value, id: &str) -> Meta {
    let Some(meta) = list(record, "/tool_result_meta").iter().find(|meta| text(meta, "/id") == Some(id)) else {
        return Meta::default();
    };
    let hook = text(meta, "/permission_decision/source") == Some("hook");
    let witness = match (text(meta, "/permission_decision/decision"), hook) {
        (Some("accept"), true) => Some(Witness::HookLet),
        (Some("accept"), false) => Some(Witness::OtherLet),
        (Some("reject"), true) => Some(Witness::HookStopped),
        (Some("reject"), false) => Some(Witness::OtherStopped),
        _ => None,
    };
    let stopped = matches!(witness, Some(Witness::HookStopped | Witness::OtherStopped));
    let set = |at| meta.pointer(at).is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
    Meta {
        witness,
        turned_down: stopped && set("/non_execution_kind"),
        unapproved: stopped.then(|| !hook && text(meta, "/non_execution_kind") == Some(UNAPPROVED)),
        plugin: set("/rewritten_by_plugin") || set("/permission_decision/plugin_approval"),
    }
}

/// A hook's end, by the vendor's record: ours ends with 0 or 2.
fn hook(record: &Value) -> Option<TurnEvent> {
    let code = record.pointer("/exit_code").and_then(Value::as_i64);
    let outcome = text(record, "/outcome").unwrap_or_default();
    let well = matches!(code, Some(0 | 2)) && outcome != "cancelled";
    // if the vendor could not start it, these are the vendor's own words
    let said = ["/stderr", "/output"]
        .iter()
        .filter_map(|at| text(record, at)?.trim().lines().next())
        .find(|line| !line.is_empty());
    let said = said.map(|line| format!(": {line}")).unwrap_or_default();
    (!well).then(|| TurnEvent::HookFailed {
        hook: text(record, "/hook_name").unwrap_or("a hook").into(),
        why: match code {
            Some(code) => format!("it ended with exit code {code}{said}"),
            None => format!("it ended without an exit code ({outcome}){said}"),
        },
    })
}

fn result(record: &Value, block: &Value, unapproved: &HashSet<String>) -> Vec<TurnEvent> {
    if text(block, "/type") != Some("tool_result") {
        return Vec::new();
    }
    let id = text(block, "/tool_use_id").unwrap_or_default();
    let Meta { witness, turned_down, unapproved: by_meta, plugin } = meta(record, id);
    let content = match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    };
    let ran = !content.starts_with(NEVER_RAN) && !turned_down;
    let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    let told = content.strip_prefix(GATE).is_some_and(|rest| rest.starts_with(':'));
    let result = TurnEvent::Result(CallEnd {
        call_id: id.into(),
        failed,
        ran,
        by_hook: failed && (told || witness == Some(Witness::HookStopped)),
        withheld: !ran && content.contains(NOT_OFFERED),
        witness,
        // a denial by a rule has this record too, where the hook left the call alone
        unapproved: match content.starts_with(NEVER_RAN) {
            true => Some(false),
            false => by_meta.or(unapproved.contains(id).then_some(true)),
        },
        told: false,
        content,
        exit_code: None,
        record: record.get("tool_use_result").filter(|result| !result.is_null()).cloned().map(Box::new),
    });
    let why = format!("it settled or rewrote the call {id}, and is none of this run's");
    let stranger = plugin.then(|| TurnEvent::Stranger { what: "a plugin".into(), why });
    std::iter::once(result).chain(stranger).collect()
}

/// The known facts about a failure that the vendor does not describe.
fn without_words(record: &Value, subtype: &str) -> String {
    let status = count(record, "/api_error_status").map(|status| format!(", status {status}")).unwrap_or_default();
    match (text(record, "/api_error"), subtype) {
        (Some(error), _) => format!("the model's service failed ({error}{status}), and the vendor says no more"),
        (None, _) if !status.is_empty() => format!("the model's service failed (unknown{status})"),
        (None, "success") => "the turn failed, and the vendor does not say why".into(),
        (None, subtype) => format!("the turn ended with {subtype}"),
    }
}

fn ended(record: &Value, subtype: &str) -> TurnEvent {
    let failed = record.pointer("/is_error").and_then(Value::as_bool).unwrap_or(subtype != "success");
    let structured = record.get("structured_output").filter(|value| !value.is_null()).map(Value::to_string);
    let words = owned(record, "/result").filter(|words| !words.trim().is_empty());
    let errors = list(record, "/errors").iter().filter_map(Value::as_str);
    let errors: Vec<&str> = errors.filter(|words| !words.trim().is_empty()).collect();
    let error = match (failed, errors.is_empty()) {
        (false, _) => None,
        (true, false) => Some(errors.join("; ")),
        (true, true) => words.clone().or_else(|| Some(without_words(record, subtype))),
    };
    let denials = list(record, "/permission_denials").iter().map(|denial| {
        let word = |at| text(denial, at).unwrap_or_default().to_string();
        (word("/tool_use_id"), word("/tool_name"), denial.get("tool_input").cloned().unwrap_or_default())
    });
    TurnEvent::Ended {
        failed,
        answer: words.filter(|_| !failed),
        structured,
        error,
        truncated: text(record, "/stop_reason") == Some("max_tokens") || text(record, "/api_error") == Some(CAPPED),
        // a prompt that a hook blocks makes no request, and is reported as a success
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
