//! Strangers at the socket that the hooks ask at.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::json;

use crate::ask::asking::{Asking, PATIENCE, allow, deny, through_shell};
use crate::common::room::Room;

/// The socket for the hooks of the run in this room.
pub fn socket(room: &Room) -> PathBuf {
    let arguments = room.text("arguments");
    let from = arguments.split("unix:").nth(1).unwrap();
    from.split(['"', ' ', '\'', '\n']).next().unwrap().into()
}

fn question(call: &str, input: &str) -> String {
    format!(
        "{{\"format\":\"metaharness.event/1\",\"seq\":1,\"run\":\"s1\",\"event\":\"tool.requested\",\"call_id\":\"{call}\",\
         \"name\":\"Bash\",\"input\":{input},\"decision_required\":true}}\n"
    )
}

const ONE_CALL: &str =
    "begin; until [ -e \"$ROOM/go\" ]; do sleep 0.02; done; call c1 Bash '{\"command\":\"x\"}'; answer fine";

/// Start a run of one call; its session has begun. The path is the socket's.
fn begun() -> (Room, Asking, PathBuf) {
    let room = Room::new();
    room.claude(ONE_CALL);
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("turn.started");
    let path = socket(&room);
    (room, run, path)
}

#[test]
fn garbage_and_silence_change_nothing() {
    let (room, mut run, path) = begun();
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs_err::metadata(path.parent().unwrap()).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "others can come to it");
    for bytes in [&b"\n"[..], b"\0\xff\n", b"[]\n", b"{}\n", b"{\"call_id\":1}\n", b"half a line"] {
        let mut stranger = UnixStream::connect(&path).unwrap();
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        stranger.write_all(bytes).unwrap();
        stranger.shutdown(std::net::Shutdown::Write).unwrap();
        let mut heard = String::new();
        assert_eq!(BufReader::new(stranger).read_line(&mut heard).unwrap(), 0, "{heard}");
    }
    let silent = UnixStream::connect(&path).unwrap();
    fs_err::write(room.path("go"), "").unwrap();
    run.next("tool.requested");
    run.decide("1", "c1", allow());
    run.done("1");
    let over = run.end();
    assert_eq!((over.code, over.decided("c1").0), (Some(0), "allow"));
    assert_eq!(over.names().iter().filter(|name| **name == "tool.requested").count(), 1);
    drop(silent);
}

#[test]
fn more_connections_than_descriptors_do_not_keep_a_hook_out() {
    let room = Room::new();
    room.claude(ONE_CALL);
    let command = room.governed("claude", &["--decisions", "ask"]);
    let mut run = Asking::of(&mut through_shell(&command, "ulimit -n 256; exec \"$@\""));
    run.next("turn.started");
    let path = socket(&room);
    let (sender, come) = std::sync::mpsc::channel();
    let (over, held_until) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        let all = (0..400).map_while(|_| UnixStream::connect(&path).ok().inspect(|_| sender.send(()).unwrap_or(())));
        let held: Vec<UnixStream> = all.collect();
        let _ = held_until.recv();
        drop(held);
    });
    for _ in 0..300 {
        come.recv_timeout(PATIENCE).unwrap();
    }
    fs_err::write(room.path("go"), "").unwrap();
    run.next("tool.requested");
    run.decide("1", "c1", allow());
    run.done("1");
    let ended = run.end();
    assert_eq!((ended.code, ended.decided("c1").0), (Some(0), "allow"));
    drop(over);
}

#[test]
fn a_stranger_that_asks_in_a_hooks_place_gets_no_call_run() {
    let (room, mut run, path) = begun();
    let ask = |line: &str| {
        let mut stranger = UnixStream::connect(&path).unwrap();
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        stranger.write_all(line.as_bytes()).unwrap();
        stranger
    };
    // the stranger takes the id of a call that is still to come, and deceives the embedder
    let stranger = ask(&question("c1", "{\"command\":\"y\"}"));
    run.next("tool.requested");
    run.decide("1", "c1", allow());
    run.done("1");
    let mut heard = String::new();
    BufReader::new(&stranger).read_line(&mut heard).unwrap();
    assert!(heard.contains("\"decision\":\"allow\""), "{heard}");
    // the allowed call is another than the real one
    fs_err::write(room.path("go"), "").unwrap();
    let over = run.end();
    assert_eq!(over.warnings("REQUEST_MUTATED").len(), 1);
    assert!(room.text("answer").contains("REQUEST_MUTATED"), "{}", room.text("answer"));
    assert_eq!(over.only("tool.result", Some("c1"))["is_error"], true);
}

