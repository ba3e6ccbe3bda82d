//! The events of both vendors: the ones that are answered, the form of the answers, and the form of a refusal.

use serde_json::{Value, json};

use crate::common::{Answer, CLAUDE, CODEX, Run, VENDORS, bytes, call, event, fixture};

fn golden() -> std::path::PathBuf {
    fixture("golden/frame.json")
}

fn fire(vendor: &str, payload: &Value) -> Answer {
    Run::hook(vendor).frame(golden()).stdin(bytes(payload)).answer()
}

/// The answer under a refused frame.
fn refused(vendor: &str, payload: &Value) -> Answer {
    Run::hook(vendor).frame("/nonexistent/f").stdin(bytes(payload)).answer()
}

fn at(vendor: &str, name: &str, tool: &str) -> Value {
    let mut payload = call(vendor, tool, json!({ "command": "true" }));
    payload["hook_event_name"] = name.into();
    payload
}

fn refusal(vendor: &str) -> String {
    let undo = match vendor {
        CLAUDE => "remove the mh-hook-claude entries from the settings file they stand in",
        _ => "remove the mh-hook-codex entries from the config.toml they stand in",
    };
    format!(
        "mh-hook-{vendor}: the frame /nonexistent/f is refused: unreadable: no such file or directory; nothing runs until \
         this is put right; to undo, {undo}"
    )
}

/// The reason for an operation that is not admitted, word for word.
const NOT_ADMITTED: &str = "WebFetch needs web.read, which is not admitted (step 2, attempt 1, state implement, workflow \
    development/default); admitted here: dir.list, file.edit, file.read, file.write, search, shell, skill.load; work within \
    that, or say what is missing and stop; frame 43a6f845a21f";

#[test]
fn a_call_is_denied_in_all_three_forms() {
    for (vendor, tool, reason) in [
        (CLAUDE, "WebFetch", NOT_ADMITTED.to_string()),
        (CODEX, "web_search", NOT_ADMITTED.replace("WebFetch", "web_search")),
    ] {
        let answer = fire(vendor, &at(vendor, "PreToolUse", tool));
        assert_eq!(answer.denial(), reason);
        let wanted = json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason } });
        assert_eq!(answer.json(), wanted, "exactly these keys");
        let answer = refused(vendor, &at(vendor, "PreToolUse", "Bash"));
        assert_eq!(answer.denial(), refusal(vendor));
    }
}

#[test]
fn a_command_inside_a_skill_is_judged_under_its_own_event() {
    let answer = fire(CLAUDE, &at(CLAUDE, "PreSkillShellCommand", "Bash"));
    answer.is_silent();
    let payload = at(CLAUDE, "PreSkillShellCommand", "WebFetch");
    let answer = fire(CLAUDE, &payload);
    assert_eq!(answer.denial(), NOT_ADMITTED);
    assert_eq!(answer.json()["hookSpecificOutput"]["hookEventName"], "PreSkillShellCommand");
    let answer = refused(CLAUDE, &at(CLAUDE, "PreSkillShellCommand", "Bash"));
    assert_eq!(answer.denial(), refusal(CLAUDE));
    // Codex has no such event, and a tool waits for the answer
    let reason = fire(CODEX, &at(CODEX, "PreSkillShellCommand", "Bash")).denial();
    assert!(reason.starts_with(
        "mh-hook-codex: Codex 0.171.0 has no event `PreSkillShellCommand`, so nothing says what an answer to it does; "
    ));
}

#[test]
fn an_admitted_approval_is_left_to_the_person_except_for_mcp_on_codex() {
    for vendor in VENDORS {
        fire(vendor, &at(vendor, "PermissionRequest", "Bash")).is_silent();
    }
    for tool in ["write_stdin", "Bash"] {
        fire(CODEX, &at(CODEX, "PermissionRequest", tool)).is_silent();
    }
    let frame = fixture("frames/one-mcp-server.json");
    let mut payload = at(CODEX, "PermissionRequest", "mcp__lab__note");
    let run = |vendor: &str, policy: &str, payload: &Value| {
        Run::hook(vendor).frame(&frame).args(["--policy", policy]).stdin(bytes(payload)).answer()
    };
    let answer = run(CODEX, "frame", &payload);
    let wanted = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#;
    assert_eq!((answer.code, &*answer.stdout, &*answer.stderr), (0, &*format!("{wanted}\n"), ""));
    run(CODEX, "deny-only", &payload).is_silent();
    payload["mcp_server"] = json!({ "name": "lab" });
    payload["prompt_id"] = "p".into();
    run(CLAUDE, "frame", &payload).is_silent();
}

