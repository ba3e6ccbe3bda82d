//! What a run can promise with a vendor, out of the tables by which it is kept.

use serde::{Serialize, Serializer};

use super::Outcome;
use super::control::{ASK, Code, controls};
use crate::adapter::run::{Run, imposed};
use crate::adapter::{Class, Hook};
use crate::decide::Policy;
use crate::frame::{BARE_OPERATIONS, Operation};

/// What a run can promise with a vendor.
#[derive(Debug, Serialize)]
pub struct Capabilities {
    /// The version of this shape.
    pub v: u32,
    /// The vendor's word.
    pub adapter: &'static str,
    /// How calls are held to the frame: `hook`.
    pub adapter_class: &'static str,
    /// The vendor's program, by the name its users know.
    pub product: &'static str,
    /// The release that all this was measured on.
    pub measured: &'static str,
    /// The oldest that a run takes.
    pub oldest: &'static str,
    /// What is promised, and how far it holds.
    pub tiers: Vec<Tier>,
    /// The commands of the protocol.
    pub commands: Vec<Control>,
    /// The modes of decisions.
    pub decisions: Vec<Mode>,
    /// The operations of a frame, and the tools that need them.
    pub operations: Vec<Row>,
    /// Tools that touch nothing outside the conversation.
    pub conversation: Vec<Named>,
    /// Tools that no operation admits.
    pub denied: Vec<Named>,
}

/// A promise.
#[derive(Debug, Serialize)]
pub struct Tier {
    /// What is promised.
    pub promise: String,
    /// How far.
    pub holds: Holds,
    /// By what, or why not.
    pub how: String,
}

/// How far a promise holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Wholly.
    Yes,
    /// With exceptions that are named.
    Partly,
    /// Not at all.
    No,
}

impl Holds {
    /// The word for it.
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

/// A command.
#[derive(Debug, Serialize)]
pub struct Control {
    /// Its name.
    pub command: &'static str,
    /// Whether it is honoured.
    pub honoured: bool,
    /// How it is answered where it is not.
    pub refused: Option<RefusedControl>,
}

/// How a command is answered that is not honoured.
#[derive(Debug, Serialize)]
pub struct RefusedControl {
    /// The code.
    pub code: &'static str,
    /// Why.
    pub reason: String,
}

/// A mode of decisions.
#[derive(Debug, Serialize)]
pub struct Mode {
    /// Its word.
    pub mode: &'static str,
    /// What becomes of a call that the frame admits.
    pub admitted: &'static str,
}

/// An operation.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub operation: &'static str,
    /// The tools that need it; of MCP tools, how they are named.
    pub tools: Vec<String>,
}

/// A tool that needs no operation.
#[derive(Debug, Serialize)]
pub struct Named {
    /// Its name.
    pub tool: &'static str,
    /// Why.
    pub why: &'static str,
}

impl Capabilities {
    /// With this vendor.
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
