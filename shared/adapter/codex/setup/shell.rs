//! The shell in which Codex runs a hook's line, and the files that such a shell reads first.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The shells, which obey different files and variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellKind {
    /// A program of the name `bash`.
    Bash,
    /// A program of the name `zsh`.
    Zsh,
    /// `sh`, which may be any shell on this machine.
    Sh,
}

/// The shell in which Codex runs a hook (release 0.171.0, measured): the one in the password file if its name is bash,
/// zsh or sh, or the first of that name on PATH if it does not exist; else the first bash, then the first zsh, and last
/// `/bin/sh`. `SHELL` does not count. `folder` is the folder in which Codex starts, the base of a relative PATH.
pub fn hook_shell(passwd: &str, path: Option<&OsStr>, folder: &Path) -> (PathBuf, ShellKind) {
    let me = rustix::process::geteuid().as_raw();
    let line = passwd.lines().find(|line| line.split(':').nth(2).is_some_and(|id| id.parse() == Ok(me)));
    let own = line.and_then(|line| line.split(':').nth(6)).map(|shell| PathBuf::from(shell.trim()));
    let own = own.and_then(|shell| {
        let kind = match shell.file_stem()?.to_str()? {
            "bash" => ShellKind::Bash,
            "zsh" => ShellKind::Zsh,
            "sh" => ShellKind::Sh,
            _ => return None,
        };
        Some((shell, kind))
    });
    let found = |(word, kind): (&str, ShellKind)| Some((on_path(word, path, folder)?, kind));
    let own = own.and_then(|(shell, kind)| match folder.join(&shell).is_file() {
        true => Some((shell, kind)),
        false => found((kind.word(), kind)),
    });
    let any = || [ShellKind::Bash, ShellKind::Zsh].into_iter().find_map(|kind| found((kind.word(), kind)));
    own.or_else(any).unwrap_or_else(|| ("/bin/sh".into(), ShellKind::Sh))
}

impl ShellKind {
    fn word(self) -> &'static str {
        match self {
            ShellKind::Bash => "bash",
            ShellKind::Zsh => "zsh",
            ShellKind::Sh => "sh",
        }
    }
}

/// The first program of this name on PATH, or the one in `/bin`.
fn on_path(word: &str, path: Option<&OsStr>, folder: &Path) -> Option<PathBuf> {
    let folders = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let all = folders.into_iter().chain(["/bin".into()]).map(|each| folder.join(each).join(word));
    all.into_iter().find(|file| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok())
}

/// The existing files that zsh reads before any `zsh -c`.
pub fn zsh_start_up(home: Option<&Path>, zdotdir: Option<&Path>) -> Vec<PathBuf> {
    let own = zdotdir.or(home).map(|folder| folder.join(".zshenv"));
    let all = ["/etc/zshenv", "/etc/zsh/zshenv"].into_iter().map(PathBuf::from).chain(own);
    all.filter(|file| file.exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_is_the_one_that_codex_starts() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let file = root.path().join(name);
            fs_err::create_dir_all(file.parent().unwrap()).unwrap();
            fs_err::write(&file, "").unwrap();
            fs_err::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            file
        };
        let (bash, zsh, own) = (make("one/bash"), make("two/zsh"), make("own/bash.static"));
        let me = rustix::process::geteuid().as_raw();
        let line = |shell: &Path| format!("other:x:4294967290:0::/:/bin/zsh\nme:x:{me}:0::/:{}\n", shell.display());
        let one = root.path().join("one");
        let two = root.path().join("two");
        let shell = |passwd: &str, folders: &[&Path]| {
            let path = std::env::join_paths(folders).unwrap();
            hook_shell(passwd, Some(&path), root.path())
        };
        assert_eq!(shell(&line(&own), &[&one]), (own.clone(), ShellKind::Bash));
        assert_eq!(shell(&line(&zsh), &[&one]), (zsh.clone(), ShellKind::Zsh));
        // for another shell bash is used, whatever the password file names
        for other in ["/usr/bin/fish", "/bin/dash", "/usr/sbin/nologin", ""] {
            assert_eq!(shell(&line(Path::new(other)), &[&one, &two]), (bash.clone(), ShellKind::Bash), "{other}");
        }
        // if one of the three does not exist: the first of its name
        assert_eq!(shell(&line(Path::new("/nowhere/zsh")), &[&one, &two]), (zsh, ShellKind::Zsh));
        assert_eq!(shell(&line(Path::new("/nowhere/bash")), &[Path::new("one")]), (bash.clone(), ShellKind::Bash));
        assert_eq!(shell("", &[&one]), (bash, ShellKind::Bash));
        assert_eq!(shell(&line(Path::new("/nowhere/sh")), &[]).1, ShellKind::Sh);
        // a program that nobody may start does not count
        fs_err::set_permissions(root.path().join("two/zsh"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .unwrap();
        assert_ne!(shell(&line(Path::new("/nowhere/zsh")), &[&two]).0, two.join("zsh"));
    }
}
