//! Values held to schemas, for the tests. `jsonschema` and what comes with it are built here alone: the tests of the
//! programs ask over lines (`serve`), and are linked without it.
//!
//! The schemas in `shared/schema/` are held strictly: in the files an object may have fields that a reader does not know,
//! since fields are only ever added; here it may not, so that a field that is added without its entry fails.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Our own schemas.
const OURS: &str = "shared/schema/";

/// The validator of a schema, or why it is no schema.
type Held = Result<Arc<Validator>, String>;

/// The schema in this file, named from the root of the repository. Read once.
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

/// A schema with every object closed to fields that it does not name.
fn strict(schema: &Value) -> Value {
    let mut strict = schema.clone();
    // where the root has fields besides its alternatives, they are closed together
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

/// What of a value is not as the schema in this file says; an error where the file holds no schema.
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

/// What of a line of a run is not as the schema says that it belongs to, by its tag; what is no such
/// line is in order.
pub fn wrong_line(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    let name = match value["format"] == "metaharness.event/1" {
        true => "event",
        false if value["type"].is_string() => "stream",
        false => return None,
    };
    wrong(&format!("{OURS}{name}.json"), &value).unwrap_or_else(Some)
}

/// Answer each line on standard input by one. A line is the file of a schema, a blank, and a value; the answer what
/// [`wrong`] comes to, as JSON.
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
