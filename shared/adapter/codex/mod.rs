//! Codex. Facts are measured on the release in [`hook::table::TABLE`], `codex exec` unless a line says
//! otherwise.

mod hook;
#[cfg(feature = "run")]
pub(crate) mod run;
#[cfg(feature = "setup")]
pub mod setup;

#[cfg(feature = "setup")]
pub use setup::entry::{
    EVENTS, FEATURES, Parts, SESSION, basic, command, config, group, managed, parts, session, trust, trust_key,
    trusted_hash,
};

use std::path::Path;

use super::places::folder;
use super::without_shell;
use super::{
    Environment, Event, Facts, Hook, Neighbour, Payload, Place, Preview, Protected, RawAsks, Sample, Shape, Verdict,
    Wire,
};
use crate::frame::{Operation, mcp, shown};
use crate::seal::VerifiedFrame;

/// The entry's `additionalContextLimit` in tokens: without one, the vendor cuts a context above 2,500 tokens in its
/// middle.
pub const CONTEXT_TOKENS: u32 = 12_000;

/// The oldest release that trusts and runs the entry as written; 0.144.0 silently skips it (both measured). No release
/// fails closed by itself: the entry's line does.
pub const TRUSTS_FROM: &str = "0.145.0";

/// The oldest release in which an untrusted project cannot set features: in 0.168.0 its `hooks = false` switches the
/// user's hooks off (both measured, with sandbox and approvals bypassed).
pub const PROJECTS_GATED_FROM: &str = "0.169.0";

/// Codex.
#[derive(Debug)]
pub struct Codex;

impl Codex {
    /// The fixed facts about Codex.
    pub const FACTS: Facts = Facts {
        product: "Codex",
        word: "codex",
        program: "mh-hook-codex",
        undo: "remove the mh-hook-codex entries from the config.toml they stand in",
        // The vendor counts four bytes as a token; the rest is room for its own words around the text.
        text_limit: CONTEXT_TOKENS as usize * 4 - 4_000,
        // It was not measured whether older releases take hooks and trust from the launch's arguments.
        oldest: hook::table::TABLE.release,
        allow: "not denied: the vendor goes on, and an MCP call is approved where it would ask",
        replaced: hook::takes::TAKES,
        // By the kind of the item in the vendor's rollout; input typed into a terminal is recognised by its source.
        unseen: &[
            ("WebSearch", "hosted web search runs at the provider, and is off unless web.read is admitted"),
            ("ImageGeneration", "hosted image generation runs at the provider"),
            ("write_stdin", "typing into a terminal fires no hook, and a turn is given no terminal"),
        ],
        // It loads `AGENTS.md`, which imports nothing.
        loaded: &[],
        gate: "PreToolUse",
        payload: Shape {
            event: "hook_event_name",
            tool: "tool_name",
            input: "tool_input",
            call_id: "tool_use_id",
            session: "session_id",
            agent: "agent_id",
            cwd: "cwd",
            mcp_server: None,
            asked: &["command", "path", "server", "items", "type"],
        },
        // 0.171.0
        mcp: mcp::Rendering { prefix: "mcp__", separator: "__", kept: &[], units: false },
        // the hook's own working folder is the session's; the payload's is the call's, and the agent can choose it
        project: None,
        table: &hook::table::TABLE,
    };
}

impl Hook for Codex {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    fn measure(&self, text: &str) -> usize {
        text.len()
    }

    fn event(&self, name: &str) -> Event {
        match name {
            "PreToolUse" => Event::Gate,
            "PermissionRequest" => Event::Approval,
            "UserPromptSubmit" => Event::Prompt,
            "SessionStart" | "SubagentStart" => Event::Start,
            // exit 2 would loop at Stop and replace output at PostToolUse
            "PostToolUse" | "PreCompact" | "PostCompact" | "SessionEnd" | "SubagentStop" | "Stop" | "Interrupt"
            | "PreModelRequest" | "PostModelRequest" => Event::Passing,
            _ => Event::Unknown,
        }
    }

    /// The payload has only the rendered name. If two servers render alike, the vendor adds a hash to the name; no name
    /// in a frame renders to that, so it is denied.
    fn mcp(&self, _: &Payload<'_>, tool: &str) -> RawAsks {
        super::any_reading(tool, &Self::FACTS.mcp)
    }

    /// `codex exec` has no other way to run an MCP tool that needs an approval. For a shell, a grant would allow an
    /// escalation out of the sandbox that the payload does not show.
    fn grants_approval(&self, tool: &str) -> bool {
        tool.starts_with(Self::FACTS.mcp.prefix)
    }

    fn answer(&self, event: Event, name: &str, verdict: &Verdict) -> Wire {
        hook::answer::answer(event, name, verdict)
    }
}

