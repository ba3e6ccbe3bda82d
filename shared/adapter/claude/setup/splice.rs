//! Adding our entries to a settings file and removing them, at byte offsets.
//!
//! Removing must restore the former text, and only the file itself is kept. So the written text shows where it was put:
//! in an array or object that existed and was empty, our text touches both brackets; one that we made has white space
//! before its last bracket.

use std::ops::Range;

use super::{entries, is_ours, unreadable, wholly_ours};
use crate::adapter::Registration;
use crate::adapter::claude::{EVENTS, EntryForm, group};
use crate::adapter::setup::text::{Edits, indent, newline};
use crate::adapter::setup::tree::{self, Spanned};

/// The layout of a file's text.
struct Indentation<'a> {
    newline: &'static str,
    /// The indentation of one level; `None` if everything is on one line.
    unit: Option<&'a str>,
}

impl Indentation<'_> {
    /// The line break and indentation before an item at this depth.
    fn line(&self, depth: usize) -> String {
        match self.unit {
            Some(unit) => format!("{}{}", self.newline, unit.repeat(depth)),
            None => String::new(),
        }
    }

    /// The line break and indentation before the closing bracket of a value that we made.
    fn close(&self, depth: usize) -> String {
        if self.unit.is_some() { self.line(depth) } else { " ".into() }
    }

    fn group(&self, line: &Registration, depth: usize) -> String {
        let text = group(line, EntryForm::Exec, self.unit);
        match self.unit {
            Some(_) => text.replace('\n', &self.line(depth)),
            None => text,
        }
    }

    fn event(&self, event: &str, line: &Registration) -> String {
        let (open, close) = (self.line(3), self.close(2));
        format!("\"{event}\": [{open}{}{close}]", self.group(line, 3))
    }

    fn hooks(&self, line: &Registration) -> String {
        let between = format!(",{}", self.line(2));
        let events = EVENTS.map(|event| self.event(event, line)).join(&between);
        format!("\"hooks\": {{{}{events}{}}}", self.line(2), self.close(1))
    }
}

/// The settings with the entries; `None` is a missing file.
///
/// The text must be valid settings: see [`super::unreadable`].
pub fn with_entries(text: Option<&str>, line: &Registration) -> String {
    let fresh = Indentation { newline: text.map_or("\n", newline), unit: Some("  ") };
    let document = |end: &str| format!("{{{}{}{}}}{end}", fresh.line(1), fresh.hooks(line), fresh.close(0));
    let Some(text) = text else { return document("\n") };
    if blank(text) {
        return format!("{text}{}", document(""));
    }
    let Ok(root) = tree::json(text) else { return text.into() };
    let mut edits = Edits::default();
    let layout = Indentation { unit: unit(text, &root), ..fresh };
    match root.get("hooks") {
        None => append(&mut edits, &root, &layout, 1, vec![layout.hooks(line)]),
        Some(hooks) => {
            let mut fresh = Vec::new();
            for event in EVENTS {
                match hooks.get(event) {
                    Some(groups) => update(&mut edits, text, groups, &layout, line),
                    None => fresh.push(layout.event(event, line)),
                }
            }
            append(&mut edits, hooks, &layout, 2, fresh);
            for member in hooks.members().iter().filter(|member| !EVENTS.contains(&member.key.as_str())) {
                take_from(&mut edits, text, &member.node, None);
            }
        }
    }
    edits.apply(text)
}

/// The settings without the entries; `None` if the file held nothing else and is to be removed.
pub fn taken_out(text: &str) -> Option<String> {
    let Ok(root) = tree::json(text) else { return Some(text.into()) };
    let mut edits = Edits::default();
    let made = root.get("hooks").is_some_and(|hooks| {
        let events = hooks.members();
        let gone: Vec<bool> = events.iter().map(|event| take_from(&mut edits, text, &event.node, None)).collect();
        let spans: Vec<Range<usize>> = events.iter().map(|event| event.at..event.node.span.end).collect();
        let all = cut(&mut edits, &spans, &gone);
        all && made_by_us(text, hooks)
    });
    if !made {
        return Some(edits.apply(text));
    }
    let mut edits = Edits::default();
    let members = root.members();
    let gone: Vec<bool> = members.iter().map(|member| member.key == "hooks").collect();
    let spans: Vec<Range<usize>> = members.iter().map(|member| member.at..member.node.span.end).collect();
    if !cut(&mut edits, &spans, &gone) || !made_by_us(text, &root) {
        return Some(edits.apply(text));
    }
    match (&text[..root.span.start], &text[root.span.end..]) {
        ("", "\n" | "\r\n") => None,
        (before, after) => Some(format!("{before}{after}")),
    }
}

