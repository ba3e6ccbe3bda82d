//! Our entries into a vendor's configuration, out of it, and whether they hold: the order of the work, the same for every
//! vendor.

pub(crate) mod doctor;
pub(crate) mod install;
mod line;
mod probe;

use std::path::PathBuf;

use crate::adapter::setup::{EntryPlace, PrintedForm};
use crate::decide::Policy;
use crate::os::Stop;

/// The program's name, in front of everything it says.
pub(crate) const PROGRAM: &str = "mh-setup";

/// The words and flags of a command line.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) words: Vec<String>,
    pub(crate) project: Option<PathBuf>,
    pub(crate) user: bool,
    pub(crate) frame: Option<PathBuf>,
    pub(crate) no_pin: bool,
    pub(crate) policy: Option<Policy>,
    pub(crate) audit: Option<PathBuf>,
    pub(crate) require_frame: bool,
    pub(crate) print: bool,
    pub(crate) shell: bool,
    pub(crate) managed: bool,
    pub(crate) remove: bool,
    pub(crate) settings: Option<PathBuf>,
    pub(crate) json: bool,
}

impl Request {
    /// Refuse what does not go together where entries are written, taken out or printed.
    pub(crate) fn fits(&self) -> Result<(), Stop> {
        let prints = usize::from(self.print) + usize::from(self.managed);
        if prints + usize::from(self.remove) > 1 {
            return Err(Stop::usage("--print, --managed and --remove do different things; say one"));
        }
        if self.shell && !self.print {
            return Err(Stop::usage(
                "--shell goes with --print: its form is for releases that mh-setup does not write for",
            ));
        }
        if self.remove && (self.frame.is_some() || self.no_pin || self.policy.is_some() || self.audit.is_some()) {
            return Err(Stop::usage(
                "--remove takes the entries out whatever they say; it goes with --project or --user alone",
            ));
        }
        if self.user && self.project.is_some() {
            return Err(Stop::usage("--user and --project are different places; say one"));
        }
        if self.json || self.settings.is_some() {
            return Err(Stop::usage("--json and --settings are doctor's"));
        }
        Ok(())
    }

    /// Refuse what doctor goes by the entries for.
    pub(crate) fn fits_doctor(&self) -> Result<(), Stop> {
        let writes = self.print || self.managed || self.remove || self.shell || self.user || self.no_pin;
        if writes || self.frame.is_some() || self.policy.is_some() || self.audit.is_some() || self.require_frame {
            return Err(Stop::usage("doctor takes --project, --settings and --json alone: it goes by what is set up"));
        }
        Ok(())
    }

    fn place(&self) -> EntryPlace {
        match &self.project {
            Some(project) => EntryPlace::Project(project.clone()),
            None if self.user => EntryPlace::User,
            None => EntryPlace::Untold,
        }
    }

    /// The form that is to be printed, if one is.
    fn printed(&self) -> Option<PrintedForm> {
        match (self.managed, self.print, self.shell) {
            (true, ..) => Some(PrintedForm::Managed),
            (_, true, true) => Some(PrintedForm::Shell),
            (_, true, false) => Some(PrintedForm::Written),
            _ => None,
        }
    }
}
