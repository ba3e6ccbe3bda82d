//! What would override the seam without a word, and so is refused before anything is started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Kind;
use crate::adapter::claude::setup as claude;
use crate::adapter::codex::setup as codex;
use crate::adapter::codex::setup::dotenv::codex_env_file;
use crate::adapter::setup::report::Loss;
use crate::adapter::setup::tree::{Node, Value};
use crate::os;
use crate::os::obeyed::obeyed;

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
        Kind::Codex => codex::machine(&etc)
            .iter()
            .try_for_each(|layer| {
                let why = layer.broken.clone().or_else(|| layer.stops());
                harmless_layer(&layer.file, why.as_deref(), &layer.losses(), layer.root.as_ref())
            })
            .and_then(|()| rules(&etc.join("codex/rules"))),
    }
}

/// The longest file of command rules that is read, in bytes.
const LONGEST_RULES: usize = 1024 * 1024;

/// The machine's rules for commands, which are read whatever the command line says (0.171.0): a command that one of them
/// allows runs outside the sandbox, and nobody is asked.
fn rules(folder: &Path) -> Result<(), String> {
    let shown = |path: &Path, why: &str| format!("SHADOWED: {}: {why}", path.display());
    let unread =
        |path: &Path, why: &str| shown(path, &format!("it cannot be read, so it is not known to be harmless: {why}"));
    let found = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unread(folder, &os::words(error))),
        Ok(found) => found,
    };
    let mut files: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "rules"));
    files.sort();
    files.iter().try_for_each(|file| {
        let bytes = os::read_bounded(file, LONGEST_RULES).map_err(|refusal| unread(file, &refusal.to_string()))?;
        match only_narrows(&String::from_utf8_lossy(&bytes)) {
            true => Ok(()),
            false => Err(shown(
                file,
                "it may allow a command, which then runs outside the sandbox without being asked about; take out what \
                 allows, or run where it is not",
            )),
        }
    })
}

/// Whether a file of rules has nothing in it but rules that forbid or ask. It is a program, and one of which that cannot
/// be told is taken to allow; so is a rule without a decision, which the vendor takes to allow too.
fn only_narrows(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let code: String = lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    let mut rules = code.split("prefix_rule");
    let narrows = |rule: &str| {
        let says =
            |word: &str| ["\"", "'"].iter().any(|quote| rule.contains(&format!("decision={quote}{word}{quote}")));
        is_one_call(rule) && rule.matches("decision").count() == 1 && (says("forbidden") || says("prompt"))
    };
    rules.next().is_some_and(str::is_empty) && rules.all(narrows)
}

/// Whether this is one pair of brackets and what is in it, and nothing more.
fn is_one_call(text: &str) -> bool {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) => quote = quote.filter(|_| c != open),
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => return at + 1 == text.len(),
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}

