//! What the hook of every vendor has to know of each: whose payload it may be given by mistake, and what one vendor's
//! tools can take from another's guard.

use std::path::Path;

use super::payload::Payload;
use super::places::Protected;
use super::{Environment, Facts, NEIGHBOURS};

/// A vendor, as the hooks of all vendors know it.
pub struct Neighbour {
    /// The word for it, and the name of its program: `claude`. No more of its facts: each hook would carry the tables of all.
    pub word: &'static str,
    /// The program, by the name its users know: `Claude Code`.
    pub product: &'static str,
    /// Members that, all together, only its payloads have: one of them alone is a field that a release has added. None,
    /// and its payloads are known by nothing.
    pub marks: &'static [&'static str],
    /// The places that it is governed by and started from.
    pub places: fn(Environment<'_>, Option<&Path>) -> Vec<Protected>,
    /// Two folders one in the other, below which it makes copies of a working tree.
    pub copies: Option<[&'static str; 2]>,
}

/// Agents of which nothing else is known: a member or an event that only their payloads have.
const STRANGERS: [(&str, &[&str], &[&str]); 3] = [
    ("Cursor", &["generation_id"], &[]),
    ("Copilot", &["toolName"], &[]),
    ("Gemini CLI", &[], &["BeforeTool", "AfterTool", "BeforeToolSelection", "BeforeModel", "BeforeAgent"]),
];

/// Every member that tells whose a payload is.
pub fn marks() -> impl Iterator<Item = &'static str> {
    let strangers = STRANGERS.iter().flat_map(|(_, marks, _)| marks.iter());
    NEIGHBOURS.iter().flat_map(|vendor| vendor.marks).chain(strangers).copied()
}

/// Whose payload this is, if it is not this vendor's.
pub fn stranger(own: &Facts, payload: &Payload<'_>) -> Option<&'static str> {
    let known = STRANGERS.iter().find(|(_, marks, events)| {
        marks.iter().any(|mark| payload.is_marked(mark)) || events.contains(&payload.event.as_str())
    });
    let marked = |vendor: &Neighbour| vendor.marks.iter().any(|mark| payload.is_marked(mark));
    let owns = |vendor: &&Neighbour| {
        let all = vendor.marks.iter().all(|mark| payload.is_marked(mark)) && !vendor.marks.is_empty();
        let others = NEIGHBOURS.iter().any(|other| other.word != vendor.word && marked(other));
        vendor.word != own.word && all && !others
    };
    let other = || NEIGHBOURS.iter().find(owns).map(|vendor| vendor.product);
    known.map(|(product, ..)| *product).or_else(other)
}

/// Whether these folders, from the project down, lead into a copy of a working tree that a vendor made.
pub fn is_copy(parts: &[impl AsRef<std::ffi::OsStr>]) -> bool {
    let mut copies = NEIGHBOURS.iter().filter_map(|vendor| vendor.copies);
    copies.any(|copies| parts.windows(2).any(|pair| pair.iter().zip(copies).all(|(part, name)| part.as_ref() == name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::PREVIEWS;

    /// One member is a field that a release has added; all of a vendor's, beside none of another's, are its payload.
    #[test]
    fn a_payload_is_anothers_by_all_of_its_marks_and_by_no_fewer() {
        let asked = |own: &Facts, marks: &[&'static str]| {
            stranger(own, &Payload { marks: marks.to_vec(), ..Payload::default() })
        };
        for own in PREVIEWS.iter().map(|vendor| vendor.facts()) {
            for other in NEIGHBOURS.iter().filter(|other| other.word != own.word) {
                assert_eq!(asked(own, other.marks), Some(other.product));
                for mark in other.marks {
                    assert_eq!(asked(own, &[*mark]), None, "{mark}");
                }
                for mark in NEIGHBOURS.iter().filter(|vendor| vendor.word == own.word).flat_map(|vendor| vendor.marks) {
                    assert_eq!(asked(own, &[other.marks, &[*mark]].concat()), None, "{mark}");
                }
            }
        }
    }
}
