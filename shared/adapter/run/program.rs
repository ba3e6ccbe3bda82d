//! The vendor's program: where it is, and whether its hooks can be made to fail closed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::{Run, left_out};
use crate::os::words;

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(30);

/// A release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u32, u32, u32);

impl Version {
    /// The first `N.N.N` in a text.
    pub fn in_text(text: &str) -> Option<Version> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
            let mut numbers = word.split('.').map(|number| number.parse::<u32>().ok());
            match (numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()) {
                (Some(a), Some(b), Some(c), None) => Some(Version(a, b, c)),
                _ => None,
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The release that the vendor's tables were measured on.
pub fn measured(vendor: &dyn Run) -> Option<Version> {
    Version::in_text(vendor.facts().table.release)
}

/// Find the vendor's program, by path or on the search path, and ask it which release it is.
///
/// # Errors
/// It is missing, says nothing, or is too old, and what to do about that.
pub fn find(vendor: &dyn Run, told: Option<&Path>) -> Result<(PathBuf, Version), String> {
    let program = match told {
        Some(path) => path.to_path_buf(),
        None => on_path(vendor.facts().word).ok_or_else(|| {
            format!("{}: not found on PATH; install it, or name it by --program", vendor.facts().word)
        })?,
    };
    let shown = program.display();
    let program = std::path::absolute(&program).map_err(|error| format!("{shown}: {}", words(error)))?;
    let said = version(vendor, &program).map_err(|why| format!("{shown}: {why}"))?;
    let version = Version::in_text(&said)
        .ok_or_else(|| format!("{shown}: --version names no release, so it is not known whether its hooks hold"))?;
    match Version::in_text(vendor.facts().oldest) {
        Some(oldest) if version < oldest => Err(format!(
            "{shown}: release {version} is too old: {oldest} is the oldest whose hooks are known to fail closed; install that or a newer one"
        )),
        _ => Ok((program, version)),
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let runs = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(runs)
}

/// What the program says its version is, if it says it in time.
fn version(vendor: &dyn Run, program: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    // what a program obeys before it does what it is asked, it obeys here too
    for name in left_out(vendor).0 {
        command.env_remove(name);
    }
    let child = command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot be started: {}", words(error)))?;
    let pid = rustix::process::Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(PATIENCE) {
        Ok(Ok(output)) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(Err(error)) => Err(words(error)),
        Err(_) => {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            Err("--version had no end".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_out_of_what_a_program_says() {
        let read = |text| Version::in_text(text).map(|version| version.to_string());
        assert_eq!(read("2.1.332 (Claude Code)\n").as_deref(), Some("2.1.332"));
        assert_eq!(read("codex-cli 0.171.0").as_deref(), Some("0.171.0"));
        assert_eq!(read("codex-cli 0.172.0-alpha.1").as_deref(), Some("0.172.0"));
        assert_eq!(read("no release"), None);
        assert!(Version(2, 1, 294) < Version(2, 1, 295) && Version(2, 1, 295) < Version(2, 2, 0));
    }
}
