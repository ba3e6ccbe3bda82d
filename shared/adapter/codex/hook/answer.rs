//! The answers in Codex's format.
//!
//! An admission is an empty answer: a bare `allow` is "unsupported" and marks the hook as failed, and `ask` lets the
//! call run. A denial goes out three times: exit 2 counts only with text on stderr, and the JSON counts only if it is
//! exactly right (release 0.171.0, measured).

use crate::adapter::answers::{about_event, object, prompt_blocked};
use crate::adapter::{Event, Verdict, Wire};
use crate::json::Writer;

pub fn answer(event: Event, name: &str, verdict: &Verdict) -> Wire {
    match (event, verdict) {
        (Event::Gate | Event::Unknown, Verdict::Deny(reason)) => {
            let stdout = about_event("PreToolUse", |out| {
                out.member("permissionDecision", "deny");
                out.member("permissionDecisionReason", reason);
            });
            blocked(stdout, reason)
        }
        (Event::Gate, Verdict::Replace { input, .. }) => Wire { stdout: replaced(input), ..Wire::silence() },
        (Event::Approval, Verdict::Allow) => {
            Wire { stdout: about_event(name, |out| behavior(out, "allow", None)), ..Wire::silence() }
        }
        (Event::Approval, Verdict::Deny(reason)) => {
            blocked(about_event(name, |out| behavior(out, "deny", Some(reason))), reason)
        }
        (Event::Prompt, Verdict::Deny(reason)) => blocked(prompt_blocked(reason), reason),
        (Event::Start, Verdict::Text(context)) => {
            Wire { stdout: about_event(name, |out| out.member("additionalContext", context)), ..Wire::silence() }
        }
        // `continue: false` at the start of a session prevents every request; exit 2 does not
        (Event::Start, Verdict::Deny(reason)) => {
            let stops = name == "SessionStart";
            let stdout = object(|out| {
                if stops {
                    out.key("continue");
                    out.flag(false);
                    out.member("stopReason", reason);
                }
                out.key("hookSpecificOutput");
                out.object();
                out.member("hookEventName", name);
                out.member("additionalContext", reason);
                out.end_object();
            });
            Wire { stdout, ..Wire::silence() }
        }
        _ => Wire::silence(),
    }
}

/// The whole input, unchanged. The decision must stand beside it, or the old input runs. It grants nothing here: a
/// person who would be asked is asked about the new input.
fn replaced(input: &str) -> String {
    about_event("PreToolUse", |out| {
        out.member("permissionDecision", "allow");
        out.key("updatedInput");
        out.raw(input);
    })
}

fn behavior(out: &mut Writer, behavior: &str, message: Option<&str>) {
    out.key("decision");
    out.object();
    out.member("behavior", behavior);
    if let Some(message) = message {
        out.member("message", message);
    }
    out.end_object();
}

fn blocked(stdout: String, reason: &str) -> Wire {
    Wire { stdout, stderr: format!("{reason}\n"), block: true, needs_stderr: true }
}