#[test]
fn a_question_whose_asker_hangs_up_is_reported_and_waits_no_longer() {
    let (room, mut run, path) = begun();
    let mut stranger = UnixStream::connect(path).unwrap();
    stranger.write_all(question("c7", "{}").as_bytes()).unwrap();
    run.next("tool.requested");
    drop(stranger);
    run.until("warning", |line| line["code"] == "PENDING_CALL_ABANDONED");
    run.decide("1", "c7", deny("no"));
    run.refused("1", "TOO_LATE", "c7");
    fs_err::write(room.path("go"), "").unwrap();
    run.until("tool.requested", |line| line["call_id"] == "c1");
    run.decide("2", "c1", json!({"decision": "abstain"}));
    run.done("2");
    assert_eq!(run.end().code, Some(0));
}

/// Listen in the socket's place, and answer with this decision.
fn usurp(path: &std::path::Path, decision: serde_json::Value, real: Option<PathBuf>) {
    fs_err::rename(path, path.with_extension("real")).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            if let Some(real) = &real {
                // ask the embedder, and pass its answer over
                let mut real = UnixStream::connect(real).unwrap();
                real.write_all(line.as_bytes()).unwrap();
                BufReader::new(real).read_line(&mut String::new()).unwrap();
            }
            let asked: serde_json::Value = serde_json::from_str(&line).unwrap();
            let answer = json!({"format": "metaharness.command/1", "id": "1", "command": "tool.decide",
                "call_id": asked["call_id"], "decision": decision});
            let _ = stream.write_all(format!("{answer}\n").as_bytes());
        }
    });
}

#[test]
fn a_stranger_that_answers_in_the_embedders_place_leaves_the_turn_unenforced() {
    let own = json!({"decision": "replace", "input": {"command": "mine"}});
    let (embedders, abstain) =
        (json!({"decision": "replace", "input": {"command": "y"}}), json!({"decision": "abstain"}));
    // the usurper's decision, and the embedder's decision on the same question if it was asked
    for (said, heard) in [
        (allow(), None),
        (allow(), Some(deny("no"))),
        (allow(), Some(embedders.clone())),
        (allow(), Some(abstain)),
        (own, Some(embedders)),
    ] {
        for kind in ["claude", "codex"] {
            if kind == "codex" && heard.as_ref().is_some_and(|heard| heard["decision"] == "abstain") {
                // on Codex an allow goes out like an abstain
                continue;
            }
            let room = Room::new();
            let body = ONE_CALL
                .replace("call c1 Bash '{\"command\":\"x\"}'", "call c1 Bash '{\"command\":\"x\"}' CommandExecution");
            if kind == "claude" {
                room.claude(&body)
            } else {
                room.codex(&body)
            };
            let mut run = Asking::start(&room, kind, &[]);
            run.next("turn.started");
            let path = socket(&room);
            usurp(&path, said.clone(), heard.is_some().then(|| path.with_extension("real")));
            fs_err::write(room.path("go"), "").unwrap();
            if let Some(heard) = &heard {
                run.next("tool.requested");
                run.decide("1", "c1", heard.clone());
                run.done("1");
            }
            let over = run.end();
            assert_eq!(over.code, Some(1), "{kind} {said} {heard:?}");
            assert_eq!(over.warnings("COVERAGE_GAP").len(), 1, "{kind} {said} {heard:?}");
            assert_eq!(over.decided("c1").1, "adapter", "{kind} {said} {heard:?}");
        }
    }
}
