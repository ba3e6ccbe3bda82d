//! Each command line gets one answer, and each refusal its code.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use crate::ask::asking::{Asking, allow, command, decision_line, deny, replace};
use crate::common::room::Room;

const ONE_CALL: &str = "begin; call c1 Bash '{\"command\":\"x\"}'; answer fine";

/// A line of exactly this length.
fn padded(line: String, length: usize) -> String {
    let space = " ".repeat(length - line.len());
    line.replacen('{', &format!("{{{space}"), 1)
}

#[test]
fn a_line_that_is_no_command_is_malformed_under_its_id_or_a_dash() {
    let room = Room::new();
    room.claude(ONE_CALL);
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    let tagged = |rest: &str| format!("{{\"format\":\"metaharness.command/1\",\"id\":\"7\",{rest}}}");
    let decide = |decision: &str| tagged(&format!("\"command\":\"tool.decide\",\"call_id\":\"c1\",{decision}"));
    let frame = room.text("frame.json").replace('\n', " ");
    let broken = frame.replacen("\"shell\"", "\"search\"", 1);
    assert_ne!(frame, broken);
    let set = |frame: &str| tagged(&format!("\"command\":\"frame.set\",\"frame\":{}", frame.trim()));
    let cases: Vec<(String, &str, &str)> = vec![
        ("nonsense".into(), "-", "not one JSON object: byte 0: expected a value, found `n`"),
        ("nope".into(), "-", "not one JSON object: byte 0: expected a value, found `n`"),
        ("null".into(), "-", "not one JSON object: it is null"),
        ("\"7\"".into(), "-", "not one JSON object: it is a string"),
        ("[1]".into(), "-", "not one JSON object: it is an array"),
        ("{} {}".into(), "-", "not one JSON object"),
        ("{\"id\":\"7\",".into(), "-", "not one JSON object"),
        ("{\"id\":\"7\"}".into(), "7", "there is no `format`"),
        ("{\"id\":\"7\",\"format\":1}".into(), "7", "there is no `format`"),
        ("{\"id\":\"7\",\"format\":\"metaharness.command/2\"}".into(), "7", "`format` is \"metaharness.command/2\""),
        (tagged("\"command\":\"tool.undo\""), "7", "there is no command \"tool.undo\""),
        (tagged("\"x\":1"), "7", "there is no command \"\""),
        (
            "{\"format\":\"metaharness.command/1\",\"id\":7,\"command\":\"halt\",\"reason\":\"\"}".into(),
            "-",
            "`id` is not",
        ),
        (
            "{\"format\":\"metaharness.command/1\",\"command\":\"halt\",\"reason\":\"\"}".into(),
            "-",
            "malformed halt: there is no `id`",
        ),
        (
            "{\"format\":\"metaharness.command/1\",\"id\":\"\",\"command\":\"halt\",\"reason\":\"\"}".into(),
            "-",
            "`id` is \"\", by which no answer can be told from others",
        ),
        (
            "{\"format\":\"metaharness.command/1\",\"id\":\"-\",\"command\":\"halt\",\"reason\":\"\"}".into(),
            "-",
            "`id` is \"-\", by which no answer can be told from others",
        ),
        (decide("\"decision\":\"allow\""), "7", "`decision` is a string; it is an object"),
        (decide("\"decision\":null"), "7", "`decision` is null"),
        (decide("\"x\":0"), "7", "there is no `decision`"),
        (decide("\"decision\":{}"), "7", "no string `decision`"),
        (decide("\"decision\":{\"decision\":\"ask\"}"), "7", "there is no decision \"ask\""),
        (decide("\"decision\":{\"decision\":\"deny\"}"), "7", "a deny has a string `reason`"),
        (decide("\"decision\":{\"decision\":\"deny\",\"reason\":\" \\t\"}"), "7", "`reason` is blank"),
        (decide("\"decision\":{\"decision\":\"replace\"}"), "7", "a replace has an `input`"),
        (decide("\"decision\":{\"decision\":\"allow\"},\"decision\":{\"decision\":\"allow\"}"), "7", "stands twice"),
        (decide("\"decision\":{\"decision\":\"allow\",\"decision\":\"allow\"}"), "7", "stands twice"),
        (tagged("\"command\":\"tool.decide\",\"decision\":{\"decision\":\"allow\"}"), "7", "`call_id` is not a string"),
        (tagged("\"command\":\"interrupt\""), "7", "there is no `reason`"),
        (tagged("\"command\":\"halt\",\"reason\":1"), "7", "`reason` is a number"),
        (tagged("\"command\":\"steer\",\"text\":null"), "7", "`text` is null"),
        (tagged("\"command\":\"message.inject\""), "7", "there is no `text`"),
        (tagged("\"command\":\"permission.set\",\"posture\":{}"), "7", "`posture` is an object"),
        (tagged("\"command\":\"frame.set\",\"frame\":\"x\""), "7", "`frame` is a string"),
        (tagged("\"command\":\"halt\",\"reason\":\"\",\"x\":{\"a\":[{\"b\":1,\"b\":1}]}"), "7", "stands twice"),
        (tagged("\"command\":\"halt\",\"reason\":\"\\ud800\""), "-", "not one JSON object"),
        ("\u{feff}{}".into(), "-", "not one JSON object"),
        ("\0".into(), "-", "not one JSON object"),
        (set("{}"), "7", "malformed frame.set"),
        (set(&broken), "7", "malformed frame.set"),
        (tagged(&format!("\"x\":{}1{}", "[".repeat(200), "]".repeat(200))), "-", "not one JSON object"),
    ];
    for (line, id, why) in &cases {
        run.say(line);
        run.refused(id, "MALFORMED", why);
    }
    // the refusal gives the place and no byte of the line
    run.say(b"{\"id\":\"7\",\"secret\xff\":1}");
    let outcome = run.answered("-");
    let reason = outcome["refused"]["reason"].as_str().unwrap();
    assert!(reason.contains("byte 17") && !reason.contains("secret"), "{reason}");
    // the refused lines left the call alone
    run.decide("last", "c1", allow());
    run.done("last");
    let over = run.end();
    assert_eq!((over.code, over.decided("c1").0), (Some(0), "allow"));
    let answers = over.names().into_iter().filter(|name| *name == "command.result").count();
    assert_eq!(answers, cases.len() + 2);
}

