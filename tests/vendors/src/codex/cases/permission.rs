//! PermissionRequest: we grant one thing there, an admitted MCP call under policy `frame`. Only a person may let a
//! shell out of the sandbox.

use serde_json::json;

use super::{List, MARK, OPERATIONS, adds, all_but, hold, printed};
use crate::codex::appserver::{Person, Talk, talk};
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Codex, Outcome, Session};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

type Making = fn() -> Call;

const SANDBOXED: &[&str] = &["-s", "workspace-write"];

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        let name = mode.name();
        list.ran(format!("{name}: codex exec runs an admitted MCP call under policy frame"), move |codex, scratch| {
            let outcome = mcp(codex, scratch, mode, "frame", &Spec::admitting(&[]).mcp("lab", "note"))?;
            outcome.effect(scratch.exists(MARK))
        });
        list.holds(
            format!("{name}: codex exec does not run an admitted MCP call under deny-only"),
            move |codex, scratch| {
                let outcome = mcp(codex, scratch, mode, "deny-only", &Spec::admitting(&[]).mcp("lab", "note"))?;
                let told = outcome.told();
                hold(
                    [(!scratch.exists(MARK), "it did not run"), (told.contains("approval"), "for want of an approval")],
                    &told,
                )
            },
        );
        list.blocked(
            format!("{name}: codex exec does not run an MCP call that is not admitted"),
            move |codex, scratch| {
                let outcome = mcp(codex, scratch, mode, "frame", &Spec::admitting(&OPERATIONS).mcp("lab", "other"))?;
                outcome.effect(scratch.exists(MARK))
            },
        );
    }
    escalations(list);
    people(list);
}

fn mcp(codex: &Codex, scratch: &Scratch, mode: Mode, policy: &'static str, spec: &Spec) -> Result<Outcome, String> {
    let frame = spec.seal(scratch, "frame.json")?;
    let entry = printed(scratch, &Ask::pinned(&frame).policy(policy))?;
    Session::new(codex, scratch, mode, Script::calls(mode, &[Call::mcp("lab", "note")]))
        .entry(&entry.text)
        .server("lab", &json!({"tools": {"note": scratch.project.join(MARK), "other": null}}))?
        .sandbox(SANDBOXED)
        .run()
}

/// A shell command that asks to leave the sandbox.
fn escalated() -> Call {
    Call::tool(
        "exec_command",
        json!({"cmd": "echo ran > ran.txt", "sandbox_permissions": "require_escalated", "justification": "to see"}),
    )
}

fn escalations(list: &mut List) {
    list.holds("codex exec: an admitted shell is let out of the sandbox by nobody", |codex, scratch| {
        let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
        let entry = printed(scratch, &Ask::pinned(&frame))?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[escalated()]))
            .entry(&entry.text)
            .sandbox(&["-s", "read-only"])
            .run()?;
        hold([(!scratch.exists(MARK), "it did not run")], &outcome.told())
    });
    // The vendor's reviewer is a model too: one approves here, and one refuses.
    for (says, ran) in [("allow", true), ("deny", false)] {
        list.holds(
            format!("codex exec --approve-for-me: the vendor's reviewer decides an admitted shell's way out ({says})"),
            move |codex, scratch| {
                let outcome = reviewed(codex, scratch, says, &Spec::admitting(&["shell"]))?;
                hold(
                    [
                        (scratch.exists(MARK) == ran, "as the reviewer says"),
                        (outcome.of("transcript").count() > 0, "the reviewer was asked"),
                    ],
                    &outcome.told(),
                )
            },
        );
    }
    list.blocked(
        "codex exec --approve-for-me: a shell that is not admitted is not even asked about",
        |codex, scratch| {
            let outcome = reviewed(codex, scratch, "allow", &all_but(&["shell"]))?;
            outcome.effect(scratch.exists(MARK))
        },
    );
}

fn reviewed(codex: &Codex, scratch: &Scratch, says: &str, spec: &Spec) -> Result<Outcome, String> {
    let frame = spec.seal(scratch, "frame.json")?;
    let entry = printed(scratch, &Ask::pinned(&frame))?;
    let verdict = json!({"risk_level": "low", "risk_score": 1, "rationale": "seen", "evidence": [], "outcome": says,
                         "user_authorization": "high"});
    let script =
        Script::calls(Mode::Direct, &[escalated()]).other("transcript", vec![vec![Say::Message(verdict.to_string())]]);
    Session::new(codex, scratch, Mode::Direct, script).entry(&entry.text).sandbox(&["--approve-for-me"]).run()
}

