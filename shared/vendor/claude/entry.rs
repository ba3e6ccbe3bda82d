//! The entries that make Claude Code run the hook.

use serde::Serialize;

use crate::vendor::Registration;

/// The events that the guard has to hear. Not PermissionRequest: a prompt tool can overrule a
/// denial there, and PreToolUse has judged the call before.
pub const EVENTS: [&str; 5] =
    ["PreToolUse", "PreSkillShellCommand", "UserPromptSubmit", "SessionStart", "SubagentStart"];

/// Seconds that the vendor gives the hook, above the hook's own deadline. Without one it waits
/// 600 and then runs the call.
const TIMEOUT: u32 = 30;

#[derive(Serialize)]
struct Group<'a> {
    matcher: &'a str,
    hooks: [Entry<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    r#type: &'a str,
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a [String]>,
    timeout: u32,
    on_failure: &'a str,
}

struct Hooks<'a>(&'a Registration, Option<String>);

impl Serialize for Hooks<'_> {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Hooks(line, shell) = self;
        out.collect_map(EVENTS.map(|event| {
            let entry = Entry {
                r#type: "command",
                command: shell.as_deref().unwrap_or(&line.program),
                args: shell.is_none().then_some(&line.arguments),
                timeout: TIMEOUT,
                on_failure: "block",
            };
            (event, [Group { matcher: "*", hooks: [entry] }])
        }))
    }
}

#[derive(Serialize)]
struct Settings<'a> {
    hooks: Hooks<'a>,
}

/// A settings file that holds the entries and nothing else.
///
/// The exec form starts the program without a shell, which an `LD_PRELOAD` from settings could
/// end; `onFailure` blocks where the program could not start, was killed, or was too slow. The
/// shell form is for releases that know neither: it blocks where the program is missing or dies.
pub fn settings(line: &Registration, shell: bool) -> String {
    let shell = shell.then(|| format!("{} || exit 2", line.shell_words()));
    let settings = Settings { hooks: Hooks(line, shell) };
    serde_json::to_string_pretty(&settings).map(|text| text + "\n").unwrap_or_default()
}
