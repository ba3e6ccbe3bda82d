//! The schemas agree with the code: a run writes only what the schema allows, to the last field, and these runs write
//! everything that the schema has.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use metaharness::adapter;
use metaharness::adapter::claude::Claude;
use metaharness::adapter::run::Warning;
use metaharness::protocol;
use metaharness::run::{Code, Embedder, OnEof, controls};
use serde_json::{Value, json};

use crate::common::room::Room;
use crate::common::schema::{self, Seen};
use crate::common::side_by_side;

/// Every record of Claude Code's stream, apart from calls.
const TELLS: &str = r#"
say '{"type":"system","subtype":"hook_started","hook_name":"SessionStart:startup"}'
say '{"type":"system","subtype":"init","session_id":"s1","model":"model-1","permissionMode":"default","apiKeySource":"none","output_style":"default","tools":["Bash"],"slash_commands":["one"],"skills":["two"],"agents":[{"name":"three"}],"plugins":[{"name":"p","source":"s","version":"1"},{"name":"q","new":[]},"r"],"mcp_servers":[{"name":"m","status":"connected"},{"name":"n"}],"claude_code_version":"2.1.332"}'
say '{"type":"system","subtype":"thinking_tokens","estimated_tokens":7,"estimated_tokens_delta":3}'
say '{"type":"system","subtype":"thinking_tokens","estimated_tokens":8}'
say '{"type":"system","subtype":"odd"}'; say '{"type":"odd"}'; say odd
say '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","rateLimitType":"five_hour","resetsAt":1,"utilization":0.5,"isUsingOverage":false}}'
say '{"type":"rate_limit_event"}'
say '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":500,"error":"overloaded"}'
say '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":401,"error":"authentication_failed"}'
say '{"type":"assistant","timestamp":"2026-01-01T00:00:00Z","message":{"id":"m1","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"so"}]}}'
say '{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"so"}]}}'
"#;

/// Claude Code's last record, with every field that is read.
const ENDS: &str = r#"
say '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"duration_api_ms":1,"ttft_ms":1,"time_to_request_ms":1,"total_cost_usd":0.5,"stop_reason":"end_turn","result":"fine","modelUsage":{"model-1":{}},"usage":{"input_tokens":7,"output_tokens":3,"cache_read_input_tokens":1,"cache_creation_input_tokens":1,"service_tier":"standard","speed":"standard","output_tokens_details":{"thinking_tokens":2}},"permission_denials":[{"tool_name":"Bash","tool_use_id":"d1","tool_input":{"command":"x"}}]}'
"#;

/// Every record of Codex's stream and rollout.
const CODEX: &str = r#"
begin
record() { printf '%s\n' "$1" >> "$rollout"; }
say '{"type":"item.completed","item":{"id":"i0","type":"error","message":"odd"}}'
say '{"type":"item.completed","item":{"id":"i1","type":"reasoning","text":"hm"}}'
record '{"type":"token_usage_record","timestamp":"2026-01-01T00:00:00Z","payload":{"response_id":"r1","usage":{"input_tokens":1,"output_tokens":1,"cached_input_tokens":1,"cache_write_input_tokens":1,"reasoning_output_tokens":1}}}'
hook PreToolUse Bash x1 '{"command":"x"}'
record '{"payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"x1","status":"completed","exit_code":0,"aggregated_output":"ran"}}}'
hook PreToolUse apply_patch x2 '{"command":"*** Add File: a"}'
record '{"payload":{"type":"function_call_output","call_id":"x2","output":"Command blocked by PreToolUse hook: no"}}'
printf '{"session_id":"t1","turn_id":"u","cwd":"/","hook_event_name":"PermissionRequest","tool_name":"web_search","tool_input":{}}' | sh -c "$line" > /dev/null 2>&1
answer fine
"#;

