//! The users that could replace a file, by the mode bits of the file and of every folder above it.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
const STICKY: u32 = 0o1000;

/// The temporary folder that a path lies in. Its contents come and go, and Codex's sandbox lets an agent write to it.
pub fn temporary(path: &Path) -> Option<PathBuf> {
    let own = std::env::var_os("TMPDIR").map(PathBuf::from).filter(|folder| folder.components().count() > 1);
    let folders = ["/tmp", "/var/tmp", "/dev/shm"].into_iter().map(PathBuf::from).chain(own);
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    folders.into_iter().find(|folder| {
        let resolved = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        real.starts_with(&resolved) || path.starts_with(folder)
    })
}

/// The first of the file and the folders above it that lets everybody replace the file.
pub fn open_to_all(path: &Path) -> Option<PathBuf> {
    steps(path).into_iter().find(|step| {
        std::fs::metadata(step)
            .is_ok_and(|found| found.mode() & OTHERS_WRITE != 0 && !(found.is_dir() && found.mode() & STICKY != 0))
    })
}

/// The first of the file and the folders above it that lets a group, or a user besides root, replace the file; in
/// words.
pub fn open_to_some(path: &Path) -> Option<String> {
    let me = rustix::process::geteuid().as_raw();
    steps(path).into_iter().find_map(|step| {
        let found = std::fs::metadata(&step).ok()?;
        let sticky = found.is_dir() && found.mode() & STICKY != 0;
        let shown = step.display();
        if found.uid() != me && found.uid() != 0 {
            return Some(format!("{shown} belongs to user {}", found.uid()));
        }
        (found.mode() & GROUP_WRITES != 0 && !sticky && !own_group(found.gid()))
            .then(|| format!("{shown} can be written by group {}", found.gid()))
    })
}

/// Whether this process could write the file as it stands.
pub fn open_to_me(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The file and the folders above it, as the path names them and as they lie with links resolved.
fn steps(path: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    let real = std::fs::canonicalize(path).ok();
    for path in std::iter::once(path).chain(real.as_deref()) {
        for step in path.ancestors().filter(|step| !step.as_os_str().is_empty()) {
            if !all.iter().any(|seen| seen == step) {
                all.push(step.into());
            }
        }
    }
    all
}

/// Whether this user is the only member of a group. Many systems give each user such a group, and a umask that lets it
/// write.
fn own_group(group: u32) -> bool {
    let line = |file: &str, id: u32| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().map(String::from).find(|line| line.split(':').nth(2).is_some_and(|found| found.parse() == Ok(id)))
    };
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_string();
    let (user, group) = (line("/etc/passwd", rustix::process::geteuid().as_raw()), line("/etc/group", group));
    let (Some(user), Some(group)) = (user, group) else { return false };
    let members = group.split(':').nth(3).unwrap_or_default().trim().to_string();
    name(&user) == name(&group) && (members.is_empty() || members == name(&user))
}
