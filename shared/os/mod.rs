//! The process: what comes in, what goes out, and the files in between. The only room that
//! touches the operating system.
// the room's own error names the file, and where none is told there is no file to name
#![allow(clippy::disallowed_methods)]

mod atomic;
mod audit;
mod descendants;
mod error;
mod exit;
mod file;
mod follow;
pub mod git;
mod input;
pub mod lock;
pub mod obeyed;
mod output;
pub mod permissions;
pub mod release;
#[cfg(feature = "run")]
mod remembered;
mod room;
pub(crate) mod signals;
mod wires;

pub use atomic::{Written, write_beside};
pub use audit::{append, now, open_audit};
pub use descendants::{adopt, end_all, shut};
pub use error::Error;
pub use exit::{End, Exit, Stop, VERSION, complain, tame};
pub use file::{can_write_below, open_regular, read_bounded, unread, words, words_of};
pub use follow::{Follow, LINES, MOST, too_long};
pub use input::{InputLine, MAX_PAYLOAD, Stdin, read_lines, read_stdin, wait};
pub use output::{Wire, deliver, is_closed, put_all, say, tell, tell_if_read};
#[cfg(feature = "run")]
pub use remembered::Remembered;
pub use room::{PrivateRoom, run_id};
pub use signals::hold as hold_signals;
pub use wires::{Wires, spawn};
