//! Everything that touches the operating system: stdin, stdout and stderr, signals, files, child processes.
// `Error` names the file, so this room needs no `fs_err`; a call whose error is dropped needs no name
#![allow(clippy::disallowed_methods)]
// a build without `run`, as of the hooks alone, uses only a part of this room
#![cfg_attr(not(feature = "run"), allow(dead_code, unused_imports))]

mod atomic;
mod audit;
mod descendants;
mod error;
mod exit;
mod file;
mod follow;
pub(crate) mod git;
mod input;
pub(crate) mod lock;
pub mod mistake;
pub(crate) mod obeyed;
mod output;
pub mod permissions;
mod progress;
pub(crate) mod release;
#[cfg(feature = "run")]
mod remembered;
mod room;
pub(crate) mod signals;
mod wires;

pub(crate) use atomic::write_beside;
pub(crate) use audit::{append, now, open_audit};
pub(crate) use descendants::{adopt, end_all, shut};
pub(crate) use error::Error;
pub(crate) use exit::{End, Exit, Stop, VERSION, complain, tame};
pub(crate) use file::{can_write_below, open_regular, read_bounded, unread, words, words_of};
pub(crate) use follow::{Follow, LINES, MOST, too_long};
pub use input::Stdin;
pub(crate) use input::{InputLine, MAX_PAYLOAD, read_lines, read_stdin, wait};
pub use output::Wire;
pub(crate) use output::{deliver, is_closed, put_all, say, tell, tell_if_read};
pub(crate) use progress::Progress;
#[cfg(feature = "run")]
pub(crate) use remembered::Remembered;
pub(crate) use room::{PrivateRoom, run_id};
pub(crate) use signals::hold as hold_signals;
pub(crate) use wires::{Wires, spawn};
