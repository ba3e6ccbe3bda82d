//! The lines of a turn without an embedder: `--output-format events`.

use serde_json::{Value, json};

use crate::ask::asking::{Asking, Over, both};
use crate::common::room::Room;

fn told(room: &Room, kind: &str, more: &[&str]) -> Over {
    Asking::of(&mut room.governed(kind, &[&["--output-format", "events"], more].concat())).end()
}

#[test]
fn the_lines_of_a_governed_turn_have_the_frames_decisions() {
    for kind in ["claude", "codex"] {
        let room = Room::new();
        let patch = match kind {
            "claude" => "Write '{\"file_path\":\"/a\",\"content\":\"\"}' FileChange",
            _ => "apply_patch '{\"command\":\"*** Begin Patch\\n*** Add File: a\\n+b\\n*** End Patch\"}' FileChange",
        };
        both(
            &room,
            kind,
            &format!("begin; call c1 Bash '{{\"command\":\"x\"}}' CommandExecution; call c2 {patch}; answer fine"),
        );
        let over = told(&room, kind, &[]);
        assert_eq!((over.code, over.reason()), (Some(0), "completed"), "{}", over.stderr);
        let started = over.only("session.started", None);
        assert_eq!(
            (&started["adapter"], &started["hermetic"]["decisions"], &started["available_operations"]),
            (&json!(kind), &json!("frame"), &json!([{"op": "file.read"}, {"op": "shell"}]))
        );
        for call in ["c1", "c2"] {
            let asked = over.only("tool.requested", Some(call));
            assert_eq!((&asked["decision_required"], &asked["deadline_ms"]), (&json!(false), &Value::Null));
            assert!(asked["input"].is_object(), "{asked}");
        }
        let ran = if kind == "claude" { "allow" } else { "abstain" };
        assert_eq!((over.decided("c1").0, over.decided("c1").1), (ran, "frame"));
        assert_eq!((over.decided("c2").0, over.decided("c2").1), ("deny", "frame"));
        let census = &over.only("session.ended", None)["census"];
        assert_eq!((&census["denied"], &census["by_decider"]), (&json!(1), &json!({"frame": 2})), "{census}");
        assert_eq!(over.only("step.entered", None)["frame_digest"], over.only("turn.started", None)["frame_digest"]);
        assert_eq!(over.only("step.left", None)["outcome"], json!({"outcome": "completed"}));
    }
}

#[test]
fn commands_are_not_read_without_decisions_ask() {
    let room = Room::new();
    room.claude("begin; call c1 Bash '{\"command\":\"x\"}'; answer fine");
    let mut command = room.governed("claude", &["--output-format", "events"]);
    let mut run = Asking::of(&mut command);
    run.say("halt");
    run.stdin = None;
    let over = run.end();
    // stdin is the prompt, as without lines
    assert_eq!((over.code, room.text("prompt").as_str()), (Some(0), "halt\n\ndo it"));
    assert!(!over.names().contains(&"command.result"));
}

#[test]
fn limits_refused_credentials_and_unknown_records_have_their_lines() {
    let room = Room::new();
    room.claude(
        "begin; say '{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"allowed\",\"rateLimitType\":\"five_hour\",\"resetsAt\":1,\"isUsingOverage\":false}}'
say '{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":9,\"error_status\":401,\"error\":\"authentication_failed\"}'
say '{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":9,\"error_status\":529,\"error\":\"overloaded\"}'
say '{\"type\":\"brand_new\",\"subtype\":\"thing\"}'
say '{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"}]}}'
use c1 Bash '{}'; hook PreToolUse Bash c1 '{}'; result c1 true \"a\\u2028b\"; answer fine",
    );
    let over = told(&room, "claude", &[]);
    assert_eq!(over.code, Some(0), "{}", over.stderr);
    assert_eq!(over.only("rate_limit", None)["info"]["window"], "five_hour");
    let refused = over.only("auth.expired", None);
    assert_eq!(refused["source_line"], 3);
    assert_eq!(over.warnings("VENDOR_API_RETRY").len(), 1);
    let opaque = over.only("opaque", None);
    assert_eq!(
        (&opaque["vendor_type"], &opaque["vendor_subtype"], &opaque["source_line"]),
        (&json!("brand_new"), &json!("thing"), &json!(5))
    );
    assert_eq!(opaque["digest"].as_str().unwrap().len(), 64);
    assert_eq!(over.only("thinking", None)["text"], "hm");
    let result = over.only("tool.result", Some("c1"));
    assert_eq!((&result["content"], &result["bytes"]), (&json!("a\u{2028}b"), &json!(5)));
}

#[test]
fn a_turn_without_a_frame_says_so() {
    let room = Room::new();
    room.claude("begin; answer fine");
    let over = Asking::of(&mut room.command("claude", &["-p", "x", "--output-format", "events"])).end();
    assert_eq!(over.lines[0]["code"], "NO_FRAME_IN_FORCE");
    assert!(!over.names().contains(&"step.entered"));
    assert_eq!(over.code, Some(0));
}

#[test]
fn the_sessions_line_stands_before_its_calls_even_if_the_hook_is_first() {
    let room = Room::new();
    let hook = "hook PreToolUse Bash c1 '{\"command\":\"x\"}'";
    room.claude(&format!(
        "{hook}; sleep 0.3; begin; use c1 Bash '{{\"command\":\"x\"}}'; result c1 false ran; answer fine"
    ));
    let over = told(&room, "claude", &[]);
    assert_eq!(
        over.names()[..5],
        ["session.started", "step.entered", "turn.started", "tool.requested", "tool.decided"]
    );
    assert_eq!(over.decided("c1").0, "allow");
    room.claude(&format!("({hook}) & sleep 0.3; begin; wait; answer fine"));
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    run.decide("1", "c1", crate::ask::asking::allow());
    run.done("1");
    assert_eq!(run.end().names()[..4], ["session.started", "step.entered", "turn.started", "tool.requested"]);
}

#[test]
fn a_call_of_a_session_without_a_first_record_is_asked_about_too() {
    let room = Room::new();
    room.claude("hook PreToolUse Bash c1 '{\"command\":\"x\"}'; answer fine");
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    run.decide("1", "c1", crate::ask::asking::allow());
    run.done("1");
    assert_eq!(run.end().decided("c1").0, "allow");
}
