//! The recorded payloads of both vendors, under frames that admit them and frames that do not.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::common::schema::wrong;
use crate::common::{Answer, CLAUDE, CODEX, Run, Scratch, VENDORS, bytes, event, fixture, run, shell, table};

struct Row {
    payload: std::path::PathBuf,
    frame: std::path::PathBuf,
    policy: String,
    /// `allow` and `abstain` are decisions; `silence` is an event without a decision; `text` is the frame's text.
    answer: String,
    says: String,
}

fn rows(vendor: &str) -> Vec<Row> {
    table(&format!("payloads/{vendor}.tsv"), ["payload", "frame", "policy", "answer", "says"])
        .into_iter()
        .map(|[payload, frame, policy, answer, says]| Row {
            payload: fixture(format!("payloads/{vendor}/{payload}.json")),
            frame: fixture(format!("{frame}.json")),
            policy,
            answer,
            says,
        })
        .collect()
}

/// The hook's answer to a row, and the number of its audit lines.
fn fire(vendor: &str, row: &Row, scratch: &Scratch) -> (Answer, usize) {
    let audit = scratch.path("audit");
    let run = Run::hook(vendor)
        .frame(&row.frame)
        .args(["--policy", &row.policy])
        .args(["--audit".as_ref(), audit.as_os_str()]);
    let answer = run.stdin(fs_err::read(&row.payload).unwrap()).answer();
    let lines = fs_err::read_to_string(&audit).map(|text| text.lines().count()).unwrap_or(0);
    let _ = fs_err::remove_file(&audit);
    (answer, lines)
}

fn holds(vendor: &str) {
    let scratch = Scratch::new();
    for row in rows(vendor) {
        let name = format!("{} {} {}", row.payload.display(), row.frame.display(), row.policy);
        let payload: Value = serde_json::from_slice(&fs_err::read(&row.payload).unwrap()).unwrap();
        let event = payload["hook_event_name"].as_str().unwrap();
        let (answer, lines) = fire(vendor, &row, &scratch);
        let decided = usize::from(["allow", "abstain", "deny"].contains(&&*row.answer));
        assert_eq!(lines, decided, "{name}: lines in the audit");
        match (&*row.answer, event) {
            ("silence" | "abstain", _) => answer.is_silent(),
            ("allow", "PreToolUse") => {
                assert_eq!((vendor, answer.code), (CLAUDE, 0), "{name}");
                let wanted = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#;
                assert_eq!(answer.stdout, format!("{wanted}\n"), "{name}");
            }
            ("allow", "PermissionRequest") => {
                assert_eq!((vendor, answer.code), (CODEX, 0), "{name}");
                let wanted =
                    r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#;
                assert_eq!(answer.stdout, format!("{wanted}\n"), "{name}");
            }
            ("deny", "PermissionRequest") => {
                let json = answer.json();
                let decision = &json["hookSpecificOutput"]["decision"];
                assert_eq!(decision["behavior"], "deny", "{name}");
                assert!(decision["message"].as_str().unwrap().starts_with(&row.says), "{name}: {answer:?}");
                assert_eq!(answer.code, if vendor == CLAUDE { 0 } else { 2 }, "{name}");
            }
            ("deny", _) => {
                let reason = answer.denial();
                assert!(reason.starts_with(&row.says), "{name}: {reason}");
                assert_eq!(answer.json()["hookSpecificOutput"]["hookEventName"], event, "{name}");
            }
            ("text", _) => {
                let json = answer.json();
                let specific = &json["hookSpecificOutput"];
                assert_eq!((answer.code, &specific["hookEventName"]), (0, &event.into()), "{name}");
                assert!(specific["additionalContext"].as_str().unwrap().contains(&row.says), "{name}: {answer:?}");
            }
            (other, _) => panic!("{name}: the table says {other}"),
        }
        explains(vendor, &row, &answer, &name);
    }
}

