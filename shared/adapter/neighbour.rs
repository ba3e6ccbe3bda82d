//! The facts that every vendor's hook needs about every vendor: to tell a payload of another vendor, and to keep one
//! vendor's tools from removing another vendor's guard.

use std::path::Path;

use super::payload::Payload;
use super::places::Protected;
use super::{Environment, Facts, NEIGHBOURS};

pub struct Neighbour {
    /// As [`Facts::word`]. [`Facts`] itself would link every vendor's table into each hook.
    pub word: &'static str,
    /// As [`Facts::product`].
    pub product: &'static str,
    /// Members that only this vendor's payloads have all together. A payload with some of them is the reader's own: a
    /// release has added a field. An empty list marks no payload.
    pub marks: &'static [&'static str],
    /// The places that govern and start the vendor's program.
    pub places: fn(Environment<'_>, Option<&Path>) -> Vec<Protected>,
    /// Two nested folders that the vendor makes copies of a working tree in.
    pub copies: Option<[&'static str; 2]>,
}

/// Other agents: a member or an event that only their payloads have.
const STRANGERS: [(&str, &[&str], &[&str]); 3] = [
    ("Cursor", &["generation_id"], &[]),
    ("Copilot", &["toolName"], &[]),
    ("Gemini CLI", &[], &["BeforeTool", "AfterTool", "BeforeToolSelection", "BeforeModel", "BeforeAgent"]),
];

/// Every member that tells one vendor's payload from another's.
pub fn marks() -> impl Iterator<Item = &'static str> {
    let strangers = STRANGERS.iter().flat_map(|(_, marks, _)| marks.iter());
    NEIGHBOURS.iter().flat_map(|vendor| vendor.marks).chain(strangers).copied()
}

/// The product that this payload belongs to, if it is another vendor's.
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

/// Whether a path, given by its folders from the project downwards, lies in a copy of a working tree that a vendor
/// made.
pub fn is_copy(parts: &[impl AsRef<std::ffi::OsStr>]) -> bool {
    let mut copies = NEIGHBOURS.iter().filter_map(|vendor| vendor.copies);
    copies.any(|copies| parts.windows(2).any(|pair| pair.iter().zip(copies).all(|(part, name)| part.as_ref() == name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::PREVIEWS;

    /// A payload with one mark of another vendor is still this vendor's, since a release may add a field. A payload
    /// with all marks of another vendor, and none of a third, is the other vendor's.
    #[test]
    fn all_marks_of_a_vendor_and_no_fewer_make_a_payload_its_own() {
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
