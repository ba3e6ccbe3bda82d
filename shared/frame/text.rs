//! The instruction text for the model.
//!
//! Every vendor gets the same rendering, so no two can describe a frame differently. Binding parts come first, since
//! vendors cut long context. A string of the frame cannot pose as a line of the text.

use std::fmt::Write as _;

use super::{Frame, Handoff, Obligation, Operation, ScopeRule};

/// The instruction text in sections, each with words that replace it if it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    sections: Vec<(&'static str, String)>,
}

impl Text {
    /// The whole text: LF only, no trailing blanks, no final newline.
    pub fn whole(&self) -> String {
        let sections: Vec<&str> = self.sections.iter().map(|(_, text)| text.as_str()).collect();
        sections.join("\n\n")
    }

    /// The text within `limit` of the units that `measure` counts. Sections are left out whole, from the end, and a
    /// last line names them.
    pub fn within(&self, limit: usize, measure: impl Fn(&str) -> usize) -> String {
        let whole = self.whole();
        if measure(&whole) <= limit {
            return whole;
        }
        for kept in (0..self.sections.len()).rev() {
            let (kept, left_out) = self.sections.split_at(kept);
            let names: Vec<&str> = left_out.iter().map(|(name, _)| *name).collect();
            let mut text = Text { sections: kept.to_vec() }.whole();
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            let _ = write!(text, "(Left out here because the frame is too long: {}.)", names.join("; "));
            if measure(&text) <= limit {
                return text;
            }
        }
        String::new()
    }
}

/// Render a frame. `digest` is its document's digest.
pub fn text(frame: &Frame, digest: &str) -> Text {
    let mut sections = vec![("which step this is", heading(frame)), ("what is admitted", admitted(frame))];
    let mut add = |name, text: String| sections.push((name, text));
    if !frame.scope.is_empty() {
        add("the path scope", scope(&frame.scope));
    }
    add("what this step owes", handoff(&frame.handoff));
    if !frame.prior.is_empty() {
        let lines = frame.prior.iter().map(|prior| (prior.text.as_str(), prior.source.as_deref()));
        add("what has already been established", lined("Already established:", lines, "established by"));
    }
    if !frame.obligations.is_empty() {
        add("what must hold here", lined("What must hold here:", asked(&frame.obligations), "asked for by"));
    }
    if !frame.reaching.is_empty() {
        let title = "Not yet satisfied on a way out (each line begins with where it goes):";
        add("what is not yet satisfied on a way out", lined(title, asked(&frame.reaching), "asked for by"));
    }
    if !frame.next.is_empty() {
        let next: Vec<String> = frame.next.iter().map(|node| inline(&node.id)).collect();
        add("the reachable states", format!("States that can be reached from here: {}.", next.join(", ")));
    }
    if let Some(entities) = &frame.entities {
        let mut text = format!("Choose only from this closed list, taken from {}:", inline(&entities.source));
        for member in &entities.members {
            item(&mut text, member, None);
        }
        if entities.members.is_empty() {
            text.push_str(" it is empty, so there is nothing to choose.");
        }
        add("the closed list to choose from", text);
    }
    add("the digest", format!("Frame digest: sha256 {digest}"));
    for (_, section) in &mut sections {
        *section = section.lines().map(|line| line.trim_end_matches([' ', '\t'])).collect::<Vec<_>>().join("\n");
    }
    Text { sections }
}

/// A name in printable ASCII for a reason. Other characters are escaped, so that a name cannot pose as another one or
/// as the words around it.
pub fn shown(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            ' '..='~' => out.push(c),
            c => out.extend(c.escape_default()),
        }
    }
    out
}

fn heading(frame: &Frame) -> String {
    format!(
        "This work is governed by a sealed workflow frame.\nWorkflow {} at version {}, state {}, step {}, attempt {}.",
        inline(&frame.workflow.id),
        inline(&frame.workflow.version),
        inline(&frame.node.id),
        frame.step.index,
        frame.step.attempt
    )
}

fn admitted(frame: &Frame) -> String {
    let mut text = String::new();
    if frame.operations.is_empty() {
        text.push_str("No operation at all is admitted in this step: answer from what you have been given.");
    } else {
        text.push_str("Strictly these operations are admitted in this step, and no others:");
        for operation in &frame.operations {
            match operation {
                Operation::McpCall { server, tool } => {
                    let _ = write!(text, "\n- mcp.call {}/{}", inline(server), inline(tool));
                }
                _ => {
                    let _ = write!(text, "\n- {operation}");
                }
            }
        }
    }
    text.push_str(
        "\nEvery tool call is judged against this before it runs. A denial is the answer, not an obstacle: do not \
         look for another way to the same effect. If the step cannot be done with what is admitted, say what is \
         missing and stop.",
    );
    text
}

fn scope(rules: &[ScopeRule]) -> String {
    let mut text = String::from(
        "Paths are judged by these rules in order; the first that matches a path decides, and a path that none \
         matches is judged by the operations alone:",
    );
    for rule in rules {
        let globs: Vec<String> = rule.subjects.iter().map(|glob| inline(glob)).collect();
        let operations: Vec<String> = rule.operations.iter().map(|operation| inline(&operation.to_string())).collect();
        let allows = if operations.is_empty() { "nothing".into() } else { operations.join(", ") };
        let _ = write!(text, "\n- {}: {allows}", globs.join(", "));
    }
    text
}

fn handoff(handoff: &Handoff) -> String {
    match handoff {
        Handoff::None => "This step owes nothing before it may end.".into(),
        Handoff::Artifact { name, kind: None } => {
            format!("Before it may end, this step owes the artifact {}.", inline(name))
        }
        Handoff::Artifact { name, kind: Some(kind) } => {
            format!("Before it may end, this step owes the artifact {} (kind: {}).", inline(name), inline(kind))
        }
        Handoff::StructuredAnswer { schema } => {
            format!("Before it may end, this step owes an answer that satisfies the schema {}.", inline(schema))
        }
    }
}

fn asked(lines: &[Obligation]) -> impl Iterator<Item = (&str, Option<&str>)> {
    lines.iter().map(|line| (line.text.as_str(), line.asked_by.as_deref()))
}

fn lined<'a>(title: &str, lines: impl Iterator<Item = (&'a str, Option<&'a str>)>, origin: &str) -> String {
    let mut text = title.to_string();
    for (line, from) in lines {
        item(&mut text, line, from.map(|from| (origin, from)));
    }
    text
}

/// One verbatim line of the frame. Where it breaks, the rest stands behind a bar.
fn item(text: &mut String, line: &str, origin: Option<(&str, &str)>) {
    text.push_str("\n- ");
    let line = line.replace("\r\n", "\n");
    for c in line.chars() {
        match c {
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => text.push_str("\n  | "),
            '\t' => text.push('\t'),
            c if c.is_control() => text.extend(c.escape_default()),
            c => text.push(c),
        }
    }
    if let Some((origin, from)) = origin {
        let _ = write!(text, " ({origin}: {})", inline(from));
    }
}

/// A name within a line: breaks and controls are escaped.
fn inline(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\u{2028}' | '\u{2029}' => out.extend(c.escape_unicode()),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}
