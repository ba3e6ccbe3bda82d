//! A hook's settings: by flags or by variables, and never by a mixture.

use std::os::unix::ffi::OsStringExt as _;

use metaharness::frame::shown;

use crate::common::{CLAUDE, CODEX, GOLDEN, Run, Scratch, VENDORS, fixture, shell};

fn golden() -> String {
    fixture("golden/frame.json").to_str().unwrap().into()
}

/// A hook with a call of the shell, which the golden frame admits.
fn admitted(vendor: &str) -> Run {
    Run::hook(vendor).stdin(shell(vendor))
}

fn undo(vendor: &str) -> &'static str {
    match vendor {
        CLAUDE => "remove the mh-hook-claude entries from the settings file they stand in",
        _ => "remove the mh-hook-codex entries from the config.toml they stand in",
    }
}

#[track_caller]
fn stopped(vendor: &str, run: Run, why: &str) {
    let wanted = format!("mh-hook-{vendor}: {why}; nothing runs until this is put right; to undo, {}", undo(vendor));
    assert_eq!(run.answer().denial(), wanted);
}

/// Check for the vendor's form of an admitted call.
#[track_caller]
fn passes(vendor: &str, run: Run) {
    let answer = run.answer();
    assert_eq!((answer.code, &*answer.stderr), (0, ""));
    match vendor {
        CLAUDE => assert_eq!(answer.json()["hookSpecificOutput"]["permissionDecision"], "allow"),
        _ => assert_eq!(answer.stdout, ""),
    }
}

#[test]
fn without_a_frame_the_hook_abstains_whatever_it_is_given() {
    for vendor in VENDORS {
        admitted(vendor).answer().is_silent();
        for policy in ["frame", "deny-only"] {
            admitted(vendor).args(["--policy", policy]).answer().is_silent();
            admitted(vendor).env("MH_POLICY", policy).answer().is_silent();
        }
        for junk in [&b""[..], b"\xff", b"{}", b"[", b"{\"hook_event_name\":\"PreToolUse\"}"] {
            Run::hook(vendor).stdin(junk).answer().is_silent();
        }
    }
}

#[test]
fn a_frame_that_is_required_and_not_there_is_a_denial() {
    for vendor in VENDORS {
        let why = "no frame is in force, and one is required; give --frame (or MH_FRAME)";
        stopped(vendor, admitted(vendor).args(["--require-frame"]), why);
        stopped(vendor, admitted(vendor).env("MH_REQUIRE_FRAME", "1"), why);
        passes(vendor, admitted(vendor).args(["--require-frame"]).frame(golden()));
        for value in ["0", "", "yes"] {
            let why = format!("--require-frame (or MH_REQUIRE_FRAME) takes 1, or nothing at all, not \"{value}\"");
            stopped(vendor, admitted(vendor).env("MH_REQUIRE_FRAME", value), &why);
        }
    }
}

#[test]
fn the_frame_is_taken_from_the_flag_or_from_the_variable() {
    for vendor in VENDORS {
        passes(vendor, admitted(vendor).frame(golden()));
        passes(vendor, admitted(vendor).args([format!("--frame={}", golden())]));
        passes(vendor, admitted(vendor).env("MH_FRAME", golden()));
        passes(vendor, admitted(vendor).frame(golden()).env("MH_FRAME", golden()));
    }
}

#[test]
fn a_path_need_not_be_utf_8_and_cannot_forge_words() {
    let scratch = Scratch::new();
    let name = std::ffi::OsString::from_vec(b"fr\xffame \n\xd0\xb0.json".to_vec());
    let path = scratch.root().join(&name);
    fs_err::copy(golden(), &path).unwrap();
    passes(CLAUDE, admitted(CLAUDE).frame(&path));
    fs_err::write(&path, "{}").unwrap();
    let reason = admitted(CLAUDE).frame(&path).answer().denial();
    assert!(reason.contains("/fr\\u{fffd}ame \\n\\u{430}.json is refused: untagged: no `format` key"), "{reason}");
}

#[test]
fn the_frame_must_have_the_pinned_digest() {
    let other = "0".repeat(64);
    for vendor in VENDORS {
        passes(vendor, admitted(vendor).frame(golden()).args(["--digest", GOLDEN]));
        passes(vendor, admitted(vendor).env("MH_FRAME", golden()).env("MH_FRAME_DIGEST", GOLDEN));
        let why = format!(
            "the frame {} is refused: pinned: the frame is {GOLDEN}, and {other} is asked for: this is another frame",
            shown(&golden())
        );
        stopped(vendor, admitted(vendor).frame(golden()).args(["--digest", &other]), &why);
        stopped(vendor, admitted(vendor).env("MH_FRAME", golden()).env("MH_FRAME_DIGEST", &other), &why);
        for bad in ["", "43A6F845", &GOLDEN.to_uppercase()] {
            let why = format!("--digest (or MH_FRAME_DIGEST) takes 64 lower-case hexadecimal digits, not \"{bad}\"");
            stopped(vendor, admitted(vendor).frame(golden()).args(["--digest", bad]), &why);
        }
        let why = "a digest is given and no frame that could have it; give --frame (or MH_FRAME) as well";
        stopped(vendor, admitted(vendor).args(["--digest", GOLDEN]), why);
        stopped(vendor, admitted(vendor).env("MH_FRAME_DIGEST", GOLDEN), why);
    }
}

