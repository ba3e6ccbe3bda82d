//! Codex, examined.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::adapter::Registration;
use crate::adapter::codex::codex_lacks;
use crate::adapter::codex::setup::{
    Around, Found, Layer, Layers, Older, Role, distrust, features_lost, found, home, others,
};
use crate::adapter::codex::{Codex, PROJECTS_GATED_FROM, TRUSTS_FROM, command, parts};
use crate::adapter::setup::probe::{Kind, Stream, zsh_start_up};
use crate::adapter::setup::report::{Other, Report, Seen, State};
use crate::adapter::setup::terms::{EntryTerms, names};
use crate::adapter::setup::tree::Node;
use crate::os;
use crate::os::Stop;
use crate::os::permissions;
use crate::os::release::{Installed, Release, installed};
use crate::seal;
use crate::setup::doctor::shots::{Fire, Range, call_id, mcp_call};
use crate::setup::doctor::{Depth, beside, line_in_order, own_program, release};

/// Measured ways that a launch has, and that no file shows.
const UNSEEN: [&str; 2] = [
    "how codex is started: --disable hooks, and -c with these features or with hooks.state, switch it off; -p NAME adds that profile's configuration",
    "calls that no hook sees: what is typed into a running terminal, hosted web search and image generation",
];

/// A complete entry, and the file that it stands in.
struct Entry {
    at: usize,
    whole: Whole,
}

/// What stands under all of our events.
#[derive(Clone, PartialEq, Eq)]
struct Whole {
    line: Registration,
    terms: EntryTerms,
    /// The command as it stands there.
    command: String,
    /// What is better about the one that is written now.
    older: Option<String>,
}

pub(crate) fn examine(etc: PathBuf, project: &Path, depth: Depth) -> Result<Report, Stop> {
    let home = home(&own);
    let home = home.ok_or_else(|| Stop::failed("neither CODEX_HOME nor HOME is set"))?;
    let places = Layers { etc, home, project: project.into() };
    let layers = places.read();
    let user = layers.iter().find(|layer| layer.role == Role::User).and_then(|layer| layer.root.as_ref());
    let gated = match installed(Codex::FACTS.word) {
        Installed::At(_, release) => Release::find(PROJECTS_GATED_FROM).is_none_or(|from| release >= from),
        _ => true,
    };
    let trusted = |layer: &Layer| !gated || places.trusted(user, &layer.file);
    let mut report = Report::new(Codex::FACTS.word, UNSEEN.into());
    report.layers = layers.iter().map(seen).collect();
    let around = Around::of(&places.home, project, &own);
    let given = |name: &str| around.variable(name, &own);
    let all = entries(&layers, &mut report);
    let Some((entry, others)) = all.split_last() else {
        if report.state == State::Absent {
            report.why.push("nothing of ours in any file that is read here; say mh-setup codex --frame FILE".into());
        }
        release(&Codex, &mut report, TRUSTS_FROM);
        return Ok(report);
    };
    let whole = &entry.whole;
    line_in_order(&Codex, &mut report, &whole.line, &whole.terms, (TRUSTS_FROM, depth), &given);
    for other in others.iter().filter(|other| other.whole.line != whole.line) {
        beside(&Codex, &mut report, &layers[other.at].file, &other.whole.line, &other.whole.terms);
    }
    losses(&layers, layers[entry.at].role, &trusted, &mut report);
    environment(&around, whole, &places.home, &mut report);
    report.notes.extend(whole.older.as_ref().map(|why| {
        let file = layers[entry.at].file.display();
        format!("{file}: an entry as an older mh-setup wrote it: {why}; say mh-setup codex again")
    }));
    report.notes.extend(lacks(&whole.terms));
    if !own_program(&Codex, &whole.line) {
        report.state = State::Altered;
        report.why.push(format!(
            "{}: not the program beside this mh-setup, so it was not fired; use the mh-setup beside it",
            whole.line.program
        ));
        return Ok(report);
    }
    report.state = State::NotLive;
    if depth == Depth::Fired && report.why.is_empty() && report.losses.is_empty() {
        match fire(whole, &around, project) {
            Ok((fired, beside)) => {
                report.fired = Some(fired);
                report.notes.extend(beside.map(|text| {
                    format!(
                        "{} says this beside every answer: `{}`; a denial holds, and what the hook tells the model does \
                         not reach it as it should; take it out of its start-up file",
                        around.shell.display(),
                        crate::frame::shown(&text)
                    )
                }));
                report.state = State::Live;
            }
            Err(why) => report.why.push(format!("fired by {}: {why}", around.shell.display())),
        }
    }
    Ok(report)
}

