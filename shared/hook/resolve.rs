//! A call's finished paths: their targets, their spellings for the path rules, and whether they belong to the guard.

use std::path::PathBuf;

use super::guard::{loaded, places};
use super::paths::{self, Folders};
use super::{HookOptions, Surroundings};
use crate::adapter::{Hook, LONGEST, MOST_BYTES, MOST_PATHS, PathKind, Payload, RawAsks, RawNeed, RawPath};
use crate::decide::{self, Asks, Call, Need, Tampering, Target, clipped};
use crate::frame::{Operation, shown};
use crate::seal::VerifiedFrame;

/// Finish a call's paths, as far as the frame has rules for them, and find a write to the guard.
pub fn finish(
    vendor: &dyn Hook,
    setup: &HookOptions,
    frame: &VerifiedFrame,
    payload: &Payload<'_>,
    tool: &str,
    raw: RawAsks,
    around: &Surroundings<'_>,
) -> Call {
    let call = |tampers, asks| Call { tool: tool.into(), tampers, asks };
    match raw {
        RawAsks::Needs(needs) => match finished(vendor, setup, frame, payload, needs, around) {
            Ok((tampers, needs)) => call(tampers, Asks::Needs(needs)),
            Err(why) => call(None, Asks::Inadmissible(why)),
        },
        RawAsks::Conversation => call(None, Asks::Conversation),
        RawAsks::Inadmissible(why) => call(None, Asks::Inadmissible(why)),
    }
}

/// The call's needs, and the guarded place that it would change. `Err` is the reason why that cannot be told, to follow
/// the tool's name.
fn finished(
    vendor: &dyn Hook,
    setup: &HookOptions,
    frame: &VerifiedFrame,
    payload: &Payload<'_>,
    needs: Vec<RawNeed>,
    around: &Surroundings<'_>,
) -> Result<(Option<Tampering>, Vec<Need>), String> {
    let rules = !frame.frame().scope.is_empty();
    let needs = by_letters(payload, needs, rules)?;
    let paths = || needs.iter().filter_map(|need| need.path.as_ref());
    let scoped = rules && paths().next().is_some();
    let writes = setup.self_protect && needs.iter().any(|need| need.writes() && need.path.is_some());
    if !scoped && !writes {
        // no rule asks for its target
        let target = |path: RawPath| Target { written: path.written, spelled: Vec::new() };
        let needs = needs.into_iter().map(|need| Need { wanted: need.wanted, path: need.path.map(target) });
        return Ok((None, needs.collect()));
    }
    let folders = folders(vendor, payload, around);
    if scoped && folders.project.is_none() {
        return Err("cannot be judged by the path rules: the working folder that they are relative to is gone".into());
    }
    let taken = paths().map(|path| folders.take(path)).collect::<Result<Vec<_>, _>>()?;
    if scoped && let Some(path) = taken.iter().find(|path| folders.is_copy(path)) {
        return Err(format!(
            "is about {}, in a copy of the working tree, where the path rules of this step do not hold: work on the files \
             of the project itself",
            clipped(&shown(path.written()), 150)
        ));
    }
    let mut tampers = None;
    if writes {
        let mut places = places(setup, &folders, &taken, around.environment)?;
        if scoped || !decide::admits(frame, &Operation::FileRead) {
            places.extend(loaded(vendor));
        }
        let written = needs.iter().filter(|need| need.path.is_some()).zip(&taken);
        tampers = paths::guarded(written.filter(|(need, _)| need.writes()).map(|(_, path)| path), &places);
    }
    let mut taken = taken.into_iter();
    let needs = needs.into_iter().map(|need| Need {
        path: need.path.map(|path| {
            let spelled = taken.next().filter(|_| scoped).map(|taken| folders.spell(&taken)).unwrap_or_default();
            Target { written: path.written, spelled }
        }),
        wanted: need.wanted,
    });
    Ok((tampers, needs.collect()))
}

/// The reason why a call has too many or too long paths to be judged.
fn too_much(payload: &Payload<'_>, needs: &[RawNeed]) -> Option<String> {
    let folder = payload.cwd.as_ref().map_or(0, String::len);
    let paths = || needs.iter().filter_map(|need| need.path.as_ref());
    if paths().any(|path| folder + path.written.len() > LONGEST) {
        return Some(RawNeed::too_long());
    }
    let bytes: usize = paths().map(|path| folder + path.written.len()).sum();
    (paths().count() > MOST_PATHS || bytes > MOST_BYTES).then(RawNeed::too_many)
}

/// The facts that the letters of a call's paths tell, without looking at files: a path that readers could take
/// differently is refused.
fn by_letters(payload: &Payload<'_>, needs: Vec<RawNeed>, rules: bool) -> Result<Vec<RawNeed>, String> {
    if let Some(why) = too_much(payload, &needs) {
        return Err(why);
    }
    let any = |path: &RawPath| path.kind == PathKind::Any;
    let paths = || needs.iter().filter_map(|need| need.path.as_ref());
    if let Some(path) = paths().find(|path| rules && any(path)) {
        return Err(format!(
            "has {} in it, by which the vendor reads files by itself, and it cannot be told which: the path rules of this \
             step cannot judge it; write it without, and read the file by a call of its own",
            clipped(&shown(&path.written), 150)
        ));
    }
    match paths().filter(|path| !any(path)).find_map(|path| paths::unclear(&path.written, payload.cwd.as_deref())) {
        Some(why) => Err(why),
        None => {
            Ok(needs.into_iter().map(|need| RawNeed { path: need.path.filter(|path| !any(path)), ..need }).collect())
        }
    }
}

/// The base folders of paths: the project that the environment names, else the process's own folder, if it still
/// exists; an agent cannot move that.
fn folders(vendor: &dyn Hook, payload: &Payload<'_>, around: &Surroundings<'_>) -> Folders {
    let own = || around.folder.clone().or_else(|| std::env::current_dir().ok());
    let absolute = |path: &PathBuf| path.is_absolute();
    let working = payload.cwd.as_ref().map(PathBuf::from).filter(absolute).or_else(own);
    Folders::new(
        working.unwrap_or_else(|| "/".into()),
        vendor.facts().project.and_then(around.environment).map(PathBuf::from).filter(absolute).or_else(own),
    )
}
