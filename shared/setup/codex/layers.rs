//! The files that Codex reads, and what in them takes the guard away. Layers add their hooks up;
//! of a feature the strongest layer's word holds.

use std::path::{Path, PathBuf};

use super::{Config, parse};
use crate::setup::claude::text_of;
use crate::setup::report::Loss;
use crate::setup::tree::{self, Node, Value};
use crate::vendor::Environment;

/// What a file is to the vendor, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
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

impl Role {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Profile => "profile",
            Role::Project => "project",
            Role::Managed => "managed",
            Role::Requirements => "requirements",
            Role::Hooks => "hooks",
        }
    }
}

/// Where the files are looked for.
#[derive(Debug, Clone)]
pub struct Layers {
    /// `/etc`, but in a test.
    pub etc: PathBuf,
    /// Codex's home.
    pub home: PathBuf,
    /// The folder that the vendor is started in.
    pub project: PathBuf,
}

/// One file.
#[derive(Debug)]
pub struct Layer {
    /// What it is to the vendor.
    pub role: Role,
    /// Where it is.
    pub file: PathBuf,
    /// Whether there is such a file.
    pub present: bool,
    /// What it holds, if it loads.
    pub root: Option<Node>,
    /// Why it does not.
    pub broken: Option<String>,
}

/// Codex's home.
pub fn home(environment: Environment<'_>) -> Option<PathBuf> {
    let named = environment("CODEX_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    // the vendor resolves a home that is named, and trust is keyed by what comes of it
    let named = named.map(|folder| std::fs::canonicalize(&folder).unwrap_or(folder));
    named.or_else(|| environment("HOME").map(|home| PathBuf::from(home).join(".codex")))
}

impl Layers {
    /// Read them all.
    pub fn read(&self) -> Vec<Layer> {
        let etc = self.etc.join("codex");
        let mut files = vec![(Role::System, etc.join("config.toml")), (Role::Hooks, etc.join("hooks.json"))];
        files.push((Role::User, self.home.join("config.toml")));
        files.push((Role::Hooks, self.home.join("hooks.json")));
        files.extend(self.profiles().into_iter().map(|file| (Role::Profile, file)));
        for folder in self.project_folders() {
            files.push((Role::Project, folder.join(".codex/config.toml")));
            files.push((Role::Hooks, folder.join(".codex/hooks.json")));
        }
        files.push((Role::Managed, etc.join("managed_config.toml")));
        files.push((Role::Requirements, etc.join("requirements.toml")));
        files.into_iter().map(|(role, file)| Layer::read(role, file)).collect()
    }

    fn profiles(&self) -> Vec<PathBuf> {
        let found = std::fs::read_dir(&self.home);
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

    /// Whether the user's configuration trusts the project, by its root or by this folder.
    pub fn trusted(&self, user: Option<&Node>) -> bool {
        let projects = user.and_then(|root| root.get("projects"));
        self.project_folders().iter().any(|folder| {
            let trust = projects.and_then(|projects| projects.get(&folder.to_string_lossy()));
            trust.and_then(|trust| trust.get("trust_level")).and_then(Node::text) == Some("trusted")
        })
    }
}

impl Layer {
    fn read(role: Role, file: PathBuf) -> Layer {
        let text = text_of(&file);
        let mut layer = Layer { role, present: text.is_some(), file, root: None, broken: None };
        let Some(text) = text else { return layer };
        let read = text.and_then(|text| {
            let place = |at: usize, what: &str| {
                let (line, column) = crate::setup::text::place(&text, at);
                format!("line {line}, column {column}: {what}")
            };
            if role == Role::Hooks {
                return tree::json(&text).map_err(|fault| place(fault.at, &fault.what));
            }
            let skipped = tree::bom(&text);
            match parse(&text[skipped..]) {
                Ok(Config { root, .. }) => Ok(root),
                Err((at, what)) => Err(place(at + skipped, &what)),
            }
        });
        match read {
            Ok(root) => layer.root = Some(root),
            Err(why) => layer.broken = Some(why),
        }
        layer
    }

    /// What its `[features]` say of this one, by the name it has or the one it had.
    pub fn feature(&self, key: &str) -> Option<bool> {
        let features = self.root.as_ref()?.get("features")?;
        let old = (key == "hooks").then(|| features.get("codex_hooks")).flatten();
        features.get(key).or(old).and_then(Node::bool)
    }

    /// What a `hooks.json` has at the top that the vendor takes the whole file back for.
    pub fn odd_key(&self) -> Option<String> {
        let members = self.root.as_ref().filter(|_| self.role == Role::Hooks)?.members();
        members.iter().map(|member| member.key.clone()).find(|key| !["description", "hooks"].contains(&key.as_str()))
    }

    /// What takes the guard away here, of a guard that stands in the user's configuration.
    pub fn losses(&self) -> Vec<Loss> {
        let mut all = Vec::new();
        if self.feature("hooks") == Some(false) {
            all.push(Loss::new("features.hooks", "switches every hook off", "set it to true, or take it out"));
        }
        if self.feature("unified_exec_tty") == Some(true) {
            let what = "gives the shell a terminal, and what is typed into one is seen by no hook";
            all.push(Loss::new("features.unified_exec_tty", what, "set it to false"));
        }
        let only = self.root.as_ref().and_then(|root| root.get("allow_managed_hooks_only"));
        if self.role == Role::Requirements && only.is_some_and(|only| !matches!(only.value, Value::Bool(false))) {
            let what = "drops every hook that does not stand in this file";
            all.push(Loss::new("allow_managed_hooks_only", what, "add the entries here: mh-setup codex --managed"));
        }
        all
    }
}
