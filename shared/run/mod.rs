//! One governed turn of a vendor's program: how it is launched, what its stream tells, how it
//! ends, and what a script is told of it.
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
pub use capabilities::{Capabilities, Holds};
pub use control::{ASK, Code, Unhonoured, controls, unsupported};
pub use drive::{Drive, Ending, Late, Outside, Party, Post, Stopped};
pub use embedder::{Embedder, OnEof};
pub use handoff::{Owed, Promise};
pub use lines::{About, Events, Item, Lines, StreamLines, StreamTold, TurnEnd};
pub use listen::{Knock, listen};
pub use merge::Merge;
pub use outcome::{Conclusion, Outcome};
pub use output::{Printed, json, text};
pub use queue::{Backpressure, Queue};
pub use turn::{Turn, TurnCall, Unenforced};
