//! An embedder's decider: it is asked about admitted calls, it may narrow or replace, and a call does not run if the
//! decider fails in any way.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use super::Cases;
use super::drive::Run;
use crate::case::{Seen, Want};
use crate::entry::Ask;
use crate::frame::Spec;

/// Adds flags to each entry, as a person with a decider would.
fn with_flags<'a>(run: Run<'a>, flags: &[&str]) -> Run<'a> {
    run.edit(|_, hook| {
        if let Some(args) = hook["args"].as_array_mut() {
            args.extend(flags.iter().map(|flag| json!(flag)));
        }
    })
}

/// A decider in shell; `{A}` in the script prints the answer with this decision.
fn deciding<'a>(run: Run<'a>, script: &str, decision: &Value) -> Result<Run<'a>, String> {
    let answer = format!(
        "id=$(sed -n 's/.*\"call_id\":\"\\([^\"]*\\)\".*/\\1/p'); printf '%s' \
         '{{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"'\"$id\"'\",\"decision\":{decision}}}'; echo"
    );
    let path = run.scratch.frames.join("decider");
    let text =
        format!("#!/bin/sh\n: > '{}'\n{}\n", run.scratch.logs.join("asked").display(), script.replace("{A}", &answer));
    std::fs::write(&path, text)
        .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)))
        .map_err(|error| format!("could not write the decider: {error}"))?;
    Ok(with_flags(run, &["--decider", &format!("exec:{}", path.display()), "--deadline", "3"]))
}

fn touch(run: Run<'_>) -> Result<Seen, String> {
    run.bash("touch o.txt").effect("o.txt")
}

const ALLOW: &str = r#"{"decision":"allow"}"#;

fn allow() -> Value {
    json!({"decision": "allow"})
}

/// Deciders with a fault.
const WRONG: &[(&str, &str)] = &[
    ("says nothing", "cat > /dev/null"),
    ("is slower than the deadline", "sleep 50"),
    ("ends with 1 after an allow", "{A}\nexit 1"),
    ("is killed after an allow", "{A}\nkill -9 $$"),
    ("answers twice", "{A}\n{A}"),
    ("answers no JSON", "cat > /dev/null\necho yes"),
    ("writes noise before an allow", "echo noise\n{A}"),
    (
        "answers for another call",
        "cat > /dev/null\nid=toolu_other\nprintf '{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"toolu_other\",\"decision\":{\"decision\":\"allow\"}}\\n'",
    ),
    (
        "writes its decision flat",
        "cat > /dev/null\nprintf '{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"x\",\"decision\":\"allow\"}\\n'",
    ),
];

pub fn add(cases: &mut Cases) {
    cases.ran("decider, allow", |run| touch(deciding(run.frame(&Spec::all())?, "{A}", &allow())?.mode("manual")));
    cases.blocked("decider, deny, and the model reads its reason", |run| {
        let decision = json!({"decision": "deny", "reason": "the embedder would rather not"});
        let run = deciding(run.frame(&Spec::all())?, "{A}", &decision)?;
        let scratch = run.scratch;
        let outcome = run.bash("touch o.txt").go()?;
        if !outcome.was_told("the embedder would rather not") {
            return Err(format!("the reason did not reach the model; {}", outcome.detail()));
        }
        outcome.effect(scratch.exists("o.txt"))
    });
    for (mode, want) in [("manual", Want::Blocked), ("bypassPermissions", Want::Ran)] {
        cases.add(format!("{mode}: decider, abstain: the vendor decides"), want, move |run| {
            touch(deciding(run.frame(&Spec::all())?, "{A}", &json!({"decision": "abstain"}))?.mode(mode))
        });
    }
    cases.blocked("manual: decider, an allow under deny-only grants nothing", |run| {
        let frame = Spec::all().seal(run.scratch, "frame.json")?;
        let run = run.entry(&Ask::pinned(&frame).policy("deny-only"), &frame)?;
        touch(deciding(run, "{A}", &allow())?.mode("manual"))
    });
    cases.holds("decider, not asked for what the frame does not admit", |run| {
        let run = deciding(run.frame(&Spec::all_but("shell"))?, "{A}", &allow())?;
        let scratch = run.scratch;
        run.bash("touch o.txt").effect_or_refusal("o.txt")?;
        let asked = scratch.logs.join("asked").exists() || scratch.exists("o.txt");
        if asked { Err("it was asked, or the call ran".into()) } else { Ok(()) }
    });
    for (name, script) in WRONG {
        cases.blocked(format!("a decider that {name}"), move |run| {
            touch(deciding(run.frame(&Spec::all())?, script, &allow())?)
        });
    }
    cases.blocked("a decider that is not there", |run| {
        touch(with_flags(run.frame(&Spec::all())?, &["--decider", "exec:/no/such/decider"]))
    });
    replaced(cases);
    sockets(cases);
    cases.blocked("self-protection, Write to the decider", |run| {
        let run = deciding(run.frame(&Spec::all())?, "{A}", &allow())?;
        let path = run.scratch.frames.join("decider");
        let outcome = run.read(&path).write(&path, "#!/bin/sh\n").go()?;
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        outcome.or_refusal(!text.contains(ALLOW))
    });
}

