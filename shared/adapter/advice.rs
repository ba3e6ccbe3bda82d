//! Warnings for a frame's author: the frame is valid, and may not say what the author meant.

use std::collections::BTreeMap;

use super::{PREVIEWS, Preview};
use crate::decide::admits;
use crate::frame::{Lint, Operation, lints, shown};
use crate::scope;
use crate::seal::VerifiedFrame;

/// All warnings for the author of a frame.
pub fn advice(frame: &VerifiedFrame) -> Vec<String> {
    let mut all: Vec<String> = surely_meant_otherwise(frame).iter().map(ToString::to_string).collect();
    scope(frame, &mut all);
    for vendor in PREVIEWS {
        all.extend(vendor.advice(frame));
    }
    for vendor in PREVIEWS {
        all.extend(too_long(*vendor, frame));
    }
    all
}

/// The faults for which `mh-frame-seal` refuses to seal.
pub fn surely_meant_otherwise(frame: &VerifiedFrame) -> Vec<Lint> {
    let mut all = lints(frame.frame());
    all.extend(ambiguous(frame));
    all.extend(scope::covered(&frame.frame().scope).into_iter().map(|(rule, by)| Lint::Covered { rule, by }));
    all
}

fn scope(frame: &VerifiedFrame, all: &mut Vec<String>) {
    let rules = &frame.frame().scope;
    if rules.is_empty() {
        return;
    }
    let globs = || rules.iter().flat_map(|rule| &rule.subjects);
    if !globs().any(|glob| matches!(glob.as_str(), "file:**" | "file:/**")) {
        all.push("the path scope has no rule for `file:**`: of a path that no rule matches it says nothing".into());
    }
    if admits(frame, &Operation::Shell) {
        all.push("the path scope does not bind the shell, which is admitted: a command has no path".into());
    }
    for glob in globs().filter(|glob| !glob.starts_with("file:")) {
        all.push(format!(
            "the glob `{}` of the path scope matches no path: it does not begin with `file:`",
            shown(glob)
        ));
    }
    for glob in globs().filter(|glob| glob.contains(['?', '[', '{', '\\', '$'])) {
        all.push(format!("in the glob `{}` of the path scope nothing but `*` and `**` is special", shown(glob)));
    }
    for glob in rules.iter().filter(|rule| rule.operations.is_empty()).flat_map(|rule| &rule.subjects) {
        let name = glob.rsplit('/').next().unwrap_or(glob);
        if glob.starts_with("file:") && !glob.contains('*') && !name.contains('.') {
            let glob = shown(glob);
            all.push(format!("the glob `{glob}` of the path scope is a file of that name; a folder is `{glob}/**`"));
        }
    }
}

/// MCP tools that a vendor cannot tell from another server's tool by their rendered name. The vendor that keeps the
/// fewest characters of a name comes first.
fn ambiguous(frame: &VerifiedFrame) -> Vec<Lint> {
    let pairs = frame.frame().operations.iter().filter_map(|operation| match operation {
        Operation::McpCall { server, tool } => Some((server, tool)),
        _ => None,
    });
    let mut renderings: Vec<_> = PREVIEWS.iter().map(|vendor| &vendor.facts().mcp).collect();
    renderings.sort_by_key(|rendering| rendering.kept.len());
    let mut found: BTreeMap<(&String, &String), Lint> = BTreeMap::new();
    for rendering in renderings {
        let rendered = |server, tool| rendering.join(&rendering.of(server), &rendering.of(tool));
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (server, tool) in pairs.clone() {
            *seen.entry(rendered(server, tool)).or_default() += 1;
        }
        for (server, tool) in pairs.clone() {
            let rendered = rendered(server, tool);
            if rendering.splits(&rendered).count() != 1 || seen.get(&rendered).is_some_and(|count| *count > 1) {
                let lint = Lint::AmbiguousMcp { server: server.clone(), tool: tool.clone(), rendered };
                found.entry((server, tool)).or_insert(lint);
            }
        }
    }
    found.into_values().collect()
}

/// The names of the admitted operations among these, if the shell is not admitted.
pub fn without_shell(frame: &VerifiedFrame, operations: &[Operation]) -> Option<String> {
    let admitted = operations.iter().filter(|operation| admits(frame, operation)).map(Operation::name);
    let names: Vec<&str> = admitted.collect();
    (!names.is_empty() && !admits(frame, &Operation::Shell)).then(|| names.join(", "))
}

fn too_long(vendor: &dyn Preview, frame: &VerifiedFrame) -> Option<String> {
    let (text, facts) = (frame.text(), vendor.facts());
    if vendor.measure(&text.whole()) <= facts.text_limit {
        return None;
    }
    let kept = text.within(facts.text_limit, |text| vendor.measure(text));
    let note = kept.lines().last().unwrap_or_default();
    Some(format!("the instruction text is longer than {} carries; it ends with: {note}", facts.product))
}
