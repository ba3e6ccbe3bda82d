//! A governed run of Codex.

mod agreed;
mod launch;
mod rollout;
mod rules;
mod stream;

use std::path::{Path, PathBuf};

use super::Codex;
use super::setup::dotenv::codex_env_file;
use super::setup::machine;
use crate::adapter::run::{
    Ambient, Journal, Launch, LaunchOrder, Passed, Rows, Run, SettingOption, Shadowed, Stream, Unprepared, VARIABLES,
    Variables, VendorOptions, flag, harmless_layer, valued,
};
use crate::os::PrivateRoom;
use crate::os::obeyed::obeyed;

impl Run for Codex {
    fn own_folder(&self) -> (&'static str, &'static str) {
        ("CODEX_HOME", ".codex")
    }

    fn variables(&self) -> &'static Variables {
        &Variables { own: &["CODEX_"], passes: PASSES, marks: MARKS }
    }

    fn options(&self) -> &'static VendorOptions {
        &VendorOptions {
            passed: PASSED,
            short: &[("-c", "--config"), ("-m", "--model"), ("-i", "--image")],
            settings: Some(SettingOption { option: "--config", shown: "-c", keys: KEYS }),
        }
    }

    fn sandboxes(&self) -> &'static [&'static str] {
        &["read-only", "workspace-write", "danger-full-access"]
    }

    fn ambient(&self) -> &'static Ambient {
        &Ambient { everywhere: &[".codex/config.toml", ".codex/hooks.json"], instructions: &[], home: &[] }
    }

    fn prepare(&self, order: &LaunchOrder, room: &PrivateRoom, launch: &mut Launch) -> Result<(), Unprepared> {
        launch::prepare(order, room, launch)
    }

    fn imposed(&self, _: bool) -> Rows {
        vec![
            ("settings", "--ignore-user-config"),
            ("variables", VARIABLES),
            ("command rules", "--ignore-rules"),
            ("hooks", "the run's own, by -c, with their trust"),
            ("login shell", "ZDOTDIR is an empty folder"),
            ("sandbox", "-s: as told, else workspace-write where the frame admits writing or a shell, else read-only"),
        ]
    }

    fn unavailable(&self) -> Rows {
        vec![
            ("tools", "the vendor has no list of tools to offer; the hook denies what is not admitted"),
            (
                "approvals",
                "there is nobody to give one; of a command or a patch that needs it the model reads the vendor's own words, \
                 and what to do then by the hook: at the session's start, and for a call of an MCP tool in its place",
            ),
        ]
    }

    fn shadows(&self, etc: &Path) -> Result<(), Shadowed> {
        machine(etc).iter().try_for_each(|layer| {
            let why = layer.broken.clone().or_else(|| layer.stops());
            harmless_layer(&layer.path, why.as_deref(), &layer.losses(), layer.root.as_ref(), |_| None)
        })?;
        rules::narrow(&etc.join("codex/rules"))
    }

    /// Check Codex's `.env`: its variables override those that the launch leaves out.
    fn env_file(&self, home: &Path) -> Result<(), Shadowed> {
        let file = home.join(".env");
        let shown = file.display();
        let taken = codex_env_file(&file).map_err(|why| {
            let how = format!("it cannot be read, so it is not known what it sets for every hook: {why}");
            Shadowed::by(&shown, how)
        })?;
        let fault = taken.iter().find_map(|(name, _)| {
            let ours =
                name.starts_with("MH_").then_some("is a setting of the hook, which this run gives by its own line");
            Some((name, obeyed(name).or(ours)?))
        });
        match fault {
            None => Ok(()),
            Some((name, what)) => {
                let how = format!("{name} {what}; Codex sets it for every hook: take it out, or use --hermetic");
                Err(Shadowed::by(shown, how))
            }
        }
    }

    fn agrees(&self, order: &LaunchOrder, launch: &Launch, room: &PrivateRoom) -> Result<(), Shadowed> {
        agreed::agreed(order, launch, room)
    }

    fn behind(&self, program: &Path) -> Vec<PathBuf> {
        behind_npm(program)
    }

    fn login(&self) -> &'static str {
        "say codex login at a terminal, or give a key that is good in the variable that the provider has for it (CODEX_API_KEY)"
    }

    fn stream(&self) -> Box<dyn Stream> {
        Box::new(stream::ExecJson::default())
    }

    fn journal(&self) -> Option<&'static dyn Journal> {
        Some(&rollout::Rollouts)
    }
}

/// The programs that the npm package's script starts, in every place in which it looks (0.171.0): in the package for
/// this machine, below its own package or beside it, else in its own.
fn behind_npm(program: &Path) -> Vec<PathBuf> {
    let Ok(script) = fs_err::canonicalize(program) else { return Vec::new() };
    let Some(package) = script.ancestors().nth(2).filter(|_| script.ends_with("@openai/codex/bin/codex.js")) else {
        return Vec::new();
    };
    let below = |folder: PathBuf| fs_err::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let platform = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("codex-"));
    let beside = package.parent().map(Path::to_path_buf).into_iter().chain([package.join("node_modules/@openai")]);
    let packages = beside.flat_map(below).filter(platform).chain([package.to_path_buf()]);
    let mut found: Vec<PathBuf> = packages
        .flat_map(|package| below(package.join("vendor")))
        .map(|target| target.join("bin/codex"))
        .filter(|file| file.is_file())
        .collect();
    found.sort();
    found
}

const PASSED: &[Passed] = &[
    valued("--add-dir"),
    valued("--config"),
    valued("--image"),
    valued("--local-provider"),
    valued("--model"),
    flag("--oss"),
];

