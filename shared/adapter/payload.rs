//! A hook's payload, read as strictly as a frame, in its vendor's form.
//!
//! Unknown fields are the vendor's to add and are passed over, though not unread: a key that
//! stands twice at any depth refuses the payload, since our reading and the vendor's could differ.

use std::borrow::Cow;
use std::time::Instant;

use super::neighbour::marks;
use crate::json::{Fault, Kind, Reader};

/// What a payload says, as far as it matters.
#[derive(Debug, Default, Clone)]
pub struct Payload<'a> {
    /// The event.
    pub event: String,
    /// The tool.
    pub tool: Option<String>,
    /// The tool's input.
    pub input: Input<'a>,
    /// The vendor's id of the call.
    pub call_id: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The sub-agent, on its calls.
    pub agent: Option<String>,
    /// The working folder.
    pub cwd: Option<String>,
    /// An MCP server's own name, where the vendor gives it.
    pub mcp_server: Option<String>,
    /// Members by which a payload is known for somebody's, of those that are there.
    pub marks: Vec<&'static str>,
}

/// The form of a vendor's payloads: by what names it gives what.
#[derive(Debug)]
pub struct Shape {
    /// The event.
    pub event: &'static str,
    /// The tool.
    pub tool: &'static str,
    /// Its input, an object.
    pub input: &'static str,
    /// The call's id.
    pub call_id: &'static str,
    /// The session.
    pub session: &'static str,
    /// The sub-agent.
    pub agent: &'static str,
    /// The working folder.
    pub cwd: &'static str,
    /// The object that has an MCP server's own name, and the member of it that is the name.
    pub mcp_server: Option<(&'static str, &'static str)>,
    /// The members of an input that some tool's judgement depends on. No other is kept, so no other can be asked for.
    pub asked: &'static [&'static str],
}

impl Payload<'_> {
    /// Whether it has this member, one of the marks.
    pub fn is_marked(&self, mark: &str) -> bool {
        self.marks.contains(&mark)
    }
}

/// The input of a tool, of which only some members are ever asked for.
#[derive(Debug, Default, Clone)]
pub struct Input<'a> {
    raw: &'a str,
    object: bool,
    asked: &'static [&'static str],
    members: Vec<(&'static str, &'a str)>,
}

impl<'a> Input<'a> {
    /// Read an input that stands alone, as an embedder gives one.
    ///
    /// # Errors
    /// It is not one JSON value.
    pub fn read(raw: &'a str, asked: &'static [&'static str]) -> Result<Input<'a>, Fault> {
        let mut input = Input { asked, ..Input::default() };
        let mut reader = Reader::new(raw.as_bytes())?;
        input.fill(&mut reader)?;
        reader.end()?;
        Ok(input)
    }

    /// All of it, as it stands in the payload; empty where the payload has none.
    pub fn raw(&self) -> &str {
        self.raw
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.object
    }

    /// The member, in JSON.
    fn member(&self, name: &str) -> Option<&'a str> {
        debug_assert!(self.asked.contains(&name) || self.asked.is_empty(), "`{name}` is not kept: see Shape::asked");
        self.members.iter().find(|(member, _)| *member == name).map(|(_, raw)| *raw)
    }

    /// Whether the input has this member.
    pub fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }

    /// Whether the member is `null`.
    pub fn is_null(&self, name: &str) -> bool {
        self.member(name) == Some("null")
    }

    /// The lines of the member, if it is a string, one after another: what one adds or removes in a
    /// patch is most of a payload, and not worth a copy. Of a line that begins with a character of
    /// `short`, there is no more than that.
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

    /// The elements of the member, if it is a list.
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

    /// The member, if it is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let raw = self.member(name)?;
        Reader::new(raw.as_bytes()).and_then(|mut reader| reader.string()).ok()
    }
}

/// The longest name, id or path that is looked at, in bytes. No system takes a longer path, and no
/// vendor makes a longer name; of a tool's name every reading is tried.
pub const LONGEST: usize = 4_096;

/// The most paths that one call may be about. Beyond, judging could outlast every deadline, and a
/// vendor lets a call run whose hook is late.
pub const MOST_PATHS: usize = 2_000;

/// The most bytes that the paths of one call may have together, made absolute: where a path leads
/// takes time by its length.
pub const MOST_BYTES: usize = 512 * 1024;

impl<'a> Payload<'a> {
    /// Read a payload.
    ///
    /// # Errors
    /// Why it cannot be judged, to follow `the payload `.
    pub fn read(bytes: &'a [u8], shape: &'static Shape) -> Result<Payload<'a>, String> {
        Payload::read_until(bytes, shape, None)
    }

    /// Read a payload, if that is done by the deadline.
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
                // a name that is no string is a name that no table has
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
                        // a member may stand there a million times, before that is refused
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

/// The name in the object of an MCP server; anything else is a server without a name, which none is.
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
    fn lines_are_those_of_the_text_but_for_what_is_cut_short() {
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
    fn what_is_not_read_by_the_deadline_is_refused_for_that_whatever_it_is() {
        for payload in [r#"{"hook_event_name":"PreToolUse"}"#, "[", "{\"a\":0,\"a\":0}"] {
            let why = Payload::read_until(payload.as_bytes(), SHAPE, Some(std::time::Instant::now())).unwrap_err();
            assert_eq!(why, "was not read to its end when the deadline passed");
        }
    }

    #[test]
    fn a_name_may_be_long_and_not_longer() {
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
