//! Payloads of every size and make, and frames to judge them by.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A payload of Claude Code for this tool, its input given as JSON.
pub fn payload(tool: &str, input: &str) -> Vec<u8> {
    format!(
        r#"{{"session_id":"s","transcript_path":"/t","cwd":"/","prompt_id":"p","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{input},"tool_use_id":"toolu_1"}}"#
    )
    .into_bytes()
}

/// A Write of so many bytes, as one plain string.
pub fn plain(bytes: usize) -> Vec<u8> {
    payload("Write", &format!(r#"{{"file_path":"/x/a.txt","content":"{}"}}"#, "x".repeat(bytes)))
}

/// The same of code: quotes, line breaks, tabs, as JSON escapes them.
pub fn code(bytes: usize) -> Vec<u8> {
    let line = r#"\tlet name = \"value\"; // the reason, in a few words\n"#;
    payload("Write", &format!(r#"{{"file_path":"/x/a.rs","content":"{}"}}"#, line.repeat(bytes / line.len())))
}

/// A patch of Codex that adds a file of so many bytes.
pub fn patch(bytes: usize) -> Vec<u8> {
    let line = r#"+\tlet name = \"value\"; // the reason, in a few words\n"#;
    let patch = format!(r"*** Begin Patch\n*** Add File: a.rs\n{}*** End Patch", line.repeat(bytes / line.len()));
    format!(
        r#"{{"session_id":"s","turn_id":"t","cwd":"/","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{{"command":"{patch}"}},"tool_use_id":"c"}}"#
    )
    .into_bytes()
}

/// As many tokens as go into so many bytes.
pub fn dense(bytes: usize) -> Vec<u8> {
    let item = r#"{"a":1,"b":[2,null,true]},"#;
    payload("Write", &format!(r#"{{"file_path":"/x/a","content":[{}0]}}"#, item.repeat(bytes / item.len())))
}

/// As many keys of one object as go into so many bytes, in no order.
pub fn keys(bytes: usize) -> Vec<u8> {
    let mut object = String::with_capacity(bytes + 16);
    for key in 0_u32.. {
        object.push_str(&format!("\"{:08x}\":0,", key.wrapping_mul(0x9E37_79B9)));
        if object.len() >= bytes {
            break;
        }
    }
    payload("Write", &format!(r#"{{"file_path":"/x/a","content":{{{object}"z":0}}}}"#))
}

/// Seal a frame with these flags besides the needed ones.
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

/// Seal a frame of about so many bytes on disk: obligations, from a document.
pub fn large_frame(bin: &str, scratch: &Path, bytes: usize) -> Result<PathBuf, String> {
    let line = r#"{"text":"what must hold here, said at some length so that it is worth a line","asked_by":null},"#;
    // two spaces a level and a member a line
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
