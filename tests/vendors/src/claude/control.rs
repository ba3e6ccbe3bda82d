//! Tools that touch nothing outside the conversation are left to the vendor. Tools without an operation are denied.

use serde_json::{Value, json};

use super::Cases;
use super::drive::Run;
use super::script::Call;
use crate::case::Seen;
use crate::frame::Spec;

/// Tools that the hook abstains on under a frame that admits nothing.
const LEFT_ALONE: &[(&str, &str)] = &[
    ("ToolSearch", r#"{"query":"select:WebFetch","max_results":3}"#),
    ("ListAgents", "{}"),
    ("ReportFindings", r#"{"findings":[]}"#),
    ("TaskStop", r#"{"task_id":"none"}"#),
    ("KillShell", r#"{"shell_id":"none"}"#),
];

/// Tools without an operation. CronDelete and ExitWorktree are two more, but without a job or a worktree the vendor
/// refuses them before it asks a hook.
const REFUSED: &[(&str, &str)] = &[
    ("CronCreate", r#"{"cron":"0 9 * * *","prompt":"ping","recurring":false}"#),
    ("CronList", "{}"),
    ("ScheduleWakeup", r#"{"delaySeconds":3600,"reason":"r","prompt":"p"}"#),
    ("EnterWorktree", r#"{"name":"wt"}"#),
];

fn one(run: Run<'_>, tool: &str, input: &str) -> Result<super::drive::Outcome, String> {
    let input: Value = serde_json::from_str(input).map_err(|error| error.to_string())?;
    run.call(tool, input).go()
}

pub fn add(cases: &mut Cases) {
    for (tool, input) in LEFT_ALONE {
        cases.holds(format!("{tool} is left to the vendor"), move |run| {
            let outcome = one(run.frame(&Spec::admitting(&[]))?, tool, input)?;
            outcome.effect(false)?;
            if outcome.refused() { Err(format!("it was refused; {}", outcome.detail())) } else { Ok(()) }
        });
    }
    for (tool, input) in REFUSED {
        cases.blocked(format!("{tool} is no operation of the vocabulary"), move |run| {
            let outcome = one(run.frame(&Spec::all())?, tool, input)?;
            let refused = outcome.refused();
            Ok(Seen::effect(!refused, outcome.detail()))
        });
    }
    cases.ran("TaskStop ends what was started in the background", |run| {
        let start = json!({"command": "sleep 3; touch o.txt", "description": "d", "run_in_background": true});
        let stop = Call::later("TaskStop", |results| {
            let id =
                results.split("ID: ").nth(1).map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect());
            json!({"task_id": id.unwrap_or("none".to_string())})
        });
        let run = run.frame(&Spec::admitting(&["shell"]))?;
        let scratch = run.scratch;
        let outcome = run.call("Bash", start).calls(vec![stop]).after(4.0, Call::new("ListAgents", json!({}))).go()?;
        outcome.effect(outcome.was_told("topped") && !scratch.exists("o.txt"))
    });
    cases.holds("StructuredOutput is left to the vendor: --json-schema is met", |run| {
        let schema = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
        let run = run.frame(&Spec::admitting(&[]))?.flag("--json-schema").flag(schema);
        let outcome = run.call("StructuredOutput", json!({"name": "met"})).go()?;
        let met = outcome.ended.stdout.contains(r#""structured_output":{"name":"met"}"#);
        if met { Ok(()) } else { Err(format!("no structured output; {}", outcome.detail())) }
    });
    for (tool, wrong) in [("Bаsh", "a Cyrillic letter"), ("BASH", "another case"), ("bash", "lower case")] {
        cases.blocked(format!("{tool}, {wrong}"), move |run| {
            let run = run.frame(&Spec::admitting(&["file.read"]))?;
            run.call(tool, json!({"command": "touch o.txt", "description": "d"})).effect("o.txt")
        });
    }
    cases.blocked("a Monitor with a web socket, web.read not admitted", |run| {
        let input =
            json!({"ws": {"url": "ws://127.0.0.1:9/x"}, "description": "m", "timeout_ms": 1000, "persistent": false});
        let outcome = run.frame(&Spec::all_but("web.read"))?.call("Monitor", input).go()?;
        outcome.or_refusal(false)
    });
}
