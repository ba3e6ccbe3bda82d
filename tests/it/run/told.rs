//! The report of a turn: its order, its words, and equal facts in every form of output.

use serde_json::{Value, json};

use super::records::{gated, lines, made, message, only, say, text};
use crate::common::room::{Ended, Room};

#[test]
fn lines_stand_in_the_order_of_the_vendors_record_whoever_was_read_first() {
    let types =
        |lines: &[Value]| lines.iter().map(|line| line["type"].as_str().unwrap().to_string()).collect::<Vec<_>>();
    let room = Room::new();
    room.claude(&gated());
    let (_, stream) = lines(&room, "claude", "stream-json", &["--decisions", "deny-only"]);
    assert_eq!(types(&stream), ["init", "user", "tool_use", "approval", "tool_result", "assistant", "result"]);
    let reason = stream[3]["reason"].as_str().unwrap();
    assert!(reason.contains("Do not retry it; finish with what you can"), "{reason}");
    // the hook's line is in the audit before the vendor's record of the call
    let early = "hook PreToolUse Read c1 '{\"file_path\":\"/a\"}'; sleep 0.2\n";
    let late = format!(
        "{}use c1 Read '{{\"file_path\":\"/a\"}}'; result c1 false ran; answer fine",
        message("m1", &text("let me see"))
    );
    room.claude(&format!("begin\n{early}{late}"));
    let wanted = ["init", "user", "assistant", "tool_use", "tool_result", "assistant", "result"];
    assert_eq!(types(&lines(&room, "claude", "stream-json", &[]).1), wanted);
    let said = "item '{\"type\":\"AgentMessage\",\"id\":\"m1\",\"content\":[{\"type\":\"Text\",\"text\":\"let me see\"}]}'\n\
                say '{\"type\":\"item.completed\",\"item\":{\"id\":\"item_0\",\"type\":\"agent_message\",\"text\":\"let me see\"}}'\n";
    let call = made("c1", "exec_command", &json!({"cmd": "x"}));
    room.codex(&format!(
        "begin\nhook PreToolUse Bash c1 '{{\"command\":\"x\"}}'; sleep 0.2\n{said}{call}ran c1 CommandExecution ''; answer fine"
    ));
    assert_eq!(types(&lines(&room, "codex", "stream-json", &[]).1), wanted);
}

#[test]
fn a_vendor_that_ends_before_it_has_said_anything_has_a_first_line_too() {
    let room = Room::new();
    room.claude("echo 'Error: EROFS: read-only file system, mkdir /x' >&2; echo '    at main (/x.js:1)' >&2; exit 1");
    let why = "the vendor ended with exit code 1: Error: EROFS: read-only file system, mkdir /x";
    room.run("claude", &[]).failed(why);
    let (_, stream) = lines(&room, "claude", "stream-json", &["--model", "m"]);
    let types: Vec<&Value> = stream.iter().map(|line| &line["type"]).collect();
    assert_eq!(types, ["init", "user", "result"]);
    assert_eq!((&stream[0]["session_id"], &stream[0]["model"]), (&Value::Null, &json!("m")));
    let (_, events) = lines(&room, "claude", "events", &[]);
    assert_eq!(events[0]["event"], "session.started");
    assert!(only(&events, "session.ended")["error"].as_str().unwrap().contains(why));
    // for a hook that could not start, the message has the vendor's words
    let failed = json!({"type": "system", "subtype": "hook_response", "hook_name": "SessionStart:startup", "hook_event":
        "SessionStart", "exit_code": 1, "outcome": "error", "stderr": "Failed to run: EROFS: read-only file system, mkdir /x"});
    room.claude(&format!("begin\n{}answer fine", say(&failed)));
    room.run("claude", &[]).failed("SessionStart:startup: it ended with exit code 1: Failed to run: EROFS");
}

