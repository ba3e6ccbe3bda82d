//! The outcome of turns in which something failed, equal in every form of output.

use serde_json::{Value, json};

use super::records::{gated, go_on, lines, made, message, only, result, rollout, say, text, told};
use crate::common::room::Room;
use crate::common::side_by_side;

/// Deciders that give no decision.
const NO_DECISION: [&str; 4] = ["exit 3", "echo nonsense", "exec sleep 600", "cat > /dev/null"];

#[test]
fn under_fail_on_denied_a_call_that_was_refused_or_denied_leaves_no_answer_in_any_format() {
    let room = Room::new();
    room.codex("begin; call c1 apply_patch '{\"command\":\"*** Add File: a\"}' FileChange; answer fine");
    for (kind, body) in [
        ("claude", "begin; call c1 WebFetch '{}'; answer fine".to_string()),
        ("claude", gated()),
        ("codex", String::new()),
    ] {
        if !body.is_empty() {
            room.claude(&body);
        }
        let why = "which --fail-on-denied makes a failure";
        let flags = &["--fail-on-denied", "--decisions", "deny-only"];
        room.run(kind, flags).failed(why);
        let (code, object) = room.json(kind, flags);
        assert_eq!((code, &object["outcome"]), (Some(1), &json!("tool_failed")), "{object}");
        assert_eq!((&object["is_error"], &object["result"]), (&json!(true), &Value::Null), "{object}");
        assert!(object["error"].as_str().unwrap().contains(why), "{object}");
        let (ended, stream) = lines(&room, kind, "stream-json", flags);
        let result = stream.last().unwrap();
        assert_eq!((ended.code, &result["is_error"], &result["result"]), (Some(1), &json!(true), &Value::Null));
        let (ended, events) = lines(&room, kind, "events", flags);
        let end = only(&events, "session.ended");
        assert_eq!(
            (ended.code, &end["is_error"], &end["terminal_reason"]),
            (Some(1), &json!(true), &json!("tool_failed"))
        );
        assert_eq!((&end["final_answer"], &events.last().unwrap()["reason"]), (&Value::Null, &json!("error")));
        assert!(end["error"].as_str().unwrap().contains(why) && ended.stderr.contains(why), "{ended:?}");
        // a refusal alone leaves exit 0
        let (code, object) = room.json(kind, &flags[1..]);
        assert_eq!((code, &object["is_error"], &object["result"]), (Some(0), &json!(false), &json!("fine")));
    }
    // a call that failed by itself was not refused
    room.claude("begin; use c1 Read '{}'; hook PreToolUse Read c1 '{\"file_path\":\"/a\"}'; result c1 true nothing; answer fine");
    assert_eq!(room.run("claude", &["--fail-on-denied"]).code, Some(0));
}

#[test]
fn an_enforcement_that_could_not_decide_ends_the_turn_undecided() {
    let mut turns = Vec::new();
    for kind in ["claude", "codex"] {
        turns.push((kind, "rm \"$ROOM/decide\"", None, "no such file or directory"));
        turns.extend(NO_DECISION.map(|does| (kind, ":", Some(does), "the decider exec:")));
        // a decider that answered deny has decided
        turns.push((kind, ":", Some("DENY"), ""));
    }
    side_by_side(&turns, |&(kind, first, does, why)| {
        let room = Room::new();
        let denies = r#"echo '{"format":"metaharness.command/1","id":"1","command":"tool.decide","call_id":"c1","decision":{"decision":"deny","reason":"no"}}'"#;
        let does = if does == Some("DENY") { denies } else { does.unwrap_or(denies) };
        let decider = format!("exec:{}", room.program("decide", &format!("#!/bin/sh\n{does}\n")).display());
        let short = if does.contains("sleep") {
            "words=\"$words --deadline 1\"; line=\"$(printf %s \"$line\" | sed \"s/--audit/--deadline' '1' '--audit/\")\""
        } else {
            ":"
        };
        let call = "call c1 Bash '{\"command\":\"x\"}' CommandExecution";
        let body = format!("begin; {short}; {first}; {call}; answer fine");
        room.claude(&body).codex(&body);
        let flags = &["--decider", &decider];
        let (code, object) = room.json(kind, flags);
        if why.is_empty() {
            assert_eq!((code, &object["outcome"], &object["result"]), (Some(0), &json!("tool_failed"), &json!("fine")));
            return;
        }
        assert_eq!((code, &object["outcome"]), (Some(1), &json!("undecided")), "{does}: {object}");
        assert_eq!((&object["is_error"], &object["result"]), (&json!(true), &Value::Null));
        let error = object["error"].as_str().unwrap();
        assert!(error.starts_with("undecided: Bash: ") && error.contains(why), "{error}");
        assert_eq!(object["refused"][0]["call_id"], "c1");
        // a run has no entries that somebody could remove
        let words = object.to_string();
        assert!(!words.contains("settings file") && !words.contains("entries"), "{words}");
        if does != "exec sleep 600" && first == ":" {
            room.run(kind, flags).failed("mh-run: undecided: Bash: ");
            let (_, events) = lines(&room, kind, "events", flags);
            let end = only(&events, "session.ended");
            assert_eq!((&end["terminal_reason"], &end["is_error"]), (&json!("undecided"), &json!(true)));
            assert_eq!(lines(&room, kind, "stream-json", flags).1.last().unwrap()["outcome"], "undecided");
        }
    });
}

