//! The line `tool.requested` of a hook: a call that waits for a decision.

use super::{EVENT, one_line};
use crate::frame::{Operation, write_operation};
use crate::json::{Layout, Writer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested<'a> {
    /// The vendor's session.
    pub run: &'a str,
    /// The vendor's id of the call; the decision has to name it.
    pub call_id: &'a str,
    pub name: &'a str,
    /// JSON.
    pub input: &'a str,
    /// All of them are admitted.
    pub operations: Vec<Operation>,
    /// Paths, as `file:…`.
    pub subjects: Vec<String>,
    /// The time after which nobody waits for the decision.
    pub deadline_ms: u32,
    /// This field and the next three are not in the protocol; a reader that does not know them passes over them.
    pub vendor: &'a str,
    /// Only on a sub-agent's calls.
    pub agent_id: Option<&'a str>,
    /// The folder for the input's relative paths.
    pub cwd: Option<&'a str>,
    pub frame_digest: &'a str,
}

impl Requested<'_> {
    /// The line with its line feed. A hook writes one line, so its number is 1.
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
    fn the_question_is_one_line_for_any_input() {
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
