//! The words of a denial: what was wanted, at which step, what is admitted, what to do next.

use crate::frame::shown;
use crate::seal::VerifiedFrame;

/// The longest reason, in characters. All of them are ASCII.
pub const LIMIT: usize = 1_000;

/// Put a refusal into its frame. What is cut when it gets too long is the list of admitted
/// operations, then the refusal itself; never what to do next, never the digest.
pub fn within(frame: &VerifiedFrame, why: &str) -> String {
    let value = frame.frame();
    let at = format!(
        " (step {}, attempt {}, state {}, workflow {})",
        value.step.index,
        value.step.attempt,
        clipped(&shown(&value.node.id), 80),
        clipped(&shown(&value.workflow.id), 80)
    );
    let end = format!("; work within that, or say what is missing and stop; frame {}", frame.digest().short());
    let why = clipped(why, 500);
    let room = LIMIT - why.len() - at.len() - end.len();
    format!("{why}{at}; {}{end}", admitted(frame, room - 2))
}

/// An embedder's own words, whole as far as they fit; they may be in any script. What could move a
/// terminal's cursor is shown instead.
pub fn by_embedder(frame: &VerifiedFrame, reason: &str) -> String {
    let end = format!(" (decided by the embedder; frame {})", frame.digest().short());
    let mut out = String::new();
    for (at, c) in reason.trim().chars().enumerate() {
        if at + end.len() + 3 >= LIMIT {
            out.push_str("...");
            break;
        }
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out + &end
}

/// The admitted operations in at most `room` characters.
fn admitted(frame: &VerifiedFrame, room: usize) -> String {
    let operations = &frame.frame().operations;
    if operations.is_empty() {
        return "no operation is admitted here".into();
    }
    let mut list = String::from("admitted here: ");
    for (at, operation) in operations.iter().enumerate() {
        let name = clipped(&shown(&operation.to_string()), 120);
        let separator = if at == 0 { "" } else { ", " };
        let left = operations.len() - at;
        let more = format!("{separator}and {left} more");
        // what comes after this one may have to be said in these words
        if list.len() + separator.len() + name.len() + ", and 1000000 more".len() > room {
            list.push_str(&more);
            break;
        }
        list.push_str(separator);
        list.push_str(&name);
    }
    list
}

/// At most `limit` bytes of a text that is ASCII, with `...` where it was cut.
pub fn clipped(text: &str, limit: usize) -> String {
    match text.len() {
        length if length <= limit => text.into(),
        _ => format!("{}...", text.get(..limit.saturating_sub(3)).unwrap_or_default()),
    }
}
