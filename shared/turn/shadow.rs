//! What would override the seam without a word, and so is refused before anything is started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Kind;
use crate::setup::report::Loss;
use crate::setup::tree::Node;
use crate::setup::{claude, codex};

/// Layers above the launch that take the guard away, or put another's hook beside it. `root` is
/// the root of the file system.
///
/// Both vendors read them whatever the command line says, so a run is refused here: of two
/// replaced inputs one wins, and it was not judged.
pub fn layers(kind: Kind, root: &Path) -> Result<(), String> {
    let etc = root.join("etc");
    match kind {
        Kind::Claude => claude::machine(&etc).iter().try_for_each(|layer| {
            let losses = layer.losses(claude::Role::Flag);
            harmless_layer(&layer.file, layer.broken.as_deref(), &losses, layer.root.as_ref())
        }),
        Kind::Codex => codex::machine(&etc).iter().try_for_each(|layer| {
            let why = layer.broken.clone().or_else(|| layer.stops());
            harmless_layer(&layer.file, why.as_deref(), &layer.losses(), layer.root.as_ref())
        }),
    }
}

fn harmless_layer(file: &Path, broken: Option<&str>, losses: &[Loss], root: Option<&Node>) -> Result<(), String> {
    let shown = file.display();
    if let Some(why) = broken {
        return Err(format!("SHADOWED: {shown}: it cannot be read, so it is not known to be harmless: {why}"));
    }
    if let Some(loss) = losses.first() {
        return Err(format!("SHADOWED: {}, or run where it is not", loss.line()));
    }
    let hooks = root.and_then(|root| root.get("hooks")).map(Node::members).unwrap_or_default();
    match hooks.iter().find(|event| event.key != "state") {
        None => Ok(()),
        Some(event) => Err(format!(
            "SHADOWED: {shown}: hooks.{}: an input that another hook replaces would run without being judged; take it \
             out, or run where it is not",
            event.key
        )),
    }
}

/// An option of a vendor that may be passed on: it takes nothing from the seam.
struct Passed {
    name: &'static str,
    /// Whether a value follows.
    value: bool,
}

const fn flag(name: &'static str) -> Passed {
    Passed { name, value: false }
}

const fn valued(name: &'static str) -> Passed {
    Passed { name, value: true }
}

/// No option that loads settings, plugins or agents (each may hold hooks), answers prompts, or
/// takes a part of the launch out.
const CLAUDE: [Passed; 19] = [
    valued("--add-dir"),
    valued("--allowedTools"),
    valued("--append-system-prompt"),
    valued("--autocompact"),
    valued("--betas"),
    valued("--disallowedTools"),
    flag("--disable-slash-commands"),
    valued("--effort"),
    flag("--exclude-dynamic-system-prompt-sections"),
    valued("--fallback-model"),
    valued("--max-budget-usd"),
    valued("--max-turns"),
    valued("--model"),
    valued("--name"),
    flag("--no-session-persistence"),
    valued("--permission-mode"),
    valued("--resume"),
    valued("--session-id"),
    valued("--system-prompt"),
];

const CODEX: [Passed; 6] = [
    valued("--add-dir"),
    valued("--config"),
    valued("--image"),
    valued("--local-provider"),
    valued("--model"),
    flag("--oss"),
];

/// Keys of Codex's configuration that `-c` may set: the model, where it is served, and how it
/// thinks. One that ends in a dot stands for all below it.
const KEYS: [&str; 12] = [
    "hide_agent_reasoning",
    "model",
    "model_context_window",
    "model_provider",
    "model_providers.",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_verbosity",
    "plan_mode_reasoning_effort",
    "service_tier",
    "show_raw_agent_reasoning",
    "tools.update_plan.",
];

/// Take what stands after `--`. Each option is spelled out with its value, so that none can be
/// read in two ways.
///
/// # Errors
/// The first that is not on the list.
pub fn options(kind: Kind, given: &[OsString]) -> Result<Vec<String>, String> {
    let shadowed = |word: &str, why: &str| format!("SHADOWED: {word}: {why}");
    let allowed: &[Passed] = match kind {
        Kind::Claude => &CLAUDE,
        Kind::Codex => &CODEX,
    };
    let mut taken = Vec::new();
    let mut words = given.iter();
    while let Some(word) = words.next() {
        let word = word.to_str().ok_or_else(|| shadowed(&word.to_string_lossy(), "it is not UTF-8"))?;
        let long = match (kind, word) {
            (Kind::Codex, "-c") => "--config",
            (Kind::Codex, "-m") => "--model",
            (Kind::Codex, "-i") => "--image",
            _ => word,
        };
        let (name, joined) = match long.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (long, None),
        };
        let passed = allowed.iter().find(|passed| passed.name == name).ok_or_else(|| {
            shadowed(word, &format!("not an option that can be passed to {} under a frame; see --help", kind.word()))
        })?;
        if !passed.value {
            match joined {
                None => taken.push(name.into()),
                Some(_) => return Err(shadowed(word, "it takes no value")),
            }
            continue;
        }
        let value = match joined {
            Some(value) => value,
            None => {
                words.next().and_then(|value| value.to_str()).ok_or_else(|| shadowed(word, "its value is missing"))?
            }
        };
        if name == "--config" && !harmless(value) {
            return Err(shadowed(&format!("-c {value}"), "not a key that can be set under a frame; see --help"));
        }
        // a value that begins with a dash would be taken for an option where it stands alone
        taken.push(format!("{name}={value}"));
    }
    Ok(taken)
}

