//! Payloads of any size and kind, and frames to judge them by.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A payload of Claude Code. `input` is JSON.
pub fn payload(tool: &str, input: &str) -> Vec<u8> {
    format!(
        r#"{{"session_id":"s","transcript_path":"/t","cwd":"/","prompt_id":"p","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{input},"tool_use_id":"toolu_1"}}"#
    )
    .into_bytes()
}

/// A Write with one plain string.
pub fn plain(bytes: usize) -> Vec<u8> {
    payload("Write", &format!(r#"{{"file_path":"/x/a.txt","content":"{}"}}"#, "x".repeat(bytes)))
}

/// A Write of code, with quotes, line breaks and tabs as JSON escapes them.
pub fn code(bytes: usize) -> Vec<u8> {
    let line = r#"\tlet name = \"value\"; // the reason, in a few words\n"#;
    payload("Write", &format!(r#"{{"file_path":"/x/a.rs","content":"{}"}}"#, line.repeat(bytes / line.len())))
}

/// A Codex patch that adds one file.
pub fn patch(bytes: usize) -> Vec<u8> {
    let line = r#"+\tlet name = \"value\"; // the reason, in a few words\n"#;
    let patch = format!(r"*** Begin Patch\n*** Add File: a.rs\n{}*** End Patch", line.repeat(bytes / line.len()));
    format!(
        r#"{{"session_id":"s","turn_id":"t","cwd":"/","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{{"command":"{patch}"}},"tool_use_id":"c"}}"#
    )
    .into_bytes()
}

/// A payload with as many JSON tokens as fit.
pub fn dense(bytes: usize) -> Vec<u8> {
    let item = r#"{"a":1,"b":[2,null,true]},"#;
    payload("Write", &format!(r#"{{"file_path":"/x/a","content":[{}0]}}"#, item.repeat(bytes / item.len())))
}

/// A payload with as deep nesting as fits.
pub fn nests(bytes: usize) -> Vec<u8> {
    let item = format!("{}{},", "[".repeat(100), "]".repeat(100));
    payload("Write", &format!(r#"{{"file_path":"/x/a","content":[{}0]}}"#, item.repeat(bytes / item.len())))
}

/// A payload with one object of as many members as fit. `keys` are in JSON.
fn object(bytes: usize, keys: impl Iterator<Item = String>) -> Vec<u8> {
    let mut object = String::with_capacity(bytes + 1024);
    for key in keys {
        object.push_str(&format!("{key}:0,"));
        if object.len() >= bytes {
            break;
        }
    }
    payload("Write", &format!(r#"{{"file_path":"/x/a","content":{{{object}"":0}}}}"#))
}

/// Keys of eight letters in random order.
pub fn keys(bytes: usize) -> Vec<u8> {
    object(bytes, (0_u32..).map(|key| format!("\"{:08x}\"", key.wrapping_mul(0x9E37_79B9))))
}

/// Keys that are as short as so many different keys can be.
pub fn short_keys(bytes: usize) -> Vec<u8> {
    let letters: Vec<char> = (' '..='~').filter(|c| !['"', '\\'].contains(c)).collect();
    let key = |mut number: usize| {
        let mut key = String::new();
        loop {
            key.push(letters[number % letters.len()]);
            number /= letters.len();
            if number == 0 {
                return format!("\"{key}\"");
            }
            number -= 1;
        }
    };
    object(bytes, (0..).map(key))
}

/// Keys that begin with the same 60 escapes.
pub fn escaped_keys(bytes: usize) -> Vec<u8> {
    let head = r"\u0061".repeat(60);
    object(bytes, (0..).map(|key| format!("\"{head}{key}\"")))
}

/// Keys that begin with the same 700 bytes.
pub fn long_keys(bytes: usize) -> Vec<u8> {
    let head = "h".repeat(700);
    object(bytes, (0..).map(|key| format!("\"{head}{key}\"")))
}

/// Keys with the same hash under FxHash, which has no secret and is used in compilers. In each key of 16 bytes, the
/// last 8 undo the effect of the first 8.
pub fn colliding_keys(bytes: usize) -> Vec<u8> {
    const MULTIPLIER: u64 = 0x517c_c1b7_2722_0a95;
    let keys = (0_u32..).filter_map(|key| {
        let first = format!("{key:08x}");
        let word = first.bytes().rev().fold(0, |word, byte| word << 8 | u64::from(byte));
        let second = (word.wrapping_mul(MULTIPLIER).rotate_left(5) ^ 1).to_le_bytes();
        // only ASCII characters take one byte each
        let second = std::str::from_utf8(&second).ok().filter(|second| second.is_ascii())?;
        serde_json::to_string(&format!("{first}{second}")).ok()
    });
    object(bytes, keys)
}

/// Seal a frame with these flags added to the needed ones.
pub fn frame(bin: &str, scratch: &Path, name: &str, flags: &[String]) -> Result<PathBuf, String> {
    let file = scratch.join(name);
    let done = Command::new(format!("{bin}/mh-frame-seal"))
        .args(["--new", "--workflow", "w", "--version", "1", "--state", "s", "--step", "1", "--handoff-none"])
        .args(flags)
        .arg("-o")
        .arg(&file)
        .status()
        .map_err(|error| error.to_string())?;
    if done.success() { Ok(file) } else { Err(format!("could not seal {name}")) }
}

/// Seal a document with so many obligations that it takes about this size on disk.
pub fn large_frame(bin: &str, scratch: &Path, bytes: usize) -> Result<PathBuf, String> {
    let line = r#"{"text":"what must hold here, said at some length so that it is worth a line","asked_by":null},"#;
    // on disk, each level is indented by two spaces and each member has a line
    let on_disk = line.len() + 31;
    let lines = line.repeat(bytes / on_disk);
    let document = format!(
        r#"{{"workflow":{{"id":"w","version":"1"}},"node":{{"id":"s"}},"step":{{"workflow":"w","state":"s","index":1,"attempt":1}},"prior":[],"obligations":[{}],"reaching":[],"next":[],"handoff":{{"handoff":"none"}},"operations":[{{"op":"file.write"}}]}}"#,
        lines.trim_end_matches(',')
    );
    let (source, file) = (scratch.join("unsealed.json"), scratch.join(format!("frame-{bytes}.json")));
    std::fs::write(&source, document).map_err(|error| error.to_string())?;
    let done = Command::new(format!("{bin}/mh-frame-seal")).arg(&source).arg("-o").arg(&file).status();
    if done.is_ok_and(|status| status.success()) { Ok(file) } else { Err("could not seal a large frame".into()) }
}
