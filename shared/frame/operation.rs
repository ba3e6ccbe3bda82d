//! The closed vocabulary of operations.

use std::cmp::Ordering;
use std::fmt;

/// The name of the one operation that has parameters.
pub const MCP_CALL: &str = "mcp.call";

/// A vendor-neutral operation. The vendors' rooms map their tool names to these.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `dir.list`
    DirList,
    /// `file.edit`
    FileEdit,
    /// `file.read`
    FileRead,
    /// `file.write`
    FileWrite,
    /// `mcp.call`, one tool of one server.
    McpCall {
        /// The server's own name, not a vendor's rendering.
        server: String,
        /// The tool's own name.
        tool: String,
    },
    /// `search`
    Search,
    /// `shell`
    Shell,
    /// `skill.load`
    SkillLoad,
    /// `subagent.spawn`
    SubagentSpawn,
    /// `task.todo`
    TaskTodo,
    /// `web.read`
    WebRead,
}

/// The ten operations without parameters, in the order of help texts and errors. A frame has an order of its own.
pub const BARE_OPERATIONS: [Operation; 10] = [
    Operation::FileRead,
    Operation::FileWrite,
    Operation::FileEdit,
    Operation::DirList,
    Operation::Search,
    Operation::Shell,
    Operation::WebRead,
    Operation::SkillLoad,
    Operation::SubagentSpawn,
    Operation::TaskTodo,
];

/// The reason why a word is no operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoOperation {
    Unknown,
    /// The word names an MCP tool, and more than one of its slashes could end the server's name.
    Ambiguous,
}

impl Operation {
    /// The name in the vocabulary.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::DirList => "dir.list",
            Operation::FileEdit => "file.edit",
            Operation::FileRead => "file.read",
            Operation::FileWrite => "file.write",
            Operation::McpCall { .. } => MCP_CALL,
            Operation::Search => "search",
            Operation::Shell => "shell",
            Operation::SkillLoad => "skill.load",
            Operation::SubagentSpawn => "subagent.spawn",
            Operation::TaskTodo => "task.todo",
            Operation::WebRead => "web.read",
        }
    }

    /// The operation without parameters of exactly this name.
    pub fn bare(name: &str) -> Option<Operation> {
        BARE_OPERATIONS.into_iter().find(|operation| operation.name() == name)
    }

    /// The operation from one word, as a person writes it: `file.read`, or `mcp.call:SERVER/TOOL`.
    ///
    /// # Errors
    /// The word is no operation, or could be read as two.
    pub fn from_word(word: &str) -> Result<Operation, NoOperation> {
        match word.strip_prefix("mcp.call:").and_then(|pair| pair.split_once('/')) {
            Some((_, tool)) if tool.contains('/') => Err(NoOperation::Ambiguous),
            Some((server, tool)) => Ok(Operation::McpCall { server: server.into(), tool: tool.into() }),
            None => Operation::bare(word).ok_or(NoOperation::Unknown),
        }
    }

    /// The canonical order compares these bytewise, in this order. It is spelled out here so that the order of the
    /// variants above does not matter.
    fn triple(&self) -> (&str, &str, &str) {
        match self {
            Operation::McpCall { server, tool } => (self.name(), server, tool),
            _ => (self.name(), "", ""),
        }
    }
}

impl Ord for Operation {
    fn cmp(&self, other: &Self) -> Ordering {
        self.triple().cmp(&other.triple())
    }
}

impl PartialOrd for Operation {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::McpCall { server, tool } => write!(f, "mcp.call {server}/{tool}"),
            _ => f.write_str(self.name()),
        }
    }
}
