//! What a frame's author should hear: true of the document, and surely not what was meant.

use super::{Hook, claude::Claude, codex::Codex};
use crate::decide::admits;
use crate::frame::{Doubt, Operation, doubts, mcp, shown};
use crate::scope;
use crate::seal::VerifiedFrame;

/// Everything worth a warning, in words.
pub fn advice(frame: &VerifiedFrame) -> Vec<String> {
    let mut all: Vec<String> = surely_meant_otherwise(frame).iter().map(ToString::to_string).collect();
    scope(frame, &mut all);
    names(frame, &mut all);
    reach(frame, &mut all);
    too_long(&Claude, frame, &mut all);
    too_long(&Codex, frame, &mut all);
    all
}

/// What `mh-frame-seal` does not mint.
pub fn surely_meant_otherwise(frame: &VerifiedFrame) -> Vec<Doubt> {
    let mut all = doubts(frame.frame());
    all.extend(scope::covered(&frame.frame().scope).into_iter().map(|(rule, by)| Doubt::Covered { rule, by }));
    all
}

/// Names of MCP servers and tools that Codex does not tell from others.
fn names(frame: &VerifiedFrame, all: &mut Vec<String>) {
    let pairs = frame.frame().operations.iter().filter_map(|operation| match operation {
        Operation::McpCall { server, tool } => Some((server, tool, mcp::narrow(server), mcp::narrow(tool))),
        _ => None,
    });
    let mut changed = pairs
        .filter(|(server, tool, plain_server, plain_tool)| plain_server != *server || plain_tool != *tool)
        .map(|(server, tool, plain_server, plain_tool)| {
            format!("{} for {}", shown(&format!("{plain_server}/{plain_tool}")), shown(&format!("{server}/{tool}")))
        });
    let listed: Vec<String> = changed.by_ref().take(3).collect();
    if !listed.is_empty() {
        let more = match changed.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        all.push(format!(
            "Codex takes every character of an mcp name but letters and digits for `_`, so this frame admits there as well {}{more}",
            listed.join(", ")
        ));
    }
}

fn scope(frame: &VerifiedFrame, all: &mut Vec<String>) {
    let rules = &frame.frame().scope;
    if rules.is_empty() {
        return;
    }
    let globs = || rules.iter().flat_map(|rule| &rule.subjects);
    if !globs().any(|glob| glob == "file:**") {
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

/// Operations that are admitted and that a vendor has no admitted tool for.
fn reach(frame: &VerifiedFrame, all: &mut Vec<String>) {
    all.extend(codex_lacks(frame));
    if let Some(names) = without_shell(frame, &[Operation::DirList, Operation::Search]) {
        all.push(format!(
            "Claude Code offers its tools for {names} only when asked (--tools with Glob and Grep); else its shell \
             does that, and shell is not admitted"
        ));
    }
}

/// What the frame admits and Codex has no tool for but its shell, which the frame does not admit; in words.
pub fn codex_lacks(frame: &VerifiedFrame) -> Option<String> {
    let by_shell = [Operation::DirList, Operation::FileRead, Operation::Search, Operation::SkillLoad];
    let names = without_shell(frame, &by_shell)?;
    Some(format!("Codex has no tool for {names}: its shell does that, and shell is not admitted"))
}

/// The names of those of these operations that are admitted, where the shell is not.
fn without_shell(frame: &VerifiedFrame, operations: &[Operation]) -> Option<String> {
    let admitted = operations.iter().filter(|operation| admits(frame, operation)).map(Operation::name);
    let names: Vec<&str> = admitted.collect();
    (!names.is_empty() && !admits(frame, &Operation::Shell)).then(|| names.join(", "))
}

fn too_long(vendor: &dyn Hook, frame: &VerifiedFrame, all: &mut Vec<String>) {
    let text = frame.text();
    if vendor.measure(&text.whole()) > vendor.facts().text_limit {
        let kept = text.within(vendor.facts().text_limit, |text| vendor.measure(text));
        let note = kept.lines().last().unwrap_or_default();
        all.push(format!(
            "the instruction text is longer than {} carries; it ends with: {note}",
            vendor.facts().product
        ));
    }
}
