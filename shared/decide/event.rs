//! The action of a hook at each event, before and after the call in it is decided.

use super::{Decision, Policy};
use crate::protocol::UNATTENDED;

/// The guard's view of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A call waits for an answer.
    Gate,
    /// The vendor is about to ask a person, or its rules, whether a call may run.
    Approval,
    /// A prompt is about to be sent.
    Prompt,
    /// A session, or a sub-agent, starts and takes context.
    Start,
    /// A known event that needs no answer, or comes after the fact.
    Passing,
    /// The measured release does not have this event.
    Unknown,
}

/// The answer to an event, independent of the vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call is granted.
    Allow,
    /// Nothing is claimed.
    Abstain,
    /// The call, the prompt or the session must not go on. The text is the reason.
    Deny(String),
    /// The call runs with another input.
    Replace {
        /// The whole input, as JSON.
        input: String,
        /// Whether the answer also grants the call.
        grants: bool,
    },
    /// The frame's instruction text.
    Text(String),
}

/// The facts about an event that the policy needs.
#[derive(Debug, Clone, Copy)]
pub struct Occasion {
    /// `None` where no frame is in force, `Some(false)` where the named frame is refused.
    pub frame: Option<bool>,
    /// Whether the payload could be read. An unreadable one counts as a gate.
    pub readable: bool,
    /// Whether the payload is another agent's.
    pub stranger: bool,
    /// The kind of the event.
    pub event: Event,
    /// Whether the payload names a tool.
    pub tool: bool,
}

/// The hook's action at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Claim nothing.
    Abstain,
    /// Deny, since the frame is refused.
    RefuseFrame,
    /// Deny, since the payload cannot be read.
    RefusePayload,
    /// Deny, since the payload is another agent's.
    RefuseStranger,
    /// Deny, since a call without a tool's name waits.
    RefuseNameless,
    /// Deny, since the effect of an answer to this event is unknown.
    RefuseEvent,
    /// Give the frame's text.
    Tell,
    /// Decide about the call.
    Decide,
}

impl Occasion {
    /// The order is the policy: without a frame nothing is claimed, an event at which no call waits denies nothing, and
    /// faults come before the event's own action.
    pub fn action(self) -> Action {
        match self {
            Occasion { frame: None, .. } => Action::Abstain,
            Occasion { readable: true, event: Event::Passing, .. } => Action::Abstain,
            Occasion { readable: true, event: Event::Unknown, tool: false, stranger: false, .. } => Action::Abstain,
            Occasion { frame: Some(false), .. } => Action::RefuseFrame,
            Occasion { readable: false, .. } => Action::RefusePayload,
            Occasion { stranger: true, .. } => Action::RefuseStranger,
            Occasion { event: Event::Gate | Event::Approval, tool: false, .. } => Action::RefuseNameless,
            Occasion { event: Event::Gate | Event::Approval, .. } => Action::Decide,
            Occasion { event: Event::Unknown, .. } => Action::RefuseEvent,
            Occasion { event: Event::Start, .. } => Action::Tell,
            Occasion { event: Event::Prompt, .. } => Action::Abstain,
        }
    }
}

impl Decision {
    /// The answer for a decision at the event at which its call waits. Where the vendor is about to ask somebody, an
    /// admission is granted only if the vendor has no other way to run such a call. In an unattended run the model is
    /// told that nobody can approve.
    pub fn at(self, event: Event, policy: Policy, grants_approval: bool, unattended: bool) -> Verdict {
        match self {
            Decision::Deny(reason) => Verdict::Deny(reason),
            Decision::Replace(input) => Verdict::Replace { input, grants: policy == Policy::Frame },
            Decision::Allow if event == Event::Gate || grants_approval => Verdict::Allow,
            Decision::Allow | Decision::Abstain if event == Event::Approval && unattended => {
                Verdict::Deny(UNATTENDED.into())
            }
            Decision::Allow | Decision::Abstain => Verdict::Abstain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [Event; 6] =
        [Event::Gate, Event::Approval, Event::Prompt, Event::Start, Event::Passing, Event::Unknown];

    fn all() -> impl Iterator<Item = Occasion> {
        let bits = [false, true];
        EVENTS.into_iter().flat_map(move |event| {
            [None, Some(false), Some(true)].into_iter().flat_map(move |frame| {
                bits.into_iter().flat_map(move |readable| {
                    bits.into_iter().flat_map(move |stranger| {
                        bits.into_iter().map(move |tool| Occasion { frame, readable, stranger, event, tool })
                    })
                })
            })
        })
    }

    #[test]
    fn a_call_that_waits_is_decided_or_denied_once_a_frame_is_named() {
        for occasion in all().filter(|occasion| occasion.frame.is_some()) {
            let waits = matches!(occasion.event, Event::Gate | Event::Approval)
                || (occasion.event == Event::Unknown && occasion.tool);
            let action = occasion.action();
            if waits {
                assert!(!matches!(action, Action::Abstain | Action::Tell), "{occasion:?}: {action:?}");
            }
            let sound = occasion.frame == Some(true) && occasion.readable && !occasion.stranger && occasion.tool;
            assert_eq!(
                action == Action::Decide,
                sound && matches!(occasion.event, Event::Gate | Event::Approval),
                "{occasion:?}"
            );
        }
    }

    #[test]
    fn without_a_frame_and_after_the_fact_nothing_is_said() {
        for occasion in all() {
            if occasion.frame.is_none() || (occasion.readable && occasion.event == Event::Passing) {
                assert_eq!(occasion.action(), Action::Abstain, "{occasion:?}");
            }
        }
    }

    #[test]
    fn a_refused_frame_stops_a_prompt_and_a_start_before_money_is_spent() {
        for event in [Event::Prompt, Event::Start] {
            let occasion = Occasion { frame: Some(false), readable: true, stranger: false, event, tool: false };
            assert_eq!(occasion.action(), Action::RefuseFrame);
        }
    }

    #[test]
    fn an_admission_grants_at_the_gate_and_else_only_where_nothing_else_could() {
        let at = |event, grants| Decision::Allow.at(event, Policy::Frame, grants, false);
        assert_eq!((at(Event::Gate, false), at(Event::Gate, true)), (Verdict::Allow, Verdict::Allow));
        assert_eq!((at(Event::Approval, false), at(Event::Approval, true)), (Verdict::Abstain, Verdict::Allow));
        let replaced = |policy| Decision::Replace("{}".into()).at(Event::Gate, policy, false, false);
        assert_eq!(replaced(Policy::DenyOnly), Verdict::Replace { input: "{}".into(), grants: false });
        assert_eq!(replaced(Policy::Frame), Verdict::Replace { input: "{}".into(), grants: true });
    }
}