fn harmless(setting: &str) -> bool {
    let Some((key, _)) = setting.split_once('=') else { return false };
    let key = key.trim();
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    plain && KEYS.iter().any(|known| if known.ends_with('.') { key.starts_with(known) } else { key == *known })
}

/// What the isolation of a launch leaves out, as far as it is there: for a line on stderr.
pub fn dropped(kind: Kind, cwd: &Path, home: Option<&Path>, instructions: bool) -> Vec<PathBuf> {
    let names: &[&str] = match kind {
        Kind::Claude => &[
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/agents",
            ".claude/skills",
            ".claude/commands",
            ".mcp.json",
        ],
        Kind::Codex => &[".codex/config.toml", ".codex/hooks.json"],
    };
    let mut all: Vec<PathBuf> = names.iter().map(|name| cwd.join(name)).collect();
    match kind {
        Kind::Claude if !instructions => all.extend([cwd.join("CLAUDE.md"), cwd.join(".claude/CLAUDE.md")]),
        _ => {}
    }
    if let Some(home) = home {
        all.extend(names.iter().map(|name| home.join(name)));
        if kind == Kind::Claude {
            all.push(home.join(".claude/CLAUDE.md"));
        }
    }
    all.retain(|path| path.exists());
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(kind: Kind, words: &[&str]) -> Result<Vec<String>, String> {
        options(kind, &words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_passed_by_a_list_and_by_no_other_way() {
        assert_eq!(
            take(Kind::Claude, &["--effort", "low", "--max-turns=3"]).unwrap(),
            ["--effort=low", "--max-turns=3"]
        );
        assert_eq!(
            take(Kind::Codex, &["-c", "model_providers.x.base_url=\"u\""]).unwrap(),
            ["--config=model_providers.x.base_url=\"u\""]
        );
        for (kind, words) in [
            (Kind::Claude, &["--bare"][..]),
            (Kind::Claude, &["--settings", "{}"]),
            (Kind::Claude, &["--effort"]),
            (Kind::Claude, &["--no-session-persistence=x"]),
            (Kind::Claude, &["prompt"]),
            (Kind::Claude, &["--permission-prompt-tool", "x"]),
            (Kind::Codex, &["--dangerously-bypass-hook-trust"]),
            (Kind::Codex, &["--disable", "hooks"]),
            (Kind::Codex, &["-c", "features.hooks=false"]),
            (Kind::Codex, &["-c", "\"features\".hooks=false"]),
            (Kind::Codex, &["-c", "hooks.PreToolUse=[]"]),
            (Kind::Codex, &["-c", "model"]),
            (Kind::Codex, &["--ephemeral"]),
        ] {
            assert!(take(kind, words).unwrap_err().starts_with("SHADOWED: "), "{words:?}");
        }
    }

    #[test]
    fn a_layer_above_that_takes_from_the_hook_refuses_the_run() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!((layers(Kind::Claude, root.path()), layers(Kind::Codex, root.path())), (Ok(()), Ok(())));
        write("etc/claude-code/managed-settings.json", "{\"model\":\"opus\"}");
        write("etc/codex/config.toml", "# hooks\nmodel = \"x\"\n");
        assert_eq!((layers(Kind::Claude, root.path()), layers(Kind::Codex, root.path())), (Ok(()), Ok(())));
        for settings in
            ["{\"disableAllHooks\":true}", "{\"allowManagedHooksOnly\":true}", "{\"hooks\":{\"Stop\":[]}}", "{"]
        {
            write("etc/claude-code/managed-settings.d/a.json", settings);
            assert!(layers(Kind::Claude, root.path()).unwrap_err().starts_with("SHADOWED: "), "{settings}");
        }
        write("etc/codex/requirements.toml", "[features]\nhooks = false\n");
        assert!(layers(Kind::Codex, root.path()).unwrap_err().contains("requirements.toml: features.hooks switches"));
        for (name, text) in [
            ("config.toml", "[[hooks.Stop]]\n"),
            ("managed_config.toml", "hooks = 1 2\n"),
            ("config.toml", "[features]\nunified_exec_tty = true\n"),
            ("hooks.json", "{\"hooks\":{\"PreToolUse\":[]}}"),
            ("requirements.toml", "allow_managed_hooks_only = true\n"),
        ] {
            std::fs::remove_dir_all(root.path().join("etc/codex")).unwrap();
            write(&format!("etc/codex/{name}"), text);
            assert!(layers(Kind::Codex, root.path()).unwrap_err().starts_with("SHADOWED: "), "{name} {text}");
        }
    }
}
