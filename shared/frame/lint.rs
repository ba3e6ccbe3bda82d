//! Faults in documents that every reader accepts and no author means.

use std::fmt;

use super::{Frame, Operation, shown};

/// A doubtful part of a frame. `mh-frame-seal` refuses to mint it, `mh-frame-verify` warns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lint {
    /// Attempts are counted from 1.
    AttemptZero,
    /// The member holds a blank name.
    Blank(&'static str),
    /// `step.workflow` names another workflow than `workflow.id`.
    OtherWorkflow {
        /// The workflow that the step names.
        step: String,
        /// The workflow of the frame.
        workflow: String,
    },
    /// `step.state` names another state than `node.id`.
    OtherState {
        /// The state that the step names.
        step: String,
        /// The state of the frame.
        node: String,
    },
    /// A glob of the path scope that no finished path can match, so its rule never decides.
    IdleGlob {
        glob: String,
        /// The part of the glob that no path has.
        why: &'static str,
    },
    /// A rule of the path scope has an operation that the frame does not admit, where the rule has no effect.
    NotAdmitted {
        /// The rule's number, from 1.
        rule: usize,
        operation: Operation,
    },
    /// A rule of the path scope never decides, since an earlier one decides for every path that it matches.
    Covered {
        /// The rule's number, from 1.
        rule: usize,
        /// The number of the earlier rule.
        by: usize,
    },
    /// A vendor renders this pair and another one to the same name.
    AmbiguousMcp {
        server: String,
        tool: String,
        /// The common name.
        rendered: String,
    },
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lint::AttemptZero => {
                f.write_str("`step.attempt` is 0; attempts are counted from 1: write the number of this one")
            }
            Lint::Blank(member) => write!(f, "`{member}` is blank; give it its name"),
            Lint::OtherWorkflow { step, workflow } => {
                write!(f, "`step.workflow` is {step:?}, but `workflow.id` is {workflow:?}; write the same name in both")
            }
            Lint::OtherState { step, node } => {
                write!(f, "`step.state` is {step:?}, but `node.id` is {node:?}; write the same name in both")
            }
            Lint::IdleGlob { glob, why } => write!(f, "the glob {glob:?} of the path scope matches no path: {why}"),
            Lint::NotAdmitted { rule, operation } => {
                let operation = shown(&operation.to_string());
                write!(
                    f,
                    "rule {rule} of the path scope has {operation}, which the frame does not admit anywhere; admit it, or take \
                     it out of the rule"
                )
            }
            Lint::Covered { rule, by } => write!(
                f,
                "rule {rule} of the path scope never decides, since rule {by} before it matches all that it matches; put it \
                 before that one, or take it out"
            ),
            Lint::AmbiguousMcp { server, tool, rendered } => write!(
                f,
                "mcp.call {server:?}/{tool:?} reaches a vendor's hook as `{rendered}`, which another pair of server \
                 and tool can read as well; rename the server or the tool"
            ),
        }
    }
}

/// The doubtful parts of a frame by itself. `adapter::advice` has those that concern a vendor.
pub fn lints(frame: &Frame) -> Vec<Lint> {
    let mut found = Vec::new();
    if frame.step.attempt == 0 {
        found.push(Lint::AttemptZero);
    }
    let named = [
        ("workflow.id", &frame.workflow.id),
        ("workflow.version", &frame.workflow.version),
        ("node.id", &frame.node.id),
    ];
    // an unset variable of a script gives a blank name
    found.extend(named.iter().filter(|(_, text)| text.trim().is_empty()).map(|(member, _)| Lint::Blank(member)));
    if frame.step.workflow != frame.workflow.id {
        found.push(Lint::OtherWorkflow { step: frame.step.workflow.clone(), workflow: frame.workflow.id.clone() });
    }
    if frame.step.state != frame.node.id {
        found.push(Lint::OtherState { step: frame.step.state.clone(), node: frame.node.id.clone() });
    }
    let globs = frame.scope.iter().flat_map(|rule| &rule.subjects);
    found.extend(globs.filter_map(|glob| idle(glob).map(|why| Lint::IdleGlob { glob: glob.clone(), why })));
    for (at, rule) in frame.scope.iter().enumerate() {
        let missing = rule.operations.iter().find(|operation| !frame.operations.contains(operation));
        found.extend(missing.map(|operation| Lint::NotAdmitted { rule: at + 1, operation: operation.clone() }));
    }
    found
}

/// The reason why a file glob matches no path: paths are absolute or relative to the project, and folded, and a glob
/// has no special characters but stars.
fn idle(glob: &str) -> Option<&'static str> {
    let path = glob.strip_prefix("file:")?;
    let mut parts = path.strip_prefix('/').unwrap_or(path).split('/');
    match path {
        "" => Some("it is empty"),
        "." => None,
        _ if path.starts_with('~') => Some("a path does not begin with `~`; write the home folder out"),
        _ if path.starts_with('$') => Some("nothing is put in for a variable; write out what it stands for"),
        _ if path.trim() != path => Some("it has white space at an end"),
        _ if path.starts_with('!') => Some("`!` is no negation; put a rule with fewer operations before"),
        _ if path.ends_with('/') => Some("a path does not end in `/`; write `/**` for all below a folder"),
        _ => parts.find_map(|part| match part {
            ".." => Some("a path has no `..`"),
            "." => Some("a path has no `.`"),
            "" => Some("a path has no `//`"),
            _ => None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::ScopeRule;

    /// A frame's name must not start a second line of a lint, whichever lint has it.
    #[test]
    fn a_lint_is_one_line_whatever_the_frame_is_named() {
        let odd = |name: &str| format!("{name}\n\r\u{b}\u{85}\u{2028}\u{1b}[2J");
        let tool = |server: &str| Operation::McpCall { server: odd(server), tool: odd("t__t") };
        let mut frame = Frame::default();
        (frame.workflow.id, frame.node.id) = (odd("w"), odd("n"));
        (frame.step.workflow, frame.step.state) = (odd("other"), odd("other"));
        let subjects = vec![format!("file:{}/", odd("a"))];
        frame.scope = vec![ScopeRule { subjects, operations: [tool("not admitted")].into() }];

        let found = lints(&frame);
        let kinds = found.iter().map(std::mem::discriminant).collect::<std::collections::HashSet<_>>();
        assert_eq!(kinds.len(), 6, "{found:?}");
        let ambiguous = Lint::AmbiguousMcp { server: odd("s"), tool: odd("t"), rendered: "mcp__s__t".into() };
        for lint in found.iter().chain([&ambiguous]).map(ToString::to_string) {
            assert!(!lint.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')), "{lint:?}");
        }
    }
}
