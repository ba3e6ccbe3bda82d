//! The vendor's reaction to a hook's end: one function for each vendor, written from what was measured on the real
//! programs (Claude Code 2.1.332, Codex 0.171.0) and independent of the product's own claims.

use std::fmt;

use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// At PreToolUse.
    Call,
    /// At PermissionRequest.
    Approval,
    /// At UserPromptSubmit.
    Prompt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    Block,
    /// The hook let it run, or failed in a way that the vendor takes for permission.
    Run,
    /// The hook gave no answer, and the vendor's own rules decide.
    Silent,
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Host::Block => "BLOCK",
            Host::Run => "RUN",
            Host::Silent => "SILENT",
        })
    }
}

/// A hook's end as its vendor sees it.
#[derive(Clone, Default)]
pub struct Ended {
    /// `None` if a signal or the timeout ended it.
    pub code: Option<i32>,
    /// The vendor's timeout ran out first.
    pub late: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl fmt::Debug for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stdout, stderr) = (String::from_utf8_lossy(&self.stdout), String::from_utf8_lossy(&self.stderr));
        write!(out, "code {:?}, late {}, stdout {stdout:?}, stderr {stderr:?}", self.code, self.late)
    }
}

/// Claude Code. `on_failure` is the entry's `"onFailure": "block"`; without it, a failed hook does not count.
pub fn claude(event: Event, ended: &Ended, on_failure: bool) -> Host {
    let failed = if on_failure { Host::Block } else { Host::Run };
    if ended.late {
        return failed;
    }
    let text = String::from_utf8_lossy(&ended.stdout);
    let text = text.trim_start_matches('\u{feff}').trim();
    let clean = ended.code == Some(0);
    let answer = serde_json::from_str::<Map<String, Value>>(text);
    let by_code = match ended.code {
        // exit 2 does not deny an approval
        Some(2) if event != Event::Approval => Some(Host::Block),
        Some(0) => None,
        _ => Some(failed),
    };
    let Ok(answer) = answer else {
        // output that is no answer decides nothing, whatever `onFailure` says; neither does no output
        return by_code.unwrap_or(if text.is_empty() { Host::Silent } else { Host::Run });
    };
    let denied = match event {
        Event::Call => {
            let specific = &answer.get("hookSpecificOutput");
            specific.is_some_and(|it| it["hookEventName"] == "PreToolUse" && it["permissionDecision"] == "deny")
        }
        Event::Approval => answer
            .get("hookSpecificOutput")
            .is_some_and(|it| it["hookEventName"] == "PermissionRequest" && it["decision"]["behavior"] == "deny"),
        Event::Prompt => false,
    };
    if denied || answer.get("decision").is_some_and(|it| it == "block") {
        return Host::Block;
    }
    match by_code {
        Some(host) => host,
        None if clean && answer.is_empty() => Host::Silent,
        None => Host::Run,
    }
}

/// Codex. Its entries have no setting for failures, so our entry's command line turns a failure into exit 2.
pub fn codex(event: Event, ended: &Ended) -> Host {
    let stderr = String::from_utf8_lossy(&ended.stderr);
    match ended.code {
        _ if ended.late => return Host::Run,
        // stdout does not count
        Some(2) if !stderr.trim().is_empty() => return Host::Block,
        Some(0) => {}
        _ => return Host::Run,
    }
    let text = String::from_utf8_lossy(&ended.stdout);
    if text.trim().is_empty() {
        return Host::Silent;
    }
    let Ok(answer) = serde_json::from_str::<Map<String, Value>>(text.trim_end()) else { return Host::Run };
    if answer.is_empty() {
        return Host::Silent;
    }
    let only = |map: &Map<String, Value>, keys: &[&str]| map.keys().all(|key| keys.contains(&&**key));
    let said = |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    let specific = answer.get("hookSpecificOutput").and_then(Value::as_object);
    let denied = match (event, specific) {
        // an object with an unknown key does not count
        (Event::Call, Some(it)) => {
            let known = ["hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext"];
            only(&answer, &["hookSpecificOutput", "systemMessage"])
                && only(it, &known)
                && it.get("hookEventName").is_some_and(|name| name == "PreToolUse")
                && it.get("permissionDecision").is_some_and(|decision| decision == "deny")
                && said(it.get("permissionDecisionReason"))
        }
        (Event::Approval, Some(it)) => {
            only(&answer, &["hookSpecificOutput", "systemMessage"])
                && only(it, &["hookEventName", "decision"])
                && it.get("hookEventName").is_some_and(|name| name == "PermissionRequest")
                && it.get("decision").is_some_and(|decision| decision["behavior"] == "deny")
        }
        (_, None) => {
            only(&answer, &["decision", "reason"])
                && answer.get("decision").is_some_and(|decision| decision == "block")
                && said(answer.get("reason"))
        }
        (Event::Prompt, Some(_)) => false,
    };
    if denied { Host::Block } else { Host::Run }
}

/// The measured tables about a hook's answer, so that a stand-in that is too lenient is noticed.
#[test]
fn the_stand_in_hosts_are_as_measured() {
    let ended =
        |code, stdout: &str, stderr: &str| Ended { code, late: false, stdout: stdout.into(), stderr: stderr.into() };
    let deny = |more: &str| {
        format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r"{more}}}}}"#
        )
    };
    let (deny, odd) = (deny(""), deny(r#","x":1"#));
    let allow = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#;
    let noise = format!("noise\n{deny}");
    for (code, stdout, stderr, by_claude, on_failure, by_codex) in [
        (Some(0), "", "", Host::Silent, Host::Silent, Host::Silent),
        (Some(0), "{}", "", Host::Silent, Host::Silent, Host::Silent),
        (Some(0), "text", "", Host::Run, Host::Run, Host::Run),
        (Some(0), allow, "", Host::Run, Host::Run, Host::Run),
        (Some(0), &*deny, "", Host::Block, Host::Block, Host::Block),
        (Some(0), &*odd, "", Host::Block, Host::Block, Host::Run),
        (Some(0), &*noise, "", Host::Run, Host::Run, Host::Run),
        (Some(0), &deny[..40], "", Host::Run, Host::Run, Host::Run),
        (Some(1), "", "why", Host::Run, Host::Block, Host::Run),
        (Some(1), &*deny, "", Host::Block, Host::Block, Host::Run),
        (Some(101), "", "panicked", Host::Run, Host::Block, Host::Run),
        (Some(2), "", "why", Host::Block, Host::Block, Host::Block),
        (Some(2), &*noise, "why", Host::Block, Host::Block, Host::Block),
        (Some(2), &*deny, " \n", Host::Block, Host::Block, Host::Run),
        (Some(2), "", "", Host::Block, Host::Block, Host::Run),
        (None, "", "", Host::Run, Host::Block, Host::Run),
        (None, &*deny, "", Host::Block, Host::Block, Host::Run),
    ] {
        let ended = ended(code, stdout, stderr);
        let found = (claude(Event::Call, &ended, false), claude(Event::Call, &ended, true), codex(Event::Call, &ended));
        assert_eq!(found, (by_claude, on_failure, by_codex), "{ended:?}");
        let late = Ended { late: true, ..ended };
        let found = (claude(Event::Call, &late, false), claude(Event::Call, &late, true), codex(Event::Call, &late));
        assert_eq!(found, (Host::Run, Host::Block, Host::Run), "{late:?}");
    }
}
