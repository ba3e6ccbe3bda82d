//! The refusals of `mh-setup`, and their messages.

use fs_err as fs;

use crate::common::home::{Assert as _, Home, set_mode};

const FILE: &str = "project/.claude/settings.json";
const WRITE: [&str; 5] = ["claude", "--project", ".", "--frame", "../frame.json"];

#[test]
fn a_settings_file_that_the_vendor_would_pass_over_is_refused_by_line_and_column() {
    let scratch = Home::new();
    for (text, wanted) in [
        ("{\n  \"model\": \"x\",\n}\n", "line 3, column 1: a comma before the closing bracket"),
        ("{\n  // why\n}\n", "line 2, column 3: expected a key in double quotes, found `/`"),
        ("{\"é\": [}\n", "line 1, column 8: expected a value, found `}`"),
        ("[]", "line 1, column 1: settings are an object, and this is an array"),
        ("{\"hooks\": []}", "line 1, column 11: `hooks` is an array, not an object"),
        (
            "{\"hooks\": {},\r\n\"hooks\": {}}",
            "line 2, column 1: `hooks` stands twice, and the second takes the place of the first",
        ),
        ("{\"hooks\": {\"Stop\": [], \"Stop\": []}}", "line 1, column 24: `hooks.Stop` stands twice"),
        (
            "{\"hooks\": {\"PreToolUse\": {}}}",
            "line 1, column 26: under `hooks.PreToolUse`, there is an object, not an array of groups",
        ),
        (
            "{\"hooks\": {\"PreToolUse\": [{\"type\": \"command\", \"command\": \"x\"}]}}",
            "line 1, column 27: under `hooks.PreToolUse`, a group has no array `hooks`",
        ),
        (
            "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"cmd\"}]}]}}",
            "a hook has no `type` of command, prompt",
        ),
        ("{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\"}]}]}}", "a hook has no string `command`"),
        (
            "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\", \"timeout\": 0}]}]}}",
            "a `timeout` is not a number above 0",
        ),
        ("{\"permissions\": \"x\"}", "line 1, column 17: `permissions` is a string, not an object"),
        (
            "{\"permissions\": {\"allow\": \"Read\"}}",
            "line 1, column 27: `permissions.allow` is a string, not an array",
        ),
        ("{\"sandbox\": {\"enabled\": 1}}", "`sandbox.enabled` is a number, not a boolean"),
        ("{\"statusLine\": {\"type\": null}}", "`statusLine.type` is null, not a string"),
        ("{\"model\": 1}", "line 1, column 11: `model` is a number, not a string"),
        ("{\"env\": null}", "line 1, column 9: `env` is null, not an object"),
        ("{\"cleanupPeriodDays\": \"30\"}", "`cleanupPeriodDays` is a string, not a number"),
        ("{\"disableAllHooks\": \"true\"}", "`disableAllHooks` is a string, not a boolean"),
        ("{\"availableModels\": \"opus\"}", "`availableModels` is a string, not an array"),
        ("{\"hooks\": {\"PreToolUse\": [{\"matcher\": null, \"hooks\": []}]}}", "a `matcher` is not a string"),
    ] {
        scratch.write(FILE, text);
        let said = scratch.fails(&WRITE, 2);
        assert!(said.starts_with("mh-setup: ") && said.contains(wanted), "{text:?}: {said}");
        assert!(said.ends_with("put it right first, nothing was changed\n"), "{said}");
        assert_eq!(scratch.read(FILE), text);
    }
    scratch.write(FILE, b"{\"a\": \"\xff\"}");
    assert!(scratch.fails(&WRITE, 2).contains("byte 7: not UTF-8"));
}

#[test]
fn what_the_vendor_itself_would_pass_over_is_refused_in_its_words() {
    let scratch = Home::new();
    let text = "{\"enabledPlugins\": {\"a\": 5}}";
    scratch.write(FILE, text);
    let root = fs::canonicalize(scratch.at("project")).unwrap();
    let says = |what: &str| {
        let line = format!("- {}/.claude/settings.json \u{203a} enabledPlugins.a: {what}", root.display());
        scratch.vendor("claude", &format!("2.1.332 (Claude Code)\n\nInvalid settings\n{line}\n\nNo issues."));
    };
    says("Invalid input");
    let said = scratch.fails(&WRITE, 2);
    assert!(said.contains("settings.json, enabledPlugins.a: Invalid input: by claude doctor, and for that"), "{said}");
    assert_eq!(scratch.read(FILE), text);
    says("\"a\" is no plugin; this value was ignored.");
    scratch.run(&WRITE);
}

#[test]
fn a_bad_hook_under_an_event_that_is_not_ours_is_theirs() {
    let scratch = Home::new();
    scratch.write(FILE, "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"odd\"}]}]}}");
    scratch.run(&WRITE);
}

