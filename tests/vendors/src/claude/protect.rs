//! Self-protection: an admitted write cannot change the guard's own files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;

use super::Cases;
use super::drive::Run;
use crate::case::{Seen, Want};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

type Place = fn(&Scratch) -> PathBuf;

const PLACES: &[(&str, Place)] = &[
    ("the frame", |scratch| scratch.frames.join("frame.json")),
    ("the hook program", |scratch| scratch.program("mh-hook-claude")),
    ("the audit file", |scratch| scratch.logs.join("audit.jsonl")),
    ("the project's settings.json", |scratch| scratch.project.join(".claude/settings.json")),
    ("the project's settings.local.json", |scratch| scratch.project.join(".claude/settings.local.json")),
    ("the person's settings.json", |scratch| scratch.config.join("settings.json")),
    ("another file of the configuration folder", |scratch| scratch.config.join("agents/own.md")),
];

const SPOILED: &str = "spoiled-by-the-agent";

/// A run in which every operation is admitted, so that only self-protection is in the way, and every protected file
/// exists.
fn guarded(run: Run<'_>) -> Result<Run<'_>, String> {
    let scratch = run.scratch;
    let frame = Spec::all().seal(scratch, "frame.json")?;
    let ask = Ask { audit: Some(scratch.logs.join("audit.jsonl")), ..Ask::pinned(&frame) };
    scratch.write(".claude/settings.json", "{}")?;
    scratch.write(".claude/settings.local.json", "{}")?;
    let folder = scratch.config.join("agents");
    let made = fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("own.md"), "an agent of the person's\n"))
        .and_then(|()| fs::write(scratch.config.join("settings.json"), "{}"))
        .and_then(|()| fs::write(scratch.logs.join("audit.jsonl"), "{\"earlier\": 1, \"line\": 1}\n"));
    made.map_err(|error| format!("could not prepare the configuration folder: {error}"))?;
    run.entry(&ask, &frame)
}

fn spoiled(path: &PathBuf) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.windows(SPOILED.len()).any(|part| part == SPOILED.as_bytes()))
}

fn write(run: Run<'_>, spelled: PathBuf, place: Place) -> Result<Seen, String> {
    let target = place(run.scratch);
    let outcome = run.read(&spelled).write(&spelled, SPOILED).go()?;
    outcome.or_refusal(spoiled(&target))
}

pub fn add(cases: &mut Cases) {
    for (name, place) in PLACES {
        cases.blocked(format!("self-protection, Write to {name}"), move |run| {
            let run = guarded(run)?;
            let path = place(run.scratch);
            write(run, path, *place)
        });
        cases.blocked(format!("self-protection, Write to {name} by a symlinked folder"), move |run| {
            let run = guarded(run)?;
            let path = place(run.scratch);
            let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else {
                return Err("no folder".into());
            };
            let link = run.scratch.project.join("way-in");
            symlink(folder, &link).map_err(|error| error.to_string())?;
            write(run, link.join(file), *place)
        });
        cases.blocked(format!("self-protection, Write to {name} by a symlinked file"), move |run| {
            let run = guarded(run)?;
            let link = run.scratch.project.join("way-in.txt");
            symlink(place(run.scratch), &link).map_err(|error| error.to_string())?;
            write(run, link, *place)
        });
        // The program is a binary file, which the vendor would not edit.
        if !name.contains("program") {
            cases.blocked(format!("self-protection, Edit of {name}"), move |run| edit(guarded(run)?, *place));
        }
    }
    cases.blocked("self-protection, Write to settings.local.json by ..", |run| {
        let run = guarded(run)?;
        let path = run.scratch.project.join("src/../.claude/settings.local.json");
        write(run, path, PLACES[4].1)
    });
    cases.blocked("self-protection, NotebookEdit of the configuration folder by a symlink", |run| {
        let run = guarded(run)?;
        let target = run.scratch.config.join("n.ipynb");
        let link = run.scratch.project.join("n.ipynb");
        let made = fs::write(&target, super::tools::NOTEBOOK).and_then(|()| symlink(&target, &link));
        made.map_err(|error| error.to_string())?;
        let input = json!({"notebook_path": link, "cell_id": "c1", "new_source": SPOILED});
        let outcome = run.read(&link).call("NotebookEdit", input).go()?;
        outcome.or_refusal(spoiled(&target))
    });
    controls(cases);
}

/// An Edit of a place. An edit that finds nothing, or that would leave an invalid settings file, is refused by the
/// vendor before any hook (seen on 2.1.332).
fn edit(run: Run<'_>, place: Place) -> Result<Seen, String> {
    let path = place(run.scratch);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (old, new) = match name {
        "frame.json" => ("\"metaharness.frame/1\"", format!("\"{SPOILED}\"")),
        "audit.jsonl" => ("\"earlier\"", format!("\"{SPOILED}\"")),
        "own.md" => ("an agent", SPOILED.to_string()),
        "settings.json" if path.starts_with(&run.scratch.project) => {
            ("{\"hooks\":{", format!("{{\"env\":{{\"{SPOILED}\":\"1\"}},\"hooks\":{{"))
        }
        _ => ("{}", format!("{{\"env\":{{\"{SPOILED}\":\"1\"}}}}")),
    };
    let input = json!({"file_path": path, "old_string": old, "new_string": new});
    let outcome = run.read(&path).call("Edit", input).go()?;
    outcome.or_refusal(spoiled(&path))
}

/// Controls: self-protection was the obstacle, and its limits.
fn controls(cases: &mut Cases) {
    for (number, name) in [(0, "the frame"), (4, "settings.local.json"), (5, "the person's settings")] {
        cases.add(format!("--no-self-protect: a Write to {name} runs"), Want::Ran, move |run| {
            let place = PLACES[number].1;
            let run = guarded(run)?.edit(|_, hook| {
                if let Some(args) = hook["args"].as_array_mut() {
                    args.push(json!("--no-self-protect"));
                }
            });
            let path = place(run.scratch);
            write(run, path, place)
        });
    }
    cases.ran("a write beside the protected places runs", |run| {
        let run = guarded(run)?;
        let path = run.scratch.project.join(".claude/notes.md");
        run.write(path, "x").effect(".claude/notes.md")
    });
    for (name, place) in PLACES {
        cases.limit(
            "an admitted shell writes wherever its user can",
            format!("a shell writes to {name}"),
            move |run| {
                let run = guarded(run)?;
                let path = place(run.scratch);
                // Unlinked first: a running program cannot be written to.
                let command = format!("rm -f '{0}' && echo {SPOILED} > '{0}'", path.display());
                let outcome = run.bash(&command).go()?;
                outcome.effect(spoiled(&path))
            },
        );
    }
}
