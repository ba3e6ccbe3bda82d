//! What differs from vendor to vendor: three traits, and all of a vendor in one folder. What a vendor more takes stands in
//! ARCHITECTURE.md.

mod advice;
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

pub use advice::{advice, surely_meant_otherwise, without_shell};
pub use neighbour::{Neighbour, is_copy, stranger};
pub use payload::{Input, LONGEST, MOST_BYTES, MOST_PATHS, Payload, Shape};
pub use places::{Place, Protected, like, places};
pub use table::{Class, Table, Tool};

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
use crate::json::{Layout, Writer};
pub use crate::os::Wire;
use crate::protocol::one_line;
use crate::seal::VerifiedFrame;

/// How the id of a call begins that only `mh-setup doctor` makes: an audit tells it from an agent's
/// by that. What is fired is answered before it comes to a decider, so none is ever asked about one.
pub const DOCTOR_CALL: &str = "mh-doctor-";

/// Looks a variable of the environment up.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What is fixed of a vendor, by the release that was measured.
#[derive(Debug)]
pub struct Facts {
    /// The vendor's program, by the name its users know: `Claude Code`.
    pub product: &'static str,
    /// The word for it in commands and lines, and the name of its program: `claude`.
    pub word: &'static str,
    /// The hook program: `mh-hook-claude`.
    pub program: &'static str,
    /// How somebody takes the hook out again, to follow `to undo, `.
    pub undo: &'static str,
    /// The most of the instruction text that reaches the model whole, in what
    /// [`Hook::measure`] counts.
    pub text_limit: usize,
    /// The oldest release that a governed turn takes: its hooks are known to fail closed.
    pub oldest: &'static str,
    /// What becomes of a call that is admitted under policy `frame`, in words.
    pub allow: &'static str,
    /// The tools of which it was measured that they run with a replaced input. MCP tools do too.
    pub replaced: &'static [&'static str],
    /// Calls that no hook ever sees: the vendor's own word for them, and why.
    pub unseen: &'static [(&'static str, &'static str)],
    /// The names of files that the vendor puts into the conversation by itself, with every file that they
    /// import, in the form of [`Place::Names`]. Where the path rules refuse a file, or none may be read, an
    /// import is a way to it.
    pub loaded: &'static [&'static [&'static str]],
    /// The event at which a call waits before it runs: `PreToolUse`.
    pub gate: &'static str,
    /// The form of its payloads.
    pub payload: Shape,
    /// How it names the tools of MCP servers.
    pub mcp: mcp::Rendering,
    /// The variable that names the project folder, where there is one.
    pub project: Option<&'static str>,
    /// The tools of the release that was measured.
    pub table: &'static Table,
}

/// One vendor, as the hook program needs it.
pub trait Hook: Sync + fmt::Debug {
    /// What is fixed of it.
    fn facts(&self) -> &'static Facts;

    /// The length of a text as the vendor counts it.
    fn measure(&self, text: &str) -> usize;

    /// What an event of this name is to the guard.
    fn event(&self, name: &str) -> Event;

    /// What a call of an MCP tool asks for.
    fn mcp(&self, payload: &Payload<'_>, tool: &str) -> RawAsks;

    /// What a call asks for. Paths are as the payload has them.
    fn asks(&self, payload: &Payload<'_>, tool: &str) -> RawAsks {
        let facts = self.facts();
        match tool.starts_with(facts.mcp.prefix) {
            true => self.mcp(payload, tool),
            false => facts.table.asks(payload, tool, facts.product),
        }
    }

    /// Whether an admitted call of this tool is granted where the vendor would ask somebody.
    fn grants_approval(&self, tool: &str) -> bool;

    /// Why the vendor would not run a call with this input in place of its own, if it would not;
    /// it runs the call as it was then, or neither. To follow the tool's name.
    fn refuses_replace(&self, event: &str, input: &Input<'_>, tool: &str) -> Option<String>;

    /// Read the input that a call of this tool is to have in place of its own.
    ///
    /// # Errors
    /// Why the vendor would not run it, to follow the tool's name.
    fn replacement<'a>(&self, event: &str, input: &'a str, tool: &str) -> Result<Input<'a>, String> {
        let new = Input::read(input, self.facts().payload.asked)
            .map_err(|fault| format!("is given an input that is no JSON ({fault})"))?;
        if !new.is_object() {
            return Err("is given an input that is not an object".into());
        }
        self.refuses_replace(event, &new, tool).map_or(Ok(new), Err)
    }

