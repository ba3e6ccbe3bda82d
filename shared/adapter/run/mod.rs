//! A vendor's part in a governed run: a launch that holds, and a reader for its records.

mod environment;
mod event;
mod launch;
mod options;
mod program;
pub(crate) mod record;
mod refused;
mod shadow;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Hook;
use crate::os::{self, PrivateRoom};
use crate::seal::VerifiedFrame;

pub(crate) use environment::Variables;
#[cfg(test)]
pub(crate) use environment::{Fate, fate};
pub use event::Warning;
pub(crate) use event::{CallEnd, Figures, TurnEvent, Witness};
pub(crate) use launch::{Credentials, Launch, LaunchOrder, VARIABLES, carried, home, imposed, launch, left_out};
pub(crate) use options::{Passed, SettingOption, VendorOptions, flag, options, valued};
pub(crate) use program::{find, measured};
pub(crate) use record::StreamReader;
pub(crate) use refused::{Shadowed, Unprepared};
pub(crate) use shadow::{ambient, harmless_layer};

/// Pairs of a thing and its means or reason.
pub type Rows = Vec<(&'static str, &'static str)>;

/// A vendor as a governed run needs it.
pub trait Run: Hook {
    /// The variable that names the vendor's own folder, and the folder's name in the user's home.
    fn own_folder(&self) -> (&'static str, &'static str);

    /// The vendor's own names among the caller's variables.
    fn variables(&self) -> &'static Variables;

    /// The options that may follow `--`.
    fn options(&self) -> &'static VendorOptions;

    /// The vendor's sandboxes; the first is its default.
    fn sandboxes(&self) -> &'static [&'static str] {
        &[]
    }

    /// The surroundings that a launch leaves out.
    fn ambient(&self) -> &'static Ambient;

    /// Prepare the arguments, variables and files of a launch.
    ///
    /// # Errors
    /// The part that could not be prepared.
    fn prepare(&self, order: &LaunchOrder, room: &PrivateRoom, launch: &mut Launch) -> Result<(), Unprepared>;

    /// The measures that cut the turn off from its surroundings: each part, with its means.
    fn imposed(&self, framed: bool) -> Rows;

    /// The parts that cannot be cut off, with the reasons.
    fn unavailable(&self) -> Rows;

    /// The tools that the vendor is told not to offer, each with the operation that it needs; `None` if the vendor
    /// takes no such list.
    fn withheld(&self, _frame: &VerifiedFrame) -> Option<Rows> {
        None
    }

    /// Check the layers above the launch: none may remove the guard or add another hook, since the vendor takes only
    /// one of two replaced inputs, and that one may not be judged. `etc` is the machine's folder of them.
    ///
    /// # Errors
    /// The first such layer.
    fn shadows(&self, etc: &Path) -> Result<(), Shadowed>;

    /// Check the file in the vendor's own folder that sets variables for every hook.
    ///
    /// # Errors
    /// A variable that a hook obeys.
    fn env_file(&self, _home: &Path) -> Result<(), Shadowed> {
        Ok(())
    }

    /// Ask the vendor itself, before the first prompt, whether it sees the launch as intended.
    ///
    /// # Errors
    /// The difference that the vendor reports.
    fn agrees(&self, _order: &LaunchOrder, _launch: &Launch, _room: &PrivateRoom) -> Result<(), Shadowed> {
        Ok(())
    }

    /// A reader for the vendor's stream.
    fn stream(&self) -> Box<dyn Stream>;

    /// The programs behind the vendor's program, if that is a script of the vendor's; empty if they are unknown.
    fn behind(&self, _program: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The advice for a user whose credentials the vendor's service refuses.
    fn login(&self) -> &'static str;

    /// The journal with the call ids that the hook saw, if the stream lacks them.
    fn journal(&self) -> Option<&'static dyn Journal> {
        None
    }
}

/// Reads a vendor's stream, record by record.
///
/// A field that is missing, new or of another type than before is no fault: each is looked up by itself, and a record
/// of an unknown type becomes [`TurnEvent::Opaque`].
pub trait Stream: fmt::Debug {
    /// The events of a record.
    fn record(&mut self, record: &Value) -> Vec<TurnEvent>;
}

/// Files that a vendor writes beside its stream, a record a line, one for each session and sub-agent.
pub trait Journal: Sync {
    /// The files of a session below the vendor's folder, including those of its sub-agents.
    fn files(&self, home: &Path, session: &str) -> Vec<PathBuf>;

    /// The file of a session or a sub-agent, once it exists.
    fn file(&self, home: &Path, id: &str) -> Option<PathBuf>;

    /// The events of a line (text, calls and model calls), with the vendor's own time.
    fn line(&self, bytes: &[u8]) -> (Option<String>, Vec<TurnEvent>);

    /// Add a file's content. `own` marks the session's file, as opposed to a sub-agent's.
    ///
    /// # Errors
    /// The file cannot be read, is not regular, or is longer than a turn reads.
    fn read(&self, path: &Path, own: bool, into: &mut Journaled) -> Result<(), os::Error>;

    /// Whether the file is the session's own.
    fn is_own(&self, path: &Path, session: &str) -> bool;

    /// Whether a call of this tool that ran leaves a record of its own, wherever it was made.
    fn leaves_record(&self, tool: &str) -> bool;

    /// Whether the text for a script reports that a call of this tool needed an approval that nobody could give.
    fn unapproved(&self, tool: &str, told: &str) -> bool;
}

/// The content of a vendor's journal about a turn.
#[derive(Debug, Default)]
pub struct Journaled {
    /// The calls by the ids that the hook saw.
    pub calls: Vec<JournaledCall>,
    /// Calls that ran and that hooks never see.
    pub unseen: Vec<(String, String)>,
    /// The scripts that made calls.
    pub scripts: Vec<JournaledScript>,
    /// The number of model calls.
    pub model_calls: u64,
    /// The tokens of these model calls.
    pub figures: Figures,
    /// The model that the journal names.
    pub model: Option<String>,
}

/// A script that made calls, in a vendor's journal.
#[derive(Debug, Default)]
pub struct JournaledScript {
    /// The time of the script's end, by RFC 3339.
    pub at: Option<String>,
    /// The text that the model got about the script.
    pub told: String,
    /// Whether a hook's denial ended it.
    pub by_hook: bool,
}

/// A call in a vendor's journal.
#[derive(Debug, Default)]
pub struct JournaledCall {
    /// The id that the hook saw.
    pub id: String,
    /// The tool's name for a hook.
    pub tool: String,
    /// The input that the tool got.
    pub input: Value,
    /// Whether a sub-agent made the call.
    pub nested: bool,
    /// The end of the call.
    pub end: Option<CallEnd>,
}

/// The names of files that a launch leaves out.
#[derive(Debug)]
pub struct Ambient {
    /// Files in the project and in the user's home.
    pub everywhere: &'static [&'static str],
    /// The project's instructions, left out unless the run was told to give them; empty if the vendor reads them
    /// itself.
    pub instructions: &'static [&'static str],
    /// Files in the user's home alone.
    pub home: &'static [&'static str],
}
