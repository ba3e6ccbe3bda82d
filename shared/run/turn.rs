//! The sum of a turn's events, from the vendor's record.

use std::collections::HashMap;

use super::{Ending, Judgement};
use crate::adapter::run::{CallEnd, Figures, TurnEvent, Witness};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnCall {
    pub id: String,
    pub tool: String,
    pub input: serde_json::Value,
    /// Whether a sub-agent made the call.
    pub nested: bool,
    /// Whether the record has a result.
    pub over: bool,
    pub failed: bool,
    /// Whether the call ran, as far as the record shows.
    pub ran: bool,
    /// Whether the vendor did not offer the tool, because the launch withheld what the frame does not admit.
    pub withheld: bool,
    /// Whether the vendor reports that a hook stopped the call, by its answer or by its failure.
    pub by_hook: bool,
    /// The party that let the call run or stopped it, if the vendor names it.
    pub witness: Option<Witness>,
    /// Whether the call needed an approval that nobody could give, if the vendor tells.
    pub unapproved: Option<bool>,
    /// The text that the model got if the call failed.
    pub told: String,
}

impl TurnCall {
    pub(super) fn end(&mut self, end: CallEnd) {
        let CallEnd { failed, ran, witness, withheld, by_hook, unapproved, content, .. } = end;
        (self.over, self.failed, self.ran, self.witness) = (true, failed, ran, witness);
        (self.withheld, self.by_hook, self.unapproved) = (withheld, by_hook, unapproved);
        self.told = if failed { content } else { String::new() };
    }
}

/// An input in a few words: for most tools the value that names their object, else all of it.
pub(super) fn summary(input: &serde_json::Value) -> String {
    let about = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description"];
    let word = about.iter().find_map(|key| input.get(key).and_then(serde_json::Value::as_str));
    let text = word.map_or_else(|| input.to_string(), String::from);
    // the first line is the same in every patch
    let line = text.lines().find(|line| *line != "*** Begin Patch").unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.into(),
    }
}

/// The vendor's terminal record.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Terminal {
    pub(super) failed: bool,
    pub(super) error: Option<String>,
    pub(super) truncated: bool,
    pub(super) blocked: bool,
    facts: serde_json::Value,
}

/// The model's last reply.
#[derive(Debug, Default)]
struct Reply {
    /// The id of the reply's model call, if the vendor gives one.
    request: Option<String>,
    /// All blocks of the reply, after the replies that it continues.
    text: String,
    /// Whether the next reply continues this one.
    cut: bool,
}

impl Reply {
    fn hear(&mut self, text: String, request: Option<String>) {
        let same = request.is_some() && request == self.request;
        match same || std::mem::take(&mut self.cut) {
            true => self.text.push_str(&text),
            false => self.text = text,
        }
        self.request = request;
    }
}

/// A call that the vendor's own permissions refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    pub id: String,
    pub tool: String,
    /// The call in a few words.
    pub summary: String,
}

/// A call without the decision that it needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unenforced {
    /// `None` where the record has no id.
    pub call_id: Option<String>,
    /// The tool, or another name for the call.
    pub tool: String,
    /// The missing thing.
    pub why: String,
}

#[derive(Debug, Default)]
pub struct Turn {
    pub session: Option<String>,
    pub model: Option<String>,
    pub calls: Vec<TurnCall>,
    /// The number of model calls, if the record allows counting.
    pub model_calls: Option<u64>,
    /// The tokens and the cost.
    pub figures: Figures,
    /// Calls that the vendor's own permissions refused.
    pub denied: Vec<Denied>,
    /// The hooks' denials.
    pub refused: Vec<Judgement>,
    /// The number of them that came about because the decider or the audit failed.
    pub undecided: usize,
    /// Calls without the decision that they needed.
    pub unenforced: Vec<Unenforced>,
    /// Whether the vendor's service refused the credentials.
    pub unauthorized: bool,
    /// The reasons for refusing calls of tools that are not offered, by tool.
    pub withheld: HashMap<&'static str, String>,
    /// The name of the hook's program, with which its messages begin.
    pub(super) hook: &'static str,
    answer: Option<String>,
    structured: Option<String>,
    reply: Reply,
    pub(super) last_notice: Option<String>,
    pub(super) denials: Vec<(String, String, serde_json::Value)>,
    pub(super) terminal: Option<Terminal>,
    /// Whether the vendor was in plan mode, where a hook's permission is not enough and the vendor's own rules decide
    /// afterwards (Claude Code 2.1.332: a call that changes nothing then runs by the mode's permission).
    pub(super) planned: bool,
    /// The number of hook answers before calls, by the vendor's record.
    pub(super) answered: usize,
    pub(super) blocked_prompt: Option<String>,
    /// If the turn was stopped from outside: whether a call was under way.
    pub(super) stopped_in_call: Option<bool>,
}

