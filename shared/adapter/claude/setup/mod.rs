//! A settings file of Claude Code: our entries in it, adding them and removing them.

mod asked;
pub mod entry;
mod examined;
mod fault;
mod layers;
mod splice;

pub use fault::{SHELL_REMEDY, losses, misspelled, on, shell_losses, shell_obeys, stops, unreadable};
pub use layers::{Rank, SettingsFile, SettingsFiles, machine, user_folder};
pub use splice::{blank, only_entries_differ, taken_out, with_entries};

use std::path::{Path, PathBuf};

use crate::adapter::Registration;
use crate::adapter::claude::{Claude, EVENTS, EntryForm, FAILS_CLOSED_FROM, SHELL_END, group, managed, settings};
use crate::adapter::setup::file::absolute;
use crate::adapter::setup::terms::{EntryTerms, names, shell_word, unquoted};
use crate::adapter::setup::tree::{self, Spanned};
use crate::adapter::setup::{
    EntryPlace, Examined, Objection, Offers, PrintedForm, Setup, Standing, Unplaced, Unspliced,
};
use crate::json::Fault;
use crate::os::release::{Installed, NoAnswer, installed};

impl Setup for Claude {
    fn oldest(&self) -> (&'static str, &'static str) {
        (FAILS_CLOSED_FROM, "older ones let a call run when its hook fails")
    }

    fn unseen(&self) -> &'static [&'static str] {
        &[
            "how claude is started: --bare, --safe-mode, --restricted, and --setting-sources without the file of the entry, switch it off",
            "where claude is started: the project's entry is read in this very folder alone, not below it",
        ]
    }

    fn offers(&self) -> &'static Offers {
        &Offers {
            project: Ok("the settings of the project that is started in DIR"),
            local: Ok(
                "settings.local.json of the project in --project DIR, else of the working folder: for this machine",
            ),
            user: "the user's settings",
            print: "JSON for a settings file of Claude Code",
            shell: Ok("the form for releases before 2.1.295, which know no onFailure"),
            managed: "managed settings of Claude Code",
            flag: Some("--settings"),
        }
    }

    fn file(&self, place: &EntryPlace) -> Result<PathBuf, Unplaced> {
        match place {
            EntryPlace::Untold => Err(Unplaced::Untold("no place is given: --project DIR, --local or --user".into())),
            EntryPlace::Project(project) => Ok(real(project)?.join(PROJECT)),
            EntryPlace::Local(project) => Ok(real(project)?.join(LOCAL)),
            EntryPlace::User => {
                let folder = user_folder(&|name| std::env::var_os(name))?;
                let folder =
                    folder.ok_or_else(|| Unplaced::Missing("neither CLAUDE_CONFIG_DIR nor HOME is set".into()))?;
                Ok(absolute(&folder)?.join("settings.json"))
            }
        }
    }

    fn printed(&self, line: &Registration, form: PrintedForm) -> Result<String, Unplaced> {
        Ok(match form {
            PrintedForm::Written => settings(line, EntryForm::Exec),
            PrintedForm::Shell => settings(line, EntryForm::Shell),
            PrintedForm::Managed => managed(line),
        })
    }

    fn managed_file(&self) -> &'static str {
        "/etc/claude-code/managed-settings.json"
    }

    fn entries(&self) -> &'static str {
        "entries"
    }

    fn put_in(&self, text: Option<&str>, line: &Registration, _: &Path) -> Result<String, Unspliced> {
        // the vendor would not load it either, without a message, and every call would run
        match text.filter(|text| !blank(text)).and_then(unreadable) {
            Some(fault) => Err(fault.into()),
            None => Ok(with_entries(text, line)),
        }
    }

    fn take_out(&self, text: &str, _: &Path) -> Result<Option<String>, Unspliced> {
        if !blank(text) {
            tree::json(text)?;
        }
        Ok(taken_out(text))
    }

    fn only_entries_differ(&self, old: Option<&str>, new: &str, _: &Path) -> bool {
        only_entries_differ(old, new)
    }

    fn standing(&self, text: &str) -> Result<Vec<Standing>, Fault> {
        if blank(text) {
            return Ok(Vec::new());
        }
        let of = |(event, found)| {
            let stands = match found {
                SettingsEntry::Nothing => None,
                SettingsEntry::Altered(why) => Some(Err(why)),
                SettingsEntry::Exact(line, terms, _) => Some(Ok((line, terms))),
            };
            (event, stands)
        };
        let all: Vec<Standing> = found(&tree::json(text)?).into_iter().map(of).collect();
        Ok(if all.iter().all(|(_, stands)| stands.is_none()) { Vec::new() } else { all })
    }

    fn homes(&self, etc: &Path) -> Vec<(PathBuf, Option<String>)> {
        let user = user_folder(&|name| std::env::var_os(name)).ok().flatten();
        let user = user.map(|folder| (folder.join("settings.json"), Some("mh-setup claude --user --remove".into())));
        user.into_iter().chain(machine(etc).into_iter().map(|file| (file.path, None))).collect()
    }

    fn of_project(&self, folder: &Path) -> Vec<(PathBuf, Option<String>)> {
        let shown = shell_word(folder);
        vec![
            (folder.join(PROJECT), Some(format!("mh-setup claude --project {shown} --remove"))),
            (folder.join(LOCAL), Some(format!("mh-setup claude --local --project {shown} --remove"))),
        ]
    }

    fn objections(&self, folder: &Path) -> Option<(PathBuf, Result<Vec<Objection>, NoAnswer>)> {
        let Installed::At(program, _) = installed(Claude::FACTS.word) else { return None };
        let answer = asked::asked(&program, folder);
        Some((program, answer))
    }

    fn examine(&self, etc: &Path, project: &Path, flag: Option<&Path>) -> Result<Box<dyn Examined>, Unplaced> {
        Ok(Box::new(examined::ReadSettings::read(etc, project, flag)?))
    }
}

