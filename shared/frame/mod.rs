//! The types of `metaharness.frame/1`: what a driver says a step is.
//!
//! A [`Frame`] is a value of the right shape and nothing more; whether a document's seal
//! describes it is the business of [`crate::seal`].

mod held;
mod lint;
pub mod mcp;
mod operation;
mod place;
mod read;
mod text;
mod write;

pub use held::{Held, Part, parts};
pub use lint::{Lint, lints};
pub use operation::{BARE_OPERATIONS, MCP_CALL, NoOperation, Operation};
pub use read::{Document, Misshapen, OPTIONAL, Tag, read, read_telling};
pub use text::{Text, shown, text};
pub use write::{canonical, document, operation as write_operation};

use std::collections::BTreeSet;

/// The tag that a sealed document carries in `format`.
pub const FORMAT: &str = "metaharness.frame/1";

/// Everything that lies under the seal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// Which workflow, at which pinned version.
    pub workflow: Workflow,
    /// The state the run is in.
    pub node: Node,
    /// Where in the run this step stands.
    pub step: Step,
    /// What has been established already.
    pub prior: Vec<Prior>,
    /// What must hold here.
    pub obligations: Vec<Obligation>,
    /// What is not yet satisfied on a way out.
    pub reaching: Vec<Obligation>,
    /// The states that can be reached from here.
    pub next: Vec<Node>,
    /// What the step owes before it may end.
    pub handoff: Handoff,
    /// Strictly the operations that are admitted here.
    pub operations: BTreeSet<Operation>,
    /// The ordered path rules; none, and the scope is silent. On disk: `subjects.rules`.
    pub scope: Vec<ScopeRule>,
    /// The closed list that a routing step chooses from.
    pub entities: Option<Entities>,
}

/// A workflow at a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workflow {
    /// Its name.
    pub id: String,
    /// Its version, in whatever scheme the driver uses.
    pub version: String,
}

/// A state of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub id: String,
}

/// The position of a step in its run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// The workflow's name again.
    pub workflow: String,
    /// The state's name again.
    pub state: String,
    /// Which step.
    pub index: u32,
    /// Which attempt at it, counted from 1.
    pub attempt: u32,
}

/// Something established before this step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prior {
    /// The statement, carried verbatim.
    pub text: String,
    /// The document that established it.
    pub source: Option<String>,
}

/// Something that must hold, here or on a way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obligation {
    /// The statement, carried verbatim.
    pub text: String,
    /// The document that asked for it.
    pub asked_by: Option<String>,
}

/// What a step owes before it may end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Handoff {
    /// Nothing, deliberately.
    #[default]
    None,
    /// A named artifact.
    Artifact {
        /// Its name.
        name: String,
        /// What kind of thing it is.
        kind: Option<String>,
    },
    /// An answer that a schema describes.
    StructuredAnswer {
        /// The schema's name.
        schema: String,
    },
}

/// One rule of the path scope: the first whose globs match a subject decides for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeRule {
    /// Globs over `scheme:name`, as `file:src/**`.
    pub subjects: Vec<String>,
    /// What may be done to what they match.
    pub operations: BTreeSet<Operation>,
}

/// A closed list to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entities {
    /// Where the list comes from.
    pub source: String,
    /// Its members, in order.
    pub members: Vec<String>,
}