impl Preview for Codex {
    /// The patch updates the file, unless `about` has a header of its own: `Add File: a.rs`.
    fn sample(&self, tool: &str, about: &str, _: &Path) -> Option<Sample> {
        if about.is_empty() && matches!(tool, "apply_patch" | "view_image") {
            return None;
        }
        let about = about.to_string();
        Some(match tool {
            "apply_patch" => {
                let said =
                    ["Add File: ", "Delete File: ", "Update File: "].iter().any(|header| about.starts_with(header));
                let header = if said { about } else { format!("Update File: {about}") };
                vec![("command", format!("*** Begin Patch\n*** {header}\n*** End Patch"))]
            }
            "Bash" => vec![("command", about)],
            "view_image" => vec![("path", about)],
            "list_mcp_resources" | "list_mcp_resource_templates" | "read_mcp_resource" => vec![("server", about)],
            _ => vec![],
        })
    }

    fn advice(&self, frame: &VerifiedFrame) -> Vec<String> {
        also_admitted(frame).into_iter().chain(codex_lacks(frame)).collect()
    }
}

/// The files that Codex takes its guard, its servers, its command rules and its own programs from, wherever it starts.
const CONFIGURATION: &[&[&str]] = &[
    &[".codex", "*.toml"],
    &[".codex", "hooks*.json"],
    &[".codex", ".env"],
    &[".codex", "rules", "**"],
    &[".codex", "hooks", "**"],
];

/// The files that Codex reads by itself at its next start.
const STARTED: &[&[&str]] = &[
    &[".codex", "agents", "**"],
    &[".codex", "skills", "**"],
    &[".codex", "prompts", "**"],
    &[".codex", "plugins", "**"],
    &[".agents", "skills", "**"],
    &[".agents", "plugins", "**"],
];

/// The facts about Codex for every vendor's hook.
pub const NEIGHBOUR: Neighbour = Neighbour {
    word: Codex::FACTS.word,
    product: Codex::FACTS.product,
    marks: &["turn_id", "model"],
    places,
    copies: None,
};

/// The places that govern and start Codex.
fn places(environment: Environment<'_>, project: Option<&Path>) -> Vec<Protected> {
    let home = folder(environment, "HOME", project);
    let mut places: Vec<Place> = CONFIGURATION.iter().map(|names| Place::Names(names)).collect();
    places.push(Place::folder("/etc/codex".into(), project));
    let folders = [folder(environment, "CODEX_HOME", project), home.as_ref().map(|home| home.join(".codex"))];
    let own = [".codex/config.toml", ".codex/hooks.json"];
    places.extend(project.into_iter().flat_map(|project| own.map(|file| Place::File(project.join(file)))));
    for folder in folders.into_iter().flatten() {
        let files = ["config.toml", "hooks.json"].map(|file| Place::File(folder.join(file)));
        places.push(Place::folder(folder, project));
        // either may be a link into another folder, where people keep such files
        places.extend(files);
    }
    let what = "the configuration of Codex";
    let mut all: Vec<Protected> = places.into_iter().map(|place| Protected::guard(place, what)).collect();
    let what = "what Codex starts or obeys by itself at its next start";
    all.extend(STARTED.iter().map(|names| Protected::starts(Place::Names(names), what)));
    let program = Place::Names(&["node_modules", "@openai", "codex*", "**"]);
    all.push(Protected::guard(program, "the program of Codex"));
    all
}

/// Names of MCP servers and tools that Codex does not distinguish from others.
fn also_admitted(frame: &VerifiedFrame) -> Option<String> {
    let rendering = &Codex::FACTS.mcp;
    let pairs = frame.frame().operations.iter().filter_map(|operation| match operation {
        Operation::McpCall { server, tool } => Some((server, tool, rendering.of(server), rendering.of(tool))),
        _ => None,
    });
    let mut changed = pairs
        .filter(|(server, tool, plain_server, plain_tool)| plain_server != *server || plain_tool != *tool)
        .map(|(server, tool, plain_server, plain_tool)| {
            format!("{} for {}", shown(&format!("{plain_server}/{plain_tool}")), shown(&format!("{server}/{tool}")))
        });
    let listed: Vec<String> = changed.by_ref().take(3).collect();
    if listed.is_empty() {
        return None;
    }
    {
        let more = match changed.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "Codex takes every character of an mcp name but letters and digits for `_`, so this frame admits there as well {}{more}",
            listed.join(", ")
        ))
    }
}

/// The operations in words that the frame admits and for which Codex has only its shell, if the frame does not admit
/// that.
pub fn codex_lacks(frame: &VerifiedFrame) -> Option<String> {
    let by_shell = [Operation::DirList, Operation::FileRead, Operation::Search, Operation::SkillLoad];
    let names = without_shell(frame, &by_shell)?;
    Some(format!("Codex has no tool for {names}: its shell does that, and shell is not admitted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_names_are_rendered_as_it_was_seen_to() {
        for (name, rendered) in [("dash-name.dot", "dash_name_dot"), ("😀", "_"), ("a_b", "a_b")] {
            assert_eq!(Codex::FACTS.mcp.of(name), rendered);
        }
    }
}
