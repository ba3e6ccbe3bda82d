//! The audit: one whole line for each decision, in a file where it does no harm.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::schema;
use crate::common::{Answer, CLAUDE, CODEX, GOLDEN, Run, Scratch, VENDORS, bytes, call, event, fixture, shell};

fn hook(vendor: &str, audit: &Path) -> Run {
    Run::hook(vendor).frame(fixture("golden/frame.json")).args(["--audit".as_ref(), audit.as_os_str()])
}

fn fire(vendor: &str, audit: &Path, payload: &Value) -> Answer {
    hook(vendor, audit).stdin(bytes(payload)).answer()
}

fn lines(audit: &Path) -> Vec<Value> {
    let text = fs_err::read_to_string(audit).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    let read = |line| {
        let line = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        schema::holds("audit", &line);
        line
    };
    text.lines().map(read).collect()
}

/// The only line of an audit, with its time and duration checked and taken out.
fn line(audit: &Path) -> Value {
    let mut all = lines(audit);
    assert_eq!(all.len(), 1);
    let mut line = all.remove(0);
    fs_err::remove_file(audit).unwrap();
    let object = line.as_object_mut().unwrap();
    let at = object.remove("at").unwrap();
    let at = at.as_str().unwrap();
    assert!(humantime::parse_rfc3339(at).unwrap().elapsed().unwrap().as_secs() < 86_400, "the system's time: {at}");
    assert!(at.ends_with('Z'), "{at}");
    let micros = object.remove("micros").unwrap().as_u64().unwrap();
    assert!(micros > 0);
    line
}

#[test]
fn a_decision_is_one_line_with_everything_but_the_input() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit.jsonl");
    for (vendor, decision) in [(CLAUDE, "allow"), (CODEX, "abstain")] {
        let mut payload = call(vendor, "Bash", json!({ "command": "echo SECRET", "SECRET": 1 }));
        payload["agent_id"] = "agent-1".into();
        fire(vendor, &audit, &payload);
        assert!(!fs_err::read_to_string(&audit).unwrap().contains("SECRET"));
        // the decision as it went out: Codex is told nothing of an admitted call
        assert_eq!(
            line(&audit),
            json!({
                "vendor": vendor, "event": "PreToolUse", "session_id": "session-1", "agent_id": "agent-1", "call_id": "call-1",
                "tool": "Bash", "operations": ["shell"], "needs": [{ "op": "shell" }], "decision": { "decision": decision }, "decided_by": "frame",
                "seam": "hook", "frame_digest": GOLDEN,
            })
        );
        let answer = fire(vendor, &audit, &call(vendor, "mcp__lab__note", json!({})));
        let reason = answer.denial();
        let found = line(&audit);
        assert_eq!(found["operations"], json!(["mcp.call lab/note"]));
        assert_eq!(found["needs"], json!([{ "op": "mcp.call", "server": "lab", "tool": "note" }]));
        // of a name that could be that of several there is no pair to be told
        let tool = "mcp__a__b__note";
        fire(vendor, &audit, &call(vendor, tool, json!({}))).denial();
        assert_eq!(line(&audit)["needs"], json!([{ "op": "mcp.call", "rendered": tool }]));
        assert_eq!(found["decision"], json!({ "decision": "deny", "reason": reason }));
        assert_eq!((&found["decided_by"], &found["agent_id"]), (&"frame".into(), &Value::Null));
    }
}

#[test]
fn needs_say_where_the_name_of_a_server_ends() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit.jsonl");
    let mut payload = call(CLAUDE, "mcp__a_b__c", json!({}));
    payload["mcp_server"] = json!({ "name": "a/b" });
    fire(CLAUDE, &audit, &payload).denial();
    let found = line(&audit);
    assert_eq!(found["operations"], json!(["mcp.call a/b/c"]));
    assert_eq!(found["needs"], json!([{ "op": "mcp.call", "server": "a/b", "tool": "c" }]));
}

