//! The reader: pull one value after another out of a document, without building a tree.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Instant;

/// Nested arrays and objects that are still read; one more is refused. The public
/// reference reads with serde, whose limit this is.
pub const MAX_DEPTH: usize = 127;

/// Up to this many keys of one object, all without escapes, are compared as they come; else they are hashed, and
/// compared at its end.
const FEW_KEYS: usize = 16;

/// From so many hashed keys of one object on, they are compared part by part.
const PART: usize = 4 * 1024;

/// Bytes of a key for which memory is held until the next.
const LARGE_KEY: usize = 4 * 1024;

/// Bytes that are read from one look at the clock to the next.
const STRIDE: usize = 256 * 1024;

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

/// Bring keys together by the highest byte of their tags, in place; where those with each byte begin, and the end.
fn partition(keys: &mut [Seen]) -> [usize; 257] {
    let byte = |key: Seen| (key.0 >> 56) as usize;
    let mut begin = [0; 257];
    for key in &*keys {
        begin[byte(*key) + 1] += 1;
    }
    for value in 0..256 {
        begin[value + 1] += begin[value];
    }
    // where the next one with this byte goes
    let mut next = begin;
    // what comes in for what went out is looked at in the next round: not waiting for it is what makes this quick
    while next[..256] != begin[1..] {
        for value in 0..256 {
            for place in next[value]..begin[value + 1] {
                let key = keys[place];
                let goes = &mut next[byte(key)];
                keys[place] = std::mem::replace(&mut keys[*goes], key);
                *goes += 1;
            }
        }
    }
    begin
}

/// What keys are hashed by, drawn at random when the first is: who writes a document must not be able to choose keys that
/// collide. A key is a polynomial modulo 2^61 - 1, its coefficients seven bytes each and the last one's end marked, and its
/// hash is the value at a secret point (Carter and Wegman 1979): of all points, about `n / 7 + 2` in 2^31 at most give two
/// different keys of up to `n` bytes the same tag. One multiplication for seven bytes is what makes it quick.
struct Secret(u64);

impl Secret {
    const PRIME: u64 = (1 << 61) - 1;

    /// The tag of the key of so many bytes, escapes resolved, with which these bytes begin.
    #[inline(always)]
    fn tag(secret: &mut Option<Secret>, bytes: &[u8], length: usize) -> u32 {
        let secret = match secret {
            Some(drawn) => &*drawn,
            None => secret.insert(Secret::draw()),
        };
        // a coefficient of 1 before all others, or those of a key that begins with NUL would not count
        let (mut value, mut rest, mut left) = (secret.0, bytes, length);
        while let (7.., Some((_, behind))) = (left, rest.split_at_checked(7)) {
            value = secret.step(value, word(rest, 7));
            (rest, left) = (behind, left - 7);
        }
        (secret.step(value, word(rest, left) | 1 << (8 * left)) >> 29) as u32
    }

    #[cold]
    fn draw() -> Secret {
        Secret(RandomState::new().build_hasher().finish() & Secret::PRIME)
    }

    /// One coefficient more.
    #[inline(always)]
    fn step(&self, value: u64, coefficient: u64) -> u64 {
        let product = u128::from(value + coefficient) * u128::from(self.0);
        let sum = (product as u64 & Self::PRIME) + (product >> 61) as u64;
        (sum & Self::PRIME) + (sum >> 61)
    }
}

/// So many bytes, at most seven, as one number. Whether more lie behind them is no matter.
#[inline(always)]
fn word(bytes: &[u8], length: usize) -> u64 {
    match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word) & ((1 << (8 * length)) - 1),
        None => bytes[..length].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// A string between its quotes, by offset.
#[derive(Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
    escaped: bool,
}

/// A key that was seen: a tag, which equal keys have in common, above the offset behind its opening quote. 8 bytes,
/// since a document can hold millions.
#[derive(Clone, Copy)]
struct Seen(u64);

impl Seen {
    /// `decode` has refused what is too long for such an offset.
    fn new(tag: u32, start: usize) -> Seen {
        Seen(u64::from(tag) << 32 | start as u64)
    }

