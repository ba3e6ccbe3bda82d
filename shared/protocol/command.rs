//! Reads `metaharness.command/1`, the embedder's commands.
//!
//! A key that stands twice refuses the line: two readers could take two different decisions from it.

use std::borrow::Cow;
use std::fmt;

use super::COMMAND;
use crate::json::{Fault, Kind, Reader};

/// One line from the embedder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command<'a> {
    /// The embedder's id for the command.
    pub id: String,
    /// What is to be done.
    pub order: CommandKind<'a>,
}

/// A command's name and members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind<'a> {
    /// `tool.decide`
    Decide {
        /// The vendor's id of the call.
        call_id: String,
        /// The decision.
        word: Word<'a>,
        /// `deadline` or `adapter`, where the program that passed the decision on made it in the embedder's place.
        by: Option<&'static str>,
    },
    /// Any other command. It decides about no call, so a hook has no use for it.
    Other(OtherCommand<'a>),
}

/// A command besides `tool.decide`. Its member is kept unread, since a hook needs none of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherCommand<'a> {
    pub(crate) name: &'static str,
    /// The member named in [`OTHERS`], in JSON, if the line has it.
    payload: Option<&'a str>,
}

/// The value that a command besides `tool.decide` carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried<'a> {
    /// The JSON object of `frame.set`.
    Frame(&'a str),
    /// The string of every other command: a text, a posture or a reason.
    Words(String),
}

impl<'a> OtherCommand<'a> {
    /// The command's value.
    ///
    /// The value is missing, or of another type.
    pub fn carried(&self) -> Result<Carried<'a>, String> {
        let member = member(self.name);
        let wanted = if self.name == FRAME_SET { "an object" } else { "a string" };
        let raw = self.payload.ok_or_else(|| format!("malformed {}: there is no `{member}`", self.name))?;
        let kind = Reader::new(raw.as_bytes()).and_then(|mut reader| reader.kind());
        let read = match kind {
            Ok(Kind::Object) if self.name == FRAME_SET => Some(Carried::Frame(raw)),
            Ok(Kind::String) if self.name != FRAME_SET => text(raw).map(Carried::Words),
            _ => None,
        };
        read.ok_or_else(|| {
            let kind = kind.map_or("unreadable", Kind::noun);
            format!("malformed {}: `{member}` is {kind}, and has to be {wanted}", self.name)
        })
    }
}

/// An embedder's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word<'a> {
    /// The call may run.
    Allow,
    /// The embedder has no opinion.
    Abstain,
    /// The call must not run, for this reason.
    Deny(String),
    /// The call may run with this input, in JSON.
    Replace(&'a str),
}

/// The reason why a line is no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The line's id, where exactly one can be read.
    pub id: Option<String>,
    pub why: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Malformed {}

pub const DECIDE: &str = "tool.decide";

/// The words for a decision that the embedder did not make: `deadline` where it was late, `adapter` where it was gone
/// or was not to be asked.
const STAND_INS: [&str; 2] = ["deadline", "adapter"];

const FRAME_SET: &str = "frame.set";

/// The commands besides `tool.decide`, each with the member that it carries.
const OTHERS: [(&str, &str); 6] = [
    (FRAME_SET, "frame"),
    ("message.inject", "text"),
    ("steer", "text"),
    ("permission.set", "posture"),
    ("interrupt", "reason"),
    ("halt", "reason"),
];

/// The names of all commands.
pub fn commands() -> impl Iterator<Item = &'static str> {
    std::iter::once(DECIDE).chain(OTHERS.iter().map(|(name, _)| *name))
}

fn member(name: &str) -> &'static str {
    OTHERS.iter().find(|(other, _)| *other == name).map_or("", |(_, member)| member)
}

/// The members that matter, in JSON.
#[derive(Default)]
struct Members<'a> {
    format: Option<&'a str>,
    id: Option<&'a str>,
    ids: usize,
    command: Option<&'a str>,
    call_id: Option<&'a str>,
    decision: Option<&'a str>,
    decided_by: Option<&'a str>,
    /// By the order of [`CARRIED`].
    carried: [Option<&'a str>; CARRIED.len()],
    twice: Option<String>,
}

/// The members that commands besides `tool.decide` carry.
const CARRIED: [&str; 4] = ["frame", "text", "posture", "reason"];

