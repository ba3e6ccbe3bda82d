//! A vendor's part in setup: adding and removing its entries, finding what disables them, and starting their line. The
//! order of these steps is the same for every vendor.

pub(crate) mod file;
pub(crate) mod report;
pub(crate) mod terms;
pub(crate) mod text;
pub mod tree;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{DOCTOR_CALL, Facts, Hook, Registration};
use crate::json::Fault;
use crate::os;
use crate::os::release::NoAnswer;
use crate::seal::VerifiedFrame;
use report::{Report, SeenFile};
use terms::EntryTerms;

/// A vendor as `mh-setup` needs it.
pub trait Setup: Hook {
    /// The oldest release on which an entry holds, and the behaviour of older ones.
    fn oldest(&self) -> (&'static str, &'static str);

    /// Measured ways to start the vendor without the hook that no file shows.
    fn unseen(&self) -> &'static [&'static str];

    /// The vendor's places and forms in the words of the help.
    fn offers(&self) -> &'static Offers;

    /// Check that the vendor would find its own configuration.
    ///
    /// # Errors
    /// The reason why it would not.
    fn ready(&self) -> Result<(), Unplaced> {
        Ok(())
    }

    /// The file with the entries at this place.
    ///
    /// # Errors
    /// No place was given, or it does not exist.
    fn file(&self, place: &EntryPlace) -> Result<PathBuf, Unplaced>;

    /// The text of entries that the user adds to a file.
    ///
    /// # Errors
    /// A path in them cannot be written in the vendor's format.
    fn printed(&self, line: &Registration, form: PrintedForm) -> Result<String, Unplaced>;

    /// The administrator's file for managed entries.
    fn managed_file(&self) -> &'static str;

    /// The words for the entries in reports.
    fn entries(&self) -> &'static str;

    /// The text of `file` with the entries of this line; `None` is a missing file.
    ///
    /// # Errors
    /// The vendor would ignore such a text, or it has no place for entries.
    fn put_in(&self, text: Option<&str>, line: &Registration, file: &Path) -> Result<String, Unspliced>;

    /// The text of `file` without entries; `None` if it holds nothing else, so the file is to be removed.
    ///
    /// # Errors
    /// The text cannot be read.
    fn take_out(&self, text: &str, file: &Path) -> Result<Option<String>, Unspliced>;

    /// Whether two texts of `file` differ in our entries alone.
    fn only_entries_differ(&self, old: Option<&str>, new: &str, file: &Path) -> bool;

    /// Our entries in this text, event by event; empty if none is ours.
    ///
    /// # Errors
    /// The text cannot be read.
    fn standing(&self, text: &str) -> Result<Vec<Standing>, Fault>;

    /// The user's and the machine's files that may hold entries, each with the command that removes them.
    fn homes(&self, etc: &Path) -> Vec<(PathBuf, Option<String>)>;

    /// The files of the project in this folder that may hold entries, each with the command that removes them.
    fn of_project(&self, folder: &Path) -> Vec<(PathBuf, Option<String>)>;

    /// The report of the vendor's own doctor on the configuration in this folder, with the program that was asked;
    /// `None` if there is no such program, or it has no doctor.
    fn objections(&self, folder: &Path) -> Option<(PathBuf, Result<Vec<Objection>, NoAnswer>)> {
        let _ = folder;
        None
    }

    /// A part of the frame that the vendor itself cannot do, whatever the hook answers.
    fn lacks(&self, frame: &VerifiedFrame) -> Option<String> {
        let _ = frame;
        None
    }

    /// The limits of written entries, in whole lines.
    fn limits(&self) -> &'static str {
        ""
    }

    /// Read the configuration that the vendor reads if it starts in this folder. `etc` is `/etc`, except in tests;
    /// `flag` is a file from the vendor's command line.
    ///
    /// # Errors
    /// The configuration's place cannot be told.
    fn examine(&self, etc: &Path, project: &Path, flag: Option<&Path>) -> Result<Box<dyn Examined>, Unplaced>;
}

/// Our entry under one event in a file: its line and its flags, or its difference from the entries that `mh-setup`
/// writes. `None` if nothing there is ours.
pub type Standing = (&'static str, Option<Result<(Registration, EntryTerms), String>>);

/// A vendor's places and forms as the help of `mh-setup` shows them, or the reason why the vendor lacks one.
#[derive(Debug)]
pub struct Offers {
    /// `--project DIR`, to follow the product's name.
    pub project: Result<&'static str, &'static str>,
    /// `--local`, to follow the product's name.
    pub local: Result<&'static str, &'static str>,
    /// `--user`, to follow the product's name.
    pub user: &'static str,
    /// `--print`.
    pub print: &'static str,
    /// `--print --shell`.
    pub shell: Result<&'static str, &'static str>,
    /// `--managed`.
    pub managed: &'static str,
    /// The vendor's flag for one more file, which doctor gets by `--settings`.
    pub flag: Option<&'static str>,
}

/// The place of entries on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryPlace {
    /// No place is given.
    Untold,
    /// The user's own configuration.
    User,
    /// The configuration of the project in this folder.
    Project(PathBuf),
    /// The configuration of the project in this folder, for this machine alone.
    Local(PathBuf),
}

/// The forms of printed entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedForm {
    /// The form in a file.
    Written,
    /// The form for releases that can only start a line by a shell.
    Shell,
    /// The form for the administrator's file, which shuts out every other hook.
    Managed,
}

