//! A page with its outputs written anew.

use regex_lite::Regex;

use crate::like::{ANY, alike, any_lines, line_alike};
use crate::{Page, Said};

/// The page, what is shown of each command replaced by what it printed. An ellipsis stays where what it stands in still
/// holds, as far as that can be told.
pub fn rewritten(page: &Page, said: &[Said]) -> String {
    let mut lines = page.lines.clone();
    for one in said.iter().rev() {
        let shown = page.shown(&one.step);
        let printed: Vec<&str> = one.output.lines().collect();
        if !alike(&shown, &printed) {
            lines.splice(one.step.shown.clone(), merged(&shown, &printed));
        }
    }
    lines.join("\n") + "\n"
}

/// What was printed, by the shown lines that still hold.
fn merged(shown: &[&str], printed: &[&str]) -> Vec<String> {
    // the longest row of shown lines that are printed lines, in order
    let width = printed.len() + 1;
    let mut best = vec![0_usize; (shown.len() + 1) * width];
    let holds = |at: usize, to: usize| !any_lines(shown[at]) && line_alike(shown[at], printed[to]);
    for at in (0..shown.len()).rev() {
        for to in (0..printed.len()).rev() {
            let pair = if holds(at, to) { 1 + best[(at + 1) * width + to + 1] } else { 0 };
            best[at * width + to] = pair.max(best[(at + 1) * width + to]).max(best[at * width + to + 1]);
        }
    }
    let (mut at, mut to) = (0, 0);
    let mut out = Vec::new();
    loop {
        // up to the next pair: shown lines that are gone, printed lines that are new
        let (from, since) = (at, to);
        while at < shown.len() || to < printed.len() {
            if at < shown.len()
                && to < printed.len()
                && holds(at, to)
                && best[at * width + to] == 1 + best[(at + 1) * width + to + 1]
            {
                break;
            }
            let skip =
                at < shown.len() && (to == printed.len() || best[(at + 1) * width + to] == best[at * width + to]);
            if skip { at += 1 } else { to += 1 }
        }
        out.extend(between(&shown[from..at], &printed[since..to]));
        if at == shown.len() && to == printed.len() {
            return out;
        }
        out.push(shown[at].to_string());
        (at, to) = (at + 1, to + 1);
    }
}

/// What takes the place of shown lines that do not hold: one that stands for any lines stays and takes all.
fn between(gone: &[&str], new: &[&str]) -> Vec<String> {
    if let Some(any) = gone.iter().find(|line| any_lines(line)) {
        return vec![any.to_string()];
    }
    let kept = |at: usize, line: &str| gone.get(at).and_then(|old| elided(old, line)).unwrap_or_else(|| steady(line));
    new.iter().enumerate().map(|(at, line)| kept(at, line)).collect()
}

/// A new line with the ellipses of the old one, where the words on both sides of each are still there.
fn elided(old: &str, line: &str) -> Option<String> {
    let parts: Vec<&str> = old.split(ANY).collect();
    let tail = |text: &'_ str| text.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect::<String>();
    let head = |text: &'_ str| text.chars().take(6).collect::<String>();
    let mut out = String::new();
    let mut rest = line;
    for pair in parts.windows(2) {
        let (left, right) = (tail(pair[0]), head(pair[1]));
        let begin = rest.find(&left)? + left.len();
        let end = if right.is_empty() { rest.len() } else { begin + rest[begin..].find(&right)? };
        out.push_str(&rest[..begin]);
        out.push(ANY);
        rest = &rest[end..];
    }
    (parts.len() > 1).then(|| out + rest)
}

/// A line with an ellipsis for what is another one at the next run: ids, times, durations.
pub fn steady(line: &str) -> String {
    let all = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "…"),
        (r#"("[a-z_]*_(?:ms|us)":)\d+"#, "${1}…"),
        (r"\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.]*Z", "…"),
        (r"\d+\.\d+ ms\b", "… ms"),
        (r"toolu_\w+", "toolu_…"),
        (r"mh-run-[0-9a-f][-\w]*", "mh-run-…"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:…"),
    ];
    all.iter().fold(line.to_string(), |line, (what, by)| match Regex::new(what) {
        Ok(what) => what.replace_all(&line, *by).into_owned(),
        Err(_) => line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_still_holds_stays_as_it_was_written() {
        assert_eq!(merged(&["a…", "b", "…", "d"], &["abc", "x", "1", "2", "d"]), ["a…", "…", "d"]);
        assert_eq!(merged(&["a", "b", "c"], &["a", "x", "c"]), ["a", "x", "c"]);
        assert_eq!(merged(&[], &["new"]), ["new"]);
        assert_eq!(merged(&["gone"], &[]), [""; 0]);
        assert_eq!(merged(&["…"], &["a", "b"]), ["…"]);
    }

    #[test]
    fn an_ellipsis_stays_where_the_words_beside_it_stay() {
        let old = "{\"id\":\"…\",\"code\":1}";
        assert_eq!(elided(old, "{\"id\":\"77\",\"code\":2}").unwrap(), "{\"id\":\"…\",\"code\":2}");
        assert_eq!(elided("took … ms", "it failed"), None);
        assert_eq!(elided("a", "b"), None);
    }

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        assert_eq!(
            steady("\"id\":\"01a22cec-0000-4000-8000-0123456789ab\",\"duration_ms\":932"),
            "\"id\":\"…\",\"duration_ms\":…"
        );
        assert_eq!(steady("time line 2.0 ms, program 1.6 ms"), "time line … ms, program … ms");
        assert_eq!(steady("step 2 of release, 30 s"), "step 2 of release, 30 s");
    }
}
