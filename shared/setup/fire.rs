//! Starting a registered line the way its vendor does.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::host;

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
pub fn fire(mut command: Command, payload: &[u8], stream: Stream) -> Result<Shot, String> {
    let start = Instant::now();
    // vendors give each hook a session of its own; a group is as far as safe code goes
    command.process_group(0);
    let (mut child, out, err) = match stream {
        Stream::Sockets => sockets(command, payload)?,
        Stream::Pipes => pipes(command, payload)?,
    };
    let status = loop {
        match child.try_wait().map_err(host::words)? {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it was not done after {} seconds", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_micros(200)),
        }
    };
    let took = start.elapsed();
    // both vendors go on where a child of the hook still holds the other end
    let said = |from: Receiver<String>| from.recv_timeout(Duration::from_millis(500)).unwrap_or_default();
    Ok(Shot { code: status.code(), stdout: said(out), stderr: said(err), took })
}

type Started = (Child, Receiver<String>, Receiver<String>);

fn sockets(mut command: Command, payload: &[u8]) -> Result<Started, String> {
    let pair = || UnixStream::pair().map_err(host::words);
    let ((mut to, stdin), (from_out, stdout), (from_err, stderr)) = (pair()?, pair()?, pair()?);
    let end = |stream: UnixStream| Stdio::from(OwnedFd::from(stream));
    let child = command.stdin(end(stdin)).stdout(end(stdout)).stderr(end(stderr)).spawn().map_err(host::words)?;
    // it holds the child's ends, which must be closed here for an end to be seen
    drop(command);
    // a line that does not read is a line whose answer still counts
    let _ = to.write_all(payload).and_then(|()| to.shutdown(Shutdown::Write));
    Ok((child, listen(Some(from_out)), listen(Some(from_err))))
}

fn pipes(mut command: Command, payload: &[u8]) -> Result<Started, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(host::words)?;
    if let Some(mut to) = child.stdin.take() {
        let _ = to.write_all(payload);
    }
    let (out, err) = (child.stdout.take(), child.stderr.take());
    Ok((child, listen(out), listen(err)))
}

fn listen(from: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            let _ = from.take(1 << 20).read_to_end(&mut bytes);
        }
        let _ = tell.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    told
}

/// The shell by which Codex runs a hook: the login shell of the password file if that is bash or
/// zsh, else bash from PATH. `SHELL` is not asked.
pub fn codex_shell() -> PathBuf {
    let me = rustix::process::geteuid().as_raw();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = passwd.lines().find(|line| line.split(':').nth(2).is_some_and(|id| id.parse() == Ok(me)));
    let shell = line.and_then(|line| line.split(':').nth(6)).map(|shell| PathBuf::from(shell.trim()));
    let known =
        |shell: &PathBuf| shell.is_file() && shell.file_name().is_some_and(|name| name == "bash" || name == "zsh");
    shell.filter(known).unwrap_or_else(|| "bash".into())
}

/// The files that zsh reads before any `zsh -c`, of those that exist.
pub fn zsh_start_up(shell: &Path, home: Option<&Path>, zdotdir: Option<&Path>) -> Vec<PathBuf> {
    if shell.file_name().is_none_or(|name| name != "zsh") {
        return Vec::new();
    }
    let own = zdotdir.or(home).map(|folder| folder.join(".zshenv"));
    let all = ["/etc/zshenv", "/etc/zsh/zshenv"].into_iter().map(PathBuf::from).chain(own);
    all.filter(|file| file.exists()).collect()
}
