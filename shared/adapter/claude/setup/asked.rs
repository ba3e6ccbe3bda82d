//! The report of Claude Code's own doctor on its settings: it knows every key whose value can disable a file.

use std::path::Path;
use std::process::Command;

use crate::adapter::claude::EVENTS;
use crate::adapter::setup::Objection;
use crate::os::release::{NoAnswer, said};

/// Ask about the settings that Claude Code reads if it starts in this folder.
///
/// # Errors
/// The program did not answer.
pub(super) fn asked(program: &Path, folder: &Path) -> Result<Vec<Objection>, NoAnswer> {
    let mut command = Command::new(program);
    command.arg("doctor").current_dir(folder);
    // it would start its servers, and look for a newer release
    for name in ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"] {
        command.env(name, "1");
    }
    Ok(objections(&said(command)?))
}

/// The list under `Invalid settings`, an objection a line: `- FILE › KEY: WHAT` (release 2.1.332).
fn objections(text: &str) -> Vec<Objection> {
    let lines = text.lines().skip_while(|line| line.trim() != "Invalid settings").skip(1);
    let listed = lines.take_while(|line| line.starts_with("- ") || line.starts_with(' '));
    let read = |line: &str| {
        let (file, rest) = line.strip_prefix("- ")?.split_once(" \u{203a} ").unwrap_or((line, ""));
        let (key, what) = rest.split_once(": ").unwrap_or(("", rest));
        // it ignores these alone, and reports that (measured); for a hook it reports the same, but ignores the hook's
        // good siblings too
        let alone = ["ignored", "was removed", "were removed", "was skipped", "hile it is present"];
        let ours = EVENTS.iter().any(|event| key.starts_with(&format!("hooks.{event}")));
        let whole = ours || !alone.iter().any(|words| what.contains(words));
        Some(Objection { file: file.into(), key: key.into(), what: what.into(), whole })
    };
    listed.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendors_words_are_read_and_what_it_passes_over_alone_is_told_from_a_whole_file() {
        let text = "Claude Code doctor\n\nInvalid settings\n\
             - /p/.claude/settings.json \u{203a} permissions.allow: Expected array, but received string\n  Suggested fix: x\n\
             - /p/.claude/settings.json \u{203a} enabledPlugins.a: Invalid input\n\
             - /p/.claude/settings.json \u{203a} permissions.allow: Invalid permission rule \"x((\" was skipped: y\n\
             - /p/.claude/settings.json \u{203a} deniedModels: \"deniedModels\" is only honored from managed settings and was ignored here.\n\
             - /p/.claude/settings.json \u{203a} hooks.PreToolUse.0.hooks.0: Invalid command hook; entry ignored.\n\
             - /p/.claude/settings.json \u{203a} hooks.Stop.0.hooks.0: Invalid command hook; entry ignored.\n\
             \nNo installation issues found.\n- not one of them\n";
        let found = objections(text);
        let whole: Vec<bool> = found.iter().map(|objection| objection.whole).collect();
        assert_eq!(whole, [true, true, false, false, true, false]);
        assert_eq!(found[0].line(), "/p/.claude/settings.json, permissions.allow: Expected array, but received string");
        assert!(objections("No installation issues found.").is_empty());
    }
}
