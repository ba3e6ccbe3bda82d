//! TOML as a tree that knows its places. Changes go into the text itself, since toml_edit drops a document's carriage
//! returns when it writes.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value as Toml};

use crate::adapter::setup::tree::{Member, Spanned, Value};
use crate::json::Fault;

/// A configuration.
#[derive(Debug)]
pub struct Config {
    /// The tables and values.
    pub root: Spanned,
    document: Document<String>,
}

/// Read a `config.toml`, without a byte order mark.
///
/// # Errors
/// The text is no TOML.
pub fn parse(text: &str) -> Result<Config, Fault> {
    let document = Document::parse(text.to_string()).map_err(|error| {
        let what = error.message().lines().next().unwrap_or("not TOML").to_string();
        Fault::new(error.span().map_or(0, |span| span.start), what)
    })?;
    let root = table(document.as_table(), 0..0, text);
    Ok(Config { root, document })
}

/// The ways to write a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableForm {
    /// There is no table, or none of its own, so a header for it can still be written.
    Absent,
    /// Under a header of its own, which has these bytes.
    Header(Range<usize>),
    /// By keys with dots, whose last value has these bytes.
    Dotted(Range<usize>),
    /// In braces or brackets after `=`, from this byte on.
    Inline(usize),
}

impl Config {
    /// The form of the table at these keys.
    pub fn form(&self, path: &[&str]) -> TableForm {
        let mut item = self.document.as_item();
        for key in path {
            match item.as_table_like().and_then(|table| table.get(key)) {
                Some(next) => item = next,
                None => return TableForm::Absent,
            }
            if let Item::Value(value) = item {
                return match value {
                    // a table of dotted keys counts too, with values of its own
                    Toml::InlineTable(inside) if inside.is_dotted() => self.dotted(path),
                    value => TableForm::Inline(value.span().map_or(0, |span| span.start)),
                };
            }
        }
        match item {
            Item::Table(table) if table.is_dotted() => self.dotted(path),
            Item::Table(table) if !table.is_implicit() => table.span().map_or(TableForm::Absent, TableForm::Header),
            _ => TableForm::Absent,
        }
    }

    fn dotted(&self, path: &[&str]) -> TableForm {
        let end = self.root.find(path).map_or(0, end);
        TableForm::Dotted(end..end)
    }
}

/// The beginning of a value; for one without a place of its own, the first item inside it.
pub fn begin(node: &Spanned) -> usize {
    match (node.span.is_empty(), node.items(), node.members()) {
        (true, [first, ..], _) => begin(first),
        (true, _, [first, ..]) => first.at,
        _ => node.span.start,
    }
}

/// The end of the last item inside a value.
pub fn end(node: &Spanned) -> usize {
    let inside = node.items().iter().chain(node.members().iter().map(|member| &member.node));
    inside.map(end).max().unwrap_or(0).max(node.span.end)
}

fn table(table: &dyn TableLike, span: Range<usize>, text: &str) -> Spanned {
    let members = table.iter().map(|(key, item)| Member {
        at: table.key(key).and_then(|key| key.span()).map_or(0, |span| span.start),
        key: key.into(),
        node: item_node(item, text),
    });
    Spanned { span, value: Value::Object(members.collect()) }
}

fn item_node(item: &Item, text: &str) -> Spanned {
    match item {
        Item::None => Spanned { span: 0..0, value: Value::Null },
        Item::Value(found) => value(found, text),
        Item::Table(found) => table(found, found.span().unwrap_or(0..0), text),
        Item::ArrayOfTables(found) => {
            let items = found.iter().map(|each| table(each, each.span().unwrap_or(0..0), text));
            Spanned { span: 0..0, value: Value::Array(items.collect()) }
        }
    }
}

fn value(found: &Toml, text: &str) -> Spanned {
    let span = found.span().unwrap_or(0..0);
    let value = match found {
        Toml::String(string) => Value::Text(string.value().clone()),
        Toml::Boolean(is) => Value::Bool(*is.value()),
        Toml::Array(items) => Value::Array(items.iter().map(|item| value(item, text)).collect()),
        Toml::InlineTable(inside) => return table(inside, span, text),
        _ => Value::Number(text.get(span.clone()).unwrap_or_default().into()),
    };
    Spanned { span, value }
}