/// A variable of this process.
fn own(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

/// What Codex itself does without under a frame like this.
fn lacks(terms: &EntryTerms) -> Option<String> {
    let bytes = os::read_bounded(Path::new(&terms.frame), seal::MAX_BYTES).ok()?;
    codex_lacks(&seal::verify(&bytes, terms.pin.as_ref()).ok()?)
}

/// What the environment does to the line, and the files that its shell reads before it.
fn environment(around: &Around, whole: &Whole, configuration: &Path, report: &mut Report) {
    let file = around.file.display().to_string();
    let status = match &around.set {
        Err(why) => {
            report.why.push(format!("{file}: what Codex puts into the environment is not known: {why}; put it right"));
            format!("cannot be read: {why}")
        }
        Ok(_) if !around.file.exists() => "absent".into(),
        Ok(set) => format!("read, {} variables", set.len()),
    };
    report.layers.push(Seen { layer: "environment", file, status, entries: 0, others: Vec::new() });
    let names: Vec<_> = std::env::vars_os().map(|(name, _)| name).collect();
    let names = names.iter().map(std::ffi::OsString::as_os_str);
    let sealed_off = parts(&whole.command).is_some_and(|parts| parts.sealed_off);
    report.losses.extend(around.losses(names, sealed_off, configuration, &own));
    if around.kind == Kind::Zsh {
        start_up(around, report);
    }
}

fn seen(layer: &Layer) -> Seen {
    let status = match &layer.broken {
        _ if !layer.present => "absent".into(),
        Some(why) => format!("does not load: {why}"),
        None => "read".into(),
    };
    let root = layer.root.as_ref();
    let entries = root.map(|root| found(root).iter().filter(|(_, _, found)| *found != Found::Nothing).count());
    let others = root.map(others).unwrap_or_default();
    Seen {
        layer: layer.role.word(),
        file: layer.file.display().to_string(),
        status,
        entries: entries.unwrap_or(0),
        others: others.into_iter().map(|(event, command)| Other { event, command }).collect(),
    }
}

/// The complete entries, trusted where they have to be, the strongest last. Where there is none, the report says what is
/// there instead.
fn entries(layers: &[Layer], report: &mut Report) -> Vec<Entry> {
    let mut all = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        let file = layer.file.display();
        if let Some(why) = &layer.broken {
            let text = std::fs::read_to_string(&layer.file).unwrap_or_default();
            if names(&text, Codex::FACTS.program) {
                report.state = State::NotLive;
                report.why.push(format!("{file}: it does not load: {why}"));
            }
            continue;
        }
        let Some(root) = &layer.root else { continue };
        let found = found(root);
        if found.iter().all(|(_, _, found)| *found == Found::Nothing) {
            continue;
        }
        if matches!(layer.role, Role::Profile | Role::Project | Role::Hooks) {
            report.notes.push(format!("{file}: an entry of ours where mh-setup writes none; it is not relied on"));
            report.state = if report.state == State::Absent { State::Altered } else { report.state };
            continue;
        }
        match complete(layer, found) {
            Ok(whole) => all.push(Entry { at, whole }),
            Err((state, why)) => {
                report.state = state;
                report.why.extend(why.into_iter().map(|why| format!("{file}: {why}; say mh-setup codex again")));
            }
        }
    }
    if !all.is_empty() {
        report.notes.append(&mut report.why);
    }
    all
}

type All = Vec<(&'static str, &'static str, Found)>;

/// The one line of all our events.
fn complete(layer: &Layer, all: All) -> Result<Whole, (State, Vec<String>)> {
    let (mut altered, mut unheard, mut whole) = (Vec::new(), Vec::new(), None);
    for (event, snake, found) in all {
        let (found, at) = match found {
            Found::Nothing => {
                altered.push(format!("hooks.{event} has no entry of ours"));
                continue;
            }
            Found::Altered(what) => {
                altered.push(format!("hooks.{event}: {what}"));
                continue;
            }
            Found::Exact(line, terms, at) => (Whole { command: command(&line), line, terms, older: None }, at),
            Found::Older(Older { line, terms, at, command, why }) => {
                (Whole { line, terms, command, older: Some(why) }, at)
            }
        };
        if let (Role::User, Some(root)) = (layer.role, &layer.root) {
            let file = layer.file.to_string_lossy();
            unheard.extend(distrust(root, &file, snake, at, &found.command).map(|why| format!("hooks.{event}: {why}")));
        }
        if *whole.get_or_insert_with(|| found.clone()) != found {
            altered.push(format!("hooks.{event} has another line than the events before it"));
        }
    }
    match whole {
        _ if !altered.is_empty() => Err((State::Altered, altered)),
        _ if !unheard.is_empty() => Err((State::NotLive, unheard)),
        Some(whole) => Ok(whole),
        None => Err((State::Altered, vec!["no entry of ours".into()])),
    }
}

