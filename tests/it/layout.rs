//! Holds the plan of the code: the length of files, the rooms that touch no system, the rooms that each room may use,
//! the files that may name a vendor, and a reason for every dependency. A file that breaks a rule is listed beside the
//! rule, and a listed file that no longer breaks it fails too.

use crate::common::sources;

/// The rooms in order: each uses those above it.
const ROOMS: [&str; 12] =
    ["json", "frame", "seal", "scope", "protocol", "decide", "os", "adapter", "hook", "setup", "run", "cli"];

/// The number of rooms, from the first on, that do not touch the system.
const PURE: usize = 6;

/// The most lines of a file.
const LONGEST: usize = 570;

/// A file of `shared/`, by its path below that, and its text.
type Source = (String, String);

/// A file's path and its breach, as one line.
type Breach = String;

/// The code of a text, without comments and unit tests. Of a string of several lines, which is a help text, only the
/// first line stays.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if c == '"' {
            let bytes = rest.as_bytes();
            let mut at = 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            let whole = &rest[..(at + 1).min(rest.len())];
            out.push_str(whole.lines().next().unwrap_or_default());
            whole.len()
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find("' ").or_else(|| rest[1..].find('\'')).map_or(1, |end| end + 2)
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            let end = raw.find("\"#").map_or(rest.len(), |end| end + 5);
            out.push_str(rest[..end].lines().next().unwrap_or_default());
            end
        } else {
            out.push(c);
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    out
}

fn room(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap()
}

fn too_long(files: &[Source]) -> Vec<Breach> {
    let lines = files.iter().map(|(path, text)| (path, text.lines().count()));
    lines.filter(|(_, lines)| *lines > LONGEST).map(|(path, lines)| format!("{path}: {lines} lines")).collect()
}

fn touches(files: &[Source]) -> Vec<Breach> {
    let system = ["std::fs", "fs_err", "std::process", "std::env", "rustix", "nix::", "std::net", "std::os::unix::net"];
    let pure = |path: &str| ROOMS[..PURE].contains(&room(path));
    let of = |(path, text): &Source| {
        let code = code(text);
        system.iter().filter(|word| code.contains(**word)).map(|word| format!("{path}: {word}")).collect::<Vec<_>>()
    };
    files.iter().filter(|(path, _)| pure(path)).flat_map(of).collect()
}