/// The keys of Codex's configuration that `-c` may set: the model, its service and its reasoning. A key that ends in a
/// dot stands for every key below it.
const KEYS: &[&str] = &[
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

/// The variables that Codex 0.171.0 may get. Missing are those that join another session or send its logins elsewhere.
const PASSES: &[&str] = &[
    "CODEX_HOME",
    "CODEX_SQLITE_HOME",
    "CODEX_API_KEY",
    "CODEX_ACCESS_TOKEN",
    "CODEX_CA_CERTIFICATE",
    "CODEX_GITHUB_PERSONAL_ACCESS_TOKEN",
    "CODEX_OSS_BASE_URL",
    "CODEX_OSS_PORT",
];

/// The names that the vendor sets for programs that it starts, which this one may be.
const MARKS: &[&str] = &[
    "CODEX_CI",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_*",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
];

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::adapter::run::{Fate, fate, options};

    fn passed(words: &[&str]) -> Result<Vec<String>, Shadowed> {
        options(&Codex, &words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_passed_by_a_list_and_by_no_other_way() {
        assert_eq!(
            passed(&["-c", "model_providers.x.base_url=\"u\""]).unwrap(),
            ["--config=model_providers.x.base_url=\"u\""]
        );
        for words in [
            &["--dangerously-bypass-hook-trust"][..],
            &["--disable", "hooks"],
            &["-c", "features.hooks=false"],
            &["-c", "\"features\".hooks=false"],
            &["-c", "hooks.PreToolUse=[]"],
            &["-c", "model"],
            &["--ephemeral"],
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
        assert_eq!(Codex.shadows(root.path()), Ok(()));
        write("codex/config.toml", "# hooks\nmodel = \"x\"\n");
        assert_eq!(Codex.shadows(root.path()), Ok(()));
        write("codex/requirements.toml", "[features]\nhooks = false\n");
        assert!(
            Codex.shadows(root.path()).unwrap_err().to_string().contains("requirements.toml: features.hooks switches")
        );
        for (name, text) in [
            ("config.toml", "[[hooks.Stop]]\n"),
            ("managed_config.toml", "hooks = 1 2\n"),
            ("config.toml", "[features]\nunified_exec_tty = true\n"),
            ("hooks.json", "{\"hooks\":{\"PreToolUse\":[]}}"),
            ("requirements.toml", "allow_managed_hooks_only = true\n"),
        ] {
            fs_err::remove_dir_all(root.path().join("codex")).unwrap();
            write(&format!("codex/{name}"), text);
            assert!(Codex.shadows(root.path()).is_err(), "{name} {text}");
        }
    }

    #[test]
    fn what_its_env_file_sets_for_a_hook_refuses_the_run() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Codex.env_file(home.path()), Ok(()));
        for (text, named) in [
            ("OPENAI_API_KEY=x\nHTTPS_PROXY=http://p\n", None),
            ("# BASH_ENV=/x\nCODEX_HOME=/x\n", None),
            ("BASH_ENV=/x\n", Some("BASH_ENV")),
            ("A=1\nexport SHELLOPTS='noexec'\n", Some("SHELLOPTS")),
            ("no line\nZDOTDIR=/x\n", Some("ZDOTDIR")),
            ("LD_PRELOAD=/x.so", Some("LD_PRELOAD")),
            ("MH_FRAME=/x", Some("MH_FRAME")),
        ] {
            fs_err::write(home.path().join(".env"), text).unwrap();
            match (Codex.env_file(home.path()), named) {
                (Ok(()), None) => {}
                (Err(why), Some(name)) => {
                    assert!(why.to_string().contains(&format!(".env: {name} ")), "{why}");
                }
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        fs_err::remove_file(home.path().join(".env")).unwrap();
        fs_err::create_dir(home.path().join(".env")).unwrap();
        assert!(Codex.env_file(home.path()).unwrap_err().to_string().contains("it cannot be read"));
    }

    #[test]
    fn what_the_script_of_its_package_starts_is_found_where_that_looks() {
        let root = tempfile::tempdir().unwrap();
        let modules = fs_err::canonicalize(root.path()).unwrap().join("node_modules/@openai");
        let write = |name: &str| {
            let path = modules.join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, "#!/usr/bin/env node").unwrap();
            path
        };
        let script = write("codex/bin/codex.js");
        assert_eq!(behind_npm(&script), Vec::<PathBuf>::new());
        let native = "vendor/x86_64-unknown-linux-musl/bin/codex";
        let beside = write(&format!("codex-linux-x64/{native}"));
        let own = write(&format!("codex/node_modules/@openai/codex-linux-x64/{native}"));
        fs_err::os::unix::fs::symlink(&script, root.path().join("codex")).unwrap();
        assert_eq!(behind_npm(&root.path().join("codex")), [own, beside]);
        // the programs behind another script are unknown
        assert_eq!(behind_npm(&write("other/bin/codex.js")), Vec::<PathBuf>::new());
    }

    #[test]
    fn its_own_names_pass_by_a_list() {
        for name in [
            "PATH",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "AZURE_OPENAI_API_KEY",
            "CODEX_HOME",
            "CODEX_API_KEY",
            "CODEX_CA_CERTIFICATE",
            "RUST_LOG",
            "CLAUDE_CONFIG_DIR",
        ] {
            assert_eq!(fate(&Codex, name), Fate::Passes, "{name}");
        }
        for name in ["CODEX_EXEC_SERVER_URL", "CODEX_APP_SERVER_LOGIN_ISSUER", "CODEX_NO_SUCH_THING_YET"] {
            assert!(matches!(fate(&Codex, name), Fate::Dropped(_)), "{name}");
        }
    }
}
