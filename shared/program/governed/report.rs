//! What a caller reads: the answer or the object on stdout, all else on stderr.

use std::io::Write as _;
use std::path::PathBuf;

use super::options::Options;
use super::{PROGRAM, complain};
use crate::decide::clipped;
use crate::frame::shown;
use crate::host::{is_closed, tell, words};
use crate::turn::{self, Event, Order, Outcome, Turn, Version};

/// What is worth knowing before the turn: that no frame is in force, that the vendor is newer
/// than what was measured, what the isolation leaves out.
pub fn before(options: &Options, order: &Order, version: Version) {
    if order.frame.is_none() {
        complain(PROGRAM, "NO_FRAME_IN_FORCE: nothing is denied and nothing granted; the vendor's own rules decide");
    }
    if let Some(measured) = options.kind.measured().filter(|measured| version > *measured) {
        let word = options.kind.word();
        complain(
            PROGRAM,
            &format!("VERSION_OFF_PIN: {word} is {version}; what is known of it was measured on {measured}"),
        );
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let dropped = turn::dropped(options.kind, &order.cwd, home.as_deref(), order.instructions.is_some());
    if !dropped.is_empty() {
        let names: Vec<String> = dropped.iter().map(|path| path.display().to_string()).collect();
        complain(PROGRAM, &format!("left out of this turn: {}", names.join(", ")));
    }
}

/// Calls that did not do what they were to do.
pub fn on_the_way(turn: &Turn, outcome: Outcome) {
    let failed = turn.failed_calls();
    if !failed.is_empty() && outcome.answered() {
        let (count, word) = (failed.len(), if failed.len() == 1 { "call" } else { "calls" });
        complain(PROGRAM, &format!("{count} tool {word} failed in this turn: {}", failed.join(", ")));
    }
    for refused in &turn.refused {
        let tool = shown(refused.tool.as_deref().unwrap_or("a call"));
        let reason = refused.reason.as_deref().unwrap_or_default();
        let reason = reason.strip_prefix(&format!("{tool} ")).unwrap_or(reason);
        complain(PROGRAM, &format!("refused {tool}: {}", clipped(&shown(reason), 300)));
    }
    for (tool, summary) in &turn.denied {
        complain(PROGRAM, &format!("refused {} (needs approval, nobody to ask): {}", shown(tool), shown(summary)));
    }
}

/// Write all there is to say on stdout, once. A failed turn's own error precedes the line that
/// says it could not be written.
pub fn print(text: &str, error: Option<&str>) -> bool {
    let written = match is_closed(rustix::stdio::stdout()) {
        true => Err("it is closed".into()),
        false => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(words)
        }
    };
    let Err(why) = written else { return true };
    if let Some(error) = error {
        complain(PROGRAM, error);
    }
    complain(PROGRAM, &format!("could not write to stdout: {why}"));
    false
}

/// The turn as it goes, on stderr.
pub struct Transcript {
    shown: bool,
}

impl Transcript {
    pub fn new(shown: bool) -> Transcript {
        Transcript { shown }
    }

    pub fn show(&self, event: &Event) {
        if !self.shown {
            return;
        }
        let line = match event {
            Event::Started { session, .. } => format!("session {}", session.as_deref().unwrap_or("without an id")),
            Event::Text { text, .. } => format!("says: {text}"),
            Event::Thinking { text } => format!("thinks: {text}"),
            Event::Requested { tool, input, .. } => {
                format!("calls {}: {}", shown(tool), clipped(&shown(&input.to_string()), 300))
            }
            Event::Result { failed: true, content, .. } => format!("failed: {}", clipped(&shown(content), 300)),
            Event::Result { content, .. } => format!("result: {}", clipped(&shown(content), 300)),
            Event::HookFailed { hook, why } => format!("hook failed: {hook}: {why}"),
            Event::Notice { text } => format!("notice: {}", clipped(&shown(text), 300)),
            Event::Ended { .. } | Event::ModelCall { .. } | Event::Opaque { .. } => return,
        };
        tell(&format!("{line}\n"));
    }
}
