//! The cases, by subject.

pub mod agents;
mod answers;
mod around;
mod around_run;
mod decider;
mod doctor;
mod faults;
mod frames;
mod governed;
mod live;
mod mcp_names;
mod operations;
mod outcomes;
mod permission;
mod prompts;
mod protected;
mod round_paths;
mod run;
mod scope;
mod tampering;
mod terminals;
mod text;
mod trust;

use std::fs;
use std::path::Path;

use super::launch::Entry;
use super::script::{Call, Mode, Script};
use super::session::{Codex, Outcome, Session, quoted};
use crate::case::{Case, Seen, Want};
use crate::entry::{self, Ask};
use crate::frame::Spec;
use crate::scratch::Scratch;

/// Every operation but `mcp.call`.
pub const OPERATIONS: [&str; 10] = [
    "file.read",
    "file.write",
    "file.edit",
    "dir.list",
    "search",
    "shell",
    "web.read",
    "skill.load",
    "subagent.spawn",
    "task.todo",
];

/// The file that a call makes if it runs.
pub const MARK: &str = "ran.txt";

pub fn all(codex: &Codex) -> Vec<Case> {
    let mut list = List { codex: codex.clone(), cases: Vec::new() };
    operations::list(&mut list);
    answers::list(&mut list);
    permission::list(&mut list);
    prompts::list(&mut list);
    mcp_names::list(&mut list);
    agents::list(&mut list);
    scope::list(&mut list);
    protected::list(&mut list);
    round_paths::list(&mut list);
    faults::list(&mut list);
    decider::list(&mut list);
    frames::list(&mut list);
    trust::list(&mut list);
    doctor::list(&mut list);
    live::list(&mut list);
    text::list(&mut list);
    tampering::list(&mut list);
    around::list(&mut list);
    run::list(&mut list);
    terminals::list(&mut list);
    governed::list(&mut list);
    outcomes::list(&mut list);
    around_run::list(&mut list);
    list.cases
}

pub struct List {
    codex: Codex,
    cases: Vec<Case>,
}

impl List {
    pub fn add(
        &mut self,
        name: impl Into<String>,
        want: Want,
        run: impl Fn(&Codex, &Scratch) -> Result<Seen, String> + Send + Sync + 'static,
    ) {
        let codex = self.codex.clone();
        self.cases.push(Case::new("codex", name, want, move |scratch| run(&codex, scratch)));
    }

    pub fn ran(
        &mut self,
        name: impl Into<String>,
        run: impl Fn(&Codex, &Scratch) -> Result<Seen, String> + Send + Sync + 'static,
    ) {
        self.add(name, Want::Ran, run);
    }

    pub fn blocked(
        &mut self,
        name: impl Into<String>,
        run: impl Fn(&Codex, &Scratch) -> Result<Seen, String> + Send + Sync + 'static,
    ) {
        self.add(name, Want::Blocked, run);
    }

    pub fn holds(
        &mut self,
        name: impl Into<String>,
        run: impl Fn(&Codex, &Scratch) -> Result<Seen, String> + Send + Sync + 'static,
    ) {
        self.add(name, Want::Holds, run);
    }

    /// Adds a case for a hole that the README names.
    pub fn limit(
        &mut self,
        name: impl Into<String>,
        limit: &'static str,
        run: impl Fn(&Codex, &Scratch) -> Result<Seen, String> + Send + Sync + 'static,
    ) {
        let codex = self.codex.clone();
        self.cases.push(Case::new("codex", name, Want::Ran, move |scratch| run(&codex, scratch)).limit(limit));
    }
}

/// A frame that admits all operations but these.
pub fn all_but(left_out: &[&str]) -> Spec {
    let rest: Vec<&str> = OPERATIONS.into_iter().filter(|operation| !left_out.contains(operation)).collect();
    Spec::admitting(&rest)
}

/// A session under this frame, sealed, pinned and registered as usual.
pub fn under<'a>(
    codex: &'a Codex,
    scratch: &'a Scratch,
    mode: Mode,
    spec: &Spec,
    script: Script,
) -> Result<Session<'a>, String> {
    let entry = pinned(scratch, spec)?;
    Ok(Session::new(codex, scratch, mode, script).entry(&entry.text))
}

/// The entry for this frame: pinned, policy `frame`.
pub fn pinned(scratch: &Scratch, spec: &Spec) -> Result<Entry, String> {
    let frame = spec.seal(scratch, "frame.json")?;
    printed(scratch, &Ask::pinned(&frame))
}

pub fn printed(scratch: &Scratch, ask: &Ask) -> Result<Entry, String> {
    Entry::read(entry::codex(scratch, ask)?)
}

/// Run one call under a frame; the outcome is whether `MARK` exists.
pub fn one(codex: &Codex, scratch: &Scratch, mode: Mode, spec: &Spec, call: &Call) -> Result<Seen, String> {
    let outcome = one_outcome(codex, scratch, mode, spec, call)?;
    outcome.effect(scratch.exists(MARK))
}

pub fn one_outcome(codex: &Codex, scratch: &Scratch, mode: Mode, spec: &Spec, call: &Call) -> Result<Outcome, String> {
    under(codex, scratch, mode, spec, Script::calls(mode, std::slice::from_ref(call)))?.run()
}

/// The shell call that most cases make.
pub fn touch() -> Call {
    Call::shell("echo ran > ran.txt")
}

/// A patch that adds one file.
pub fn adds(path: &str) -> Call {
    Call::patch(&format!("*** Begin Patch\n*** Add File: {path}\n+ran\n*** End Patch"))
}

pub fn place(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("could not make {}: {error}", folder.display()))?;
    }
    fs::write(path, text).map_err(|error| format!("could not write {}: {error}", path.display()))
}

pub fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Fails with the first check that does not hold.
pub fn hold<const N: usize>(checks: [(bool, &str); N], detail: &str) -> Result<Seen, String> {
    match checks.iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(format!("does not hold: {what}; {detail}")),
        None => Ok(Seen::held()),
    }
}

/// Whether the model got our hook's denial.
pub fn denied(outcome: &Outcome) -> bool {
    outcome.told().contains("PreToolUse hook")
}

pub fn fifo(path: &Path) -> Result<(), String> {
    match std::process::Command::new("mkfifo").arg(path).status() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("could not make a pipe at {}: {other:?}", path.display())),
    }
}

/// Words that start a command with a folder's files over those in /etc, in a mount namespace of its own. It takes root.
pub fn over_etc(folder: &Path) -> [String; 6] {
    let script = format!(
        "set -e; t=$(mktemp -d); mount -t tmpfs none \"$t\"; cp -a /etc/. \"$t\"; cp -a {}/. \"$t\"; \
         mount --bind \"$t\" /etc; exec \"$@\"",
        quoted(&folder.to_string_lossy())
    );
    ["unshare".into(), "-m".into(), "sh".into(), "-c".into(), script, "sh".into()]
}
