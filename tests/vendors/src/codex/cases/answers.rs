//! Allow, abstain and deny, for calls of any size, beside other calls and hooks, in other folders and environments.

use serde_json::json;

use super::{List, MARK, OPERATIONS, adds, all_but, denied, hold, one, pinned, place, printed, touch, under};
use crate::case::Want;
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Session, quoted};
use crate::entry::Ask;
use crate::frame::Spec;

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        let name = mode.name();
        list.ran(format!("{name}: deny-only lets an admitted call be"), move |codex, scratch| {
            let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
            let entry = printed(scratch, &Ask::pinned(&frame).policy("deny-only"))?;
            let outcome =
                Session::new(codex, scratch, mode, Script::calls(mode, &[touch()])).entry(&entry.text).run()?;
            outcome.effect(scratch.exists(MARK))
        });
        list.blocked(format!("{name}: deny-only denies what is not admitted"), move |codex, scratch| {
            let frame = all_but(&["shell"]).seal(scratch, "frame.json")?;
            let entry = printed(scratch, &Ask::pinned(&frame).policy("deny-only"))?;
            let outcome =
                Session::new(codex, scratch, mode, Script::calls(mode, &[touch()])).entry(&entry.text).run()?;
            outcome.effect(scratch.exists(MARK))
        });
        list.holds(
            format!("{name}: a denial names the tool, the operation and the step, and the session goes on"),
            move |codex, scratch| {
                let calls = [touch(), adds("second.txt")];
                let frame = Spec::admitting(&["file.write"]).seal(scratch, "frame.json")?;
                let entry = printed(scratch, &Ask::pinned(&frame))?;
                let outcome =
                    Session::new(codex, scratch, mode, Script::calls(mode, &calls)).entry(&entry.text).run()?;
                let told = outcome.told();
                hold(
                    [
                        (!scratch.exists(MARK), "the first call is blocked"),
                        (scratch.exists("second.txt"), "the second, admitted one runs"),
                        (told.contains("Bash"), "the tool is named"),
                        (told.contains("shell"), "the operation is named"),
                        (told.contains("file.write"), "what is admitted is named"),
                        (told.contains(&frame.digest[..12]), "the digest is named"),
                    ],
                    &told,
                )
            },
        );
        for (size, lines) in [("300 KB", 3_000), ("4 MB", 40_000)] {
            let big = move || {
                let body: String = (0..lines).map(|n| format!("+{n:06} {}\n", "x".repeat(92))).collect();
                Call::patch(&format!("*** Begin Patch\n*** Add File: {MARK}\n{body}*** End Patch"))
            };
            list.ran(format!("{name}: an admitted patch of {size} runs"), move |codex, scratch| {
                one(codex, scratch, mode, &Spec::admitting(&["file.write"]), &big())
            });
            list.blocked(
                format!("{name}: a patch of {size} that is not admitted does not run"),
                move |codex, scratch| one(codex, scratch, mode, &all_but(&["file.write"]), &big()),
            );
        }
        list.holds(format!("{name}: of parallel calls each is decided alone"), move |codex, scratch| {
            let script = Script::turns(vec![crowd(mode)]);
            let outcome = under(codex, scratch, mode, &all_but(&["shell"]), script)?.run()?;
            let ran = |stem: &str| (0..6).filter(|n| scratch.exists(&format!("{stem}{n}.txt"))).count();
            hold([(ran("patch") == 6, "all patches ran"), (ran("shell") == 0, "no shell ran")], &outcome.told())
        });
        list.holds(format!("{name}: parallel calls have one audit line each, none torn"), move |codex, scratch| {
            let frame = all_but(&["shell"]).seal(scratch, "frame.json")?;
            let audit = scratch.frames.join("audit.jsonl");
            let mut ask = Ask::pinned(&frame);
            ask.audit = Some(audit.clone());
            let entry = printed(scratch, &ask)?;
            Session::new(codex, scratch, mode, Script::turns(vec![crowd(mode)])).entry(&entry.text).run()?;
            let text = super::text_of(&audit);
            let lines: Vec<serde_json::Value> =
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            let of = |tool: &str| lines.iter().filter(|line| line["tool"] == tool).count();
            hold(
                [
                    (lines.len() == text.lines().count(), "each line is JSON"),
                    (of("Bash") == 6, "six for the shells"),
                    (of("apply_patch") == 6, "six for the patches"),
                ],
                &text,
            )
        });
        let elsewhere = |scratch: &crate::scratch::Scratch| {
            let mark = scratch.project.join(MARK);
            Call::tool(
                "exec_command",
                json!({"cmd": format!("echo ran > {}", mark.display()), "workdir": scratch.tmp, "login": false}),
            )
        };
        list.ran(format!("{name}: an admitted shell in another folder runs"), move |codex, scratch| {
            one(codex, scratch, mode, &Spec::admitting(&["shell"]), &elsewhere(scratch))
        });
        list.blocked(format!("{name}: a shell in another folder is denied all the same"), move |codex, scratch| {
            one(codex, scratch, mode, &all_but(&["shell"]), &elsewhere(scratch))
        });
    }
    list.holds("code mode: a script that catches the denial may go on, and is judged on", |codex, scratch| {
        let shell = touch().script();
        let patch = adds("second.txt").script();
        let code =
            format!("try {{ await {shell} }} catch (e) {{ text('caught: ' + e) }} text(await {patch}); await {shell};");
        let script = Script::turns(vec![vec![Say::code(code)]]);
        let outcome = under(codex, scratch, Mode::Code, &all_but(&["shell"]), script)?.run()?;
        hold(
            [
                (!scratch.exists(MARK), "the shell did not run"),
                (scratch.exists("second.txt"), "the patch ran"),
                (outcome.told().contains("caught: "), "the script saw the denial"),
            ],
            &outcome.told(),
        )
    });
    malformed(list);
    environment(list);
    neighbours(list);
    sessions(list);
}

