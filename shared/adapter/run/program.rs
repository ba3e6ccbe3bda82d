//! The vendor's program: its place, and its release.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Run, left_out};
use crate::os::release::{NoAnswer, Release, asking_release, on_path, said_within};
use crate::os::{Remembered, words};

/// The time for a program to report its release. It is long, since without the release nothing runs.
const PATIENCE: Duration = Duration::from_secs(30);

/// The release that the vendor's tables were measured on.
pub fn measured(vendor: &dyn Run) -> Option<Release> {
    Release::find(vendor.facts().table.release)
}

/// Find the vendor's program, by path or on the search path, and ask it for its release.
///
/// # Errors
/// The program is missing, reports nothing, or is too old; with advice.
pub fn find(vendor: &dyn Run, told: Option<&Path>) -> Result<(PathBuf, Release), String> {
    let program = match told {
        Some(path) => path.to_path_buf(),
        None => on_path(vendor.facts().word).ok_or_else(|| {
            format!("{}: not found on PATH; install it, or name it by --program", vendor.facts().word)
        })?,
    };
    let shown = program.display();
    let program = std::path::absolute(&program).map_err(|error| format!("{shown}: {}", words(error)))?;
    let place = Remembered::of(&program, &vendor.behind(&program));
    let version = match place.as_ref().and_then(Remembered::release) {
        Some(version) => version,
        None => {
            let said = version(vendor, &program).map_err(|why| format!("{shown}: {why}"))?;
            let version = Release::find(&said).ok_or_else(|| {
                format!("{shown}: --version names no release, so it is not known whether its hooks hold")
            })?;
            place.iter().for_each(|place| place.keep(version));
            version
        }
    };
    match Release::find(vendor.facts().oldest) {
        Some(oldest) if version < oldest => Err(format!(
            "{shown}: release {version} is too old: {oldest} is the oldest whose hooks are known to fail closed; install that or a newer one"
        )),
        _ => Ok((program, version)),
    }
}

/// The program's own report of its release, if it comes in time.
fn version(vendor: &dyn Run, program: &Path) -> Result<String, String> {
    let mut command = asking_release(program);
    // a variable that would change a run of the program would change this start of it too
    for name in left_out(vendor).0 {
        command.env_remove(name);
    }
    said_within(command, PATIENCE, PATIENCE).map_err(|why| match why {
        NoAnswer::Unstarted(why) => format!("cannot be started: {why}"),
        NoAnswer::Lost(why) => why,
        NoAnswer::Endless(_) | NoAnswer::LeftOpen => "--version had no end".into(),
    })
}
