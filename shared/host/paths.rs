//! Paths: what a payload's path really leads to, and whether the guard stands on it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::decide::Tampering;
use crate::scope::Spelled;
use crate::vendor::{PathKind, Place, Protected, RawPath};

/// Links that are followed on one path, as the kernel does.
const MAX_LINKS: usize = 40;

/// The folders that a payload's paths are to be understood by.
#[derive(Debug, Clone, Default)]
pub struct Folders {
    /// What a relative path of the call is relative to.
    pub working: PathBuf,
    /// What the frame's relative globs are relative to, if that can be told.
    pub project: Option<PathBuf>,
}

impl Folders {
    /// Every spelling of a path that matters to a scope.
    pub fn spell(&self, path: &RawPath) -> Spelled {
        let absolute = self.working.join(&path.written);
        let real = if path.kind == PathKind::Entry { entry(&absolute) } else { resolve(&absolute) };
        let folder = path.kind == PathKind::Folder;
        let project = self.project.as_deref().map(resolve);
        let mut spelled = Spelled { resolved: spellings(&real, [project.as_deref()], folder), other: Vec::new() };
        spelled.other = spellings(&fold(&absolute), [self.project.as_deref(), project.as_deref()], folder);
        spelled.other.push(path.written.clone());
        spelled.other.retain(|spelling| !spelled.resolved.contains(spelling));
        spelled
    }
}

/// A path, and what it is relative to each of these folders; for a folder, with its slash too, so
/// that `src/**` covers a search in `src`.
fn spellings<const N: usize>(path: &Path, bases: [Option<&Path>; N], folder: bool) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut all = vec![text(path)];
    for base in bases.into_iter().flatten() {
        match path.strip_prefix(base) {
            Ok(inside) if inside.as_os_str().is_empty() => all.push(".".into()),
            Ok(inside) => all.push(text(inside)),
            Err(_) => {}
        }
    }
    if folder {
        all.extend(all.clone().into_iter().map(|path| path + "/"));
    }
    all
}

/// Where a path really leads: links followed on the longest part that exists, the rest as it
/// stands. A link whose target is missing is followed too: writing to it creates the target.
pub fn resolve(path: &Path) -> PathBuf {
    let mut left: VecDeque<OsString> = path.components().map(|part| part.as_os_str().to_owned()).collect();
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => drop(real.pop()),
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                match std::fs::read_link(&next) {
                    Ok(target) if links < MAX_LINKS => {
                        links += 1;
                        for part in target.components().rev() {
                            left.push_front(part.as_os_str().to_owned());
                        }
                    }
                    _ => real = next,
                }
            }
            _ => {}
        }
    }
    real
}

/// Where the name itself really stands: links followed up to its folder, but not a link of that
/// name.
fn entry(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => resolve(folder).join(name),
        _ => resolve(path),
    }
}

/// `.` and `..` taken out by the letter, no file looked at.
fn fold(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(folded.pop()),
            Component::CurDir => {}
            part => folded.push(part),
        }
    }
    folded
}

/// What of the guard a write to this path would change, if anything.
pub fn guarded(folders: &Folders, written: &str, protected: &[Protected]) -> Option<Tampering> {
    let absolute = folders.working.join(written);
    let real = resolve(&absolute);
    // a link's own name counts as well as where it leads: what reads the configuration follows it
    let by_name = [real.as_path(), &entry(&absolute), &fold(&absolute)];
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let target = identity(&real);
    let hit = |place: &Place| match place {
        Place::File(file) => {
            // a hard link is the same file by another name
            (target.is_some() && identity(file) == target) || resolve(file) == real
        }
        Place::Folder(folder) => {
            let folder = resolve(folder);
            by_name.iter().any(|path| path.starts_with(&folder))
        }
        Place::Named { folder, prefix, suffix } => by_name.iter().any(|path| named(path, folder, prefix, suffix)),
    };
    protected
        .iter()
        .find(|protected| hit(&protected.place))
        .map(|protected| Tampering { path: written.into(), what: protected.what.into() })
}

/// Case is not looked at: some file systems do not either.
fn named(path: &Path, folder: &str, prefix: &str, suffix: &str) -> bool {
    let lower = |name: Option<&std::ffi::OsStr>| name.map(|name| name.to_string_lossy().to_ascii_lowercase());
    let (Some(name), Some(parent)) = (lower(path.file_name()), lower(path.parent().and_then(Path::file_name))) else {
        return false;
    };
    parent == folder && name.starts_with(prefix) && name.ends_with(suffix)
}
