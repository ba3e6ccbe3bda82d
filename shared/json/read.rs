//! The reader: pull one value after another out of a document, without building a tree.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// Nested arrays and objects that are still read; one more is refused. The public
/// reference reads with serde, whose limit this is.
pub const MAX_DEPTH: usize = 127;

/// Up to this many keys of one object are compared as they come; more are sorted at its end.
const FEW_KEYS: usize = 16;

/// Why bytes are not a JSON document, and at which of them that shows. One pointer, since every step
/// of the reader could hand one on and nearly none does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(Box<(usize, Cow<'static, str>)>);

impl Fault {
    /// A fault at this byte.
    #[cold]
    pub fn new(at: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Fault(Box::new((at, what.into())))
    }

    /// Offset of the byte, counted from 0.
    pub fn at(&self) -> usize {
        self.0.0
    }

    /// What is wrong there.
    pub fn what(&self) -> &str {
        &self.0.1
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at(), self.what())
    }
}

/// A key that stands twice in one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// Offset of the second of the two.
    pub at: usize,
    /// The key, escapes resolved.
    pub key: String,
}

/// The six kinds of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// Any number.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
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

/// A key of the object that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key<'a> {
    /// Offset of its opening quote.
    pub at: usize,
    /// The key, escapes resolved.
    pub name: Cow<'a, str>,
}

/// A number as it is spelled in the document.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Number<'a>(&'a str);

impl Number<'_> {
    /// The number, if it is spelled as a plain decimal integer within `u32`: `2` is, `2.0`,
    /// `2e0` and `-0` are not.
    pub fn as_u32(self) -> Option<u32> {
        self.0.bytes().all(|b| b.is_ascii_digit()).then(|| self.0.parse().ok()).flatten()
    }
}

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A string between its quotes, by offset.
#[derive(Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
    escaped: bool,
}

/// An array or object that has been entered; by default none.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The bracket that ends it.
    close: u8,
    /// Whether nothing of it has been read.
    fresh: bool,
    /// Its keys are those from here on.
    first_key: usize,
}

