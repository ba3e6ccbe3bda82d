//! `mh-setup list`: every entry, its meaning, and its missing parts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::doctor::{ETC, looked_at};
use super::line::answers;
use super::{PROGRAM, Request};
use crate::adapter::setup::file::{absolute, text_of};
use crate::adapter::setup::report::DENIED;
use crate::adapter::setup::terms::{EntryTerms, names};
use crate::adapter::setup::text::line_and_column;
use crate::adapter::setup::{Setup, Standing};
use crate::adapter::{ALL, Registration};
use crate::hook::HookOptions;
use crate::os::{End, Progress, Stop};

/// Folders in which nobody keeps projects.
const PASSED_OVER: [&str; 2] = [".git", "node_modules"];

/// The entries of one file.
#[derive(Debug, Serialize)]
struct Listed {
    vendor: &'static str,
    file: String,
    /// The number of events with entries.
    events: usize,
    line: Option<String>,
    frame: Option<FrameNamed>,
    /// The faults of the entries, and the files that are gone; empty if the entries are whole.
    why: Vec<String>,
    /// Every call and every prompt is denied.
    blocks: bool,
    /// The command that removes the entries; `None` for an administrator's entries and for those that must be removed
    /// by hand.
    remove: Option<String>,
}

/// The frame of an entry.
#[derive(Debug, Serialize)]
struct FrameNamed {
    file: String,
    /// The digest that the frame is pinned to.
    pin: Option<String>,
    /// The frame in words, if it exists and verifies.
    words: Option<String>,
}

#[derive(Serialize)]
struct List {
    v: u32,
    folders: Vec<String>,
    entries: Vec<Listed>,
}

/// Examine the named folders, or the working folder.
pub(crate) fn work(request: &Request) -> Result<(String, End), Stop> {
    let here = [PathBuf::from(".")];
    let given = if request.folders.is_empty() { &here[..] } else { &request.folders };
    let progress = Progress::new(PROGRAM);
    let mut entries = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    for vendor in ALL {
        for (file, remove) in vendor.homes(Path::new(ETC)) {
            look(*vendor, &file, remove, &mut seen, &mut entries);
        }
    }
    let mut folders = Vec::new();
    for given in given {
        let folder = absolute(given)?;
        if !folder.is_dir() {
            return Err(Stop::failed(format!("{}: no such folder", folder.display())));
        }
        progress.at(format!("looking through {}", folder.display()));
        walk(&folder, &mut |folder| {
            for vendor in ALL {
                for (file, remove) in vendor.of_project(folder) {
                    look(*vendor, &file, remove, &mut seen, &mut entries);
                }
            }
        });
        folders.push(folder.display().to_string());
    }
    drop(progress);
    let whole = entries.iter().all(|entry| entry.why.is_empty());
    let list = List { v: 1, folders, entries };
    let text = match request.json {
        true => serde_json::to_string(&list).map(|text| text + "\n").unwrap_or_default(),
        false => list.text(),
    };
    Ok((text, if whole { End::Good } else { End::Refused }))
}

/// Visit a folder and everything below it, without following links.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    visit(folder);
    let mut below: Vec<PathBuf> = fs_err::read_dir(folder)
        .map(|found| {
            let folders = found.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders
                .filter(|entry| !PASSED_OVER.iter().any(|name| entry.file_name() == *name))
                .map(|entry| entry.path())
                .collect()
        })
        .unwrap_or_default();
    below.sort();
    for folder in below {
        walk(&folder, visit);
    }
}

/// Add the entries of one file, if there are any.
fn look(vendor: &dyn Setup, file: &Path, remove: Option<String>, seen: &mut Vec<PathBuf>, entries: &mut Vec<Listed>) {
    let real = fs_err::canonicalize(file).unwrap_or_else(|_| file.into());
    if seen.contains(&real) {
        return;
    }
    let mut listed = Listed {
        vendor: vendor.facts().word,
        file: file.display().to_string(),
        events: 0,
        line: None,
        frame: None,
        why: Vec::new(),
        blocks: false,
        remove,
    };
    match text_of(file) {
        None => return,
        Some(Err(why)) => listed.why.push(format!("what stands in it cannot be told: {why}")),
        Some(Ok(text)) => match vendor.standing(&text) {
            Ok(standing) if standing.is_empty() => return,
            Ok(standing) => listed.stands(&standing),
            Err(_) if !names(&text, vendor.facts().program) => return,
            Err(fault) => {
                let (line, column) = line_and_column(&text, fault.at());
                listed.why.push(format!("the vendor does not hear it: line {line}, column {column}: {}", fault.what()));
            }
        },
    }
    seen.push(real);
    entries.push(listed);
}

impl Listed {
    /// Add the entries event by event.
    fn stands(&mut self, standing: &[Standing]) {
        let mut whole: Option<&(Registration, EntryTerms)> = None;
        for (event, stands) in standing {
            match stands {
                None => self.why.push(format!("hooks.{event} has no entry of ours")),
                Some(Err(why)) => {
                    self.events += 1;
                    self.why.push(format!("hooks.{event}: {why}"));
                }
                Some(Ok(found)) => {
                    self.events += 1;
                    if !whole.get_or_insert(found).1.agrees(&found.1) {
                        self.why.push(format!("hooks.{event} has another line than the events before it"));
                    }
                }
            }
        }
        let Some((line, terms)) = whole else { return };
        self.line = Some(line.shell_words());
        let frame = looked_at(terms);
        let mut denied = Vec::new();
        if rustix::fs::access(Path::new(&line.program), rustix::fs::Access::EXEC_OK).is_err() {
            denied.push(format!("the program {} cannot be started", line.program));
        }
        denied.extend(frame.as_ref().err().map(|why| format!("the frame {why}")));
        let audit = terms.audit.as_ref().and_then(|audit| Path::new(audit).parent());
        denied.extend(
            audit
                .filter(|folder| !folder.is_dir())
                .map(|folder| format!("the folder {} of the audit is gone", folder.display())),
        );
        self.blocks = !denied.is_empty();
        self.why.extend(denied.into_iter().map(|why| format!("{why}, so {DENIED}")));
        let told = HookOptions::take(line.arguments.iter().map(Into::into), &|_| None);
        let decider = told.decider.as_ref().and_then(|decider| answers(decider).err());
        self.why.extend(decider.map(|why| format!("the decider {why}")));
        self.frame = Some(FrameNamed {
            file: terms.frame.clone(),
            pin: terms.pin.as_ref().map(ToString::to_string),
            words: frame.ok(),
        });
    }
}

impl List {
    /// The report for people.
    fn text(&self) -> String {
        let mut out = String::new();
        for entry in &self.entries {
            let _ = writeln!(out, "{}: {}", entry.vendor, entry.file);
            let mut row = |name: &str, value: &str| {
                let _ = writeln!(out, "  {name:<9}{value}");
            };
            if let Some(frame) = &entry.frame {
                row("frame", frame.words.as_deref().unwrap_or(&frame.file));
            }
            for why in &entry.why {
                row("why", why);
            }
            row("take out", entry.remove.as_deref().unwrap_or("by hand, or whoever administers this machine"));
        }
        if self.entries.is_empty() {
            let _ = writeln!(
                out,
                "no entry of ours in your own files, the machine's, or at and below {}",
                self.folders.join(", ")
            );
        }
        out
    }
}
