//! Writing, removing and printing entries.

use std::path::Path;

use super::doctor::in_the_way;
use super::line::{PreparedLine, new_enough, prepare};
use super::{PROGRAM, Request};
use crate::adapter::setup::file::text_of;
use crate::adapter::setup::terms::EntryTerms;
use crate::adapter::setup::text::line_and_column;
use crate::adapter::setup::{EntryPlace, Offers, PrintedForm, Setup, Unplaced, Unspliced};
use crate::adapter::words;
use crate::os;
use crate::os::git;
use crate::os::lock::lock;
use crate::os::{End, Stop, complain};

impl From<Unplaced> for Stop {
    fn from(unplaced: Unplaced) -> Self {
        match unplaced {
            Unplaced::Untold(why) => Stop::usage(why),
            Unplaced::Missing(why) => Stop::failed(why),
            Unplaced::Unnamed(error) => error.into(),
        }
    }
}

/// Do the task with this vendor's entries, and return the report.
pub(crate) fn work(vendor: &dyn Setup, request: &Request) -> Result<(String, End), Stop> {
    let place = request.place();
    offered(vendor, request)?;
    vendor.ready()?;
    let text = match request.printed() {
        Some(form) => print(vendor, request, form)?,
        None => {
            let file = vendor.file(&place)?;
            if request.remove { remove(vendor, &file)? } else { write(vendor, request, &file)? }
        }
    };
    Ok((text, End::Good))
}

/// Refuse a form or a place that this vendor does not have.
fn offered(vendor: &dyn Setup, request: &Request) -> Result<(), Stop> {
    match vendor.offers() {
        Offers { shell: Err(why), .. } if request.shell => {
            let who = words(|vendor| vendor.offers().shell.is_ok());
            Err(Stop::usage(format!("--shell is for {who}; {why}")))
        }
        Offers { project: Err(why), .. } if request.project.is_some() => {
            let who = words(|vendor| vendor.offers().project.is_ok());
            Err(Stop::usage(format!("--project is for {who}: {why}")))
        }
        Offers { local: Err(why), .. } if request.local => {
            let who = words(|vendor| vendor.offers().local.is_ok());
            Err(Stop::usage(format!("--local is for {who}: {why}")))
        }
        _ => Ok(()),
    }
}

fn print(vendor: &dyn Setup, request: &Request, form: PrintedForm) -> Result<String, Stop> {
    let line = prepare(vendor, request)?;
    line.safe(false)?;
    let text = vendor.printed(&line.registration, form)?;
    if form == PrintedForm::Managed {
        let file = vendor.managed_file();
        complain(PROGRAM, &format!("for {file}, written by root; every other hook is shut out"));
    }
    Ok(text)
}

fn write(vendor: &dyn Setup, request: &Request, file: &Path) -> Result<String, Stop> {
    let line = prepare(vendor, request)?;
    line.safe(true)?;
    if let Some(why) = vendor.lacks(&line.frame) {
        complain(PROGRAM, &format!("{}: {why}", line.terms.frame));
    }
    let release = new_enough(vendor)?;
    let made = file.parent().filter(|folder| !folder.exists());
    if let Some(folder) = made {
        fs_err::create_dir_all(folder).map_err(|error| Stop::failed(error.to_string()))?;
    }
    let (done, before) = put_in(vendor, &line, file).inspect_err(|_| {
        if let Some(folder) = made {
            let _ = fs_err::remove_dir(folder);
        }
    })?;
    for why in in_the_way(vendor, &request.folder()) {
        complain(PROGRAM, &format!("not live yet: {why}"));
    }
    let place = request.project.as_ref().map(|project| format!(" --project {}", project.display())).unwrap_or_default();
    Ok(format!(
        "{}: {done}\n{}{}{release}{}is it on? mh-setup doctor {}{place}\n",
        file.display(),
        line.told(vendor, before.as_ref()),
        shared(request, file),
        vendor.limits(),
        vendor.facts().word
    ))
}

/// The note about people who get a project's file by git: its entries name files of one person.
fn shared(request: &Request, file: &Path) -> String {
    let Some(root) = git::checkout(file) else { return String::new() };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match (request.place(), git::ignores(file)) {
        (EntryPlace::Project(_), Some(false)) => format!(
            "git: {name} is not ignored here, and the entries name files of yours: in a checkout without them every prompt \
             is blocked; --local writes settings for this machine alone\n"
        ),
        (EntryPlace::Local(_), Some(false)) => format!(
            "git: {name} is not ignored here, so a commit could take it along; add {} to {}\n",
            file.strip_prefix(&root).unwrap_or(file).display(),
            // a linked worktree has it elsewhere
            if root.join(".git").is_dir() { ".git/info/exclude" } else { ".gitignore" },
        ),
        (EntryPlace::Local(_), Some(true)) => format!("git: {name} is ignored here, so it stays on this machine\n"),
        (EntryPlace::Local(_), None) => format!("git: whether {name} is ignored here is not known, git did not say\n"),
        _ => String::new(),
    }
}

