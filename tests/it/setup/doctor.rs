//! Doctor's report: live, registered but not live, altered, absent, and the cause by its name.

use fs_err as fs;
use metaharness::frame::Operation;
use serde_json::Value;

use crate::common::home::{Assert as _, Home, set_mode};
use crate::common::schema::Seen;

const CLAUDE: &str = "project/.claude/settings.json";
const LOCAL: &str = "project/.claude/settings.local.json";
const USER: &str = "home/.claude/settings.json";
const CODEX: &str = "codex/config.toml";

fn claude(scratch: &Home) {
    scratch.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
}

fn codex(scratch: &Home) {
    scratch.run(&["codex", "--frame", "../frame.json"]);
}

/// Doctor's report on a vendor, which must be live.
fn live(scratch: &Home, vendor: &str) -> Value {
    let text = scratch.run(&["doctor", vendor, "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["state"], "live", "{text}");
    report
}

/// Doctor's report on a vendor that is not live, which must hold this.
fn dead(scratch: &Home, vendor: &str, headline: &str, cause: &str) -> String {
    let done = scratch.setup(&["doctor", vendor]).assert().code(1);
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with(&format!("{vendor}: {headline}\n")), "{text}");
    assert!(text.contains(cause), "no {cause:?} in\n{text}");
    assert!(!text.contains("\n  fired "), "{text}");
    text
}

const DEAD: &str = "registered but not live";
const ALTERED: &str = "registered, altered: not fired";

#[test]
fn what_was_written_is_live_for_frames_of_every_size() {
    let scratch = Home::new();
    let bare = [
        "file.read",
        "file.write",
        "file.edit",
        "dir.list",
        "search",
        "shell",
        "web.read",
        "skill.load",
        "subagent.spawn",
        "task.todo",
    ];
    let all: Vec<Operation> = bare.iter().map(|word| Operation::from_word(word).unwrap()).collect();
    for (operations, claude_calls, codex_calls) in [
        (&all[..0], ("Bash", "AskUserQuestion"), ("Bash", "get_context_remaining")),
        (&all[5..6], ("Write", "Bash"), ("apply_patch", "Bash")),
        (&all[..], ("mcp__mh_doctor__probe", "Bash"), ("mcp__mh_doctor__probe", "Bash")),
    ] {
        scratch.frame("frame.json", operations);
        for policy in ["frame", "deny-only"] {
            scratch.run(&["claude", "--project", ".", "--frame", "../frame.json", "--policy", policy]);
            scratch.run(&["codex", "--frame", "../frame.json", "--policy", policy]);
            for (vendor, calls) in [("claude", claude_calls), ("codex", codex_calls)] {
                let report = live(&scratch, vendor);
                assert_eq!(
                    (report["fired"]["denied"].as_str(), report["fired"]["passed"].as_str()),
                    (Some(calls.0), Some(calls.1))
                );
                assert!(report["fired"]["line_ms"].as_f64().unwrap() > 0.0);
            }
        }
    }
}

#[test]
fn nothing_registered_is_absent_and_of_both_vendors_one_live_is_enough() {
    let scratch = Home::new();
    dead(&scratch, "claude", "absent", "");
    dead(&scratch, "codex", "absent", "");
    scratch.setup(&["doctor"]).assert().code(1);
    claude(&scratch);
    let text = scratch.run(&["doctor"]);
    assert!(text.starts_with("claude: live\n") && text.contains("\n\ncodex: absent\n"), "{text}");
    codex(&scratch);
    let report: Value = serde_json::from_str(&scratch.run(&["doctor", "--json"])).unwrap();
    assert_eq!((&report["claude"]["state"], &report["codex"]["state"]), (&"live".into(), &"live".into()));
    scratch.write(LOCAL, "{\"disableAllHooks\": true}");
    scratch.setup(&["doctor"]).assert().code(1);
}

#[test]
fn every_measured_way_in_a_file_of_claude_is_named_with_its_key() {
    let scratch = Home::new();
    claude(&scratch);
    live(&scratch, "claude");
    for file in [LOCAL, USER] {
        scratch.write(file, "{\"disableAllHooks\": true}");
        let cause = format!(
            "{}: disableAllHooks switches every hook off, in whatever file it stands; take it out",
            scratch.shown(file)
        );
        dead(&scratch, "claude", DEAD, &cause);
        fs::remove_file(scratch.at(file)).unwrap();
    }
    for (file, text, cause) in [
        (USER, r#"{"env": {"CLAUDE_CODE_SAFE_MODE": "1"}}"#, "env.CLAUDE_CODE_SAFE_MODE switches hooks off"),
        (USER, r#"{"env": {"CLAUDE_CODE_SIMPLE": "1"}}"#, "env.CLAUDE_CODE_SIMPLE switches hooks off"),
        (LOCAL, r#"{"env": {"LD_PRELOAD": "/x.so"}}"#, "env.LD_PRELOAD is loaded into the hook program"),
        (LOCAL, r#"{"env": {"MH_FRAME": "/f"}}"#, "env.MH_FRAME the hook's settings come from its line alone"),
    ] {
        scratch.write(file, text);
        dead(&scratch, "claude", DEAD, cause);
        fs::remove_file(scratch.at(file)).unwrap();
    }
    // harmless, as measured
    scratch.write(LOCAL, "{broken");
    scratch.write(
        USER,
        r#"{"disableAllHooks": false, "hooks": {}, "env": {"PATH": "/nowhere", "CLAUDE_CODE_SAFE_MODE": "0"}}"#,
    );
    live(&scratch, "claude");
    for (name, value) in [("CLAUDE_CODE_SAFE_MODE", "1"), ("CLAUDE_CODE_SIMPLE", "1")] {
        let done = scratch.setup(&["doctor", "claude"]).env(name, value).assert().code(1);
        let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
        assert!(text.contains(&format!("the environment: {name} switches hooks off; unset it")), "{text}");
    }
    let done = scratch.setup(&["doctor", "claude"]).env("MH_POLICY", "frame").assert().code(1);
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(
        text.contains("the environment has MH_POLICY=\"frame\", and the command line does not say the same"),
        "{text}"
    );
}

/// Doctor's report on a vendor with one more variable, and its exit code.
fn with(scratch: &Home, vendor: &str, (name, value): (&str, &str)) -> (Option<i32>, String) {
    let done = scratch.setup(&["doctor", vendor]).env(name, value).assert();
    let output = done.get_output();
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap())
}

#[test]
fn what_answers_for_a_shell_takes_the_shell_form_away_and_not_the_other() {
    let scratch = Home::new();
    let printed = scratch.run(&["claude", "--print", "--shell", "--frame", "../frame.json"]);
    for (exec, code) in [(false, 1), (true, 0)] {
        match exec {
            true => claude(&scratch),
            false => drop(scratch.write(CLAUDE, &printed)),
        }
        live(&scratch, "claude");
        let prefix = ("CLAUDE_CODE_SHELL_PREFIX", "/bin/true");
        let (ended, said) = with(&scratch, "claude", prefix);
        assert_eq!(ended, Some(code), "{said}");
        assert_eq!(said.contains("the environment: CLAUDE_CODE_SHELL_PREFIX is run in the place of every line"), !exec);
        assert_eq!(with(&scratch, "claude", ("CLAUDE_CODE_SHELL_PREFIX", "")).0, Some(0));
        assert_eq!(with(&scratch, "claude", ("BASH_ENV", "/nowhere")).0, Some(0));
        scratch.write(LOCAL, r#"{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/bin/true"}}"#);
        scratch.setup(&["doctor", "claude"]).assert().code(code);
        fs::remove_file(scratch.at(LOCAL)).unwrap();
    }
    let (ended, said) = with(&scratch, "claude", ("CLAUDE_CODE_IGNORE_PERSISTED_TRUST", "on"));
    assert!(ended == Some(1) && said.contains("drops the hooks of the project's own files"), "{said}");
    assert_eq!(with(&scratch, "claude", ("CLAUDE_CODE_SIMPLE", "2")).0, Some(0));
}

#[test]
fn the_environment_and_the_env_file_of_codex_are_what_its_line_is_fired_with() {
    let scratch = Home::new();
    codex(&scratch);
    for (name, code) in [("BASH_ENV", 1), ("SHELLOPTS", 1), ("LD_AUDIT", 1), ("BASH_FUNC_echo%%", 0), ("LANG", 0)] {
        let (ended, said) = with(&scratch, "codex", (name, "() { exit 0; }"));
        assert_eq!(ended, Some(code), "{name}: {said}");
        assert_eq!(said.contains(&format!("  why      the environment: {name} ")), code == 1, "{said}");
    }
    let env = scratch.shown("codex/.env");
    scratch.write("codex/.env", "OPENAI_API_KEY=k\nHOME=/elsewhere\n");
    assert!(scratch.run(&["doctor", "codex"]).contains("/codex/.env (environment): read, 2 variables\n"));
    for (text, cause) in [
        ("BASH_ENV=/x\n", "/codex/.env: BASH_ENV names a file that bash runs"),
        ("export LD_PRELOAD='/x.so'\n", "/codex/.env: LD_PRELOAD tells the loader"),
        ("MH_FRAME=/f\n", "the environment has MH_FRAME=\"/f\""),
    ] {
        scratch.write("codex/.env", text);
        dead(&scratch, "codex", DEAD, cause);
        let done = scratch.setup(&["codex", "--frame", "../frame.json"]).assert().success();
        let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(said.contains("mh-setup: not live yet: ") && said.contains(cause), "{said}");
    }
    fs::remove_file(&env).unwrap();
    fs::create_dir(&env).unwrap();
    dead(&scratch, "codex", DEAD, "what Codex puts into the environment is not known: ");
}

#[test]
fn a_vendor_that_is_not_there_holds_to_nothing() {
    let scratch = Home::new();
    for vendor in ["claude", "codex"] {
        match vendor {
            "claude" => claude(&scratch),
            _ => codex(&scratch),
        }
        live(&scratch, vendor);
        scratch.vendor(vendor, "no idea");
        dead(&scratch, vendor, DEAD, ": its release is not known: its --version names none; it has to be ");
        scratch.without_vendor(vendor);
        dead(&scratch, vendor, DEAD, &format!("there is no {vendor} on PATH, so whether "));
    }
}

#[test]
fn entries_in_two_places_are_both_shown_and_both_looked_at() {
    let scratch = Home::new();
    claude(&scratch);
    scratch.frame("other.json", &[Operation::Shell]);
    scratch.run(&["claude", "--user", "--frame", "../other.json"]);
    let said = scratch.run(&["doctor", "claude"]);
    let frames: Vec<&str> =
        said.lines().filter(|line| line.contains("frame.json ") || line.contains("other.json ")).collect();
    assert!(frames.len() == 2 && said.contains("both judge every call, and one runs that neither denies"), "{said}");
    fs::remove_file(scratch.at("other.json")).unwrap();
    let cause = "settings.json: the entry there as well: ";
    let said = dead(&scratch, "claude", DEAD, cause);
    assert!(said.contains("other.json: unreadable: no such file or directory, so every call is denied"), "{said}");
}

#[test]
fn what_lets_calls_run_comes_before_what_would_deny_them() {
    let scratch = Home::new();
    claude(&scratch);
    scratch.write("frame.json", scratch.read("frame.json").replace("file.read", "shell"));
    let said = dead(&scratch, "claude", DEAD, "frame.json: it says it is ");
    assert_eq!(said.matches("edited").count(), 1, "{said}");
    assert!(said.contains(", so every call is denied; say mh-setup claude again"), "{said}");
    scratch.write(LOCAL, r#"{"disableAllHooks": true, "env": {"MH_FRAME": "/f"}}"#);
    let said = dead(&scratch, "claude", DEAD, "disableAllHooks switches every hook off");
    let all: Vec<&str> = said.lines().filter(|line| line.contains("every call is denied")).collect();
    assert!(all.iter().all(|line| line.contains("every call is denied once it comes to the hook again")), "{said}");
    assert_eq!(all.len(), 2, "{said}");
}

#[test]
fn nothing_registered_names_what_to_do_and_a_worktree_names_its_main_checkout() {
    let scratch = Home::new();
    dead(&scratch, "claude", "absent", "say mh-setup claude --project . --frame FILE, or --local, or --user");
    dead(&scratch, "codex", "absent", "say mh-setup codex --frame FILE");
    claude(&scratch);
    let own = scratch.at("project/.git/worktrees/linked");
    fs::create_dir_all(&own).unwrap();
    fs::create_dir_all(scratch.at("linked")).unwrap();
    let root = fs::canonicalize(scratch.at("")).unwrap();
    scratch.write("linked/.git", format!("gitdir: {}\n", root.join("project/.git/worktrees/linked").display()));
    scratch.write("project/.git/worktrees/linked/commondir", "../..\n");
    scratch.write("project/.git/worktrees/linked/gitdir", format!("{}\n", root.join("linked/.git").display()));
    let said = scratch.run(&["doctor", "claude"]);
    assert!(said.contains("/linked: a linked worktree, in which "), "{said}");
    assert!(
        said.contains("; say mh-setup claude --project there as well, or --local here, which is read there too\n"),
        "{said}"
    );
    let done = scratch.setup(&["doctor", "claude", "--project", "../linked"]).assert().code(1);
    let said = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(said.contains("an entry of ours in the main checkout"), "{said}");
    // the main checkout's local settings count there
    scratch.run(&["claude", "--project", "../linked", "--frame", "../frame.json"]);
    scratch.run(&["doctor", "claude", "--project", "../linked"]);
    scratch.write(LOCAL, r#"{"disableAllHooks": true}"#);
    scratch.setup(&["doctor", "claude", "--project", "../linked"]).assert().code(1);
}

#[test]
fn a_settings_file_that_does_not_load_is_registered_and_not_live() {
    let scratch = Home::new();
    claude(&scratch);
    let good = scratch.read(CLAUDE);
    for (bad, cause) in [
        (good.replacen("]\n  }\n}", "],\n  }\n}", 1), "a comma before the closing bracket"),
        (format!("// ours\n{good}"), "line 1, column 1: expected a value"),
        (good.replacen("{\n", "{\n  \"permissions\": \"x\",\n", 1), "`permissions` is a string, not an object"),
        (good.replacen("\"timeout\": 30", "\"timeout\": \"30\"", 1), "a `timeout` is not a number above 0"),
        (
            good.replacen(
                "[\n      {\n        \"matcher\"",
                "[ {\"hooks\": [{\"type\": \"x\"}]},\n      {\n        \"matcher\"",
                1,
            ),
            "a hook has no `type`",
        ),
    ] {
        assert_ne!(bad, good);
        scratch.write(CLAUDE, &bad);
        let text = dead(&scratch, "claude", DEAD, cause);
        assert!(text.contains("the vendor passes over a file that is not in order, without a word"), "{text}");
    }
}

#[test]
fn an_entry_that_is_not_as_it_was_written_is_altered_and_not_fired() {
    let scratch = Home::new();
    claude(&scratch);
    let good = scratch.read(CLAUDE);
    let fired = scratch.at("fired");
    let evil = scratch.write("evil/mh-hook-claude", format!("#!/bin/sh\ntouch {}\n", fired.display()));
    set_mode(&evil, 0o755);
    for (from, to, cause) in [
        ("\"matcher\": \"*\"", "\"matcher\": \"Bash\"", "hooks.PreToolUse: its `matcher` is not \"*\""),
        ("\"onFailure\": \"block\"", "\"onFailure\": \"allow\"", "its `onFailure` is not \"block\""),
        ("\"timeout\": 30", "\"timeout\": 30, \"async\": true", "it has `async`, so nobody waits for its answer"),
        (
            "\"timeout\": 30",
            "\"timeout\": 3",
            "its `timeout` is not 30, which leaves the hook the time that its line says",
        ),
        ("\"deny-only\"", "\"deny-only\", \"--no-self-protect\"", "its command line is not one that mh-setup writes"),
        ("\"PreToolUse\"", "\"pretooluse\"", "`hooks.pretooluse` is not an event; it is spelled PreToolUse"),
        ("\"PreToolUse\"", "\"Odd\"", "hooks.PreToolUse has no entry of ours"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        scratch.write(CLAUDE, &bad);
        dead(&scratch, "claude", ALTERED, cause);
    }
    for command in
        [format!("{} || exit 2", evil.display()), "mh-hook-claude".into(), "./mh-hook-claude --frame f".into()]
    {
        let entry =
            format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}}}"#);
        scratch.write(CLAUDE, entry);
        dead(&scratch, "claude", ALTERED, "its command line is not one that mh-setup writes");
    }
    let strange = good.replace(&scratch.shown("bin/mh-hook-claude"), evil.to_str().unwrap());
    scratch.write(CLAUDE, strange);
    dead(&scratch, "claude", ALTERED, "not the program beside this mh-setup, so it was not fired");
    assert!(!fired.exists());
}

#[test]
fn frame_program_and_audit_are_looked_at() {
    let scratch = Home::new();
    claude(&scratch);
    codex(&scratch);
    scratch.frame("frame.json", &[Operation::Shell]);
    for vendor in ["claude", "codex"] {
        let text = dead(&scratch, vendor, DEAD, "frame.json: pinned: the frame is ");
        assert!(text.contains(&format!("say mh-setup {vendor} again with the frame that is meant")), "{text}");
    }
    fs::remove_file(scratch.at("frame.json")).unwrap();
    dead(&scratch, "claude", DEAD, "frame.json: unreadable: no such file or directory, so every call is denied");
    scratch.frame("frame.json", &[Operation::FileRead]);
    live(&scratch, "claude");
    set_mode(&scratch.at("frame.json"), 0o666);
    dead(&scratch, "codex", DEAD, "and with it the frame; chmod o-w it");
    set_mode(&scratch.at("frame.json"), 0o644);
    fs::remove_file(scratch.at("bin/mh-hook-claude")).unwrap();
    let text = dead(&scratch, "claude", DEAD, "registered, not startable, so every call is denied");
    assert!(text.contains("remove the mh-hook-claude entries"), "{text}");
}

#[test]
fn what_doctor_fires_is_marked_in_the_audit() {
    let scratch = Home::new();
    for arguments in [&["claude", "--project", "."][..], &["codex"]] {
        scratch.run(&[arguments, &["--frame", "../frame.json", "--audit", "../audit"]].concat());
        live(&scratch, arguments[0]);
        let lines: Vec<Value> = scratch.read("audit").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "one line a call: {lines:?}");
        for line in lines {
            assert!(line["call_id"].as_str().unwrap().starts_with("mh-doctor-"), "{line}");
        }
        fs::remove_file(scratch.at("audit")).unwrap();
    }
}

#[test]
fn an_old_vendor_is_not_live() {
    let scratch = Home::new();
    claude(&scratch);
    scratch.vendor("claude", "2.1.294 (Claude Code)");
    dead(&scratch, "claude", DEAD, "Claude Code 2.1.294 is older than 2.1.295; update it");
}

#[test]
fn the_vendors_own_doctor_is_heard() {
    let scratch = Home::new();
    claude(&scratch);
    let root = fs::canonicalize(scratch.at("project")).unwrap();
    let says = |file: &str| {
        let head = "Claude Code doctor\n\nInvalid settings\n";
        let line = format!(
            "- {}/.claude/{file} \u{203a} spinner: Expected number, but received string\n  Suggested fix: - x",
            root.display()
        );
        scratch.vendor("claude", &format!("2.1.332 (Claude Code)\n{head}{line}\nNo installation issues found."));
    };
    says("settings.json");
    dead(&scratch, "claude", DEAD, "spinner: Expected number, but received string");
    says("settings.json\u{203a} x is ignored");
    live(&scratch, "claude");
    says("settings.local.json");
    live(&scratch, "claude");
}

#[test]
fn other_hooks_on_the_same_events_are_named_and_a_sub_folder_is_no_project() {
    let scratch = Home::new();
    scratch.write(
        LOCAL,
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "rewriter"}]}], "Stop": []}}"#,
    );
    claude(&scratch);
    let text = scratch.run(&["doctor", "claude"]);
    assert!(text.contains("settings.local.json: PreToolUse `rewriter`: another hook, and a rewrite of a call by it is judged by nobody"), "{text}");
    fs::create_dir(scratch.at("project/below")).unwrap();
    let done = scratch.setup(&["doctor", "claude", "--project", "below"]).assert().code(1);
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(
        text.starts_with("claude: absent\n") && text.contains("which the vendor does not read when it is started here"),
        "{text}"
    );
}

