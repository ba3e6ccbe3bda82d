//! The answers on Claude Code's wire.
//!
//! A denial is said three times: the JSON gives the model a clean reason, exit 2 blocks whatever
//! else has got onto stdout, and stderr carries the reason then (release 2.1.332, measured).

use serde::Serialize;

use crate::json::{Layout, Writer};
use crate::line::one_line;
use crate::vendor::{Event, Verdict, Wire};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
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
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_decision_reason: Option<&'a str>,
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
    message: &'a str,
}

#[derive(Serialize)]
struct Block<'a> {
    decision: &'a str,
    reason: &'a str,
}

pub fn answer(event: Event, name: &str, verdict: &Verdict) -> Wire {
    let specific = |hook_event_name: &str, said: Said<'_>| {
        line(&Answer { hook_specific_output: Specific { hook_event_name, said } })
    };
    match (event, verdict) {
        (Event::Gate, Verdict::Allow) if name == "PreToolUse" => {
            let said = Said::Permission { permission_decision: "allow", permission_decision_reason: None };
            Wire { stdout: specific(name, said), ..Wire::silence() }
        }
        (Event::Gate, Verdict::Replace { input, grants }) if name == "PreToolUse" => {
            Wire { stdout: replaced(input, *grants), ..Wire::silence() }
        }
        (Event::Gate | Event::Unknown, Verdict::Deny(reason)) => {
            let said = Said::Permission { permission_decision: "deny", permission_decision_reason: Some(reason) };
            let name = if event == Event::Gate { name } else { "PreToolUse" };
            Wire { stdout: specific(name, said), ..blocked(reason) }
        }
        // exit 2 is no denial here, and would take the JSON's place
        (Event::Approval, Verdict::Deny(reason)) => {
            let said = Said::Approval { decision: Behavior { behavior: "deny", message: reason } };
            Wire { stdout: specific(name, said), ..Wire::silence() }
        }
        (Event::Prompt, Verdict::Deny(reason)) => {
            Wire { stdout: line(&Block { decision: "block", reason }), ..blocked(reason) }
        }
        // nothing stops a session here; the model at least is told why nothing will run
        (Event::Start, Verdict::Text(context) | Verdict::Deny(context)) => {
            Wire { stdout: specific(name, Said::Context { additional_context: context }), ..Wire::silence() }
        }
        _ => Wire::silence(),
    }
}

/// The whole input, as it was given. Without a decision it is used all the same, and the
/// permission mode goes on to decide.
fn replaced(input: &str, grants: bool) -> String {
    let mut out = Writer::new(Layout::Canonical);
    out.object();
    out.key("hookSpecificOutput");
    out.object();
    out.member("hookEventName", "PreToolUse");
    if grants {
        out.member("permissionDecision", "allow");
    }
    out.key("updatedInput");
    out.raw(input);
    out.end_object();
    out.end_object();
    one_line(&out.finish())
}

fn blocked(reason: &str) -> Wire {
    Wire { stderr: format!("{reason}\n"), block: true, ..Wire::silence() }
}

/// One line of JSON. Strings into a string cannot fail; if they did, exit 2 and stderr stand.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).map(|json| json + "\n").unwrap_or_default()
}
