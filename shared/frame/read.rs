//! Reading a [`Frame`]: the shape rules.
//!
//! The order of refusals is a contract across implementations: JSON, then the tag, then the shape. So reading goes on
//! after a fault of shape, since a fault of syntax or of the tag may follow and comes first. An author gets every
//! fault, a hook the first.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use super::place::MemberPlace;
use super::{Entities, Frame, Handoff, Node, Obligation, Operation, Prior, ScopeRule, Step, Workflow};
use crate::json::{Fault, Key, Kind, Reader};

/// A document that is one JSON object.
#[derive(Debug)]
pub struct Document {
    /// The content of `format`.
    pub tag: Tag,
    /// The offset of `format`, or of the document where it is missing.
    pub tag_at: usize,
    /// The value, or the first fault of its shape.
    pub frame: Result<Frame, Misshapen>,
    /// Further faults of shape, as many as the caller asked for.
    pub more: Vec<Misshapen>,
    /// The number of faults beyond that.
    pub untold: usize,
    /// The content of `digest`; `None` where the key is missing.
    pub digest: Option<String>,
}

/// The content of `format`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    /// The key is missing.
    Absent,
    Text(String),
    /// A value that is no string.
    Other(Kind),
}

/// A fault of shape, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misshapen {
    /// Offset of the value or key.
    pub at: usize,
    /// The fault, with its key.
    pub what: String,
    /// The key that is missing in the object at that offset.
    pub missing: Option<&'static str>,
}

impl fmt::Display for Misshapen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.what)
    }
}

impl std::error::Error for Misshapen {}

/// The keys that may be left out, for messages about a missing key.
pub const OPTIONAL: &str = "may be left out: subjects and entities; asked_by, source and kind where they stand; format \
                            and digest before it is sealed";

/// Read one document.
///
/// # Errors
/// The bytes are no JSON document, or the document is no object. Other faults are in the [`Document`].
pub fn read(bytes: &[u8]) -> Result<Document, Fault> {
    read_telling(bytes, 1)
}

/// Read one document, and collect up to `most` faults of its shape.
///
/// # Errors
/// As for [`read`].
pub fn read_telling(bytes: &[u8], most: usize) -> Result<Document, Fault> {
    let mut form =
        FrameReader { reader: Reader::new(bytes)?, wrong: Vec::new(), most, untold: 0, tag_at: 0, fault: None };
    let kind = form.reader.kind()?;
    if kind != Kind::Object {
        let at = form.reader.offset();
        form.reader.skip()?;
        form.reader.end()?;
        return Err(Fault::new(at, format!("a frame is an object, and this is {}", kind.noun())));
    }
    let (tag, frame, digest) = form.document();
    form.take(Reader::end);
    if let Some(fault) = form.fault {
        return Err(fault);
    }
    if let Some(twice) = form.reader.duplicate() {
        // nothing tells which of the two is meant, so no further fault can be told either
        let what = format!("the key `{}` stands twice in one object", twice.key.escape_debug());
        (form.wrong, form.untold) = (vec![Misshapen { at: twice.at, what, missing: None }], 0);
    }
    let mut wrong = form.wrong.into_iter();
    let frame = wrong.next().map_or(Ok(frame), Err);
    Ok(Document { tag, tag_at: form.tag_at, frame, more: wrong.collect(), untold: form.untold, digest })
}

struct FrameReader<'a> {
    reader: Reader<'a>,
    /// The first faults of shape.
    wrong: Vec<Misshapen>,
    /// The number of faults to keep, and the number that was not kept.
    most: usize,
    untold: usize,
    tag_at: usize,
    /// The fault of syntax that ended the reading. After it nothing is read: every loop ends, every value is its
    /// default, and the result is dropped.
    fault: Option<Fault>,
}

impl<'a> FrameReader<'a> {
    /// The reader's value, or the default after a fault of syntax.
    fn take<T: Default>(&mut self, read: impl FnOnce(&mut Reader<'a>) -> Result<T, Fault>) -> T {
        if self.fault.is_some() {
            return T::default();
        }
        read(&mut self.reader).unwrap_or_else(|fault| {
            self.fault = Some(fault);
            T::default()
        })
    }

    fn key(&mut self) -> Option<Key<'a>> {
        self.take(Reader::next_key)
    }

    fn kind(&mut self) -> Option<Kind> {
        self.take(|reader| reader.kind().map(Some))
    }

    fn string(&mut self) -> String {
        self.take(|reader| reader.string().map(Cow::into_owned))
    }

