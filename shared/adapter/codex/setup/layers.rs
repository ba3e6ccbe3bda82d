//! The files that Codex reads, and what in them takes the guard away. ConfigFiles add their hooks up;
//! of a feature the strongest layer's word holds.

use std::path::{Component, Path, PathBuf};

use super::{Config, parse};
use crate::adapter::Environment;
use crate::adapter::codex::FEATURES;
use crate::adapter::setup::file::text_of;
use crate::adapter::setup::report::Loss;
use crate::adapter::setup::tree::{self, Spanned};

/// The older name of `hooks`. The vendor takes it still, with a warning.
const OLD_HOOKS: &str = "codex_hooks";

/// The places of files, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigRank {
    /// `/etc/codex/config.toml`
    System,
    /// `config.toml` in Codex's home: where our entries stand.
    User,
    /// `NAME.config.toml` in Codex's home, read with `-p NAME`.
    Profile,
    /// `.codex/config.toml` of a project, read where the project is trusted.
    Project,
    /// `/etc/codex/managed_config.toml`
    Managed,
    /// `/etc/codex/requirements.toml`, which holds over all others.
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

/// Where the files are looked for.
#[derive(Debug, Clone)]
pub struct ConfigFiles {
    /// `/etc`, but in a test.
    pub etc: PathBuf,
    /// Codex's home.
    pub home: PathBuf,
    /// The folder that the vendor is started in.
    pub project: PathBuf,
}

/// A file that the configuration is read from.
#[derive(Debug)]
pub struct ConfigFile {
    /// Its place among the others.
    pub rank: ConfigRank,
    /// The file.
    pub path: PathBuf,
    /// There is such a file.
    pub present: bool,
    /// Its content, if it loads.
    pub root: Option<Spanned>,
    /// The fault for which it does not load.
    pub broken: Option<String>,
}

/// Codex's home, as Codex names it: by the name that trust is keyed with (release 0.171.0).
///
/// A `CODEX_HOME` is followed to where it leads. A `HOME` is not: it is made absolute and folded by its letters alone, and
/// a link on the way to it, or `~/.codex` or `config.toml` that are links themselves, stay in the name.
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
    /// Read them all.
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

    /// The folders whose `.codex` is the project's: from its root, which holds `.git`, down to the
    /// one that the vendor is started in. Codex's home is none of them.
    pub fn project_folders(&self) -> Vec<PathBuf> {
        let root = self.project.ancestors().find(|folder| folder.join(".git").exists());
        let mut all: Vec<PathBuf> = self.project.ancestors().map(Path::to_path_buf).collect();
        all.retain(|folder| root.map_or(*folder == self.project, |root| folder.starts_with(root)));
        all.retain(|folder| folder.join(".codex") != self.home);
        all.reverse();
        all
    }

    /// The user's configuration trusts the folder that a project's file is in: by that
    /// folder, or by the project's root.
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

/// Read the machine's own, which are read whatever a session is started with.
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

    /// The word of its `[features]` about this one.
    pub fn feature(&self, key: &str) -> Option<bool> {
        self.root.as_ref()?.find(&["features", key])?.bool()
    }

    /// The key at the top of a `hooks.json` for which the vendor takes the whole file back.
    pub fn odd_key(&self) -> Option<String> {
        let members = self.root.as_ref().filter(|_| self.rank == ConfigRank::Hooks)?.members();
        members.iter().map(|member| member.key.clone()).find(|key| !["description", "hooks"].contains(&key.as_str()))
    }

    /// The fault in it for which the vendor does not start at all.
    pub fn stops(&self) -> Option<String> {
        if let Some(why) = self.broken.as_ref().filter(|_| self.rank != ConfigRank::Hooks) {
            return Some(why.clone());
        }
        let root = self.root.as_ref().filter(|_| self.rank != ConfigRank::Hooks)?;
        let flags = root.get("features").map(Spanned::members).unwrap_or_default();
        let known = |key: &str| key == OLD_HOOKS || FEATURES.iter().any(|(feature, _)| *feature == key);
        let odd = flags.iter().find(|flag| known(&flag.key) && flag.node.bool().is_none());
        let odd = odd.map(|flag| format!("features.{} is {}, not a boolean", flag.key, flag.node.noun()));
        // release 0.171.0 names what took its place
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

/// A feature that stands as it must not.
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

/// The losses by features among the files that count. Of a feature the strongest layer's word
/// holds, and the old name of one only where no file has the new.
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