/// Add the entries and change nothing else. The result is the report, with the terms of the entries before.
fn put_in(vendor: &dyn Setup, line: &PreparedLine, file: &Path) -> Result<(String, Option<EntryTerms>), Stop> {
    let _held = lock(file)?;
    let old = current(file)?;
    let old = old.as_deref();
    let new =
        vendor.put_in(old, &line.registration, file).map_err(|why| unspliced(file, old.unwrap_or_default(), why))?;
    if old.is_some() {
        by_the_vendor(vendor, file)?;
    }
    if !vendor.only_entries_differ(old, &new, file) {
        return Err(Stop::failed(format!(
            "{}: laid out so that the entries cannot be put in without touching the rest; nothing was changed; add what \
             --print prints by hand",
            file.display()
        )));
    }
    if old == Some(new.as_str()) {
        return Ok(("the entries are there already, nothing was changed".into(), None));
    }
    put(file, Some(&new))?;
    let standing = old.and_then(|old| vendor.standing(old).ok()).unwrap_or_default();
    let altered: Vec<&str> =
        standing.iter().filter(|(_, stands)| matches!(stands, Some(Err(_)))).map(|(event, _)| *event).collect();
    let before = standing.iter().find_map(|(_, stands)| Some(stands.as_ref()?.as_ref().ok()?.1.clone()));
    if !altered.is_empty() {
        let why = format!(
            "{}: entries of ours were not as mh-setup writes them, and what was changed in them is gone: {}",
            file.display(),
            altered.join(", ")
        );
        complain(PROGRAM, &why);
    }
    Ok((format!("{} written", vendor.entries()), before))
}

fn remove(vendor: &dyn Setup, file: &Path) -> Result<String, Stop> {
    let shown = file.display();
    let none = || Ok(format!("{shown}: no entry of {} there, nothing was changed\n", vendor.facts().program));
    if current(file)?.is_none() {
        return none();
    }
    let _held = lock(file)?;
    let Some(text) = current(file)? else { return none() };
    match vendor.take_out(&text, file).map_err(|why| unspliced(file, &text, why))? {
        Some(new) if new == text => none(),
        Some(new) if !new.is_empty() => {
            put(file, Some(&new))?;
            Ok(format!("{shown}: {} taken out\n", vendor.entries()))
        }
        // an empty file counts as none
        _ => {
            put(file, None)?;
            vacated(vendor, file);
            Ok(format!("{shown}: removed, it held nothing else\n"))
        }
    }
}

/// After a file is removed, remove its folder too, if that is empty and exists only for such files.
fn vacated(vendor: &dyn Setup, file: &Path) {
    let made = format!(".{}", vendor.facts().word);
    if let Some(folder) = file.parent().filter(|folder| folder.file_name().is_some_and(|name| *name == *made)) {
        // this fails if the folder is not empty
        let _ = fs_err::remove_dir(folder);
    }
}

/// Refuse a file that the vendor itself reports it would ignore, if the vendor is installed.
fn by_the_vendor(vendor: &dyn Setup, file: &Path) -> Result<(), Stop> {
    let folder = file.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let Some((program, answer)) = vendor.objections(folder) else { return Ok(()) };
    let objections = match answer {
        Ok(objections) => objections,
        Err(why) => {
            complain(
                PROGRAM,
                &format!("{} doctor was asked about {} and did not answer: {why}", program.display(), file.display()),
            );
            return Ok(());
        }
    };
    let facts = vendor.facts();
    match objections.into_iter().find(|objection| objection.whole && objection.file == file.to_string_lossy()) {
        None => Ok(()),
        Some(objection) => Err(Stop::failed(format!(
            "{}: by {} doctor, and for that {} passes over the whole file without a word; put it right first, nothing was \
             changed",
            objection.line(),
            facts.word,
            facts.product
        ))),
    }
}

/// Write the new text of a file, or remove the file.
fn put(file: &Path, new: Option<&str>) -> Result<(), Stop> {
    let Some(new) = new else {
        return fs_err::remove_file(file).map_err(|error| Stop::failed(error.to_string()));
    };
    let written = os::write_beside(file, new.as_bytes())?;
    if written.through_link {
        complain(PROGRAM, &format!("{} is a link; wrote {}", file.display(), written.file.display()));
    }
    Ok(())
}

/// The text of a file that is to be changed; `None` if there is no file.
fn current(file: &Path) -> Result<Option<String>, Stop> {
    text_of(file).transpose().map_err(|why| Stop::failed(format!("{}: {why}", file.display())))
}

/// The message about a place in a file, with line and column.
fn unspliced(file: &Path, text: &str, why: Unspliced) -> Stop {
    Stop::failed(match why {
        Unspliced::Name(error) => error.to_string(),
        Unspliced::At(fault) => {
            let (line, column) = line_and_column(text, fault.at());
            format!(
                "{}: line {line}, column {column}: {}; put it right first, nothing was changed",
                file.display(),
                fault.what()
            )
        }
    })
}