#[test]
fn an_approval_is_denied_in_each_vendors_form() {
    for (vendor, tool, code) in [(CLAUDE, "WebFetch", 0), (CODEX, "web_search", 2)] {
        for (answer, reason) in [
            (fire(vendor, &at(vendor, "PermissionRequest", tool)), NOT_ADMITTED.replace("WebFetch", tool)),
            (refused(vendor, &at(vendor, "PermissionRequest", "Bash")), refusal(vendor)),
        ] {
            let wanted = json!({ "hookSpecificOutput": {
                "hookEventName": "PermissionRequest", "decision": { "behavior": "deny", "message": reason } } });
            assert_eq!((answer.code, answer.json()), (code, wanted));
            // on Claude Code, exit 2 would make the JSON void
            assert_eq!(answer.stderr, if code == 2 { format!("{reason}\n") } else { String::new() });
        }
    }
}

#[test]
fn a_prompt_is_stopped_only_where_the_frame_is_refused() {
    for vendor in VENDORS {
        let mut payload = event(vendor, "UserPromptSubmit");
        payload["prompt"] = "go".into();
        fire(vendor, &payload).is_silent();
        let answer = refused(vendor, &payload);
        assert_eq!((answer.code, &answer.stderr), (2, &format!("{}\n", refusal(vendor))));
        assert_eq!(answer.json(), json!({ "decision": "block", "reason": refusal(vendor) }));
        let answer = Run::hook(vendor).frame(golden()).env("MH_POLICY", "frame").stdin(bytes(&payload)).answer();
        assert_eq!(answer.code, 2, "so is one under a mistake: {answer:?}");
    }
}

#[test]
fn a_start_gets_the_frames_text_or_the_refusal() {
    let text = crate::common::run("mh-frame-verify", [golden().to_str().unwrap(), "--print", "text"]).stdout;
    for vendor in VENDORS {
        for name in ["SessionStart", "SubagentStart"] {
            let answer = fire(vendor, &event(vendor, name));
            assert_eq!((answer.code, &*answer.stderr), (0, ""));
            let wanted =
                json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text.trim_end() } });
            assert_eq!(answer.json(), wanted);
            let answer = refused(vendor, &event(vendor, name));
            assert_eq!((answer.code, &*answer.stderr), (0, ""));
            let context = json!({ "hookEventName": name, "additionalContext": refusal(vendor) });
            let wanted = match (vendor, name) {
                (CODEX, "SessionStart") => {
                    json!({ "continue": false, "stopReason": refusal(vendor), "hookSpecificOutput": context })
                }
                _ => json!({ "hookSpecificOutput": context }),
            };
            assert_eq!(answer.json(), wanted);
        }
    }
}

const AFTERWARDS: [(&str, &[&str]); 2] = [
    (
        CLAUDE,
        &[
            "PostToolUse",
            "PostToolUseFailure",
            "PostToolBatch",
            "Notification",
            "UserPromptExpansion",
            "SessionEnd",
            "Stop",
            "StopFailure",
            "SubagentStop",
            "PreCompact",
            "PostCompact",
            "PreModelSwitch",
            "PostModelSwitch",
            "PermissionDenied",
            "Setup",
            "TeammateIdle",
            "TaskCreated",
            "TaskCompleted",
            "Elicitation",
            "ElicitationResult",
            "ConfigChange",
            "WorktreeCreate",
            "WorktreeRemove",
            "InstructionsLoaded",
            "CwdChanged",
            "FileChanged",
            "DirectoryAdded",
            "MessageDisplay",
        ],
    ),
    (
        CODEX,
        &[
            "PostToolUse",
            "PreCompact",
            "PostCompact",
            "SessionEnd",
            "SubagentStop",
            "Stop",
            "Interrupt",
            "PreModelRequest",
            "PostModelRequest",
        ],
    ),
];

#[test]
fn events_after_the_fact_are_never_answered() {
    for (vendor, names) in AFTERWARDS {
        for name in names {
            for payload in [event(vendor, name), at(vendor, name, "WebFetch")] {
                fire(vendor, &payload).is_silent();
                // exit 2 would loop at Stop and replace the output at PostToolUse
                refused(vendor, &payload).is_silent();
                Run::hook(vendor).args(["--nonsense"]).stdin(bytes(&payload)).answer().is_silent();
            }
        }
    }
}

#[test]
fn an_event_that_is_not_known_is_a_denial_only_where_a_tool_waits() {
    for (vendor, release) in [(CLAUDE, "Claude Code 2.1.332"), (CODEX, "Codex 0.171.0")] {
        fire(vendor, &event(vendor, "PreToolUse2")).is_silent();
        refused(vendor, &event(vendor, "PreToolUse2")).is_silent();
        for name in ["PreToolUse2", "pretooluse", "PreToolUse ", "Pr\u{435}ToolUse"] {
            let answer = fire(vendor, &at(vendor, name, "Bash"));
            let reason = answer.denial();
            let shown = name.replace('\u{435}', "\\u{435}");
            let wanted = format!(
                "mh-hook-{vendor}: {release} has no event `{shown}`, so nothing says what an answer to it does; "
            );
            assert!(reason.starts_with(&wanted), "{reason}");
            assert_eq!(answer.json()["hookSpecificOutput"]["hookEventName"], "PreToolUse");
            assert_eq!(refused(vendor, &at(vendor, name, "Bash")).denial(), refusal(vendor));
        }
    }
}

