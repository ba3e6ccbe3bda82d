//! Payloads that the hook cannot trust.

use serde_json::{Value, json};

use crate::common::{CLAUDE, CODEX, Scratch, bytes, call, event, fixture};
use crate::faults::row::{Row, Trial, blocks, borne, hold};

/// An admitted call whose payload is changed, and the words that the reason must contain.
fn changed(name: &str, says: &str, change: impl Fn(&mut Trial<'_>) + Send + Sync + 'static) -> Row {
    blocks(name, format!("the payload {says}"), change)
}

/// The payload's text, and the offset of its last brace.
fn text(trial: &Trial<'_>) -> (String, usize) {
    let text = String::from_utf8(trial.payload.clone()).unwrap();
    let end = text.strip_suffix('}').unwrap().len();
    (text, end)
}

/// Add members at the end of the object.
fn with(name: &str, says: &'static str, more: impl Into<String>) -> Row {
    let more = more.into();
    changed(name, says, move |trial| {
        let (text, end) = text(trial);
        trial.payload = format!("{},{more}}}", &text[..end]).into();
    })
}

fn whole(name: &str, says: &str, payload: impl Into<Vec<u8>>) -> Row {
    let payload = payload.into();
    changed(name, says, move |trial| trial.payload = payload.clone())
}

/// Replace a part of the payload's text.
fn instead(name: &str, says: &str, from: &'static str, to: impl Into<Vec<u8>>) -> Row {
    let to = to.into();
    changed(name, says, move |trial| {
        let at = trial.payload.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        trial.payload.splice(at..at + from.len(), to.iter().copied());
    })
}

const NESTED: &str = "nested more than 127 levels deep";

fn nested(levels: usize) -> String {
    format!("\"x\":{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn payloads_that_are_not_one_json_object() {
    let twice = "has the key `";
    hold(
        "payload",
        vec![
            whole("empty", "on standard input was empty", ""),
            whole("blank", "is not one JSON object: byte 0: there is nothing but white space in it", " \n"),
            whole("a list", "is not one JSON object: byte 0: expected an object, found `[`", "[]"),
            whole("null", "is not one JSON object: byte 0: expected an object, found `n`", "null"),
            whole("a NUL", "is not one JSON object: byte 0: ", "\0"),
            whole("a megabyte of NUL", "is not one JSON object: byte 0: ", vec![0; 1 << 20]),
            changed("cut in half", "is not one JSON object: byte ", |trial| {
                trial.payload.truncate(trial.payload.len() / 2);
            }),
            changed("its last byte missing", "is not one JSON object: byte ", |trial| {
                trial.payload.truncate(trial.payload.len() - 1);
            }),
            changed("two of them", "is not one JSON object: byte ", |trial| {
                let again = trial.payload.clone();
                trial.payload.extend(again);
            }),
            changed("a NUL behind it", "is not one JSON object: byte ", |trial| trial.payload.push(0)),
            changed(
                "a byte order mark before it",
                "is not one JSON object: byte 0: it begins with a byte order mark",
                |trial| {
                    trial.payload.splice(..0, [0xef, 0xbb, 0xbf]);
                },
            ),
            changed("UTF-16, low byte first", "is not one JSON object: byte 0: it is UTF-16", |trial| {
                trial.payload = text(trial).0.encode_utf16().flat_map(u16::to_le_bytes).collect();
            }),
            changed("UTF-16 with its mark, high byte first", "is not one JSON object: byte 0: it is UTF-16", |trial| {
                let units = text(trial).0;
                trial.payload = [0xfeff].into_iter().chain(units.encode_utf16()).flat_map(u16::to_be_bytes).collect();
            }),
            instead("a byte that is no UTF-8", "is not one JSON object: byte ", "true", b"\xff"),
            instead("a character cut short", "is not one JSON object: byte ", "true", b"\xe2\x82"),
            instead("a surrogate in UTF-8", "is not one JSON object: byte ", "true", b"\xed\xa0\x80"),
            instead("a character in more bytes than it has", "is not one JSON object: byte ", "true", b"\xc0\xaf"),
            instead("a lone high surrogate", "is not one JSON object: byte ", "true", "\\ud800"),
            instead("a lone low surrogate", "is not one JSON object: byte ", "true", "\\udfff"),
            instead("a surrogate in a key", "is not one JSON object: byte ", "command", "comm\\ud83d"),
            instead("a NUL in a string, not escaped", "is not one JSON object: byte ", "true", "\0"),
            instead("a newline in a string, not escaped", "is not one JSON object: byte ", "true", "\n"),
            with("the tool twice", twice, r#""tool_name":"Read""#),
            with("the event twice", twice, r#""hook_event_name":"Stop""#),
            with("the input twice", twice, r#""tool_input":{}"#),
            with("the tool twice, once by an escape", twice, r#""tool_\u006eame":"Read""#),
            instead("a key of the input twice", twice, "\"true\"", "\"true\",\"command\":\"false\""),
            with("a key twice in an object in a list", twice, r#""x":[{"a":1,"\u0061":2}]"#),
            with(
                "a key twice, a hundred levels down",
                twice,
                format!("\"x\":{}1{}", "{\"a\":0,\"b\":".repeat(99) + "{\"c\":0,\"c\":", "}".repeat(100)),
            ),
            with("127 levels more", "is not one JSON object: byte ", nested(127)),
            with("a million levels", "is not one JSON object: byte ", nested(1_000_000)),
            whole("a million levels of nothing else", "is not one JSON object: byte ", "{\"a\":".repeat(1_000_000)),
            with("a number that no double holds", "is not one JSON object: byte ", "\"x\":1e309"),
            with(
                "a number of a million digits",
                "is not one JSON object: byte ",
                format!("\"x\":{}", "9".repeat(1_000_000)),
            ),
            with("a number with a leading zero", "is not one JSON object: byte ", "\"x\":01"),
            with("NaN", "is not one JSON object: byte ", "\"x\":NaN"),
            with("a comma too many", "is not one JSON object: byte ", "\"x\":1,"),
            with("a comment", "is not one JSON object: byte ", "\"x\":1/* */"),
            whole("no key at all", "has no string `hook_event_name`", "{}"),
            whole("an event that is a number", "has no string `hook_event_name`", r#"{"hook_event_name":1}"#),
            whole("no tool", "has no `tool_name`", r#"{"hook_event_name":"PreToolUse"}"#),
        ],
    );
}

/// Set a member of the payload.
fn member(name: &str, says: &str, key: &'static str, value: Value) -> Row {
    blocks(name, says, move |trial| {
        let mut payload: Value = serde_json::from_slice(&trial.payload).unwrap();
        payload[key] = value.clone();
        trial.payload = bytes(&payload);
    })
}

#[test]
fn members_of_the_wrong_type() {
    let unknown = "is unknown to the tool table of ";
    let event = "the payload has no string `hook_event_name`";
    let mut rows = Vec::new();
    for (name, value) in
        [("a number", json!(7)), ("null", json!(null)), ("a list", json!(["Bash"])), ("true", json!(true))]
    {
        rows.push(member(&format!("tool_name is {name}"), unknown, "tool_name", value.clone()));
        rows.push(member(&format!("hook_event_name is {name}"), event, "hook_event_name", value));
    }
    rows.push(member("tool_name is empty", unknown, "tool_name", json!("")));
    rows.push(member("tool_name has a blank before it", unknown, "tool_name", json!(" Bash")));
    rows.push(member("tool_name has a NUL behind it", unknown, "tool_name", json!("Bash\0")));
    rows.push(member(
        "tool_name of five thousand bytes",
        "the payload has a `tool_name` of more than",
        "tool_name",
        json!("B".repeat(5_000)),
    ));
    rows.push(member(
        "hook_event_name is in lower case",
        "has no event `pretooluse`",
        "hook_event_name",
        json!("pretooluse"),
    ));
    // paths under a rule that admits every operation nowhere, so that they are judged
    let input = |name: String, vendor: &'static [&'static str], tool: &'static str, input: Value| {
        blocks(format!("{tool}: {name}"), "", move |trial| {
            let operations = ["file.read", "file.write", "file.edit", "search", "dir.list"];
            let flags: Vec<&str> = operations
                .iter()
                .flat_map(|operation| ["--admit", operation])
                .chain(["--scope", "**", "none"])
                .collect();
            trial.frame = Some(trial.scratch.frame("scoped.json", &flags).into());
            trial.payload = bytes(&call(trial.vendor, tool, input.clone()));
        })
        .only(vendor)
    };
    for (name, value) in [
        ("is a number", json!(7)),
        ("is null", json!(null)),
        ("is a list", json!(["/a"])),
        ("is an object", json!({ "path": "/a" })),
        ("is empty", json!("")),
        ("has a NUL", json!("/a\0b")),
    ] {
        for (tool, key) in [
            ("Write", "file_path"),
            ("Edit", "file_path"),
            ("Read", "file_path"),
            ("NotebookEdit", "notebook_path"),
            ("Grep", "path"),
            ("Glob", "pattern"),
        ] {
            rows.push(input(format!("{key} {name}"), &[CLAUDE], tool, json!({ key: value })));
        }
        // a patch that names no file changes none
        if !value.is_string() {
            rows.push(input(format!("command {name}"), &[CODEX], "apply_patch", json!({ "command": value })));
        }
        rows.push(input(format!("path {name}"), &[CODEX], "view_image", json!({ "path": value })));
    }
    for (name, value) in [
        ("a number", json!(7)),
        ("null", json!(null)),
        ("a string", json!("/a")),
        ("a list", json!([])),
        ("empty", json!({})),
    ] {
        for tool in ["Write", "Read"] {
            rows.push(input(format!("tool_input is {name}"), &[CLAUDE], tool, value.clone()));
        }
        rows.push(input(format!("tool_input is {name}"), &[CODEX], "apply_patch", value.clone()));
    }
    hold("payload, wrong types", rows);
}

#[test]
fn payloads_of_another_agent() {
    let whose = |name: &str, product: &'static str, vendors, change: fn(&mut Value)| {
        blocks(name, format!("the payload is {product}'s, and this hook is "), move |trial| {
            let mut payload: Value = serde_json::from_slice(&trial.payload).unwrap();
            change(&mut payload);
            trial.payload = bytes(&payload);
        })
        .only(vendors)
    };
    let both = &[CLAUDE, CODEX][..];
    hold(
        "payload of another vendor",
        vec![
            whose("Codex's", "Codex", &[CLAUDE], |payload| *payload = call(CODEX, "Bash", json!({}))),
            whose("Claude Code's", "Claude Code", &[CODEX], |payload| *payload = call(CLAUDE, "Bash", json!({}))),
            whose("Cursor's", "Cursor", both, |payload| payload["generation_id"] = "g".into()),
            whose("Copilot's", "Copilot", both, |payload| payload["toolName"] = "bash".into()),
            whose("Gemini CLI's before a tool", "Gemini CLI", both, |payload| {
                payload["hook_event_name"] = "BeforeTool".into();
                payload["tool_name"] = "run_shell_command".into();
            }),
            whose("Gemini CLI's before a model", "Gemini CLI", both, |payload| {
                let vendor = if payload.get("turn_id").is_some() { CODEX } else { CLAUDE };
                *payload = event(vendor, "BeforeModel");
            }),
            // a payload with the marks of both vendors counts as this vendor's: a release may add a field
            borne("the keys of both vendors", |trial| {
                let mut payload: Value = serde_json::from_slice(&trial.payload).unwrap();
                payload["turn_id"] = "t".into();
                payload["prompt_id"] = "p".into();
                trial.payload = bytes(&payload);
            }),
        ],
    );
}

#[test]
fn odd_payloads_that_are_valid() {
    let more = |name: &str, more: String| {
        borne(name, move |trial| {
            let (text, end) = text(trial);
            trial.payload = format!("{},{more}}}", &text[..end]).into();
        })
    };
    hold(
        "payload, odd but whole",
        vec![
            more("126 levels more", nested(126)),
            more("a number that a double just holds", "\"x\":1.7976931348623157e308".into()),
            more("a pair of surrogates, a NUL by its escape", r#""x":"\ud83d\ude00\u0000""#.into()),
            more("a megabyte more", format!("\"x\":\"{}\"", "y".repeat(1 << 20))),
            borne("blanks and line ends round it", |trial| {
                trial.payload = [b" \t\r\n", &trial.payload[..], b"\r\n \t"].concat();
            }),
            borne("the least that is needed", |trial| {
                let payload: Value = serde_json::from_slice(&trial.payload).unwrap();
                trial.payload = bytes(&json!({ "hook_event_name": "PreToolUse", "tool_name": payload["tool_name"] }));
            }),
        ],
    );
}

/// The reason names the fault's place to the byte.
#[test]
fn the_place_of_a_fault_is_named() {
    for vendor in [CLAUDE, CODEX] {
        let scratch = Scratch::new();
        let says = |payload: String| {
            let mut trial =
                Trial::new(vendor, &scratch, crate::faults::host::Event::Call, crate::faults::row::Given::Admitted);
            trial.frame = Some(fixture("golden/frame.json").into());
            trial.payload = payload.into();
            String::from_utf8(trial.fire(false).stderr).unwrap()
        };
        let good = String::from_utf8(crate::common::shell(vendor)).unwrap();
        let end = good.strip_suffix('}').unwrap();
        for (payload, why) in [
            (format!("{good}{good}"), format!("byte {}: there are bytes after the end of the document", good.len())),
            (
                format!("{end},\"tool_name\":\"Read\"}}"),
                format!("the key `tool_name` twice in one object (byte {})", end.len() + 1),
            ),
            (
                format!("{end},\"x\":[{{\"a\":1,\"\\u0061\":2}}]}}"),
                format!("the key `a` twice in one object (byte {})", end.len() + 13),
            ),
            (format!("{end},{}}}", nested(127)), format!("byte {}: {NESTED}", end.len() + 5 + 126)),
            (good.replace("true", "\\ud800"), "a lone surrogate, `\\ud800`, which is no character; ".into()),
        ] {
            let said = says(payload);
            assert!(said.contains(&why), "{said}");
        }
    }
}

#[test]
fn every_way_to_refuse_ends_with_0_or_2() {
    // only the exit code is checked, at every event
    for vendor in [CLAUDE, CODEX] {
        for frame in [fixture("golden/frame.json").to_str().unwrap(), "/nonexistent", "", "relative", "/dev/zero", "/"]
        {
            for payload in ["", "{", "[]", "{}", "\u{feff}{}", "{\"hook_event_name\":\"PreToolUse\"}", "\u{0}"] {
                let answer = crate::common::Run::hook(vendor).frame(frame).stdin(payload).answer();
                assert_eq!(answer.code, 2, "{answer:?}");
            }
            for name in ["PreToolUse", "PermissionRequest", "SessionStart", "UserPromptSubmit", "Stop", "Nonsense"] {
                let answer = crate::common::Run::hook(vendor).frame(frame).stdin(bytes(&event(vendor, name))).answer();
                assert!(matches!(answer.code, 0 | 2), "{answer:?}");
            }
        }
    }
}
