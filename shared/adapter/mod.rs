//! The differences between the vendors: three traits, and one folder for each vendor. ARCHITECTURE.md says what another
//! vendor takes.

mod advice;
mod answers;
pub mod claude;
pub mod codex;
mod neighbour;
mod payload;
mod places;
#[cfg(feature = "run")]
pub mod run;
#[cfg(feature = "setup")]
pub mod setup;
mod table;
pub mod takes;

pub use advice::advice;
pub(crate) use advice::{surely_meant_otherwise, without_shell};
pub(crate) use neighbour::{Neighbour, is_copy, stranger};
pub(crate) use payload::{Input, LONGEST, MOST_BYTES, MOST_PATHS, Payload, Shape};
pub(crate) use places::{Place, Protected, like, places};
#[cfg(feature = "run")]
pub(crate) use table::Class;
pub(crate) use table::{Table, Tool};
pub use takes::Takes;

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

#[cfg(feature = "run")]
use self::run::Run;
#[cfg(feature = "setup")]
use self::setup::Setup;
use crate::decide::{Asks, Half, Need, Reading, Wanted};
pub use crate::decide::{Event, Verdict};
use crate::frame::{Operation, mcp};
pub use crate::os::Wire;
use crate::seal::VerifiedFrame;

/// The first characters of the call ids that `mh-setup doctor` makes up. An audit tells doctor's calls from an agent's by
/// them. Doctor fires calls that are settled before a decider is asked.
#[cfg(feature = "setup")]
pub(crate) const DOCTOR_CALL: &str = "mh-doctor-";

/// The lookup of an environment variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The constants of a vendor, measured on one release.
#[derive(Debug)]
pub struct Facts {
    /// The product's name: `Claude Code`.
    pub product: &'static str,
    /// The word for the vendor in commands and lines, and the name of its program: `claude`.
    pub word: &'static str,
    /// The hook program: `mh-hook-claude`.
    pub program: &'static str,
    /// The way to take the hook out again, as the end of the sentence `to undo, …`.
    pub undo: &'static str,
    /// The longest instruction text that reaches the model whole, as [`Hook::measure`] counts.
    pub text_limit: usize,
    /// The oldest release that a governed turn starts. Older ones are not known to block a call when its hook fails.
    pub oldest: &'static str,
    /// The effect of an admitted call's answer under policy `frame`, in words.
    pub allow: &'static str,
    /// The tools of which it was measured that they run with a replaced input, and what they take. MCP tools do too, and
    /// take what their server says.
    pub replaced: &'static [Takes],
    /// Calls that no hook ever sees: the vendor's own word for them, and why.
    pub unseen: &'static [(&'static str, &'static str)],
    /// Names of files that the vendor loads into the conversation by itself, together with every file that they import;
    /// written as in [`Place::Names`]. An import would read a file that the path rules refuse.
    pub loaded: &'static [&'static [&'static str]],
    /// The event that a call waits at before it runs: `PreToolUse`.
    pub gate: &'static str,
    /// The names of the payload's members.
    pub payload: Shape,
    /// The vendor's way to name the tools of MCP servers.
    pub mcp: mcp::Rendering,
    /// The environment variable that names the project folder, if the vendor sets one.
    pub project: Option<&'static str>,
    /// The tool table.
    pub table: &'static Table,
}

/// A vendor's part in the hook program.
pub trait Hook: Sync + fmt::Debug {
    /// The vendor's constants.
    fn facts(&self) -> &'static Facts;

    /// The length of a text in the vendor's unit, which the limit on instruction texts is in.
    fn measure(&self, text: &str) -> usize;

    /// The guard's class for an event of this name.
    fn event(&self, name: &str) -> Event;

