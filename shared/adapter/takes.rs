//! What a tool takes for an input: the schema that the vendor sends its model, as far as an input that replaces a call's
//! own is held to it. A vendor drops such an input where it does not fit, and what was decided does not run.
//!
//! Each vendor's tables are held to what was recorded of it, in `fixtures/tools`.

use std::fmt;

use crate::decide::clipped;
use crate::frame::shown;
use crate::json::{Fault, Kind, Reader};

/// A tool that was seen to run with a replaced input, and what it takes.
#[derive(Debug)]
pub struct Takes {
    /// The tool, by the name in the hook's payload.
    pub tool: &'static str,
    /// Its members. Any other is dropped by the vendor or refused: either way what was decided would not run.
    pub members: &'static [Member],
    /// Members of which it takes exactly one; none, and there is no such rule.
    pub one_of: &'static [&'static str],
    /// Whether `null` stands for a member that is left out.
    pub null_is_absent: bool,
}

/// A member of an input, or of an object in it.
#[derive(Debug)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub form: Form,
    /// Whether it has to be there.
    pub needed: bool,
}

/// What a value may be.
#[derive(Debug)]
pub enum Form {
    /// A string.
    Text,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// A string for which this holds; what it is, in words.
    Said(fn(&str) -> bool, &'static str),
    /// A boolean.
    Flag,
    /// A number.
    Number,
    /// A number within these bounds.
    Between(i64, i64),
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// An object with whatever in it.
    Map,
    /// An object of these members and no others.
    Object(&'static [Member]),
    /// A list.
    List(&'static Form),
}

impl Member {
    /// One that has to be there.
    pub const fn needed(name: &'static str, form: Form) -> Member {
        Member { name, form, needed: true }
    }

    /// One that may be left out.
    pub const fn optional(name: &'static str, form: Form) -> Member {
        Member { name, form, needed: false }
    }
}

impl Takes {
    /// A tool of these members.
    pub const fn new(tool: &'static str, members: &'static [Member]) -> Takes {
        Takes { tool, members, one_of: &[], null_is_absent: false }
    }

    /// Of these members it takes exactly one.
    pub const fn one_of(self, one_of: &'static [&'static str]) -> Takes {
        Takes { one_of, ..self }
    }

    /// `null` stands for a member that is left out.
    pub const fn null_is_absent(self) -> Takes {
        Takes { null_is_absent: true, ..self }
    }

    /// Why this input does not fit, if it does not, to follow the tool's name. It is one JSON object.
    pub fn misfit(&self, input: &str) -> Option<String> {
        let mut fitting = Fitting { reader: Reader::new(input.as_bytes()).ok()?, takes: self, found: 0, why: None };
        // what does not read was refused before
        fitting.members(self.members, &Place::TOP).ok()?;
        if fitting.why.is_none() && !self.one_of.is_empty() && fitting.found != 1 {
            return Some(format!("takes exactly one of {} in the replaced input", self.one_of.join(", ")));
        }
        fitting.why
    }
}

/// Where in an input a value stands.
struct Place<'a> {
    up: Option<&'a Place<'a>>,
    name: &'a str,
    index: usize,
}

impl Place<'_> {
    const TOP: Place<'static> = Place { up: None, name: "", index: 0 };
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(up) = self.up else { return Ok(()) };
        up.fmt(f)?;
        match (self.name, up.up) {
            ("", _) => write!(f, "[{}]", self.index),
            (name, Some(_)) => write!(f, ".{}", clipped(&shown(name), 60)),
            (name, None) => f.write_str(&clipped(&shown(name), 60)),
        }
    }
}

/// An input that is being held to what its tool takes. The first thing that is wrong counts, and reading goes on.
struct Fitting<'a> {
    reader: Reader<'a>,
    takes: &'a Takes,
    /// How many there are of those of which the tool takes one.
    found: usize,
    why: Option<String>,
}

