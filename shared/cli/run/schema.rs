//! `mh-run schema`: the shapes of all that these programs write for other programs, and of what they
//! take from them.

use std::ffi::OsString;

use super::super::{about, text};
use super::PROGRAM;
use super::options::help;
use crate::os::Stop;

/// The schemas, by the name that a caller asks with.
const SCHEMAS: [(&str, &str); 8] = [
    ("event", include_str!("../../schema/event.json")),
    ("command", include_str!("../../schema/command.json")),
    ("stream", include_str!("../../schema/stream.json")),
    ("frame", include_str!("../../schema/frame.json")),
    ("audit", include_str!("../../schema/audit.json")),
    ("verify", include_str!("../../schema/verify.json")),
    ("doctor", include_str!("../../schema/doctor.json")),
    ("capabilities", include_str!("../../schema/capabilities.json")),
];

/// The schema of a name, or all names.
///
/// # Errors
/// There is no such schema, and which there are.
pub fn take(arguments: Vec<OsString>) -> Result<String, Stop> {
    let mut name = None;
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        if let Some(text) = about(&argument, PROGRAM, &help()) {
            return Ok(text);
        }
        match argument {
            lexopt::Arg::Value(word) if name.is_none() => name = Some(text(word, "the schema's name")?),
            other => return Err(other.unexpected().into()),
        }
    }
    let Some(name) = name else {
        return Ok(SCHEMAS.iter().map(|(name, _)| format!("{name}\n")).collect());
    };
    let found = SCHEMAS.iter().find(|(known, _)| *known == name);
    found.map(|(_, schema)| (*schema).to_string()).ok_or_else(|| {
        let names: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
        Stop::usage(format!("there is no schema {name:?}; there are {}", names.join(", ")))
    })
}
