//! A line of the audit: as a hook writes it, and as a run reads it back.

#[cfg(feature = "run")]
mod read;

#[cfg(feature = "run")]
pub use read::{Decided, Judgement, same};

use std::collections::BTreeSet;

use super::one_line;
use crate::frame::{MCP_CALL, Operation, write_operation};
use crate::json::{Layout, Writer};

/// One decision. Names are those of `metaharness.event/1` `tool.decided` where it has one; what is
/// not known is null. No tool input unless it is asked for: it may hold secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditLine {
    /// When, by RFC 3339 in UTC.
    pub at: String,
    /// The vendor's word.
    pub vendor: &'static str,
    /// The event's name.
    pub event: Option<String>,
    /// The vendor's session.
    pub session_id: Option<String>,
    /// The sub-agent, on its calls.
    pub agent_id: Option<String>,
    /// The vendor's id of the call.
    pub call_id: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The operations that the call needs, in words.
    pub operations: Vec<String>,
    /// The same, as a frame has them: of `mcp.call a/b/c` the words do not say where the server ends.
    pub needs: BTreeSet<Operation>,
    /// The rendered name of an MCP tool, where it could be that of several.
    pub ambiguous: Option<String>,
    /// The tool's input, in JSON, where it is asked for.
    pub input: Option<String>,
    /// The decision as it went out.
    pub decision: AuditDecision,
    /// Who decided: `frame`, `embedder`, `deadline` where one did not answer in time, or `adapter`
    /// where it did not come to any of that.
    pub decided_by: &'static str,
    /// Where the decision took hold.
    pub seam: &'static str,
    /// The digest of the frame in force.
    pub frame_digest: Option<String>,
    /// The hook's own time up to here, in microseconds.
    pub micros: u64,
}

/// A decision, as the line protocols write it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditDecision {
    /// `allow`, `abstain`, `deny` or `replace`.
    pub decision: &'static str,
    /// Why, where it is a denial.
    pub reason: Option<String>,
    /// The input that took the place of the tool's own, in JSON, where inputs are asked for.
    pub input: Option<String>,
}

impl AuditLine {
    /// The line, with its line feed.
    pub fn line(&self) -> String {
        let mut out = Writer::new(Layout::Canonical);
        out.object();
        out.member("at", &self.at);
        out.member("vendor", self.vendor);
        out.nullable("event", self.event.as_deref());
        out.nullable("session_id", self.session_id.as_deref());
        out.nullable("agent_id", self.agent_id.as_deref());
        out.nullable("call_id", self.call_id.as_deref());
        out.nullable("tool", self.tool.as_deref());
        out.key("operations");
        out.array();
        self.operations.iter().for_each(|operation| out.string(operation));
        out.end_array();
        out.key("needs");
        out.array();
        self.needs.iter().for_each(|operation| write_operation(operation, &mut out));
        if let Some(rendered) = &self.ambiguous {
            out.object();
            out.member("op", MCP_CALL);
            out.member("rendered", rendered);
            out.end_object();
        }
        out.end_array();
        if let Some(input) = &self.input {
            out.key("input");
            out.raw(input);
        }
        out.key("decision");
        out.object();
        out.member("decision", self.decision.decision);
        if let Some(reason) = &self.decision.reason {
            out.member("reason", reason);
        }
        if let Some(input) = &self.decision.input {
            out.key("input");
            out.raw(input);
        }
        out.end_object();
        out.member("decided_by", self.decided_by);
        out.member("seam", self.seam);
        out.nullable("frame_digest", self.frame_digest.as_deref());
        out.key("micros");
        out.number(self.micros);
        out.end_object();
        one_line(out.finish())
    }
}
