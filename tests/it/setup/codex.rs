//! Adding our entry and its trust to another person's `config.toml` and removing it changes nothing else.

use metaharness::adapter::Registration;
use metaharness::adapter::codex::command;
use metaharness::adapter::codex::setup::{ConfigEntry, distrust, found, parse, taken_out, with_entries};
use proptest::prelude::*;

use crate::common::home::Home;

const FILE: &str = "codex/config.toml";
const KEY: &str = "/home/u/.codex/config.toml";
const PIN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn line(frame: &str) -> Registration {
    let words = ["--frame", frame, "--digest", PIN, "--policy", "deny-only"];
    Registration {
        program: "/b/mh-hook-codex".into(),
        arguments: words.map(String::from).into(),
        patience: Registration::PATIENCE,
    }
}

/// Every entry is there in a form that Codex trusts.
fn holds(text: &str, frame: &str) {
    let config = parse(text.trim_start_matches('\u{feff}')).unwrap();
    for (event, snake, there) in found(&config.root) {
        let ConfigEntry::Exact(found, _, at) = there else { panic!("{event}: {there:?} in {text}") };
        assert_eq!(found, line(frame));
        assert_eq!(distrust(&config.root, KEY, snake, at, &command(&found)), None, "{text}");
    }
    let feature = |key: &str| config.root.find(&["features", key]).and_then(|node| node.bool());
    assert_eq!((feature("hooks"), feature("unified_exec_tty")), (Some(true), Some(false)), "{text}");
}

fn round(text: &str) {
    let once = with_entries(Some(text), &line("/f"), KEY).unwrap_or_else(|why| panic!("{why:?}: {text}"));
    holds(&once, "/f");
    assert_eq!(with_entries(Some(&once), &line("/f"), KEY).unwrap(), once, "twice, from {text:?}");
    let next = with_entries(Some(&once), &line("/a/longer/frame"), KEY).unwrap();
    holds(&next, "/a/longer/frame");
    assert_eq!(taken_out(&once, KEY).unwrap().as_deref(), Some(text), "{once}");
    assert_eq!(taken_out(&next, KEY).unwrap().as_deref(), Some(text), "{next}");
}

const THEIRS: &str =
    "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"theirs\"\n";

#[test]
fn whatever_the_file_looks_like_it_comes_out_as_it_went_in() {
    let stale =
        format!("[hooks.state.\"{KEY}:pre_tool_use:0:0\"]\nenabled = false\ntrusted_hash = \"sha256:old\" # mine\n");
    for text in [
        "",
        "\n",
        "  ",
        "# only a comment",
        "model = \"gpt-5.5\"",
        "model = \"gpt-5.5\"\n",
        "\u{feff}model = \"gpt-5.5\"\n",
        "model = \"gpt-5.5\"\r\n\r\n[features] # mine\r\nhooks = false # why not\r\n\r\n[a]\r\nb = 1\r\n",
        "[features]",
        "[features]\n",
        "[features]\nunified_exec_tty = true",
        "[features]\nhooks = true\nunified_exec_tty = false\n",
        "[features]\nhooks = true\n\n\n",
        "features.web = true\nmodel = 'x'\n",
        "features.hooks = false\n[a]\nb = '''\n[features]\nhooks = 1\n'''\n",
        "[features.inner]\na = 1\n",
        "[features]\nshell = true\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n# end",
        &format!("{THEIRS}\n{THEIRS}"),
        &format!("# first\n{THEIRS}[hooks.state.\"{KEY}:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:aa\"\n\n\n"),
        &stale,
        "[hooks.state]\n",
        "[tui]\nnotifications = [\n  \"é\", # one\n]\n",
    ] {
        round(text);
    }
}

fn section() -> impl Strategy<Value = String> {
    let flag = prop_oneof![Just("hooks"), Just("unified_exec_tty"), Just("web"), Just("shell")];
    let features = prop::collection::btree_map(flag, any::<bool>(), 0..4).prop_map(|flags| {
        flags
            .into_iter()
            .fold("[features]\n".into(), |all: String, (flag, on)| all + &format!("{flag} = {on}  # {on}\n"))
    });
    let group = prop_oneof![
        Just(THEIRS.to_string()),
        Just("[[hooks.Stop]]\n\n  [[hooks.Stop.hooks]]\n  type = 'command'\n  command = 'x'\n".to_string()),
        Just("[[hooks.SessionStart]]\nhooks = [ { type = \"command\", command = \"y\" } ]\n".to_string()),
    ];
    prop_oneof![
        1 => features,
        3 => group,
        1 => Just("# a comment\n".to_string()),
        1 => Just("\n".to_string()),
    ]
}

fn config() -> impl Strategy<Value = String> {
    let table = (
        0usize..40,
        prop::collection::vec("[a-z]{1,5} = (1|\"[ -!#-\\[\\]-~é]{0,8}\"|\\[1, 2\\])( # [a-z]{0,4})?", 0..3),
    );
    let root = prop_oneof![
        Just(String::new()),
        Just("model = \"gpt-5.5\"\n".to_string()),
        Just("features.web = true\n".to_string())
    ];
    (root, prop::collection::vec(section(), 0..6), prop::collection::vec(table, 0..3), any::<u8>()).prop_map(
        |(root, sections, tables, style)| {
            let mut text = root.clone();
            let mut featured = root.starts_with("features");
            for section in sections {
                if section.starts_with("[features]") && std::mem::replace(&mut featured, true) {
                    continue;
                }
                text += &section;
            }
            for (at, (number, lines)) in tables.into_iter().enumerate() {
                text += &format!("[t{at}.\"{number} é\"]\n");
                for (at, line) in lines.into_iter().enumerate() {
                    text += &format!("k{at}{line}\n");
                }
            }
            if style & 1 == 1 {
                text = text.replace('\n', "\r\n");
            }
            match style & 6 {
                2 => text.trim_end().to_string(),
                4 => text + "\n\n",
                _ => text,
            }
        },
    )
}

