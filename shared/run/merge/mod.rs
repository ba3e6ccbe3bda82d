//! A turn in progress: the vendor's stream, the hooks' decisions, the vendor's journal and the embedder, joined into
//! one sequence.

mod audit;
mod embedder;
mod journal;
mod results;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::adapter::run::{Journal, Run, StreamReader, TurnEvent, Warning};
use crate::frame::{Operation, write_operation};
use crate::json::{Layout, Writer};
use crate::os::Follow;
use crate::protocol::MAX_LINE;
use crate::protocol::same;
use crate::run::Unenforced;
use crate::run::lines::{Item, Lines, ToldCall};
use crate::run::{Embedder, Judgement, Knock, Outside, Party, Queue, Stopped, Turn};
use crate::seal::Digest;

/// The interval at which the audit is read while lines are printed.
const GLANCE: Duration = Duration::from_millis(50);

/// The name in `decided_by` if the embedder decided.
const EMBEDDER: &str = "embedder";

/// The reason for denying a call whose hook ended too soon.
const CUT_SHORT: &str = "its hook was ended before a decision could go out";

/// The interval at which the vendor's journal is looked for until it exists.
const SEARCH: Duration = Duration::from_millis(200);

/// The time that hooks have to pass on denials at the turn's end.
const LAST_WORD: Duration = Duration::from_millis(300);

/// The longest time that a hook's question may come before the vendor's first record.
const AHEAD: Duration = Duration::from_secs(3);

/// The longest time that a decision may come before the vendor's record of its call: the text before the call must be
/// printed before it. A call made in a script has no such record.
const HELD: Duration = Duration::from_millis(500);

/// A call, and the part of it that is printed.
#[derive(Debug, Default)]
struct Known {
    call: ToldCall,
    requested: bool,
    asked: Option<Instant>,
    decided: bool,
    /// The reason, if the call was denied.
    denied: Option<String>,
    /// Whether the vendor's own record has the call.
    called: bool,
    over: bool,
}

/// A file of the vendor's journal, which grows with the turn.
#[derive(Debug)]
struct Journaling {
    /// The id of the session or of a sub-agent.
    id: String,
    /// `None` until the file exists.
    file: Option<Follow>,
}

/// A turn in progress.
pub struct Merge<'a> {
    journal: Option<&'static dyn Journal>,
    reader: StreamReader,
    /// The turn up to now.
    pub turn: Turn,
    show: &'a dyn Fn(&TurnEvent),
    outlet: Queue,
    warnings: &'a [(Warning, String)],
    lines: Option<Box<dyn Lines>>,
    embedder: Option<Embedder>,
    audit: Follow,
    /// Whether other runs may write to the audit too.
    shared: bool,
    judgements: Vec<Judgement>,
    /// Decisions about calls that are not in the vendor's record yet.
    held: Vec<Judgement>,
    /// The time when the oldest of them came.
    since: Option<Instant>,
    home: PathBuf,
    journaling: Vec<Journaling>,
    searched: Option<Instant>,
    /// Text that the stream had and the journal does not have yet.
    unsaid: Vec<TurnEvent>,
    /// Text that the journal had and the stream does not have yet.
    said_first: Vec<TurnEvent>,
    calls: HashMap<String, Known>,
    order: Vec<String>,
    /// The state of each limit as it was printed last.
    limits: Vec<Value>,
    line: u64,
    /// Whether the vendor has reported its session, which is the first line.
    begun: bool,
    /// Questions from before that, each with its time.
    early: Vec<(Instant, Knock)>,
    fault: Option<String>,
}

