//! Man pages and completions, made from the help texts of the built programs: a reader takes each without a complaint, and
//! each shell completes what it should. A reader or a shell that is not here is passed over.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fs_err as fs;

use crate::common::{Scratch, program, run, side_by_side};

const PROGRAMS: [&str; 6] =
    ["mh-hook-claude", "mh-hook-codex", "mh-frame-seal", "mh-frame-verify", "mh-setup", "mh-run"];

/// A folder with the pages of the built programs in it, by the names under which they are installed.
fn made() -> Scratch {
    let scratch = Scratch::new();
    let programs = scratch.folder("programs");
    for name in PROGRAMS {
        fs_err::os::unix::fs::symlink(program(name), programs.join(name)).unwrap();
    }
    manual::made(&programs, scratch.root()).unwrap();
    scratch
}

fn is_here(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success()
}

/// What a script of this shell prints, with the built programs on PATH.
fn by(shell: &str, arguments: &[&str], home: &Path) -> Output {
    let path = format!("{}:/usr/bin:/bin", program("mh-run").parent().unwrap().display());
    let mut command = Command::new(shell);
    command.args(arguments).env_clear().env("PATH", path).env("HOME", home).env("TERM", "dumb");
    command.env("LANG", "C.UTF-8").current_dir(home).output().unwrap()
}

fn words(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all: Vec<String> = text.lines().map(|line| line.split('\t').next().unwrap().to_string()).collect();
    all.sort();
    all
}

/// What is typed, and what the shell offers: all of it, in order of the alphabet.
const OFFERED: [(&str, &[&str]); 10] = [
    ("mh-run c", &["capabilities", "claude", "codex"]),
    ("mh-run claude --decisions ", &["ask", "deny-only", "frame"]),
    ("mh-run codex --sandbox ", &["danger-full-access", "read-only", "workspace-write"]),
    ("mh-run claude --hand", &["--handoff-check"]),
    ("mh-run capabilities --output-format ", &["json", "text"]),
    ("mh-setup doctor --se", &["--settings"]),
    ("mh-setup claude --policy ", &["deny-only", "frame"]),
    ("mh-frame-verify --expect ", &["allow", "deny"]),
    ("mh-frame-seal --new --admit file.read file.w", &["file.write"]),
    ("mh-hook-codex --policy ", &["deny-only", "frame"]),
];

#[test]
fn a_page_and_three_completions_name_every_flag_of_the_help_text() {
    let scratch = made();
    for name in PROGRAMS {
        let help = run(name, ["--help"]).stdout;
        let read = |file: String| fs::read_to_string(scratch.path(&file)).unwrap();
        let page = read(format!("man/{name}.1")).replace('\\', "");
        let shells = ["bash", "zsh", "fish"].map(|end| read(format!("completions/{name}.{end}")));
        let flags = help.lines().filter(|line| line.starts_with("  -")).flat_map(|line| {
            let head = line.trim().split("  ").next().unwrap();
            head.split([' ', ',']).filter(|word| word.starts_with("--") && !word.ends_with('.')).collect::<Vec<_>>()
        });
        let mut count = 0;
        for flag in flags {
            count += 1;
            assert!(page.contains(flag), "{name}.1: {flag}");
            let [bash, zsh, fish] = &shells;
            assert!(bash.contains(flag) && zsh.contains(&format!("'*{flag}")), "{name}: {flag}");
            assert!(fish.contains(&format!(" -l {}", flag.trim_start_matches('-'))), "{name}.fish: {flag}");
        }
        assert!(count > 5, "{name}: {count}");
    }
}

