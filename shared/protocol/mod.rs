//! The line protocols: `metaharness.event/1` out, `metaharness.command/1` in, and the audit. One JSON object a line; those
//! of the first two with their own tag.

mod audit;
mod command;
#[cfg(feature = "run")]
pub mod event;
mod requested;

pub use audit::{AuditDecision, AuditLine};
#[cfg(feature = "run")]
pub use audit::{Decided, Judgement, same};
pub use command::{Carried, Command, CommandKind, DECIDE, Malformed, OtherCommand, Word, commands};
pub use requested::Requested;

/// The tag of a line that tells something.
pub const EVENT: &str = "metaharness.event/1";

/// The tag of a line that asks for something.
pub const COMMAND: &str = "metaharness.command/1";

/// The words of a hook about a call that a person would have to approve, where nobody can.
pub const UNATTENDED: &str = "Nobody is at a terminal to approve this, so it did not run. Do not retry it; finish with what \
                              you can and say what you could not do.";

/// The longest line that is read, in bytes.
pub const MAX_LINE: usize = 8 * 1024 * 1024;

/// Make one line of a document: no line break of any kind is left in it, so that a reader that
/// splits on the separators of Unicode sees one object too. Between tokens a break is white
/// space, and within strings only U+2028 and U+2029 can stand as they are.
pub fn one_line(mut document: String) -> String {
    // 0xE2 begins both of the separators
    if !document.bytes().any(|byte| matches!(byte, b'\n' | b'\r' | 0xE2)) {
        document.push('\n');
        return document;
    }
    let mut line = String::with_capacity(document.len() + 1);
    for c in document.chars() {
        match c {
            '\n' | '\r' => line.push(' '),
            '\u{2028}' => line.push_str("\\u2028"),
            '\u{2029}' => line.push_str("\\u2029"),
            c => line.push(c),
        }
    }
    line.push('\n');
    line
}
