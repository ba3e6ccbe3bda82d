//! The embedder's side of a run: calls that wait for a decision, and the effects of commands.
//!
//! Nothing here reads or writes. The caller hands lines over, and gets back, in order, the messages for the embedder.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::control::{Code, unsupported};
use super::{Judgement, Stopped};
use crate::adapter::Hook;
use crate::adapter::run::Warning;
use crate::json::{Layout, Writer};
use crate::protocol::same;
use crate::protocol::{COMMAND, Carried, Command, CommandKind, DECIDE, MAX_LINE, Malformed, Word, one_line};
use crate::seal;

/// A call that a hook asks about, from the hook's line.
#[derive(Debug, Clone, Deserialize)]
pub struct Asked {
    pub call_id: String,
    pub name: String,
    pub input: Box<RawValue>,
    /// The operations that the call needs.
    pub operations: Option<Box<RawValue>>,
    /// The paths that the call names.
    pub subjects: Option<Box<RawValue>>,
    /// Set on the calls of a sub-agent.
    pub agent_id: Option<String>,
    /// The base of relative paths.
    pub cwd: Option<String>,
}

/// A message for the embedder, in order of time.
#[derive(Debug)]
pub enum Told {
    /// A call waits for a decision, for this many milliseconds.
    Requested(Box<Asked>, u64),
    /// The answer to a command; the id is `-` where the command has none.
    Answered {
        id: String,
        outcome: Result<(), (Code, String)>,
    },
    Warning {
        code: Warning,
        message: String,
    },
}

/// What a run does once its embedder is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnEof {
    /// The turn goes on, and every call is denied.
    Deny,
    /// The turn is stopped.
    Interrupt,
}

#[derive(Debug)]
struct WaitingCall {
    /// The number of the hook's connection.
    number: u64,
    tool: String,
    input: String,
    waits: Option<Waiting>,
    /// The input that the embedder gave instead of the call's own.
    replaced: Option<Box<RawValue>>,
    /// The embedder's decision, if it lets the call run, until the audit has the call's line.
    granted: Option<&'static str>,
}

#[derive(Debug)]
struct Waiting {
    due: Instant,
    answer: Sender<String>,
}

/// The embedder, with the calls that it was asked about.
#[derive(Debug)]
pub struct Embedder {
    vendor: &'static dyn Hook,
    patience: Duration,
    on_eof: OnEof,
    calls: HashMap<String, WaitingCall>,
    /// The reason why the embedder is asked no more.
    silent: Option<&'static str>,
}

impl Embedder {
    /// `patience` is the time for each decision.
    pub fn new(vendor: &'static dyn Hook, patience: Duration, on_eof: OnEof) -> Embedder {
        Embedder { vendor, patience, on_eof, calls: HashMap::new(), silent: None }
    }

    /// Whether a call waits for its decision.
    pub fn waits(&self) -> bool {
        self.calls.values().any(|call| call.waits.is_some())
    }

    /// The input that the embedder gave this call instead of its own.
    pub fn replaced(&self, id: &str) -> Option<&RawValue> {
        self.calls.get(id)?.replaced.as_deref()
    }

    /// Whether the embedder really made this decision; each decision counts once. A program that took the socket's
    /// place would have made its own.
    pub fn vouches(&mut self, judgement: &Judgement) -> bool {
        let call = judgement.call_id.as_ref().and_then(|id| self.calls.get_mut(id));
        let Some((call, said)) = call.and_then(|call| call.granted.take().map(|said| (call, said))) else {
            return false;
        };
        match (said, judgement.decision.decision.as_str()) {
            ("replace", "replace") => match (&judgement.decision.input, &call.replaced) {
                (Some(went), Some(given)) => same(went, given),
                // an audit that others may read holds no inputs
                _ => true,
            },
            // under `deny-only` the hook abstains where the embedder allows
            ("allow", "allow" | "abstain") | ("abstain", "abstain") => true,
            _ => false,
        }
    }

    /// Deny the calls whose time is over.
    pub fn run_out(&mut self, now: Instant) {
        let patience = self.patience.as_secs();
        for (id, call) in &mut self.calls {
            if let Some(waiting) = call.waits.take_if(|waiting| waiting.due <= now) {
                let why = format!("nobody decided about it in {patience} seconds");
                let _ = waiting.answer.send(decision(id, &Word::Deny(why), Some("deadline")));
            }
        }
    }

