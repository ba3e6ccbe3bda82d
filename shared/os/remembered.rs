//! The release of a program, asked once and remembered for as long as its files are the same.
//!
//! A file is the same while its place, device, inode and size are, and the times of its last writing and of its last
//! change. The last of them is the kernel's to set: no package manager that gives every file one date, and nobody who
//! writes over a file and puts its date back, makes another file look like it. Of a script nothing is remembered, since
//! what it starts may change behind it, unless it is known which files it starts: they count then, too.
//!
//! What is remembered is taken from a file that this user alone can write, in a folder of the same kind. Whoever can
//! write it as this user can put a program of their own in the vendor's place as well, which takes no cache. A cache
//! that cannot be read or written is no error: the program is asked.

use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::release::Release;
use super::{open_regular, read_bounded, write_beside};

/// Where it lies below the user's folder for such files.
const FOLDER: &str = "metaharness-hooks";

/// The file in it: a line a program, the key and the release.
const FILE: &str = "releases";

/// The most that is read of it, in bytes.
const LIMIT: usize = 64 * 1024;

/// So many programs are remembered, the newest.
const LINES: usize = 32;

/// The place of a program among those that are remembered.
#[derive(Debug)]
pub struct Remembered {
    file: PathBuf,
    key: String,
}

impl Remembered {
    /// That of this program. `behind` is what it starts where it is a script.
    pub fn of(program: &Path, behind: &[PathBuf]) -> Option<Remembered> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || Some(PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".cache"));
        Remembered::below(&cache.or_else(home)?, program, behind)
    }

    fn below(cache: &Path, program: &Path, behind: &[PathBuf]) -> Option<Remembered> {
        let mut start = [0; 2];
        open_regular(program).ok()?.read_exact(&mut start).ok()?;
        if start == *b"#!" && behind.is_empty() {
            return None;
        }
        let keys: Option<Vec<String>> =
            std::iter::once(program).chain(behind.iter().map(PathBuf::as_path)).map(key).collect();
        Some(Remembered { file: cache.join(FOLDER).join(FILE), key: keys?.join(" ") })
    }

    /// The release that it said when it was asked last.
    pub fn release(&self) -> Option<Release> {
        self.lines().iter().find_map(|line| Release::find(line.strip_prefix(&self.key)?.strip_prefix('\t')?))
    }

    /// Remember its release.
    pub fn keep(&self, release: Release) {
        let Some(folder) = self.file.parent() else { return };
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        if !is_own(folder, true) || (self.file.exists() && !is_own(&self.file, false)) {
            return;
        }
        let mut lines = self.lines();
        lines.retain(|line| !line.starts_with(&self.key));
        lines.push(format!("{}\t{release}", self.key));
        let newest = lines.split_off(lines.len().saturating_sub(LINES));
        let _ = write_beside(&self.file, (newest.join("\n") + "\n").as_bytes());
    }

    fn lines(&self) -> Vec<String> {
        let own = self.file.parent().is_some_and(|folder| is_own(folder, true)) && is_own(&self.file, false);
        let bytes = if own { read_bounded(&self.file, LIMIT).unwrap_or_default() } else { Vec::new() };
        String::from_utf8(bytes).unwrap_or_default().lines().map(String::from).collect()
    }
}

/// What a file is known by, on one line.
fn key(file: &Path) -> Option<String> {
    let file = std::fs::canonicalize(file).ok()?;
    let found = std::fs::metadata(&file).ok()?;
    Some(format!(
        "{file:?} {} {} {} {}.{} {}.{}",
        found.dev(),
        found.ino(),
        found.size(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec()
    ))
}

/// Whether this user alone can write it; a link is nobody's.
fn is_own(path: &Path, folder: bool) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| {
        let kind = if folder { found.is_dir() } else { found.is_file() };
        kind && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn release(text: &str) -> Release {
        Release::find(text).unwrap()
    }

    #[test]
    fn a_release_is_remembered_for_as_long_as_the_files_are_the_same() {
        let root = tempfile::tempdir().unwrap();
        let (program, cache) = (root.path().join("vendor"), root.path().join("cache"));
        std::fs::write(&program, "\x7fELF one").unwrap();
        let of = || Remembered::below(&cache, &program, &[]).unwrap();
        assert_eq!(of().release(), None);
        of().keep(release("1.2.3"));
        assert_eq!(of().release(), Some(release("1.2.3")));
        // another file of the same size and date in its place
        let date = std::fs::metadata(&program).unwrap().modified().unwrap();
        std::fs::write(&program, "\x7fELF two").unwrap();
        std::fs::File::options().append(true).open(&program).unwrap().set_modified(date).unwrap();
        assert_eq!(of().release(), None);
        of().keep(release("1.2.4"));
        assert_eq!(of().release(), Some(release("1.2.4")));
    }

    #[test]
    fn of_a_script_nothing_is_remembered_but_with_what_it_starts() {
        let root = tempfile::tempdir().unwrap();
        let (script, native) = (root.path().join("script"), root.path().join("native"));
        std::fs::write(&script, "#!/bin/sh").unwrap();
        std::fs::write(&native, "one").unwrap();
        assert!(Remembered::below(root.path(), &script, &[]).is_none());
        let of = || Remembered::below(root.path(), &script, std::slice::from_ref(&native)).unwrap();
        of().keep(release("1.2.3"));
        assert_eq!(of().release(), Some(release("1.2.3")));
        std::fs::write(&native, "another").unwrap();
        assert_eq!(of().release(), None);
    }

    #[test]
    fn what_another_user_could_have_written_is_not_taken() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("vendor");
        std::fs::write(&program, "\x7fELF").unwrap();
        let of = || Remembered::below(root.path(), &program, &[]).unwrap();
        of().keep(release("1.2.3"));
        let folder = root.path().join(FOLDER);
        let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        for (path, open, shut) in [(folder.join(FILE), 0o666, 0o600), (folder.clone(), 0o777, 0o700)] {
            mode(&path, open);
            assert_eq!(of().release(), None, "{}", path.display());
            of().keep(release("9.9.9"));
            mode(&path, shut);
            assert_eq!(of().release(), Some(release("1.2.3")), "{}", path.display());
        }
        std::fs::rename(folder.join(FILE), root.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(root.path().join("elsewhere"), folder.join(FILE)).unwrap();
        assert_eq!(of().release(), None);
        // a file in the folder's place is no fault
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "").unwrap();
        of().keep(release("1.2.3"));
        assert_eq!(of().release(), None);
    }
}
