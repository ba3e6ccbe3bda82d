//! Firing a line as its vendor starts it: with one call that it must deny and one that it must not, and timing it.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::adapter::setup::report::Probed;
use crate::adapter::setup::{Trial, WholeEntry, Wiring};
use crate::adapter::{Environment, Hook, Registration, Verdict};
use crate::hook::{Decider, DeciderLink, HookOptions, Judged, Surroundings, Unanswered, judge};
use crate::os::release::{LEFT_OPEN, ended, listen, started};
use crate::os::{self, Stdin, Wires, spawn};

/// The number of timed runs.
const TIMES: usize = 5;

/// The folder that the line starts in. Its content must not matter.
const FOLDER: &str = "/";

/// Fire the line of this entry. The text is a shell's output beside an answer. `environment` is the hook's.
///
/// # Errors
/// The line did not give the right answer; in words that follow `fired: `.
pub(super) fn probe(
    vendor: &dyn Hook,
    entry: &WholeEntry,
    trial: &Trial,
    environment: Environment<'_>,
) -> Result<(Probed, Option<String>), String> {
    let judged = |(tool, payload): &(&str, serde_json::Value)| {
        let payload = payload.to_string();
        let (judged, asked) = expected(vendor, &entry.line, payload.as_bytes(), environment);
        // a decider is another person's program: it gets no calls that no agent made
        (!asked).then_some((tool.to_string(), payload, judged))
    };
    let all: Vec<_> = trial.calls.iter().filter_map(judged).collect();
    let denied = all.iter().find(|(_, _, judged)| matches!(judged.verdict, Verdict::Deny(_)));
    let passed = all.iter().find(|(_, _, judged)| !matches!(judged.verdict, Verdict::Deny(_)));
    let denied = denied.ok_or("no call is known that this frame denies")?;
    let passed = passed.ok_or("no call is known that this frame lets pass")?;
    let line = || command(entry, trial);
    let mut beside = None;
    for (tool, payload, judged) in [denied, passed] {
        let patience = Duration::from_secs(u64::from(entry.line.timeout()));
        beside = called(vendor, line(), (trial.wiring, patience), (tool, payload), judged)?.or(beside);
    }
    let patience = Duration::from_secs(u64::from(entry.line.timeout()));
    let line_ms = middle(|| timed(line(), trial, patience))?;
    let program = || {
        let mut command = Command::new(&entry.line.program);
        command.args(&entry.line.arguments).current_dir(FOLDER);
        command
    };
    let program_ms = middle(|| timed(program(), trial, patience))?;
    Ok((Probed { denied: denied.0.clone(), passed: passed.0.clone(), line_ms, program_ms }, beside))
}

/// The command that starts the line.
fn command(entry: &WholeEntry, trial: &Trial) -> Command {
    let mut command = match &entry.shell {
        None => {
            let mut command = Command::new(&entry.line.program);
            command.args(&entry.line.arguments);
            command
        }
        Some(text) => {
            let mut command = Command::new(trial.shell.as_deref().unwrap_or(Path::new("/bin/sh")));
            command.arg("-c").arg(text);
            command
        }
    };
    command.envs(trial.variables.iter().map(|(name, value)| (name, value))).current_dir(FOLDER);
    command
}

/// The right answer, by the hook's own function, and whether the hook would ask a decider first.
fn expected(vendor: &dyn Hook, line: &Registration, payload: &[u8], environment: Environment<'_>) -> (Judged, bool) {
    // the hook's settings come from the line alone
    let environment = |name: &str| if name.starts_with("MH_") { None } else { environment(name) };
    let setup = HookOptions::take(line.arguments.iter().map(OsString::from), &environment);
    let input = Stdin { bytes: payload.to_vec(), fault: None };
    let folder = Some(PathBuf::from(FOLDER));
    let asked = Cell::new(false);
    let ask = |_: &Decider, _: &str| {
        asked.set(true);
        Err(Unanswered { late: false, why: "is not asked here".into() })
    };
    let embedder = Some(DeciderLink { ask: &ask, left: &|| setup.deadline });
    let around = Surroundings { environment: &environment, folder, embedder, deadline: None };
    let judged = judge(vendor, &setup, &input, &around);
    (judged, asked.get())
}