#[test]
fn under_deny_only_an_admitted_call_is_left_to_the_vendor() {
    for vendor in VENDORS {
        admitted(vendor).frame(golden()).args(["--policy", "deny-only"]).answer().is_silent();
        admitted(vendor).env("MH_FRAME", golden()).env("MH_POLICY", "deny-only").answer().is_silent();
        passes(vendor, admitted(vendor).frame(golden()).args(["--policy", "frame"]));
        let nothing = fixture("frames/nothing.json");
        admitted(vendor).frame(&nothing).args(["--policy", "deny-only"]).answer().denial();
        for bad in ["", "Frame", "allow", "deny_only", "frame "] {
            let why = format!("--policy (or MH_POLICY) takes frame or deny-only, not \"{bad}\"");
            stopped(vendor, admitted(vendor).frame(golden()).args(["--policy", bad]), &why);
            stopped(vendor, admitted(vendor).env("MH_FRAME", golden()).env("MH_POLICY", bad), &why);
        }
    }
}

#[test]
fn a_deadline_is_a_whole_number_of_seconds() {
    for vendor in VENDORS {
        passes(vendor, admitted(vendor).frame(golden()).args(["--deadline", "600"]));
        for bad in ["0", "601", "-1", "1.5", "2s", ""] {
            let why =
                format!("--deadline (or MH_DEADLINE) takes a whole number of seconds from 1 to 600, not \"{bad}\"");
            stopped(vendor, admitted(vendor).frame(golden()).args([format!("--deadline={bad}")]), &why);
        }
    }
}

#[test]
fn with_a_frame_on_the_command_line_a_variable_that_differs_is_a_mistake() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit").to_str().unwrap().to_string();
    let other = "0".repeat(64);
    let flag = |variable: &str| match variable {
        "MH_FRAME" => "frame",
        "MH_FRAME_DIGEST" => "digest",
        "MH_POLICY" => "policy",
        "MH_AUDIT" => "audit",
        "MH_DEADLINE" => "deadline",
        "MH_REQUIRE_FRAME" => "require-frame",
        _ => "decider",
    };
    for vendor in VENDORS {
        // on Claude Code, one write to a settings file changes the hook's environment in mid-session
        for (variable, value) in [
            ("MH_FRAME", "/nonexistent/wider.json"),
            ("MH_FRAME", ""),
            ("MH_FRAME_DIGEST", GOLDEN),
            ("MH_POLICY", "frame"),
            ("MH_AUDIT", &audit),
            ("MH_DEADLINE", "20"),
            ("MH_REQUIRE_FRAME", "1"),
            ("MH_DECIDER", "exec:/bin/true"),
        ] {
            let why = format!(
                "the environment has {variable}=\"{value}\", and the command line does not say the same by --{}: settings come \
                 from one place, so take the variable out",
                flag(variable)
            );
            stopped(vendor, admitted(vendor).frame(golden()).env(variable, value), &why);
        }
        assert!(!scratch.path("audit").exists());
        for (variable, value, given) in
            [("MH_FRAME_DIGEST", &*other, GOLDEN), ("MH_POLICY", "frame", "deny-only"), ("MH_DEADLINE", "7", "07")]
        {
            let run = admitted(vendor).frame(golden()).args([&format!("--{}", flag(variable)), given]);
            let reason = run.env(variable, value).answer().denial();
            assert!(reason.contains(&format!("the environment has {variable}=\"{value}\"")), "{reason}");
        }
        // variables with the same values are accepted
        let run = admitted(vendor).frame(golden()).args(["--digest", GOLDEN, "--policy", "frame", "--require-frame"]);
        let run = run.env("MH_FRAME", golden()).env("MH_FRAME_DIGEST", GOLDEN).env("MH_POLICY", "frame");
        passes(vendor, run.env("MH_REQUIRE_FRAME", "1"));
        // variables that are not ours do not matter
        passes(vendor, admitted(vendor).frame(golden()).env("MH_FRAMES", "x").env("MH_VERBOSE", "1"));
    }
}

#[test]
fn a_flag_that_is_not_known_blocks_with_the_reason() {
    for vendor in VENDORS {
        for (args, why) in [
            (&["--fame", "/f"][..], "there is no flag --fame; see --help"),
            (&["-f"], "there is no flag -f; see --help"),
            (&["frame.json"], "there is no argument \"frame.json\"; see --help"),
            (&["--"], ""),
            (&["--frame"], "--frame takes a value, and none is given"),
            (
                &["--frame", "--audit", "/a"],
                "--frame takes a value, and behind it stands --audit; a value that begins with - is joined: --frame=VALUE",
            ),
            (
                &["--audit", "/a", "--deadline", "-1"],
                "--deadline takes a value, and behind it stands -1; a value that begins with - is joined: --deadline=VALUE",
            ),
            (&["--frame", "/a", "--frame", "/a"], "--frame is given twice"),
            (&["--require-frame=1"], "--require-frame takes no value, and is given \"1\""),
            (&["--help", "--table"], "there is no flag --help; see --help"),
        ] {
            if why.is_empty() {
                admitted(vendor).args(args).answer().is_silent();
                continue;
            }
            stopped(vendor, admitted(vendor).args(args), why);
        }
        // even with a good frame
        stopped(vendor, admitted(vendor).frame(golden()).args(["--dry-run"]), "there is no flag --dry-run; see --help");
    }
}

#[test]
fn help_version_and_table_go_to_stdout_and_need_no_call() {
    for (vendor, release) in [(CLAUDE, "Claude Code 2.1.332"), (CODEX, "Codex 0.171.0")] {
        let say = |flag: &str| {
            let answer = Run::hook(vendor).args([flag]).answer();
            assert_eq!((answer.code, &*answer.stderr), (0, ""), "{flag}");
            answer.stdout
        };
        assert_eq!(say("--version"), format!("mh-hook-{vendor} {}\n", env!("CARGO_PKG_VERSION")));
        assert!(say("--help").starts_with(&format!("usage: mh-hook-{vendor} [--frame FILE")));
        assert!(say("--table").starts_with(&format!("tool table of {release}\n")));
    }
}
