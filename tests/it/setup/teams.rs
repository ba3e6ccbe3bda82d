//! Setup for people who work together: settings for one machine, deciders and limits, former terms, and the places of
//! entries.

use std::process::Command;

use fs_err as fs;
use metaharness::frame::Operation;
use serde_json::Value;

use crate::common::executable;
use crate::common::home::{Assert as _, Home};
use crate::common::schema::Seen;

const SHARED: &str = "project/.claude/settings.json";
const LOCAL: &str = "project/.claude/settings.local.json";
const CODEX: &str = "codex/config.toml";

/// The stdout of `mh-setup`, which must end with this code.
fn said(home: &Home, arguments: &[&str], code: i32) -> String {
    let done = home.setup(arguments).assert().code(code);
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

/// A repository, with git on PATH.
fn repository(home: &Home) {
    fs::remove_dir(home.at(".git")).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).expect("no git");
    fs_err::os::unix::fs::symlink(git, home.at("path/git")).unwrap();
    let mut init = Command::new("git");
    assert!(init.args(["init", "-q"]).current_dir(home.at("project")).status().unwrap().success());
}

#[test]
fn settings_for_this_machine_alone_stand_in_their_own_file_and_git_is_asked_about_it() {
    let home = Home::new();
    repository(&home);
    let local: &[&str] = &["claude", "--local", "--frame", "../frame.json"];
    let told = home.run(local);
    assert!(told.contains("/project/.claude/settings.local.json: entries written\n"), "{told}");
    let open = "git: settings.local.json is not ignored here, so a commit could take it along; add \
                .claude/settings.local.json to .git/info/exclude\n";
    assert!(told.contains(open), "{told}");
    assert!(!home.at(SHARED).exists());
    fs::create_dir_all(home.at("project/.git/info")).unwrap();
    home.write("project/.git/info/exclude", ".claude/settings.local.json\n");
    home.frame("next.json", &[Operation::Shell]);
    let told = home.run(&["claude", "--local", "--project", "../project", "--frame", "../next.json"]);
    assert!(told.contains("git: settings.local.json is ignored here, so it stays on this machine\n"), "{told}");
    let told = said(&home, &["doctor", "claude"], 0);
    assert!(told.contains("/project/.claude/settings.local.json (local): read, our entry under 5 events\n"), "{told}");
    // files that teams commit are another matter
    let told = home.run(&["claude", "--project", ".", "--frame", "../next.json"]);
    let shared = "git: settings.json is not ignored here, and the entries name files of yours: in a checkout without them every \
                  prompt is blocked; --local writes settings for this machine alone\n";
    assert!(told.contains(shared), "{told}");
    assert!(home.run(&["claude", "--project", ".", "--remove"]).ends_with("removed, it held nothing else\n"));
    assert!(home.run(&["claude", "--local", "--remove"]).ends_with("removed, it held nothing else\n"));
    assert!(!home.at("project/.claude").exists());
    // without git nothing is known, and outside a repository there is nothing to report
    fs::remove_file(home.at("path/git")).unwrap();
    let unknown = "git: whether settings.local.json is ignored here is not known, git did not say\n";
    assert!(home.run(local).contains(unknown));
    let why = home.fails(&["codex", "--local", "--frame", "../frame.json"], 2);
    assert!(why.starts_with("mh-setup: --local is for claude: codex takes trust from"), "{why}");
}

#[test]
fn a_file_for_everybody_says_nothing_of_git_where_git_leaves_it_out() {
    let home = Home::new();
    repository(&home);
    home.write("project/.gitignore", ".claude/\n");
    assert!(!home.run(&["claude", "--project", ".", "--frame", "../frame.json"]).contains("git: "));
}