    /// The operations that a call of an MCP tool asks for.
    fn mcp(&self, payload: &Payload<'_>, tool: &str) -> RawAsks;

    /// The operations that a call asks for. Paths are as the payload writes them.
    fn asks(&self, payload: &Payload<'_>, tool: &str) -> RawAsks {
        let facts = self.facts();
        match tool.starts_with(facts.mcp.prefix) {
            true => self.mcp(payload, tool),
            false => facts.table.asks(payload, tool, facts.product),
        }
    }

    /// Whether an admitted call of this tool is granted at the event where the vendor would ask a person.
    fn grants_approval(&self, tool: &str) -> bool;

    /// Why the vendor would not run a call with this input in place of its own, by more than what the tool takes; it runs
    /// the call as it was then, or neither. To follow the tool's name.
    fn refuses_replace(&self, _input: &Input<'_>, _tool: &str) -> Option<String> {
        None
    }

    /// Read an input that is to replace the call's own.
    ///
    /// # Errors
    /// The reason why the vendor would not run it, as the end of a sentence that begins with the tool's name.
    fn replacement<'a>(&self, event: &str, input: &'a str, tool: &str) -> Result<Input<'a>, String> {
        let new = Input::read(input, self.facts().payload.asked)
            .map_err(|fault| format!("is given an input that is no JSON ({fault})"))?;
        if !new.is_object() {
            return Err("is given an input that is not an object".into());
        }
        let facts = self.facts();
        if event != facts.gate {
            return Err(format!("takes no replaced input at {event}: neither would run"));
        }
        if !tool.starts_with(facts.mcp.prefix) {
            let takes = facts.replaced.iter().find(|takes| takes.tool == tool);
            let takes = takes.ok_or("was not seen to run a replaced input, and then its own would run")?;
            if let Some(why) = takes.misfit(new.raw()).or_else(|| self.refuses_replace(&new, tool)) {
                return Err(why);
            }
        }
        Ok(new)
    }

    /// The bytes and exit code that tell the vendor this verdict.
    fn answer(&self, event: Event, name: &str, verdict: &Verdict) -> Wire;
}

/// A vendor's part in the programs that look at frames before they are in force. It stands apart from [`Hook`], since
/// no hook needs it.
pub trait Preview: Hook {
    /// A tool input as the vendor would give it to a hook, made up for `--explain`. `about` is the call's file, command
    /// or address in one word; `folder` is the project's. `None` if the tool needs a file and `about` names none.
    fn sample(&self, tool: &str, about: &str, folder: &Path) -> Option<Sample>;

    /// Warnings for the author of this frame that concern this vendor alone.
    fn advice(&self, _frame: &VerifiedFrame) -> Vec<String> {
        Vec::new()
    }
}

/// A vendor, as much of it as is built.
#[cfg(feature = "run")]
pub trait Adapter: Preview + Setup {
    /// The same for a governed turn; none where a turn of it cannot be held.
    fn run(&self) -> Option<&dyn Run>;
}

/// A vendor, as much of it as is built.
#[cfg(all(feature = "setup", not(feature = "run")))]
pub trait Adapter: Preview + Setup {}

/// Whether a vendor's line says that it runs governed turns.
#[cfg(feature = "run")]
macro_rules! governed {
    ($own:ident) => {
        None
    };
    ($own:ident run) => {
        Some($own)
    };
}

/// The lists of all vendors, from one line each.
macro_rules! adapters {
    ($($folder:ident::$name:ident $(: $run:ident)?),+ $(,)?) => {
        /// Every vendor, for the programs that read frames.
        pub(crate) static PREVIEWS: &[&dyn Preview] = &[$(&$folder::$name),+];

        $(
            #[cfg(feature = "setup")]
            impl Adapter for $folder::$name {
                #[cfg(feature = "run")]
                fn run(&self) -> Option<&dyn Run> {
                    governed!(self $($run)?)
                }
            }
        )+

        /// Every vendor with all that is built of it.
        #[cfg(feature = "setup")]
        pub static ALL: &[&dyn Adapter] = &[$(&$folder::$name),+];

        /// The facts that every hook knows of every vendor. This list is separate from the others, so that a hook is
        /// linked without what it does not need.
        pub(crate) static NEIGHBOURS: &[Neighbour] = &[$($folder::NEIGHBOUR),+];
    };
}

// another vendor is a folder, its `mod` line above, a program in `bins`, and a name here; without `run`, where no turn of it
// can be held
adapters!(claude::Claude: run, codex::Codex: run);

#[cfg(feature = "setup")]
pub(crate) fn named(word: &str) -> Option<&'static dyn Adapter> {
    ALL.iter().copied().find(|vendor| vendor.facts().word == word)
}

