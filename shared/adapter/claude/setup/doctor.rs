//! Claude Code, examined.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::adapter::Registration;
use crate::adapter::claude::setup::{
    Found, Layer, Layers, Role, SHELL_REMEDY, found, misspelled, on, others, shell_obeys, user_folder, vendors_faults,
};
use crate::adapter::claude::{Claude, FAILS_CLOSED_FROM, Form, SHELL_END};
use crate::adapter::setup::probe::Stream;
use crate::adapter::setup::report::{Loss, Other, Report, Seen, State};
use crate::adapter::setup::terms::{EntryTerms, names};
use crate::adapter::setup::tree::Node;
use crate::os::git;
use crate::os::obeyed::obeyed;
use crate::os::release::{Installed, installed};
use crate::setup::doctor::shots::{Fire, Range, call_id, mcp_call};
use crate::setup::doctor::{Depth, beside, line_in_order, own_program, release};

/// Measured ways that a launch has, and that no file shows.
const UNSEEN: [&str; 2] = [
    "how claude is started: --bare, --safe-mode, --restricted, and --setting-sources without the file of the entry, switch it off",
    "where claude is started: the project's entry is read in this very folder alone, not below it",
];

/// A complete entry, and the file that it stands in.
struct Entry {
    at: usize,
    line: Registration,
    terms: EntryTerms,
    form: Form,
}

pub(crate) fn examine(etc: PathBuf, project: &Path, flag: Option<PathBuf>, depth: Depth) -> Report {
    let user = user_folder(&own);
    let layers = Layers { etc, user, project: project.into(), flag }.read();
    let mut report = Report::new(Claude::FACTS.word, UNSEEN.into());
    report.layers = layers.iter().map(seen).collect();
    let all = entries(&layers, &mut report);
    let Some((entry, others)) = all.split_last() else {
        if report.state == State::Absent {
            hint(project, &mut report);
        }
        release(&Claude, &mut report, FAILS_CLOSED_FROM);
        return report;
    };
    let role = layers[entry.at].role;
    line_in_order(&Claude, &mut report, &entry.line, &entry.terms, (FAILS_CLOSED_FROM, depth), &own);
    for other in others.iter().filter(|other| other.line != entry.line) {
        beside(&Claude, &mut report, &layers[other.at].file, &other.line, &other.terms);
    }
    report.losses.extend(losses(&layers, role, entry.form));
    for layer in layers.iter().filter(|layer| layer.role == Role::Managed) {
        report
            .why
            .extend(layer.broken.as_ref().map(|why| format!("{}: claude does not start: {why}", layer.file.display())));
    }
    // which starts nothing that settings name (measured); a library they preload is another matter
    if depth == Depth::Fired && !report.losses.iter().any(|loss| loss.key.starts_with("env.LD_")) {
        vendors_word(&layers[entry.at], project, &mut report);
    }
    if entry.form == Form::Shell {
        report.notes.push(
            "the entry is the form for older releases: a shell starts the program, and what a shell obeys can answer for \
             it; mh-setup claude writes the form that needs none"
                .into(),
        );
    }
    if matches!(role, Role::Project) {
        worktrees(project, &layers[entry.at].file, &mut report);
    }
    if !own_program(&Claude, &entry.line) {
        report.state = State::Altered;
        report.why.push(format!(
            "{}: not the program beside this mh-setup, so it was not fired; use the mh-setup beside it",
            entry.line.program
        ));
        return report;
    }
    report.state = State::NotLive;
    if depth == Depth::Fired && report.why.is_empty() && report.losses.is_empty() {
        match fire(entry, &layers, project) {
            Ok((fired, _)) => {
                report.fired = Some(fired);
                report.state = State::Live;
            }
            Err(why) => report.why.push(format!("fired: {why}")),
        }
    }
    report
}

/// A variable of this process.
fn own(name: &str) -> Option<OsString> {
    std::env::var_os(name)
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

/// The complete entries, the strongest last. Where there is none, the report says what is there instead.
fn entries(layers: &[Layer], report: &mut Report) -> Vec<Entry> {
    let mut all = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        let file = layer.file.display();
        if let (Some(why), Some(Ok(text))) = (&layer.broken, &layer.text)
            && names(text, Claude::FACTS.program)
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
            Ok(Some((line, terms, form))) => all.push(Entry { at, line, terms, form }),
            Err(why) => {
                report.state = State::Altered;
                report.why.extend(why.into_iter().map(|why| format!("{file}: {why}; say mh-setup claude again")));
            }
        }
    }
    if !all.is_empty() {
        // what else is registered beside it denies for itself, and takes nothing away
        report.notes.append(&mut report.why);
    }
    all
}

