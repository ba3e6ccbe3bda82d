//! Whole turns of `mh-run`: its report and the files on disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use serde_json::{Value, json};

use super::Cases;
use super::drive::{Outcome, Run};
use crate::frame::Spec;

/// The stub's answer at the end of a turn.
pub const ANSWER: &str = "That is all.\n";

/// Fails with the first line that does not hold.
pub fn hold<const N: usize>(checks: [(bool, &str); N], outcome: &Outcome) -> Result<(), String> {
    let told = || format!("stdout {:?}, stderr {:?}; {}", outcome.ended.stdout, outcome.ended.stderr, outcome.detail());
    match checks.iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(format!("does not hold: {what}; {}", told())),
        None => Ok(()),
    }
}

pub fn result(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.ended.stdout).unwrap_or_default()
}

/// A decider that gives this decision about every call.
fn decider(run: &Run<'_>, decision: &str) -> Result<String, String> {
    let path = run.scratch.bin.join("decider");
    let text = format!(
        "#!/bin/sh\nread -r line\nid=$(printf %s \"$line\" | sed 's/.*\"call_id\":\"\\([^\"]*\\)\".*/\\1/')\nprintf \
         '{{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"%s\",\"decision\":%s}}\\n' \
         \"$id\" '{decision}'\n"
    );
    fs::write(&path, text).map_err(|error| error.to_string())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
    Ok(format!("exec:{}", path.display()))
}