/// The rooms that a text names by `crate::`, in groups too.
fn named(code: &str) -> Vec<&str> {
    let word = |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let after = &code[at + "crate::".len()..];
        match after.strip_prefix('{') {
            None => names.push(&after[..word(after)]),
            Some(group) => {
                let mut depth = 0;
                let mut first = true;
                for (at, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => first = true,
                        c if depth == 0 && first && !c.is_whitespace() => {
                            names.push(&group[at..at + word(&group[at..])]);
                            first = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    names
}

fn looks_down(files: &[Source]) -> Vec<Breach> {
    let place = |name: &str| ROOMS.iter().position(|room| *room == name);
    let mut breaches = Vec::new();
    for (path, text) in files {
        let Some(own) = place(room(path)) else { continue };
        let code = code(text);
        let mut below: Vec<&str> =
            named(&code).into_iter().filter(|name| place(name).is_some_and(|at| at > own)).collect();
        below.sort_unstable();
        below.dedup();
        breaches.extend(below.iter().map(|name| format!("{path}: {name}")));
    }
    breaches
}

/// The vendors' folders: those in `adapter` that have a hook.
fn vendors() -> Vec<String> {
    let own = |path: &str| Some(path.strip_prefix("adapter/")?.split_once("/hook/")?.0.to_string());
    let mut all: Vec<String> = sources().iter().filter_map(|(path, _)| own(path)).collect();
    all.dedup();
    all
}

fn names_a_vendor(files: &[Source]) -> Vec<Breach> {
    let vendors = vendors();
    let elsewhere = |path: &str| !vendors.iter().any(|vendor| path.starts_with(&format!("adapter/{vendor}/")));
    let names = |text: &str| vendors.iter().any(|name| code(text).to_lowercase().contains(name.as_str()));
    files.iter().filter(|(path, text)| elsewhere(path) && names(text)).map(|(path, _)| path.clone()).collect()
}

/// The dependencies of a manifest with no comment right above them.
fn without_a_reason(manifest: &str) -> Vec<Breach> {
    let (mut within, mut before) = (false, "");
    let mut breaches = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            within = line.ends_with("dependencies]");
        } else if within && line.contains('=') && !line.starts_with('#') && !before.starts_with('#') {
            breaches.push(line.split(' ').next().unwrap().to_string());
        }
        before = line;
    }
    breaches
}

/// Check that a rule finds exactly the listed breaches.
#[track_caller]
fn holds(found: Vec<Breach>, listed: &[&str]) {
    let new: Vec<&Breach> = found.iter().filter(|breach| !listed.contains(&breach.as_str())).collect();
    assert!(new.is_empty(), "these break the plan of the house: {new:#?}");
    let gone: Vec<&&str> = listed.iter().filter(|line| !found.iter().any(|breach| breach == *line)).collect();
    assert!(gone.is_empty(), "these are mended, take them out of the list: {gone:#?}");
}

/// Check that a rule finds exactly this in a made-up file.
#[track_caller]
fn catches(rule: fn(&[Source]) -> Vec<Breach>, path: &str, text: &str, breach: &[&str]) {
    assert_eq!(rule(&[(path.into(), text.into())]), breach, "{text}");
}

#[test]
fn no_file_is_too_long() {
    holds(too_long(&sources()), &[]);
    catches(too_long, "json/a.rs", &"x\n".repeat(LONGEST + 1), &["json/a.rs: 571 lines"]);
    catches(too_long, "json/a.rs", &"x\n".repeat(LONGEST), &[]);
}

#[test]
fn the_pure_rooms_touch_nothing() {
    holds(touches(&sources()), &[]);
    catches(touches, "seal/mod.rs", "use std::fs;\n", &["seal/mod.rs: std::fs"]);
    catches(touches, "decide/a/b.rs", "let a = std::env::var(\"A\");\n", &["decide/a/b.rs: std::env"]);
    catches(touches, "os/mod.rs", "use std::fs;\n", &[]);
    catches(touches, "seal/mod.rs", "// std::fs\n#[cfg(test)]\nmod tests { use std::fs; }\n", &[]);
}

#[test]
fn no_room_uses_a_room_below_it() {
    holds(looks_down(&sources()), &[]);
    catches(looks_down, "frame/mod.rs", "use crate::os::file;\n", &["frame/mod.rs: os"]);
    catches(looks_down, "hook/a.rs", "use crate::{json::{Layout, Writer}, run, seal};\n", &["hook/a.rs: run"]);
    catches(looks_down, "os/a.rs", "fn a() { crate::cli::seal() }\n", &["os/a.rs: cli"]);
    catches(looks_down, "cli/a.rs", "use crate::os;\n/// As [`crate::cli`].\n", &[]);
    catches(looks_down, "seal/mod.rs", "let a = \"a // b\"; crate::run::go();\n", &["seal/mod.rs: run"]);
}

#[test]
fn a_vendor_is_named_only_in_its_folder() {
    assert_eq!(vendors(), ["claude", "codex"]);
    holds(names_a_vendor(&sources()), &NAMED);
    catches(names_a_vendor, "run/a.rs", "match kind { Kind::Claude => 1 }\n", &["run/a.rs"]);
    catches(names_a_vendor, "hook/a.rs", "if word == \"codex\" {}\n", &["hook/a.rs"]);
    catches(names_a_vendor, "cli/a.rs", "const HELP: &str = \"\\\nusage: claude\n\";\n// Codex\n", &[]);
    catches(names_a_vendor, "adapter/claude/mod.rs", "pub struct Claude;\n", &[]);
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs_err::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    assert_eq!(without_a_reason(&manifest), [""; 0]);
    let made_up = "[dependencies]\n# a\nb = \"1\"\nc = \"1\"\n[dev-dependencies]\nd = \"1\"\n[profile.x]\ne = 1\n";
    assert_eq!(without_a_reason(made_up), ["c", "d"]);
}

#[test]
fn every_program_is_installed() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    let script = fs_err::read_to_string(format!("{root}install.sh")).unwrap();
    let list = script.lines().find_map(|line| line.strip_prefix("programs='")?.strip_suffix('\'')).unwrap();
    let mut listed: Vec<&str> = list.split(' ').collect();
    let names = fs_err::read_dir(format!("{root}bins")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut programs: Vec<String> = names.map(|name| name.to_str().unwrap().trim_end_matches(".rs").into()).collect();
    listed.sort_unstable();
    programs.sort_unstable();
    assert_eq!(listed, programs);
}

/// Files outside a vendor's folder that may name a vendor: the list of all vendors, and the description of the runtime
/// inside one.
const NAMED: [&str; 2] = ["adapter/mod.rs", "os/obeyed.rs"];
