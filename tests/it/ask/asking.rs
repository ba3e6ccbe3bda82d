//! An embedder for the tests: it starts a run, writes commands and reads lines.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::room::{Room, like};
use crate::common::schema;

/// A time that is long enough on any machine.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// A running turn and the lines so far.
pub struct Asking {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    pub seen: Vec<Value>,
}

/// An ended run: exit code, lines and stderr.
pub struct Over {
    pub code: Option<i32>,
    pub lines: Vec<Value>,
    pub stderr: String,
}

impl Asking {
    /// Start a run under `--decisions ask`.
    pub fn start(room: &Room, kind: &str, more: &[&str]) -> Asking {
        Asking::of(&mut room.governed(kind, &[&["--decisions", "ask"], more].concat()))
    }

    /// Start a command as the run.
    pub fn of(command: &mut Command) -> Asking {
        let (mut run, stdout) = Asking::unread(command);
        run.read(stdout);
        run
    }

    /// Start a command as the run, without reading its stdout yet.
    pub fn unread(command: &mut Command) -> (Asking, ChildStdout) {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        (Asking { stdin: child.stdin.take(), child, lines: channel().1, seen: Vec::new() }, stdout)
    }

    /// Read the run's lines from now on.
    pub fn read(&mut self, stdout: ChildStdout) {
        let (sender, lines) = channel();
        let stdout = BufReader::new(stdout);
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        self.lines = lines;
    }

    /// Write a command line, as far as the run still takes it.
    pub fn say(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        // a run that has ended takes none, and then there is no answer either
        let _ = stdin.write_all(line.as_ref()).and_then(|()| stdin.write_all(b"\n"));
    }

    pub fn command(&mut self, id: &str, rest: Value) {
        self.say(command(id, rest));
    }

    pub fn decide(&mut self, id: &str, call: &str, decision: Value) {
        self.say(decision_line(id, call, decision));
    }

    /// Wait for the next line of this event.
    #[track_caller]
    pub fn next(&mut self, event: &str) -> Value {
        self.until(event, |_| true)
    }

