//! A child on sockets.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

/// Our ends of the child's three descriptors.
pub struct Wires {
    /// What the child reads.
    pub stdin: UnixStream,
    /// What it says.
    pub stdout: UnixStream,
    /// And what it says of that.
    pub stderr: UnixStream,
}

/// Start it on sockets. A pipe can be opened anew by its name below /proc, by whatever the child starts: a tool then
/// writes the vendor's own record, or reads and answers in its place. A socket has no such name (ENXIO).
///
/// # Errors
/// It could not be started.
pub fn spawn(mut command: Command) -> std::io::Result<(Child, Wires)> {
    let (stdin, its_stdin) = UnixStream::pair()?;
    let (stdout, its_stdout) = UnixStream::pair()?;
    let (stderr, its_stderr) = UnixStream::pair()?;
    let end = |socket: UnixStream| Stdio::from(OwnedFd::from(socket));
    let child = command.stdin(end(its_stdin)).stdout(end(its_stdout)).stderr(end(its_stderr)).spawn()?;
    // the command holds the other ends open, and there would be no end of output
    drop(command);
    Ok((child, Wires { stdin, stdout, stderr }))
}