#[test]
fn a_settings_file_of_the_launch_can_hold_against_the_others() {
    let scratch = Home::new();
    let printed = scratch.run(&["claude", "--print", "--frame", "../frame.json"]);
    scratch.write("flag.json", &printed);
    scratch.write(LOCAL, "{\"disableAllHooks\": true}");
    let doctor = ["doctor", "claude", "--settings", "../flag.json"];
    scratch.setup(&doctor).assert().code(1);
    scratch.write("flag.json", printed.replacen('{', "{\"disableAllHooks\": false,", 1));
    scratch.setup(&doctor).assert().code(0);
    // the real program does not start then, so it cannot be live
    fs_err::remove_file(scratch.write("flag.json", "")).unwrap();
    let done = scratch.setup(&doctor).assert().code(2);
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("flag.json: no such file"));
}

#[test]
fn every_measured_way_in_a_file_of_codex_is_named_with_its_key() {
    let scratch = Home::new();
    codex(&scratch);
    let good = scratch.read(CODEX);
    live(&scratch, "codex");
    let swap = |from: &str, to: &str| {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        scratch.write(CODEX, bad);
    };
    swap("trusted_hash = \"sha256:", "trusted_hash = \"sha256:0");
    dead(
        &scratch,
        "codex",
        DEAD,
        "pre_tool_use:0:0\" is another entry's, so it is not trusted; say mh-setup codex again",
    );
    swap("enabled = true", "enabled = false");
    dead(&scratch, "codex", DEAD, "pre_tool_use:0:0\" has enabled = false");
    swap("pre_tool_use:0:0", "pre_tool_use:1:0");
    dead(&scratch, "codex", DEAD, "it is not trusted: there is no hooks.state.");
    swap(
        "[[hooks.PreToolUse]]",
        "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"x\"\n\n[[hooks.PreToolUse]]",
    );
    dead(&scratch, "codex", DEAD, "pre_tool_use:1:0");
    swap("[[hooks.PreToolUse]]", "[[hooks.PreToolUse]]\nmatcher = \"Bash\"");
    dead(&scratch, "codex", ALTERED, "it has a `matcher`, so some calls pass it by");
    swap("'--policy'", "'--no-self-protect' '--policy'");
    dead(&scratch, "codex", ALTERED, "its command line is not one that mh-setup writes");
    swap("hooks = true", "hooks = false");
    dead(&scratch, "codex", DEAD, "features.hooks switches every hook off; set it to true, or take it out");
    swap("unified_exec_tty = false", "unified_exec_tty = true");
    dead(&scratch, "codex", DEAD, "features.unified_exec_tty gives the shell a terminal");
    swap("unified_exec_tty = false # mh-setup\n", "");
    dead(&scratch, "codex", DEAD, "features.unified_exec_tty is not set");
    swap("[features]", "[features");
    dead(&scratch, "codex", DEAD, "it does not load: line 1");
    swap("hooks = true", "hooks = \"true\"");
    dead(&scratch, "codex", DEAD, "config.toml: codex does not start: features.hooks is a string, not a boolean");
    swap("[features]", "profile = \"fast\"\n[features]");
    dead(&scratch, "codex", DEAD, "config.toml: codex does not start: `profile` is no key any more; take it out");
    swap("hooks = true", "codex_hooks = false");
    dead(&scratch, "codex", DEAD, "features.codex_hooks switches every hook off");
    // where the new name exists as well, the old one has no effect
    swap("hooks = true", "codex_hooks = false\nhooks = true");
    live(&scratch, "codex");
}

