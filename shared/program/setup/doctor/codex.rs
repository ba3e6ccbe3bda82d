//! Codex, examined.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::shots::{Range, call_id, mcp_call};
use super::{line_in_order, own_program, release};
use crate::program::Stop;
use crate::setup::codex::{Found, Layer, Layers, Role, distrust, features_lost, found, home, others};
use crate::setup::fire::{Stream, codex_shell, zsh_start_up};
use crate::setup::place;
use crate::setup::release::{Installed, Release, installed};
use crate::setup::report::{Fired, Other, Report, Seen, State};
use crate::setup::terms::{Terms, names};
use crate::vendor::codex::{Codex, PROJECTS_GATED_FROM, TRUSTS_FROM, command};
use crate::vendor::{Registration, Vendor as _};

/// Measured ways that a launch has, and that no file shows.
const UNSEEN: [&str; 2] = [
    "how codex is started: --disable hooks, and -c with these features, switch it off; -p NAME adds that profile's configuration",
    "calls that no hook sees: what is typed into a running terminal, hosted web search and image generation",
];

/// A complete entry, and the file that it stands in.
struct Entry {
    at: usize,
    line: Registration,
    terms: Terms,
}

pub fn examine(etc: PathBuf, project: &Path) -> Result<Report, Stop> {
    let home = home(&|name| std::env::var_os(name));
    let home = home.ok_or_else(|| Stop::failed("neither CODEX_HOME nor HOME is set"))?;
    let places = Layers { etc, home, project: project.into() };
    let layers = places.read();
    let user = layers.iter().find(|layer| layer.role == Role::User).and_then(|layer| layer.root.as_ref());
    let gated = match installed(Codex::WORD) {
        Installed::At(_, release) => Release::find(PROJECTS_GATED_FROM).is_none_or(|from| release >= from),
        _ => true,
    };
    let trusted = |layer: &Layer| !gated || places.trusted(user, &layer.file);
    let mut report = Report::new(Codex::WORD, UNSEEN.into());
    report.layers = layers.iter().map(seen).collect();
    let Some(entry) = entry(&layers, &mut report) else {
        release::<Codex>(&mut report, TRUSTS_FROM);
        return Ok(report);
    };
    line_in_order::<Codex>(&mut report, &entry.line, &entry.terms, TRUSTS_FROM);
    losses(&layers, layers[entry.at].role, &trusted, &mut report);
    let shell = codex_shell();
    start_up(&shell, &mut report);
    if !own_program::<Codex>(&entry.line) {
        report.state = State::Altered;
        report.why.push(format!(
            "{}: not the program beside this mh-setup, so it was not fired; use the mh-setup beside it",
            entry.line.program
        ));
        return Ok(report);
    }
    report.state = State::NotLive;
    if report.why.is_empty() && report.losses.is_empty() {
        match fire(&entry, &shell, project) {
            Ok(fired) => {
                report.fired = Some(fired);
                report.state = State::Live;
            }
            Err(why) => report.why.push(format!("fired: {why}")),
        }
    }
    Ok(report)
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

/// The strongest complete entry, trusted where it has to be. Where there is none, the report says
/// what is there instead.
fn entry(layers: &[Layer], report: &mut Report) -> Option<Entry> {
    let mut whole = None;
    for (at, layer) in layers.iter().enumerate() {
        let file = layer.file.display();
        if let Some(why) = &layer.broken {
            let text = std::fs::read_to_string(&layer.file).unwrap_or_default();
            if names(&text, Codex::PROGRAM) {
                report.state = State::NotLive;
                report.why.push(format!("{file}: it does not load: {why}"));
            }
            continue;
        }
        let Some(root) = &layer.root else { continue };
        let all = found(root);
        if all.iter().all(|(_, _, found)| *found == Found::Nothing) {
            continue;
        }
        if matches!(layer.role, Role::Profile | Role::Project | Role::Hooks) {
            report.notes.push(format!("{file}: an entry of ours where mh-setup writes none; it is not relied on"));
            report.state = if report.state == State::Absent { State::Altered } else { report.state };
            continue;
        }
        match complete(layer, all) {
            Ok((line, terms)) => whole = Some(Entry { at, line, terms }),
            Err((state, why)) => {
                report.state = state;
                report.why.extend(why.into_iter().map(|why| format!("{file}: {why}; say mh-setup codex again")));
            }
        }
    }
    if whole.is_some() {
        report.notes.append(&mut report.why);
    }
    whole
}

type All = Vec<(&'static str, &'static str, Found)>;

/// The one line of all our events.
fn complete(layer: &Layer, all: All) -> Result<(Registration, Terms), (State, Vec<String>)> {
    let (mut altered, mut unheard, mut line) = (Vec::new(), Vec::new(), None);
    for (event, snake, found) in all {
        match found {
            Found::Nothing => altered.push(format!("hooks.{event} has no entry of ours")),
            Found::Altered(what) => altered.push(format!("hooks.{event}: {what}")),
            Found::Exact(found, terms, at) => {
                if let (Role::User, Some(root)) = (layer.role, &layer.root) {
                    let file = layer.file.to_string_lossy();
                    unheard.extend(
                        distrust(root, &file, snake, at, &command(&found)).map(|why| format!("hooks.{event}: {why}")),
                    );
                }
                let found = (found, terms);
                if *line.get_or_insert_with(|| found.clone()) != found {
                    altered.push(format!("hooks.{event} has another line than the events before it"));
                }
            }
        }
    }
    match line {
        _ if !altered.is_empty() => Err((State::Altered, altered)),
        _ if !unheard.is_empty() => Err((State::NotLive, unheard)),
        Some(line) => Ok(line),
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

/// The files that a shell reads before it runs the line.
fn start_up(shell: &Path, report: &mut Report) {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (home, zdotdir) = (folder("HOME"), folder("ZDOTDIR"));
    for file in zsh_start_up(shell, home.as_deref(), zdotdir.as_deref()) {
        let who = if place::open_to_me(&file) { "; you, and an agent with a shell, can write it" } else { "" };
        let what = "zsh runs it before every hook, and one that exits 0 lets every call run";
        report.notes.push(format!(
            "{}: {what}{who}; ZDOTDIR set to an empty folder leaves out the one in your home",
            file.display()
        ));
    }
}

fn fire(entry: &Entry, shell: &Path, project: &Path) -> Result<Fired, String> {
    let folder = Path::new("/");
    let line = || {
        let mut started = Command::new(shell);
        started.arg("-c").arg(command(&entry.line)).current_dir(folder);
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
    let range = Range { line: &line, stream: Stream::Pipes, payload: &payload, quiet, calls, project, folder };
    range.fire::<Codex>(&entry.line)
}