#[test]
fn a_decider_a_limit_and_inputs_are_put_in_and_the_entrys_own_limit_stays_above() {
    let home = Home::new();
    home.frame("frame.json", &[Operation::FileRead, Operation::Shell]);
    let (decider, asked) = (home.at("decider"), home.at("asked"));
    executable(&decider, &format!("#!/bin/sh\necho >> '{}'\ncat\n", asked.display()));
    let exec = format!("exec:{}", decider.display());
    let more =
        ["--frame", "../frame.json", "--decider", &exec, "--deadline", "95", "--audit", "../audit", "--audit-input"];
    let line = |quote: &str, between: &str| {
        let words = ["--decider", &exec, "--audit-input", "--deadline", "95"];
        words.map(|word| format!("{quote}{word}{quote}")).join(between)
    };
    let told = home.run(&[&["claude", "--project", "."], &more[..]].concat());
    for line in [&format!("decider: {exec}\n"), "deadline: 95 s\n", "audit, with the inputs of tools\n"] {
        assert!(told.contains(line), "{told}");
    }
    let settings: Value = serde_json::from_str(&home.read(SHARED)).unwrap();
    for event in ["PreToolUse", "UserPromptSubmit"] {
        let entry = &settings["hooks"][event][0]["hooks"][0];
        assert_eq!(entry["timeout"], 105);
        assert!(entry["args"].to_string().ends_with(&(line("\"", ",") + "]")), "{entry}");
    }
    home.run(&[&["codex"], &more[..]].concat());
    let config = home.read(CODEX);
    assert_eq!(config.matches("\ntimeout = 105\n").count(), 5, "{config}");
    assert_eq!(config.matches("timeout -k 1 100 '").count(), 5, "{config}");
    assert_eq!(config.matches(&line("'", " ")).count(), 5, "{config}");
    // both lines are fired, and a decider gets no call that no agent made
    for vendor in ["claude", "codex"] {
        let told = said(&home, &["doctor", vendor], 0);
        let note = format!("the decider {exec} was not asked: what was fired is answered before it comes to that");
        assert!(told.starts_with(&format!("{vendor}: live\n")) && told.contains(&note), "{told}");
        assert!(told.contains("fired    "), "{told}");
    }
    assert!(!asked.exists());
    // a second run changes nothing, and a later one without the flags reports that they are gone
    let before = home.read(CODEX);
    home.run(&[&["codex"], &more[..]].concat());
    assert_eq!(home.read(CODEX), before);
    fs::remove_file(&decider).unwrap();
    for vendor in ["claude", "codex"] {
        let told = said(&home, &["doctor", vendor], 1);
        assert!(told.contains(&format!("the decider {}: no such file", decider.display())), "{told}");
    }
    let told = home.run(&["codex", "--frame", "../frame.json"]);
    for line in
        [&format!("decider: {exec} -> none\n"), "deadline: 95 s -> none\n", "audit, with the inputs of tools -> none\n"]
    {
        assert!(told.contains(line), "{told}");
    }
    assert!(home.read(CODEX).contains("\ntimeout = 30\n"));
    home.run(&["codex", "--remove"]);
    assert!(!home.at(CODEX).exists());
}

#[test]
fn a_decider_that_could_not_be_asked_is_not_put_in() {
    let home = Home::new();
    let file = home.write("decider", "#!/bin/sh\n");
    let exec = format!("exec:{}", file.display());
    for (decider, why) in [
        (&*exec, "it is not a program that can be started, so every call would be denied"),
        ("exec:/nonexistent/decider", "--decider /nonexistent/decider: no such file or directory"),
        ("exec:/tmp", "it is not a program that can be started"),
    ] {
        let said = home.fails(&["claude", "--project", ".", "--frame", "../frame.json", "--decider", decider], 2);
        assert!(said.contains(why), "{said}");
    }
    assert!(!home.at("project/.claude").exists());
    // a listener may come later
    let done =
        home.setup(&["claude", "--project", ".", "--frame", "../frame.json", "--decider", "unix:/nonexistent/socket"]);
    let done = { done }.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stderr).starts_with("mh-setup: --decider /nonexistent/socket: no such file"));
}

#[test]
fn a_decider_that_somebody_put_under_the_calls_alone_is_no_alteration() {
    let home = Home::new();
    let decider = home.at("decider");
    executable(&decider, "#!/bin/sh\nexit 3\n");
    home.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
    let good = home.read(SHARED);
    let by_hand = good.replacen(
        "\"deny-only\"",
        &format!("\"deny-only\",\n              \"--decider\",\n              \"exec:{}\"", decider.display()),
        1,
    );
    assert_ne!(good, by_hand);
    home.write(SHARED, by_hand);
    let told = said(&home, &["doctor", "claude"], 0);
    assert!(told.starts_with("claude: live\n"), "{told}");
    // another frame under one event is a fault
    home.frame("next.json", &[]);
    home.write(SHARED, good.replacen("/frame.json", "/next.json", 1));
    let told = said(&home, &["doctor", "claude"], 1);
    assert!(told.contains("hooks.PreSkillShellCommand has another line than the events before it"), "{told}");
}

