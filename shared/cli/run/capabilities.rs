//! `mh-run capabilities`: the promises that a run can make with a vendor.

use std::ffi::OsString;
use std::fmt::Write as _;

use super::super::voice::{Arguments, Typed, no_flag_of, no_word_of, text, wrong};
use super::PROGRAM;
use super::options::{self, help};
use crate::os::Stop;
use crate::os::mistake::Mistake;
use crate::run::Capabilities;

/// The text about a vendor.
///
/// # Errors
/// The command line is wrong.
pub fn take(arguments: Vec<OsString>) -> Result<String, Stop> {
    let (mut vendor, mut format) = (None, None);
    let mut arguments = Arguments::new(PROGRAM, help(), arguments);
    while let Some(argument) = arguments.next(true)? {
        match argument {
            Typed::About(text) => return Ok(text),
            Typed::Flag(flag) if flag == "--output-format" => {
                let json = arguments.one_of(&[("text", false), ("json", true)])?;
                arguments.once(&mut format, json)?;
            }
            Typed::Flag(flag) => return Err(no_flag_of("capabilities", &flag)),
            Typed::Word(word) if vendor.is_none() => vendor = Some(options::vendor(&text(word, "the vendor")?)?),
            Typed::Word(word) => return Err(no_word_of("capabilities are of one vendor at a time", &word)),
        }
    }
    let vendor = vendor.ok_or_else(|| wrong(&Mistake::Missing("vendor", &options::words_of(|_| true))))?;
    let capabilities = Capabilities::of(vendor);
    Ok(match format {
        Some(true) => serde_json::to_string(&capabilities).map(|line| line + "\n").unwrap_or_default(),
        _ => table(&capabilities),
    })
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
