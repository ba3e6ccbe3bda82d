//! What is refused before anything is started.

use serde_json::{Value, json};

use crate::ask::asking::Asking;
use crate::common::room::{Ended, Room};

#[test]
fn a_need_that_cannot_be_met_is_told_in_lines_before_the_vendor_is_started() {
    for kind in ["claude", "codex"] {
        for control in ["frame.set", "message.inject", "steer", "permission.set"] {
            let room = Room::new();
            room.claude("touch \"$ROOM/started\"").codex("touch \"$ROOM/started\"");
            let needs = format!("interrupt,halt,tool.decide,{control}");
            let over = Asking::start(&room, kind, &["--needs", &needs]).end();
            assert_eq!((over.code, over.names()), (Some(2), vec!["command.result", "stream.closed"]));
            let outcome = &over.lines[0]["outcome"];
            assert_eq!(
                (&over.lines[0]["id"], &outcome["refused"]["code"]),
                (&json!(format!("start/{control}")), &json!("UNSUPPORTED_CONTROL"))
            );
            assert_eq!((over.reason(), &over.lines[1]["process"]), ("error", &json!({"kind": "unknown"})),);
            let why = format!("mh-run: UNSUPPORTED_CONTROL: {control} cannot be honoured with {kind}: ");
            assert!(over.stderr.starts_with(&why) && over.stderr.lines().count() == 1, "{}", over.stderr);
            assert!(!room.path("started").exists());
        }
    }
}

#[test]
fn needs_that_can_be_met_are_no_hindrance() {
    let room = Room::new();
    room.claude("begin; answer fine").codex("begin; answer fine");
    for kind in ["claude", "codex"] {
        assert_eq!(Asking::start(&room, kind, &["--needs", "tool.decide,interrupt,halt"]).end().code, Some(0));
    }
    room.run("claude", &["--needs", "tool.decide"]).refused("tool.decide needs an embedder");
    room.run("claude", &["--needs", "tool.undo"])
        .refused("--needs tool.undo: there is no such command; there are tool.decide, ");
}

#[test]
fn an_option_that_another_layer_would_win_by_is_shadowed() {
    for (kind, option) in [("claude", "--dangerously-skip-permissions"), ("codex", "--full-auto")] {
        let room = Room::new();
        room.claude("touch \"$ROOM/started\"").codex("touch \"$ROOM/started\"");
        let over = Asking::start(&room, kind, &["--", option]).end();
        assert_eq!((over.code, over.names()), (Some(2), vec!["command.result", "stream.closed"]));
        assert_eq!(over.lines[0]["id"], "start/tool.decide");
        let refused = &over.lines[0]["outcome"]["refused"];
        assert_eq!(refused["code"], "SHADOWED");
        assert!(refused["reason"].as_str().unwrap().contains(option), "{refused}");
        assert!(!room.path("started").exists());
    }
}

#[test]
fn what_goes_with_ask_and_what_does_not() {
    let room = Room::new();
    room.claude("begin; answer fine");
    let ask = |more: &[&str]| room.run("claude", &[&["--decisions", "ask"], more].concat());
    for format in ["text", "json", "stream-json"] {
        ask(&["--output-format", format]).refused("--decisions ask goes with --output-format events alone");
    }
    ask(&["--decider", "exec:/bin/true"]).refused("two that would decide");
    for deadline in ["0", "591", "1.5", "-1", "x"] {
        ask(&[&format!("--deadline={deadline}")]).refused("--deadline takes a whole number of seconds from 1 to 590");
    }
    ask(&["--on-eof", "allow"]).refused("--on-eof takes deny or interrupt");
    for more in [["--deadline", "9"], ["--on-eof", "deny"]] {
        room.run("claude", &more).refused("go with --decisions ask");
    }
    let frame = room.path("frame.json");
    let frame = frame.to_str().unwrap();
    let run = |arguments: &[&str]| Ended::of(room.command("claude", arguments).output().unwrap());
    run(&["-p", "x", "--decisions", "ask"]).refused("without --frame");
    run(&["--decisions", "ask", "--frame", frame]).refused("say what to do");
    run(&["--decisions", "ask", "--frame", frame, "-p"]).refused("standard input is for commands");
    run(&["-p", "--decisions", "ask", "--frame", frame]).refused("behind -p stands --decisions");
    run(&["-p", " ", "--decisions", "ask", "--frame", frame]).refused("the prompt is empty");
    fs_err::write(room.path("prompt.txt"), "from a file").unwrap();
    let file = room.path("prompt.txt");
    let given = run(&["--prompt-file", file.to_str().unwrap(), "--decisions", "ask", "--frame", frame]);
    assert_eq!((given.code, room.text("prompt").as_str()), (Some(0), "from a file"), "{given:?}");
    let last: Value = serde_json::from_str(given.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "stream.closed");
}

#[test]
fn what_is_refused_for_another_cause_says_nothing_on_standard_output() {
    let room = Room::new();
    room.claude("begin; answer fine");
    room.run("claude", &["--decisions", "ask", "--digest", &"0".repeat(64)]).refused("frame.json: ");
    room.run("codex", &["--decisions", "ask"]).refused("codex");
    // something is to be warned of, and the vendor is gone when it is to be started
    for more in [&["--decisions", "ask"][..], &["--output-format", "events"], &["--output-format", "stream-json"]] {
        let gone = "[ \"$1\" = --version ] && echo '9.9.9 (Claude Code)' && rm \"$0\"";
        room.program("bin/claude", &format!("#!/bin/sh\n{gone}\n"));
        room.run("claude", more).refused("cannot be started: no such file or directory");
    }
}

#[test]
fn a_socket_that_cannot_be_named_is_refused_with_what_to_do() {
    let room = Room::new();
    room.claude("touch \"$ROOM/started\"");
    let long = room.path("tmp").join("x".repeat(100));
    fs_err::create_dir(&long).unwrap();
    let output = room.governed("claude", &["--decisions", "ask"]).env("TMPDIR", &long).output().unwrap();
    Ended::of(output)
        .refused(" bytes are too long for the path of a socket; set TMPDIR, or XDG_RUNTIME_DIR, to a shorter one");
    assert!(!room.path("started").exists() && fs_err::read_dir(&long).unwrap().next().is_none());
}
