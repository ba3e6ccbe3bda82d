//! The promises that a run can make with a vendor, from the same tables that keep them.

use serde::{Serialize, Serializer};

use super::Outcome;
use super::control::{ASK, Code, controls};
use crate::adapter::run::{Run, imposed};
use crate::adapter::{Class, Hook};
use crate::decide::Policy;
use crate::frame::{BARE_OPERATIONS, Operation};

#[derive(Debug, Serialize)]
pub struct Capabilities {
    /// The version of this JSON shape.
    pub v: u32,
    pub adapter: &'static str,
    /// The way in which calls are held to the frame: `hook`.
    pub adapter_class: &'static str,
    /// The vendor's program by the name that its users know.
    pub product: &'static str,
    /// The vendor's release on which the promises were measured.
    pub measured: &'static str,
    /// The oldest release of the vendor that a run accepts.
    pub oldest: &'static str,
    pub tiers: Vec<Tier>,
    pub commands: Vec<Control>,
    pub decisions: Vec<Mode>,
    /// The operations of a frame with the tools that need them.
    pub operations: Vec<Row>,
    /// Tools that touch nothing outside the conversation, so they need no operation.
    pub conversation: Vec<Named>,
    /// Tools that no operation admits.
    pub denied: Vec<Named>,
}

/// A promise.
#[derive(Debug, Serialize)]
pub struct Tier {
    pub promise: String,
    pub holds: Holds,
    pub how: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Yes,
    /// With exceptions, which `how` names.
    Partly,
    No,
}

impl Holds {
    pub fn word(self) -> &'static str {
        match self {
            Holds::Yes => "yes",
            Holds::Partly => "in part",
            Holds::No => "no",
        }
    }
}

impl Serialize for Holds {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.word())
    }
}

#[derive(Debug, Serialize)]
pub struct Control {
    pub command: &'static str,
    pub honoured: bool,
    pub refused: Option<RefusedControl>,
}

/// The answer to a command that is not honoured.
#[derive(Debug, Serialize)]
pub struct RefusedControl {
    pub code: &'static str,
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub struct Mode {
    pub mode: &'static str,
    pub admitted: &'static str,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub operation: &'static str,
    /// For MCP tools, the form of their names.
    pub tools: Vec<String>,
}

/// A tool that no operation belongs to.
#[derive(Debug, Serialize)]
pub struct Named {
    pub tool: &'static str,
    pub why: &'static str,
}

impl Capabilities {
    pub fn of(vendor: &dyn Run) -> Capabilities {
        let command = |(command, why): (&'static str, Option<String>)| Control {
            command,
            honoured: why.is_none(),
            refused: why.map(|why| RefusedControl {
                code: Code::UnsupportedControl.word(),
                reason: format!("{command} {why}"),
            }),
        };
        let tool = |tool: &'static str, why| Named { tool, why };
        let classes = || vendor.facts().table.tools.iter().map(|tool| (tool.name, tool.class));
        Capabilities {
            v: 1,
            adapter: vendor.facts().word,
            adapter_class: "hook",
            product: vendor.facts().product,
            measured: vendor.facts().table.release,
            oldest: vendor.facts().oldest,
            tiers: tiers(vendor),
            commands: controls(vendor).map(command).collect(),
            decisions: vec![
                Mode { mode: Policy::Frame.word(), admitted: vendor.facts().allow },
                Mode { mode: Policy::DenyOnly.word(), admitted: "left to the vendor's own rules" },
                Mode { mode: ASK, admitted: "waits for a tool.decide, and what is not decided in time is denied" },
            ],
            operations: operations(vendor),
            conversation: classes()
                .filter_map(
                    |(name, class)| if let Class::Conversation(why) = class { Some(tool(name, why)) } else { None },
                )
                .collect(),
            denied: classes()
                .filter_map(|(name, class)| if let Class::Denied(why) = class { Some(tool(name, why)) } else { None })
                .collect(),
        }
    }
}

fn tiers(vendor: &dyn Run) -> Vec<Tier> {
    let tier = |promise: &str, holds, how: &str| Tier { promise: promise.into(), holds, how: how.into() };
    let by_hook = format!(
        "a hook at PreToolUse, and a call that ran without its decision makes the turn {}",
        Outcome::Unenforced.word()
    );
    let holds = if vendor.facts().unseen.is_empty() { Holds::Yes } else { Holds::Partly };
    let mut all = vec![tier("decided call by call", holds, &by_hook)];
    all.extend(vendor.facts().unseen.iter().map(|(what, why)| {
        tier(what, Holds::No, &format!("{why}; seen afterwards, it makes the turn {}", Outcome::Unenforced.word()))
    }));
    let replaced: Vec<&str> = vendor.facts().replaced.iter().map(|takes| takes.tool).collect();
    let replaced =
        format!("{} and MCP tools; any other is refused by name, and the call waits on", replaced.join(", "));
    all.push(tier("replaced input", Holds::Partly, &replaced));
    all.extend(imposed(vendor, true, false).iter().map(|(row, how)| tier(row, Holds::Yes, how)));
    all.extend(vendor.unavailable().iter().map(|(row, why)| tier(row, Holds::No, why)));
    all
}

fn operations(vendor: &dyn Hook) -> Vec<Row> {
    let called = Operation::McpCall { server: String::new(), tool: String::new() };
    let row = |operation: &Operation| {
        let facts = vendor.facts();
        let mut tools: Vec<String> = facts.table.needing(operation.name()).into_iter().map(String::from).collect();
        tools.extend((*operation == called).then(|| facts.mcp.form()));
        Row { operation: operation.name(), tools }
    };
    BARE_OPERATIONS.iter().chain([&called]).map(row).collect()
}
