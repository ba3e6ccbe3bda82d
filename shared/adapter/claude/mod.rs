//! Claude Code. Facts are measured on the release in [`hook::table::TABLE`], headless, unless a line
//! says otherwise.

mod hook;
#[cfg(feature = "run")]
pub(crate) mod run;
#[cfg(feature = "setup")]
pub mod setup;

#[cfg(feature = "setup")]
pub use setup::entry::{EVENTS, EntryForm, SHELL_END, group, managed, settings};

use std::path::{Path, PathBuf};

use super::places::folder;
use super::without_shell;
use super::{
    Environment, Event, Facts, Hook, Input, Neighbour, Payload, Place, Preview, Protected, RawAsks, RawNeed, Sample,
    Shape, Verdict, Wire, is_blank,
};
use crate::decide::{Half, Reading, Wanted};
use crate::frame::{Operation, mcp};
use crate::scope::fold;
use crate::seal::VerifiedFrame;

/// The oldest release that honours `"onFailure": "block"`; older ones ignore it silently.
pub const FAILS_CLOSED_FROM: &str = "2.1.295";

/// Claude Code.
#[derive(Debug)]
pub struct Claude;

impl Claude {
    /// The fixed facts about Claude Code.
    pub const FACTS: Facts = Facts {
        product: "Claude Code",
        word: "claude",
        program: "mh-hook-claude",
        undo: "remove the mh-hook-claude entries from the settings file they stand in",
        // A context above 10,000 characters is replaced by a preview of 2 KB; the rest is room for the vendor's own
        // words before it.
        text_limit: 9_500,
        oldest: FAILS_CLOSED_FROM,
        allow: "granted: the vendor asks nobody, and its own deny and ask rules still hold",
        replaced: hook::takes::TAKES,
        unseen: &[],
        // `AGENTS.md` in a folder that has no `CLAUDE.md` (measured).
        loaded: &[&["claude.md"], &["claude.local.md"], &["agents.md"], &[".claude", "rules", "**"]],
        gate: "PreToolUse",
        payload: Shape {
            event: "hook_event_name",
            tool: "tool_name",
            input: "tool_input",
            call_id: "tool_use_id",
            session: "session_id",
            agent: "agent_id",
            cwd: "cwd",
            mcp_server: Some(("mcp_server", "name")),
            asked: &["file_path", "notebook_path", "path", "pattern", "command", "server", "ws", "isolation", "args"],
        },
        // 2.1.332
        mcp: mcp::Rendering { prefix: "mcp__", separator: "__", kept: &['-'], units: true },
        // the folder in which the session started: it stays when the session's own folder moves
        project: Some("CLAUDE_PROJECT_DIR"),
        table: &hook::table::TABLE,
    };
}

impl Hook for Claude {
    fn facts(&self) -> &'static Facts {
        &Self::FACTS
    }

    /// The length in UTF-16 units, as JavaScript counts characters.
    fn measure(&self, text: &str) -> usize {
        text.encode_utf16().count()
    }

    fn event(&self, name: &str) -> Event {
        match name {
            "PreToolUse" | "PreSkillShellCommand" => Event::Gate,
            "PermissionRequest" => Event::Approval,
            "UserPromptSubmit" => Event::Prompt,
            "SessionStart" | "SubagentStart" => Event::Start,
            _ if PASSING.contains(&name) => Event::Passing,
            _ => Event::Unknown,
        }
    }

    /// The payload has the server's own name. Releases without it leave only the rendered name.
    fn mcp(&self, payload: &Payload<'_>, tool: &str) -> RawAsks {
        let rendering = &Self::FACTS.mcp;
        let Some(server) = &payload.mcp_server else { return super::any_reading(tool, &Self::FACTS.mcp) };
        match tool.strip_prefix(&rendering.join(&rendering.of(server), "")) {
            Some(rest) if !server.is_empty() && !rest.is_empty() => {
                let reading =
                    Reading { server: Half::Own(server.clone()), tool: Half::Rendered(rest.into(), rendering) };
                let wanted = Wanted::Mcp { rendered: tool.into(), readings: vec![reading] };
                RawAsks::Needs(vec![RawNeed { wanted, path: None }])
            }
            _ => RawAsks::Inadmissible("is not a tool of the mcp server that the payload names".into()),
        }
    }

    /// At PermissionRequest, `allow` lifts ask rules, plan mode and protected files; at PreToolUse it does not.
    fn grants_approval(&self, _: &str) -> bool {
        false
    }

    /// The vendor makes the paths of its own calls absolute. Its treatment of an embedder's path is unknown, so that
    /// must be absolute already.
    fn refuses_replace(&self, input: &Input<'_>, _: &str) -> Option<String> {
        let relative = |member: &&&str| input.text(member).is_some_and(|path| !path.starts_with('/'));
        let member = ["file_path", "notebook_path", "path"].iter().find(relative)?;
        Some(format!("has a `{member}` in the replaced input that is not an absolute path"))
    }

    fn answer(&self, event: Event, name: &str, verdict: &Verdict) -> Wire {
        hook::answer::answer(event, name, verdict)
    }
}