/// Reads one document from front to back.
///
/// Every value must be consumed by exactly one call: [`Reader::string`], [`Reader::number`],
/// [`Reader::skip`], or an `enter_…` followed by its `next_…` until that says it is over.
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The innermost level.
    level: Level,
    /// Those around it.
    around: Vec<Level>,
    /// The keys of all open objects, by the offset behind their opening quote: 4 bytes each, since
    /// a document can hold millions.
    keys: Vec<u32>,
    duplicate: Option<Duplicate>,
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
            level: Level::default(),
            around: Vec::new(),
            keys: Vec::new(),
            duplicate: None,
            last: Span::default(),
        };
        reader.blank();
        if reader.at == text.len() {
            let what = if bytes.is_empty() { "it is empty" } else { "there is nothing but white space in it" };
            return Err(Fault::new(0, what));
        }
        Ok(reader)
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
        Ok(self.member()?.then(|| Key { at: self.last.start - 1, name: self.resolve() }))
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
        Ok(Unescaped(self.slice(self.last.start, self.last.end).chars()))
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
        match self.peek() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.some_digits()?,
            _ => return Err(self.unexpected("a digit")),
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
        let around = self.around.len();
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
                if self.around.len() == around {
                    return Ok(());
                }
                if if self.level.close == b']' { self.more()? } else { self.member()? } {
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

    fn enter(&mut self, open: u8, close: u8) -> Result<(), Fault> {
        if self.next() != open {
            return Err(self.unexpected(if open == b'[' { "an array" } else { "an object" }));
        }
        if self.around.len() == MAX_DEPTH {
            return Err(Fault::new(self.at, "nested more than 127 levels deep"));
        }
        self.at += 1;
        self.around.push(self.level);
        self.level = Level { close, fresh: true, first_key: self.keys.len() };
        Ok(())
    }

    /// Whether the innermost level goes on: eats the comma, or the closing bracket and the level.
    fn more(&mut self) -> Result<bool, Fault> {
        let Level { close, fresh, .. } = self.level;
        let next = self.next();
        if next == close {
            let Some(level) = self.around.pop() else { return Err(Fault::new(self.at, "nothing was entered")) };
            self.level = level;
            self.at += 1;
            return Ok(false);
        }
        if fresh {
            self.level.fresh = false;
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

    /// Whether the object that was entered last has a further member: eats its key and the colon, or
    /// the closing bracket and the level.
    fn member(&mut self) -> Result<bool, Fault> {
        let first = self.level.first_key;
        if !self.more()? {
            if self.keys.len() > first {
                self.close_keys(first);
            }
            return Ok(false);
        }
        if self.peek() != b'"' {
            return Err(self.unexpected("a key in double quotes"));
        }
        self.span()?;
        // `decode` has refused what does not fit
        let key = self.last.start as u32;
        if self.keys.len() - first < FEW_KEYS
            && self.keys[first..].iter().any(|other| self.compare(*other, key) == Ordering::Equal)
        {
            self.repeated(key);
        }
        self.keys.push(key);
        if self.next() != b':' {
            return Err(self.unexpected("`:` after a key"));
        }
        self.at += 1;
        Ok(true)
    }

    fn close_keys(&mut self, first: usize) {
        if self.keys.len() - first > FEW_KEYS {
            let mut keys = std::mem::take(&mut self.keys);
            keys[first..].sort_unstable_by(|a, b| self.compare(*a, *b).then(a.cmp(b)));
            for pair in keys[first..].windows(2) {
                if self.compare(pair[0], pair[1]) == Ordering::Equal {
                    self.repeated(pair[1]);
                }
            }
            self.keys = keys;
        }
        self.keys.truncate(first);
    }

    /// Note a key that stands twice, by the second of the two.
    fn repeated(&mut self, key: u32) {
        let at = key as usize - 1;
        if self.duplicate.as_ref().is_none_or(|found| at < found.at) {
            self.duplicate = Some(Duplicate { at, key: self.key(key).collect() });
        }
    }

    /// The order of two keys, by their characters. Not inlined: sorting would have it five times.
    #[inline(never)]
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let bytes = self.text.as_bytes();
        let from = |key: u32| bytes.get(key as usize..).unwrap_or_default();
        for (x, y) in from(a).iter().zip(from(b)) {
            match (x, y) {
                (b'\\', _) | (_, b'\\') => return self.key(a).cmp(self.key(b)),
                (b'"', b'"') => break,
                (b'"', _) => return Ordering::Less,
                (_, b'"') => return Ordering::Greater,
                (x, y) if x != y => return x.cmp(y),
                _ => {}
            }
        }
        Ordering::Equal
    }

    /// The characters of a key.
    fn key(&self, start: u32) -> Unescaped<'a> {
        Unescaped(self.slice(start as usize, self.text.len()).chars())
    }

    /// The string or key that was read last.
    fn resolve(&self) -> Cow<'a, str> {
        let Span { start, end, escaped } = self.last;
        let raw = self.slice(start, end);
        if escaped { Cow::Owned(Unescaped(raw.chars()).collect()) } else { Cow::Borrowed(raw) }
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
            at += plain_run(&bytes[at..]);
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at = self.escape(at)?;
                }
                Some(_) => return Err(Fault::new(at, "a control character in a string, not escaped")),
                None => return Err(Fault::new(at, "the document ends inside a string")),
            }
        }
        self.at = at + 1;
        self.last = Span { start, end: at, escaped };
        Ok(())
    }

    /// Check the escape at `at`; the offset behind it.
    fn escape(&self, at: usize) -> Result<usize, Fault> {
        let bytes = self.text.as_bytes();
        match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                let unit = self.unit(at)?;
                match unit {
                    0xD800..=0xDBFF => {
                        let pair = bytes.get(at + 6..at + 8) == Some(b"\\u")
                            && (0xDC00..=0xDFFF).contains(&self.unit(at + 6)?);
                        if pair { Ok(at + 12) } else { Err(lone(at, unit)) }
                    }
                    0xDC00..=0xDFFF => Err(lone(at, unit)),
                    _ => Ok(at + 6),
                }
            }
            _ => Err(Fault::new(at, "an escape that JSON does not have")),
        }
    }

    fn unit(&self, at: usize) -> Result<u32, Fault> {
        let digits = self.text.as_bytes().get(at + 2..at + 6).unwrap_or_default();
        if digits.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(Fault::new(at, "`\\u` without four hexadecimal digits"));
        }
        Ok(digits.iter().fold(0, |unit, digit| unit * 16 + char::from(*digit).to_digit(16).unwrap_or(0)))
    }

    fn some_digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
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

