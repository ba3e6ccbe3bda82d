//! Calls that wait for a decision, one or several at once.

use std::time::Instant;

use serde_json::json;

use crate::ask::asking::{Asking, allow, both, deny};
use crate::common::room::Room;

#[test]
fn a_call_waits_for_its_decision_and_goes_on_by_it() {
    let room = Room::new();
    room.claude("begin; call c1 Bash '{\"command\":\"x\"}'; answer fine");
    let mut run = Asking::start(&room, "claude", &[]);
    let asked = run.next("tool.requested");
    assert_eq!(
        (&asked["call_id"], &asked["name"], &asked["input"], &asked["decision_required"], &asked["deadline_ms"]),
        (&json!("c1"), &json!("Bash"), &json!({"command": "x"}), &json!(true), &json!(300_000))
    );
    run.decide("1", "c1", allow());
    run.done("1");
    let over = run.end();
    assert_eq!((over.code, over.stderr.as_str()), (Some(0), ""), "{}", crate::ask::asking::short(&over.lines));
    assert_eq!(
        over.names(),
        [
            "session.started",
            "step.entered",
            "turn.started",
            "tool.requested",
            "command.result",
            "tool.decided",
            "tool.result",
            "text",
            "usage",
            "turn.ended",
            "session.ended",
            "step.left",
            "stream.closed"
        ]
    );
    assert_eq!(over.decided("c1"), ("allow", "embedder", ""));
    let closed = over.only("stream.closed", None);
    assert_eq!((&closed["reason"], &closed["process"]), (&json!("completed"), &json!({"kind": "exited", "code": 0})));
}

#[test]
fn ten_calls_side_by_side_each_get_their_own_decision() {
    for kind in ["claude", "codex"] {
        let room = Room::new();
        let numbers = "1 2 3 4 5 6 7 8 9 10";
        let call = "call c$n Bash '{\"command\":\"'$n'\"}' CommandExecution";
        both(&room, kind, &format!("begin; for n in {numbers}; do ({call}) & done; wait; answer fine"));
        let mut run = Asking::start(&room, kind, &[]);
        // early: nobody has asked yet, so the decision is not kept
        run.decide("early", "c1", deny("early"));
        run.refused("early", "UNKNOWN_CALL", "c1");
        for _ in 0..10 {
            let asked = run.next("tool.requested");
            assert_eq!(asked["call_id"], format!("c{}", asked["input"]["command"].as_str().unwrap()));
        }
        for number in (1..=10).rev() {
            let (call, id) = (format!("c{number}"), format!("d{number}"));
            let (word, other) = (allow(), deny(&format!("not number {number}")));
            let (word, other) = if number % 2 == 0 { (word, other) } else { (other, word) };
            run.decide("mixed", &format!("c{number}0"), word.clone());
            if number != 1 {
                run.refused("mixed", "UNKNOWN_CALL", &call);
            } else {
                // the tenth call has its decision
                run.refused("mixed", "TOO_LATE", "c10");
            }
            run.decide(&id, &call, word);
            run.done(&id);
            // with the last decision the turn may be over before another line is read
            if number != 1 {
                run.decide("repeated", &call, other);
                run.refused("repeated", "TOO_LATE", &call);
            }
        }
        let over = run.end();
        assert_eq!(over.code, Some(0), "{}", over.stderr);
        for number in 1..=10 {
            let call = format!("c{number}");
            let (decision, by, reason) = over.decided(&call);
            let ran = over.lines.iter().find(|line| line["event"] == "tool.result" && line["call_id"] == call);
            assert_eq!(by, "embedder");
            match (number % 2 == 0, kind) {
                (true, _) => {
                    // an admitted call is told nothing on Codex
                    assert_eq!(decision, if kind == "claude" { "allow" } else { "abstain" });
                    assert_eq!(ran.unwrap()["is_error"], false, "{call}");
                }
                (false, _) => assert_eq!((decision, &ran.unwrap()["is_error"]), ("deny", &json!(true))),
            }
            assert_eq!(reason.contains(&format!("not number {number} ")), number % 2 == 1, "{reason}");
        }
    }
}

