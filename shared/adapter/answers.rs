//! Forms of answers that more than one vendor reads. Nothing outside a vendor's folder writes an answer: one whose hooks
//! answer in another form writes that in its own.

use crate::json::{Layout, Writer};
use crate::protocol::one_line;

/// An answer: one object on one line.
pub fn object(members: impl FnOnce(&mut Writer)) -> String {
    let mut out = Writer::new(Layout::Canonical);
    out.object();
    members(&mut out);
    out.end_object();
    one_line(out.finish())
}

/// What is said about an event, in an object that names the event.
pub fn about_event(event: &str, said: impl FnOnce(&mut Writer)) -> String {
    object(|out| {
        out.key("hookSpecificOutput");
        out.object();
        out.member("hookEventName", event);
        said(out);
        out.end_object();
    })
}

/// A prompt must not be sent.
pub fn prompt_blocked(reason: &str) -> String {
    object(|out| {
        out.member("decision", "block");
        out.member("reason", reason);
    })
}
