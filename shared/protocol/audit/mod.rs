//! A line of the audit, as a hook writes it. [`read`] reads it back.

#[cfg(feature = "run")]
mod read;

#[cfg(feature = "run")]
pub(crate) use read::{Judgement, same};

use std::collections::BTreeSet;

use super::one_line;
use crate::frame::{MCP_CALL, Operation, write_operation};
use crate::json::{Layout, Writer};

/// One decision. Fields are named as in `tool.decided` of `metaharness.event/1`, where it has the field. An unknown
/// value is null. Inputs may hold secrets, so they are written only on request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditLine {
    /// By RFC 3339 in UTC.
    pub at: String,
    pub vendor: &'static str,
    pub event: Option<String>,
    pub session_id: Option<String>,
    /// Only on a sub-agent's calls.
    pub agent_id: Option<String>,
    pub call_id: Option<String>,
    pub tool: Option<String>,
    /// The operations that the call needs, in words.
    pub operations: Vec<String>,
    /// The same, as a frame has them: of `mcp.call a/b/c` the words do not say where the server ends.
    pub needs: BTreeSet<Operation>,
    /// The rendered name of an MCP tool, where it could be that of several.
    pub ambiguous: Option<String>,
    /// The tool's input, in JSON, where it is asked for.
    pub input: Option<String>,
    pub decision: AuditDecision,
    /// `frame`, `embedder`, `deadline` where the embedder did not answer in time, or `adapter` where neither frame nor
    /// embedder came to a decision.
    pub decided_by: &'static str,
    pub seam: &'static str,
    pub frame_digest: Option<String>,
    /// Microseconds from the hook's start to this line.
    pub micros: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditDecision {
    /// `allow`, `abstain`, `deny` or `replace`.
    pub decision: &'static str,
    /// Only with `deny`.
    pub reason: Option<String>,
    /// JSON; only with `replace` and on request.
    pub input: Option<String>,
}

impl AuditLine {
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
