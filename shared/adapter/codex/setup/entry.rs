//! The entries that make Codex run the hook, and the hashes by which it trusts them.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::adapter::Registration;
use crate::adapter::codex::CONTEXT_TOKENS;
use crate::adapter::setup::terms::{EntryTerms, unquoted};
use crate::seal::Digest;

/// The events that the guard has to hear, with the names that trust goes by.
pub const EVENTS: [(&str, &str); 5] = [
    ("PreToolUse", "pre_tool_use"),
    ("PermissionRequest", "permission_request"),
    ("UserPromptSubmit", "user_prompt_submit"),
    ("SessionStart", "session_start"),
    ("SubagentStart", "subagent_start"),
];

/// The features that the guard needs, and how they have to stand: hooks at all, and no terminal,
/// since what is typed into one is seen by no hook.
pub const FEATURES: [(&str, bool); 2] = [("hooks", true), ("unified_exec_tty", false)];

/// By what name the vendor calls the file in which settings of the command line would stand.
pub const SESSION: &str = "/<session-flags>/config.toml";

/// Seconds that the vendor gives an entry of a file with this command, above those that `timeout` gives the hook, above
/// the deadline that is on the hook's line: when the vendor's run out, the call runs.
fn limit(command: &str) -> u32 {
    let words = parts(command).and_then(|parts| unquoted(parts.words)).unwrap_or_default();
    let line = words.split_first().and_then(|(program, flags)| Some(EntryTerms::of(flags)?.registration(program)));
    line.map_or(Registration::PATIENCE + 10, |line| line.timeout())
}

const LIMITS: [&str; 2] = ["/usr/bin/timeout", "/bin/timeout"];

/// The words behind `timeout`, for a hook that may take so many seconds.
fn limit_words(patience: u32) -> String {
    format!(" -k 1 {} ", patience + 5)
}

/// The head of the line. In its POSIX mode, which a plain assignment switches on, bash finds `unset` and `exit`
/// before any function of that name; `echo` it finds after one, so that is taken out. Without this a function of the
/// environment (`BASH_FUNC_exit%%`) answers for the line (bash 5.2; zsh and dash take none from there).
const HEAD: &str = "POSIXLY_CORRECT=1; unset -f echo 2>/dev/null; ";

const END: &str = " || { echo '(this call was not run)' >&2; exit 2; }";

/// The command of an entry.
///
/// Codex lets a call run when its hook fails, so the line turns every failure into exit 2. The
/// text after it is unconditional: exit 2 counts only with something on stderr, and the hook's own
/// may be lost.
pub fn command(line: &Registration) -> String {
    let limit = LIMITS.into_iter().find(|path| Path::new(path).is_file());
    let limit = limit.map(|path| format!("{path}{}", limit_words(line.patience))).unwrap_or_default();
    format!("{HEAD}{limit}{}{END}", line.shell_words())
}

/// A command, taken apart: one that [`command`] builds for a file, by this release or an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The hook's own words.
    pub words: &'a str,
    /// Functions of the environment are kept from answering for the line: from 0.1.1 on.
    pub sealed_off: bool,
    /// The program that limits the hook's time, where there is one.
    pub limit: Option<&'static str>,
    /// The seconds that the hook itself has by that limit.
    pub patience: Option<u32>,
}

/// Take a command apart, if it is built as [`command`] builds it, or built it in 0.1.0.
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

/// Keys in sorted order, as the hash has them.
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

/// The `additionalContextLimit` of the entry of this event, by either of its names. An event that takes no context
/// must have none: the vendor then ignores the key with a complaint, leaves it out of the hash as
/// well, and an entry whose hash has it is not trusted and never runs (release 0.171.0, measured).
fn context_limit(event: &str) -> Option<u32> {
    (!matches!(event, "permission_request" | "PermissionRequest")).then_some(CONTEXT_TOKENS)
}

/// The hash by which Codex trusts an entry of ours in a file.
pub fn trusted_hash(event: &str, command: &str) -> String {
    hash(event, command, limit(command))
}

/// The hash by which Codex trusts an entry of ours at this event: over compact JSON with sorted
/// keys, the timeout as it will hold (release 0.171.0, compared with its own `hooks/list`).
fn hash(event: &str, command: &str, timeout: u32) -> String {
    let handler =
        Handler { additional_context_limit: context_limit(event), r#async: false, command, timeout, r#type: "command" };
    let identity = serde_json::to_vec(&HookIdentity { event_name: event, hooks: [handler] }).unwrap_or_default();
    format!("sha256:{}", Digest::of(&identity))
}

/// The key of a trust: the file by its absolute path, the event by its other name, and which entry
/// of it this is.
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

/// The table of a trust. It says that the entry is on: where it does not, a `-c` that says otherwise and is merged with
/// it has the last word, and nobody is told.
pub fn trust(key: &str, hash: &str) -> String {
    format!("[hooks.state.{}]\ntrusted_hash = {}\nenabled = true\n", basic(key), basic(hash))
}

/// The part of a `config.toml` that holds the entries and their trust. `config` is the absolute
/// path of that file, which the trust is keyed by, and its entries must be the first of their
/// events there.
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

/// The values of `-c` that give one session the entries, their trust, and the two features that
/// the guard stands on. Given so they win over a trusted project that says otherwise, and outlast
/// any change of a file.
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
        // a word of the user's own configuration about this key would hold where ours has none
        state.push(format!("{key}={{trusted_hash=\"{}\",enabled=true}}", hash(trusted, &command, timeout)));
    }
    values.push(format!("hooks.state={{{}}}", state.join(",")));
    values
}

/// A `requirements.toml`: entries that need no trust and that nobody's configuration can switch
/// off, since the features are pinned beside them; every other hook is shut out.
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
