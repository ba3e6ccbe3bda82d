//! The effect of each part of a frame: enforced by a hook, checked after the turn, or only told to the model.

use super::{Frame, Handoff, shown};

/// The force of a part of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// A call against it does not run.
    Enforced,
    /// A turn that does not fulfil it ends with an error.
    Checked,
    /// The model is told, and nothing checks whether it complies.
    Told,
}

impl Held {
    pub fn word(self) -> &'static str {
        match self {
            Held::Enforced => "enforced",
            Held::Checked => "checked",
            Held::Told => "told",
        }
    }
}

/// A part of a frame with its force.
#[derive(Debug)]
pub struct Part {
    pub key: &'static str,
    pub held: Held,
    /// The means, and their limit.
    pub how: &'static str,
    /// The part's value in this frame, in short; empty for nothing.
    pub here: String,
}

/// The parts of a frame that mean something for the step, by falling force.
pub fn parts(frame: &Frame) -> Vec<Part> {
    let count = |count: usize, one: &str, many: &str| match count {
        0 => String::new(),
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let operations: Vec<String> = frame.operations.iter().map(|one| shown(&one.to_string())).collect();
    let states: Vec<String> = frame.next.iter().map(|node| shown(&node.id)).collect();
    let part = |key, held, how, here| Part { key, held, how, here };
    vec![
        part(
            "operations",
            Held::Enforced,
            "by the hook: a call that needs another one does not run",
            if operations.is_empty() { "none is admitted".into() } else { operations.join(", ") },
        ),
        part(
            "subjects",
            Held::Enforced,
            "by the hook, at every path of a call; a command of a shell has none",
            count(frame.scope.len(), "rule", "rules"),
        ),
        part(
            "handoff",
            Held::Checked,
            "by mh-run --handoff-check when the turn is over: a file that is new, an answer by the schema; else told",
            match &frame.handoff {
                Handoff::None => String::new(),
                Handoff::Artifact { name, .. } => format!("the artifact {}", shown(name)),
                Handoff::StructuredAnswer { schema } => format!("an answer by the schema {}", shown(schema)),
            },
        ),
        part(
            "entities",
            Held::Checked,
            "by mh-run --handoff-check when the turn is over: the answer is one of them; else told",
            frame.entities.as_ref().map(|list| count(list.members.len(), "member", "members")).unwrap_or_default(),
        ),
        part("obligations", Held::Told, "", count(frame.obligations.len(), "line", "lines")),
        part("reaching", Held::Told, "", count(frame.reaching.len(), "line", "lines")),
        part("prior", Held::Told, "", count(frame.prior.len(), "line", "lines")),
        part("next", Held::Told, "", states.join(", ")),
        part(
            "step",
            Held::Told,
            "with workflow and node; in each denial too",
            format!("{} of {}, state {}", frame.step.index, shown(&frame.workflow.id), shown(&frame.node.id)),
        ),
    ]
}
