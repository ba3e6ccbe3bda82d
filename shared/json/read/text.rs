//! Strings and numbers by their bytes: the character of an escape, the end of a plain run, and whether a double can
//! hold a number.

use super::Fault;

/// Every digit of the least number that rounds to infinity as a double: 2^1024 - 2^970.
pub const BEYOND: &[u8; 309] = b"1797693134862315807937289714053034150799341327100378269361737789804449682927647\
    50946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854\
    84581771153176447573027006985557136695962284291481986083493647529271907416844436551070434271155969950809\
    3042880177904174497792";

/// Whether a well-formed number lies beyond a double. This compares digits, since reading it as a double takes 15 KB of
/// tables.
pub fn is_beyond_doubles(number: &str, exponent: Option<usize>) -> bool {
    let (digits, exponent) = number.split_at(exponent.unwrap_or(number.len()));
    let exponent = exponent.get(1..).unwrap_or_default();
    let negative = exponent.starts_with('-');
    let power = exponent.bytes().filter(u8::is_ascii_digit).fold(0_i64, |power, digit| {
        // no document is long enough to make up for this exponent
        (power * 10 + i64::from(digit - b'0')).min(1 << 40)
    });
    let digits = digits.trim_start_matches('-').as_bytes();
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let Some(first) = digits.iter().position(|byte| matches!(byte, b'1'..=b'9')) else { return false };
    // the number is 0.D times ten to the `size`, where D begins with its first digit that is not 0
    let before = point as i64 - first as i64 + i64::from(first > point);
    let size = if negative { before - power } else { before + power };
    let significant = digits[first..].iter().filter(|byte| **byte != b'.').copied();
    size > 309 || (size == 309 && significant.chain(std::iter::repeat(b'0')).take(309).ge(BEYOND.iter().copied()))
}

/// The character of the escape at the start of these bytes, and its length.
#[inline(always)]
pub fn escape(bytes: &[u8]) -> Option<(char, usize)> {
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

/// The character of two code units; the second is an escape at the start of these bytes.
pub fn pair(first: u32, bytes: &[u8]) -> Option<char> {
    let second = unit(bytes).filter(|second| bytes[1] == b'u' && (0xDC00..0xE000).contains(second))?;
    let high = first.checked_sub(0xD800).filter(|high| bytes[0] == b'\\' && *high < 0x400)?;
    char::from_u32(0x10000 + (high << 10) + (second - 0xDC00))
}

/// The code unit of an escape of six bytes, with its digits from the third byte on.
#[inline(always)]
pub fn unit(escape: &[u8]) -> Option<u32> {
    let [_, _, digits @ ..] = escape.first_chunk::<6>()?;
    let mut unit = 0;
    for digit in digits {
        unit = unit << 4 | HEX[usize::from(*digit)] as u32;
    }
    // bytes that are no digits have set bits above
    (unit <= 0xFFFF).then_some(unit)
}

/// The value of each byte as a hexadecimal digit; for other bytes a number with every bit set.
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

/// The characters of a checked string up to its closing quote, escapes resolved one by one, so that comparing two keys
/// needs no memory.
pub struct Unescaped<'a>(pub &'a str);

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
pub fn unescape(raw: &str, out: &mut String) {
    let mut left = raw;
    loop {
        let (plain, rest) = left.split_at(plain_run(left.as_bytes()));
        out.push_str(plain);
        let Some((c, length)) = escape(rest.as_bytes()) else { return };
        out.push(c);
        left = &rest[length..];
    }
}

/// A quick summary of a key: its length, its beginning and its end.
pub fn glance(key: &[u8]) -> u32 {
    match key {
        [] => 0,
        [first, ..] => (key.len() as u32) << 16 | u32::from(*first) << 8 | u32::from(key[key.len() - 1]),
    }
}

pub fn decode(bytes: &[u8]) -> Result<&str, Fault> {
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

/// The number of leading bytes without a quote, a backslash or a control character. It takes eight bytes at a time,
/// since nearly all of a large payload is the inside of one string. The same bytes need an escape when they are
/// written.
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
        // a borrow can only mark a byte behind one that is marked rightly, and the first mark is taken
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
