//! A governed run of Claude Code.

mod launch;
mod stream;

use std::path::Path;

use super::Claude;
use super::setup::{Rank, machine};
use crate::adapter::run::{
    Ambient, Launch, LaunchOrder, Passed, Rows, Run, Shadowed, Stream, Unprepared, VARIABLES, Variables, VendorOptions,
    flag, harmless_layer, valued,
};
use crate::adapter::setup::tree::{Spanned, Value};
use crate::os::PrivateRoom;
use crate::seal::VerifiedFrame;

impl Run for Claude {
    fn own_folder(&self) -> (&'static str, &'static str) {
        ("CLAUDE_CONFIG_DIR", ".claude")
    }

    fn variables(&self) -> &'static Variables {
        &Variables { own: &["CLAUDE", "SELF_HOSTED_"], passes: PASSES, marks: MARKS }
    }

    fn options(&self) -> &'static VendorOptions {
        &VendorOptions { passed: PASSED, short: &[], settings: None }
    }

    fn ambient(&self) -> &'static Ambient {
        &Ambient {
            everywhere: &[
                ".claude/settings.json",
                ".claude/settings.local.json",
                ".claude/agents",
                ".claude/skills",
                ".claude/commands",
                ".mcp.json",
            ],
            instructions: &["CLAUDE.md", ".claude/CLAUDE.md"],
            home: &[".claude/CLAUDE.md"],
        }
    }

    fn prepare(&self, order: &LaunchOrder, room: &PrivateRoom, launch: &mut Launch) -> Result<(), Unprepared> {
        launch::prepare(order, room, launch)
    }

    fn imposed(&self, framed: bool) -> Rows {
        let mut all = vec![
            ("settings", "--setting-sources ''"),
            ("variables", VARIABLES),
            (
                "background",
                "no background task, no timer: CLAUDE_CODE_DISABLE_BACKGROUND_TASKS, CLAUDE_CODE_DISABLE_CRON",
            ),
            ("mcp servers", "--strict-mcp-config"),
            ("hooks", "the run's own, by --settings"),
        ];
        all.extend(framed.then_some(("tools", "--tools, by what the frame admits")));
        all
    }

    fn unavailable(&self) -> Rows {
        vec![
            ("sandbox", "none is put around the vendor; an admitted shell does what its user can"),
            (
                "approvals",
                "there is nobody to give one; of a call that needs it the model reads the vendor's own words, and what to do \
                 then by the hook at the session's start",
            ),
            ("Monitor", "it is not offered: no switch keeps it from going on when the turn has ended"),
        ]
    }

    fn withheld(&self, frame: &VerifiedFrame) -> Option<Rows> {
        Some(launch::withheld(frame))
    }

    fn shadows(&self, etc: &Path) -> Result<(), Shadowed> {
        machine(etc).iter().try_for_each(|layer| {
            let losses = layer.losses(Rank::Flag);
            harmless_layer(&layer.path, layer.broken.as_deref(), &losses, layer.root.as_ref(), hooks_shut_out)
        })
    }

    fn login(&self) -> &'static str {
        "start claude at a terminal and say /login, or give a key that is good in ANTHROPIC_API_KEY"
    }

    fn stream(&self) -> Box<dyn Stream> {
        Box::new(stream::StreamJson::default())
    }
}

/// The reason why Claude Code's managed settings shut out hooks of every other place, through the switch that leaves
/// them to plugins: it is set for everything, for hooks by name, or to an invalid value, which counts as everything
/// (2.1.332).
fn hooks_shut_out(root: &Spanned) -> Option<String> {
    let key = "strictPluginOnlyCustomization";
    let node = root.get(key)?;
    let shut = match &node.value {
        _ if node.bool() == Some(false) => false,
        Value::Array(items) => items.iter().any(|item| item.text().is_none_or(|name| name == "hooks")),
        _ => true,
    };
    shut.then(|| format!("{key} leaves hooks to plugins, and drops those of this run"))
}