/// What takes the guard away, and what would under another start.
fn losses(layers: &[Layer], guard: Role, trusted: &dyn Fn(&Layer) -> bool, report: &mut Report) {
    let counts = |layer: &&Layer| match layer.role {
        Role::Project => trusted(layer),
        Role::Profile | Role::Hooks => false,
        _ => true,
    };
    let counting: Vec<&Layer> = layers.iter().filter(counts).collect();
    let user = layers.iter().find(|layer| layer.role == Role::User).map(|layer| layer.file.display().to_string());
    for layer in layers.iter().filter(|layer| layer.role == Role::Profile) {
        // merged over the user's own (measured); of no other layer is it
        let state = layer.root.as_ref().and_then(|root| root.find(&["hooks", "state"])).map(Node::members);
        for member in state.unwrap_or_default() {
            let ours = user.as_ref().is_some_and(|user| member.key.starts_with(&format!("{user}:")));
            let off = member.node.get("enabled").and_then(Node::bool) == Some(false);
            if ours && (off || member.node.get("trusted_hash").is_some()) {
                let what = if off { "switches the entry there off" } else { "says what is trusted there instead" };
                let (file, key) = (layer.file.display(), &member.key);
                report.notes.push(format!("with -p alone: {file}: hooks.state.\"{key}\" {what}; take it out"));
            }
        }
    }
    report.losses.extend(features_lost(&counting));
    for layer in layers {
        let file = layer.file.display();
        let when = match layer.role {
            Role::Profile => "with -p alone: ",
            Role::Project if !trusted(layer) => "once the project is trusted: ",
            _ => "",
        };
        if let Some(why) = layer.stops() {
            let why = format!("{when}{file}: codex does not start: {why}");
            if when.is_empty() { report.why.push(why) } else { report.notes.push(why) }
        }
        match layer.role {
            _ if !when.is_empty() => {
                report.notes.extend(layer.losses().into_iter().map(|loss| format!("{when}{}", loss.line())));
            }
            Role::Requirements if guard != Role::Requirements => {
                report.losses.extend(layer.losses().into_iter().filter(|loss| loss.key == "allow_managed_hooks_only"));
            }
            Role::Hooks => {
                let odd =
                    layer.odd_key().map(|key| format!("`{key}` is none of its keys, so none of its hooks is run"));
                report.notes.extend(layer.broken.clone().or(odd).map(|why| format!("{file}: {why}")));
            }
            _ => {}
        }
    }
}

/// The files that zsh reads before it runs the line.
fn start_up(around: &Around, report: &mut Report) {
    let folder = |name: &str| around.variable(name, &own).map(PathBuf::from);
    for file in zsh_start_up(folder("HOME").as_deref(), folder("ZDOTDIR").as_deref()) {
        let who = if permissions::open_to_me(&file) { "; you, and an agent with a shell, can write it" } else { "" };
        let what = "zsh runs it before every hook, and one that exits 0 lets every call run";
        report.notes.push(format!(
            "{}: {what}{who}; ZDOTDIR set to an empty folder leaves out the one in your home",
            file.display()
        ));
    }
}

fn fire(whole: &Whole, around: &Around, project: &Path) -> Result<Fire, String> {
    let folder = Path::new("/");
    let line = || {
        let mut started = Command::new(&around.shell);
        started.arg("-c").arg(&whole.command).current_dir(folder);
        for (name, value) in around.set() {
            started.env(name, value);
        }
        started
    };
    let common = |event: &str| {
        json!({"session_id": "mh-doctor", "turn_id": "mh-doctor", "transcript_path": null, "cwd": project,
               "hook_event_name": event, "model": "mh-doctor", "permission_mode": "default"})
    };
    let payload = |tool: &str, input: &Value| {
        let mut all = common("PreToolUse");
        all["tool_name"] = tool.into();
        all["tool_input"] = input.clone();
        all["tool_use_id"] = call_id().into();
        all
    };
    let mut quiet = common("UserPromptSubmit");
    quiet["prompt"] = "mh-doctor".into();
    let patch = "*** Begin Patch\n*** Add File: mh-doctor\n+\n*** End Patch";
    let calls = vec![
        ("Bash", json!({"command": "true"})),
        ("apply_patch", json!({"command": patch})),
        ("view_image", json!({"path": project.join("mh-doctor.png")})),
        ("spawn_agent", json!({"message": ""})),
        ("update_plan", json!({"plan": []})),
        mcp_call(),
        ("get_context_remaining", json!({})),
    ];
    let environment = |name: &str| around.variable(name, &own);
    let environment = &environment;
    let range =
        Range { line: &line, stream: Stream::Pipes, payload: &payload, quiet, calls, project, folder, environment };
    range.fire(&Codex, &whole.line)
}
