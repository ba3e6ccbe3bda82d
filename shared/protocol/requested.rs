//! `tool.requested`: a call that waits for a decision.

use super::{EVENT, one_line};
use crate::frame::{Operation, write_operation};
use crate::json::{Layout, Writer};

/// A call, as it is put to an embedder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested<'a> {
    /// The run that it belongs to: the vendor's session.
    pub run: &'a str,
    /// The vendor's id of the call, which the decision has to name.
    pub call_id: &'a str,
    /// The tool, as the vendor names it.
    pub name: &'a str,
    /// The tool's input, in JSON.
    pub input: &'a str,
    /// The operations that the call needs, all of them admitted.
    pub operations: Vec<Operation>,
    /// The paths it is about, as `file:…`.
    pub subjects: Vec<String>,
    /// Milliseconds until nobody waits for the decision any more.
    pub deadline_ms: u32,
    /// Which vendor's call it is; a reader of the protocol that does not know this field, or the
    /// three below, passes over it.
    pub vendor: &'a str,
    /// The sub-agent, on its calls.
    pub agent_id: Option<&'a str>,
    /// The folder that relative paths of the input are relative to.
    pub cwd: Option<&'a str>,
    /// The digest of the frame in force.
    pub frame_digest: &'a str,
}

impl Requested<'_> {
    /// The line, with its line feed. A hook has one line to say, so its number is 1.
    pub fn line(&self) -> String {
        let mut out = Writer::new(Layout::Canonical);
        out.object();
        out.member("format", EVENT);
        out.key("seq");
        out.number(1_u32);
        out.member("run", self.run);
        out.member("event", "tool.requested");
        out.member("call_id", self.call_id);
        out.member("name", self.name);
        out.key("input");
        out.raw(self.input);
        if !self.operations.is_empty() {
            out.key("operations");
            out.array();
            self.operations.iter().for_each(|operation| write_operation(operation, &mut out));
            out.end_array();
        }
        if !self.subjects.is_empty() {
            out.key("subjects");
            out.array();
            self.subjects.iter().for_each(|subject| out.string(subject));
            out.end_array();
        }
        out.key("decision_required");
        out.flag(true);
        out.key("deadline_ms");
        out.number(self.deadline_ms);
        out.member("seam", "hook");
        out.member("vendor", self.vendor);
        out.nullable("agent_id", self.agent_id);
        out.nullable("cwd", self.cwd);
        out.member("frame_digest", self.frame_digest);
        out.end_object();
        one_line(out.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_whatever_the_input_holds() {
        let requested = Requested {
            run: "s",
            call_id: "c",
            name: "Bash",
            input: "{\n  \"command\": \"a\u{2028}b\"\r\n}",
            operations: vec![Operation::Shell],
            subjects: Vec::new(),
            deadline_ms: 20_000,
            vendor: "claude",
            agent_id: None,
            cwd: Some("/p"),
            frame_digest: "00",
        };
        assert_eq!(
            requested.line(),
            "{\"format\":\"metaharness.event/1\",\"seq\":1,\"run\":\"s\",\"event\":\"tool.requested\",\
             \"call_id\":\"c\",\"name\":\"Bash\",\"input\":{   \"command\": \"a\\u2028b\"  },\
             \"operations\":[{\"op\":\"shell\"}],\"decision_required\":true,\"deadline_ms\":20000,\"seam\":\"hook\",\
             \"vendor\":\"claude\",\"agent_id\":null,\"cwd\":\"/p\",\"frame_digest\":\"00\"}\n"
        );
    }
}
