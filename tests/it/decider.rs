//! The decider of both hooks, black box: its decision goes out whole or is denied by name, and every fault of a decider
//! is a denial that names the fault.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{executable, schema};

const CLAUDE: &str = env!("CARGO_BIN_EXE_mh-hook-claude");
const CODEX: &str = env!("CARGO_BIN_EXE_mh-hook-codex");

struct Room {
    folder: tempfile::TempDir,
}

struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    audit: Value,
}

impl Answer {
    fn specific(&self) -> Value {
        let answer: Value = serde_json::from_str(&self.stdout).unwrap();
        answer["hookSpecificOutput"].clone()
    }

    /// Check for a denial in all three forms; the reason.
    #[track_caller]
    fn denied(&self) -> String {
        assert_eq!(self.code, Some(2), "{} {}", self.stdout, self.stderr);
        assert_eq!(self.specific()["permissionDecision"], "deny");
        assert_eq!(self.audit["decision"]["decision"], "deny");
        self.stderr.trim_end().into()
    }
}

impl Room {
    fn new() -> Room {
        let room = Room { folder: tempfile::tempdir().unwrap() };
        room.seal(&["shell", "file.write", "skill.load"]);
        room
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn seal(&self, operations: &[&str]) {
        let sealed = Command::new(env!("CARGO_BIN_EXE_mh-frame-seal"))
            .args(["--new", "--workflow", "w", "--version", "1", "--state", "s", "--step", "1", "--handoff-none"])
            .args(["--scope", "file:**/secret/**", "none", "--scope", "file:**", "file.write"])
            .arg("--admit")
            .args(operations)
            .arg("-o")
            .arg(self.path("frame.json"))
            .status();
        assert!(sealed.unwrap().success());
    }

    /// Make a decider in shell. `$line` is the question, `$id` its call.
    fn program(&self, body: &str) -> String {
        let path = self.path("decider");
        let text = format!(
            "#!/bin/sh\nread -r line\nid=${{line#*'\"call_id\":\"'}}\nid=${{id%%'\"'*}}\nsay() {{ printf \
             '{{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"%s\",\
             \"decision\":%s}}\\n' \"$id\" \"$1\"; }}\n{body}\n"
        );
        executable(&path, &text);
        format!("exec:{}", path.display())
    }

    fn ask(&self, hook: &str, decider: &str, more: &[&str], payload: &Value) -> Answer {
        let audit = self.path("audit.jsonl");
        let _ = fs_err::remove_file(&audit);
        let mut child = Command::new(hook)
            .arg("--frame")
            .arg(self.path("frame.json"))
            .args(["--decider", decider, "--audit"])
            .arg(&audit)
            .args(more)
            .env_clear()
            .env("CLAUDE_PROJECT_DIR", self.folder.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // on a busy machine, a hook with a short deadline may end before the whole payload is written
        let _ = child.stdin.take().unwrap().write_all(payload.to_string().as_bytes());
        let out = child.wait_with_output().unwrap();
        let line = fs_err::read_to_string(&audit).unwrap_or_default();
        line.lines().for_each(|line| schema::holds("audit", &serde_json::from_str(line).unwrap()));
        Answer {
            code: out.status.code(),
            stdout: String::from_utf8(out.stdout).unwrap(),
            stderr: String::from_utf8(out.stderr).unwrap(),
            audit: serde_json::from_str(&line).unwrap_or(Value::Null),
        }
    }

    fn bash(&self, hook: &str, body: &str, more: &[&str]) -> Answer {
        let decider = self.program(body);
        self.ask(hook, &decider, more, &payload(hook, "Bash", json!({"command": "old"})))
    }
}

fn payload(hook: &str, tool: &str, input: Value) -> Value {
    let mark = if hook == CLAUDE { "prompt_id" } else { "turn_id" };
    json!({"session_id": "s1", mark: "m", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": tool,
        "tool_input": input, "tool_use_id": "call-1"})
}

#[test]
fn an_allow_grants_and_an_abstain_claims_nothing() {
    let room = Room::new();
    let allowed = room.bash(CLAUDE, r#"say '{"decision":"allow"}'"#, &[]);
    assert_eq!((allowed.code, &allowed.specific()["permissionDecision"]), (Some(0), &json!("allow")));
    assert_eq!(
        (&allowed.audit["decided_by"], &allowed.audit["decision"]["decision"]),
        (&json!("embedder"), &json!("allow"))
    );
    for (hook, body, more) in [
        (CLAUDE, r#"say '{"decision":"abstain"}'"#, &[][..]),
        (CLAUDE, r#"say '{"decision":"allow"}'"#, &["--policy", "deny-only"]),
        (CODEX, r#"say '{"decision":"abstain"}'"#, &[]),
        (CODEX, r#"say '{"decision":"allow"}'"#, &[]),
    ] {
        let silent = room.bash(hook, body, more);
        assert_eq!((silent.code, silent.stdout.as_str(), silent.stderr.as_str()), (Some(0), "", ""));
        assert_eq!(
            (&silent.audit["decided_by"], &silent.audit["decision"]["decision"]),
            (&json!("embedder"), &json!("abstain"))
        );
    }
}

#[test]
fn a_denial_carries_the_embedders_own_words() {
    let room = Room::new();
    for hook in [CLAUDE, CODEX] {
        let denied = room.bash(hook, r#"say '{"decision":"deny","reason":"not on a Friday — später"}'"#, &[]);
        let reason = denied.denied();
        assert!(reason.starts_with("not on a Friday — später (decided by the embedder; frame "), "{reason}");
        assert_eq!(denied.audit["decided_by"], "embedder");
    }
}

#[test]
fn a_replaced_input_goes_out_whole() {
    let room = Room::new();
    let body = r#"say '{"decision":"replace","input":{ "command":"new", "timeout":1.50,"description":"\u00e4"}}'"#;
    let granted = room.bash(CLAUDE, body, &[]);
    assert_eq!(
        granted.stdout,
        "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\",\"updatedInput\":{ \
         \"command\":\"new\", \"timeout\":1.50,\"description\":\"\\u00e4\"}}}\n"
    );
    assert_eq!((granted.code, granted.stderr.as_str()), (Some(0), ""));
    assert_eq!(granted.audit["decision"], json!({"decision": "replace"}));
    assert_eq!(granted.audit["decided_by"], "embedder");
    // under deny-only, the vendor's own rules decide about the new input
    let left = room.bash(CLAUDE, body, &["--policy", "deny-only"]).specific();
    assert_eq!((left.get("permissionDecision"), &left["updatedInput"]["command"]), (None, &json!("new")));
    // on Codex the new input counts only beside a decision; else the old input runs
    for more in [&[][..], &["--policy", "deny-only"]] {
        let codex = room.bash(CODEX, r#"say '{"decision":"replace","input":{"command":"new"}}'"#, more).specific();
        assert_eq!(
            (&codex["permissionDecision"], &codex["updatedInput"]),
            (&json!("allow"), &json!({"command": "new"}))
        );
    }
}

#[test]
fn an_input_that_the_vendor_would_not_run_is_denied_by_name() {
    let room = Room::new();
    let replace = |input: &str| format!(r#"say '{{"decision":"replace","input":{input}}}'"#);
    for (hook, tool, input, new, why) in [
        (CLAUDE, "Bash", json!({"command": "old"}), "\"new\"", "is given an input that is not an object"),
        (CLAUDE, "Bash", json!({"command": "old"}), "null", "is given an input that is not an object"),
        (
            CODEX,
            "Bash",
            json!({"command": "old"}),
            "{\"cmd\":\"new\"}",
            "has `cmd` in the replaced input, which is not taken there: what is taken is command",
        ),
        (
            CODEX,
            "Bash",
            json!({"command": "old"}),
            "{\"command\":\"new\",\"workdir\":\"/\"}",
            "has `workdir` in the replaced input, which is not taken there: what is taken is command",
        ),
        (
            CODEX,
            "Bash",
            json!({"command": "old"}),
            "{}",
            "has no `command` in the replaced input, where a string has to be",
        ),
        (CODEX, "apply_patch", json!({"command": "*** Add File: a"}), "{\"command\":[]}", "has an array as `command`"),
        (
            CLAUDE,
            "Bash",
            json!({"command": "old"}),
            "{\"command\":5}",
            "has a number as `command` in the replaced input",
        ),
        (
            CLAUDE,
            "Write",
            json!({"file_path": "/a"}),
            "{\"file_path\":\"/a\"}",
            "has no `content` in the replaced input",
        ),
        (
            CLAUDE,
            "Write",
            json!({"file_path": "/a"}),
            "{\"file_path\":\"~/a\",\"content\":\"\"}",
            "has a `file_path` in the replaced input that is not",
        ),
        (
            CLAUDE,
            "PowerShell",
            json!({"command": "old"}),
            "{\"command\":\"new\"}",
            "was not seen to run a replaced input",
        ),
        (CODEX, "exec", json!({"command": "old"}), "{\"command\":\"new\"}", "was not seen to run a replaced input"),
    ] {
        let decider = room.program(&replace(new));
        let answer = room.ask(hook, &decider, &[], &payload(hook, tool, input));
        let reason = answer.denied();
        assert!(reason.starts_with(&format!("{tool} {why}")), "{reason}");
        assert!(reason.contains("the embedder replaced the input, and that cannot be delivered"), "{reason}");
        assert_eq!(answer.audit["decided_by"], "adapter");
    }
    let mut skill = payload(CLAUDE, "Bash", json!({"command": "old"}));
    skill["hook_event_name"] = json!("PreSkillShellCommand");
    let decider = room.program(&replace("{\"command\":\"new\"}"));
    let reason = room.ask(CLAUDE, &decider, &[], &skill).denied();
    assert!(reason.starts_with("Bash takes no replaced input at PreSkillShellCommand"), "{reason}");
}

#[test]
fn a_replaced_input_is_judged_by_frame_scope_and_self_protection() {
    let room = Room::new();
    let replace = |path: &Path| {
        let input = json!({"decision": "replace", "input": {"file_path": path, "content": "x"}});
        room.program(&format!("say '{input}'"))
    };
    let write = payload(CLAUDE, "Write", json!({"file_path": "/a", "content": "x"}));
    for (path, why) in [
        (room.path("frame.json"), "which is the frame in force"),
        (room.path("decider"), "which is the decider of this step"),
        (room.path("secret/a"), "which path rule 1"),
    ] {
        let decider = replace(&path);
        let answer = room.ask(CLAUDE, &decider, &[], &write);
        let reason = answer.denied();
        assert!(reason.contains(why), "{reason}");
        assert_eq!(answer.audit["decided_by"], "frame");
    }
    let decider = replace(&room.path("open"));
    assert_eq!(room.ask(CLAUDE, &decider, &[], &write).specific()["permissionDecision"], "allow");
}

#[test]
fn the_decider_is_asked_only_about_what_the_frame_admits() {
    let room = Room::new();
    let decider = room.program(&format!("touch '{}'; say '{{\"decision\":\"allow\"}}'", room.path("asked").display()));
    let ask = |tool: &str, event: &str| {
        let mut payload = payload(CLAUDE, tool, json!({"url": "x", "file_path": "/a"}));
        payload["hook_event_name"] = json!(event);
        room.ask(CLAUDE, &decider, &[], &payload)
    };
    ask("WebFetch", "PreToolUse").denied();
    ask("Nonsense", "PreToolUse").denied();
    for (tool, event) in [("ToolSearch", "PreToolUse"), ("Bash", "PermissionRequest"), ("Bash", "PostToolUse")] {
        assert_eq!(ask(tool, event).code, Some(0));
    }
    assert!(!room.path("asked").exists());
    let mut unnamed = payload(CLAUDE, "Bash", json!({"command": "x"}));
    unnamed["tool_use_id"] = Value::Null;
    assert!(room.ask(CLAUDE, &decider, &[], &unnamed).denied().contains("no `tool_use_id` to ask about"));
    assert!(!room.path("asked").exists());
    ask("Bash", "PreToolUse");
    assert!(room.path("asked").exists());
}

#[test]
fn the_question_is_one_line_of_the_protocol() {
    let room = Room::new();
    let body =
        format!("printf '%s\\n' \"$line\" > '{}'; say '{{\"decision\":\"allow\"}}'", room.path("line").display());
    let decider = room.program(&body);
    let mut asked = payload(CLAUDE, "Write", json!({"file_path": "/x/a", "content": "\u{2028}\n"}));
    asked["agent_id"] = json!("a1");
    room.ask(CLAUDE, &decider, &["--deadline", "9"], &asked);
    let line = fs_err::read_to_string(room.path("line")).unwrap();
    schema::line(&line);
    let mut line: Value = serde_json::from_str(line.trim_end_matches('\n')).unwrap();
    let left = line["deadline_ms"].take().as_u64().unwrap();
    assert!((1..=9000).contains(&left), "{left}");
    let digest = line["frame_digest"].take();
    assert_eq!(digest.as_str().map(str::len), Some(64));
    assert_eq!(
        line,
        json!({"format": "metaharness.event/1", "seq": 1, "run": "s1", "event": "tool.requested", "call_id": "call-1",
            "name": "Write", "input": {"file_path": "/x/a", "content": "\u{2028}\n"}, "operations": [{"op": "file.write"}],
            "subjects": ["file:/x/a"], "decision_required": true, "deadline_ms": null, "seam": "hook",
            "vendor": "claude", "agent_id": "a1", "cwd": "/", "frame_digest": null})
    );
}

#[test]
fn every_fault_of_a_program_is_a_denial_that_names_it() {
    let room = Room::new();
    let allow = r#"say '{"decision":"allow"}'"#;
    for (body, why) in [
        ("exit 0", "said nothing"),
        (&*format!("{allow}; echo busy >&2; exit 3"), "ended with exit code 3: busy"),
        (&*format!("{allow}; kill -9 $$"), "was ended by signal 9"),
        (&*format!("{allow}; {allow}"), "said more than one line"),
        ("echo yes", "gave no decision: not one JSON object: byte 0"),
        (&*format!("id=other; {allow}"), "gave no decision: it is about the call other"),
        (r#"say '"allow"'"#, "gave no decision: malformed tool.decide: `decision` is a string"),
        (r#"say '{"decision":"deny","reason":" "}'"#, "a deny whose `reason` is blank"),
        (r#"say '{"decision":"deny","decision":"allow"}'"#, "the key \"decision\" stands twice in one object"),
        (
            r#"echo '{"format":"metaharness.command/1","id":"1","command":"halt","reason":"x"}'"#,
            "it is halt, and only tool.decide",
        ),
        ("head -c 9000000 /dev/zero", "said more than 8388608 bytes"),
    ] {
        for hook in [CLAUDE, CODEX] {
            let answer = room.bash(hook, body, &[]);
            let reason = answer.denied();
            assert!(reason.contains(why), "{body}: {reason}");
            assert!(reason.contains(": the decider exec:/"), "{reason}");
            assert_eq!(answer.audit["decided_by"], "adapter");
        }
    }
    let missing = room.path("missing");
    let bash = payload(CLAUDE, "Bash", json!({"command": "old"}));
    let reason = room.ask(CLAUDE, &format!("exec:{}", missing.display()), &[], &bash).denied();
    assert!(reason.contains("cannot be started: no such file or directory"), "{reason}");
}

#[test]
fn a_late_decider_is_ended_and_the_call_denied() {
    let room = Room::new();
    let mark = format!("mh-test-{}", std::process::id());
    for body in ["sleep 600", r#"say '{"decision":"allow"}'; sleep 600"#, "exec >&-; sleep 600"] {
        let body = format!("sh -c 'sleep 601; : {mark}' & {body}");
        let answer = room.bash(CODEX, &body, &["--deadline", "1"]);
        assert!(answer.denied().contains("was not done when the deadline passed"));
        assert_eq!(answer.audit["decided_by"], "deadline");
    }
    let alive = || {
        fs_err::read_dir("/proc").unwrap().flatten().any(|entry| {
            fs_err::read(entry.path().join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(&mark))
        })
    };
    // a decider that was left alive would stay for ten minutes; one that was killed may take a moment on a busy machine
    (0..6_000).take_while(|_| alive()).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    assert!(!alive(), "a process of the decider is left");
}

#[test]
fn a_grandchild_that_keeps_the_pipes_delays_nothing() {
    let room = Room::new();
    // a hook that waited for the grandchild could only report the deadline
    let body = r#"sleep 600 & say '{"decision":"allow"}'"#;
    assert_eq!(room.bash(CLAUDE, body, &[]).specific()["permissionDecision"], "allow");
}

#[test]
fn a_question_of_megabytes_is_sent_whole_and_need_not_be_read() {
    let room = Room::new();
    let large = payload(CLAUDE, "Write", json!({"file_path": "/a", "content": "x".repeat(5_000_000)}));
    let decider = room.program(r#"printf %s "$line" | wc -c > size; say '{"decision":"allow"}'"#);
    assert_eq!(room.ask(CLAUDE, &decider, &[], &large).specific()["permissionDecision"], "allow");
    fs_err::write(
        room.path("decider"),
        "#!/bin/sh\necho '{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\
         \"call_id\":\"call-1\",\"decision\":{\"decision\":\"allow\"}}'\n",
    )
    .unwrap();
    assert_eq!(room.ask(CLAUDE, &decider, &[], &large).specific()["permissionDecision"], "allow");
}

/// Answer each connection with this until the listener closes.
fn serve(listener: UnixListener, answer: &'static str, read: bool) {
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut byte = [0];
            while read && connection.read(&mut byte).is_ok_and(|got| got == 1) && byte != *b"\n" {}
            let _ = connection.write_all(answer.as_bytes());
            if answer.is_empty() {
                std::thread::sleep(Duration::from_secs(5));
            }
        }
    });
}

#[test]
fn a_socket_gets_one_connection_for_each_call() {
    let room = Room::new();
    const ALLOW: &str = "{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\
                         \"call_id\":\"call-1\",\"decision\":{\"decision\":\"allow\"}}";
    let bash = payload(CLAUDE, "Bash", json!({"command": "old"}));
    let ask = |name: &str, more: &[&str]| room.ask(CLAUDE, &format!("unix:{}", room.path(name).display()), more, &bash);
    let listen = |name: &str| UnixListener::bind(room.path(name)).unwrap();
    serve(listen("good"), ALLOW, true);
    for _ in 0..3 {
        assert_eq!(ask("good", &[]).specific()["permissionDecision"], "allow");
    }
    serve(listen("twice"), "{}\n{}\n", true);
    assert!(ask("twice", &[]).denied().contains("said more than one line"));
    serve(listen("cut"), "{\"format\"", true);
    assert!(ask("cut", &[]).denied().contains("gave no decision: not one JSON object"));
    serve(listen("mute"), "", true);
    let late = ask("mute", &["--deadline", "1"]);
    assert!(late.denied().contains("was not done when the deadline passed"));
    assert_eq!(late.audit["decided_by"], "deadline");
    assert!(ask("absent", &[]).denied().contains("cannot be reached: no such file or directory"));
    drop(listen("dead"));
    assert!(ask("dead", &[]).denied().contains("cannot be reached: connection refused"));
}

#[test]
fn a_listener_that_never_accepts_costs_the_deadline_and_no_more() {
    let room = Room::new();
    let listener = UnixListener::bind(room.path("s")).unwrap();
    // a short queue is soon full
    rustix::net::listen(&listener, 1).unwrap();
    let decider = format!("unix:{}", room.path("s").display());
    let large = payload(CLAUDE, "Write", json!({"file_path": "/a", "content": "x".repeat(5_000_000)}));
    let answer = room.ask(CLAUDE, &decider, &["--deadline", "1"], &large);
    assert!(answer.denied().contains("was not done when the deadline passed"));
    // a full queue makes the next connection wait; it does not fail
    let waiting: Vec<_> = std::iter::from_fn(|| {
        let socket = rustix_connect(&room.path("s"));
        socket.is_some().then_some(socket)
    })
    .take(50)
    .collect();
    assert!(waiting.len() < 50);
    let answer = room.ask(CLAUDE, &decider, &["--deadline", "1"], &payload(CLAUDE, "Bash", json!({"command": "x"})));
    assert_eq!(answer.audit["decided_by"], "deadline");
}

/// A connection that waits to be accepted, if the queue has room.
fn rustix_connect(path: &Path) -> Option<std::os::fd::OwnedFd> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::fs::fcntl_setfl(&socket, rustix::fs::OFlags::NONBLOCK).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).ok().map(|()| socket)
}

#[test]
fn a_write_to_the_decider_is_denied_and_a_wrong_decider_is_a_mistake() {
    let room = Room::new();
    let decider = room.program(r#"say '{"decision":"allow"}'"#);
    let write = payload(CLAUDE, "Write", json!({"file_path": room.path("decider"), "content": "x"}));
    assert!(room.ask(CLAUDE, &decider, &[], &write).denied().contains("which is the decider of this step"));
    let bash = payload(CLAUDE, "Bash", json!({"command": "x"}));
    for wrong in ["exec:decider", "/decider", "tcp:1", ""] {
        assert!(
            room.ask(CLAUDE, wrong, &[], &bash)
                .denied()
                .contains("--decider (or MH_DECIDER) takes exec:/abs/program or unix:/abs/socket, not "),
            "{wrong}"
        );
    }
}
