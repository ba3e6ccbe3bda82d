//! The lines for the vendors' records. Each record here was written by the real program (Claude Code 2.1.332, Codex
//! 0.171.0), and is cut down to the members that are read.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::room::{Ended, Room, ready};
use serde_json::{Value, json};

/// The lines of a turn without an embedder.
#[track_caller]
fn events(room: &Room, kind: &str) -> Vec<Value> {
    let ended = room.run(kind, &["--output-format", "events"]);
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().map(|line| &line["event"]), Some(&json!("stream.closed")), "{ended:?}");
    lines
}

/// The lines of this event.
fn of<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

/// A line without the members that every line has.
fn bare(line: &Value) -> Value {
    let mut line = line.clone();
    for name in ["format", "seq", "run", "at", "event"] {
        line.as_object_mut().unwrap().remove(name);
    }
    line
}

/// Figures, most of them unknown.
fn figures(known: Value) -> Value {
    let mut all = json!({"input_tokens": null, "output_tokens": null, "cache_read_input_tokens": null,
        "cache_creation_input_tokens": null, "service_tier": null, "thinking_tokens": null, "iterations": null,
        "speed": null, "cost_usd": null});
    for (name, value) in known.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

#[test]
fn claude_tells_what_it_thinks_what_it_used_and_what_is_left() {
    let room = Room::new();
    let usage = r#"{"input_tokens":100,"output_tokens":1,"cache_read_input_tokens":7,"cache_creation_input_tokens":0}"#;
    room.claude(&format!(
        "begin
        say '{{\"type\":\"system\",\"subtype\":\"hook_started\",\"hook_name\":\"UserPromptSubmit\"}}'
        say '{{\"type\":\"system\",\"subtype\":\"thinking_tokens\",\"estimated_tokens\":13,\"estimated_tokens_delta\":3}}'
        say '{{\"type\":\"assistant\",\"message\":{{\"id\":\"m1\",\"model\":\"model-1\",\"usage\":{usage},\"content\":[{{\"type\":\"thinking\",\"thinking\":\"Hm.\"}}]}}}}'
        say '{{\"type\":\"assistant\",\"message\":{{\"id\":\"m1\",\"model\":\"model-1\",\"usage\":{usage},\"content\":[{{\"type\":\"text\",\"text\":\"Well.\"}}]}}}}'
        say '{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"allowed\",\"resetsAt\":9,\"rateLimitType\":\"five_hour\",\"utilization\":0.5,\"isUsingOverage\":false}}}}'
        say '{{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,\"error_status\":401,\"error\":\"authentication_failed\"}}'
        say '{{\"type\":\"newcomer\",\"subtype\":\"x\"}}'
        answer fine"
    ));
    let lines = events(&room, "claude");
    assert_eq!(
        of(&lines, "thinking.estimate").into_iter().map(bare).collect::<Vec<_>>(),
        [json!({"estimate": 13, "delta": 3})]
    );
    assert_eq!(bare(of(&lines, "thinking")[0]), json!({"text": "Hm.", "request_id": "m1"}));
    // one line a model call, without the output tokens that its record has not counted yet
    let used = figures(json!({"input_tokens": 100, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0}));
    assert_eq!(bare(of(&lines, "usage")[0]), json!({"request_id": "m1", "model": "model-1", "usage": used}));
    let total = figures(json!({"input_tokens": 7, "output_tokens": 3}));
    let totals: Vec<Value> = of(&lines, "usage")[1..].iter().map(|line| bare(line)).collect();
    assert_eq!(totals, [json!({"request_id": null, "model": "model-1", "usage": total})]);
    let info = json!({"status": "allowed", "window": "five_hour", "resets_at": 9, "utilization": 0.5,
        "using_overage": false});
    assert_eq!(of(&lines, "rate_limit").into_iter().map(bare).collect::<Vec<_>>(), [json!({"info": info})]);
    let expired = of(&lines, "auth.expired");
    assert_eq!(expired.len(), 1);
    assert_eq!(expired[0]["source_line"], 7);
    let opaque = of(&lines, "opaque");
    assert_eq!(opaque.len(), 1, "{opaque:?}");
    assert_eq!(
        (&opaque[0]["vendor_type"], &opaque[0]["vendor_subtype"], &opaque[0]["source_line"]),
        (&json!("newcomer"), &json!("x"), &json!(8))
    );
}

/// Put a record into the rollout of Codex's stand-in.
fn record(record: Value) -> String {
    format!("printf '%s\\n' '{record}' >> \"$rollout\"\n")
}

fn limits(primary: f64) -> String {
    let window = |used: f64, at: u64| json!({"used_percent": used, "window_minutes": 300, "resets_at": at});
    let limits = json!({"primary": window(primary, 9), "secondary": window(12.0, 10), "rate_limit_reached_type": null});
    record(json!({"type": "event_msg", "payload": {"type": "token_count", "rate_limits": limits}}))
}

#[test]
fn codex_tells_its_limits_when_they_change() {
    let room = Room::new();
    let none = record(json!({"type": "event_msg", "payload": {"type": "token_count",
        "rate_limits": {"primary": null, "secondary": null}}}));
    room.codex(&format!("begin; {none}{}{}{} answer fine", limits(91.5), limits(91.5), limits(92.0)));
    let lines = events(&room, "codex");
    let info = |window: &str, used: f64, at: u64| json!({"info": {"status": null, "window": window, "resets_at": at, "utilization": used, "using_overage": null}});
    assert_eq!(
        of(&lines, "rate_limit").into_iter().map(bare).collect::<Vec<_>>(),
        [info("primary", 0.915, 9), info("secondary", 0.12, 10), info("primary", 0.92, 9)]
    );
}

#[test]
fn codex_tells_what_an_mcp_tool_gave() {
    let room = Room::new();
    room.seal(&["--admit-mcp", "lab", "note", "--handoff-none"]);
    let ran = record(json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "McpToolCall",
        "id": "c1", "status": "completed", "result": {"content": [{"type": "text", "text": "one"}, {"type": "text",
        "text": "two"}]}}}}));
    room.codex(&format!("begin; hook PreToolUse mcp__lab__note c1 '{{}}'; {ran} answer fine"));
    let lines = events(&room, "codex");
    let result = of(&lines, "tool.result");
    assert_eq!((result.len(), &result[0]["content"], &result[0]["bytes"]), (1, &json!("one\ntwo"), &json!(7)));
    assert_eq!(of(&lines, "text")[0]["request_id"], Value::Null, "an item's id is no model call's");
}

