//! The decision, from a verified frame, a call with finished paths and a policy alone.
//!
//! This room holds the whole policy: the action at each event (`event`), the order of the checks, and the reasons. It
//! touches no file, no clock and no environment.

mod event;
mod reason;

pub use event::{Action, Event, Occasion, Verdict};
pub use reason::{LIMIT as REASON_LIMIT, clipped};

use crate::frame::{Operation, mcp, shown};
use crate::protocol::Word;
use crate::scope::{self, Ruling, Spelled};
use crate::seal::VerifiedFrame;

/// The answer to an admitted call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Allow, which grants: the vendor asks nobody.
    Frame,
    /// Abstain: the vendor's own rules decide.
    DenyOnly,
}

impl Policy {
    /// The policy's word in flags, variables and outputs.
    pub fn word(self) -> &'static str {
        match self {
            Policy::Frame => "frame",
            Policy::DenyOnly => "deny-only",
        }
    }

    /// The policy for such a word.
    pub fn from_word(word: &str) -> Option<Policy> {
        [Policy::Frame, Policy::DenyOnly].into_iter().find(|policy| policy.word() == word)
    }
}

/// The parts of a tool call that the decision needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The vendor's name for the tool.
    pub tool: String,
    /// The guarded place that the call would change, if there is one.
    pub tampers: Option<Tampering>,
    /// The needs of the call.
    pub asks: Asks,
}

/// A write to a place that a step's calls must not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tampering {
    /// The path in the call's own spelling.
    pub path: String,
    /// The place in words, as `the frame in force`.
    pub what: &'static str,
    /// The reason why the place is kept.
    pub kept: Kept,
}

/// The reason why a place is kept from writing calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It holds the step.
    Guard,
    /// The vendor starts it or obeys it before any hook is asked.
    Starts,
    /// The vendor loads it into the conversation, with every file that it imports.
    Loads,
}

impl Kept {
    /// The reason in words.
    fn rule(self) -> &'static str {
        match self {
            Kept::Guard => "what guards a step is not changed from inside it",
            Kept::Starts => "what is started or obeyed before any hook is asked is not changed from inside a step",
            Kept::Loads => "what it imports would be read past the frame, so it is not changed in this step",
        }
    }
}

/// The needs of a call. Its path type is [`Target`] for the decision, and the adapter's raw path before that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks<P = Target> {
    /// The call needs every one of these.
    Needs(Vec<Need<P>>),
    /// The call touches nothing outside the conversation.
    Conversation,
    /// No operation admits the call; the text says why, to follow the tool's name.
    Inadmissible(String),
}

/// One need of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need<P = Target> {
    /// The operation that must be admitted.
    pub wanted: Wanted,
    /// The operation's path, if it has one.
    pub path: Option<P>,
}

impl<P> Need<P> {
    /// The need of an operation that has no path.
    pub fn of(operation: Operation) -> Need<P> {
        Need { wanted: Wanted::Operation(operation), path: None }
    }

    /// Whether the operation writes to its path.
    pub fn writes(&self) -> bool {
        matches!(self.wanted, Wanted::Operation(Operation::FileWrite | Operation::FileEdit))
    }
}

/// An operation, as far as a payload tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The operation itself.
    Operation(Operation),
    /// A call of the MCP tool with this rendered name. Every reading must be admitted, since nothing tells which one is
    /// meant.
    Mcp {
        /// The vendor's rendering of the name.
        rendered: String,
        /// The ways to read the name; without one it cannot be admitted.
        readings: Vec<Reading>,
    },
}

impl Wanted {
    /// The operation, if the payload tells exactly one.
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

/// The name of a server or a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Half {
    /// The name itself.
    Own(String),
    /// The vendor's rendering of the name.
    Rendered(String, &'static mcp::Rendering),
}

impl Half {
    /// The name in the form that is known.
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

/// The path of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The path in the call's own spelling.
    pub written: String,
    /// Every spelling that the rules look at, once for each file that the path may mean; empty if no path rule needs
    /// it.
    pub spelled: Vec<Spelled>,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The frame admits the call, and the policy grants it.
    Allow,
    /// The hook claims nothing about the call.
    Abstain,
    /// The call must not run. The text is the reason.
    Deny(String),
    /// The call runs with this input, in JSON, instead of its own.
    Replace(String),
}

/// The decision about a call by the frame and the policy.
pub fn decide(frame: &VerifiedFrame, call: &Call, policy: Policy) -> Decision {
    match refusal(frame, call) {
        Some(why) => Decision::Deny(reason::within(frame, &why)),
        None if call.asks == Asks::Conversation || policy == Policy::DenyOnly => Decision::Abstain,
        None => Decision::Allow,
    }
}

/// The decision about a call that the frame admits, after the embedder's answer. The frame is the ceiling: no answer
/// admits a call that the frame does not, and under `deny-only` an allow grants nothing. A replaced input has to be
/// decided again, as a call of its own.
pub fn embedded(frame: &VerifiedFrame, word: Word<'_>, policy: Policy) -> Decision {
    match word {
        Word::Allow if policy == Policy::Frame => Decision::Allow,
        Word::Allow | Word::Abstain => Decision::Abstain,
        Word::Deny(reason) => Decision::Deny(reason::by_embedder(frame, &reason)),
        Word::Replace(input) => Decision::Replace(input.into()),
    }
}

/// A denial in this frame's words, for a reason from outside this room.
pub fn refused(frame: &VerifiedFrame, why: &str) -> String {
    reason::within(frame, why)
}

/// Whether the frame admits exactly this operation.
pub fn admits(frame: &VerifiedFrame, operation: &Operation) -> bool {
    frame.frame().operations.contains(operation)
}

/// The reason for denying the call, if there is one. The order of the checks matters.
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

/// A name or a path, cut for a reason. Two of them, and the words around them, stay below the part of a reason that is
/// kept, so a long name cannot push out the words about it.
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

    /// One rendering that keeps `-`, and one that does not.
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

    /// The part of a reason before the words about the step.
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
        // an operation that is not admitted is reported before a path that is out of scope
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
        // one of the two readings is admitted
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
