//! Readers of stdout that are slow, stopped or gone.

use std::process::{ChildStdout, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::ask::asking::{Asking, alive, allow, gone, made, mark, signal, wait};
use crate::common::room::{Ended, Room};
use crate::common::side_by_side;

/// Writes more lines than the run holds back, and makes a file when nearly as many are there.
const FLOOD: &str = "much=$(head -c 60000 /dev/zero | tr '\\0' x); \
    flood() { for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f g; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j; do \
    say '{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"'$much'\"}]}}'; \
    [ $i$j = da ] && touch \"$ROOM/full\"; done; done; }";

fn stuck(room: &Room, body: &str, more: &[&str]) -> (Asking, ChildStdout) {
    room.claude(&format!("{FLOOD}; begin; {body}"));
    Asking::unread(&mut room.governed("claude", &[&["--decisions", "ask"], more].concat()))
}

#[test]
fn a_reader_that_stops_for_a_while_loses_nothing_and_holds_no_call_up() {
    let room = Room::new();
    let calls = "hook PreToolUse Bash c1 '{\"command\":\"x\"}'; cp \"$ROOM/answer\" \"$ROOM/denied\"";
    let (mut run, stdout) = stuck(&room, &format!("flood & {calls}; wait; answer fine"), &["--deadline", "1"]);
    // the call's deadline holds while nobody reads
    made(&room, "denied");
    run.read(stdout);
    run.decide("1", "c1", allow());
    let over = run.end();
    assert_eq!((over.code, over.reason()), (Some(0), "completed"), "{}", over.stderr);
    assert_eq!(over.names().iter().filter(|name| **name == "text").count(), 341);
    assert_eq!(over.decided("c1").1, "deadline");
    assert_eq!(over.lines.iter().find(|line| line["id"] == "1").unwrap()["outcome"]["refused"]["code"], "TOO_LATE");
}

#[test]
fn a_stopped_run_does_not_wait_for_a_reader_that_reads_nothing() {
    side_by_side(&[(20, &[][..]), (21, &["--timeout", "2"])], |&(number, more)| {
        let (room, mark) = (Room::new(), mark(number));
        let (mut run, stdout) = stuck(&room, &format!("touch \"$ROOM/ready\"; setsid sleep {mark} & flood"), more);
        made(&room, "ready");
        if more.is_empty() {
            std::thread::sleep(Duration::from_millis(300));
            signal(run.child.id(), "TERM");
        }
        assert_eq!(wait(&mut run.child), Some(1));
        assert!(!alive(&mark), "a process of the turn is left");
        let stderr = std::io::read_to_string(run.child.stderr.take().unwrap()).unwrap();
        assert!(stderr.ends_with("mh-run: could not write to stdout: nobody reads it\n"), "{stderr}");
        drop(stdout);
    });
}

#[test]
fn a_vendor_told_to_stop_can_write_its_last_lines_without_a_reader() {
    let room = Room::new();
    let body = "flood & trap 'answer late; touch \"$ROOM/late\"; exit 0' INT; touch \"$ROOM/ready\"; \
                while :; do sleep 0.05; done";
    let (mut run, stdout) = stuck(&room, body, &[]);
    made(&room, "ready");
    made(&room, "full");
    std::thread::sleep(Duration::from_secs(1));
    run.command("1", json!({"command": "interrupt", "reason": ""}));
    made(&room, "late");
    run.read(stdout);
    let over = run.end();
    assert_eq!((over.code, over.reason(), over.stderr.as_str()), (Some(0), "completed", ""));
}

#[test]
fn a_second_signal_does_not_wait_at_all() {
    side_by_side(&[false, true], |&ended| {
        // one run gets a single signal and waits
        let rooms = [Room::new(), Room::new()];
        let marks = [0, 1].map(|which| mark(30 + 2 * which + u32::from(ended)));
        let [(mut run, stdout), (mut waits, its_stdout)] = [0, 1].map(|which| {
            // one turn goes on; the other is over and cannot write its end
            let body = match ended {
                false => format!("trap '' INT TERM; touch \"$ROOM/ready\"; flood; sleep {}", marks[which]),
                true => "say \"$much\"; flood 2>&1 | head -c 3000000; answer fine; touch \"$ROOM/ready\"".into(),
            };
            let run = stuck(&rooms[which], &body, &[]);
            made(&rooms[which], "ready");
            run
        });
        std::thread::sleep(Duration::from_millis(500));
        signal(run.child.id(), "TERM");
        std::thread::sleep(Duration::from_millis(200));
        signal(waits.child.id(), "TERM");
        signal(run.child.id(), "TERM");
        assert_eq!(wait(&mut run.child), Some(1));
        assert!(waits.child.try_wait().unwrap().is_none());
        assert_eq!(wait(&mut waits.child), Some(1));
        marks.iter().for_each(|mark| gone(mark));
        drop((stdout, its_stdout));
    });
}

#[test]
fn a_run_whose_answer_nobody_reads_ends_at_a_signal() {
    side_by_side(&["text", "json", "stream-json", "events"], |&format| {
        let room = Room::new();
        room.claude(&format!("{FLOOD}; begin; answer \"$much$much\"; touch \"$ROOM/ready\""));
        let mut command = room.governed("claude", &["--output-format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take();
        made(&room, "ready");
        std::thread::sleep(Duration::from_millis(200));
        signal(child.id(), "TERM");
        let code = wait(&mut child);
        let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!(
            (code, stderr.as_str()),
            (Some(1), "mh-run: could not write to stdout: nobody reads it\n"),
            "{format}"
        );
        drop(stdout);
    });
}

#[test]
fn a_stdout_that_fails_stops_the_vendor_in_every_form_of_lines() {
    side_by_side(&[(24, "stream-json"), (25, "events")], |&(number, format)| {
        let (room, mark) = (Room::new(), mark(number));
        room.claude(&format!("begin; use c1 Bash '{{}}'; setsid sleep {mark} & sleep {mark}"));
        let full = fs_err::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended =
            Ended::of(room.governed("claude", &["--output-format", format]).stdout(full.into_file()).output().unwrap());
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(1), "mh-run: could not write to stdout: no space left on device\n"),
            "{format}"
        );
        assert!(!alive(&mark), "{format}");
    });
}

#[test]
fn a_reader_that_hangs_up_stops_the_vendor_and_one_that_reads_on_can_halt_it() {
    let (room, mark) = (Room::new(), mark(26));
    room.claude(&format!("{FLOOD}; begin; flood; setsid sleep {mark} & sleep {mark}"));
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("text");
    let (mut other, stdout) = Asking::unread(&mut room.governed("claude", &["--decisions", "ask"]));
    drop(stdout);
    assert_eq!(wait(&mut other.child), Some(1));
    let stderr = std::io::read_to_string(other.child.stderr.take().unwrap()).unwrap();
    assert_eq!(stderr, "mh-run: could not write to stdout: broken pipe\n");
    run.command("1", json!({"command": "halt", "reason": ""}));
    run.done("1");
    assert_eq!(run.end().code, Some(1));
    assert!(!alive(&mark));
}

#[test]
fn an_unread_transcript_delays_nothing() {
    let room = Room::new();
    room.claude(&format!("{FLOOD}; begin; flood; call c1 Bash '{{\"command\":\"x\"}}'; answer fine"));
    // stderr is a pipe that is read when everything else is over
    let mut run = Asking::start(&room, "claude", &["--verbose"]);
    run.next("tool.requested");
    run.decide("1", "c1", allow());
    run.done("1");
    let over = run.end();
    assert_eq!((over.code, over.reason()), (Some(0), "completed"));
    assert!(over.stderr.starts_with("session s1\nsays: xxx"));
}
