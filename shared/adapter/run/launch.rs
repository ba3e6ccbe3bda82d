//! The strongest launch that was measured, of either vendor: nothing is written into the user's
//! files, and nothing that could take the hook away is passed on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::environment::{Fate, fate};
use super::{Rows, Run, Shadowed, Unprepared};
use crate::adapter::Registration;
use crate::adapter::setup::terms::Flags;
use crate::decide::Policy;
use crate::os::PrivateRoom;
use crate::seal::VerifiedFrame;

/// What is to be launched.
#[derive(Debug, Clone)]
pub struct LaunchOrder {
    /// Whose program.
    pub vendor: &'static dyn Run,
    /// The program.
    pub program: PathBuf,
    /// The hook program.
    pub hook: String,
    /// The frame in force, and where it lies.
    pub frame: Option<(String, VerifiedFrame)>,
    /// What an admitted call is answered with.
    pub policy: Policy,
    /// Where the decisions go.
    pub audit: String,
    /// Who is asked about admitted calls.
    pub decider: Option<String>,
    /// How long that may take, in seconds; `None` is the hook's own limit.
    pub patience: Option<u32>,
    /// Whether the hook records the inputs of calls too.
    pub inputs: bool,
    /// The prompt.
    pub prompt: String,
    /// The model.
    pub model: Option<String>,
    /// The folder that the turn works in.
    pub cwd: PathBuf,
    /// A scratch home and a cleared environment.
    pub hermetic: bool,
    /// Which credentials go along into that.
    pub credentials: Credentials,
    /// Variables that go along besides.
    pub carried: Vec<OsString>,
    /// The MCP servers, as a file has them.
    pub mcp: Option<serde_json::Value>,
    /// The schema that the answer is held to by the vendor: its file and its text.
    pub schema: Option<(PathBuf, String)>,
    /// Codex's sandbox.
    pub sandbox: Option<String>,
    /// The project's instructions, for a vendor whose isolation drops them.
    pub instructions: Option<String>,
    /// Options for the vendor, already held to the list.
    pub options: Vec<String>,
}

/// Which credentials go along where the environment is cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// The vendor's own file of them, and its variables.
    Inherit,
    /// A key in a variable.
    ApiKey,
    /// None.
    None,
}

/// A launch, ready to run.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Whether the environment is cleared first.
    pub clear: bool,
    /// Variables that are taken out.
    pub removed: Vec<OsString>,
    /// Those of them that somebody may have set on purpose.
    pub dropped: Vec<String>,
    /// Variables that are set.
    pub set: Vec<(OsString, OsString)>,
    /// The folder it starts in.
    pub cwd: PathBuf,
    /// What it reads from standard input: a list of processes shows no prompt then, and none is
    /// too long.
    pub prompt: String,
    /// The folder in which the vendor keeps its records.
    pub home: PathBuf,
    /// Codex's settings that the run itself gives, by `-c`.
    pub settings: Vec<String>,
    /// Codex's sandbox.
    pub sandbox: Option<String>,
}

impl Launch {
    /// The program in its environment and its folder, without arguments yet.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.cwd);
        if self.clear {
            command.env_clear();
        }
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// What goes along into a cleared environment, besides credentials: how to find programs, how to
/// write text, how to reach the network.
const STATED: [&str; 19] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TZ",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "SHELL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Make the launch. What it needs on disk goes into the run's own folder.
///
/// # Errors
/// What could not be prepared.
pub fn launch(order: &LaunchOrder, room: &PrivateRoom) -> Result<Launch, Unprepared> {
    let mut launch = Launch {
        program: order.program.clone(),
        clear: order.hermetic,
        cwd: order.cwd.clone(),
        prompt: order.prompt.clone(),
        ..Launch::default()
    };
    match order.hermetic {
        true => {
            let names = STATED.iter().map(OsString::from).chain(order.carried.iter().cloned());
            launch.set.extend(names.filter_map(|name| std::env::var_os(&name).map(|value| (name, value))));
            let home = room.folder("home")?;
            launch.set.push(("HOME".into(), home.into()));
        }
        false => (launch.removed, launch.dropped) = left_out(order.vendor),
    }
    order.vendor.prepare(order, room, &mut launch)?;
    Ok(launch)
}

/// Which of the caller's variables go along where the environment is not cleared.
pub const VARIABLES: &str = "the vendor's own by a list, none that a shell, the loader or a runtime obeys, all others";

/// What a launch does to cut the turn off from what lies around: which part, and by what.
pub fn imposed(vendor: &dyn Run, framed: bool, hermetic: bool) -> Rows {
    let mut all = vendor.imposed(framed);
    if hermetic {
        all.extend([("home", "a scratch folder"), ("environment", "cleared, but for what is named")]);
    }
    all
}

impl LaunchOrder {
    /// The tools that the vendor is told not to offer, each with the operation that it needs; `None`
    /// where it takes no such list.
    pub fn withheld(&self) -> Option<Vec<(&'static str, &'static str)>> {
        let (_, frame) = self.frame.as_ref()?;
        self.vendor.withheld(frame)
    }