/// A run under a frame: the vendor, flags for the frame, arguments for `mh-run`, and the stand-in's body.
type Scene = (&'static str, &'static [&'static str], &'static [&'static str], String);

const SHELL: &[&str] = &["--admit", "shell", "--handoff-none"];
const ALL: &[&str] = &[
    "--admit",
    "file.read",
    "file.write",
    "file.edit",
    "dir.list",
    "search",
    "shell",
    "web.read",
    "skill.load",
    "subagent.spawn",
    "task.todo",
    "--admit-mcp",
    "m",
    "one",
    "--handoff-none",
];

/// Runs without an embedder that together write every event that such runs can.
fn scenes() -> Vec<Scene> {
    let ended = |record: &str| format!("begin; say '{{\"type\":\"result\",{record}}}'");
    let owes = &["--admit", "shell", "--handoff-artifact", "plan.md"][..];
    let withheld =
        "begin; use c1 Write '{}'; result c1 true '<tool_use_error>Write is disabled for this session'; answer fine";
    let failed = r#"say '{"type":"system","subtype":"hook_response","hook_name":"PreToolUse:Bash","exit_code":127,"outcome":"error"}'"#;
    let refused = r#"say '{"type":"system","subtype":"api_retry","error_status":401}'"#;
    let edited = "begin; sed -i s/shell/search/ \"$ROOM/frame.json\"; hook UserPromptSubmit x x '{}'";
    vec![
        ("claude", ALL, &[], format!("{TELLS}call c1 Bash '{{\"command\":\"x\"}}'{ENDS}")),
        ("claude", SHELL, &["--hermetic"], "begin; call c1 WebFetch '{}'; answer fine".into()),
        (
            "claude",
            SHELL,
            &["--decisions", "deny-only"],
            "begin; call c1 Bash '{\"command\":\"x\"}'; answer fine".into(),
        ),
        ("claude", SHELL, &[], withheld.into()),
        // the hook cannot decide
        (
            "claude",
            SHELL,
            &[],
            "begin; sed -i s/shell/search/ \"$ROOM/frame.json\"; call c1 Bash '{}'; answer fine".into(),
        ),
        (
            "claude",
            SHELL,
            &[],
            "say '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\",\"mcp_servers\":[{\"name\":\"lab\",\"status\":\"failed\"}]}'; \
             answer fine"
                .into(),
        ),
        ("claude", owes, &[], "begin; answer fine".into()),
        ("claude", owes, &["--handoff-check"], "begin; answer fine".into()),
        (
            "claude",
            SHELL,
            &[],
            format!(
                "say '{{\"type\":\"system\",\"subtype\":\"init\"}}'; {refused}; {failed}; use c1 Bash '{{}}'; result c1 false ran; answer fine"
            ),
        ),
        (
            "claude",
            SHELL,
            &[],
            ended(r#""subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: 429""#),
        ),
        ("claude", SHELL, &[], ended(r#""subtype":"error_max_turns","is_error":true"#)),
        (
            "claude",
            SHELL,
            &[],
            ended(r#""subtype":"success","is_error":false,"num_turns":1,"stop_reason":"max_tokens","result":"half""#),
        ),
        (
            "claude",
            SHELL,
            &[],
            format!("{edited}; {}", &ended(r#""subtype":"success","is_error":false,"num_turns":0,"result":"""#)[7..]),
        ),
        ("claude", SHELL, &[], "begin; kill -9 $$".into()),
        ("claude", SHELL, &["--timeout", "1"], "begin; exec sleep 600".into()),
        ("claude", SHELL, &[], "begin; use c1 Bash '{}'; sleep 1; kill -s TERM $PPID; exec sleep 600".into()),
        ("codex", SHELL, &[], CODEX.into()),
        ("codex", SHELL, &[], "begin; ran x1 WebSearch ''; answer fine".into()),
        (
            "codex",
            ALL,
            &[],
            "begin; hook PreToolUse view_image x1 '{\"path\":\"/a\"}'; told x1 seen; answer fine".into(),
        ),
    ]
}

/// The lines of a scene in this output format.
fn lines_of(scene: &Scene, form: &str) -> Vec<Value> {
    let (kind, sealed, told, body) = scene;
    let room = Room::new();
    room.seal(sealed);
    fs_err::write(room.path("project/CLAUDE.md"), "left out").unwrap();
    room.claude(body).codex(body);
    told_by(room.governed(kind, &[&["--output-format", form], *told].concat()))
}

/// The lines of a run with an empty stdin.
fn told_by(mut command: Command) -> Vec<Value> {
    let output = command.output().unwrap();
    assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines of a run whose embedder answers each line by these commands.
fn play(mut command: Command, answer: impl Fn(&Value) -> Vec<String>) -> Vec<Value> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        for command in answer(&line) {
            // the run may have ended
            let _ = stdin.write_all(format!("{command}\n").as_bytes());
        }
        line
    });
    let lines = lines.collect();
    child.wait().unwrap();
    lines
}

fn command(id: &str, rest: &Value) -> String {
    let mut line = json!({"format": "metaharness.command/1", "id": id});
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line.to_string()
}

fn decide(call: &str, decision: &Value) -> String {
    command(call, &json!({"command": "tool.decide", "call_id": call, "decision": decision}))
}

/// An embedder that decides by the call's name, and sends wrong commands too.
fn embedder(line: &Value) -> Vec<String> {
    let odd = || {
        vec![
            "odd".into(),
            decide("nobody", &json!({"decision": "allow"})),
            command("2", &json!({"command": "steer", "text": "left"})),
        ]
    };
    match (line["event"].as_str().unwrap(), line["call_id"].as_str()) {
        ("turn.started", _) => odd(),
        ("tool.requested", Some("allow" | "nested" | "kept")) if line["decision_required"] == true => {
            vec![decide(line["call_id"].as_str().unwrap(), &json!({"decision": "allow"}))]
        }
        ("tool.requested", Some("abstain")) => vec![decide("abstain", &json!({"decision": "abstain"}))],
        ("tool.requested", Some("deny")) => vec![decide("deny", &json!({"decision": "deny", "reason": "no"}))],
        ("tool.requested", Some("replace")) => {
            vec![decide("replace", &json!({"decision": "replace", "input": {"command": "y"}}))]
        }
        ("tool.decided", Some("allow")) => vec![decide("allow", &json!({"decision": "allow"}))],
        ("tool.requested", Some(stop @ ("halt" | "interrupt"))) => {
            vec![command("stop", &json!({"command": stop, "reason": ""}))]
        }
        _ => Vec::new(),
    }
}

fn asked() -> Vec<Value> {
    let calls = r#"
begin
call allow Bash '{"command":"x"}'; call allow Bash '{"command":"other"}'
call abstain Bash '{"command":"x"}'; call deny Bash '{"command":"x"}'; call replace Bash '{"command":"x"}'
call path Read '{"file_path":"/a"}'
printf '{"session_id":"s1","prompt_id":"p","agent_id":"a1","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"nested"}' | "$program" $words > /dev/null 2>&1
answer fine
"#;
    let mut lines = Vec::new();
    for (body, told) in [
        (calls, &["--deadline", "2"][..]),
        ("begin; call halt Bash '{\"command\":\"x\"}'; exec sleep 600", &[]),
        (
            "begin; use interrupt Bash '{\"command\":\"x\"}'; call interrupt Bash '{\"command\":\"x\"}'; exec sleep 600",
            &[],
        ),
        // an audit by --audit holds no inputs
        ("begin; call replace Bash '{\"command\":\"x\"}'; answer fine", &["--audit", "../kept.jsonl"]),
        ("", &["--needs", "steer"]),
        ("", &["--", "--settings", "{}"]),
    ] {
        let room = Room::new();
        room.claude(body);
        lines.extend(play(room.governed("claude", &[&["--decisions", "ask"], told].concat()), embedder));
    }
    lines
}

#[test]
fn runs_write_every_event_of_the_schema() {
    let mut seen = Seen::of("event");
    for lines in side_by_side(&scenes(), |scene| lines_of(scene, "events")) {
        assert_eq!((&lines[0]["event"], &lines[0]["seq"]), (&json!("session.started"), &json!(1)), "{lines:?}");
        lines.iter().for_each(|line| seen.look(line));
    }
    asked().iter().for_each(|line| seen.look(line));
    // a run without a frame, and one on an unknown release
    let room = Room::new();
    room.claude("begin; use c1 Bash '{}'; hook PreToolUse Bash c1 '{}'; result c1 false ran; answer fine");
    let script = fs_err::read_to_string(room.path("bin/claude")).unwrap();
    room.program("bin/claude", &script.replace("2.1.332", "9.0.0"));
    let lines = told_by(room.command("claude", &["-p", "do it", "--output-format", "events"]));
    lines.iter().for_each(|line| seen.look(line));
    // an audit by --audit holds no inputs, not even those of a decider
    let room = Room::new();
    let decision = r#"{"format":"metaharness.command/1","id":"1","command":"tool.decide","call_id":"c1","decision":{"decision":"replace","input":{"command":"y"}}}"#;
    let decider =
        format!("exec:{}", room.program("decide", &format!("#!/bin/sh\ncat >&2\necho '{decision}'\n")).display());
    let audit = room.path("kept");
    room.claude("begin; call c1 Bash '{}'; answer fine");
    let arguments = ["--output-format", "events", "--decider", &decider, "--audit", audit.to_str().unwrap()];
    told_by(room.governed("claude", &arguments)).iter().for_each(|line| seen.look(line));
    seen.is_all_but(&[
        "#/$defs/session.ended/properties/error is left out",
        "#/$defs/session.started/properties/driver_version is left out",
        "#/$defs/session.started/properties/vendor_version is left out",
        "#/$defs/tool.result/properties/is_error is \"null\"",
    ]);
}

#[test]
fn runs_write_every_record_of_the_schema() {
    let mut seen = Seen::of("stream");
    for lines in side_by_side(&scenes(), |scene| lines_of(scene, "stream-json")) {
        assert_eq!(lines.last().unwrap()["type"], "result", "{lines:?}");
        lines.iter().for_each(|line| seen.look(line));
    }
    let room = Room::new();
    let text = r#"#!/bin/sh
say() { printf '{"format":"metaharness.command/1","id":"1","command":"tool.decide","call_id":"%s","decision":%s}\n' "$1" "$2"; }
read -r line
case $line in
  *'"allow"'*) say allow '{"decision":"allow"}' ;;
  *'"deny"'*) say deny '{"decision":"deny","reason":"no"}' ;;
  *'"late"'*) sleep 600 ;;
esac
"#;
    let decider = room.program("decide", text);
    let calls = "call allow Bash '{}'; call deny Bash '{}'; call broken Bash '{}'; words=\"$words --deadline 1\"; call late Bash '{}'";
    room.claude(&format!("begin; {calls}; answer fine"));
    let decider = format!("exec:{}", decider.display());
    let arguments = ["--output-format", "stream-json", "--decider", &decider];
    told_by(room.governed("claude", &arguments)).iter().for_each(|line| seen.look(line));
    let arguments = ["-p", "do it", "--output-format", "stream-json"];
    told_by(room.command("claude", &arguments)).iter().for_each(|line| seen.look(line));
    seen.is_all_but(&[
        "#/$defs/init/properties/driver_version is left out",
        "#/$defs/result/properties/cost_usd is left out",
        "#/$defs/result/properties/driver_version is left out",
        "#/$defs/tool_result/properties/status is \"unknown\"",
    ]);
}

#[test]
fn every_command_of_the_schema_is_read() {
    let mut seen = Seen::of("command");
    let well = |line: &str| {
        protocol::Command::read(line.as_bytes()).is_ok_and(|command| match command.order {
            protocol::CommandKind::Decide { .. } => true,
            protocol::CommandKind::Other(other) => other.carried().is_ok(),
        })
    };
    let decided = |decision: &Value| json!({"command": "tool.decide", "call_id": "c", "decision": decision});
    for rest in [
        decided(&json!({"decision": "allow"})),
        decided(&json!({"decision": "abstain"})),
        decided(&json!({"decision": "deny", "reason": "no"})),
        decided(&json!({"decision": "replace", "input": {}})),
        json!({"command": "frame.set", "frame": {}}),
        json!({"command": "message.inject", "text": ""}),
        json!({"command": "steer", "text": ""}),
        json!({"command": "permission.set", "posture": ""}),
        json!({"command": "interrupt", "reason": ""}),
        json!({"command": "halt", "reason": ""}),
    ] {
        let line = command("1", &rest);
        assert!(well(&line), "{line}");
        let value: Value = serde_json::from_str(&line).unwrap();
        seen.look(&value);
        // each field is required, and none is a number
        for (name, field) in value.as_object().unwrap() {
            let (mut without, mut other) = (value.clone(), value.clone());
            without.as_object_mut().unwrap().remove(name);
            other[name] = json!(7);
            for broken in [without, other] {
                let wrong = (well(&broken.to_string()), schema::fits("command", &broken));
                assert_eq!(wrong, (false, false), "{name} of {field}: {broken}");
            }
        }
    }
    for decision in [
        json!("allow"),
        json!({}),
        json!({"decision": "ask"}),
        json!({"decision": "deny"}),
        json!({"decision": "deny", "reason": " \n"}),
        json!({"decision": "deny", "reason": 1}),
        json!({"decision": "replace"}),
    ] {
        let line = command("1", &decided(&decision));
        let value = serde_json::from_str(&line).unwrap();
        assert_eq!((well(&line), schema::fits("command", &value)), (false, false), "{line}");
    }
    // the line that a run passes on to its hooks
    let mut asking = Embedder::new(&Claude, Duration::ZERO, OnEof::Deny);
    let now = Instant::now();
    let (sender, answers) = channel();
    let ask = |id: &str| json!({"call_id": id, "name": "Bash", "input": {}}).to_string();
    asking.asked(1, ask("late").as_bytes(), sender.clone(), now);
    asking.run_out(now);
    asking.asked(2, ask("left").as_bytes(), sender, now);
    asking.over();
    drop(asking);
    for answer in answers {
        seen.look(&serde_json::from_str(&answer).unwrap());
    }
    seen.is_all();
}

#[test]
fn the_schemas_and_the_code_have_the_same_words() {
    let words = |schema: &Value, at: &str| -> Vec<String> {
        let list = schema.pointer(at).and_then(Value::as_array).unwrap_or_else(|| panic!("no list at {at}"));
        let word =
            |one: &Value| one.as_str().or(one["$ref"].as_str()).unwrap().trim_start_matches("#/$defs/").to_string();
        list.iter().map(word).collect()
    };
    let source = |file: &str| fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let event = &schema::read("event");
    // each event's name stands in an attribute
    let renamed: Vec<String> = source("shared/protocol/event/mod.rs")
        .lines()
        .filter_map(|line| Some(line.trim().strip_prefix("#[serde(rename = \"")?.strip_suffix("\")]")?.into()))
        .collect();
    let sorted = |mut words: Vec<String>| {
        words.sort();
        words
    };
    assert_eq!(sorted(renamed), sorted(words(event, "/oneOf")));
    let warnings: Vec<&str> = Warning::ALL.iter().map(|code| code.word()).collect();
    assert_eq!(warnings, words(event, "/$defs/warning/properties/code/enum"));
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.word()).collect();
    let refused = "/$defs/command.result/properties/outcome/oneOf/1/properties/refused/properties/code/enum";
    assert_eq!(codes, words(event, refused));
    let commands: Vec<&str> = protocol::commands().collect();
    assert_eq!(commands, words(&schema::read("command"), "/oneOf"));
    let operations: Vec<&str> = metaharness::frame::BARE_OPERATIONS.iter().map(|operation| operation.name()).collect();
    for schema in [event, &schema::read("frame")] {
        assert_eq!(operations, words(schema, "/$defs/operation/oneOf/0/properties/op/enum"));
    }
}

/// Run a program in the fixtures' folder; its exit code, stdout and stderr.
fn run(program: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(crate::common::program(program))
        .args(arguments)
        .env_clear()
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn schemas_are_printed_by_name_and_are_valid() {
    for name in schema::SCHEMAS {
        let (code, stdout, _) = run("mh-run", &["schema", name]);
        assert_eq!((code, stdout.as_str()), (Some(0), &*schema::text(name)));
        // the check of a value fails if the file is no schema
        assert!(!schema::fits(name, &Value::Null), "{name}");
        // printed schemas allow fields that are added later; the frame's allows none
        assert_eq!(stdout.contains("\"additionalProperties\": false"), name == "frame", "{name}");
    }
    let (code, stdout, _) = run("mh-run", &["schema"]);
    assert_eq!((code, stdout.lines().collect::<Vec<_>>()), (Some(0), schema::SCHEMAS.to_vec()));
    let (last, others) = schema::SCHEMAS.split_last().unwrap();
    let there = format!("\"turn\" is no schema; there are {} and {last}; see --help", others.join(", "));
    for (arguments, why) in [
        (&["schema", "turn"][..], &*there),
        (&["schema", "events"], "\"events\" is no schema; did you mean event?"),
        (&["schema", "event", "frame"], "there is no argument \"frame\": schema prints one at a time"),
    ] {
        let (code, stdout, stderr) = run("mh-run", arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""));
        assert!(stderr.starts_with("mh-run: ") && stderr.contains(why), "{stderr}");
    }
}

#[test]
fn capabilities_agree_with_the_run() {
    let mut seen = Seen::of("capabilities");
    for vendor in adapter::ALL.iter().copied() {
        let word = vendor.facts().word;
        let (code, stdout, _) = run("mh-run", &["capabilities", word, "--output-format", "json"]);
        let value: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((code, &value["adapter"]), (Some(0), &json!(word)));
        seen.look(&value);
        assert_eq!(value["measured"], vendor.facts().table.release);
        assert_eq!(value["oldest"], vendor.facts().oldest);
        // as the run itself answers at its start
        for ((name, why), row) in controls(vendor).zip(value["commands"].as_array().unwrap()) {
            assert_eq!((row["command"].as_str(), row["honoured"].as_bool()), (Some(name), Some(why.is_none())));
            let room = Room::new();
            room.claude("begin; answer fine").codex("begin; answer fine");
            let arguments = ["--decisions", "ask", "--needs", name];
            let lines = told_by(room.governed(word, &arguments));
            let refused = lines.iter().find(|line| line["event"] == "command.result");
            let refused = refused.map_or(Value::Null, |line| line["outcome"]["refused"]["code"].clone());
            assert_eq!(row["refused"].get("code").cloned().unwrap_or_default(), refused, "{name}");
        }
        // and as the hook's own table lists its tools
        let (_, table, _) = run(&format!("mh-hook-{word}"), &["--table"]);
        let names = |list: &str, at: &str| -> Vec<String> {
            let rows = value[list].as_array().unwrap().iter();
            rows.flat_map(|row| match &row[at] {
                Value::Array(all) => all.iter().map(|one| one.as_str().unwrap().into()).collect(),
                one => vec![one.as_str().unwrap().to_string()],
            })
            .collect()
        };
        let told = [names("operations", "tools"), names("conversation", "tool"), names("denied", "tool")].concat();
        for row in table.lines().skip(1).filter(|row| !row.starts_with("any other")) {
            let name = row.split_whitespace().next().unwrap();
            assert!(told.iter().any(|tool| tool == name), "{name} is in no row of the capabilities");
        }
        let (code, text, _) = run("mh-run", &["capabilities", word]);
        assert_eq!(code, Some(0));
        for name in told.iter().chain(&names("commands", "command")) {
            assert!(text.contains(name.as_str()), "{name}: {text}");
        }
    }
    seen.is_all();
    for (arguments, why) in [
        (&["capabilities"][..], "no vendor is given: claude or codex"),
        (&["capabilities", "cursor"], "\"cursor\" is no vendor; there are claude and codex"),
        (&["capabilities", "codex", "--output-format", "events"], "--output-format takes text or json, not \"events\""),
    ] {
        let (code, stdout, stderr) = run("mh-run", arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""));
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn the_schema_of_frames_agrees_with_the_verifier() {
    let mut seen = Seen::of("frame");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut refused = 0;
    for entry in fs_err::read_dir(folder.join("documents")).unwrap() {
        let file = entry.unwrap().path();
        let Ok(value) = serde_json::from_slice::<Value>(&fs_err::read(&file).unwrap()) else { continue };
        let (_, stdout, _) = run("mh-frame-verify", &["--json", file.to_str().unwrap()]);
        let verdict: Value = serde_json::from_str(&stdout).unwrap();
        schema::holds("verify", &verdict);
        match verdict["refusal"]["name"].as_str() {
            None => seen.look(&value),
            // an edited document has the right shape
            Some("edited") => {}
            Some(_) => {
                // no schema can see duplicate keys or the spelling of a number
                let why = verdict["refusal"]["why"].as_str().unwrap();
                let unseen = why.contains("stands twice") || why.contains("not a whole number");
                assert!(unseen || !schema::fits("frame", &value), "{}", file.display());
                refused += usize::from(!unseen);
            }
        }
    }
    assert!(refused >= 10, "{refused}");
    let room = Room::new();
    let some = [
        "--prior",
        "a",
        "--source",
        "b",
        "--prior",
        "c",
        "--obligation",
        "d",
        "--asked-by",
        "e",
        "--reaching",
        "f",
        "--next",
        "g",
        "--entities-from",
        "h",
        "--entity",
        "i",
        "--scope",
        "**",
        "file.read",
    ];
    for flags in [
        &[ALL, &some[..]].concat()[..],
        &["--handoff-artifact", "a", "--kind", "b"],
        &["--handoff-artifact", "a"],
        &["--handoff-answer", "a"],
    ] {
        room.seal(flags);
        let mut frame: Value = serde_json::from_str(&room.text("frame.json")).unwrap();
        seen.look(&frame);
        // null members may be left out, and so may an empty list of path rules
        leave_out(&mut frame);
        if frame.get("subjects").is_none() {
            frame["subjects"] = json!({});
        }
        fs_err::write(room.path("frame.json"), frame.to_string()).unwrap();
        assert_eq!(run("mh-frame-verify", &[room.path("frame.json").to_str().unwrap()]).0, Some(0), "{frame}");
        seen.look(&frame);
    }
    seen.is_all();
}

fn leave_out(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(leave_out);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out),
        _ => {}
    }
}

#[test]
fn verify_prints_every_field_of_its_schema() {
    let mut seen = Seen::of("verify");
    let room = Room::new();
    fs_err::File::create(room.path("large")).unwrap().set_len(17 * 1024 * 1024).unwrap();
    let large = room.path("large").display().to_string();
    let documents = [
        "documents/golden.json",
        "documents/edited-admits-more.json",
        "documents/digest-missing.json",
        "documents/array.json",
        "documents/format-missing.json",
        "documents/op-unknown.json",
        "nothing",
        &large,
        "documents/mcp-underscores.json",
    ];
    let pin = "0".repeat(64);
    for arguments in [&documents[..], &["documents/golden.json", "--digest", &pin]] {
        let (_, stdout, _) = run("mh-frame-verify", &[&["--json"], arguments].concat());
        stdout.lines().for_each(|line| seen.look(&serde_json::from_str(line).unwrap()));
    }
    let (_, stdout, _) = run("mh-frame-verify", &["documents/golden.json", "--print", "enforced", "--json"]);
    seen.look(&serde_json::from_str(&stdout).unwrap());
    // and what mh-frame-seal says in the same form
    let faulty = room.path("faulty.json");
    fs_err::write(&faulty, format!("{{\"next\": [{}0]}}", "0,".repeat(200))).unwrap();
    let doubtful = "--new --workflow w --version 1 --state s --step 1 --attempt 0 --handoff-none";
    for arguments in [vec![faulty.to_str().unwrap()], doubtful.split(' ').collect()] {
        let (_, stdout, _) = run("mh-frame-seal", &[&["--json"], &arguments[..]].concat());
        seen.look(&serde_json::from_str(&stdout).unwrap());
    }
    seen.is_all();
}

#[test]
fn audits_have_every_field_of_their_schema() {
    let mut seen = Seen::of("audit");
    let room = Room::new();
    let text = r#"#!/bin/sh
read -r line
say() { printf '{"format":"metaharness.command/1","id":"1","command":"tool.decide","call_id":"c","decision":%s}\n' "$1"; }
case $line in
  *'"allow"'*) say '{"decision":"allow"}' ;;
  *'"replace"'*) say '{"decision":"replace","input":{"command":"y"}}' ;;
  *'"late"'*) sleep 600 ;;