fn said(text: &str) -> String {
    record(json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "AgentMessage",
        "id": "x", "content": [{"type": "Text", "text": text}]}}}))
}

/// Codex's stream does not order its text among its calls. The rollout does, and is found during the turn, however late
/// it comes.
#[test]
fn what_codex_says_stands_where_it_was_said() {
    let room = Room::new();
    let thought = record(json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type":
        "Reasoning", "id": "x", "summary_text": ["One.", "Two."]}}}));
    let message = |text: &str| {
        format!(
            "say '{{\"type\":\"item.completed\",\"item\":{{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"{text}\"}}}}'"
        )
    };
    room.codex(&format!(
        "rm -r \"$CODEX_HOME/sessions\"; begin; {}; {}; sleep 0.4; mkdir -p \"${{rollout%/*}}\"
        {thought}{}call c1 Bash '{{\"command\":\"x\"}}' CommandExecution; {} answer fine",
        message("before"),
        message("twice"),
        said("before"),
        said("twice"),
    ));
    let lines = events(&room, "codex");
    let row = lines.iter().filter_map(|line| match line["event"].as_str().unwrap() {
        "text" | "thinking" => line["text"].as_str(),
        "tool.result" => Some("(result)"),
        _ => None,
    });
    assert_eq!(row.collect::<Vec<_>>(), ["One.\n\nTwo.", "before", "(result)", "twice", "fine"]);
    // text that only the stream has is printed all the same
    room.codex(&format!("begin; {}; say '{{\"type\":\"turn.completed\"}}'", message("fine")));
    assert_eq!(of(&events(&room, "codex"), "text").len(), 1);
}

