//! The files that Codex reads, and their values that disable the guard. The hooks of all files add up; of a feature,
//! the strongest layer's value counts.

use std::path::{Component, Path, PathBuf};

use super::{Config, parse};
use crate::adapter::Environment;
use crate::adapter::codex::FEATURES;
use crate::adapter::setup::file::text_of;
use crate::adapter::setup::report::Loss;
use crate::adapter::setup::tree::{self, Spanned};

/// The older name of `hooks`. The vendor still accepts it, with a warning.
const OLD_HOOKS: &str = "codex_hooks";

/// The places of files, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigRank {
    /// `/etc/codex/config.toml`
    System,
    /// `config.toml` in Codex's home, which holds our entries.
    User,
    /// `NAME.config.toml` in Codex's home, read with `-p NAME`.
    Profile,
    /// `.codex/config.toml` of a project, read where the project is trusted.
    Project,
    /// `/etc/codex/managed_config.toml`
    Managed,
    /// `/etc/codex/requirements.toml`, which overrides all others.
    Requirements,
    /// A `hooks.json`, beside the configuration of its layer.
    Hooks,
}

impl ConfigRank {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            ConfigRank::System => "system",
            ConfigRank::User => "user",
            ConfigRank::Profile => "profile",
            ConfigRank::Project => "project",
            ConfigRank::Managed => "managed",
            ConfigRank::Requirements => "requirements",
            ConfigRank::Hooks => "hooks",
        }
    }
}

/// The places of the files.
#[derive(Debug, Clone)]
pub struct ConfigFiles {
    /// `/etc`, except in tests.
    pub etc: PathBuf,
    /// Codex's home.
    pub home: PathBuf,
    /// The folder that the vendor is started in.
    pub project: PathBuf,
}

/// A configuration file.
#[derive(Debug)]
pub struct ConfigFile {
    /// Its place among the others.
    pub rank: ConfigRank,
    /// The file.
    pub path: PathBuf,
    /// Whether the file exists.
    pub present: bool,
    /// Its content, if it loads.
    pub root: Option<Spanned>,
    /// The fault for which it does not load.
    pub broken: Option<String>,
}

/// Codex's home under the name that its trust keys use (release 0.171.0).
///
/// Links are followed in a `CODEX_HOME`. In a `HOME` they are not: it is made absolute and folded by its letters alone,
/// so a link on the way to it, or a `~/.codex` or `config.toml` that is a link, stays in the name.
pub fn home(environment: Environment<'_>) -> Option<PathBuf> {
    let set = |name: &str| environment(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if let Some(named) = set("CODEX_HOME") {
        return fs_err::canonicalize(&named).or_else(|_| std::path::absolute(&named)).ok();
    }
    let home = std::path::absolute(set("HOME")?).ok()?;
    Some(folded(&home).join(".codex"))
}

/// A path without `.` and `..`, by its letters.
fn folded(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut out, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
        out
    })
}

impl ConfigFiles {
    /// Read every file.
    pub fn read(&self) -> Vec<ConfigFile> {
        let etc = self.etc.join("codex");
        let [system, hooks, managed, requirements] = machine_files(&etc);
        let mut files = vec![system, hooks];
        files.push((ConfigRank::User, self.home.join("config.toml")));
        files.push((ConfigRank::Hooks, self.home.join("hooks.json")));
        files.extend(self.profiles().into_iter().map(|file| (ConfigRank::Profile, file)));
        for folder in self.project_folders() {
            files.push((ConfigRank::Project, folder.join(".codex/config.toml")));
            files.push((ConfigRank::Hooks, folder.join(".codex/hooks.json")));
        }
        files.extend([managed, requirements]);
        files.into_iter().map(|(rank, path)| ConfigFile::read(rank, path)).collect()
    }

    fn profiles(&self) -> Vec<PathBuf> {
        let found = fs_err::read_dir(&self.home);
        let mut all: Vec<PathBuf> =
            found.map(|found| found.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
        all.retain(|file| file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".config.toml")));
        all.sort();
        all
    }

    /// The folders whose `.codex` is the project's: from its root, which holds `.git`, down to the one that the vendor
    /// starts in, without Codex's home.
    pub fn project_folders(&self) -> Vec<PathBuf> {
        let root = self.project.ancestors().find(|folder| folder.join(".git").exists());
        let mut all: Vec<PathBuf> = self.project.ancestors().map(Path::to_path_buf).collect();
        all.retain(|folder| root.map_or(*folder == self.project, |root| folder.starts_with(root)));
        all.retain(|folder| folder.join(".codex") != self.home);
        all.reverse();
        all
    }

    /// Whether the user's configuration trusts the folder of a project's file: by that folder, or by the project's
    /// root.
    pub fn trusted(&self, user: Option<&Spanned>, file: &Path) -> bool {
        let projects = user.and_then(|root| root.get("projects"));
        let trusts = |folder: &Path| {
            let trust = projects.and_then(|projects| projects.get(&folder.to_string_lossy()));
            trust.and_then(|trust| trust.get("trust_level")).and_then(Spanned::text) == Some("trusted")
        };
        let folder = file.parent().and_then(Path::parent);
        folder.is_some_and(trusts) || self.project_folders().first().is_some_and(|root| trusts(root))
    }
}

fn machine_files(etc: &Path) -> [(ConfigRank, PathBuf); 4] {
    [
        (ConfigRank::System, etc.join("config.toml")),
        (ConfigRank::Hooks, etc.join("hooks.json")),
        (ConfigRank::Managed, etc.join("managed_config.toml")),
        (ConfigRank::Requirements, etc.join("requirements.toml")),
    ]
}