#[test]
fn an_audit_that_cannot_be_written_ends_the_turn_undecided_by_the_hooks_own_words() {
    let words =
        "$(tr -d '\\n\"' < \"$ROOM/answer\" | sed 's/.*\\(mh-hook-[a-z]*: the audit line[^;]*;[^;]*\\).*/\\1/')";
    let meta = r#","tool_result_meta":[{"id":"c1","non_execution_kind":"permission-rule","permission_decision":{"decision":"reject","source":"hook"}}]"#;
    for (kind, with) in [("claude", meta), ("claude", ""), ("codex", "")] {
        let room = Room::new();
        let taken = "rm -f \"$ROOM/audit\"; mkdir \"$ROOM/audit\"";
        let call = "hook PreToolUse Bash c1 '{\"command\":\"x\"}'";
        room.claude(&format!(
            "begin; {taken}; use c1 Bash '{{}}'; {call}\nsay '{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\
             \"is_error\":true,\"content\":\"PreToolUse:Bash hook error: '\"{words}\"'\"}}]}}{with}}}'; rmdir \"$ROOM/audit\"; : > \"$ROOM/audit\"; answer fine"
        ));
        room.codex(&format!(
            "begin; {taken}\n{}{call}\ntold c1 \"Command blocked by PreToolUse hook: {words}. Command: x\"; rmdir \"$ROOM/audit\"; : > \"$ROOM/audit\"; answer fine",
            made("c1", "exec_command", &json!({"cmd": "x"}))
        ));
        let audit = room.path("audit");
        let (code, object) = room.json(kind, &["--audit", audit.to_str().unwrap()]);
        assert_eq!((code, &object["outcome"]), (Some(1), &json!("undecided")), "{kind} {with}: {object}");
        let error = object["error"].as_str().unwrap();
        assert!(error.starts_with("undecided: Bash: the audit line could not be written to "), "{error}");
    }
}

#[test]
fn what_codex_turned_down_itself_is_denied_or_failed_by_its_record() {
    let room = Room::new();
    let patch = "{\"command\":\"*** Begin Patch\\n*** Update File: a\"}";
    let hooked = |tool: &str, input: &str| format!("hook PreToolUse {tool} c1 '{input}'\n");
    let shell = json!({"cmd": "touch /x"});
    for (body, tool, denied, words) in [
        (
            format!("{}{}", made("c1", "apply_patch", &json!({})), hooked("apply_patch", patch)),
            "apply_patch",
            false,
            "apply_patch verification failed: Failed to read file to update /a: No such file or directory (os error 2)",
        ),
        (
            format!("{}{}", made("c1", "apply_patch", &json!({})), hooked("apply_patch", patch)),
            "apply_patch",
            true,
            "patch rejected: writing outside of the project; rejected by user approval settings",
        ),
        (
            format!("{}{}", made("c1", "exec_command", &shell), hooked("Bash", "{\"command\":\"touch /x\"}")),
            "Bash",
            true,
            "approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never",
        ),
        (
            made("c1", "exec_command", &json!({"foo": 1})),
            "Bash",
            false,
            "failed to parse function arguments: missing field `cmd` at line 1 column 10",
        ),
        (made("c1", "no_such_tool", &json!({})), "no_such_tool", false, "unsupported call: no_such_tool"),
        (made("c1", "view_image", &json!({})), "view_image", false, "a sentence of a release that nobody has seen"),
    ] {
        room.seal(&["--admit", "file.read", "file.write", "file.edit", "shell", "--handoff-none"]);
        room.codex(&format!("begin\n{body}{}answer fine", told("c1", words)));
        let (code, object) = room.json("codex", &[]);
        assert_eq!((code, &object["outcome"]), (Some(0), &json!("tool_failed")), "{words}: {object}");
        let named: Vec<_> = object["denied"].as_array().unwrap().iter().map(|one| one["tool"].clone()).collect();
        assert_eq!(named, if denied { vec![json!(tool)] } else { vec![] }, "{words}");
        let ended = room.run("codex", &[]);
        let line = match denied {
            true => format!("mh-run: refused {tool} (needs approval, nobody to ask): "),
            false => format!("mh-run: 1 tool call failed in this turn: {tool}\n"),
        };
        assert!(ended.stderr.starts_with(&line) && ended.stderr.lines().count() == 1, "{words}: {ended:?}");
        assert_eq!(room.run("codex", &["--fail-on-denied"]).code, Some(i32::from(denied)));
        // its approval and its result have the id of its tool_use, in the order of the record
        let (_, stream) = lines(&room, "codex", "stream-json", &[]);
        let about: Vec<&str> =
            stream.iter().filter(|line| line["id"] == "c1").filter_map(|line| line["type"].as_str()).collect();
        let approval = if denied { &["approval"][..] } else { &[] };
        assert_eq!(about, [&["tool_use"][..], approval, &["tool_result"]].concat(), "{words}");
        let result = only(&stream, "tool_result");
        assert_eq!((&result["status"], &result["error"]), (&json!("failed"), &json!(words)));
        assert_ne!(only(&stream, "tool_use")["input"], Value::Null);
        let place = |kind: &str| stream.iter().position(|line| line["type"] == kind);
        assert!(place("tool_result") < place("assistant"), "{stream:?}");
    }
}

