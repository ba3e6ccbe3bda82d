//! The instruction text: its sentences, their order, and the lines that no string of a frame can forge.

use crate::common::{CLAUDE, CODEX, Run, Scratch, bytes, event, fixture, run};

fn text_of(frame: &std::path::Path) -> String {
    let answer = run("mh-frame-verify", [frame.as_os_str(), "--print".as_ref(), "text".as_ref()]);
    assert_eq!((answer.code, &*answer.stderr), (0, ""));
    answer.stdout.strip_suffix('\n').unwrap().into()
}

/// The context that the hook gives a session at its start.
fn told(vendor: &str, frame: &std::path::Path) -> String {
    let answer = Run::hook(vendor).frame(frame).stdin(bytes(&event(vendor, "SessionStart"))).answer();
    assert_eq!(answer.code, 0);
    answer.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().into()
}

#[test]
fn the_golden_texts_are_printed_word_for_word() {
    for (frame, text) in [
        ("golden/frame.json", "text/golden.txt"),
        ("vectors/full.json", "text/full.txt"),
        ("vectors/subjects.json", "text/subjects.txt"),
        ("vectors/escapes.json", "text/escapes.txt"),
        ("frames/nothing.json", "text/nothing.txt"),
        ("frames/one-mcp-server.json", "text/one-mcp-server.txt"),
    ] {
        let wanted = fs_err::read_to_string(fixture(text)).unwrap();
        assert_eq!(text_of(&fixture(frame)) + "\n", wanted, "{text}");
        for vendor in [CLAUDE, CODEX] {
            assert_eq!(told(vendor, &fixture(frame)) + "\n", wanted, "{text} {vendor}");
        }
    }
}

/// A frame with something in every section.
fn full(scratch: &Scratch) -> std::path::PathBuf {
    scratch.frame(
        "full.json",
        &[
            "--admit",
            "shell",
            "--admit-mcp",
            "lab",
            "note",
            "--scope",
            "src/**",
            "shell",
            "--prior",
            "PRIOR",
            "--source",
            "P-SOURCE",
            "--obligation",
            "OBLIGATION",
            "--asked-by",
            "O-SOURCE",
            "--reaching",
            "to done: REACHING",
            "--next",
            "done",
            "--entities-from",
            "LIST",
            "--entity",
            "MEMBER",
        ],
    )
}

#[test]
fn the_sections_come_in_order_the_binding_ones_first() {
    let text = text_of(&full(&Scratch::new()));
    let marks = [
        "Workflow w at version 1, state s, step 1, attempt 1.",
        "Strictly these operations are admitted in this step, and no others:\n- mcp.call lab/note\n- shell\n",
        "A denial is the answer, not an obstacle",
        "say what is missing and stop.",
        "- file:src/**: shell",
        "This step owes nothing before it may end.",
        "- PRIOR (established by: P-SOURCE)",
        "- OBLIGATION (asked for by: O-SOURCE)",
        "- to done: REACHING",
        "States that can be reached from here: done.",
        "taken from LIST:\n- MEMBER",
        "Frame digest: sha256 ",
    ];
    let mut from = 0;
    for mark in marks {
        let at = text[from..].find(mark).unwrap_or_else(|| panic!("{mark} is not there, or not in order:\n{text}"));
        from += at + mark.len();
    }
}

#[test]
fn the_text_ends_without_a_line_feed_and_no_line_with_a_blank() {
    let scratch = Scratch::new();
    let blanks = scratch.frame(
        "blanks.json",
        &[
            "--obligation",
            "ends in blanks  \t",
            "--prior",
            "  ",
            "--next",
            " ",
            "--entities-from",
            " ",
            "--entity",
            " ",
        ],
    );
    for frame in [blanks, full(&scratch), fixture("golden/frame.json"), fixture("vectors/empty-id.json")] {
        let text = text_of(&frame);
        assert!(!text.ends_with('\n') && !text.contains('\r'), "{text:?}");
        for line in text.lines() {
            assert_eq!(line, line.trim_end(), "{text:?}");
        }
    }
}

#[test]
fn the_text_tells_what_is_owed_and_what_is_not_admitted() {
    let scratch = Scratch::new();
    let text = |flags: &[&str]| text_of(&scratch.frame("frame.json", flags));
    assert!(text(&[]).contains("\nNo operation at all is admitted in this step"));
    assert!(text(&["--entities-from", "e"]).contains("taken from e: it is empty, so there is nothing to choose."));
    assert!(text(&["--scope", "x", "none"]).contains("\n- file:x: nothing\n"));
    let owes = |flags: &[&str]| {
        let new: Vec<&str> = crate::common::NEW.iter().copied().filter(|flag| *flag != "--handoff-none").collect();
        run("mh-frame-seal", [&new, flags, &["--print", "text"]].concat()).stdout
    };
    assert!(owes(&["--handoff-artifact", "plan"]).contains("\nBefore it may end, this step owes the artifact plan.\n"));
    assert!(owes(&["--handoff-artifact", "plan", "--kind", "doc"]).contains("owes the artifact plan (kind: doc).\n"));
    assert!(owes(&["--handoff-answer", "s/1"]).contains("owes an answer that satisfies the schema s/1.\n"));
}

