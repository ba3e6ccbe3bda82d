//! Lines on standard output that nobody here waits for: a reader that is slow, or has stopped, must
//! not keep a run from its deadlines and its signals.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::os::{is_closed, put_all};

/// From so many bytes that wait to be written on, whoever makes more of them is held up.
const FULL: usize = 16 * 1024 * 1024;

/// So many bytes are written at once, so that it shows whether a reader takes anything.
const PIECE: usize = 64 * 1024;

/// How often it is seen to whether the writer is still there.
const GLANCE: Duration = Duration::from_secs(1);

/// Where lines are put.
#[derive(Debug)]
pub struct Queue {
    pile: Arc<Pile>,
    writer: JoinHandle<()>,
}

/// What waits to be written.
#[derive(Debug, Default)]
struct Pile {
    state: Mutex<Queued>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queued {
    lines: VecDeque<String>,
    bytes: usize,
    /// How many pieces were written.
    taken: u64,
    /// Whether nobody is held up any more.
    open: bool,
    /// How long a reader may take nothing, once there are no more lines; `None` is for ever.
    patience: Option<Duration>,
    /// Whether there are no more lines.
    ended: bool,
    /// Whether all of them are written.
    done: bool,
    fault: Option<String>,
}

/// For whoever makes lines: waits while there are too many.
#[derive(Debug, Clone)]
pub struct Backpressure(Arc<Pile>);

impl Queue {
    /// Begin to write. `lost` is told, once, why nothing more can be written.
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

    /// Put a line. Never waits.
    pub fn put(&self, line: String) {
        self.pile.change(|state| {
            if state.fault.is_none() && !line.is_empty() {
                state.bytes += line.len();
                state.lines.push_back(line);
            }
        });
    }

    /// What waits while there are too many lines.
    pub fn room(&self) -> Backpressure {
        Backpressure(Arc::clone(&self.pile))
    }

    /// Wait until all is written.
    ///
    /// # Errors
    /// Why it could not be.
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
    /// Wait until there is room. There always is once nothing more can be written.
    pub fn wait(&self) {
        self.below(FULL);
    }

    /// The same with as much room again, for answers to what has to be heard while others are held up.
    pub fn wait_beyond(&self) {
        self.below(2 * FULL);
    }

    fn below(&self, limit: usize) {
        let mut state = self.0.lock();
        while state.bytes > limit && state.fault.is_none() && !state.open {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Hold nobody up any more: what is still to come is little, and lost if it is not taken.
    pub fn open(&self) {
        self.0.change(|state| state.open = true);
    }

    /// The program is to end: a reader that takes nothing for so long is not waited for.
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
