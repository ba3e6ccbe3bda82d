//! The decision: a verified frame, a call with finished paths, a policy, and nothing else.
//!
//! Who reads this file has read the whole policy. It touches no file, no clock, no environment.

mod reason;

pub use reason::{LIMIT as REASON_LIMIT, clipped};

use crate::frame::{Operation, mcp, shown};
use crate::line::Word;
use crate::scope::{self, Ruling, Spelled};
use crate::seal::VerifiedFrame;

/// What an admitted call is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Allow, which grants: the vendor asks nobody any more.
    Frame,
    /// Abstain: the vendor's own rules go on to decide.
    DenyOnly,
}

impl Policy {
    /// The word for it in flags, variables and outputs.
    pub fn word(self) -> &'static str {
        match self {
            Policy::Frame => "frame",
            Policy::DenyOnly => "deny-only",
        }
    }

    /// The policy of this word.
    pub fn from_word(word: &str) -> Option<Policy> {
        [Policy::Frame, Policy::DenyOnly].into_iter().find(|policy| policy.word() == word)
    }
}

/// A tool call, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The tool's name as the vendor gave it.
    pub tool: String,
    /// What guards this step and would be changed by the call, if anything would.
    pub tampers: Option<Tampering>,
    /// What the call asks for.
    pub asks: Asks,
}

/// A write to something that the guard stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tampering {
    /// The path, as the call has it.
    pub path: String,
    /// What it is, as `the frame in force`.
    pub what: String,
}

/// What a call asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    /// Every one of these.
    Needs(Vec<Need>),
    /// Nothing outside the conversation.
    Conversation,
    /// Something that no admission covers; the text says what, to follow the tool's name.
    Nothing(String),
}

/// One thing that has to be admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The operation.
    pub wanted: Wanted,
    /// What it is done to, where that is a path.
    pub path: Option<Target>,
}

/// An operation as it can be told from a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Exactly this one.
    Operation(Operation),
    /// A call of the MCP tool that has this rendered name. Every way to read it has to be
    /// admitted, since nothing tells which one is meant.
    Mcp {
        /// The name as the vendor renders it.
        rendered: String,
        /// The ways to read it; none, and it cannot be admitted.
        readings: Vec<Reading>,
    },
}

impl Wanted {
    /// The operation in words.
    pub fn words(&self) -> String {
        match self {
            Wanted::Operation(operation) => operation.to_string(),
            Wanted::Mcp { rendered, readings } => match readings.as_slice() {
                [one] => format!("mcp.call {}/{}", one.server.text(), one.tool.text()),
                _ => format!("mcp.call ({rendered})"),
            },
        }
    }
}

/// One way to read a rendered MCP tool name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The server's half.
    pub server: Half,
    /// The tool's half.
    pub tool: Half,
}

/// A name of a server or a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Half {
    /// Its own name.
    Own(String),
    /// As Claude Code renders it.
    Wide(String),
    /// As Codex renders it.
    Narrow(String),
}

impl Half {
    /// The name, as it is given.
    pub fn text(&self) -> &str {
        match self {
            Half::Own(text) | Half::Wide(text) | Half::Narrow(text) => text,
        }
    }

    fn is(&self, name: &str) -> bool {
        match self {
            Half::Own(text) => text == name,
            Half::Wide(text) => *text == mcp::wide(name),
            Half::Narrow(text) => *text == mcp::narrow(name),
        }
    }
}

/// A path that an operation is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As the call has it.
    pub written: String,
    /// In every spelling that matters.
    pub spelled: Spelled,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The frame admits the call, and under the policy that grants it.
    Allow,
    /// Nothing is claimed about the call.
    Abstain,
    /// The call must not run, for this reason.
    Deny(String),
    /// The call is to run with this input, in JSON, instead of its own.
    Replace(String),
}

