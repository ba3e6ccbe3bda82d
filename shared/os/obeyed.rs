//! Environment variables that change what a program runs before its own work: those of a shell, the loader, the C
//! library or a language runtime. A person who sets one of them decides what runs in place of a hook, or beside it.

struct Rule {
    /// An exact name, or a pattern in which `*` stands for any characters.
    name: &'static str,
    /// The sentence about the variable, its name left out.
    what: &'static str,
}

const fn rule(name: &'static str, what: &'static str) -> Rule {
    Rule { name, what }
}

/// Names that fit a pattern of [`RULES`] and change nothing.
const HARMLESS: [&str; 2] = ["BUN_INSTALL", "BUN_INSTALL_*"];

/// Seen to be obeyed: `BASH_ENV`, `BASH_FUNC_*` and `SHELLOPTS` by the bash around Codex's hook, `ZDOTDIR` by a zsh there,
/// `BUN_OPTIONS` and `BUN_INSPECT_PRELOAD` by Claude Code 2.1.332, `NODE_OPTIONS` by Codex's own start, `LD_*` by the
/// loader. The others are from the manuals of bash, glibc, node and macOS.
const RULES: [Rule; 16] = [
    rule("BASH_ENV", "names a file that bash runs before every command line"),
    rule("BASH_FUNC_*", "is a function that bash runs in the place of a program or of its own commands"),
    rule("BASHOPTS", "sets options of every bash"),
    rule("SHELLOPTS", "sets options of every bash; with noexec it runs nothing and ends with 0"),
    rule("PS4", "is expanded, commands in it too, by a bash that traces"),
    rule("ENV", "names a file that a shell runs before its command line"),
    rule("ZDOTDIR", "names the folder whose .zshenv zsh runs before every command line"),
    rule("LD_*", "tells the loader what to load into every program, or to run none"),
    rule("DYLD_*", "tells the loader what to load into every program"),
    rule("GCONV_PATH", "names a folder of code that the C library loads to convert text"),
    rule("LOCPATH", "names the locale files, and by them the code that converts text"),
    rule("GLIBC_TUNABLES", "tunes the C library of every program"),
    rule("MALLOC_*_", "tunes or checks the memory of every program, and can end it"),
    rule("NODE_OPTIONS", "names code that node runs before its program"),
    rule("NODE_REPL_EXTERNAL_MODULE", "names code that node runs in the place of its own"),
    rule("BUN_*", "names code or options for the runtime inside Claude Code"),
];

/// What this variable makes a program do, where it is one of [`RULES`].
pub fn obeyed(name: &str) -> Option<&'static str> {
    let harmless = HARMLESS.iter().any(|known| fits(known, name));
    RULES.iter().find(|rule| fits(rule.name, name) && !harmless).map(|rule| rule.what)
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_change_a_program_are_told_from_others() {
        for name in [
            "BASH_ENV",
            "BASH_FUNC_echo%%",
            "BASH_FUNC_exit()",
            "BASHOPTS",
            "SHELLOPTS",
            "PS4",
            "ENV",
            "ZDOTDIR",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "LD_TRACE_LOADED_OBJECTS",
            "DYLD_INSERT_LIBRARIES",
            "GCONV_PATH",
            "LOCPATH",
            "GLIBC_TUNABLES",
            "MALLOC_CHECK_",
            "MALLOC_TOP_PAD_",
            "NODE_OPTIONS",
            "BUN_OPTIONS",
            "BUN_INSPECT_PRELOAD",
            "BUN_BE_BUN",
        ] {
            assert!(obeyed(name).is_some(), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "BASH_VERSION",
            "BASH_ENVIRONMENT",
            "BASH_DEFAULT_TIMEOUT_MS",
            "ENVIRONMENT",
            "MY_ENV",
            "LDFLAGS",
            "PS1",
            "PROMPT_COMMAND",
            "MALLOC_ARENA_MAX",
            "MALLOC_",
            "LANG",
            "LC_ALL",
            "NODE_EXTRA_CA_CERTS",
            "NODE_ENV",
            "BUN_INSTALL",
            "BUN_INSTALL_CACHE_DIR",
            "HTTPS_PROXY",
            "",
        ] {
            assert_eq!(obeyed(name), None, "{name}");
        }
    }
}