/// A project's settings for everybody who works in it.
pub(super) const PROJECT: &str = ".claude/settings.json";

/// A project's settings on this machine.
pub(super) const LOCAL: &str = ".claude/settings.local.json";

/// A project's folder as the vendor names the one that it starts in.
fn real(project: &Path) -> Result<PathBuf, Unplaced> {
    let real = fs_err::canonicalize(project).ok().filter(|project| project.is_dir());
    real.ok_or_else(|| Unplaced::Missing(format!("{}: no such folder", project.display())))
}

/// Whether this hook entry runs our hook program, in any spelling.
fn is_ours(entry: &Spanned) -> bool {
    let runs =
        |node: Option<&Spanned>| node.and_then(Spanned::text).is_some_and(|text| names(text, Claude::FACTS.program));
    runs(entry.get("command")) || entry.get("args").is_some_and(|args| args.items().iter().any(|word| runs(Some(word))))
}

fn entries(group: &Spanned) -> &[Spanned] {
    group.get("hooks").map(Spanned::items).unwrap_or_default()
}

/// Whether this group runs our hook and nothing else.
fn wholly_ours(group: &Spanned) -> bool {
    !entries(group).is_empty() && entries(group).iter().all(is_ours)
}

/// Our entry under one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsEntry {
    /// Nothing of ours.
    Nothing,
    /// The form that `mh-setup` writes for these terms.
    Exact(Registration, EntryTerms, EntryForm),
    /// It runs our program but differs from what `mh-setup` writes; the text is the difference.
    Altered(String),
}

/// Our entries, event by event.
pub fn found(settings: &Spanned) -> Vec<(&'static str, SettingsEntry)> {
    EVENTS.into_iter().map(|event| (event, at_event(settings, event))).collect()
}

fn at_event(settings: &Spanned, event: &str) -> SettingsEntry {
    let groups = settings.find(&["hooks", event]).map(Spanned::items).unwrap_or_default();
    let mut best = SettingsEntry::Nothing;
    for each in groups.iter().filter(|group| entries(group).iter().any(is_ours)) {
        match reading(each) {
            exact @ SettingsEntry::Exact(..) => return exact,
            other => best = other,
        }
    }
    best
}

/// Read a group that holds our hook.
fn reading(found: &Spanned) -> SettingsEntry {
    let Some(entry) = entries(found).iter().find(|entry| is_ours(entry)) else { return SettingsEntry::Nothing };
    let Some(command) = entry.get("command").and_then(Spanned::text) else {
        return SettingsEntry::Altered("its `command` is not a string".into());
    };
    let (form, words) = match entry.get("args") {
        Some(args) => {
            let words = std::iter::once(Some(command)).chain(args.items().iter().map(Spanned::text));
            (EntryForm::Exec, words.map(|word| word.map(String::from)).collect::<Option<Vec<_>>>())
        }
        None => (EntryForm::Shell, command.strip_suffix(SHELL_END).and_then(unquoted)),
    };
    let Some((program, terms)) =
        words.and_then(|words| Some((words.first()?.clone(), EntryTerms::of(words.get(1..)?)?)))
    else {
        return SettingsEntry::Altered("its command line is not one that mh-setup writes".into());
    };
    let line = terms.registration(&program);
    let written = tree::json(&group(&line, form, None));
    match written.is_ok_and(|written| written.same(found)) {
        true => SettingsEntry::Exact(line, terms, form),
        false => SettingsEntry::Altered(difference(found, entry, line.timeout())),
    }
}

/// The difference from the entry that `mh-setup` writes, in the keys that make it hold.
fn difference(group: &Spanned, entry: &Spanned, limit: u32) -> String {
    let spelled = |node: Option<&Spanned>| node.map_or("missing", Spanned::noun);
    if group.get("matcher").and_then(Spanned::text) != Some("*") {
        return "its `matcher` is not \"*\", so some calls pass it by".into();
    }
    if entry.get("onFailure").and_then(Spanned::text) != Some("block") {
        return format!(
            "its `onFailure` is not \"block\" ({}), so a call runs when the hook fails",
            spelled(entry.get("onFailure"))
        );
    }
    match entry.get("async") {
        Some(node) if node.bool() != Some(false) => "it has `async`, so nobody waits for its answer".into(),
        _ if entry.get("timeout").is_none_or(|node| !is_number(node, limit)) => {
            format!("its `timeout` is not {limit}, which leaves the hook the time that its line says")
        }
        _ => "it is not as mh-setup writes it".into(),
    }
}

fn is_number(node: &Spanned, number: u32) -> bool {
    matches!(&node.value, tree::Value::Number(text) if *text == number.to_string())
}

/// The commands of other hooks on our events, with the event.
pub fn others(settings: &Spanned) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for event in EVENTS {
        let groups = settings.find(&["hooks", event]).map(Spanned::items).unwrap_or_default();
        for entry in groups.iter().flat_map(entries).filter(|entry| !is_ours(entry)) {
            let words = ["command", "url", "prompt", "tool", "type"].into_iter().find_map(|key| entry.get(key)?.text());
            all.push((event, words.unwrap_or("?").to_string()));
        }
    }
    all
}
