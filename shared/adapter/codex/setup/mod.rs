//! Codex's `config.toml`: our entries in it, their trust, adding them and removing them.

mod around;
pub mod dotenv;
pub mod entry;
mod examined;
mod layers;
mod read;
mod shell;
mod splice;

pub use around::Around;
pub use layers::{ConfigFile, ConfigFiles, ConfigRank, features_lost, home, machine};
pub use read::{Config, parse};
pub use splice::{only_entries_differ, taken_out, with_entries};

use std::path::{Path, PathBuf};

use crate::adapter::Registration;
use crate::adapter::codex::{
    Codex, EVENTS, TRUSTS_FROM, codex_lacks, command, config, group, managed, parts, trust_key, trusted_hash,
};
use crate::adapter::setup::file::{in_words, named_by};
use crate::adapter::setup::terms::{EntryTerms, names, unquoted};
use crate::adapter::setup::tree::{Member, Spanned};
use crate::adapter::setup::{EntryPlace, Examined, Offers, PrintedForm, Setup, Standing, Unplaced, Unspliced};
use crate::json::Fault;
use crate::seal::VerifiedFrame;

/// The words if neither variable names a home.
const HOMELESS: &str = "neither CODEX_HOME nor HOME is set";

/// The user's configuration under Codex's own name for it, which its trust keys contain.
fn own_config() -> Result<PathBuf, Unplaced> {
    Ok(own_home()?.join("config.toml"))
}

/// The folder of the user's configuration.
fn own_home() -> Result<PathBuf, Unplaced> {
    let own = |name: &str| std::env::var_os(name);
    if named_by("CODEX_HOME", &own)?.is_none() {
        named_by("HOME", &own)?;
    }
    home(&own).ok_or_else(|| Unplaced::Missing(HOMELESS.into()))
}

impl Setup for Codex {
    fn oldest(&self) -> (&'static str, &'static str) {
        (TRUSTS_FROM, "older ones do not trust the entry, and skip it without a word")
    }

    fn unseen(&self) -> &'static [&'static str] {
        &[
            "how codex is started: --disable hooks, and -c with these features or with hooks.state, switch it off; -p NAME adds that profile's configuration",
            "calls that no hook sees: what is typed into a running terminal, hosted web search and image generation",
        ]
    }

    fn offers(&self) -> &'static Offers {
        &Offers {
            project: Err("codex takes trust from the user's configuration alone, so the entries stand there too"),
            local: Err("codex takes trust from the user's configuration alone, so the entries stand there too"),
            user: "config.toml in its home (always)",
            print: "TOML for the config.toml of Codex with the hashes by which it trusts them",
            shell: Err("codex always runs a shell"),
            managed: "requirements.toml of Codex",
            flag: None,
        }
    }

    fn ready(&self) -> Result<(), Unplaced> {
        own_config().map(drop)
    }

    fn file(&self, _: &EntryPlace) -> Result<PathBuf, Unplaced> {
        own_config()
    }

    fn printed(&self, line: &Registration, form: PrintedForm) -> Result<String, Unplaced> {
        if form == PrintedForm::Managed {
            return Ok(managed(line));
        }
        Ok(config(line, &in_words(&own_config()?)?))
    }

    fn managed_file(&self) -> &'static str {
        "/etc/codex/requirements.toml"
    }

    fn entries(&self) -> &'static str {
        "entries and their trust"
    }

    fn put_in(&self, text: Option<&str>, line: &Registration, file: &Path) -> Result<String, Unspliced> {
        Ok(with_entries(text, line, &in_words(file)?)?)
    }

    fn take_out(&self, text: &str, file: &Path) -> Result<Option<String>, Unspliced> {
        Ok(taken_out(text, &in_words(file)?)?)
    }

    fn only_entries_differ(&self, old: Option<&str>, new: &str, file: &Path) -> bool {
        in_words(file).is_ok_and(|file| only_entries_differ(old.unwrap_or_default(), new, &file))
    }

    fn standing(&self, text: &str) -> Result<Vec<Standing>, Fault> {
        let of = |(event, _, found)| {
            let stands = match found {
                ConfigEntry::Nothing => None,
                ConfigEntry::Altered(why) => Some(Err(why)),
                ConfigEntry::Exact(line, terms, _) | ConfigEntry::Older(Older { line, terms, .. }) => {
                    Some(Ok((line, terms)))
                }
            };
            (event, stands)
        };
        let config = parse(text.trim_start_matches('\u{feff}'))?;
        let all: Vec<Standing> = found(&config.root).into_iter().map(of).collect();
        Ok(if all.iter().all(|(_, stands)| stands.is_none()) { Vec::new() } else { all })
    }

    fn homes(&self, etc: &Path) -> Vec<(PathBuf, Option<String>)> {
        let user = own_config().ok().map(|file| (file, Some("mh-setup codex --remove".into())));
        user.into_iter().chain(machine(etc).into_iter().map(|file| (file.path, None))).collect()
    }

    fn of_project(&self, folder: &Path) -> Vec<(PathBuf, Option<String>)> {
        vec![(folder.join(".codex/config.toml"), None)]
    }

    fn lacks(&self, frame: &VerifiedFrame) -> Option<String> {
        codex_lacks(frame)
    }

    fn limits(&self) -> &'static str {
        "\
limits: the configuration of a project that you trust can undo features.hooks = true and
  features.unified_exec_tty = false; what it cannot undo: mh-setup codex --managed, as root, or a
  run that mh-run starts. A start-up file of the shell (.zshenv, or what BASH_ENV names) runs
  before the hook in any case