    fn tag(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn start(self) -> usize {
        self.0 as u32 as usize
    }
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
    keys: Vec<Seen>,
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

    /// Keep the key that was read last, for those behind it to be compared with.
    fn remember(&mut self) {
        let Span { start, end, escaped } = self.last;
        let bytes = self.text.as_bytes();
        let Some(level) = self.levels.last_mut() else { return };
        let first = level.first_key();
        if !level.hashed() && (escaped || self.keys.len() - first == FEW_KEYS) {
            level.0 |= Level::HASHED;
            // none of these has escapes
            for seen in &mut self.keys[first..] {
                let key = &bytes[seen.start()..];
                let tag = Secret::tag(&mut self.secret, key, plain_run(key));
                *seen = Seen::new(tag, seen.start());
            }
        }
        let hashed = level.hashed();
        let tag = match (hashed, escaped) {
            (false, _) => glance(&bytes[start..end]),
            (true, false) => Secret::tag(&mut self.secret, bytes.get(start..).unwrap_or_default(), end - start),
            (true, true) => {
                self.plain.clear();
                unescape(self.text.get(start..end).unwrap_or_default(), &mut self.plain);
                let tag = Secret::tag(&mut self.secret, self.plain.as_bytes(), self.plain.len());
                // who asks for its name has one more of it
                self.plain.shrink_to(LARGE_KEY);
                tag
            }
        };
        let seen = Seen::new(tag, start);
        if self.keys.len() - first < FEW_KEYS {
            let mut alike = self.keys[first..].iter().filter(|other| other.tag() == tag);
            if alike.any(|other| match hashed {
                true => self.same(*other, seen),
                // with the quote behind it
                false => bytes[other.start()..].starts_with(&bytes[start..=end]),
            }) {
                return self.repeated(seen);
            }
        } else if self.keys.len() == self.keys.capacity() && size_of_val(&*self.keys) > self.at {
            // So many members can only be so short where some have the same key; and once that is known, no more are
            // kept, which would take more memory than the document.
            self.compare_hashed();
        }
        self.keys.push(seen);
    }

    /// Look for keys that stand twice among those of the innermost level, where they are more than a few. In time that
    /// is linear in their number, since tags are spread evenly.
    #[cold]
    fn compare_hashed(&mut self) {
        let first = self.levels.last().map_or(0, |level| level.first_key());
        let mut keys = std::mem::take(&mut self.keys);
        let mut table = std::mem::take(&mut self.table);
        if keys.len() - first < PART {
            self.compare_part(&keys[first..], &mut table);
        } else {
            // one part after another: a table for all of them would take more memory than they do
            for part in partition(&mut keys[first..]).windows(2) {
                self.compare_part(&keys[first..][part[0]..part[1]], &mut table);
            }
        }
        (self.keys, self.table) = (keys, table);
    }

    /// The same for some of them, by a table in which they take no more than half of the places.
    fn compare_part(&mut self, keys: &[Seen], table: &mut Vec<u64>) {
        let places = (keys.len() * 2).next_power_of_two();
        match table.get_mut(..places) {
            Some(used) => used.fill(0),
            None => *table = vec![0; places],
        }
        let table = &mut table[..places];
        for key in keys {
            let mut place = key.tag() as usize;
            loop {
                let other = &mut table[place & (places - 1)];
                // every key has an offset
                if *other == 0 {
                    *other = key.0;
                    break;
                }
                if (*other ^ key.0) >> 32 == 0 && self.same(Seen(*other), *key) {
                    let second = key.0.max(*other);
                    // it is the first of them that others are compared with
                    *other = key.0.min(*other);
                    self.repeated(Seen(second));
                    break;
                }
                place += 1;
            }
        }
    }

    /// Whether two keys are the same, escapes resolved.
    #[cold]
    fn same(&self, a: Seen, b: Seen) -> bool {
        self.characters_of(a).eq(self.characters_of(b))
    }

    /// Note a key that stands twice, by the second of the two.
    fn repeated(&mut self, key: Seen) {
        let at = key.start() - 1;
        if self.duplicate.as_ref().is_none_or(|found| at < found.at) {
            self.duplicate = Some(Duplicate { at, key: self.characters_of(key).collect() });
        }
    }

    /// The characters of a key.
    fn characters_of(&self, key: Seen) -> Unescaped<'a> {
        Unescaped(self.slice(key.start(), self.text.len()))
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
        let Some(unit) = unit(&bytes[at..]) else { return lacking(at) };
        let second = bytes.get(at + 6..).filter(|rest| rest.starts_with(b"\\u") && unit < 0xDC00);
        if second.is_some_and(|second| self::unit(second).is_none()) {
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

/// The character of the escape with which these bytes begin, and its length.
#[inline(always)]
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let c = match bytes.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        same @ (b'"' | b'\\' | b'/') => char::from(*same),
        b'u' => {
            let first = unit(bytes)?;
            return match char::from_u32(first) {
                Some(c) => Some((c, 6)),
                None => pair(first, bytes.get(6..)?).map(|c| (c, 12)),
            };
        }
        _ => return None,
    };
    Some((c, 2))
}

/// The character of two code units, of which the second is an escape with which these bytes begin.
fn pair(first: u32, bytes: &[u8]) -> Option<char> {
    let second = unit(bytes).filter(|second| bytes[1] == b'u' && (0xDC00..0xE000).contains(second))?;
    let high = first.checked_sub(0xD800).filter(|high| bytes[0] == b'\\' && *high < 0x400)?;
    char::from_u32(0x10000 + (high << 10) + (second - 0xDC00))
}

/// The code unit of an escape of six bytes, whose digits these are from the third on.
#[inline(always)]
fn unit(escape: &[u8]) -> Option<u32> {
    let [_, _, digits @ ..] = escape.first_chunk::<6>()?;
    let mut unit = 0;
    for digit in digits {
        unit = unit << 4 | HEX[usize::from(*digit)] as u32;
    }
    // the bits of what is no digit stay
    (unit <= 0xFFFF).then_some(unit)
}

/// The value of each byte as a hexadecimal digit, and of what is none a number with all bits set.
static HEX: [i8; 256] = {
    let mut values = [-1; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value];
        values[digit as usize] = value as i8;
        values[digit.to_ascii_uppercase() as usize] = value as i8;
        value += 1;
    }
    values
};

