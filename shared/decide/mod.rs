//! The decision: a verified frame, a call with finished paths, a policy, and nothing else.
//!
//! Who reads this room has read the whole policy: by which event what is done (`event`), in which order, for which reason. It touches no file, no clock, no environment.

mod event;
mod reason;

pub use event::{Action, Event, Occasion, Verdict};
pub use reason::{LIMIT as REASON_LIMIT, clipped};

use crate::frame::{Operation, mcp, shown};
use crate::protocol::Word;
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

/// A write to something that is kept from the calls of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tampering {
    /// The path, as the call has it.
    pub path: String,
    /// What it is, as `the frame in force`.
    pub what: &'static str,
    /// Why it is kept.
    pub kept: Kept,
}

/// Why a place is kept from writing calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// A step is held by it.
    Guard,
    /// A vendor starts it, or does what it says, by itself and before any hook is asked.
    Starts,
    /// The vendor puts it into the conversation by itself, with every file that it imports.
    Loads,
}

impl Kept {
    /// The rule, in words.
    fn rule(self) -> &'static str {
        match self {
            Kept::Guard => "what guards a step is not changed from inside it",
            Kept::Starts => "what is started or obeyed before any hook is asked is not changed from inside a step",
            Kept::Loads => "what it imports would be read past the frame, so it is not changed in this step",
        }
    }
}

/// What a call asks for. A path is a [`Target`] where it is to be judged, and what an adapter made of the payload before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks<P = Target> {
    /// Every one of these.
    Needs(Vec<Need<P>>),
    /// Nothing outside the conversation.
    Conversation,
    /// Something that no admission covers; the text says what, to follow the tool's name.
    Inadmissible(String),
}

/// One thing that has to be admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need<P = Target> {
    /// The operation.
    pub wanted: Wanted,
    /// What it is done to, where that is a path.
    pub path: Option<P>,
}

impl<P> Need<P> {
    /// An operation on no path.
    pub fn of(operation: Operation) -> Need<P> {
        Need { wanted: Wanted::Operation(operation), path: None }
    }

    /// Whether it writes to its path.
    pub fn writes(&self) -> bool {
        matches!(self.wanted, Wanted::Operation(Operation::FileWrite | Operation::FileEdit))
    }
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
    /// The operation, where it can be told which one it is.
    pub fn operation(&self) -> Option<Operation> {
        match self {
            Wanted::Operation(operation) => Some(operation.clone()),
            Wanted::Mcp { readings, .. } => match readings.as_slice() {
                [one] => Some(Operation::McpCall { server: one.server.text().into(), tool: one.tool.text().into() }),
                _ => None,
            },
        }
    }

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
    /// As a vendor renders it.
    Rendered(String, &'static mcp::Rendering),
}

impl Half {
    /// The name, as it is given.
    pub fn text(&self) -> &str {
        match self {
            Half::Own(text) | Half::Rendered(text, _) => text,
        }
    }

