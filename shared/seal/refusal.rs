//! Why a document is not a frame that anybody may act on.

use std::fmt;

use super::Digest;
use crate::frame::{FORMAT, Misshapen, Tag, shown};
use crate::json::Fault;

/// The largest frame that is read, in bytes.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A refusal, by name. The order of the variants is the order of the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The file cannot be opened or read, or is not a regular file.
    Unreadable(String),
    /// More than [`MAX_BYTES`].
    TooLarge,
    /// Not one JSON object in UTF-8.
    NotJson(Fault),
    /// `format` is not the tag.
    Untagged(Tag),
    /// A key or a value is not what the format says.
    Misshapen(Misshapen),
    /// There is no digest, or an empty one.
    NeverSealed,
    /// The digest does not describe the contents.
    Edited {
        /// What the document says.
        stated: String,
        /// What its contents give.
        computed: Digest,
    },
    /// The document is in order, and it is not the one that was asked for.
    Pinned {
        /// The digest it must have.
        pinned: Digest,
        /// The one it has.
        found: Digest,
    },
}

impl Refusal {
    /// The name, which scripts and tests go by. Names are only ever added.
    pub fn name(&self) -> &'static str {
        match self {
            Refusal::Unreadable(_) => "unreadable",
            Refusal::TooLarge => "too large",
            Refusal::NotJson(_) => "not json",
            Refusal::Untagged(_) => "untagged",
            Refusal::Misshapen(_) => "misshapen",
            Refusal::NeverSealed => "never sealed",
            Refusal::Edited { .. } => "edited",
            Refusal::Pinned { .. } => "pinned",
        }
    }
}

/// Why, without the name.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Unreadable(why) => f.write_str(why),
            Refusal::TooLarge => write!(f, "more than {MAX_BYTES} bytes"),
            Refusal::NotJson(fault) => fault.fmt(f),
            Refusal::Untagged(Tag::Absent) => write!(f, "no `format` key; a frame carries \"format\": \"{FORMAT}\""),
            Refusal::Untagged(Tag::Text(tag)) => write!(f, "`format` is \"{}\", not \"{FORMAT}\"", short(tag)),
            Refusal::Untagged(Tag::Other(kind)) => write!(f, "`format` is {}, not \"{FORMAT}\"", kind.noun()),
            Refusal::Misshapen(misshapen) => misshapen.fmt(f),
            Refusal::NeverSealed => f.write_str("no digest in it; seal it with mh-frame-seal"),
            Refusal::Edited { stated, computed } => write!(
                f,
                "it says it is {}, but its contents are {computed}: edited after it was sealed; take the sealed one \
                 back, or seal the change with mh-frame-seal --reseal",
                short(stated)
            ),
            Refusal::Pinned { pinned, found } => {
                write!(f, "the frame is {found}, and {pinned} is asked for: this is another frame")
            }
        }
    }
}

/// What a document says of itself may be as long as it likes.
fn short(text: &str) -> String {
    match text.char_indices().nth(128) {
        Some((end, _)) => format!("{}…", shown(&text[..end])),
        None => shown(text),
    }
}
