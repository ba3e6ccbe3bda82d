//! Codex's `config.toml`: which entries in it are ours, whether they are trusted, and how they get
//! in and out.

mod around;
pub mod doctor;
pub mod dotenv;
pub mod entry;
pub mod install;
mod layers;
mod read;
mod splice;

pub use around::Around;
pub use layers::{Layer, Layers, Role, features_lost, home, machine};
pub use read::{Config, parse};
pub use splice::{only_entries_differ, taken_out, with_entries};

use crate::adapter::Registration;
use crate::adapter::codex::{Codex, EVENTS, command, group, parts, trust_key, trusted_hash};
use crate::adapter::setup::terms::{EntryTerms, names, unquoted};
use crate::adapter::setup::tree::{Member, Node};

/// Whether this hook entry runs our hook program, however it is spelled.
fn is_ours(entry: &Node) -> bool {
    entry.get("command").and_then(Node::text).is_some_and(|text| names(text, Codex::FACTS.program))
}

fn entries(group: &Node) -> &[Node] {
    group.get("hooks").map(Node::items).unwrap_or_default()
}

fn wholly_ours(group: &Node) -> bool {
    !entries(group).is_empty() && entries(group).iter().all(is_ours)
}

/// The groups of an event.
fn groups<'a>(root: &'a Node, event: &str) -> &'a [Node] {
    root.find(&["hooks", event]).map(Node::items).unwrap_or_default()
}

/// What stands under one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing of ours.
    Nothing,
    /// What `mh-setup` writes for these terms, as this group of its event.
    Exact(Registration, EntryTerms, usize),
    /// What an older `mh-setup` wrote, or one on a machine whose `timeout` lay elsewhere.
    Older(Older),
    /// It runs our program and is not what `mh-setup` writes; why.
    Altered(String),
}

/// An entry that holds, and that is written otherwise now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Older {
    /// The hook's line.
    pub line: Registration,
    /// What the hook is told by it.
    pub terms: EntryTerms,
    /// Which group of its event it is.
    pub at: usize,
    /// The command as it stands there.
    pub command: String,
    /// What is better about the one that is written now.
    pub why: String,
}

/// What each of our events holds.
pub fn found(root: &Node) -> Vec<(&'static str, &'static str, Found)> {
    EVENTS.into_iter().map(|(event, snake)| (event, snake, at_event(root, event))).collect()
}

fn at_event(root: &Node, event: &str) -> Found {
    let mut best = Found::Nothing;
    for (at, each) in groups(root, event).iter().enumerate() {
        if !entries(each).iter().any(is_ours) {
            continue;
        }
        match reading(event, each, at) {
            whole @ (Found::Exact(..) | Found::Older(_)) => return whole,
            other => best = other,
        }
    }
    best
}

fn reading(event: &str, found: &Node, at: usize) -> Found {
    let said = entries(found).iter().find(|entry| is_ours(entry)).and_then(|entry| entry.get("command")?.text());
    let read = said.and_then(|said| {
        let parts = parts(said)?;
        let words = unquoted(parts.words)?;
        let terms = EntryTerms::of(words.get(1..)?)?;
        let line = terms.registration(words.first()?);
        (line.shell_words() == parts.words).then_some((said, parts, line, terms))
    });
    let Some((said, parts, line, terms)) = read else {
        return Found::Altered("its command line is not one that mh-setup writes".into());
    };
    if expected(event, said).is_some_and(|written| written.same(found)) {
        let now = command(&line);
        if now == said {
            return Found::Exact(line, terms, at);
        }
        let why = match parts.limit {
            _ if !parts.sealed_off => "a function named echo or exit in the environment can answer for it".into(),
            Some(limit) => format!("it limits the hook by {limit}, which is not what is used on this machine"),
            None => "nothing limits the hook's time before Codex does, and then the call runs".into(),
        };
        return Found::Older(Older { line, terms, at, command: said.into(), why });
    }
    let what = match found.get("matcher") {
        Some(_) => "it has a `matcher`, so some calls pass it by",
        None => "it is not as mh-setup writes it",
    };
    Found::Altered(what.into())
}

/// The group that `mh-setup` writes for this command.
fn expected(event: &str, command: &str) -> Option<Node> {
    let config = parse(&group(event, command)).ok()?;
    groups(&config.root, event).first().cloned()
}

/// Why Codex would skip our entry at this place without a word, if it would.
pub fn distrust(root: &Node, config: &str, snake: &str, at: usize, command: &str) -> Option<String> {
    let key = trust_key(config, snake, at, 0);
    let state = root.find(&["hooks", "state", &key]);
    let hash = state.and_then(|state| state.get("trusted_hash")).and_then(Node::text);
    match hash {
        None => Some(format!("it is not trusted: there is no hooks.state.\"{key}\" with its hash")),
        Some(hash) if hash != trusted_hash(snake, command) => {
            Some(format!("the hash in hooks.state.\"{key}\" is another entry's, so it is not trusted"))
        }
        Some(_) if state.and_then(|state| state.get("enabled")).and_then(Node::bool) == Some(false) => {
            Some(format!("hooks.state.\"{key}\" has enabled = false"))
        }
        Some(_) => None,
    }
}

/// The keys of trust that is left of an entry of ours which is not there any more, or not there by that key: its hash is
/// that of one of these commands, and it is no key of `live`.
fn dead_trust<'a>(root: &'a Node, commands: &[String], live: &[String]) -> Vec<&'a Member> {
    let ours = |member: &Member| {
        let mut parts = member.key.rsplitn(4, ':');
        let (_, _, snake, file) = (parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(snake), Some(file)) = (snake, file) else { return false };
        let hash = member.node.get("trusted_hash").and_then(Node::text);
        let event = EVENTS.iter().any(|(_, known)| *known == snake);
        event
            && file.starts_with('/')
            && !file.starts_with("/<")
            && commands.iter().any(|command| hash == Some(&trusted_hash(snake, command)))
    };
    let state = root.find(&["hooks", "state"]).map(Node::members).unwrap_or_default();
    state.iter().filter(|member| !live.contains(&member.key) && ours(member)).collect()
}

/// The commands of our entries, as they stand there.
fn commands(root: &Node) -> Vec<String> {
    let all = EVENTS.iter().flat_map(|(event, _)| groups(root, event)).flat_map(entries).filter(|entry| is_ours(entry));
    let mut all: Vec<String> = all.filter_map(|entry| Some(entry.get("command")?.text()?.to_string())).collect();
    all.sort();
    all.dedup();
    all
}

/// The commands of other people's hooks on our events, with the event.
pub fn others(root: &Node) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for (event, _) in EVENTS {
        for entry in groups(root, event).iter().flat_map(entries).filter(|entry| !is_ours(entry)) {
            let words = ["command", "tool", "type"].into_iter().find_map(|key| entry.get(key)?.text());
            all.push((event, words.unwrap_or("?").to_string()));
        }
    }
    all
}
