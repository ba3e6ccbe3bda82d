//! The ends of a turn that an embedder steers: by a command, by the embedder's end, by a signal, by a timeout, by the
//! vendor itself.

use std::io::Write as _;

use serde_json::json;

use crate::ask::asking::{Asking, Over, alive, allow, both, deny, made, mark, signal, through_shell, wait};
use crate::common::room::Room;

/// Start a turn in which two calls wait, beside a process in a session of its own.
fn two_waiting(room: &Room, kind: &str, mark: &str, more: &[&str]) -> Asking {
    let call = |id: &str| format!("(call {id} Bash '{{\"command\":\"{id}\"}}' CommandExecution)");
    both(room, kind, &format!("begin; setsid sleep {mark} & {} & {} & wait; answer fine", call("c1"), call("c2")));
    let mut run = Asking::start(room, kind, more);
    run.next("tool.requested");
    run.next("tool.requested");
    run
}

/// Check that both calls were denied in lines before the turn was stopped.
#[track_caller]
fn abandoned(over: &Over, why: &str) {
    let warnings = over.warnings("PENDING_CALL_ABANDONED");
    assert_eq!(warnings.len(), 2, "{}", crate::ask::asking::short(&over.lines));
    for warning in warnings {
        assert!(warning.ends_with(&format!("waited for a decision, and was denied: {why}")), "{warning}");
    }
    // the hooks passed the denial on, unless the vendor ended them before
    for call in ["c1", "c2"] {
        let (decision, by, reason) = over.decided(call);
        assert_eq!((decision, by), ("deny", "adapter"));
        assert!(reason.contains(why) || reason == "its hook was ended before a decision could go out", "{reason}");
    }
}

#[test]
fn interrupt_and_halt_deny_waiting_calls_and_then_stop_the_turn() {
    for (kind, number, name, reason) in
        [("claude", 1, "interrupt", "killed"), ("codex", 2, "halt", "steer-halt"), ("claude", 3, "halt", "steer-halt")]
    {
        let (room, mark) = (Room::new(), mark(number));
        let mut run = two_waiting(&room, kind, &mark, &[]);
        run.command("stop", json!({"command": name, "reason": "enough of it"}));
        run.done("stop");
        run.decide("late", "c1", allow());
        run.command("again", json!({"command": "halt", "reason": ""}));
        let over = run.end();
        abandoned(&over, "the embedder stopped the turn");
        let names = over.names();
        let answered = names.iter().position(|name| *name == "command.result").unwrap();
        assert!(names[..answered].iter().filter(|name| **name == "warning").count() == 2, "{names:?}");
        assert_eq!((over.code, over.reason()), (Some(1), reason));
        let error = format!("mh-run: interrupted by the embedder's {name} (enough of it) during a tool call\n");
        assert!(over.stderr.ends_with(&error), "{}", over.stderr);
        let ended = over.only("session.ended", None);
        assert_eq!(ended["is_error"], true);
        // later commands are answered too
        for id in ["late", "again"] {
            if let Some(line) = over.lines.iter().find(|line| line["id"] == id) {
                assert_eq!(line["outcome"]["refused"]["code"], "TOO_LATE", "{line}");
            }
        }
        assert!(!alive(&mark), "a process of the turn is left");
    }
}

#[test]
fn a_turn_that_is_with_the_model_is_stopped_too() {
    let (room, mark) = (Room::new(), mark(4));
    room.claude(&format!("begin; sleep {mark}"));
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("turn.started");
    run.command("1", json!({"command": "interrupt", "reason": ""}));
    run.done("1");
    let over = run.end();
    assert_eq!((over.code, over.reason()), (Some(1), "killed"));
    assert_eq!(over.only("stream.closed", None)["process"]["kind"], "signaled");
    assert_eq!(over.stderr, "mh-run: interrupted: the embedder's interrupt came during the model call\n");
    assert!(!alive(&mark));
}

#[test]
fn a_turn_that_answers_after_a_stop_counts_as_answered() {
    let room = Room::new();
    room.claude("trap 'answer late; exit 0' INT; begin; while :; do sleep 0.05; done");
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("turn.started");
    run.command("1", json!({"command": "interrupt", "reason": "now"}));
    run.done("1");
    let over = run.end();
    assert_eq!((over.code, over.reason(), over.stderr.as_str()), (Some(0), "completed", ""));
    assert_eq!(over.only("session.ended", None)["final_answer"]["text"], "late");
}