    /// The answer on the vendor's wire.
    fn answer(&self, event: Event, name: &str, verdict: &Verdict) -> Wire;
}

/// One vendor, for somebody who asks what would be before a frame is in force. Apart from [`Hook`], since no hook needs it.
pub trait Preview: Hook {
    /// The input of a call of this tool as the vendor would give it to a hook, for somebody who asks what would be
    /// said. `about` is what the call is about in one word: a file, a command, an address; `folder` is the project's.
    /// `None`: it is about a file, and none is named.
    fn sample(&self, tool: &str, about: &str, folder: &Path) -> Option<Sample>;

    /// What an author of this frame should hear of this vendor in particular.
    fn advice(&self, _frame: &VerifiedFrame) -> Vec<String> {
        Vec::new()
    }
}

/// A vendor, as much of it as is built.
#[cfg(feature = "run")]
pub trait Adapter: Preview + Setup + Run {}

/// A vendor, as much of it as is built.
#[cfg(all(feature = "setup", not(feature = "run")))]
pub trait Adapter: Preview + Setup {}

/// The lists of all vendors, from one line each.
macro_rules! adapters {
    ($($folder:ident::$name:ident),+ $(,)?) => {
        /// All of them, for whoever reads a frame.
        pub static PREVIEWS: &[&dyn Preview] = &[$(&$folder::$name),+];

        $(
            #[cfg(feature = "setup")]
            impl Adapter for $folder::$name {}
        )+

        /// All of them, whole.
        #[cfg(feature = "setup")]
        pub static ALL: &[&dyn Adapter] = &[$(&$folder::$name),+];

        /// What the hook of each knows of all: no list of the above, since a hook is built without what it does not need.
        pub static NEIGHBOURS: &[Neighbour] = &[$($folder::NEIGHBOUR),+];
    };
}

// a vendor more is a folder, its line above, a program, and a name here
adapters!(claude::Claude, codex::Codex);

/// The vendor of this word.
#[cfg(feature = "setup")]
pub fn named(word: &str) -> Option<&'static dyn Adapter> {
    ALL.iter().copied().find(|vendor| vendor.facts().word == word)
}

/// The same, for whoever reads a frame.
pub fn preview_named(word: &str) -> Option<&'static dyn Preview> {
    PREVIEWS.iter().copied().find(|vendor| vendor.facts().word == word)
}

/// The words of those for which this holds, for a sentence: `claude or codex`.
#[cfg(feature = "setup")]
pub fn words(holds: impl Fn(&dyn Adapter) -> bool) -> String {
    let words: Vec<&str> = ALL.iter().filter(|vendor| holds(**vendor)).map(|vendor| vendor.facts().word).collect();
    words.join(" or ")
}

/// The words of all of them, with this between two.
pub fn preview_words(between: &str) -> String {
    let words: Vec<&str> = PREVIEWS.iter().map(|vendor| vendor.facts().word).collect();
    words.join(between)
}

