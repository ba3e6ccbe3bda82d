//! The process: what comes in, what goes out, and the files in between. The only room that
//! touches the operating system.

mod audit;
mod beside;
mod decider;
mod file;
mod input;
mod outlet;
mod output;
mod paths;
mod setup;
mod signals;
mod wires;

pub use audit::{Decided, Record, append, open_audit};
pub use beside::{Written, write_beside};
pub use decider::{Decider, Knock, Unanswered, listen};
pub use file::{open_regular, read_bounded, words};
pub use input::{Input, Line, MAX_PAYLOAD, read_lines, read_stdin, wait};
pub use outlet::{Outlet, Room};
pub use output::{deliver, say, tell, tell_if_read};
pub use paths::{Folders, Taken, guarded, unclear};
pub use setup::{DEADLINE, Setup};
pub use signals::hold as hold_signals;
pub use wires::{Wires, spawn};

/// The end of a process that must never end in any other way: 0, or 2 for "this must not run".
/// Both vendors take 1, 101 and every signal for leave to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0
    Answered,
    /// 2
    Blocked,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Answered => 0.into(),
            Exit::Blocked => 2.into(),
        }
    }
}
