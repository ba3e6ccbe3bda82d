//! Faults and values in a settings file that disable the guard. Measured on the release in the vendor's table: the
//! vendor silently ignores the whole file, or one event of it.

use super::{Rank, is_ours};
use crate::adapter::claude::EVENTS;
use crate::adapter::setup::report::{DENIED, Loss};
use crate::adapter::setup::tree::{self, Spanned, Value};
use crate::json::{Fault, Kind};

/// The kinds of hook that the vendor knows.
const TYPES: [&str; 5] = ["command", "prompt", "agent", "http", "mcp_tool"];

/// The first fault for which the vendor would not load this file or the entries in it.
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

/// The first fault in managed settings for which the vendor does not start. There, a key of the wrong kind is ignored
/// alone, without the rest of the file (measured).
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
    // a second `hooks` replaces the first
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

/// The keys whose value of a wrong kind makes the vendor ignore the whole file, and the guard with it: of the top keys
/// in the schema of release 2.1.332, those that its own doctor names; of nested keys, those that were tried. If the
/// vendor is installed, it is asked about a file as well.
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

/// One bad entry disables its whole event.
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

/// The losses that a settings file causes, if it loads, for a guard in a file of another rank.
///
/// For a guard in managed settings, only their own `disableAllHooks`, or a program that replaces the file, was seen to
/// remove a hook: the other files' variables do not even reach it.
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
    // the project's own files cannot set this
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

/// Further losses that a settings file causes for a guard that a shell starts.
pub fn shell_losses(rank: Rank, root: &Spanned, guard: Rank) -> Vec<Loss> {
    if guard == Rank::Managed && rank != Rank::Managed {
        return Vec::new();
    }
    let members = root.get("env").map(Spanned::members).unwrap_or_default();
    let set = members.iter().filter(|member| member.node.text().is_none_or(|text| !text.is_empty()));
    set.filter_map(|member| Some(Loss::new(&format!("env.{}", member.key), shell_obeys(&member.key)?, SHELL_REMEDY)))
        .collect()
}

/// The remedy for a variable that can answer in place of the shell form.
pub const SHELL_REMEDY: &str = "take it out, or say mh-setup claude: the form that it writes needs no shell";

/// The way in which a variable of this name can answer in place of a shell's line, if there is one.
pub fn shell_obeys(name: &str) -> Option<&'static str> {
    match name {
        "CLAUDE_CODE_SHELL_PREFIX" => Some("is run in the place of every line for a shell, ours too"),
        "SHELLOPTS" => {
            Some("sets options of the shell that runs the line, if that is bash; with noexec it runs nothing")
        }
        _ => None,
    }
}

/// Managed `allowManagedHooksOnly` is on unless it is false or null: a value that is no boolean counts as true
/// (measured).
fn holds_but_for_false(node: &Spanned) -> bool {
    !matches!(node.value, Value::Null | Value::Bool(false))
}

/// Whether this value of managed `strictPluginOnlyCustomization` shuts out hooks: true, a list that names them, and
/// every value that is neither a boolean nor a list do; a list of other surfaces does not (measured).
fn locks_hooks(node: &Spanned) -> bool {
    match &node.value {
        Value::Array(items) => items.iter().any(|item| item.text() == Some("hooks")),
        _ => holds_but_for_false(node),
    }
}

/// Whether the vendor counts this value of a variable as on (measured).
pub fn on(value: &str) -> bool {
    ["1", "true", "yes", "on"].iter().any(|on| value.trim().eq_ignore_ascii_case(on))
}

/// Whether the vendor counts a value in settings as on: numbers and booleans become variables in their own spelling.
fn set_on(node: &Spanned) -> bool {
    match &node.value {
        Value::Text(text) | Value::Number(text) => on(text),
        Value::Bool(is) => *is,
        _ => false,
    }
}

/// The words for an event of ours that this file misspells, so that the vendor does not know it.
pub fn misspelled(root: &Spanned) -> Option<String> {
    root.get("hooks")?.members().iter().find_map(|event| {
        let known = EVENTS.iter().find(|known| known.eq_ignore_ascii_case(&event.key) && **known != event.key)?;
        let ours = event.node.items().iter().flat_map(super::entries).any(is_ours);
        ours.then(|| format!("`hooks.{}` is not an event; it is spelled {known}", event.key))
    })
}
