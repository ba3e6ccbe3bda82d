//! The settings files that Claude Code reads, the weakest first.

use std::path::{Path, PathBuf};

use super::{LOCAL, PROJECT};
use crate::adapter::Environment;
use crate::adapter::setup::Unplaced;
use crate::adapter::setup::file::{named_by, text_of};
use crate::adapter::setup::report::Loss;
use crate::adapter::setup::tree::{self, Spanned};
use crate::os::git;

/// The places of settings files, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// The user's own file.
    User,
    /// The project's file for everybody who works in it.
    Project,
    /// The project's file on this machine.
    Local,
    /// The file of `--settings`.
    Flag,
    /// The machine's files.
    Managed,
}

impl Rank {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Rank::User => "user",
            Rank::Project => "project",
            Rank::Local => "local",
            Rank::Flag => "--settings",
            Rank::Managed => "managed",
        }
    }
}

/// The places of the files.
#[derive(Debug, Clone)]
pub struct SettingsFiles {
    /// `/etc`, except in tests.
    pub etc: PathBuf,
    /// The folder of the user's settings, if it is known.
    pub user: Option<PathBuf>,
    /// The folder that the vendor is started in.
    pub project: PathBuf,
    /// The file of `--settings`.
    pub flag: Option<PathBuf>,
}

/// A settings file.
#[derive(Debug)]
pub struct SettingsFile {
    /// Its place among the others.
    pub rank: Rank,
    /// The file.
    pub path: PathBuf,
    /// Its text; `None` if there is no such file.
    pub text: Option<Result<String, String>>,
    /// The settings, if it loads.
    pub root: Option<Spanned>,
    /// The fault for which it does not load.
    pub broken: Option<String>,
}

/// The folder of the user's settings; `None` if nothing names one.
///
/// # Errors
/// The name is relative.
pub fn user_folder(environment: Environment<'_>) -> Result<Option<PathBuf>, Unplaced> {
    match named_by("CLAUDE_CONFIG_DIR", environment)? {
        Some(named) => Ok(Some(named)),
        None => Ok(named_by("HOME", environment)?.map(|home| home.join(".claude"))),
    }
}

impl SettingsFiles {
    /// Read every file.
    pub fn read(&self) -> Vec<SettingsFile> {
        let mut files = Vec::new();
        files.extend(self.user.as_ref().map(|folder| (Rank::User, folder.join("settings.json"))));
        files.push((Rank::Project, self.project.join(PROJECT)));
        files.extend(self.local_folders().into_iter().map(|folder| (Rank::Local, folder.join(LOCAL))));
        files.extend(self.flag.clone().map(|file| (Rank::Flag, file)));
        let mut layers: Vec<SettingsFile> =
            files.into_iter().map(|(rank, path)| SettingsFile::read(rank, path)).collect();
        layers.extend(machine(&self.etc));
        layers
    }
}

impl SettingsFiles {
    /// The folders whose local settings are read: first the root of the repository, which for a linked worktree is that
    /// of the main checkout, then the folder that the vendor starts in (release 2.1.332, measured).
    fn local_folders(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = git::root(&self.project).into_iter().collect();
        all.retain(|root| *root != self.project);
        all.push(self.project.clone());
        all
    }
}

/// Read the machine's own files, which every session reads.
pub fn machine(etc: &Path) -> Vec<SettingsFile> {
    let managed = etc.join("claude-code");
    let mut files: Vec<PathBuf> = fs_err::read_dir(managed.join("managed-settings.d"))
        .map(|found| found.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    files.insert(0, managed.join("managed-settings.json"));
    files.into_iter().map(|file| SettingsFile::read(Rank::Managed, file)).collect()
}

impl SettingsFile {
    fn read(rank: Rank, path: PathBuf) -> SettingsFile {
        let mut file = SettingsFile { rank, text: text_of(&path), path, root: None, broken: None };
        match &file.text {
            None => {}
            Some(Err(why)) => file.broken = Some(why.clone()),
            Some(Ok(text)) => match if rank == Rank::Managed { super::stops(text) } else { super::unreadable(text) } {
                Some(fault) => {
                    let (line, column) = crate::adapter::setup::text::line_and_column(text, fault.at());
                    file.broken = Some(format!("line {line}, column {column}: {}", fault.what()));
                }
                None => file.root = tree::json(text).ok(),
            },
        }
        file
    }

    /// Further losses for a guard that a shell starts: see [`SettingsFile::losses`].
    pub fn shell_losses(&self, guard: Rank) -> Vec<Loss> {
        let all = self.root.as_ref().map(|root| super::shell_losses(self.rank, root, guard)).unwrap_or_default();
        all.into_iter().map(|loss| loss.within(self.path.display().to_string())).collect()
    }

    /// The losses for a guard in a file of this rank.
    pub fn losses(&self, guard: Rank) -> Vec<Loss> {
        let all = self.root.as_ref().map(|root| super::losses(self.rank, root, guard)).unwrap_or_default();
        all.into_iter().map(|loss| loss.within(self.path.display().to_string())).collect()
    }
}
