//! The outcomes of `mh-run`, its exit codes, and the answer as text and as one object, on stand-ins that fire the real
//! hooks.

use crate::common::room::Room;
use serde_json::{Value, json};

const READ: &str = "call c1 Read '{\"file_path\":\"/a\"}'";

#[test]
fn a_turn_that_answers_prints_its_answer_and_nothing_else() {
    let room = Room::new();
    room.claude(&format!("begin; {READ}; answer fine"));
    let ended = room.run("claude", &[]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "fine\n", ""));
    room.codex("begin; call x1 Bash '{\"command\":\"x\"}' CommandExecution; answer fine");
    let ended = room.run("codex", &[]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "fine\n", ""));
}

#[test]
fn the_object_has_every_field_and_null_for_what_is_not_known() {
    let room = Room::new();
    room.claude(&format!("begin; {READ}; answer fine"));
    let (code, mut object) = room.json("claude", &[]);
    assert_eq!(code, Some(0));
    assert!(object["duration_ms"].take().is_u64());
    let digest = object["frame"].take();
    assert_eq!(digest.as_str().map(str::len), Some(64));
    assert_eq!(
        object,
        json!({"type": "result", "v": 1, "session_id": "s1", "outcome": "completed", "is_error": false, "result": "fine",
            "error": null, "model": "model-1", "duration_ms": null, "model_calls": 2,
            "usage": {"input_tokens": 7, "output_tokens": 3, "cached_input_tokens": null, "reasoning_tokens": null},
            "cost_usd": null, "denied": [], "vendor": "claude", "vendor_version": "2.1.332",
            "driver_version": env!("CARGO_PKG_VERSION"), "frame": null, "policy": "frame",
            "refused": [], "unenforced": []})
    );
}