/// Whether two texts of a settings file differ in our entries alone, and the vendor loads the new one.
pub fn only_entries_differ(old: Option<&str>, new: &str) -> bool {
    let rest = |text: &str| match taken_out(text) {
        Some(text) if !blank(&text) => tree::json(&text).ok(),
        _ => None,
    };
    let before = old.filter(|text| !blank(text)).and_then(rest);
    let same = match (before, rest(new)) {
        (Some(before), Some(after)) => before.same(&after),
        (None, None) => true,
        _ => false,
    };
    same && unreadable(new).is_none()
}

/// Whether the file has no content, which counts as no file.
pub fn blank(text: &str) -> bool {
    text[tree::bom(text)..].bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// The indentation of the first member, if it has a line of its own.
fn unit<'a>(text: &'a str, root: &Spanned) -> Option<&'a str> {
    match root.members().first() {
        Some(first) => indent(text, first.at).map(|found| if found.is_empty() { "  " } else { found }),
        None => Some("  "),
    }
}

/// Append to an array or object.
fn append(edits: &mut Edits, container: &Spanned, layout: &Indentation<'_>, depth: usize, texts: Vec<String>) {
    let last = container.items().last().or(container.members().last().map(|member| &member.node));
    let between = format!(",{}", layout.line(depth));
    if texts.is_empty() {
        return;
    }
    let joined = texts.join(&between);
    match last {
        Some(last) => edits.put(last.span.end..last.span.end, between + &joined),
        None => edits.put(container.span.end - 1..container.span.end - 1, joined),
    }
}

/// Put our group into an event's array, in place of the one that is there.
fn update(edits: &mut Edits, text: &str, groups: &Spanned, layout: &Indentation<'_>, line: &Registration) {
    let kept = groups.items().iter().position(wholly_ours);
    match kept.map(|at| &groups.items()[at]) {
        Some(old) => {
            if !tree::json(&group(line, EntryForm::Exec, None)).is_ok_and(|new| new.same(old)) {
                let new = match (indent(text, old.span.start), layout.unit) {
                    (Some(before), Some(unit)) => {
                        group(line, EntryForm::Exec, Some(unit)).replace('\n', &format!("{}{before}", layout.newline))
                    }
                    _ => group(line, EntryForm::Exec, None),
                };
                edits.put(old.span.clone(), new);
            }
        }
        None => append(edits, groups, layout, 3, vec![layout.group(line, 3)]),
    }
    take_from(edits, text, groups, kept);
}

/// Remove our hook from an event's array, except from the group at `kept`. The result tells whether we made the array
/// and it is empty now.
fn take_from(edits: &mut Edits, text: &str, groups: &Spanned, kept: Option<usize>) -> bool {
    let items = groups.items();
    let gone: Vec<bool> = items.iter().enumerate().map(|(at, group)| Some(at) != kept && wholly_ours(group)).collect();
    for group in items.iter().filter(|group| !wholly_ours(group)) {
        let inner: Vec<bool> = entries(group).iter().map(is_ours).collect();
        let spans: Vec<Range<usize>> = entries(group).iter().map(|entry| entry.span.clone()).collect();
        cut(edits, &spans, &inner);
    }
    let spans: Vec<Range<usize>> = items.iter().map(|group| group.span.clone()).collect();
    cut(edits, &spans, &gone) && made_by_us(text, groups)
}

/// Remove elements with their commas. The result tells whether none is left.
fn cut(edits: &mut Edits, spans: &[Range<usize>], gone: &[bool]) -> bool {
    let first_kept = gone.iter().position(|gone| !gone);
    match first_kept {
        None => {
            if let (Some(first), Some(last)) = (spans.first(), spans.last()) {
                edits.cut(first.start..last.end);
            }
            !spans.is_empty()
        }
        Some(first_kept) => {
            if first_kept > 0 {
                edits.cut(spans[0].start..spans[first_kept].start);
            }
            for at in first_kept + 1..spans.len() {
                if gone[at] {
                    edits.cut(spans[at - 1].end..spans[at].end);
                }
            }
            false
        }
    }
}

/// Whether there is white space before the last bracket: see the top of this file.
fn made_by_us(text: &str, container: &Spanned) -> bool {
    text[..container.span.end - 1].ends_with([' ', '\t', '\r', '\n'])
}
