//! Codex: the stub of its model's service, the driver, the cases.

mod appserver;
pub mod cases;
mod launch;
pub mod script;
pub mod session;
pub mod stub;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};

use crate::ask::{self, Side};
use crate::case::Case;
use crate::docs;
use session::Codex;

pub fn cases(program: &Path) -> Vec<Case> {
    let codex = Codex { program: native(program).unwrap_or_else(|| program.to_path_buf()) };
    let mut all = cases::all(&codex);
    for mode in script::Mode::BOTH {
        all.extend(ask::cases(&Side::Codex(codex.clone(), mode)));
    }
    all.extend(docs::cases("codex", &codex.program));
    all
}

/// The program behind npm's `codex`, which is a Node script that finds and starts it in a package named after the
/// platform.
fn native(launcher: &Path) -> Option<PathBuf> {
    let packages = launcher.ancestors().nth(3)?;
    let vendored =
        fs::read_dir(packages).ok()?.flatten().map(|entry| entry.path().join("vendor")).find(|path| path.is_dir())?;
    let target = fs::read_dir(vendored).ok()?.flatten().next()?.path();
    let program = target.join("bin/codex");
    program.exists().then_some(program)
}
