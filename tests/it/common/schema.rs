//! Checks values against schemas: our own in `shared/schema/`, to the last field, and those that a vendor publishes.
//! Another program (`tests/schema`) does it, so that the tests need not link jsonschema.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex};

use serde_json::Value;

/// The schemas, by the names that `mh-run schema` has for them.
pub const SCHEMAS: [&str; 9] =
    ["event", "command", "stream", "frame", "audit", "verify", "doctor", "list", "capabilities"];

/// The program that checks values, one for all tests.
struct Judge {
    program: Child,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    /// If only some tests are asked for, `cargo test` has not built the program: cargo then builds it and becomes it.
    fn start() -> Mutex<Judge> {
        let built = Path::new(env!("CARGO_BIN_EXE_mh-run")).ancestors().nth(2).unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--locked", "--example", "schema-check", "--target-dir"]).arg(built);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = cargo.spawn().unwrap();
        let answers = BufReader::new(program.stdout.take().unwrap());
        Mutex::new(Judge { program, answers })
    }

    /// Write one line and read one line.
    fn answer(&mut self, file: &str, value: &Value) -> Result<Option<String>, String> {
        writeln!(self.program.stdin.as_mut().unwrap(), "{file} {value}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|why| panic!("{why}: {answer:?} to {file} {value}"))
    }
}

/// The part of a value that a schema does not allow. The file is named from the repository's root; a file that holds no
/// schema fails the test.
#[track_caller]
pub fn wrong(file: &str, value: &Value) -> Option<String> {
    static JUDGE: LazyLock<Mutex<Judge>> = LazyLock::new(Judge::start);
    let answer = JUDGE.lock().unwrap().answer(file, value);
    answer.unwrap_or_else(|why| panic!("{why}"))
}

fn file(name: &str) -> String {
    format!("shared/schema/{name}.json")
}

/// A schema's text.
pub fn text(name: &str) -> String {
    fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file(name))).unwrap()
}

pub fn read(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap()
}

/// Whether the schema of this name allows a value, to the last field.
#[track_caller]
pub fn fits(name: &str, value: &Value) -> bool {
    wrong(&file(name), value).is_none()
}

/// Check a value against the schema of this name.
#[track_caller]
pub fn holds(name: &str, value: &Value) {
    let wrong = wrong(&file(name), value);
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
}

/// Check a run's line against the schema of its tag. A line without one of our tags passes.
#[track_caller]
pub fn line(line: &str) {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return };
    if value["format"] == "metaharness.event/1" {
        holds("event", &value);
    } else if value["type"].is_string() {
        holds("stream", &value);
    }
}

/// The parts of a schema that were seen: each field both present and, where allowed, absent; each type, each word of a
/// list, each alternative.
pub struct Seen {
    name: &'static str,
    schema: Value,
    seen: BTreeSet<String>,
}

impl Seen {
    pub fn of(name: &'static str) -> Seen {
        Seen { name, schema: read(name), seen: BTreeSet::new() }
    }

    /// Check a value against the schema, and note its parts.
    #[track_caller]
    pub fn look(&mut self, value: &Value) {
        holds(self.name, value);
        note(&self.schema, &self.schema, "#", value, &mut self.seen);
    }

    /// Check that every field, type and word of the schema was seen.
    #[track_caller]
    pub fn is_all(&self) {
        self.is_all_but(&[]);
    }

    /// The same but for what only earlier releases wrote: their lines stay readable.
    #[track_caller]
    pub fn is_all_but(&self, earlier: &[&str]) {
        let (mut all, mut been) = (BTreeSet::new(), BTreeSet::new());
        list(&self.schema, &self.schema, "#", &mut all, &mut been);
        let missing: Vec<&String> = all.difference(&self.seen).filter(|one| !earlier.contains(&one.as_str())).collect();
        assert!(missing.is_empty(), "shared/schema/{}.json has what nothing here produces: {missing:#?}", self.name);
    }
}

fn alternatives(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The schema behind a `$ref`, and its place.
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

/// Whether a value belongs to this alternative, by its type and by the words that tell alternatives apart.
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

/// Everything that [`note`] can note.
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
