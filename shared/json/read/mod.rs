//! The reader: pull one value after another out of a document, without building a tree.

mod keys;
mod text;
mod value;

use std::borrow::Cow;
use std::time::Instant;

use self::keys::{Secret, SeenKey};
pub use self::text::plain_run;
use self::text::{Unescaped, decode, escape, is_beyond_doubles, unescape};
pub use self::value::{Duplicate, Fault, Key, Kind, Number};

/// The deepest nesting of arrays and objects that is read. The public reference reads with serde, which has this limit.
pub const MAX_DEPTH: usize = 127;

/// Objects with up to this many keys, all without escapes, compare each key at once; other objects hash keys and
/// compare them at the end.
const FEW_KEYS: usize = 16;

/// The bytes between two looks at the clock.
const STRIDE: usize = 256 * 1024;

/// The offsets of a string's content, without its quotes.
#[derive(Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
    escaped: bool,
}

/// An array or object that has been entered: its closing bracket, whether its keys are hashed, and the number of keys
/// of the objects around it. One number is fast to push and pop.
struct Level(u64);

impl Level {
    const HASHED: u64 = 1 << 8;

    fn new(close: u8, first_key: usize) -> Level {
        Level((first_key as u64) << 16 | u64::from(close))
    }

    fn close(&self) -> u8 {
        self.0 as u8
    }

    fn hashed(&self) -> bool {
        self.0 & Level::HASHED != 0
    }

    fn first_key(&self) -> usize {
        (self.0 >> 16) as usize
    }
}

/// Reads one document from front to back.
///
/// Every value must be consumed by exactly one call: [`Reader::string`], [`Reader::number`],
/// [`Reader::skip`], or an `enter_…` followed by its `next_…` until that says it is over.
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The open levels, the innermost last.
    levels: Vec<Level>,
    /// Whether the innermost level was entered and nothing in it read.
    fresh: bool,
    /// The keys of all open objects.
    keys: Vec<SeenKey>,
    /// The secret point for hashing keys.
    secret: Option<Secret>,
    /// Memory for comparing hashed keys.
    table: Vec<u64>,
    /// Memory for a key without its escapes, while it is hashed.
    plain: String,
    duplicate: Option<Duplicate>,
    /// The time by which reading has to end.
    deadline: Option<Instant>,
    /// The offset of the next look at the clock.
    look: usize,
    /// The last string or key.
    last: Span,
}