#[test]
fn a_frame_that_is_not_the_one_that_was_meant_gets_no_entry() {
    let home = Home::new();
    let digest = |name: &str| {
        let frame: Value = serde_json::from_str(&home.read(name)).unwrap();
        frame["digest"].as_str().unwrap().to_string()
    };
    let (right, wrong) = (digest("frame.json"), "0".repeat(64));
    for arguments in
        [&["claude", "--project", ".", "--frame", "../frame.json"][..], &["codex", "--frame", "../frame.json"]]
    {
        let why = home.fails(&[arguments, &["--digest", &wrong]].concat(), 1);
        assert!(why.contains(&format!("frame.json: pinned: the frame is {right}, and {wrong} is asked for")), "{why}");
        home.run(&[arguments, &["--digest", &right]].concat());
    }
    let why = home.fails(&["codex", "--frame", "../frame.json", "--digest", &right, "--no-pin"], 2);
    assert!(why.starts_with("mh-setup: --digest and --no-pin do not go together"), "{why}");
}

#[test]
fn the_next_step_says_what_it_takes_the_place_of() {
    let home = Home::new();
    home.frame("next.json", &[Operation::Shell]);
    for arguments in [&["claude", "--project", "."][..], &["codex"]] {
        let put = |frame: &str, more: &[&str]| home.run(&[arguments, &["--frame", frame], more].concat());
        let line =
            |told: &str, name: &str| told.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_string();
        assert!(!put("../frame.json", &[]).contains(" -> "));
        let told = put("../next.json", &["--policy", "frame"]);
        let frame = line(&told, "frame: ");
        let (old, new) = frame.split_once(" -> ").unwrap_or_else(|| panic!("{told}"));
        assert!(old.contains("/frame.json ") && old.ends_with(" (step 2 of release)"), "{told}");
        assert!(new.contains("/next.json ") && new.ends_with(" (step 2 of release), pinned to it"), "{told}");
        assert!(
            line(&told, "policy: ").starts_with("policy: deny-only -> frame: what the frame admits runs"),
            "{told}"
        );
        // the file now holds another frame: the pin names the former one
        let pinned = new.split(' ').nth(1).unwrap().to_string();
        home.frame("next.json", &[Operation::Search]);
        let told = put("../next.json", &["--policy", "frame"]);
        assert!(told.contains(&format!("/next.json {pinned} (not there any more) -> ")), "{told}");
        assert!(!line(&told, "policy: ").contains(" -> "), "{told}");
        home.frame("next.json", &[Operation::Shell]);
    }
}

