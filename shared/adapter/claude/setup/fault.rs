//! Faults and words of a settings file that take the guard away. Measured on the release in the vendor's table:
//! the file is passed over as a whole, or an event of it, and nobody is told.

use super::{Rank, is_ours};
use crate::adapter::claude::EVENTS;
use crate::adapter::setup::report::{DENIED, Loss};
use crate::adapter::setup::tree::{self, Spanned, Value};
use crate::json::{Fault, Kind};

/// The kinds of hook that the vendor knows.
const TYPES: [&str; 5] = ["command", "prompt", "agent", "http", "mcp_tool"];

/// The first thing for which the vendor would not load this file, or the entries in it.
pub fn unreadable(text: &str) -> Option<Fault> {
    let root = match object(text) {
        Ok(root) => root,
        Err(fault) => return Some(fault),
    };
    KINDS
        .iter()
        .find_map(|(kind, keys)| keys.iter().find_map(|key| wrong_kind(&root, *kind, key)))
        .or_else(|| hooks(&root))
}

/// The first thing for which the vendor does not start where these are its managed settings. A key of the wrong kind is
/// passed over alone there, and the file is not (measured).
pub fn stops(text: &str) -> Option<Fault> {
    match object(text) {
        Ok(root) => hooks(&root),
        Err(fault) => Some(fault),
    }
}

fn object(text: &str) -> Result<Spanned, Fault> {
    let root = tree::json(text)?;
    if !matches!(root.value, Value::Object(_)) {
        return Err(Fault::new(root.span.start, format!("settings are an object, and this is {}", root.noun())));
    }
    // a second `hooks` takes the place of the first
    for (object, name) in [(Some(&root), ""), (root.get("hooks"), "hooks.")] {
        if let Some(twice) = object.and_then(Spanned::twice).filter(|twice| !name.is_empty() || twice.key == "hooks") {
            let what = format!("`{name}{}` stands twice, and the second takes the place of the first", twice.key);
            return Err(Fault::new(twice.at, what));
        }
    }
    Ok(root)
}

fn hooks(root: &Spanned) -> Option<Fault> {
    let hooks = root.get("hooks")?;
    if !matches!(hooks.value, Value::Object(_)) {
        return Some(Fault::new(hooks.span.start, format!("`hooks` is {}, not an object", hooks.noun())));
    }
    EVENTS.into_iter().find_map(|event| in_event(event, hooks.get(event)?))
}

/// The keys for which the whole file is passed over, and the guard with it, when their value is of another kind: of all
/// keys that release 2.1.332 has in its schema those of which its own doctor says so; of the keys inside others those
/// that were tried. A file is asked about from the vendor itself as well, where that is at hand.
const KINDS: [(Kind, &[&str]); 5] = [
    (
        Kind::Object,
        &[
            "permissions",
            "env",
            "statusLine",
            "enabledPlugins",
            "sandbox",
            "sandbox.network",
            "sandbox.filesystem",
            "attribution",
            "worktree",
            "fileSuggestion",
            "breakReminder",
            "quietHours",
            "spinnerVerbs",
            "remote",
            "voice",
            "remoteTools",
            "modelOverrides",
            "skillOverrides",
            "pluginConfigs",
        ],
    ),
    (
        Kind::Array,
        &[
            "permissions.allow",
            "permissions.ask",
            "permissions.deny",
            "permissions.additionalDirectories",
            "companyAnnouncements",
            "allowedHttpHookUrls",
            "httpHookAllowedEnvVars",
            "availableModels",
            "fallbackModel",
            "pluginSuggestionMarketplaces",
            "allowedChannelPlugins",
            "sshConfigs",
            "claudeMdExcludes",
            "sandbox.network.allowedDomains",
            "worktree.symlinkDirectories",
        ],
    ),
    (
        Kind::String,
        &[
            "$schema",
            "apiKeyHelper",
            "proxyAuthHelper",
            "awsCredentialExport",
            "awsAuthRefresh",
            "gcpAuthRefresh",
            "processWrapper",
            "attributionProject",
            "attribution.commit",
            "attribution.pr",
            "model",
            "modelCatalogUrl",
            "modelCatalogPublicKey",
            "prUrlTemplate",
            "otelHeadersHelper",
            "outputStyle",
            "language",
            "advisorModel",
            "agent",
            "minimumVersion",
            "requiredMinimumVersion",
            "requiredMaximumVersion",
            "downloadsMirrorUrl",
            "plansDirectory",
            "timeZone",
            "autoMemoryDirectory",
            "claudeMd",
            "pluginTrustMessage",
            "statusLine.type",
            "statusLine.command",
            "permissions.defaultMode",
            "permissions.disableBypassPermissionsMode",
            "autoUpdatesChannel",
            "tui",
            "defaultShell",
        ],
    ),
    (
        Kind::Number,
        &[
            "cleanupPeriodDays",
            "desktopSessionCleanupPeriodDays",
            "skillListingMaxDescChars",
            "skillListingBudgetFraction",
            "feedbackSurveyRate",
            "totalTokensReminderBudget",
        ],
    ),
    (
        Kind::Bool,
        &[
            "disableAllHooks",
            "allowManagedHooksOnly",
            "allowManagedPermissionRulesOnly",
            "allowManagedMcpServersOnly",
            "includeCoAuthoredBy",
            "includeGitInstructions",
            "enableAllProjectMcpServers",
            "enforceAvailableModels",
            "disableSkillShellExecution",
            "disableBundledSkills",
            "disableSideloadFlags",
            "disableWorkflows",
            "disableAgentView",
            "disableRemoteControl",
            "disableArtifact",
            "disableClaudeAiConnectors",
            "alwaysThinkingEnabled",
            "fastMode",
            "respectGitignore",
            "autoMemoryEnabled",
            "autoCompactEnabled",
            "skipWebFetchPreflight",
            "skipDangerousModePermissionPrompt",
            "showThinkingSummaries",
            "spinnerTipsEnabled",
            "syntaxHighlightingDisabled",
            "promptSuggestionEnabled",
            "prefersReducedMotion",
            "fileCheckpointingEnabled",
            "todoFeatureEnabled",
            "verbose",
            "sandbox.enabled",
        ],
    ),
];

