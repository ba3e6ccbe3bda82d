//! The outcome of a turn.

use super::{Ending, Promise, Stopped, Turn};
use crate::adapter::run::Run;
use crate::hook::UNTIL;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Completed,
    /// The turn answered, and a call failed or was refused on the way.
    ToolFailed,
    /// The reply stopped at the output cap.
    Truncated,
    /// A hook stopped the prompt.
    PromptBlocked,
    /// The model, or its service, failed.
    ModelFailed,
    /// A signal stopped it.
    Interrupted,
    TimedOut,
    NoTerminalRecord,
    /// A call ran without the decision that it needed.
    Unenforced,
    /// The turn answered, and a call was denied because the decider or the audit failed.
    Undecided,
    /// The turn answered, and did not produce what the step owes.
    HandoffMissing,
}

/// The outcome for a reader of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    pub outcome: Outcome,
    /// The reason, if there is no answer.
    pub error: Option<String>,
    /// Whether there is an answer that is to be trusted: the exit code is 0 exactly then.
    pub answered: bool,
}

impl Conclusion {
    /// Adds advice to the error if the vendor's service refused the credentials.
    pub fn with(self, vendor: &dyn Run, unauthorized: bool) -> Conclusion {
        let advised = |error: String| format!("{error}; to go on: {}", vendor.login());
        match unauthorized && !self.answered {
            true => Conclusion { error: self.error.map(advised), ..self },
            false => self,
        }
    }

    fn failed(outcome: Outcome, error: Option<String>) -> Conclusion {
        let error = error.filter(|error| !error.trim().is_empty());
        Conclusion { outcome, error: error.or_else(|| Some("the turn did not complete".into())), answered: false }
    }
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::ToolFailed => "tool_failed",
            Outcome::Truncated => "truncated",
            Outcome::PromptBlocked => "prompt_blocked",
            Outcome::ModelFailed => "model_failed",
            Outcome::Interrupted => "interrupted",
            Outcome::TimedOut => "timed_out",
            Outcome::NoTerminalRecord => "no_terminal_record",
            Outcome::Unenforced => "unenforced",
            Outcome::Undecided => "undecided",
            Outcome::HandoffMissing => "handoff_missing",
        }
    }
}

impl Turn {
    /// `strict` makes a refused or denied call take the answer away.
    pub fn conclusion(&self, ending: &Ending, promise: Option<&Promise>, strict: bool) -> Conclusion {
        if let Some(first) = self.unenforced.first() {
            let more = and_more(self.unenforced.len() - 1);
            let why = format!("unenforced: {}: {}{more}", first.tool, first.why);
            return Conclusion::failed(Outcome::Unenforced, Some(why));
        }
        let Some(terminal) = self.terminal.as_ref().filter(|terminal| !terminal.failed || ending.stopped.is_none())
        else {
            return self.unfinished(ending);
        };
        if let (Some(reason), true) = (&self.blocked_prompt, terminal.blocked) {
            return Conclusion::failed(Outcome::PromptBlocked, Some(format!("prompt blocked: {reason}")));
        }
        if terminal.truncated {
            let said = terminal.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            let why = format!("the reply stopped at the output cap{said}");
            return Conclusion::failed(Outcome::Truncated, Some(why));
        }
        if terminal.failed {
            return Conclusion::failed(Outcome::ModelFailed, terminal.error.clone());
        }
        if terminal.blocked {
            let why = "prompt blocked: no request was made, and no hook of this run says why";
            return Conclusion::failed(Outcome::PromptBlocked, Some(why.into()));
        }
        if let Some(why) = self.undecided() {
            return Conclusion::failed(Outcome::Undecided, Some(why));
        }
        if self.answer().is_empty() {
            let why = "the turn did not complete: the model gave no answer";
            return Conclusion::failed(Outcome::ModelFailed, Some(why.into()));
        }
        if let Some(missing) = promise.and_then(|promise| promise.missing(self.answer())) {
            return Conclusion::failed(Outcome::HandoffMissing, Some(missing));
        }
        if let Some(why) = self.refusals().filter(|_| strict) {
            return Conclusion::failed(Outcome::ToolFailed, Some(why));
        }
        let well = self.failed_calls().is_empty() && self.refused.is_empty() && self.denied.is_empty();
        let outcome = if well { Outcome::Completed } else { Outcome::ToolFailed };
        Conclusion { outcome, error: None, answered: true }
    }

    /// The reason, if a call could not be decided.
    fn undecided(&self) -> Option<String> {
        let first = self.refused.iter().find(|denial| denial.undecided(self.hook))?;
        let reason = first.reason().unwrap_or_default();
        let reason = reason.split(UNTIL).next().unwrap_or(reason);
        let reason = reason.strip_prefix(self.hook).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(reason);
        let tool = first.tool.as_deref().unwrap_or("a call");
        Some(format!(
            "undecided: {tool}: {reason}{}; put that right, and start the run again",
            and_more(self.undecided - 1)
        ))
    }

    /// The refused and denied calls in words, if there are any.
    fn refusals(&self) -> Option<String> {
        let refused = self.refused.iter().map(|denial| denial.tool.as_deref().unwrap_or("a call"));
        let tools: Vec<&str> = refused.chain(self.denied.iter().map(|denied| denied.tool.as_str())).collect();
        let calls = if tools.len() == 1 { "call was" } else { "calls were" };
        (!tools.is_empty()).then(|| {
            format!(
                "{} tool {calls} refused, which --fail-on-denied makes a failure: {}",
                tools.len(),
                tools.join(", ")
            )
        })
    }

    fn unfinished(&self, ending: &Ending) -> Conclusion {
        let notice = self.last_notice.as_ref().map(|notice| format!(": {notice}")).unwrap_or_default();
        match &ending.stopped {
            Some(Stopped::Time) => {
                let why = format!("the turn did not complete in its time{notice}");
                Conclusion::failed(Outcome::TimedOut, Some(why))
            }
            Some(stopped) => {
                let by = match stopped {
                    Stopped::Signal(signal) => (*signal).into(),
                    Stopped::Command { halt, reason } => {
                        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                        format!("the embedder's {}{reason}", if *halt { "halt" } else { "interrupt" })
                    }
                    Stopped::Gone => "the embedder's end".into(),
                    Stopped::Unread | Stopped::Time => "the end of whoever reads".into(),
                };
                match self.stopped_in_call.unwrap_or(false) {
                    true => Conclusion::failed(
                        Outcome::Interrupted,
                        Some(format!("interrupted by {by} during a tool call")),
                    ),
                    false => {
                        let why = format!("interrupted: {by} came during the model call{notice}");
                        Conclusion::failed(Outcome::ModelFailed, Some(why))
                    }
                }
            }
            None => {
                let code = ending.status.and_then(|status| status.code());
                let how = code.map_or("without an exit code".into(), |code| format!("with exit code {code}"));
                let words = last_words(&ending.stderr).map(|words| format!(": {words}")).unwrap_or(notice);
                let why = format!("the turn did not complete: the vendor ended {how}{words}");
                Conclusion::failed(Outcome::NoTerminalRecord, Some(why))
            }
        }
    }
}

/// The number of further calls besides the one that is named.
fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

/// The last message of a program before it gave up: the last line that calls itself an error, with its causes, else the
/// last line. Lines after an error are its place in the program.
fn last_words(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let error = |line: &&str| {
        let word = line.split([':', ' ']).next().unwrap_or_default();
        ["error", "fatal", "panicked"].iter().any(|known| word.eq_ignore_ascii_case(known))
    };
    lines.iter().rev().find(|line| error(line)).or(lines.last()).map(|line| (*line).to_string())
}