/// All that run governed turns.
#[cfg(feature = "run")]
pub fn governed() -> impl Iterator<Item = &'static dyn Run> {
    ALL.iter().filter_map(|vendor| vendor.run())
}

/// The vendor of this word, for a governed turn.
///
/// # Errors
/// There is none of this word, or it cannot be run governed.
#[cfg(feature = "run")]
pub fn governed_named(word: Option<&str>) -> Result<&'static dyn Run, NotGoverned> {
    let vendor = word.and_then(named).ok_or(NotGoverned::Unknown)?;
    vendor.run().ok_or_else(|| NotGoverned::Ungoverned(vendor.facts()))
}

/// Why there is no governed turn of a vendor.
#[cfg(feature = "run")]
#[derive(Debug)]
pub enum NotGoverned {
    /// There is no such vendor, or none is named.
    Unknown,
    /// Its turns cannot be held by whoever starts it.
    Ungoverned(&'static Facts),
}

#[cfg(feature = "run")]
impl fmt::Display for NotGoverned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = governed().map(|vendor| vendor.facts().word).collect();
        match self {
            NotGoverned::Unknown => f.write_str(&words.join(" or ")),
            NotGoverned::Ungoverned(Facts { product, word, .. }) => write!(
                f,
                "a turn of {product} cannot be held by whoever starts it, so only {} is run here; mh-setup {word} puts the hook \
                 into its own configuration",
                words.join(" or ")
            ),
        }
    }
}

#[cfg(feature = "run")]
impl std::error::Error for NotGoverned {}

/// The same, for whoever reads a frame.
pub fn preview_named(word: &str) -> Option<&'static dyn Preview> {
    PREVIEWS.iter().copied().find(|vendor| vendor.facts().word == word)
}

/// The words of the vendors for which this holds, for a sentence: `claude or codex`.
#[cfg(feature = "setup")]
pub(crate) fn words(holds: impl Fn(&dyn Adapter) -> bool) -> String {
    let words: Vec<&str> = ALL.iter().filter(|vendor| holds(**vendor)).map(|vendor| vendor.facts().word).collect();
    words.join(" or ")
}

/// The words of all vendors, separated by `between`.
pub(crate) fn preview_words(between: &str) -> String {
    let words: Vec<&str> = PREVIEWS.iter().map(|vendor| vendor.facts().word).collect();
    words.join(between)
}

/// The members of a tool input that is made up: names and strings.
pub type Sample = Vec<(&'static str, String)>;

/// Whether a reader may cut this off at an end of a path: what `trim` of JavaScript does, which takes U+FEFF too.
pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// What a call asks for, its paths as the payload has them.
pub type RawAsks = Asks<RawPath>;

/// One operation that has to be admitted, with its path as the payload writes it.
pub type RawNeed = Need<RawPath>;

impl RawAsks {
    pub(crate) fn operation(operation: Operation) -> RawAsks {
        RawAsks::Needs(vec![RawNeed::of(operation)])
    }
}

impl RawNeed {
    pub(crate) fn on(operation: Operation, file: impl Into<String>) -> RawNeed {
        RawNeed { path: Some(RawPath { written: file.into(), kind: PathKind::File }), ..RawNeed::of(operation) }
    }

    /// An operation that takes a file away from its place.
    pub(crate) fn taking(operation: Operation, file: impl Into<String>) -> RawNeed {
        RawNeed { path: Some(RawPath { written: file.into(), kind: PathKind::Entry }), ..RawNeed::of(operation) }
    }

    /// The reason against a path of more than [`LONGEST`] bytes, as the end of a sentence that begins with the tool's
    /// name.
    pub(crate) fn too_long() -> String {
        format!("has a path of more than {LONGEST} bytes, so it cannot be told where it leads")
    }

    /// The reason against a call with too many paths, as the end of a sentence that begins with the tool's name.
    pub(crate) fn too_many() -> String {
        "is about too many files to be judged at once: do it in several calls".into()
    }
}

/// A path as the payload writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPath {
    /// Absolute, or relative to the payload's working folder.
    pub written: String,
    /// The part of the path that the call acts on.
    pub kind: PathKind,
}