fn wrong_kind(root: &Spanned, kind: Kind, key: &str) -> Option<Fault> {
    let is = |node: &Spanned| match node.value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(_) => Kind::Number,
        Value::Text(_) => Kind::String,
        Value::Array(_) => Kind::Array,
        Value::Object(_) => Kind::Object,
    };
    let path: Vec<&str> = key.split('.').collect();
    let node = root.find(&path).filter(|node| is(node) != kind)?;
    Some(Fault::new(node.span.start, format!("`{key}` is {}, not {}", node.noun(), kind.noun())))
}

/// One bad entry takes its whole event along.
fn in_event(event: &str, groups: &Spanned) -> Option<Fault> {
    let wrong =
        |node: &Spanned, what: &str| Some(Fault::new(node.span.start, format!("under `hooks.{event}`, {what}")));
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
            let kind = entry.get("type").and_then(Spanned::text);
            if !kind.is_some_and(|kind| TYPES.contains(&kind)) {
                return wrong(entry, &format!("a hook has no `type` of {}", TYPES.join(", ")));
            }
            if kind == Some("command") && entry.get("command").and_then(Spanned::text).is_none() {
                return wrong(entry, "a hook has no string `command`");
            }
            let positive = |node: &Spanned| match &node.value {
                Value::Number(number) => number.parse::<f64>().is_ok_and(|number| number > 0.0),
                _ => false,
            };
            if let Some(node) = entry.get("timeout").filter(|node| !positive(node)) {
                return wrong(node, "a `timeout` is not a number above 0");
            }
            if let Some(node) = entry.get("onFailure").filter(|node| node.text().is_none()) {
                return wrong(node, "an `onFailure` is not a string");
            }
            let words = |node: &Spanned| {
                matches!(node.value, Value::Array(_)) && node.items().iter().all(|word| word.text().is_some())
            };
            if let Some(node) = entry.get("args").filter(|node| !words(node)) {
                return wrong(node, "`args` is not an array of strings");
            }
        }
    }
    None
}

