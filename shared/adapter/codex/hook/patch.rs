//! The changes that a patch makes, file by file.
//!
//! The vendor's own reader tolerates blanks around a header, so every line that could be a header is taken for one,
//! unless it plainly adds or removes text. Taking too many lines for headers only denies more.

use crate::adapter::{LONGEST, MOST_BYTES, MOST_PATHS, Payload, RawAsks, RawNeed};
use crate::frame::Operation::{FileEdit, FileWrite};

/// The operations that a patch needs: `file.write` for an added or deleted file, `file.edit` for an updated one, both
/// for both ends of a move. A text without a file changes none, but needs both all the same.
pub fn asks(call: &Payload<'_>) -> RawAsks {
    let Some(lines) = call.input.lines("command", &['+', '-']) else {
        return RawAsks::Inadmissible("has no `command` that is a string, so its patch cannot be read".into());
    };
    let mut needs = Vec::new();
    let mut updated: Option<String> = None;
    let mut bytes = 0;
    for line in lines.filter(|line| !line.starts_with(['+', '-'])) {
        // whether other white space at the end is stripped is unknown, so it stays, and the path is denied for it
        let ends = line.trim_start().trim_end_matches([' ', '\t', '\r']);
        let Some(header) = ends.strip_prefix("*** ") else { continue };
        let (word, file) = header.split_once(':').unwrap_or((header, ""));
        let file = file.strip_prefix(' ').unwrap_or(file);
        // The vendor takes a second blank as the path's first character (0.171.0, measured), so dropping it would judge
        // another file. No real name begins so, and the path is denied.
        let word = if file.starts_with(char::is_whitespace) { "" } else { word.trim() };
        bytes += file.len();
        if file.len() > LONGEST {
            return RawAsks::Inadmissible(RawNeed::too_long());
        }
        if needs.len() > MOST_PATHS || bytes > MOST_BYTES {
            // more paths than are judged are not kept
            return RawAsks::Inadmissible(RawNeed::too_many());
        }
        match (word, file) {
            ("Add File", file) if !file.is_empty() => needs.push(RawNeed::on(FileWrite, file)),
            ("Delete File", file) if !file.is_empty() => needs.push(RawNeed::taking(FileWrite, file)),
            ("Update File", file) if !file.is_empty() => {
                needs.push(RawNeed::on(FileEdit, file));
                updated = Some(file.into());
            }
            ("Move to", file) if !file.is_empty() => {
                needs.extend(updated.take().map(|from| RawNeed::taking(FileWrite, from)));
                needs.extend([RawNeed::on(FileEdit, file), RawNeed::on(FileWrite, file)]);
            }
            ("Begin Patch" | "End Patch" | "End of File", "") => {}
            _ => {
                return RawAsks::Inadmissible(format!(
                    "has the patch header `{}`, of which it is not known what it changes",
                    header.chars().take(60).collect::<String>().escape_default()
                ));
            }
        }
    }
    if needs.is_empty() {
        needs = vec![RawNeed::of(FileEdit), RawNeed::of(FileWrite)];
    }
    RawAsks::Needs(needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Input, PathKind};
    use crate::frame::Operation;

    /// The needs of a patch, one a line, or the reason why nothing admits it.
    fn asked(patch: &str) -> Result<Vec<String>, String> {
        let input = serde_json::json!({ "command": patch }).to_string();
        match asks(&Payload {
            input: Input::read(&input, crate::adapter::codex::Codex::FACTS.payload.asked).unwrap(),
            ..Payload::default()
        }) {
            RawAsks::Needs(needs) => Ok(needs
                .iter()
                .map(|need| match &need.path {
                    Some(path) if path.kind == PathKind::Entry => {
                        format!("{} entry {}", need.wanted.words(), path.written)
                    }
                    Some(path) => format!("{} {}", need.wanted.words(), path.written),
                    None => need.wanted.words(),
                })
                .collect()),
            RawAsks::Inadmissible(why) => Err(why),
            RawAsks::Conversation => Err("conversation".into()),
        }
    }

    #[test]
    fn every_file_of_a_patch_needs_what_is_done_to_it() {
        let patch = "*** Begin Patch\n*** Add File: a b\n+*** Delete File: no\n*** Update File: c\n*** Move to: d\n@@\n-*** Add File: no\n+x\n\
                     *** End of File\n *** Delete File: e \n*** Update File: f\n*** End Patch\n";
        let wanted = ["file.write a b", "file.edit c", "file.write entry c", "file.edit d", "file.write d"];
        let more = ["file.write entry e", "file.edit f"];
        assert_eq!(asked(patch).unwrap(), [&wanted[..], &more].concat());
        // a move without a source is a move all the same
        assert_eq!(asked("*** Move to: d").unwrap(), ["file.edit d", "file.write d"]);
        for nothing in ["", "*** Begin Patch\n*** End Patch", "no patch at all"] {
            assert_eq!(asked(nothing).unwrap(), [Operation::FileEdit.name(), Operation::FileWrite.name()], "{nothing}");
        }
    }

    #[test]
    fn a_patch_of_more_than_is_judged_asks_for_nothing_and_one_of_less_for_all_of_it() {
        let files = |count: usize, length: usize| {
            (0..count).map(|n| format!("*** Delete File: {n:0length$}\n")).collect::<String>()
        };
        assert_eq!(asked(&files(MOST_PATHS, 8)).unwrap().len(), MOST_PATHS);
        let many = RawNeed::too_many();
        for patch in [files(MOST_PATHS + 10, 8), files(MOST_BYTES / LONGEST + 1, LONGEST)] {
            assert_eq!(asked(&patch), Err(many.clone()));
        }
        assert_eq!(asked(&files(1, LONGEST)).unwrap().len(), 1);
        assert_eq!(asked(&files(1, LONGEST + 1)), Err(RawNeed::too_long()));
    }

    #[test]
    fn a_header_that_leaves_a_doubt_is_none() {
        for header in [
            "Add File:",
            "Update File:",
            "Delete File: ",
            "Move to:",
            "Add File:  a",
            "Delete File:\ta",
            "Rename File: a",
            "Begin Patch: a",
            "End Patch x",
            "add file: a",
        ] {
            let why = asked(&format!("*** Add File: a\n*** {header}")).unwrap_err();
            assert!(why.contains("of which it is not known what it changes"), "{header}: {why}");
        }
        let input =
            Input::read(r#"{"command": ["*** Add File: a"]}"#, crate::adapter::codex::Codex::FACTS.payload.asked)
                .unwrap();
        let asks = asks(&Payload { input, ..Payload::default() });
        assert_eq!(
            asks,
            RawAsks::Inadmissible("has no `command` that is a string, so its patch cannot be read".into())
        );
    }
}
