//! `mh-run --decisions ask`: an embedder steers a turn over lines, on stand-ins that fire the real
//! hooks.
#![allow(clippy::unwrap_used, clippy::panic)]

mod run_common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use run_common::Room;
use serde_json::{Value, json};

/// Long enough on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run, with its lines.
struct Asking {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<Value>,
}

impl Asking {
    fn start(room: &Room, kind: &str, more: &[&str]) -> Asking {
        let mut command = room.governed(kind, &[&["--decisions", "ask"], more].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Asking { stdin: child.stdin.take(), child, lines, seen: Vec::new() }
    }

    fn say(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    fn command(&mut self, id: &str, rest: Value) {
        let mut line = json!({"format": "metaharness.command/1", "id": id});
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        self.say(line.to_string());
    }

    fn decide(&mut self, id: &str, call: &str, decision: Value) {
        self.command(id, json!({"command": "tool.decide", "call_id": call, "decision": decision}));
    }

    /// The next line of this event.
    #[track_caller]
    fn next(&mut self, event: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {event} in {:?}", self.seen));
            let line: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(line.clone());
            if line["event"] == event {
                return line;
            }
        }
    }

    /// The answer to this command.
    #[track_caller]
    fn answered(&mut self, id: &str) -> Value {
        let line = self.next("command.result");
        assert_eq!(line["id"], id, "{:?}", self.seen);
        line["outcome"].clone()
    }

    /// To its end: the exit code, all lines, and stderr.
    fn end(mut self) -> (Option<i32>, Vec<Value>, String) {
        self.next("stream.closed");
        assert!(self.lines.recv_timeout(PATIENCE).is_err(), "a line after the last");
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), self.seen, String::from_utf8(output.stderr).unwrap())
    }
}

fn names(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().unwrap()).collect()
}

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
    run.decide("1", "c1", json!({"decision": "allow"}));
    assert_eq!(run.answered("1"), json!({"result": "ok", "applies_at": null}));
    let (code, lines, stderr) = run.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{lines:?}");
    assert_eq!(
        names(&lines),
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
    for (line, seq) in lines.iter().zip(1..) {
        assert_eq!((&line["seq"], &line["format"]), (&json!(seq), &json!("metaharness.event/1")));
        assert_eq!(line["run"], lines[0]["run"]);
    }
    let decided = &lines[5];
    assert_eq!((&decided["decision"]["decision"], &decided["decided_by"]), (&json!("allow"), &json!("embedder")));
    assert_eq!(lines[12]["events"], 12);
    assert_eq!(
        (&lines[12]["reason"], &lines[12]["process"]),
        (&json!("completed"), &json!({"kind": "exited", "code": 0}))
    );
}