/// The part of a path that a call acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// The file, wherever a link leads.
    File,
    /// The name in its folder: a call that deletes or moves a link acts on the link itself.
    Entry,
    /// Everything below the folder.
    Folder,
    /// Files that the payload does not tell, so no path rule can judge them.
    Any,
}

/// A hook's command line in a vendor's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The hook program's absolute path.
    pub program: String,
    /// The hook's arguments.
    pub arguments: Vec<String>,
    /// The seconds that the hook may take by its own `--deadline`. The entry's limit is longer.
    pub patience: u32,
}

impl Registration {
    /// The seconds that a hook without `--deadline` may take.
    pub const PATIENCE: u32 = 20;

    /// The entry's limit in seconds. When it runs out, the vendor may run the call.
    pub fn timeout(&self) -> u32 {
        self.patience + 10
    }

    /// The command line for a shell, each word in single quotes.
    pub fn shell_words(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
    }
}

/// The longest name of an MCP tool that is read; the vendors' own limits are far below. Every reading of the name holds
/// it once more, so memory grows with the square of its length.
const LONGEST_NAME: usize = 1_000;

/// The operations that an MCP tool asks for, if only its rendered name is known: each way to split the name into server
/// and tool is one reading.
fn any_reading(tool: &str, rendering: &'static mcp::Rendering) -> RawAsks {
    if tool.len() > LONGEST_NAME {
        return RawAsks::Inadmissible(format!("has a name of more than {LONGEST_NAME} bytes, which no mcp tool has"));
    }
    let half = |text: &str| Half::Rendered(text.into(), rendering);
    let readings =
        rendering.splits(tool).map(|(server, tool)| Reading { server: half(server), tool: half(tool) }).collect();
    RawAsks::Needs(vec![RawNeed { wanted: Wanted::Mcp { rendered: tool.into(), readings }, path: None }])
}

/// The operation of a tool for MCP resources: a method of MCP, as if it were a tool of the server.
fn resources(payload: &Payload<'_>, method: &str) -> RawAsks {
    match payload.input.text("server") {
        Some(server) if !server.is_empty() => {
            RawAsks::operation(Operation::McpCall { server: server.into_owned(), tool: method.into() })
        }
        _ => RawAsks::Inadmissible(format!(
            "names no server, so it asks all of them: name one for which mcp.call SERVER/{method} is admitted"
        )),
    }
}

/// The need for `operation` on the file that this member of the input names.
fn on_file(payload: &Payload<'_>, member: &str, operation: Operation) -> RawAsks {
    match payload.input.text(member) {
        Some(file) if !file.is_empty() => RawAsks::Needs(vec![RawNeed::on(operation, file)]),
        _ => RawAsks::Inadmissible(format!(
            "has no `{member}` that is a string, so it cannot be told which file it is about"
        )),
    }
}

#[cfg(all(test, feature = "run"))]
mod tests {
    use super::*;

    /// A vendor whose line does not say `run`, and one whose does.
    #[test]
    fn a_vendor_is_run_if_its_line_says_so_and_else_is_told_what_there_is_for_it() {
        struct Line;
        impl Line {
            fn without(&self) -> Option<&Line> {
                governed!(self)
            }
            fn with(&self) -> Option<&Line> {
                governed!(self run)
            }
        }
        assert!(Line.without().is_none() && Line.with().is_some());
        for vendor in ALL {
            let Facts { product, word, .. } = vendor.facts();
            let found = governed_named(Some(word)).map(|vendor| vendor.facts().word).ok();
            assert_eq!(found, vendor.run().map(|_| *word));
            let why = NotGoverned::Ungoverned(vendor.facts()).to_string();
            assert!(why.starts_with(&format!("a turn of {product} cannot be held by whoever starts it")), "{why}");
            assert!(why.contains(&format!("mh-setup {word} puts the hook into its own configuration")), "{why}");
        }
        assert!(matches!(governed_named(Some("vim")), Err(NotGoverned::Unknown)));
        assert!(matches!(governed_named(None), Err(NotGoverned::Unknown)));
    }
}