#[test]
fn calls_that_never_reach_the_frame_are_decided_by_the_adapter() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit.jsonl");
    for vendor in VENDORS {
        let run = Run::hook(vendor).frame("/nonexistent").args(["--audit".as_ref(), audit.as_os_str()]);
        let reason = run.stdin(shell(vendor)).answer().denial();
        let found = line(&audit);
        assert_eq!((&found["decided_by"], &found["frame_digest"]), (&"adapter".into(), &Value::Null));
        assert_eq!((&found["decision"]["reason"], &found["tool"]), (&reason.into(), &"Bash".into()));
        let reason = hook(vendor, &audit).stdin("[").answer().denial();
        let found = line(&audit);
        assert_eq!((&found["decision"]["reason"], &found["event"]), (&reason.into(), &Value::Null));
        // abstaining without a frame is a decision too
        let run = Run::hook(vendor).args(["--audit".as_ref(), audit.as_os_str()]);
        run.stdin(shell(vendor)).answer().is_silent();
        let found = line(&audit);
        assert_eq!((&found["decision"], &found["decided_by"]), (&json!({ "decision": "abstain" }), &"adapter".into()));
    }
}

#[test]
fn events_that_decide_nothing_leave_no_line() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit.jsonl");
    for vendor in VENDORS {
        for name in ["SessionStart", "SubagentStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"] {
            fire(vendor, &audit, &event(vendor, name));
            assert!(!audit.exists(), "{vendor} {name}");
        }
        // stopping a prompt or a session is a decision
        for name in ["UserPromptSubmit", "SessionStart"] {
            let run = Run::hook(vendor).frame("/nonexistent").args(["--audit".as_ref(), audit.as_os_str()]);
            run.stdin(bytes(&event(vendor, name))).answer();
            assert_eq!(line(&audit)["decision"]["decision"], "deny");
        }
    }
}

#[test]
fn the_file_is_readable_by_its_owner_alone_and_keeps_its_lines() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit.jsonl");
    fire(CLAUDE, &audit, &call(CLAUDE, "Bash", json!({})));
    assert_eq!(fs_err::metadata(&audit).unwrap().permissions().mode() & 0o7777, 0o600);
    let before = fs_err::read(&audit).unwrap();
    fs_err::set_permissions(&audit, std::fs::Permissions::from_mode(0o640)).unwrap();
    fire(CLAUDE, &audit, &call(CLAUDE, "Read", json!({ "file_path": "/a" })));
    assert!(fs_err::read(&audit).unwrap().starts_with(&before));
    assert_eq!(fs_err::metadata(&audit).unwrap().permissions().mode() & 0o7777, 0o640, "a mode that was set stays");
    assert_eq!(lines(&audit).len(), 2);
}

#[test]
fn a_line_that_a_crash_cut_short_is_ended_first() {
    let scratch = Scratch::new();
    let whole = "{\"at\":\"2026-01-01T00:00:00.000Z\"}\n";
    for (before, good) in
        [(format!("{whole}{{\"at\":\"2026"), 1), ("x".into(), 0), (whole.into(), 1), (String::new(), 0)]
    {
        let audit = scratch.file("audit.jsonl", &before);
        fire(CODEX, &audit, &call(CODEX, "Bash", json!({})));
        let text = fs_err::read_to_string(&audit).unwrap();
        let parsed = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object()));
        assert_eq!(parsed.count(), good + 1, "{text}");
        assert!(text.starts_with(&before) && text.ends_with("}\n"), "{text}");
    }
}

#[test]
fn the_audit_is_set_by_flag_or_variable_and_is_absolute() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit.jsonl");
    let run = Run::hook(CODEX).env("MH_FRAME", fixture("golden/frame.json")).env("MH_AUDIT", &audit);
    run.stdin(shell(CODEX)).answer().is_silent();
    assert_eq!(line(&audit)["tool"], "Bash");
    for bad in ["", "audit.jsonl"] {
        let run = Run::hook(CODEX).frame(fixture("golden/frame.json")).args(["--audit", bad]).folder(scratch.root());
        let reason = run.stdin(shell(CODEX)).answer().denial();
        assert!(
            reason.starts_with(&format!("mh-hook-codex: --audit (or MH_AUDIT) takes an absolute path, not \"{bad}\"")),
            "{reason}"
        );
        assert!(!audit.exists());
    }
}
