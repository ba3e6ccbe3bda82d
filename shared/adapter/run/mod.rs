//! What a governed run needs of a vendor: a launch that holds, and its records read.

mod environment;
mod event;
mod launch;
mod options;
mod program;
pub mod record;
mod refused;
mod shadow;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Hook;
use crate::os::{self, PrivateRoom};
use crate::seal::VerifiedFrame;

pub use environment::{Fate, Variables, fate};
pub use event::{CallEnd, Figures, TurnEvent, Warning, Witness};
pub use launch::{Credentials, Launch, LaunchOrder, VARIABLES, carried, home, imposed, launch, left_out};
pub use options::{Passed, SettingOption, VendorOptions, flag, options, valued};
pub use program::{find, measured};
pub use record::StreamReader;
pub use refused::{Shadowed, Unprepared};
pub use shadow::{ambient, harmless_layer};

/// Words in pairs: what, and by what or why.
pub type Rows = Vec<(&'static str, &'static str)>;

/// One vendor, as a governed run needs it.
pub trait Run: Hook {
    /// The variable that names the vendor's own folder, and the folder's name in the user's home.
    fn own_folder(&self) -> (&'static str, &'static str);

    /// Its own names among the variables of the caller.
    fn variables(&self) -> &'static Variables;

    /// What may stand behind `--`.
    fn options(&self) -> &'static VendorOptions;

    /// The sandboxes that it can be told to work in; the first is its default.
    fn sandboxes(&self) -> &'static [&'static str] {
        &[]
    }

    /// What a launch leaves out of what lies around.
    fn ambient(&self) -> &'static Ambient;

    /// Put the arguments, variables and files of a launch together.
    ///
    /// # Errors
    /// What could not be prepared.
    fn prepare(&self, order: &LaunchOrder, room: &PrivateRoom, launch: &mut Launch) -> Result<(), Unprepared>;

    /// What a launch does to cut the turn off from what lies around: which part, and by what.
    fn imposed(&self, framed: bool) -> Rows;

    /// What it cannot do, and why.
    fn unavailable(&self) -> Rows;

    /// The tools that it is told not to offer, each with the operation that it needs; `None` where it takes no such
    /// list.
    fn withheld(&self, _frame: &VerifiedFrame) -> Option<Rows> {
        None
    }

    /// Layers above the launch that take the guard away, or put another's hook beside it: of two replaced inputs one
    /// wins, and it was not judged. `etc` is the machine's folder of them.
    ///
    /// # Errors
    /// The first.
    fn shadows(&self, etc: &Path) -> Result<(), Shadowed>;

    /// A file in the vendor's own folder that sets variables for every hook.
    ///
    /// # Errors
    /// What it sets that a hook obeys.
    fn env_file(&self, _home: &Path) -> Result<(), Shadowed> {
        Ok(())
    }

    /// Ask the vendor itself, before the first prompt, whether it sees the launch as it was meant.
    ///
    /// # Errors
    /// What it sees otherwise.
    fn agrees(&self, _order: &LaunchOrder, _launch: &Launch, _room: &PrivateRoom) -> Result<(), Shadowed> {
        Ok(())
    }

    /// A reader for its stream.
    fn stream(&self) -> Box<dyn Stream>;

    /// What the vendor's program starts, where that is a script of the vendor's own; none where it is not known.
    fn behind(&self, _program: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// What somebody does whose credentials the vendor's service does not take.
    fn login(&self) -> &'static str;

    /// The journal that tells of calls by the ids that the hook saw, where the stream does not.
    fn journal(&self) -> Option<&'static dyn Journal> {
        None
    }
}

/// Reads a vendor's stream, record by record.
///
/// A field that is missing, new or of another type than it was is no fault: each is looked up for itself, and a record
/// without a word here becomes [`TurnEvent::Opaque`].
pub trait Stream: fmt::Debug {
    /// What a record tells.
    fn record(&mut self, record: &Value) -> Vec<TurnEvent>;
}

/// Files that a vendor writes beside its stream, a record a line, for each session and sub-agent.
pub trait Journal: Sync {
    /// The files of a session below the vendor's folder, those of its sub-agents among them.
    fn files(&self, home: &Path, session: &str) -> Vec<PathBuf>;

    /// The file of this id, a session's or a sub-agent's, once it is there.
    fn file(&self, home: &Path, id: &str) -> Option<PathBuf>;

    /// What a line tells of what the model says, of calls and of model calls, and the vendor's own time of it.
    fn line(&self, bytes: &[u8]) -> (Option<String>, Vec<TurnEvent>);

    /// Add what a file tells; `own` is whether it is the session's, and no sub-agent's.
    ///
    /// # Errors
    /// It cannot be read, is no regular file, or is longer than what is read of a file in a turn.
    fn read(&self, path: &Path, own: bool, into: &mut Journaled) -> Result<(), os::Error>;

    /// Whether the file is the session's own.
    fn is_own(&self, path: &Path, session: &str) -> bool;

    /// Whether a call of this tool that ran leaves a record of its own, wherever it was made.
    fn leaves_record(&self, tool: &str) -> bool;

    /// Whether what a script was told says that a call of this tool needed an approval which nobody could give.
    fn unapproved(&self, tool: &str, told: &str) -> bool;
}

/// What a vendor's journal tells of a turn.
#[derive(Debug, Default)]
pub struct Journaled {
    /// The calls, by the ids that the hook saw.
    pub calls: Vec<JournaledCall>,
    /// Calls that ran and that no hook ever sees.
    pub unseen: Vec<(String, String)>,
    /// The scripts that made calls.
    pub scripts: Vec<JournaledScript>,
    /// How many model calls were made.
    pub model_calls: u64,
    /// What they used.
    pub figures: Figures,
    /// The model.
    pub model: Option<String>,
}

/// A script that made calls, in a vendor's journal.
#[derive(Debug, Default)]
pub struct JournaledScript {
    /// When it had ended, by RFC 3339.
    pub at: Option<String>,
    /// What the model was told of it.
    pub told: String,
    /// Whether a hook's denial ended it.
    pub by_hook: bool,
}

/// A call in a vendor's journal.
#[derive(Debug, Default)]
pub struct JournaledCall {
    /// Its id.
    pub id: String,
    /// The tool, by the name that it has for a hook.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// Whether it is a sub-agent's.
    pub nested: bool,
    /// How it ended.
    pub end: Option<CallEnd>,
}

/// Files that a launch leaves out, by their names.
#[derive(Debug)]
pub struct Ambient {
    /// In the project and in the user's home.
    pub everywhere: &'static [&'static str],
    /// The project's instructions, unless the run was told to give them; empty where the vendor reads them itself.
    pub instructions: &'static [&'static str],
    /// In the user's home alone.
    pub home: &'static [&'static str],
}
