//! The file that a payload's path really means, and whether it belongs to the guard.
//!
//! The hook and then the vendor read a path, and both have to mean the same file. So a path is taken in every way that
//! a vendor takes one, and a path that only the vendor's own process could follow is not judged at all.

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

/// The folders that the relative paths of a payload refer to.
#[derive(Debug, Clone, Default)]
pub struct Folders {
    /// The base of the call's relative paths.
    pub working: PathBuf,
    /// The base of the frame's relative globs, if it is known.
    pub project: Option<PathBuf>,
    /// The project folder with links followed, looked up once for all paths of a call.
    real_project: OnceCell<Option<PathBuf>>,
}

/// A path in every way that a vendor may take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    written: String,
    kind: PathKind,
    /// The absolute path, with `.` and `..` removed by the letter.
    folded: PathBuf,
    /// The targets: with `..` removed before a link is followed, as both vendors do, and unchanged, as the kernel does.
    /// One if they are equal.
    led: Vec<Led>,
}

impl Taken {
    /// The path in the call's own spelling.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Whether the path is this folder or lies below it, by any of its names.
    pub fn is_below(&self, folder: &Path) -> bool {
        self.names().any(|name| name.starts_with(folder))
    }

    /// Every name of the written file.
    fn names(&self) -> impl Iterator<Item = &Path> {
        let led = self.led.iter().flat_map(|led| [led.real.as_path(), &led.entry]);
        led.chain(std::iter::once(self.folded.as_path()))
    }
}

/// The reason why the letters do not tell which file a path means, to follow the tool's name. `folder` is the base of a
/// relative one.
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
    pub fn new(working: PathBuf, project: Option<PathBuf>) -> Folders {
        Folders { working, project, real_project: OnceCell::new() }
    }

    /// Follow a path in every way that a vendor may take it.
    ///
    /// # Errors
    /// The reason why the target cannot be told, to follow the tool's name.
    pub fn take(&self, path: &RawPath) -> Result<Taken, String> {
        let absolute = self.working.join(&path.written);
        let folded = fold(&absolute);
        let mut led = vec![follow(&folded).map_err(|why| cannot_tell(&path.written, &why.words()))?];
        // without a `..` there is only one way
        if absolute.components().any(|part| part == Component::ParentDir) {
            led.push(follow(&absolute).map_err(|why| cannot_tell(&path.written, &why.words()))?);
            led.dedup();
        }
        Ok(Taken { written: path.written.clone(), kind: path.kind, folded, led })
    }

    /// Every spelling of a path that a scope looks at, once for each file that it may mean.
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

    /// Whether a path lies in a copy of a working tree that a vendor makes for an agent, outside the project: the
    /// frame's globs are about the project's own files.
    pub fn is_copy(&self, path: &Taken) -> bool {
        let project = self.real_project();
        path.names().any(|name| {
            let inside =
                [self.project.as_deref(), project].into_iter().flatten().find_map(|own| name.strip_prefix(own).ok());
            let parts: Vec<_> = inside.unwrap_or(name).iter().map(|part| part.to_ascii_lowercase()).collect();
            adapter::is_copy(&parts)
        })
    }

    /// The project folder with links followed.
    pub fn real_project(&self) -> Option<&Path> {
        let real = |project: &Path| follow(project).map_or_else(|_| project.into(), |led| led.real);
        self.real_project.get_or_init(|| self.project.as_deref().map(real)).as_deref()
    }
}

/// A path, and its spelling relative to each of these folders; a folder also gets its slash, so that `src/**` covers a
/// search in `src`.
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
