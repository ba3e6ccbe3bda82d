//! The entries that make Codex run the hook, and the hashes by which it trusts them.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::adapter::Registration;
use crate::adapter::codex::CONTEXT_TOKENS;
use crate::adapter::setup::terms::{EntryTerms, unquoted};
use crate::seal::Digest;

/// The events that the guard must hear, with their names in trust keys.
pub const EVENTS: [(&str, &str); 5] = [
    ("PreToolUse", "pre_tool_use"),
    ("PermissionRequest", "permission_request"),
    ("UserPromptSubmit", "user_prompt_submit"),
    ("SessionStart", "session_start"),
    ("SubagentStart", "subagent_start"),
];

/// The features that the guard needs, with their values: hooks on, and terminals off, since no hook sees input typed
/// into one.
pub const FEATURES: [(&str, bool); 2] = [("hooks", true), ("unified_exec_tty", false)];

/// The vendor's name for the file of settings from the command line.
pub const SESSION: &str = "/<session-flags>/config.toml";

/// The seconds of an entry with this command in a file. They lie above those that `timeout` gives the hook, which lie
/// above the deadline on the hook's line: when the vendor's time runs out, the call runs.
fn limit(command: &str) -> u32 {
    let words = parts(command).and_then(|parts| unquoted(parts.words)).unwrap_or_default();
    let line = words.split_first().and_then(|(program, flags)| Some(EntryTerms::of(flags)?.registration(program)));
    line.map_or(Registration::PATIENCE + 10, |line| line.timeout())
}

const LIMITS: [&str; 2] = ["/usr/bin/timeout", "/bin/timeout"];

/// The words of `timeout` for a hook with this many seconds.
fn limit_words(patience: u32) -> String {
    format!(" -k 1 {} ", patience + 5)
}

/// The head of the line. In POSIX mode, which a plain assignment switches on, bash finds `unset` and `exit` before
/// functions of these names; `echo` comes after a function, so that function is removed. Without the head, a function
/// in the environment (`BASH_FUNC_exit%%`) answers for the line (bash 5.2; zsh and dash take no functions from it).
const HEAD: &str = "POSIXLY_CORRECT=1; unset -f echo 2>/dev/null; ";

const END: &str = " || { echo '(this call was not run)' >&2; exit 2; }";

/// The command of an entry.
///
/// Codex runs a call if its hook fails, so the line turns every failure into exit 2. It always writes a text then: exit
/// 2 counts only with text on stderr, and the hook's own may be lost.
pub fn command(line: &Registration) -> String {
    let limit = LIMITS.into_iter().find(|path| Path::new(path).is_file());
    let limit = limit.map(|path| format!("{path}{}", limit_words(line.patience))).unwrap_or_default();
    format!("{HEAD}{limit}{}{END}", line.shell_words())
}

/// The parts of a command that [`command`] built for a file, in this release or an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The hook's own words.
    pub words: &'a str,
    /// Whether functions in the environment are kept from answering for the line; so from 0.1.1 on.
    pub sealed_off: bool,
    /// The program that limits the hook's time, if there is one.
    pub limit: Option<&'static str>,
    /// The hook's own seconds by that limit.
    pub patience: Option<u32>,
}

/// Split a command, if it has the form of [`command`] in this release or in 0.1.0.
pub fn parts(command: &str) -> Option<Parts<'_>> {
    let words = command.strip_suffix(END)?;
    let (sealed_off, words) = match words.strip_prefix(HEAD) {
        Some(words) => (true, words),
        None => (false, words),
    };
    let limited = |path: &'static str| {
        let (seconds, rest) = words.strip_prefix(path)?.strip_prefix(" -k 1 ")?.split_once(' ')?;
        let patience = seconds.parse::<u32>().ok()?.checked_sub(5)?;
        limit_words(patience).trim_end().ends_with(&format!(" {seconds}")).then_some((path, patience, rest))
    };
    Some(match LIMITS.into_iter().find_map(limited) {
        Some((path, patience, words)) => Parts { words, sealed_off, limit: Some(path), patience: Some(patience) },
        None => Parts { words, sealed_off, limit: None, patience: None },
    })
}

#[derive(Serialize)]
struct HookIdentity<'a> {
    event_name: &'a str,
    hooks: [Handler<'a>; 1],
}

/// The keys in sorted order, as in the hash.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Handler<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context_limit: Option<u32>,
    r#async: bool,
    command: &'a str,
    timeout: u32,
    r#type: &'a str,
}