    fn skip(&mut self) {
        self.take(Reader::skip);
    }

    fn document(&mut self) -> (Tag, Frame, Option<String>) {
        let at = self.reader.offset();
        let (mut tag, mut digest) = (Tag::Absent, None);
        let (mut workflow, mut node, mut step, mut prior) = (None, None, None, None);
        let (mut obligations, mut reaching, mut next, mut handoff) = (None, None, None, None);
        let (mut operations, mut scope, mut entities) = (None, None, None);
        self.take(Reader::enter_object);
        while let Some(key) = self.key() {
            match &*key.name {
                "format" => tag = self.tag(),
                "digest" => digest = Some(self.text("digest".into())),
                "workflow" => workflow = Some(self.workflow()),
                "node" => node = Some(self.node("node".into())),
                "step" => step = Some(self.step()),
                "prior" => prior = Some(self.list("prior".into(), Self::prior)),
                "obligations" => obligations = Some(self.list("obligations".into(), Self::obligation)),
                "reaching" => reaching = Some(self.list("reaching".into(), Self::obligation)),
                "next" => next = Some(self.list("next".into(), Self::node)),
                "handoff" => handoff = Some(self.handoff()),
                "operations" => operations = Some(self.operations("operations".into())),
                "subjects" => scope = Some(self.scope()),
                "entities" => entities = self.entities(),
                _ => self.unknown(&key, "the frame"),
            }
        }
        let frame = Frame {
            workflow: self.needed(workflow, "workflow", at),
            node: self.needed(node, "node", at),
            step: self.needed(step, "step", at),
            prior: self.needed(prior, "prior", at),
            obligations: self.needed(obligations, "obligations", at),
            reaching: self.needed(reaching, "reaching", at),
            next: self.needed(next, "next", at),
            handoff: self.needed(handoff, "handoff", at),
            operations: self.needed(operations, "operations", at),
            scope: scope.unwrap_or_default(),
            entities,
        };
        (tag, frame, digest)
    }

    fn tag(&mut self) -> Tag {
        self.tag_at = self.reader.offset();
        match self.kind() {
            Some(Kind::String) => Tag::Text(self.string()),
            Some(kind) => {
                self.skip();
                Tag::Other(kind)
            }
            None => Tag::Absent,
        }
    }

    fn workflow(&mut self) -> Workflow {
        let at = self.reader.offset();
        let (mut id, mut version) = (None, None);
        if !self.enter_object("workflow".into()) {
            return Workflow::default();
        }
        while let Some(key) = self.key() {
            match &*key.name {
                "id" => id = Some(self.text("workflow.id".into())),
                "version" => version = Some(self.text("workflow.version".into())),
                _ => self.unknown(&key, "workflow"),
            }
        }
        Workflow { id: self.needed(id, "workflow.id", at), version: self.needed(version, "workflow.version", at) }
    }

    fn node(&mut self, place: MemberPlace) -> Node {
        let at = self.reader.offset();
        let mut id = None;
        if !self.enter_object(place) {
            return Node::default();
        }
        while let Some(key) = self.key() {
            match &*key.name {
                "id" => id = Some(self.text(place.dot(".id"))),
                _ => self.unknown(&key, place),
            }
        }
        Node { id: self.needed(id, place.dot(".id"), at) }
    }

    fn step(&mut self) -> Step {
        let at = self.reader.offset();
        let (mut workflow, mut state, mut index, mut attempt) = (None, None, None, None);
        if !self.enter_object("step".into()) {
            return Step::default();
        }
        while let Some(key) = self.key() {
            match &*key.name {
                "workflow" => workflow = Some(self.text("step.workflow".into())),
                "state" => state = Some(self.text("step.state".into())),
                "index" => index = Some(self.integer("step.index")),
                "attempt" => attempt = Some(self.integer("step.attempt")),
                _ => self.unknown(&key, "step"),
            }
        }
        Step {
            workflow: self.needed(workflow, "step.workflow", at),
            state: self.needed(state, "step.state", at),
            index: self.needed(index, "step.index", at),
            attempt: self.needed(attempt, "step.attempt", at),
        }
    }

    fn prior(&mut self, place: MemberPlace) -> Prior {
        let (text, source) = self.line(place, "source", ".source");
        Prior { text, source }
    }

    fn obligation(&mut self, place: MemberPlace) -> Obligation {
        let (text, asked_by) = self.line(place, "asked_by", ".asked_by");
        Obligation { text, asked_by }
    }

