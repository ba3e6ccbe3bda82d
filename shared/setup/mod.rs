//! The steps for writing, removing and checking our entries in a vendor's configuration, the same for every vendor.

pub(crate) mod doctor;
pub(crate) mod install;
mod line;
pub(crate) mod list;
mod probe;

use std::path::PathBuf;

use crate::adapter::setup::{EntryPlace, PrintedForm};
use crate::decide::Policy;
use crate::hook::Decider;
use crate::seal::Digest;

#[cfg(feature = "run")]
pub(crate) use line::answers;

/// The program's name, which every message begins with.
pub(crate) const PROGRAM: &str = "mh-setup";

/// The words and flags of a command line.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) words: Vec<String>,
    /// The folders for `list`.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) project: Option<PathBuf>,
    pub(crate) local: bool,
    pub(crate) user: bool,
    pub(crate) frame: Option<PathBuf>,
    pub(crate) digest: Option<Digest>,
    pub(crate) no_pin: bool,
    pub(crate) policy: Option<Policy>,
    pub(crate) audit: Option<PathBuf>,
    pub(crate) audit_input: bool,
    pub(crate) require_frame: bool,
    pub(crate) decider: Option<Decider>,
    pub(crate) deadline: Option<u32>,
    pub(crate) print: bool,
    pub(crate) shell: bool,
    pub(crate) managed: bool,
    pub(crate) remove: bool,
    pub(crate) settings: Option<PathBuf>,
    pub(crate) json: bool,
}

impl Request {
    fn place(&self) -> EntryPlace {
        match &self.project {
            _ if self.local => EntryPlace::Local(self.folder()),
            Some(project) => EntryPlace::Project(project.clone()),
            None if self.user => EntryPlace::User,
            None => EntryPlace::Untold,
        }
    }

    /// The folder that the vendor starts in.
    fn folder(&self) -> PathBuf {
        self.project.clone().unwrap_or_else(|| PathBuf::from("."))
    }

    /// The form for `--print`.
    fn printed(&self) -> Option<PrintedForm> {
        match (self.managed, self.print, self.shell) {
            (true, ..) => Some(PrintedForm::Managed),
            (_, true, true) => Some(PrintedForm::Shell),
            (_, true, false) => Some(PrintedForm::Written),
            _ => None,
        }
    }
}