#[test]
fn a_reader_of_man_pages_has_nothing_to_complain_of() {
    let scratch = made();
    for name in PROGRAMS {
        let page = scratch.path(&format!("man/{name}.1"));
        if is_here("mandoc") {
            let said = Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).arg(&page).output().unwrap();
            let said = String::from_utf8(said.stdout).unwrap();
            // a page that says when it was made would not be the same twice
            let wrong: Vec<&str> = said.lines().filter(|line| !line.contains("missing date")).collect();
            assert_eq!(wrong, [""; 0]);
        }
        if is_here("man") {
            let shown = by("man", &["-l", page.to_str().unwrap()], scratch.root());
            let text = String::from_utf8(shown.stdout).unwrap();
            assert!(shown.status.success() && text.contains("SYNOPSIS"), "{text}");
            assert!(text.split_whitespace().collect::<String>().contains("EXITSTATUS"), "{text}");
        }
    }
}

#[test]
fn bash_completes() {
    let scratch = made();
    for (typed, offered) in OFFERED {
        let name = typed.split(' ').next().unwrap();
        let script = format!(
            "source completions/{name}.bash; COMP_WORDS=({typed}{}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             $(complete -p {name} | sed 's/.* -F \\([^ ]*\\) .*/\\1/'); printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            if typed.ends_with(' ') { "''" } else { "" }
        );
        assert_eq!(words(&by("bash", &["--norc", "-c", &script], scratch.root())), offered, "{typed}");
    }
    // what is the vendor's is not ours to complete
    let behind = "source completions/mh-run.bash; COMP_WORDS=(mh-run claude -p x -- --); COMP_CWORD=5; _mh_run; echo ${#COMPREPLY[@]}";
    assert_eq!(words(&by("bash", &["--norc", "-c", behind], scratch.root())), ["0"]);
}

#[test]
fn fish_completes() {
    if !is_here("fish") {
        return;
    }
    let scratch = made();
    for (typed, offered) in OFFERED.iter().filter(|(typed, _)| !typed.contains("file.read file.w")) {
        let name = typed.split(' ').next().unwrap();
        let script = format!("source completions/{name}.fish; complete -C '{typed}'");
        assert_eq!(words(&by("fish", &["--no-config", "-c", &script], scratch.root())), *offered, "{typed}");
    }
}

#[test]
fn zsh_completes() {
    if !is_here("zsh") {
        return;
    }
    let scratch = made();
    let functions: PathBuf = scratch.folder("functions");
    for name in PROGRAMS {
        fs::copy(scratch.path(&format!("completions/{name}.zsh")), functions.join(format!("_{name}"))).unwrap();
    }
    // a terminal of its own, in which a person types; what the line is then, a key shows
    let begin = "zmodload zsh/zpty\nzpty w zsh -f -i\nzpty -w w \"PS1='READ''Y> '; fpath=($PWD/functions \\$fpath); \
                 autoload -U compinit; compinit -u -D; show() { zle -I; print -r -- 'IS''<'\\$BUFFER'>' }; zle -N show; \
                 bindkey '^Xs' show\"\nzpty -r w out '*READY>*'\n";
    let all = [
        ("mh-run capa", "mh-run capabilities "),
        ("mh-run claude --decisions d", "mh-run claude --decisions deny-only "),
        ("mh-run claude --hando", "mh-run claude --handoff-check "),
        ("mh-setup doctor --set", "mh-setup doctor --settings "),
        ("mh-frame-verify --print d", "mh-frame-verify --print digest "),
        ("mh-frame-seal --new --admit file.read file.w", "mh-frame-seal --new --admit file.read file.write "),
        ("mh-hook-codex --policy d", "mh-hook-codex --policy deny-only "),
    ];
    side_by_side(&all, |(typed, completed)| {
        let script = format!("{begin}zpty -w -n w $'{typed}\\t\\CXs'\nzpty -r w out '*IS<*>*'; print -r -- $out\n");
        let shown = by("timeout", &["20", "zsh", "-f", "-c", &script], scratch.root());
        assert!(String::from_utf8_lossy(&shown.stdout).contains(&format!("IS<{completed}")), "{typed}: {shown:?}");
    });
}
