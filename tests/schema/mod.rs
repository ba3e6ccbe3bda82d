//! The schemas in `shared/schema/`, held strictly: in the files an object may have fields that a
//! reader does not know, since fields are only ever added; here it may not, so that a field that is
//! added without its entry fails.
#![allow(dead_code, clippy::panic, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};

/// The schemas, by the names that `mh-run schema` has for them.
pub const SCHEMAS: [(&str, &str); 8] = [
    ("event", include_str!("../../shared/schema/event.json")),
    ("command", include_str!("../../shared/schema/command.json")),
    ("stream", include_str!("../../shared/schema/stream.json")),
    ("frame", include_str!("../../shared/schema/frame.json")),
    ("audit", include_str!("../../shared/schema/audit.json")),
    ("verify", include_str!("../../shared/schema/verify.json")),
    ("doctor", include_str!("../../shared/schema/doctor.json")),
    ("capabilities", include_str!("../../shared/schema/capabilities.json")),
];

struct Held {
    schema: Value,
    strict: Validator,
}

fn held(name: &str) -> &'static Held {
    static ALL: OnceLock<BTreeMap<&str, Held>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let read = |(name, text)| {
            let schema: Value = serde_json::from_str(text).unwrap();
            let strict = jsonschema::validator_for(&strict(&schema)).unwrap();
            (name, Held { schema, strict })
        };
        SCHEMAS.into_iter().map(read).collect()
    });
    &all[name]
}

/// A schema as it is printed.
pub fn read(name: &str) -> &'static Value {
    &held(name).schema
}