pub fn add(cases: &mut Cases) {
    cases.holds("mh-run: an admitted call runs, and stdout is the answer alone", |run| {
        let scratch = run.scratch;
        let outcome = run.bash("touch o.txt").governed(&Spec::admitting(&["shell"]), &[])?;
        let (code, stdout) = (outcome.ended.code, outcome.ended.stdout.as_str());
        hold([(code == Some(0) && stdout == ANSWER, "answered"), (scratch.exists("o.txt"), "ran")], &outcome)
    });
    // each line is checked against its schema when it is read
    for (form, first, last) in [
        ("events", "\"event\":\"session.started\"", "\"event\":\"stream.closed\""),
        ("stream-json", "\"type\":\"init\"", "\"type\":\"result\""),
    ] {
        cases.holds(format!("mh-run: a turn in lines is what the schema says ({form})"), move |run| {
            let outcome = run.bash("touch o.txt").governed(&Spec::admitting(&["shell"]), &["--output-format", form])?;
            let lines = outcome.ended.stdout.lines().filter(|line| line.contains("touch o.txt")).count();
            let holds = |line: Option<&str>, what| line.is_some_and(|line| line.contains(what));
            let whole =
                holds(outcome.ended.stdout.lines().next(), first) && holds(outcome.ended.stdout.lines().last(), last);
            hold(
                [
                    (outcome.ended.code == Some(0), "answered"),
                    (lines > 0 && whole, "told from its beginning to its end"),
                ],
                &outcome,
            )
        });
    }
    cases.holds("mh-run: a refused call leaves no trace, and is named", |run| {
        let scratch = run.scratch;
        let path = scratch.project.join("o.txt");
        let spec = Spec::admitting(&["file.write"]).scope("file:**", "");
        let outcome = run.write(path, "x").governed(&spec, &["--output-format", "json", "--fail-on-denied"])?;
        let result = result(&outcome);
        hold(
            [
                (!scratch.exists("o.txt") && outcome.refused(), "blocked by the frame"),
                (outcome.ended.code == Some(1), "--fail-on-denied makes the code 1"),
                (result["outcome"] == "tool_failed" && result["refused"][0]["tool"] == "Write", "the object says so"),
            ],
            &outcome,
        )
    });
    cases.holds("mh-run: what is not admitted is not even offered", |run| {
        let scratch = run.scratch;
        let run = run.bash("touch o.txt");
        let outcome = run.governed(&Spec::admitting(&["file.read", "dir.list"]), &["--output-format", "json"])?;
        let offered = |name: &str| outcome.asked_with(&format!("\"name\":\"{name}\""));
        hold(
            [
                (!scratch.exists("o.txt"), "not run"),
                (offered("Read") && offered("Glob") && !offered("Write"), "offered by the frame"),
                (result(&outcome)["refused"][0]["tool"] == "Bash", "named as refused"),
            ],
            &outcome,
        )
    });
    cases.holds("mh-run: the project's settings and the environment take nothing away", |run| {
        let scratch = run.scratch;
        let evil = json!([{"hooks": [{"type": "command", "command": "touch evil.txt"}]}]);
        let run = run.setting("disableAllHooks", json!(true)).setting("hooks", json!({"PreToolUse": evil}));
        let run = run.env("CLAUDE_CODE_SIMPLE", "1").env("CLAUDE_CODE_SAFE_MODE", "1").env("MH_FRAME", "/nowhere");
        let path = scratch.project.join("o.txt");
        let spec = Spec::admitting(&["file.write"]).scope("file:**", "");
        let outcome = run.write(path, "x").governed(&spec, &[])?;
        hold(
            [
                (!scratch.exists("o.txt") && outcome.refused(), "blocked by the frame"),
                (!scratch.exists("evil.txt"), "no hook of the project's ran"),
                (outcome.ended.stderr.contains("left out of this turn: "), "what was left out is named"),
            ],
            &outcome,
        )
    });
    cases.holds("mh-run: the embedder replaces a command: the new one ran, the old did not", |run| {
        let scratch = run.scratch;
        let decider = decider(&run, r#"{"decision":"replace","input":{"command":"touch new.txt"}}"#)?;
        let outcome = run.bash("touch old.txt").governed(&Spec::admitting(&["shell"]), &["--decider", &decider])?;
        hold([(scratch.exists("new.txt"), "the new ran"), (!scratch.exists("old.txt"), "the old did not")], &outcome)
    });
    cases.holds("mh-run: a sub-agent's calls are held to the audit too", |run| {
        let scratch = run.scratch;
        let run = run.agent("PARTONE").agent_call("PARTONE", "Bash", json!({"command": "touch o.txt"}));
        let outcome = run.governed(&Spec::admitting(&["shell", "subagent.spawn"]), &["--output-format", "json"])?;
        hold([(scratch.exists("o.txt"), "ran"), (result(&outcome)["outcome"] == "completed", "completed")], &outcome)
    });
    cases.holds("mh-run: the hook taken away in mid-turn ends unenforced, and nothing runs", |run| {
        let scratch = run.scratch;
        let hook = scratch.program("mh-hook-claude");
        let run = run.bash(&format!("rm '{}'", hook.display())).bash("touch o.txt");
        let outcome = run.governed(&Spec::admitting(&["shell"]), &["--output-format", "json"])?;
        let result = result(&outcome);
        hold(
            [
                (!scratch.exists("o.txt"), "not run"),
                (outcome.ended.code == Some(1) && result["outcome"] == "unenforced", "unenforced"),
            ],
            &outcome,
        )
    });
    cases.holds("mh-run: a turn that takes too long is stopped, with all that it started", |run| {
        let scratch = run.scratch;
        let start = Instant::now();
        let late = format!("setsid sh -c 'sleep 12; touch \"{}/late.txt\"' & sleep 60", scratch.project.display());
        let outcome = run.bash(&late).governed(&Spec::admitting(&["shell"]), &["--timeout", "4"])?;
        let took = start.elapsed().as_secs();
        std::thread::sleep(std::time::Duration::from_secs(13_u64.saturating_sub(took)));
        hold(
            [
                (outcome.ended.code == Some(1) && outcome.ended.stdout.is_empty(), "no answer"),
                (outcome.ended.stderr.contains("did not complete in its time"), "said why"),
                (!scratch.exists("late.txt"), "what it left running is gone"),
            ],
            &outcome,
        )
    });
    cases.holds("mh-run: a hermetic turn answers, from a home of its own", |run| {
        let scratch = run.scratch;
        let flags = ["--hermetic", "--credentials", "api-key", "--env", "IS_SANDBOX"];
        let outcome = run.bash("touch o.txt; echo $HOME > home.txt").governed(&Spec::admitting(&["shell"]), &flags)?;
        let home = scratch.read("home.txt");
        hold(
            [
                (outcome.ended.code == Some(0) && scratch.exists("o.txt"), "ran"),
                (!home.is_empty() && home.trim() != scratch.home.to_string_lossy(), "a home of its own"),
                (
                    fs::read_dir(&scratch.config).is_ok_and(|mut all| all.next().is_none()),
                    "nothing in the person's folder",
                ),
            ],
            &outcome,
        )
    });
}