/// Check that the verifier explains exactly the hook's answer.
#[track_caller]
fn explains(vendor: &str, row: &Row, answer: &Answer, name: &str) {
    let (frame, payload) = (row.frame.to_str().unwrap(), row.payload.to_str().unwrap());
    let args = [frame, "--explain", vendor, "--payload", payload, "--policy", &row.policy];
    let explained = run("mh-frame-verify", args);
    let or_nothing = |text: &str| if text.is_empty() { "(nothing)".into() } else { text.trim_end().to_string() };
    let end = format!(
        "stdout: {}\nstderr: {}\nexit: {}\n",
        or_nothing(&answer.stdout),
        or_nothing(&answer.stderr),
        answer.code
    );
    assert!(explained.stdout.ends_with(&end), "{name}: {} is not {end}", explained.stdout);
    let denied = row.answer == "deny";
    assert_eq!(explained.code, i32::from(denied), "{name}");
    assert_eq!(explained.stdout.contains("\nanswer: deny\nreason: "), denied, "{name}");
}

#[test]
fn every_recorded_payload_of_claude_code_gets_the_answer_of_its_table() {
    holds(CLAUDE);
}

#[test]
fn every_recorded_payload_of_codex_gets_the_answer_of_its_table() {
    holds(CODEX);
}

#[test]
fn every_recorded_payload_stands_in_its_table_under_two_frames_at_least() {
    for vendor in VENDORS {
        let mut frames: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for [payload, frame, ..] in
            table(&format!("payloads/{vendor}.tsv"), ["payload", "frame", "policy", "answer", "says"])
        {
            let under = frames.entry(payload).or_default();
            if !under.contains(&frame) {
                under.push(frame);
            }
        }
        for entry in fs_err::read_dir(fixture(format!("payloads/{vendor}"))).unwrap() {
            let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
            assert!(frames.remove(&name).is_some_and(|under| under.len() > 1), "{vendor} {name}");
        }
        assert!(frames.is_empty(), "{frames:?}");
    }
}

#[test]
fn an_explanation_is_for_people_and_changes_nothing() {
    let scratch = Scratch::new();
    let frame = fixture("golden/frame.json");
    let explain = |vendor: &str, payload: &str| {
        let args = [frame.to_str().unwrap(), "--explain", vendor, "--payload", payload];
        let audit = scratch.path("audit");
        let answer = Run::of("mh-frame-verify").args(args).env("MH_AUDIT", &audit).env("MH_FRAME", "/x").answer();
        assert!(!audit.exists());
        answer
    };
    let payload = fixture("payloads/claude/Write.json");
    assert_eq!(
        explain(CLAUDE, payload.to_str().unwrap()).stdout,
        "event: PreToolUse\ntool: Write\nneeds: file.write\nanswer: allow\n\
         stdout: {\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}\n\
         stderr: (nothing)\nexit: 0\n"
    );
    let payload = scratch.file("payload.json", "[]");
    let answer = explain(CODEX, payload.to_str().unwrap());
    assert_eq!(answer.code, 1);
    assert!(
        answer.stdout.starts_with(
            "event: PreToolUse\nanswer: deny\nreason: mh-hook-codex: the payload is not one JSON object: byte 0: expected an \
             object, found `[`; nothing runs until this is put right"
        ),
        "{}",
        answer.stdout
    );
}

