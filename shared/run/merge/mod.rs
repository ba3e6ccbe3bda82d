//! A turn as it goes: the vendor's stream, the hooks' decisions, the vendor's journal and the embedder,
//! joined to one row.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::adapter::run::{CallEnd, Journal, Run, StreamReader, TurnEvent, Warning};
use crate::frame::{Operation, write_operation};
use crate::json::{Layout, Writer};
use crate::os::Follow;
use crate::protocol::MAX_LINE;
use crate::run::audit::same;
use crate::run::embedder::{Asked, Told, again};
use crate::run::lines::{Item, Lines, ToldCall};
use crate::run::outcome::Unenforced;
use crate::run::{Embedder, Judgement, Knock, Outside, Party, Queue, Stopped, Turn};
use crate::seal::Digest;

/// How often the hooks' decisions are looked for while there is somebody to tell.
const GLANCE: Duration = Duration::from_millis(50);

/// Who decided, in the line of a hook that asked.
const EMBEDDER: &str = "embedder";

/// Why a call is denied whose hook was gone too soon.
const CUT_SHORT: &str = "its hook was ended before a decision could go out";

/// How often the vendor's journal is looked for until it is there.
const SEARCH: Duration = Duration::from_millis(200);

/// How long hooks whose calls were denied for the turn's end may take to pass that on.
const LAST_WORD: Duration = Duration::from_millis(300);

/// How long a hook that asks may be ahead of the vendor's first record.
const AHEAD: Duration = Duration::from_secs(3);

/// A call, and what of it has been told.
#[derive(Debug, Default)]
struct Known {
    call: ToldCall,
    requested: bool,
    asked: Option<Instant>,
    decided: bool,
    /// Why it was denied, if it was.
    denied: Option<String>,
    /// What the model was told of it, as long as nothing better is known.
    output: Option<String>,
    over: bool,
}

/// A file of the vendor's journal, which grows with the turn.
#[derive(Debug)]
struct Journaling {
    /// Of what: the session, or one of its sub-agents.
    id: String,
    /// Once it is there.
    file: Option<Follow>,
}

/// A turn that runs.
pub struct Merge<'a> {
    journal: Option<&'static dyn Journal>,
    reader: StreamReader,
    /// What it has come to so far.
    pub turn: Turn,
    show: &'a dyn Fn(&TurnEvent),
    outlet: Queue,
    warnings: &'a [(Warning, String)],
    lines: Option<Box<dyn Lines>>,
    embedder: Option<Embedder>,
    audit: Follow,
    /// Whether other runs may write to it too.
    shared: bool,
    judgements: Vec<Judgement>,
    home: PathBuf,
    journaling: Vec<Journaling>,
    searched: Option<Instant>,
    /// What the model said by the stream, and not by the journal yet.
    unsaid: Vec<TurnEvent>,
    /// And the other way round.
    said_first: Vec<TurnEvent>,
    calls: HashMap<String, Known>,
    order: Vec<String>,
    /// What is left of each limit, as it was told last.
    limits: Vec<Value>,
    line: u64,
    /// Whether the vendor has said that its session has begun: the first thing that is told of it.
    begun: bool,
    /// What the hooks said before that, and since when.
    early: Vec<(Instant, Knock)>,
    fault: Option<String>,
}

impl<'a> Merge<'a> {
    /// Before its first line. `audit` is where the hooks' lines are, from this byte on; `home` the
    /// folder in which the vendor keeps its records; `outlet` where it is told.
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