#[test]
fn a_refusal_keeps_the_answer_and_is_named() {
    let room = Room::new();
    for kind in ["claude", "codex"] {
        room.claude("begin; call c1 WebFetch '{}'; answer fine");
        room.codex("begin; call c1 apply_patch '{\"command\":\"*** Add File: a\"}' FileChange; answer fine");
        let tool = if kind == "claude" { "WebFetch" } else { "apply_patch" };
        let ended = room.run(kind, &[]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"), "{ended:?}");
        assert!(ended.stderr.starts_with(&format!("mh-run: refused {tool}: needs ")), "{ended:?}");
        assert!(!ended.stderr.contains("failed in this turn"), "{ended:?}");
        assert_eq!(room.run(kind, &["--fail-on-denied"]).code, Some(1));
        let (code, object) = room.json(kind, &[]);
        assert_eq!((code, &object["outcome"], &object["denied"]), (Some(0), &json!("tool_failed"), &json!([])));
        let refused = &object["refused"][0];
        assert_eq!(
            (&refused["tool"], &refused["call_id"], &refused["decided_by"]),
            (&json!(tool), &json!("c1"), &json!("frame"))
        );
        assert!(refused["reason"].as_str().unwrap().starts_with(&format!("{tool} needs ")));
    }
}

#[test]
fn a_call_for_a_tool_that_is_not_offered_is_a_refusal_too() {
    let room = Room::new();
    room.claude(
        "begin; use c1 Write '{\"file_path\":\"/a\"}'; result c1 true '<tool_use_error>Error: No such tool available: Write. \
         Write is disabled for this session, in subagents as well as here.</tool_use_error>'; answer fine",
    );
    let (code, object) = room.json("claude", &["--fail-on-denied"]);
    assert_eq!(
        (code, &object["outcome"], &object["refused"][0]["tool"]),
        (Some(1), &json!("tool_failed"), &json!("Write"))
    );
}

#[test]
fn calls_that_failed_on_the_way_are_named_in_one_line() {
    let room = Room::new();
    let failing = "use c1 Read '{}'; hook PreToolUse Read c1 '{\"file_path\":\"/a\"}'; result c1 true nothing; \
                   use c2 Bash '{}'; hook PreToolUse Bash c2 '{\"command\":\"x\"}'; result c2 true nothing";
    room.claude(&format!("begin; {failing}; answer fine"));
    let ended = room.run("claude", &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"));
    assert_eq!(ended.stderr, "mh-run: 2 tool calls failed in this turn: Read, Bash\n");
    assert_eq!(room.json("claude", &["--fail-on-denied"]).1["outcome"], "tool_failed");
}

#[test]
fn a_call_that_needed_an_approval_is_denied_not_refused() {
    let room = Room::new();
    room.claude(
        "begin; call c1 Bash '{\"command\":\"cargo test\"}'; say '{\"type\":\"result\",\"subtype\":\"success\",\
         \"is_error\":false,\"num_turns\":2,\"result\":\"fine\",\"permission_denials\":[{\"tool_name\":\"Bash\",\
         \"tool_use_id\":\"c1\",\"tool_input\":{\"command\":\"cargo test\"}}]}'",
    );
    let (code, object) = room.json("claude", &["--decisions", "deny-only"]);
    assert_eq!(
        (code, &object["denied"], &object["refused"]),
        (Some(0), &json!([{"tool": "Bash", "summary": "cargo test"}]), &json!([]))
    );
    assert_eq!(object["policy"], "deny-only");
    let ended = room.run("claude", &["--decisions", "deny-only"]);
    assert_eq!(ended.stderr, "mh-run: refused Bash (needs approval, nobody to ask): cargo test\n");
}

#[test]
fn a_turn_that_did_not_answer_says_why_and_prints_nothing() {
    let room = Room::new();
    let ended = |record: &str| format!("begin; say '{{\"type\":\"result\",{record}}}'");
    for (body, outcome, why) in [
        (ended(r#""subtype":"success","is_error":true,"result":"API Error: 429""#), "model_failed", "API Error: 429"),
        (
            ended(r#""subtype":"error_max_turns","is_error":true"#),
            "model_failed",
            "the turn ended with error_max_turns",
        ),
        (
            ended(r#""subtype":"success","is_error":false,"num_turns":1,"stop_reason":"max_tokens","result":"half""#),
            "truncated",
            "output cap",
        ),
        (
            ended(r#""subtype":"success","is_error":false,"num_turns":0,"result":"""#),
            "prompt_blocked",
            "prompt blocked",
        ),
        (ended(r#""subtype":"success","is_error":false,"num_turns":2,"result":"""#), "model_failed", "no answer"),
        ("begin; echo broken >&2; exit 3".into(), "no_terminal_record", "ended with exit code 3: broken"),
        ("exit 0".into(), "no_terminal_record", "ended with exit code 0"),
        ("begin; kill -9 $$".into(), "no_terminal_record", "ended without an exit code"),
    ] {
        room.claude(&body);
        room.run("claude", &[]).failed(why);
        let (code, object) = room.json("claude", &[]);
        assert_eq!(
            (code, &object["outcome"], &object["is_error"], &object["result"]),
            (Some(1), &json!(outcome), &json!(true), &Value::Null)
        );
        assert!(object["error"].as_str().unwrap().contains(why), "{object}");
    }
    for (body, outcome, why) in [
        (
            r#"begin; say '{"type":"error","message":"x"}'; say '{"type":"turn.failed","error":{"message":"429 Too Many"}}'"#,
            "model_failed",
            "429 Too Many",
        ),
        (
            r#"begin; say '{"type":"turn.failed","error":{"message":"Incomplete response returned, reason: max_output_tokens"}}'"#,
            "truncated",
            "output cap",
        ),
        (r#"begin; say '{"type":"turn.completed","usage":{}}'"#, "prompt_blocked", "prompt blocked"),
        ("begin; exit 1", "no_terminal_record", "ended with exit code 1"),
    ] {
        room.codex(body);
        room.run("codex", &[]).failed(why);
        assert_eq!(room.json("codex", &[]).1["outcome"], outcome);
    }
}

#[test]
fn the_exit_code_of_the_child_decides_nothing() {
    let room = Room::new();
    room.claude(&format!("begin; {READ}; answer fine; exit 1"));
    assert_eq!(room.run("claude", &[]).code, Some(0));
    room.codex("begin; say '{\"type\":\"turn.failed\",\"error\":{\"message\":\"no\"}}'; exit 0");
    assert_eq!(room.run("codex", &[]).code, Some(1));
}

#[test]
fn a_prompt_that_our_hook_blocks_is_told_in_its_words() {
    let room = Room::new();
    // the frame is edited between the start and the prompt
    room.claude(
        "begin; sed -i s/file.read/web.read/ \"$ROOM/frame.json\"; hook UserPromptSubmit x x '{}'; say \
         '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":0,\"result\":\"\"}'",
    );
    let (code, object) = room.json("claude", &[]);
    assert_eq!((code, &object["outcome"]), (Some(1), &json!("prompt_blocked")));
    assert!(object["error"].as_str().unwrap().contains("is refused: edited"), "{object}");
}

#[test]
fn nothing_unenforced_passes_as_enforced() {
    let room = Room::new();
    for (body, tool, call, why) in [
        ("use c1 Read '{}'; result c1 false ran", "Read", json!("c1"), "no decision of the hook is in the audit"),
        // of a sub-agent
        (
            r#"say '{"type":"assistant","parent_tool_use_id":"c0","message":{"id":"n","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{}}]}}'; result c1 false ran"#,
            "Bash",
            json!("c1"),
            "no decision",
        ),
        (
            r#"say '{"type":"system","subtype":"hook_response","hook_name":"PreToolUse:Bash","exit_code":127,"outcome":"error"}'"#,
            "PreToolUse:Bash",
            Value::Null,
            "it ended with exit code 127",
        ),
        (
            r#"say '{"type":"system","subtype":"informational","tag":"hook_no_verdict","content":"hook died"}'"#,
            "a hook",
            Value::Null,
            "hook died",
        ),
    ] {
        room.claude(&format!("begin; {body}; answer fine"));
        let (code, object) = room.json("claude", &[]);
        assert_eq!(
            (code, &object["outcome"], &object["result"]),
            (Some(1), &json!("unenforced"), &Value::Null),
            "{body}"
        );
        let missing = &object["unenforced"][0];
        assert_eq!((&missing["tool"], &missing["call_id"]), (&json!(tool), &call));
        assert!(missing["reason"].as_str().unwrap().contains(why), "{missing}");
        room.run("claude", &[]).failed(&format!("unenforced: {tool}"));
    }
    // a call that failed before the hook did not run
    room.claude("begin; use c1 Edit '{}'; result c1 true '<tool_use_error>String to replace not found'; answer fine");
    assert_eq!(room.json("claude", &[]).1["outcome"], "tool_failed");
    let well = r#"say '{"type":"system","subtype":"hook_response","exit_code":2,"outcome":"error"}'"#;
    room.claude(&format!("begin; {well}; {READ}; answer fine"));
    assert_eq!(room.run("claude", &[]).code, Some(0));
}

#[test]
fn codex_is_held_to_its_rollout() {
    let room = Room::new();
    for (body, why) in [
        ("ran x1 CommandExecution unified_exec_startup", "no decision of the hook is in the audit"),
        ("ran x1 McpToolCall ''", "no decision of the hook is in the audit"),
        ("ran x1 SomethingNew ''", "no decision of the hook is in the audit"),
        (
            "call x1 Bash '{\"command\":\"x\"}' CommandExecution; ran x1 CommandExecution unified_exec_interaction",
            "no hook ever sees such a call",
        ),
        ("ran x1 WebSearch ''", "no hook ever sees such a call"),
        (
            "call x1 Bash '{\"command\":\"x\"}' CommandExecution; rm \"$rollout\"; item() { :; }",
            "the vendor's rollout could not be read",
        ),
        (
            "printf '%s\\n' '{\"payload\":{\"type\":\"function_call_output\",\"output\":\"Command blocked by PreToolUse hook: gone\"}}' >> \"$rollout\"",
            "blocked by the hook's line",
        ),
    ] {
        room.codex(&format!("begin; {body}; answer fine"));
        let (code, object) = room.json("codex", &[]);
        assert_eq!((code, &object["outcome"]), (Some(1), &json!("unenforced")), "{body} {object}");
        assert!(object["unenforced"][0]["reason"].as_str().unwrap().contains(why), "{object}");
    }
    room.codex("begin; ran m1 AgentMessage ''; ran m2 UserMessage ''; call x1 Bash '{\"command\":\"x\"}' CommandExecution; answer fine");
    assert_eq!(room.run("codex", &[]).code, Some(0));
}

#[test]
fn odd_records_change_nothing() {
    let room = Room::new();
    let odd = r#"say 'not json'; say '[]'; say '{"type":7}'; say '{"type":"assistant","message":{"content":"text"}}'; say '{"type":"user"}'; say '{"type":"new","x":[]}'; say ''"#;
    room.claude(&format!("begin; {odd}; {READ}; answer fine"));
    assert_eq!(room.run("claude", &[]).stdout, "fine\n");
    room.codex(&format!("begin; {odd}; say '{{\"type\":\"item.completed\"}}'; answer fine"));
    assert_eq!(room.run("codex", &[]).stdout, "fine\n");
}

#[test]
fn what_a_frame_owes_is_looked_for() {
    let room = Room::new();
    room.seal(&["--admit", "file.read", "--handoff-artifact", "plan.md"]);
    let missing = |ended: crate::common::room::Ended, why: &str| ended.failed(why);
    room.claude("begin; answer fine");
    missing(room.run("claude", &["--handoff-check"]), "the artifact \"plan.md\" is owed, and");
    assert_eq!(room.run("claude", &[]).code, Some(0));
    fs_err::write(room.path("project/plan.md"), "old").unwrap();
    missing(room.run("claude", &["--handoff-check"]), "is as it was");
    room.claude("begin; echo new > plan.md; answer fine");
    assert_eq!(room.run("claude", &["--handoff-check"]).code, Some(0));
    room.claude("begin; echo new > other.md; answer fine");
    assert_eq!(room.run("claude", &["--handoff-check", "--artifact", "plan.md=other.md"]).code, Some(0));
    room.run("claude", &["--handoff-check", "--artifact", "x=other.md"]).refused("the frame owes no artifact \"x\"");

    room.seal(&[
        "--admit",
        "file.read",
        "--handoff-none",
        "--entities-from",
        "list",
        "--entity",
        "yes",
        "--entity",
        "no",
    ]);
    for (answer, code) in [("yes", 0), (" no ", 0), ("maybe", 1), ("yes.", 1)] {
        room.claude(&format!("begin; answer '{answer}'"));
        assert_eq!(room.run("claude", &["--handoff-check"]).code, Some(code), "{answer}");
    }
    assert_eq!(room.json("claude", &["--handoff-check"]).1["outcome"], "handoff_missing");

    room.seal(&["--admit", "file.read", "--handoff-answer", "verdict"]);
    room.run("claude", &["--handoff-check"]).refused("give it with --schema FILE");
    fs_err::write(room.path("schema.json"), "{\"type\":\"object\"}").unwrap();
    room.claude(
        "begin; say '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":2,\"result\":\"words\",\
         \"structured_output\":{\"n\":1}}'",
    );
    assert_eq!(room.run("claude", &["--handoff-check", "--schema", "../schema.json"]).stdout, "{\"n\":1}\n");
    assert!(room.text("arguments").contains("--json-schema\n{\"type\":\"object\"}"));
    room.claude("begin; answer words");
    missing(room.run("claude", &["--handoff-check", "--schema", "../schema.json"]), "the answer is no json");
}

#[test]
fn what_others_were_refused_is_not_told_as_this_runs_where_the_vendor_names_no_session() {
    let room = Room::new();
    let audit = room.path("kept.jsonl");
    // lines that another run's hook writes meanwhile
    let other = |event: &str, call: &str| {
        format!(
            "printf '%s\\n' '{{\"vendor\":\"claude\",\"event\":\"{event}\",\"session_id\":\"s2\",{call}\"decision\":{{\"decision\":\"deny\",\
             \"reason\":\"no\"}},\"decided_by\":\"frame\",\"seam\":\"hook\"}}' >> '{}'",
            audit.display()
        )
    };
    let call = other("PreToolUse", "\"call_id\":\"x1\",\"tool\":\"Write\",");
    let failed = "say '{\"type\":\"result\",\"subtype\":\"x\",\"is_error\":true,\"result\":\"no key\"}'";
    for (own, refused) in [("", 0), ("call c1 Write '{}'", 1)] {
        room.claude(&format!("{call}; {}; {own}\n{failed}", other("UserPromptSubmit", "")));
        let (code, object) = room.json("claude", &["--audit", audit.to_str().unwrap()]);
        assert_eq!((code, &object["outcome"], &object["session_id"]), (Some(1), &json!("model_failed"), &json!(null)));
        assert_eq!(object["refused"].as_array().unwrap().len(), refused, "{object}");
    }
}

#[test]
fn the_audit_can_be_kept_and_only_this_run_is_looked_at() {
    let room = Room::new();
    room.claude("begin; call c1 WebFetch '{}'; answer fine");
    let audit = room.path("kept.jsonl");
    let audit = audit.to_str().unwrap();
    assert_eq!(room.json("claude", &["--audit", audit]).1["refused"].as_array().unwrap().len(), 1);
    assert_eq!(room.json("claude", &["--audit", audit]).1["refused"].as_array().unwrap().len(), 1);
    assert_eq!(room.text("kept.jsonl").lines().count(), 2);
}

#[test]
fn a_decider_decides_in_a_turn() {
    let room = Room::new();
    room.program(
        "decide",
        "#!/bin/sh\necho '{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"c1\",\
         \"decision\":{\"decision\":\"deny\",\"reason\":\"not today\"}}'\n",
    );
    room.claude(&format!("begin; {READ}; answer fine"));
    let decider = format!("exec:{}", room.path("decide").display());
    let (code, object) = room.json("claude", &["--decider", &decider, "--needs", "tool.decide,interrupt,halt"]);
    assert_eq!((code, &object["refused"][0]["decided_by"]), (Some(0), &json!("embedder")));
}
