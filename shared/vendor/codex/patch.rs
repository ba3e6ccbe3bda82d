//! What a patch does, file by file.
//!
//! The vendor's own reader is lenient about blanks around a header, so every line that could be
//! one is taken for one, unless it plainly adds or removes text. Taking too many only narrows.

use crate::frame::Operation::{FileEdit, FileWrite};
use crate::vendor::{Payload, RawAsks, RawNeed};

/// The operations that a patch needs: `file.write` for an added and for a deleted file,
/// `file.edit` for an updated one, both for both ends of a move. A text that names no file changes
/// none; it needs both all the same.
pub fn asks(call: &Payload<'_>) -> RawAsks {
    let Some(lines) = call.input.lines("command", &['+', '-']) else {
        return RawAsks::Nothing("has no `command` that is a string, so its patch cannot be read".into());
    };
    let mut needs = Vec::new();
    let mut updated: Option<String> = None;
    for line in lines.filter(|line| !line.starts_with(['+', '-'])) {
        let Some(header) = line.trim().strip_prefix("*** ") else { continue };
        let (word, file) = header.split_once(':').unwrap_or((header, ""));
        let file = file.strip_prefix(' ').unwrap_or(file);
        // The vendor takes a second blank for the path's first character (0.171.0, measured): who
        // drops it judges another file. No name is worth the doubt.
        let word = if file.starts_with(char::is_whitespace) { "" } else { word.trim() };
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
                return RawAsks::Nothing(format!(
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