"
    }

    fn examine(&self, etc: &Path, project: &Path, _: Option<&Path>) -> Result<Box<dyn Examined>, Unplaced> {
        Ok(Box::new(examined::ReadConfig::read(etc, project)?))
    }
}

/// Whether this hook entry runs our hook program, in any spelling.
fn is_ours(entry: &Spanned) -> bool {
    entry.get("command").and_then(Spanned::text).is_some_and(|text| names(text, Codex::FACTS.program))
}

fn entries(group: &Spanned) -> &[Spanned] {
    group.get("hooks").map(Spanned::items).unwrap_or_default()
}

fn wholly_ours(group: &Spanned) -> bool {
    !entries(group).is_empty() && entries(group).iter().all(is_ours)
}

fn groups<'a>(root: &'a Spanned, event: &str) -> &'a [Spanned] {
    root.find(&["hooks", event]).map(Spanned::items).unwrap_or_default()
}

/// Our entry under one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigEntry {
    /// Nothing of ours.
    Nothing,
    /// The form that `mh-setup` writes for these terms, as this group of its event.
    Exact(Registration, EntryTerms, usize),
    /// The form that an older `mh-setup` wrote, or one on a machine with `timeout` elsewhere.
    Older(Older),
    /// It runs our program but differs from what `mh-setup` writes; the text is the difference.
    Altered(String),
}

/// An entry that holds, although `mh-setup` now writes another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Older {
    /// The hook's line.
    pub line: Registration,
    /// The flags of that line.
    pub terms: EntryTerms,
    /// The number of its group in the event.
    pub at: usize,
    /// The command in the file.
    pub command: String,
    /// The fault that a newly written entry would not have.
    pub why: String,
}

/// Our entries, event by event, each with the event's name in trust keys.
pub fn found(root: &Spanned) -> Vec<(&'static str, &'static str, ConfigEntry)> {
    EVENTS.into_iter().map(|(event, snake)| (event, snake, at_event(root, event))).collect()
}

fn at_event(root: &Spanned, event: &str) -> ConfigEntry {
    let mut best = ConfigEntry::Nothing;
    for (at, each) in groups(root, event).iter().enumerate() {
        if !entries(each).iter().any(is_ours) {
            continue;
        }
        match reading(event, each, at) {
            whole @ (ConfigEntry::Exact(..) | ConfigEntry::Older(_)) => return whole,
            other => best = other,
        }
    }
    best
}

