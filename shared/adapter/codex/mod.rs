//! Codex. Facts are measured on the release in [`hook::table::TABLE`], `codex exec` unless a line says
//! otherwise.

mod hook;
#[cfg(feature = "run")]
pub mod run;
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

/// What the entry sets as `additionalContextLimit`, in tokens: above 2,500 the vendor cuts a
/// context in its middle unless the entry says otherwise.
pub const CONTEXT_TOKENS: u32 = 12_000;

/// The oldest release that trusts and runs the entry as it is written; 0.144.0 skips it without a
/// word (both measured). None fails closed by itself: the entry's line does.
pub const TRUSTS_FROM: &str = "0.145.0";

/// The oldest release in which a project that is not trusted has no say in features: by 0.168.0
/// its `hooks = false` switches the user's hooks off (both measured, with sandbox and approvals
/// bypassed).
pub const PROJECTS_GATED_FROM: &str = "0.169.0";

/// Codex.
#[derive(Debug)]
pub struct Codex;

impl Codex {
    /// What is fixed of it.
    pub const FACTS: Facts = Facts {
        product: "Codex",
        word: "codex",
        program: "mh-hook-codex",
        undo: "remove the mh-hook-codex entries from the config.toml they stand in",
        // The vendor counts four bytes for a token; some room for what it puts around the text.
        text_limit: CONTEXT_TOKENS as usize * 4 - 4_000,
        // Of older ones it was not measured whether they take hooks and trust from the launch line.
        oldest: hook::table::TABLE.release,
        allow: "not denied: the vendor goes on, and an MCP call is approved where it would ask",
        replaced: hook::takes::TAKES,
        // By the kind of the item in the vendor's rollout; what is typed into a terminal is told by its
        // source.
        unseen: &[
            ("WebSearch", "hosted web search runs at the provider, and is off unless web.read is admitted"),
            ("ImageGeneration", "hosted image generation runs at the provider"),
            ("write_stdin", "typing into a terminal fires no hook, and a turn is given no terminal"),
        ],
        // It loads `AGENTS.md`, in which nothing is imported.
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
        // the hook's own working folder is the session's; the payload's is the call's, and the agent's to choose
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

    /// Nothing but the rendered name is given. Of servers that render alike the vendor adds a hash
    /// to the name, which no name in a frame renders to: denied.
    fn mcp(&self, _: &Payload<'_>, tool: &str) -> RawAsks {
        super::any_reading(tool, &Self::FACTS.mcp)
    }

    /// `codex exec` has no other way to run an MCP tool that wants an approval. For a shell it
    /// would grant an escalation out of the sandbox that the payload does not show.
    fn grants_approval(&self, tool: &str) -> bool {
        tool.starts_with(Self::FACTS.mcp.prefix)
    }

    fn answer(&self, event: Event, name: &str, verdict: &Verdict) -> Wire {
        hook::answer::answer(event, name, verdict)
    }
}

impl Preview for Codex {
    /// A patch updates the file, unless what it does is said by the header itself: `Add File: a.rs`.
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

/// What Codex takes its guard, its servers, its command rules and what it runs by itself from,
/// wherever it is started.
const CONFIGURATION: &[&[&str]] = &[
    &[".codex", "*.toml"],
    &[".codex", "hooks*.json"],
    &[".codex", ".env"],
    &[".codex", "rules", "**"],
    &[".codex", "hooks", "**"],
];

/// What Codex is told by itself at its next start.
const STARTED: &[&[&str]] = &[
    &[".codex", "agents", "**"],
    &[".codex", "skills", "**"],
    &[".codex", "prompts", "**"],
    &[".codex", "plugins", "**"],
    &[".agents", "skills", "**"],
    &[".agents", "plugins", "**"],
];

/// What every hook knows of it.
pub const NEIGHBOUR: Neighbour = Neighbour {
    word: Codex::FACTS.word,
    product: Codex::FACTS.product,
    marks: &["turn_id", "model"],
    places,
    copies: None,
};

/// The places that Codex is governed by and started from.
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

/// Names of MCP servers and tools that Codex does not tell from others.
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

/// What the frame admits and Codex has no tool for but its shell, which the frame does not admit; in words.
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