    /// Handle the question of the hook with this connection number.
    pub fn asked(&mut self, number: u64, line: &[u8], answer: Sender<String>, now: Instant) -> Vec<Told> {
        // a line of another shape is not from our hook: it gets no answer, which denies
        let Ok(asked) = serde_json::from_slice::<Asked>(line) else { return Vec::new() };
        let deny = |why: &str| {
            let _ = answer.send(decision(&asked.call_id, &Word::Deny(why.into()), Some("adapter")));
        };
        if let Some(before) = self.calls.get(&asked.call_id) {
            let same = before.tool == asked.name && before.input == asked.input.get();
            if same {
                deny(REPEATED);
                return Vec::new();
            }
            deny(MUTATED);
            let message = format!("the call {} came again with another tool or input, and was denied", asked.call_id);
            return vec![Told::Warning { code: Warning::Mutated, message }];
        }
        let mut call = WaitingCall {
            number,
            tool: asked.name.clone(),
            input: asked.input.get().into(),
            waits: None,
            replaced: None,
            granted: None,
        };
        let told = match self.silent {
            Some(why) => {
                deny(why);
                Vec::new()
            }
            None => {
                call.waits = Some(Waiting { due: now + self.patience, answer });
                let left = u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX);
                vec![Told::Requested(Box::new(asked.clone()), left)]
            }
        };
        self.calls.insert(asked.call_id, call);
        told
    }

    /// A hook that asked is gone before it got the decision.
    pub fn left(&mut self, number: u64) -> Vec<Told> {
        // the hooks of a stopped turn end with it
        let asked = |(_, call): &(&String, &mut WaitingCall)| self.silent.is_none() && call.number == number;
        let Some((id, call)) = self.calls.iter_mut().find(asked) else { return Vec::new() };
        let then = match call.waits.take() {
            Some(_) => "before anybody decided about it",
            None => "before it heard the decision",
        };
        let message = format!("whoever asked about the call {id} ({}) was gone {then}", call.tool);
        vec![Told::Warning { code: Warning::Abandoned, message }]
    }

    /// Deny every call that waits.
    fn abandon(&mut self, why: &'static str) -> Vec<Told> {
        self.silent.get_or_insert(why);
        let mut waiting: Vec<_> = self.calls.iter_mut().filter(|(_, call)| call.waits.is_some()).collect();
        waiting.sort_unstable_by_key(|(_, call)| call.number);
        let mut told = Vec::new();
        for (id, call) in waiting {
            if let Some(waiting) = call.waits.take() {
                let _ = waiting.answer.send(decision(id, &Word::Deny(why.into()), Some("adapter")));
            }
            let message = format!("the call {id} ({}) waited for a decision, and was denied: {why}", call.tool);
            told.push(Told::Warning { code: Warning::Abandoned, message });
        }
        told
    }

    /// The turn is about to be stopped.
    pub fn stopping(&mut self, by: &Stopped) -> Vec<Told> {
        self.abandon(match by {
            Stopped::Signal(_) => "the run was stopped by a signal",
            Stopped::Time => "the turn's time is up",
            Stopped::Command { .. } => OVER,
            Stopped::Gone => GONE,
            Stopped::Unread => "nobody reads what the run tells",
        })
    }

    /// The embedder closed its side.
    pub fn gone(&mut self) -> (Vec<Told>, Option<Stopped>) {
        let told = self.abandon(GONE);
        (told, (self.on_eof == OnEof::Interrupt).then_some(Stopped::Gone))
    }

    /// The turn is over, so no call waits any more.
    pub fn over(&mut self) -> Vec<Told> {
        self.abandon("the turn is over")
    }

    /// The answer to a line that is longer than the limit.
    pub fn too_long(limit: usize) -> Told {
        let why = format!("the line holds more than {limit} bytes, and was passed over");
        Told::Answered { id: "-".into(), outcome: Err((Code::Malformed, why)) }
    }

    /// Handle a line of the embedder's. A [`Stopped`] stops the turn.
    pub fn line(&mut self, line: &[u8], now: Instant) -> (Vec<Told>, Option<Stopped>) {
        if line.trim_ascii().is_empty() {
            return (Vec::new(), None);
        }
        self.run_out(now);
        let (id, outcome) = match Command::read(line) {
            // `-` is the id of commands that have none
            Ok(Command { id, .. }) if id.is_empty() || id == NO_ID => {
                let why = format!("`id` is {id:?}, by which no answer can be told from others; give another");
                (NO_ID.into(), Err((Code::Malformed, why)))
            }
            Ok(Command { id, order }) => (id, self.apply(order)),
            Err(Malformed { id, why }) => (id.unwrap_or_else(|| NO_ID.into()), Err((Code::Malformed, why))),
        };
        match outcome {
            Ok((mut told, stopped)) => {
                told.push(Told::Answered { id, outcome: Ok(()) });
                (told, stopped)
            }
            Err(refused) => (vec![Told::Answered { id, outcome: Err(refused) }], None),
        }
    }

    /// A malformed command is reported as malformed even if it could not be honoured.
    fn apply(&mut self, order: CommandKind<'_>) -> Result<(Vec<Told>, Option<Stopped>), (Code, String)> {
        let other = match order {
            CommandKind::Decide { call_id, word, .. } => {
                return self.decide(&call_id, word).map(|()| (Vec::new(), None));
            }
            CommandKind::Other(other) => other,
        };
        let malformed = |why| (Code::Malformed, why);
        let reason = match other.carried().map_err(malformed)? {
            Carried::Words(words) => words,
            Carried::Frame(frame) => {
                framed(frame).map_err(|why| malformed(format!("malformed {}: {why}", other.name)))?;
                String::new()
            }
        };
        if let Some(why) = unsupported(self.vendor, other.name) {
            return Err((Code::UnsupportedControl, format!("{} {why}", other.name)));
        }
        if self.silent.is_some() {
            return Err((Code::TooLate, format!("{}: the turn is over", other.name)));
        }
        let told = self.abandon(OVER);
        Ok((told, Some(Stopped::Command { halt: other.name == "halt", reason })))
    }

    fn decide(&mut self, call_id: &str, word: Word<'_>) -> Result<(), (Code, String)> {
        let Some(call) = self.calls.get_mut(call_id) else {
            return Err((Code::UnknownCall, format!("no call {call_id:?} was put to the embedder in this run")));
        };
        let Some(waiting) = &call.waits else {
            let why = format!("the call {call_id:?} does not wait any more: it is decided, or nobody is left who asks");
            return Err((Code::TooLate, why));
        };
        if let Word::Replace(input) = word
            && let Err(why) = self.vendor.replacement(self.vendor.facts().gate, input, &call.tool)
        {
            let why = format!("{DECIDE} replace: {} {why}; it still waits", call.tool);
            return Err((Code::UnsupportedControl, why));
        }
        let line = decision(call_id, &word, None);
        if line.len() > MAX_LINE {
            let why = format!("{DECIDE}: it is too long to be passed on ({} bytes); it still waits", line.len());
            return Err((Code::UnsupportedControl, why));
        }
        if let Word::Replace(input) = word {
            call.replaced = RawValue::from_string(input.into()).ok();
        }
        call.granted = match word {
            Word::Allow => Some("allow"),
            Word::Abstain => Some("abstain"),
            Word::Replace(_) => Some("replace"),
            Word::Deny(_) => None,
        };
        let sent = waiting.answer.send(line);
        call.waits = None;
        sent.map_err(|_| (Code::TooLate, format!("the call {call_id:?} does not wait any more: whoever asked is gone")))
    }
}