fn replaced(cases: &mut Cases) {
    let cased = [
        ("inside the scope", "in/p.txt", Want::Ran),
        ("outside the scope", "out/p.txt", Want::Blocked),
        ("to a protected place", ".claude/settings.local.json", Want::Blocked),
    ];
    for (name, target, want) in cased {
        cases.add(format!("decider, replace, a write {name}"), want, move |run| {
            let spec = Spec::all()
                .scope("file:in/**", "file.write")
                .scope("file:.claude/**", "file.write")
                .scope("file:**", "");
            let path = run.scratch.project.join(target);
            let decision = json!({"decision": "replace", "input": {"file_path": path, "content": "replaced"}});
            let run = deciding(run.frame(&spec)?, "{A}", &decision)?;
            let asked = run.scratch.project.join("in/o.txt");
            let scratch = run.scratch;
            let outcome = run.write(asked, "x").go()?;
            if scratch.exists("in/o.txt") {
                return Err(format!("the call as asked for ran; {}", outcome.detail()));
            }
            outcome.effect(scratch.exists(target))
        });
    }
    for (name, input, why) in [
        ("no object", json!("touch p.txt"), "is not an object"),
        ("without its command", json!({"description": "d"}), "has no `command`"),
        ("of a number", json!({"command": 5}), "has a number as `command`"),
        ("with more than it takes", json!({"command": "touch p.txt", "cwd": "/"}), "has `cwd`"),
    ] {
        cases.holds(format!("decider, replace, a shell call {name}: neither runs, by name"), move |run| {
            let run = deciding(run.frame(&Spec::all())?, "{A}", &json!({"decision": "replace", "input": input}))?;
            let scratch = run.scratch;
            let outcome = run.bash("touch o.txt").go()?;
            outcome.effect(false)?;
            let named = outcome.was_told(why) && outcome.refused();
            match scratch.exists("o.txt") || scratch.exists("p.txt") || !named {
                true => Err(format!("it ran, or nobody said why not; {}", outcome.detail())),
                false => Ok(()),
            }
        });
    }
    cases.holds("decider, replace, a skill's inline command: neither runs", |run| {
        let text = "---\nname: inline\ndescription: d\n---\nout: !`touch o.txt`\n";
        run.scratch.write(".claude/skills/inline/SKILL.md", text)?;
        let decision = json!({"decision": "replace", "input": {"command": "touch p.txt", "description": "d"}});
        // The decider is asked about the Skill call too, which has to run.
        let run = deciding(run.frame(&Spec::all())?, "{A}", &decision)?.without("PreToolUse");
        let scratch = run.scratch;
        run.call("Skill", json!({"skill": "inline"})).effect("o.txt")?;
        if scratch.exists("o.txt") || scratch.exists("p.txt") { Err("one of them ran".into()) } else { Ok(()) }
    });
}

/// A decider on a socket, in a thread that ends with the suite.
fn listening(path: &Path, decision: Option<&'static str>) -> Result<(), String> {
    let listener = UnixListener::bind(path).map_err(|error| format!("could not listen: {error}"))?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            if BufReader::new(&stream).read_line(&mut line).is_err() {
                continue;
            }
            let asked: Value = serde_json::from_str(&line).unwrap_or_default();
            let decision = decision.and_then(|text| serde_json::from_str::<Value>(text).ok());
            let answer = json!({"format": "metaharness.command/1", "id": "1", "command": "tool.decide",
                                "call_id": asked["call_id"], "decision": decision});
            drop(writeln!(&stream, "{answer}"));
        }
    });
    Ok(())
}

fn sockets(cases: &mut Cases) {
    for (name, decision, want) in [
        ("allow", Some(ALLOW), Want::Ran),
        ("deny", Some(r#"{"decision":"deny","reason":"no"}"#), Want::Blocked),
        ("a null decision", None, Want::Blocked),
    ] {
        cases.add(format!("decider on a socket, {name}"), want, move |run| {
            let path = run.scratch.root.join("s");
            listening(&path, decision)?;
            touch(with_flags(run.frame(&Spec::all())?, &["--decider", &format!("unix:{}", path.display())]))
        });
    }
    cases.blocked("decider on a socket that nobody answers", |run| {
        let path = run.scratch.root.join("s");
        let _listener = UnixListener::bind(&path).map_err(|error| error.to_string())?;
        let socket = format!("unix:{}", path.display());
        touch(with_flags(run.frame(&Spec::all())?, &["--decider", &socket, "--deadline", "2"]))
    });
    cases.blocked("decider on a socket that is not there", |run| {
        touch(with_flags(run.frame(&Spec::all())?, &["--decider", "unix:/no/such/socket"]))
    });
}
