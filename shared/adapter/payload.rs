//! Reads a hook's payload as strictly as a frame, by its vendor's member names.
//!
//! Unknown members are passed over, since the vendor may add some. They are still parsed: a key that stands twice at
//! any depth refuses the payload, since the vendor may read the other value.

use std::borrow::Cow;
use std::time::Instant;

use super::neighbour::marks;
use crate::json::{Fault, Kind, Reader};

/// The members of a payload that matter.
#[derive(Debug, Default, Clone)]
pub struct Payload<'a> {
    pub event: String,
    pub tool: Option<String>,
    pub input: Input<'a>,
    pub call_id: Option<String>,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub cwd: Option<String>,
    /// An MCP server's own name, if the vendor gives it.
    pub mcp_server: Option<String>,
    /// The members of [`marks`] that are there.
    pub marks: Vec<&'static str>,
}

/// The names of the members of a vendor's payloads.
#[derive(Debug)]
pub struct Shape {
    pub event: &'static str,
    pub tool: &'static str,
    pub input: &'static str,
    pub call_id: &'static str,
    pub session: &'static str,
    pub agent: &'static str,
    pub cwd: &'static str,
    /// The object with an MCP server's own name, and the member in it that is the name.
    pub mcp_server: Option<(&'static str, &'static str)>,
    /// The members of tool inputs that some tool is judged by. Only these are kept.
    pub asked: &'static [&'static str],
}

impl Payload<'_> {
    pub fn is_marked(&self, mark: &str) -> bool {
        self.marks.contains(&mark)
    }
}

/// A tool's input, of which only the members in `asked` are kept.
#[derive(Debug, Default, Clone)]
pub struct Input<'a> {
    raw: &'a str,
    object: bool,
    asked: &'static [&'static str],
    members: Vec<(&'static str, &'a str)>,
}

impl<'a> Input<'a> {
    /// Read an input outside a payload, as an embedder gives one.
    ///
    /// # Errors
    /// The text is not one JSON value.
    pub fn read(raw: &'a str, asked: &'static [&'static str]) -> Result<Input<'a>, Fault> {
        let mut input = Input { asked, ..Input::default() };
        let mut reader = Reader::new(raw.as_bytes())?;
        input.fill(&mut reader)?;
        reader.end()?;
        Ok(input)
    }

    /// The JSON text as it stands in the payload; empty if the payload has no input.
    pub fn raw(&self) -> &str {
        self.raw
    }

    pub fn is_object(&self) -> bool {
        self.object
    }

    /// The member, in JSON.
    fn member(&self, name: &str) -> Option<&'a str> {
        debug_assert!(self.asked.contains(&name) || self.asked.is_empty(), "`{name}` is not kept: see Shape::asked");
        self.members.iter().find(|(member, _)| *member == name).map(|(_, raw)| *raw)
    }

    pub fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }

    pub fn is_null(&self, name: &str) -> bool {
        self.member(name) == Some("null")
    }

    /// The lines of a string member, one after another without a copy of the whole: the lines that a patch adds or
    /// removes can be most of a payload. A line that begins with a character of `short` is cut to that character.
    pub fn lines(&self, name: &str, short: &'static [char]) -> Option<impl Iterator<Item = String>> {
        let raw = self.member(name)?;
        let mut characters = Reader::new(raw.as_bytes()).and_then(|mut reader| reader.characters()).ok()?;
        Some(std::iter::from_fn(move || {
            let mut line = String::new();
            let mut c = characters.next()?;
            while c != '\n' {
                if !line.starts_with(short) {
                    line.push(c);
                }
                match characters.next() {
                    Some(next) => c = next,
                    None => break,
                }
            }
            Some(line)
        }))
    }

    pub fn list(&self, name: &str) -> Option<Vec<Input<'a>>> {
        let raw = self.member(name)?;
        let mut reader = Reader::new(raw.as_bytes()).ok()?;
        reader.enter_array().ok()?;
        let mut all = Vec::new();
        while reader.next_item().ok()? {
            let mut element = Input { asked: self.asked, ..Input::default() };
            element.fill(&mut reader).ok()?;
            all.push(element);
        }
        Some(all)
    }

    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let raw = self.member(name)?;
        Reader::new(raw.as_bytes()).and_then(|mut reader| reader.string()).ok()
    }
}