impl<'a> Merge<'a> {
    /// `audit` is the file with the hooks' lines, read from this byte on; `home` is the folder of the vendor's records;
    /// `outlet` takes the lines.
    pub fn new(
        vendor: &dyn Run,
        audit: (PathBuf, u64),
        home: PathBuf,
        show: &'a dyn Fn(&TurnEvent),
        outlet: Queue,
    ) -> Merge<'a> {
        Merge {
            journal: vendor.journal(),
            reader: StreamReader::new(vendor),
            turn: Turn::default(),
            show,
            outlet,
            warnings: &[],
            lines: None,
            embedder: None,
            audit: Follow::new(audit.0, audit.1),
            shared: false,
            judgements: Vec::new(),
            held: Vec::new(),
            since: None,
            home,
            journaling: Vec::new(),
            searched: None,
            unsaid: Vec::new(),
            said_first: Vec::new(),
            calls: HashMap::new(),
            order: Vec::new(),
            limits: Vec::new(),
            line: 0,
            begun: false,
            early: Vec::new(),
            fault: None,
        }
    }

    pub fn telling(self, lines: Option<Box<dyn Lines>>) -> Merge<'a> {
        Merge { lines, ..self }
    }

    pub fn sharing(self, shared: bool) -> Merge<'a> {
        Merge { shared, ..self }
    }

    pub fn asking(self, embedder: Option<Embedder>) -> Merge<'a> {
        Merge { embedder, ..self }
    }

    /// Warnings that come first once the vendor has started. If it does not start, they are not printed.
    pub fn warning(self, warnings: &'a [(Warning, String)]) -> Merge<'a> {
        Merge { warnings, ..self }
    }

    /// Handle the rest after the process has ended: decisions that were not read yet, and calls without a result. An
    /// unreadable audit leaves the turn unenforced.
    pub fn settle(&mut self) -> Vec<Judgement> {
        (self.searched, self.begun) = (None, true);
        self.look();
        if let (Some(journal), Some(session), true) = (self.journal, &self.turn.session, self.lines.is_some()) {
            let mut files = journal.files(&self.home, session);
            let followed = |path: &PathBuf| {
                let mut all = self.journaling.iter().filter_map(|one| one.file.as_ref());
                all.any(|follow| follow.path() == path)
            };
            files.retain(|path| !followed(path));
            for file in files {
                self.follow_journal(journal, &mut Follow::new(file, 0), false);
            }
        }
        self.release(None);
        for event in std::mem::take(&mut self.unsaid) {
            self.event(None, event, &[], "stream");
        }
        for id in self.order.clone() {
            self.never_decided(&id);
        }
        self.denied_within(None);
        self.turned_down(None, "", true);
        self.ended_with_the_turn();
        for id in std::mem::take(&mut self.order) {
            self.request(&id, None, "none");
        }
        if let Some(fault) = self.fault.take() {
            let why = format!("it cannot be read ({fault}), so it is not known what the hook decided");
            self.turn.unenforced.push(Unenforced { call_id: None, tool: "the audit".into(), why });
        }
        std::mem::take(&mut self.judgements)
    }

    /// Write the end. A turn that was printed in lines ends in lines.
    ///
    /// # Errors
    /// The reason why the output is not whole.
    pub fn end(self, end: impl FnOnce(&Turn, Option<&mut (dyn Lines + 'static)>) -> String) -> Result<(), String> {
        let Merge { turn, outlet, mut lines, .. } = self;
        outlet.put(end(&turn, lines.as_deref_mut()));
        outlet.finish()
    }

    /// The reasons for refusing calls of tools that are not offered, by tool.
    pub fn withholding(mut self, withheld: HashMap<&'static str, String>) -> Merge<'a> {
        self.turn.withheld = withheld;
        self
    }

    fn tell(&mut self, at: Option<&str>, item: &Item<'_>) {
        if let Some(lines) = &mut self.lines {
            self.outlet.put(lines.tell(at, item));
        }
    }

    /// The call with this id, added if it is new.
    fn known(&mut self, id: &str) -> &mut Known {
        if !self.calls.contains_key(id) {
            self.order.push(id.into());
        }
        self.calls
            .entry(id.into())
            .or_insert_with(|| Known { call: ToldCall { id: id.into(), ..ToldCall::default() }, ..Known::default() })
    }

    /// Whether any record names this call.
    fn is_known(&self, id: &str) -> bool {
        self.calls.contains_key(id) || self.held.iter().any(|word| word.call_id.as_deref() == Some(id))
    }

    /// Write that a call is requested, once.
    fn request(&mut self, id: &str, waits: Option<u64>, seam: &str) {
        let known = self.known(id);
        if std::mem::replace(&mut known.requested, true) {
            return;
        }
        let call = known.call.clone();
        self.tell(None, &Item::Requested { call: &call, waits, seam });
    }

    /// Handle one event of the vendor's. `line` is the record that it came from.
    fn event(&mut self, at: Option<&str>, event: TurnEvent, line: &[u8], source: &str) {
        match &event {
            TurnEvent::Started { session, model, facts } => {
                self.tell(at, &Item::Started { session: session.as_deref(), model: model.as_deref(), facts });
            }
            TurnEvent::Text { text, request } => self.tell(at, &Item::Text { text, request: request.as_deref() }),
            TurnEvent::Thinking { text, request } => {
                self.tell(at, &Item::Thinking { text, request: request.as_deref() })
            }
            TurnEvent::Estimate { tokens, delta } => self.tell(at, &Item::Estimate { tokens: *tokens, delta: *delta }),
            TurnEvent::ModelCall { request, model, figures: Some(figures) } => {
                self.tell(at, &Item::ModelCall { request, model: model.as_deref(), figures });
            }
            TurnEvent::Notice { code, text } => self.tell(at, &Item::Warning { code: *code, message: text }),
            TurnEvent::HookFailed { .. } if self.turn.is_stopping() => {}
            TurnEvent::HookFailed { hook, why } => {
                let message = format!("{hook}: {why}");
                self.tell(at, &Item::Warning { code: Warning::HookFailed, message: &message });
            }
            // Codex repeats it after each model call
            TurnEvent::RateLimit { info } if self.limits.contains(&**info) => {}
            TurnEvent::RateLimit { info } => {
                self.limits.retain(|before| before.get("window") != info.get("window"));
                self.limits.push((**info).clone());
                self.tell(at, &Item::RateLimit(info));
            }
            TurnEvent::Unauthorized { text } => {
                let line = self.line;
                self.tell(at, &Item::Unauthorized { detail: text, line });
            }
            TurnEvent::Opaque { kind, subtype } if self.lines.is_some() => {
                let (digest, number) = (Digest::of(line), self.line);
                let digest = digest.as_str();
                self.tell(at, &Item::Opaque { kind, subtype: subtype.as_deref(), digest, line: number });
            }
            TurnEvent::Requested { call_id, tool, input, nested } => {
                let known = self.known(call_id);
                known.call.nested |= *nested;
                if known.call.tool.is_empty() {
                    known.call.tool.clone_from(tool);
                }
                known.call.input = known.call.input.take().or_else(|| raw(input));
                known.called = true;
                self.release(Some(call_id));
            }
            // of a script that was cut short, which is no call
            TurnEvent::Result(end) if end.told && !self.is_known(&end.call_id) => {}
            TurnEvent::Result(end) => self.result(at, end, source),
            TurnEvent::Script { content } => {
                self.release(None);
                self.denied_within(at);
                self.turned_down(at, content, false);
            }
            _ => {}
        }
    }

    /// Whether a call is under way. The vendor may write the call's record only when it runs, so a call that waits for
    /// its decision counts.
    fn under_way(&self) -> bool {
        self.calls.values().any(|known| known.requested && !known.over)
            || self.embedder.as_ref().is_some_and(Embedder::waits)
    }
}

impl Party for Merge<'_> {
    fn started(&mut self) {
        for (code, message) in self.warnings {
            self.tell(None, &Item::Warning { code: *code, message });
        }
    }

    fn line(&mut self, line: &[u8]) -> Option<Stopped> {
        self.line += 1;
        self.since = self.since.map(|_| Instant::now());
        if self.lines.is_some() {
            // the vendor reports on a call after the hook has answered
            self.look();
        }
        let (at, events) = self.reader.line(line);
        for event in events {
            if !self.begun && self.lines.is_some() && matches!(event, TurnEvent::Result(_)) {
                // a call is over, so the record of the session's start is not to be expected any more; the hook's line
                // comes first
                self.begin();
                self.look();
            }
            (self.show)(&event);
            // where there is a journal, the stream lacks the ids that the hook saw; the journal has them, in sequence
            // with the text
            match (&event, self.journal) {
                _ if self.lines.is_none() => {}
                (TurnEvent::Requested { .. } | TurnEvent::Result(_), Some(_)) => {}
                (said, Some(_)) if is_said(said) => {
                    if !take(&mut self.said_first, said) {
                        self.unsaid.push(event.clone());
                    }
                }
                _ => self.event(at.as_deref(), event.clone(), line, "stream"),
            }
            let begins = matches!(event, TurnEvent::Started { .. });
            self.turn.hear(event);
            if begins {
                self.begin();
            }
        }
        None
    }

    fn outside(&mut self, outside: Outside) -> Option<Stopped> {
        // this news may end the waiting, so this is read before
        let under_way = self.under_way();
        let (told, stopped) = match (outside, self.embedder.as_mut()) {
            (Outside::Unread, _) => (Vec::new(), Some(Stopped::Unread)),
            (Outside::Hook(knock), _) => {
                self.knocked(knock);
                (Vec::new(), None)
            }
            (Outside::Command(line), Some(embedder)) => embedder.line(&line, Instant::now()),
            (Outside::TooLong, Some(_)) => (vec![Embedder::too_long(MAX_LINE)], None),
            (Outside::Gone, Some(embedder)) => embedder.gone(),
            (Outside::Command(_) | Outside::TooLong | Outside::Gone, None) => (Vec::new(), None),
        };
        self.told(told);
        if stopped.is_some() {
            self.turn.stopping(under_way);
        }
        stopped
    }

    fn wake(&mut self) {
        if self.early.first().is_some_and(|(since, _)| since.elapsed() > AHEAD) {
            self.begin();
        }
        if let Some(embedder) = &mut self.embedder {
            embedder.run_out(Instant::now());
        }
        if self.lines.is_some() {
            self.look();
        }
        if self.since.is_some_and(|since| since.elapsed() > HELD) {
            self.release(None);
        }
    }

    fn pause(&self) -> Option<Duration> {
        // the interval is short beside every deadline, so it serves for them as well
        self.lines.is_some().then_some(GLANCE)
    }

    fn stopping(&mut self, by: &Stopped) {
        if self.lines.is_some() {
            self.look();
        }
        self.turn.stopping(self.under_way());
        let told = self.embedder.as_mut().map(|embedder| embedder.stopping(by));
        self.told(told.unwrap_or_default());
        // a vendor that is told to stop stops its hooks too, and they have denials to pass on
        let until = Instant::now() + LAST_WORD;
        while self.calls.values().any(|known| known.asked.is_some() && !known.decided) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            self.look();
        }
    }

    fn over(&mut self) {
        let told = self.embedder.as_mut().map(Embedder::over);
        self.told(told.unwrap_or_default());
    }
}

/// Whether a decision is about another call, although it has this call's id.
fn another(call: &ToldCall, judgement: &Judgement) -> bool {
    let tool = judgement.tool.as_ref().is_some_and(|tool| *tool != call.tool);
    let input = match (&judgement.input, &call.input) {
        (Some(one), Some(other)) => !same(one, other),
        // an audit that others may read holds no inputs
        _ => false,
    };
    tool || input
}

/// Whether the event is text or reasoning of the model.
fn is_said(event: &TurnEvent) -> bool {
    matches!(event, TurnEvent::Text { .. } | TurnEvent::Thinking { .. })
}

/// Remove one equal event, if there is one.
fn take(from: &mut Vec<TurnEvent>, event: &TurnEvent) -> bool {
    let place = from.iter().position(|other| other == event);
    place.map(|place| from.remove(place)).is_some()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn raw(value: &Value) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

/// Operations in the form that a frame has.
fn operations(all: &[Operation]) -> Option<Box<RawValue>> {
    let mut out = Writer::new(Layout::Canonical);
    out.array();
    all.iter().for_each(|one| write_operation(one, &mut out));
    out.end_array();
    (!all.is_empty()).then(|| RawValue::from_string(out.finish()).ok()).flatten()
}