#[test]
fn a_project_undoes_it_once_it_is_trusted() {
    let scratch = Home::new();
    codex(&scratch);
    fs::create_dir(scratch.at("project/.git")).unwrap();
    scratch.write("project/.codex/config.toml", "[features]\nhooks = false\n");
    let text = scratch.run(&["doctor", "codex"]);
    assert!(
        text.contains("once the project is trusted: ") && text.contains("features.hooks switches every hook off"),
        "{text}"
    );
    scratch.vendor("codex", "codex-cli 0.168.0");
    dead(&scratch, "codex", DEAD, "project/.codex/config.toml: features.hooks switches every hook off");
    scratch.vendor("codex", "codex-cli 0.169.0");
    live(&scratch, "codex");
    let project = fs::canonicalize(scratch.at("project")).unwrap();
    let trust = format!("\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", project.display());
    scratch.write(CODEX, scratch.read(CODEX) + &trust);
    dead(&scratch, "codex", DEAD, "project/.codex/config.toml: features.hooks switches every hook off");
    fs::create_dir(scratch.at("project/below")).unwrap();
    scratch.setup(&["doctor", "codex", "--project", "below"]).assert().code(1);
    // the trust of a folder below is no trust of the root
    scratch.write(CODEX, scratch.read(CODEX).replace("/project\"]", "/project/below\"]"));
    scratch.setup(&["doctor", "codex", "--project", "below"]).assert().code(0);
    scratch.write("codex/fast.config.toml", "[features]\nhooks = false\n");
    fs::remove_file(scratch.at("project/.codex/config.toml")).unwrap();
    let text = scratch.run(&["doctor", "codex"]);
    assert!(text.contains("with -p alone: ") && text.contains("fast.config.toml: features.hooks"), "{text}");
}

#[test]
fn its_objects_are_all_that_their_schema_has() {
    let scratch = Home::new();
    let mut seen = Seen::of("doctor");
    let mut look = |vendor: &[&str]| {
        let done = scratch.setup(&[&["doctor", "--json"], vendor].concat()).assert();
        seen.look(&serde_json::from_slice(&done.get_output().stdout).unwrap());
    };
    look(&[]);
    claude(&scratch);
    codex(&scratch);
    look(&["claude"]);
    look(&["codex"]);
    let rewriter = r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "rewriter"}]}]}, "disableAllHooks": true}"#;
    scratch.write(LOCAL, rewriter);
    look(&["claude"]);
    let bad = scratch.read(CLAUDE).replace("\"timeout\": 30", "\"timeout\": 3");
    scratch.write(CLAUDE, bad);
    look(&["claude"]);
    seen.is_all();
}