impl Fitting<'_> {
    fn members(&mut self, members: &'static [Member], place: &Place<'_>) -> Result<(), Fault> {
        let mut there = 0_u32;
        self.reader.enter_object()?;
        while let Some(key) = self.reader.next_key()? {
            let at = Place { up: Some(place), name: &key.name, index: 0 };
            let Some(index) = members.iter().position(|member| member.name == key.name) else {
                self.no_member(members, &at);
                self.reader.skip()?;
                continue;
            };
            if self.takes.null_is_absent && !members[index].needed && self.reader.kind()? == Kind::Null {
                self.reader.skip()?;
                continue;
            }
            there |= 1 << index;
            self.found += usize::from(place.up.is_none() && self.takes.one_of.contains(&members[index].name));
            self.value(&members[index].form, &at)?;
        }
        let missing = members.iter().enumerate().find(|(index, member)| member.needed && there & 1 << index == 0);
        if let Some((_, member)) = missing {
            let at = Place { up: Some(place), name: member.name, index: 0 };
            self.wrong(|| format!("has no `{at}` in the replaced input, where {} has to be", member.form));
        }
        Ok(())
    }

    fn value(&mut self, form: &'static Form, place: &Place<'_>) -> Result<(), Fault> {
        let kind = self.reader.kind()?;
        let from = self.reader.offset();
        match (form, kind) {
            (Form::Object(members), Kind::Object) => return self.members(members, place),
            (Form::List(of), Kind::Array) => {
                self.reader.enter_array()?;
                let mut index = 0;
                while self.reader.next_item()? {
                    self.value(of, &Place { up: Some(place), name: "", index })?;
                    index += 1;
                }
                return Ok(());
            }
            _ => self.reader.skip()?,
        }
        let raw = self.reader.slice(from, self.reader.position());
        let text = || Reader::new(raw.as_bytes()).and_then(|mut reader| reader.string()).unwrap_or_default();
        let fits = match (form, kind) {
            (Form::Text, Kind::String) | (Form::Flag, Kind::Bool) | (Form::Number, Kind::Number) => true,
            (Form::Map, Kind::Object) => true,
            (Form::Word(words), Kind::String) => words.contains(&&*text()),
            (Form::Said(holds, _), Kind::String) => holds(&text()),
            (Form::Between(least, most), Kind::Number) => within(raw, *least, *most, false),
            (Form::Whole(least, most), Kind::Number) => within(raw, *least, *most, true),
            _ => false,
        };
        if !fits {
            let found = match kind {
                // a value of the right kind is named, else its kind says enough
                Kind::String if matches!(form, Form::Word(_) | Form::Said(..)) => clipped(&shown(raw), 60),
                Kind::Number if matches!(form, Form::Between(..) | Form::Whole(..)) => clipped(raw, 60),
                kind => kind.noun().into(),
            };
            self.wrong(|| format!("has {found} as `{place}` in the replaced input, where {form} has to be"));
        }
        Ok(())
    }

    fn no_member(&mut self, members: &[Member], place: &Place<'_>) {
        self.wrong(|| {
            let names: Vec<&str> = members.iter().map(|member| member.name).collect();
            let names = if names.is_empty() { "nothing".into() } else { names.join(", ") };
            format!("has `{place}` in the replaced input, which is not taken there: what is taken is {names}")
        });
    }

    fn wrong(&mut self, why: impl FnOnce() -> String) {
        if self.why.is_none() {
            self.why = Some(why());
        }
    }
}

