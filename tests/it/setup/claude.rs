//! Adding our entry to other people's settings and removing it changes nothing else.

use fs_err as fs;
use metaharness::adapter::Registration;
use metaharness::adapter::claude::setup::{blank, taken_out, unreadable, with_entries};
use metaharness::frame::Operation;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::home::{Assert as _, Home};

const FILE: &str = "project/.claude/settings.json";

fn line(frame: &str) -> Registration {
    Registration {
        program: "/b/mh-hook-claude".into(),
        arguments: vec!["--frame".into(), frame.into()],
        patience: Registration::PATIENCE,
    }
}

/// Add, add again, add for another frame, remove: the rules for every settings file.
fn round(text: &str) {
    assert_eq!(unreadable(text).filter(|_| !blank(text)), None, "{text:?}");
    let once = with_entries(Some(text), &line("/F"));
    assert_eq!(unreadable(&once), None, "{text:?} became {once:?}");
    assert_eq!(with_entries(Some(&once), &line("/F")), once, "twice, from {text:?}");
    let next = with_entries(Some(&once), &line("/a/longer/frame"));
    assert!(next.contains("/a/longer/frame") && !next.contains("\"/F\""), "{next}");
    assert_eq!(taken_out(&once).as_deref(), Some(text), "{once:?}");
    assert_eq!(taken_out(&next).as_deref(), Some(text), "{next:?}");
    let value: Value = serde_json::from_str(next.trim_start_matches('\u{feff}')).unwrap();
    for event in ["PreToolUse", "PreSkillShellCommand", "UserPromptSubmit", "SessionStart", "SubagentStart"] {
        let groups = value["hooks"][event].as_array().unwrap();
        let ours = groups.iter().filter(|group| group["hooks"][0]["command"] == "/b/mh-hook-claude").count();
        assert_eq!(ours, 1, "{event} in {next}");
    }
}

const THEIRS: &str = r#"{"matcher": "Bash", "hooks": [{"type": "command", "command": "their-guard"}]}"#;

#[test]
fn whatever_the_file_looks_like_it_comes_out_as_it_went_in() {
    let texts = [
        "{}".to_string(),
        "{ }".into(),
        "{\n}\n".into(),
        "{\n\n  \n}".into(),
        String::new(),
        " \n".into(),
        "\u{feff}{\n  \"model\": \"opus\"\n}\n".into(),
        "{\"model\":\"opus\"}".into(),
        "{\r\n\t\"model\": \"opus\",\r\n\t\"env\": {\"Ü\": \"\\u00e9 \\\"x\\\"\"}\r\n}\r\n".into(),
        "{\n    \"permissions\": {\n        \"allow\": [ \"Read\" ]\n    }   \n   }  \n\n".into(),
        "{\"hooks\": {}}".into(),
        "{\n  \"hooks\": {\n  },\n  \"model\": \"opus\"\n}\n".into(),
        "{\n  \"hooks\": { },\n  \"model\": \"opus\"\n}\n".into(),
        "{\"hooks\": {\"PreToolUse\": []}}".into(),
        "{\"hooks\": {\"PreToolUse\": [ \n ], \"Stop\": [  ]}}".into(),
        format!("{{\"hooks\": {{\"PreToolUse\": [{THEIRS}]}}}}"),
        format!("{{\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {THEIRS},\n      {THEIRS}\n    ]\n  }}\n}}\n"),
        format!(
            "{{\n  \"hooks\": {{\n    \"Stop\": [ {THEIRS} ], \"SessionStart\":[{THEIRS}]\n  }},\n  \"z\": [1, 2.50, -0, 1e3, null, true]}}"
        ),
    ];
    for text in texts {
        round(&text);
    }
}