/// With a person to ask, by the app-server.
fn people(list: &mut List) {
    let rows: [(&str, Making, bool); 2] =
        [("shell's way out of the sandbox", escalated, true), ("patch in a read-only sandbox", || adds(MARK), false)];
    for (name, call, shell) in rows {
        for (accepts, word) in [(true, "accepts"), (false, "declines")] {
            list.holds(
                format!("app-server: the person {word} an admitted {name}, and so it is"),
                move |codex, scratch| {
                    let admitted = if shell { "shell" } else { "file.write" };
                    let talk = asked(codex, scratch, &Spec::admitting(&[admitted]), call(), accepts)?;
                    hold(
                        [
                            (scratch.exists(MARK) == accepts, "as the person says"),
                            (!talk.approvals.is_empty(), "the person was asked"),
                        ],
                        &format!("{:?} {:?}", talk.approvals, talk.hooks),
                    )
                },
            );
        }
        list.holds(
            format!("app-server: the person is not asked about a {name} that is not admitted"),
            move |codex, scratch| {
                let talk = asked(codex, scratch, &Spec::admitting(&["web.read"]), call(), true)?;
                hold(
                    [
                        (!scratch.exists(MARK), "it did not run"),
                        (talk.approvals.is_empty(), "the person was not asked"),
                    ],
                    &format!("{:?} {:?}", talk.approvals, talk.hooks),
                )
            },
        );
    }
    for (policy, ran) in [("frame", true), ("deny-only", false)] {
        list.holds(
            format!("app-server: an admitted MCP call under {policy}, with a person who declines"),
            move |codex, scratch| {
                let frame = Spec::admitting(&[]).mcp("lab", "note").seal(scratch, "frame.json")?;
                let entry = printed(scratch, &Ask::pinned(&frame).policy(policy))?;
                let session = Session::new(
                    codex,
                    scratch,
                    Mode::Direct,
                    Script::calls(Mode::Direct, &[Call::mcp("lab", "note")]),
                )
                .entry(&entry.text)
                .server("lab", &json!({"tools": {"note": scratch.project.join(MARK)}}))?;
                let talk = told(&session, false)?;
                hold(
                    [
                        (scratch.exists(MARK) == ran, "as the policy says"),
                        (talk.approvals.is_empty() == ran, "the person was asked only under deny-only"),
                    ],
                    &format!("{:?} {:?}", talk.approvals, talk.hooks),
                )
            },
        );
    }
    list.holds("app-server: an admitted call is no failed hook run: zero bytes are an answer", |codex, scratch| {
        let entry_spec = Spec::admitting(&["shell"]);
        let talk = asked(codex, scratch, &entry_spec, Call::shell("true"), false)?;
        let failed = talk.hooks.iter().filter(|run| run["status"] == "failed").count();
        hold([(!talk.hooks.is_empty(), "hooks ran"), (failed == 0, "none failed")], &format!("{:?}", talk.hooks))
    });
    // Codex asks about keys only if the terminal may run outside the sandbox.
    for (more, asked, ran) in [(&[][..], 1, false), (&["-c", "features.unified_exec_tty=true"][..], 2, true)] {
        let name =
            if ran { "switched on: the person is asked about the keys" } else { "as the entry has it: there is none" };
        list.holds(format!("app-server: keys typed into a terminal, {name}"), move |codex, scratch| {
            let opens = Call::tool(
                "exec_command",
                json!({"cmd": "bash -i", "tty": true, "yield_time_ms": 300,
                       "sandbox_permissions": "require_escalated", "justification": "to see"}),
            );
            let keys = Say::late(|outputs| {
                let arguments = json!({"session_id": super::around::running(outputs), "chars": "echo ran > ran.txt\n",
                                       "yield_time_ms": 700});
                Say::Call(Call::tool("write_stdin", arguments))
            });
            let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
            let entry = printed(scratch, &Ask::pinned(&frame))?;
            let script = Script::turns(vec![vec![Say::Call(opens)], vec![keys]]);
            let mut session = Session::new(codex, scratch, Mode::Direct, script).entry(&entry.text);
            for flag in more {
                session = session.flag(flag);
            }
            let talk = told(&session, true)?;
            hold(
                [
                    (scratch.exists(MARK) == ran, "typed or not"),
                    (talk.approvals.len() <= asked, "no more than that"),
                    (!ran || talk.approvals.len() == asked, "asked about both"),
                ],
                &format!("{:?} {:?}", talk.approvals, talk.hooks),
            )
        });
    }
}

fn asked(codex: &Codex, scratch: &Scratch, spec: &Spec, call: Call, accepts: bool) -> Result<Talk, String> {
    let frame = spec.seal(scratch, "frame.json")?;
    let entry = printed(scratch, &Ask::pinned(&frame))?;
    let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[call])).entry(&entry.text);
    told(&session, accepts)
}

fn told(session: &Session<'_>, accepts: bool) -> Result<Talk, String> {
    let stub = session.prepare()?;
    let person = Person { asked: "on-request", sandbox: "read-only", accepts };
    let talk = talk(session, &stub, person, &["please do the scripted thing"], |_| Ok(()))?;
    if talk.asked.len() < 2 {
        return Err(format!("the script was not played to its end: {:?}", talk.hooks));
    }
    Ok(talk)
}
