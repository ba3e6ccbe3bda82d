//! Everything that keeps a document from being a frame, for whoever writes it. A hook needs the first of it alone.

use super::Refusal;
use crate::frame::{self, Document, FORMAT, Misshapen, Tag};
use crate::json::{Place, places};

/// The most that is told of one document.
const MOST: usize = 100;

/// One thing that is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentFault {
    /// Offset of the value or key.
    pub at: usize,
    /// The same for people. What is missing has the path that it is missing at.
    pub place: Place,
    /// What is wrong.
    pub what: String,
    /// Whether something is missing there.
    pub missing: bool,
}

/// All that is wrong with a document, as far as it can be read, and how much more. `sealed` says whether it has to have
/// a tag and a digest already. A syntax error and a key that stands twice are the only ones that are told.
pub fn faults(bytes: &[u8], sealed: bool) -> (Vec<DocumentFault>, usize) {
    let document = match frame::read_telling(bytes, MOST) {
        Ok(document) => document,
        Err(fault) => {
            let place = places(bytes, &[fault.at()]).remove(0);
            let what = fault.what().to_string();
            return (vec![DocumentFault { at: fault.at(), place, what, missing: false }], 0);
        }
    };
    let Document { tag, tag_at, frame, more, untold, digest } = document;
    let mut all = Vec::new();
    let missing = match tag {
        Tag::Absent => sealed.then_some("format"),
        Tag::Text(ref tag) if tag == FORMAT => None,
        _ => {
            all.push(Misshapen { at: tag_at, what: Refusal::Untagged(tag).to_string(), missing: None });
            None
        }
    };
    all.extend(missing.map(|_| Misshapen { at: 0, what: Refusal::Untagged(Tag::Absent).to_string(), missing }));
    all.extend(frame.err().into_iter().chain(more));
    if sealed && digest.is_none_or(|digest| digest.is_empty()) {
        all.push(Misshapen { at: 0, what: Refusal::NeverSealed.to_string(), missing: Some("digest") });
    }
    let offsets: Vec<usize> = all.iter().map(|wrong| wrong.at).collect();
    let told = all.into_iter().zip(places(bytes, &offsets)).map(|(Misshapen { at, what, missing }, mut place)| {
        if let Some(key) = missing {
            place.path = if place.path.is_empty() { key.into() } else { format!("{}.{key}", place.path) };
        }
        DocumentFault { at, place, what, missing: missing.is_some() }
    });
    (told.collect(), untold)
}
