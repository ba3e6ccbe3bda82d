//! `mh-run schema`: the schemas of everything that these programs write for other programs, and read from them.

use std::ffi::OsString;

use super::super::voice::{Arguments, Typed, no_flag_of, no_such, no_word_of, text};
use super::PROGRAM;
use super::options::help;
use crate::os::Stop;

/// The schemas by name.
const SCHEMAS: [(&str, &str); 9] = [
    ("event", include_str!("../../schema/event.json")),
    ("command", include_str!("../../schema/command.json")),
    ("stream", include_str!("../../schema/stream.json")),
    ("frame", include_str!("../../schema/frame.json")),
    ("audit", include_str!("../../schema/audit.json")),
    ("verify", include_str!("../../schema/verify.json")),
    ("doctor", include_str!("../../schema/doctor.json")),
    ("list", include_str!("../../schema/list.json")),
    ("capabilities", include_str!("../../schema/capabilities.json")),
];

/// The schema of a name, or every name.
///
/// # Errors
/// There is no such schema; the message lists those that exist.
pub fn take(arguments: Vec<OsString>) -> Result<String, Stop> {
    let mut name = None;
    let mut arguments = Arguments::new(PROGRAM, help(), arguments);
    while let Some(argument) = arguments.next(true)? {
        match argument {
            Typed::About(text) => return Ok(text),
            Typed::Word(word) if name.is_none() => name = Some(text(word, "the schema's name")?),
            Typed::Word(word) => return Err(no_word_of("schema prints one at a time", &word)),
            Typed::Flag(flag) => return Err(no_flag_of("schema", &flag)),
        }
    }
    let Some(name) = name else {
        return Ok(SCHEMAS.iter().map(|(name, _)| format!("{name}\n")).collect());
    };
    let found = SCHEMAS.iter().find(|(known, _)| *known == name);
    found.map(|(_, schema)| (*schema).to_string()).ok_or_else(|| {
        let names: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
        no_such("schema", &name, &names, &[])
    })
}