/// The least number that no double holds, rounded to the nearest: 2^1024 - 2^970, all of its digits.
const BEYOND: &[u8; 309] = b"1797693134862315807937289714053034150799341327100378269361737789804449682927647\
    50946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854\
    84581771153176447573027006985557136695962284291481986083493647529271907416844436551070434271155969950809\
    3042880177904174497792";

/// Whether a well-formed number lies beyond what a double can hold. By its digits: reading it as a
/// double would say the same, and takes 15 KB of tables.
fn is_beyond_doubles(number: &str, exponent: Option<usize>) -> bool {
    let (digits, exponent) = number.split_at(exponent.unwrap_or(number.len()));
    let exponent = exponent.get(1..).unwrap_or_default();
    let negative = exponent.starts_with('-');
    let power = exponent.bytes().filter(u8::is_ascii_digit).fold(0_i64, |power, digit| {
        // no document is long enough to make up for so much
        (power * 10 + i64::from(digit - b'0')).min(1 << 40)
    });
    let digits = digits.trim_start_matches('-').as_bytes();
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let Some(first) = digits.iter().position(|byte| matches!(byte, b'1'..=b'9')) else { return false };
    // the number is 0.D times ten to the `size`, D beginning with its first digit that is not 0
    let before = point as i64 - first as i64 + i64::from(first > point);
    let size = if negative { before - power } else { before + power };
    let significant = digits[first..].iter().filter(|byte| **byte != b'.').copied();
    size > 309 || (size == 309 && significant.chain(std::iter::repeat(b'0')).take(309).ge(BEYOND.iter().copied()))
}

/// The characters of a checked string up to its closing quote, escapes resolved one by one, so that
/// comparing two keys needs no memory.
struct Unescaped<'a>(std::str::Chars<'a>);

impl Unescaped<'_> {
    fn unit(&mut self) -> u32 {
        (0..4).fold(0, |unit, _| unit * 16 + self.0.next().and_then(|c| c.to_digit(16)).unwrap_or(0))
    }
}

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let c = self.0.next().filter(|c| *c != '"')?;
        if c != '\\' {
            return Some(c);
        }
        Some(match self.0.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let mut code = self.unit();
                if (0xD800..=0xDBFF).contains(&code) {
                    self.0.nth(1);
                    code = 0x10000 + ((code - 0xD800) << 10) + self.unit().saturating_sub(0xDC00);
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            same => same,
        })
    }
}

fn lone(at: usize, unit: u32) -> Fault {
    Fault::new(at, format!("a lone surrogate, `\\u{unit:04x}`, which is no character"))
}

fn decode(bytes: &[u8]) -> Result<&str, Fault> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(Fault::new(0, "longer than 4 GiB"));
    }
    match bytes {
        [0xEF, 0xBB, 0xBF, ..] => {
            return Err(Fault::new(0, "it begins with a byte order mark; save it as UTF-8 without one"));
        }
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, 1..=0x7F, ..] | [1..=0x7F, 0, ..] => {
            return Err(Fault::new(0, "it is UTF-16; save it as UTF-8"));
        }
        _ => {}
    }
    std::str::from_utf8(bytes).map_err(|error| Fault::new(error.valid_up_to(), "not UTF-8"))
}

