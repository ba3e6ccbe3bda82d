//! Layers that would silently override the guard, so that a run is refused before it starts; and surroundings that a
//! launch leaves out.

use std::path::{Path, PathBuf};

use super::{Run, Shadowed};
use crate::adapter::setup::report::Loss;
use crate::adapter::setup::tree::Spanned;

/// Check a layer that the vendor reads in every launch: it must be readable, take nothing from the hook, shut nothing
/// out, and have no hook of its own.
///
/// # Errors
/// The layer's fault.
pub fn harmless_layer(
    file: &Path,
    broken: Option<&str>,
    losses: &[Loss],
    root: Option<&Spanned>,
    shut_out: fn(&Spanned) -> Option<String>,
) -> Result<(), Shadowed> {
    let shown = file.display();
    if let Some(why) = broken {
        return Err(Shadowed::by(shown, format!("it cannot be read, so it is not known to be harmless: {why}")));
    }
    if let Some(loss) = losses.first() {
        return Err(Shadowed::line(format!("{}, or run where it is not", loss.line())));
    }
    if let Some(why) = root.and_then(shut_out) {
        return Err(Shadowed::by(shown, format!("{why}; take it out, or run where it is not")));
    }
    let hooks = root.and_then(|root| root.get("hooks")).map(Spanned::members).unwrap_or_default();
    match hooks.iter().find(|event| event.key != "state") {
        None => Ok(()),
        Some(event) => Err(Shadowed::by(
            shown,
            format!(
                "hooks.{}: an input that another hook replaces would run without being judged; take it out, or run where \
                 it is not",
                event.key
            ),
        )),
    }
}

/// The existing files that the launch's isolation leaves out, for a line on stderr.
pub fn ambient(vendor: &dyn Run, cwd: &Path, home: Option<&Path>, instructions: bool) -> Vec<PathBuf> {
    let names = vendor.ambient();
    let told: &[&str] = if instructions { &[] } else { names.instructions };
    let mut all: Vec<PathBuf> = names.everywhere.iter().chain(told).map(|name| cwd.join(name)).collect();
    let own = names.everywhere.iter().chain(names.home);
    all.extend(home.into_iter().flat_map(|home| own.clone().map(|name| home.join(name))));
    all.retain(|path| path.exists());
    all.dedup();
    all
}
