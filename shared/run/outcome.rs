//! What a turn came to: the events, the audit and the end of the process, added up.

use super::embedder::again;
use super::{Ending, Judgement, Promise, Stopped};
use crate::adapter::run::{CallEnd, Figures, Journaled, TurnEvent, Witness};
use crate::adapter::{Event, Hook};

/// A call of the turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnCall {
    /// The vendor's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: serde_json::Value,
    /// Whether it is a sub-agent's.
    pub nested: bool,
    /// Whether there is a result.
    pub over: bool,
    /// Whether it failed.
    pub failed: bool,
    /// Whether it ran, as far as the record shows.
    pub ran: bool,
    /// Whether the vendor did not offer the tool, which the launch sees to where a frame does not
    /// admit it.
    pub withheld: bool,
    /// Whether the vendor says that a hook stopped it, by its answer or by its failure.
    pub by_hook: bool,
    /// By whose word it ran or not, where the vendor says so.
    pub witness: Option<Witness>,
}

impl TurnCall {
    /// The call in a few words.
    pub fn summary(&self) -> String {
        summary(&self.input)
    }
}

/// An input in a few words: what most tools are about, else all of it.
fn summary(input: &serde_json::Value) -> String {
    let about = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description"];
    let word = about.iter().find_map(|key| input.get(key).and_then(serde_json::Value::as_str));
    let text = word.map_or_else(|| input.to_string(), String::from);
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.into(),
    }
}

/// The terminal record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terminal {
    failed: bool,
    error: Option<String>,
    truncated: bool,
    blocked: bool,
    facts: serde_json::Value,
}

/// A call that the vendor's own permissions refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The vendor's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The call in a few words.
    pub summary: String,
}

/// A call without the decision that it must have had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unenforced {
    /// The call's id, where it has one.
    pub call_id: Option<String>,
    /// What it is.
    pub tool: String,
    /// What was missing.
    pub why: String,
}

/// What the audit has about one call, from before it ran.
#[derive(Debug, Default, Clone, Copy)]
struct AuditWord {
    /// A decision at all.
    any: bool,
    /// One that denies it.
    denies: bool,
    /// One that lets it run in the run's own name.
    grants: bool,
}

impl AuditWord {
    fn of(id: &str, judgements: &[Judgement], gate: &str) -> AuditWord {
        let mut word = AuditWord::default();
        for judgement in judgements.iter().filter(|judgement| judgement.call_id.as_deref() == Some(id)) {
            word.any = true;
            // an id that came twice was denied the second time, which is not what was decided about the call that ran
            let repeated = judgement.decided_by == "adapter" && judgement.reason().is_some_and(again);
            word.denies |= judgement.gates(gate) && judgement.denies() && !repeated;
            word.grants |= judgement.gates(gate) && judgement.grants();
        }
        word
    }

    /// Why a call that ran was not let run.
    fn of_what_ran(self) -> Option<&'static str> {
        match self {
            AuditWord { any: false, .. } => Some("it ran, and no decision of the hook is in the audit"),
            AuditWord { denies: true, .. } => Some("the hook denied it, and it ran"),
            _ => None,
        }
    }

    /// What does not fit between the audit and the vendor's record of a call.
    fn fault(self, call: &TurnCall, stopping: bool, planned: bool) -> Option<&'static str> {
        let known = call.witness.is_some();
        // a record that does not say by whose word tells of a denial by the error alone
        let ran = call.ran && (known || !self.denies || !call.failed);
        if let Some(fault) = self.of_what_ran().filter(|_| ran) {
            return Some(fault);
        }
        match (call.witness?, self) {
            (Witness::HookLet, AuditWord { grants: false, denies: false, .. }) => {
                Some("it ran by the word of a hook that is none of this run's")
            }
            (Witness::OtherLet, AuditWord { grants: true, .. }) if !planned => {
                Some("the hook allowed it, and the vendor says that it ran by another's word")
            }
            // one that is ended with the turn stops its call too
            (Witness::HookStopped, AuditWord { denies: false, .. }) if !stopping => {
                Some("a hook stopped it, and no denial is in the audit")
            }
            _ => None,
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It answered.
    Completed,
    /// It answered, and some call failed or was refused on the way.
    ToolFailed,
    /// The reply stopped at the output cap.
    Truncated,
    /// A hook stopped the prompt.
    PromptBlocked,
    /// The model, or its service, failed.
    ModelFailed,
    /// A signal stopped it.
    Interrupted,
    /// Its time was up.
    TimedOut,
    /// The vendor ended without saying how it went.
    NoTerminalRecord,
    /// A call ran without the decision that it must have had.
    Unenforced,
    /// It answered, and what the step owes is not there.
    HandoffMissing,
}