/// The characters of a checked string up to its closing quote, escapes resolved one by one, so that
/// comparing two keys needs no memory.
struct Unescaped<'a>(&'a str);

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let (c, length) = match self.0.chars().next()? {
            '"' => return None,
            '\\' => escape(self.0.as_bytes())?,
            c => (c, c.len_utf8()),
        };
        self.0 = self.0.get(length..)?;
        Some(c)
    }
}

/// Add a checked string without its escapes.
fn unescape(raw: &str, out: &mut String) {
    let mut left = raw;
    loop {
        let (plain, rest) = left.split_at(plain_run(left.as_bytes()));
        out.push_str(plain);
        let Some((c, length)) = escape(rest.as_bytes()) else { return };
        out.push(c);
        left = &rest[length..];
    }
}

/// What is seen of a key at a glance: its length, and how it begins and ends.
fn glance(key: &[u8]) -> u32 {
    match key {
        [] => 0,
        [first, ..] => (key.len() as u32) << 16 | u32::from(*first) << 8 | u32::from(key[key.len() - 1]),
    }
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
#[inline(always)]
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
    fn one_key_over_and_over_takes_no_more_memory_than_it_has_to() {
        let text = format!("{{{}\"\":0}}", "\"\":0,".repeat(100_000));
        let mut reader = Reader::new(text.as_bytes()).unwrap();
        reader.skip().unwrap();
        assert_eq!(reader.duplicate().unwrap().at, 6);
        assert!(size_of_val(&*reader.keys.spare_capacity_mut()) < text.len() / 100);
    }

    #[test]
    fn a_tag_goes_by_all_of_a_key_and_by_the_secret() {
        // with something behind it and without
        let tag = |point, key: &str| {
            let tag = |bytes: &str| Secret::tag(&mut Some(Secret(point)), bytes.as_bytes(), key.len());
            assert_eq!(tag(key), tag(&format!("{key}\"0123456789")));
            tag(key)
        };
        let keys: Vec<String> = (0..40).flat_map(|n| ["a", "b", "\0"].map(|c| c.repeat(n))).collect();
        let mut tags: Vec<u32> = keys.iter().map(|key| tag(0x0123_4567_89ab_cdef, key)).collect();
        assert_eq!(tag(5, "abcdefghijk"), tag(5, "abcdefghijk"));
        assert_ne!(tag(5, "abcdefghijk"), tag(6, "abcdefghijk"));
        tags.sort_unstable();
        tags.dedup();
        // the empty one three times
        assert_eq!(tags.len(), keys.len() - 2);
        // a step is arithmetic modulo the prime
        let exact = |value: u64, coefficient: u64, point: u64| {
            ((u128::from(value) + u128::from(coefficient)) * u128::from(point) % u128::from(Secret::PRIME)) as u64
        };
        for value in [0, 1, Secret::PRIME - 1, Secret::PRIME, Secret::PRIME + 7, 1 << 60] {
            for coefficient in [0, 1, (1 << 56) - 1] {
                for point in [0, 1, 2, Secret::PRIME - 1] {
                    let step = Secret(point).step(value, coefficient);
                    assert!(step <= Secret::PRIME + 7, "{step}");
                    assert_eq!(step % Secret::PRIME, exact(value, coefficient, point));
                }
            }
        }
    }

    #[test]
    fn reading_ends_when_the_deadline_has_passed() {
        let text = format!("[{}0]", "0,".repeat(STRIDE));
        let read = |deadline| Reader::new(text.as_bytes()).unwrap().until(deadline).skip();
        assert_eq!(read(Some(Instant::now())).unwrap_err().to_string(), "byte 1: the deadline passed here");
        assert_eq!(read(None), Ok(()));
        assert_eq!(read(Instant::now().checked_add(std::time::Duration::from_secs(1 << 20))), Ok(()));
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