/// Send one call. The text is the output beside the answer on stdout, if it does not spoil the answer.
fn called(
    vendor: &dyn Hook,
    line: Command,
    (wiring, patience): (Wiring, Duration),
    (tool, payload): (&str, &str),
    wanted: &Judged,
) -> Result<Option<String>, String> {
    let wire = wanted.wire(vendor);
    let reaction = start(line, payload.as_bytes(), wiring, patience)?;
    let code = if wire.block { 2 } else { 0 };
    if reaction.code == Some(code) && (!wire.block || reaction.stderr.contains(wire.stderr.trim())) {
        if reaction.stdout == wire.stdout {
            return Ok(None);
        }
        // the vendor on pipes takes exit 2 with words on stderr as a denial whatever is on stdout, and ignores words
        // there that are no JSON (Codex 0.171.0, measured); the other vendor's line has no shell that could write any
        let beside = reaction.stdout.replacen(&wire.stdout, "", 1);
        let words = !beside.trim_start().starts_with(['{', '[']);
        if wiring == Wiring::Pipes && (wire.block || (wire.stdout.is_empty() && words)) {
            return Ok(Some(beside.trim().chars().take(300).collect()));
        }
    }
    let expected = if wire.block { "denied" } else { "not denied" };
    Err(format!("a call of {tool} has to be {expected}, and the line {}", reaction.words()))
}

fn timed(command: Command, trial: &Trial, patience: Duration) -> Result<f64, String> {
    let reaction = start(command, trial.quiet.to_string().as_bytes(), trial.wiring, patience)?;
    match reaction.code {
        Some(0) => Ok(reaction.took.as_secs_f64() * 1000.0),
        _ => Err(format!("a prompt must not be stopped, and the line {}", reaction.words())),
    }
}

fn middle(mut once: impl FnMut() -> Result<f64, String>) -> Result<f64, String> {
    let mut all = (0..TIMES).map(|_| once()).collect::<Result<Vec<f64>, String>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[TIMES / 2])
}

/// The end of a line, with its output.
struct Reaction {
    /// `None` if a signal ended it.
    code: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
}

impl Reaction {
    fn words(&self) -> String {
        let end = self.code.map_or("was killed by a signal".into(), |code| format!("ended with {code}"));
        let cut = |text: &str| crate::frame::shown(&text.trim().chars().take(300).collect::<String>());
        let words = [("", &self.stderr), ("on standard output: ", &self.stdout)];
        let words = words.into_iter().filter(|(_, text)| !text.trim().is_empty());
        let words: Vec<String> = words.map(|(where_to, text)| format!("{where_to}{}", cut(text))).collect();
        match words.is_empty() {
            true => format!("{end} and said nothing"),
            false => format!("{end} and said: {}", words.join("; ")),
        }
    }
}

/// Start the line, write the payload, and wait for its end, as long as the vendor would by the entry's own `timeout`.
fn start(command: Command, payload: &[u8], wiring: Wiring, patience: Duration) -> Result<Reaction, String> {
    let start = Instant::now();
    // vendors give each hook a session of its own; safe code can only give it a process group
    let (mut child, out, err) = match wiring {
        Wiring::Sockets => on_sockets(command, payload)?,
        Wiring::Pipes => on_pipes(command, payload)?,
    };
    let status = ended(&mut child, patience).map_err(|why| why.to_string())?;
    let took = start.elapsed();
    // both vendors go on where a child of the hook still holds the pipe open
    let said = |from: Receiver<String>| from.recv_timeout(LEFT_OPEN).unwrap_or_default();
    Ok(Reaction { code: status.code(), stdout: said(out), stderr: said(err), took })
}

type Running = (Child, Receiver<String>, Receiver<String>);

fn on_sockets(mut command: Command, payload: &[u8]) -> Result<Running, String> {
    // a process group of its own, so that it can be ended with every process that it starts
    command.process_group(0);
    let (child, Wires { mut stdin, stdout, stderr }) = spawn(command).map_err(os::words)?;
    let heard = (listen(Some(stdout)), listen(Some(stderr)));
    // a line that does not read the payload can still answer
    let _ = stdin.write_all(payload).and_then(|()| stdin.shutdown(Shutdown::Write));
    Ok((child, heard.0, heard.1))
}

fn on_pipes(mut command: Command, payload: &[u8]) -> Result<Running, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = started(command).map_err(|why| why.to_string())?;
    let heard = (listen(child.stdout.take()), listen(child.stderr.take()));
    if let Some(mut to) = child.stdin.take() {
        let _ = to.write_all(payload);
    }
    Ok((child, heard.0, heard.1))
}