#[test]
fn each_deadline_is_counted_from_its_own_call() {
    let room = Room::new();
    let call = |id: &str| format!("(call {id} Bash '{{\"command\":\"{id}\"}}')");
    room.claude(&format!("begin; {} & sleep 4; {} & wait; answer fine", call("c1"), call("c2")));
    let mut run = Asking::start(&room, "claude", &["--deadline", "5"]);
    assert_eq!(run.next("tool.requested")["deadline_ms"], 5000);
    run.until("tool.requested", |line| line["call_id"] == "c2");
    let second = Instant::now();
    let denied = run.next("tool.decided");
    assert_eq!(denied["call_id"], "c1");
    assert!(denied["latency_ms"].as_u64().unwrap() >= 4500);
    run.decide("late", "c1", allow());
    run.refused("late", "TOO_LATE", "c1");
    // the second call has its own time left, unless the machine was suspended
    if second.elapsed().as_secs_f64() < 2.0 {
        run.decide("2", "c2", allow());
        run.done("2");
        run.next("tool.decided");
    }
    let over = run.end();
    let (decision, by, reason) = over.decided("c1");
    assert_eq!((decision, by), ("deny", "deadline"));
    assert!(reason.contains("nobody decided about it in 5 seconds"), "{reason}");
    assert_eq!(over.code, Some(0));
}

#[test]
fn a_repeated_call_id_is_denied_and_leaves_the_first_call_alone() {
    let room = Room::new();
    let again = "hook PreToolUse Bash c1 '{\"command\":\"x\"}'; cp \"$ROOM/answer\" \"$ROOM/same\"; \
                 hook PreToolUse Bash c1 '{\"command\":\"rm\"}'; cp \"$ROOM/answer\" \"$ROOM/other\"; \
                 hook PreToolUse Read c1 '{\"file_path\":\"/x\"}'; \
                 hook PreToolUse Read c1 '{\"command\":\"x\"}'; touch \"$ROOM/ready\"";
    room.claude(&format!(
        "begin; (call c1 Bash '{{\"command\":\"x\"}}') & until [ -e \"$ROOM/go\" ]; do sleep 0.02; done; {again}; wait; \
         answer fine"
    ));
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    fs_err::write(room.path("go"), "").unwrap();
    for _ in 0..3 {
        run.until("warning", |line| line["code"] == "REQUEST_MUTATED");
    }
    crate::ask::asking::made(&room, "ready");
    run.decide("1", "c1", allow());
    run.done("1");
    let over = run.end();
    assert!(room.text("same").contains("no decision is used twice"), "{}", room.text("same"));
    assert!(room.text("other").contains("REQUEST_MUTATED"), "{}", room.text("other"));
    // the decision is the first call's
    assert_eq!(over.decided("c1"), ("allow", "embedder", ""));
    assert_eq!(over.warnings("REQUEST_MUTATED").len(), 3);
}

#[test]
fn the_embedder_is_asked_only_about_admitted_calls() {
    for kind in ["claude", "codex"] {
        let room = Room::new();
        let (tool, input) = match kind {
            "claude" => ("Write", "{\"file_path\":\"/a\",\"content\":\"\"}"),
            _ => ("apply_patch", "{\"command\":\"*** Begin Patch\\n*** Add File: a\\n+b\\n*** End Patch\"}"),
        };
        both(&room, kind, &format!("begin; call c1 {tool} '{input}' FileChange; answer fine"));
        let run = Asking::start(&room, kind, &[]);
        let over = run.end();
        let asked = over.only("tool.requested", Some("c1"));
        assert_eq!((&asked["decision_required"], &asked["deadline_ms"]), (&json!(false), &json!(null)));
        assert_eq!((over.decided("c1").0, over.decided("c1").1), ("deny", "frame"));
        assert_eq!(over.code, Some(0), "{}", over.stderr);
    }
}