/// The id in the answer to a line that has none.
const NO_ID: &str = "-";

/// The reason for denials after the embedder stopped the turn.
const OVER: &str = "the embedder stopped the turn";

/// The reason for denials after the embedder closed its side.
const GONE: &str = "the embedder is gone, so nobody can decide about it";

/// The reason for denying a call that the embedder was asked about before.
const REPEATED: &str = "it was put to the embedder before, and no decision is used twice";

/// The reason for denying such a call if its input or tool differs.
const MUTATED: &str = "REQUEST_MUTATED: a call of this id was put to the embedder before, with another tool or input";

/// Whether a reason denies a repeated call id. That denial is not the decision about the first call.
pub fn again(reason: &str) -> bool {
    reason.contains(REPEATED) || reason.contains(MUTATED)
}

/// The fault in a frame without a seal. Its tag may be left out.
fn framed(raw: &str) -> Result<(), String> {
    let tag = crate::frame::FORMAT;
    let tagged =
        serde_json::from_str::<HashMap<String, &RawValue>>(raw).is_ok_and(|members| members.contains_key("format"));
    let members = raw.trim_start().strip_prefix('{').unwrap_or_default();
    let comma = if members.trim_start().starts_with('}') { "" } else { "," };
    let document = if tagged { raw.to_string() } else { format!("{{\"format\":\"{tag}\"{comma}{members}") };
    seal::verify(document.as_bytes(), None).map(drop).map_err(|refusal| format!("{}: {refusal}", refusal.name()))
}