esac
"#;
    let decider = room.program("decide", text);
    let (audit, frame) = (room.path("audit.jsonl"), room.path("frame.json"));
    let fire = |vendor: &str, told: &[&str], payload: &str| {
        let mut command = Command::new(crate::common::program(&format!("mh-hook-{vendor}")));
        command
            .env_clear()
            .args(told)
            .arg("--audit")
            .arg(&audit)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        child.wait().unwrap();
    };
    let call = |command: &str| {
        json!({"session_id": "s", "prompt_id": "p", "agent_id": "a", "cwd": "/", "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "c"})
        .to_string()
    };
    let frame = ["--frame", frame.to_str().unwrap()];
    let decider = format!("exec:{}", decider.display());
    let asking = [&frame[..], &["--decider", &decider, "--deadline", "1"]].concat();
    fire("claude", &frame, &call("allow"));
    fire("claude", &[&frame[..], &["--policy", "deny-only"]].concat(), &call("abstain"));
    fire("claude", &[], "no payload");
    fire("claude", &frame, "no payload");
    fire("codex", &frame, "{\"turn_id\":\"t\",\"hook_event_name\":\"PreToolUse\"}");
    fire("claude", &asking, &call("allow"));
    fire("claude", &asking, &call("replace"));
    fire("claude", &[&asking[..], &["--audit-input"]].concat(), &call("replace"));
    fire("claude", &asking, &call("late"));
    fire("claude", &asking, &call("broken"));
    for tool in ["mcp__lab__note", "mcp__a__b__note"] {
        fire("claude", &frame, &call("mcp").replace("Bash", tool));
    }
    room.text("audit.jsonl").lines().for_each(|line| seen.look(&serde_json::from_str(line).unwrap()));
    seen.is_all();
}
