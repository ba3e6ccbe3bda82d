//! The hook's surroundings besides its line: the environment, with the variables of `.env`, and the shell.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::home;
use crate::adapter::Environment;
use crate::adapter::codex::setup::dotenv::codex_env_file;
use crate::adapter::codex::setup::shell::{ShellKind, hook_shell};
use crate::adapter::setup::report::Loss;
use crate::os::obeyed::obeyed;

/// The environment and the shell of Codex's hooks.
#[derive(Debug)]
pub struct Around {
    /// The file whose variables Codex adds to its environment first of all.
    pub file: PathBuf,
    /// The file's variables, the last of a name last; or the reason why they cannot be told.
    pub set: Result<Vec<(String, String)>, String>,
    /// The shell that runs a hook's line.
    pub shell: PathBuf,
    /// The kind of the shell, which determines the files and variables that it obeys.
    pub kind: ShellKind,
}

impl Around {
    /// The surroundings for a Codex that starts in this folder, with this environment and this home.
    pub fn of(home: &Path, folder: &Path, environment: Environment<'_>) -> Around {
        let file = home.join(".env");
        let set = codex_env_file(&file);
        let mut around = Around { file, set, shell: PathBuf::new(), kind: ShellKind::Sh };
        let passwd = fs_err::read_to_string("/etc/passwd").unwrap_or_default();
        let path = around.variable("PATH", environment);
        (around.shell, around.kind) = hook_shell(&passwd, path.as_deref(), folder);
        around
    }

    /// The variables of the file.
    pub fn set(&self) -> &[(String, String)] {
        self.set.as_deref().unwrap_or_default()
    }

    /// The variable in the hook's environment.
    pub fn variable(&self, name: &str, environment: Environment<'_>) -> Option<OsString> {
        let set = self.set().iter().rev().find(|(set, _)| set == name);
        set.map(|(_, value)| value.into()).or_else(|| environment(name))
    }

    /// The losses through these variables: those that answer in the hook's place, or move the configuration that holds
    /// the entry. `names` are those of the environment; `sealed_off` tells whether the line withstands shell functions.
    pub fn losses<'a>(
        &self,
        names: impl Iterator<Item = &'a OsStr>,
        sealed_off: bool,
        configuration: &Path,
        environment: Environment<'_>,
    ) -> Vec<Loss> {
        let mut all = Vec::new();
        let file = self.file.display().to_string();
        let mut seen: Vec<&str> = Vec::new();
        for (name, _) in self.set() {
            if !seen.contains(&name.as_str())
                && let Some(what) = self.answers(name, sealed_off, true)
            {
                all.push(Loss::new(name, &what, "take it out").within(&file));
            }
            seen.push(name);
        }
        for name in names.filter_map(OsStr::to_str).filter(|name| !seen.contains(name)) {
            if let Some(what) = self.answers(name, sealed_off, false) {
                all.push(Loss::new(name, &what, "unset it where codex is started").within("the environment"));
            }
        }
        let moved = home(&|name| self.variable(name, environment)).filter(|moved| moved != configuration);
        if let Some(moved) = moved {
            let what = format!(
                "moves Codex's home: it reads {} in the place of this one",
                moved.join("config.toml").display()
            );
            all.push(Loss::new("HOME", &what, "take it out, or start codex with CODEX_HOME").within(&file));
        }
        all
    }

    /// The way in which a variable of this name answers for the hook, if there is one. A name that the loader obeys has
    /// no good reason in a file for Codex alone; in an environment only names that put code into a program count.
    fn answers(&self, name: &str, sealed_off: bool, in_file: bool) -> Option<String> {
        let shell = match name {
            "BASH_ENV" => self.kind == ShellKind::Bash,
            // sh may be bash
            "SHELLOPTS" => self.kind != ShellKind::Zsh,
            // the spelling of these names is bash's own, and has changed before
            _ if ["BASH_FUNC_echo", "BASH_FUNC_exit"].iter().any(|known| name.starts_with(known)) => {
                self.kind != ShellKind::Zsh && !sealed_off
            }
            "LD_PRELOAD" | "LD_AUDIT" => true,
            _ => in_file && name.starts_with("LD_"),
        };
        let what = obeyed(name).filter(|_| shell)?;
        Some(format!("{what}; with it a call can run past the hook"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_answers_for_a_hook_is_named_where_it_does() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(".env");
        let names: Vec<OsString> =
            ["BASH_ENV", "BASH_FUNC_echo%%", "BASH_FUNC_which%%", "SHELLOPTS", "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH"]
                .map(OsString::from)
                .into();
        let home = |name: &str| (name == "CODEX_HOME").then(|| root.path().into());
        let losses = |kind: ShellKind, text: &str, sealed_off: bool| {
            fs_err::write(&file, text).unwrap();
            let mut around = Around::of(root.path(), root.path(), &home);
            around.kind = kind;
            let names = names.iter().map(OsString::as_os_str);
            let real = fs_err::canonicalize(root.path()).unwrap();
            around.losses(names, sealed_off, &real, &home).into_iter().map(|loss| loss.key).collect::<Vec<_>>()
        };
        assert_eq!(losses(ShellKind::Bash, "", true), ["BASH_ENV", "SHELLOPTS", "LD_PRELOAD"]);
        assert_eq!(losses(ShellKind::Bash, "", false), ["BASH_ENV", "BASH_FUNC_echo%%", "SHELLOPTS", "LD_PRELOAD"]);
        assert_eq!(losses(ShellKind::Sh, "", true), ["SHELLOPTS", "LD_PRELOAD"]);
        assert_eq!(losses(ShellKind::Zsh, "", false), ["LD_PRELOAD"]);
        // reported once, at the last place that sets it
        let text = "BASH_ENV=/x\nLD_LIBRARY_PATH=/y\nBASH_ENV=/z\nOPENAI_API_KEY=k\nHOME=/elsewhere\n";
        assert_eq!(losses(ShellKind::Bash, text, true), ["BASH_ENV", "LD_LIBRARY_PATH", "SHELLOPTS", "LD_PRELOAD"]);
    }

    #[test]
    fn a_home_in_the_file_moves_the_configuration_unless_codex_home_holds_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".codex");
        fs_err::create_dir(&folder).unwrap();
        fs_err::write(folder.join(".env"), "HOME=/elsewhere\n").unwrap();
        let environment = |name: &str| (name == "HOME").then(|| root.path().into());
        let around = Around::of(&folder, root.path(), &environment);
        let losses = around.losses(std::iter::empty(), true, &folder, &environment);
        assert_eq!(losses.len(), 1);
        assert!(losses[0].line().contains("/.env: HOME moves Codex's home: it reads /elsewhere/.codex/config.toml"));
        assert_eq!(around.variable("HOME", &environment), Some("/elsewhere".into()));
    }
}