/// The line that answers a hook.
fn decision(call_id: &str, word: &Word<'_>, by: Option<&str>) -> String {
    let mut out = Writer::new(Layout::Canonical);
    out.object();
    out.member("format", COMMAND);
    out.member("id", "1");
    out.member("command", DECIDE);
    out.member("call_id", call_id);
    out.key("decision");
    out.object();
    match word {
        Word::Allow => out.member("decision", "allow"),
        Word::Abstain => out.member("decision", "abstain"),
        Word::Deny(reason) => {
            out.member("decision", "deny");
            out.member("reason", reason);
        }
        Word::Replace(input) => {
            out.member("decision", "replace");
            out.key("input");
            out.raw(input);
        }
    }
    out.end_object();
    if let Some(by) = by {
        out.member("decided_by", by);
    }
    out.end_object();
    one_line(out.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    const SECOND: Duration = Duration::from_secs(1);

    fn embedder() -> Embedder {
        Embedder::new(&crate::adapter::claude::Claude, 10 * SECOND, OnEof::Deny)
    }

    /// A call of `Bash` at this time.
    fn put(to: &mut Embedder, number: u64, call: &str, input: &str, now: Instant) -> (Vec<Told>, Receiver<String>) {
        let (sender, answers) = channel();
        let line = format!("{{\"call_id\":\"{call}\",\"name\":\"Bash\",\"input\":{input}}}");
        (to.asked(number, line.as_bytes(), sender, now), answers)
    }

    fn decide(to: &mut Embedder, call: &str, decision: &str, now: Instant) -> String {
        let line = format!(
            "{{\"format\":\"{COMMAND}\",\"id\":\"1\",\"command\":\"{DECIDE}\",\"call_id\":\"{call}\",\"decision\":{decision}}}"
        );
        match to.line(line.as_bytes(), now).0.as_slice() {
            [Told::Answered { outcome: Ok(()), .. }] => "ok".into(),
            [Told::Answered { outcome: Err((code, why)), .. }] => format!("{}: {why}", code.word()),
            told => format!("{told:?}"),
        }
    }

    const ALLOW: &str = "{\"decision\":\"allow\"}";

    #[test]
    fn a_deadline_that_has_passed_is_run_out_before_a_command_is_applied() {
        let (mut embedder, start) = (embedder(), Instant::now());
        let (_, first) = put(&mut embedder, 1, "c1", "{}", start);
        let (_, second) = put(&mut embedder, 2, "c2", "{}", start + SECOND);
        assert_eq!(decide(&mut embedder, "c3", ALLOW, start + 9 * SECOND).split(':').next(), Some("UNKNOWN_CALL"));
        assert!(first.try_recv().is_err());
        // this call's time is over at this very moment, the other's is not
        assert_eq!(decide(&mut embedder, "c1", ALLOW, start + 10 * SECOND).split(':').next(), Some("TOO_LATE"));
        let denied = first.recv().unwrap();
        assert!(denied.contains("\"decided_by\":\"deadline\"") && denied.contains("in 10 seconds"), "{denied}");
        assert!(second.try_recv().is_err());
        assert_eq!(decide(&mut embedder, "c2", ALLOW, start + 10 * SECOND), "ok");
        assert!(second.recv().unwrap().contains("\"decision\":\"allow\"}}"));
        embedder.run_out(start + 60 * SECOND);
        assert!(first.recv().is_err() && second.recv().is_err(), "an answer after the answer");
    }

    #[test]
    fn a_replace_that_cannot_be_passed_on_whole_is_refused_and_the_call_waits() {
        let (mut embedder, now) = (embedder(), Instant::now());
        let (_, answers) = put(&mut embedder, 1, "c1", "{}", now);
        // a line grows when its separators are escaped
        let long = "\u{2028}".repeat(MAX_LINE / 4);
        let replace = format!("{{\"decision\":\"replace\",\"input\":{{\"command\":\"{long}\"}}}}");
        let refused = decide(&mut embedder, "c1", &replace, now);
        assert!(refused.starts_with("UNSUPPORTED_CONTROL: tool.decide: it is too long"), "{refused}");
        assert!(answers.try_recv().is_err());
        assert_eq!(decide(&mut embedder, "c1", ALLOW, now), "ok");
    }

    #[test]
    fn calls_are_given_up_in_their_order_and_later_ones_hear_why() {
        let (mut embedder, now) = (embedder(), Instant::now());
        let calls: Vec<String> = (1..20).map(|number| format!("c{number}")).collect();
        let waiting: Vec<_> =
            calls.iter().zip(1..).map(|(call, number)| put(&mut embedder, number, call, "{}", now).1).collect();
        let halt = format!("{{\"format\":\"{COMMAND}\",\"id\":\"h\",\"command\":\"halt\",\"reason\":\"\"}}");
        let (told, stopped) = embedder.line(halt.as_bytes(), now);
        assert_eq!(stopped, Some(Stopped::Command { halt: true, reason: String::new() }));
        let (last, warnings) = told.split_last().unwrap();
        assert!(matches!(last, Told::Answered { outcome: Ok(()), .. }), "{last:?}");
        for (warning, call) in warnings.iter().zip(&calls) {
            assert!(
                matches!(warning, Told::Warning { code: Warning::Abandoned, message }
                if message.starts_with(&format!("the call {call} (Bash) waited"))),
                "{warning:?}"
            );
        }
        assert_eq!(warnings.len(), calls.len());
        assert!(waiting.iter().all(|answers| answers.recv().is_ok_and(|line| line.contains("\"adapter\""))));
        let (told, answers) = put(&mut embedder, 30, "late", "{}", now);
        assert!(told.is_empty() && answers.recv().unwrap().contains(OVER));
        assert_eq!(decide(&mut embedder, "late", ALLOW, now).split(':').next(), Some("TOO_LATE"));
    }

    #[test]
    fn one_that_left_is_told_once_and_not_when_the_turn_is_over() {
        let (mut embedder, now) = (embedder(), Instant::now());
        for (number, call) in [(1, "c1"), (2, "c2"), (3, "c3")] {
            put(&mut embedder, number, call, "{}", now);
        }
        assert_eq!(
            decide(&mut embedder, "c2", ALLOW, now),
            "TOO_LATE: the call \"c2\" does not wait any more: whoever asked is gone"
        );
        let said = |told: Vec<Told>| match told.as_slice() {
            [Told::Warning { message, .. }] => message.clone(),
            told => format!("{told:?}"),
        };
        let gone = "whoever asked about the call";
        assert_eq!(said(embedder.left(1)), format!("{gone} c1 (Bash) was gone before anybody decided about it"));
        assert_eq!(said(embedder.left(2)), format!("{gone} c2 (Bash) was gone before it heard the decision"));
        assert!(embedder.left(9).is_empty());
        assert_eq!(embedder.over().len(), 1);
        assert!(embedder.left(3).is_empty());
    }

    #[test]
    fn a_line_that_asks_nothing_is_no_call() {
        let (mut embedder, now) = (embedder(), Instant::now());
        for line in ["", "[]", "{\"call_id\":\"c\"}", "{\"call_id\":\"c\",\"name\":1,\"input\":{}}"] {
            let (sender, answers) = channel();
            assert!(embedder.asked(1, line.as_bytes(), sender, now).is_empty());
            assert!(answers.recv().is_err() && !embedder.waits());
        }
    }
}