impl Outcome {
    /// The word for it.
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
            Outcome::HandoffMissing => "handoff_missing",
        }
    }

    /// Whether the turn answered.
    pub fn answered(self) -> bool {
        matches!(self, Outcome::Completed | Outcome::ToolFailed)
    }
}

/// A turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// The vendor's session.
    pub session: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The calls, in order.
    pub calls: Vec<TurnCall>,
    /// Model calls, where they can be counted.
    pub model_calls: Option<u64>,
    /// What was used.
    pub figures: Figures,
    /// What the vendor's own permissions refused.
    pub denied: Vec<Denied>,
    /// What the hooks denied.
    pub refused: Vec<Judgement>,
    /// Calls without the decision they must have had.
    pub unenforced: Vec<Unenforced>,
    answer: Option<String>,
    last_text: String,
    last_notice: Option<String>,
    denials: Vec<(String, String, serde_json::Value)>,
    terminal: Option<Terminal>,
    /// Whether the vendor was in the mode in which a hook's permission is not enough, and its own rules decide after that
    /// (Claude Code 2.1.332: what changes nothing then runs by the mode's word).
    planned: bool,
    /// How many hooks the vendor says have answered before a call.
    answered: usize,
    blocked_prompt: Option<String>,
    /// Where it was stopped from outside: whether a call was under way.
    stopped_in_call: Option<bool>,
}