/// The reason why there is no place for entries.
#[derive(Debug)]
pub enum Unplaced {
    /// The command line does not name the place.
    Untold(String),
    /// The place does not exist.
    Missing(String),
    /// The place has no name that an entry could hold.
    Unnamed(os::Error),
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unplaced::Untold(why) | Unplaced::Missing(why) => f.write_str(why),
            Unplaced::Unnamed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unplaced {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Unplaced::Untold(_) | Unplaced::Missing(_) => None,
            Unplaced::Unnamed(error) => Some(error),
        }
    }
}

impl From<os::Error> for Unplaced {
    fn from(error: os::Error) -> Self {
        Unplaced::Unnamed(error)
    }
}

/// The reason why entries cannot be added to a text or removed from it.
#[derive(Debug)]
pub enum Unspliced {
    /// The text prevents it, at this byte.
    At(Fault),
    /// The file's name prevents it.
    Name(os::Error),
}

impl fmt::Display for Unspliced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unspliced::At(fault) => fault.fmt(f),
            Unspliced::Name(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unspliced {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Unspliced::At(fault) => Some(fault),
            Unspliced::Name(error) => Some(error),
        }
    }
}

impl From<os::Error> for Unspliced {
    fn from(error: os::Error) -> Self {
        Unspliced::Name(error)
    }
}

impl From<Fault> for Unspliced {
    fn from(fault: Fault) -> Self {
        Unspliced::At(fault)
    }
}

/// A fault that the vendor's own doctor finds in its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The vendor's name for the file.
    pub file: String,
    /// The key, its parts joined by dots.
    pub key: String,
    /// The fault, in the vendor's words.
    pub what: String,
    /// Whether the fault disables the whole file, or every hook of one of our events.
    pub whole: bool,
}

impl Objection {
    /// The objection in one line.
    pub fn line(&self) -> String {
        let text = format!("{}, {}: {}", self.file, self.key, self.what);
        crate::frame::shown(&text)
    }
}

/// The depth of an examination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The files, the environment and the line.
    Read,
    /// Also the vendor's program, which is asked, and the line, which is fired.
    Probed,
}

/// A vendor's configuration, read for a start in one folder.
pub trait Examined {
    /// The files, the weakest first.
    fn files(&self) -> Vec<SeenFile>;

    /// The complete entries, the strongest last. If there is none, the report gets what is there instead.
    fn entries(&self, report: &mut Report) -> Vec<WholeEntry>;

    /// Nothing of ours is registered: report things that look as if it were, and the next step.
    fn absent(&self, report: &mut Report);

    /// The variable in the hook's environment.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// Report what disables this entry, and notes about it.
    fn look(&self, guard: &WholeEntry, depth: Depth, report: &mut Report);

    /// The way to fire the line of this entry.
    fn trial(&self, guard: &WholeEntry) -> Trial;
}

/// A complete entry: one line under each of our events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeEntry {
    /// The index of its file in [`Examined::files`].
    pub at: usize,
    /// Its file.
    pub file: PathBuf,
    /// The hook's line.
    pub line: Registration,
    /// The flags of that line.
    pub terms: EntryTerms,
    /// The shell's text, if a shell starts the hook.
    pub shell: Option<String>,
    /// The fault that a newly written entry would not have, if this one is of an older form.
    pub older: Option<String>,
}

impl WholeEntry {
    /// Whether an entry under another event agrees with this one, which a call waits for.
    pub(crate) fn goes_with(&self, other: &WholeEntry) -> bool {
        let forms = self.shell.is_some() == other.shell.is_some() && self.older == other.older;
        forms && self.line.program == other.line.program && self.terms.agrees(&other.terms)
    }
}

/// The way in which a vendor starts a line, and the payloads for firing it.
#[derive(Debug)]
pub struct Trial {
    /// The shell of a line, if the vendor has a choice of shells; else `/bin/sh`.
    pub shell: Option<PathBuf>,
    /// The variables that the vendor sets; of a name that comes twice, the last counts.
    pub variables: Vec<(OsString, OsString)>,
    /// The kind of the three standard descriptors.
    pub wiring: Wiring,
    /// Calls to choose from, by tool, harmless ones last.
    pub calls: Vec<(&'static str, Value)>,
    /// A payload that the hook answers with nothing and that adds no line to the audit.
    pub quiet: Value,
}

/// The kinds of stdin, stdout and stderr that vendors give a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiring {
    /// A socket each: `/dev/stdin` and the like cannot open them.
    Sockets,
    /// A pipe each.
    Pipes,
}

/// The payloads for firing a line, in the form of both vendors: calls of these tools, and a prompt. `common` is a part
/// of every payload; none of the calls is ever run.
pub(crate) fn payloads(
    facts: &Facts,
    common: &Value,
    calls: Vec<(&'static str, Value)>,
) -> (Vec<(&'static str, Value)>, Value) {
    let of = |event: &str| {
        let mut all = common.clone();
        all[facts.payload.event] = event.into();
        all
    };
    let id = format!("{DOCTOR_CALL}{}", std::process::id());
    let call = |(tool, input): (&'static str, Value)| {
        let mut all = of(facts.gate);
        all[facts.payload.tool] = tool.into();
        all[facts.payload.input] = input;
        all[facts.payload.call_id] = id.clone().into();
        (tool, all)
    };
    let mut quiet = of("UserPromptSubmit");
    quiet["prompt"] = "mh-doctor".into();
    (calls.into_iter().map(call).collect(), quiet)
}

/// The call of an MCP tool that no server has.
pub(crate) fn mcp_call() -> (&'static str, Value) {
    ("mcp__mh_doctor__probe", json!({}))
}