#[test]
fn a_call_in_a_script_of_codexs_that_was_turned_down_is_told_by_what_the_script_was() {
    let room = Room::new();
    room.seal(&["--admit", "file.read", "file.write", "file.edit", "shell", "task.todo", "--handoff-none"]);
    let script = |words: &str| {
        rollout(&json!({"type": "custom_tool_call_output", "call_id": "outer", "output":
            [{"type": "input_text", "text": "Script failed\nOutput:\n"}, {"type": "input_text", "text": words}]}))
    };
    let patch = "hook PreToolUse apply_patch exec-1 '{\"command\":\"*** Update File: a\"}'\n";
    let shell = "hook PreToolUse Bash exec-1 '{\"command\":\"touch /x\"}'\n";
    for (call, words, outcome, denied) in [
        (patch, "Script error:\napply_patch verification failed: no", "tool_failed", false),
        (patch, "quiet", "tool_failed", false),
        (
            patch,
            "caught patch rejected: writing outside of the project; rejected by user approval settings",
            "tool_failed",
            true,
        ),
        (shell, "Script error:\napproval policy is Never; reject command", "tool_failed", true),
        ("hook PreToolUse get_goal exec-1 '{}'\n", "{}", "completed", false),
        ("call exec-1 Bash '{\"command\":\"x\"}' CommandExecution\n", "{}", "completed", false),
    ] {
        room.codex(&format!("begin\n{call}{}answer fine", script(words)));
        let (code, object) = room.json("codex", &[]);
        assert_eq!((code, &object["outcome"]), (Some(0), &json!(outcome)), "{words}: {object}");
        assert_eq!(object["denied"].as_array().unwrap().len(), usize::from(denied), "{words}");
        let (_, stream) = lines(&room, "codex", "stream-json", &[]);
        let approvals = stream.iter().filter(|line| line["type"] == "approval").count();
        assert_eq!(approvals, usize::from(denied), "{stream:?}");
        if outcome == "tool_failed" {
            let result = only(&stream, "tool_result");
            assert_eq!((&result["id"], &result["status"]), (&json!("exec-1"), &json!("failed")));
        }
    }
}

#[test]
fn an_answer_is_the_last_reply_whole_with_all_that_it_continues() {
    let room = Room::new();
    let read = "call c1 Read '{\"file_path\":\"/a\"}'\n";
    for (body, answer) in [
        (
            format!("{}{}{}", message("m1", &text("one ")), go_on(), message("m2", &text("two ")))
                + &go_on()
                + &message("m3", &text("three"))
                + &result("three"),
            "one two three\n",
        ),
        // several blocks of one reply, each in a record of its own
        (message("m1", &text("first, ")) + &message("m1", &text("second")) + &result("second"), "first, second\n"),
        // a reply that called a tool is over
        (message("m1", &text("let me see")) + read + &message("m2", &text("done")) + &result("done"), "done\n"),
        // an attempt that consists of reasoning only
        (
            message("m1", &text("one "))
                + &go_on()
                + &message("m2", &json!([{"type": "thinking", "thinking": "x"}]))
                + &go_on()
                + &message("m3", &text("two"))
                + &result("two"),
            "one two\n",
        ),
        // the vendor's words in the middle of a turn continue nothing
        (
            message("m1", &text("let me see")) + read + &go_on() + &message("m2", &text("done")) + &result("done"),
            "done\n",
        ),
        // an answer that no record of the model has
        (message("m1", &text("words")) + &result("of a command"), "of a command\n"),
    ] {
        room.claude(&format!("begin\n{body}"));
        let ended = room.run("claude", &[]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), answer), "{body}");
        assert_eq!(format!("{}\n", room.json("claude", &[]).1["result"].as_str().unwrap()), answer);
    }
}

