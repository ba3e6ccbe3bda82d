//! The place of a byte in a document, for people: the keys that lead to it, its line and its column.

use std::fmt::Write as _;

use super::{Fault, Kind, Reader};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The value or key at the byte, as `subjects.rules[0].operations`; empty for the document itself.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1 in characters.
    pub column: usize,
}

/// The places of these bytes, in the given order. A byte within a value gets the value's place. If the bytes are no
/// JSON, those before the fault have a path.
pub fn places(bytes: &[u8], offsets: &[usize]) -> Vec<Place> {
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    order.sort_by_key(|index| offsets[*index]);
    let mut walk = Walk { offsets, order: &order, path: String::new(), found: vec![Place::default(); offsets.len()] };
    if let Ok(mut reader) = Reader::new(bytes) {
        // a fault ends the walk, and the remaining bytes have no path
        let _ = walk.value(&mut reader);
    }
    let mut found = walk.found;
    let (mut line, mut column, mut at) = (1, 1, 0);
    for index in order {
        for byte in bytes.get(at..offsets[index]).unwrap_or_default() {
            match byte {
                b'\n' => (line, column) = (line + 1, 1),
                // a later byte of a character
                0x80..=0xBF => {}
                _ => column += 1,
            }
        }
        at = at.max(offsets[index]);
        (found[index].line, found[index].column) = (line, column);
    }
    found
}

struct Walk<'a> {
    offsets: &'a [usize],
    /// The indexes of the bytes that are not found yet, by offset.
    order: &'a [usize],
    path: String,
    found: Vec<Place>,
}

impl Walk<'_> {
    /// Whether every byte is found once the walk has reached `at`.
    fn reached(&mut self, at: usize) -> bool {
        while let Some((index, rest)) = self.order.split_first() {
            if self.offsets[*index] > at {
                return false;
            }
            self.found[*index].path.clone_from(&self.path);
            self.order = rest;
        }
        true
    }

    /// Whether every byte is found after this value.
    fn value(&mut self, reader: &mut Reader<'_>) -> Result<bool, Fault> {
        if self.reached(reader.offset()) {
            return Ok(true);
        }
        let length = self.path.len();
        match reader.kind()? {
            Kind::Object => {
                reader.enter_object()?;
                while let Some(key) = reader.next_key()? {
                    self.member(&key.name);
                    if self.reached(key.at) || self.value(reader)? {
                        return Ok(true);
                    }
                    self.path.truncate(length);
                }
            }
            Kind::Array => {
                reader.enter_array()?;
                let mut index = 0;
                while reader.next_item()? {
                    let _ = write!(self.path, "[{index}]");
                    if self.value(reader)? {
                        return Ok(true);
                    }
                    self.path.truncate(length);
                    index += 1;
                }
            }
            _ => reader.skip()?,
        }
        // bytes before the value's end are its own
        Ok(self.reached(reader.position().saturating_sub(1)))
    }

    fn member(&mut self, name: &str) {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.is_empty() && name.len() <= 60 && name.chars().all(plain) {
            let dot = if self.path.is_empty() { "" } else { "." };
            let _ = write!(self.path, "{dot}{name}");
            return;
        }
        let short: String = name.chars().take(60).collect();
        let more = if short.len() < name.len() { "…" } else { "" };
        let _ = write!(self.path, "[\"{}{more}\"]", short.escape_debug());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(document: &str, mark: &str) -> (String, usize, usize) {
        let offset = document.find(mark).unwrap();
        let Place { path, line, column } = places(document.as_bytes(), &[offset]).remove(0);
        (path, line, column)
    }

    #[test]
    fn a_byte_is_told_by_keys_line_and_column() {
        let document = "{\r\n \"a\": [1, {\"b\": \"é\", \"c\": 2}],\n\t\"odd key\": {\"\": [[3]]}, \"last\": null}";
        for (mark, wanted) in [
            ("{\r", ("", 1, 1)),
            ("\"a\"", ("a", 2, 2)),
            ("[1", ("a", 2, 7)),
            ("1,", ("a[0]", 2, 8)),
            ("\"b\"", ("a[1].b", 2, 12)),
            ("\"c\"", ("a[1].c", 2, 22)),
            ("2}", ("a[1].c", 2, 27)),
            ("\"odd", ("[\"odd key\"]", 3, 2)),
            ("3]", ("[\"odd key\"][\"\"][0][0]", 3, 20)),
            ("null", ("last", 3, 34)),
            // within a string, and behind the last value
            ("dd key", ("[\"odd key\"]", 3, 4)),
            ("}]", ("a[1]", 2, 28)),
        ] {
            let (path, line, column) = at(document, mark);
            assert_eq!((path.as_str(), line, column), wanted, "{mark}");
        }
    }

    #[test]
    fn many_are_found_at_once_in_the_order_in_which_they_are_asked_for() {
        let document = "[10, 20, [30, 40], 50]";
        let offsets: Vec<usize> = ["40", "10", "50", "20", "30", "10"].map(|mark| document.find(mark).unwrap()).into();
        let paths: Vec<String> = places(document.as_bytes(), &offsets).into_iter().map(|place| place.path).collect();
        assert_eq!(paths, ["[2][1]", "[0]", "[3]", "[1]", "[2][0]", "[0]"]);
    }

    #[test]
    fn what_is_no_json_has_lines_all_the_same() {
        let document = "{\"a\": 1,\n  \"b\" 2}";
        assert_eq!(at(document, "1,"), ("a".into(), 1, 7));
        let (_, line, column) = at(document, "2}");
        assert_eq!((line, column), (2, 7));
        assert_eq!(places(b"\xff\n\xff", &[2, 99]).iter().map(|place| place.line).collect::<Vec<_>>(), [2, 2]);
    }
}
