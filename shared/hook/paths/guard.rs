//! Whether a write changes the guard of a step.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Stat, lstat, stat};
use rustix::io::Errno;

use super::Taken;
use super::follow::follow;
use crate::adapter::{Place, Protected, like};
use crate::decide::Tampering;

/// The change to the guarded places that a write to one of these paths would make, if any.
pub fn guarded<'a>(written: impl IntoIterator<Item = &'a Taken>, places: &[Protected]) -> Option<Tampering> {
    let mut missing = Vec::new();
    let looked: Vec<(Look<'_>, &Protected)> =
        places.iter().map(|protected| (Look::at(&protected.place, &mut missing), protected)).collect();
    written.into_iter().find_map(|taken| {
        // a link's own name counts as well as its target: the reader of the configuration follows it
        let names = taken.names().map(Name::new).collect::<Vec<_>>();
        let targets: Vec<Stat> =
            taken.led.iter().filter(|led| !led.missing).filter_map(|led| stat(&led.real).ok()).collect();
        looked.iter().find(|(look, _)| look.is_hit(taken, &names, &targets)).map(|(_, protected)| Tampering {
            path: taken.written.clone(),
            what: protected.what,
            kept: protected.kept,
        })
    })
}

/// A path with its names in small letters, since some file systems ignore case.
struct Name<'a> {
    path: &'a Path,
    small: Vec<String>,
}

impl<'a> Name<'a> {
    fn new(path: &'a Path) -> Name<'a> {
        Name { path, small: path.components().map(|part| small(&part.as_os_str().to_string_lossy())).collect() }
    }

    /// Whether the path has these names in a row; a final `**` stands for everything below.
    fn has(&self, names: &[&str]) -> bool {
        let (names, below) = match names {
            [names @ .., "**"] => (names, true),
            names => (names, false),
        };
        let mut windows = self.small.windows(names.len()).enumerate();
        windows.any(|(at, window)| {
            (below || at + names.len() == self.small.len())
                && window.iter().zip(names).all(|(name, pattern)| like(pattern, name))
        })
    }

    /// Whether the path is a file of one of these names in this folder, or below it. The folder is followed only if the
    /// path has such a name.
    fn is_among(&self, names: &[&str], folder: &Path, below: bool) -> bool {
        let inside = |folder: &Path| match below {
            true => self.path.starts_with(folder),
            false => self.path.parent() == Some(folder),
        };
        self.small.last().is_some_and(|name| names.iter().any(|pattern| like(pattern, name)))
            && (inside(folder) || inside(&real(folder)))
    }
}

/// Small letters, also for the characters that a file system without case takes for `i`, `k` and `s`. The names that
/// are looked for are ASCII.
fn small(name: &str) -> String {
    let plain = |c: char| match c {
        '\u{130}' | '\u{131}' => 'i',
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        c => c.to_ascii_lowercase(),
    };
    name.chars().map(plain).collect()
}

/// A protected place with the result of one look at it, so that most paths are told from it by their names. Following
/// every place for every path, name by name, made most of the hook's system calls.
struct Look<'a> {
    place: &'a Place,
    /// The existing file, links followed.
    found: Option<Stat>,
    /// The last name if it is no link, and so the last name of the target too.
    name: Option<&'a std::ffi::OsStr>,
}

impl<'a> Look<'a> {
    /// Look once. `missing` holds the folders that other looks did not find: nothing is below them.
    fn at(place: &'a Place, missing: &mut Vec<&'a Path>) -> Look<'a> {
        let path = match place {
            Place::File(path) | Place::Folder { folder: path, .. } => path,
            Place::Names(_) | Place::Among { .. } => return Look { place, found: None, name: None },
        };
        // a slash or a dot behind the last name would make the system follow a link
        let plain: PathBuf = path.components().collect();
        // the names before a `..` may be missing while the place behind it exists
        let name = path.file_name().filter(|_| !path.components().any(|part| part == Component::ParentDir));
        if name.is_some() && missing.iter().any(|folder| path.starts_with(folder)) {
            return Look { place, found: None, name };
        }
        match lstat(&plain) {
            _ if name.is_none() => Look { place, found: stat(&plain).ok(), name },
            Err(Errno::NOENT | Errno::NOTDIR) => {
                missing.push(path);
                Look { place, found: None, name }
            }
            Ok(found) if FileType::from_raw_mode(found.st_mode) != FileType::Symlink => {
                Look { place, found: Some(found), name }
            }
            _ => Look { place, found: stat(&plain).ok(), name: None },
        }
    }
    /// Whether a write to a path with these names and these existing files changes this place.
    fn is_hit(&self, taken: &Taken, names: &[Name<'_>], targets: &[Stat]) -> bool {
        match self.place {
            Place::File(file) => {
                // a hard link is the same file under another name
                let same = |b: &Stat| targets.iter().any(|a| a.st_dev == b.st_dev && a.st_ino == b.st_ino);
                let named = |real: &&Path| self.name.is_none_or(|name| real.file_name() == Some(name));
                self.found.as_ref().is_some_and(same)
                    || taken.led.iter().map(|led| led.real.as_path()).filter(named).any(|real| leads_to(file, real))
            }
            Place::Folder { folder, except } => {
                let named = |name: &&Name<'_>| self.name.is_none_or(|own| name.path.iter().any(|part| part == own));
                let mut names = names.iter().filter(named).peekable();
                if names.peek().is_none() {
                    return false;
                }
                let folder = real(folder);
                let except = except.as_deref().map(real);
                names.any(|name| {
                    let excepted = except.as_ref().is_some_and(|except| name.path.starts_with(except));
                    name.path.starts_with(&folder) && !excepted
                })
            }
            Place::Names(wanted) => names.iter().any(|name| name.has(wanted)),
            Place::Among { names: wanted, folders, below } => {
                names.iter().any(|name| folders.iter().any(|folder| name.is_among(wanted, folder, *below)))
            }
        }
    }
}