/// The longest name, id or path that is read, in bytes. No system takes a longer path and no vendor makes a longer
/// name. Every reading of an MCP tool's name is tried, so its length costs time.
pub const LONGEST: usize = 4_096;

/// The most paths that one call may have. Judging more could take longer than the deadline, and a vendor runs the call
/// of a hook that is late.
pub const MOST_PATHS: usize = 2_000;

/// The most bytes that the absolute paths of one call may have together, since resolving a path takes time by its
/// length.
pub const MOST_BYTES: usize = 512 * 1024;

impl<'a> Payload<'a> {
    /// Read a payload.
    ///
    /// # Errors
    /// The reason why it cannot be judged, as the end of a sentence that begins with `the payload `.
    pub fn read(bytes: &'a [u8], shape: &'static Shape) -> Result<Payload<'a>, String> {
        Payload::read_until(bytes, shape, None)
    }

    /// Read a payload, at most until the deadline.
    ///
    /// # Errors
    /// As [`Payload::read`].
    pub fn read_until(
        bytes: &'a [u8],
        shape: &'static Shape,
        deadline: Option<Instant>,
    ) -> Result<Payload<'a>, String> {
        if bytes.is_empty() {
            return Err("on standard input was empty; the vendor gives the call as one JSON object there".into());
        }
        let mut payload = Payload { input: Input { asked: shape.asked, ..Input::default() }, ..Payload::default() };
        let read = payload.fill(bytes, shape, deadline);
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err("was not read to its end when the deadline passed".into());
        }
        let reader = read.map_err(|fault| format!("is not one JSON object: {fault}"))?;
        if let Some(twice) = reader.duplicate() {
            let key: String = twice.key.chars().take(60).collect();
            return Err(format!("has the key `{}` twice in one object (byte {})", key.escape_debug(), twice.at));
        }
        if let Some(key) = payload.too_long(shape) {
            return Err(format!("has a `{key}` of more than {LONGEST} bytes"));
        }
        if payload.event.is_empty() {
            return Err(format!("has no string `{}`", shape.event));
        }
        Ok(payload)
    }

    fn too_long(&self, shape: &Shape) -> Option<&'static str> {
        let named = [
            (shape.event, Some(&self.event)),
            (shape.tool, self.tool.as_ref()),
            (shape.call_id, self.call_id.as_ref()),
            (shape.session, self.session.as_ref()),
            (shape.agent, self.agent.as_ref()),
            (shape.cwd, self.cwd.as_ref()),
            (shape.mcp_server.map_or("", |(object, _)| object), self.mcp_server.as_ref()),
        ];
        named.into_iter().find(|(_, text)| text.is_some_and(|text| text.len() > LONGEST)).map(|(key, _)| key)
    }

    fn fill(&mut self, bytes: &'a [u8], shape: &'static Shape, deadline: Option<Instant>) -> Result<Reader<'a>, Fault> {
        let mut reader = Reader::new(bytes)?.until(deadline);
        reader.enter_object()?;
        while let Some(key) = reader.next_key()? {
            match &*key.name {
                name if name == shape.event => self.event = string(&mut reader)?.unwrap_or_default(),
                // a name that is no string becomes the empty name, which no table has
                name if name == shape.tool => self.tool = Some(string(&mut reader)?.unwrap_or_default()),
                name if name == shape.input => self.input.fill(&mut reader)?,
                name if name == shape.call_id => self.call_id = string(&mut reader)?,
                name if name == shape.session => self.session = string(&mut reader)?,
                name if name == shape.agent => self.agent = string(&mut reader)?,
                name if name == shape.cwd => self.cwd = string(&mut reader)?,
                name => match shape.mcp_server.filter(|(object, _)| name == *object) {
                    Some((_, member)) => self.mcp_server = Some(server(&mut reader, member)?),
                    None => {
                        let mark = marks().find(|mark| *mark == name);
                        // the same member may stand there a million times before the duplicate is refused
                        self.marks.extend(mark.filter(|mark| !self.marks.contains(mark)));
                        reader.skip()?;
                    }
                },
            }
        }
        reader.end()?;
        Ok(reader)
    }
}

