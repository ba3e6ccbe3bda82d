//! A settings file of Claude Code: which entries in it are ours, and how they get in and out.

mod asked;
pub mod doctor;
pub mod entry;
mod fault;
pub mod install;
mod layers;
mod splice;

pub use asked::{Fault, vendors_faults};
pub use fault::{SHELL_REMEDY, losses, misspelled, on, shell_losses, shell_obeys, stops, unreadable};
pub use layers::{Layer, Layers, Role, machine, text_of, user_folder};
pub use splice::{blank, only_entries_differ, taken_out, with_entries};

use crate::adapter::Registration;
use crate::adapter::claude::{Claude, EVENTS, Form, SHELL_END, group};
use crate::adapter::setup::terms::{EntryTerms, names, unquoted};
use crate::adapter::setup::tree::{self, Node};

/// Whether this hook entry runs our hook program, however it is spelled.
fn is_ours(entry: &Node) -> bool {
    let runs = |node: Option<&Node>| node.and_then(Node::text).is_some_and(|text| names(text, Claude::FACTS.program));
    runs(entry.get("command")) || entry.get("args").is_some_and(|args| args.items().iter().any(|word| runs(Some(word))))
}

/// The hook entries of a group.
fn entries(group: &Node) -> &[Node] {
    group.get("hooks").map(Node::items).unwrap_or_default()
}

/// Whether nothing but our hook is run by this group.
fn wholly_ours(group: &Node) -> bool {
    !entries(group).is_empty() && entries(group).iter().all(is_ours)
}

/// What stands under one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing of ours.
    Nothing,
    /// What `mh-setup` writes for these terms.
    Exact(Registration, EntryTerms, Form),
    /// It runs our program and is not what `mh-setup` writes; why.
    Altered(String),
}

/// What each of our events holds.
pub fn found(settings: &Node) -> Vec<(&'static str, Found)> {
    EVENTS.into_iter().map(|event| (event, at_event(settings, event))).collect()
}

fn at_event(settings: &Node, event: &str) -> Found {
    let groups = settings.find(&["hooks", event]).map(Node::items).unwrap_or_default();
    let mut best = Found::Nothing;
    for each in groups.iter().filter(|group| entries(group).iter().any(is_ours)) {
        match reading(each) {
            exact @ Found::Exact(..) => return exact,
            other => best = other,
        }
    }
    best
}

/// What a group that holds our hook comes to.
fn reading(found: &Node) -> Found {
    let Some(entry) = entries(found).iter().find(|entry| is_ours(entry)) else { return Found::Nothing };
    let Some(command) = entry.get("command").and_then(Node::text) else {
        return Found::Altered("its `command` is not a string".into());
    };
    let (form, words) = match entry.get("args") {
        Some(args) => {
            let words = std::iter::once(Some(command)).chain(args.items().iter().map(Node::text));
            (Form::Exec, words.map(|word| word.map(String::from)).collect::<Option<Vec<_>>>())
        }
        None => (Form::Shell, command.strip_suffix(SHELL_END).and_then(unquoted)),
    };
    let Some((program, terms)) =
        words.and_then(|words| Some((words.first()?.clone(), EntryTerms::of(words.get(1..)?)?)))
    else {
        return Found::Altered("its command line is not one that mh-setup writes".into());
    };
    let line = terms.registration(&program);
    let written = tree::json(&group(&line, form, None));
    match written.is_ok_and(|written| written.same(found)) {
        true => Found::Exact(line, terms, form),
        false => Found::Altered(difference(found, entry)),
    }
}

/// What about the entry differs, for the keys that decide whether it holds.
fn difference(group: &Node, entry: &Node) -> String {
    let spelled = |node: Option<&Node>| node.map_or("missing", Node::noun);
    if group.get("matcher").and_then(Node::text) != Some("*") {
        return "its `matcher` is not \"*\", so some calls pass it by".into();
    }
    if entry.get("onFailure").and_then(Node::text) != Some("block") {
        return format!(
            "its `onFailure` is not \"block\" ({}), so a call runs when the hook fails",
            spelled(entry.get("onFailure"))
        );
    }
    match entry.get("async") {
        Some(node) if node.bool() != Some(false) => "it has `async`, so nobody waits for its answer".into(),
        _ => "it is not as mh-setup writes it".into(),
    }
}

/// The commands of other people's hooks on our events, with the event.
pub fn others(settings: &Node) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for event in EVENTS {
        let groups = settings.find(&["hooks", event]).map(Node::items).unwrap_or_default();
        for entry in groups.iter().flat_map(entries).filter(|entry| !is_ours(entry)) {
            let words = ["command", "url", "prompt", "tool", "type"].into_iter().find_map(|key| entry.get(key)?.text());
            all.push((event, words.unwrap_or("?").to_string()));
        }
    }
    all
}
