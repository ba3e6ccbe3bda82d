//! The vendor's program and its release.

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::host;

/// How long a program may take to tell its release.
const PATIENCE: Duration = Duration::from_secs(20);

/// A release: three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(u64, u64, u64);

impl Release {
    /// The first word of a text that is three numbers with dots between.
    pub fn find(text: &str) -> Option<Release> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
            let mut parts = word.split('.').map(|part| part.parse().ok());
            let release = Release(parts.next()??, parts.next()??, parts.next()??);
            parts.next().is_none().then_some(release)
        })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// What is known of the vendor's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// None of its name is on PATH.
    Nowhere,
    /// It is there and does not say its release; why.
    Silent(PathBuf, String),
    /// It is there, of this release.
    At(PathBuf, Release),
}

/// Look for a program on PATH and ask it for its release.
pub fn installed(word: &str) -> Installed {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let found =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(word)).find(runs);
    let Some(program) = found else { return Installed::Nowhere };
    let mut command = Command::new(&program);
    command.arg("--version");
    match said(command) {
        Ok(text) => match Release::find(&text) {
            Some(release) => Installed::At(program, release),
            None => Installed::Silent(program, "its --version names none".into()),
        },
        Err(why) => Installed::Silent(program, why),
    }
}

/// What a program says on its standard output, which has to be short.
///
/// # Errors
/// It could not be started, or was not done in time.
pub fn said(mut command: Command) -> Result<String, String> {
    use std::os::unix::process::CommandExt as _;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(host::words)?;
    let start = Instant::now();
    loop {
        match child.try_wait().map_err(host::words)? {
            Some(_) => break,
            None if start.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("it did not answer in time".into());
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        use std::io::Read as _;
        // one read: what a child of its own still holds open is not waited for, and a pipe that
        // holds 64 KB has it all by now
        let mut bytes = vec![0; 64 * 1024];
        let length = out.read(&mut bytes).map_err(host::words)?;
        text = String::from_utf8_lossy(&bytes[..length]).into_owned();
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_found_in_what_the_vendors_say_and_compared_by_number() {
        let release = |text| Release::find(text).unwrap();
        assert_eq!(release("2.1.332 (Claude Code)").to_string(), "2.1.332");
        assert_eq!(release("codex-cli 0.171.0\n").to_string(), "0.171.0");
        assert_eq!(Release::find("v2 or so, 1.2"), None);
        assert!(release("2.1.9") < release("2.1.295") && release("2.2.0") > release("2.1.295"));
    }
}
