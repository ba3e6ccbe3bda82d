//! Every decision and every way to stop a turn, with the lines about them, on both vendors. The files on disk and the
//! lines decide each case.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::side::{Do, Plan, Side};
use super::told::Told;
use super::{Asking, clients, side::Model};
use crate::case::{Case, Seen, Want};
use crate::frame::Spec;
use crate::http::Service;
use crate::scratch::Scratch;

/// The file that the first call of most cases makes.
const MARK: &str = "ran.txt";

fn touch() -> Do {
    Do::shell("echo ran > ran.txt")
}

fn allow() -> Value {
    json!({"decision": "allow"})
}

fn deny(reason: &str) -> Value {
    json!({"decision": "deny", "reason": reason})
}

/// Fails with the first line that does not hold.
pub fn hold<const N: usize>(checks: [(bool, &str); N], told: &Told) -> Result<(), String> {
    match checks.iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(format!("does not hold: {what}; {}", told.story())),
        None => Ok(()),
    }
}

type Check = fn(&Side, &Scratch) -> Result<(), String>;

/// All cases on this vendor.
pub fn cases(side: &Side) -> Vec<Case> {
    let common: [(&str, Check); 26] = [
        ("allow", allowed),
        ("deny, and the reason reaches the model", denied),
        ("replace: the new ran, the old did not", replaced),
        ("a replace that the tool cannot take is refused, and the call still waits", not_replaced),
        ("abstain: the vendor decides", abstained),
        ("a deadline that passes", late),
        ("interrupt while a call waits", interrupted_waiting),
        ("interrupt while a call runs", interrupted_running),
        ("interrupt on the model call", interrupted_model),
        ("halt", halted),
        ("the embedder gone: later calls are denied", gone),
        ("the embedder gone with --on-eof interrupt", gone_for_good),
        ("several calls side by side, decided out of order", side_by_side),
        ("a file that is not there", missing_file),
        ("an MCP call", mcp),
        ("the resources of an MCP server", resources),
        ("a sub-agent's call", agent),
        ("commands that cannot be honoured", refused),
        ("events of a turn that nobody steers", events),
        ("stream-json of a turn that nobody steers", stream),
        ("what is left of the service's limits", limits),
        ("what the model thinks", thinking),
        ("a service that does not take the key", unauthorized),
        ("a temporary folder too long for a socket is refused by name", long_path),
        ("the client that goes by a rule", clients::rule),
        ("the client that asks a person", clients::person),
    ];
    let case = |(name, check): (&str, Check)| {
        let side = side.clone();
        Case::new(side.vendor(), format!("{}: {name}", side.title()), Want::Holds, move |scratch| {
            check(&side, scratch).map(|()| Seen::held())
        })
    };
    common.into_iter().map(case).collect()
}

/// Whether this call got this decision from this decider.
fn decided(told: &Told, call: &Value, decision: &str, by: &str) -> bool {
    let line = told.about("tool.decided", call);
    line["decision"]["decision"] == decision && line["decided_by"] == by && line["seam"] == "hook"
}

fn allowed(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut run, _model) = side.ask(scratch, Plan::shell().call(touch()))?;
    let call = run.asked(0)?;
    let early = scratch.exists(MARK);
    run.settle(&call, &allow())?;
    let told = run.end()?;
    let word = if side.is_claude() { "allow" } else { "abstain" };
    let result = told.about("tool.result", &call);
    hold(
        [
            (!early, "nothing ran before the decision"),
            (scratch.exists(MARK), "it ran"),
            (told.code == Some(0) && told.reason() == "completed", "answered"),
            (decided(&told, &call, word, "embedder"), "the embedder decided"),
            (result["is_error"] == false, "its result is no error"),
            (call["name"] == "Bash" && call["operations"][0]["op"] == "shell", "the call is told"),
            (call["deadline_ms"] == 300_000, "its time is told"),
        ],
        &told,
    )
}

fn denied(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut run, model) = side.ask(scratch, Plan::shell().call(touch()))?;
    let call = run.asked(0)?;
    run.settle(&call, &deny("write nothing in this step"))?;
    let told = run.end()?;
    let result = told.about("tool.result", &call);
    hold(
        [
            (!scratch.exists(MARK), "it did not run"),
            (model.told().contains("write nothing in this step"), "the model read why"),
            (decided(&told, &call, "deny", "embedder"), "the embedder decided"),
            (result["is_error"] == true, "its result is an error"),
            (result["content"].to_string().contains("write nothing in this step"), "the result says why"),
            (told.code == Some(0), "answered"),
            (told.first("session.ended")["census"]["denied"] == 1, "counted"),
        ],
        &told,
    )
}