#[test]
fn a_well_formed_command_that_cannot_be_done_is_refused_by_name() {
    for kind in ["claude", "codex"] {
        let room = Room::new();
        match kind {
            // a command after the turn's end gets no answer
            "claude" => room.claude(&ONE_CALL.replace("answer", "sleep 1; answer")),
            _ => room.codex("begin; call c1 Bash '{\"command\":\"x\"}' CommandExecution; sleep 1; answer fine"),
        };
        let mut run = Asking::start(&room, kind, &[]);
        run.next("tool.requested");
        let mut frame: Value = serde_json::from_slice(&fs_err::read(room.path("frame.json")).unwrap()).unwrap();
        run.command("tagged", json!({"command": "frame.set", "frame": frame}));
        run.refused("tagged", "UNSUPPORTED_CONTROL", "frame.set cannot be honoured");
        frame.as_object_mut().unwrap().remove("format");
        run.command("bare", json!({"command": "frame.set", "frame": frame}));
        run.refused("bare", "UNSUPPORTED_CONTROL", "frame.set cannot be honoured");
        for (name, member) in [("message.inject", "text"), ("steer", "text"), ("permission.set", "posture")] {
            run.command(name, json!({"command": name, member: "plan", "unknown": [1]}));
            run.refused(name, "UNSUPPORTED_CONTROL", &format!("{name} cannot be honoured with {kind}"));
        }
        run.decide("none", "c2", allow());
        run.refused("none", "UNKNOWN_CALL", "c2");
        run.decide("one", "c1", json!({"decision": "abstain"}));
        run.done("one");
        run.decide("again", "c1", deny("no"));
        run.refused("again", "TOO_LATE", "c1");
        let over = run.end();
        assert_eq!((over.code, over.decided("c1").0, over.decided("c1").1), (Some(0), "abstain", "embedder"));
    }
}