#[test]
fn list_finds_entries_wherever_they_are_and_says_what_is_gone() {
    let home = Home::new();
    let list = |more: &[&str], code: i32| {
        let text = said(&home, &[&["list", "--json"], more].concat(), code);
        let value: Value = serde_json::from_str(&text).unwrap();
        crate::common::schema::holds("list", &value);
        value["entries"].as_array().unwrap().clone()
    };
    let none = said(&home, &["list"], 0);
    let project = fs::canonicalize(home.at("project")).unwrap();
    let told = format!("no entry of ours in your own files, the machine's, or at and below {}\n", project.display());
    assert_eq!(none, told);
    fs::create_dir_all(home.at("work/a b/deep")).unwrap();
    fs::create_dir_all(home.at("work/node_modules/c")).unwrap();
    home.run(&["codex", "--frame", "../frame.json"]);
    home.run(&["claude", "--user", "--frame", "../frame.json"]);
    for folder in ["../work/a b/deep", "../work/node_modules/c", "."] {
        home.run(&["claude", "--project", folder, "--frame", "../frame.json"]);
    }
    home.run(&["claude", "--local", "--project", "../work/a b/deep", "--frame", "../frame.json"]);
    home.write(
        "work/other/.claude/settings.json",
        "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]}}",
    );
    let all = list(&["../work"], 0);
    let files: Vec<&str> = all.iter().map(|entry| entry["file"].as_str().unwrap()).collect();
    let ends = [
        "home/.claude/settings.json",
        "codex/config.toml",
        "deep/.claude/settings.json",
        "deep/.claude/settings.local.json",
    ];
    assert!(files.len() == 4 && files.iter().zip(ends).all(|(file, end)| file.ends_with(end)), "{files:?}");
    assert!(
        all.iter()
            .all(|entry| entry["blocks"] == false && entry["events"] == 5 && entry["why"] == Value::Array(vec![]))
    );
    // the command that removes an entry works from any folder
    let remove = all[3]["remove"].as_str().unwrap();
    let deep = fs::canonicalize(home.at("work/a b/deep")).unwrap();
    assert_eq!(remove, format!("mh-setup claude --local --project '{}' --remove", deep.display()));
    home.run(&["claude", "--local", "--project", deep.to_str().unwrap(), "--remove"]);
    assert_eq!(list(&["../work"], 0).len(), 3);
    assert_eq!(list(&[], 0).len(), 3);
    assert_eq!(list(&["../work", "."], 0).len(), 4);
    // missing files, and their effect
    fs::remove_file(home.at("frame.json")).unwrap();
    let gone = list(&["../work"], 1);
    assert!(gone.iter().all(|entry| entry["blocks"] == true && entry["frame"]["words"] == Value::Null), "{gone:?}");
    let told = said(&home, &["list", "../work"], 1);
    assert_eq!(
        told.matches("/frame.json: unreadable: no such file or directory, so every call is denied\n").count(),
        3
    );
    assert_eq!(told.matches("  take out mh-setup codex --remove\n").count(), 1, "{told}");
    home.frame("frame.json", &[Operation::FileRead]);
    fs::rename(home.at("bin/mh-hook-codex"), home.at("bin/away")).unwrap();
    let gone = list(&["../work"], 1);
    assert_eq!(gone.iter().map(|entry| entry["blocks"] == true).collect::<Vec<_>>(), [false, true, false]);
    // one unreadable file, and one that is incomplete
    home.write("home/.claude/settings.json", "{\"a\": mh-hook-claude");
    let broken = list(&["../work"], 1);
    assert!(
        broken[0]["why"][0].as_str().unwrap().starts_with("the vendor does not hear it: line 1, column 7"),
        "{broken:?}"
    );
    let text = home.read("work/a b/deep/.claude/settings.json").replacen(
        "\"onFailure\": \"block\"",
        "\"onFailure\": \"x\"",
        1,
    );
    home.write("work/a b/deep/.claude/settings.json", text);
    let why = list(&["../work"], 1)[2]["why"][0].clone();
    assert!(why.as_str().unwrap().starts_with("hooks.PreToolUse: its `onFailure` is not \"block\""), "{why}");
    assert!(home.fails(&["list", "../nowhere"], 2).ends_with("nowhere: no such folder\n"));
}

#[test]
fn its_objects_are_all_that_the_schema_of_a_list_has() {
    let home = Home::new();
    let mut seen = Seen::of("list");
    let mut look = |code: i32| seen.look(&serde_json::from_str(&said(&home, &["list", "--json"], code)).unwrap());
    look(0);
    home.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
    home.run(&["codex", "--frame", "../frame.json", "--no-pin"]);
    look(0);
    fs::remove_file(home.at("frame.json")).unwrap();
    look(1);
    home.write("project/.codex/config.toml", home.read(CODEX));
    home.write(SHARED, "{mh-hook-claude");
    look(1);
    seen.is_all();
}

#[test]
fn a_file_that_is_not_in_order_is_not_said_to_hold_nothing() {
    for (vendor, file, texts) in [
        ("claude", SHARED, ["{broken", "{\"hooks\": []}"]),
        ("claude", LOCAL, ["[]", "{\"a\": 1,}"]),
        ("codex", CODEX, ["[broken", "a = 1\na = 2\n"]),
    ] {
        for text in texts {
            let home = Home::new();
            home.write(file, text);
            let told = said(&home, &["doctor", vendor], 1);
            let head = format!("{vendor}: not live: a file that an entry may stand in is not in order\n");
            assert!(told.starts_with(&head), "{text}: {told}");
            let path = fs::canonicalize(home.at(file)).unwrap();
            let why = format!("{}: not in order, so the vendor does not hear it, and whether an entry", path.display());
            assert!(told.contains(&why), "{told}");
            let report: Value = serde_json::from_str(&said(&home, &["doctor", vendor, "--json"], 1)).unwrap();
            assert_eq!(report["state"], "not-live");
        }
    }
}