impl<'a> Reader<'a> {
    /// Start on a document.
    ///
    /// # Errors
    /// The bytes are empty or all white space, begin with a byte order mark, are UTF-16 or not UTF-8, or are more than
    /// 4 GiB.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        let text = decode(bytes)?;
        let mut reader = Reader {
            text,
            at: 0,
            levels: Vec::new(),
            fresh: false,
            keys: Vec::new(),
            secret: None,
            table: Vec::new(),
            plain: String::new(),
            duplicate: None,
            deadline: None,
            look: usize::MAX,
            last: Span::default(),
        };
        reader.blank();
        if reader.at == text.len() {
            let what = if bytes.is_empty() { "it is empty" } else { "there is nothing but white space in it" };
            return Err(Fault::new(0, what));
        }
        Ok(reader)
    }

    /// Set a deadline: after it, reading is a fault. The clock is looked at now and then, between the members of
    /// objects and arrays.
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Reader { deadline, look: if deadline.is_some() { 0 } else { usize::MAX }, ..self }
    }

    /// The first duplicate key so far.
    pub fn duplicate(&self) -> Option<&Duplicate> {
        self.duplicate.as_ref()
    }

    /// The offset of the next value.
    pub fn offset(&mut self) -> usize {
        self.blank();
        self.at
    }

    /// The text between two offsets that came from [`Reader::offset`].
    pub fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The end of the last value.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The kind of the next value, which stays unread.
    ///
    /// # Errors
    /// There is no value here.
    pub fn kind(&mut self) -> Result<Kind, Fault> {
        Ok(match self.next() {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            b'-' | b'0'..=b'9' => Kind::Number,
            _ => return Err(self.unexpected("a value")),
        })
    }

    /// Enter the object that comes next.
    ///
    /// # Errors
    /// The next value is no object, or lies too deep.
    pub fn enter_object(&mut self) -> Result<(), Fault> {
        self.enter(b'{', b'}')
    }

    /// Enter the array that comes next.
    ///
    /// # Errors
    /// The next value is no array, or lies too deep.
    pub fn enter_array(&mut self) -> Result<(), Fault> {
        self.enter(b'[', b']')
    }

    /// The next key of the innermost open object; `None` closes it.
    ///
    /// # Errors
    /// There is neither a key nor the end of the object.
    pub fn next_key(&mut self) -> Result<Option<Key<'a>>, Fault> {
        if !self.more()? {
            return Ok(None);
        }
        self.key()?;
        Ok(Some(Key { at: self.last.start - 1, name: self.resolve() }))
    }

    /// Whether the innermost open array has a further element; `false` closes it.
    ///
    /// # Errors
    /// There is neither an element nor the end of the array.
    pub fn next_item(&mut self) -> Result<bool, Fault> {
        self.more()
    }

    /// The next string, escapes resolved.
    ///
    /// # Errors
    /// The next value is no string, or is malformed.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.blank();
        self.span()?;
        Ok(self.resolve())
    }

    /// The characters of the next string, escapes resolved one by one without a copy.
    ///
    /// # Errors
    /// The next value is no string, or is malformed.
    pub fn characters(&mut self) -> Result<impl Iterator<Item = char> + use<'a>, Fault> {
        self.blank();
        self.span()?;
        Ok(Unescaped(self.slice(self.last.start, self.last.end)))
    }

    /// The next number.
    ///
    /// # Errors
    /// The next value is no number, is malformed, or is beyond what a double can hold.
    pub fn number(&mut self) -> Result<Number<'a>, Fault> {
        self.blank();
        let start = self.at;
        self.digits()?;
        Ok(Number(self.slice(start, self.at)))
    }

    /// Check the number at the reader's offset.
    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        if self.peek() == b'0' {
            self.at += 1;
        } else {
            self.some_digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.some_digits()?;
        }
        let mut exponent = None;
        if let b'e' | b'E' = self.peek() {
            exponent = Some(self.at);
            self.at += 1;
            if let b'+' | b'-' = self.peek() {
                self.at += 1;
            }
            self.some_digits()?;
        }
        // any 300 digits are below the greatest double
        if (exponent.is_some() || self.at - start > 300)
            && is_beyond_doubles(self.slice(start, self.at), exponent.map(|at| at - start))
        {
            return Err(Fault::new(start, "number out of range"));
        }
        Ok(())
    }

    /// Pass over the next value, as strictly as if it were wanted.
    ///
    /// # Errors
    /// The value is malformed.
    pub fn skip(&mut self) -> Result<(), Fault> {
        let around = self.levels.len();
        loop {
            match self.next() {
                b'"' => self.span()?,
                b'-' | b'0'..=b'9' => self.digits()?,
                b'[' => self.enter(b'[', b']')?,
                b'{' => self.enter(b'{', b'}')?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => return Err(self.unexpected("a value")),
            }
            // a level that was entered here and goes on has the next value
            loop {
                let object = match self.levels.last() {
                    Some(level) if self.levels.len() > around => level.close() == b'}',
                    _ => return Ok(()),
                };
                if self.more()? {
                    if object {
                        self.key()?;
                    }
                    break;
                }
            }
        }
    }

    /// Check that the document ends here.
    ///
    /// # Errors
    /// Other bytes than white space follow.
    pub fn end(&mut self) -> Result<(), Fault> {
        self.blank();
        if self.at == self.text.len() {
            return Ok(());
        }
        Err(Fault::new(self.at, "there are bytes after the end of the document"))
    }

    #[inline(always)]
    fn enter(&mut self, open: u8, close: u8) -> Result<(), Fault> {
        if self.next() != open {
            return Err(self.unexpected(if open == b'[' { "an array" } else { "an object" }));
        }
        if self.levels.len() == MAX_DEPTH {
            return Err(Fault::new(self.at, "nested more than 127 levels deep"));
        }
        self.at += 1;
        self.fresh = true;
        self.levels.push(Level::new(close, self.keys.len()));
        Ok(())
    }

    /// Whether the innermost level goes on. This consumes the comma, or the closing bracket with its level.
    #[inline(always)]
    fn more(&mut self) -> Result<bool, Fault> {
        if self.at >= self.look {
            self.look()?;
        }
        let next = self.next();
        let Some(level) = self.levels.last() else { return Err(Fault::new(self.at, "nothing was entered")) };
        let close = level.close();
        if next == close {
            self.at += 1;
            self.fresh = false;
            if level.hashed() && self.keys.len() - level.first_key() > FEW_KEYS {
                self.compare_hashed();
            }
            if let Some(level) = self.levels.pop() {
                self.keys.truncate(level.first_key());
            }
            return Ok(false);
        }
        if std::mem::take(&mut self.fresh) {
            return Ok(true);
        }
        if next != b',' {
            return Err(self.unexpected(if close == b']' { "`,` or `]`" } else { "`,` or `}`" }));
        }
        self.at += 1;
        if self.next() == close {
            return Err(Fault::new(self.at, "a comma before the closing bracket"));
        }
        Ok(true)
    }

    /// Look at the clock, and set the offset of the next look.
    #[cold]
    fn look(&mut self) -> Result<(), Fault> {
        self.look = self.at + STRIDE;
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Fault::new(self.at, "the deadline passed here")),
            _ => Ok(()),
        }
    }

    /// Consume the key and the colon of a member of the innermost level.
    fn key(&mut self) -> Result<(), Fault> {
        if self.peek() != b'"' {
            return Err(self.unexpected("a key in double quotes"));
        }
        self.span()?;
        // a later duplicate does not replace the first one
        if self.duplicate.is_none() {
            self.remember();
        }
        if self.next() != b':' {
            return Err(self.unexpected("`:` after a key"));
        }
        self.at += 1;
        Ok(())
    }

    /// The last string or key, escapes resolved.
    fn resolve(&self) -> Cow<'a, str> {
        let Span { start, end, escaped } = self.last;
        let raw = self.slice(start, end);
        if !escaped {
            return Cow::Borrowed(raw);
        }
        let mut plain = String::with_capacity(raw.len());
        unescape(raw, &mut plain);
        Cow::Owned(plain)
    }

    /// Check and pass over the string at the reader's offset.
    fn span(&mut self) -> Result<(), Fault> {
        if self.peek() != b'"' {
            return Err(self.unexpected("a string"));
        }
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let Some((_, length)) = escape(&bytes[at..]) else { return Err(self.no_escape(at)) };
                    escaped = true;
                    at += length;
                }
                Some(0x20..) => at += plain_run(&bytes[at..]),
                Some(_) => return Err(Fault::new(at, "a control character in a string, not escaped")),
                None => return Err(Fault::new(at, "the document ends inside a string")),
            }
        }
        self.at = at + 1;
        self.last = Span { start, end: at, escaped };
        Ok(())
    }

    /// The fault of the escape at `at`.
    #[cold]
    fn no_escape(&self, at: usize) -> Fault {
        let bytes = self.text.as_bytes();
        let lacking = |at| Fault::new(at, "`\\u` without four hexadecimal digits");
        if bytes.get(at + 1) != Some(&b'u') {
            return Fault::new(at, "an escape that JSON does not have");
        }
        let Some(unit) = text::unit(&bytes[at..]) else { return lacking(at) };
        let second = bytes.get(at + 6..).filter(|rest| rest.starts_with(b"\\u") && unit < 0xDC00);
        if second.is_some_and(|second| text::unit(second).is_none()) {
            return lacking(at + 6);
        }
        Fault::new(at, format!("a lone surrogate, `\\u{unit:04x}`, which is no character"))
    }

    fn some_digits(&mut self) -> Result<(), Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        if digits == 0 { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn word<const N: usize>(&mut self, word: &[u8; N]) -> Result<(), Fault> {
        if self.text.as_bytes().get(self.at..).and_then(<[u8]>::first_chunk) != Some(word) {
            return Err(self.unexpected("a value"));
        }
        self.at += N;
        Ok(())
    }

    fn blank(&mut self) {
        while let b' ' | b'\t' | b'\n' | b'\r' = self.peek() {
            self.at += 1;
        }
    }

    /// The next byte that is no white space.
    #[inline(always)]
    fn next(&mut self) -> u8 {
        if self.peek() <= b' ' {
            self.blank();
        }
        self.peek()
    }

    /// The byte at the reader's offset; at the end of the document NUL, which JSON has nowhere.
    #[inline(always)]
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn unexpected(&self, wanted: &str) -> Fault {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => return Fault::new(self.at, format!("the document ends where {wanted} should be")),
            Some(c) => c,
        };
        Fault::new(self.at, format!("expected {wanted}, found `{}`", found.escape_default()))
    }
}

#[cfg(test)]
mod tests;
