//! Checks values against schemas for the tests. Only this package links `jsonschema` and its dependencies; the tests of
//! the programs ask it over lines ([`serve`]).
//!
//! The schemas in `shared/schema/` are read strictly here. As files they let an object have fields that a reader does
//! not know, since fields may be added later; here every field needs its entry in the schema.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

const OURS: &str = "shared/schema/";

/// The validator of a schema, or the reason why the file holds none.
type Held = Result<Arc<Validator>, String>;

/// The schema in a file, named from the repository's root. Each file is read once.
fn held(file: &str) -> Held {
    static ALL: Mutex<BTreeMap<String, Held>> = Mutex::new(BTreeMap::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(file.into()).or_insert_with(|| read(file).map_err(|why| format!("{file}: {why}"))).clone()
}

fn read(file: &str) -> Held {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let text = fs_err::read(root.join(file)).map_err(|why| why.to_string())?;
    let schema: Value = serde_json::from_slice(&text).map_err(|why| why.to_string())?;
    jsonschema::meta::validate(&schema).map_err(|why| why.to_string())?;
    let held = if file.starts_with(OURS) { strict(&schema) } else { schema };
    jsonschema::validator_for(&held).map(Arc::new).map_err(|why| why.to_string())
}

/// The schema, with every object closed to fields that it does not name.
fn strict(schema: &Value) -> Value {
    let mut strict = schema.clone();
    // a root with fields and alternatives is closed as a whole
    let open = if schema.get("properties").is_some() { schema.get("oneOf") } else { None };
    let open: Vec<&str> = open.into_iter().flat_map(alternatives).filter_map(|one| one["$ref"].as_str()).collect();
    let open: Vec<&str> = open.iter().filter_map(|at| at.strip_prefix("#/$defs/")).collect();
    close(&mut strict, if open.is_empty() { "additionalProperties" } else { "unevaluatedProperties" });
    for (name, shape) in strict.get_mut("$defs").and_then(Value::as_object_mut).into_iter().flatten() {
        let left = shape.as_object_mut();
        if let Some(left) = left.filter(|_| open.contains(&name.as_str())) {
            left.remove("additionalProperties");
        }
    }
    strict
}

fn alternatives(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn close(schema: &mut Value, by: &str) {
    match schema {
        Value::Object(members) => {
            if members.get("properties").is_some_and(Value::is_object) && !members.contains_key("additionalProperties")
            {
                members.insert(by.into(), json!(false));
            }
            members.values_mut().for_each(|member| close(member, "additionalProperties"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, "additionalProperties")),
        _ => {}
    }
}

/// The part of a value that the schema in this file does not allow, if there is one. The error says why the file holds
/// no schema.
pub fn wrong(file: &str, value: &Value) -> Result<Option<String>, String> {
    let validator = held(file)?;
    if validator.is_valid(value) {
        return Ok(None);
    }
    let short = |text: String| text.chars().take(2_000).collect::<String>();
    let errors = validator.iter_errors(value);
    let errors: Vec<String> =
        errors.map(|error| format!("{}: {}", error.instance_path(), short(error.to_string()))).collect();
    Ok(Some(format!("{file} does not have this: {value}\n{}", errors.join("\n"))))
}

/// The part of a run's line that the schema of its tag does not allow. A line without one of our tags has nothing
/// wrong.
pub fn wrong_line(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    let name = match value["format"] == "metaharness.event/1" {
        true => "event",
        false if value["type"].is_string() => "stream",
        false => return None,
    };
    wrong(&format!("{OURS}{name}.json"), &value).unwrap_or_else(Some)
}

/// Answer each line on stdin by one line. A question is a schema's file, a blank and a value; the answer is the result
/// of [`wrong`] as JSON.
pub fn serve() -> io::Result<()> {
    let mut answers = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (file, value) = line.split_once(' ').unwrap_or((&line, ""));
        let value = serde_json::from_str(value).map_err(|why| why.to_string());
        let answer = value.and_then(|value| wrong(file, &value));
        writeln!(answers, "{}", serde_json::to_string(&answer)?)?;
    }
    Ok(())
}
