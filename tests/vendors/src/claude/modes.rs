//! Allow, abstain and deny in each permission mode, and against the vendor's own allow, ask and deny rules.

use serde_json::json;

use super::Cases;
use super::drive::{Launch, Run};
use crate::case::{Seen, Want};
use crate::entry::Ask;
use crate::frame::Spec;

/// The modes, and whether the vendor itself runs a `touch` there without a person to ask.
const MODES: [(&str, bool); 6] = [
    ("manual", false),
    ("acceptEdits", true),
    ("plan", false),
    ("dontAsk", false),
    ("bypassPermissions", true),
    ("auto", true),
];

fn under<'a>(run: Run<'a>, spec: &Spec, policy: &'static str) -> Result<Run<'a>, String> {
    let frame = spec.seal(run.scratch, "frame.json")?;
    run.entry(&Ask::pinned(&frame).policy(policy), &frame)
}

/// An entry without a frame: the hook runs and abstains.
fn without_frame(run: Run<'_>) -> Result<Run<'_>, String> {
    Ok(run.frame(&Spec::all())?.edit(|_, hook| hook["args"] = json!([])))
}

fn touch(run: Run<'_>) -> Result<Seen, String> {
    run.bash("touch o.txt").effect("o.txt")
}

fn touch_refused(run: Run<'_>) -> Result<Seen, String> {
    run.bash("touch o.txt").effect_or_refusal("o.txt")
}

pub fn add(cases: &mut Cases) {
    for (mode, open) in MODES {
        let as_vendor = if open { Want::Ran } else { Want::Blocked };
        // An allow grants, but it does not lift plan mode.
        let granted = if mode == "plan" { Want::Blocked } else { Want::Ran };
        cases.add(format!("{mode}: admitted, policy frame"), granted, move |run| {
            touch(under(run, &Spec::admitting(&["shell"]), "frame")?.mode(mode))
        });
        cases.add(format!("{mode}: admitted, deny-only"), as_vendor, move |run| {
            touch(under(run, &Spec::admitting(&["shell"]), "deny-only")?.mode(mode))
        });
        cases.add(format!("{mode}: no frame"), as_vendor, move |run| touch(without_frame(run)?.mode(mode)));
        for policy in ["frame", "deny-only"] {
            cases.blocked(format!("{mode}: not admitted, {policy}, over the vendor's allow rule"), move |run| {
                let run = under(run, &Spec::all_but("shell"), policy)?;
                touch_refused(run.mode(mode).flag("--allowedTools").flag("Bash"))
            });
        }
    }
    rules(cases);
    environment_alone(cases);
}

fn rules(cases: &mut Cases) {
    for mode in ["manual", "dontAsk", "bypassPermissions"] {
        cases.blocked(format!("{mode}: admitted, against the vendor's deny rule"), move |run| {
            let rule = json!({"deny": ["Bash(touch:*)"]});
            touch(run.frame(&Spec::all())?.mode(mode).setting("permissions", rule))
        });
        cases.blocked(format!("{mode}: admitted, against the vendor's ask rule"), move |run| {
            let rule = json!({"ask": ["Bash(touch:*)"]});
            touch(run.frame(&Spec::all())?.mode(mode).setting("permissions", rule))
        });
    }
    cases.blocked("admitted, the tool taken away by --disallowedTools", |run| {
        touch(run.frame(&Spec::all())?.flag("--disallowedTools").flag("Bash"))
    });
    for mode in ["manual", "dontAsk"] {
        cases.ran(format!("{mode}: deny-only, the vendor's allow rule decides"), move |run| {
            let run = under(run, &Spec::all(), "deny-only")?.mode(mode);
            touch(run.flag("--allowedTools").flag("Bash(touch:*)"))
        });
        cases.blocked(format!("{mode}: admitted, a file the vendor protects"), move |run| {
            run.scratch.write(".git/hooks/keep", "")?;
            let path = run.scratch.project.join(".git/hooks/post-commit");
            run.frame(&Spec::all())?.mode(mode).write(path, "x").effect(".git/hooks/post-commit")
        });
    }
}

/// A launcher that owns the process may leave the flags out: settings come from one place, as the README says.
fn environment_alone(cases: &mut Cases) {
    for (name, spec, want) in
        [("admitted", Spec::admitting(&["shell"]), Want::Ran), ("not admitted", Spec::all_but("shell"), Want::Blocked)]
    {
        cases.add(format!("the environment alone names the frame, {name}"), want, move |run| {
            let frame = spec.seal(run.scratch, "frame.json")?;
            let path = frame.path.display().to_string();
            let run = run.entry(&Ask::pinned(&frame), &frame)?.edit(|_, hook| hook["args"] = json!([]));
            let run = run.launch(Launch::Strong).env("MH_FRAME", &path).env("MH_FRAME_DIGEST", &frame.digest);
            run.mode("manual").bash("touch o.txt").effect_or_refusal("o.txt")
        });
    }
    cases.blocked("no frame, and one is required", |run| {
        let run = run.frame(&Spec::all())?.without("UserPromptSubmit");
        touch(run.edit(|_, hook| hook["args"] = json!(["--require-frame"])))
    });
}