impl Turn {
    /// Add an event.
    pub fn hear(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Started { session, model, facts } => {
                self.planned |= facts.get("permission_mode").and_then(serde_json::Value::as_str) == Some("plan");
                self.session = session.or(self.session.take());
                self.model = model.or(self.model.take());
            }
            TurnEvent::Text { text, .. } => (self.last_text, self.last_notice) = (text, None),
            TurnEvent::Notice { text, .. } | TurnEvent::Unauthorized { text } => self.last_notice = Some(text),
            TurnEvent::ModelCall { .. } => self.model_calls = Some(self.model_calls.unwrap_or(0) + 1),
            TurnEvent::Requested { call_id, tool, input, nested } => {
                if !self.calls.iter().any(|call| call.id == call_id) {
                    self.calls.push(TurnCall { id: call_id, tool, input, nested, ..TurnCall::default() });
                }
            }
            TurnEvent::Result(CallEnd { call_id, failed, ran, witness, withheld, by_hook, .. }) => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == call_id) {
                    (call.over, call.failed, call.ran, call.witness) = (true, failed, ran, witness);
                    call.withheld = withheld;
                    call.by_hook = by_hook;
                }
            }
            TurnEvent::HookAnswered => self.answered += usize::from(!self.is_stopping()),
            TurnEvent::Stranger { what, why } => {
                self.unenforced.push(Unenforced { call_id: None, tool: what, why });
            }
            // one that is under way is ended with the turn, and its call does not run
            TurnEvent::HookFailed { .. } if self.is_stopping() => {}
            TurnEvent::HookFailed { hook, why } => {
                self.unenforced.push(Unenforced { call_id: None, tool: hook, why });
            }
            // whoever wrote the one, another may have written the other
            TurnEvent::Ended { .. } if self.terminal.is_some() => {
                let why = "the vendor's record says twice how the turn ended, and a turn ends once";
                self.unenforced.push(Unenforced { call_id: None, tool: "the end".into(), why: why.into() });
            }
            TurnEvent::Ended { failed, answer, error, truncated, blocked, denials, figures, facts } => {
                self.terminal = Some(Terminal { failed, error, truncated, blocked, facts: *facts });
                (self.answer, self.denials, self.figures) = (answer, denials, figures);
            }
            TurnEvent::Thinking { .. }
            | TurnEvent::Estimate { .. }
            | TurnEvent::RateLimit { .. }
            | TurnEvent::Output { .. }
            | TurnEvent::Opaque { .. } => {}
        }
    }

    /// The turn is about to be stopped, while a call waits to be decided or not. What the vendor says
    /// of a call from here on says nothing about how the call was when it came to that.
    pub fn stopping(&mut self, waits: bool) {
        self.stopped_in_call.get_or_insert(waits || self.calls.iter().any(|call| !call.over));
    }

    /// Whether it is being stopped from outside.
    pub fn is_stopping(&self) -> bool {
        self.stopped_in_call.is_some()
    }

    /// What the vendor's record lists as refused by its own permissions: id, tool, input. A call that
    /// a hook denied may be among them.
    pub fn permission_denials(&self) -> &[(String, String, serde_json::Value)] {
        &self.denials
    }

    /// What else the terminal record says, where there is one.
    pub fn facts(&self) -> Option<&serde_json::Value> {
        self.terminal.as_ref().map(|terminal| &terminal.facts)
    }

    /// The model's last answer.
    pub fn answer(&self) -> &str {
        self.answer.as_deref().unwrap_or(&self.last_text)
    }

    /// Hold the turn to the decisions of the hooks, by the ids that they saw: they stand in the vendor's stream, or in its
    /// journal where it keeps one (`None`), as far as that could be read (`Some(None)`).
    pub fn audit(&mut self, vendor: &dyn Hook, judgements: &[Judgement], journaled: Option<Option<&Journaled>>) {
        let gate = vendor.facts().gate;
        let missing = |id: &str, tool: &str, why: &str| Unenforced {
            call_id: Some(id.into()),
            tool: tool.into(),
            why: why.into(),
        };
        match journaled {
            None => {
                let (stopping, planned) = (self.is_stopping(), self.planned);
                let over = self.calls.iter().filter(|call| call.over);
                let fault = |call: &TurnCall| {
                    Some(missing(
                        &call.id,
                        &call.tool,
                        AuditWord::of(&call.id, judgements, gate).fault(call, stopping, planned)?,
                    ))
                };
                let faults: Vec<Unenforced> = over.filter_map(fault).collect();
                self.unenforced.extend(faults);
                self.count_answers(judgements, gate);
            }
            Some(Some(journaled)) => {
                let fault = |(id, what): &(String, String)| {
                    Some(missing(id, what, AuditWord::of(id, judgements, gate).of_what_ran()?))
                };
                self.unenforced.extend(journaled.ran.iter().filter_map(fault));
                let unseen =
                    journaled.unseen.iter().map(|(id, what)| missing(id, what, "no hook ever sees such a call"));
                self.unenforced.extend(unseen);
                let denials = judgements.iter().filter(|judgement| judgement.denies()).count();
                if journaled.blocked > denials {
                    self.unenforced.push(Unenforced {
                        call_id: None,
                        tool: gate.into(),
                        why: "a call was blocked by the hook's line, and no decision of the hook is in the audit"
                            .into(),
                    });
                }
                self.model_calls = Some(journaled.model_calls);
                self.model = journaled.model.clone().or(self.model.take());
            }
            Some(None) => {
                let ran = self.calls.iter().filter(|call| call.over);
                let unread = "the vendor's rollout could not be read, so it is not known whether the hook decided it";
                self.unenforced.extend(ran.map(|call| missing(&call.id, &call.tool, unread)));
            }
        }
        let denials = judgements.iter().filter(|judgement| judgement.denies());
        self.blocked_prompt = denials
            .clone()
            .find(|denial| denial.event.as_deref().is_some_and(|event| vendor.event(event) == Event::Prompt))
            .and_then(|denial| denial.reason().map(String::from));
        self.refused = denials.filter(|denial| denial.tool.is_some()).cloned().collect();
        let withheld = self.calls.iter().filter(|call| call.withheld);
        self.refused
            .extend(withheld.map(|call| Judgement { tool: Some(call.tool.clone()), ..Judgement::withheld(&call.id) }));
        let refused = |id: &str| self.refused.iter().any(|denial| denial.call_id.as_deref() == Some(id));
        let by_hook = |id: &str| self.calls.iter().any(|call| call.id == id && call.by_hook);
        let own = self.denials.iter().filter(|(id, ..)| !refused(id) && !by_hook(id));
        self.denied = own
            .map(|(id, tool, input)| Denied { id: id.clone(), tool: tool.clone(), summary: summary(input) })
            .collect();
    }

    /// Hold what the record says of the end to how the vendor's process ended: one that a signal ended in the middle of
    /// its work has said its last word before that, or somebody else has.
    pub fn ended(&mut self, ending: &Ending) {
        if let (Some(signal), Some(_)) = (ending.killed(), &self.terminal) {
            let signal = signal_hook::low_level::signal_name(signal).map_or(signal.to_string(), String::from);
            let why =
                format!("a signal that is none of this run's ended it ({signal}), so its record is not to be trusted");
            self.unenforced.push(Unenforced { call_id: None, tool: "the vendor".into(), why });
        }
    }

    /// Each answer of a hook before a call has its line in the audit, so one more is somebody else's.
    fn count_answers(&mut self, judgements: &[Judgement], gate: &str) {
        let own = judgements.iter().filter(|judgement| judgement.event.as_deref() == Some(gate)).count();
        if self.answered > own && self.unenforced.is_empty() {
            let why = format!(
                "{} answers of hooks to calls, and {own} decisions in the audit: a hook ran beside this run's own",
                self.answered
            );
            self.unenforced.push(Unenforced { call_id: None, tool: gate.into(), why });
        }
    }

    /// Calls that failed on the way, by tool; those that were refused or denied stand elsewhere.
    pub fn failed_calls(&self) -> Vec<&str> {
        let elsewhere = |call: &&TurnCall| {
            let refused = self.refused.iter().any(|denial| denial.call_id.as_deref() == Some(&call.id));
            refused || self.denials.iter().any(|(id, ..)| *id == call.id)
        };
        let failed = self.calls.iter().filter(|call| call.failed && !call.nested);
        failed.filter(|call| !elsewhere(call)).map(|call| call.tool.as_str()).collect()
    }

    /// What the turn came to, and why where it did not answer.
    pub fn outcome(&self, ending: &Ending, promise: Option<&Promise>) -> (Outcome, Option<String>) {
        if let Some(first) = self.unenforced.first() {
            let more = match self.unenforced.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            return (Outcome::Unenforced, Some(format!("unenforced: {}: {}{more}", first.tool, first.why)));
        }
        let Some(terminal) = self.terminal.as_ref().filter(|terminal| !terminal.failed || ending.stopped.is_none())
        else {
            return self.unfinished(ending);
        };
        if let (Some(reason), true) = (&self.blocked_prompt, terminal.blocked) {
            return (Outcome::PromptBlocked, Some(format!("prompt blocked: {reason}")));
        }
        if terminal.truncated {
            return (Outcome::Truncated, Some("the reply stopped at the output cap".into()));
        }
        if terminal.failed {
            return (Outcome::ModelFailed, terminal.error.clone());
        }
        if terminal.blocked {
            return (
                Outcome::PromptBlocked,
                Some("prompt blocked: no request was made, and no hook of this run says why".into()),
            );
        }
        if self.answer().is_empty() {
            return (Outcome::ModelFailed, Some("the turn did not complete: the model gave no answer".into()));
        }
        if let Some(missing) = promise.and_then(|promise| promise.missing(self.answer())) {
            return (Outcome::HandoffMissing, Some(missing));
        }
        let well = self.failed_calls().is_empty() && self.refused.is_empty() && self.denied.is_empty();
        (if well { Outcome::Completed } else { Outcome::ToolFailed }, None)
    }

    fn unfinished(&self, ending: &Ending) -> (Outcome, Option<String>) {
        let notice = self.last_notice.as_ref().map(|notice| format!(": {notice}")).unwrap_or_default();
        match &ending.stopped {
            Some(Stopped::Time) => (Outcome::TimedOut, Some(format!("the turn did not complete in its time{notice}"))),
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
                    true => (Outcome::Interrupted, Some(format!("interrupted by {by} during a tool call"))),
                    false => {
                        (Outcome::ModelFailed, Some(format!("interrupted: {by} came during the model call{notice}")))
                    }
                }
            }
            None => {
                let code = ending.status.and_then(|status| status.code());
                let how = code.map_or("without an exit code".into(), |code| format!("with exit code {code}"));
                let last = ending.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
                let last = if last.is_empty() { String::new() } else { format!(": {last}") };
                (Outcome::NoTerminalRecord, Some(format!("the turn did not complete: the vendor ended {how}{last}")))
            }
        }
    }
}
