//! Entries for Claude Code: written, taken out, printed.

use std::path::{Path, PathBuf};

use crate::adapter::claude::setup::{
    Found, blank, found, only_entries_differ, taken_out, unreadable, user_folder, vendors_faults, with_entries,
};
use crate::adapter::claude::{Claude, FAILS_CLOSED_FROM, Form, managed, settings};
use crate::adapter::setup::tree;
use crate::os::lock::lock;
use crate::os::release::{Installed, installed};
use crate::os::{End, Stop, complain};
use crate::setup::doctor::in_the_way;
use crate::setup::line::{absolute, current, fault, line, new_enough, put, tell_in_the_way, tell_replaced};
use crate::setup::{Order, PROGRAM};

const WHY_THIS_RELEASE: &str = "older ones let a call run when its hook fails";

pub(crate) fn work(order: &Order) -> Result<(String, End), Stop> {
    if order.print || order.managed {
        let line = line(&Claude, order)?;
        line.safe(false)?;
        let form = if order.shell { Form::Shell } else { Form::Exec };
        let text = if order.managed { managed(&line.registration) } else { settings(&line.registration, form) };
        if order.managed {
            complain(
                PROGRAM,
                "for /etc/claude-code/managed-settings.json, written by root; every other hook is shut out",
            );
        }
        return Ok((text, End::Good));
    }
    let file = file(order)?;
    if order.remove { remove(&file) } else { write(order, &file) }
}

/// The settings file that the order is about.
fn file(order: &Order) -> Result<PathBuf, Stop> {
    if let Some(project) = &order.project {
        // as the vendor names the folder that it is started in
        let real = std::fs::canonicalize(project).ok().filter(|project| project.is_dir());
        let real = real.ok_or_else(|| Stop::failed(format!("{}: no such folder", project.display())))?;
        return Ok(real.join(".claude/settings.json"));
    }
    if !order.user {
        return Err(Stop::usage("say where: --project DIR or --user"));
    }
    let folder = user_folder(&|name| std::env::var_os(name));
    let folder = folder.ok_or_else(|| Stop::failed("neither CLAUDE_CONFIG_DIR nor HOME is set"))?;
    Ok(absolute(&folder)?.join("settings.json"))
}

fn write(order: &Order, file: &Path) -> Result<(String, End), Stop> {
    let line = line(&Claude, order)?;
    line.safe(true)?;
    let release = new_enough(&Claude, FAILS_CLOSED_FROM, WHY_THIS_RELEASE)?;
    if let Some(folder) = file.parent() {
        fs_err::create_dir_all(folder).map_err(|error| Stop::failed(error.to_string()))?;
    }
    let _held = lock(file).map_err(Stop::failed)?;
    let text = current(file)?;
    readable(file, text.as_deref())?;
    if text.is_some() {
        by_the_vendor(file)?;
    }
    let new = with_entries(text.as_deref(), &line.registration);
    nothing_else(file, text.as_deref(), &new)?;
    let done = match text.as_deref() == Some(new.as_str()) {
        true => "the entries are there already, nothing was changed",
        false => {
            put(file, Some(&new))?;
            let old = text.and_then(|text| tree::json(&text).ok()).map(|root| found(&root)).unwrap_or_default();
            let altered = old.iter().filter(|(_, found)| matches!(found, Found::Altered(_)));
            tell_replaced(file, &altered.map(|(event, _)| *event).collect::<Vec<_>>());
            "entries written"
        }
    };
    let folder = order.project.clone().unwrap_or_else(|| PathBuf::from("."));
    tell_in_the_way(in_the_way(Claude::FACTS.word, &folder));
    let place = match &order.project {
        Some(project) => format!(" --project {}", project.display()),
        None => String::new(),
    };
    let next = format!("is it on? mh-setup doctor claude{place}\n");
    Ok((format!("{}: {done}\n{}{release}{next}", file.display(), line.told(&Claude)), End::Good))
}

fn remove(file: &Path) -> Result<(String, End), Stop> {
    let shown = file.display();
    let none =
        || Ok((format!("{shown}: no entry of {} there, nothing was changed\n", Claude::FACTS.program), End::Good));
    if current(file)?.is_none() {
        return none();
    }
    let _held = lock(file).map_err(Stop::failed)?;
    let Some(text) = current(file)? else { return none() };
    if blank(&text) {
        return none();
    }
    if let Err(found) = tree::json(&text) {
        return Err(fault(file, &text, found.at(), found.what()));
    }
    match taken_out(&text) {
        Some(new) if new == text => none(),
        Some(new) => {
            put(file, Some(&new))?;
            Ok((format!("{shown}: entries taken out\n"), End::Good))
        }
        None => {
            put(file, None)?;
            Ok((format!("{shown}: removed, it held nothing else\n"), End::Good))
        }
    }
}

/// Refuse what the vendor would not load either: it would say nothing, and every call would run.
fn readable(file: &Path, text: Option<&str>) -> Result<(), Stop> {
    match text.filter(|text| !blank(text)).and_then(|text| unreadable(text).map(|(at, what)| (text, at, what))) {
        Some((text, at, what)) => Err(fault(file, text, at, &what)),
        None => Ok(()),
    }
}

/// Refuse as well what the vendor itself says it would pass over, where it is at hand.
fn by_the_vendor(file: &Path) -> Result<(), Stop> {
    let Installed::At(program, _) = installed(Claude::FACTS.word) else { return Ok(()) };
    let folder = file.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let faults = match vendors_faults(&program, folder) {
        Ok(faults) => faults,
        Err(why) => {
            complain(
                PROGRAM,
                &format!("{} doctor was asked about {} and did not answer: {why}", program.display(), file.display()),
            );
            return Ok(());
        }
    };
    match faults.into_iter().find(|fault| fault.whole && fault.file == file.to_string_lossy()) {
        None => Ok(()),
        Some(fault) => Err(Stop::failed(format!(
            "{}: by claude doctor, and for that Claude Code passes over the whole file without a word; put it right \
             first, nothing was changed",
            fault.line()
        ))),
    }
}

/// Nothing but our entries may have changed, whatever the file looks like.
fn nothing_else(file: &Path, old: Option<&str>, new: &str) -> Result<(), Stop> {
    match only_entries_differ(old, new) {
        true => Ok(()),
        false => Err(Stop::failed(format!(
            "{}: laid out so that the entries cannot be put in without touching the rest; nothing was changed; add what \
             --print prints by hand",
            file.display()
        ))),
    }
}