#[test]
fn a_reply_that_is_cut_for_good_is_truncated_and_no_model_call_is_counted_that_was_none() {
    let room = Room::new();
    let words = "API Error: the response exceeded the output token maximum.";
    let synthetic = say(&json!({"type": "assistant", "message": {"id": "s", "model": "<synthetic>", "stop_reason":
        "stop_sequence", "content": text(words)}, "error": "max_output_tokens"}));
    let end = say(&json!({"type": "result", "subtype": "success", "is_error": true, "num_turns": 2, "stop_reason":
        "stop_sequence", "api_error": "max_output_tokens", "result": words}));
    let body =
        format!("begin\n{}{}{}{synthetic}{end}", message("m1", &text("half ")), go_on(), message("m2", &text("half ")));
    room.claude(&body);
    room.run("claude", &[]).failed("the reply stopped at the output cap: API Error");
    let (code, object) = room.json("claude", &[]);
    assert_eq!((code, &object["outcome"], &object["model_calls"]), (Some(1), &json!("truncated"), &json!(2)));
    // the vendor's words in the model's place are not the model's
    let (_, stream) = lines(&room, "claude", "stream-json", &[]);
    assert_eq!(stream.iter().filter(|line| line["type"] == "assistant").count(), 2, "{stream:?}");
}

#[test]
fn a_denial_for_want_of_an_approval_is_told_from_one_by_a_rule() {
    let room = Room::new();
    let flags = &["--decisions", "deny-only"];
    room.claude(&gated());
    let (code, object) = room.json("claude", flags);
    let denied = json!([{"tool": "Bash", "summary": "touch a"}]);
    assert_eq!((code, &object["denied"], &object["cost_usd"]), (Some(0), &denied, &json!(0.5)));
    for (kind, content) in [
        ("\"non_execution_kind\":\"permission-rule\",", "Permission to use Bash has been denied."),
        ("", "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>"),
    ] {
        let body = gated().replace("\"non_execution_kind\":\"user-rejected\",", kind);
        room.claude(&body.replace("touch needs approval.", content));
        let (code, object) = room.json("claude", flags);
        assert_eq!(
            (code, &object["outcome"], &object["denied"]),
            (Some(0), &json!("tool_failed"), &json!([])),
            "{content}"
        );
        assert_eq!(room.run("claude", flags).stderr, "mh-run: 1 tool call failed in this turn: Bash\n");
        let (_, stream) = lines(&room, "claude", "stream-json", flags);
        assert!(stream.iter().all(|line| line["type"] != "approval"), "{stream:?}");
    }
}

#[test]
fn the_words_of_a_prompt_that_was_blocked_come_through_on_both_vendors() {
    let room = Room::new();
    let edited = "sed -i s/file.read/web.read/ \"$ROOM/frame.json\"";
    let end = "say '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":0,\"result\":\"\"}'";
    room.claude(&format!("begin; {edited}; hook UserPromptSubmit x x '{{}}'; {end}"));
    // Codex stops a session whose start a hook refuses, and never reaches the prompt
    room.codex(&format!(
        "{edited}; hook SessionStart x x '{{}}'; begin; say '{{\"type\":\"turn.completed\",\"usage\":{{}}}}'"
    ));
    for kind in ["claude", "codex"] {
        room.seal(&["--admit", "file.read", "shell", "--handoff-none"]);
        let (code, object) = room.json(kind, &[]);
        assert_eq!((code, &object["outcome"]), (Some(1), &json!("prompt_blocked")), "{kind}: {object}");
        let error = object["error"].as_str().unwrap();
        assert!(error.starts_with(&format!("prompt blocked: mh-hook-{kind}: the frame ")), "{error}");
        assert!(error.contains("is refused: edited") && error.ends_with("and the run started again"), "{error}");
    }
}

#[test]
fn a_command_of_codexs_that_was_ended_with_the_turn_is_a_failed_call() {
    let room = Room::new();
    let call = made("c1", "exec_command", &json!({"cmd": "sleep 60"}));
    let runs_on = told("c1", "Chunk ID: 1\nProcess running with session ID 7");
    room.codex(&format!("begin\n{call}hook PreToolUse Bash c1 '{{\"command\":\"sleep 60\"}}'\n{runs_on}answer fine"));
    let ended = room.run("codex", &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"));
    assert_eq!(ended.stderr, "mh-run: 1 tool call failed in this turn: Bash\n");
    let (_, stream) = lines(&room, "codex", "stream-json", &[]);
    assert_eq!(only(&stream, "tool_result")["status"], "failed");
    assert_eq!(stream.last().unwrap()["outcome"], "tool_failed");
}