/// The `additionalContextLimit` of this event's entry, by either of its names. An event without context must have none:
/// the vendor then ignores the key with a complaint and leaves it out of the hash, so an entry whose hash has it is not
/// trusted and never runs (release 0.171.0, measured).
fn context_limit(event: &str) -> Option<u32> {
    (!matches!(event, "permission_request" | "PermissionRequest")).then_some(CONTEXT_TOKENS)
}

/// The hash by which Codex trusts an entry of ours in a file.
pub fn trusted_hash(event: &str, command: &str) -> String {
    hash(event, command, limit(command))
}

/// The hash by which Codex trusts an entry of ours at this event: over compact JSON with sorted keys and the effective
/// timeout (release 0.171.0, compared with its own `hooks/list`).
fn hash(event: &str, command: &str, timeout: u32) -> String {
    let handler =
        Handler { additional_context_limit: context_limit(event), r#async: false, command, timeout, r#type: "command" };
    let identity = serde_json::to_vec(&HookIdentity { event_name: event, hooks: [handler] }).unwrap_or_default();
    format!("sha256:{}", Digest::of(&identity))
}

/// The key of a trust: the file's absolute path, the event's other name, and the entry's two numbers in it.
pub fn trust_key(config: &str, event: &str, group: usize, entry: usize) -> String {
    format!("{config}:{event}:{group}:{entry}")
}

/// The tables of an entry.
pub fn group(event: &str, command: &str) -> String {
    let context = context_limit(event).map(|limit| format!("additionalContextLimit = {limit}\n")).unwrap_or_default();
    format!(
        "[[hooks.{event}]]\n\n[[hooks.{event}.hooks]]\ntype = \"command\"\ncommand = {}\ntimeout = {}\n{context}",
        basic(command),
        limit(command)
    )
}

/// The table of a trust. It states that the entry is on: otherwise a `-c` that is merged with it could silently switch
/// the entry off.
pub fn trust(key: &str, hash: &str) -> String {
    format!("[hooks.state.{}]\ntrusted_hash = {}\nenabled = true\n", basic(key), basic(hash))
}

/// The part of a `config.toml` with the entries and their trust. `config` is the absolute path of that file, which the
/// trust's keys contain; the entries must be the first of their events there.
pub fn config(line: &Registration, config: &str) -> String {
    let command = command(line);
    let mut out = features();
    for (event, _) in EVENTS {
        let _ = write!(out, "\n{}", group(event, &command));
    }
    for (_, event) in EVENTS {
        let _ = write!(out, "\n{}", trust(&trust_key(config, event, 0, 0), &trusted_hash(event, &command)));
    }
    out
}

/// The values of `-c` that give one session the entries, their trust, and the two features that the guard needs. They
/// override a trusted project, and hold through every change of a file.
pub fn session(line: &Registration) -> Vec<String> {
    let (command, timeout) = (command(line), line.timeout());
    let mut values: Vec<String> = FEATURES.iter().map(|(key, on)| format!("features.{key}={on}")).collect();
    let mut state = Vec::new();
    for (event, trusted) in EVENTS {
        let limit = context_limit(trusted).map(|limit| format!("additionalContextLimit={limit},")).unwrap_or_default();
        values.push(format!(
            "hooks.{event}=[{{hooks=[{{type=\"command\",timeout={timeout},{limit}command={}}}]}}]",
            basic(&command)
        ));
        let key = basic(&trust_key(SESSION, trusted, 0, 0));
        // without an `enabled` of ours, the one in the user's own configuration would count
        state.push(format!("{key}={{trusted_hash=\"{}\",enabled=true}}", hash(trusted, &command, timeout)));
    }
    values.push(format!("hooks.state={{{}}}", state.join(",")));
    values
}

/// A `requirements.toml` with entries that need no trust. Nobody's configuration can switch them off, since the
/// features are pinned beside them, and every other hook is shut out.
pub fn managed(line: &Registration) -> String {
    let command = command(line);
    let mut out = format!("allow_managed_hooks_only = true\n\n{}", features());
    for (event, _) in EVENTS {
        let _ = write!(out, "\n{}", group(event, &command));
    }
    out
}

fn features() -> String {
    FEATURES.into_iter().fold("[features]\n".into(), |out, (key, on)| format!("{out}{key} = {on}\n"))
}

/// A TOML basic string.
pub fn basic(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}