fn value(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é\u{2028}\n\t\"\\\\]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zé \"]{0,6}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A valid group of hooks that is not ours.
fn group() -> impl Strategy<Value = Value> {
    let entry = ("[a-z/ -]{1,10}", prop::option::of(1u32..600)).prop_map(|(command, timeout)| match timeout {
        Some(timeout) => json!({"type": "command", "command": command, "timeout": timeout}),
        None => json!({"type": "command", "command": command}),
    });
    (prop::option::of("[A-Za-z|*]{0,8}"), prop::collection::vec(entry, 0..3)).prop_map(|(matcher, hooks)| match matcher
    {
        Some(matcher) => json!({"matcher": matcher, "hooks": hooks}),
        None => json!({"hooks": hooks}),
    })
}

fn settings() -> impl Strategy<Value = Value> {
    let event = prop_oneof![Just("PreToolUse"), Just("Stop"), Just("SessionStart"), Just("SubagentStart"), Just("Odd")];
    let hooks = prop::collection::btree_map(event, prop::collection::vec(group(), 0..3), 0..4);
    let rest = prop::collection::btree_map("[a-z]{3,9}", value(3), 0..4);
    (prop::option::of(hooks), rest).prop_map(|(hooks, rest)| {
        let mut all: serde_json::Map<String, Value> =
            rest.into_iter().map(|(key, value)| (format!("x{key}"), value)).collect();
        if let Some(hooks) = hooks {
            all.insert("hooks".into(), json!(hooks));
        }
        Value::Object(all)
    })
}

/// The value in one of the spellings that people use.
fn spelled(value: &Value, style: usize) -> String {
    let indent = ["  ", "\t", "    ", " "][style % 4];
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    serde::Serialize::serialize(value, &mut serde_json::Serializer::with_formatter(&mut out, formatter)).unwrap();
    let pretty = String::from_utf8(out).unwrap();
    match style / 4 {
        0 => pretty,
        1 => pretty + "\n",
        2 => pretty.replace('\n', "\r\n") + "\r\n",
        3 => serde_json::to_string(value).unwrap(),
        // one element a line without indentation, and blanks where they may stand
        4 => pretty.lines().map(|line| line.trim_start().to_string() + " \n").collect(),
        _ => format!("\n\u{20}{}\n\n", pretty.replace("\": ", "\" :")),
    }
}

proptest! {
    #![proptest_config(crate::common::cases(400))]

    #[test]
    fn any_settings_file_comes_out_as_it_went_in(value in settings(), style in 0usize..24, bom: bool) {
        let text = spelled(&value, style);
        round(&if bom { format!("\u{feff}{text}") } else { text });
    }

    #[test]
    fn no_bytes_make_it_panic_and_what_is_no_settings_file_is_refused(text in "[\\[\\]{}\",:a-z0-9 \r\n\t/*\\\\-]{0,60}") {
        let refused = unreadable(&text).is_some();
        let vendor = serde_json::from_str::<Value>(&text);
        prop_assert!(refused || vendor.is_ok());
        let _ = taken_out(&text);
    }
}

#[test]
fn one_command_writes_it_the_same_command_takes_the_next_frame_and_remove_gives_it_back() {
    let scratch = Home::new();
    let before = "{\n    \"model\": \"opus\"\n}";
    scratch.write(FILE, before);
    scratch.frame("next.json", &[Operation::Shell]);
    let said = scratch.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
    let root = fs::canonicalize(scratch.at("")).unwrap();
    let (file, frame) = (root.join("project/.claude/settings.json"), root.join("frame.json"));
    let head = format!("{}: entries written\nframe: {} ", file.display(), frame.display());
    assert!(said.starts_with(&head), "{said}");
    assert!(
        said.contains("(step 2 of release), pinned to it\npolicy: deny-only: what the frame does not admit"),
        "{said}"
    );
    assert!(said.contains("\nClaude Code: 2.1.332 ("), "{said}");
    assert!(said.ends_with("is it on? mh-setup doctor claude --project .\n"), "{said}");
    let once = scratch.read(FILE);
    let said = scratch.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
    assert!(said.contains("the entries are there already, nothing was changed"), "{said}");
    assert_eq!(scratch.read(FILE), once);
    scratch.run(&["claude", "--project", ".", "--frame", "../next.json", "--policy", "frame", "--audit", "../audit"]);
    let next = scratch.read(FILE);
    assert!(next.contains("next.json") && !next.contains("/frame.json") && next.contains("audit"), "{next}");
    assert_eq!(next.matches("mh-hook-claude").count(), 5);
    assert_eq!(scratch.run(&["claude", "--project", ".", "--remove"]).lines().count(), 1);
    assert_eq!(scratch.read(FILE), before);
    assert!(scratch.run(&["claude", "--project", ".", "--remove"]).ends_with("nothing was changed\n"));
    scratch.without_vendor("claude");
    let said = scratch.run(&["claude", "--project", ".", "--frame", "../frame.json"]);
    assert!(
        said.contains("Claude Code: not checked, there is no claude on PATH; it has to be 2.1.295 or newer"),
        "{said}"
    );
}

#[test]
fn a_file_that_was_not_there_is_gone_again() {
    let scratch = Home::new();
    scratch.run(&["claude", "--user", "--frame", "../frame.json"]);
    let text = scratch.read("home/.claude/settings.json");
    let printed = scratch.run(&["claude", "--print", "--frame", "../frame.json"]);
    assert_eq!(text, printed);
    let said = scratch.run(&["claude", "--user", "--remove"]);
    assert!(said.ends_with("settings.json: removed, it held nothing else\n"), "{said}");
    assert!(!scratch.at("home/.claude/settings.json").exists());
    assert!(scratch.run(&["claude", "--user", "--remove"]).contains("no entry of mh-hook-claude there"));
}

#[test]
fn our_own_older_entries_are_replaced_wherever_they_stand_and_others_stay() {
    let old = r#"{"type": "command", "command": "/old/mh-hook-claude --frame /f || exit 2"}"#;
    let theirs = r#"{"type": "command", "command": "theirs"}"#;
    let text = format!(
        "{{\"hooks\": {{\"PreToolUse\": [{{\"hooks\": [{old}, {theirs}]}}, {{\"hooks\": [{old}]}}], \"Stop\": [{{\"hooks\": [{old}]}}]}}}}"
    );
    let new = with_entries(Some(&text), &line("/F"));
    assert!(!new.contains("/old/"), "{new}");
    assert_eq!(new.matches("/b/mh-hook-claude").count(), 5, "{new}");
    assert_eq!(
        taken_out(&new).unwrap(),
        format!("{{\"hooks\": {{\"PreToolUse\": [{{\"hooks\": [{theirs}]}}], \"Stop\": []}}}}")
    );
}

#[test]
fn what_others_add_behind_our_entry_stays_when_it_goes() {
    let once = with_entries(None, &line("/F"));
    let more = once.replacen("\"hooks\": {", &format!("\"hooks\": {{\n    \"Stop\": [{THEIRS}],"), 1);
    let left = taken_out(&more).unwrap();
    let value: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(value["hooks"].as_object().unwrap().keys().collect::<Vec<_>>(), ["Stop"], "{left}");
}

#[test]
fn a_link_to_a_file_of_ones_own_is_followed_and_it_says_so() {
    let scratch = Home::new();
    let real = scratch.write("dotfiles/claude.json", "{}\n");
    fs::create_dir(scratch.at("project/.claude")).unwrap();
    fs_err::os::unix::fs::symlink(&real, scratch.at(FILE)).unwrap();
    let done = scratch.setup(&["claude", "--project", ".", "--frame", "../frame.json"]).assert().success();
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.contains("settings.json is a link; wrote ") && said.contains("dotfiles/claude.json"), "{said}");
    assert!(scratch.at(FILE).is_symlink() && scratch.read("dotfiles/claude.json").contains("mh-hook-claude"));
    scratch.run(&["claude", "--project", ".", "--remove"]);
    assert_eq!(scratch.read("dotfiles/claude.json"), "{}\n");
}

