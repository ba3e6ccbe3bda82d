//! The target of a path, and the paths whose target only the vendor's own process could tell.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use crate::decide::clipped;
use crate::frame::shown;
use crate::os::words;

/// The most links on one path, the kernel's limit.
const MAX_LINKS: usize = 40;

/// Places whose content depends on the process that looks.
const OWN: [&str; 5] = ["/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Led {
    /// The name's own place: links are followed up to its folder, but a link of that name is not.
    pub entry: PathBuf,
    /// Links are followed on the longest part that exists, and the rest is kept. A link with a missing target is
    /// followed too, since writing to it creates the target.
    pub real: PathBuf,
    /// Whether nothing exists there.
    pub missing: bool,
}

/// The reason why a path's target cannot be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Untold {
    /// The path passes through a place that differs from process to process.
    Own,
    /// A link on the way cannot be read.
    Link(PathBuf, String),
}

impl Untold {
    /// The reason, to follow the path.
    pub fn words(&self) -> String {
        match self {
            Untold::Own => {
                "leads through what each process sees in a way of its own, as /proc and /dev/fd are: write the \
                            path of the file itself"
                    .into()
            }
            Untold::Link(at, why) => {
                let at = clipped(&shown(&at.to_string_lossy()), 150);
                format!("passes {at}, which cannot be followed ({why}): write a path that does not pass it")
            }
        }
    }
}

/// Whether an absolute path, by its letters, is a different file for each process.
pub fn is_own(path: &Path) -> bool {
    OWN.iter().any(|own| path.starts_with(own))
}

/// Follow a path as the kernel does: one system call a name, two a link.
pub fn follow(path: &Path) -> Result<Led, Untold> {
    let mut left: VecDeque<OsString> = path.components().map(|part| part.as_os_str().to_owned()).collect();
    let (mut entry, mut real) = (None, PathBuf::from("/"));
    let (mut links, mut missing) = (0, false);
    while let Some(part) = left.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                real.pop();
                missing = false;
            }
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                if left.is_empty() {
                    // the first time, this is the last of the path's own names
                    entry.get_or_insert_with(|| next.clone());
                }
                if is_own(&next) {
                    return Err(Untold::Own);
                }
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the error is told by its number, and the file by its name"
                )]
                let target = if missing { Err(Errno::NOENT.into()) } else { std::fs::read_link(&next) };
                match target.map_err(|error| (Errno::from_io_error(&error), error)) {
                    Ok(_) if is_procfs(&real) => return Err(Untold::Own),
                    Ok(_) if links == MAX_LINKS => return Err(Untold::Link(next, words(Errno::LOOP))),
                    Ok(target) => {
                        links += 1;
                        for part in target.components().rev() {
                            left.push_front(part.as_os_str().to_owned());
                        }
                    }
                    Err((Some(Errno::INVAL), _)) => real = next,
                    Err((Some(Errno::NOENT | Errno::NOTDIR), _)) => {
                        missing = true;
                        real = next;
                    }
                    Err((_, error)) => return Err(Untold::Link(next, words(error))),
                }
            }
            _ => {}
        }
    }
    // a place there without a link, as another process's memory, is nobody's file either
    if !missing && is_procfs(&real) {
        return Err(Untold::Own);
    }
    Ok(Led { entry: entry.unwrap_or_else(|| real.clone()), real, missing })
}

/// Whether a folder is in procfs, wherever that is mounted: its links depend on the process that follows them.
fn is_procfs(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == rustix::fs::PROC_SUPER_MAGIC);
    #[cfg(not(target_os = "linux"))]
    return folder.starts_with("/proc");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::fold;
    use fs_err::os::unix::fs::symlink;

    #[test]
    fn what_is_another_file_for_every_process_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(root.path()).unwrap();
        symlink("/proc/self", root.join("self")).unwrap();
        symlink("self/cwd", root.join("hop")).unwrap();
        for path in ["/proc", "/proc/self/cwd/x", "/proc/1/root/etc", "/dev/fd/3", "/dev/stdin", "/dev/../proc/self"] {
            assert_eq!(follow(&fold(Path::new(path))), Err(Untold::Own), "{path}");
        }
        for path in ["self", "self/x", "hop", "hop/x/y"] {
            assert_eq!(follow(&root.join(path)), Err(Untold::Own), "{path}");
        }
        for path in ["/procession/a", "/dev/null", "/dev/fdx"] {
            assert_eq!(follow(Path::new(path)).unwrap().real, Path::new(path));
        }
    }

    #[test]
    fn a_link_that_goes_round_and_a_name_that_is_no_name_are_not_plain_names() {
        let root = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(root.path()).unwrap();
        symlink("round", root.join("round")).unwrap();
        for path in ["round", "round/x", "a\0b", &"n".repeat(300)] {
            assert!(matches!(follow(&root.join(path)), Err(Untold::Link(..))), "{path}");
        }
        // nothing is looked up below a missing name, and a file has nothing below it
        fs_err::write(root.join("file"), "").unwrap();
        for path in ["missing/x/y", "file/x"] {
            assert_eq!(follow(&root.join(path)).unwrap().real, root.join(path));
        }
        symlink("file", root.join("link")).unwrap();
        assert_eq!(follow(&root.join("missing/../link")).unwrap().real, root.join("file"));
    }
}
