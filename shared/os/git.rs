//! Repositories and their linked worktrees, read from the disk: git itself may be missing. Only what it ignores is asked of
//! it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::release::{ended, started};

/// As long as git may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The root of the repository that a folder is in. For a linked worktree this is the root of the main checkout.
pub fn root(folder: &Path) -> Option<PathBuf> {
    let own = checkout(folder)?;
    Some(main_checkout(&own).unwrap_or(own))
}

/// The first folder, from this one upwards, that has a `.git`.
pub fn checkout(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_path_buf)
}

/// The main checkout of a linked worktree, whose own root is given.
pub fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let named = std::fs::read_to_string(worktree.join(".git")).ok()?;
    let own = worktree.join(named.strip_prefix("gitdir:")?.trim());
    // a submodule's `.git` file names a folder without this file
    let common = std::fs::read_to_string(own.join("commondir")).ok()?;
    let common = std::fs::canonicalize(own.join(common.trim())).ok()?;
    let main = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"))?;
    Some(main.to_path_buf())
}

/// Whether git leaves this file out of commits; none, where it is in no repository, or git is not there or does not say. A
/// file that is committed already is not left out, whatever the rules say.
pub fn ignores(file: &Path) -> Option<bool> {
    let mut ask = Command::new("git");
    // a repository's own configuration starts nothing here
    ask.args(["-c", "core.fsmonitor=false", "check-ignore", "-q", "--"]).arg(file).current_dir(file.parent()?);
    ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match ended(&mut started(ask).ok()?, PATIENCE).ok()?.code()? {
        0 => Some(true),
        1 => Some(false),
        _ => None,
    }
}

/// The linked worktrees of the main checkout with this root, sorted.
pub fn worktrees(root: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(root.join(".git/worktrees"));
    let names = found.map(|found| found.flatten().map(|entry| entry.path().join("gitdir")).collect());
    let names: Vec<PathBuf> = names.unwrap_or_default();
    let of = |file: PathBuf| Some(PathBuf::from(std::fs::read_to_string(file).ok()?.trim()).parent()?.to_path_buf());
    let mut all: Vec<PathBuf> = names.into_iter().filter_map(of).filter(|folder| folder.is_dir()).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_worktree_leads_to_its_main_checkout_and_back() {
        let folder = tempfile::tempdir().unwrap();
        let at = fs_err::canonicalize(folder.path()).unwrap();
        let (main, linked) = (at.join("main"), at.join("linked"));
        let own = main.join(".git/worktrees/linked");
        for folder in [&main.join("below"), &linked.join("below"), &own] {
            fs_err::create_dir_all(folder).unwrap();
        }
        fs_err::write(linked.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs_err::write(own.join("commondir"), "../..\n").unwrap();
        fs_err::write(own.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
        for folder in [&main, &main.join("below"), &linked, &linked.join("below")] {
            assert_eq!(root(folder), Some(main.clone()), "{}", folder.display());
        }
        assert_eq!(checkout(&linked.join("below")), Some(linked.clone()));
        assert_eq!((main_checkout(&main), main_checkout(&linked)), (None, Some(main.clone())));
        assert_eq!(worktrees(&main), std::slice::from_ref(&linked));
        fs_err::remove_dir_all(&linked).unwrap();
        assert_eq!(worktrees(&main), Vec::<PathBuf>::new());
    }
}
