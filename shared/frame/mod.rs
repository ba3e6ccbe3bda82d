//! The types of `metaharness.frame/1`: a driver's description of a step.
//!
//! A [`Frame`] is a value of the right shape. Whether a document's seal describes it is checked by [`crate::seal`].

mod held;
mod lint;
pub(crate) mod mcp;
mod operation;
mod place;
mod read;
mod text;
mod write;

pub(crate) use held::{Part, parts};
pub(crate) use lint::Lint;
pub use lint::lints;
pub use operation::{BARE_OPERATIONS, Operation};
pub(crate) use operation::{MCP_CALL, NoOperation};
pub use read::read;
pub(crate) use read::{Document, Misshapen, OPTIONAL, Tag, read_telling};
pub(crate) use text::Text;
pub use text::{shown, text};
pub(crate) use write::{canonical, document, operation as write_operation};

use std::collections::BTreeSet;

/// The tag in `format` of a sealed document.
pub const FORMAT: &str = "metaharness.frame/1";

/// The content that the seal covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The workflow at its pinned version.
    pub workflow: Workflow,
    /// The state the run is in.
    pub node: Node,
    /// The position of this step in the run.
    pub step: Step,
    /// Facts that are established already.
    pub prior: Vec<Prior>,
    /// Requirements that must hold here.
    pub obligations: Vec<Obligation>,
    /// Requirements on a way out that are not satisfied yet.
    pub reaching: Vec<Obligation>,
    /// The states that can be reached from here.
    pub next: Vec<Node>,
    /// The result that the step owes before it may end.
    pub handoff: Handoff,
    /// The operations that are admitted here, and no others.
    pub operations: BTreeSet<Operation>,
    /// The ordered path rules; an empty list leaves paths free. On disk: `subjects.rules`.
    pub scope: Vec<ScopeRule>,
    /// The closed list that a routing step chooses from.
    pub entities: Option<Entities>,
}

/// A workflow at a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workflow {
    /// Its name.
    pub id: String,
    /// The version, in the driver's own scheme.
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
    /// The number of the step.
    pub index: u32,
    /// The number of the attempt, counted from 1.
    pub attempt: u32,
}

/// A fact established before this step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prior {
    /// The statement, verbatim.
    pub text: String,
    /// The document that established it.
    pub source: Option<String>,
}

/// A requirement, here or on a way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obligation {
    /// The statement, verbatim.
    pub text: String,
    /// The document that asked for it.
    pub asked_by: Option<String>,
}

/// The result that a step owes before it may end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Handoff {
    /// Deliberately nothing.
    #[default]
    None,
    /// A named artifact.
    Artifact {
        /// Its name.
        name: String,
        /// The kind of artifact.
        kind: Option<String>,
    },
    /// An answer that a schema describes.
    StructuredAnswer {
        /// The schema's name.
        schema: String,
    },
}

/// A rule of the path scope. The first rule whose globs match a subject decides for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeRule {
    /// Globs over `scheme:name`, as `file:src/**`.
    pub subjects: Vec<String>,
    /// The operations that the rule admits on matching subjects.
    pub operations: BTreeSet<Operation>,
}

/// A closed list to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entities {
    /// The source of the list.
    pub source: String,
    /// The members in order.
    pub members: Vec<String>,
}
