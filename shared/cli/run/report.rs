//! The messages on stderr; stdout has only the answer or the object.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::PROGRAM;
use super::options::Options;
use crate::adapter::run::{self as adapter, CallEnd, Launch, LaunchOrder, TurnEvent, Warning};
use crate::decide::clipped;
use crate::frame::shown;
use crate::os::release::Release;
use crate::os::{self, tell_if_read};
use crate::os::{complain, tame};
use crate::protocol::event::Process;
use crate::run::{About, Events, Item, Lines as _, Queue, Turn, Unhonoured};

/// The warnings before a turn: no frame is in force, the vendor is newer than the measured release, the isolation
/// leaves things out.
pub fn before(options: &Options, order: &LaunchOrder, launch: &Launch, version: Release) -> Before {
    let mut warnings = Vec::new();
    if order.frame.is_none() {
        let message = "nothing is denied and nothing granted; the vendor's own rules decide";
        warnings.push((Warning::NoFrame, message.to_string()));
    }
    if let Some(measured) = adapter::measured(options.vendor).filter(|measured| version > *measured) {
        let word = options.vendor.facts().word;
        let message = format!("{word} is {version}; what is known of it was measured on {measured}");
        warnings.push((Warning::OffPin, message));
    }
    for (code, message) in &warnings {
        complain(PROGRAM, &format!("{}: {message}", code.word()));
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let dropped = adapter::ambient(options.vendor, &order.cwd, home.as_deref(), order.instructions.is_some());
    let mut left_out: Vec<String> = dropped.iter().map(|path| path.display().to_string()).collect();
    if !left_out.is_empty() {
        complain(PROGRAM, &format!("left out of this turn: {}", left_out.join(", ")));
    }
    if !launch.dropped.is_empty() {
        let word = options.vendor.facts().word;
        let names: Vec<String> = launch.dropped.iter().map(|name| shown(name)).collect();
        complain(PROGRAM, &format!("variables that {word} is not given: {}", clipped(&names.join(", "), 600)));
        left_out.extend(names.iter().map(|name| format!("${name}")));
    }
    Before { warnings, left_out }
}

/// The facts that are known before a turn.
pub struct Before {
    /// Each warning's code and words.
    pub warnings: Vec<(Warning, String)>,
    /// Files and variables that the isolation leaves out.
    pub left_out: Vec<String>,
}

/// Report a control that the run needs and cannot have. This is a line, since a reader of lines waits for the last one.
pub fn refused(why: &Unhonoured) {
    let mut events = Events::new(os::run_id(), About::default());
    let id = format!("start/{}", why.command());
    let line = events.tell(None, &Item::Answered { id: &id, outcome: Err((why.code(), &why.to_string())) });
    let lines = line + &events.closed("error", Process::Unknown);
    let outlet = Queue::new(|_| ());
    outlet.put(lines);
    if let Err(why) = outlet.finish() {
        unwritten(&why, None);
    }
}

/// Report calls that did not do their work.
pub fn on_the_way(turn: &Turn, answered: bool, hook: &str) {
    let failed = turn.failed_calls();
    if !failed.is_empty() && answered {
        let (count, word) = (failed.len(), if failed.len() == 1 { "call" } else { "calls" });
        complain(PROGRAM, &format!("{count} tool {word} failed in this turn: {}", failed.join(", ")));
    }
    // a call that could not be decided is in the turn's own error
    for refused in turn.refused.iter().filter(|denial| !denial.undecided(hook)) {
        let tool = shown(refused.tool.as_deref().unwrap_or("a call"));
        let reason = refused.reason().unwrap_or_default();
        let reason = reason.strip_prefix(&format!("{tool} ")).unwrap_or(reason);
        complain(PROGRAM, &format!("refused {tool}: {}", clipped(&shown(reason), 300)));
    }
    for denied in &turn.denied {
        let (tool, summary) = (shown(&denied.tool), shown(&denied.summary));
        complain(PROGRAM, &format!("refused {tool} (needs approval, nobody to ask): {summary}"));
    }
}

/// Report that an output could not be written, after a failed turn's own error.
pub fn unwritten(why: &str, error: Option<&str>) {
    if let Some(error) = error {
        complain(PROGRAM, error);
    }
    complain(PROGRAM, &format!("could not write to stdout: {why}"));
}

/// The interval of messages about a turn that is held up, if no transcript is shown.
const HELD_UP: Duration = Duration::from_secs(15);

/// The turn in progress, on stderr.
pub struct Transcript {
    /// False once nobody reads it, so that it does not hold up the turn.
    shown: Cell<bool>,
    /// The time of the last message about a turn that is held up.
    held_up: Cell<Option<Instant>>,
}

impl Transcript {
    pub fn new(shown: bool) -> Transcript {
        Transcript { shown: Cell::new(shown), held_up: Cell::new(None) }
    }

    /// Without a transcript: report what keeps the turn from going on.
    fn hold_up(&self, event: &TurnEvent) {
        let (text, once) = match event {
            TurnEvent::Notice { code: Warning::Server, text } => (text, true),
            TurnEvent::Notice { code: Warning::Retry, text } => (text, false),
            TurnEvent::Unauthorized { text } => (text, false),
            _ => return,
        };
        if once || self.held_up.get().is_none_or(|last| last.elapsed() >= HELD_UP) {
            complain(PROGRAM, &clipped(&shown(text), 300));
            if !once {
                self.held_up.set(Some(Instant::now()));
            }
        }
    }

    pub fn show(&self, event: &TurnEvent) {
        if !self.shown.get() {
            self.hold_up(event);
            return;
        }
        let line = match event {
            TurnEvent::Started { session, .. } => format!("session {}", session.as_deref().unwrap_or("without an id")),
            TurnEvent::Text { text, .. } => format!("says: {text}"),
            TurnEvent::Thinking { text, .. } => format!("thinks: {text}"),
            TurnEvent::Requested { tool, input, .. } => {
                format!("calls {}: {}", shown(tool), clipped(&shown(&input.to_string()), 300))
            }
            TurnEvent::Result(CallEnd { failed: true, content, .. }) => {
                format!("failed: {}", clipped(&shown(content), 300))
            }
            TurnEvent::Result(CallEnd { content, .. }) => format!("result: {}", clipped(&shown(content), 300)),
            TurnEvent::HookFailed { hook, why } => format!("hook failed: {hook}: {why}"),
            TurnEvent::Stranger { what, why } => format!("not of this run: {what}: {why}"),
            TurnEvent::Notice { text, .. } | TurnEvent::Unauthorized { text } => {
                format!("notice: {}", clipped(&shown(text), 300))
            }
            TurnEvent::Ended { .. }
            | TurnEvent::ModelCall { .. }
            | TurnEvent::Estimate { .. }
            | TurnEvent::Script { .. }
            | TurnEvent::Continued
            | TurnEvent::HookAnswered
            | TurnEvent::RateLimit { .. }
            | TurnEvent::Opaque { .. } => return,
        };
        self.shown.set(tell_if_read(&format!("{}\n", tame(&line, "\n\t"))));
    }
}