const PASSED: &[Passed] = &[
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

/// The variables that Claude Code 2.1.332 may get. Missing, with the reason: loading (`…PLUGIN_DIRS`, `…SYNC_*`,
/// `…MANAGED_SETTINGS_PATH`), removing hooks or settings (`…SAFE_MODE`, `…SIMPLE`, `…PERSONAL_HOOKS_OFF`), wrapping or
/// replacing programs (`…SHELL`, `…SHELL_PREFIX`, `…PROCESS_WRAPPER`), granting (`…DANGEROUSLY_SKIP_PERMISSIONS`),
/// adding tools to the request that the frame does not admit (`…EXTRA_BODY`), and joining another session.
const PASSES: &[&str] = &[
    // its files
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_SECURESTORAGE_CONFIG_DIR",
    "CLAUDE_CODE_TMPDIR",
    "CLAUDE_TMPDIR",
    // credentials
    "CLAUDE_API_KEY",
    "CLAUDE_CODE_OAUTH_*",
    "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
    "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    "CLAUDE_CODE_CERT_STORE",
    "CLAUDE_CODE_ACCOUNT_UUID",
    "CLAUDE_CODE_ORGANIZATION_UUID",
    "CLAUDE_CODE_USER_EMAIL",
    "CLAUDE_CODE_GATEWAY_TOKEN",
    "CLAUDE_CODE_GATEWAY_TOKEN_FILE_DESCRIPTOR",
    // the model's service, and the way to reach it
    "CLAUDE_CODE_API_BASE_URL",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_GATEWAY",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH",
    "CLAUDE_CODE_SKIP_ANTHROPIC_GOOGLE_CLOUD_AUTH",
    "CLAUDE_CODE_SKIP_AWS_CRED_CACHE",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
    "CLAUDE_CODE_SKIP_MANTLE_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_HTTP_PROXY",
    "CLAUDE_CODE_HTTPS_PROXY",
    "CLAUDE_CODE_PROXY_HOST",
    "CLAUDE_CODE_PROXY_RESOLVES_HOSTS",
    "CLAUDE_CODE_PROXY_URL",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_RETRY_WATCHDOG",
    "CLAUDE_STREAM_FIRST_BYTE_TIMEOUT_MS",
    "CLAUDE_STREAM_IDLE_TIMEOUT_MS",
    "CLAUDE_ENABLE_BYTE_WATCHDOG",
    "CLAUDE_ENABLE_STREAM_WATCHDOG",
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK",
    // the model and its limits
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_EFFORT_LEVEL",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_CONTEXT_TOKENS",
    "CLAUDE_CODE_MAX_TURNS",
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
    "CLAUDE_CODE_DISABLE_1M_CONTEXT",
    "CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING",
    "CLAUDE_CODE_DISABLE_FAST_MODE",
    "CLAUDE_CODE_DISABLE_THINKING",
    "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_GLOB_HIDDEN",
    "CLAUDE_CODE_GLOB_NO_IGNORE",
    "CLAUDE_CODE_GLOB_TIMEOUT_SECONDS",
    "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY",
    "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR",
    "CLAUDE_CODE_PERFORCE_MODE",
    // what it reports to others, and what it withholds from programs that it starts
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_ENABLE_TELEMETRY",
    "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA",
    "CLAUDE_CODE_OTEL_*",
    "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB",
];

/// The names that the vendor sets for programs that it starts, which this one may be.
const MARKS: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_AGENT",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_INSTALLED_VIA_NPM_WRAPPER",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_TMUX_*",
    "CLAUDE_CODE_TOOL_USE_ID",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_SESSION_ID",
];

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::adapter::run::{Fate, fate, options};

    fn passed(words: &[&str]) -> Result<Vec<String>, Shadowed> {
        options(&Claude, &words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_passed_by_a_list_and_by_no_other_way() {
        assert_eq!(passed(&["--effort", "low", "--max-turns=3"]).unwrap(), ["--effort=low", "--max-turns=3"]);
        for words in [
            &["--bare"][..],
            &["--settings", "{}"],
            &["--effort"],
            &["--no-session-persistence=x"],
            &["prompt"],
            &["--permission-prompt-tool", "x"],
        ] {
            assert!(passed(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_layer_above_that_takes_from_the_hook_refuses_the_run() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        assert_eq!(Claude.shadows(root.path()), Ok(()));
        write("claude-code/managed-settings.json", "{\"model\":\"opus\"}");
        assert_eq!(Claude.shadows(root.path()), Ok(()));
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
            write("claude-code/managed-settings.d/a.json", settings);
            assert!(Claude.shadows(root.path()).is_err(), "{settings}");
        }
        for settings in ["false", "[]", "[\"skills\",\"mcp\"]"] {
            write(
                "claude-code/managed-settings.d/a.json",
                &format!("{{\"strictPluginOnlyCustomization\":{settings}}}"),
            );
            assert_eq!(Claude.shadows(root.path()), Ok(()), "{settings}");
        }
    }

    #[test]
    fn its_own_names_pass_by_a_list() {
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "HTTPS_PROXY",
            "NODE_EXTRA_CA_CERTS",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "AWS_PROFILE",
            "AWS_REGION",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CLOUD_ML_REGION",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "DISABLE_TELEMETRY",
            "BASH_DEFAULT_TIMEOUT_MS",
            "IS_SANDBOX",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "CLAUDE_CODE_SUBAGENT_MODEL",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CODEX_HOME",
            "ZDOTDIR",
            "",
        ] {
            assert_eq!(fate(&Claude, name), Fate::Passes, "{name}");
        }
        for name in [
            "CLAUDE_CODE_PLUGIN_DIRS",
            "CLAUDE_CODE_PLUGIN_SEED_DIR",
            "CLAUDE_CODE_SAFE_MODE",
            "CLAUDE_CODE_SIMPLE",
            "CLAUDE_CODE_SHELL",
            "CLAUDE_CODE_SHELL_PREFIX",
            "CLAUDE_CODE_PROCESS_WRAPPER",
            "CLAUDE_CODE_MANAGED_SETTINGS_PATH",
            "CLAUDE_CODE_PERSONAL_HOOKS_OFF",
            "CLAUDE_CODE_EVEN_MORE_DANGEROUSLY_SKIP_PERMISSIONS",
            "CLAUDE_CODE_EXTRA_BODY",
            "CLAUDE_CODE_USE_POWERSHELL_TOOL",
            "CLAUDE_CODE_NO_SUCH_THING_YET",
            "CLAUDE_NEITHER",
            "SELF_HOSTED_RUNNER_HOOKS_DIR",
            "BUN_OPTIONS",
        ] {
            assert!(matches!(fate(&Claude, name), Fate::Dropped(_)), "{name}");
        }
    }
}
