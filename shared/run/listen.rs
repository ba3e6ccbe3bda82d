//! The listening end of the decider's socket: here a run gets its hooks' questions.

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

/// The longest question: a payload, and the hook's words about it.
const LONGEST: u64 = MAX_PAYLOAD as u64 + 64 * 1024;

/// The time for a whole question from the connection on, and the time for taking an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The interval of checks that a waiting hook is still there.
const GLANCE: Duration = Duration::from_millis(100);

/// The most connections without a whole question. A hook asks as soon as it is connected, so the oldest of more than
/// these is no hook, and is closed.
const MOST_SILENT: usize = 64;

/// An event at the socket.
#[derive(Debug)]
pub enum Knock {
    /// A hook asks.
    Asked {
        /// The number of the connection.
        number: u64,
        /// The question without its line feed.
        line: Vec<u8>,
        /// The receiver of the one answer, a line with its line feed. Dropping it gives no answer.
        answer: Sender<String>,
    },
    /// A hook that asked has gone before it got the answer.
    Left {
        /// The number of the connection.
        number: u64,
    },
}

/// Listen at this path until `tell` returns false.
pub fn listen(path: &Path, tell: impl Fn(Knock) -> bool + Clone + Send + 'static) -> Result<(), os::Error> {
    let listener = UnixListener::bind(path).map_err(|error| match path.as_os_str().len() {
        // the system's limit for a socket's path is 108 bytes on Linux and 104 elsewhere
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
                // there is no free descriptor until a connection closes
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
            // a connection without a thread is closed, which denies its call
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

/// The line that the peer sends, without its line feed.
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

/// `None` means that the peer does not wait any more.
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