fn replaced(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut run, _model) = side.ask(scratch, Plan::shell().call(touch()))?;
    let call = run.asked(0)?;
    let input = json!({"command": "echo new > new.txt"});
    run.settle(&call, &json!({"decision": "replace", "input": input}))?;
    let told = run.end()?;
    hold(
        [
            (scratch.exists("new.txt"), "the new ran"),
            (!scratch.exists(MARK), "the old did not"),
            (decided(&told, &call, "replace", "embedder"), "the embedder decided"),
            (told.about("tool.decided", &call)["decision"]["input"] == input, "the new input is told"),
            (told.about("tool.result", &call)["is_error"] == false, "its result is no error"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

/// A replaced input that the vendor would not run.
fn not_replaced(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let path = scratch.project.join(MARK);
    let (plan, inputs) = match side {
        Side::Claude(_) => {
            let write = Do::Tool("Write", json!({"file_path": path, "content": "x"}));
            let plan = Plan::new(Spec::admitting(&["file.write"])).call(write);
            let new = scratch.project.join("new.txt");
            let inputs = [
                (json!({"file_path": "new.txt", "content": "x"}), "file_path"),
                (json!({"file_path": new}), "content"),
                (json!({"file_path": new, "content": 5}), "content"),
                (json!({"file_path": new, "content": "x", "mode": "append"}), "mode"),
            ];
            (plan, inputs)
        }
        Side::Codex(..) => {
            let inputs = [
                (json!({"command": "touch new.txt", "timeout_ms": 5}), "timeout_ms"),
                (json!({"command": 5}), "command"),
                (json!({"command": ["touch", "new.txt"]}), "command"),
                (json!({}), "command"),
            ];
            (Plan::shell().call(touch()), inputs)
        }
    };
    let (mut run, _model) = side.ask(scratch, plan)?;
    let call = run.asked(0)?;
    let mut refused = true;
    for (input, member) in inputs {
        let answer = run.decide(&call, &json!({"decision": "replace", "input": input}))?;
        let named = answer["refused"]["reason"].as_str().is_some_and(|why| why.contains(&format!("`{member}`")));
        refused &= answer["refused"]["code"] == "UNSUPPORTED_CONTROL" && named;
    }
    run.settle(&call, &allow())?;
    let told = run.end()?;
    hold(
        [
            (refused, "refused by name"),
            (scratch.exists(MARK), "the old ran when it was allowed"),
            (!scratch.exists("new.txt"), "the new did not"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

/// Claude Code's own rules ask a person about this command, or let it run in some modes.
fn abstained(side: &Side, scratch: &Scratch) -> Result<(), String> {
    for (mode, runs) in [("default", false), ("bypassPermissions", true)] {
        let mut plan = Plan::shell().call(touch());
        if side.is_claude() {
            plan = plan.passed(&["--permission-mode", mode]);
        } else if !runs {
            continue;
        }
        let (mut run, _model) = side.ask(scratch, plan)?;
        let call = run.asked(0)?;
        run.settle(&call, &json!({"decision": "abstain"}))?;
        let told = run.end()?;
        hold(
            [
                (scratch.exists(MARK) == runs, "as the vendor says"),
                (decided(&told, &call, "abstain", "embedder"), "nothing was claimed"),
                (told.about("tool.result", &call)["is_error"] == !runs, "its result says so"),
                (told.code == Some(0), "answered"),
            ],
            &told,
        )?;
    }
    Ok(())
}

fn late(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let plan = Plan::shell().call(touch()).late(2, touch()).flags(&["--deadline", "2"]);
    let (mut run, model) = side.ask(scratch, plan)?;
    let call = run.asked(0)?;
    // the second call shows that the first is over
    let second = run.asked(1)?;
    let answer = run.decide(&call, &allow())?;
    run.settle(&second, &deny("no"))?;
    let told = run.end()?;
    hold(
        [
            (!scratch.exists(MARK), "it did not run"),
            (call["deadline_ms"] == 2000, "its time is told"),
            (decided(&told, &call, "deny", "deadline"), "the deadline decided"),
            (model.told().contains("nobody decided about it in 2 seconds"), "the model read why"),
            (answer["refused"]["code"] == "TOO_LATE", "a decision after it is too late"),
        ],
        &told,
    )
}

/// Stop a turn by this command, and check its end.
fn stopped(mut run: Asking<'_>, command: &str) -> Result<Told, String> {
    let answer = run.command(command, &json!({"reason": "enough"}))?;
    let told = run.end()?;
    let reason = if command == "halt" { "steer-halt" } else { "killed" };
    hold(
        [
            (answer["result"] == "ok", "the command is honoured"),
            (told.code == Some(1), "it did not answer"),
            (told.reason() == reason, "the stream says why it is closed"),
            (told.first("session.ended")["is_error"] == true, "it ended by no answer"),
            (told.stderr.contains(&format!("the embedder's {command} (enough)")), "a person reads why"),
        ],
        &told,
    )?;
    Ok(told)
}

fn interrupted_waiting(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut run, _model) = side.ask(scratch, Plan::shell().call(touch()))?;
    let call = run.asked(0)?;
    let told = stopped(run, "interrupt")?;
    hold(
        [
            (!scratch.exists(MARK), "it did not run"),
            (told.warned("PENDING_CALL_ABANDONED"), "the waiting call is named"),
            (decided(&told, &call, "deny", "adapter"), "it was denied first"),
        ],
        &told,
    )
}

fn interrupted_running(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let command = "touch begun.txt; sleep 60; touch ran.txt";
    let (mut run, _model) = side.ask(scratch, Plan::shell().call(Do::shell(command)))?;
    let call = run.asked(0)?;
    run.settle(&call, &allow())?;
    while !scratch.exists("begun.txt") {
        if scratch.left().is_zero() {
            return Err("the call did not begin".into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    let start = Instant::now();
    let told = stopped(run, "interrupt")?;
    hold(
        [
            (!scratch.exists(MARK), "it did not come to its end"),
            (start.elapsed() < Duration::from_secs(40), "it was not waited for"),
            (told.first("session.ended")["terminal_reason"] == "interrupted", "interrupted during a call"),
        ],
        &told,
    )
}

/// Wait until the model has had so many requests.
fn requests(scratch: &Scratch, model: &Model, number: usize) -> Result<(), String> {
    while model.requests() < number {
        if scratch.left().is_zero() {
            return Err("the model was not asked".into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn interrupted_model(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (run, model) = side.ask(scratch, Plan::shell().late(40, touch()))?;
    requests(scratch, &model, 1)?;
    // give the vendor time to start listening
    thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let told = stopped(run, "interrupt")?;
    hold(
        [
            (!scratch.exists(MARK), "no call was made"),
            (start.elapsed() < Duration::from_secs(30), "the model was not waited for"),
            (told.first("session.ended")["terminal_reason"] == "model_failed", "the model call is what failed"),
            (told.stderr.contains("during the model call"), "and that is said"),
        ],
        &told,
    )
}

fn halted(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut run, _model) = side.ask(scratch, Plan::shell().call(touch()))?;
    run.asked(0)?;
    let told = stopped(run, "halt")?;
    hold([(!scratch.exists(MARK), "it did not run")], &told)
}

fn gone(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let plan = Plan::shell().call(touch()).call(Do::shell("touch second.txt"));
    let (mut run, model) = side.ask(scratch, plan)?;
    let call = run.asked(0)?;
    run.settle(&call, &allow())?;
    run.hang_up();
    let told = run.end()?;
    let second = told.of("tool.requested").find(|line| line["call_id"] != call["call_id"]).unwrap_or(&Value::Null);
    hold(
        [
            (scratch.exists(MARK), "what was allowed ran"),
            (!scratch.exists("second.txt"), "what came later did not"),
            (second["decision_required"] == false, "nobody was asked"),
            (decided(&told, second, "deny", "adapter"), "and so it was denied"),
            (model.told().contains("the embedder is gone"), "the model read why"),
            (told.code == Some(0) && told.reason() == "completed", "the turn went on to its answer"),
        ],
        &told,
    )
}

fn gone_for_good(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut run, _model) = side.ask(scratch, Plan::shell().call(touch()).flags(&["--on-eof", "interrupt"]))?;
    let call = run.asked(0)?;
    run.hang_up();
    let told = run.end()?;
    hold(
        [
            (!scratch.exists(MARK), "it did not run"),
            (decided(&told, &call, "deny", "adapter"), "it was denied first"),
            (told.code == Some(1) && told.reason() == "killed", "the turn was stopped"),
        ],
        &told,
    )
}

fn side_by_side(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let numbers = 0..4;
    let (spec, calls): (Spec, Vec<Do>) = match side {
        // Claude Code runs shell calls one after another
        Side::Claude(_) => {
            let path = |number: i32| scratch.project.join(format!("file{number}.txt"));
            for number in numbers.clone() {
                scratch.write(&format!("file{number}.txt"), &format!("text {number}"))?;
            }
            let read = |number| Do::Tool("Read", json!({"file_path": path(number)}));
            (Spec::admitting(&["file.read"]), numbers.map(read).collect())
        }
        Side::Codex(..) => {
            let shell = |number| Do::shell(&format!("echo text {number} | tee file{number}.txt"));
            (Spec::admitting(&["shell"]), numbers.map(shell).collect())
        }
    };
    let (mut run, model) = side.ask(scratch, Plan::new(spec).calls(calls))?;
    let mut asked = Vec::new();
    for number in 0..4 {
        asked.push(run.asked_about(&format!("file{number}"))?);
    }
    let mixed = run.decide(&json!({"call_id": "no such call"}), &allow())?;
    run.settle(&asked[3], &deny("not number three"))?;
    run.settle(&asked[1], &allow())?;
    run.settle(&asked[2], &deny("not number two"))?;
    let again = run.decide(&asked[1], &deny("changed my mind"))?;
    run.settle(&asked[0], &allow())?;
    let told = run.end()?;
    let word = if side.is_claude() { "allow" } else { "abstain" };
    let model = model.told();
    let ran = |number: usize| match side {
        Side::Claude(_) => model.contains(&format!("text {number}")),
        Side::Codex(..) => scratch.exists(&format!("file{number}.txt")),
    };
    hold(
        [
            (mixed["refused"]["code"] == "UNKNOWN_CALL", "a call that is none"),
            (again["refused"]["code"] == "TOO_LATE", "a call that is decided"),
            (ran(0) && ran(1), "what was allowed ran"),
            (!ran(2) && !ran(3), "what was denied did not"),
            ((0..2).all(|number| decided(&told, &asked[number], word, "embedder")), "each has its decision"),
            ((2..4).all(|number| decided(&told, &asked[number], "deny", "embedder")), "and no other's"),
            (told.of("tool.result").count() == 4, "each has its result"),
            (told.about("tool.result", &asked[3])["content"].to_string().contains("not number three"), "its own"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

/// Both vendors have a tool for MCP resources. Codex reports it in another way than a server's tools.
fn resources(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut run, _model) =
        side.ask(scratch, Plan::new(Spec::admitting(&[]).mcp("lab", "resources/list")).call(Do::Resources))?;
    let call = run.asked(0)?;
    run.settle(&call, &allow())?;
    let told = run.end()?;
    let result = told.about("tool.result", &call);
    hold(
        [
            (call["operations"][0]["tool"] == "resources/list", "the call is told"),
            (result["is_error"] == false && result["content"].to_string().contains("lab://one"), "and its result"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

/// Codex keeps no record of it: what the model was told is all there is, and in code mode what its script was told.
fn missing_file(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let path = scratch.project.join("none.png");
    let call = match side {
        Side::Claude(_) => Do::Tool("Read", json!({"file_path": path})),
        Side::Codex(..) => Do::Tool("view_image", json!({"path": path})),
    };
    let (mut run, model) = side.ask(scratch, Plan::new(Spec::admitting(&["file.read"])).call(call))?;
    let call = run.asked(0)?;
    run.settle(&call, &allow())?;
    let told = run.end()?;
    let result = told.about("tool.result", &call);
    let content = result["content"].as_str().unwrap_or_default();
    hold(
        [
            (!content.is_empty() && model.told().contains(content), "its result is what the model was told"),
            (result["is_error"] == json!(true), "and that it failed"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

fn mcp(side: &Side, scratch: &Scratch) -> Result<(), String> {
    for (decision, runs) in [(deny("not this server"), false), (allow(), true)] {
        let plan = Plan::new(Spec::admitting(&[]).mcp("lab", "note")).call(Do::Mcp);
        let (mut run, _model) = side.ask(scratch, plan)?;
        let call = run.asked(0)?;
        run.settle(&call, &decision)?;
        let told = run.end()?;
        let result = told.about("tool.result", &call);
        let operation = json!({"op": "mcp.call", "server": "lab", "tool": "note"});
        hold(
            [
                (scratch.exists(MARK) == runs, "as the embedder says"),
                (call["name"] == "mcp__lab__note" && call["operations"][0] == operation, "the call is told"),
                (call["input"] == json!({"note": "hello"}), "with its input"),
                (result["is_error"] == !runs, "its result says so"),
                (!runs || result["content"].to_string().contains("done: "), "and what the tool gave"),
            ],
            &told,
        )?;
    }
    Ok(())
}

/// Whether a record is Claude Code's report on an agent's progress.
fn of_an_agent(line: &Value) -> bool {
    line["vendor_subtype"].as_str().is_some_and(|subtype| subtype.starts_with("task_"))
}

fn agent(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let spec = Spec::admitting(&["shell", "subagent.spawn"]);
    let (mut run, _model) = side.ask(scratch, Plan::new(spec).call(Do::Agent("echo ran > ran.txt".into())))?;
    let spawn = run.asked(0)?;
    run.settle(&spawn, &allow())?;
    let call = run.asked_about("ran.txt")?;
    run.settle(&call, &allow())?;
    let told = run.end()?;
    let result = told.about("tool.result", &call);
    hold(
        [
            (scratch.exists(MARK), "it ran"),
            (spawn["operations"][0]["op"] == "subagent.spawn" && spawn["agent_id"].is_null(), "the start is told"),
            (call["agent_id"].is_string(), "the call is the agent's"),
            (result["is_error"] == false, "its result is told"),
            (told.first("session.ended")["subagents_spawned"] == 1, "one agent"),
            (told.of("opaque").all(of_an_agent), "nothing else that there is no word for"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

fn refused(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut run, _model) = side.ask(scratch, Plan::shell().call(touch()))?;
    let call = run.asked(0)?;
    let steer = run.command("steer", &json!({"text": "go left"}))?;
    let posture = run.command("permission.set", &json!({"posture": "plan"}))?;
    let words = run.command("message.inject", &json!({"text": "hello"}))?;
    let flat = run.decide(&call, &json!("allow"))?;
    let early = scratch.exists(MARK);
    run.settle(&call, &allow())?;
    let told = run.end()?;
    let code = |answer: &Value| answer["refused"]["code"].as_str().unwrap_or_default().to_string();
    hold(
        [
            ([&steer, &posture, &words].map(code).iter().all(|code| code == "UNSUPPORTED_CONTROL"), "refused by name"),
            (code(&flat) == "MALFORMED" && !early, "a flat decision is none"),
            (scratch.exists(MARK) && told.code == Some(0), "the turn went on"),
        ],
        &told,
    )
}

/// Two calls; the frame admits the first.
fn two(scratch: &Scratch, form: &str) -> Plan {
    Plan::shell().call(touch()).call(Do::Write(scratch.project.join("second.txt"))).flags(&["--output-format", form])
}

fn events(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut command, _model) = side.command(scratch, two(scratch, "events"))?;
    let told = Told::of_events(scratch.run(&mut command, "mh-run")?, scratch)?;
    let calls: Vec<&Value> = told.of("tool.requested").collect();
    let [first, second] = calls[..] else { return Err(format!("there are not two calls; {}", told.story())) };
    let word = if side.is_claude() { "allow" } else { "abstain" };
    let ended = told.first("session.ended");
    let each: Vec<&Value> = told.of("usage").filter(|line| line["request_id"].is_string()).collect();
    hold(
        [
            (scratch.exists(MARK) && !scratch.exists("second.txt"), "as the frame says"),
            (decided(&told, first, word, "frame"), "the first is admitted"),
            (told.about("tool.decided", second)["decision"]["decision"] == "deny", "the second is denied"),
            (told.about("tool.decided", second)["decided_by"] == "frame", "by the frame"),
            (told.about("tool.result", first)["is_error"] == false, "the first has its result"),
            (told.about("tool.result", second)["is_error"] == true, "and the second"),
            (calls.iter().all(|call| call["decision_required"] == false), "nobody is asked"),
            (ended["usage"]["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "what the turn used"),
            (each.len() == 3 && each.iter().all(|line| line["usage"]["input_tokens"].is_u64()), "and each model call"),
            (told.first("session.started")["session_id"].is_string(), "the session"),
            (told.of("opaque").next().is_none(), "nothing that there is no word for"),
            (told.code == Some(0) && told.reason() == "completed", "answered"),
        ],
        &told,
    )
}

fn stream(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let (mut command, _model) = side.command(scratch, two(scratch, "stream-json"))?;
    let told = Told::of_stream(scratch.run(&mut command, "mh-run")?, scratch)?;
    let kinds: Vec<&str> = told.lines.iter().filter_map(|line| line["type"].as_str()).collect();
    let all = ["init", "user", "tool_use", "tool_result", "tool_use", "tool_result", "assistant", "result"];
    let status: Vec<&Value> =
        told.lines.iter().filter(|line| line["type"] == "tool_result").map(|line| &line["status"]).collect();
    let last = told.lines.last().unwrap_or(&Value::Null);
    hold(
        [
            (scratch.exists(MARK) && !scratch.exists("second.txt"), "as the frame says"),
            (kinds == all, "each record in its place"),
            (status == ["ok", "failed"], "each result says how it went"),
            (last["outcome"] == "tool_failed" && last["usage"]["input_tokens"].is_u64(), "the last is the object"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

/// Claude Code asks for limits and reports them only with a person's own login.
fn limits(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let headers = [
        ("anthropic-ratelimit-unified-status", "allowed_warning"),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
        ("anthropic-ratelimit-unified-reset", "1796080000"),
        ("anthropic-ratelimit-unified-5h-utilization", "0.915"),
        ("anthropic-ratelimit-unified-5h-reset", "1796080000"),
        ("anthropic-ratelimit-unified-5h-surpassed-threshold", "0.9"),
        ("x-codex-primary-used-percent", "91.5"),
        ("x-codex-primary-window-minutes", "300"),
        ("x-codex-primary-reset-at", "1796080000"),
        ("x-codex-secondary-used-percent", "12"),
        ("x-codex-secondary-window-minutes", "10080"),
        ("x-codex-secondary-reset-at", "1796090000"),
    ];
    let headers = headers.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect();
    let plan = two(scratch, "events").service(Service { headers, ..Service::default() });
    let (mut command, _model) = side.command(scratch, plan)?;
    command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-none");
    let told = Told::of_events(scratch.run(&mut command, "mh-run")?, scratch)?;
    let all: Vec<&Value> = told.of("rate_limit").map(|line| &line["info"]).collect();
    let windows: &[&str] = if side.is_claude() { &["five_hour"] } else { &["primary", "secondary"] };
    let first = all.first().copied().unwrap_or(&Value::Null);
    hold(
        [
            (
                all.iter().map(|info| info["window"].as_str().unwrap_or_default()).eq(windows.iter().copied()),
                "once each",
            ),
            (first["utilization"] == 0.915, "how much is used"),
            (first["resets_at"] == 1_796_080_000, "until when"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

fn thinking(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let plan = two(scratch, "events").service(Service { thinks: true, ..Service::default() });
    let (mut command, _model) = side.command(scratch, plan)?;
    let told = Told::of_events(scratch.run(&mut command, "mh-run")?, scratch)?;
    let estimated = told.of("thinking.estimate").all(|line| line["estimate"].is_u64());
    hold(
        [
            (told.of("thinking").filter(|line| line["text"] == "Let me see.").count() == 3, "the words of each"),
            (estimated && told.of("thinking.estimate").next().is_some() == side.is_claude(), "and the estimate"),
            (told.of("opaque").next().is_none(), "nothing that there is no word for"),
            (told.code == Some(0), "answered"),
        ],
        &told,
    )
}

/// Claude Code tries again for minutes, so this turn gets a timeout.
fn unauthorized(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let service = Service { refuses: Some(401), ..Service::default() };
    let plan = two(scratch, "events").service(service).flags(&["--timeout", "10"]);
    let (mut command, _model) = side.command(scratch, plan)?;
    let told = Told::of_events(scratch.run(&mut command, "mh-run")?, scratch)?;
    let first = told.first("auth.expired");
    hold(
        [
            (first["detail"].to_string().contains("401"), "it is told"),
            (first["source_line"].is_u64(), "with its place in the vendor's stream"),
            (told.code == Some(1) && !scratch.exists(MARK), "no answer"),
        ],
        &told,
    )
}

fn long_path(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let long = scratch.tmp.join("a".repeat(80));
    std::fs::create_dir(&long).map_err(|error| error.to_string())?;
    let (mut command, model) = side.command(scratch, Plan::shell().call(touch()).flags(&["--decisions", "ask"]))?;
    let ended = scratch.run(command.env("TMPDIR", &long), "mh-run")?;
    let told = Told { code: ended.code, lines: Vec::new(), stderr: ended.stderr };
    hold(
        [
            (told.code == Some(2) && model.requests() == 0, "nothing was started"),
            (told.stderr.contains("too long for the path of a socket; set TMPDIR"), "and why"),
            (std::fs::read_dir(&long).is_ok_and(|mut all| all.next().is_none()), "nothing is left"),
        ],
        &told,
    )
}
