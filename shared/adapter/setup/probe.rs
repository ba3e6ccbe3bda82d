//! Starting a registered line the way its vendor does.

use std::ffi::OsStr;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::os::release::{LEFT_OPEN, ended, listen, started};
use crate::os::{self, Wires, spawn};

/// As long as the vendor would wait, by the entry's own `timeout`.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a line did.
#[derive(Debug, Clone)]
pub struct Shot {
    /// Its exit code, if it ended by one.
    pub code: Option<i32>,
    /// What it said.
    pub stdout: String,
    /// And beside.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

/// What stands behind the three standard descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Claude Code: a socket each, which cannot be opened by `/dev/stdin` and the like.
    Sockets,
    /// Codex: a pipe each.
    Pipes,
}

/// Start it, give it the payload, wait for its end.
///
/// # Errors
/// It could not be started, or was not done in time.
pub fn fire(command: Command, payload: &[u8], stream: Stream) -> Result<Shot, String> {
    let start = Instant::now();
    // vendors give each hook a session of its own; a group is as far as safe code goes
    let (mut child, out, err) = match stream {
        Stream::Sockets => sockets(command, payload)?,
        Stream::Pipes => pipes(command, payload)?,
    };
    let status = ended(&mut child, PATIENCE).map_err(|why| why.to_string())?;
    let took = start.elapsed();
    // both vendors go on where a child of the hook still holds the other end
    let said = |from: Receiver<String>| from.recv_timeout(LEFT_OPEN).unwrap_or_default();
    Ok(Shot { code: status.code(), stdout: said(out), stderr: said(err), took })
}

type Started = (Child, Receiver<String>, Receiver<String>);

fn sockets(mut command: Command, payload: &[u8]) -> Result<Started, String> {
    // a group of its own, so that it can be ended with all that it starts
    command.process_group(0);
    let (child, Wires { mut stdin, stdout, stderr }) = spawn(command).map_err(os::words)?;
    let heard = (listen(Some(stdout)), listen(Some(stderr)));
    // a line that does not read is a line whose answer still counts
    let _ = stdin.write_all(payload).and_then(|()| stdin.shutdown(Shutdown::Write));
    Ok((child, heard.0, heard.1))
}

fn pipes(mut command: Command, payload: &[u8]) -> Result<Started, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = started(command).map_err(|why| why.to_string())?;
    let heard = (listen(child.stdout.take()), listen(child.stderr.take()));
    if let Some(mut to) = child.stdin.take() {
        let _ = to.write_all(payload);
    }
    Ok((child, heard.0, heard.1))
}

/// How a shell is started and what it obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// bash by its own name.
    Bash,
    /// zsh
    Zsh,
    /// `sh`, whatever shell that is here.
    Sh,
}

/// The shell by which Codex runs a hook (release 0.171.0, measured): the one of the password file, if its name is that of
/// bash, zsh or sh, and the first of that name on PATH where it is not there; else the first bash, then the first zsh; and
/// last `/bin/sh`. `SHELL` is not asked. `folder` is where Codex is started, from which a PATH may count.
pub fn codex_shell(passwd: &str, path: Option<&OsStr>, folder: &Path) -> (PathBuf, Kind) {
    let me = rustix::process::geteuid().as_raw();
    let line = passwd.lines().find(|line| line.split(':').nth(2).is_some_and(|id| id.parse() == Ok(me)));
    let own = line.and_then(|line| line.split(':').nth(6)).map(|shell| PathBuf::from(shell.trim()));
    let own = own.and_then(|shell| {
        let kind = match shell.file_stem()?.to_str()? {
            "bash" => Kind::Bash,
            "zsh" => Kind::Zsh,
            "sh" => Kind::Sh,
            _ => return None,
        };
        Some((shell, kind))
    });
    let found = |(word, kind): (&str, Kind)| Some((on_path(word, path, folder)?, kind));
    let own = own.and_then(|(shell, kind)| match folder.join(&shell).is_file() {
        true => Some((shell, kind)),
        false => found((kind.word(), kind)),
    });
    let any = || [Kind::Bash, Kind::Zsh].into_iter().find_map(|kind| found((kind.word(), kind)));
    own.or_else(any).unwrap_or_else(|| ("/bin/sh".into(), Kind::Sh))
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Bash => "bash",
            Kind::Zsh => "zsh",
            Kind::Sh => "sh",
        }
    }
}

/// The first program of this name on PATH, or the one in `/bin`.
fn on_path(word: &str, path: Option<&OsStr>, folder: &Path) -> Option<PathBuf> {
    let folders = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let all = folders.into_iter().chain(["/bin".into()]).map(|each| folder.join(each).join(word));
    all.into_iter().find(|file| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok())
}

/// The files that zsh reads before any `zsh -c`, of those that exist.
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
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            file
        };
        let (bash, zsh, own) = (make("one/bash"), make("two/zsh"), make("own/bash.static"));
        let me = rustix::process::geteuid().as_raw();
        let line = |shell: &Path| format!("other:x:4294967290:0::/:/bin/zsh\nme:x:{me}:0::/:{}\n", shell.display());
        let one = root.path().join("one");
        let two = root.path().join("two");
        let shell = |passwd: &str, folders: &[&Path]| {
            let path = std::env::join_paths(folders).unwrap();
            codex_shell(passwd, Some(&path), root.path())
        };
        assert_eq!(shell(&line(&own), &[&one]), (own.clone(), Kind::Bash));
        assert_eq!(shell(&line(&zsh), &[&one]), (zsh.clone(), Kind::Zsh));
        // not one of the three: bash, whatever the password file says
        for other in ["/usr/bin/fish", "/bin/dash", "/usr/sbin/nologin", ""] {
            assert_eq!(shell(&line(Path::new(other)), &[&one, &two]), (bash.clone(), Kind::Bash), "{other}");
        }
        // one of the three that is not there: the first of its name
        assert_eq!(shell(&line(Path::new("/nowhere/zsh")), &[&one, &two]), (zsh, Kind::Zsh));
        assert_eq!(shell(&line(Path::new("/nowhere/bash")), &[Path::new("one")]), (bash.clone(), Kind::Bash));
        assert_eq!(shell("", &[&one]), (bash, Kind::Bash));
        assert_eq!(shell(&line(Path::new("/nowhere/sh")), &[]).1, Kind::Sh);
        // a program that nobody may start is none
        std::fs::set_permissions(root.path().join("two/zsh"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .unwrap();
        assert_ne!(shell(&line(Path::new("/nowhere/zsh")), &[&two]).0, two.join("zsh"));
    }
}
