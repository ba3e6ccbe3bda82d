//! Claude Code, examined.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::shots::{Range, call_id, mcp_call};
use super::{line_in_order, own_program, release};
use crate::setup::claude::{Found, Layer, Layers, Role, found, misspelled, others, user_folder};
use crate::setup::fire::Stream;
use crate::setup::release::{Installed, installed, said};
use crate::setup::report::{Loss, Other, Report, Seen, State};
use crate::setup::terms::{Terms, names};
use crate::setup::tree::Node;
use crate::vendor::claude::{Claude, FAILS_CLOSED_FROM, Form, SHELL_END};
use crate::vendor::{Registration, Vendor as _};

/// Measured ways that a launch has, and that no file shows.
const UNSEEN: [&str; 2] = [
    "how claude is started: --bare, --safe-mode, --restricted, and --setting-sources without the file of the entry, switch it off",
    "where claude is started: the project's entry is read in this very folder alone, not below it",
];

/// A complete entry, and the file that it stands in.
struct Entry {
    at: usize,
    line: Registration,
    terms: Terms,
    form: Form,
}

pub fn examine(etc: PathBuf, project: &Path, flag: Option<PathBuf>) -> Report {
    let user = user_folder(&|name| std::env::var_os(name));
    let layers = Layers { etc, user, project: project.into(), flag }.read();
    let mut report = Report::new(Claude::WORD, UNSEEN.into());
    report.layers = layers.iter().map(seen).collect();
    let entry = entry(&layers, &mut report);
    let Some(entry) = entry else {
        if report.state == State::Absent {
            hint(project, &mut report);
        }
        release::<Claude>(&mut report, FAILS_CLOSED_FROM);
        return report;
    };
    let role = layers[entry.at].role;
    line_in_order::<Claude>(&mut report, &entry.line, &entry.terms, FAILS_CLOSED_FROM);
    report.losses.extend(losses(&layers, role));
    for layer in layers.iter().filter(|layer| layer.role == Role::Managed) {
        report
            .why
            .extend(layer.broken.as_ref().map(|why| format!("{}: claude does not start: {why}", layer.file.display())));
    }
    // which starts nothing that settings name (measured); a library they preload is another matter
    if !report.losses.iter().any(|loss| loss.key.starts_with("env.LD_")) {
        vendors_word(&layers[entry.at], project, &mut report);
    }
    if entry.form == Form::Shell {
        report.notes.push("the entry is the form for older releases: a shell starts the program".into());
    }
    if !own_program::<Claude>(&entry.line) {
        report.state = State::Altered;
        report.why.push(format!(
            "{}: not the program beside this mh-setup, so it was not fired; use the mh-setup beside it",
            entry.line.program
        ));
        return report;
    }
    report.state = State::NotLive;
    if report.why.is_empty() && report.losses.is_empty() {
        match fire(&entry, &layers, project) {
            Ok(fired) => {
                report.fired = Some(fired);
                report.state = State::Live;
            }
            Err(why) => report.why.push(format!("fired: {why}")),
        }
    }
    report
}

fn seen(layer: &Layer) -> Seen {
    let status = match (&layer.text, &layer.broken) {
        (None, _) => "absent".into(),
        (_, Some(why)) => format!("not read by the vendor: {why}"),
        _ => "read".into(),
    };
    let root = layer.root.as_ref();
    let entries = root.map(|root| found(root).iter().filter(|(_, found)| *found != Found::Nothing).count());
    let others = root.map(others).unwrap_or_default();
    Seen {
        layer: layer.role.word(),
        file: layer.file.display().to_string(),
        status,
        entries: entries.unwrap_or(0),
        others: others.into_iter().map(|(event, command)| Other { event, command }).collect(),
    }
}

/// The strongest complete entry. Where there is none, the report says what is there instead.
fn entry(layers: &[Layer], report: &mut Report) -> Option<Entry> {
    let mut whole = None;
    for (at, layer) in layers.iter().enumerate() {
        let file = layer.file.display();
        if let (Some(why), Some(Ok(text))) = (&layer.broken, &layer.text)
            && names(text, Claude::PROGRAM)
        {
            report.state = State::NotLive;
            report
                .why
                .push(format!("{file}: the vendor passes over a file that is not in order, without a word: {why}"));
        }
        let Some(root) = &layer.root else { continue };
        if let Some(why) = misspelled(root) {
            report.state = State::Altered;
            report.why.push(format!("{file}: {why}"));
        }
        match complete(root) {
            Ok(None) => {}
            Ok(Some((line, terms, form))) => whole = Some(Entry { at, line, terms, form }),
            Err(why) => {
                report.state = State::Altered;
                report.why.extend(why.into_iter().map(|why| format!("{file}: {why}; say mh-setup claude again")));
            }
        }
    }
    if whole.is_some() {
        // what else is registered beside it denies for itself, and takes nothing away
        report.notes.append(&mut report.why);
    }
    whole
}

