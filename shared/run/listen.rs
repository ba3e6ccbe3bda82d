//! The other end of a decider's socket: where a run hears its hooks ask.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::AsFd as _;

use crate::hook::same_user;
use crate::os;
use crate::os::MAX_PAYLOAD;

/// The longest question: a payload, and what the hook says about it.
const LONGEST: u64 = MAX_PAYLOAD as u64 + 64 * 1024;

/// How long a question may take from the connection on, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is seen to whether somebody who waits is still there.
const GLANCE: Duration = Duration::from_millis(100);

/// The most connections that may stand without a whole question. A hook asks as soon as it is
/// connected, so of more than these the oldest is no hook's, and is hung up on.
const MOST_SILENT: usize = 64;

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
    /// Somebody who asked has gone, and has not heard the answer.
    Left {
        /// Which connection it was.
        number: u64,
    },
}

/// Listen at this path, for as long as `tell` takes what is heard.
///
/// # Errors
/// Why nobody could be heard there.
pub fn listen(path: &Path, tell: impl Fn(Knock) -> bool + Clone + Send + 'static) -> Result<(), os::Error> {
    let listener = UnixListener::bind(path).map_err(|error| match path.as_os_str().len() {
        // the system's own limit for the path of a socket, 108 bytes on Linux and 104 elsewhere
        long @ 104.. => {
            let set = "set TMPDIR, or XDG_RUNTIME_DIR, to a shorter one";
            os::Error::fault(path, format!("{long} bytes are too long for the path of a socket; {set}"))
        }
        _ => os::Error::by(path, "", error),
    })?;
    std::thread::spawn(move || {
        let silent = Silent::default();
        for (number, stream) in (0..).zip(listener.incoming()) {
            let Ok(stream) = stream.map(Arc::new) else {
                // no descriptor is left until somebody hangs up
                std::thread::sleep(GLANCE);
                continue;
            };
            silent.begin(number, &stream);
            let (tell, heard) = (tell.clone(), silent.clone());
            let hear = move || {
                let question = question(&stream);
                heard.end(number);
                if let Some(line) = question {
                    answer(number, line, &stream, &tell);
                }
            };
            // one that cannot be heard is hung up on, and that is a denial
            if std::thread::Builder::new().spawn(hear).is_err() {
                silent.end(number);
            }
        }
    });
    Ok(())
}

/// The connections that have not asked yet, the oldest first.
#[derive(Debug, Clone, Default)]
struct Silent(Arc<Mutex<Connections>>);

/// Connections by number.
type Connections = VecDeque<(u64, Arc<UnixStream>)>;

impl Silent {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, number: u64, stream: &Arc<UnixStream>) {
        let mut all = self.lock();
        all.push_back((number, Arc::clone(stream)));
        if all.len() > MOST_SILENT
            && let Some((_, oldest)) = all.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
    }

    fn end(&self, number: u64) {
        self.lock().retain(|(other, _)| *other != number);
    }
}

/// The line of whoever has connected, without its line feed.
fn question(stream: &UnixStream) -> Option<Vec<u8>> {
    same_user(stream).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let mut line = Vec::new();
    BufReader::new(stream.take(LONGEST)).read_until(b'\n', &mut line).ok()?;
    (line.pop() == Some(b'\n')).then_some(line)
}

/// Pass a question on, and its answer back.
fn answer(number: u64, line: Vec<u8>, mut stream: &UnixStream, tell: &impl Fn(Knock) -> bool) {
    let (answer, answered) = channel();
    let heard = tell(Knock::Asked { number, line, answer })
        && wait(stream, &answered).is_some_and(|answer| stream.write_all(answer.as_bytes()).is_ok());
    if !heard {
        tell(Knock::Left { number });
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
