use std::fmt::Write as _;

use super::{Facts, Payload, RawAsks};

#[derive(Debug, Clone, Copy)]
pub enum Class {
    /// The tool carries operations: their names for people, and the function that reads them off a call.
    Carries(&'static str, fn(&Payload<'_>) -> RawAsks),
    /// The tool touches nothing outside the conversation. The guard abstains, for this reason.
    Conversation(&'static str),
    /// The tool is known and no operation admits it. The guard denies it, for this reason.
    Denied(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// The tool's name in the payload.
    pub name: &'static str,
    pub class: Class,
}

#[derive(Debug)]
pub struct Table {
    /// The vendor's release that the table was measured on.
    pub release: &'static str,
    /// Ordered by class.
    pub tools: &'static [Tool],
}

impl Tool {
    pub const fn carries(name: &'static str, words: &'static str, asks: fn(&Payload<'_>) -> RawAsks) -> Tool {
        Tool { name, class: Class::Carries(words, asks) }
    }

    pub const fn conversation(name: &'static str, why: &'static str) -> Tool {
        Tool { name, class: Class::Conversation(why) }
    }

    pub const fn denied(name: &'static str, why: &'static str) -> Tool {
        Tool { name, class: Class::Denied(why) }
    }
}

impl Table {
    /// The class of a tool by its exact name. MCP tools are not in the table.
    pub fn class(&self, name: &str) -> Option<Class> {
        self.tools.iter().find(|tool| tool.name == name).map(|tool| tool.class)
    }

    /// The tools that need this operation, alone or with others, always or by their input. MCP tools are not in the
    /// table.
    pub fn needing(&self, operation: &str) -> Vec<&'static str> {
        let word = |c: char| c.is_ascii_lowercase() || c == '.';
        let needs = |words: &str| words.split(|c| !word(c)).any(|word| word == operation);
        let tools = self.tools.iter();
        tools
            .filter(|tool| matches!(tool.class, Class::Carries(words, _) if needs(words)))
            .map(|tool| tool.name)
            .collect()
    }

    /// The operations that a call of this tool asks for. A tool that is not in the table cannot be admitted.
    pub fn asks(&self, payload: &Payload<'_>, tool: &str, product: &str) -> RawAsks {
        match self.class(tool) {
            Some(Class::Carries(_, asks)) => match asks(payload) {
                RawAsks::Needs(_) if !payload.input.raw().is_empty() && !payload.input.is_object() => {
                    RawAsks::Inadmissible("has an input that is no object, which no call of it has".into())
                }
                asks => asks,
            },
            Some(Class::Conversation(_)) => RawAsks::Conversation,
            Some(Class::Denied(why)) => RawAsks::Inadmissible(format!("{why}, which no operation admits")),
            None => RawAsks::Inadmissible(format!(
                "is unknown to the tool table of {product} {}, so nothing says which operation it is",
                self.release
            )),
        }
    }

    /// The table as text for people.
    pub fn print(&self, facts: &Facts) -> String {
        let (product, form) = (facts.product, facts.mcp.form());
        let mut out = format!("tool table of {product} {}\n", self.release);
        let width = self.tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
        for Tool { name, class } in self.tools {
            let _ = match class {
                Class::Carries(operations, _) => writeln!(out, "{name:width$}  needs    {operations}"),
                Class::Conversation(why) => writeln!(out, "{name:width$}  abstain  {why}"),
                Class::Denied(why) => writeln!(out, "{name:width$}  deny     {why}"),
            };
        }
        let _ = writeln!(out, "{:width$}  needs    mcp.call SERVER/TOOL", form);
        let _ = writeln!(out, "{:width$}  deny     unknown to this table", "any other");
        out
    }
}