#[test]
fn without_an_embedder_calls_are_denied_and_the_turn_goes_on() {
    let room = Room::new();
    let call = |id: &str| format!("call {id} Bash '{{\"command\":\"{id}\"}}'");
    room.claude(&format!("begin; ({}) & ({}) & wait; {}; answer fine", call("c1"), call("c2"), call("c3")));
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    run.next("tool.requested");
    run.stdin = None;
    let over = run.end();
    let why = "the embedder is gone, so nobody can decide about it";
    abandoned(&over, why);
    for call in ["c1", "c2", "c3"] {
        let (decision, by, reason) = over.decided(call);
        assert_eq!((decision, by), ("deny", "adapter"));
        assert!(reason.contains(why), "{reason}");
    }
    assert_eq!(over.only("tool.requested", Some("c3"))["decision_required"], false);
    assert_eq!((over.code, over.reason()), (Some(0), "completed"));
}

#[test]
fn the_end_of_the_embedder_can_be_the_end_of_the_turn() {
    let (room, mark) = (Room::new(), mark(5));
    let mut run = two_waiting(&room, "claude", &mark, &["--on-eof", "interrupt"]);
    run.stdin = None;
    let over = run.end();
    abandoned(&over, "the embedder is gone, so nobody can decide about it");
    assert_eq!((over.code, over.reason()), (Some(1), "killed"));
    assert!(over.stderr.ends_with("mh-run: interrupted by the embedder's end during a tool call\n"), "{}", over.stderr);
    assert!(!alive(&mark));
}