impl<'a> Command<'a> {
    /// Read a line. The protocol fixes the order of the checks: an object, the tag, a known name, then the name's own
    /// members.
    pub fn read(line: &'a [u8]) -> Result<Command<'a>, Malformed> {
        let nameless = |why: String| Malformed { id: None, why };
        let members = Members::read(line).map_err(nameless)?;
        let id = members.id.and_then(text);
        members.command(id.as_deref()).map_err(|why| Malformed { id, why })
    }
}

impl<'a> Members<'a> {
    fn read(line: &'a [u8]) -> Result<Self, String> {
        let fault = |fault: Fault| format!("not one JSON object: {fault}");
        let mut members = Members::default();
        let mut reader = Reader::new(line).map_err(fault)?;
        match reader.kind().map_err(fault)? {
            Kind::Object => reader.enter_object().map_err(fault)?,
            // its kind is told by its first letter, and that it is one by the rest
            kind => {
                reader.skip().and_then(|()| reader.end()).map_err(fault)?;
                return Err(format!("not one JSON object: it is {}", kind.noun()));
            }
        }
        while let Some(key) = reader.next_key().map_err(fault)? {
            let from = reader.offset();
            reader.skip().map_err(fault)?;
            let value = Some(reader.slice(from, reader.position()));
            match &*key.name {
                "format" => members.format = value,
                // with two ids, neither can be trusted to be the line's
                "id" => (members.id, members.ids) = (value.filter(|_| members.ids == 0), members.ids + 1),
                "command" => members.command = value,
                "call_id" => members.call_id = value,
                "decision" => members.decision = value,
                "decided_by" => members.decided_by = value,
                name => {
                    if let Some(at) = CARRIED.iter().position(|carried| *carried == name) {
                        members.carried[at] = value;
                    }
                }
            }
        }
        reader.end().map_err(fault)?;
        if let Some(twice) = reader.duplicate() {
            members.twice = Some(format!("the key {:?} stands twice in one object (byte {})", twice.key, twice.at));
        }
        Ok(members)
    }

    fn command(&self, id: Option<&str>) -> Result<Command<'a>, String> {
        if let Some(twice) = &self.twice {
            return Err(twice.clone());
        }
        match self.format.and_then(text).as_deref() {
            Some(COMMAND) => {}
            Some(other) => return Err(format!("`format` is {other:?}, not {COMMAND:?}")),
            None => return Err(format!("there is no `format`; a command carries \"format\":\"{COMMAND}\"")),
        }
        let name = self.command.and_then(text).unwrap_or_default();
        let other = OTHERS.iter().find(|(other, _)| *other == name);
        if name != DECIDE && other.is_none() {
            return Err(format!("there is no command {name:?}"));
        }
        let id = id.ok_or_else(|| match (self.ids, self.id) {
            (0, _) => format!("malformed {name}: there is no `id`; a command carries one, and its answer has it"),
            _ => format!("malformed {name}: `id` is not a string"),
        })?;
        let id = id.into();
        let order = match other {
            Some((name, member)) => {
                let at = CARRIED.iter().position(|carried| carried == member);
                CommandKind::Other(OtherCommand { name, payload: at.and_then(|at| self.carried[at]) })
            }
            None => self.decide().map_err(|why| format!("malformed tool.decide: {why}"))?,
        };
        Ok(Command { id, order })
    }

    fn decide(&self) -> Result<CommandKind<'a>, String> {
        let call_id = self.call_id.and_then(text).ok_or("`call_id` is not a string")?;
        let raw = self.decision.ok_or("there is no `decision`")?;
        let by = self.decided_by.and_then(text);
        let by = STAND_INS.into_iter().find(|known| by.as_deref() == Some(*known));
        Ok(CommandKind::Decide { call_id, word: word(raw)?, by })
    }
}

/// A decision: an object that says its kind in its own member `decision`.
fn word(raw: &str) -> Result<Word<'_>, String> {
    let lost = |fault: Fault| fault.to_string();
    let mut reader = Reader::new(raw.as_bytes()).map_err(lost)?;
    let kind = reader.kind().map_err(lost)?;
    if kind != Kind::Object {
        return Err(format!(
            "`decision` is {}; it is an object that names itself, as {{\"decision\":\"allow\"}}",
            kind.noun()
        ));
    }
    let (mut tag, mut reason, mut input) = (None, None, None);
    reader.enter_object().map_err(lost)?;
    while let Some(key) = reader.next_key().map_err(lost)? {
        let from = reader.offset();
        reader.skip().map_err(lost)?;
        let value = Some(reader.slice(from, reader.position()));
        match &*key.name {
            "decision" => tag = value,
            "reason" => reason = value,
            "input" => input = value,
            _ => {}
        }
    }
    match tag.and_then(text).as_deref() {
        Some("allow") => Ok(Word::Allow),
        Some("abstain") => Ok(Word::Abstain),
        Some("deny") => match reason.and_then(text) {
            Some(reason) if !reason.trim().is_empty() => Ok(Word::Deny(reason)),
            Some(_) => Err("a deny whose `reason` is blank: the reason is all that the model has to go on".into()),
            None => Err("a deny has a string `reason`".into()),
        },
        Some("replace") => input.map(Word::Replace).ok_or_else(|| "a replace has an `input`".into()),
        Some(other) => Err(format!("there is no decision {other:?}; there are allow, deny, replace and abstain")),
        None => Err("`decision` has no string `decision` in it".into()),
    }
}

