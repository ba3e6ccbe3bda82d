//! Entries that release 0.1.0 wrote: recognised, fired, replaced, and removed without a trace.

use std::path::Path;

use fs_err as fs;
use metaharness::adapter::Registration;
use metaharness::adapter::claude::EntryForm;
use metaharness::adapter::claude::setup as claude;
use metaharness::adapter::codex::setup as codex;
use metaharness::adapter::codex::{EVENTS, trust_key, trusted_hash};
use metaharness::adapter::setup::tree;
use metaharness::frame::Operation;

use crate::common::executable;
use crate::common::home::{Assert as _, Home};

/// The path in these entries of the file that holds them.
const CONFIG: &str = "/home/ada/.codex/config.toml";

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/entries/0.1.0");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn line(program: &str) -> Registration {
    let words = ["--frame", "/f", "--digest", &"0".repeat(64), "--policy", "deny-only"].map(String::from);
    Registration { program: program.into(), arguments: words.into(), patience: Registration::PATIENCE }
}

#[test]
fn entries_of_claude_are_the_ones_that_are_written_today() {
    for (name, wanted) in [
        ("claude-new.json", EntryForm::Exec),
        ("claude-beside.json", EntryForm::Exec),
        ("claude-managed.json", EntryForm::Exec),
        ("claude-shell.json", EntryForm::Shell),
    ] {
        let root = tree::json(&fixture(name)).unwrap();
        for (event, found) in claude::found(&root) {
            let claude::SettingsEntry::Exact(line, terms, form) = found else { panic!("{name} {event}: {found:?}") };
            assert_eq!(
                (&*line.program, &*terms.frame),
                ("/home/ada/.local/bin/mh-hook-claude", "/home/ada/frames/draft.json")
            );
            assert_eq!(form, wanted);
        }
    }
}

#[test]
fn entries_of_codex_are_known_as_older_ones_that_are_trusted() {
    for (name, why) in [
        ("codex-new.toml", "a function named echo or exit"),
        ("codex-beside.toml", "a function named echo or exit"),
        ("codex-managed.toml", "a function named echo or exit"),
        ("codex-no-timeout.toml", "a function named echo or exit"),
    ] {
        let config = codex::parse(&fixture(name)).unwrap();
        for (event, snake, found) in codex::found(&config.root) {
            let codex::ConfigEntry::Older(older) = found else { panic!("{name} {event}: {found:?}") };
            assert_eq!(older.line.program, "/home/ada/.local/bin/mh-hook-codex");
            assert!(older.why.contains(why), "{}", older.why);
            let trusted = codex::distrust(&config.root, CONFIG, snake, older.at, &older.command);
            assert_eq!(trusted.is_none(), name != "codex-managed.toml", "{name} {trusted:?}");
        }
    }
}

#[test]
fn they_are_replaced_and_taken_out_byte_for_byte() {
    for (name, before) in [("claude-new.json", None), ("claude-beside.json", Some("claude-beside.before.json"))] {
        let (text, before) = (fixture(name), before.map(fixture));
        assert_eq!(claude::taken_out(&text), before);
        let new = claude::with_entries(Some(&text), &line("/b/mh-hook-claude"));
        assert_eq!(new.matches("/b/mh-hook-claude").count(), 5, "{new}");
        assert!(!new.contains("/home/ada/"), "{new}");
        assert_eq!(claude::taken_out(&new), before);
    }
    for (name, before) in [
        ("codex-new.toml", None),
        ("codex-no-timeout.toml", None),
        ("codex-beside.toml", Some("codex-beside.before.toml")),
    ] {
        let (text, before) = (fixture(name), before.map(fixture));
        assert_eq!(codex::taken_out(&text, CONFIG).unwrap(), before);
        let new = codex::with_entries(Some(&text), &line("/b/mh-hook-codex"), CONFIG).unwrap();
        assert_eq!(new.matches("enabled = true").count(), 5, "{new}");
        let config = codex::parse(&new).unwrap();
        for (event, _, found) in codex::found(&config.root) {
            assert!(matches!(found, codex::ConfigEntry::Exact(..)), "{name} {event}: {found:?}");
        }
        assert_eq!(codex::taken_out(&new, CONFIG).unwrap(), before);
    }
}

#[test]
fn trust_that_is_left_of_an_entry_goes_with_it() {
    // trust under another name of the home than Codex's own
    let (text, here) = (fixture("codex-linked-home.toml"), "/home/link/ada/.codex/config.toml");
    let new = codex::with_entries(Some(&text), &line("/b/mh-hook-codex"), here).unwrap();
    assert!(!new.contains("/home/real/ada/.codex"), "{new}");
    assert_eq!(new.matches("[hooks.state.\"/home/link/ada/.codex/config.toml:").count(), 5, "{new}");
    for text in [&text, &new] {
        assert_eq!(codex::taken_out(text, here).unwrap(), None, "{text}");
    }
    // somebody removed the entry before ours, and ours moved up
    let text = fixture("codex-beside.toml");
    let theirs = "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"theirs\"\n\n";
    let moved = text.replacen(theirs, "", 1);
    assert_ne!(moved, text);
    let new = codex::with_entries(Some(&moved), &line("/b/mh-hook-codex"), CONFIG).unwrap();
    assert!(!new.contains(":pre_tool_use:1:0") && new.contains(":pre_tool_use:0:0"), "{new}");
    // trust with another hash is another hook's, in any place
    let foreign = format!("\n[hooks.state.\"{CONFIG}:pre_tool_use:7:0\"]\ntrusted_hash = \"sha256:bb\"\n");
    let text = fixture("codex-new.toml") + &foreign;
    let new = codex::with_entries(Some(&text), &line("/b/mh-hook-codex"), CONFIG).unwrap();
    assert!(new.contains(&foreign), "{new}");
    assert!(codex::taken_out(&new, CONFIG).unwrap().unwrap().contains(&foreign));
}