#[test]
fn a_sub_agent_of_codex_is_counted_and_its_calls_are_told_while_it_runs() {
    let room = Room::new();
    room.seal(&["--admit", "shell", "subagent.spawn", "--handoff-none"]);
    let first = json!({"type": "session_meta", "payload": {"session_id": "t1"}});
    let done = json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "CommandExecution",
        "id": "c2", "status": "completed", "aggregated_output": "x", "exit_code": 0}}});
    let said = json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "AgentMessage",
        "id": "x", "content": [{"type": "Text", "text": "among agents"}]}}});
    let payload = json!({"session_id": "t1", "turn_id": "u", "agent_id": "a1", "cwd": "/", "hook_event_name":
        "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "c2"});
    // the session answers once the agent's result has been printed
    room.codex(&format!(
        "begin; hook PreToolUse collaborationspawn_agent c1 '{{}}'; ran c1 SubAgentActivity ''
        printf %s '{payload}' | sh -c \"$line\" > /dev/null
        sleep 0.4; printf '%s\\n' '{first}' '{done}' '{said}' > \"${{rollout%/*}}/rollout-a1.jsonl\"
        n=0; while [ ! -e \"$ROOM/told\" ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done
        if [ -e \"$ROOM/told\" ]; then answer fine; else answer 'told too late'; fi"
    ));
    let mut child = room
        .governed("codex", &["--output-format", "events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let mut lines: Vec<Value> = Vec::new();
    for line in stdout.lines() {
        lines.push(serde_json::from_str(&line.unwrap()).unwrap());
        if lines.last().unwrap()["event"] == "tool.result" {
            fs_err::write(room.path("told"), "").unwrap();
        }
    }
    child.wait().unwrap();
    let result = of(&lines, "tool.result");
    assert_eq!((result.len(), &result[0]["call_id"], &result[0]["content"]), (1, &json!("c2"), &json!("x")));
    assert_eq!(of(&lines, "text").iter().map(|line| &line["text"]).collect::<Vec<_>>(), ["fine"], "the session's own");
    assert_eq!(of(&lines, "session.ended")[0]["subagents_spawned"], 1);
}

/// Some calls leave nothing in Codex's rollout but the text that the model got: an unknown sentence counts as failure.
/// A command's text may come before its end, and its record later.
#[test]
fn a_call_that_codex_keeps_no_record_of_is_judged_by_what_the_model_was_told() {
    let room = Room::new();
    room.seal(&["--admit", "file.read", "file.edit", "shell", "task.todo", "--handoff-none"]);
    let output = |id: &str, text: &str| {
        record(json!({"type": "response_item", "payload": {"type": "function_call_output", "call_id": id,
            "output": text}}))
    };
    let ended = record(json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type":
        "CommandExecution", "id": "c2", "status": "failed", "aggregated_output": "late", "exit_code": 1}}}));
    room.codex(&format!(
        "begin; hook PreToolUse view_image c1 '{{\"path\":\"/a.png\"}}'; {}hook PreToolUse Bash c2 '{{\"command\":\"x\"}}'
        {}hook PreToolUse get_goal c3 '{{}}'
        {}hook PreToolUse apply_patch c4 '{{\"command\":\"*** Update File: a\"}}'
        {}{ended}answer fine",
        output("c1", "no such image"),
        output("c2", "Chunk ID: 1\nProcess running with session ID 7"),
        output("c3", "{\"goal\":null}"),
        output("c4", "a sentence of another release"),
    ));
    let lines = events(&room, "codex");
    let results: Vec<_> = of(&lines, "tool.result")
        .into_iter()
        .map(|line| (line["call_id"].as_str().unwrap(), &line["is_error"], line["content"].as_str().unwrap()))
        .collect();
    assert_eq!(
        results,
        [
            ("c1", &json!(true), "no such image"),
            ("c3", &json!(false), "{\"goal\":null}"),
            ("c4", &json!(true), "a sentence of another release"),
            ("c2", &json!(true), "late"),
        ]
    );
    let stream = room.run("codex", &["--output-format", "stream-json"]);
    let status: Vec<Value> = stream
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["type"] == "tool_result")
        .map(|line| line["status"].clone())
        .collect();
    assert_eq!(status, ["failed", "ok", "failed", "failed"]);
    let text = room.run("codex", &[]);
    assert_eq!(text.stderr, "mh-run: 3 tool calls failed in this turn: view_image, apply_patch, Bash\n");
}

/// The output of a script of Codex's code mode, none of whose calls was put to the hook.
fn script(text: &str) -> String {
    record(json!({"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "outer",
        "output": [{"type": "input_text", "text": "Script failed\nOutput:\n"}, {"type": "input_text", "text": text}]}}))
}

#[test]
fn a_call_that_was_denied_inside_a_script_has_its_result_and_the_script_is_no_call() {
    let error = "Script error:\nTool call blocked by PreToolUse hook: no";
    for (ends, text) in [("with the error of its one call", error), ("with what it made of several", "[{}]")] {
        let room = Room::new();
        let denied = "hook PreToolUse apply_patch exec-1 '{\"command\":\"*** Add File: a\"}'";
        room.codex(&format!("begin; {denied}; {}{}answer fine", script(text), said("fine")));
        let lines = events(&room, "codex");
        let place = |event: &str| lines.iter().position(|line| line["event"] == event);
        assert!(place("tool.result") < place("text"), "{ends}: not before the script is over");
        let calls: Vec<&Value> = lines.iter().filter(|line| line["call_id"].is_string()).collect();
        let told: Vec<_> = calls.iter().map(|line| (line["event"].as_str().unwrap(), &line["call_id"])).collect();
        let id = json!("exec-1");
        assert_eq!(told, [("tool.requested", &id), ("tool.decided", &id), ("tool.result", &id)], "{ends}");
        let (decided, result) = (calls[1], calls[2]);
        assert_eq!(
            (&result["is_error"], &result["content"], &result["outcome_source"]),
            (&json!(true), &decided["decision"]["reason"], &json!("hook")),
            "{ends}"
        );
    }
}