    /// A text with its source document.
    fn line(&mut self, place: MemberPlace, origin: &str, dotted: &'static str) -> (String, Option<String>) {
        let at = self.reader.offset();
        let (mut text, mut from) = (None, None);
        if !self.enter_object(place) {
            return Default::default();
        }
        while let Some(key) = self.key() {
            match &*key.name {
                "text" => text = Some(self.text(place.dot(".text"))),
                name if name == origin => from = self.nullable(place.dot(dotted)),
                _ => self.unknown(&key, place),
            }
        }
        (self.needed(text, place.dot(".text"), at), from)
    }

    fn handoff(&mut self) -> Handoff {
        let at = self.reader.offset();
        let (mut kind_of, mut name, mut kind, mut schema) = (None, None, None, None);
        let mut keys = Vec::new();
        if !self.enter_object("handoff".into()) {
            return Handoff::None;
        }
        while let Some(key) = self.key() {
            match &*key.name {
                "handoff" => kind_of = Some((self.reader.offset(), self.maybe_text("handoff.handoff".into()))),
                "name" => name = Some(self.text("handoff.name".into())),
                "kind" => kind = self.nullable("handoff.kind".into()),
                "schema" => schema = Some(self.text("handoff.schema".into())),
                _ => {
                    self.unknown(&key, "handoff");
                    continue;
                }
            }
            keys.push(key);
        }
        // without it the other keys cannot be judged
        let (said_at, Some(said)) = self.needed(kind_of, "handoff.handoff", at) else { return Handoff::None };
        let (handoff, takes): (Handoff, &[&str]) = match &*said {
            "none" => (Handoff::None, &[]),
            "artifact" => (Handoff::Artifact { name: self.needed(name, "handoff.name", at), kind }, &["name", "kind"]),
            "structured_answer" => {
                (Handoff::StructuredAnswer { schema: self.needed(schema, "handoff.schema", at) }, &["schema"])
            }
            other => {
                let other = other.escape_debug();
                self.wrong(
                    said_at,
                    format!("`handoff.handoff` is `{other}`, which is none of none, artifact, structured_answer"),
                );
                return Handoff::None;
            }
        };
        for key in keys.iter().filter(|key| key.name != "handoff" && !takes.contains(&&*key.name)) {
            self.wrong(key.at, format!("a handoff of `{said}` has no key `{}`", key.name.escape_debug()));
        }
        handoff
    }

    fn operations(&mut self, place: MemberPlace) -> BTreeSet<Operation> {
        // one by one: `collect` sorts first, by code that nothing else here uses
        let mut all = BTreeSet::new();
        for operation in self.list(place, Self::operation).into_iter().flatten() {
            all.insert(operation);
        }
        all
    }

    fn operation(&mut self, place: MemberPlace) -> Option<Operation> {
        let at = self.reader.offset();
        let (mut op, mut server, mut tool, mut parameter) = (None, None, None, None);
        if !self.enter_object(place) {
            return None;
        }
        while let Some(key) = self.key() {
            match &*key.name {
                "op" => op = Some((self.reader.offset(), self.maybe_text(place.dot(".op")))),
                "server" => server = Some(self.text(place.dot(".server"))),
                "tool" => tool = Some(self.text(place.dot(".tool"))),
                _ => {
                    self.unknown(&key, place);
                    continue;
                }
            }
            if key.name != "op" {
                parameter.get_or_insert(key);
            }
        }
        let (op_at, Some(name)) = self.needed(op, place.dot(".op"), at) else { return None };
        if name == "mcp.call" {
            return Some(Operation::McpCall {
                server: self.needed(server, place.dot(".server"), at),
                tool: self.needed(tool, place.dot(".tool"), at),
            });
        }
        let bare = Operation::bare(&name);
        match (&bare, parameter) {
            (None, _) => {
                let name = name.escape_debug();
                self.wrong(op_at, format!("`{}` is `{name}`, which is no operation", place.dot(".op")));
            }
            (Some(_), Some(key)) => {
                self.wrong(key.at, format!("`{place}`: {name} has no key `{}`", key.name.escape_debug()));
            }
            (Some(_), None) => {}
        }
        bare
    }

    fn scope(&mut self) -> Vec<ScopeRule> {
        let mut rules = Vec::new();
        if self.enter_object("subjects".into()) {
            while let Some(key) = self.key() {
                match &*key.name {
                    "rules" => rules = self.list("subjects.rules".into(), Self::rule),
                    _ => self.unknown(&key, "subjects"),
                }
            }
        }
        rules
    }