/// How many bytes from the start need no look: no quote, no backslash, no control character.
/// Eight at a time, since nearly all of a large payload is the inside of one string. What needs a
/// look when it is read is what has to be escaped when it is written.
pub fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut done = 0;
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // a borrow can only mark a byte behind one that is marked rightly, and the first is taken
        let hit = ((quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word))
            & HIGH;
        if hit != 0 {
            return done + (hit.trailing_zeros() / 8) as usize;
        }
        done += 8;
    }
    done + bytes[done..].iter().take_while(|b| **b != b'"' && **b != b'\\' && **b >= 0x20).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Option<String>, String> {
        let mut reader = Reader::new(text.as_bytes()).map_err(|e| e.to_string())?;
        reader.skip().and_then(|()| reader.end()).map_err(|e| e.to_string())?;
        Ok(reader.duplicate().map(|d| format!("{}@{}", d.key, d.at)))
    }

    #[test]
    fn duplicate_keys_are_found_at_every_level_in_every_spelling_and_number() {
        assert_eq!(read(r#"{"a":1,"a":2}"#), Ok(Some("a@7".into())));
        assert_eq!(read(r#"{"x":[{"a":1,"\u0061":2}]}"#), Ok(Some("a@13".into())));
        assert_eq!(read(r#"{"a":{"a":1},"b":{"a":1}}"#), Ok(None));
        for count in [15, 16, 17, 18, 500] {
            let keys: Vec<String> = (0..count).map(|i| format!("\"k{i}\":0")).collect();
            assert_eq!(read(&format!("{{{}}}", keys.join(","))), Ok(None), "{count}");
            for twice in [0, count / 2, count - 1] {
                let text = format!("{{{},\"\\u006b{twice}\":0}}", keys.join(","));
                let found = read(&text).unwrap().unwrap();
                assert!(found.starts_with(&format!("k{twice}@")), "{count} {twice} {found}");
            }
        }
    }

    #[test]
    fn depth_is_bounded_at_127() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(read(&nested(127)), Ok(None));
        assert_eq!(read(&nested(128)), Err("byte 127: nested more than 127 levels deep".into()));
        assert!(read(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn what_is_not_json_is_named_with_its_byte() {
        for (text, wanted) in [
            ("", "byte 0: it is empty"),
            (" \n", "byte 0: there is nothing but white space in it"),
            ("\u{feff}{}", "byte 0: it begins with a byte order mark; save it as UTF-8 without one"),
            ("{} {}", "byte 3: there are bytes after the end of the document"),
            ("{\"a\":1,}", "byte 7: a comma before the closing bracket"),
            ("[1 2]", "byte 3: expected `,` or `]`, found `2`"),
            ("{\"a\" 1}", "byte 5: expected `:` after a key, found `1`"),
            ("{a:1}", "byte 1: expected a key in double quotes, found `a`"),
            ("[02]", "byte 2: expected `,` or `]`, found `2`"),
            ("[+2]", "byte 1: expected a value, found `+`"),
            ("[NaN]", "byte 1: expected a value, found `N`"),
            ("[nul]", "byte 1: expected a value, found `n`"),
            ("[1.]", "byte 3: expected a digit, found `]`"),
            ("[1e999]", "byte 1: number out of range"),
            ("[\"\\ud800\"]", "byte 2: a lone surrogate, `\\ud800`, which is no character"),
            ("[\"\\ud800\\u0041\"]", "byte 2: a lone surrogate, `\\ud800`, which is no character"),
            ("[\"\\udc00\"]", "byte 2: a lone surrogate, `\\udc00`, which is no character"),
            ("[\"\\u12\"]", "byte 2: `\\u` without four hexadecimal digits"),
            ("[\"\\x\"]", "byte 2: an escape that JSON does not have"),
            ("[\"a\tb\"]", "byte 3: a control character in a string, not escaped"),
            ("[\"abc", "byte 5: the document ends inside a string"),
            ("{\"a\":", "byte 5: the document ends where a value should be"),
        ] {
            assert_eq!(read(text), Err(wanted.to_string()), "{text:?}");
        }
    }

    #[test]
    fn objects_of_any_size_close_and_their_keys_are_told_apart_from_those_around_them() {
        for count in [0, 1, 16, 17, 40] {
            let keys: Vec<String> = (0..count).map(|i| format!("\"k{i}\":[{{\"k0\":{i}}},[]]")).collect();
            let inner = format!("{{{}}}", keys.join(","));
            assert_eq!(read(&format!("{{\"k1\":{inner},\"k\":{inner},\"a\":[{inner},{{}}]}}")), Ok(None), "{count}");
            let twice = format!("{{\"k1\":{inner},\"k1\":0}}");
            assert_eq!(read(&twice), Ok(Some(format!("k1@{}", inner.len() + 7))), "{count}");
        }
    }

    /// Whether a number is refused, and whether reading it as a double says infinity.
    fn refused_and_infinite(number: &str) -> (bool, bool) {
        let found = read(number);
        assert!(found == Ok(None) || found == Err("byte 0: number out of range".into()), "{number} {found:?}");
        (found.is_err(), number.parse::<f64>().unwrap().is_infinite())
    }

    #[test]
    fn the_least_number_out_of_range_is_where_doubles_end() {
        let beyond = std::str::from_utf8(BEYOND).unwrap();
        let below = format!("{}1", beyond.strip_suffix('2').unwrap());
        let (zeros, more) = ("0".repeat(400), "0".repeat(5_000));
        for (digits, out) in [(beyond, true), (&below, false)] {
            let mut numbers = vec![
                digits.to_string(),
                format!("{digits}.0{more}1"),
                format!("{digits}{zeros}.{more}1e-400"),
                format!("0.{zeros}{digits}e709"),
                format!("0.{more}{digits}{more}e5309"),
            ];
            for point in 1..309 {
                let (whole, part) = digits.split_at(point);
                numbers.push(format!("{whole}.{part}e{}", 309 - point));
                numbers.push(format!("-{whole}.{part}0E+000{}", 309 - point));
                numbers.push(format!("-0.{}{digits}e{}", "0".repeat(point), 309 + point));
                numbers.push(format!("{digits}{}E-{point}", "0".repeat(point)));
            }
            for number in numbers {
                assert_eq!(refused_and_infinite(&number), (out, out), "{number}");
            }
        }
        for number in ["0e999999999", "-0.000e400", "1e308", "1e309", "0.1e309", "0.1e310", "2e308", "1e-999999999"] {
            let (found, wanted) = refused_and_infinite(number);
            assert_eq!(found, wanted, "{number}");
        }
        assert!(read("1e99999999999999999999999").is_err());
        assert_eq!(read("1e-99999999999999999999999"), Ok(None));
        // the only ones that std reads as something else: it stops at the sixth digit of an exponent
        let one = format!("1{}e-1000000", "0".repeat(1_000_000));
        assert_eq!(refused_and_infinite(&one), (false, true));
    }

    proptest! {
        #[test]
        fn a_number_is_out_of_range_where_a_double_is_infinite(
            whole in "-?(0|[1-9][0-9]{0,4}|1797693134862315[0-9]{0,300}|[1-9][0-9]{290,320})",
            part in "(|\\.0{0,320}[0-9]{1,20})",
            exponent in "(|[eE][+-]?0{0,3}([0-9]|[1-9][0-9]|[2-4][0-9]{2}|30[0-9]|31[0-9]))",
        ) {
            let number = format!("{whole}{part}{exponent}");
            let (found, wanted) = refused_and_infinite(&number);
            prop_assert_eq!(found, wanted, "{}", number);
        }
    }

    #[test]
    fn strings_come_out_with_their_escapes_resolved() {
        let text = r#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é""#;
        let mut reader = Reader::new(text.as_bytes()).unwrap();
        assert_eq!(reader.string().unwrap(), "a\"\\/\u{8}\u{c}\n\r\té😀é");
    }

    #[test]
    fn the_fast_run_stops_where_the_slow_one_would() {
        for at in 0..40 {
            for stop in [b'"', b'\\', 0x1F, 0x00] {
                let mut bytes = vec![b'z'; 40];
                bytes[at] = stop;
                assert_eq!(plain_run(&bytes), at);
            }
        }
        assert_eq!(plain_run("é\u{7f}\u{ff}! ".repeat(9).as_bytes()), "é\u{7f}\u{ff}! ".repeat(9).len());
    }
}
