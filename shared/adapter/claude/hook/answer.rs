//! The answers in Claude Code's format.
//!
//! A denial goes out three times: the JSON gives the model a clean reason, exit 2 blocks whatever else is on stdout,
//! and stderr then carries the reason (release 2.1.332, measured).

use crate::adapter::answers::{about_event, prompt_blocked};
use crate::adapter::{Event, Verdict, Wire};

pub fn answer(event: Event, name: &str, verdict: &Verdict) -> Wire {
    match (event, verdict) {
        (Event::Gate, Verdict::Allow) if name == "PreToolUse" => {
            let stdout = about_event(name, |out| out.member("permissionDecision", "allow"));
            Wire { stdout, ..Wire::silence() }
        }
        (Event::Gate, Verdict::Replace { input, grants }) if name == "PreToolUse" => {
            Wire { stdout: replaced(input, *grants), ..Wire::silence() }
        }
        (Event::Gate | Event::Unknown, Verdict::Deny(reason)) => {
            let name = if event == Event::Gate { name } else { "PreToolUse" };
            let stdout = about_event(name, |out| {
                out.member("permissionDecision", "deny");
                out.member("permissionDecisionReason", reason);
            });
            Wire { stdout, ..blocked(reason) }
        }
        // exit 2 is no denial here, and would replace the JSON
        (Event::Approval, Verdict::Deny(reason)) => {
            let stdout = about_event(name, |out| {
                out.key("decision");
                out.object();
                out.member("behavior", "deny");
                out.member("message", reason);
                out.end_object();
            });
            Wire { stdout, ..Wire::silence() }
        }
        (Event::Prompt, Verdict::Deny(reason)) => Wire { stdout: prompt_blocked(reason), ..blocked(reason) },
        // nothing stops a session here, but the model gets the reason why nothing will run
        (Event::Start, Verdict::Text(context) | Verdict::Deny(context)) => {
            let stdout = about_event(name, |out| out.member("additionalContext", context));
            Wire { stdout, ..Wire::silence() }
        }
        _ => Wire::silence(),
    }
}

/// The whole input, unchanged. Without a decision the vendor uses it all the same, and the permission mode decides.
fn replaced(input: &str, grants: bool) -> String {
    about_event("PreToolUse", |out| {
        if grants {
            out.member("permissionDecision", "allow");
        }
        out.key("updatedInput");
        out.raw(input);
    })
}

fn blocked(reason: &str) -> Wire {
    Wire { stderr: format!("{reason}\n"), block: true, ..Wire::silence() }
}
