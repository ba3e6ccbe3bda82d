//! Lines on standard output that nobody here waits for: a reader that is slow, or has stopped, must
//! not keep a run from its deadlines and its signals.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::output::{is_closed, put_all};

/// From so many bytes that wait to be written on, whoever makes more of them is held up.
const FULL: usize = 16 * 1024 * 1024;

/// Where lines are put.
#[derive(Debug)]
pub struct Outlet {
    pile: Arc<Pile>,
    writer: JoinHandle<()>,
}

/// What waits to be written.
#[derive(Debug, Default)]
struct Pile {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<String>,
    bytes: usize,
    ended: bool,
    fault: Option<String>,
}

/// For whoever makes lines: waits while there are too many.
#[derive(Debug, Clone)]
pub struct Room(Arc<Pile>);

impl Outlet {
    /// Begin to write. `lost` is told, once, why nothing more can be written.
    pub fn new(lost: impl FnOnce(&str) + Send + 'static) -> Outlet {
        let pile = Arc::new(Pile::default());
        let own = Arc::clone(&pile);
        let writer = std::thread::spawn(move || {
            if let Err(why) = own.write() {
                lost(&why);
                own.fail(why);
            }
        });
        Outlet { pile, writer }
    }

    /// Put a line. Never waits.
    pub fn put(&self, line: String) {
        let mut state = self.pile.lock();
        if state.fault.is_none() {
            state.bytes += line.len();
            state.lines.push_back(line);
            self.pile.changed.notify_all();
        }
    }

    /// What waits while there are too many lines.
    pub fn room(&self) -> Room {
        Room(Arc::clone(&self.pile))
    }

    /// Wait until all is written.
    ///
    /// # Errors
    /// Why it could not be.
    pub fn finish(self) -> Result<(), String> {
        self.pile.lock().ended = true;
        self.pile.changed.notify_all();
        let joined = self.writer.join();
        match (joined, self.pile.lock().fault.take()) {
            (Ok(()), None) => Ok(()),
            (_, Some(why)) => Err(why),
            (Err(_), None) => Err("a fault in this program; please report it".into()),
        }
    }
}

impl Room {
    /// Wait until there is room. There always is once nothing more can be written.
    pub fn wait(&self) {
        let mut state = self.0.lock();
        while state.bytes > FULL && state.fault.is_none() {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Pile {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, why: String) {
        let mut state = self.lock();
        *state = State { fault: Some(why), ..State::default() };
        self.changed.notify_all();
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
            put_all(stdout, &line)?;
            let mut state = self.lock();
            state.bytes = state.bytes.saturating_sub(line.len());
            self.changed.notify_all();
        }
    }
}