impl Preview for Claude {
    /// A file's path arrives absolute, with `..` removed; a search's path arrives as written. The vendor's reading of a
    /// path that begins with `~` or a blank is unknown: it is judged as written, which denies it.
    fn sample(&self, tool: &str, about: &str, folder: &Path) -> Option<Sample> {
        let file = || match about.starts_with(|c| c == '~' || is_blank(c)) {
            true => about.to_string(),
            false => fold(&folder.join(about)).to_string_lossy().into_owned(),
        };
        let on_file = matches!(tool, "Write" | "Read" | "Edit" | "MultiEdit" | "NotebookEdit");
        if on_file && about.is_empty() {
            return None;
        }
        let about = about.to_string();
        Some(match tool {
            "Write" => vec![("file_path", file()), ("content", String::new())],
            "Read" | "Edit" | "MultiEdit" => vec![("file_path", file())],
            "NotebookEdit" => vec![("notebook_path", file())],
            "Grep" | "LS" if about.is_empty() => vec![],
            "Grep" | "LS" => vec![("path", about)],
            "Glob" => vec![("pattern", about)],
            "Bash" | "PowerShell" | "Monitor" => vec![("command", about)],
            "WebFetch" => vec![("url", about)],
            "WebSearch" => vec![("query", about)],
            "Skill" => vec![("skill", about)],
            "ListMcpResourcesTool" | "ReadMcpResourceTool" => vec![("server", about)],
            _ => vec![],
        })
    }

    fn advice(&self, frame: &VerifiedFrame) -> Vec<String> {
        let names = without_shell(frame, &[Operation::DirList, Operation::Search]);
        let said = names.map(|names| {
            format!(
                "Claude Code offers its tools for {names} only when asked (--tools with Glob and Grep); else its shell \
                 does that, and shell is not admitted"
            )
        });
        said.into_iter().collect()
    }
}

/// The files that Claude Code takes its guard, its servers and its own programs from. The header of an agent, a skill
/// or a command can hold hooks and servers, and its text can hold commands that run on loading. The rest are the
/// folders that its own sandbox keeps from writing.
const STARTED: &[&[&str]] = &[
    &[".mcp.json"],
    &[".claude", "agents", "**"],
    &[".claude", "skills", "**"],
    &[".claude", "commands", "**"],
    &[".claude", "hooks", "**"],
    &[".claude", "plugins", "**"],
    &[".claude", "workflows", "**"],
    &[".claude", "routines", "**"],
    &[".claude", "scheduled_tasks.json"],
    &[".claude", "launch.json"],
    &[".claude", "daemon.json"],
];

/// The facts about Claude Code for every vendor's hook.
pub const NEIGHBOUR: Neighbour = Neighbour {
    word: Claude::FACTS.word,
    product: Claude::FACTS.product,
    marks: &["prompt_id", "effort"],
    places,
    // 2.1.332, measured: by `isolation` of a call, of an agent's file and of a workflow
    copies: Some([".claude", "worktrees"]),
};

/// The places that govern and start Claude Code.
fn places(environment: Environment<'_>, project: Option<&Path>) -> Vec<Protected> {
    let what = "the configuration of Claude Code";
    let home = folder(environment, "HOME", project);
    let folders = [folder(environment, "CLAUDE_CONFIG_DIR", project), home.as_ref().map(|home| home.join(".claude"))];
    let mut places = vec![
        Place::Names(&[".claude", "settings*.json"]),
        Place::Names(&[".claude.json"]),
        Place::folder("/etc/claude-code".into(), project),
    ];
    // the folder first: if it is missing, nothing below it is looked up
    let own = [".claude", ".claude/settings.json", ".claude/settings.local.json"];
    places.extend(project.into_iter().flat_map(|project| own.map(|file| Place::File(project.join(file)))));
    // files in it may be links into another folder, where people keep such files
    let mut linked: Vec<PathBuf> = project.into_iter().map(|project| project.join(".claude")).collect();
    for folder in folders.into_iter().flatten() {
        let settings = folder.join("settings.json");
        linked.push(folder.clone());
        places.push(Place::folder(folder, project));
        places.push(Place::File(settings));
    }
    places.extend(home.map(|home| Place::File(home.join(".claude.json"))));
    let mut all: Vec<Protected> = places.into_iter().map(|place| Protected::guard(place, what)).collect();
    let what = "what Claude Code starts or obeys by itself at its next start";
    all.extend(STARTED.iter().map(|names| Protected::starts(Place::Names(names), what)));
    all.extend(project.map(|project| Protected::starts(Place::File(project.join(".mcp.json")), what)));
    let linked = linked.iter().flat_map(|folder| ["agents", "skills", "commands"].map(|name| folder.join(name)));
    all.extend(linked.map(|folder| Protected::starts(Place::folder(folder, project), what)));
    let what = "the program of Claude Code";
    let program: [&[&str]; 2] =
        [&["node_modules", "@anthropic-ai", "claude-code*", "**"], &[".local", "share", "claude", "**"]];
    all.extend(program.map(|names| Protected::guard(Place::Names(names), what)));
    all
}

/// The other events that the program knows. Exit 2 would loop at `Stop` and replace output at `PostToolUse`, so these
/// events get no answer.
const PASSING: [&str; 28] = [
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "UserPromptExpansion",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_names_are_rendered_as_it_was_seen_to() {
        for (name, rendered) in [
            ("Ünï", "_n_"),
            ("my server", "my_server"),
            ("dash-name.dot", "dash-name_dot"),
            ("😀", "__"),
            ("a_b", "a_b"),
        ] {
            assert_eq!(Claude::FACTS.mcp.of(name), rendered);
        }
    }
}
