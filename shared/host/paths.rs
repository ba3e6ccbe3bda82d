//! Paths: what a payload's path really leads to, and whether the guard stands on it.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Stat, lstat, stat};
use rustix::io::Errno;

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
    /// Where that really leads, looked up once for all paths of a call.
    real_project: OnceCell<Option<PathBuf>>,
}

impl Folders {
    /// These folders.
    pub fn new(working: PathBuf, project: Option<PathBuf>) -> Folders {
        Folders { working, project, real_project: OnceCell::new() }
    }

    /// Every spelling of a path that matters to a scope.
    pub fn spell(&self, path: &RawPath) -> Spelled {
        let absolute = self.working.join(&path.written);
        let Led { entry, real } = follow(&absolute);
        let real = if path.kind == PathKind::Entry { entry } else { real };
        let folder = path.kind == PathKind::Folder;
        let project = self.real_project.get_or_init(|| self.project.as_deref().map(|project| follow(project).real));
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

/// Where a path leads.
struct Led {
    /// Where the name itself stands: links followed up to its folder, but not a link of that name.
    entry: PathBuf,
    /// Links followed on the longest part that exists, the rest as it stands. A link whose target is
    /// missing is followed too: writing to it creates the target.
    real: PathBuf,
}

fn follow(path: &Path) -> Led {
    let mut left: VecDeque<OsString> = path.components().map(|part| part.as_os_str().to_owned()).collect();
    let (mut entry, mut real) = (None, PathBuf::from("/"));
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => drop(real.pop()),
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                if left.is_empty() {
                    // the first time, this is the last of the path's own names
                    entry.get_or_insert_with(|| next.clone());
                }
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
    Led { entry: entry.unwrap_or_else(|| real.clone()), real }
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

/// What of the guard a write to one of these paths would change, if anything.
pub fn guarded<'a>(
    folders: &Folders,
    mut written: impl Iterator<Item = &'a str>,
    protected: &[Protected],
) -> Option<Tampering> {
    let looked: Vec<(Look<'_>, &'static str)> =
        protected.iter().map(|protected| (Look::at(&protected.place), protected.what)).collect();
    written.find_map(|written| {
        let absolute = folders.working.join(written);
        let Led { entry, real } = follow(&absolute);
        let target = stat(&real).ok();
        // a link's own name counts as well as where it leads: what reads the configuration follows it
        let names = [real, entry, fold(&absolute)];
        looked
            .iter()
            .find(|(look, _)| look.is_hit(&names, target.as_ref()))
            .map(|(_, what)| Tampering { path: written.into(), what: (*what).into() })
    })
}

/// A protected place and what one look at it tells, so that most paths are told from it by their
/// names. Following every place, name by name, for every path took most of the hook's system calls.
struct Look<'a> {
    place: &'a Place,
    /// The file there is, by links.
    found: Option<Stat>,
    /// Its last name, where that is no link, and so the last name of where it leads too.
    name: Option<&'a std::ffi::OsStr>,
}

impl<'a> Look<'a> {
    fn at(place: &'a Place) -> Look<'a> {
        let path = match place {
            Place::File(path) | Place::Folder(path) => path,
            Place::Named { .. } => return Look { place, found: None, name: None },
        };
        let name = path.file_name();
        // a slash or a dot behind the last name would have a link followed
        let path: PathBuf = path.components().collect();
        let plain = !path.components().any(|part| part == Component::ParentDir);
        // of what is missing, the names are literal from the first folder on that is there
        for (above, known) in path.ancestors().enumerate().filter(|_| plain) {
            match lstat(known) {
                Err(Errno::NOENT) => {}
                Ok(found) if FileType::from_raw_mode(found.st_mode) != FileType::Symlink => {
                    return Look { place, found: (above == 0).then_some(found), name };
                }
                _ => break,
            }
        }
        Look { place, found: stat(&path).ok(), name: None }
    }

    /// Whether a write changes this place that is done to `names`, the first of them where it really
    /// leads, and to the file `target`, if there is one.
    fn is_hit(&self, names: &[PathBuf; 3], target: Option<&Stat>) -> bool {
        match self.place {
            Place::File(file) => {
                // a hard link is the same file by another name
                let same = |(a, b): (&Stat, &Stat)| a.st_dev == b.st_dev && a.st_ino == b.st_ino;
                target.zip(self.found.as_ref()).is_some_and(same)
                    || (self.name.is_none_or(|name| names[0].file_name() == Some(name))
                        && follow(file).real == names[0])
            }
            Place::Folder(folder) => {
                let below = |path: &&PathBuf| self.name.is_none_or(|name| path.iter().any(|part| part == name));
                names.iter().any(|path| below(&path)) && {
                    let folder = follow(folder).real;
                    names.iter().any(|path| path.starts_with(&folder))
                }
            }
            Place::Named { folder, prefix, suffix } => names.iter().any(|path| named(path, folder, prefix, suffix)),
        }
    }
}

/// Case is not looked at: some file systems do not either.
fn named(path: &Path, folder: &str, prefix: &str, suffix: &str) -> bool {
    let lower = |name: Option<&std::ffi::OsStr>| name.map(|name| name.to_string_lossy().to_ascii_lowercase());
    let (Some(name), Some(parent)) = (lower(path.file_name()), lower(path.parent().and_then(Path::file_name))) else {
        return false;
    };
    parent == folder && name.starts_with(prefix) && name.ends_with(suffix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The plain rule: every place is followed to its end for every path.
    fn plain_rule(folders: &Folders, written: &str, places: &[Protected]) -> Option<usize> {
        let absolute = folders.working.join(written);
        let Led { entry, real } = follow(&absolute);
        let number = |path: &Path| stat(path).ok().map(|found| (found.st_dev, found.st_ino));
        let names = [real.clone(), entry, fold(&absolute)];
        places.iter().position(|protected| match &protected.place {
            Place::File(file) => {
                follow(file).real == real || (number(&real).is_some() && number(&real) == number(file))
            }
            Place::Folder(folder) => names.iter().any(|name| name.starts_with(follow(folder).real)),
            Place::Named { folder, prefix, suffix } => names.iter().any(|name| named(name, folder, prefix, suffix)),
        })
    }

    /// Relative paths of few names, so that they meet.
    fn path() -> impl Strategy<Value = String> {
        vec(prop::sample::select(vec!["a", "b", "c", "..", "."]), 1..5).prop_map(|parts| parts.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn a_place_is_told_by_one_look_as_by_following_it(
            tree in vec((0..4, path(), path()), 0..12),
            places in vec((any::<bool>(), path()), 1..5),
            written in path(),
        ) {
            let root = tempfile::tempdir().unwrap();
            let root = root.path().canonicalize().unwrap();
            let at = |path: &str| root.join("x/y").join(path);
            std::fs::create_dir_all(at("")).unwrap();
            for (kind, path, other) in &tree {
                // what cannot be made is not there, and that is a case too
                let _ = match kind {
                    0 => std::fs::create_dir_all(at(path)),
                    1 => std::fs::write(at(path), "x"),
                    2 => std::os::unix::fs::symlink(other, at(path)),
                    _ => std::fs::hard_link(at(other), at(path)),
                };
            }
            let folders = Folders::new(at("a"), None);
            let places: Vec<Protected> = places
                .iter()
                .map(|(file, path)| if *file { Place::File(at(path)) } else { Place::Folder(at(path)) })
                .map(|place| Protected { place, what: "it" })
                .collect();
            for only in 0..places.len() {
                let place = &places[only..=only];
                prop_assert_eq!(
                    guarded(&folders, std::iter::once(written.as_str()), place).is_some(),
                    plain_rule(&folders, &written, place).is_some(),
                    "{:?} {:?} {}", tree, place, written
                );
            }
        }
    }
}
