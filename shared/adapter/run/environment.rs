//! Which variables of the caller's a vendor is started with: one rule, by lists.
//!
//! A vendor's own names pass by a list, since any of the hundreds it knows may load a plugin, take hooks off, or put a
//! program in the place of another. Names that a shell, the loader or a runtime obeys never pass. All others do: the
//! model's service, clouds, proxies and the project's own programs need them.

use crate::adapter::governed;
use crate::adapter::run::Run;
use crate::os::obeyed::obeyed;

/// What becomes of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is passed on.
    Passes,
    /// It is left out, and nobody set it for this run: the mark of a session around it.
    Mark,
    /// It is left out, and for this reason.
    Dropped(&'static str),
}

/// A vendor's own names. One that ends in `*` stands for all that begin so.
#[derive(Debug)]
pub struct Variables {
    /// How they begin.
    pub own: &'static [&'static str],
    /// Those of them that it may be told.
    pub passes: &'static [&'static str],
    /// What it sets for the programs that it starts, this one among them.
    pub marks: &'static [&'static str],
}

/// Why one of them is left out that stands on no list.
const UNLISTED: &str = "is the vendor's own, and not one that a governed turn needs";

/// What becomes of a variable of this name. One that is set for the run besides is not asked about here.
pub fn fate(vendor: &dyn Run, name: &str) -> Fate {
    let on = |list: &[&str]| {
        list.iter().any(|known| known.strip_suffix('*').map_or(*known == name, |head| name.starts_with(head)))
    };
    // Claude Code starts the hook without a shell, and Codex is given a folder of the run's own
    if name == "ZDOTDIR" {
        return Fate::Passes;
    }
    if let Some(what) = obeyed(name) {
        return Fate::Dropped(what);
    }
    if name.starts_with("MH_") || governed().any(|vendor| on(vendor.variables().marks)) {
        return Fate::Mark;
    }
    let Variables { own, passes, .. } = vendor.variables();
    match own.iter().any(|head| name.starts_with(head)) && !on(passes) {
        true => Fate::Dropped(UNLISTED),
        false => Fate::Passes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_obeys_never_passes_and_marks_are_nobodys_choice() {
        for vendor in governed() {
            for name in ["BASH_ENV", "BASH_FUNC_echo%%", "SHELLOPTS", "LD_PRELOAD", "GCONV_PATH", "NODE_OPTIONS"] {
                assert!(matches!(fate(vendor, name), Fate::Dropped(_)), "{name}");
            }
            for name in ["MH_FRAME", "MH_NO_SUCH_THING", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"] {
                assert_eq!(fate(vendor, name), Fate::Mark, "{name}");
            }
        }
    }
}
