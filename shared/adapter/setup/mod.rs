//! What setting up needs of a vendor: its entries into a configuration and out of it again, what takes them away, and how
//! their line is started. In which order that is gone through is no vendor's affair.

pub mod file;
pub mod report;
pub mod terms;
pub mod text;
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

/// One vendor, as `mh-setup` needs it.
pub trait Setup: Hook {
    /// The oldest release on which an entry holds, and what older ones do with it.
    fn oldest(&self) -> (&'static str, &'static str);

    /// Measured ways round the hook that a launch has, and that no file shows.
    fn unseen(&self) -> &'static [&'static str];

    /// The places and forms that it has, in the words of the help.
    fn offers(&self) -> &'static Offers;

    /// Refuse to do anything where the vendor would not find its own configuration.
    ///
    /// # Errors
    /// It would not.
    fn ready(&self) -> Result<(), Unplaced> {
        Ok(())
    }

    /// The file that entries stand in at this place.
    ///
    /// # Errors
    /// No place was told, or it is not there.
    fn file(&self, place: &EntryPlace) -> Result<PathBuf, Unplaced>;

    /// Entries for somebody to put where they belong.
    ///
    /// # Errors
    /// They cannot name what they have to.
    fn printed(&self, line: &Registration, form: PrintedForm) -> Result<String, Unplaced>;

    /// The file of the administrator's, which managed entries go into.
    fn managed_file(&self) -> &'static str;

    /// The words for what is written and taken out.
    fn entries(&self) -> &'static str;

    /// The text of `file` with the entries of this line; `None` for the text of a file that is not there.
    ///
    /// # Errors
    /// The vendor would pass over a text like this, or there is no place in it for them.
    fn put_in(&self, text: Option<&str>, line: &Registration, file: &Path) -> Result<String, Unspliced>;

    /// The text of `file` without entries; `None`: it has held nothing else, and the file is to go.
    ///
    /// # Errors
    /// It cannot be read.
    fn take_out(&self, text: &str, file: &Path) -> Result<Option<String>, Unspliced>;

    /// Two texts of `file` differ in our entries alone.
    fn only_entries_differ(&self, old: Option<&str>, new: &str, file: &Path) -> bool;

    /// Our entries in this text, event by event; none where there is none of ours at all.
    ///
    /// # Errors
    /// It cannot be read.
    fn standing(&self, text: &str) -> Result<Vec<Standing>, Fault>;

    /// The files of the user's own and of the machine's that entries may stand in, with the command that takes them out.
    fn homes(&self, etc: &Path) -> Vec<(PathBuf, Option<String>)>;

    /// The same of the project in this folder.
    fn of_project(&self, folder: &Path) -> Vec<(PathBuf, Option<String>)>;

    /// The word of the vendor's own doctor on the configuration that it reads in this folder, with the program that was
    /// asked; `None` where there is no such program, or no such doctor.
    fn objections(&self, folder: &Path) -> Option<(PathBuf, Result<Vec<Objection>, NoAnswer>)> {
        let _ = folder;
        None
    }

    /// Something that the vendor itself cannot do under a frame like this, whatever the hook says.
    fn lacks(&self, frame: &VerifiedFrame) -> Option<String> {
        let _ = frame;
        None
    }

    /// The limits of entries that have been written, in whole lines.
    fn limits(&self) -> &'static str {
        ""
    }

    /// Read what the vendor reads where it is started in this folder. `etc` is `/etc`, but in a test; `flag` is a file that
    /// the vendor is given on its command line.
    ///
    /// # Errors
    /// It cannot be told where that is.
    fn examine(&self, etc: &Path, project: &Path, flag: Option<&Path>) -> Result<Box<dyn Examined>, Unplaced>;
}

/// Our entry under one event, as it stands in a file: its line and its flags, or the fault for which it is none that
/// `mh-setup` writes. None: nothing of ours.
pub type Standing = (&'static str, Option<Result<(Registration, EntryTerms), String>>);

/// The places and forms of a vendor's entries, each as it stands in the help of `mh-setup`, or why the vendor has none.
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
    /// The flag by which the vendor is given one more file, which doctor is told by `--settings`.
    pub flag: Option<&'static str>,
}

