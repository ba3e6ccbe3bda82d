//! A decider that listens on a socket: one connection a call.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

use super::{Progress, Unanswered, only_line, put, take, unblock, wait_any};
use crate::os::words;

/// The time before the next attempt while the listener's queue is full.
const PAUSE: Duration = Duration::from_millis(2);

/// Connect, send the line, and read the answer up to its line feed or to the end of the connection.
pub fn ask(path: &Path, line: &[u8], deadline: Instant) -> Result<Vec<u8>, Unanswered> {
    let socket = reach(path, deadline)?;
    same_user(&socket)?;
    let (mut left, mut said) = (line, Vec::new());
    loop {
        if !left.is_empty() {
            put(&socket, &mut left)
                .map_err(|error| Unanswered::fault(format!("does not take the question: {}", words(error))))?;
        }
        match take(&socket, &mut said)? {
            Progress::Over => return only_line(said),
            _ if said.contains(&b'\n') => return only_line(said),
            Progress::Went => continue,
            Progress::Later => {}
        }
        let ready = if left.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        wait_any(&mut [PollFd::new(&socket, ready)], None, deadline)?;
    }
}

fn reach(path: &Path, deadline: Instant) -> Result<OwnedFd, Unanswered> {
    let refused = |error: Errno| Unanswered::fault(format!("cannot be reached: {}", words(error)));
    let address = SocketAddrUnix::new(path).map_err(refused)?;
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None).map_err(refused)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC).map_err(refused)?;
    unblock(&socket)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::ISCONN) => return Ok(socket),
            Err(Errno::AGAIN) => wait_any(&mut [], Some(PAUSE), deadline)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(refused(error)),
        }
    }
}

/// Another user's socket decides nothing. This keeps out other users, not the agent, which runs as the same user.
#[cfg(target_os = "linux")]
pub fn same_user(socket: impl AsFd) -> Result<(), Unanswered> {
    let peer = rustix::net::sockopt::socket_peercred(socket)
        .map_err(|error| Unanswered::fault(format!("does not say whose it is: {}", words(error))))?;
    match peer.uid == rustix::process::geteuid() {
        true => Ok(()),
        false => Err(Unanswered::fault(format!("is another user's ({})", peer.uid.as_raw()))),
    }
}

/// Not measured on this system.
#[cfg(not(target_os = "linux"))]
pub fn same_user(_: impl AsFd) -> Result<(), Unanswered> {
    Err(Unanswered::fault("cannot be told whose it is on this system; use exec:"))
}