#[test]
fn managed_settings_shut_every_other_hook_out() {
    let scratch = Home::new();
    let printed = scratch.run(&["claude", "--managed", "--frame", "../frame.json"]);
    let value: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(value["allowManagedHooksOnly"], true);
    assert_eq!(value["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"], "block");
    assert!(!scratch.at("project/.claude").exists());
}

#[test]
fn what_was_changed_by_hand_in_our_entries_is_said_to_be_gone() {
    let scratch = Home::new();
    scratch.frame("frame.json", &[Operation::FileRead, Operation::Shell]);
    let claude: &[&str] = &["claude", "--project", ".", "--frame", "../frame.json"];
    let codex: &[&str] = &["codex", "--frame", "../frame.json"];
    let args = ("\"deny-only\"", "\"deny-only\", \"--no-self-protect\"");
    let line = ("'deny-only'", "'deny-only' '--no-self-protect'");
    for (arguments, file, (from, to)) in [(claude, FILE, args), (codex, "codex/config.toml", line)] {
        let said = || {
            let done = scratch.setup(arguments).assert().success();
            String::from_utf8(done.get_output().stderr.clone()).unwrap()
        };
        assert_eq!(said(), "");
        let good = scratch.read(file);
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good);
        scratch.write(file, changed);
        let gone = "were not as mh-setup writes them, and what was changed in them is gone: PreToolUse\n";
        assert!(said().ends_with(gone), "{}", said());
        assert_eq!(scratch.read(file), good);
        // the message was printed before, and no longer applies
        assert_eq!(said(), "");
    }
}
