//! The reasons why a document is no frame that a program may act on.

use std::fmt;

use super::Digest;
use crate::frame::{FORMAT, Misshapen, Tag, shown};
use crate::json::Fault;

/// The largest frame that is read, in bytes.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The order of the variants is the order of the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The file cannot be opened or read, or it is no regular file.
    Unreadable(String),
    /// The document has more than [`MAX_BYTES`].
    TooLarge,
    /// The document is not one JSON object in UTF-8.
    NotJson(Fault),
    /// `format` is missing or is not [`FORMAT`].
    Untagged(Tag),
    /// A key or a value is not what the format says.
    Misshapen(Misshapen),
    /// `digest` is missing or empty.
    NeverSealed,
    /// The digest does not describe the contents.
    Edited {
        /// The digest in the document.
        stated: String,
        /// The digest of its contents.
        computed: Digest,
    },
    /// The document is intact, and it is not the frame that was asked for.
    Pinned {
        /// The digest that was asked for.
        pinned: Digest,
        /// The digest of the document.
        found: Digest,
    },
}

impl Refusal {
    /// The name that scripts and tests go by. Names are only ever added.
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

/// The reason without the name.
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

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Refusal::NotJson(fault) => Some(fault),
            Refusal::Misshapen(misshapen) => Some(misshapen),
            _ => None,
        }
    }
}

/// At most 128 characters of a document's own text, which may be of any length.
fn short(text: &str) -> String {
    match text.char_indices().nth(128) {
        Some((end, _)) => format!("{}…", shown(&text[..end])),
        None => shown(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::seal::{seal, verify};

    #[test]
    fn a_refusal_has_its_name_and_reason() {
        let sealed = seal(Frame::default());
        let (document, digest) = (sealed.document(), sealed.digest().as_str());
        let other = Digest::of(b"");
        let tag = |is: &str| format!("`format` is {is}, not \"metaharness.frame/1\"");
        let blank = " ".repeat(16_777_216 - document.len());
        assert_eq!(verify((blank.clone() + &document).as_bytes(), None), Ok(sealed.clone()));
        for (document, pin, name, why) in [
            (blank + " " + &document, None, "too large", "more than 16777216 bytes".into()),
            ("[]".into(), None, "not json", "byte 0: a frame is an object, and this is an array".into()),
            (
                "{}".into(),
                None,
                "untagged",
                "no `format` key; a frame carries \"format\": \"metaharness.frame/1\"".into(),
            ),
            (document.replace(FORMAT, "é"), None, "untagged", tag("\"\\u{e9}\"")),
            (
                document.replace(FORMAT, &"é".repeat(129)),
                None,
                "untagged",
                tag(&format!("\"{}…\"", "\\u{e9}".repeat(128))),
            ),
            ("{\"format\": 1}".into(), None, "untagged", tag("a number")),
            (document.replace("null", "1"), None, "misshapen", "byte 96: `entities` is a number, not an object".into()),
            (document.replace(digest, ""), None, "never sealed", "no digest in it; seal it with mh-frame-seal".into()),
            (
                document.replace(digest, "x"),
                None,
                "edited",
                format!(
                    "it says it is x, but its contents are {digest}: edited after it was sealed; take the sealed one back, \
                     or seal the change with mh-frame-seal --reseal"
                ),
            ),
            (
                document.clone(),
                Some(&other),
                "pinned",
                format!("the frame is {digest}, and {other} is asked for: this is another frame"),
            ),
        ] {
            let refusal = verify(document.as_bytes(), pin).unwrap_err();
            assert_eq!((refusal.name(), refusal.to_string()), (name, why));
        }
    }
}