#[test]
fn an_embedder_that_is_killed_leaves_nothing_running() {
    let (room, mark) = (Room::new(), mark(6));
    let call = "(call c1 Bash '{\"command\":\"x\"}')";
    room.claude(&format!(
        "begin; setsid sleep {mark} & {call} & wait; while :; do use c2 Bash '{{}}'; sleep 0.05; done"
    ));
    // the embedder is a shell that asks for nothing and holds both ends
    let script = "mkfifo in out; \"$@\" <in >out 2>err & exec 3>in 4<out; echo $! > run; \
                  while read -r line <&4; do case $line in *tool.requested*) : > asked ;; esac; done";
    let mut embedder = through_shell(&room.governed("claude", &["--decisions", "ask"]), script).spawn().unwrap();
    made(&room, "project/asked");
    let pid: u32 = room.text("project/run").trim().parse().unwrap();
    embedder.kill().unwrap();
    embedder.wait().unwrap();
    let start = std::time::Instant::now();
    let lives = || fs_err::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() {
        assert!(start.elapsed() < crate::ask::asking::PATIENCE, "the run goes on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!alive(&mark), "a process of the turn is left");
    let err = room.text("project/err");
    assert!(err.ends_with("mh-run: could not write to stdout: broken pipe\n"), "{err}");
    assert!(room.text("answer").contains("\"deny\""), "{}", room.text("answer"));
}

#[test]
fn a_signal_and_the_timeout_deny_waiting_calls() {
    let (room, first) = (Room::new(), mark(7));
    let run = two_waiting(&room, "claude", &first, &[]);
    signal(run.child.id(), "TERM");
    let over = run.end();
    abandoned(&over, "the run was stopped by a signal");
    assert_eq!((over.code, over.reason()), (Some(1), "killed"));
    assert!(over.stderr.ends_with("mh-run: interrupted by SIGTERM during a tool call\n"), "{}", over.stderr);
    assert!(!alive(&first));
    let (room, second) = (Room::new(), mark(8));
    let over = two_waiting(&room, "codex", &second, &["--timeout", "4"]).end();
    abandoned(&over, "the turn's time is up");
    assert_eq!((over.code, over.reason()), (Some(1), "killed"));
    assert_eq!(over.only("session.ended", None)["terminal_reason"], "timed_out");
    assert!(!alive(&second));
}

#[test]
fn the_timeout_holds_however_much_the_vendor_writes() {
    let room = Room::new();
    // this vendor ignores signals and never stops writing
    let flood = "trap '' INT TERM; yes \"$(use c1 Bash '{}')\"";
    room.claude(&format!("begin; (call c2 Bash '{{\"command\":\"x\"}}'; touch \"$ROOM/denied\") & {flood}"));
    let over = Asking::start(&room, "claude", &["--deadline", "1", "--timeout", "2"]).end();
    assert!(room.path("denied").exists());
    assert_eq!((over.decided("c2").0, over.decided("c2").1), ("deny", "deadline"));
    assert_eq!((over.code, over.reason()), (Some(1), "killed"));
    assert_eq!(over.only("stream.closed", None)["process"], json!({"kind": "signaled", "signal": 9}));
}

#[test]
fn a_vendor_that_ends_while_a_call_waits_takes_the_call_with_it() {
    let room = Room::new();
    let background = "(hook PreToolUse Bash c1 '{\"command\":\"x\"}') &";
    room.claude(&format!(
        "begin; use c1 Bash '{{\"command\":\"x\"}}'; {background} until [ -e \"$ROOM/go\" ]; do sleep 0.02; done; exit 3"
    ));
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    fs_err::write(room.path("go"), "").unwrap();
    run.until("warning", |line| line["code"] == "PENDING_CALL_ABANDONED");
    let over = run.end();
    assert_eq!((over.code, over.reason()), (Some(1), "error"));
    assert_eq!(over.only("stream.closed", None)["process"], json!({"kind": "exited", "code": 3}));
    assert_eq!(over.warnings("NO_TERMINAL_RECORD").len(), 1);
}

#[test]
fn a_hook_killed_while_it_waits_is_reported_and_its_call_counts_as_unenforced_if_it_runs() {
    let room = Room::new();
    // the behaviour of a vendor that runs a call whose hook failed
    let call = "use c1 Bash '{\"command\":\"x\"}'; hook PreToolUse Bash c1 '{\"command\":\"x\"}'; result c1 false ran";
    room.claude(&format!("begin; {call}; until [ -e \"$ROOM/go\" ]; do sleep 0.02; done; answer fine"));
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    let socket = format!("unix:{}", crate::ask::strangers::socket(&room).display());
    let hook = fs_err::read_dir("/proc").unwrap().flatten().find(|entry| {
        let line = fs_err::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.next().is_some_and(|program| program.ends_with(b"mh-hook-claude"))
            && words.any(|word| word == socket.as_bytes())
    });
    signal(hook.unwrap().file_name().to_str().unwrap().parse().unwrap(), "KILL");
    let warning = run.until("warning", |line| line["code"] == "PENDING_CALL_ABANDONED");
    assert_eq!(warning["message"], "whoever asked about the call c1 (Bash) was gone before anybody decided about it");
    run.decide("1", "c1", allow());
    run.refused("1", "TOO_LATE", "c1");
    fs_err::write(room.path("go"), "").unwrap();
    let over = run.end();
    assert_eq!((over.code, over.reason()), (Some(1), "error"));
    assert_eq!(over.only("session.ended", None)["terminal_reason"], "unenforced");
    assert!(over.warnings("COVERAGE_GAP")[0].starts_with("Bash: "), "{:?}", over.warnings("COVERAGE_GAP"));
}

#[test]
fn a_waiting_call_is_denied_when_the_run_is_killed() {
    let room = Room::new();
    room.claude("begin; hook PreToolUse Bash c1 '{\"command\":\"x\"}'; echo $code > \"$ROOM/code\"");
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    run.child.kill().unwrap();
    made(&room, "code");
    let start = std::time::Instant::now();
    while room.text("code").is_empty() && start.elapsed() < crate::ask::asking::PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(room.text("code"), "2\n");
    assert!(room.text("answer").contains("\"permissionDecision\":\"deny\""), "{}", room.text("answer"));
}

#[test]
fn the_last_lines_reason_follows_the_vendors_own_record() {
    let record = |more: &str| format!("say '{{\"type\":\"result\",{more},\"num_turns\":2}}'");
    for (body, code, reason, process) in [
        ("answer fine".to_string(), 0, "completed", 0),
        ("answer fine; exit 5".into(), 0, "completed", 5),
        (record("\"subtype\":\"error_max_turns\",\"is_error\":true"), 1, "budget", 0),
        (record("\"subtype\":\"error_max_budget_usd\",\"is_error\":true"), 1, "budget", 0),
        (record("\"subtype\":\"success\",\"is_error\":true,\"result\":\"API Error\""), 1, "error", 0),
        ("exit 0".into(), 1, "error", 0),
    ] {
        let room = Room::new();
        room.claude(&format!("begin; {body}"));
        let over = Asking::start(&room, "claude", &[]).end();
        assert_eq!((over.code, over.reason()), (Some(code), reason), "{body}");
        assert_eq!(over.only("stream.closed", None)["process"], json!({"kind": "exited", "code": process}));
    }
}

#[test]
fn a_denied_call_can_fail_the_run() {
    let room = Room::new();
    room.claude("begin; call c1 Bash '{\"command\":\"x\"}'; answer fine");
    for (more, code, reason) in [(&[][..], 0, "completed"), (&["--fail-on-denied"], 1, "error")] {
        let mut run = Asking::start(&room, "claude", more);
        run.next("tool.requested");
        run.decide("1", "c1", deny("not now"));
        run.done("1");
        let over = run.end();
        assert_eq!((over.code, over.reason()), (Some(code), reason));
        assert!(over.decided("c1").2.starts_with("not now (decided by the embedder"), "{:?}", over.decided("c1"));
        assert!(over.stderr.starts_with("mh-run: refused Bash: not now (decided by the embedder"), "{}", over.stderr);
    }
}

#[test]
fn a_run_whose_audit_vanishes_still_writes_its_last_line() {
    let room = Room::new();
    let audit = room.path("audit");
    room.claude("begin; rm \"$ROOM/audit\"; mkdir \"$ROOM/audit\"; call c1 Bash '{\"command\":\"x\"}'; answer fine");
    let mut run = Asking::start(&room, "claude", &["--audit", audit.to_str().unwrap()]);
    run.next("tool.requested");
    run.decide("1", "c1", allow());
    run.done("1");
    let over = run.end();
    assert!(room.text("answer").contains("the audit line could not be written"), "{}", room.text("answer"));
    assert_eq!((over.code, over.reason()), (Some(1), "error"));
    assert!(over.stderr.contains("unenforced: the audit: it cannot be read"), "{}", over.stderr);
}

#[test]
fn stdin_is_for_commands_and_the_vendor_never_gets_it() {
    let room = Room::new();
    room.claude("begin; readlink /proc/self/fd/0 > \"$ROOM/fd\"; answer fine");
    let mut run = Asking::start(&room, "claude", &[]);
    run.stdin.as_mut().unwrap().write_all(b"not for the vendor\n").unwrap();
    run.refused("-", "MALFORMED", "");
    let own = fs_err::read_link(format!("/proc/{}/fd/0", run.child.id())).unwrap();
    let over = run.end();
    assert_eq!(over.code, Some(0));
    assert_eq!(room.text("prompt"), "do it");
    assert_ne!(room.text("fd").trim(), own.to_str().unwrap());
}

#[test]
fn a_run_that_waits_ends_with_the_process_that_it_waits_for() {
    let (room, mark) = (Room::new(), mark(9));
    let mut run = two_waiting(&room, "claude", &mark, &[]);
    signal(run.child.id(), "INT");
    signal(run.child.id(), "INT");
    assert_eq!(wait(&mut run.child), Some(1));
    assert!(!alive(&mark));
}

/// Codex's stream tells of a call only when it is over; until then, only the hook tells that it runs.
#[test]
fn a_turn_stopped_during_a_call_reports_it_however_little_the_vendor_wrote() {
    for (kind, name) in [("codex", "interrupt"), ("codex", "halt"), ("claude", "interrupt")] {
        let room = Room::new();
        let body =
            "trap 'exit 1' INT; begin; hook PreToolUse Bash c1 '{\"command\":\"x\"}'; while :; do sleep 0.05; done";
        if kind == "claude" {
            room.claude(body)
        } else {
            room.codex(body)
        };
        let mut run = Asking::start(&room, kind, &[]);
        run.next("tool.requested");
        run.decide("1", "c1", allow());
        run.next("tool.decided");
        run.command("stop", json!({"command": name, "reason": "enough"}));
        run.done("stop");
        let over = run.end();
        let error = format!("mh-run: interrupted by the embedder's {name} (enough) during a tool call\n");
        assert!(over.code == Some(1) && over.stderr.ends_with(&error), "{kind} {name}: {}", over.stderr);
    }
}