/// The target of a place; if it cannot be told, nobody can read the place there either.
fn real(place: &Path) -> PathBuf {
    follow(place).map_or_else(|_| place.into(), |led| led.real)
}

fn leads_to(place: &Path, path: &Path) -> bool {
    real(place) == path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{PathKind, RawPath};
    use crate::hook::paths::Folders;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The plain rule: for every path, every place is followed to its end.
    fn plain_rule(taken: &Taken, place: &Place) -> bool {
        let number = |path: &Path| stat(path).ok().map(|found| (found.st_dev, found.st_ino));
        match place {
            Place::File(file) => taken.led.iter().any(|led| {
                real(file) == led.real || (number(&led.real).is_some() && number(&led.real) == number(file))
            }),
            Place::Folder { folder, except } => taken.names().any(|name| {
                name.starts_with(real(folder)) && !except.as_ref().is_some_and(|except| name.starts_with(real(except)))
            }),
            Place::Names(_) | Place::Among { .. } => {
                panic!("{place:?} is told by letters, and no rule of links is about it")
            }
        }
    }

    /// Relative paths of few names, so that they meet.
    fn path() -> impl Strategy<Value = String> {
        vec(prop::sample::select(vec!["a", "b", "c", "..", "."]), 1..5).prop_map(|parts| parts.join("/"))
    }

    fn file(written: &str) -> RawPath {
        RawPath { written: written.into(), kind: PathKind::File }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn a_place_is_told_by_one_look_as_by_following_it(
            tree in vec((0..4, path(), path()), 0..12),
            places in vec((any::<bool>(), path()), 1..5),
            project in path(),
            written in path(),
        ) {
            let root = tempfile::tempdir().unwrap();
            let root = fs_err::canonicalize(root.path()).unwrap();
            let at = |path: &str| root.join("x/y").join(path);
            fs_err::create_dir_all(at("")).unwrap();
            for (kind, path, other) in &tree {
                // a file that cannot be made is missing, which is a case too
                let _ = match kind {
                    0 => fs_err::create_dir_all(at(path)),
                    1 => fs_err::write(at(path), "x"),
                    2 => fs_err::os::unix::fs::symlink(other, at(path)),
                    _ => fs_err::hard_link(at(other), at(path)),
                };
            }
            // a path with endless links is denied before anybody asks for its effect
            let Ok(taken) = Folders::new(at("a"), None).take(&file(&written)) else { return Ok(()) };
            let places: Vec<Protected> = places
                .iter()
                .map(|(file, path)| match file {
                    true => Place::File(at(path)),
                    false => Place::folder(at(path), Some(&at(&project))),
                })
                .map(|place| Protected::guard(place, "it"))
                .collect();
            let hit: Vec<bool> = places.iter().map(|protected| plain_rule(&taken, &protected.place)).collect();
            for only in 0..places.len() {
                let found = guarded([&taken], &places[only..=only]).is_some();
                prop_assert_eq!(found, hit[only], "{:?} {:?} {}", tree, places[only], written);
            }
            // the looks at other places do not change the result for this one
            prop_assert_eq!(guarded([&taken], &places).is_some(), hit.contains(&true), "{:?} {:?} {}", tree, places, written);
        }
    }

    #[test]
    fn names_count_wherever_they_stand_and_in_any_case() {
        let hit = |written: &str, place: Place| {
            let taken = Folders::new("/nowhere".into(), None).take(&file(written)).unwrap();
            guarded([&taken], &[Protected::guard(place, "it")]).is_some()
        };
        let agents = || Place::Names(&[".claude", "agents", "**"]);
        let settings = || Place::Names(&[".claude", "settings*.json"]);
        for (written, place, wanted) in [
            ("p/.claude/agents/x.md", agents(), true),
            ("p/.Claude/AGENTS/deep/x.md", agents(), true),
            ("p/.cla\u{131}de/agents", agents(), false),
            ("p/.claude/agent\u{17f}/x", agents(), true),
            ("p/.claude/agents", agents(), true),
            ("p/.claude/x/agents/y", agents(), false),
            ("p/agents/x.md", agents(), false),
            ("p/.claude/../.claude/agents/x", agents(), true),
            ("p/.claude/settings.local.json", settings(), true),
            ("p/.claude/settings.json/x", settings(), false),
            ("p/claude/settings.json", settings(), false),
        ] {
            assert_eq!(hit(written, place), wanted, "{written}");
        }
        let among =
            |below| Place::Among { names: &["mh-*", "*.so"], folders: vec!["/nowhere/bin".into(), "/n".into()], below };
        for (written, below, wanted) in [
            ("bin/mh-run", false, true),
            ("bin/x/mh-run", false, false),
            ("bin/x/mh-run", true, true),
            ("/n/x/y.so", true, true),
            ("/n/y.sot", true, false),
            ("other/mh-run", true, false),
        ] {
            assert_eq!(hit(written, among(below)), wanted, "{written}");
        }
    }
}