#[test]
fn a_frame_or_program_that_others_can_replace_is_refused() {
    let scratch = Home::new();
    let temporary = tempfile::tempdir().unwrap();
    let copy = temporary.path().join("frame.json");
    fs::copy(scratch.at("frame.json"), &copy).unwrap();
    let said = scratch.fails(&["claude", "--project", ".", "--frame", copy.to_str().unwrap()], 2);
    assert!(
        said.contains("the frame lies in the temporary folder ") && said.contains("; put it somewhere else"),
        "{said}"
    );

    set_mode(&scratch.at("frame.json"), 0o666);
    let said = scratch.fails(&WRITE, 2);
    assert!(
        said.contains("every user can write") && said.contains("frame.json, and with it the frame; chmod o-w "),
        "{said}"
    );
    set_mode(&scratch.at("frame.json"), 0o644);

    set_mode(&scratch.at("bin"), 0o777);
    let said = scratch.fails(&WRITE, 2);
    assert!(said.contains("/bin, and with it the program; chmod o-w "), "{said}");
    set_mode(&scratch.at("bin"), 0o1777);
    scratch.run(&WRITE);
    // printing is not installing: it warns and goes on
    set_mode(&scratch.at("bin"), 0o777);
    let done = scratch.setup(&["claude", "--print", "--frame", "../frame.json"]).assert().success();
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("every user can write"));
}

#[test]
fn a_vendor_that_is_too_old_is_refused_with_the_release_that_is_needed() {
    let scratch = Home::new();
    scratch.vendor("claude", "2.1.294 (Claude Code)");
    let said = scratch.fails(&WRITE, 2);
    assert!(
        said.contains("this is Claude Code 2.1.294, and it has to be 2.1.295 or newer: older ones let a call run when its hook fails; update it"),
        "{said}"
    );
    assert!(!scratch.at("project/.claude").exists());
    scratch.vendor("claude", "2.1.295 (Claude Code)");
    assert!(scratch.run(&WRITE).contains("Claude Code: 2.1.295 ("));
    scratch.vendor("claude", "no idea");
    assert!(scratch.run(&WRITE).contains("its --version names none"));
    scratch.vendor("codex", "codex-cli 0.144.0");
    assert!(
        scratch
            .fails(&["codex", "--frame", "../frame.json"], 2)
            .contains("it has to be 0.145.0 or newer: older ones do not trust the entry, and skip it without a word")
    );
}

#[test]
fn a_refused_frame_writes_nothing() {
    let scratch = Home::new();
    scratch.write("frame.json", "{}");
    assert!(scratch.fails(&WRITE, 1).contains("frame.json: untagged: "));
    assert!(
        scratch.fails(&["claude", "--project", ".", "--frame", "../none.json"], 2).contains("none.json: no such file")
    );
    assert!(!scratch.at("project/.claude").exists());
}

#[test]
fn a_second_run_waits_for_nobody_and_says_so() {
    let scratch = Home::new();
    scratch.write(FILE, "{}");
    let folder = fs::File::open(scratch.at("project/.claude")).unwrap();
    folder.lock().unwrap();
    let said = scratch.fails(&WRITE, 2);
    assert!(said.contains("another mh-setup is at work in this folder; try again when it is done"), "{said}");
    drop(folder);
    scratch.run(&WRITE);
}

#[test]
fn a_link_that_leads_nowhere_or_a_folder_is_not_written_over() {
    let scratch = Home::new();
    fs::create_dir(scratch.at("project/.claude")).unwrap();
    fs_err::os::unix::fs::symlink("/nowhere/at/all", scratch.at(FILE)).unwrap();
    assert!(scratch.fails(&WRITE, 2).contains("settings.json: "));
    fs::remove_file(scratch.at(FILE)).unwrap();
    fs::create_dir(scratch.at(FILE)).unwrap();
    assert!(scratch.fails(&WRITE, 2).contains("settings.json: it is a folder, not a regular file"));
}

#[test]
fn what_does_not_go_together_is_usage() {
    let scratch = Home::new();
    for (arguments, wanted) in [
        (&["claude", "--frame", "../frame.json"][..], "no place is given: --project DIR, --local or --user"),
        (
            &["claude", "--user", "--project", ".", "--frame", "f"],
            "--user and --project do not go together: they are two places",
        ),
        (&["claude", "--user"], "no frame is given: --frame FILE"),
        (&["codex", "--project", ".", "--frame", "../frame.json"], "--project is for claude"),
        (&["codex", "--print", "--shell", "--frame", "../frame.json"], "--shell is for claude"),
        (&["claude", "--shell", "--user", "--frame", "../frame.json"], "--shell goes with --print"),
        (&["claude", "--remove", "--print"], "--print and --remove do not go together"),
        (
            &["claude", "--remove", "--user", "--frame", "f"],
            "--remove and --frame do not go together: entries are taken out whatever they say",
        ),
        (&["doctor", "--frame", "f"], "--frame does not go with doctor: it looks at what is set up"),
        (&["doctor", "cursor"], "\"cursor\" is no vendor; there are claude and codex"),
        (&["cursor"], "\"cursor\" is no vendor; there are claude and codex"),
        (&[], "no vendor is given: claude or codex; or say doctor, or list"),
        (&["claude", "--user", "--project", "../none", "--frame", "f"], "they are two places"),
        (&["claude", "--project", "../none", "--frame", "../frame.json"], "none: no such folder"),
    ] {
        let said = scratch.fails(arguments, 2);
        assert!(said.contains(wanted), "{arguments:?}: {said}");
    }
}
