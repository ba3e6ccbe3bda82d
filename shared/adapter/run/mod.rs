//! What a governed run needs of a vendor: a launch that holds, and its records read.

mod environment;
mod event;
mod launch;
mod program;
pub mod record;
mod shadow;

pub use event::{Event, Figures, Warning, Witness};
pub use launch::{Credentials, Launch, Order, carried, home, imposed, launch, left_out, unavailable};
pub use program::{Version, find};
pub use record::Reader;
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
