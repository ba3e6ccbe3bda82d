//! The line protocols: `metaharness.event/1` out, `metaharness.command/1` in, and the audit. Each line is one JSON
//! object; the lines of the first two carry the protocol's tag.

mod audit;
mod command;
#[cfg(feature = "run")]
pub(crate) mod event;
mod requested;

pub(crate) use audit::AuditLine;
#[cfg(feature = "run")]
pub(crate) use audit::{Judgement, same};
#[cfg(feature = "run")]
pub(crate) use command::{Carried, DECIDE, Malformed};
pub use command::{Command, CommandKind, Word, commands};
pub(crate) use requested::Requested;

pub(crate) const EVENT: &str = "metaharness.event/1";

/// The tag of a command's line.
pub const COMMAND: &str = "metaharness.command/1";

/// The words of a hook about a call that a person would have to approve, where nobody can.
pub(crate) const UNATTENDED: &str = "Nobody is at a terminal to approve this, so it did not run. Do not retry it; finish with what \
                              you can and say what you could not do.";

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE: usize = 8 * 1024 * 1024;

/// One line with the document in it. Every line break is taken out, so that a reader that splits at Unicode's
/// separators gets one object too: between tokens a break is white space, and within strings JSON lets only U+2028 and
/// U+2029 stand unescaped.
pub(crate) fn one_line(mut document: String) -> String {
    // 0xE2 is the first byte of both separators
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