/// The same, with every object closed to fields that it does not name.
fn strict(schema: &Value) -> Value {
    let mut strict = schema.clone();
    // where the root has fields besides its alternatives, they are closed together
    let open = if schema.get("properties").is_some() { schema.get("oneOf") } else { None };
    let open: Vec<&str> = open.into_iter().flat_map(alternatives).filter_map(|one| one["$ref"].as_str()).collect();
    let open: Vec<&str> = open.iter().filter_map(|at| at.strip_prefix("#/$defs/")).collect();
    close(&mut strict, if open.is_empty() { "additionalProperties" } else { "unevaluatedProperties" });
    for (name, shape) in strict.get_mut("$defs").and_then(Value::as_object_mut).into_iter().flatten() {
        let left = shape.as_object_mut().unwrap();
        if open.contains(&name.as_str()) {
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

/// Whether a value is what the schema of this name says, to the last field.
pub fn fits(name: &str, value: &Value) -> bool {
    held(name).strict.is_valid(value)
}

/// What of a value is not as the schema of this name says.
pub fn wrong(name: &str, value: &Value) -> Option<String> {
    let errors: Vec<String> = held(name)
        .strict
        .iter_errors(value)
        .map(|error| {
            format!("{}: {}", error.instance_path(), error.to_string().chars().take(2_000).collect::<String>())
        })
        .collect();
    let told = || format!("shared/schema/{name}.json does not have this: {value}\n{}", errors.join("\n"));
    (!errors.is_empty()).then(told)
}

/// Hold a value to the schema of this name.
#[track_caller]
pub fn holds(name: &str, value: &Value) {
    assert!(fits(name, value), "{}", wrong(name, value).unwrap_or_default());
}

/// What of a line of a run is not as the schema says that it belongs to, by its tag; what is no such
/// line is in order.
pub fn wrong_line(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    match value["format"] == "metaharness.event/1" {
        true => wrong("event", &value),
        false => value["type"].is_string().then(|| wrong("stream", &value)).flatten(),
    }
}

/// Hold a line of a run to its schema.
#[track_caller]
pub fn line(line: &str) {
    let wrong = wrong_line(line);
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
}

/// What was seen of one schema: each field there and, where it may be, left out; each type, each
/// word of a list, each alternative.
pub struct Seen {
    name: &'static str,
    seen: BTreeSet<String>,
}

impl Seen {
    pub fn of(name: &'static str) -> Seen {
        Seen { name, seen: BTreeSet::new() }
    }

    /// Hold a value to the schema, and note what of it there is.
    #[track_caller]
    pub fn look(&mut self, value: &Value) {
        holds(self.name, value);
        let schema = &held(self.name).schema;
        note(schema, schema, "#", value, &mut self.seen);
    }

    /// Every field, type and word of the schema was seen.
    #[track_caller]
    pub fn is_all(&self) {
        let schema = &held(self.name).schema;
        let (mut all, mut been) = (BTreeSet::new(), BTreeSet::new());
        list(schema, schema, "#", &mut all, &mut been);
        let missing: Vec<&String> = all.difference(&self.seen).collect();
        assert!(missing.is_empty(), "shared/schema/{}.json has what nothing here produces: {missing:#?}", self.name);
    }
}

/// What a schema refers to, and where it is.
fn referred<'a>(root: &'a Value, schema: &'a Value, at: &str) -> (&'a Value, String) {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(to) => (root.pointer(&to[1..]).unwrap_or_else(|| panic!("there is no {to}")), to.into()),
        None => (schema, at.into()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is(wanted: &Value, value: &Value) -> bool {
    wanted == kind(value) || (wanted == "number" && value.is_number())
}

fn types(schema: &Value) -> Vec<&Value> {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    }
}

/// Whether a value belongs to this alternative: by its type, and by the words it is told apart by.
fn belongs(root: &Value, schema: &Value, value: &Value) -> bool {
    let (schema, _) = referred(root, schema, "");
    let typed = types(schema).is_empty() || types(schema).iter().any(|wanted| is(wanted, value));
    let words = |field: &Value, value: &Value| {
        field.get("const").is_none_or(|only| only == value)
            && field.get("enum").is_none_or(|any| alternatives(any).any(|one| one == value))
    };
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut needed = schema.get("required").into_iter().flat_map(alternatives).filter_map(Value::as_str);
    typed
        && needed.all(|name| value.get(name).is_some())
        && fields.into_iter().all(|(name, field)| value.get(name).is_none_or(|value| words(field, value)))
}

fn note(root: &Value, schema: &Value, at: &str, value: &Value, seen: &mut BTreeSet<String>) {
    let (schema, at) = referred(root, schema, at);
    for wanted in types(schema).iter().filter(|wanted| is(wanted, value)) {
        seen.insert(format!("{at} is {wanted}"));
    }
    if schema.get("enum").is_some() {
        seen.insert(format!("{at} is {value}"));
    }
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let at = format!("{at}/properties/{name}");
        match value.get(name) {
            Some(value) => note(root, field, &at, value, seen),
            None => _ = seen.insert(format!("{at} is left out")),
        }
        if value.get(name).is_some() {
            seen.insert(at);
        }
    }
    for item in schema.get("items").iter().flat_map(|_| alternatives(value)) {
        note(root, &schema["items"], &format!("{at}/items"), item, seen);
    }
    if let (Some(more @ Value::Object(_)), Some(members)) = (schema.get("additionalProperties"), value.as_object()) {
        members.values().for_each(|member| note(root, more, &format!("{at}/additionalProperties"), member, seen));
    }
    for (number, one) in schema.get("oneOf").into_iter().flat_map(alternatives).enumerate() {
        if belongs(root, one, value) {
            seen.insert(format!("{at}/oneOf/{number}"));
            note(root, one, &format!("{at}/oneOf/{number}"), value, seen);
        }
    }
}

/// All that [`note`] can note.
fn list(root: &Value, schema: &Value, at: &str, all: &mut BTreeSet<String>, been: &mut BTreeSet<String>) {
    let (schema, at) = referred(root, schema, at);
    if !been.insert(at.clone()) {
        return;
    }
    all.extend(types(schema).iter().map(|wanted| format!("{at} is {wanted}")));
    all.extend(schema.get("enum").into_iter().flat_map(alternatives).map(|word| format!("{at} is {word}")));
    let needed: Vec<&str> =
        schema.get("required").into_iter().flat_map(alternatives).filter_map(Value::as_str).collect();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let at = format!("{at}/properties/{name}");
        list(root, field, &at, all, been);
        if !needed.contains(&name.as_str()) {
            all.insert(format!("{at} is left out"));
        }
        all.insert(at);
    }
    if let Some(items) = schema.get("items") {
        list(root, items, &format!("{at}/items"), all, been);
    }
    if let Some(more @ Value::Object(_)) = schema.get("additionalProperties") {
        list(root, more, &format!("{at}/additionalProperties"), all, been);
    }
    for (number, one) in schema.get("oneOf").into_iter().flat_map(alternatives).enumerate() {
        let at = format!("{at}/oneOf/{number}");
        list(root, one, &at, all, been);
        all.insert(at);
    }
}