    fn rule(&mut self, place: MemberPlace) -> ScopeRule {
        let at = self.reader.offset();
        let (mut subjects, mut operations) = (None, None);
        if !self.enter_object(place) {
            return ScopeRule { subjects: Vec::new(), operations: BTreeSet::new() };
        }
        while let Some(key) = self.key() {
            match &*key.name {
                "subjects" => subjects = Some(self.list(place.dot(".subjects"), Self::text)),
                "operations" => operations = Some(self.operations(place.dot(".operations"))),
                _ => self.unknown(&key, place),
            }
        }
        ScopeRule {
            subjects: self.needed(subjects, place.dot(".subjects"), at),
            operations: self.needed(operations, place.dot(".operations"), at),
        }
    }

    fn entities(&mut self) -> Option<Entities> {
        if self.kind() == Some(Kind::Null) {
            self.skip();
            return None;
        }
        let at = self.reader.offset();
        let (mut source, mut members) = (None, None);
        if !self.enter_object("entities".into()) {
            return None;
        }
        while let Some(key) = self.key() {
            match &*key.name {
                "source" => source = Some(self.text("entities.source".into())),
                "members" => members = Some(self.list("entities.members".into(), Self::text)),
                _ => self.unknown(&key, "entities"),
            }
        }
        Some(Entities {
            source: self.needed(source, "entities.source", at),
            members: self.needed(members, "entities.members", at),
        })
    }

    fn list<T>(&mut self, place: MemberPlace, each: impl Fn(&mut Self, MemberPlace) -> T) -> Vec<T> {
        let mut items = Vec::new();
        if self.is(Kind::Array, place) {
            self.take(Reader::enter_array);
            while self.take(Reader::next_item) {
                items.push(each(self, place.item(items.len())));
            }
        }
        items
    }

    fn text(&mut self, place: MemberPlace) -> String {
        self.maybe_text(place).unwrap_or_default()
    }

    fn maybe_text(&mut self, place: MemberPlace) -> Option<String> {
        self.is(Kind::String, place).then(|| self.string())
    }

    fn nullable(&mut self, place: MemberPlace) -> Option<String> {
        if self.kind() == Some(Kind::Null) {
            self.skip();
            return None;
        }
        Some(self.text(place))
    }

    fn integer(&mut self, place: &'static str) -> u32 {
        let at = self.reader.offset();
        if !self.is(Kind::Number, place.into()) {
            return 0;
        }
        let number = self.take(Reader::number);
        let value = number.as_u32();
        if value.is_none() {
            self.wrong(at, format!("`{place}` is {number}, not a whole number from 0 to 4294967295"));
        }
        value.unwrap_or(0)
    }

    fn enter_object(&mut self, place: MemberPlace) -> bool {
        let is = self.is(Kind::Object, place);
        if is {
            self.take(Reader::enter_object);
        }
        is
    }

    /// Whether the next value is of this kind. Another kind is recorded as a fault and passed over.
    fn is(&mut self, wanted: Kind, place: MemberPlace) -> bool {
        let Some(found) = self.kind() else { return false };
        if found == wanted {
            return true;
        }
        let at = self.reader.offset();
        self.skip();
        self.wrong(at, format!("`{place}` is {}, not {}", found.noun(), wanted.noun()));
        false
    }

    fn unknown(&mut self, key: &Key<'_>, place: impl fmt::Display) {
        let name = shortened(&key.name);
        self.wrong(key.at, format!("`{name}` is no key of {place}, and would lie outside the seal"));
        self.skip();
    }

    fn needed<T: Default>(&mut self, value: Option<T>, place: impl Into<MemberPlace>, at: usize) -> T {
        value.unwrap_or_else(|| {
            self.missing(place.into(), at);
            T::default()
        })
    }

    // out of `needed`, of which there is one for each type
    #[cold]
    #[inline(never)]
    fn missing(&mut self, place: MemberPlace, at: usize) {
        self.wrong(at, format!("`{place}` is missing"));
        if let Some(wrong) = self.wrong.last_mut().filter(|_| self.untold == 0) {
            wrong.missing = Some(place.last());
        }
    }

    #[cold]
    #[inline(never)]
    fn wrong(&mut self, at: usize, what: String) {
        match self.wrong.len() < self.most {
            true => self.wrong.push(Misshapen { at, what, missing: None }),
            false => self.untold += 1,
        }
    }
}

/// Cut a key for a message: a key may be as long as the document.
fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &name[..end]).escape_debug().to_string().into(),
        None => name.escape_debug().to_string().into(),
    }
}
