//! Starting a child whose stdin, stdout and stderr are sockets.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

/// Our ends of the child's three descriptors.
pub struct Wires {
    pub stdin: UnixStream,
    pub stdout: UnixStream,
    pub stderr: UnixStream,
}

/// Start a child on sockets. The child's own children could open a pipe by its name below /proc: a tool would then
/// write the vendor's records, or read and answer in the vendor's place. Opening a socket that way fails (ENXIO).
pub fn spawn(mut command: Command) -> std::io::Result<(Child, Wires)> {
    let (stdin, its_stdin) = UnixStream::pair()?;
    let (stdout, its_stdout) = UnixStream::pair()?;
    let (stderr, its_stderr) = UnixStream::pair()?;
    let end = |socket: UnixStream| Stdio::from(OwnedFd::from(socket));
    let child = command.stdin(end(its_stdin)).stdout(end(its_stdout)).stderr(end(its_stderr)).spawn()?;
    // the command holds the child's ends of the sockets; while it lives, our ends see no end of output
    drop(command);
    Ok((child, Wires { stdin, stdout, stderr }))
}
