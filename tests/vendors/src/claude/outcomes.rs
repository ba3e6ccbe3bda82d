//! What `mh-run` says that a turn came to, by the records of the real program.

use serde_json::{Value, json};

use super::Cases;
use super::drive::Run;
use super::governed::{hold, result};
use super::script::Call;
use crate::frame::Spec;
use crate::http::Service;

const JSON: [&str; 2] = ["--output-format", "json"];

/// The tools in a list of calls.
fn tools(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|one| one["tool"].as_str()).collect()
}

/// A turn whose first replies stop at the output cap.
fn cut(run: Run<'_>, times: usize) -> Run<'_> {
    run.service(Service { cut: times, ..Service::default() })
}

pub fn add(cases: &mut Cases) {
    cases.holds("mh-run: a reply that was continued over the output cap is answered whole", |run| {
        let outcome = cut(run, 2).governed(&Spec::admitting(&["file.read"]), &[])?;
        let whole = outcome.ended.stdout == "piece 0, piece 1, That is all.\n";
        hold([(outcome.ended.code == Some(0) && whole, "all of it")], &outcome)
    });
    cases.holds("mh-run: a reply that is cut for good is truncated", |run| {
        let outcome = cut(run, usize::MAX).governed(&Spec::admitting(&["file.read"]), &JSON)?;
        let (result, requests) = (result(&outcome), json!(outcome.requests.len()));
        let truncated = outcome.ended.code == Some(1) && result["outcome"] == "truncated" && result["result"].is_null();
        hold([(truncated, "truncated"), (result["model_calls"] == requests, "calls that were made")], &outcome)
    });
    cases.holds("mh-run: a call that nobody could approve is denied, and one that a rule denies failed", |run| {
        let scratch = run.scratch;
        let shell = |command: &str| Call::new("Bash", json!({"command": command, "description": "a step"}));
        let flags =
            ["--output-format", "stream-json", "--decisions", "deny-only", "--", "--disallowedTools=Bash(rm:*)"];
        let calls = vec![shell("touch o.txt"), shell("rm -rf x")];
        let outcome = run.calls(calls).governed(&Spec::admitting(&["shell"]), &flags)?;
        let lines: Vec<Value> =
            outcome.ended.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let last = lines.last().cloned().unwrap_or_default();
        let of = |kind: &str| lines.iter().position(|line| line["type"] == kind);
        let order = of("tool_use") < of("approval") && of("approval") < of("tool_result");
        let told = outcome.requests.first().is_some_and(|first| first.to_string().contains("do not retry it; finish"));
        hold(
            [
                (!scratch.exists("o.txt"), "not run"),
                (tools(&last["denied"]) == ["Bash"] && last["denied"][0]["summary"] == "touch o.txt", "one denied"),
                (outcome.ended.stderr.contains("1 tool call failed in this turn: Bash"), "one failed"),
                (order, "the approval stands before the result"),
                (told, "the model was told what to do where nobody can approve"),
            ],
            &outcome,
        )
    });
    cases.holds("mh-run: a decider that is gone leaves the turn undecided", |run| {
        let scratch = run.scratch;
        let decider = scratch.bin.join("gone");
        std::fs::write(&decider, "#!/bin/sh\nexit 3\n").map_err(|error| error.to_string())?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&decider, mode).map_err(|error| error.to_string())?;
        let told = format!("exec:{}", decider.display());
        let flags = [&JSON[..], &["--decider", &told]].concat();
        let outcome = run.bash("touch o.txt").governed(&Spec::admitting(&["shell"]), &flags)?;
        let result = result(&outcome);
        let undecided = outcome.ended.code == Some(1) && result["outcome"] == "undecided" && result["result"].is_null();
        let words = !outcome.asked_with("settings file they stand in");
        hold(
            [(!scratch.exists("o.txt"), "not run"), (undecided, "undecided"), (words, "no entries to take out")],
            &outcome,
        )
    });
    cases.holds("mh-run: a tool that is not offered is refused in the hook's words", |run| {
        let input = json!({"url": "http://localhost", "prompt": "x"});
        let outcome = run.call("WebFetch", input).governed(&Spec::admitting(&["file.read"]), &JSON)?;
        let reason = result(&outcome)["refused"][0]["reason"].as_str().unwrap_or_default().to_string();
        let whole = reason.starts_with("WebFetch needs web.read, which is not admitted (step ")
            && reason.contains("admitted here: file.read; work within that");
        hold([(outcome.ended.code == Some(0) && whole, "which operation, which step, what is admitted")], &outcome)
    });
    cases.holds("mh-run: an mcp server that cannot be started is named", |run| {
        let file = run.scratch.frames.join("servers.json");
        let servers = json!({"mcpServers": {"dead": {"command": "/nowhere/at/all", "args": []}}});
        std::fs::write(&file, servers.to_string()).map_err(|error| error.to_string())?;
        let flags = ["--mcp-config", &*file.to_string_lossy()];
        let outcome = run.governed(&Spec::admitting(&["file.read"]), &flags)?;
        hold([(outcome.ended.stderr.contains("the mcp server dead is not there (failed)"), "named")], &outcome)
    });
}
