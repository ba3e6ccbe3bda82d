//! The text of a denial: the wanted operation, the step, the admitted operations, and the next thing to do.

use crate::frame::shown;
use crate::seal::VerifiedFrame;

/// The longest reason in characters, all of them ASCII.
pub const LIMIT: usize = 1_000;

/// Put a refusal into its frame. If the text gets too long, the list of admitted operations is cut first, then the
/// refusal; the advice and the digest are never cut.
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

/// An embedder's own reason, as much of it as fits, in any script. Characters that could move a terminal's cursor are
/// escaped.
pub fn by_embedder(frame: &VerifiedFrame, reason: &str) -> String {
    let end = format!(" (decided by the embedder; frame {})", frame.digest().short());
    let mut room = LIMIT - end.len() - "...".len();
    let mut out = String::new();
    for c in reason.trim().chars() {
        // an escape is longer than its character
        let shown = if c.is_control() && !matches!(c, '\n' | '\t') { c.escape_default().len() } else { 1 };
        if shown > room {
            out.push_str("...");
            break;
        }
        room -= shown;
        if shown == 1 { out.push(c) } else { out.extend(c.escape_default()) }
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
        // the next name may not fit, and then these words must
        if list.len() + separator.len() + name.len() + ", and 1000000 more".len() > room {
            list.push_str(&more);
            break;
        }
        list.push_str(separator);
        list.push_str(&name);
    }
    list
}

/// At most `limit` bytes of an ASCII text, with `...` where it was cut.
pub fn clipped(text: &str, limit: usize) -> String {
    match text.len() {
        length if length <= limit => text.into(),
        _ => format!("{}...", text.get(..limit.saturating_sub(3)).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Node, Operation, Workflow};
    use crate::seal::seal;

    #[test]
    fn an_embedders_words_take_their_room_as_they_are_shown() {
        let frame = seal(Frame::default());
        let end = format!(" (decided by the embedder; frame {})", frame.digest().short());
        let room = LIMIT - end.len() - 3;
        for (said, wanted) in [
            (" no\n\tnot here ".to_string(), "no\n\tnot here".to_string()),
            ("\u{1b}[2J".into(), "\\u{1b}[2J".into()),
            ("é".repeat(room), "é".repeat(room)),
            ("é".repeat(room + 1), "é".repeat(room) + "..."),
            ("\u{7}".repeat(room), "\\u{7}".repeat(room / 5) + "..."),
            ("\u{1b}".repeat(LIMIT), "\\u{1b}".repeat(room / 6) + "..."),
        ] {
            let reason = by_embedder(&frame, &said);
            assert_eq!(reason, wanted + &end);
            assert!(reason.chars().count() <= LIMIT);
        }
    }

    #[test]
    fn the_longest_names_leave_room_for_what_is_admitted_and_what_to_do_next() {
        let long = "n".repeat(2_000);
        let mut frame = Frame {
            workflow: Workflow { id: long.clone(), version: long.clone() },
            node: Node { id: long.clone() },
            ..Frame::default()
        };
        frame.step.index = u32::MAX;
        frame.step.attempt = u32::MAX;
        for count in 0..2_000 {
            frame.operations.insert(Operation::McpCall { server: format!("{count}"), tool: long.clone() });
        }
        let frame = seal(frame);
        let end = format!("; work within that, or say what is missing and stop; frame {}", frame.digest().short());
        for (why, listed) in [("no", 5), (long.as_str(), 1)] {
            let reason = within(&frame, why);
            assert_eq!(reason.matches("mcp.call ").count(), listed, "{reason}");
            assert!(reason.ends_with(&format!(", and {} more{end}", 2_000 - listed)), "{reason}");
            assert!(reason.len() <= LIMIT && reason.contains("; admitted here: mcp.call 0/nnn"), "{reason}");
        }
    }

    #[test]
    fn as_much_is_listed_as_fits_beside_the_longest_way_to_say_how_many_more() {
        let most = ", and 1000000 more".len();
        for length in 1..120 {
            let operations =
                (0..100).map(|n| Operation::McpCall { server: format!("{n:04}"), tool: "n".repeat(length) });
            let reason = within(&seal(Frame { operations: operations.collect(), ..Frame::default() }), "no");
            let name = clipped(&format!("mcp.call 0000/{}", "n".repeat(length)), 120);
            let listed = reason.matches("mcp.call ").count();
            let without_more = reason.len() - format!(", and {} more", 100 - listed).len();
            assert!(without_more + most <= LIMIT, "{length}: {reason}");
            assert!(without_more + ", ".len() + name.len() + most > LIMIT, "{length}: {reason}");
        }
    }
}