#[test]
fn a_failure_without_words_is_told_by_what_is_known_of_it() {
    let room = Room::new();
    for (record, why) in [
        (
            json!({"subtype": "success", "api_error_status": 500, "result": ""}),
            "the model's service failed (unknown, status 500)",
        ),
        (json!({"subtype": "success", "result": " "}), "the turn failed, and the vendor does not say why"),
        (
            json!({"subtype": "success", "api_error": "overloaded", "result": ""}),
            "the model's service failed (overloaded)",
        ),
    ] {
        let mut record = record;
        record["type"] = json!("result");
        record["is_error"] = json!(true);
        room.claude(&format!("begin\n{}", say(&record)));
        room.run("claude", &[]).failed(why);
    }
    room.codex("begin; say '{\"type\":\"error\",\"message\":\"\"}'; say '{\"type\":\"turn.failed\",\"error\":{\"message\":\"\"}}'");
    room.run("codex", &[]).failed("mh-run: the turn failed without a word");
}

#[test]
fn whoever_waits_is_told_at_once_that_the_service_is_down_and_what_a_refused_login_needs() {
    let room = Room::new();
    let retry = |status: &str| {
        format!(
            "say '{{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,\"error_status\":{status},\"error\":\"x\"}}'\n"
        )
    };
    room.claude(&format!("begin\n{0}{0}answer fine", retry("null")));
    let ended = room.run("claude", &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"));
    // once in fifteen seconds
    assert_eq!(ended.stderr, "mh-run: the model's service failed (x, status ?), try 1 of 10\n");
    let reconnects = "say '{\"type\":\"error\",\"message\":\"Reconnecting... waiting for network\"}'";
    room.codex(&format!("begin; {reconnects}; {reconnects}; answer fine"));
    assert_eq!(room.run("codex", &[]).stderr, "mh-run: Reconnecting... waiting for network\n");
    let refused = say(&json!({"type": "assistant", "message": {"id": "s", "model": "<synthetic>", "content":
        text("Not logged in")}, "error": "authentication_failed"}));
    let end = say(&json!({"type": "result", "subtype": "success", "is_error": true, "result": "Not logged in"}));
    room.claude(&format!("begin\n{refused}{end}"));
    room.run("claude", &[]).failed("mh-run: Not logged in; to go on: start claude at a terminal and say /login");
    let words = "unexpected status 401 Unauthorized: no such key";
    room.codex(&format!(
        "begin; say '{{\"type\":\"error\",\"message\":\"{words}\"}}'; say '{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{words}\"}}}}'"
    ));
    room.run("codex", &[]).failed(&format!("mh-run: {words}; to go on: say codex login at a terminal"));
}

#[test]
fn a_server_of_tools_that_is_not_there_is_named() {
    let room = Room::new();
    let init = json!({"type": "system", "subtype": "init", "session_id": "s1", "mcp_servers":
        [{"name": "dead", "status": "failed"}, {"name": "lab", "status": "connected"}]});
    room.claude(&format!("{}answer fine", say(&init)));
    let ended = room.run("claude", &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"));
    let line = "mh-run: the mcp server dead is not there (failed), and its tools are not offered: see --mcp-config\n";
    assert_eq!(ended.stderr, line);
    let (_, events) = lines(&room, "claude", "events", &[]);
    assert_eq!(only(&events, "warning")["code"], "MCP_SERVER_FAILED");
}

#[test]
fn versions_model_cost_and_policy_mean_the_same_in_every_format() {
    let room = Room::new();
    let own = json!(env!("CARGO_PKG_VERSION"));
    room.claude(&gated()).codex("begin; answer fine");
    for (kind, release) in [("claude", "2.1.332"), ("codex", "0.171.0")] {
        let flags = &["--model", "m-1"];
        let (_, object) = room.json(kind, flags);
        let (_, stream) = lines(&room, kind, "stream-json", flags);
        let (_, events) = lines(&room, kind, "events", flags);
        for line in [&object, &stream[0], stream.last().unwrap(), only(&events, "session.started")] {
            assert_eq!((&line["vendor_version"], &line["driver_version"]), (&json!(release), &own), "{line}");
        }
        let cost = if kind == "claude" { json!(0.5) } else { Value::Null };
        let end = only(&events, "session.ended");
        let told = [
            &object["cost_usd"],
            &stream.last().unwrap()["cost_usd"],
            &end["total_cost_usd"],
            &end["usage"]["cost_usd"],
        ];
        assert_eq!(told, [&cost; 4]);
        let named = if kind == "claude" { "model-1" } else { "m-1" };
        assert_eq!((&stream[0]["model"], &only(&events, "session.started")["model"]), (&json!(named), &json!(named)));
        assert_eq!((&object["policy"], &stream[0]["policy"]), (&json!("frame"), &json!("frame")));
        // without a frame no policy is in force
        let bare = |form: &str| {
            let output = room.command(kind, &["-p", "do it", "--output-format", form]).output().unwrap();
            let ended = Ended::of(output);
            ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
        };
        assert_eq!((&bare("json")[0]["policy"], &bare("stream-json")[0]["policy"]), (&Value::Null, &Value::Null));
        assert_eq!(only(&bare("events"), "session.started")["hermetic"]["decisions"], Value::Null);
    }
}

#[test]
fn what_a_failed_turn_of_codexs_used_is_added_up_from_its_rollout() {
    let room = Room::new();
    let call = |number: u32| {
        let record = json!({"type": "token_usage_record", "payload": {"response_id": format!("r{number}"), "usage":
            {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3, "reasoning_output_tokens": 1}}});
        format!("printf '%s\\n' '{record}' >> \"$rollout\"\n")
    };
    room.codex(&format!(
        "begin\n{}{}say '{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"429\"}}}}'",
        call(1),
        call(2)
    ));
    let (code, object) = room.json("codex", &[]);
    let used = json!({"input_tokens": 20, "output_tokens": 6, "cached_input_tokens": 8, "reasoning_tokens": 2});
    assert_eq!((code, &object["model_calls"], &object["usage"]), (Some(1), &json!(2), &used));
}

#[test]
fn a_transcript_shows_each_call_of_codexs_once() {
    let room = Room::new();
    let item = "{\"id\":\"item_1\",\"type\":\"command_execution\",\"command\":\"x\",\"status\":\"in_progress\"}";
    room.codex(&format!(
        "begin; say '{{\"type\":\"item.started\",\"item\":{item}}}'; call c1 Bash '{{\"command\":\"x\"}}' CommandExecution; answer fine"
    ));
    let ended = room.run("codex", &["--verbose"]);
    assert_eq!(ended.stderr.lines().filter(|line| line.starts_with("calls Bash")).count(), 1, "{ended:?}");
}

#[test]
fn the_model_reads_what_to_do_where_nobody_can_approve_a_call() {
    let room = Room::new();
    room.seal(&["--admit", "shell", "--admit-mcp", "m", "one", "--handoff-none"]);
    let look = "hook SessionStart x x '{}'; cp \"$ROOM/answer\" \"$ROOM/start\"\n";
    room.claude(&format!("{look}begin; answer fine"));
    room.codex(&format!(
        "{look}hook PermissionRequest mcp__m__one x '{{}}'; cp \"$ROOM/answer\" \"$ROOM/asked\"; begin; answer fine"
    ));
    for kind in ["claude", "codex"] {
        assert_eq!(room.run(kind, &["--decisions", "deny-only"]).code, Some(0));
        let start = room.text("start");
        assert!(
            start.contains("One that needs an approval does not run: do not retry it; finish with what you can"),
            "{start}"
        );
    }
    let asked = room.text("asked");
    assert!(asked.contains("Nobody is at a terminal to approve this, so it did not run. Do not retry it;"), "{asked}");
    // a call that the policy grants is granted
    assert_eq!(room.run("codex", &[]).code, Some(0));
    assert!(room.text("asked").contains("\"behavior\":\"allow\""), "{}", room.text("asked"));
}
