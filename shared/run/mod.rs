//! One governed turn of a vendor's program: its launch, its stream, its end, and the report for a script.
//!
//! There is one stream of [`Event`]s; what is printed is a projection of the [`Turn`] that they
//! add up to. The exit code is decided from the vendor's own terminal record and the audit, never
//! passed on from the child.

mod capabilities;
mod control;
mod drive;
mod embedder;
mod handoff;
mod held;
mod lines;
mod listen;
mod merge;
mod outcome;
mod output;
mod queue;
mod turn;

pub(crate) use crate::protocol::Judgement;
pub(crate) use capabilities::Capabilities;
pub(crate) use control::{ASK, Unhonoured};
pub use control::{Code, controls};
pub(crate) use drive::{Drive, Ending, Outside, Party, Post, Stopped};
pub use embedder::{Embedder, OnEof};
pub(crate) use handoff::Promise;
pub(crate) use lines::{About, Events, Item, Lines, StreamLines, StreamTold, TurnEnd};
pub(crate) use listen::{Knock, listen};
pub(crate) use merge::Merge;
pub(crate) use outcome::{Conclusion, Outcome};
pub(crate) use output::{Printed, json, text};
pub(crate) use queue::{Backpressure, Queue};
pub(crate) use turn::{Turn, Unenforced};
