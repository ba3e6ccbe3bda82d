//! Any text as a configuration of either vendor: our entries hold after they are written into it, and taking them out
//! gives every byte back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metaharness::adapter::Registration;
use metaharness::adapter::claude::setup as claude;
use metaharness::adapter::codex::setup as codex;
use metaharness::adapter::setup::tree;

const FILE: &str = "/home/u/.codex/config.toml";

fn line(program: &str, frame: &str) -> Registration {
    let words = ["--frame", frame, "--digest", PIN, "--policy", "deny-only"];
    Registration {
        program: program.into(),
        arguments: words.map(String::from).into(),
        patience: Registration::PATIENCE,
    }
}

const PIN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn settings(text: &str) {
    let out = claude::taken_out(text);
    if !claude::blank(text) && claude::unreadable(text).is_some() {
        // our entries are not written into it, but they are taken out of anything that is JSON
        assert!(tree::json(text).is_ok() || out.as_deref() == Some(text));
        return;
    }
    let [first, next] = ["/f", "/a longer/frame"].map(|frame| line("/b/mh-hook-claude", frame));
    let once = claude::with_entries(Some(text), &first);
    if !claude::only_entries_differ(Some(text), &once) {
        // mh-setup refuses this layout, which can only come from entries of ours
        assert!(text.contains("mh-hook-claude"), "not written: {text:?} {once:?}");
        return;
    }
    let holds = |text: &str, line: &Registration| {
        assert_eq!(claude::unreadable(text), None, "{text}");
        for (event, found) in claude::found(&tree::json(text).unwrap()) {
            assert!(
                matches!(&found, claude::SettingsEntry::Exact(there, ..) if there == line),
                "{event} {found:?} {text}"
            );
        }
    };
    holds(&once, &first);
    assert_eq!(claude::with_entries(Some(&once), &first), once, "twice");
    let second = claude::with_entries(Some(&once), &next);
    holds(&second, &next);
    if !text.contains("mh-hook-claude") {
        for written in [&once, &second] {
            assert_eq!(claude::taken_out(written).as_deref(), Some(text), "{written}");
        }
    }
}

fn config(text: &str) {
    let Ok(out) = codex::taken_out(text, FILE) else { return };
    let [first, next] = ["/f", "/a longer/frame"].map(|frame| line("/b/mh-hook-codex", frame));
    let Ok(once) = codex::with_entries(Some(text), &first, FILE) else { return };
    let clean = ["mh-hook-codex", "mh-setup"].iter().all(|ours| !text.contains(ours));
    if clean {
        assert_eq!(out.as_deref(), Some(text), "nothing of ours was in it");
    }
    if !codex::only_entries_differ(text, &once, FILE) {
        assert!(!clean, "not written: {text:?} {once:?}");
        return;
    }
    let holds = |text: &str, line: &Registration| {
        let config = codex::parse(text.trim_start_matches('\u{feff}')).unwrap();
        for (event, snake, found) in codex::found(&config.root) {
            let codex::ConfigEntry::Exact(there, _, at) = &found else { panic!("{event} {found:?} {text}") };
            assert_eq!(there, line);
            let command = metaharness::adapter::codex::command(line);
            assert_eq!(codex::distrust(&config.root, FILE, snake, *at, &command), None, "{text}");
        }
    };
    holds(&once, &first);
    assert_eq!(codex::with_entries(Some(&once), &first, FILE).as_deref(), Ok(&*once), "twice");
    let second = codex::with_entries(Some(&once), &next, FILE).unwrap();
    holds(&second, &next);
    if clean {
        for written in [&once, &second] {
            assert_eq!(codex::taken_out(written, FILE).unwrap().as_deref(), Some(text), "{written}");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    settings(text);
    config(text);
});
