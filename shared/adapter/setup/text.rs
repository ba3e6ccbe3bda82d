//! Changes to a text at byte offsets; all other bytes stay as they were.

use std::ops::Range;

/// Changes to a text that do not overlap.
#[derive(Debug, Default)]
pub struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    /// Replace these bytes by `with`; at an empty range, insert it.
    pub fn put(&mut self, range: Range<usize>, with: impl Into<String>) {
        self.0.push((range, with.into()));
    }

    /// Remove these bytes.
    pub fn cut(&mut self, range: Range<usize>) {
        self.put(range, "");
    }

    /// The changed text. Of two changes at one offset, the first one comes first.
    pub fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for (range, with) in &self.0 {
            out.push_str(text.get(done..range.start).unwrap_or_default());
            out.push_str(with);
            done = done.max(range.end);
        }
        out.push_str(text.get(done..).unwrap_or_default());
        out
    }
}

/// Line and column of a byte, both counted from 1, the column in characters.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// The line end that this text uses.
pub fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The white space before `at` on its line, if there is nothing else before it.
pub fn indent(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n')? + 1;
    let before = &text[start..at];
    before.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some(before)
}

/// The beginning of the line that holds `at`.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The end of the line that holds `at`, its newline included.
pub fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_where_they_belong_and_in_order() {
        let mut edits = Edits::default();
        edits.cut(4..6);
        edits.put(0..0, "<");
        edits.put(2..2, "1");
        edits.put(2..2, "2");
        assert_eq!(edits.apply("abcdefg"), "<ab12cdg");
    }

    #[test]
    fn a_place_is_counted_from_one_in_characters() {
        assert_eq!(line_and_column("é{\r\n  ü}", 0), (1, 1));
        assert_eq!(line_and_column("é{\r\n  ü}", "é{\r\n  ü".len()), (2, 4));
    }
}
