//! What `mh-run` says that a turn came to, by the records of the real program.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::governed::{JSON, OPEN, result, told};
use super::{List, MARK, hold, place, touch};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Codex, Outcome, Session};
use crate::frame::Spec;
use crate::scratch::Scratch;

/// The tools in a list of calls.
fn tools(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|one| one["tool"].as_str()).collect()
}

/// Calls that Codex turns down itself: two that need an approval, and others.
fn turned_down(scratch: &Scratch) -> Vec<Call> {
    let outside = scratch.home.join("outside.txt");
    vec![
        Call::patch("*** Begin Patch\n*** Update File: nowhere.txt\n@@\n-a\n+b\n*** End Patch\n"),
        Call::patch(&format!("*** Begin Patch\n*** Add File: {}\n+b\n*** End Patch\n", outside.display())),
        Call::tool(
            "exec_command",
            json!({"cmd": "touch x.txt", "sandbox_permissions": "require_escalated", "justification": "why"}),
        ),
    ]
}

fn run(codex: &Codex, scratch: &Scratch, mode: Mode, calls: &[Call], flags: &[&str]) -> Result<Outcome, String> {
    let frame = Spec::admitting(&["shell", "file.write", "file.edit"]).seal(scratch, "frame.json")?;
    Session::new(codex, scratch, mode, Script::calls(mode, calls)).governed(&frame, flags)
}

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        let name = mode.name();
        list.holds(
            format!("mh-run, {name}: what Codex turned down itself is denied or failed, never completed"),
            move |codex, scratch| {
                let calls = turned_down(scratch);
                let outcome = run(codex, scratch, mode, &calls, &["--output-format", "stream-json"])?;
                let lines: Vec<Value> =
                    outcome.ended.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
                let last = lines.last().cloned().unwrap_or_default();
                let failed = lines.iter().filter(|line| line["type"] == "tool_result" && line["status"] == "failed");
                let joined = lines.iter().filter(|line| line["type"] == "approval").all(|approval| {
                    lines.iter().any(|line| line["type"] == "tool_use" && line["id"] == approval["id"])
                });
                let answered = lines.iter().rposition(|line| line["type"] == "assistant");
                let order = lines.iter().rposition(|line| line["type"] == "tool_result") < answered;
                hold(
                    [
                        (last["outcome"] == "tool_failed" && outcome.ended.code == Some(0), "tool_failed"),
                        (tools(&last["denied"]) == ["apply_patch", "Bash"], "two denied"),
                        (outcome.ended.stderr.contains("1 tool call failed in this turn: apply_patch"), "one failed"),
                        (failed.count() == 3, "three results"),
                        (joined && order, "joined to their calls, in their order"),
                    ],
                    &told(&outcome),
                )
            },
        );
    }
    list.holds(
        "mh-run: arguments without a command and a tool that is not there are failed calls",
        |codex, scratch| {
            let calls = [Call::tool("exec_command", json!({"foo": 1})), Call::tool("no_such_tool", json!({}))];
            let outcome = run(codex, scratch, Mode::Direct, &calls, &[])?;
            let named = outcome.ended.stderr.contains("2 tool calls failed in this turn: Bash, no_such_tool");
            hold([(outcome.ended.code == Some(0) && named, "both are named")], &told(&outcome))
        },
    );
    list.holds("mh-run: an mcp call that nobody could approve is denied, and the model reads what to do", denied_mcp);
    list.holds(
        "mh-run: an mcp server that cannot be started ends the turn before a request is made",
        |codex, scratch| {
            let servers = scratch.frames.join("servers.json");
            place(&servers, &json!({"mcpServers": {"dead": {"command": "/nowhere/at/all", "args": []}}}).to_string())?;
            let outcome = run(codex, scratch, Mode::Direct, &[touch()], &["--mcp-config", &servers.to_string_lossy()])?;
            let named = outcome.ended.stderr.contains("required MCP servers failed to initialize: dead");
            hold([(outcome.ended.code == Some(1) && named && outcome.asked.is_empty(), "named")], &told(&outcome))
        },
    );
    list.holds("mh-run: a decider that is gone leaves the turn undecided", |codex, scratch| {
        let decider = scratch.bin.join("gone");
        place(&decider, "#!/bin/sh\nexit 3\n")?;
        fs::set_permissions(&decider, fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
        let asked = format!("exec:{}", decider.display());
        let flags = [&OPEN[..], &JSON, &["--decider", &asked]].concat();
        let outcome = run(codex, scratch, Mode::Direct, &[touch()], &flags)?;
        let object = result(&outcome);
        let undecided = outcome.ended.code == Some(1) && object["outcome"] == "undecided" && object["result"].is_null();
        let words = !outcome.told().contains("config.toml they stand in");
        hold([(!scratch.exists(MARK), "not run"), (undecided, "undecided"), (words, "no entries")], &told(&outcome))
    });
    list.holds("mh-run: a command that runs on when its turn ends is told as its record has it", |codex, scratch| {
        let late = Call::tool("exec_command", json!({"cmd": "sleep 60", "yield_time_ms": 250}));
        let script = Script::turns(vec![vec![Say::Call(late)]]);
        let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
        let outcome = Session::new(codex, scratch, Mode::Direct, script).governed(&frame, &OPEN)?;
        let named = outcome.ended.stderr.contains("1 tool call failed in this turn: Bash");
        hold([(outcome.ended.code == Some(0) && named, "it was ended with the turn")], &told(&outcome))
    });
}

fn denied_mcp(codex: &Codex, scratch: &Scratch) -> Result<Seen, String> {
    let own = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
    let tools_of = json!({"tools": {"note": scratch.project.join(MARK)}});
    let servers = scratch.frames.join("servers.json");
    place(
        &servers,
        &json!({"mcpServers": {"lab": {"command": own, "args": ["mcp", tools_of.to_string()]}}}).to_string(),
    )?;
    let frame = Spec::admitting(&[]).mcp("lab", "note").seal(scratch, "frame.json")?;
    let script = Script::calls(Mode::Direct, &[Call::mcp("lab", "note")]);
    let servers = servers.to_string_lossy();
    let flags = [&JSON[..], &["--decisions", "deny-only", "--mcp-config", &servers]].concat();
    let outcome = Session::new(codex, scratch, Mode::Direct, script).governed(&frame, &flags)?;
    let object = result(&outcome);
    hold(
        [
            (!scratch.exists(MARK), "not run"),
            (tools(&object["denied"]) == ["mcp__lab__note"] && object["refused"] == json!([]), "denied, not refused"),
            (outcome.told().contains("Do not retry it; finish with what you can"), "the model reads what to do"),
        ],
        &told(&outcome),
    )
}