/// Members of an input that is made up for a question: their names, and strings.
pub type Sample = Vec<(&'static str, String)>;

/// An answer: one object on one line.
fn answer(members: impl FnOnce(&mut Writer)) -> String {
    let mut out = Writer::new(Layout::Canonical);
    out.object();
    members(&mut out);
    out.end_object();
    one_line(out.finish())
}

/// Whether a reader may cut this off at an end of a path: what `trim` of JavaScript does, which takes U+FEFF too.
pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// The form that both vendors have for what is said about an event.
fn specific(event: &str, said: impl FnOnce(&mut Writer)) -> String {
    answer(|out| {
        out.key("hookSpecificOutput");
        out.object();
        out.member("hookEventName", event);
        said(out);
        out.end_object();
    })
}

/// The form that both have for a prompt that must not be sent.
fn block(reason: &str) -> String {
    answer(|out| {
        out.member("decision", "block");
        out.member("reason", reason);
    })
}

/// What a call asks for, its paths as the payload has them.
pub type RawAsks = Asks<RawPath>;

/// One thing that has to be admitted, its path as the payload has it.
pub type RawNeed = Need<RawPath>;

impl RawAsks {
    /// One operation on no path.
    pub fn operation(operation: Operation) -> RawAsks {
        RawAsks::Needs(vec![RawNeed::of(operation)])
    }
}

impl RawNeed {
    /// An operation on a file.
    pub fn on(operation: Operation, file: impl Into<String>) -> RawNeed {
        RawNeed { path: Some(RawPath { written: file.into(), kind: PathKind::File }), ..RawNeed::of(operation) }
    }

    /// An operation that takes a file away from where it is.
    pub fn taking(operation: Operation, file: impl Into<String>) -> RawNeed {
        RawNeed { path: Some(RawPath { written: file.into(), kind: PathKind::Entry }), ..RawNeed::of(operation) }
    }

    /// Why nothing admits a call with a path of more than [`LONGEST`] bytes, to follow the tool's name.
    pub fn too_long() -> String {
        format!("has a path of more than {LONGEST} bytes, so it cannot be told where it leads")
    }

    /// Why nothing admits a call with more paths than are judged, to follow the tool's name.
    pub fn too_many() -> String {
        "is about too many files to be judged at once: do it in several calls".into()
    }
}

/// A path as a payload has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPath {
    /// Absolute, or relative to the payload's working folder.
    pub written: String,
    /// What of it the call is about.
    pub kind: PathKind,
}

/// What a call does at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// It is about the file, wherever a link leads.
    File,
    /// It is about the name in its folder: what is deleted or moved away is a link itself.
    Entry,
    /// It is about what lies below.
    Folder,
    /// It is about files that cannot be told, wherever they are: no path rule can judge it.
    Any,
}

/// A hook's command line, as an entry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The hook program, by absolute path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The seconds that the hook itself may take by them. An entry's own limit lies above it.
    pub patience: u32,
}

impl Registration {
    /// What a hook takes that is told no `--deadline`.
    pub const PATIENCE: u32 = 20;

    /// The limit that the vendor is given, in seconds: when it runs out, the call may run.
    pub fn timeout(&self) -> u32 {
        self.patience + 10
    }

    /// The line for a shell, each word in single quotes.
    pub fn shell_words(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
    }
}

/// The longest rendered name that is read: far beyond what either vendor lets a tool be called.
const LONGEST_NAME: usize = 1_000;

/// What an MCP tool asks for when nothing is known of it but its rendered name. Every way to read
/// it holds the name once more, so memory grows with its square.
fn any_reading(tool: &str, rendering: &'static mcp::Rendering) -> RawAsks {
    if tool.len() > LONGEST_NAME {
        return RawAsks::Inadmissible(format!("has a name of more than {LONGEST_NAME} bytes, which no mcp tool has"));
    }
    let half = |text: &str| Half::Rendered(text.into(), rendering);
    let readings =
        rendering.splits(tool).map(|(server, tool)| Reading { server: half(server), tool: half(tool) }).collect();
    RawAsks::Needs(vec![RawNeed { wanted: Wanted::Mcp { rendered: tool.into(), readings }, path: None }])
}

/// What a tool for MCP resources asks for: a method of MCP, as if it were a tool of the server.
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

/// What a tool asks for that does `operation` to the file in this member of its input.
fn on_file(payload: &Payload<'_>, member: &str, operation: Operation) -> RawAsks {
    match payload.input.text(member) {
        Some(file) if !file.is_empty() => RawAsks::Needs(vec![RawNeed::on(operation, file)]),
        _ => RawAsks::Inadmissible(format!(
            "has no `{member}` that is a string, so it cannot be told which file it is about"
        )),
    }
}
