//! The values that the reader gives: kinds, keys, numbers, and faults.

use std::borrow::Cow;
use std::fmt;

/// The reason why bytes are not a JSON document, with the offset. It is one pointer, since every step of the reader may
/// return one and hardly any does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(Box<(usize, Cow<'static, str>)>);

impl Fault {
    #[cold]
    pub fn new(at: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Fault(Box::new((at, what.into())))
    }

    /// The offset of the byte, counted from 0.
    pub fn at(&self) -> usize {
        self.0.0
    }

    pub fn what(&self) -> &str {
        &self.0.1
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at(), self.what())
    }
}

impl std::error::Error for Fault {}

/// A key that stands twice in one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The offset of the second one.
    pub at: usize,
    pub key: String,
}

/// The six kinds of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    /// The kind with its article, for messages.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::Bool => "a boolean",
            Kind::Null => "null",
        }
    }
}

/// A key of the innermost open object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key<'a> {
    /// The offset of its opening quote.
    pub at: usize,
    /// The key, escapes resolved.
    pub name: Cow<'a, str>,
}

/// A number in the document's own spelling.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Number<'a>(pub(super) &'a str);

impl Number<'_> {
    /// The number, if it is spelled as a plain decimal integer within `u32`: `2` is, `2.0`, `2e0` and `-0` are not.
    pub fn as_u32(self) -> Option<u32> {
        self.0.bytes().all(|b| b.is_ascii_digit()).then(|| self.0.parse().ok()).flatten()
    }
}

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