#[test]
fn an_absent_vendor_names_the_next_command() {
    let home = Home::new();
    let told = said(&home, &["doctor"], 1);
    assert!(told.contains("say mh-setup claude --project . --frame FILE, or --local, or --user\n"), "{told}");
    assert!(told.contains("say mh-setup codex --frame FILE\n"), "{told}");
}

#[test]
fn a_home_that_nothing_or_a_relative_path_names_is_not_written_to() {
    let home = Home::new();
    let put = |variables: &[(&str, &str)], vendor: &[&str]| {
        let mut command = home.setup(&[vendor, &["--frame", "../frame.json"]].concat());
        command.env_remove("HOME").env_remove("CODEX_HOME").envs(variables.iter().copied());
        let done = command.output().unwrap();
        assert_eq!((done.status.code(), &*done.stdout), (Some(2), &b""[..]), "{variables:?} {done:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    let claude: &[&str] = &["claude", "--user"];
    let codex: &[&str] = &["codex"];
    let relative = |name: &str, value: &str| {
        format!(
            "mh-setup: {name} is {value}, a relative path, which is another folder wherever the vendor is started; make it \
             absolute\n"
        )
    };
    for (variables, vendor, wanted) in [
        (&[("HOME", "")][..], claude, "mh-setup: neither CLAUDE_CONFIG_DIR nor HOME is set\n".to_string()),
        (&[], claude, "mh-setup: neither CLAUDE_CONFIG_DIR nor HOME is set\n".into()),
        (
            &[("HOME", ""), ("CLAUDE_CONFIG_DIR", "")],
            claude,
            "mh-setup: neither CLAUDE_CONFIG_DIR nor HOME is set\n".into(),
        ),
        (&[("HOME", "here")], claude, relative("HOME", "here")),
        (&[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "./c")], claude, relative("CLAUDE_CONFIG_DIR", "./c")),
        (&[("HOME", "")], codex, "mh-setup: neither CODEX_HOME nor HOME is set\n".into()),
        (&[("HOME", "here")], codex, relative("HOME", "here")),
        (&[("HOME", "/h"), ("CODEX_HOME", "c")], codex, relative("CODEX_HOME", "c")),
    ] {
        assert_eq!(put(variables, vendor), wanted);
    }
    assert_eq!(fs::read_dir(home.at("project")).unwrap().count(), 0);
}

#[test]
fn nothing_empty_is_left_of_what_was_made() {
    let home = Home::new();
    // an empty file counts as none
    home.write(SHARED, "");
    home.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
    assert!(home.run(&["claude", "--project", ".", "--remove"]).ends_with("removed, it held nothing else\n"));
    assert!(!home.at("project/.claude").exists());
    home.run(&["claude", "--user", "--frame", "../frame.json"]);
    home.run(&["claude", "--user", "--remove"]);
    assert!(!home.at("home/.claude").exists());
    // another person's file beside it stays, and so does a folder of another name
    home.write("project/.claude/CLAUDE.md", "x");
    home.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
    home.run(&["claude", "--project", ".", "--remove"]);
    assert_eq!(fs::read_dir(home.at("project/.claude")).unwrap().count(), 1);
    home.run(&["codex", "--frame", "../frame.json"]);
    home.run(&["codex", "--remove"]);
    assert!(home.at("codex").is_dir());
    // a file that could not be written leaves nothing either
    fs::remove_dir_all(home.at("project/.claude")).unwrap();
    home.write("project/other.json", "{}");
    fs::create_dir(home.at("project/.claude")).unwrap();
    fs_err::os::unix::fs::symlink("/etc/hostname", home.at(SHARED)).unwrap();
    home.fails(&["claude", "--project", ".", "--frame", "../frame.json"], 2);
    assert!(home.at(SHARED).is_symlink());
}

#[test]
fn doctor_says_at_a_terminal_what_it_waits_for() {
    let home = Home::new();
    home.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
    executable(&home.at("path/claude"), "#!/bin/sh\n/bin/sleep 2\necho '2.1.332 (Claude Code)'\n");
    let line = format!("'{}' doctor claude", home.at("bin/mh-setup").display());
    let mut command = Command::new("/usr/bin/script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(home.at("project")).env_clear();
    command.env("HOME", home.at("home")).env("CODEX_HOME", home.at("codex")).env("PATH", home.at("path"));
    let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(told.contains("mh-setup: claude: asking for its release ...\r\n"), "{told}");
    // a pipe gets no progress messages
    let done = home.setup(&["doctor", "claude"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}
