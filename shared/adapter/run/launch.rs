//! The strictest launch that was measured for each vendor: it writes nothing into the user's files, and passes on
//! nothing that could remove the hook.

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

#[derive(Debug, Clone)]
pub struct LaunchOrder {
    pub vendor: &'static dyn Run,
    pub program: PathBuf,
    pub hook: String,
    /// The frame in force, with its path.
    pub frame: Option<(String, VerifiedFrame)>,
    /// The answer to an admitted call.
    pub policy: Policy,
    /// The path of the audit.
    pub audit: String,
    /// The party that is asked about admitted calls.
    pub decider: Option<String>,
    /// The seconds for that; `None` is the hook's own limit.
    pub patience: Option<u32>,
    /// Whether the hook also records the inputs of calls.
    pub inputs: bool,
    pub prompt: String,
    pub model: Option<String>,
    /// The working folder of the turn.
    pub cwd: PathBuf,
    /// Whether the run has a scratch home and a cleared environment.
    pub hermetic: bool,
    /// The credentials that go along into the scratch home.
    pub credentials: Credentials,
    /// Further variables that go along.
    pub carried: Vec<OsString>,
    /// The MCP servers from the user's file.
    pub mcp: Option<serde_json::Value>,
    /// The schema that the vendor holds the answer to: its file and its text.
    pub schema: Option<(PathBuf, String)>,
    /// Codex's sandbox.
    pub sandbox: Option<String>,
    /// The project's instructions, for a vendor whose isolation drops them.
    pub instructions: Option<String>,
    /// Options for the vendor, already checked against its list.
    pub options: Vec<String>,
}

/// The credentials that go along where the environment is cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// The vendor's own credentials file and its variables.
    Inherit,
    /// A key in a variable.
    ApiKey,
    None,
}

/// A launch, ready to run.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// Whether the environment is cleared first.
    pub clear: bool,
    /// Variables that are removed.
    pub removed: Vec<OsString>,
    /// The removed variables that somebody may have set on purpose.
    pub dropped: Vec<String>,
    /// Variables that are set.
    pub set: Vec<(OsString, OsString)>,
    /// The folder that the program starts in.
    pub cwd: PathBuf,
    /// The program's stdin: so a list of processes shows no prompt, and no prompt is too long.
    pub prompt: String,
    /// The folder of the vendor's records.
    pub home: PathBuf,
    /// Codex's settings that the run itself gives, by `-c`.
    pub settings: Vec<String>,
    /// Codex's sandbox.
    pub sandbox: Option<String>,
}

impl Launch {
    /// The program with its environment and its folder, without arguments.
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

/// The variables that go along into a cleared environment besides credentials: they find programs, choose the text
/// encoding and reach the network.
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

/// Make the launch. Its files go into the run's own folder.
///
/// # Errors
/// The part that could not be prepared.
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

/// The caller's variables that go along where the environment is not cleared.
pub const VARIABLES: &str = "the vendor's own by a list, none that a shell, the loader or a runtime obeys, all others";

/// The measures that cut the turn off from its surroundings: each part, with its means.
pub fn imposed(vendor: &dyn Run, framed: bool, hermetic: bool) -> Rows {
    let mut all = vendor.imposed(framed);
    if hermetic {
        all.extend([("home", "a scratch folder"), ("environment", "cleared, but for what is named")]);
    }
    all
}

impl LaunchOrder {
    /// The tools that the vendor is told not to offer, each with the operation that it needs; `None` if the vendor
    /// takes no such list.
    pub fn withheld(&self) -> Option<Vec<(&'static str, &'static str)>> {
        let (_, frame) = self.frame.as_ref()?;
        self.vendor.withheld(frame)
    }

    /// The policy, if a frame is in force.
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

    /// Link the vendor's credentials file into a scratch folder, and pass on its variables. A copy would spoil the
    /// login: the vendor renews it in the file, and the new login would vanish with the run.
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

/// The vendor's own folder for a session that starts in `cwd`: from its variable, else in the user's home.
pub fn home(vendor: &dyn Run, cwd: &Path) -> PathBuf {
    let (variable, name) = vendor.own_folder();
    let told = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(name));
    // the vendor reads a relative path from the folder that it starts in
    cwd.join(told.or(home).unwrap_or_else(|| Path::new("/").join(name)))
}

/// The variables of this process that a vendor does not get, and those of them that somebody may have set on purpose.
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

/// Check the variables for a cleared environment against the rule for every environment.
///
/// # Errors
/// The first variable that never passes.
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
