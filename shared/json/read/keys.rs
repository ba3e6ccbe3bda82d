//! The keys of an object, kept to find duplicates.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use super::text::{Unescaped, glance, plain_run, unescape};
use super::{Duplicate, FEW_KEYS, Level, Reader, Span};

/// An object with this many hashed keys is compared part by part.
const PART: usize = 4 * 1024;

/// The most bytes of memory kept for the next key with escapes.
const LARGE_KEY: usize = 4 * 1024;

/// Group keys in place by the highest byte of their tags. The result is the beginning of each group, and the end.
fn partition(keys: &mut [SeenKey]) -> [usize; 257] {
    let byte = |key: SeenKey| (key.0 >> 56) as usize;
    let mut begin = [0; 257];
    for key in &*keys {
        begin[byte(*key) + 1] += 1;
    }
    for value in 0..256 {
        begin[value + 1] += begin[value];
    }
    // the place for the next key with this byte
    let mut next = begin;
    // the key that comes in is looked at in the next round: not waiting for it makes this fast
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

/// The random point for hashing keys, drawn with the first one: the author of a document must not be able to choose
/// keys that collide. A key is a polynomial modulo 2^61 - 1 with coefficients of seven bytes and a mark at the end; its
/// hash is the value at the secret point (Carter and Wegman 1979). At most about `n / 7 + 2` of 2^31 points give two
/// different keys of up to `n` bytes the same tag. One multiplication for seven bytes makes it fast.
pub struct Secret(pub(super) u64);

impl Secret {
    pub(super) const PRIME: u64 = (1 << 61) - 1;

    /// The tag of the key at the start of these bytes. `length` counts the key's bytes, escapes resolved.
    #[inline(always)]
    pub fn tag(secret: &mut Option<Secret>, bytes: &[u8], length: usize) -> u32 {
        let secret = match secret {
            Some(drawn) => &*drawn,
            None => secret.insert(Secret::draw()),
        };
        // a leading coefficient of 1, or leading NUL bytes of a key would not count
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

    #[inline(always)]
    pub(super) fn step(&self, value: u64, coefficient: u64) -> u64 {
        let product = u128::from(value + coefficient) * u128::from(self.0);
        let sum = (product as u64 & Self::PRIME) + (product >> 61) as u64;
        (sum & Self::PRIME) + (sum >> 61)
    }
}

/// Up to seven bytes as one number, whether or not more bytes follow them.
#[inline(always)]
fn word(bytes: &[u8], length: usize) -> u64 {
    match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word) & ((1 << (8 * length)) - 1),
        None => bytes[..length].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// A key that was seen: its tag above the offset behind its opening quote. 8 bytes, since a document can hold millions
/// of keys.
#[derive(Clone, Copy)]
pub struct SeenKey(u64);

impl SeenKey {
    /// `decode` has refused documents that are too long for such an offset.
    pub fn new(tag: u32, start: usize) -> SeenKey {
        SeenKey(u64::from(tag) << 32 | start as u64)
    }

    pub fn tag(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub fn start(self) -> usize {
        self.0 as u32 as usize
    }
}

impl<'a> Reader<'a> {
    /// Keep the last key for comparison with later ones.
    pub(super) fn remember(&mut self) {
        let Span { start, end, escaped } = self.last;
        let bytes = self.text.as_bytes();
        let Some(level) = self.levels.last_mut() else { return };
        let first = level.first_key();
        if !level.hashed() && (escaped || self.keys.len() - first == FEW_KEYS) {
            level.0 |= Level::HASHED;
            // none of these keys has escapes
            for seen in &mut self.keys[first..] {
                let key = &bytes[seen.start()..];
                let tag = Secret::tag(&mut self.secret, key, plain_run(key));
                *seen = SeenKey::new(tag, seen.start());
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
                // a caller that asks for the name holds one copy more
                self.plain.shrink_to(LARGE_KEY);
                tag
            }
        };
        let seen = SeenKey::new(tag, start);
        if self.keys.len() - first < FEW_KEYS {
            let mut alike = self.keys[first..].iter().filter(|other| other.tag() == tag);
            if alike.any(|other| match hashed {
                true => self.same(*other, seen),
                // the quote behind the key is compared too
                false => bytes[other.start()..].starts_with(&bytes[start..=end]),
            }) {
                return self.repeated(seen);
            }
        } else if self.keys.len() == self.keys.capacity() && size_of_val(&*self.keys) > self.at {
            // This many keys can only be so short if some are equal. After the first duplicate no more are kept, since
            // they would take more memory than the document.
            self.compare_hashed();
        }
        self.keys.push(seen);
    }

    /// Look for duplicates among the many keys of the innermost level. The time is linear, since tags are spread
    /// evenly.
    #[cold]
    pub(super) fn compare_hashed(&mut self) {
        let first = self.levels.last().map_or(0, |level| level.first_key());
        let mut keys = std::mem::take(&mut self.keys);
        let mut table = std::mem::take(&mut self.table);
        if keys.len() - first < PART {
            self.compare_part(&keys[first..], &mut table);
        } else {
            // part by part: a table for all keys would take more memory than they do
            for part in partition(&mut keys[first..]).windows(2) {
                self.compare_part(&keys[first..][part[0]..part[1]], &mut table);
            }
        }
        (self.keys, self.table) = (keys, table);
    }

    /// Compare some of the keys by a table that they fill at most by half.
    fn compare_part(&mut self, keys: &[SeenKey], table: &mut Vec<u64>) {
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
                // every key has an offset, so 0 is an empty place
                if *other == 0 {
                    *other = key.0;
                    break;
                }
                if (*other ^ key.0) >> 32 == 0 && self.same(SeenKey(*other), *key) {
                    let second = key.0.max(*other);
                    // later keys are compared with the first one
                    *other = key.0.min(*other);
                    self.repeated(SeenKey(second));
                    break;
                }
                place += 1;
            }
        }
    }

    /// Whether two keys are equal, escapes resolved.
    #[cold]
    fn same(&self, a: SeenKey, b: SeenKey) -> bool {
        self.characters_of(a).eq(self.characters_of(b))
    }

    /// Record a duplicate by the second key.
    fn repeated(&mut self, key: SeenKey) {
        let at = key.start() - 1;
        if self.duplicate.as_ref().is_none_or(|found| at < found.at) {
            self.duplicate = Some(Duplicate { at, key: self.characters_of(key).collect() });
        }
    }

    fn characters_of(&self, key: SeenKey) -> Unescaped<'a> {
        Unescaped(self.slice(key.start(), self.text.len()))
    }
}
