//! Turns in lines that an embedder steers: the case plays the embedder of `mh-run`.

mod cases;
mod clients;
mod side;
mod told;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use serde_json::{Value, json};

pub use cases::cases;
pub use side::Side;
use told::Told;

use crate::scratch::Scratch;

pub struct Asking<'a> {
    scratch: &'a Scratch,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Receiver<String>,
    seen: Vec<Value>,
    said: usize,
}

impl<'a> Asking<'a> {
    pub fn start(scratch: &'a Scratch, mut command: Command) -> Result<Asking<'a>, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = scratch.spawn(&mut command)?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("mh-run has no pipes".into());
        };
        let (sender, lines) = channel();
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        let (sender, errors) = channel();
        thread::spawn(move || drop(sender.send(std::io::read_to_string(stderr).unwrap_or_default())));
        Ok(Asking { scratch, stdin: child.stdin.take(), child, lines, stderr: errors, seen: Vec::new(), said: 0 })
    }

    /// The next line; `None` when there are no more.
    fn next(&mut self) -> Result<Option<Value>, String> {
        match self.lines.recv_timeout(self.scratch.left()) {
            Ok(line) => {
                let value: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line:?}"))?;
                self.seen.push(value.clone());
                Ok(Some(value))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(format!("no more lines in time; {}", self.story())),
        }
    }

    /// Wait for the `number`th line (from 0) that is like this.
    fn line(&mut self, what: &str, number: usize, like: impl Fn(&Value) -> bool) -> Result<Value, String> {
        loop {
            if let Some(line) = self.seen.iter().filter(|line| like(line)).nth(number) {
                return Ok(line.clone());
            }
            if self.next()?.is_none() {
                let stderr = self.stderr.recv_timeout(self.scratch.left()).unwrap_or_default();
                return Err(format!("the run ended without {what}, stderr {stderr:?}; {}", self.story()));
            }
        }
    }

    /// Wait for the `number`th call (from 0) that waits for a decision.
    pub fn asked(&mut self, number: usize) -> Result<Value, String> {
        self.line("asking about a call", number, |line| {
            line["event"] == "tool.requested" && line["decision_required"] == true
        })
    }

    /// Wait for a call whose input contains this word.
    pub fn asked_about(&mut self, word: &str) -> Result<Value, String> {
        self.line("asking about that call", 0, |line| {
            line["event"] == "tool.requested"
                && line["decision_required"] == true
                && line["input"].to_string().contains(word)
        })
    }

    /// Send a command and wait for its answer.
    pub fn command(&mut self, command: &str, fields: &Value) -> Result<Value, String> {
        self.said += 1;
        let id = format!("c{}", self.said);
        let mut line = json!({"format": "metaharness.command/1", "id": id, "command": command});
        for (name, value) in fields.as_object().into_iter().flatten() {
            line[name] = value.clone();
        }
        let stdin = self.stdin.as_mut().ok_or("the commands are at their end")?;
        writeln!(stdin, "{line}").map_err(|error| format!("could not give a command: {error}; {}", self.story()))?;
        let answer =
            self.line("an answer", 0, |line| line["event"] == "command.result" && line["id"] == id.as_str())?;
        Ok(answer["outcome"].clone())
    }

    /// Send a decision about a call and wait for its answer.
    pub fn decide(&mut self, call: &Value, decision: &Value) -> Result<Value, String> {
        self.command("tool.decide", &json!({"call_id": call["call_id"], "decision": decision}))
    }

    /// Send a decision about a call, which must be accepted.
    pub fn settle(&mut self, call: &Value, decision: &Value) -> Result<(), String> {
        match self.decide(call, decision)? {
            answer if answer["result"] == "ok" => Ok(()),
            answer => Err(format!("{decision} was refused: {answer}; {}", self.story())),
        }
    }

    /// Close the run's stdin.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Wait for the run's end.
    pub fn end(mut self) -> Result<Told, String> {
        while self.next()?.is_some() {}
        let status = self.child.wait().map_err(|error| format!("could not wait for mh-run: {error}"))?;
        let stderr = self.stderr.recv_timeout(self.scratch.left()).unwrap_or_default();
        Told::events(status.code(), std::mem::take(&mut self.seen), stderr, self.said, self.scratch)
    }

    fn story(&self) -> String {
        told::story(&self.seen)
    }
}
