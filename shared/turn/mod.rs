//! One governed turn of a vendor's program: how it is launched, what its stream tells, how it
//! ends, and what a script is told of it.
//!
//! There is one stream of [`Event`]s; what is printed is a projection of the [`Turn`] that they
//! add up to. The exit code is decided from the vendor's own terminal record and the audit, never
//! passed on from the child.

mod agreed;
mod audit;
mod capabilities;
mod control;
mod course;
mod descendants;
mod drive;
mod embedder;
mod event;
mod follow;
mod handoff;
mod launch;
mod lines;
mod outcome;
mod output;
mod program;
mod read;
mod room;
mod shadow;

pub use agreed::agreed;
pub use audit::{Decided, Judgement};
pub use capabilities::{Capabilities, Holds};
pub use control::{ASK, Code, controls, unsupported};
pub use course::Course;
pub use descendants::{adopt, end_all, shut};
pub use drive::{Drive, Ending, Late, Outside, Party, Post, Stopped};
pub use embedder::{Embedder, OnEof};
pub use event::{Event, Figures, Warning, Witness};
pub use handoff::{Owed, Promise};
pub use launch::{Credentials, Launch, Order, carried, home, imposed, launch, left_out, unavailable};
pub use lines::{About, End, Events, Item, Lines, Stream};
pub use outcome::{Call, Outcome, Turn, Unenforced};
pub use output::{Frame as Printed, json, text};
pub use program::{Version, find};
pub use read::{Reader, rollout};
pub use room::{PrivateRoom, run_id};
pub use shadow::{dropped, env_file, layers, options};

/// Whose program runs the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

impl Kind {
    /// The word for it, which is its program's name too.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Claude => "claude",
            Kind::Codex => "codex",
        }
    }

    /// The vendor of this word.
    pub fn from_word(word: &str) -> Option<Kind> {
        [Kind::Claude, Kind::Codex].into_iter().find(|kind| kind.word() == word)
    }
}