    /// Wait for the next line of this event for which `wanted` holds.
    #[track_caller]
    pub fn until(&mut self, event: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.map_err(|_| format!("no {event} in {}", short(&self.seen))).unwrap();
            schema::line(&line);
            let line: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(line.clone());
            if line["event"] == event && wanted(&line) {
                return line;
            }
        }
    }

    /// Wait for the next answer to a command, which has to be for this one.
    #[track_caller]
    pub fn answered(&mut self, id: &str) -> Value {
        let line = self.next("command.result");
        assert_eq!(line["id"], id, "{}", short(&self.seen));
        line["outcome"].clone()
    }

    /// Check that this command is done.
    #[track_caller]
    pub fn done(&mut self, id: &str) {
        assert_eq!(self.answered(id), json!({"result": "ok", "applies_at": null}));
    }

    /// Check that this command is refused with this code, for a reason with these words.
    #[track_caller]
    pub fn refused(&mut self, id: &str, code: &str, words: &str) {
        let outcome = self.answered(id);
        assert_eq!((&outcome["result"], &outcome["refused"]["code"]), (&json!("refused"), &json!(code)), "{outcome}");
        assert!(outcome["refused"]["reason"].as_str().unwrap().contains(words), "{words}: {outcome}");
    }

    /// Wait for the end, and check what holds for every run.
    #[track_caller]
    pub fn end(mut self) -> Over {
        let closed = self.next("stream.closed");
        assert!(self.lines.recv_timeout(PATIENCE).is_err(), "a line after the last");
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = wait(&mut self.child);
        for (line, seq) in self.seen.iter().zip(1..) {
            assert_eq!((&line["seq"], &line["format"]), (&json!(seq), &json!("metaharness.event/1")));
            assert_eq!(line["run"], closed["run_id"]);
        }
        assert_eq!(closed["events"], self.seen.len() - 1);
        let (mut requested, mut decided) = (Vec::new(), Vec::new());
        for line in &self.seen {
            let call = || line["call_id"].clone();
            match line["event"].as_str().unwrap() {
                "tool.requested" => {
                    assert!(!requested.contains(&call()), "asked for twice: {line}");
                    requested.push(call());
                }
                "tool.decided" => {
                    assert!(requested.contains(&call()) && !decided.contains(&call()), "out of order: {line}");
                    decided.push(call());
                }
                "tool.result" => assert!(requested.contains(&call()), "out of order: {line}"),
                _ => {}
            }
        }
        Over { code, lines: std::mem::take(&mut self.seen), stderr }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Over {
    pub fn names(&self) -> Vec<&str> {
        self.lines.iter().map(|line| line["event"].as_str().unwrap()).collect()
    }

    /// The only line of this event, or the only one about this call.
    #[track_caller]
    pub fn only(&self, event: &str, call: Option<&str>) -> &Value {
        let about = |line: &&Value| line["event"] == event && call.is_none_or(|call| line["call_id"] == call);
        let found: Vec<&Value> = self.lines.iter().filter(about).collect();
        assert_eq!(found.len(), 1, "{event} {call:?} in {}", short(&self.lines));
        found[0]
    }

    pub fn warnings(&self, code: &str) -> Vec<&str> {
        let of = |line: &&Value| line["event"] == "warning" && line["code"] == code;
        self.lines.iter().filter(of).map(|line| line["message"].as_str().unwrap()).collect()
    }

    /// A call's decision, the one who decided, and the reason.
    #[track_caller]
    pub fn decided(&self, call: &str) -> (&str, &str, &str) {
        let line = self.only("tool.decided", Some(call));
        let word = |at| line.pointer(at).and_then(Value::as_str).unwrap_or_default();
        (word("/decision/decision"), word("/decided_by"), word("/decision/reason"))
    }

    /// The reason in `stream.closed`.
    pub fn reason(&self) -> &str {
        self.only("stream.closed", None)["reason"].as_str().unwrap()
    }
}

/// Lines, cut to a length for people.
pub fn short(lines: &[Value]) -> String {
    lines.iter().map(|line| line.to_string().chars().take(300).collect::<String>() + "\n").collect()
}

pub fn command(id: &str, rest: Value) -> String {
    let mut line = json!({"format": "metaharness.command/1", "id": id});
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line.to_string()
}

pub fn decision_line(id: &str, call: &str, decision: Value) -> String {
    command(id, json!({"command": "tool.decide", "call_id": call, "decision": decision}))
}

pub fn allow() -> Value {
    json!({"decision": "allow"})
}

pub fn deny(reason: &str) -> Value {
    json!({"decision": "deny", "reason": reason})
}

pub fn replace(input: Value) -> Value {
    json!({"decision": "replace", "input": input})
}

/// Wait for the end; the exit code.
#[track_caller]
pub fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(start.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Wait until the stand-in has made this file.
#[track_caller]
pub fn made(room: &Room, name: &str) {
    let start = Instant::now();
    while !room.path(name).exists() {
        assert!(start.elapsed() < PATIENCE, "{name} is not made");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Whether a process has this word in its command line.
pub fn alive(mark: &str) -> bool {
    fs_err::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs_err::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
    })
}

/// Wait until no process has this word in its command line. A vendor that is told twice to stop waits for nothing, and
/// a kill takes its time.
pub fn gone(mark: &str) {
    let start = Instant::now();
    while alive(mark) {
        assert!(start.elapsed() < PATIENCE, "{mark} is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A number of seconds for `sleep` that no other test uses.
pub fn mark(number: u32) -> String {
    format!("{}.{}", 700_000 + number, std::process::id())
}

/// Write the same body for either stand-in.
pub fn both(room: &Room, kind: &str, body: &str) {
    match kind {
        "claude" => room.claude(body),
        _ => room.codex(body),
    };
}

/// The command, started by a shell as `"$@"` of this script.
pub fn through_shell(command: &Command, script: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
    like(command, &mut shell);
    shell.current_dir(command.get_current_dir().unwrap());
    shell
}