/// The places that entries are asked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryPlace {
    /// Nowhere in particular.
    Untold,
    /// In the user's own configuration.
    User,
    /// In that of the project in this folder.
    Project(PathBuf),
    /// In that of the project in this folder, for this machine alone.
    Local(PathBuf),
}

/// The forms that entries are printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedForm {
    /// As they are written into a file.
    Written,
    /// For releases that start a line by a shell alone.
    Shell,
    /// For the administrator's file, with every other hook shut out.
    Managed,
}

/// The reason why there is no place for entries.
#[derive(Debug)]
pub enum Unplaced {
    /// The command line does not say where.
    Untold(String),
    /// The place cannot be found.
    Missing(String),
    /// The place has no name that an entry could have.
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

/// The reason why entries cannot be put into a text, or taken out of it.
#[derive(Debug)]
pub enum Unspliced {
    /// The text does not let them, at this byte.
    At(Fault),
    /// The name of the file does not let them.
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

/// Something that the vendor's own doctor finds wrong with its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The file, as the vendor names it.
    pub file: String,
    /// The key, its parts joined by dots.
    pub key: String,
    /// The fault, in the vendor's words.
    pub what: String,
    /// The whole file is passed over for it, or all hooks of one of our events.
    pub whole: bool,
}

impl Objection {
    /// In one line.
    pub fn line(&self) -> String {
        let text = format!("{}, {}: {}", self.file, self.key, self.what);
        crate::frame::shown(&text)
    }
}

/// The depth to which a vendor is looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The files, the environment and the line.
    Read,
    /// And the vendor's program is asked, and the line fired.
    Probed,
}

/// One vendor's configuration, read in the folder that the vendor is started in.
pub trait Examined {
    /// The files, the weakest first.
    fn files(&self) -> Vec<SeenFile>;

    /// The complete entries, the strongest last. Where there is none, the report says what is there instead.
    fn entries(&self, report: &mut Report) -> Vec<WholeEntry>;

    /// Say, where nothing of ours is registered, what looks as if it were, and what to do next.
    fn absent(&self, report: &mut Report);

    /// A variable as a hook has it.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// Say what takes this entry away, and what is worth knowing about it.
    fn look(&self, guard: &WholeEntry, depth: Depth, report: &mut Report);

    /// The way in which the line of this entry is tried.
    fn trial(&self, guard: &WholeEntry) -> Trial;
}

/// A complete entry: the same line under all events of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeEntry {
    /// The number of its file, of those that [`Examined::files`] gives.
    pub at: usize,
    /// Its file.
    pub file: PathBuf,
    /// The hook's line.
    pub line: Registration,
    /// The flags of that line.
    pub terms: EntryTerms,
    /// The text that a shell is given, where one starts the hook.
    pub shell: Option<String>,
    /// The fault that the entry which is written now does not have, where this is another.
    pub older: Option<String>,
}

impl WholeEntry {
    /// An entry under another event says the same as this one, which a call waits for.
    pub(crate) fn goes_with(&self, other: &WholeEntry) -> bool {
        let forms = self.shell.is_some() == other.shell.is_some() && self.older == other.older;
        forms && self.line.program == other.line.program && self.terms.agrees(&other.terms)
    }
}

/// The way in which a vendor starts a line, and the payloads that the line is tried with.
#[derive(Debug)]
pub struct Trial {
    /// The shell of a line that one starts, where the vendor has a choice of them; else `/bin/sh`.
    pub shell: Option<PathBuf>,
    /// The variables that the vendor sets, the last of a name last.
    pub variables: Vec<(OsString, OsString)>,
    /// The kind of the three standard descriptors.
    pub wiring: Wiring,
    /// Calls to choose from, by the tool, those that touch nothing last.
    pub calls: Vec<(&'static str, Value)>,
    /// A payload that is answered without a word and leaves no line in the audit.
    pub quiet: Value,
}

/// The kinds of standard descriptors that vendors give a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiring {
    /// A socket each, which cannot be opened by `/dev/stdin` and the like.
    Sockets,
    /// A pipe each.
    Pipes,
}

/// The payloads of a trial in the form that both vendors have: calls of these tools, and a prompt. `common` holds what is
/// in every payload; none of the calls is ever run.
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
