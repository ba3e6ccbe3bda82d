//! A turn as it adds up: what the vendor's record told of it.

use std::collections::HashMap;

use super::{Ending, Judgement};
use crate::adapter::run::{CallEnd, Figures, TurnEvent, Witness};

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
    /// Whether it needed an approval which nobody could give, where the vendor says so.
    pub unapproved: Option<bool>,
    /// What the model was told of one that failed.
    pub told: String,
}

impl TurnCall {
    /// It is over.
    pub(super) fn end(&mut self, end: CallEnd) {
        let CallEnd { failed, ran, witness, withheld, by_hook, unapproved, content, .. } = end;
        (self.over, self.failed, self.ran, self.witness) = (true, failed, ran, witness);
        (self.withheld, self.by_hook, self.unapproved) = (withheld, by_hook, unapproved);
        self.told = if failed { content } else { String::new() };
    }
}

/// An input in a few words: what most tools are about, else all of it.
pub(super) fn summary(input: &serde_json::Value) -> String {
    let about = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description"];
    let word = about.iter().find_map(|key| input.get(key).and_then(serde_json::Value::as_str));
    let text = word.map_or_else(|| input.to_string(), String::from);
    // the first line of a patch is the same in all of them
    let line = text.lines().find(|line| *line != "*** Begin Patch").unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.into(),
    }
}

/// The terminal record.
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
    /// The model call that it came from, where the vendor says so.
    request: Option<String>,
    /// All its blocks, and before them the replies that it continues.
    text: String,
    /// Whether the next one continues it.
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
    /// How many of those calls were not decided: what was to decide them could not.
    pub undecided: usize,
    /// Calls without the decision they must have had.
    pub unenforced: Vec<Unenforced>,
    /// Whether the vendor's service does not take the credentials.
    pub unauthorized: bool,
    /// Why a call is refused whose tool is not offered, by tool.
    pub withheld: HashMap<&'static str, String>,
    /// The name of the hook's program, by which it speaks of itself.
    pub(super) hook: &'static str,
    answer: Option<String>,
    structured: Option<String>,
    reply: Reply,
    pub(super) last_notice: Option<String>,
    pub(super) denials: Vec<(String, String, serde_json::Value)>,
    pub(super) terminal: Option<Terminal>,
    /// Whether the vendor was in the mode in which a hook's permission is not enough, and its own rules decide after that
    /// (Claude Code 2.1.332: what changes nothing then runs by the mode's word).
    pub(super) planned: bool,
    /// How many hooks the vendor says have answered before a call.
    pub(super) answered: usize,
    pub(super) blocked_prompt: Option<String>,
    /// Where it was stopped from outside: whether a call was under way.
    pub(super) stopped_in_call: Option<bool>,
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

    /// The model's answer: the one by a schema where there is one, else its last reply, whole. The vendor's last record has
    /// of that no more than the last piece, and is the answer where it says something else.
    pub fn answer(&self) -> &str {
        let reply = self.reply.text.as_str();
        match (&self.structured, &self.answer) {
            (Some(structured), _) => structured,
            (None, Some(last)) if !reply.trim_end().ends_with(last.trim_end()) => last,
            (None, _) => reply,
        }
    }

    /// What was used and is not known otherwise, by the vendor's journal.
    pub(super) fn figures_of(&mut self, journaled: &Figures) {
        if self.figures == Figures::default() {
            self.figures = journaled.clone();
        }
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

    /// Calls that failed on the way, by tool; those that were refused or denied stand elsewhere.
    pub fn failed_calls(&self) -> Vec<&str> {
        let elsewhere = |call: &&TurnCall| {
            let refused = self.refused.iter().any(|denial| denial.call_id.as_deref() == Some(&call.id));
            refused || self.denied.iter().any(|denied| denied.id == call.id)
        };
        let failed = self.calls.iter().filter(|call| call.failed && !call.nested);
        failed.filter(|call| !elsewhere(call)).map(|call| call.tool.as_str()).collect()
    }
}