    fn is(&self, name: &str) -> bool {
        match self {
            Half::Own(text) => text == name,
            Half::Rendered(text, rendering) => *text == rendering.of(name),
        }
    }
}

/// A path that an operation is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As the call has it.
    pub written: String,
    /// In every spelling that matters, once for each file that it may be; none, where no path rule asks.
    pub spelled: Vec<Spelled>,
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
    if let Some(Tampering { path, what, kept }) = &call.tampers {
        let path = brief(path, 200);
        return Some(format!("{tool} would change {path}, which is {what}: {}", kept.rule()));
    }
    let needs = match &call.asks {
        Asks::Needs(needs) => needs,
        Asks::Conversation => return None,
        Asks::Inadmissible(why) => return Some(format!("{tool} {why}")),
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
    target.spelled.iter().find_map(|spelled| match scope::judge(&frame.frame().scope, operation, spelled) {
        Ruling::Silent | Ruling::Admitted => None,
        Ruling::Refused { rule, glob } => Some(format!(
            "needs {operation} on {}, which path rule {rule} ({}) does not admit",
            brief(&target.written, 200),
            brief(glob, 120)
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vendor that keeps `-`, and one that does not.
    const WIDE: mcp::Rendering = mcp::Rendering { prefix: "mcp__", separator: "__", kept: &['-'], units: true };
    const NARROW: mcp::Rendering = mcp::Rendering { kept: &[], ..WIDE };
    use crate::frame::{Frame, ScopeRule};
    use crate::seal::seal;

    fn frame() -> VerifiedFrame {
        let mcp = |server: &str, tool: &str| Operation::McpCall { server: server.into(), tool: tool.into() };
        let rule = |glob: &str, operations: &[Operation]| ScopeRule {
            subjects: vec![format!("file:{glob}")],
            operations: operations.iter().cloned().collect(),
        };
        seal(Frame {
            operations: [
                Operation::FileRead,
                Operation::FileEdit,
                mcp("a b", "t.u"),
                mcp("a", "b__t"),
                mcp("c-d", "e"),
            ]
            .into(),
            scope: vec![rule("src/*", &[Operation::FileRead, Operation::FileEdit]), rule("**", &[Operation::FileRead])],
            ..Frame::default()
        })
    }

    fn need(operation: Operation, path: Option<&str>) -> Need {
        let target = |path: &str| Target {
            written: path.into(),
            spelled: vec![Spelled { resolved: vec![path.into()], other: Vec::new() }],
        };
        Need { wanted: Wanted::Operation(operation), path: path.map(target) }
    }

    fn mcp(rendered: &str, half: fn(String) -> Half) -> Need {
        let readings = WIDE
            .splits(rendered)
            .map(|(server, tool)| Reading { server: half(server.into()), tool: half(tool.into()) })
            .collect();
        Need { wanted: Wanted::Mcp { rendered: rendered.into(), readings }, path: None }
    }

    fn call(asks: Asks) -> Call {
        Call { tool: "Tool".into(), tampers: None, asks }
    }

    /// What is said before the words about the step.
    fn why(call: &Call) -> Option<String> {
        match decide(&frame(), call, Policy::Frame) {
            Decision::Deny(reason) => Some(reason.split(" (step 0, ").next().unwrap_or_default().into()),
            Decision::Allow => None,
            other => panic!("{other:?}"),
        }
    }

    fn needs(needs: impl Into<Vec<Need>>) -> Option<String> {
        why(&call(Asks::Needs(needs.into())))
    }

    #[test]
    fn a_call_needs_every_operation_and_every_path() {
        let read = |path| need(Operation::FileRead, path);
        let edit = |path| need(Operation::FileEdit, path);
        assert_eq!(needs([read(None)]), None);
        assert_eq!(needs([edit(Some("src/a")), read(Some("b"))]), None);
        let refused = Some("Tool needs shell, which is not admitted".into());
        assert_eq!(needs([read(None), need(Operation::Shell, None)]), refused);
        let refused = Some("Tool needs file.edit on b, which path rule 2 (file:**) does not admit".into());
        assert_eq!(needs([edit(Some("src/a")), edit(Some("b"))]), refused);
        // what is not admitted comes before what is out of scope
        let refused = Some("Tool needs file.write, which is not admitted".into());
        assert_eq!(needs([edit(Some("b")), need(Operation::FileWrite, Some("b"))]), refused);
    }

    #[test]
    fn a_rendered_name_is_admitted_if_every_way_to_read_it_is() {
        assert_eq!(needs([mcp("mcp__a_b__t_u", |text| Half::Rendered(text, &WIDE))]), None);
        let one = mcp("mcp__a_b__t_v", |text| Half::Rendered(text, &WIDE));
        assert_eq!(needs([one]), Some("Tool needs mcp.call a_b/t_v, which is not admitted".into()));
        assert_eq!(needs([mcp("mcp__a b__t.u", Half::Own)]), None);
        assert!(needs([mcp("mcp__a_b__t_u", Half::Own)]).is_some());
        assert_eq!(needs([mcp("mcp__c_d__e", |text| Half::Rendered(text, &NARROW))]), None);
        assert!(
            needs([mcp("mcp__c_d__f", |text| Half::Rendered(text, &NARROW))]).is_some()
                && needs([mcp("mcp__c_d__e", |text| Half::Rendered(text, &WIDE))]).is_some()
        );
        // one of the two is admitted
        let why = "Tool can be read as 2 different pairs of mcp server and tool, of which only 1 is admitted: it is \
                   ambiguous, and so not admitted";
        assert_eq!(needs([mcp("mcp__a__b__t", |text| Half::Rendered(text, &WIDE))]).as_deref(), Some(why));
        let none = mcp("mcp__x__y__z", |text| Half::Rendered(text, &WIDE));
        assert_eq!(needs([none]), Some("Tool needs mcp.call (mcp__x__y__z), which is not admitted".into()));
        let unreadable = Need { wanted: Wanted::Mcp { rendered: "mcp__".into(), readings: Vec::new() }, path: None };
        assert_eq!(needs([unreadable]), Some("Tool needs mcp.call (mcp__), which is not admitted".into()));
    }

    #[test]
    fn what_guards_the_step_comes_first_and_the_conversation_is_free() {
        let tampers = Some(Tampering { path: "/f".into(), what: "the frame in force", kept: Kept::Guard });
        let words =
            "Tool would change /f, which is the frame in force: what guards a step is not changed from inside it";
        for asks in [Asks::Conversation, Asks::Needs(vec![need(Operation::FileEdit, None)])] {
            assert_eq!(why(&Call { tampers: tampers.clone(), ..call(asks) }).as_deref(), Some(words));
        }
        assert_eq!(why(&call(Asks::Inadmissible("is odd".into()))).as_deref(), Some("Tool is odd"));
        for policy in [Policy::Frame, Policy::DenyOnly] {
            assert_eq!(decide(&frame(), &call(Asks::Conversation), policy), Decision::Abstain);
            assert_eq!(Policy::from_word(policy.word()), Some(policy));
        }
        let admitted = call(Asks::Needs(vec![need(Operation::FileRead, None)]));
        assert_eq!(decide(&frame(), &admitted, Policy::DenyOnly), Decision::Abstain);
        let words: Vec<&str> =
            ["frame", "deny-only", "", "Frame"].into_iter().filter(|word| Policy::from_word(word).is_some()).collect();
        assert_eq!(words, ["frame", "deny-only"]);
    }

    #[test]
    fn what_is_refused_outside_is_said_in_the_frames_words() {
        let reason = refused(&frame(), "it cannot be delivered");
        let digest = frame().digest().short().to_string();
        assert!(
            reason.starts_with("it cannot be delivered (step 0, attempt 0, state , workflow ); admitted"),
            "{reason}"
        );
        assert!(reason.ends_with(&format!("; frame {digest}")), "{reason}");
    }

    #[test]
    fn an_embedder_narrows_or_replaces_and_never_widens() {
        let embedded = |word, policy| embedded(&frame(), word, policy);
        assert_eq!(embedded(Word::Allow, Policy::Frame), Decision::Allow);
        assert_eq!(embedded(Word::Allow, Policy::DenyOnly), Decision::Abstain);
        for policy in [Policy::Frame, Policy::DenyOnly] {
            assert_eq!(embedded(Word::Abstain, policy), Decision::Abstain);
            assert_eq!(embedded(Word::Replace("{}"), policy), Decision::Replace("{}".into()));
            let Decision::Deny(reason) = embedded(Word::Deny("not now".into()), policy) else { panic!("not denied") };
            assert!(reason.starts_with("not now (decided by the embedder; frame "), "{reason}");
        }
    }
}
