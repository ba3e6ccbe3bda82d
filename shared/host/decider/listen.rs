//! The other end of a decider's socket: where a run hears its hooks ask.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::AsFd as _;

use super::socket::same_user;
use crate::host::file::words;
use crate::host::input::MAX_PAYLOAD;

/// The longest question: a payload, and what the hook says about it.
const LONGEST: u64 = MAX_PAYLOAD as u64 + 64 * 1024;

/// How long a question may take from the connection on, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is seen to whether somebody who waits is still there.
const GLANCE: Duration = Duration::from_millis(100);

/// What is heard at the socket.
#[derive(Debug)]
pub enum Knock {
    /// Somebody asks.
    Asked {
        /// Which connection of this socket it is.
        number: u64,
        /// The line, without its line feed.
        line: Vec<u8>,
        /// Where the one answer goes, a line with its line feed. To drop it is no answer.
        answer: Sender<String>,
    },
    /// Somebody who waited for an answer has gone.
    Left {
        /// Which connection it was.
        number: u64,
    },
}

/// Listen at this path, for as long as `tell` takes what is heard.
///
/// # Errors
/// Why nobody could be heard there.
pub fn listen(path: &Path, tell: impl Fn(Knock) -> bool + Clone + Send + 'static) -> Result<(), String> {
    let listener = UnixListener::bind(path).map_err(|error| match path.as_os_str().len() {
        // the system's own limit for the path of a socket, 108 bytes on Linux and 104 elsewhere
        long @ 104.. => format!(
            "{}: {long} bytes are too long for the path of a socket; set TMPDIR, or XDG_RUNTIME_DIR, to a shorter one",
            path.display()
        ),
        _ => format!("{}: {}", path.display(), words(error)),
    })?;
    std::thread::spawn(move || {
        for (number, stream) in (0..).zip(listener.incoming()) {
            let Ok(stream) = stream else { continue };
            let tell = tell.clone();
            // one that cannot be heard gets no answer, and that is a denial
            let heard = move || hear(number, &stream, &tell).unwrap_or(());
            let _ = std::thread::Builder::new().spawn(heard);
        }
    });
    Ok(())
}

/// One question and its answer.
fn hear(number: u64, stream: &UnixStream, tell: &impl Fn(Knock) -> bool) -> std::io::Result<()> {
    if same_user(stream).is_err() {
        return Ok(());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = Vec::new();
    BufReader::new(stream.take(LONGEST)).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Ok(());
    }
    let (answer, answered) = channel();
    if !tell(Knock::Asked { number, line, answer }) {
        return Ok(());
    }
    match wait(stream, &answered) {
        Some(answer) => (&*stream).write_all(answer.as_bytes()),
        None => {
            tell(Knock::Left { number });
            Ok(())
        }
    }
}

/// The answer; none, if whoever asked does not wait for it any more.
fn wait(stream: &UnixStream, answered: &Receiver<String>) -> Option<String> {
    loop {
        match answered.recv_timeout(GLANCE) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Timeout) if here(stream) => {}
            Err(_) => return None,
        }
    }
}

fn here(stream: &UnixStream) -> bool {
    let mut files = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR;
    rustix::event::poll(&mut files, Some(&now)).is_ok() && !files[0].revents().intersects(gone)
}
