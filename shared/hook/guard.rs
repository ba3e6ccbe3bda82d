//! The places that a writing call must not change in this step.

use std::path::PathBuf;

use super::HookOptions;
use super::paths::{Folders, Taken};
use crate::adapter::{self, Environment, Hook, Place, Protected};
use crate::decide::Kept;

/// This program's file: by the system, or without `/proc` by the absolute name that started it.
fn own_program() -> Option<PathBuf> {
    let named = || std::env::args_os().next().map(PathBuf::from).filter(|name| name.is_absolute());
    std::env::current_exe().ok().or_else(named)
}

/// The places that guard this step, and the files that govern any vendor.
pub fn places(
    setup: &HookOptions,
    folders: &Folders,
    taken: &[Taken],
    environment: Environment<'_>,
) -> Result<Vec<Protected>, String> {
    let own = own_program().ok_or(
        "cannot be judged: the file of the program that guards this step cannot be told; mount /proc, or start the program by \
         its absolute path",
    )?;
    let file = |path: PathBuf, what| Protected::guard(Place::File(path), what);
    let mut all = Vec::new();
    all.extend(setup.frame.clone().map(|path| file(path, "the frame in force")));
    let folder = own.parent().map(PathBuf::from).filter(|folder| taken.iter().any(|path| path.is_below(folder)));
    all.push(file(own, "the program that guards this step"));
    // the programs beside it guard the step as well, since one of them writes the entries. If the system named the
    // program, its folder's name has no links left
    if let Some(folder) = folder {
        // a project that holds the program, as a checkout does, stays writable
        let holds = folders.real_project().is_some_and(|project| project.starts_with(&folder));
        let names = if holds { &["mh-*"] } else { &["*"] };
        let place = Place::Among { names, folders: vec![folder], below: !holds };
        all.push(Protected::guard(place, "beside the program that guards this step"));
    }
    all.extend(setup.audit.clone().map(|path| file(path, "the audit of this step")));
    all.extend(setup.decider.as_ref().map(|decider| file(decider.path().into(), "the decider of this step")));
    all.extend(adapter::places(environment, folders.project.as_deref()));
    Ok(all)
}

/// The files that the vendor loads by itself.
pub fn loaded(vendor: &dyn Hook) -> impl Iterator<Item = Protected> {
    let what = "loaded by itself, with every file that it imports";
    vendor.facts().loaded.iter().map(move |names| Protected { place: Place::Names(names), what, kept: Kept::Loads })
}
