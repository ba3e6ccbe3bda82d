//! What in a settings file takes the guard away. Measured on the release in the vendor's table:
//! the file is passed over as a whole, or an event of it, and nobody is told.

use super::{Role, is_ours};
use crate::json::Kind;
use crate::setup::report::Loss;
use crate::setup::tree::{self, Node, Value};
use crate::vendor::claude::EVENTS;

/// The kinds of hook that the vendor knows.
const TYPES: [&str; 5] = ["command", "prompt", "agent", "http", "mcp_tool"];

/// The first thing for which the vendor would not load this file, or the entries in it, and where
/// it stands.
pub fn unreadable(text: &str) -> Option<(usize, String)> {
    let root = match tree::json(text) {
        Ok(root) => root,
        Err(fault) => return Some((fault.at(), fault.what().into())),
    };
    let wrong = |node: &Node, what: String| Some((node.span.start, what));
    if !matches!(root.value, Value::Object(_)) {
        return wrong(&root, format!("settings are an object, and this is {}", root.noun()));
    }
    // a second `hooks` takes the place of the first
    for (object, name) in [(Some(&root), ""), (root.get("hooks"), "hooks.")] {
        if let Some(twice) = object.and_then(Node::twice).filter(|twice| !name.is_empty() || twice.key == "hooks") {
            return Some((
                twice.at,
                format!("`{name}{}` stands twice, and the second takes the place of the first", twice.key),
            ));
        }
    }
    if let Some(found) = KINDS.iter().find_map(|(kind, keys)| wrong_kind(&root, *kind, keys)) {
        return Some(found);
    }
    let hooks = root.get("hooks")?;
    if !matches!(hooks.value, Value::Object(_)) {
        return wrong(hooks, format!("`hooks` is {}, not an object", hooks.noun()));
    }
    EVENTS.into_iter().find_map(|event| in_event(event, hooks.get(event)?))
}

/// The keys that were tried with another kind of value: the whole file is then passed over, and
/// the guard with it. There are more; what the vendor itself says of a file is asked by doctor.
const KINDS: [(Kind, &[&str]); 5] = [
    (Kind::Object, &["permissions", "env", "statusLine", "enabledPlugins", "sandbox", "attribution", "worktree"]),
    (Kind::Array, &["companyAnnouncements", "httpHookAllowedEnvVars", "availableModels"]),
    (Kind::String, &["model", "apiKeyHelper", "outputStyle", "language", "$schema", "awsAuthRefresh", "agent"]),
    (Kind::Number, &["cleanupPeriodDays"]),
    (
        Kind::Bool,
        &[
            "disableAllHooks",
            "allowManagedHooksOnly",
            "includeCoAuthoredBy",
            "enableAllProjectMcpServers",
            "alwaysThinkingEnabled",
            "fastMode",
            "respectGitignore",
            "autoMemoryEnabled",
        ],
    ),
];

fn wrong_kind(root: &Node, kind: Kind, keys: &[&str]) -> Option<(usize, String)> {
    let is = |node: &Node| match node.value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(_) => Kind::Number,
        Value::Text(_) => Kind::String,
        Value::Array(_) => Kind::Array,
        Value::Object(_) => Kind::Object,
    };
    keys.iter().find_map(|key| {
        let node = root.get(key).filter(|node| is(node) != kind)?;
        Some((node.span.start, format!("`{key}` is {}, not {}", node.noun(), kind.noun())))
    })
}

/// One bad entry takes its whole event along.
fn in_event(event: &str, groups: &Node) -> Option<(usize, String)> {
    let wrong = |node: &Node, what: &str| Some((node.span.start, format!("under `hooks.{event}`, {what}")));
    if !matches!(groups.value, Value::Array(_)) {
        return wrong(groups, &format!("there is {}, not an array of groups", groups.noun()));
    }
    for group in groups.items() {
        let Some(entries) = group.get("hooks").filter(|entries| matches!(entries.value, Value::Array(_))) else {
            return wrong(group, "a group has no array `hooks`");
        };
        if let Some(node) = group.get("matcher").filter(|node| node.text().is_none()) {
            return wrong(node, "a `matcher` is not a string");
        }
        for entry in entries.items() {
            let kind = entry.get("type").and_then(Node::text);
            if !kind.is_some_and(|kind| TYPES.contains(&kind)) {
                return wrong(entry, &format!("a hook has no `type` of {}", TYPES.join(", ")));
            }
            if kind == Some("command") && entry.get("command").and_then(Node::text).is_none() {
                return wrong(entry, "a hook has no string `command`");
            }
            let positive = |node: &Node| match &node.value {
                Value::Number(number) => number.parse::<f64>().is_ok_and(|number| number > 0.0),
                _ => false,
            };
            if let Some(node) = entry.get("timeout").filter(|node| !positive(node)) {
                return wrong(node, "a `timeout` is not a number above 0");
            }
            if let Some(node) = entry.get("onFailure").filter(|node| node.text().is_none()) {
                return wrong(node, "an `onFailure` is not a string");
            }
            let words = |node: &Node| {
                matches!(node.value, Value::Array(_)) && node.items().iter().all(|word| word.text().is_some())
            };
            if let Some(node) = entry.get("args").filter(|node| !words(node)) {
                return wrong(node, "`args` is not an array of strings");
            }
        }
    }
    None
}

/// What a settings file that loads takes from a guard that stands in the layer of another role.
///
/// Of managed settings nothing but their own `disableAllHooks` was seen to take a hook away: the
/// other files' variables do not even reach it.
pub fn losses(role: Role, root: &Node, guard: Role) -> Vec<Loss> {
    let mut all = Vec::new();
    let mut loss = |key: &str, what: &str, remedy: &str| all.push(Loss::new(key, what, remedy));
    if guard == Role::Managed && role != Role::Managed {
        return all;
    }
    if root.get("disableAllHooks").and_then(Node::bool) == Some(true) {
        loss("disableAllHooks", "switches every hook off, in whatever file it stands", "take it out");
    }
    if role == Role::Managed
        && guard != Role::Managed
        && root.get("allowManagedHooksOnly").and_then(Node::bool) == Some(true)
    {
        let what = "drops every hook that does not stand in managed settings";
        loss("allowManagedHooksOnly", what, "add the entries there: mh-setup claude --managed");
    }
    // the project's own files have no say in this one
    let modes = matches!(role, Role::User | Role::Flag | Role::Managed) && guard != Role::Managed;
    for member in root.get("env").map(Node::members).unwrap_or_default() {
        let key = format!("env.{}", member.key);
        let set = !matches!(member.node.text(), Some("" | "0" | "false"));
        match member.key.as_str() {
            "CLAUDE_CODE_SAFE_MODE" | "CLAUDE_CODE_SIMPLE" if modes && set => {
                loss(&key, "switches hooks off", "take it out");
            }
            name if name.starts_with("LD_") => {
                loss(&key, "is loaded into the hook program, unless that is static, and can end it", "take it out");
            }
            name if name.starts_with("MH_") => {
                loss(&key, "the hook's settings come from its line alone, so every call is denied", "take it out");
            }
            _ => {}
        }
    }
    all
}

/// Whether the file has a hook of ours under an event that the vendor does not know by that
/// spelling.
pub fn misspelled(root: &Node) -> Option<String> {
    root.get("hooks")?.members().iter().find_map(|event| {
        let known = EVENTS.iter().find(|known| known.eq_ignore_ascii_case(&event.key) && **known != event.key)?;
        let ours = event.node.items().iter().flat_map(super::entries).any(is_ours);
        ours.then(|| format!("`hooks.{}` is not an event; it is spelled {known}", event.key))
    })
}