/// A file of 0.1.0 in this scratch home, with its program and its frame.
fn settled(scratch: &Home, name: &str) -> String {
    let root = fs::canonicalize(scratch.at("")).unwrap();
    let frame = fs::read_to_string(scratch.at("frame.json")).unwrap();
    let digest = metaharness::seal::verify(frame.as_bytes(), None).unwrap().digest().to_string();
    let config = root.join("codex/config.toml").display().to_string();
    let text = fixture(name)
        .replace("/home/ada/.local/bin", &root.join("bin").display().to_string())
        .replace("/home/ada/frames/draft.json", &root.join("frame.json").display().to_string())
        .replace("cbbd6fe519bdbeecd467eaef5d937a29995ff1ed5fc4403690a871951bc3fa42", &digest)
        .replace(CONFIG, &config);
    if !name.ends_with(".toml") {
        return text;
    }
    let quoted = text.lines().find_map(|line| line.strip_prefix("command = ")).unwrap();
    let command: String = serde_json::from_str(quoted).unwrap();
    EVENTS.iter().fold(text.clone(), |text, (_, snake)| {
        let head = format!("[hooks.state.\"{}\"]\ntrusted_hash = \"", trust_key(&config, snake, 0, 0));
        let (before, after) = text.split_once(&head).unwrap();
        let (_, after) = after.split_once('"').unwrap();
        format!("{before}{head}{}\"{after}", trusted_hash(snake, &command))
    })
}

#[test]
fn what_0_1_0_wrote_is_live_with_a_note_and_renewed_by_one_command() {
    let scratch = Home::new();
    scratch.frame("frame.json", &[Operation::FileRead, Operation::Shell]);
    let files = [
        ("claude", "claude-new.json", "project/.claude/settings.json", &["claude", "--project", "."][..]),
        ("claude", "claude-shell.json", "project/.claude/settings.json", &["claude", "--project", "."]),
        ("codex", "codex-new.toml", "codex/config.toml", &["codex"]),
        ("codex", "codex-no-timeout.toml", "codex/config.toml", &["codex"]),
    ];
    for (vendor, name, file, setup) in files {
        scratch.write(file, settled(&scratch, name));
        let said = scratch.run(&["doctor", vendor]);
        assert!(said.starts_with(&format!("{vendor}: live\n")), "{name}: {said}");
        let note = match (vendor, name.contains("shell")) {
            ("codex", _) => "an entry as an older mh-setup wrote it: a function named echo or exit in the environment",
            (_, true) => "the entry is the form for older releases",
            _ => "",
        };
        assert!(said.contains(note), "{name}: {said}");
        let done = scratch.setup(&[setup, &["--frame", "../frame.json"]].concat()).assert().success();
        assert_eq!(String::from_utf8_lossy(&done.get_output().stderr), "", "{name}");
        let said = scratch.run(&["doctor", vendor]);
        assert!(!said.contains(" older "), "{name}: {said}");
        scratch.run(&[setup, &["--remove"]].concat());
        assert!(!scratch.at(file).exists(), "{name}");
        // without being renewed
        scratch.write(file, settled(&scratch, name));
        scratch.run(&[setup, &["--remove"]].concat());
        // a file with the output of --print was made by the user, not by mh-setup
        assert!(!scratch.at(file).exists() || name.contains("shell"), "{name}");
    }
}

#[test]
fn an_older_line_falls_to_a_function_and_the_one_that_is_written_now_does_not() {
    let scratch = Home::new();
    for (name, state) in [("BASH_FUNC_echo%%", 1), ("BASH_FUNC_exit%%", 1), ("BASH_FUNC_which%%", 0)] {
        scratch.write("codex/config.toml", settled(&scratch, "codex-new.toml"));
        let doctor = |code: i32| {
            let done = scratch.setup(&["doctor", "codex"]).env(name, "() { builtin exit 0; }").assert().code(code);
            String::from_utf8(done.get_output().stdout.clone()).unwrap()
        };
        let said = doctor(state);
        assert_eq!(
            said.contains(&format!("the environment: {name} is a function that bash runs")),
            state == 1,
            "{said}"
        );
        scratch.run(&["codex", "--frame", "../frame.json"]);
        doctor(0);
    }
}

#[test]
fn a_new_line_never_reaches_an_older_hook() {
    let scratch = Home::new();
    for (vendor, file, setup) in [
        ("claude", "project/.claude/settings.json", &["claude", "--project", ".", "--frame", "../frame.json"][..]),
        ("codex", "codex/config.toml", &["codex", "--frame", "../frame.json"]),
    ] {
        scratch.run(setup);
        let before = scratch.read(file);
        let hook = scratch.at(&format!("bin/mh-hook-{vendor}"));
        for (says, wanted) in [
            (format!("mh-hook-{vendor}"), "it does not say its release"),
            (format!("mh-hook-{vendor} 0.0.9"), "it is of release 0.0.9, and this mh-setup of "),
            (String::new(), "it does not say its release"),
        ] {
            fs::remove_file(&hook).unwrap();
            executable(&hook, &format!("#!/bin/sh\necho '{says}'\n"));
            let said = scratch.fails(setup, 2);
            assert!(said.contains(wanted) && said.ends_with("nothing was changed\n"), "{said}");
            assert_eq!(scratch.read(file), before);
            let done = scratch.setup(&["doctor", vendor]).assert().code(1);
            let said = String::from_utf8(done.get_output().stdout.clone()).unwrap();
            assert!(said.contains(wanted) && said.contains("what it has to answer is not known"), "{said}");
        }
    }
}
