//! An examination of the settings that Claude Code reads in one folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Rank, SHELL_REMEDY, SettingsEntry, SettingsFile, SettingsFiles, found, misspelled, on, others, shell_obeys,
    user_folder,
};
use crate::adapter::claude::{Claude, EntryForm, SHELL_END};
use crate::adapter::setup::file::absolute;
use crate::adapter::setup::report::{Liveness, Loss, Report, SeenFile};
use crate::adapter::setup::terms::names;
use crate::adapter::setup::tree::Spanned;
use crate::adapter::setup::{Depth, Examined, Setup as _, Trial, Unplaced, WholeEntry, Wiring, mcp_call, payloads};
use crate::os::git;
use crate::os::obeyed::obeyed;

/// The settings that are read in one folder.
pub(super) struct ReadSettings {
    project: PathBuf,
    files: Vec<SettingsFile>,
}

impl ReadSettings {
    /// `flag` is the file of `--settings`.
    pub(super) fn read(etc: &Path, project: &Path, flag: Option<&Path>) -> Result<ReadSettings, Unplaced> {
        let flag = flag.map(absolute).transpose()?;
        if let Some(missing) = flag.as_ref().filter(|file| !file.exists()) {
            return Err(Unplaced::Missing(format!(
                "{}: no such file, and claude does not start with --settings on it",
                missing.display()
            )));
        }
        let places = SettingsFiles { etc: etc.into(), user: user_folder(&own)?, project: project.into(), flag };
        Ok(ReadSettings { project: project.into(), files: places.read() })
    }
}

impl Examined for ReadSettings {
    fn files(&self) -> Vec<SeenFile> {
        self.files.iter().map(seen).collect()
    }

    fn entries(&self, report: &mut Report) -> Vec<WholeEntry> {
        entries(&self.files, report)
    }

    fn absent(&self, report: &mut Report) {
        hint(&self.project, report);
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        match name {
            "CLAUDE_PROJECT_DIR" => Some(self.project.clone().into()),
            name => own(name),
        }
    }

    fn look(&self, guard: &WholeEntry, depth: Depth, report: &mut Report) {
        let file = &self.files[guard.at];
        report.losses.extend(losses(&self.files, file.rank, guard.shell.is_some()));
        for managed in self.files.iter().filter(|file| file.rank == Rank::Managed) {
            let stops = |why: &String| format!("{}: claude does not start: {why}", managed.path.display());
            report.why.extend(managed.broken.as_ref().map(stops));
        }
        // the program starts nothing that settings name (measured), but a library that they preload would be loaded
        if depth == Depth::Probed && !report.losses.iter().any(|loss| loss.key.starts_with("env.LD_")) {
            vendors_word(file, &self.project, report);
        }
        if guard.shell.is_some() {
            report.notes.push(
                "the entry is the form for older releases: a shell starts the program, and what a shell obeys can answer \
                 for it; mh-setup claude writes the form that needs none"
                    .into(),
            );
        }
        if file.rank == Rank::Project {
            worktrees(&self.project, &file.path, report);
        }
    }

    fn trial(&self, guard: &WholeEntry) -> Trial {
        let project = &self.project;
        // the variables in the settings. Those that are losses were found before, and a hook of managed settings gets
        // no other file's variables
        let managed = self.files[guard.at].rank == Rank::Managed;
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        for file in self.files.iter().filter(|file| !managed || file.rank == Rank::Managed) {
            let members = file.root.as_ref().and_then(|root| root.get("env")).map(Spanned::members).unwrap_or_default();
            let set = |node: &Spanned| node.text().unwrap_or_default().into();
            variables.extend(members.iter().map(|member| (member.key.clone().into(), set(&member.node))));
        }
        variables.extend([
            ("CLAUDECODE".into(), "1".into()),
            ("CLAUDE_PROJECT_DIR".into(), project.clone().into()),
            ("CLAUDE_CODE_ENTRYPOINT".into(), "cli".into()),
            ("CLAUDE_CODE_SESSION_ID".into(), "mh-doctor".into()),
        ]);
        let common = json!({"session_id": "mh-doctor", "transcript_path": "/dev/null", "cwd": project,
                            "prompt_id": "mh-doctor", "permission_mode": "default"});
        let file = project.join("mh-doctor");
        let calls = vec![
            ("Bash", json!({"command": "true"})),
            ("Write", json!({"file_path": file, "content": ""})),
            ("Read", json!({"file_path": file})),
            ("WebFetch", json!({"url": "http://127.0.0.1/", "prompt": ""})),
            ("Grep", json!({"pattern": "x", "path": project})),
            ("Glob", json!({"pattern": "*", "path": project})),
            ("Skill", json!({"skill": "mh-doctor"})),
            ("Agent", json!({"prompt": "", "description": ""})),
            ("TodoWrite", json!({"todos": []})),
            mcp_call(),
            ("AskUserQuestion", json!({"questions": []})),
        ];
        let (calls, quiet) = payloads(&Claude::FACTS, &common, calls);
        Trial { shell: None, variables, wiring: Wiring::Sockets, calls, quiet }
    }
}

