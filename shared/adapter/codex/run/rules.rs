//! The machine's rules for commands.

use std::path::{Path, PathBuf};

use crate::adapter::run::Shadowed;
use crate::os;

/// The longest rules file that is read, in bytes.
const LONGEST_RULES: usize = 1024 * 1024;

/// Check the machine's command rules, which Codex reads in every launch (0.171.0): a command that one of them allows
/// runs outside the sandbox without asking anybody.
pub fn narrow(folder: &Path) -> Result<(), Shadowed> {
    let unread = |path: &Path, why: &str| {
        Shadowed::by(path.display(), format!("it cannot be read, so it is not known to be harmless: {why}"))
    };
    #[expect(clippy::disallowed_methods, reason = "the sentence names the folder")]
    let found = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unread(folder, &os::words(error))),
        Ok(found) => found,
    };
    let mut files: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "rules"));
    files.sort();
    files.iter().try_for_each(|file| {
        let bytes = os::read_bounded(file, LONGEST_RULES).map_err(|refusal| unread(file, &refusal.to_string()))?;
        match only_narrows(&String::from_utf8_lossy(&bytes)) {
            true => Ok(()),
            false => Err(Shadowed::by(
                file.display(),
                "it may allow a command, which then runs outside the sandbox without being asked about; take out what \
                 allows, or run where it is not",
            )),
        }
    })
}

/// Whether every rule in a file forbids or asks. The file is a program; if it is not plain, it counts as allowing, and
/// so does a rule without a decision, which the vendor counts as allowing too.
fn only_narrows(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let code: String = lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    let mut rules = code.split("prefix_rule");
    let narrows = |rule: &str| {
        let says =
            |word: &str| ["\"", "'"].iter().any(|quote| rule.contains(&format!("decision={quote}{word}{quote}")));
        is_one_call(rule) && rule.matches("decision").count() == 1 && (says("forbidden") || says("prompt"))
    };
    rules.next().is_some_and(str::is_empty) && rules.all(narrows)
}

/// Whether this is one pair of brackets with its content, and nothing else.
fn is_one_call(text: &str) -> bool {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) => quote = quote.filter(|_| c != open),
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => return at + 1 == text.len(),
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_allow_a_command_refuse_the_run() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("rules");
        fs_err::create_dir_all(&folder).unwrap();
        assert_eq!(narrow(&folder), Ok(()));
        for (text, harmless) in [
            ("", true),
            ("# prefix_rule(pattern=[\"touch\"])\n", true),
            ("prefix_rule(pattern=[\"rm\"], decision=\"forbidden\", justification=\"no\")\n", true),
            (
                "prefix_rule(\n    pattern = [\"rm\"],\n    decision = 'prompt',\n)\n# end\nprefix_rule(pattern=[\"a\"], decision=\"forbidden\")",
                true,
            ),
            ("prefix_rule(pattern=[\"touch\"], decision=\"allow\")", false),
            // a rule without a decision allows
            ("prefix_rule(pattern=[\"touch\"])", false),
            ("prefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\nprefix_rule(pattern=[\"touch\"])", false),
            (
                "prefix_rule(pattern=[\"rm\"], decision=\"forbidden\"); prefix_rule(pattern=[\"touch\"], decision=\"allow\")",
                false,
            ),
            ("p = prefix_rule\np(pattern=[\"touch\"])", false),
            ("network_rule(host=\"x\", decision=\"allow\")", false),
            ("prefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\nnetwork_rule(host=\"x\")", false),
        ] {
            fs_err::write(folder.join("default.rules"), text).unwrap();
            let found = narrow(&folder);
            assert_eq!(found.is_ok(), harmless, "{text}: {found:?}");
            assert!(found.err().is_none_or(|why| why.to_string().contains("default.rules")), "{text}");
        }
        fs_err::rename(folder.join("default.rules"), folder.join("notes.txt")).unwrap();
        assert_eq!(narrow(&folder), Ok(()));
    }
}