/// The one line of all our events, `None` where nothing of ours is there at all.
fn complete(root: &Node) -> Result<Option<(Registration, Terms, Form)>, Vec<String>> {
    let all = found(root);
    if all.iter().all(|(_, found)| *found == Found::Nothing) {
        return Ok(None);
    }
    let (mut why, mut line) = (Vec::new(), None);
    for (event, found) in all {
        match found {
            Found::Nothing => why.push(format!("hooks.{event} has no entry of ours")),
            Found::Altered(what) => why.push(format!("hooks.{event}: {what}")),
            Found::Exact(found, terms, form) => {
                let found = (found, terms, form);
                if *line.get_or_insert_with(|| found.clone()) != found {
                    why.push(format!("hooks.{event} has another line than the events before it"));
                }
            }
        }
    }
    if why.is_empty() { Ok(line) } else { Err(why) }
}

/// Everything that takes the guard away from an entry in the layer of this role.
fn losses(layers: &[Layer], guard: Role) -> Vec<Loss> {
    let mut all = Vec::new();
    let root =
        |role: Role| layers.iter().filter(move |layer| layer.role == role).filter_map(|layer| layer.root.as_ref());
    // said in the file of --settings, it holds over the other files for the hooks of that file
    let held = guard == Role::Flag
        && root(Role::Flag).any(|root| root.get("disableAllHooks").and_then(Node::bool) == Some(false));
    for layer in layers {
        all.extend(layer.losses(guard).into_iter().filter(|loss| !(held && loss.key == "disableAllHooks")));
    }
    for name in ["CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE"] {
        let set = std::env::var_os(name).is_some_and(|value| !["", "0", "false"].iter().any(|no| value == *no));
        if set && guard != Role::Managed {
            all.push(Loss::new(name, "switches hooks off", "unset it").within("the environment"));
        }
    }
    all
}

/// What the vendor's own doctor says of the settings, where the vendor is at hand: it knows all of
/// the keys for whose value a file is passed over.
fn vendors_word(guard: &Layer, project: &Path, report: &mut Report) {
    let Installed::At(program, _) = installed(Claude::WORD) else { return };
    let mut command = Command::new(&program);
    command.arg("doctor").current_dir(project);
    // it would try its servers, and look for a newer release
    for name in ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"] {
        command.env(name, "1");
    }
    let Ok(text) = said(command) else {
        report.notes.push(format!("{} doctor was asked about the settings and did not answer", program.display()));
        return;
    };
    let mut lines = text.lines().skip_while(|line| line.trim() != "Invalid settings").skip(1);
    let own = crate::frame::shown(&guard.file.to_string_lossy());
    for line in lines.by_ref().map_while(|line| line.strip_prefix("- ").or(line.starts_with(' ').then_some(""))) {
        let line = crate::frame::shown(&line.trim().replace(" \u{203a} ", ", "));
        // some values are passed over alone, and it says so
        let mild = ["is ignored", "was removed", "were removed"].iter().any(|words| line.contains(words));
        match line.starts_with(&own) && !mild {
            _ if line.is_empty() => {}
            true => report
                .why
                .push(format!("by claude doctor, and the vendor passes over a file that is not in order: {line}")),
            false => report.notes.push(format!("by claude doctor: {line}")),
        }
    }
}

/// Where nothing is registered: what looks as if it were.
fn hint(project: &Path, report: &mut Report) {
    let above = project.ancestors().skip(1).map(|folder| folder.join(".claude/settings.json"));
    let home = user_folder(&|name| std::env::var_os(name)).map(|folder| folder.join("settings.json"));
    for file in above.filter(|file| Some(file) != home.as_ref()) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if names(&text, Claude::PROGRAM) {
            report.why.push(format!(
                "{}: an entry of ours, which the vendor does not read when it is started here; start it there",
                file.display()
            ));
        }
    }
}

fn fire(entry: &Entry, layers: &[Layer], project: &Path) -> Result<crate::setup::report::Fired, String> {
    let folder = Path::new("/");
    let line = || {
        let mut command = match entry.form {
            Form::Exec => {
                let mut command = Command::new(&entry.line.program);
                command.args(&entry.line.arguments);
                command
            }
            Form::Shell => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(entry.line.shell_words() + SHELL_END);
                command
            }
        };
        // the settings' own variables; those that a loss is made of were found before, and a hook of
        // managed settings gets no other file's
        let managed = layers[entry.at].role == Role::Managed;
        for layer in layers.iter().filter(|layer| !managed || layer.role == Role::Managed) {
            for member in layer.root.as_ref().and_then(|root| root.get("env")).map(Node::members).unwrap_or_default() {
                command.env(&member.key, member.node.text().unwrap_or_default());
            }
        }
        command.env("CLAUDECODE", "1").env("CLAUDE_PROJECT_DIR", project).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        command.env("CLAUDE_CODE_SESSION_ID", "mh-doctor").current_dir(folder);
        command
    };
    let common = |event: &str| {
        json!({"session_id": "mh-doctor", "transcript_path": "/dev/null", "cwd": project, "prompt_id": "mh-doctor",
               "permission_mode": "default", "hook_event_name": event})
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
    let range = Range { line: &line, stream: Stream::Sockets, payload: &payload, quiet, calls, project, folder };
    range.fire::<Claude>(&entry.line)
}
