//! The environment and the command line: lost, odd or wrong.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use serde_json::json;

use crate::common::{CLAUDE, CODEX, bytes, call, fixture};
use crate::faults::row::{Row, Trial, blocks, borne, hold};

/// A fault where every setting comes from variables and this one is wrong.
fn variable(name: &'static str, value: impl Into<OsString>, says: &str) -> Row {
    let value: OsString = value.into();
    let shown = value.to_string_lossy();
    let shown = if shown.len() > 40 { "of a hundred thousand bytes".into() } else { format!("{shown:?}") };
    blocks(format!("{name} is {shown}"), says, move |trial| {
        if let Some(frame) = trial.frame.take() {
            trial.env("MH_FRAME", frame);
        }
        trial.env.retain(|(known, _)| known != name);
        trial.env(name, value.clone());
    })
}

fn odd_bytes() -> OsString {
    OsString::from_vec(b"\xff\xfe".to_vec())
}

#[test]
fn a_variable_that_is_wrong() {
    let long = "x".repeat(100_000);
    hold(
        "environment, by variables",
        vec![
            variable("MH_FRAME", "", "--frame (or MH_FRAME) takes an absolute path, not \"\""),
            variable("MH_FRAME", "./frame.json", "--frame (or MH_FRAME) takes an absolute path, not "),
            variable("MH_FRAME", " /frame.json", "--frame (or MH_FRAME) takes an absolute path, not "),
            variable("MH_FRAME", odd_bytes(), "--frame (or MH_FRAME) takes an absolute path, not "),
            variable("MH_FRAME", format!("/{long}"), "is refused: unreadable: file name too long"),
            variable(
                "MH_FRAME_DIGEST",
                "",
                "--digest (or MH_FRAME_DIGEST) takes 64 lower-case hexadecimal digits, not ",
            ),
            variable(
                "MH_FRAME_DIGEST",
                "0".repeat(63),
                "--digest (or MH_FRAME_DIGEST) takes 64 lower-case hexadecimal digits, not ",
            ),
            variable(
                "MH_FRAME_DIGEST",
                odd_bytes(),
                "--digest (or MH_FRAME_DIGEST) takes 64 lower-case hexadecimal digits, not ",
            ),
            variable("MH_POLICY", "", "--policy (or MH_POLICY) takes frame or deny-only, not "),
            variable("MH_POLICY", odd_bytes(), "--policy (or MH_POLICY) takes frame or deny-only, not "),
            variable("MH_POLICY", long.clone(), "--policy (or MH_POLICY) takes frame or deny-only, not "),
            variable("MH_REQUIRE_FRAME", "", "--require-frame (or MH_REQUIRE_FRAME) takes 1, or nothing at all, not "),
            variable(
                "MH_DEADLINE",
                "9".repeat(40),
                "--deadline (or MH_DEADLINE) takes a whole number of seconds from 1 to 600, not ",
            ),
            variable(
                "MH_DEADLINE",
                odd_bytes(),
                "--deadline (or MH_DEADLINE) takes a whole number of seconds from 1 to 600, not ",
            ),
            variable("MH_AUDIT", "", "--audit (or MH_AUDIT) takes an absolute path, not \"\""),
            variable("MH_AUDIT", "/nonexistent/audit.jsonl", "the audit line could not be written to"),
            variable(
                "MH_DECIDER",
                "",
                "--decider (or MH_DECIDER) takes exec:/abs/program or unix:/abs/socket, not \"\"",
            ),
            variable(
                "MH_DECIDER",
                "exec:decider",
                "--decider (or MH_DECIDER) takes exec:/abs/program or unix:/abs/socket, not \"exec:decider\"",
            ),
            variable("MH_DECIDER", "exec:/nonexistent/decider", "cannot be started"),
            variable("MH_DECIDER", "unix:/nonexistent/socket", "the decider"),
            blocks("a required frame whose variable was lost", "no frame is in force, and one is required", |trial| {
                trial.frame = None;
                trial.args(["--require-frame"]);
            }),
            blocks(
                "a pin whose frame's variable was lost",
                "a digest is given and no frame that could have it",
                |trial| {
                    trial.frame = None;
                    trial.env("MH_FRAME_DIGEST", "0".repeat(64));
                },
            ),
        ],
    );
}

