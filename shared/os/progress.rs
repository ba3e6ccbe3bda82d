//! What a program is at, for somebody who waits at a terminal longer than a moment.

use std::io::IsTerminal as _;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::exit::complain;

/// The time after which somebody wants to know.
const MOMENT: Duration = Duration::from_secs(1);

struct State {
    doing: Option<String>,
    since: Instant,
    told: bool,
}

/// Tells on stderr what takes longer than a second, where that is a terminal; until it is dropped.
pub struct Progress {
    shared: Option<Arc<(Mutex<State>, Condvar)>>,
}

impl Progress {
    /// For this program.
    pub fn new(program: &'static str) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress { shared: None };
        }
        let state = State { doing: Some("at work".into()), since: Instant::now(), told: true };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let watched = Arc::clone(&shared);
        std::thread::spawn(move || watch(program, &watched));
        Progress { shared: Some(shared) }
    }

    /// Say what is being done from now on.
    pub fn at(&self, doing: impl Into<String>) {
        self.now(Some(doing.into()));
    }

    fn now(&self, doing: Option<String>) {
        if let Some(shared) = &self.shared {
            let mut state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            *state = State { doing, since: Instant::now(), told: false };
            shared.1.notify_all();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.now(None);
    }
}

fn watch(program: &str, (state, changed): &(Mutex<State>, Condvar)) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(doing) = state.doing.clone() {
        let left = if state.told { Duration::MAX } else { MOMENT.saturating_sub(state.since.elapsed()) };
        if left.is_zero() {
            complain(program, &format!("{doing} ..."));
            state.told = true;
        } else {
            state =
                changed.wait_timeout(state, left.min(MOMENT)).map_or_else(|held| held.into_inner().0, |held| held.0);
        }
    }
}