fn crowd(mode: Mode) -> Vec<Say> {
    let calls: Vec<Call> = (0..6)
        .flat_map(|n| [Call::shell(&format!("echo ran > shell{n}.txt")), adds(&format!("patch{n}.txt"))])
        .collect();
    match mode {
        Mode::Direct => calls.into_iter().map(Say::Call).collect(),
        Mode::Code => {
            let scripts: Vec<String> = calls.iter().map(Call::script).collect();
            vec![Say::code(format!("text(await Promise.allSettled([{}]));", scripts.join(",")))]
        }
    }
}

/// Codex asks no hook where it cannot parse the arguments, except for MCP, where they arrive as a string.
fn malformed(list: &mut List) {
    list.blocked("direct: an MCP call with arguments that are no JSON is decided by its name", |codex, scratch| {
        let spec = Spec::admitting(&OPERATIONS).mcp("lab", "other");
        let call = Call::mcp("lab", "note").garbled("no json");
        let script = Script::calls(Mode::Direct, &[call]);
        let outcome = under(codex, scratch, Mode::Direct, &spec, script)?
            .server("lab", &json!({"tools": {"note": scratch.project.join(MARK), "other": null}}))?
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    list.holds("direct: calls that Codex cannot read do nothing, hook or not", |codex, scratch| {
        let calls = [
            Call::shell("true").garbled("no json"),
            Call::tool("exec_command", json!({"command": "echo ran > ran.txt"})),
            Call::patch("no patch"),
            Call::tool("shell", json!({"command": ["bash", "-c", "echo ran > ran.txt"]})),
            Call::tool("shell_command", json!({"command": "echo ran > ran.txt"})),
            Call::tool("no_such_tool", json!({})),
        ];
        let script = Script::calls(Mode::Direct, &calls);
        let outcome = under(codex, scratch, Mode::Direct, &Spec::admitting(&OPERATIONS), script)?.run()?;
        hold([(!scratch.exists(MARK), "nothing ran")], &outcome.told())
    });
}

/// Settings come from one source: the entry's flags count, and a variable with another value is a mistake.
fn environment(list: &mut List) {
    list.ran("an MH_FRAME that says the same as the entry is no mistake", |codex, scratch| {
        let entry = pinned(scratch, &Spec::admitting(&["shell"]))?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.text)
            .env("MH_FRAME", &scratch.frames.join("frame.json").to_string_lossy())
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    for (name, value) in [
        ("MH_FRAME", "/nonexistent/frame.json"),
        ("MH_POLICY", "deny-only"),
        ("MH_DECIDER", "exec:/bin/true"),
        ("MH_AUDIT", "/nonexistent/audit"),
    ] {
        list.holds(format!("an {name} that the entry does not say stops the session"), move |codex, scratch| {
            let entry = pinned(scratch, &Spec::admitting(&OPERATIONS))?;
            let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
                .entry(&entry.text)
                .env(name, value)
                .unfinished()
                .run()?;
            hold(
                [(!scratch.exists(MARK), "nothing ran"), (outcome.asked.is_empty(), "no request for the model")],
                &outcome.told(),
            )
        });
    }
}

/// Other hooks beside ours in the same configuration.
fn neighbours(list: &mut List) {
    fn beside(command: &str) -> String {
        format!("[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = {}\n", quoted(command))
    }
    const REPLACES: &str = r#"cat >/dev/null; printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"echo ran > ran.txt"}}}'"#;
    list.blocked("another hook's allow and replace do not lift our denial", |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&format!("{}\n{}", entry.text, beside(REPLACES)))
            .flag("--dangerously-bypass-hook-trust")
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    list.limit(
        "another hook replaces an admitted call after we decided it",
        "hooks never see each other's replacements; keep other replacing hooks out of the configuration",
        |codex, scratch| {
            let entry = pinned(scratch, &Spec::admitting(&["shell"]))?;
            let script = Script::calls(Mode::Direct, &[Call::shell("true")]);
            let outcome = Session::new(codex, scratch, Mode::Direct, script)
                .entry(&format!("{}\n{}", entry.text, beside(REPLACES)))
                .flag("--dangerously-bypass-hook-trust")
                .run()?;
            outcome.effect(scratch.exists(MARK))
        },
    );
}

/// Sessions of other kinds: resumed ones, reviews and the like.
fn sessions(list: &mut List) {
    list.blocked("a resumed session is under the frame", |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        Session::new(codex, scratch, Mode::Direct, Script::default()).entry(&entry.text).run()?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.text)
            .prompt(&["resume", "--last", "go on"])
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    list.blocked("a review is under the frame", |codex, scratch| {
        let git = |words: &[&str]| scratch.run(scratch.command("git").args(words), "git");
        git(&["init", "-q"])?;
        place(&scratch.project.join("new.txt"), "new\n")?;
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.text)
            .prompt(&["review", "--uncommitted"])
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    list.ran("an ephemeral session, which has no transcript, is decided as any other", |codex, scratch| {
        let entry = pinned(scratch, &Spec::admitting(&["shell"]))?;
        let outcome = Session::new(codex, scratch, Mode::Code, Script::calls(Mode::Code, &[touch()]))
            .entry(&entry.text)
            .flag("--ephemeral")
            .run()?;
        if denied(&outcome) {
            return Err(outcome.told());
        }
        outcome.effect(scratch.exists(MARK))
    });
    list.ran("no frame in force: the hook abstains", |codex, scratch| {
        let entry = pinned(scratch, &Spec::admitting(&["web.read"]))?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.without_flags()?)
            .flag("--dangerously-bypass-hook-trust")
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    for (admitted, want) in [("shell", Want::Ran), ("web.read", Want::Blocked)] {
        list.add(
            format!("the environment alone names a frame that admits {admitted}, and it holds"),
            want,
            move |codex, scratch| {
                let frame = Spec::admitting(&[admitted]).seal(scratch, "frame.json")?;
                let entry = printed(scratch, &Ask::pinned(&frame))?;
                let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
                    .entry(&entry.without_flags()?)
                    .flag("--dangerously-bypass-hook-trust")
                    .env("MH_FRAME", &frame.path.to_string_lossy())
                    .env("MH_FRAME_DIGEST", &frame.digest)
                    .run()?;
                outcome.effect(scratch.exists(MARK))
            },
        );
    }
}