/// The one line of all our events, `None` where nothing of ours is there at all.
fn complete(root: &Node) -> Result<Option<(Registration, EntryTerms, Form)>, Vec<String>> {
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

/// Everything that takes the guard away from an entry of this form in the layer of this role.
fn losses(layers: &[Layer], guard: Role, form: Form) -> Vec<Loss> {
    let mut all = Vec::new();
    let root =
        |role: Role| layers.iter().filter(move |layer| layer.role == role).filter_map(|layer| layer.root.as_ref());
    // said in the file of --settings, it holds over the other files for the hooks of that file
    let held = guard == Role::Flag
        && root(Role::Flag).any(|root| root.get("disableAllHooks").and_then(Node::bool) == Some(false));
    for layer in layers {
        all.extend(layer.losses(guard).into_iter().filter(|loss| !(held && loss.key == "disableAllHooks")));
        if form == Form::Shell {
            all.extend(layer.shell_losses(guard));
        }
    }
    let is_on = |name: &str| own(name).is_some_and(|value| on(&value.to_string_lossy()));
    let mut lost = |name: &str, what: &str, remedy: &str| {
        all.push(Loss::new(name, what, remedy).within("the environment"));
    };
    for name in ["CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE"] {
        if guard != Role::Managed && is_on(name) {
            lost(name, "switches hooks off", "unset it");
        }
    }
    // of settings it is not taken (measured)
    let trust = "CLAUDE_CODE_IGNORE_PERSISTED_TRUST";
    if matches!(guard, Role::Project | Role::Local) && is_on(trust) {
        lost(trust, "drops the hooks of the project's own files", "unset it, or say mh-setup claude --user");
    }
    if form == Form::Shell {
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

/// What the vendor's own doctor says of the settings, where the vendor is at hand: it knows all of
/// the keys for whose value a file is passed over.
fn vendors_word(guard: &Layer, project: &Path, report: &mut Report) {
    let Installed::At(program, _) = installed(Claude::FACTS.word) else { return };
    match vendors_faults(&program, project) {
        Err(why) => report
            .notes
            .push(format!("{} doctor was asked about the settings and did not answer: {why}", program.display())),
        Ok(all) => {
            for fault in all {
                let line = fault.line();
                match fault.file == guard.file.to_string_lossy() && fault.whole {
                    true => report.why.push(format!(
                        "by claude doctor, and the vendor passes over a file that is not in order: {line}"
                    )),
                    false => report.notes.push(format!("by claude doctor: {line}")),
                }
            }
        }
    }
}

/// Where nothing is registered: what looks as if it were, and what to do next.
fn hint(project: &Path, report: &mut Report) {
    let above = project.ancestors().skip(1).map(|folder| folder.join(".claude/settings.json"));
    let home = user_folder(&own).map(|folder| folder.join("settings.json"));
    let ours = |file: &PathBuf| names(&std::fs::read_to_string(file).unwrap_or_default(), Claude::FACTS.program);
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
             claude --project . here as well",
            file.display()
        ));
    }
    let next = "say mh-setup claude --project . --frame FILE, or --user";
    report.why.push(format!("nothing of ours in any file that is read here; {next}"));
}

/// The linked worktrees of a project, in which its entry is not read.
fn worktrees(project: &Path, file: &Path, report: &mut Report) {
    for worktree in git::worktrees(project) {
        let own = worktree.join(".claude/settings.json");
        let text = std::fs::read_to_string(own).unwrap_or_default();
        if !names(&text, Claude::FACTS.program) {
            report.notes.push(format!(
                "{}: a linked worktree, in which {} is not read; say mh-setup claude --project there as well",
                worktree.display(),
                file.display()
            ));
        }
    }
}

fn fire(entry: &Entry, layers: &[Layer], project: &Path) -> Result<Fire, String> {
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
    let environment = &own;
    let range =
        Range { line: &line, stream: Stream::Sockets, payload: &payload, quiet, calls, project, folder, environment };
    range.fire(&Claude, &entry.line)
}