    /// Tell it in lines as it goes.
    pub fn telling(self, lines: Option<Box<dyn Lines>>) -> Merge<'a> {
        Merge { lines, ..self }
    }

    /// Whether the audit may have lines of other runs in it.
    pub fn sharing(self, shared: bool) -> Merge<'a> {
        Merge { shared, ..self }
    }

    /// Put calls to an embedder.
    pub fn asking(self, embedder: Option<Embedder>) -> Merge<'a> {
        Merge { embedder, ..self }
    }

    /// What is to be told first once the vendor has been started; of a turn that could not be, nothing is.
    pub fn warning(self, warnings: &'a [(Warning, String)]) -> Merge<'a> {
        Merge { warnings, ..self }
    }

    /// What is left when the process has ended: the decisions that were not read yet, and the calls
    /// that nothing more was heard of. An audit that cannot be read leaves the turn unenforced.
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
        for event in std::mem::take(&mut self.unsaid) {
            self.event(None, event, &[], "stream");
        }
        for id in self.order.clone() {
            self.never_decided(&id);
        }
        self.denied_within(None);
        let given = |(id, known): (&String, &mut Known)| Some((id.clone(), known.output.take()?));
        let given: Vec<_> = self.calls.iter_mut().filter_map(given).collect();
        for (id, content) in given {
            self.given(None, &id, content);
        }
        for id in std::mem::take(&mut self.order) {
            self.request(&id, None, "none");
        }
        if let Some(fault) = self.fault.take() {
            let why = format!("it cannot be read ({fault}), so it is not known what the hook decided");
            self.turn.unenforced.push(Unenforced { call_id: None, tool: "the audit".into(), why });
        }
        std::mem::take(&mut self.judgements)
    }

    /// The last that is to be said, and all of it written. What was told in lines ends in lines.
    ///
    /// # Errors
    /// Why it could not be.
    pub fn end(self, end: impl FnOnce(&Turn, Option<&mut (dyn Lines + 'static)>) -> String) -> Result<(), String> {
        let Merge { turn, outlet, mut lines, .. } = self;
        outlet.put(end(&turn, lines.as_deref_mut()));
        outlet.finish()
    }

    fn tell(&mut self, at: Option<&str>, item: &Item<'_>) {
        if let Some(lines) = &mut self.lines {
            self.outlet.put(lines.tell(at, item));
        }
    }

    /// The call of this id, made known where it is not.
    fn known(&mut self, id: &str) -> &mut Known {
        if !self.calls.contains_key(id) {
            self.order.push(id.into());
        }
        self.calls
            .entry(id.into())
            .or_insert_with(|| Known { call: ToldCall { id: id.into(), ..ToldCall::default() }, ..Known::default() })
    }

    /// Tell that a call is asked for, once.
    fn request(&mut self, id: &str, waits: Option<u64>, seam: &str) {
        let known = self.known(id);
        if std::mem::replace(&mut known.requested, true) {
            return;
        }
        let call = known.call.clone();
        self.tell(None, &Item::Requested { call: &call, waits, seam });
    }

    fn asked(&mut self, asked: Asked, waits: u64) {
        let known = self.known(&asked.call_id);
        known.asked = Some(Instant::now());
        known.call = ToldCall {
            id: asked.call_id.clone(),
            tool: asked.name,
            input: Some(asked.input),
            operations: asked.operations,
            subjects: asked.subjects,
            nested: known.call.nested || asked.agent_id.is_some(),
            agent: asked.agent_id,
            cwd: asked.cwd,
        };
        self.request(&asked.call_id, Some(waits), "hook");
    }

    /// The session has begun, or nothing more is heard of it: hear the hooks that were ahead.
    fn begin(&mut self) {
        self.begun = true;
        for (_, knock) in std::mem::take(&mut self.early) {
            self.knocked(knock);
        }
    }

    fn knocked(&mut self, knock: Knock) {
        let Some(embedder) = &mut self.embedder else { return };
        if !self.begun {
            return self.early.push((Instant::now(), knock));
        }
        let told = match knock {
            Knock::Asked { number, line, answer } => embedder.asked(number, &line, answer, Instant::now()),
            Knock::Left { number } => embedder.left(number),
        };
        self.told(told);
    }

    /// Read what is new in the audit, and in the vendor's journal. Before the session is known, whose
    /// lines they are is not, and a call would be told before the session that it belongs to.
    fn look(&mut self) {
        if !self.begun {
            return;
        }
        let mut audit = std::mem::take(&mut self.audit);
        let read = audit.lines(&mut |line| {
            if let Some(mut judgement) = Judgement::read(line).filter(|judgement| self.is_own(judgement)) {
                self.vouched(&mut judgement);
                self.judged(&judgement);
                self.judgements.push(judgement);
            }
        });
        self.audit = audit;
        if let Err(error) = read {
            self.fault = Some(crate::os::words(error));
        }
        if let (Some(journal), true) = (self.journal, self.lines.is_some()) {
            self.look_at_journal(journal);
        }
    }

    /// Whether a decision is one about this turn. A vendor that never said which session this is has none of the other
    /// sessions' lines for it.
    fn is_own(&self, judgement: &Judgement) -> bool {
        match (&self.turn.session, &judgement.call_id) {
            (None, Some(id)) if self.shared => {
                self.calls.contains_key(id) || self.turn.calls.iter().any(|call| call.id == *id)
            }
            (None, None) if self.shared => judgement.session_id.is_none(),
            (session, _) => judgement.of(session.as_deref()),
        }
    }

    /// A decision that is not the embedder's, and says that it is, leaves the turn unenforced.
    fn vouched(&mut self, judgement: &mut Judgement) {
        let Some(embedder) = &mut self.embedder else { return };
        if judgement.decided_by == EMBEDDER && !judgement.denies() && !embedder.vouches(judgement) {
            judgement.decided_by = "adapter".into();
            self.turn.unenforced.push(Unenforced {
                call_id: judgement.call_id.clone(),
                tool: judgement.tool.clone().unwrap_or_default(),
                why: "it went on by the word of somebody who is not the embedder of this run".into(),
            });
        }
    }

    fn look_at_journal(&mut self, journal: &'static dyn Journal) {
        // the session's comes first, and a sub-agent's has its id in its name too
        let agents = self.calls.values().filter_map(|known| known.call.agent.as_ref());
        for id in self.turn.session.iter().chain(agents) {
            if !self.journaling.iter().any(|one| one.id == *id) {
                self.journaling.push(Journaling { id: id.clone(), file: None });
            }
        }
        let now = Instant::now();
        let missing = self.journaling.iter().any(|one| one.file.is_none());
        if missing && self.searched.is_none_or(|before| now.duration_since(before) >= SEARCH) {
            self.searched = Some(now);
            for Journaling { id, file } in self.journaling.iter_mut().filter(|one| one.file.is_none()) {
                *file = journal.file(&self.home, id).map(|file| Follow::new(file, 0));
            }
        }
        let mut journaling = std::mem::take(&mut self.journaling);
        for Journaling { id, file } in &mut journaling {
            if let Some(follow) = file {
                self.follow_journal(journal, follow, self.turn.session.as_ref() == Some(id));
            }
        }
        self.journaling = journaling;
    }

    /// Tell what is new in a file of the journal; what the model says, only in the session's own.
    fn follow_journal(&mut self, journal: &'static dyn Journal, follow: &mut Follow, own: bool) {
        // one that cannot be read makes the turn unenforced, at its end
        let _ = follow.lines(&mut |line| {
            let (at, events) = journal.line(line);
            for event in events {
                match (is_said(&event), own) {
                    (true, false) => continue,
                    (true, true) if !take(&mut self.unsaid, &event) => self.said_first.push(event.clone()),
                    _ => {}
                }
                self.event(at.as_deref(), event, &[], "rollout");
            }
        });
    }

    fn judged(&mut self, judgement: &Judgement) {
        let Some(id) = &judgement.call_id else {
            if judgement.denies() {
                let what = judgement.tool.as_deref().or(judgement.event.as_deref()).unwrap_or("an event");
                let message = format!("{what}: {}", judgement.reason().unwrap_or_default());
                self.tell(judgement.at.as_deref(), &Item::Warning { code: Warning::HookRefused, message: &message });
            }
            return;
        };
        let known = self.known(id);
        let repeated = judgement.decided_by == "adapter" && judgement.reason().is_some_and(again);
        if known.decided || (known.asked.is_some() && repeated) {
            return;
        }
        if known.asked.is_some() && another(&known.call, judgement) {
            let (word, by) = (&judgement.decision.decision, &judgement.decided_by);
            let message = format!("the call {id} came again with another tool or input: {word}, by the {by}");
            self.tell(judgement.at.as_deref(), &Item::Warning { code: Warning::Mutated, message: &message });
            return;
        }
        known.decided = true;
        known.denied = judgement.denies().then(|| judgement.reason().unwrap_or_default().into());
        let call = &mut known.call;
        call.nested |= judgement.agent_id.is_some();
        call.agent = judgement.agent_id.clone().or(call.agent.take());
        if call.tool.is_empty() {
            call.tool = judgement.tool.clone().unwrap_or_default();
        }
        call.input = judgement.input.clone().or(call.input.take());
        call.operations = call.operations.take().or_else(|| operations(&judgement.operations));
        let latency = known.asked.map_or(judgement.micros / 1000, |asked| millis(asked.elapsed()));
        self.request(id, None, &judgement.seam);
        let call = self.known(id).call.clone();
        let mut judgement = judgement.clone();
        if judgement.decision.decision == "replace" && judgement.decision.input.is_none() {
            // an audit that others read holds no inputs
            judgement.decision.input =
                self.embedder.as_ref().and_then(|embedder| embedder.replaced(id)).map(ToOwned::to_owned);
        }
        self.tell(None, &Item::Decided { call: &call, judgement: &judgement, latency: Some(latency) });
    }

    /// One event of the vendor's. `line` is the record that it came from.
    fn event(&mut self, at: Option<&str>, event: TurnEvent, line: &[u8], source: &str) {
        let comes_later = |tool: &str| self.journal.is_some_and(|journal| journal.comes_later(tool));
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
            // Codex says it again after each model call
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
            }
            TurnEvent::Result(end) => self.result(at, end, true, source),
            TurnEvent::Output { call_id, content } => match self.calls.get_mut(call_id) {
                // a script's: what was denied in it is over
                None => self.denied_within(at),
                // a command may run on, and its record come later
                Some(known) if comes_later(&known.call.tool) => known.output = Some(content.clone()),
                Some(_) => self.given(at, call_id, content.clone()),
            },
            _ => {}
        }
    }

    /// A call that was put to the embedder, and whose hook was gone before a decision could go out: what
    /// does not stand in the audit did not, so the call is one that was denied.
    fn never_decided(&mut self, id: &str) {
        let known = self.known(id);
        if known.asked.is_some() && !known.decided && !known.over {
            self.judged(&Judgement::denial(id, CUT_SHORT, "adapter", "hook"));
        }
    }

    /// The result of a call of which the vendor's record has nothing but what the model was told.
    fn given(&mut self, at: Option<&str>, id: &str, content: String) {
        let end = CallEnd { call_id: id.into(), ran: true, content, ..CallEnd::default() };
        self.result(at, &end, false, "rollout");
    }

    /// The results of calls that were denied, and of which the vendor's record has nothing under their
    /// ids: those inside a script of Codex's, and those that a stop cut short.
    fn denied_within(&mut self, at: Option<&str>) {
        let left = |(id, known): (&String, &Known)| {
            let content = known.denied.clone().filter(|_| !known.over)?;
            Some(CallEnd { call_id: id.clone(), failed: true, content, ..CallEnd::default() })
        };
        let left: Vec<CallEnd> = self.order.iter().filter_map(|id| left(self.calls.get_key_value(id)?)).collect();
        for end in left {
            self.result(at, &end, true, "hook");
        }
    }

    /// Tell a result, once; `says` is whether the vendor says if it failed.
    fn result(&mut self, at: Option<&str>, end: &CallEnd, says: bool, source: &str) {
        let CallEnd { call_id: id, failed, withheld, content, exit_code, record, .. } = end;
        if *failed {
            self.never_decided(id);
        }
        let known = self.known(id);
        if std::mem::replace(&mut known.over, true) {
            return;
        }
        if known.call.tool.is_empty() {
            let kind = record.as_ref().and_then(|record| record.get("type")).and_then(Value::as_str);
            known.call.tool = kind.unwrap_or("a tool").into();
        }
        if *withheld && !known.decided {
            self.judged(&Judgement::withheld(id));
        }
        self.request(id, None, "none");
        let call = self.known(id).call.clone();
        let (failed, record, exit_code) = (says.then_some(*failed), record.as_deref(), *exit_code);
        self.tell(at, &Item::Result { call: &call, failed, content, exit_code, record, source });
    }

    /// Whether a call is under way. A vendor's own record of one may begin when it runs; it may wait for its decision before.
    fn under_way(&self) -> bool {
        self.calls.values().any(|known| known.requested && !known.over)
            || self.embedder.as_ref().is_some_and(Embedder::waits)
    }

    fn told(&mut self, told: Vec<Told>) {
        for told in told {
            match told {
                Told::Requested(asked, waits) => self.asked(*asked, waits),
                Told::Answered { id, outcome } => {
                    let outcome = outcome.as_ref().copied().map_err(|(code, why)| (*code, why.as_str()));
                    self.tell(None, &Item::Answered { id: &id, outcome });
                }
                Told::Warning { code, message } => self.tell(None, &Item::Warning { code, message: &message }),
            }
        }
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
        if self.lines.is_some() {
            // what the vendor says of a call, it says after the hook's word
            self.look();
        }
        let (at, events) = self.reader.line(line);
        for event in events {
            if !self.begun && self.lines.is_some() && matches!(event, TurnEvent::Result(_)) {
                // a call is over, so nobody says any more that the session has begun; the hook's word comes first
                self.begin();
                self.look();
            }
            (self.show)(&event);
            // a stream beside which there is a journal has no ids that the hook saw; the journal has, in one row with what is
            // said
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
        // what is said now may end the waiting
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
    }

    fn pause(&self) -> Option<Duration> {
        // the glance is short beside every deadline, so it sees to them as well
        self.lines.is_some().then_some(GLANCE)
    }

    fn stopping(&mut self, by: &Stopped) {
        if self.lines.is_some() {
            self.look();
        }
        self.turn.stopping(self.under_way());
        let told = self.embedder.as_mut().map(|embedder| embedder.stopping(by));
        self.told(told.unwrap_or_default());
        // a vendor that is told to stop stops its hooks too, and they have something to pass on
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

/// Whether a decision is about another call than this one, whatever its id says.
fn another(call: &ToldCall, judgement: &Judgement) -> bool {
    let tool = judgement.tool.as_ref().is_some_and(|tool| *tool != call.tool);
    let input = match (&judgement.input, &call.input) {
        (Some(one), Some(other)) => !same(one, other),
        // an audit that others read holds no inputs
        _ => false,
    };
    tool || input
}

/// Whether it is what the model says or thinks.
fn is_said(event: &TurnEvent) -> bool {
    matches!(event, TurnEvent::Text { .. } | TurnEvent::Thinking { .. })
}

/// Take one that is equal out, if there is one.
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

/// Operations in words, as a frame has them.
fn operations(words: &[String]) -> Option<Box<RawValue>> {
    let mut out = Writer::new(Layout::Canonical);
    out.array();
    let word = |word: &String| Operation::from_word(&word.replacen("mcp.call ", "mcp.call:", 1));
    words.iter().filter_map(word).for_each(|one| write_operation(&one, &mut out));
    out.end_array();
    (!words.is_empty()).then(|| RawValue::from_string(out.finish()).ok()).flatten()
}
