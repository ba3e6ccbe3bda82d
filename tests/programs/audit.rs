//! The audit: one line a decision, whole, and nowhere it could do harm.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

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
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"))).collect()
}

/// The one line of an audit, its time and duration looked at and taken out.
fn line(audit: &Path) -> Value {
    let mut all = lines(audit);
    assert_eq!(all.len(), 1);
    let mut line = all.remove(0);
    fs_err::remove_file(audit).unwrap();
    let object = line.as_object_mut().unwrap();
    let at = object.remove("at").unwrap();
    let at = at.as_str().unwrap();
    assert!(humantime::parse_rfc3339(at).unwrap().elapsed().unwrap().as_secs() < 600, "{at}");
    assert!(at.ends_with('Z'), "{at}");
    let micros = object.remove("micros").unwrap().as_u64().unwrap();
    assert!((1..60_000_000).contains(&micros), "{micros}");
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
        // what went out: on Codex an admitted call is told nothing
        assert_eq!(
            line(&audit),
            json!({
                "vendor": vendor, "event": "PreToolUse", "session_id": "session-1", "agent_id": "agent-1", "call_id": "call-1",
                "tool": "Bash", "operations": ["shell"], "decision": { "decision": decision }, "decided_by": "frame",
                "seam": "hook", "frame_digest": GOLDEN,
            })
        );
        let answer = fire(vendor, &audit, &call(vendor, "mcp__lab__note", json!({})));
        let reason = answer.denial();
        let found = line(&audit);
        assert_eq!(found["operations"], json!(["mcp.call lab/note"]));
        assert_eq!(found["decision"], json!({ "decision": "deny", "reason": reason }));
        assert_eq!((&found["decided_by"], &found["agent_id"]), (&"frame".into(), &Value::Null));
    }
}

#[test]
fn what_does_not_come_to_the_frame_is_decided_by_the_adapter() {
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
        // an abstention without a frame is a decision too
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
        // a prompt or a session that is stopped is a decision
        for name in ["UserPromptSubmit", "SessionStart"] {
            let run = Run::hook(vendor).frame("/nonexistent").args(["--audit".as_ref(), audit.as_os_str()]);
            run.stdin(bytes(&event(vendor, name))).answer();
            assert_eq!(line(&audit)["decision"]["decision"], "deny");
        }
    }
}

#[test]
fn the_file_is_its_owners_alone_and_keeps_what_it_holds() {
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
fn a_line_that_a_crash_cut_short_is_not_glued_to() {
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
fn a_hundred_hooks_at_once_lose_no_line_and_mix_none() {
    let scratch = Scratch::new();
    let audit = scratch.file("audit.jsonl", "{}\n{\"torn\":");
    // all of them wait for their call before any gets one
    let mut hooks: Vec<std::process::Child> = (0..100).map(|_| hook(CLAUDE, &audit).command.spawn().unwrap()).collect();
    for (n, child) in hooks.iter_mut().enumerate() {
        let mut payload = call(CLAUDE, &format!("mcp__s__{}", "t".repeat(500)), json!({}));
        payload["tool_use_id"] = format!("call {n}").into();
        child.stdin.take().unwrap().write_all(&bytes(&payload)).unwrap();
    }
    for child in hooks {
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(2));
    }
    let text = fs_err::read_to_string(&audit).unwrap();
    let mut calls: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| Some(line["call_id"].as_str()?.to_string()))
        .collect();
    calls.sort();
    let mut wanted: Vec<String> = (0..100).map(|n| format!("call {n}")).collect();
    wanted.sort();
    assert_eq!(calls, wanted);
    // the stump, and at most a blank line for each that saw it
    let other = text.lines().filter(|line| !line.contains("call_id")).filter(|line| !line.is_empty());
    assert_eq!(other.collect::<Vec<_>>(), ["{}", "{\"torn\":"]);
}

#[test]
fn a_line_that_cannot_be_written_is_a_denial() {
    let scratch = Scratch::new();
    let target = scratch.file("target", "kept\n");
    let link = scratch.path("link");
    symlink(&target, &link).unwrap();
    let dangling = scratch.path("dangling");
    symlink(scratch.path("made-by-nobody"), &dangling).unwrap();
    let fifo = scratch.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let cases: [(PathBuf, &str); 7] = [
        (link, "it is a link"),
        (dangling, "it is a link"),
        (fifo, "it is not a regular file"),
        (scratch.folder("folder"), "is a directory"),
        (PathBuf::from("/dev/full"), "it is not a regular file"),
        (PathBuf::from("/dev/null"), "it is not a regular file"),
        (scratch.path("missing/audit"), "no such file or directory"),
    ];
    for vendor in VENDORS {
        for (audit, why) in &cases {
            let reason = hook(vendor, audit).stdin(shell(vendor)).answer().denial();
            let wanted = format!(
                "mh-hook-{vendor}: the audit line could not be written to {}: {why}; nothing runs until this is put right; to \
                 undo, remove the mh-hook-{vendor} entries",
                audit.display()
            );
            assert!(reason.starts_with(&wanted), "{reason}");
        }
        // a denial stays one, and one that the frame gave is told as this one
        let reason = fire(vendor, &cases[0].0, &call(vendor, "mcp__a__b", json!({}))).denial();
        assert!(reason.contains("the audit line could not be written"), "{reason}");
    }
    assert_eq!(fs_err::read_to_string(&target).unwrap(), "kept\n");
    assert!(!scratch.path("made-by-nobody").exists());
}

#[test]
fn a_disk_that_is_full_is_a_denial() {
    // a limit on the file's size is the same to the program, and for root as well
    let scratch = Scratch::new();
    let audit = scratch.file("audit.jsonl", "");
    let call = scratch.file("call.json", shell(CLAUDE));
    let mut limited = std::process::Command::new("/bin/sh");
    limited.env_clear().args(["-c", "ulimit -f 0; trap '' XFSZ; exec \"$@\"", "sh"]);
    limited.arg(crate::common::program("mh-hook-claude")).arg("--frame").arg(fixture("golden/frame.json"));
    limited.arg("--audit").arg(&audit).stdin(fs_err::File::open(call).unwrap().into_parts().0);
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        stdout.contains("the audit line could not be written to") && stdout.contains(": file too large; "),
        "{stdout}"
    );
}

#[test]
fn the_audit_is_told_by_flag_or_variable_and_is_absolute() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit.jsonl");
    let run = Run::hook(CODEX).env("MH_FRAME", fixture("golden/frame.json")).env("MH_AUDIT", &audit);
    run.stdin(shell(CODEX)).answer().is_silent();
    assert_eq!(line(&audit)["tool"], "Bash");
    for bad in ["", "audit.jsonl"] {
        let run = Run::hook(CODEX).frame(fixture("golden/frame.json")).args(["--audit", bad]).folder(scratch.root());
        let reason = run.stdin(shell(CODEX)).answer().denial();
        assert!(reason.starts_with(&format!("mh-hook-codex: --audit (or MH_AUDIT) is '{bad}': it is ")), "{reason}");
        assert!(!audit.exists());
    }
}
