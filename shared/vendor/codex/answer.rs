//! The answers on Codex's wire.
//!
//! To admit is to say nothing: a bare `allow` is "unsupported" and marks the hook as failed, and
//! `ask` lets the call run. A denial is said three times; exit 2 counts only with something on
//! stderr, and the JSON counts only if it is exactly right (release 0.171.0, measured).

use serde::Serialize;

use crate::json::{Layout, Writer};
use crate::line::one_line;
use crate::vendor::{Event, Verdict, Wire};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    goes_on: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'a str>,
    hook_specific_output: Specific<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Specific<'a> {
    hook_event_name: &'a str,
    #[serde(flatten)]
    said: Said<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    #[serde(rename_all = "camelCase")]
    Permission {
        permission_decision: &'a str,
        permission_decision_reason: &'a str,
    },
    Approval {
        decision: Behavior<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Context {
        additional_context: &'a str,
    },
}

#[derive(Serialize)]
struct Behavior<'a> {
    behavior: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

#[derive(Serialize)]
struct Block<'a> {
    decision: &'a str,
    reason: &'a str,
}

pub fn answer(event: Event, name: &str, verdict: &Verdict) -> Wire {
    match (event, verdict) {
        (Event::Gate | Event::Unknown, Verdict::Deny(reason)) => {
            let said = Said::Permission { permission_decision: "deny", permission_decision_reason: reason };
            blocked(specific("PreToolUse", said), reason)
        }
        (Event::Gate, Verdict::Replace { input, .. }) => Wire { stdout: replaced(input), ..Wire::silence() },
        (Event::Approval, Verdict::Allow) => {
            let said = Said::Approval { decision: Behavior { behavior: "allow", message: None } };
            Wire { stdout: specific(name, said), ..Wire::silence() }
        }
        (Event::Approval, Verdict::Deny(reason)) => {
            let said = Said::Approval { decision: Behavior { behavior: "deny", message: Some(reason) } };
            blocked(specific(name, said), reason)
        }
        (Event::Prompt, Verdict::Deny(reason)) => blocked(line(&Block { decision: "block", reason }), reason),
        (Event::Start, Verdict::Text(context)) => {
            Wire { stdout: specific(name, Said::Context { additional_context: context }), ..Wire::silence() }
        }
        // `continue: false` at the start of a session: no request is made; exit 2 goes on
        (Event::Start, Verdict::Deny(reason)) => {
            let stops = name == "SessionStart";
            let answer = Answer {
                goes_on: stops.then_some(false),
                stop_reason: stops.then_some(reason.as_str()),
                hook_specific_output: Specific {
                    hook_event_name: name,
                    said: Said::Context { additional_context: reason },
                },
            };
            Wire { stdout: line(&answer), ..Wire::silence() }
        }
        _ => Wire::silence(),
    }
}

/// The whole input, as it was given. The decision has to stand beside it, or the old input runs;
/// it grants nothing here: whoever would be asked is asked about the new one.
fn replaced(input: &str) -> String {
    let mut out = Writer::new(Layout::Canonical);
    out.object();
    out.key("hookSpecificOutput");
    out.object();
    out.member("hookEventName", "PreToolUse");
    out.member("permissionDecision", "allow");
    out.key("updatedInput");
    out.raw(input);
    out.end_object();
    out.end_object();
    one_line(&out.finish())
}

fn specific(hook_event_name: &str, said: Said<'_>) -> String {
    line(&Answer { goes_on: None, stop_reason: None, hook_specific_output: Specific { hook_event_name, said } })
}

fn blocked(stdout: String, reason: &str) -> Wire {
    Wire { stdout, stderr: format!("{reason}\n"), block: true, needs_stderr: true }
}

/// One line of JSON. Strings into a string cannot fail; if they did, exit 2 and stderr stand.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).map(|json| json + "\n").unwrap_or_default()
}
