//! The end of `mh-run`: signals, the time limit, left-over processes, and a stdout that nobody reads.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::room::{Ended, Room, like, ready};
use crate::common::{long, side_by_side};

/// Whether a process with this word on its command line is alive.
fn alive(mark: &str) -> bool {
    fs_err::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs_err::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
    })
}

/// A number of seconds to sleep that no other test uses.
fn mark(number: u32) -> String {
    format!("{}.{}", 600_000 + number, std::process::id())
}

fn started(room: &Room, more: &[&str]) -> Child {
    let mut command = room.governed("claude", more);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    ready(room);
    child
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_signal_during_a_call_interrupts_the_turn_and_leaves_nothing() {
    side_by_side(&[(1, "TERM"), (2, "INT"), (3, "HUP")], |&(number, name)| {
        let (room, mark) = (Room::new(), mark(number));
        let body = format!("begin; use c1 Bash '{{}}'; setsid sleep {mark} & touch \"$ROOM/ready\"; sleep {mark}");
        room.claude(&body);
        let mut child = started(&room, &["--output-format", "json", "--verbose"]);
        // the vendor's record may be written before the run has read it
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("calls Bash") {
            line.clear();
            assert_ne!(told.read_line(&mut line).unwrap(), 0, "it says nothing of the call");
        }
        signal(&child, name);
        let ended = Ended::of(child.wait_with_output().unwrap());
        let object: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((ended.code, &object["outcome"]), (Some(1), &"interrupted".into()), "{object}");
        assert!(!alive(&mark), "a process of the turn is left");
    });
}

#[test]
fn whatever_signal_would_end_a_program_stops_the_turn_and_leaves_nothing() {
    let names = ["HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM", "XCPU", "VTALRM", "PROF", "IO"];
    side_by_side(&(20..).zip(names).collect::<Vec<_>>(), |&(number, name)| {
        let (room, mark) = (Room::new(), mark(number));
        room.claude(&format!("begin; touch \"$ROOM/ready\"; exec sleep {mark}"));
        let child = started(&room, &[]);
        signal(&child, name);
        Ended::of(child.wait_with_output().unwrap())
            .failed(&format!("mh-run: interrupted: SIG{name} came during the model call"));
        assert!(!alive(&mark), "{name}");
        assert_eq!(fs_err::read_dir(room.path("tmp")).unwrap().count(), 0, "{name}");
    });
}

#[test]
fn an_output_that_may_not_grow_fails_the_run_and_leaves_nothing() {
    let room = Room::new();
    room.claude("begin; answer fine");
    let command = room.governed("claude", &["--output-format", "events"]);
    // the limit does not apply to the vendor and the hook
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "exec > \"$ROOM/out\"; head -c 2048 /dev/zero; ulimit -S -f 1; exec \"$@\"", "sh"]);
    limited.arg(command.get_program()).args(command.get_args());
    let output = like(&command, &mut limited)
        .env("ROOM", room.path("."))
        .current_dir(room.path("project"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("could not write to stdout: file too large"), "{stderr}");
    assert_eq!(fs_err::read_dir(room.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_signal_during_the_model_call_is_a_failed_model_call() {
    let (room, mark) = (Room::new(), mark(4));
    room.claude(&format!("begin; touch \"$ROOM/ready\"; sleep {mark}"));
    let child = started(&room, &[]);
    signal(&child, "TERM");
    Ended::of(child.wait_with_output().unwrap()).failed("mh-run: interrupted: SIGTERM came during the model call");
    assert!(!alive(&mark));
}

#[test]
fn a_vendor_that_will_not_stop_is_ended_and_a_second_signal_does_not_wait() {
    let (room, mark) = (Room::new(), mark(5));
    let stays = |mark: &str| format!("trap '' INT TERM; begin; touch \"$ROOM/ready\"; while :; do sleep {mark}; done");
    // beside a run that gets one signal, and waits for its vendor
    let (other, its_mark) = (Room::new(), self::mark(7));
    room.claude(&stays(&mark));
    other.claude(&stays(&its_mark));
    let (child, mut waits) = (started(&room, &[]), started(&other, &[]));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&waits, "INT");
    signal(&child, "INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    assert!(waits.try_wait().unwrap().is_none() && alive(&its_mark));
    assert_eq!(waits.wait_with_output().unwrap().status.code(), Some(1));
    assert!(!alive(&mark) && !alive(&its_mark));
}

#[test]
fn a_vendor_that_will_not_stop_when_its_time_is_over_is_ended_and_its_last_trouble_told() {
    let (room, mark) = (Room::new(), mark(8));
    let retry = r#"say '{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"error_status":401,"error":"authentication_failed"}'"#;
    room.claude(&format!("trap '' INT TERM; begin; {retry}; touch \"$ROOM/ready\"; while :; do sleep {mark}; done"));
    let child = started(&room, &["--timeout", "1"]);
    Ended::of(child.wait_with_output().unwrap()).failed(
        "mh-run: the turn did not complete in its time: the model's service failed (authentication_failed, status 401), \
         try 3 of 10",
    );
    assert!(!alive(&mark));
}

#[test]
fn a_vendor_that_still_answers_when_told_to_stop_is_not_called_interrupted_before_it_has() {
    let room = Room::new();
    room.claude("trap 'answer late; exit 0' INT; begin; touch \"$ROOM/ready\"; while :; do sleep 0.05; done");
    let child = started(&room, &[]);
    signal(&child, "INT");
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "late\n"), "{ended:?}");
}

#[test]
fn what_a_turn_leaves_running_is_gone_when_the_answer_is_out() {
    let (room, mark) = (Room::new(), mark(6));
    let leave = format!("setsid sh -c 'sleep {mark} & sleep {mark}' & sleep 0.2");
    room.claude(&format!("begin; {leave}; answer fine"));
    // a left-over process holds the vendor's stdout and stderr for days: the return shows that nobody waited for it
    let ended = room.run("claude", &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"), "{ended:?}");
    assert!(!alive(&mark), "a process of the turn is left");
}

/// Things that an agent with a shell can put in place of a file that is read during and after the turn.
const IN_ITS_PLACE: [&str; 5] = [
    "rm -f \"$F\"; mkfifo \"$F\"",
    "rm -f \"$F\"; ln -s /dev/zero \"$F\"",
    "rm -f \"$F\"; mkdir \"$F\"",
    "truncate -s 100G \"$F\"",
    "(while :; do yes '{}'; done) >> \"$F\" & sleep 0.5",
];

#[test]
fn whatever_takes_the_place_of_a_file_that_is_read_the_run_ends() {
    let audit = "F=$(grep -o '/[^\", '\\'']*audit.jsonl' \"$ROOM/arguments\" | head -1)";
    let mut turns = Vec::new();
    for (kind, file, others) in [
        ("claude", audit, IN_ITS_PLACE.len()),
        ("codex", audit, IN_ITS_PLACE.len()),
        ("codex", "F=\"$CODEX_HOME/sessions/2026/rollout-t1.jsonl\"", IN_ITS_PLACE.len()),
        // another session's file, which may turn out to be a sub-agent's, does not spoil the end
        ("codex", "F=\"$CODEX_HOME/sessions/2026/rollout-x.jsonl\"; touch \"$F\"", 2),
    ] {
        for what in &IN_ITS_PLACE[..others] {
            // a million lines take a while
            let heavy = what.contains("yes");
            if !heavy || long() || kind == "claude" {
                let formats = if heavy { &["events"][..] } else { &["json", "events"] };
                turns.extend(formats.iter().map(|format| (kind, file, *what, *format)));
            }
        }
    }
    side_by_side(&turns, |&(kind, file, what, format)| {
        let room = Room::new();
        let body = format!("begin; call c1 Bash '{{}}' CommandExecution; {file}; {what}; answer fine");
        if kind == "claude" {
            room.claude(&body)
        } else {
            room.codex(&body)
        };
        let mut command = room.governed(kind, &["--output-format", format, "--timeout", "20"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let ended = Ended::of(child.wait_with_output().unwrap());
        let other = file.contains("rollout-x");
        assert_eq!(ended.code, Some(if other { 0 } else { 1 }), "{kind} {what}: {ended:?}");
        assert!(other || ended.stdout.contains("unenforced"), "{kind} {what}: {ended:?}");
        assert_eq!(fs_err::read_dir(room.path("tmp")).unwrap().count(), 0, "{kind} {what}");
    });
}

#[test]
fn a_stdout_that_takes_nothing_fails_the_run() {
    let room = Room::new();
    room.claude("begin; answer fine");
    let full = || fs_err::OpenOptions::new().write(true).open("/dev/full").unwrap().into_file();
    for format in ["text", "json"] {
        let output = room.governed("claude", &["--output-format", format]).stdout(full()).output().unwrap();
        let ended = Ended::of(output);
        assert_eq!(ended.code, Some(1));
        assert_eq!(ended.stderr, "mh-run: could not write to stdout: no space left on device\n");
    }
    let mut shell = Command::new("/bin/sh");
    let run = room.governed("claude", &[]);
    shell.args(["-c", "exec \"$0\" \"$@\" >&-"]).arg(run.get_program()).args(run.get_args());
    like(&run, &mut shell).current_dir(room.path("project"));
    let ended = Ended::of(shell.stdin(Stdio::null()).output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), "mh-run: could not write to stdout: it is closed\n"));
    // the failed turn's own error comes first
    room.claude(
        "begin; say '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"API Error\"}'",
    );
    let output = room.governed("claude", &["--output-format", "json"]).stdout(full()).output().unwrap();
    assert_eq!(
        Ended::of(output).stderr,
        "mh-run: API Error\nmh-run: could not write to stdout: no space left on device\n"
    );
    // a caller that wants the code alone may throw the answer away
    room.claude("begin; answer fine");
    let null = fs_err::OpenOptions::new().write(true).open("/dev/null").unwrap().into_file();
    assert_eq!(room.governed("claude", &[]).stdout(null).status().unwrap().code(), Some(0));
}

#[test]
fn a_broken_pipe_fails_the_run() {
    let room = Room::new();
    room.claude("begin; touch \"$ROOM/ready\"; sleep 0.3; answer fine");
    let mut child = started(&room, &[]);
    drop(child.stdout.take());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), "mh-run: could not write to stdout: broken pipe\n"));
}