/// Codex's `.env` in this folder of its own, which sets variables for every hook and overrides those that the launch
/// leaves out.
pub fn env_file(home: &Path) -> Result<(), String> {
    let file = home.join(".env");
    let shown = file.display();
    let taken = codex_env_file(&file).map_err(|why| {
        format!("SHADOWED: {shown}: it cannot be read, so it is not known what it sets for every hook: {why}")
    })?;
    let fault = taken.iter().find_map(|(name, _)| {
        let ours = name.starts_with("MH_").then_some("is a setting of the hook, which this run gives by its own line");
        Some((name, obeyed(name).or(ours)?))
    });
    match fault {
        None => Ok(()),
        Some((name, what)) => Err(format!(
            "SHADOWED: {shown}: {name} {what}; Codex sets it for every hook: take it out, or use --hermetic"
        )),
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
    if let Some(why) = root.and_then(hooks_shut_out) {
        return Err(format!("SHADOWED: {shown}: {why}; take it out, or run where it is not"));
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

/// Why Claude Code's managed settings keep hooks of every other place out, by the switch that leaves them to plugins: for
/// all that it can be set for, for hooks by name, or by a value that is none for it, which counts as for all (2.1.332).
fn hooks_shut_out(root: &Node) -> Option<String> {
    let key = "strictPluginOnlyCustomization";
    let node = root.get(key)?;
    let shut = match &node.value {
        _ if node.bool() == Some(false) => false,
        Value::Array(items) => items.iter().any(|item| item.text().is_none_or(|name| name == "hooks")),
        _ => true,
    };
    shut.then(|| format!("{key} leaves hooks to plugins, and drops those of this run"))
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
        for settings in [
            "{\"disableAllHooks\":true}",
            "{\"allowManagedHooksOnly\":true}",
            "{\"hooks\":{\"Stop\":[]}}",
            "{",
            "{\"strictPluginOnlyCustomization\":true}",
            "{\"strictPluginOnlyCustomization\":[\"skills\",\"hooks\"]}",
            "{\"strictPluginOnlyCustomization\":\"hooks\"}",
            "{\"strictPluginOnlyCustomization\":{}}",
        ] {
            write("etc/claude-code/managed-settings.d/a.json", settings);
            assert!(layers(Kind::Claude, root.path()).unwrap_err().starts_with("SHADOWED: "), "{settings}");
        }
        for settings in ["false", "[]", "[\"skills\",\"mcp\"]"] {
            write(
                "etc/claude-code/managed-settings.d/a.json",
                &format!("{{\"strictPluginOnlyCustomization\":{settings}}}"),
            );
            assert_eq!(layers(Kind::Claude, root.path()), Ok(()), "{settings}");
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

    #[test]
    fn rules_that_allow_a_command_refuse_the_run() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("etc/codex/rules");
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(layers(Kind::Codex, root.path()), Ok(()));
        for (text, harmless) in [
            ("", true),
            ("# prefix_rule(pattern=[\"touch\"])\n", true),
            ("prefix_rule(pattern=[\"rm\"], decision=\"forbidden\", justification=\"no\")\n", true),
            (
                "prefix_rule(\n    pattern = [\"rm\"],\n    decision = 'prompt',\n)\n# end\nprefix_rule(pattern=[\"a\"], decision=\"forbidden\")",
                true,
            ),
            ("prefix_rule(pattern=[\"touch\"], decision=\"allow\")", false),
            // what says nothing allows
            ("prefix_rule(pattern=[\"touch\"])", false),
            ("prefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\nprefix_rule(pattern=[\"touch\"])", false),
            (
                "prefix_rule(pattern=[\"rm\"], decision=\"forbidden\"); prefix_rule(pattern=[\"touch\"], decision=\"allow\")",
                false,
            ),
            ("p = prefix_rule\np(pattern=[\"touch\"])", false),
            ("network_rule(host=\"x\", decision=\"allow\")", false),
            ("prefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\nnetwork_rule(host=\"x\")", false),
        ] {
            std::fs::write(folder.join("default.rules"), text).unwrap();
            let found = layers(Kind::Codex, root.path());
            assert_eq!(found.is_ok(), harmless, "{text}: {found:?}");
            assert!(
                found.err().is_none_or(|why| why.starts_with("SHADOWED: ") && why.contains("default.rules")),
                "{text}"
            );
        }
        std::fs::rename(folder.join("default.rules"), folder.join("notes.txt")).unwrap();
        assert_eq!(layers(Kind::Codex, root.path()), Ok(()));
    }

    #[test]
    fn what_codexs_env_file_sets_for_a_hook_refuses_the_run() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(env_file(home.path()), Ok(()));
        for (text, named) in [
            ("OPENAI_API_KEY=x\nHTTPS_PROXY=http://p\n", None),
            ("# BASH_ENV=/x\nCODEX_HOME=/x\n", None),
            ("BASH_ENV=/x\n", Some("BASH_ENV")),
            ("A=1\nexport SHELLOPTS='noexec'\n", Some("SHELLOPTS")),
            ("no line\nZDOTDIR=/x\n", Some("ZDOTDIR")),
            ("LD_PRELOAD=/x.so", Some("LD_PRELOAD")),
            ("MH_FRAME=/x", Some("MH_FRAME")),
        ] {
            std::fs::write(home.path().join(".env"), text).unwrap();
            match (env_file(home.path()), named) {
                (Ok(()), None) => {}
                (Err(why), Some(name)) => {
                    assert!(why.starts_with("SHADOWED: ") && why.contains(&format!(".env: {name} ")), "{why}");
                }
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        std::fs::remove_file(home.path().join(".env")).unwrap();
        std::fs::create_dir(home.path().join(".env")).unwrap();
        assert!(env_file(home.path()).unwrap_err().contains("it cannot be read"));
    }
}
