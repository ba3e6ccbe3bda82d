//! What a frame's author should hear: true of the document, and surely not what was meant.

use super::{Vendor, claude::Claude, codex::Codex};
use crate::decide::admits;
use crate::frame::{Operation, doubts, shown};
use crate::seal::VerifiedFrame;

/// Everything worth a warning, in words.
pub fn advice(frame: &VerifiedFrame) -> Vec<String> {
    let mut all: Vec<String> = doubts(frame.frame()).iter().map(ToString::to_string).collect();
    scope(frame, &mut all);
    reach(frame, &mut all);
    too_long::<Claude>(frame, &mut all);
    too_long::<Codex>(frame, &mut all);
    all
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
    for glob in globs().filter(|glob| glob.contains(['?', '[', '{'])) {
        all.push(format!("in the glob `{}` of the path scope nothing but `*` and `**` is special", shown(glob)));
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

fn too_long<V: Vendor>(frame: &VerifiedFrame, all: &mut Vec<String>) {
    let text = frame.text();
    if V::measure(&text.whole()) > V::TEXT_LIMIT {
        let kept = text.within(V::TEXT_LIMIT, V::measure);
        let note = kept.lines().last().unwrap_or_default();
        all.push(format!("the instruction text is longer than {} carries; it ends with: {note}", V::PRODUCT));
    }
}