fn text(raw: &str) -> Option<String> {
    Reader::new(raw.as_bytes()).and_then(|mut reader| reader.string().map(Cow::into_owned)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(line: &str) -> String {
        Command::read(line.as_bytes()).unwrap_err().why
    }

    fn decide(decision: &str) -> String {
        format!(
            "{{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"c\",\
             \"decision\":{decision}}}"
        )
    }

    #[test]
    fn the_four_decisions_are_read() {
        for (decision, wanted) in [
            ("{\"decision\":\"allow\"}", Word::Allow),
            ("{\"decision\":\"abstain\",\"more\":[]}", Word::Abstain),
            ("{\"decision\":\"deny\",\"reason\":\"no\"}", Word::Deny("no".into())),
            ("{\"input\":{ \"a\":1 },\"decision\":\"replace\"}", Word::Replace("{ \"a\":1 }")),
        ] {
            let line = decide(decision);
            let command = Command::read(line.as_bytes()).unwrap();
            assert_eq!(command.order, CommandKind::Decide { call_id: "c".into(), word: wanted, by: None });
            assert_eq!(command.id, "1");
        }
    }

    #[test]
    fn the_first_fault_in_the_protocols_order_is_named() {
        for (line, wanted) in [
            ("[]", "not one JSON object: it is an array"),
            ("{}", "there is no `format`; a command carries \"format\":\"metaharness.command/1\""),
            ("{\"format\":\"x\"}", "`format` is \"x\", not \"metaharness.command/1\""),
            ("{\"format\":\"metaharness.command/1\"}", "there is no command \"\""),
            (
                "{\"format\":\"metaharness.command/1\",\"id\":7,\"command\":\"halt\"}",
                "malformed halt: `id` is not a string",
            ),
            (
                &decide("\"allow\""),
                "malformed tool.decide: `decision` is a string; it is an object that names itself, as \
                 {\"decision\":\"allow\"}",
            ),
            (
                &decide("{\"decision\":\"deny\",\"reason\":\" \"}"),
                "malformed tool.decide: a deny whose `reason` is blank: the reason is all that the model has to go on",
            ),
            (&decide("{\"decision\":\"deny\"}"), "malformed tool.decide: a deny has a string `reason`"),
            (&decide("{\"decision\":\"replace\"}"), "malformed tool.decide: a replace has an `input`"),
            (
                &decide("{\"decision\":\"ask\"}"),
                "malformed tool.decide: there is no decision \"ask\"; there are allow, deny, replace and abstain",
            ),
            (
                &decide("{\"decision\":\"allow\",\"decision\":\"deny\"}"),
                "the key \"decision\" stands twice in one object (byte 112)",
            ),
        ] {
            assert_eq!(why(line), wanted);
        }
    }

    #[test]
    fn a_malformed_line_keeps_its_id_where_it_has_one() {
        assert_eq!(Command::read(decide("1").as_bytes()).unwrap_err().id.as_deref(), Some("1"));
        let twice = decide("{\"decision\":\"allow\",\"decision\":\"deny\"}");
        assert_eq!(Command::read(twice.as_bytes()).unwrap_err().id.as_deref(), Some("1"));
        for line in ["{\"id\":\"1\",", "{\"id\":\"1\",\"id\":\"2\"}", "{\"id\":\"1\",\"id\":\"1\",\"id\":\"1\"}"] {
            assert_eq!(Command::read(line.as_bytes()).unwrap_err().id, None, "{line}");
        }
    }

    #[test]
    fn the_value_of_another_command_must_have_its_type() {
        let carried = |command: &str| {
            let line = format!("{{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":{command}}}");
            match Command::read(line.as_bytes()).unwrap().order {
                CommandKind::Other(other) => match other.carried() {
                    Ok(Carried::Words(words)) => Ok(words),
                    Ok(Carried::Frame(raw)) => Ok(raw.into()),
                    Err(why) => Err(why),
                },
                order => panic!("{order:?}"),
            }
        };
        assert_eq!(carried("\"halt\",\"reason\":\"enough\""), Ok("enough".into()));
        assert_eq!(carried("\"frame.set\",\"frame\":{\"a\":1},\"text\":2"), Ok("{\"a\":1}".into()));
        for (command, why) in [
            ("\"halt\"", "malformed halt: there is no `reason`"),
            ("\"steer\",\"text\":7", "malformed steer: `text` is a number, and has to be a string"),
            ("\"frame.set\",\"frame\":\"x\"", "malformed frame.set: `frame` is a string, and has to be an object"),
            ("\"permission.set\",\"text\":\"x\"", "malformed permission.set: there is no `posture`"),
        ] {
            assert_eq!(carried(command), Err(why.into()));
        }
    }
}
