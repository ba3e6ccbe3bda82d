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

/// Nested arrays and objects that are still read; one more is refused. The public
/// reference reads with serde, whose limit this is.
pub const MAX_DEPTH: usize = 127;

/// Up to this many keys of one object, all without escapes, are compared as they come; else they are hashed, and
/// compared at its end.
const FEW_KEYS: usize = 16;

/// Bytes that are read from one look at the clock to the next.
const STRIDE: usize = 256 * 1024;

/// A string between its quotes, by offset.
#[derive(Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
    escaped: bool,
}

/// An array or object that has been entered: the bracket that ends it, whether its keys are hashed, and how many keys of
/// those around it come before. One number, since one is pushed and popped at once.
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
    /// The levels that are open, the innermost last.
    levels: Vec<Level>,
    /// Whether the innermost was entered and nothing of it read.
    fresh: bool,
    /// The keys of all open objects.
    keys: Vec<SeenKey>,
    /// What keys are hashed by.
    secret: Option<Secret>,
    /// Where hashed keys are compared.
    table: Vec<u64>,
    /// Where a key with escapes is without them, while it is hashed.
    plain: String,
    duplicate: Option<Duplicate>,
    /// When reading has to be over.
    deadline: Option<Instant>,
    /// The offset at which the clock is looked at next.
    look: usize,
    /// The string or key that was read last.
    last: Span,
}

impl<'a> Reader<'a> {
    /// Start on a document.
    ///
    /// # Errors
    /// Nothing in it but white space, a byte order mark, UTF-16, bytes that are not UTF-8, or
    /// more than 4 GiB.
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

    /// The same reader, with a deadline: when it has passed, what is read next is a fault. It is looked for every
    /// now and then, between the members of objects and arrays.
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Reader { deadline, look: if deadline.is_some() { 0 } else { usize::MAX }, ..self }
    }

    /// The first key found twice in one object, so far.
    pub fn duplicate(&self) -> Option<&Duplicate> {
        self.duplicate.as_ref()
    }

    /// Offset of the next value.
    pub fn offset(&mut self) -> usize {
        self.blank();
        self.at
    }

    /// The text between two offsets that came from [`Reader::offset`].
    pub fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Where the value just read ended.
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

    /// Go into the object that comes next.
    ///
    /// # Errors
    /// It is none, or lies too deep.
    pub fn enter_object(&mut self) -> Result<(), Fault> {
        self.enter(b'{', b'}')
    }

    /// Go into the array that comes next.
    ///
    /// # Errors
    /// It is none, or lies too deep.
    pub fn enter_array(&mut self) -> Result<(), Fault> {
        self.enter(b'[', b']')
    }

    /// The next key of the object that was entered last; `None` closes it.
    ///
    /// # Errors
    /// Neither a key nor the end of the object is there.
    pub fn next_key(&mut self) -> Result<Option<Key<'a>>, Fault> {
        if !self.more()? {
            return Ok(None);
        }
        self.key()?;
        Ok(Some(Key { at: self.last.start - 1, name: self.resolve() }))
    }

    /// Whether the array that was entered last has a further element; `false` closes it.
    ///
    /// # Errors
    /// Neither an element nor the end of the array is there.
    pub fn next_item(&mut self) -> Result<bool, Fault> {
        self.more()
    }

    /// The string that comes next, escapes resolved.
    ///
    /// # Errors
    /// It is none, or not well formed.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.blank();
        self.span()?;
        Ok(self.resolve())
    }

    /// The characters of the string that comes next, escapes resolved one by one: no copy is made.
    ///
    /// # Errors
    /// It is none, or not well formed.
    pub fn characters(&mut self) -> Result<impl Iterator<Item = char> + use<'a>, Fault> {
        self.blank();
        self.span()?;
        Ok(Unescaped(self.slice(self.last.start, self.last.end)))
    }

    /// The number that comes next.
    ///
    /// # Errors
    /// It is none, not well formed, or beyond what a double can hold.
    pub fn number(&mut self) -> Result<Number<'a>, Fault> {
        self.blank();
        let start = self.at;
        self.digits()?;
        Ok(Number(self.slice(start, self.at)))
    }

    /// Check the number at the reader's place.
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
        // 300 digits are below the greatest double whatever they are
        if (exponent.is_some() || self.at - start > 300)
            && is_beyond_doubles(self.slice(start, self.at), exponent.map(|at| at - start))
        {
            return Err(Fault::new(start, "number out of range"));
        }
        Ok(())
    }

    /// Pass over the next value, reading all of it as strictly as if it were wanted.
    ///
    /// # Errors
    /// It is not well formed.
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
            // what was entered here and goes on has the next value
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

    /// Say that the document is over.
    ///
    /// # Errors
    /// Something other than white space follows.
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

    /// Whether the innermost level goes on: eats the comma, or the closing bracket and the level.
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

    /// Look at the clock, and say when to look again.
    #[cold]
    fn look(&mut self) -> Result<(), Fault> {
        self.look = self.at + STRIDE;
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Fault::new(self.at, "the deadline passed here")),
            _ => Ok(()),
        }
    }

    /// Eat the key and the colon of a member of the innermost level.
    fn key(&mut self) -> Result<(), Fault> {
        if self.peek() != b'"' {
            return Err(self.unexpected("a key in double quotes"));
        }
        self.span()?;
        // any that comes now stands behind that one
        if self.duplicate.is_none() {
            self.remember();
        }
        if self.next() != b':' {
            return Err(self.unexpected("`:` after a key"));
        }
        self.at += 1;
        Ok(())
    }

    /// The string or key that was read last.
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

    /// The string that begins at the reader's place, checked and passed over.
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

    /// What is wrong with the escape at `at`.
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

    /// The byte at the reader's place; NUL, which JSON has nowhere, where the document is over.
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
