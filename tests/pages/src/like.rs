//! Is an output what a page shows? `…` stands for anything within a line; alone on a line, for any lines.

/// What stands for anything.
pub(crate) const ANY: char = '…';

pub(crate) fn any_lines(line: &str) -> bool {
    line.trim() == "…"
}

/// Whether a line that is shown is this line.
pub(crate) fn line_alike(shown: &str, line: &str) -> bool {
    let mut parts = shown.split(ANY);
    let Some(rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    let mut rest = rest;
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether the lines that are shown are these lines.
pub fn alike(shown: &[&str], lines: &[&str]) -> bool {
    // which of the lines the shown ones so far may have come to
    let mut ends = vec![false; lines.len() + 1];
    ends[0] = true;
    for one in shown {
        let before = ends.clone();
        for at in 0..ends.len() {
            ends[at] = match any_lines(one) {
                true => before[..=at].contains(&true),
                false => at > 0 && before[at - 1] && line_alike(one, lines[at - 1]),
            };
        }
    }
    ends[lines.len()]
}

/// For people: what is shown, and what was printed.
pub fn differs(shown: &[&str], lines: &[&str]) -> String {
    let same = shown.iter().zip(lines).take_while(|(one, line)| !any_lines(one) && line_alike(one, line)).count();
    let rest = |all: &[&str]| match all[same.min(all.len())..] {
        [] => "    (nothing more)".to_string(),
        ref all => all.iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"),
    };
    format!(
        "after {same} lines that are the same, the page shows\n{}\n  and this was printed\n{}",
        rest(shown),
        rest(lines)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_itself_but_for_what_an_ellipsis_stands_for() {
        assert!(line_alike("a", "a"));
        assert!(!line_alike("a", "a "));
        assert!(line_alike("…", ""));
        assert!(line_alike("a…c", "abc"));
        assert!(!line_alike("a…c", "abcd"));
        assert!(!line_alike("ab…bc", "abc"), "no letter counts twice");
        assert!(line_alike("a…b…c", "a1b2b3c"));
        assert!(line_alike("…z", "z z"));
        assert!(!line_alike("{…}", "{"));
    }

    #[test]
    fn lines_are_themselves_but_for_those_that_an_ellipsis_stands_for() {
        assert!(alike(&[], &[]));
        assert!(!alike(&[], &["a"]));
        assert!(!alike(&["a"], &[]));
        assert!(alike(&["…"], &[]));
        assert!(alike(&["a", "…", "d"], &["a", "b", "c", "d"]));
        assert!(alike(&["a", "  …", "b"], &["a", "b"]));
        assert!(!alike(&["a", "…", "d"], &["a", "b", "c"]));
        assert!(alike(&["…", "b", "…"], &["a", "b", "b", "c"]));
        assert!(!alike(&["a", "b"], &["b", "a"]));
    }
}
