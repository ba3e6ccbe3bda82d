//! The path scope of a frame (`subjects`): the rule that decides about a path.
//!
//! The scope only narrows: it is asked after the operations. A path is known by several spellings, so that no spelling
//! is a way round a rule.

mod glob;

pub(crate) use glob::covers;
pub use glob::matches;

use std::path::{Component, Path, PathBuf};

use crate::frame::{Operation, ScopeRule};

/// A path in every spelling that a rule may be written for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spelled {
    /// The absolute path with links resolved on the longest part that exists, and the same path relative to the project
    /// folder.
    pub resolved: Vec<String>,
    /// The path as the call writes it, made absolute and folded, and the same path relative to the project folder.
    pub other: Vec<String>,
}

/// The path with `.` and `..` taken out by their letters alone; no link is looked at.
pub(crate) fn fold(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(folded.pop()),
            Component::CurDir => {}
            part => folded.push(part),
        }
    }
    folded
}

/// The scope's answer about one operation on one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling<'a> {
    /// No rule matches.
    Silent,
    Admitted,
    Refused {
        /// Counted from 1.
        rule: usize,
        glob: &'a str,
    },
}

/// The answer of the first rule that matches. A rule that would admit the operation has to match a resolved spelling; a
/// rule that would refuse it matches any spelling.
pub(crate) fn judge<'a>(rules: &'a [ScopeRule], operation: &Operation, path: &Spelled) -> Ruling<'a> {
    let hit = |glob: &str, spellings: &[String]| {
        glob.strip_prefix("file:").is_some_and(|glob| spellings.iter().any(|path| matches(glob, path)))
    };
    for (index, rule) in rules.iter().enumerate() {
        let admits = rule.operations.contains(operation);
        let matched =
            rule.subjects.iter().find(|glob| hit(glob, &path.resolved) || (!admits && hit(glob, &path.other)));
        match matched {
            Some(_) if admits => return Ruling::Admitted,
            Some(glob) => return Ruling::Refused { rule: index + 1, glob },
            None => {}
        }
    }
    Ruling::Silent
}

/// The rules that never decide, each with the earlier rule that decides in its place: that rule's globs cover every
/// glob of this one. Counted from 1.
pub(crate) fn covered(rules: &[ScopeRule]) -> Vec<(usize, usize)> {
    let is_covered = |glob: &String, by: &ScopeRule| by.subjects.iter().any(|wide| covers(wide, glob));
    let by = |(at, rule): (usize, &ScopeRule)| {
        let mut before = rules[..at].iter().enumerate().filter(|_| !rule.subjects.is_empty());
        let (first, _) = before.find(|(_, wide)| rule.subjects.iter().all(|glob| is_covered(glob, wide)))?;
        Some((at + 1, first + 1))
    };
    // each rule is compared with all rules before it; a list that a person wrote is shorter
    rules.iter().enumerate().take(MOST_RULES).filter_map(by).collect()
}

/// The most rules that [`covered`] looks at.
const MOST_RULES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(glob: &str, operations: &[Operation]) -> ScopeRule {
        ScopeRule { subjects: vec![glob.into()], operations: operations.iter().cloned().collect() }
    }

    fn at(resolved: &str, other: &str) -> Spelled {
        Spelled { resolved: vec![resolved.into()], other: vec![other.into()] }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules = [rule("file:src/*", &[Operation::FileEdit]), rule("file:**", &[Operation::FileRead])];
        let path = at("src/a.rs", "src/a.rs");
        assert_eq!(judge(&rules, &Operation::FileEdit, &path), Ruling::Admitted);
        assert_eq!(judge(&rules, &Operation::FileRead, &path), Ruling::Refused { rule: 1, glob: "file:src/*" });
        assert_eq!(judge(&rules, &Operation::FileRead, &at("b", "b")), Ruling::Admitted);
        assert_eq!(judge(&[], &Operation::FileRead, &path), Ruling::Silent);
    }

    #[test]
    fn a_rule_admits_only_where_the_path_really_leads() {
        let admits = [rule("file:src/**", &[Operation::FileEdit])];
        assert_eq!(judge(&admits, &Operation::FileEdit, &at("etc/passwd", "src/link")), Ruling::Silent);
        let refuses = [rule("file:secret/**", &[]), rule("file:**", &[Operation::FileEdit])];
        let refused = Ruling::Refused { rule: 1, glob: "file:secret/**" };
        assert_eq!(judge(&refuses, &Operation::FileEdit, &at("open/a", "secret/a")), refused);
        assert_eq!(judge(&refuses, &Operation::FileEdit, &at("secret/a", "open/a")), refused);
    }

    #[test]
    fn a_rule_behind_a_wider_one_never_decides() {
        let rules = [rule("file:**", &[Operation::FileRead]), rule("file:secret/**", &[])];
        assert_eq!(covered(&rules), [(2, 1)]);
        let rules = [rule("file:secret/**", &[]), rule("file:**", &[Operation::FileRead]), rule("file:a", &[])];
        assert_eq!(covered(&rules), [(3, 2)]);
        let mut both = rule("file:a/**", &[]);
        both.subjects.push("file:b/**".into());
        let rules = [rule("file:a/**", &[]), rule("file:b/**", &[]), both];
        assert_eq!(covered(&rules), [], "no single rule covers both globs");
    }

    #[test]
    fn a_glob_of_another_scheme_or_of_none_matches_no_path() {
        for glob in ["proc:**", "**", "src/**", ""] {
            assert_eq!(judge(&[rule(glob, &[])], &Operation::FileEdit, &at("src/a", "src/a")), Ruling::Silent);
        }
    }
}
