//! `PermissionRequest`: our hook grants nothing there, and its denial reaches the model.

use serde_json::json;

use super::Cases;
use super::drive::Run;
use crate::case::Seen;
use crate::entry::Ask;
use crate::frame::Spec;

/// A server whose tool approves every permission prompt of the vendor.
fn approving(run: Run<'_>) -> Result<Run<'_>, String> {
    let run = run.server("person", &json!({"tools": {}, "approve": "allow"}))?;
    Ok(run.flag("--permission-prompt-tool").flag("mcp__person__approve"))
}

fn deny_only<'a>(run: Run<'a>, spec: &Spec) -> Result<Run<'a>, String> {
    let frame = spec.seal(run.scratch, "frame.json")?;
    let run = run.entry(&Ask::pinned(&frame).policy("deny-only"), &frame)?;
    Ok(run.also("PermissionRequest"))
}

fn touch(run: Run<'_>) -> Result<Seen, String> {
    run.bash("touch o.txt").effect("o.txt")
}

pub fn add(cases: &mut Cases) {
    cases.ran("deny-only, admitted: the person behind the prompt tool says yes", |run| {
        touch(approving(deny_only(run, &Spec::all())?.mode("manual"))?)
    });
    cases.blocked("deny-only, admitted: the person behind the prompt tool says no", |run| {
        let run = deny_only(run, &Spec::all())?.mode("manual");
        let run = run.server("person", &json!({"tools": {}, "approve": "deny"}))?;
        touch(run.flag("--permission-prompt-tool").flag("mcp__person__approve"))
    });
    cases.blocked("deny-only, not admitted: the person's yes does not lift it", |run| {
        approving(deny_only(run, &Spec::all_but("shell"))?.mode("manual"))?
            .bash("touch o.txt")
            .effect_or_refusal("o.txt")
    });
    cases.blocked("PermissionRequest alone, not admitted: its message reaches the model", |run| {
        let run = run.frame(&Spec::all_but("shell"))?.also("PermissionRequest").without("PreToolUse");
        run.mode("manual").bash("touch o.txt").effect_or_refusal("o.txt")
    });
    const OVERRULED: &str = "a prompt tool can overrule a denial at PermissionRequest: PreToolUse is the guard";
    cases.limit(OVERRULED, "PermissionRequest alone, not admitted, the prompt tool says yes", |run| {
        let run = run.frame(&Spec::all_but("shell"))?.also("PermissionRequest").without("PreToolUse");
        touch(approving(run.mode("manual"))?)
    });
    cases.blocked("PermissionRequest alone, admitted: silence, so nobody has said yes", |run| {
        touch(run.frame(&Spec::all())?.also("PermissionRequest").without("PreToolUse").mode("manual"))
    });
    cases.blocked("PermissionRequest alone, MCP admitted: silence on Claude", |run| {
        let mark = run.scratch.project.join("o.txt");
        let run = run
            .frame(&Spec::all().mcp("lab", "append"))?
            .also("PermissionRequest")
            .without("PreToolUse")
            .mode("manual");
        run.server("lab", &json!({"tools": {"append": mark}}))?.call("mcp__lab__append", json!({})).effect("o.txt")
    });
    cases.blocked("plan mode, admitted: no hook of ours lifts it", |run| {
        let path = run.scratch.project.join("o.txt");
        run.frame(&Spec::all())?.mode("plan").write(path, "x").effect("o.txt")
    });
    cases.blocked("another hook's PermissionRequest allow does not lift our deny", |run| {
        let yes =
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'"#;
        let run = run.frame(&Spec::all_but("shell"))?.beside("PermissionRequest", yes).mode("manual");
        run.bash("touch o.txt").effect_or_refusal("o.txt")
    });
    cases.blocked("another hook's PreToolUse allow does not lift our deny", |run| {
        let yes = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'"#;
        let run = run.frame(&Spec::all_but("shell"))?.beside("PreToolUse", yes).mode("manual");
        run.bash("touch o.txt").effect_or_refusal("o.txt")
    });
    cases.blocked("another hook's deny stands beside our allow", |run| {
        touch(run.frame(&Spec::all())?.beside("PreToolUse", "echo no >&2; exit 2"))
    });
    let refused = "PermissionRequest alone, the frame edited in mid-session: its refusal reaches the model";
    cases.blocked(refused, |run| {
        let run = run.frame(&Spec::all())?.also("PermissionRequest").without("PreToolUse").mode("acceptEdits");
        // acceptEdits runs these two without asking; it asks about `sh`.
        let frame = run.scratch.frames.join("frame.json");
        let run = run.flag("--allowedTools").flag("Bash(truncate:*)");
        let outcome = run.bash(&format!("truncate -s 10 {}", frame.display())).bash("sh -c 'touch o.txt'").go()?;
        if !outcome.was_told("frame.json") {
            return Err(format!("the refusal did not reach the model; {}", outcome.detail()));
        }
        outcome.effect(false)
    });
}