#[test]
fn a_key_that_codex_is_refused_with_is_told() {
    let room = Room::new();
    let words = "unexpected status 401 Unauthorized: no such key";
    room.codex(&format!(
        "begin; say '{{\"type\":\"error\",\"message\":\"{words}\"}}'
        say '{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{words}\"}}}}'"
    ));
    let lines = events(&room, "codex");
    let expired = of(&lines, "auth.expired");
    assert_eq!(expired.len(), 1);
    assert_eq!((&expired[0]["detail"], &expired[0]["source_line"]), (&json!(words), &json!(3)));
    assert_eq!(of(&lines, "session.ended")[0]["api_error_status"], 401);
    room.codex("begin; say '{\"type\":\"turn.failed\",\"error\":{\"message\":\"unexpected status 500 Oops\"}}'");
    let lines = events(&room, "codex");
    assert_eq!(of(&lines, "auth.expired").len(), 0);
    assert_eq!(of(&lines, "session.ended")[0]["api_error_status"], 500);
}

/// A turn that is stopped while its call runs. On its way out the vendor reports that the call is over, and that its
/// hook was cut short.
#[test]
fn a_turn_that_is_stopped_in_a_call_says_so_whatever_the_vendor_says_after_it() {
    let cut = r#"say '{"type":"system","subtype":"hook_response","hook_name":"PreToolUse:Bash","exit_code":2,"outcome":"cancelled"}'"#;
    for (named, state) in [("during a tool call", ""), ("during the model call", "result c1 false ran;")] {
        let room = Room::new();
        room.claude(&format!(
            "trap 'result c1 true stopped; {}; exit 0' INT
            begin; use c1 Bash '{{\"command\":\"x\"}}'; hook PreToolUse Bash c1 '{{\"command\":\"x\"}}'; {state}
            : > \"$ROOM/ready\"; while :; do sleep 0.1; done",
            cut.replace('\'', "'\\''")
        ));
        let child = room.governed("claude", &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        ready(&room);
        // the run must have read its last line
        std::thread::sleep(Duration::from_millis(500));
        assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
        let ended = Ended::of(child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.contains(named) && !ended.stderr.contains("unenforced"), "{named}: {ended:?}");
    }
}

/// The hook is killed while its call waits, for example by a vendor that is stopped. The call's lines are complete,
/// with a result from the vendor or without.
#[test]
fn a_call_whose_hook_is_gone_while_it_waits_was_denied() {
    for result in ["result c1 true gone", ":"] {
        let room = Room::new();
        room.claude(&format!(
            "begin; use c1 Bash '{{\"command\":\"x\"}}'
            printf '%s' '{{\"session_id\":\"s1\",\"prompt_id\":\"p\",\"cwd\":\"/\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{{}},\"tool_use_id\":\"c1\"}}' > \"$ROOM/payload\"
            \"$program\" $words < \"$ROOM/payload\" & hook=$!
            while [ ! -e \"$ROOM/asked\" ]; do sleep 0.1; done
            kill -9 $hook; wait $hook; {result}; answer fine"
        ));
        let mut command = room.governed("claude", &["--decisions", "ask"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines: Vec<Value> = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            lines.push(serde_json::from_str(&line.unwrap()).unwrap());
            if lines.last().unwrap()["event"] == "tool.requested" {
                fs_err::write(room.path("asked"), "").unwrap();
            }
        }
        child.wait().unwrap();
        let row: Vec<&Value> = lines.iter().filter(|line| line["call_id"] == "c1").collect();
        let names: Vec<_> = row.iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(names, ["tool.requested", "tool.decided", "tool.result"], "{result}: {lines:?}");
        assert_eq!(
            (&row[1]["decision"]["decision"], &row[1]["decided_by"], &row[2]["is_error"]),
            (&json!("deny"), &json!("adapter"), &json!(true)),
            "{result}"
        );
    }
}

#[test]
fn the_decision_about_a_call_stands_before_its_result_where_no_session_is_told() {
    let room = Room::new();
    room.claude("call c1 Bash '{\"command\":\"x\"}'; call c2 Write '{}'; answer fine");
    let lines = events(&room, "claude");
    for call in ["c1", "c2"] {
        let of_call = lines.iter().filter(|line| line["call_id"] == call).map(|line| line["event"].as_str().unwrap());
        let names: Vec<&str> = of_call.filter(|name| name.starts_with("tool.")).collect();
        assert_eq!(names, ["tool.requested", "tool.decided", "tool.result"], "{call}");
    }
}
