//! Lines for stdout, written by a thread of their own: a slow or stopped reader must not keep a run from its deadlines
//! and signals.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::os::{is_closed, put_all};

/// From this many waiting bytes on, a producer of lines is held up.
const FULL: usize = 16 * 1024 * 1024;

/// The bytes of one write, few enough to show whether a reader takes anything.
const PIECE: usize = 64 * 1024;

/// The interval of checks that the writer is still there.
const GLANCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Queue {
    pile: Arc<Pile>,
    writer: JoinHandle<()>,
}

/// The bytes that wait to be written.
#[derive(Debug, Default)]
struct Pile {
    state: Mutex<Queued>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queued {
    lines: VecDeque<String>,
    bytes: usize,
    /// The number of written pieces.
    taken: u64,
    /// Whether producers are held up no more.
    open: bool,
    /// The time that a reader may take nothing after the last line; `None` is for ever.
    patience: Option<Duration>,
    /// Whether no more lines follow.
    ended: bool,
    /// Whether every line is written.
    done: bool,
    fault: Option<String>,
}

/// Holds up a producer of lines while too many wait.
#[derive(Debug, Clone)]
pub struct Backpressure(Arc<Pile>);

impl Queue {
    /// Begin to write. `lost` gets the reason, once, if nothing more can be written.
    pub fn new(lost: impl FnOnce(&str) + Send + 'static) -> Queue {
        let pile = Arc::new(Pile::default());
        let own = Arc::clone(&pile);
        let writer = std::thread::spawn(move || match own.write() {
            Ok(()) => own.change(|state| state.done = true),
            Err(why) => {
                own.fail(why.clone());
                lost(&why);
            }
        });
        Queue { pile, writer }
    }

    /// Add a line. This never waits.
    pub fn put(&self, line: String) {
        self.pile.change(|state| {
            if state.fault.is_none() && !line.is_empty() {
                state.bytes += line.len();
                state.lines.push_back(line);
            }
        });
    }

    pub fn room(&self) -> Backpressure {
        Backpressure(Arc::clone(&self.pile))
    }

    /// Wait until every line is written.
    ///
    /// # Errors
    /// The reason why a line is not written.
    pub fn finish(self) -> Result<(), String> {
        self.pile.change(|state| state.ended = true);
        let (mut taken, mut since) = (0, Instant::now());
        let mut state = self.pile.lock();
        loop {
            if let Some(why) = &state.fault {
                return Err(why.clone());
            }
            if state.done {
                return Ok(());
            }
            if self.writer.is_finished() {
                return Err("a fault in this program; please report it".into());
            }
            if state.taken != taken {
                (taken, since) = (state.taken, Instant::now());
            }
            let left = state.patience.map(|patience| patience.saturating_sub(since.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err("nobody reads it".into());
            }
            let wait = left.unwrap_or(GLANCE).min(GLANCE);
            state = self.pile.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Backpressure {
    /// Wait until there is room. There is room once nothing more can be written.
    pub fn wait(&self) {
        self.below(FULL);
    }

    /// Wait with twice the room: answers to hooks and the embedder go on while other lines are held up.
    pub fn wait_beyond(&self) {
        self.below(2 * FULL);
    }

    fn below(&self, limit: usize) {
        let mut state = self.0.lock();
        while state.bytes > limit && state.fault.is_none() && !state.open {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Hold up nobody any more: the few lines to come would be lost otherwise.
    pub fn open(&self) {
        self.0.change(|state| state.open = true);
    }

    /// The program is to end: do not wait longer than this for a reader that takes nothing.
    pub fn hurry(&self, patience: Duration) {
        self.0.change(|state| state.patience = Some(state.patience.map_or(patience, |before| before.min(patience))));
    }
}

impl Pile {
    fn lock(&self) -> MutexGuard<'_, Queued> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Queued)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn fail(&self, why: String) {
        self.change(|state| *state = Queued { fault: Some(why), ..Queued::default() });
    }

    fn write(&self) -> Result<(), String> {
        let stdout = rustix::stdio::stdout();
        if is_closed(stdout) {
            return Err("it is closed".into());
        }
        loop {
            let mut state = self.lock();
            let line = loop {
                match state.lines.pop_front() {
                    Some(line) => break line,
                    None if state.ended => return Ok(()),
                    None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(state);
            for piece in line.as_bytes().chunks(PIECE) {
                put_all(stdout, piece).map_err(|error| error.to_string())?;
                self.change(|state| {
                    state.bytes = state.bytes.saturating_sub(piece.len());
                    state.taken += 1;
                });
            }
        }
    }
}
