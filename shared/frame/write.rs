//! Writing a [`Frame`]: the sealed bytes, and the document on disk.

use std::collections::BTreeSet;

use super::{FORMAT, Frame, Handoff, Node, Obligation, Operation};
use crate::json::{Layout, Writer};

/// The canonical text under the digest: RFC 8785 of the frame without its tag and its digest, and without an empty
/// scope.
pub fn canonical(frame: &Frame) -> String {
    let mut out = Writer::new(Layout::Canonical);
    members(frame, None, &mut out);
    out.finish()
}

/// The document on disk, with the given digest: writing never reseals.
pub fn document(frame: &Frame, digest: &str) -> String {
    let mut out = Writer::new(Layout::Indented);
    members(frame, Some(digest), &mut out);
    let mut text = out.finish();
    text.push('\n');
    text
}

/// Every key in sorted order. With a digest, a document's two further keys are among them.
fn members(frame: &Frame, digest: Option<&str>, out: &mut Writer) {
    out.object();
    if let Some(digest) = digest {
        out.member("digest", digest);
    }
    out.key("entities");
    match &frame.entities {
        None => out.null(),
        Some(entities) => {
            out.object();
            list(out, "members", &entities.members, |out, member| out.string(member));
            out.member("source", &entities.source);
            out.end_object();
        }
    }
    if digest.is_some() {
        out.member("format", FORMAT);
    }
    out.key("handoff");
    handoff(&frame.handoff, out);
    list(out, "next", &frame.next, node);
    out.key("node");
    node(out, &frame.node);
    list(out, "obligations", &frame.obligations, obligation);
    operations(out, &frame.operations);
    list(out, "prior", &frame.prior, |out, prior| {
        out.object();
        out.nullable("source", prior.source.as_deref());
        out.member("text", &prior.text);
        out.end_object();
    });
    list(out, "reaching", &frame.reaching, obligation);
    out.key("step");
    out.object();
    out.key("attempt");
    out.number(frame.step.attempt);
    out.key("index");
    out.number(frame.step.index);
    out.member("state", &frame.step.state);
    out.member("workflow", &frame.step.workflow);
    out.end_object();
    if !frame.scope.is_empty() {
        out.key("subjects");
        out.object();
        list(out, "rules", &frame.scope, |out, rule| {
            out.object();
            operations(out, &rule.operations);
            list(out, "subjects", &rule.subjects, |out, glob| out.string(glob));
            out.end_object();
        });
        out.end_object();
    }
    out.key("workflow");
    out.object();
    out.member("id", &frame.workflow.id);
    out.member("version", &frame.workflow.version);
    out.end_object();
    out.end_object();
}

fn list<T>(out: &mut Writer, key: &str, items: &[T], each: impl Fn(&mut Writer, &T)) {
    out.key(key);
    out.array();
    for item in items {
        each(out, item);
    }
    out.end_array();
}

fn node(out: &mut Writer, node: &Node) {
    out.object();
    out.member("id", &node.id);
    out.end_object();
}

fn obligation(out: &mut Writer, obligation: &Obligation) {
    out.object();
    out.nullable("asked_by", obligation.asked_by.as_deref());
    out.member("text", &obligation.text);
    out.end_object();
}

fn handoff(handoff: &Handoff, out: &mut Writer) {
    out.object();
    match handoff {
        Handoff::None => out.member("handoff", "none"),
        Handoff::Artifact { name, kind } => {
            out.member("handoff", "artifact");
            out.nullable("kind", kind.as_deref());
            out.member("name", name);
        }
        Handoff::StructuredAnswer { schema } => {
            out.member("handoff", "structured_answer");
            out.member("schema", schema);
        }
    }
    out.end_object();
}

fn operations(out: &mut Writer, operations: &BTreeSet<Operation>) {
    out.key("operations");
    out.array();
    operations.iter().for_each(|one| operation(one, out));
    out.end_array();
}

/// An operation in its document form.
pub fn operation(operation: &Operation, out: &mut Writer) {
    out.object();
    out.member("op", operation.name());
    if let Operation::McpCall { server, tool } = operation {
        out.member("server", server);
        out.member("tool", tool);
    }
    out.end_object();
}