#[test]
fn a_command_line_that_is_odd() {
    hold(
        "command line",
        vec![
            blocks("a flag that is not UTF-8", "there is no ", |trial| {
                trial.args([OsString::from_vec(b"--\xff".to_vec())]);
            }),
            blocks("a flag of a hundred thousand bytes", "there is no flag --xxx", |trial| {
                trial.args([format!("--{}", "x".repeat(100_000))]);
            }),
            blocks("a word that is not UTF-8", "there is no argument", |trial| trial.args([odd_bytes()])),
            blocks("beside it, a variable that is not UTF-8", "the environment has MH_FRAME=", |trial| {
                trial.env("MH_FRAME", odd_bytes());
            }),
        ],
    );
}

/// Every variable that a runtime, a loader or a library obeys, and the folders that the hooks look for.
#[test]
fn an_environment_that_is_odd() {
    let set = |pairs: &'static [(&'static str, &'static str)]| {
        let name = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        borne(name, move |trial| pairs.iter().for_each(|(name, value)| trial.env(*name, *value)))
    };
    hold(
        "environment, odd",
        vec![
            borne("nothing at all", |trial| trial.env.clear()),
            borne("ten thousand variables", |trial| {
                (0..10_000).for_each(|n| trial.env(format!("VARIABLE_{n}"), "x".repeat(50)));
            }),
            borne("a variable of a hundred thousand bytes", |trial| trial.env("LONG", "x".repeat(100_000))),
            borne("names and values that are not UTF-8", |trial| {
                trial.env(odd_bytes(), "x");
                trial.env("ODD", odd_bytes());
                trial.env("HOME", odd_bytes());
                trial.env("CODEX_HOME", odd_bytes());
            }),
            set(&[("HOME", ""), ("CODEX_HOME", ""), ("CLAUDE_CONFIG_DIR", ""), ("CLAUDE_PROJECT_DIR", "")]),
            set(&[("HOME", "relative"), ("CODEX_HOME", "relative"), ("CLAUDE_PROJECT_DIR", "relative")]),
            set(&[("HOME", "/dev/null"), ("CLAUDE_PROJECT_DIR", "/dev/null/x")]),
            set(&[("PATH", ""), ("SHELL", "/nonexistent"), ("TMPDIR", "/nonexistent"), ("PWD", "/nonexistent")]),
            set(&[("LANG", "tlh"), ("LC_ALL", "C"), ("TZ", "/dev/zero"), ("TERM", "")]),
            set(&[
                ("RUST_BACKTRACE", "full"),
                ("RUST_LIB_BACKTRACE", "1"),
                ("RUST_MIN_STACK", "1"),
                ("RUST_LOG", "trace"),
            ]),
            set(&[("LD_BIND_NOW", "1"), ("LD_DEBUG_OUTPUT", "/nonexistent"), ("MALLOC_PERTURB_", "165")]),
            set(&[("TOOL_NAME", "Read"), ("CLAUDE_TOOL_NAME", "Read"), ("MH_FRAMES", "x"), ("MH_", "x")]),
            borne("a path in the frame's name that is not UTF-8", |trial| {
                let path = trial.scratch.root().join(OsString::from_vec(b"fr\xffame \n.json".to_vec()));
                fs_err::copy(fixture("golden/frame.json"), &path).unwrap();
                trial.frame = Some(path.into());
            }),
        ],
    );
}

/// Path rules are relative to a folder that the environment names.
#[test]
fn a_project_folder_that_is_wrong() {
    let row = |name: &str, vendors, folder: Option<&'static str>| {
        blocks(
            format!("CLAUDE_PROJECT_DIR {name}: a file outside the rules"),
            "path rule 2",
            move |trial: &mut Trial<'_>| {
                let flags = ["--admit", "file.write", "--scope", "inside/**", "file.write", "--scope", "**", "none"];
                trial.frame = Some(trial.scratch.frame("scoped.json", &flags).into());
                let file = "/nonexistent/project/elsewhere/a";
                trial.payload = bytes(&match trial.vendor {
                    CLAUDE => call(CLAUDE, "Write", json!({ "file_path": file })),
                    _ => call(
                        CODEX,
                        "apply_patch",
                        json!({ "command": format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch") }),
                    ),
                });
                if let Some(folder) = folder {
                    trial.env("CLAUDE_PROJECT_DIR", folder);
                }
            },
        )
        .only(vendors)
    };
    let both = &[CLAUDE, CODEX][..];
    hold(
        "project folder",
        vec![
            row("not set", both, None),
            row("empty", both, Some("")),
            row("relative", both, Some("..")),
            row("missing", both, Some("/nonexistent/other")),
            row("a device", both, Some("/dev/null")),
            row("of its own links", both, Some("/proc/self/cwd")),
        ],
    );
}