/// Whether a number is within these bounds, and whole where that is asked; of one that is not, the least is above 0. One
/// with an exponent counts as none: nobody writes these so, and to read it takes more code than all the rest here.
fn within(number: &str, least: i64, most: i64, whole: bool) -> bool {
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let Ok(value) = integer.parse::<i64>() else { return false };
    match fraction.bytes().all(|digit| digit == b'0') {
        true => (least..=most).contains(&value),
        false => !whole && fraction.bytes().all(|digit| digit.is_ascii_digit()) && (least..most).contains(&value),
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Text => f.write_str("a string"),
            Form::Word(words) => write!(f, "one of {}", words.join(", ")),
            Form::Said(_, what) => f.write_str(what),
            Form::Flag => f.write_str("a boolean"),
            Form::Number => f.write_str("a number"),
            Form::Between(least, most) => write!(f, "a number from {least} to {most}"),
            Form::Whole(least, i64::MAX) => write!(f, "a whole number from {least} on"),
            Form::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Form::Map | Form::Object(_) => f.write_str("an object"),
            Form::List(_) => f.write_str("a list"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::adapter::PREVIEWS;

    /// Where the tables say more than the schemas: what else was seen to be refused, and patterns, put in words.
    const MORE: [&str; 4] = ["Grep.head_limit", "Monitor.ws.protocols", "Monitor.ws.url", "Skill.skill"];

    /// Tools that a vendor's model knows by another name, or by another input than its hooks do.
    const RENAMED: [(&str, Option<&str>); 3] =
        [("spawn_agent", Some("multi_agent_v1spawn_agent")), ("codex Bash", None), ("apply_patch", None)];

    fn record(vendor: &str) -> Value {
        let path = format!("{}/fixtures/tools/{vendor}.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&fs_err::read_to_string(path).unwrap()).unwrap()
    }

    /// The members of an object, each by its path, in words.
    fn by_table(members: &[Member], above: &str, all: &mut BTreeMap<String, String>) {
        for Member { name, form, needed } in members {
            let path = format!("{above}.{name}");
            let (form, list) = if let Form::List(of) = form { (*of, "list of ") } else { (form, "") };
            let said = match form {
                Form::Object(members) => {
                    by_table(members, &path, all);
                    "object".into()
                }
                Form::Map => "map".into(),
                form => form.to_string(),
            };
            all.insert(path, format!("{list}{said}, needed: {needed}"));
        }
    }

    fn by_record(schema: &Value, above: &str, all: &mut BTreeMap<String, String>) {
        assert_eq!(schema["additionalProperties"], false, "{above} is open");
        let needed = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        for (name, of) in schema["properties"].as_object().unwrap() {
            let path = format!("{above}.{name}");
            // where there is a default, the vendor takes an input without the member (measured)
            let needed = needed(name) && of.get("default").is_none();
            let (of, list) = if of["type"] == "array" { (&of["items"], "list of ") } else { (of, "") };
            let bound = |inclusive: &str, exclusive: &str| {
                of[inclusive].as_i64().or_else(|| of[exclusive].as_i64().map(|bound| bound + 1))
            };
            let bounds = bound("minimum", "exclusiveMinimum").zip(of["maximum"].as_i64());
            let words =
                of["enum"].as_array().map(|all| all.iter().map(|one| one.as_str().unwrap()).collect::<Vec<_>>());
            let said = match (of["type"].as_str().unwrap(), words, bounds) {
                ("object", ..) if of.get("properties").is_none() => "map".into(),
                ("object", ..) => {
                    by_record(of, &path, all);
                    "object".into()
                }
                ("string", Some(words), _) => format!("one of {}", words.join(", ")),
                ("string", ..) if of.get("pattern").is_some() => "a pattern".into(),
                ("string", ..) => "a string".into(),
                ("boolean", ..) => "a boolean".into(),
                ("number", _, Some((least, most))) => format!("a number from {least} to {most}"),
                ("number", ..) => "a number".into(),
                ("integer", _, Some((least, most))) => format!("a whole number from {least} to {most}"),
                other => panic!("{path}: {other:?}"),
            };
            all.insert(path, format!("{list}{said}, needed: {needed}"));
        }
    }

    #[test]
    fn what_a_tool_takes_is_what_the_vendor_tells_its_model() {
        let mut more = Vec::new();
        for facts in PREVIEWS.iter().map(|vendor| vendor.facts()) {
            let record = record(facts.word);
            assert_eq!(record["release"], facts.table.release, "{}", facts.product);
            for takes in facts.replaced {
                let named = |(name, _): &&(&str, Option<&str>)| {
                    *name == takes.tool || *name == format!("{} {}", facts.word, takes.tool)
                };
                let name = RENAMED.iter().find(named).map_or(Some(takes.tool), |(_, name)| *name);
                let Some(name) = name else { continue };
                let schema = record["tools"].get(name).unwrap_or_else(|| panic!("{name} is not recorded"));
                let (mut ours, mut theirs) = (BTreeMap::new(), BTreeMap::new());
                by_table(takes.members, takes.tool, &mut ours);
                by_record(schema, takes.tool, &mut theirs);
                assert!(ours.keys().eq(theirs.keys()), "{}: {ours:?}, recorded {theirs:?}", takes.tool);
                let differ = ours.iter().filter(|(path, said)| theirs.get(*path) != Some(said));
                more.extend(differ.map(|(path, said)| (path.clone(), said.clone(), theirs[path].clone())));
                assert!(takes.members.len() <= 32, "{}: the members that are there are kept in 32 bits", takes.tool);
            }
        }
        let paths: Vec<&str> = more.iter().map(|(path, ..)| path.as_str()).collect();
        assert_eq!(paths, MORE, "{more:#?}");
    }

    /// A decider that changes one member gives back the others as they came.
    #[test]
    fn every_recorded_call_is_taken_as_it_came() {
        let mut seen = 0;
        for facts in PREVIEWS.iter().map(|vendor| vendor.facts()) {
            let folder = format!("{}/fixtures/payloads/{}", env!("CARGO_MANIFEST_DIR"), facts.word);
            for file in fs_err::read_dir(folder).unwrap() {
                let path = file.unwrap().path();
                let payload: Value = serde_json::from_str(&fs_err::read_to_string(&path).unwrap()).unwrap();
                let takes = facts.replaced.iter().find(|takes| payload["tool_name"] == takes.tool);
                if let Some(takes) = takes.filter(|_| payload["hook_event_name"] == facts.gate) {
                    assert_eq!(takes.misfit(&payload["tool_input"].to_string()), None, "{}", path.display());
                    seen += 1;
                }
            }
        }
        assert!(seen >= 20, "{seen}");
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_has_to_be_there() {
        const PART: &[Member] = &[Member::needed("w", Form::Word(&["a", "b"])), Member::optional("n", Form::Number)];
        static TOOL: Takes = Takes::new(
            "T",
            &[
                Member::needed("text", Form::Text),
                Member::optional("flag", Form::Flag),
                Member::optional("from", Form::Between(10, 20)),
                Member::optional("whole", Form::Whole(0, 9)),
                Member::optional("map", Form::Map),
                Member::optional("all", Form::List(&Form::Object(PART))),
                Member::optional("said", Form::Said(|text| text.starts_with('x'), "an x")),
            ],
        );
        static ONE: Takes = Takes::new("T", &[Member::optional("a", Form::Text), Member::optional("b", Form::Text)])
            .one_of(&["a", "b"])
            .null_is_absent();
        for fits in [
            r#"{"text":""}"#,
            r#"{"te\u0078t":"a","flag":false,"from":10,"whole":9.0,"map":{"x":[1]},"all":[],"said":"x"}"#,
            r#"{"text":"","from":19.5,"whole":0,"all":[{"w":"a"},{"n":-1e9,"w":"b"}]}"#,
        ] {
            assert_eq!(TOOL.misfit(fits), None, "{fits}");
        }
        for (input, wanted) in [
            ("{}", "has no `text` in the replaced input, where a string has to be"),
            (r#"{"text":5}"#, "has a number as `text` in the replaced input, where a string has to be"),
            (r#"{"text":null}"#, "has null as `text` in the replaced input, where a string has to be"),
            (r#"{"text":"","flag":"no"}"#, "has a string as `flag` in the replaced input, where a boolean has to be"),
            (
                r#"{"text":"","from":9}"#,
                "has 9 as `from` in the replaced input, where a number from 10 to 20 has to be",
            ),
            (r#"{"text":"","from":20.01}"#, "has 20.01 as `from`"),
            (r#"{"text":"","from":1.5e1}"#, "has 1.5e1 as `from`"),
            (
                r#"{"text":"","whole":-1}"#,
                "has -1 as `whole` in the replaced input, where a whole number from 0 to 9 has to be",
            ),
            (r#"{"text":"","whole":1.5}"#, "has 1.5 as `whole`"),
            (r#"{"text":"","whole":99999999999999999999}"#, "has 99999999999999999999 as `whole`"),
            (r#"{"text":"","map":[]}"#, "has an array as `map` in the replaced input, where an object has to be"),
            (r#"{"text":"","all":{}}"#, "has an object as `all` in the replaced input, where a list has to be"),
            (
                r#"{"text":"","all":[{"w":"a"},{"n":1}]}"#,
                "has no `all[1].w` in the replaced input, where one of a, b has to be",
            ),
            (
                r#"{"text":"","all":[{"w":"c\n"}]}"#,
                r#"has "c\n" as `all[0].w` in the replaced input, where one of a, b has to be"#,
            ),
            (
                r#"{"text":"","all":[{"w":"a","x":1}]}"#,
                "has `all[0].x` in the replaced input, which is not taken there: what is taken is w, n",
            ),
            (r#"{"text":"","said":"y"}"#, r#"has "y" as `said` in the replaced input, where an x has to be"#),
            (
                r#"{"é":1,"text":""}"#,
                r"has `\u{e9}` in the replaced input, which is not taken there: what is taken is text,",
            ),
        ] {
            let why = TOOL.misfit(input).unwrap_or_default();
            assert!(why.starts_with(wanted), "{input}: {why}");
        }
        for (input, fits) in
            [(r#"{"a":""}"#, true), (r#"{"a":null,"b":""}"#, true), ("{}", false), (r#"{"a":"","b":""}"#, false)]
        {
            let why = ONE.misfit(input);
            assert_eq!(why.is_none(), fits, "{input}: {why:?}");
        }
        let long = format!("{{\"{}\":1}}", "k".repeat(5_000));
        assert!(TOOL.misfit(&long).unwrap().len() < 300);
    }
}
