//! Codex. Facts are measured on the release in [`table::TABLE`], `codex exec` unless a line says
//! otherwise.

mod answer;
mod entry;
mod patch;
mod table;

pub use entry::{
    EVENTS, FEATURES, SESSION, basic, command, config, group, hook_words, managed, session, trust, trust_key,
    trusted_hash,
};

use std::path::{Path, PathBuf};

use super::{Environment, Event, Input, Payload, Place, Protected, RawAsks, Table, Vendor, Verdict, Wire};
use crate::decide::Half;
use crate::frame::mcp;

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
pub struct Codex;

impl Vendor for Codex {
    const PRODUCT: &'static str = "Codex";
    const WORD: &'static str = "codex";
    const PROGRAM: &'static str = "mh-hook-codex";
    const UNDO: &'static str = "remove the mh-hook-codex entries from the config.toml they stand in";
    /// The vendor counts four bytes for a token; some room for what it puts around the text.
    const TEXT_LIMIT: usize = CONTEXT_TOKENS as usize * 4 - 4_000;
    /// Of older ones it was not measured whether they take hooks and trust from the launch line.
    const OLDEST: &'static str = table::TABLE.release;
    const ALLOW: &'static str = "not denied: the vendor goes on, and an MCP call is approved where it would ask";
    const REPLACED: &'static [&'static str] = &["Bash", "apply_patch", "view_image", "update_plan", "spawn_agent"];
    /// By the kind of the item in the vendor's rollout; what is typed into a terminal is told by its
    /// source.
    const UNSEEN: &'static [(&'static str, &'static str)] = &[
        ("WebSearch", "hosted web search runs at the provider, and is off unless web.read is admitted"),
        ("ImageGeneration", "hosted image generation runs at the provider"),
        ("write_stdin", "typing into a terminal fires no hook, and a turn is given no terminal"),
    ];

    fn table() -> &'static Table {
        &table::TABLE
    }

    fn measure(text: &str) -> usize {
        text.len()
    }

    fn event(name: &str) -> Event {
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

    fn stranger(payload: &Payload<'_>) -> Option<&'static str> {
        super::other_agent(payload).or((payload.keys.prompt_id && !payload.keys.turn_id).then_some("Claude Code"))
    }

    /// Nothing but the rendered name is given. Of servers that render alike the vendor adds a hash
    /// to the name, which no name in a frame renders to: denied.
    fn mcp(_: &Payload<'_>, tool: &str) -> RawAsks {
        super::any_reading(tool, Half::Narrow)
    }

    /// `codex exec` has no other way to run an MCP tool that wants an approval. For a shell it
    /// would grant an escalation out of the sandbox that the payload does not show.
    fn grants_approval(tool: &str) -> bool {
        tool.starts_with(mcp::PREFIX)
    }

    fn protected(environment: Environment<'_>, project: Option<&Path>) -> Vec<Protected> {
        let home = environment("HOME").map(PathBuf::from);
        let mut places = vec![
            Place::Named { folder: ".codex", prefix: "", suffix: ".toml" },
            Place::Named { folder: ".codex", prefix: "hooks", suffix: ".json" },
            Place::Folder("/etc/codex".into()),
        ];
        let folders = [environment("CODEX_HOME").map(PathBuf::from), home.as_ref().map(|home| home.join(".codex"))];
        let own = [".codex/config.toml", ".codex/hooks.json"];
        places.extend(project.into_iter().flat_map(|project| own.map(|file| Place::File(project.join(file)))));
        for folder in folders.into_iter().flatten() {
            // either may be a link into another folder, where people keep such files
            places.extend(["config.toml", "hooks.json"].map(|file| Place::File(folder.join(file))));
            places.push(Place::Folder(folder));
        }
        let what = "the configuration of Codex";
        let mut protected: Vec<Protected> = places.into_iter().map(|place| Protected { place, what }).collect();
        // zsh, as login shell, reads these before every hook; of two, the compiled one if newer
        let own = [home, environment("ZDOTDIR").map(PathBuf::from)].into_iter().flatten();
        let start_up = own.map(|folder| folder.join(".zshenv")).chain(["/etc/zshenv".into(), "/etc/zsh/zshenv".into()]);
        for file in start_up {
            let what = "a start-up file of the shell that starts the hook";
            let mut compiled = file.clone().into_os_string();
            compiled.push(".zwc");
            protected.extend([file, compiled.into()].map(|file| Protected { place: Place::File(file), what }));
        }
        protected
    }

    /// None is named; the hook's own working folder is the session's. The payload's is the call's,
    /// and the agent's to choose.
    fn project(_: Environment<'_>) -> Option<PathBuf> {
        None
    }

    /// Measured for these tools. Of a shell and of a patch only `command` is replaced, whatever
    /// else is given.
    fn refuses_replace(event: &str, input: &Input<'_>, tool: &str) -> Option<String> {
        if event != "PreToolUse" {
            return Some(format!("takes no replaced input at {event}"));
        }
        match tool {
            "Bash" | "apply_patch" if input.text("command").is_none() => {
                Some("has no string `command` in the replaced input".into())
            }
            "Bash" | "apply_patch" if input.count() != 1 => {
                Some("takes nothing but `command` from a replaced input, and there is more in it".into())
            }
            tool if tool.starts_with(mcp::PREFIX) || Self::REPLACED.contains(&tool) => None,
            _ => Some("was not seen to run a replaced input, and then its own would run".into()),
        }
    }

    fn answer(event: Event, name: &str, verdict: &Verdict) -> Wire {
        answer::answer(event, name, verdict)
    }
}