#[test]
fn the_first_of_several_faults_is_named() {
    for vendor in VENDORS {
        let says = |run: Run, why: &str| {
            let reason = run.answer().denial();
            assert!(reason.starts_with(&format!("mh-hook-{vendor}: {why}")), "{reason}");
        };
        let bad = || Run::hook(vendor).stdin("{");
        says(bad().frame("/nonexistent/f").args(["--nonsense"]), "there is no flag --nonsense; ");
        says(bad().frame("/nonexistent/f"), "the frame /nonexistent/f is refused: unreadable: ");
        says(bad().frame(golden()), "the payload is not one JSON object: ");
        let other = if vendor == CLAUDE { CODEX } else { CLAUDE };
        let run = Run::hook(vendor).stdin(bytes(&call(other, "Nonsense", json!({}))));
        says(run.frame(golden()), "the payload is ");
    }
}

#[test]
fn fields_that_a_vendor_adds_or_lacked_change_nothing() {
    for vendor in VENDORS {
        let mut payload = call(vendor, "Bash", json!({ "command": "true" }));
        let usual = fire(vendor, &payload);
        payload["new_field"] = json!({ "deep": [1, 2.5e10, null, { "tool_name": "Write" }] });
        payload["effort"] = json!(null);
        assert_eq!(fire(vendor, &payload), usual);
        // only the members that are needed
        let least = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash" });
        assert_eq!(fire(vendor, &least), usual);
    }
}

#[test]
fn a_reason_is_ascii_and_bounded_and_keeps_what_to_do_next() {
    let mut flags: Vec<String> = vec![];
    for server in 0..60 {
        flags.extend(["--admit-mcp".into(), format!("s\u{e9}rver{server}"), "t".repeat(40)]);
    }
    let scratch = crate::common::Scratch::new();
    let frame = scratch.frame("many.json", &flags.iter().map(String::as_str).collect::<Vec<_>>());
    for vendor in VENDORS {
        let payload = call(vendor, &format!("T\u{442}\u{0}{}", "\u{1f600}".repeat(1_000)), json!({}));
        let reason = Run::hook(vendor).frame(&frame).stdin(bytes(&payload)).answer().denial();
        assert!(reason.len() <= 1_000, "{}", reason.len());
        assert!(reason.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{reason}");
        assert!(reason.starts_with("T\\u{442}\\u{0}\\u{1f600}"), "{reason}");
        assert!(reason.contains("; admitted here: mcp.call s\\u{e9}rver0/ttt"), "{reason}");
        assert!(reason.contains(" more; work within that, or say what is missing and stop; frame "), "{reason}");
    }
}

#[test]
fn a_long_name_leaves_room_for_the_reason() {
    let scratch = crate::common::Scratch::new();
    let long = "n".repeat(3_000);
    let names = "n".repeat(250) + "/";
    let glob = format!("**/{}", names.repeat(12) + "n");
    let frame = scratch.frame("frame.json", &["--admit", "file.edit", "--scope", &glob, "none"]);
    let says = |tool: &str, input: Value| {
        let run = Run::hook(CLAUDE).frame(&frame).stdin(bytes(&call(CLAUDE, tool, input)));
        run.answer().denial()
    };
    let cut = |most: usize| format!("{}...", "n".repeat(most));
    let reason = says(&long, json!({}));
    assert!(
        reason.starts_with(&format!("{} is unknown to the tool table of Claude Code 2.1.332, so ", cut(107))),
        "{reason}"
    );
    let reason = says("Edit", json!({ "file_path": format!("/{long}") }));
    let wanted = format!(
        "Edit is about /{}, and it cannot be told which file that is: it passes /{}, which cannot be followed (file name too \
         long): write a path that does not pass it (step 1, ",
        cut(146),
        cut(146)
    );
    assert!(reason.starts_with(&wanted), "{reason}");
    let reason = says("Edit", json!({ "file_path": format!("/{}n", names.repeat(12)) }));
    let wanted = format!(
        "Edit needs file.edit on /{}, which path rule 1 (file:**/{}) does not admit (step 1, ",
        cut(196),
        cut(109)
    );
    assert!(reason.starts_with(&wanted), "{reason}");
    let reason = says("Edit", json!({ "file_path": format!("/{}/.claude/settings.json", "d/".repeat(1_000)) }));
    assert!(reason.contains("..., which is the configuration of Claude Code: what guards a step"), "{reason}");
    let reason = says(&format!("mcp__a__{}", "n".repeat(900)), json!({}));
    assert!(
        reason.contains("n... needs mcp.call a/nnn") && reason.contains("n..., which is not admitted (step 1, "),
        "{reason}"
    );
}
