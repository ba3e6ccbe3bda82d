//! The places that a writing call must not touch, besides the guard's own files. Every vendor's hook keeps all of them,
//! since a file tool in one vendor's session could remove the other vendor's guard.

use std::path::{Path, PathBuf};

use super::{Environment, NEIGHBOURS};
use crate::decide::Kept;

/// A place that no call may write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    pub place: Place,
    /// The description for a reason.
    pub what: &'static str,
    pub kept: Kept,
}

/// The paths of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// This file, through whatever link a call reaches it.
    File(PathBuf),
    /// This folder and everything below it, through whatever link a call reaches it. `except` is a project inside the
    /// folder, which is left out.
    Folder { folder: PathBuf, except: Option<PathBuf> },
    /// Nested names anywhere in a path, since a vendor may be started in any folder next time. `*` in a name stands for
    /// any characters; a last `**` stands for the folder and everything below it.
    Names(&'static [&'static str]),
    /// Files with one of these names, `*` as above, in one of these folders, judged by the letters of the path.
    Among {
        names: &'static [&'static str],
        /// Absolute.
        folders: Vec<PathBuf>,
        /// Subfolders count too.
        below: bool,
    },
}

impl Protected {
    /// A part of the guard.
    pub fn guard(place: Place, what: &'static str) -> Protected {
        Protected { place, what, kept: Kept::Guard }
    }

    /// A file that a vendor starts or obeys by itself.
    pub fn starts(place: Place, what: &'static str) -> Protected {
        Protected { place, what, kept: Kept::Starts }
    }
}

impl Place {
    /// A folder and everything below it, without the project if it lies inside.
    pub fn folder(folder: PathBuf, project: Option<&Path>) -> Place {
        let inside = |project: &&Path| project.starts_with(&folder) && **project != *folder;
        Place::Folder { except: project.filter(inside).map(PathBuf::from), folder }
    }
}

/// The folder that an environment variable names. A relative one is relative to the project, where the vendor is
/// started.
pub fn folder(environment: Environment<'_>, name: &str, project: Option<&Path>) -> Option<PathBuf> {
    let named = environment(name).filter(|value| !value.is_empty()).map(PathBuf::from)?;
    project.map(|project| project.join(&named)).unwrap_or(named).into()
}

/// The places of every vendor and of the programs that vendors start.
pub fn places(environment: Environment<'_>, project: Option<&Path>) -> Vec<Protected> {
    let mut all: Vec<Protected> = NEIGHBOURS.iter().flat_map(|vendor| (vendor.places)(environment, project)).collect();
    all.extend(starting(environment));
    all
}

const SHELL_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshrc.zwc",
    ".zprofile",
    ".zprofile.zwc",
    ".zlogin",
    ".zlogin.zwc",
];

/// The files that git takes commands from, and those that lead it to such files. Codex 0.171.0 runs `git status` at its
/// start with hooks and `core.fsmonitor` switched off; a filter's command still runs, and so does the remote of a
/// missing object (both measured). Claude Code 2.1.332 switches those off too (measured).
const GIT: &[&[&str]] = &[
    &[".git"],
    &[".git", "config*"],
    &[".git", "commondir"],
    &[".git", "worktrees", "**"],
    &[".git", "modules", "**"],
];

/// Programs that a vendor, an entry's command line or a vendor's shell starts by name, besides the vendors themselves.
const STARTED: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "busybox",
    "timeout",
    "node",
    "git",
    "awk",
    "cat",
    "getconf",
    "id",
    "lsb_release",
    "sed",
];

/// The files that an entry's command line needs, the files that the vendors' shells obey, and the vendors' programs.
fn starting(environment: Environment<'_>) -> Vec<Protected> {
    let what = "a start-up file of the shell that starts the hook";
    let absolute = |name: &str| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let homes: Vec<PathBuf> = ["HOME", "ZDOTDIR"].into_iter().filter_map(absolute).collect();
    let mut all = Vec::new();
    // a zsh login shell reads it before every hook of Codex; some people keep it elsewhere and link to it
    let first = homes.iter().map(|home| home.join(".zshenv"));
    // bash reads the files that these name before the line that starts the hook
    let named = ["BASH_ENV", "ENV"].into_iter().filter_map(absolute);
    all.extend(first.chain(named).map(|file| Protected::guard(Place::File(file), what)));
    let compiled = Place::Among { names: &[".zshenv.zwc"], folders: homes.clone(), below: false };
    all.push(Protected::guard(compiled, what));
    let etc: Vec<PathBuf> = ["/etc", "/etc/zsh"].map(PathBuf::from).into();
    all.push(Protected::guard(Place::Among { names: &["zshenv*"], folders: etc.clone(), below: false }, what));
    let what = "a start-up file of a shell that vendors start by themselves";
    let names = &["bash.bashrc", "profile", "zshrc*", "zprofile*", "zlogin*"];
    all.push(Protected::starts(Place::Among { names, folders: etc, below: false }, what));
    let etc = vec!["/etc/profile.d".into()];
    all.push(Protected::starts(Place::Among { names: &["*.sh"], folders: etc, below: false }, what));
    all.push(Protected::starts(Place::Among { names: SHELL_FILES, folders: homes.clone(), below: false }, what));
    let mut path: Vec<PathBuf> =
        environment("PATH").iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute()).collect();
    path.extend(["/bin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from));
    let what = "a program that starts the hook, or that is started with it";
    let vendors = NEIGHBOURS.iter().map(|vendor| std::slice::from_ref(&vendor.word));
    let programs = [STARTED].into_iter().chain(vendors);
    all.extend(
        programs.map(|names| Protected::guard(Place::Among { names, folders: path.clone(), below: false }, what)),
    );
    let what = "what git obeys, which vendors start by themselves";
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(absolute);
    let shared = absolute("XDG_CONFIG_HOME").map(|folder| folder.join("git/config"));
    let below = homes.iter().map(|home| home.join(".config/git")).collect();
    all.push(Protected::starts(Place::Among { names: &[".gitconfig"], folders: homes, below: false }, what));
    all.push(Protected::starts(Place::Among { names: &["config"], folders: below, below: false }, what));
    let files = named.chain(shared).chain(["/etc/gitconfig".into()]).map(Place::File);
    all.extend(GIT.iter().map(|names| Place::Names(names)).chain(files).map(|place| Protected::starts(place, what)));
    let what = "what every program on this system is started by";
    let folders = ["/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64"].map(PathBuf::from).into();
    all.push(Protected::guard(Place::Among { names: &["*.so", "*.so.*"], folders, below: true }, what));
    let names = &["ld.so.preload", "ld.so.cache", "ld.so.conf", "passwd"];
    all.push(Protected::guard(Place::Among { names, folders: vec!["/etc".into()], below: false }, what));
    all
}

/// Whether a name fits a pattern, in which `*` stands for any characters.
pub fn like(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    (0..=name.len()).any(|from| name.get(from..).is_some_and(|name| like(rest, name)))
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, wanted) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("settings*.json", "settings.json", true),
            ("settings*.json", "settings.local.json", true),
            ("settings*.json", "settings.json.bak", false),
            ("*.so.*", "libc.so.6", true),
            ("*.so.*", "libc.so", false),
            ("*", "", true),
            ("é*", "éa", true),
            ("*a", "éa", true),
        ] {
            assert_eq!(like(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