#[test]
fn a_transcript_goes_to_stderr_when_it_is_asked_for() {
    let room = Room::new();
    room.claude("begin; call c1 Bash '{\"command\":\"x\"}'; answer fine; head -c 300000 /dev/zero >&2");
    let ended = room.run("claude", &["--verbose"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"));
    for line in ["session s1", "calls Bash: {\"command\":\"x\"}", "result: ran", "says: fine"] {
        assert!(ended.stderr.lines().any(|found| found == line), "{line}: {}", ended.stderr);
    }
    assert_eq!(room.run("claude", &[]).stderr, "");
}

#[test]
fn what_a_vendor_or_a_model_says_stays_on_its_line_and_does_nothing_to_a_terminal() {
    let room = Room::new();
    let failed = |text: &str| {
        format!("begin; say '{{\"type\":\"result\",\"subtype\":\"x\",\"is_error\":true,\"result\":\"{text}\"}}'")
    };
    for body in [
        failed("no\\u001b[2J\\nmh-run: all is well\\u202e"),
        "begin; printf 'no\\033[2J\\rmh-run: all is well\\302\\205' >&2; exit 3".into(),
    ] {
        room.claude(&body);
        let ended = room.run("claude", &[]);
        assert_eq!(ended.code, Some(1));
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(
            !ended.stderr.trim_end_matches('\n').contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{ended:?}"
        );
        assert!(ended.stderr.contains("\\u{1b}[2J"), "{ended:?}");
    }
    room.claude("begin; answer 'f\\u001b[2Jine\\n\\ttoo'");
    let ended = room.run("claude", &["--verbose"]);
    assert!(ended.stderr.contains("says: f\\u{1b}[2Jine\n\ttoo\n"), "{ended:?}");
}
