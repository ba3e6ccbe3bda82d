//! What install.sh leaves behind.

// clippy takes only functions marked as tests for tests
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAMS: [&str; 6] =
    ["mh-hook-claude", "mh-hook-codex", "mh-frame-seal", "mh-frame-verify", "mh-setup", "mh-run"];

/// Run install.sh with a prefix and a home of its own; the toolchain stays the caller's.
fn install(scratch: &Path, arguments: &[&str]) -> Output {
    let home = std::env::var_os("HOME").unwrap();
    let own = |variable: &str, folder: &str| std::env::var_os(variable).unwrap_or(Path::new(&home).join(folder).into());
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh"))
        .args(arguments)
        .env("CARGO_HOME", own("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", own("RUSTUP_HOME", ".rustup"))
        .env("HOME", scratch.join("home"))
        .env("PREFIX", scratch.join("prefix"))
        // must not undo the static build
        .env("RUSTFLAGS", "-Cdebuginfo=0")
        .env_remove("CODEX_HOME")
        .env_remove("CLAUDE_CONFIG_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Whether an ELF file asks for an interpreter: a program header of type 3 (ELF-64, PT_INTERP).
fn has_interpreter(program: &[u8]) -> bool {
    let number = |at: usize, size: usize| {
        program[at..at + size].iter().rev().fold(0usize, |number, byte| number << 8 | usize::from(*byte))
    };
    assert_eq!(&program[..5], b"\x7fELF\x02");
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|header| number(table + header * size, 4) == 3)
}

#[test]
#[ignore = "builds the release programs, which takes minutes; .ci/run runs it"]
fn what_is_installed_is_static_works_twice_and_goes_away() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("home")).unwrap();
    let bin = scratch.path().join("prefix/bin");
    let first = install(scratch.path(), &[]);
    let second = install(scratch.path(), &[]);
    // Codex trusts an entry by its bytes
    assert_eq!(first.stdout, second.stdout);
    for program in PROGRAMS {
        let bytes = fs::read(bin.join(program)).unwrap();
        assert_eq!(has_interpreter(&bytes), !cfg!(target_os = "linux"), "{program}");
        let said = Command::new(bin.join(program)).arg("--version").output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), format!("{program} {}\n", env!("CARGO_PKG_VERSION")));
    }
    let printed = String::from_utf8(first.stdout).unwrap();
    for piece in
        ["\"onFailure\": \"block\"", "\"timeout\": 30", "timeout = 30", "additionalContextLimit", "trusted_hash"]
    {
        assert!(printed.contains(piece), "{piece} in {printed}");
    }
    // and the frame that the entries name is there, sealed
    let frame = scratch.path().join("prefix/share/metaharness/frames/read-only.json");
    assert!(Command::new(bin.join("mh-frame-verify")).arg("--status").arg(frame).status().unwrap().success());

    let settings = scratch.path().join("home/.claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, format!("{{\"hooks\": \"{}\"}}", bin.join("mh-hook-claude").display())).unwrap();
    let gone = install(scratch.path(), &["--uninstall"]);
    assert!(PROGRAMS.iter().all(|program| !bin.join(program).exists()));
    assert!(String::from_utf8(gone.stdout).unwrap().contains("still runs the hook"));
    assert!(settings.exists());
}
