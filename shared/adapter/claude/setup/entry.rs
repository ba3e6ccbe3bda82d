//! The entries that make Claude Code run the hook.

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::adapter::Registration;

/// The events that the guard must hear. PermissionRequest is not among them: a prompt tool can overrule a denial there,
/// and PreToolUse has judged the call before.
pub const EVENTS: [&str; 5] =
    ["PreToolUse", "PreSkillShellCommand", "UserPromptSubmit", "SessionStart", "SubagentStart"];

/// The end of the shell form: it blocks if the program is missing or dies.
pub const SHELL_END: &str = " || exit 2";

/// The two forms of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryForm {
    /// Without a shell, which an `LD_PRELOAD` from settings could end. `onFailure` blocks if the program could not
    /// start, was killed, or was too slow.
    Exec,
    /// By a shell, for releases without `args` and `onFailure`.
    Shell,
}

#[derive(Serialize)]
struct HookGroup<'a> {
    matcher: &'a str,
    hooks: [HookEntry<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookEntry<'a> {
    r#type: &'a str,
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a [String]>,
    /// Without a timeout the vendor waits 600 seconds and then runs the call.
    timeout: u32,
    on_failure: &'a str,
}

struct HookEntries<'a> {
    line: &'a Registration,
    shell: Option<String>,
}

impl<'a> HookEntries<'a> {
    fn new(line: &'a Registration, form: EntryForm) -> HookEntries<'a> {
        HookEntries { line, shell: (form == EntryForm::Shell).then(|| line.shell_words() + SHELL_END) }
    }

    fn group(&self) -> HookGroup<'_> {
        let entry = HookEntry {
            r#type: "command",
            command: self.shell.as_deref().unwrap_or(&self.line.program),
            args: self.shell.is_none().then_some(&self.line.arguments),
            timeout: self.line.timeout(),
            on_failure: "block",
        };
        HookGroup { matcher: "*", hooks: [entry] }
    }
}

impl Serialize for HookEntries<'_> {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(EVENTS.map(|event| (event, [self.group()])))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Settings<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_managed_hooks_only: Option<bool>,
    hooks: HookEntries<'a>,
}

/// A settings file with the entries and nothing else.
pub fn settings(line: &Registration, form: EntryForm) -> String {
    pretty(&Settings { allow_managed_hooks_only: None, hooks: HookEntries::new(line, form) }, "  ") + "\n"
}

/// A managed settings file with the entries, which shuts out every other hook: nobody would judge another hook's
/// rewrite of a call.
pub fn managed(line: &Registration) -> String {
    pretty(&Settings { allow_managed_hooks_only: Some(true), hooks: HookEntries::new(line, EntryForm::Exec) }, "  ")
        + "\n"
}

/// The group under each event: over several lines with this indentation a level, or on one line.
pub fn group(line: &Registration, form: EntryForm, indent: Option<&str>) -> String {
    let line = HookEntries::new(line, form);
    match indent {
        Some(indent) => pretty(&line.group(), indent),
        None => serde_json::to_string(&line.group()).unwrap_or_default(),
    }
}

/// Strings and numbers into a vector cannot fail.
fn pretty(value: &impl Serialize, indent: &str) -> String {
    let mut out = Vec::new();
    let _ = value.serialize(&mut Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(indent.as_bytes())));
    String::from_utf8(out).unwrap_or_default()
}
