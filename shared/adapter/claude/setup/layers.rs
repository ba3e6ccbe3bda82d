//! The settings files that Claude Code reads, the weakest first.

use std::path::{Path, PathBuf};

use crate::adapter::Environment;
use crate::adapter::setup::report::Loss;
use crate::adapter::setup::tree::{self, Node};
use crate::os;
use crate::os::git;

/// The most that a settings file may hold.
pub const MAX_SETTINGS: usize = 16 * 1024 * 1024;

/// What a settings file is to the vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person's own.
    User,
    /// The project's, for everybody who works in it.
    Project,
    /// The project's, on this machine.
    Local,
    /// What `--settings` names.
    Flag,
    /// The machine's.
    Managed,
}

impl Role {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Project => "project",
            Role::Local => "local",
            Role::Flag => "--settings",
            Role::Managed => "managed",
        }
    }
}

/// Where the files are looked for.
#[derive(Debug, Clone)]
pub struct Layers {
    /// `/etc`, but in a test.
    pub etc: PathBuf,
    /// The folder of the user's settings, where one is known.
    pub user: Option<PathBuf>,
    /// The folder that the vendor is started in.
    pub project: PathBuf,
    /// What `--settings` names.
    pub flag: Option<PathBuf>,
}

/// One file.
#[derive(Debug)]
pub struct Layer {
    /// What it is to the vendor.
    pub role: Role,
    /// Where it is.
    pub file: PathBuf,
    /// What it holds; `None`: there is no such file.
    pub text: Option<Result<String, String>>,
    /// The settings, if it loads.
    pub root: Option<Node>,
    /// Why it does not load.
    pub broken: Option<String>,
}

/// The folder of the user's settings.
pub fn user_folder(environment: Environment<'_>) -> Option<PathBuf> {
    let named = environment("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    named.or_else(|| environment("HOME").map(|home| PathBuf::from(home).join(".claude")))
}

impl Layers {
    /// Read them all.
    pub fn read(&self) -> Vec<Layer> {
        let mut files = Vec::new();
        files.extend(self.user.as_ref().map(|folder| (Role::User, folder.join("settings.json"))));
        files.push((Role::Project, self.project.join(".claude/settings.json")));
        files.extend(self.local_folders().into_iter().map(|folder| (Role::Local, folder.join(LOCAL))));
        files.extend(self.flag.clone().map(|file| (Role::Flag, file)));
        let mut layers: Vec<Layer> = files.into_iter().map(|(role, file)| Layer::read(role, file)).collect();
        layers.extend(machine(&self.etc));
        layers
    }
}

/// Where a folder's settings on this machine are.
const LOCAL: &str = ".claude/settings.local.json";

impl Layers {
    /// The folders whose local settings are read: the one that the vendor is started in, and before it the root of the
    /// repository, which for a linked worktree is that of the main checkout (release 2.1.332, measured).
    fn local_folders(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = git::root(&self.project).into_iter().collect();
        all.retain(|root| *root != self.project);
        all.push(self.project.clone());
        all
    }
}

/// Read the machine's own, which hold whatever a session is started with.
pub fn machine(etc: &Path) -> Vec<Layer> {
    let managed = etc.join("claude-code");
    let mut files: Vec<PathBuf> = std::fs::read_dir(managed.join("managed-settings.d"))
        .map(|found| found.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    files.insert(0, managed.join("managed-settings.json"));
    files.into_iter().map(|file| Layer::read(Role::Managed, file)).collect()
}

impl Layer {
    fn read(role: Role, file: PathBuf) -> Layer {
        let mut layer = Layer { role, text: text_of(&file), file, root: None, broken: None };
        match &layer.text {
            None => {}
            Some(Err(why)) => layer.broken = Some(why.clone()),
            Some(Ok(text)) => match if role == Role::Managed { super::stops(text) } else { super::unreadable(text) } {
                Some((at, what)) => {
                    let (line, column) = crate::adapter::setup::text::place(text, at);
                    layer.broken = Some(format!("line {line}, column {column}: {what}"));
                }
                None => layer.root = tree::json(text).ok(),
            },
        }
        layer
    }

    /// What it takes from a guard that a shell starts, besides: see [`Layer::losses`].
    pub fn shell_losses(&self, guard: Role) -> Vec<Loss> {
        let all = self.root.as_ref().map(|root| super::shell_losses(self.role, root, guard)).unwrap_or_default();
        all.into_iter().map(|loss| loss.within(self.file.display().to_string())).collect()
    }

    /// What it takes from a guard that stands in the layer of this role.
    pub fn losses(&self, guard: Role) -> Vec<Loss> {
        let all = self.root.as_ref().map(|root| super::losses(self.role, root, guard)).unwrap_or_default();
        all.into_iter().map(|loss| loss.within(self.file.display().to_string())).collect()
    }
}

/// The text of a file; `None`: there is none of that name.
pub fn text_of(file: &Path) -> Option<Result<String, String>> {
    if let Err(error) = std::fs::symlink_metadata(file) {
        return (error.kind() != std::io::ErrorKind::NotFound).then(|| Err(os::words(error)));
    }
    let bytes = os::read_bounded(file, MAX_SETTINGS).map_err(|refusal| refusal.to_string());
    Some(bytes.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| format!("byte {}: not UTF-8", error.utf8_error().valid_up_to()))
    }))
}