#[test]
fn an_explanation_uses_the_given_folder_and_pin() {
    let scratch = Scratch::new();
    let frame =
        scratch.frame("f.json", &["--admit", "file.read", "--scope", "src/**", "file.read", "--scope", "**", "none"]);
    let payload = scratch.file(
        "payload.json",
        bytes(&crate::common::call(CLAUDE, "Read", serde_json::json!({ "file_path": "/nonexistent/project/src/a" }))),
    );
    let explain = |args: &[&str]| {
        let own = [frame.to_str().unwrap(), "--explain", CLAUDE, "--payload", payload.to_str().unwrap()];
        run("mh-frame-verify", [&own[..], args].concat())
    };
    assert_eq!(explain(&[]).code, 0, "the payload's own folder");
    assert_eq!(explain(&["--project", "/nonexistent/project"]).code, 0);
    let answer = explain(&["--project", "/nonexistent"]);
    assert_eq!(answer.code, 1);
    let reason =
        "reason: Read needs file.read on /nonexistent/project/src/a, which path rule 2 (file:**) does not admit";
    assert!(answer.stdout.contains(reason), "{}", answer.stdout);
    let answer = explain(&["--digest", &"0".repeat(64)]);
    assert!(answer.code == 1 && answer.stdout.contains(" is refused: pinned: "), "{answer:?}");
}

/// The file of Codex's own schema for an event's payload (`input`) or answer (`output`).
fn schema(event: &str, direction: &str) -> String {
    let mut kebab = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    format!("fixtures/schemas/codex/{kebab}.command.{direction}.schema.json")
}

#[test]
fn every_recorded_payload_of_codex_fits_codexs_schemas() {
    let mut held = 0;
    for entry in fs_err::read_dir(fixture("payloads/codex")).unwrap() {
        let path = entry.unwrap().path();
        let payload: Value = serde_json::from_slice(&fs_err::read(&path).unwrap()).unwrap();
        // two events have no schema
        let schema = schema(payload["hook_event_name"].as_str().unwrap(), "input");
        if path.to_str().unwrap().contains("ModelRequest") {
            assert!(!Path::new(env!("CARGO_MANIFEST_DIR")).join(schema).exists(), "{}", path.display());
            continue;
        }
        if let Some(why) = wrong(&schema, &payload) {
            panic!("{}: {why}", path.display());
        }
        held += 1;
    }
    assert!(held > 120, "{held}");
}

#[test]
fn every_answer_to_codex_fits_codexs_schemas() {
    let mut held = BTreeMap::<String, usize>::new();
    let mut check = |event: &str, answer: &Answer| {
        if answer.stdout.is_empty() {
            return;
        }
        if let Some(why) = wrong(&schema(event, "output"), &answer.json()) {
            panic!("{event}: {why}: {answer:?}");
        }
        *held.entry(event.into()).or_default() += 1;
    };
    let scratch = Scratch::new();
    for row in rows(CODEX) {
        let payload: Value = serde_json::from_slice(&fs_err::read(&row.payload).unwrap()).unwrap();
        check(payload["hook_event_name"].as_str().unwrap(), &fire(CODEX, &row, &scratch).0);
    }
    // a refused frame, at every event that is answered
    for name in ["PreToolUse", "PermissionRequest", "UserPromptSubmit", "SessionStart", "SubagentStart"] {
        let mut payload = event(CODEX, name);
        payload["tool_name"] = "Bash".into();
        check(name, &Run::hook(CODEX).frame("/nonexistent").stdin(bytes(&payload)).answer());
    }
    // an unreadable payload is answered like a call
    check("PreToolUse", &Run::hook(CODEX).frame("/nonexistent").stdin("").answer());
    check("PreToolUse", &Run::hook(CODEX).frame("/nonexistent").stdin(shell(CODEX)).answer());
    assert_eq!(held.len(), 5, "{held:?}");
    assert!(held["PreToolUse"] > 60, "{held:?}");
}

#[test]
fn codexs_schemas_refuse_other_answers() {
    // this shows that the check above can fail: `additionalProperties` is false everywhere
    let schema = schema("PreToolUse", "output");
    let refuses = |answer: Value| wrong(&schema, &answer).is_some();
    assert_eq!(wrong(&schema, &serde_json::json!({})), None);
    assert!(refuses(serde_json::json!({ "permissionDecision": "deny" })));
    assert!(refuses(serde_json::json!({ "hookSpecificOutput": { "permissionDecision": "deny" } })));
}