#[test]
fn blank_lines_are_nothing_carriage_returns_are_white_space_and_a_last_line_needs_no_end() {
    let room = Room::new();
    room.claude(ONE_CALL);
    let mut run = Asking::start(&room, "claude", &[]);
    run.decide("before", "c1", allow());
    run.say("\r\n\n  \t \r");
    run.next("tool.requested");
    run.say(format!("{}\r", decision_line("cr", "c9", allow())));
    let last = decision_line("last", "c1", allow());
    run.stdin.as_mut().unwrap().write_all(last.as_bytes()).unwrap();
    run.stdin = None;
    let over = run.end();
    let answers: Vec<(&Value, &Value)> = over
        .lines
        .iter()
        .filter(|line| line["event"] == "command.result")
        .map(|line| (&line["id"], line.pointer("/outcome/refused/code").unwrap_or(&Value::Null)))
        .collect();
    let unknown = json!("UNKNOWN_CALL");
    assert_eq!(
        answers,
        [(&json!("before"), &unknown), (&json!("cr"), &unknown), (&json!("last"), &Value::Null)],
        "{:?}",
        over.lines
    );
    assert_eq!(over.decided("c1"), ("allow", "embedder", ""));
}

#[test]
fn a_line_is_read_up_to_its_limit_and_passed_over_beyond() {
    const LIMIT: usize = 8 * 1024 * 1024;
    let room = Room::new();
    room.claude(ONE_CALL);
    let mut run = Asking::start(&room, "claude", &[]);
    run.next("tool.requested");
    run.say(padded(decision_line("over", "c1", allow()), LIMIT + 1));
    run.refused("-", "MALFORMED", &format!("{LIMIT} bytes"));
    run.say(vec![b' '; 2 * LIMIT]);
    run.refused("-", "MALFORMED", &format!("{LIMIT} bytes"));
    run.say(padded(decision_line("limit", "c1", allow()), LIMIT));
    run.done("limit");
    assert_eq!(run.end().code, Some(0));
}

#[test]
fn a_flood_is_answered_line_by_line_in_its_order() {
    let count: usize = crate::common::times(10_000, 2_000);
    let room = Room::new();
    room.claude(ONE_CALL);
    let mut run = Asking::start(&room, "claude", &[]);
    let mut stdin = run.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let lines: String = (0..count)
            .map(|number| match number % 3 {
                0 => "no\n".into(),
                1 => command(&number.to_string(), json!({"command": "steer", "text": ""})) + "\n",
                _ => decision_line(&number.to_string(), "none", allow()) + "\n",
            })
            .collect();
        stdin.write_all(lines.as_bytes()).unwrap();
        stdin
    });
    for number in 0..count {
        let (id, code) = match number % 3 {
            0 => ("-".into(), "MALFORMED"),
            1 => (number.to_string(), "UNSUPPORTED_CONTROL"),
            _ => (number.to_string(), "UNKNOWN_CALL"),
        };
        run.refused(&id, code, "");
    }
    run.stdin = Some(writer.join().unwrap());
    run.decide("last", "c1", allow());
    run.done("last");
    assert_eq!(run.end().code, Some(0));
}

#[test]
fn commands_are_answered_until_the_last_line_and_do_not_delay_it() {
    let room = Room::new();
    room.claude(ONE_CALL);
    let mut command = room.governed("claude", &["--decisions", "ask"]);
    let (mut run, stdout) = Asking::unread(&mut command);
    let mut stdin = run.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for hundred in 0_u64.. {
            let number = |number: u64| (100 * hundred + number).to_string();
            let lines: String = (0..100).map(|n| decision_line(&number(n), "c1", allow()) + "\n").collect();
            if stdin.write_all(lines.as_bytes()).is_err() {
                return;
            }
        }
    });
    let lines: Vec<Value> =
        BufReader::new(stdout).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    writer.join().unwrap();
    let answers: Vec<&Value> = lines.iter().filter(|line| line["event"] == "command.result").collect();
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], number.to_string());
    }
    assert_eq!(answers.iter().filter(|answer| answer["outcome"]["result"] == "ok").count(), 1);
    let (last, before) = lines.split_last().unwrap();
    assert_eq!((&last["event"], &last["events"]), (&json!("stream.closed"), &json!(before.len())));
}

