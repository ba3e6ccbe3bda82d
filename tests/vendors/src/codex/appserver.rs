//! `codex app-server` over stdio, which the terminal program and the editors talk to. A call can ask for a person's
//! approval there, and the case answers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::session::Session;
use super::stub::{Asked, Stub};

const PATIENCE: Duration = Duration::from_secs(45);

/// The behaviour of the person at the other end.
#[derive(Clone, Copy)]
pub struct Person {
    /// Codex's own settings: when to ask, and what to allow without asking.
    pub asked: &'static str,
    pub sandbox: &'static str,
    pub accepts: bool,
}

/// The record of a conversation.
pub struct Talk {
    pub asked: Vec<Asked>,
    /// The approvals that the person was asked for, by method.
    pub approvals: Vec<String>,
    /// `hook/completed` notifications: each hook run with its event and its end.
    pub hooks: Vec<Value>,
}

/// The connection. Dropping it ends the server.
struct Line {
    server: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    accepts: bool,
    calls: usize,
    approvals: Vec<String>,
    hooks: Vec<Value>,
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

/// One thread with one turn for each prompt; `between` runs before each turn.
pub fn talk(
    session: &Session<'_>,
    stub: &Stub,
    person: Person,
    prompts: &[&str],
    between: impl Fn(usize) -> Result<(), String>,
) -> Result<Talk, String> {
    let mut line = Line::open(session, person.accepts)?;
    let started = line.call(
        "thread/start",
        json!({"cwd": session.project(), "approvalPolicy": person.asked, "sandbox": person.sandbox}),
    )?;
    let thread = started["thread"]["id"].clone();
    for (index, prompt) in prompts.iter().enumerate() {
        between(index)?;
        line.call("turn/start", json!({"threadId": thread, "input": [{"type": "text", "text": prompt}]}))?;
        line.until(|message| message["method"] == "turn/completed")?;
    }
    Ok(Talk {
        asked: stub.asked(),
        approvals: std::mem::take(&mut line.approvals),
        hooks: std::mem::take(&mut line.hooks),
    })
}

/// Codex's own list of the hooks that are in force in the project.
pub fn hooks(session: &Session<'_>) -> Result<Value, String> {
    let _stub = session.prepare()?;
    Line::open(session, false)?.call("hooks/list", json!({"cwds": [session.project()]}))
}

impl Line {
    fn open(session: &Session<'_>, accepts: bool) -> Result<Line, String> {
        let mut command = session.command();
        command.args(session.settings()).arg("app-server");
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("could not start codex app-server: {error}"))?;
        let (Some(stdin), Some(stdout)) = (server.stdin.take(), server.stdout.take()) else {
            return Err("codex app-server has no pipes".into());
        };
        let (sender, lines) = channel();
        thread::spawn(move || {
            for text in BufReader::new(stdout).lines() {
                let Ok(text) = text else { return };
                if let Ok(value) = serde_json::from_str(&text)
                    && sender.send(value).is_err()
                {
                    return;
                }
            }
        });
        let mut line = Line { server, stdin, lines, accepts, calls: 0, approvals: Vec::new(), hooks: Vec::new() };
        line.call(
            "initialize",
            json!({"clientInfo": {"name": "suite", "title": "suite", "version": "1"},
                   "capabilities": {"experimentalApi": true}}),
        )?;
        line.send(&json!({"method": "initialized"}))?;
        Ok(line)
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        writeln!(self.stdin, "{message}")
            .and_then(|()| self.stdin.flush())
            .map_err(|error| format!("codex app-server hung up: {error}"))
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({"id": id, "method": method, "params": params}))?;
        let answer = self.until(|message| message["id"] == id && message.get("method").is_none())?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(format!("codex app-server refused {method}: {answer}")),
        }
    }

    /// Reads on until a message is wanted, and answers requests meanwhile.
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = match self.lines.recv_timeout(left) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => {
                    return Err("codex app-server said nothing in time".into());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("codex app-server ended".into());
                }
            };
            let found = wanted(&message);
            self.note(&message)?;
            if found {
                return Ok(message);
            }
        }
    }

    fn note(&mut self, message: &Value) -> Result<(), String> {
        let Some(method) = message["method"].as_str() else {
            return Ok(());
        };
        if method == "hook/completed" {
            self.hooks.push(message["params"]["run"].clone());
        }
        let Some(id) = message.get("id") else {
            return Ok(());
        };
        self.approvals.push(method.to_string());
        let result = match (method, self.accepts) {
            ("mcpServer/elicitation/request", true) => json!({"action": "accept", "content": {}}),
            ("mcpServer/elicitation/request", false) => json!({"action": "decline"}),
            (_, true) => json!({"decision": "accept"}),
            (_, false) => json!({"decision": "decline"}),
        };
        self.send(&json!({"id": id, "result": result}))
    }
}
