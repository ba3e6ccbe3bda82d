//! `mh-run capabilities`: what a run can promise with a vendor.

use std::ffi::OsString;
use std::fmt::Write as _;

use super::super::{about, text};
use super::PROGRAM;
use super::options::{help, whose};
use crate::adapter;
use crate::os::Stop;
use crate::run::Capabilities;

/// What is printed of a vendor.
///
/// # Errors
/// The command line is wrong.
pub fn take(arguments: Vec<OsString>) -> Result<String, Stop> {
    let (mut vendor, mut format) = (None, None);
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        if let Some(text) = about(&argument, PROGRAM, &help()) {
            return Ok(text);
        }
        match argument {
            lexopt::Arg::Long("output-format") if format.is_none() => {
                format = Some(text(parser.value()?, "--output-format")?);
            }
            lexopt::Arg::Value(word) if vendor.is_none() => vendor = Some(text(word, "the vendor")?),
            other => return Err(other.unexpected().into()),
        }
    }
    let vendor = adapter::governed_named(vendor.as_deref()).map_err(|why| whose("capabilities of whom", &why))?;
    let capabilities = Capabilities::of(vendor);
    match format.as_deref() {
        None | Some("text") => Ok(table(&capabilities)),
        Some("json") => Ok(serde_json::to_string(&capabilities).map(|line| line + "\n").unwrap_or_default()),
        Some(_) => Err(Stop::usage("capabilities takes --output-format text or json")),
    }
}

/// A table for people.
fn table(of: &Capabilities) -> String {
    let mut out = format!("{}: measured on {}, taken from {}\n", of.product, of.measured, of.oldest);
    let mut part = |title: &str, rows: Vec<(&str, String)>| {
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let _ = writeln!(out, "\n{title}");
        for (name, what) in rows {
            let _ = writeln!(out, "  {name:width$}  {what}");
        }
    };
    let tiers = of.tiers.iter().map(|tier| (&*tier.promise, format!("{:<7}  {}", tier.holds.word(), tier.how)));
    part("what holds", tiers.collect());
    let commands = of.commands.iter().map(|one| {
        let refused = one.refused.as_ref().map(|refused| format!("{}: {}", refused.code, refused.reason));
        (one.command, refused.unwrap_or("honoured".into()))
    });
    part("commands", commands.collect());
    let modes = of.decisions.iter().map(|mode| (mode.mode, mode.admitted.into()));
    part("--decisions: an admitted call is", modes.collect());
    let tools = |tools: &[String]| if tools.is_empty() { "(no tool)".into() } else { tools.join(", ") };
    part("operations", of.operations.iter().map(|row| (row.operation, tools(&row.tools))).collect());
    part("of no concern", of.conversation.iter().map(|named| (named.tool, named.why.into())).collect());
    part("always denied", of.denied.iter().map(|named| (named.tool, named.why.into())).collect());
    out
}
