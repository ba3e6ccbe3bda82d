//! Paths: what a payload's path really leads to, and whether the guard stands on it.
//!
//! Two read a path, the hook and then the vendor, and both have to mean the same file. So a path is taken in
//! every way that a vendor takes one, and what only the vendor's own process could tell is not judged at all.

mod follow;
mod guard;

pub use guard::guarded;

use std::cell::OnceCell;
use std::path::{Component, Path, PathBuf};

use follow::{Led, follow, is_own};

use crate::adapter::{self, PathKind, RawPath, is_blank};
use crate::decide::clipped;
use crate::frame::shown;
use crate::scope::{Spelled, fold};

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

/// A path in every way that a vendor may take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    written: String,
    kind: PathKind,
    /// Made absolute, `.` and `..` taken out by the letter.
    folded: PathBuf,
    /// Where it leads: with `..` taken out by the letter before a link is followed, as both vendors
    /// do, and as it stands, as the kernel does. One, where that is the same.
    led: Vec<Led>,
}

impl Taken {
    /// As the call has it.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Whether it is this folder, or lies below it, by any of its names.
    pub fn is_below(&self, folder: &Path) -> bool {
        self.names().any(|name| name.starts_with(folder))
    }

    /// Every name of what is written to.
    fn names(&self) -> impl Iterator<Item = &Path> {
        let led = self.led.iter().flat_map(|led| [led.real.as_path(), &led.entry]);
        led.chain(std::iter::once(self.folded.as_path()))
    }
}

/// Why it cannot be told by its letters which file a path means, to follow the tool's name. `folder` is what a
/// relative one is relative to.
pub fn unclear(written: &str, folder: Option<&str>) -> Option<String> {
    let why = if written.contains('\0') {
        "has a NUL in it, which no path has: write it without"
    } else if written.starts_with(is_blank) || written.ends_with(is_blank) {
        "has white space at an end, which one reader cuts off and another does not: write it without"
    } else if written.starts_with('~') {
        "begins with `~`, which is a home folder to one reader and a name to another: write it out from `/` on, or with \
         `./` before it"
    } else if is_own(&fold(&Path::new(folder.unwrap_or("/")).join(written))) {
        return Some(cannot_tell(written, &follow::Untold::Own.words()));
    } else {
        return None;
    };
    Some(cannot_tell(written, why))
}

fn cannot_tell(written: &str, why: &str) -> String {
    format!("is about {}, and it cannot be told which file that is: it {why}", clipped(&shown(written), 150))
}

impl Folders {
    /// These folders.
    pub fn new(working: PathBuf, project: Option<PathBuf>) -> Folders {
        Folders { working, project, real_project: OnceCell::new() }
    }

    /// Follow a path in every way that a vendor may take it.
    ///
    /// # Errors
    /// Why it cannot be told where it leads, to follow the tool's name.
    pub fn take(&self, path: &RawPath) -> Result<Taken, String> {
        let absolute = self.working.join(&path.written);
        let folded = fold(&absolute);
        let mut led = vec![follow(&folded).map_err(|why| cannot_tell(&path.written, &why.words()))?];
        // without a `..` there is nothing to be taken in two ways
        if absolute.components().any(|part| part == Component::ParentDir) {
            led.push(follow(&absolute).map_err(|why| cannot_tell(&path.written, &why.words()))?);
            led.dedup();
        }
        Ok(Taken { written: path.written.clone(), kind: path.kind, folded, led })
    }

    /// Every spelling of a path that matters to a scope, once for each file that it may be.
    pub fn spell(&self, path: &Taken) -> Vec<Spelled> {
        let folder = path.kind == PathKind::Folder;
        let project = self.real_project();
        let resolved = |led: &Led| {
            let real = if path.kind == PathKind::Entry { &led.entry } else { &led.real };
            spellings(real, [project], folder)
        };
        let mut other = spellings(&path.folded, [self.project.as_deref(), project], folder);
        other.push(path.written.clone());
        let one = |led: &Led| {
            let resolved = resolved(led);
            let other = other.iter().filter(|spelling| !resolved.contains(spelling)).cloned().collect();
            Spelled { resolved, other }
        };
        path.led.iter().map(one).collect()
    }

    /// Whether a path lies in a copy of a working tree that a vendor makes for an agent, and that is not the project itself:
    /// the frame's globs are about the project's own files.
    pub fn is_copy(&self, path: &Taken) -> bool {
        let project = self.real_project();
        path.names().any(|name| {
            let inside =
                [self.project.as_deref(), project].into_iter().flatten().find_map(|own| name.strip_prefix(own).ok());
            let parts: Vec<_> = inside.unwrap_or(name).iter().map(|part| part.to_ascii_lowercase()).collect();
            adapter::is_copy(&parts)
        })
    }

    /// Where the project folder really lies.
    pub fn real_project(&self) -> Option<&Path> {
        let real = |project: &Path| follow(project).map_or_else(|_| project.into(), |led| led.real);
        self.real_project.get_or_init(|| self.project.as_deref().map(real)).as_deref()
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
