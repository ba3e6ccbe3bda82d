//! Firing a line: one call that has to be denied, one that must not be, and how long it takes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::adapter::setup::probe::{Shot, Stream, fire};
use crate::adapter::setup::report::Fired;
use crate::adapter::{DOCTOR_CALL, Environment, Hook, Registration, Verdict};
use crate::hook::{Judged, Setup, Surroundings, judge};
use crate::os::Stdin;

/// How often the line is timed.
const TIMES: usize = 5;

/// How a vendor's line is started and what it is given.
pub struct Range<'a> {
    /// The whole line, ready to be started.
    pub line: &'a dyn Fn() -> Command,
    /// What stands behind its descriptors.
    pub stream: Stream,
    /// The call of a tool, as the vendor puts it.
    pub payload: &'a dyn Fn(&str, &Value) -> Value,
    /// A payload that is answered without a word and leaves no line in the audit.
    pub quiet: Value,
    /// Calls to choose from, those that touch nothing last.
    pub calls: Vec<(&'static str, Value)>,
    /// The folder that stands for the project.
    pub project: &'a Path,
    /// The folder that the line is started in.
    pub folder: &'a Path,
    /// The variables that the hook is given.
    pub environment: Environment<'a>,
}

/// What became of it, and what the shell said beside an answer.
pub type Fire = (Fired, Option<String>);

impl Range<'_> {
    /// Fire. What went wrong, to follow `fired: `.
    pub fn fire(&self, vendor: &dyn Hook, line: &Registration) -> Result<Fire, String> {
        let judged = |(tool, input): &(&str, Value)| {
            let payload = (self.payload)(tool, input).to_string();
            let judged = self.judge(vendor, line, payload.as_bytes());
            (tool.to_string(), payload, judged)
        };
        let all: Vec<_> = self.calls.iter().map(judged).collect();
        let denied = all.iter().find(|(_, _, judged)| matches!(judged.verdict, Verdict::Deny(_)));
        let passed = all.iter().find(|(_, _, judged)| !matches!(judged.verdict, Verdict::Deny(_)));
        let denied = denied.ok_or("no call is known that this frame denies")?;
        let passed = passed.ok_or("no call is known that this frame lets pass")?;
        let mut beside = None;
        for (tool, payload, judged) in [denied, passed] {
            beside = self.shoot(vendor, tool, payload, judged)?.or(beside);
        }
        let line_ms = middle(|| self.timed((self.line)()))?;
        let program = || {
            let mut command = Command::new(&line.program);
            command.args(&line.arguments).current_dir(self.folder);
            command
        };
        let program_ms = middle(|| self.timed(program()))?;
        Ok((Fired { denied: denied.0.clone(), passed: passed.0.clone(), line_ms, program_ms }, beside))
    }

    /// What the hook has to answer: the very function that it calls.
    fn judge(&self, vendor: &dyn Hook, line: &Registration, payload: &[u8]) -> Judged {
        let environment = |name: &str| match name {
            "CLAUDE_PROJECT_DIR" => Some(OsString::from(self.project)),
            _ if name.starts_with("MH_") => None,
            _ => (self.environment)(name),
        };
        let setup = Setup::take(line.arguments.iter().map(OsString::from), &environment);
        let input = Stdin { bytes: payload.to_vec(), fault: None };
        let folder = Some(PathBuf::from(self.folder));
        judge(
            vendor,
            &setup,
            &input,
            &Surroundings { environment: &environment, folder, embedder: None, deadline: None },
        )
    }

    /// One call. What stands beside the answer on standard output, where that takes nothing from it.
    fn shoot(&self, vendor: &dyn Hook, tool: &str, payload: &str, wanted: &Judged) -> Result<Option<String>, String> {
        let wire = wanted.wire(vendor);
        let shot = fire((self.line)(), payload.as_bytes(), self.stream)?;
        let code = if wire.block { 2 } else { 0 };
        if shot.code == Some(code) && (!wire.block || shot.stderr.contains(wire.stderr.trim())) {
            if shot.stdout == wire.stdout {
                return Ok(None);
            }
            // Codex takes exit 2 with words on stderr for a denial whatever stands on standard output, and words that are
            // no JSON there for nothing (release 0.171.0, measured); Claude Code's line has no shell that could say any
            let beside = shot.stdout.replacen(&wire.stdout, "", 1);
            let words = !beside.trim_start().starts_with(['{', '[']);
            if self.stream == Stream::Pipes && (wire.block || (wire.stdout.is_empty() && words)) {
                return Ok(Some(beside.trim().chars().take(300).collect()));
            }
        }
        let expected = if wire.block { "denied" } else { "not denied" };
        Err(format!("a call of {tool} has to be {expected}, and the line {}", said(&shot)))
    }

    fn timed(&self, command: Command) -> Result<f64, String> {
        let shot = fire(command, self.quiet.to_string().as_bytes(), self.stream)?;
        match shot.code {
            Some(0) => Ok(shot.took.as_secs_f64() * 1000.0),
            _ => Err(format!("a prompt must not be stopped, and the line {}", said(&shot))),
        }
    }
}

/// What a line did, in words.
fn said(shot: &Shot) -> String {
    let end = shot.code.map_or("was killed by a signal".into(), |code| format!("ended with {code}"));
    let cut = |text: &str| crate::frame::shown(&text.trim().chars().take(300).collect::<String>());
    let words = [("", &shot.stderr), ("on standard output: ", &shot.stdout)];
    let words = words.into_iter().filter(|(_, text)| !text.trim().is_empty());
    let words: Vec<String> = words.map(|(where_to, text)| format!("{where_to}{}", cut(text))).collect();
    match words.is_empty() {
        true => format!("{end} and said nothing"),
        false => format!("{end} and said: {}", words.join("; ")),
    }
}

fn middle(mut once: impl FnMut() -> Result<f64, String>) -> Result<f64, String> {
    let mut all = (0..TIMES).map(|_| once()).collect::<Result<Vec<f64>, String>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[TIMES / 2])
}

/// The id of a call that only doctor makes.
pub fn call_id() -> String {
    format!("{DOCTOR_CALL}{}", std::process::id())
}

/// The calls of both vendors' tools, by the operation; each touches nothing, since it is never run.
pub fn mcp_call() -> (&'static str, Value) {
    ("mcp__mh_doctor__probe", json!({}))
}