#[test]
fn a_replace_goes_through_whole_or_is_refused_by_name() {
    let room = Room::new();
    let project = room.path("project");
    let inside = project.join("a").display().to_string();
    let glob = format!("{}/**", project.display());
    room.seal(&[
        "--admit",
        "file.read",
        "shell",
        "--handoff-none",
        "--scope",
        &glob,
        "file.read",
        "--scope",
        "/**",
        "shell",
    ]);
    let read = format!("'{{\"file_path\":\"{inside}\"}}'");
    let shell = "'{\"command\":\"x\"}'";
    let save = "cp \"$ROOM/answer\" \"$ROOM/answer-$1\"";
    room.claude(&format!(
        "save() {{ {save}; }}; begin; call c1 Bash {shell}; save c1; call c2 Read {read}; save c2; call c3 PowerShell {shell}; \
         answer fine"
    ));
    let mut run = Asking::start(&room, "claude", &[]);
    run.until("tool.requested", |line| line["call_id"] == "c1");
    run.decide("string", "c1", replace(json!("y")));
    run.refused("string", "UNSUPPORTED_CONTROL", "Bash is given an input that is not an object; it still waits");
    run.decide("number", "c1", replace(json!({"command": 5})));
    let why = "Bash has a number as `command` in the replaced input, where a string has to be; it still waits";
    run.refused("number", "UNSUPPORTED_CONTROL", why);
    let mut twice = decision_line("twice", "c1", replace(json!({"command": "REPLACED"})));
    twice = twice.replacen("\"REPLACED\"", "\"y\",\"command\":\"z\"", 1);
    run.say(twice);
    run.refused("twice", "MALFORMED", "stands twice");
    let new = json!({"command": "printf '\u{2028}ü' | cat", "timeout": 5});
    run.decide("good", "c1", replace(new.clone()));
    run.done("good");
    // a replace cannot admit what the frame does not
    run.until("tool.requested", |line| line["call_id"] == "c2");
    run.decide("relative", "c2", replace(json!({"file_path": "a"})));
    run.refused("relative", "UNSUPPORTED_CONTROL", "not an absolute path; it still waits");
    run.decide("outside", "c2", replace(json!({"file_path": "/etc/passwd"})));
    run.done("outside");
    run.until("tool.requested", |line| line["call_id"] == "c3");
    run.decide("unseen", "c3", replace(json!({"command": "y"})));
    run.refused("unseen", "UNSUPPORTED_CONTROL", "PowerShell was not seen to run a replaced input");
    run.decide("after", "c3", allow());
    run.done("after");
    let over = run.end();
    assert_eq!(over.code, Some(0), "{}", over.stderr);
    let decided = over.only("tool.decided", Some("c1"));
    assert_eq!(decided["decision"], json!({"decision": "replace", "input": new}));
    let answer: Value = serde_json::from_str(&room.text("answer-c1")).unwrap();
    assert_eq!(answer.pointer("/hookSpecificOutput/updatedInput"), Some(&new));
    let (decision, by, reason) = over.decided("c2");
    assert_eq!((decision, by), ("deny", "frame"));
    assert!(reason.contains("/etc/passwd"), "{reason}");
    assert!(room.text("answer-c2").contains("\"permissionDecision\":\"deny\""));
    assert_eq!(over.decided("c3").0, "allow");
}

#[test]
fn codex_takes_a_replace_only_as_a_whole() {
    let room = Room::new();
    room.codex("begin; call c1 Bash '{\"command\":\"x\"}' CommandExecution; answer fine");
    // an audit by --audit holds no inputs, and the line has the input all the same
    let audit = room.path("audit");
    let mut run = Asking::start(&room, "codex", &["--audit", audit.to_str().unwrap()]);
    assert_eq!(run.next("tool.requested")["input"], json!({"command": "x"}));
    for (id, input, why) in [
        (
            "more",
            json!({"command": "y", "workdir": "/"}),
            "Bash has `workdir` in the replaced input, which is not taken there: what is taken is command; it still waits",
        ),
        ("none", json!({}), "has no `command` in the replaced input, where a string has to be"),
        ("array", json!(["y"]), "not an object"),
    ] {
        run.decide(id, "c1", replace(input));
        run.refused(id, "UNSUPPORTED_CONTROL", why);
    }
    run.decide("good", "c1", replace(json!({"command": "y"})));
    run.done("good");
    let over = run.end();
    assert_eq!(over.only("tool.decided", Some("c1"))["decision"], replace(json!({"command": "y"})));
    let answer: Value = serde_json::from_str(&room.text("answer")).unwrap();
    assert_eq!(answer.pointer("/hookSpecificOutput/updatedInput"), Some(&json!({"command": "y"})));
    assert_eq!(over.code, Some(0), "{}", over.stderr);
    assert!(!room.text("audit").contains("\"y\""), "{}", room.text("audit"));
}