/// The losses by a settings file that loads, of a guard that stands in a file of another rank.
///
/// Of managed settings nothing but their own `disableAllHooks`, or a program that answers in the place of the file, was
/// seen to take a hook away: the other files' variables do not even reach it.
pub fn losses(rank: Rank, root: &Spanned, guard: Rank) -> Vec<Loss> {
    let mut all = Vec::new();
    let mut loss = |key: &str, what: &str, remedy: &str| all.push(Loss::new(key, what, remedy));
    if guard == Rank::Managed && rank != Rank::Managed {
        return all;
    }
    if root.get("disableAllHooks").and_then(Spanned::bool) == Some(true) {
        loss("disableAllHooks", "switches every hook off, in whatever file it stands", "take it out");
    }
    if rank == Rank::Managed {
        for key in ["policyHelper", "policyHelpers"] {
            if root.get(key).is_some_and(|node| !node.members().is_empty()) {
                let what = "puts what a program answers in the place of this file, and that is not known here";
                loss(key, what, "take it out, or ask whoever runs this machine whether its answer leaves hooks on");
            }
        }
        if guard != Rank::Managed {
            let remedy = "add the entries there: mh-setup claude --managed";
            if root.get("allowManagedHooksOnly").is_some_and(holds_but_for_false) {
                loss("allowManagedHooksOnly", "drops every hook that does not stand in managed settings", remedy);
            }
            if root.get("strictPluginOnlyCustomization").is_some_and(locks_hooks) {
                let what = "drops every hook that does not stand in managed settings or come from a plugin";
                loss("strictPluginOnlyCustomization", what, remedy);
            }
        }
    }
    // the project's own files have no say in this one
    let modes = matches!(rank, Rank::User | Rank::Flag | Rank::Managed) && guard != Rank::Managed;
    for member in root.get("env").map(Spanned::members).unwrap_or_default() {
        let key = format!("env.{}", member.key);
        match member.key.as_str() {
            "CLAUDE_CODE_SAFE_MODE" | "CLAUDE_CODE_SIMPLE" if modes && set_on(&member.node) => {
                loss(&key, "switches hooks off", "take it out");
            }
            name if name.starts_with("LD_") => {
                loss(&key, "is loaded into the hook program, unless that is static, and can end it", "take it out");
            }
            name if name.starts_with("MH_") => {
                let what = format!("the hook's settings come from its line alone, so {DENIED}");
                loss(&key, &what, "take it out");
            }
            _ => {}
        }
    }
    all
}

/// The losses by a settings file of a guard that a shell starts, besides.
pub fn shell_losses(rank: Rank, root: &Spanned, guard: Rank) -> Vec<Loss> {
    if guard == Rank::Managed && rank != Rank::Managed {
        return Vec::new();
    }
    let members = root.get("env").map(Spanned::members).unwrap_or_default();
    let set = members.iter().filter(|member| member.node.text().is_none_or(|text| !text.is_empty()));
    set.filter_map(|member| Some(Loss::new(&format!("env.{}", member.key), shell_obeys(&member.key)?, SHELL_REMEDY)))
        .collect()
}

/// The remedy for a variable that answers for the shell form.
pub const SHELL_REMEDY: &str = "take it out, or say mh-setup claude: the form that it writes needs no shell";

/// The way in which a variable of this name answers for a line that a shell runs, if it does.
pub fn shell_obeys(name: &str) -> Option<&'static str> {
    match name {
        "CLAUDE_CODE_SHELL_PREFIX" => Some("is run in the place of every line for a shell, ours too"),
        "SHELLOPTS" => {
            Some("sets options of the shell that runs the line, if that is bash; with noexec it runs nothing")
        }
        _ => None,
    }
}

/// Managed `allowManagedHooksOnly` holds whatever it is, but for false and null: one that is no boolean is taken for true
/// (measured).
fn holds_but_for_false(node: &Spanned) -> bool {
    !matches!(node.value, Value::Null | Value::Bool(false))
}

/// This value of managed `strictPluginOnlyCustomization` shuts out hooks: true, a list that names them, and
/// everything that is neither a boolean nor a list; a list of other surfaces does not (measured).
fn locks_hooks(node: &Spanned) -> bool {
    match &node.value {
        Value::Array(items) => items.iter().any(|item| item.text() == Some("hooks")),
        _ => holds_but_for_false(node),
    }
}

/// The vendor takes a variable of this value for one that is on (measured).
pub fn on(value: &str) -> bool {
    ["1", "true", "yes", "on"].iter().any(|on| value.trim().eq_ignore_ascii_case(on))
}

/// The same for one that settings give: numbers and booleans are put there as they are spelled.
fn set_on(node: &Spanned) -> bool {
    match &node.value {
        Value::Text(text) | Value::Number(text) => on(text),
        Value::Bool(is) => *is,
        _ => false,
    }
}

/// The event of ours in this file that the vendor does not know by its spelling there, in words.
pub fn misspelled(root: &Spanned) -> Option<String> {
    root.get("hooks")?.members().iter().find_map(|event| {
        let known = EVENTS.iter().find(|known| known.eq_ignore_ascii_case(&event.key) && **known != event.key)?;
        let ours = event.node.items().iter().flat_map(super::entries).any(is_ours);
        ours.then(|| format!("`hooks.{}` is not an event; it is spelled {known}", event.key))
    })
}
