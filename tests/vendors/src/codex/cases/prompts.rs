//! A refused frame stops the session before any request to the model.

use std::fs;

use super::{List, MARK, hold, printed, touch};
use crate::codex::appserver::{Person, talk};
use crate::codex::script::{Mode, Script};
use crate::codex::session::{Outcome, Session};
use crate::entry::Ask;
use crate::frame::{Frame, Spec};
use crate::scratch::Scratch;

type Spoil = fn(&Frame) -> Result<(), String>;

/// Faults of a frame at the session's start, with the refusal's name.
const SPOILS: &[(&str, &str, Spoil)] = &[
    ("edited", "edited", |frame| {
        let text = super::text_of(&frame.path).replace("suite", "other");
        super::place(&frame.path, &text)
    }),
    ("gone", "unreadable", |frame| fs::remove_file(&frame.path).map_err(|error| error.to_string())),
    ("empty", "not json", |frame| super::place(&frame.path, "")),
    ("another's", "edited", |frame| {
        let text = super::text_of(&frame.path).replace(&frame.digest, &"0".repeat(64));
        super::place(&frame.path, &text)
    }),
];

pub fn list(list: &mut List) {
    for (what, _, spoil) in SPOILS {
        list.holds(format!("a frame that is {what} at the start: no request for the model"), move |codex, scratch| {
            let (frame, text) = ready(scratch)?;
            spoil(&frame)?;
            let outcome = Session::new(codex, scratch, Mode::Code, Script::calls(Mode::Code, &[touch()]))
                .entry(&text)
                .unfinished()
                .run()?;
            nothing(scratch, &outcome)
        });
    }
    for event in ["UserPromptSubmit", "SessionStart"] {
        list.holds(format!("{event} alone stops a session whose frame is refused"), move |codex, scratch| {
            let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
            let entry = printed(scratch, &Ask::pinned(&frame))?;
            fs::remove_file(&frame.path).map_err(|error| error.to_string())?;
            let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
                .entry(&entry.only(event))
                .unfinished()
                .run()?;
            nothing(scratch, &outcome)
        });
    }
    list.holds("resuming a session whose frame was edited meanwhile: no request for the model", |codex, scratch| {
        let (frame, text) = ready(scratch)?;
        Session::new(codex, scratch, Mode::Direct, Script::default()).entry(&text).run()?;
        super::place(&frame.path, "{}")?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&text)
            .prompt(&["resume", "--last", "go on"])
            .unfinished()
            .run()?;
        nothing(scratch, &outcome)
    });
    list.holds("app-server: a frame edited between two prompts stops the second", |codex, scratch| {
        let (frame, text) = ready(scratch)?;
        let session = Session::new(codex, scratch, Mode::Direct, Script::default()).entry(&text);
        let stub = session.prepare()?;
        let person = Person { asked: "never", sandbox: "danger-full-access", accepts: true };
        let talk = talk(&session, &stub, person, &["first", "second"], |turn| match turn {
            0 => Ok(()),
            _ => super::place(&frame.path, "{}"),
        })?;
        hold(
            [(talk.asked.len() == 1, "only the first prompt reached the model")],
            &format!("{} requests, {:?}", talk.asked.len(), talk.hooks),
        )
    });
    list.holds("app-server: the person is told why, in the refusal's own words", |codex, scratch| {
        let (frame, text) = ready(scratch)?;
        super::place(&frame.path, "{}")?;
        let session = Session::new(codex, scratch, Mode::Direct, Script::default()).entry(&text);
        let stub = session.prepare()?;
        let person = Person { asked: "never", sandbox: "read-only", accepts: true };
        let talk = talk(&session, &stub, person, &["first"], |_| Ok(()))?;
        let said = format!("{:?}", talk.hooks);
        hold([(talk.asked.is_empty(), "no request"), (said.contains("frame.json"), "the file is named")], &said)
    });
}

/// A frame that admits the whole script, and its entry.
fn ready(scratch: &Scratch) -> Result<(Frame, String), String> {
    let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
    let entry = printed(scratch, &Ask::pinned(&frame))?;
    Ok((frame, entry.text))
}

fn nothing(scratch: &Scratch, outcome: &Outcome) -> Result<crate::case::Seen, String> {
    hold(
        [(outcome.asked.is_empty(), "no request for the model"), (!scratch.exists(MARK), "nothing ran")],
        &format!("{} requests; {}", outcome.asked.len(), outcome.ended.stderr),
    )
}