impl<'a> Input<'a> {
    fn fill(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let start = reader.offset();
        self.object = reader.kind()? == Kind::Object;
        if self.object {
            reader.enter_object()?;
            while let Some(key) = reader.next_key()? {
                let from = reader.offset();
                reader.skip()?;
                if let Some(name) = self.asked.iter().find(|name| **name == key.name) {
                    self.members.push((name, reader.slice(from, reader.position())));
                }
            }
        } else {
            reader.skip()?;
        }
        self.raw = reader.slice(start, reader.position());
        Ok(())
    }
}

fn string(reader: &mut Reader<'_>) -> Result<Option<String>, Fault> {
    match reader.kind()? {
        Kind::String => reader.string().map(|text| Some(text.into_owned())),
        _ => reader.skip().map(|()| None),
    }
}

/// The name in an MCP server's object; empty for anything else, which no server is called.
fn server(reader: &mut Reader<'_>, member: &str) -> Result<String, Fault> {
    let mut name = String::new();
    if reader.kind()? != Kind::Object {
        return reader.skip().map(|()| name);
    }
    reader.enter_object()?;
    while let Some(key) = reader.next_key()? {
        match key.name == member {
            true => name = string(reader)?.unwrap_or_default(),
            false => reader.skip()?,
        }
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::{Input, LONGEST, Payload, Shape};
    use crate::adapter::claude::Claude;

    const SHAPE: &Shape = &Claude::FACTS.payload;

    #[test]
    fn lines_are_those_of_the_text_or_cut_to_one_character() {
        for text in ["", "\n", "a", "a\n", "\n\na", "+ab\n-cd\n ef\r\n*** g\n", "é\t\"\u{1f600}\"\n\\", "+\n", "+"] {
            let input = format!("{{\"command\":{}}}", serde_json::Value::from(text));
            let input = Input::read(&input, SHAPE.asked).unwrap();
            let whole = |line: &str| line.trim_end_matches('\r').to_string();
            let wanted: Vec<String> = text
                .lines()
                .map(|line| if line.starts_with(['+', '-']) { line[..1].into() } else { whole(line) })
                .collect();
            let found: Vec<String> = input.lines("command", &['+', '-']).unwrap().map(|line| whole(&line)).collect();
            assert_eq!(found, wanted, "{text:?}");
        }
        assert!(Input::read("{\"command\":7}", SHAPE.asked).unwrap().lines("command", &[]).is_none());
        assert!(Input::read("{}", SHAPE.asked).unwrap().lines("command", &[]).is_none());
    }

    #[test]
    fn a_payload_not_read_by_the_deadline_is_refused_for_that() {
        for payload in [r#"{"hook_event_name":"PreToolUse"}"#, "[", "{\"a\":0,\"a\":0}"] {
            let why = Payload::read_until(payload.as_bytes(), SHAPE, Some(std::time::Instant::now())).unwrap_err();
            assert_eq!(why, "was not read to its end when the deadline passed");
        }
    }

    #[test]
    fn a_name_may_be_as_long_as_the_limit() {
        for key in ["hook_event_name", "tool_name", "tool_use_id", "session_id", "agent_id", "cwd"] {
            let payload = |length: usize| {
                let (event, rest) = match key {
                    "hook_event_name" => ("x".repeat(length), String::new()),
                    key => ("PreToolUse".into(), format!(r#","{key}":"{}""#, "_".repeat(length))),
                };
                format!(r#"{{"hook_event_name":"{event}"{rest}}}"#)
            };
            assert!(Payload::read(payload(LONGEST).as_bytes(), SHAPE).is_ok(), "{key}");
            let why = Payload::read(payload(LONGEST + 1).as_bytes(), SHAPE).unwrap_err();
            assert_eq!(why, format!("has a `{key}` of more than 4096 bytes"));
        }
    }
}
