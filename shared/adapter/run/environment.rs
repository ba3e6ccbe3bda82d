//! The caller's variables that a vendor gets: one rule, by lists.
//!
//! A vendor's own names pass by a list, since any of the hundreds that it knows may load a plugin, remove hooks, or
//! replace a program. Names that a shell, the loader or a runtime obeys never pass. All others do: the model's service,
//! clouds, proxies and the project's own programs need them.

use crate::adapter::governed;
use crate::adapter::run::Run;
use crate::os::obeyed::obeyed;

/// The treatment of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Passes,
    /// It is left out without a message, since nobody set it for this run: it marks a session around it.
    Mark,
    /// It is left out, for this reason.
    Dropped(&'static str),
}

/// A vendor's own names. A name that ends in `*` stands for every name that begins so.
#[derive(Debug)]
pub struct Variables {
    /// The beginnings of the vendor's own names.
    pub own: &'static [&'static str],
    /// The names among them that are passed on.
    pub passes: &'static [&'static str],
    /// The names that the vendor sets for programs that it starts, which this one may be.
    pub marks: &'static [&'static str],
}

/// The reason for leaving out a vendor's name that is on no list.
const UNLISTED: &str = "is the vendor's own, and not one that a governed turn needs";

/// The treatment of a variable of this name. Variables that the run itself sets do not come here.
pub fn fate(vendor: &dyn Run, name: &str) -> Fate {
    let on = |list: &[&str]| {
        list.iter().any(|known| known.strip_suffix('*').map_or(*known == name, |head| name.starts_with(head)))
    };
    // Claude Code starts the hook without a shell, and Codex gets a folder of the run's own
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
