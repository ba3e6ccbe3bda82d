//! The tools that a vendor offers its model, with the schemas of their inputs, as its own requests carry them: held to
//! the record in `fixtures/tools`, by which the hooks hold an input that takes the place of a call's own.
//! `--record` writes the record anew; a release that differs from it says where.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// Tools by name, each with its schema.
pub type Schemas = BTreeMap<String, Value>;

/// What a schema says to people and to the model, and no reader checks.
const WORDS: [&str; 4] = ["description", "title", "$schema", "examples"];

/// Holds the schemas of the vendor's tools to the record, or writes it.
pub fn hold(scratch: &Scratch, vendor: &str, program: &Path, seen: Schemas) -> Result<(), String> {
    let seen: Schemas = seen.into_iter().map(|(name, schema)| (name, bare(schema))).collect();
    let release = release(scratch, program)?;
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tools").join(format!("{vendor}.json"));
    if scratch.record {
        let text = format!("{:#}\n", json!({"release": release, "tools": seen}));
        return fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()));
    }
    let text = fs::read_to_string(&path).map_err(|error| format!("could not read {}: {error}", path.display()))?;
    let record: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let known: Schemas = serde_json::from_value(record["tools"].clone()).map_err(|error| error.to_string())?;
    let differ: Vec<String> = known
        .keys()
        .chain(seen.keys().filter(|name| !known.contains_key(*name)))
        .filter_map(|name| difference(name, known.get(name), seen.get(name)))
        .collect();
    match differ.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{release} differs from the record of {} (--record writes it anew): {}",
            record["release"].as_str().unwrap_or("no release"),
            differ.join("; ")
        )),
    }
}

fn difference(name: &str, known: Option<&Value>, seen: Option<&Value>) -> Option<String> {
    match (known, seen) {
        (Some(known), Some(seen)) => {
            unlike(known, seen).map(|(place, known, seen)| format!("{name}{place} is {seen} and was {known}"))
        }
        (Some(_), None) => Some(format!("{name} is not offered")),
        (None, _) => Some(format!("{name} is new")),
    }
}

/// The first place where two values differ, and both there.
fn unlike(one: &Value, other: &Value) -> Option<(String, Value, Value)> {
    match (one.as_object(), other.as_object()) {
        (Some(ours), Some(theirs)) => ours
            .keys()
            .chain(theirs.keys())
            .find_map(|key| unlike(&one[key], &other[key]).map(|(place, a, b)| (format!(".{key}{place}"), a, b))),
        _ if one == other => None,
        _ => Some((String::new(), one.clone(), other.clone())),
    }
}

/// A schema without its prose. A member may be named like one of [`WORDS`], and then stands under `properties`.
fn bare(schema: Value) -> Value {
    match schema {
        Value::Object(members) => members
            .into_iter()
            .filter(|(key, _)| !WORDS.contains(&key.as_str()))
            .map(|(key, value)| match (key.as_str(), value) {
                ("properties", Value::Object(of)) => {
                    let of = of.into_iter().map(|(name, schema)| (name, bare(schema)));
                    (key, Value::Object(of.collect()))
                }
                (_, value) => (key, bare(value)),
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(all) => Value::Array(all.into_iter().map(bare).collect()),
        other => other,
    }
}

/// What the program says of itself, without its name.
fn release(scratch: &Scratch, program: &Path) -> Result<String, String> {
    let said = scratch.run(scratch.command(program).arg("--version"), "version")?.stdout;
    let number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    said.split_whitespace().find(number).map(String::from).ok_or_else(|| format!("no release in {said:?}"))
}