/// Characters that some reader takes for the end of a line.
const BREAKS: [&str; 8] = ["\n", "\r", "\r\n", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"];

#[test]
fn a_string_of_the_frame_cannot_forge_a_line_of_the_text() {
    let scratch = Scratch::new();
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    for break_ in BREAKS {
        let evil = &format!("x{break_}forged");
        for flags in [
            &["--obligation", evil][..],
            &["--obligation", "o", "--asked-by", evil],
            &["--prior", evil, "--source", evil],
            &["--reaching", evil],
            &["--next", evil],
            &["--entities-from", evil, "--entity", evil],
            &["--admit-mcp", evil, evil],
            &["--scope", evil, "none"],
        ] {
            if break_.len() == 2 && flags[0] == "--admit-mcp" {
                // it renders to two underscores and is refused for that
                continue;
            }
            let answer = run("mh-frame-seal", [&crate::common::NEW[..], flags, &["--print", "text"]].concat());
            assert_eq!(answer.code, 0, "{answer:?}");
            let forges = answer.stdout.split(breaks).any(|line| line.starts_with("forged"));
            assert!(!forges, "{break_:?} in {flags:?}:\n{}", answer.stdout);
            assert!(answer.stdout.contains("forged"), "it is carried all the same");
        }
        let evil = &evil[..];
        let renamed = ["--new", "--workflow", evil, "--version", evil, "--state", evil, "--step", "1"];
        let answer = run("mh-frame-seal", [&renamed[..], &["--handoff-artifact", evil, "--print", "text"]].concat());
        assert_eq!(
            answer.stdout.lines().count(),
            run("mh-frame-seal", [&renamed_plain()[..], &["--handoff-artifact", "x", "--print", "text"]].concat())
                .stdout
                .lines()
                .count()
        );
    }
    // an ordinary text is kept, with its lines
    let frame = scratch.frame("frame.json", &["--obligation", "first\nsecond\r\n\tthird \u{1b}[31m caf\u{e9}"]);
    assert!(
        text_of(&frame).contains("- first\n  | second\n  | \tthird \\u{1b}[31m caf\u{e9}\n"),
        "{}",
        text_of(&frame)
    );
}

fn renamed_plain() -> [&'static str; 9] {
    ["--new", "--workflow", "w", "--version", "1", "--state", "s", "--step", "1"]
}

#[test]
fn a_text_that_a_vendor_would_cut_loses_whole_sections_from_the_end() {
    let scratch = Scratch::new();
    // Claude Code counts UTF-16 units up to 10,000, Codex bytes up to 12,000 tokens of four
    for (vendor, most, unit, counts) in [
        (CLAUDE, 10_000, "\u{1f600}", 2),
        (CLAUDE, 10_000, "x", 1),
        (CODEX, 48_000, "\u{1f600}", 4),
        (CODEX, 48_000, "x", 1),
    ] {
        let long = unit.repeat(most / counts);
        let frame = scratch
            .frame("frame.json", &["--admit", "shell", "--prior", &long, "--obligation", "kept?", "--next", "n"]);
        let text = told(vendor, &frame);
        assert!(text.starts_with("This work is governed by a sealed workflow frame.\n"));
        let cut = "This step owes nothing before it may end.\n\n(Left out here because the frame is too long: what has already \
                   been established; what must hold here; the reachable states; the digest.)";
        assert!(text.ends_with(cut), "{text}");
        let short = unit.repeat(most / counts - 4_100 / counts);
        let frame = scratch.frame("frame.json", &["--admit", "shell", "--prior", &short[..], "--obligation", "kept?"]);
        if vendor == CLAUDE {
            assert_eq!(told(vendor, &frame), text_of(&frame));
        }
        assert!(told(vendor, &frame).encode_utf16().count() < most);
        assert_eq!(run("mh-frame-verify", [frame]).code, 0);
    }
    // even with the longest list of operations, the text names the step
    let tools: Vec<String> = (0..400).flat_map(|n| ["--admit-mcp".into(), format!("s{n}"), "t".repeat(90)]).collect();
    let frame = scratch.frame("many.json", &tools.iter().map(String::as_str).collect::<Vec<_>>());
    let text = told(CLAUDE, &frame);
    assert!(
        text.contains(
            "state s, step 1, attempt 1.\n\n(Left out here because the frame is too long: what is admitted; "
        ),
        "{text}"
    );
    assert_eq!(told(CODEX, &frame), text_of(&frame));
}