/// Read the machine's own files, which every session reads.
pub fn machine(etc: &Path) -> Vec<ConfigFile> {
    machine_files(&etc.join("codex")).map(|(rank, path)| ConfigFile::read(rank, path)).into()
}

impl ConfigFile {
    fn read(rank: ConfigRank, path: PathBuf) -> ConfigFile {
        let text = text_of(&path);
        let mut file = ConfigFile { rank, present: text.is_some(), path, root: None, broken: None };
        let Some(text) = text else { return file };
        let read = text.and_then(|text| {
            let place = |at: usize, what: &str| {
                let (line, column) = crate::adapter::setup::text::line_and_column(&text, at);
                format!("line {line}, column {column}: {what}")
            };
            if rank == ConfigRank::Hooks {
                return tree::json(&text).map_err(|fault| place(fault.at(), fault.what()));
            }
            let skipped = tree::bom(&text);
            match parse(&text[skipped..]) {
                Ok(Config { root, .. }) => Ok(root),
                Err(fault) => Err(place(fault.at() + skipped, fault.what())),
            }
        });
        match read {
            Ok(root) => file.root = Some(root),
            Err(why) => file.broken = Some(why),
        }
        file
    }

    /// The value of a key in `[features]`.
    pub fn feature(&self, key: &str) -> Option<bool> {
        self.root.as_ref()?.find(&["features", key])?.bool()
    }

    /// The top key of a `hooks.json` for which the vendor ignores the whole file.
    pub fn odd_key(&self) -> Option<String> {
        let members = self.root.as_ref().filter(|_| self.rank == ConfigRank::Hooks)?.members();
        members.iter().map(|member| member.key.clone()).find(|key| !["description", "hooks"].contains(&key.as_str()))
    }

    /// The fault for which the vendor does not start at all.
    pub fn stops(&self) -> Option<String> {
        if let Some(why) = self.broken.as_ref().filter(|_| self.rank != ConfigRank::Hooks) {
            return Some(why.clone());
        }
        let root = self.root.as_ref().filter(|_| self.rank != ConfigRank::Hooks)?;
        let flags = root.get("features").map(Spanned::members).unwrap_or_default();
        let known = |key: &str| key == OLD_HOOKS || FEATURES.iter().any(|(feature, _)| *feature == key);
        let odd = flags.iter().find(|flag| known(&flag.key) && flag.node.bool().is_none());
        let odd = odd.map(|flag| format!("features.{} is {}, not a boolean", flag.key, flag.node.noun()));
        // release 0.171.0 names the key that replaced it
        let profile = root.get("profile").map(|_| "`profile` is no key any more; take it out".to_string());
        let only = root.get("allow_managed_hooks_only").filter(|_| self.rank == ConfigRank::Requirements);
        let only = only.filter(|only| only.bool().is_none());
        let only = only.map(|only| format!("`allow_managed_hooks_only` is {}, not a boolean", only.noun()));
        odd.or(profile).or(only)
    }

    /// The losses by this file alone.
    pub fn losses(&self) -> Vec<Loss> {
        let mut all = Vec::new();
        for (key, wanted) in FEATURES.into_iter().chain([(OLD_HOOKS, true)]) {
            if self.feature(key) == Some(!wanted) {
                all.push(feature_lost(key));
            }
        }
        let only = self.root.as_ref().and_then(|root| root.get("allow_managed_hooks_only"));
        if self.rank == ConfigRank::Requirements && only.and_then(Spanned::bool) == Some(true) {
            let what = "drops every hook that does not stand in this file";
            all.push(Loss::new("allow_managed_hooks_only", what, "add the entries here: mh-setup codex --managed"));
        }
        all.into_iter().map(|loss| loss.within(self.path.display().to_string())).collect()
    }
}

/// The loss by a feature with the wrong value.
fn feature_lost(key: &str) -> Loss {
    let name = format!("features.{key}");
    match key {
        "unified_exec_tty" => {
            let what = "gives the shell a terminal, and what is typed into one is seen by no hook";
            Loss::new(&name, what, "set it to false")
        }
        _ => Loss::new(&name, "switches every hook off", "set it to true, or take it out"),
    }
}

/// The losses by features among the files that count. The strongest layer's value counts, and the old name of a feature
/// only if no file has the new one.
pub fn features_lost(layers: &[&ConfigFile]) -> Vec<Loss> {
    let strongest = |key: &str| {
        let says = |layer: &&&ConfigFile| layer.feature(key).is_some();
        layers.iter().filter(says).max_by_key(|layer| layer.rank).map(|layer| (key.to_string(), layer))
    };
    let mut all = Vec::new();
    for (key, wanted) in FEATURES {
        let old = || (key == "hooks").then(|| strongest(OLD_HOOKS)).flatten();
        match strongest(key).or_else(old) {
            Some((name, layer)) if layer.feature(&name) != Some(wanted) => {
                all.push(feature_lost(&name).within(layer.path.display().to_string()));
            }
            None if key == "unified_exec_tty" => {
                let what = "is not set, so the shell has a terminal, and what is typed into one is seen by no hook";
                let loss = Loss::new("features.unified_exec_tty", what, "say mh-setup codex again");
                all.push(loss.within("config.toml"));
            }
            _ => {}
        }
    }
    all
}
