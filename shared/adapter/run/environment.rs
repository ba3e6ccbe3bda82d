//! Which variables of the caller's a vendor is started with: one rule, by lists.
//!
//! A vendor's own names pass by a list, since any of the hundreds it knows may load a plugin, take hooks off, or put a
//! program in the place of another. Names that a shell, the loader or a runtime obeys never pass. All others do: the
//! model's service, clouds, proxies and the project's own programs need them.

use super::Kind;
use crate::os::obeyed::obeyed;

/// What becomes of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is passed on.
    Passes,
    /// It is left out, and nobody set it for this run: the mark of a session around it.
    Mark,
    /// It is left out, and for this reason.
    Dropped(&'static str),
}

/// How the vendor's own names begin.
const CLAUDE: [&str; 2] = ["CLAUDE", "SELF_HOSTED_"];
const CODEX: [&str; 1] = ["CODEX_"];

/// Why one of them is left out that stands on no list.
const UNLISTED: &str = "is the vendor's own, and not one that a governed turn needs";

/// What Claude Code 2.1.332 may be told. Not here, and why: what loads (`…PLUGIN_DIRS`, `…SYNC_*`, `…MANAGED_SETTINGS_PATH`),
/// what takes hooks or settings off (`…SAFE_MODE`, `…SIMPLE`, `…PERSONAL_HOOKS_OFF`), what puts a program before or in the
/// place of another (`…SHELL`, `…SHELL_PREFIX`, `…PROCESS_WRAPPER`), what grants (`…DANGEROUSLY_SKIP_PERMISSIONS`), what
/// puts tools into the request that the frame does not admit (`…EXTRA_BODY`), and what makes the turn a part of another
/// session.
const CLAUDE_PASSES: [&str; 68] = [
    // where its files are
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
    // the model's service, and the way to it
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
    // the model, and how much of it
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
    // what it tells others, and what it keeps from the programs that it starts
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_ENABLE_TELEMETRY",
    "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA",
    "CLAUDE_CODE_OTEL_*",
    "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB",
];

/// What Codex 0.171.0 may be told. Not here: what makes it a part of another session, or sends its logins elsewhere.
const CODEX_PASSES: [&str; 8] = [
    "CODEX_HOME",
    "CODEX_SQLITE_HOME",
    "CODEX_API_KEY",
    "CODEX_ACCESS_TOKEN",
    "CODEX_CA_CERTIFICATE",
    "CODEX_GITHUB_PERSONAL_ACCESS_TOKEN",
    "CODEX_OSS_BASE_URL",
    "CODEX_OSS_PORT",
];

/// What a vendor sets for the programs that it starts, this one among them.
const MARKS: [&str; 28] = [
    "MH_*",
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
    "CODEX_CI",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_*",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
];

/// What becomes of a variable of this name. One that is set for the run besides is not asked about here.
pub fn fate(kind: Kind, name: &str) -> Fate {
    let (own, passes): (&[&str], &[&str]) = match kind {
        Kind::Claude => (&CLAUDE, &CLAUDE_PASSES),
        Kind::Codex => (&CODEX, &CODEX_PASSES),
    };
    let on = |list: &[&str]| {
        list.iter().any(|known| known.strip_suffix('*').map_or(*known == name, |head| name.starts_with(head)))
    };
    // Claude Code starts the hook without a shell, and Codex is given a folder of the run's own
    if name == "ZDOTDIR" {
        return Fate::Passes;
    }
    if let Some(what) = obeyed(name) {
        return Fate::Dropped(what);
    }
    if on(&MARKS) {
        return Fate::Mark;
    }
    match own.iter().any(|head| name.starts_with(head)) && !on(passes) {
        true => Fate::Dropped(UNLISTED),
        false => Fate::Passes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendors_own_names_pass_by_a_list_and_what_a_shell_obeys_never() {
        let passes: [(Kind, &[&str]); 2] = [
            (
                Kind::Claude,
                &[
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
                ],
            ),
            (
                Kind::Codex,
                &[
                    "PATH",
                    "OPENAI_API_KEY",
                    "OPENAI_BASE_URL",
                    "AZURE_OPENAI_API_KEY",
                    "CODEX_HOME",
                    "CODEX_API_KEY",
                    "CODEX_CA_CERTIFICATE",
                    "RUST_LOG",
                    "CLAUDE_CONFIG_DIR",
                ],
            ),
        ];
        for (kind, names) in passes {
            names.iter().for_each(|name| assert_eq!(fate(kind, name), Fate::Passes, "{name}"));
        }
        for kind in [Kind::Claude, Kind::Codex] {
            for name in ["BASH_ENV", "BASH_FUNC_echo%%", "SHELLOPTS", "LD_PRELOAD", "GCONV_PATH", "NODE_OPTIONS"] {
                assert!(matches!(fate(kind, name), Fate::Dropped(_)), "{name}");
            }
            for name in ["MH_FRAME", "MH_NO_SUCH_THING", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"] {
                assert_eq!(fate(kind, name), Fate::Mark, "{name}");
            }
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
            assert!(matches!(fate(Kind::Claude, name), Fate::Dropped(_)), "{name}");
        }
        for name in ["CODEX_EXEC_SERVER_URL", "CODEX_APP_SERVER_LOGIN_ISSUER", "CODEX_NO_SUCH_THING_YET"] {
            assert!(matches!(fate(Kind::Codex, name), Fate::Dropped(_)), "{name}");
        }
    }
}