fn reading(event: &str, found: &Spanned, at: usize) -> ConfigEntry {
    let said = entries(found).iter().find(|entry| is_ours(entry)).and_then(|entry| entry.get("command")?.text());
    let read = said.and_then(|said| {
        let parts = parts(said)?;
        let words = unquoted(parts.words)?;
        let terms = EntryTerms::of(words.get(1..)?)?;
        let line = terms.registration(words.first()?);
        let fits = parts.patience.is_none_or(|patience| patience == line.patience);
        (fits && line.shell_words() == parts.words).then_some((said, parts, line, terms))
    });
    let Some((said, parts, line, terms)) = read else {
        return ConfigEntry::Altered("its command line is not one that mh-setup writes".into());
    };
    if expected(event, said).is_some_and(|written| written.same(found)) {
        let now = command(&line);
        if now == said {
            return ConfigEntry::Exact(line, terms, at);
        }
        let why = match parts.limit {
            _ if !parts.sealed_off => "a function named echo or exit in the environment can answer for it".into(),
            Some(limit) => format!("it limits the hook by {limit}, which is not what is used on this machine"),
            None => "nothing limits the hook's time before Codex does, and then the call runs".into(),
        };
        return ConfigEntry::Older(Older { line, terms, at, command: said.into(), why });
    }
    let what = match found.get("matcher") {
        Some(_) => "it has a `matcher`, so some calls pass it by",
        None => "it is not as mh-setup writes it",
    };
    ConfigEntry::Altered(what.into())
}

/// The group that `mh-setup` writes for this command.
fn expected(event: &str, command: &str) -> Option<Spanned> {
    let config = parse(&group(event, command)).ok()?;
    groups(&config.root, event).first().cloned()
}

/// The reason why Codex silently skips our entry at this place, if it does.
pub fn distrust(root: &Spanned, config: &str, snake: &str, at: usize, command: &str) -> Option<String> {
    let key = trust_key(config, snake, at, 0);
    let state = root.find(&["hooks", "state", &key]);
    let hash = state.and_then(|state| state.get("trusted_hash")).and_then(Spanned::text);
    match hash {
        None => Some(format!("it is not trusted: there is no hooks.state.\"{key}\" with its hash")),
        Some(hash) if hash != trusted_hash(snake, command) => {
            Some(format!("the hash in hooks.state.\"{key}\" is another entry's, so it is not trusted"))
        }
        Some(_) if state.and_then(|state| state.get("enabled")).and_then(Spanned::bool) == Some(false) => {
            Some(format!("hooks.state.\"{key}\" has enabled = false"))
        }
        Some(_) => None,
    }
}

/// The left-over trusts of our entries that are gone or have another key now: their hash is that of one of these
/// commands, and their key is not in `live`.
fn dead_trust<'a>(root: &'a Spanned, commands: &[String], live: &[String]) -> Vec<&'a Member> {
    let ours = |member: &Member| {
        let mut parts = member.key.rsplitn(4, ':');
        let (_, _, snake, file) = (parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(snake), Some(file)) = (snake, file) else { return false };
        let hash = member.node.get("trusted_hash").and_then(Spanned::text);
        let event = EVENTS.iter().any(|(_, known)| *known == snake);
        event
            && file.starts_with('/')
            && !file.starts_with("/<")
            && commands.iter().any(|command| hash == Some(&trusted_hash(snake, command)))
    };
    let state = root.find(&["hooks", "state"]).map(Spanned::members).unwrap_or_default();
    state.iter().filter(|member| !live.contains(&member.key) && ours(member)).collect()
}

/// The commands of our entries in the file.
fn commands(root: &Spanned) -> Vec<String> {
    let all = EVENTS.iter().flat_map(|(event, _)| groups(root, event)).flat_map(entries).filter(|entry| is_ours(entry));
    let mut all: Vec<String> = all.filter_map(|entry| Some(entry.get("command")?.text()?.to_string())).collect();
    all.sort();
    all.dedup();
    all
}

/// The commands of other hooks on our events, with the event.
pub fn others(root: &Spanned) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for (event, _) in EVENTS {
        for entry in groups(root, event).iter().flat_map(entries).filter(|entry| !is_ours(entry)) {
            let words = ["command", "tool", "type"].into_iter().find_map(|key| entry.get(key)?.text());
            all.push((event, words.unwrap_or("?").to_string()));
        }
    }
    all
}
