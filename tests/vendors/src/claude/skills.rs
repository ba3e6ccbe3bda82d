//! Shell commands in the text of a skill or a slash command: they have an event of their own.

use serde_json::json;

use super::Cases;
use super::drive::{Drive, Launch, Run};
use crate::case::Seen;
use crate::frame::Spec;

const SKILL: &str = "---\nname: inline\ndescription: d\n---\nout: !`touch o.txt; echo ran-inline`\n";

fn skill(run: Run<'_>) -> Result<Seen, String> {
    run.scratch.write(".claude/skills/inline/SKILL.md", SKILL)?;
    run.call("Skill", json!({"skill": "inline"})).effect("o.txt")
}

fn slash(run: Run<'_>) -> Result<Seen, String> {
    run.scratch.write(".claude/commands/inline.md", "out: !`touch o.txt; echo ran-inline` SUITEMAIN\n")?;
    let run = run.prompt("/inline SUITEMAIN");
    let scratch = run.scratch;
    let outcome = run.go()?;
    Ok(Seen::effect(scratch.exists("o.txt"), outcome.detail()))
}

/// A skill's command in a plugin, which the strongest launch still loads.
fn plugin(run: Run<'_>) -> Result<Seen, String> {
    let scratch = run.scratch;
    scratch.write("plug/.claude-plugin/plugin.json", r#"{"name":"plug","version":"1.0.0","description":"d"}"#)?;
    scratch.write("plug/skills/inline/SKILL.md", SKILL)?;
    let folder = scratch.project.join("plug").display().to_string();
    let run = run.launch(Launch::Strong).flag("--plugin-dir").flag(&folder);
    run.call("Skill", json!({"skill": "plug:inline"})).effect("o.txt")
}

pub fn add(cases: &mut Cases) {
    const PLACES: [(&str, Drive); 3] = [
        ("a skill's inline command", skill),
        ("a slash command's inline command", slash),
        ("a plugin skill's inline command, strongest launch", plugin),
    ];
    for (name, run) in PLACES {
        cases.ran(format!("{name}, admitted"), move |place| run(place.frame(&Spec::all())?));
        cases.blocked(format!("{name}, shell not admitted"), move |place| run(place.frame(&Spec::all_but("shell"))?));
        cases.blocked(format!("{name}, the frame edited"), move |place| {
            let place = place.frame(&Spec::all())?.without("UserPromptSubmit").without("PreToolUse");
            let path = place.scratch.frames.join("frame.json");
            std::fs::write(path, "{}").map_err(|error| error.to_string())?;
            run(place)
        });
        cases.blocked(format!("{name}, the hook program missing"), move |place| {
            let place = place.frame(&Spec::all())?.without("UserPromptSubmit").without("PreToolUse");
            std::fs::remove_file(place.scratch.program("mh-hook-claude")).map_err(|error| error.to_string())?;
            run(place)
        });
    }
    cases.blocked("dontAsk: a skill's inline command, admitted: our allow grants nothing there", |run| {
        skill(run.frame(&Spec::all())?.mode("dontAsk"))
    });
    cases.blocked("a slash command's inline command, skill.load alone admitted", |run| {
        slash(run.frame(&Spec::admitting(&["skill.load"]))?)
    });
}