proptest! {
    #![proptest_config(crate::common::cases(400))]

    #[test]
    fn any_configuration_comes_out_as_it_went_in(text in config()) {
        round(&text);
    }

    #[test]
    fn no_bytes_make_it_panic(text in "[\\[\\]{}\",=.a-z0-9 \r\n\t#'-]{0,60}") {
        let _ = with_entries(Some(&text), &line("/f"), KEY);
        let _ = taken_out(&text, KEY);
    }
}

#[test]
fn other_peoples_trust_moves_with_their_entries() {
    let trust = |group: usize, hash: &str| {
        format!("\n[hooks.state.\"{KEY}:pre_tool_use:{group}:0\"]\ntrusted_hash = \"sha256:{hash}\"\n")
    };
    let before = format!("{THEIRS}{}", trust(0, "aa"));
    let ours = with_entries(Some(&before), &line("/f"), KEY).unwrap();
    // a third group follows ours, and is trusted there
    let three = format!("{ours}\n{THEIRS}{}", trust(2, "cc"));
    holds(&three, "/f");
    let left = taken_out(&three, KEY).unwrap().unwrap();
    assert_eq!(left, format!("{before}\n{THEIRS}{}", trust(1, "cc")));
    // and with the next frame ours stays in its place
    let next = with_entries(Some(&three), &line("/g"), KEY).unwrap();
    holds(&next, "/g");
    assert!(next.contains(&trust(2, "cc")));
}

#[test]
fn entries_of_ours_in_another_form_are_replaced() {
    let by_hand = "[[hooks.PreToolUse]]\nmatcher = \"*\"\n\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/old/mh-hook-codex --frame /f\"\n";
    for text in [
        by_hand.to_string(),
        format!("{by_hand}\n{by_hand}"),
        format!(
            "{THEIRS}\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/old/mh-hook-codex\"\n\n{by_hand}"
        ),
    ] {
        let new = with_entries(Some(&text), &line("/f"), KEY).unwrap();
        holds(&new, "/f");
        assert!(!new.contains("/old/"), "{new}");
        assert_eq!(new.contains("theirs"), text.contains("theirs"));
    }
}

#[test]
fn what_cannot_be_added_to_is_refused_by_its_place() {
    let scratch = Home::new();
    for (text, wanted) in [
        ("a = 1\nfeatures = { hooks = false }\n", "line 2, column 12: `features` is written in one piece"),
        ("hooks = { PreToolUse = [] }\n", "line 1, column 9: `hooks` or `hooks.PreToolUse` is written in one piece"),
        ("[hooks]\nSessionStart = []\n", "line 2, column 16: `hooks` or `hooks.SessionStart` is written in one piece"),
        ("[hooks]\nstate = {}\n", "line 2, column 9: `hooks.state` is written in one piece"),
        (
            "a = 1\n[[features]]\n",
            "line 2, column 1: `features` is a list, which Codex does not take there; write it under [features];",
        ),
        (
            "[a]\n[[hooks]]\n",
            "line 2, column 1: `hooks` is a list, which Codex does not take there; write it under [hooks];",
        ),
        (
            "[[hooks.state]]\n",
            "line 1, column 1: `hooks.state` is a list, which Codex does not take there; write it under [hooks.state];",
        ),
        (
            "[[hooks.Stop]]\n[hooks.PreToolUse]\n",
            "line 2, column 1: `hooks.PreToolUse` is a table, which Codex does not take there; write it under [[hooks.PreToolUse]];",
        ),
        (
            "[hooks]\nPreToolUse.x = 1\n",
            "line 2, column 1: `hooks.PreToolUse` is a table, which Codex does not take there",
        ),
        ("a = 1\na = 2\n", "line 2, column 1: duplicate key"),
        ("[features\n", "line 1, column 10: "),
        ("[features]\nhooks = 1\n", "line 2, column 9: this has to be true"),
    ] {
        scratch.write(FILE, text);
        let said = scratch.fails(&["codex", "--frame", "../frame.json"], 2);
        assert!(said.contains(wanted), "{text:?}: {said}");
        assert_eq!(scratch.read(FILE), text);
    }
}

#[test]
fn one_command_writes_it_and_remove_gives_it_back() {
    let scratch = Home::new();
    let said = scratch.run(&["codex", "--frame", "../frame.json"]);
    assert!(said.contains("config.toml: entries and their trust written\n"), "{said}");
    assert!(said.contains("the configuration of a project that you trust can undo features.hooks = true"), "{said}");
    let text = scratch.read(FILE);
    assert!(
        text.starts_with("[features] # mh-setup\nhooks = true # mh-setup\nunified_exec_tty = false # mh-setup\n"),
        "{text}"
    );
    scratch.run(&["codex", "--frame", "../frame.json"]);
    assert_eq!(scratch.read(FILE), text);
    assert!(scratch.run(&["codex", "--remove"]).ends_with("removed, it held nothing else\n"));
    assert!(!scratch.at(FILE).exists());
}

#[test]
fn requirements_pin_the_features_and_shut_every_other_hook_out() {
    let scratch = Home::new();
    let printed = scratch.run(&["codex", "--managed", "--frame", "../frame.json"]);
    assert!(
        printed.starts_with("allow_managed_hooks_only = true\n\n[features]\nhooks = true\nunified_exec_tty = false\n"),
        "{printed}"
    );
    assert!(!printed.contains("hooks.state"));
    assert!(parse(&printed).is_ok());
}
