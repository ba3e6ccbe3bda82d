//! A document as a tree in which each value knows its place in the text.

use std::ops::Range;

use crate::json::{Fault, Kind, Reader};

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Spanned {
    /// The bytes of the value.
    pub span: Range<usize>,
    /// The value.
    pub value: Value,
}

/// A value.
#[derive(Debug, Clone)]
pub enum Value {
    /// A null.
    Null,
    /// A boolean.
    Bool(bool),
    /// Any other scalar that is no text, in its own spelling.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    Array(Vec<Spanned>),
    /// Members in the order of the text.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Debug, Clone)]
pub struct Member {
    /// The beginning of its key.
    pub at: usize,
    /// The key.
    pub key: String,
    /// Its value.
    pub node: Spanned,
}

impl Spanned {
    /// The members, if it is an object.
    pub fn members(&self) -> &[Member] {
        if let Value::Object(members) = &self.value { members } else { &[] }
    }

    /// The elements, if it is an array.
    pub fn items(&self) -> &[Spanned] {
        if let Value::Array(items) = &self.value { items } else { &[] }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The boolean, if it is one.
    pub fn bool(&self) -> Option<bool> {
        if let Value::Bool(is) = self.value { Some(is) } else { None }
    }

    /// The member of this name. Of two, the last one, as vendors read it.
    pub fn get(&self, key: &str) -> Option<&Spanned> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.node)
    }

    /// The value at these names, one inside the other.
    pub fn find(&self, path: &[&str]) -> Option<&Spanned> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The second member with a key that stands twice in this object.
    pub fn twice(&self) -> Option<&Member> {
        let members = self.members();
        members
            .iter()
            .enumerate()
            .find(|(at, member)| members[..*at].iter().any(|earlier| earlier.key == member.key))
            .map(|(_, member)| member)
    }

    /// Whether both hold the same values, in any order and layout.
    pub fn same(&self, other: &Spanned) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) | (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Value::Object(a), Value::Object(b)) => {
                // of a key that stands twice, the value that a vendor reads
                let alike = |key: &str| matches!((self.get(key), other.get(key)), (Some(a), Some(b)) if a.same(b));
                a.len() == b.len() && a.iter().chain(b).all(|member| alike(&member.key))
            }
            _ => false,
        }
    }

    /// The noun for its kind, with the article.
    pub fn noun(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

/// Read a JSON document. Like Claude Code, this ignores a byte order mark.
///
/// # Errors
/// The text is malformed.
pub fn json(text: &str) -> Result<Spanned, Fault> {
    let skipped = bom(text);
    let shift = |fault: Fault| Fault::new(fault.at() + skipped, fault.what().to_string());
    let mut reader = Reader::new(&text.as_bytes()[skipped..]).map_err(shift)?;
    let node = value(&mut reader, skipped).and_then(|node| reader.end().map(|()| node));
    node.map_err(shift)
}

/// The length of a byte order mark at the start of this text.
pub fn bom(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

fn value(reader: &mut Reader<'_>, skipped: usize) -> Result<Spanned, Fault> {
    let kind = reader.kind()?;
    let start = reader.offset();
    let value = match kind {
        Kind::Object => {
            let mut members = Vec::new();
            reader.enter_object()?;
            while let Some(key) = reader.next_key()? {
                let node = value(reader, skipped)?;
                members.push(Member { at: key.at + skipped, key: key.name.into_owned(), node });
            }
            Value::Object(members)
        }
        Kind::Array => {
            let mut items = Vec::new();
            reader.enter_array()?;
            while reader.next_item()? {
                items.push(value(reader, skipped)?);
            }
            Value::Array(items)
        }
        Kind::String => Value::Text(reader.string()?.into_owned()),
        Kind::Number => Value::Number(reader.number()?.to_string()),
        Kind::Bool | Kind::Null => {
            reader.skip()?;
            match reader.slice(start, reader.position()) {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => Value::Null,
            }
        }
    };
    Ok(Spanned { span: start + skipped..reader.position() + skipped, value })
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn a_document_is_the_same_as_itself_and_as_no_other_whatever_stands_twice_in_it() {
        let texts = [
            r#"{"a": 1, "b": [{"c": null}]}"#,
            r#"{"a": 1, "a": 2}"#,
            r#"{"a": 2, "a": 1}"#,
            r#"{"a": 2}"#,
            r#"{"a": 2, "b": 2}"#,
        ];
        for (at, text) in texts.iter().enumerate() {
            for (other_at, other) in texts.iter().enumerate() {
                let same = json(text).unwrap().same(&json(other).unwrap());
                assert_eq!(same, at == other_at, "{text} {other}");
            }
        }
        assert!(json(r#"{"a": 1, "b": 2}"#).unwrap().same(&json(r#" {"b":2,"a":1}"#).unwrap()));
    }
}