    /// The policy in force, where a frame is.
    pub fn policy(&self) -> Option<&'static str> {
        self.frame.as_ref().map(|_| self.policy.word())
    }

    /// The hook's command line.
    pub fn registration(&self) -> Registration {
        let frame = self.frame.as_ref();
        let flags = Flags {
            frame: frame.map(|(path, _)| path.as_str()),
            pin: frame.map(|(_, frame)| frame.digest()),
            audit: Some(&self.audit),
            decider: self.decider.as_deref(),
            audit_input: self.inputs,
            unattended: true,
            deadline: self.patience,
            ..Flags::of(self.policy)
        };
        flags.registration(&self.hook)
    }

    /// Link the vendor's file of credentials into a scratch folder, and take its variables along. A copy would be spent
    /// alone: the vendor renews a login by its file, and what it was given for the old one would be gone with the run.
    pub fn carry(
        &self,
        launch: &mut Launch,
        file: (PathBuf, PathBuf),
        keys: &[&str],
        more: &[&str],
    ) -> Result<(), Unprepared> {
        let names: Vec<&str> = match self.credentials {
            Credentials::Inherit => keys.iter().chain(more).copied().collect(),
            Credentials::ApiKey => keys.to_vec(),
            Credentials::None => Vec::new(),
        };
        launch.set.extend(names.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))));
        let (from, to) = file;
        if self.credentials == Credentials::Inherit && from.is_file() {
            let from = std::path::absolute(&from)?;
            fs_err::os::unix::fs::symlink(from, to)?;
        }
        Ok(())
    }
}

/// The vendor's own folder for a session that starts in `cwd`: the one that a variable names, else that in the user's
/// home.
pub fn home(vendor: &dyn Run, cwd: &Path) -> PathBuf {
    let (variable, name) = vendor.own_folder();
    let told = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(name));
    // a relative one is the vendor's to read, in the folder that it starts in
    cwd.join(told.or(home).unwrap_or_else(|| Path::new("/").join(name)))
}

/// The variables of this process that a vendor is not started with, and those of them that somebody may have set on
/// purpose.
pub fn left_out(vendor: &dyn Run) -> (Vec<OsString>, Vec<String>) {
    let (mut removed, mut dropped) = (Vec::new(), Vec::new());
    for (name, _) in std::env::vars_os() {
        let shown = name.to_string_lossy().into_owned();
        match fate(vendor, &shown) {
            Fate::Passes => continue,
            Fate::Mark => {}
            Fate::Dropped(_) => dropped.push(shown),
        }
        removed.push(name);
    }
    dropped.sort();
    (removed, dropped)
}

/// Hold the variables that are to go along into a cleared environment to the rule that holds for all.
///
/// # Errors
/// The first that never passes.
pub fn carried(vendor: &dyn Run, names: &[OsString]) -> Result<(), Shadowed> {
    let refused = |name: &OsString| {
        let shown = name.to_string_lossy().into_owned();
        let why = match fate(vendor, &shown) {
            Fate::Passes => return None,
            Fate::Mark => "belongs to the run itself, or to a session around it",
            Fate::Dropped(why) => why,
        };
        Some(Shadowed::by(format!("--env {shown}"), format!("it {why}; leave it out")))
    };
    names.iter().find_map(refused).map_or(Ok(()), Err)
}