/// Decide one call.
pub fn decide(frame: &VerifiedFrame, call: &Call, policy: Policy) -> Decision {
    match refusal(frame, call) {
        Some(why) => Decision::Deny(reason::within(frame, &why)),
        None if call.asks == Asks::Conversation || policy == Policy::DenyOnly => Decision::Abstain,
        None => Decision::Allow,
    }
}

/// What becomes of a call that the frame admits, when an embedder has this to say about it. The
/// frame is the ceiling: nothing said here admits what it does not, and under `deny-only` an allow
/// grants nothing. A replaced input has to be decided again, as a call of its own.
pub fn embedded(frame: &VerifiedFrame, word: Word<'_>, policy: Policy) -> Decision {
    match word {
        Word::Allow if policy == Policy::Frame => Decision::Allow,
        Word::Allow | Word::Abstain => Decision::Abstain,
        Word::Deny(reason) => Decision::Deny(reason::by_embedder(frame, &reason)),
        Word::Replace(input) => Decision::Replace(input.into()),
    }
}

/// A denial in this frame's words for a reason that is found outside this room.
pub fn refused(frame: &VerifiedFrame, why: &str) -> String {
    reason::within(frame, why)
}

/// Whether the frame admits exactly this operation.
pub fn admits(frame: &VerifiedFrame, operation: &Operation) -> bool {
    frame.frame().operations.contains(operation)
}

/// Why the call must not run, if it must not: the checks in their order.
fn refusal(frame: &VerifiedFrame, call: &Call) -> Option<String> {
    let tool = brief(&call.tool, 110);
    if let Some(Tampering { path, what }) = &call.tampers {
        let path = brief(path, 200);
        return Some(format!(
            "{tool} would change {path}, which is {what}: what guards a step is not changed from inside it"
        ));
    }
    let needs = match &call.asks {
        Asks::Needs(needs) => needs,
        Asks::Conversation => return None,
        Asks::Nothing(why) => return Some(format!("{tool} {why}")),
    };
    for need in needs {
        if let Some(why) = not_admitted(frame, need) {
            return Some(format!("{tool} {why}"));
        }
    }
    needs.iter().find_map(|need| out_of_scope(frame, need)).map(|why| format!("{tool} {why}"))
}

/// A name or a path as a reason has it, cut where it would take the place of what is said about
/// it: together, and with the words around them, they stay below what a reason keeps of a refusal.
fn brief(name: &str, most: usize) -> String {
    clipped(&shown(name), most)
}

fn not_admitted(frame: &VerifiedFrame, need: &Need) -> Option<String> {
    match &need.wanted {
        Wanted::Operation(operation) if admits(frame, operation) => None,
        Wanted::Operation(operation) => {
            Some(format!("needs {}, which is not admitted", brief(&operation.to_string(), 200)))
        }
        Wanted::Mcp { readings, .. } => {
            let admitted = |reading: &&Reading| {
                frame.frame().operations.iter().any(|operation| match operation {
                    Operation::McpCall { server, tool } => reading.server.is(server) && reading.tool.is(tool),
                    _ => false,
                })
            };
            match (readings.iter().filter(admitted).count(), readings.len()) {
                (some, all) if some == all && all > 0 => None,
                (0, _) => Some(format!("needs {}, which is not admitted", brief(&need.wanted.words(), 200))),
                (some, all) => Some(format!(
                    "can be read as {all} different pairs of mcp server and tool, of which only {some} {} admitted: it \
                     is ambiguous, and so not admitted",
                    if some == 1 { "is" } else { "are" }
                )),
            }
        }
    }
}

fn out_of_scope(frame: &VerifiedFrame, need: &Need) -> Option<String> {
    let (Wanted::Operation(operation), Some(target)) = (&need.wanted, &need.path) else { return None };
    match scope::judge(&frame.frame().scope, operation, &target.spelled) {
        Ruling::Silent | Ruling::Admitted => None,
        Ruling::Refused { rule, glob } => Some(format!(
            "needs {operation} on {}, which path rule {rule} ({}) does not admit",
            brief(&target.written, 200),
            brief(glob, 120)
        )),
    }
}
