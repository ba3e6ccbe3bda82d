//! The writer: the canonical form and the form on disk, byte for byte.

use super::read::plain_run;

/// The white space of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// No white space: the form under a digest.
    Canonical,
    /// Two blanks a level, one member a line, an empty array or object on one line.
    Indented,
}

/// Writes one document. The caller orders the keys: no map type is involved, so no feature of a dependency can change
/// the canonical bytes.
#[derive(Debug)]
pub struct Writer {
    out: String,
    layout: Layout,
    /// For each open level, whether it has a member or an element.
    levels: Vec<bool>,
    after_key: bool,
}

impl Writer {
    pub fn new(layout: Layout) -> Self {
        Writer { out: String::new(), layout, levels: Vec::new(), after_key: false }
    }

    pub fn finish(self) -> String {
        self.out
    }

    pub fn object(&mut self) {
        self.open('{');
    }

    pub fn end_object(&mut self) {
        self.close('}');
    }

    pub fn array(&mut self) {
        self.open('[');
    }

    pub fn end_array(&mut self) {
        self.close(']');
    }

    /// The key of the next value.
    pub fn key(&mut self, key: &str) {
        self.place();
        quote(&mut self.out, key);
        self.out.push_str(match self.layout {
            Layout::Canonical => ":",
            Layout::Indented => ": ",
        });
        self.after_key = true;
    }

    pub fn string(&mut self, value: &str) {
        self.place();
        quote(&mut self.out, value);
    }

    pub fn member(&mut self, key: &str, value: &str) {
        self.key(key);
        self.string(value);
    }

    /// A key and its string, or null.
    pub fn nullable(&mut self, key: &str, value: Option<&str>) {
        self.key(key);
        match value {
            Some(value) => self.string(value),
            None => self.null(),
        }
    }

    pub fn number(&mut self, value: impl Into<u64>) {
        self.place();
        self.out.push_str(&value.into().to_string());
    }

    pub fn flag(&mut self, value: bool) {
        self.place();
        self.out.push_str(if value { "true" } else { "false" });
    }

    /// A value that is JSON already.
    pub fn raw(&mut self, json: &str) {
        self.place();
        self.out.push_str(json);
    }

    pub fn null(&mut self) {
        self.place();
        self.out.push_str("null");
    }

    fn open(&mut self, bracket: char) {
        self.place();
        self.out.push(bracket);
        self.levels.push(false);
    }

    fn close(&mut self, bracket: char) {
        if self.levels.pop() == Some(true) {
            self.line();
        }
        self.out.push(bracket);
    }

    /// Write the comma and the line break before the next member or element.
    fn place(&mut self) {
        if std::mem::take(&mut self.after_key) {
            return;
        }
        let Some(filled) = self.levels.last_mut() else { return };
        if std::mem::replace(filled, true) {
            self.out.push(',');
        }
        self.line();
    }

    fn line(&mut self) {
        if self.layout == Layout::Indented {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", self.levels.len()));
        }
    }
}

/// RFC 8785, 3.2.2.2: the two characters that must be escaped, five controls by their short form, the other controls by
/// number, everything else unchanged.
fn quote(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push('"');
    let mut left = text;
    loop {
        let (plain, rest) = left.split_at(plain_run(left.as_bytes()));
        out.push_str(plain);
        let Some(byte) = rest.bytes().next() else { break };
        left = &rest[1..];
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                out.push_str("\\u00");
                out.push(HEX[usize::from(byte >> 4)].into());
                out.push(HEX[usize::from(byte & 15)].into());
            }
        }
    }
    out.push('"');
}