/// A variable of this process.
fn own(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn seen(file: &SettingsFile) -> SeenFile {
    let status = match (&file.text, &file.broken) {
        (None, _) => "absent".into(),
        (_, Some(why)) => format!("not read by the vendor: {why}"),
        _ => "read".into(),
    };
    let root = file.root.as_ref();
    let entries = root.map(|root| found(root).iter().filter(|(_, found)| *found != SettingsEntry::Nothing).count());
    SeenFile::new(file.rank.word(), &file.path, status, entries, root.map(others))
}

/// See [`Examined::entries`].
fn entries(files: &[SettingsFile], report: &mut Report) -> Vec<WholeEntry> {
    let mut all = Vec::new();
    for (at, settings) in files.iter().enumerate() {
        let file = settings.path.display();
        if let (Some(why), Some(Ok(text))) = (&settings.broken, &settings.text)
            && names(text, Claude::FACTS.program)
        {
            report.state = Liveness::NotLive;
            report
                .why
                .push(format!("{file}: the vendor passes over a file that is not in order, without a word: {why}"));
        }
        let Some(root) = &settings.root else { continue };
        if let Some(why) = misspelled(root) {
            report.state = Liveness::Altered;
            report.why.push(format!("{file}: {why}"));
        }
        match complete(at, &settings.path, root) {
            Ok(None) => {}
            Ok(Some(whole)) => all.push(whole),
            Err(why) => {
                report.state = Liveness::Altered;
                report.why.extend(why.into_iter().map(|why| format!("{file}: {why}; say mh-setup claude again")));
            }
        }
    }
    if !all.is_empty() {
        // another hook beside it denies for itself, and removes nothing
        report.notes.append(&mut report.why);
    }
    let broken = files.iter().filter_map(|file| Some((file, file.broken.as_ref()?)));
    let nothing = all.is_empty() && report.state == Liveness::Absent;
    for (settings, why) in broken.filter(|_| nothing) {
        report.unreadable(&settings.path, why);
    }
    all
}

/// The one line of all our events; `None` if nothing of ours is there.
fn complete(at: usize, file: &Path, root: &Spanned) -> Result<Option<WholeEntry>, Vec<String>> {
    let all = found(root);
    if all.iter().all(|(_, found)| *found == SettingsEntry::Nothing) {
        return Ok(None);
    }
    let (mut why, mut whole) = (Vec::new(), None);
    for (event, found) in all {
        match found {
            SettingsEntry::Nothing => why.push(format!("hooks.{event} has no entry of ours")),
            SettingsEntry::Altered(what) => why.push(format!("hooks.{event}: {what}")),
            SettingsEntry::Exact(line, terms, form) => {
                let shell = (form == EntryForm::Shell).then(|| line.shell_words() + SHELL_END);
                let found = WholeEntry { at, file: file.into(), line, terms, shell, older: None };
                if !whole.get_or_insert_with(|| found.clone()).goes_with(&found) {
                    why.push(format!("hooks.{event} has another line than the events before it"));
                }
            }
        }
    }
    if why.is_empty() { Ok(whole) } else { Err(why) }
}

/// Everything that disables an entry in a file of this rank.
fn losses(files: &[SettingsFile], guard: Rank, by_shell: bool) -> Vec<Loss> {
    let mut all = Vec::new();
    let root = |rank: Rank| files.iter().filter(move |file| file.rank == rank).filter_map(|file| file.root.as_ref());
    // in the file of --settings, it overrides the other files for that file's hooks
    let held = guard == Rank::Flag
        && root(Rank::Flag).any(|root| root.get("disableAllHooks").and_then(Spanned::bool) == Some(false));
    for file in files {
        all.extend(file.losses(guard).into_iter().filter(|loss| !(held && loss.key == "disableAllHooks")));
        if by_shell {
            all.extend(file.shell_losses(guard));
        }
    }
    let is_on = |name: &str| own(name).is_some_and(|value| on(&value.to_string_lossy()));
    let mut lost = |name: &str, what: &str, remedy: &str| {
        all.push(Loss::new(name, what, remedy).within("the environment"));
    };
    for name in ["CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE"] {
        if guard != Rank::Managed && is_on(name) {
            lost(name, "switches hooks off", "unset it");
        }
    }
    // the vendor ignores it in settings (measured)
    let trust = "CLAUDE_CODE_IGNORE_PERSISTED_TRUST";
    if matches!(guard, Rank::Project | Rank::Local) && is_on(trust) {
        lost(trust, "drops the hooks of the project's own files", "unset it, or say mh-setup claude --user");
    }
    if by_shell {
        for name in ["CLAUDE_CODE_SHELL_PREFIX", "SHELLOPTS"] {
            if let (true, Some(what)) = (own(name).is_some_and(|value| !value.is_empty()), shell_obeys(name)) {
                lost(name, what, SHELL_REMEDY);
            }
        }
        for name in ["LD_PRELOAD", "LD_AUDIT"] {
            if let (true, Some(what)) = (own(name).is_some_and(|value| !value.is_empty()), obeyed(name)) {
                lost(name, what, SHELL_REMEDY);
            }
        }
    }
    all
}

/// Ask the vendor's own doctor about the settings: it knows every key whose value can disable a file.
fn vendors_word(guard: &SettingsFile, project: &Path, report: &mut Report) {
    let Some((program, answer)) = Claude.objections(project) else { return };
    match answer {
        Err(why) => report
            .notes
            .push(format!("{} doctor was asked about the settings and did not answer: {why}", program.display())),
        Ok(all) => {
            for objection in all {
                let line = objection.line();
                match objection.file == guard.path.to_string_lossy() && objection.whole {
                    true => report.why.push(format!(
                        "by claude doctor, and the vendor passes over a file that is not in order: {line}"
                    )),
                    false => report.notes.push(format!("by claude doctor: {line}")),
                }
            }
        }
    }
}

/// See [`Examined::absent`].
fn hint(project: &Path, report: &mut Report) {
    let above = project.ancestors().skip(1).map(|folder| folder.join(".claude/settings.json"));
    let home = user_folder(&own).ok().flatten().map(|folder| folder.join("settings.json"));
    let ours = |file: &PathBuf| names(&fs_err::read_to_string(file).unwrap_or_default(), Claude::FACTS.program);
    for file in above.filter(|file| Some(file) != home.as_ref()).filter(&ours) {
        report.why.push(format!(
            "{}: an entry of ours, which the vendor does not read when it is started here; start it there",
            file.display()
        ));
    }
    let main = git::checkout(project).and_then(|own| git::main_checkout(&own));
    if let Some(file) = main.map(|main| main.join(".claude/settings.json")).filter(&ours) {
        report.why.push(format!(
            "{}: an entry of ours in the main checkout, which the vendor does not read in a linked worktree; say mh-setup \
             claude --project . here as well, or --local there, which is read here too",
            file.display()
        ));
    }
    let next = "say mh-setup claude --project . --frame FILE, or --local, or --user";
    report.why.push(format!("nothing of ours in any file that is read here; {next}"));
}

/// Report the linked worktrees of a project, in which its entry is not read.
fn worktrees(project: &Path, file: &Path, report: &mut Report) {
    for worktree in git::worktrees(project) {
        let own = worktree.join(".claude/settings.json");
        let text = fs_err::read_to_string(own).unwrap_or_default();
        if !names(&text, Claude::FACTS.program) {
            report.notes.push(format!(
                "{}: a linked worktree, in which {} is not read; say mh-setup claude --project there as well, or --local here, \
                 which is read there too",
                worktree.display(),
                file.display()
            ));
        }
    }
}