impl Turn {
    pub fn hear(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Started { session, model, facts } => {
                self.planned |= facts.get("permission_mode").and_then(serde_json::Value::as_str) == Some("plan");
                self.session = session.or(self.session.take());
                self.model = model.or(self.model.take());
            }
            TurnEvent::Text { text, request } => {
                self.reply.hear(text, request);
                self.last_notice = None;
            }
            TurnEvent::Continued => self.reply.cut = true,
            TurnEvent::Notice { text, .. } => self.last_notice = Some(text),
            TurnEvent::Unauthorized { text } => (self.last_notice, self.unauthorized) = (Some(text), true),
            TurnEvent::ModelCall { .. } => self.model_calls = Some(self.model_calls.unwrap_or(0) + 1),
            TurnEvent::Requested { call_id, tool, input, nested } => {
                self.reply.cut &= nested;
                if !self.calls.iter().any(|call| call.id == call_id) {
                    self.calls.push(TurnCall { id: call_id, tool, input, nested, ..TurnCall::default() });
                }
            }
            TurnEvent::Result(end) => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == end.call_id) {
                    call.end(end);
                }
            }
            TurnEvent::HookAnswered => self.answered += usize::from(!self.is_stopping()),
            TurnEvent::Stranger { what, why } => {
                self.unenforced.push(Unenforced { call_id: None, tool: what, why });
            }
            // a hook under way ends with the turn, and its call does not run
            TurnEvent::HookFailed { .. } if self.is_stopping() => {}
            TurnEvent::HookFailed { hook, why } => {
                self.unenforced.push(Unenforced { call_id: None, tool: hook, why });
            }
            // two terminal records may have two writers, so neither is trusted
            TurnEvent::Ended { .. } if self.terminal.is_some() => {
                let why = "the vendor's record says twice how the turn ended, and a turn ends once";
                self.unenforced.push(Unenforced { call_id: None, tool: "the end".into(), why: why.into() });
            }
            TurnEvent::Ended { failed, answer, structured, error, truncated, blocked, denials, figures, facts } => {
                self.terminal = Some(Terminal { failed, error, truncated, blocked, facts: *facts });
                (self.answer, self.structured, self.denials, self.figures) = (answer, structured, denials, figures);
            }
            TurnEvent::Thinking { .. }
            | TurnEvent::Estimate { .. }
            | TurnEvent::RateLimit { .. }
            | TurnEvent::Script { .. }
            | TurnEvent::Opaque { .. } => {}
        }
    }

    /// The denial of a call whose tool is not offered under the frame.
    pub fn refusal(&self, id: &str, tool: &str) -> Judgement {
        let reason = self.withheld.get(tool).map_or("it is not offered in this step", String::as_str);
        let denial = Judgement::denial(id, reason, "frame", "registration");
        Judgement { tool: Some(tool.into()), ..denial }
    }

    /// The turn is about to be stopped; `waits` tells whether a call waits for its decision. Later records of the
    /// vendor do not show the state of a call before the stop.
    pub fn stopping(&mut self, waits: bool) {
        self.stopped_in_call.get_or_insert(waits || self.calls.iter().any(|call| !call.over));
    }

    /// Whether the turn is being stopped from outside.
    pub fn is_stopping(&self) -> bool {
        self.stopped_in_call.is_some()
    }

    /// The vendor's list of calls that its own permissions refused: id, tool, input. A call that a hook denied may be
    /// in it.
    pub fn permission_denials(&self) -> &[(String, String, serde_json::Value)] {
        &self.denials
    }

    /// The rest of the terminal record, if there is one.
    pub fn facts(&self) -> Option<&serde_json::Value> {
        self.terminal.as_ref().map(|terminal| &terminal.facts)
    }

    /// The model's answer: the structured one, else the last reply, whole. The vendor's last record holds only the last
    /// piece of a reply, and is the answer if it differs from that.
    pub fn answer(&self) -> &str {
        let reply = self.reply.text.as_str();
        match (&self.structured, &self.answer) {
            (Some(structured), _) => structured,
            (None, Some(last)) if !reply.trim_end().ends_with(last.trim_end()) => last,
            (None, _) => reply,
        }
    }

    /// Take figures from the vendor's journal where the stream has none.
    pub(super) fn figures_of(&mut self, journaled: &Figures) {
        if self.figures == Figures::default() {
            self.figures = journaled.clone();
        }
    }

    /// Check the terminal record against the end of the vendor's process. If a signal ended the process in the middle
    /// of its work, the record is older than that, or another program wrote it.
    pub fn ended(&mut self, ending: &Ending) {
        if let (Some(signal), Some(_)) = (ending.killed(), &self.terminal) {
            let signal = signal_hook::low_level::signal_name(signal).map_or(signal.to_string(), String::from);
            let why =
                format!("a signal that is none of this run's ended it ({signal}), so its record is not to be trusted");
            self.unenforced.push(Unenforced { call_id: None, tool: "the vendor".into(), why });
        }
    }

    /// The tools of calls that failed on the way; refused and denied calls are listed elsewhere.
    pub fn failed_calls(&self) -> Vec<&str> {
        let elsewhere = |call: &&TurnCall| {
            let refused = self.refused.iter().any(|denial| denial.call_id.as_deref() == Some(&call.id));
            refused || self.denied.iter().any(|denied| denied.id == call.id)
        };
        let failed = self.calls.iter().filter(|call| call.failed && !call.nested);
        failed.filter(|call| !elsewhere(call)).map(|call| call.tool.as_str()).collect()
    }
}
