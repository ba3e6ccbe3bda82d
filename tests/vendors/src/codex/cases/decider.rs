//! An embedder's decider: it is asked about admitted calls, it may narrow or replace, and a call is denied if the
//! decider fails in any way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{List, MARK, adds, all_but, hold, place, printed, text_of, touch};
use crate::case::Want;
use crate::codex::script::{Call, Mode, Script};
use crate::codex::session::{Codex, Outcome, Session};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

/// The head of a decider in shell: it reads and keeps the question; `$answer DECISION` answers it.
const HEAD: &str = r#"#!/bin/sh
read -r line
printf '%s\n' "$line" >> "$0.asked"
id=$(printf '%s' "$line" | sed 's/.*"call_id":"\([^"]*\)".*/\1/')
answer() { printf '{"format":"metaharness.command/1","id":"1","command":"tool.decide","call_id":"%s","decision":%s}\n' "$id" "$1"; }
"#;

/// Deciders with a fault, asked about a call that would run.
const WRONG: &[(&str, &str)] = &[
    ("says nothing", "exit 0"),
    ("says nothing and fails", "exit 1"),
    ("allows and then fails", "answer '{\"decision\":\"allow\"}'; exit 1"),
    ("allows and is then killed", "answer '{\"decision\":\"allow\"}'; kill -9 $$"),
    ("answers about another call", "id=other; answer '{\"decision\":\"allow\"}'"),
    ("answers with a bare word", "answer '\"allow\"'"),
    ("answers with no line of the protocol", "echo allow"),
    ("decides in a word that is none", "answer '{\"decision\":\"ask\"}'"),
    ("says the decision twice", "answer '{\"decision\":\"deny\",\"decision\":\"allow\"}'"),
    ("denies without a reason", "answer '{\"decision\":\"deny\",\"reason\":\" \"}'"),
    (
        "replaces a command by what is none",
        "answer '{\"decision\":\"replace\",\"input\":{\"cmd\":\"echo ran > ran.txt\"}}'",
    ),
    ("replaces a command by nothing", "answer '{\"decision\":\"replace\",\"input\":null}'"),
    ("never ends", "sleep 60"),
    ("answers too late", "sleep 5; answer '{\"decision\":\"allow\"}'"),
    ("talks without end", "while :; do echo noise; done"),
    ("does not read", "exec <&-; sleep 60"),
];

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        let name = mode.name();
        for (word, decision, want) in [
            ("allows", r#"{"decision":"allow"}"#, Want::Ran),
            ("abstains", r#"{"decision":"abstain"}"#, Want::Ran),
            ("denies", r#"{"decision":"deny","reason":"not on a monday"}"#, Want::Blocked),
        ] {
            list.add(format!("{name}: the decider {word}"), want, move |codex, scratch| {
                let outcome = decided(codex, scratch, mode, &Spec::admitting(&["shell"]), touch(), &answers(decision))?;
                if want == Want::Blocked && !outcome.told().contains("not on a monday") {
                    return Err(format!("its reason is not told: {}", outcome.told()));
                }
                outcome.effect(scratch.exists(MARK))
            });
        }
        replaced(list, mode);
    }
    list.holds("the decider is not asked about what the frame refuses", |codex, scratch| {
        let outcome =
            decided(codex, scratch, Mode::Direct, &all_but(&["shell"]), touch(), &answers(r#"{"decision":"allow"}"#))?;
        hold(
            [(!scratch.exists(MARK), "it did not run"), (asked(scratch).is_empty(), "nobody was asked")],
            &outcome.told(),
        )
    });
    list.holds("the decider is told the call: its id, tool, input and operations", |codex, scratch| {
        decided(
            codex,
            scratch,
            Mode::Direct,
            &Spec::admitting(&["shell"]),
            touch(),
            &answers(r#"{"decision":"allow"}"#),
        )?;
        let text = asked(scratch);
        let line: Value = serde_json::from_str(text.trim()).map_err(|error| format!("{error}: {text}"))?;
        hold(
            [
                (line["format"] == "metaharness.event/1", "the protocol's tag"),
                (line["event"] == "tool.requested", "its event"),
                (line["name"] == "Bash", "the tool"),
                (line["input"]["command"] == "echo ran > ran.txt", "the input"),
                (line["operations"].to_string().contains("shell"), "the operation"),
                (line["call_id"].is_string(), "the call"),
            ],
            &text,
        )
    });
    for (what, body) in WRONG {
        list.blocked(format!("the decider {what}"), move |codex, scratch| {
            let outcome = decided(codex, scratch, Mode::Direct, &Spec::admitting(&["shell"]), touch(), body)?;
            outcome.effect(scratch.exists(MARK))
        });
    }
    list.blocked("the decider is gone", |codex, scratch| {
        let outcome = entry_with(codex, scratch, &Spec::admitting(&["shell"]), "frame", "exec:/nonexistent/decider")?;
        outcome.effect(scratch.exists(MARK))
    });
    list.blocked("the decider's socket is gone", |codex, scratch| {
        let outcome = entry_with(codex, scratch, &Spec::admitting(&["shell"]), "frame", "unix:/nonexistent/socket")?;
        outcome.effect(scratch.exists(MARK))
    });
    list.holds("the decider leaves a grandchild with its pipes: the answer is heard in time", |codex, scratch| {
        let start = Instant::now();
        let body = r#"sleep 60 & answer '{"decision":"deny","reason":"not on a monday"}'"#;
        let outcome = decided(codex, scratch, Mode::Direct, &Spec::admitting(&["shell"]), touch(), body)?;
        hold(
            [
                (!scratch.exists(MARK), "it did not run"),
                (outcome.told().contains("PreToolUse hook"), "by the hook's word"),
                (start.elapsed() < Duration::from_secs(20), "long before the entry's timeout"),
            ],
            &outcome.told(),
        )
    });
    list.holds("deny-only: the decider's allow grants no approval", |codex, scratch| {
        let outcome = approved(codex, scratch, "deny-only", r#"{"decision":"allow"}"#)?;
        let told = outcome.told();
        hold([(!scratch.exists(MARK), "it did not run"), (told.contains("approval"), "for want of an approval")], &told)
    });
    list.ran("codex exec runs an MCP call that the frame admits and the decider allows", |codex, scratch| {
        approved(codex, scratch, "frame", r#"{"decision":"allow"}"#)?.effect(scratch.exists(MARK))
    });
    list.blocked(
        "codex exec does not run an MCP call that the frame admits and the decider denies",
        |codex, scratch| {
            approved(codex, scratch, "frame", r#"{"decision":"deny","reason":"no"}"#)?.effect(scratch.exists(MARK))
        },
    );
    list.holds("the decider replaces an MCP call's arguments", |codex, scratch| {
        let outcome = approved(codex, scratch, "frame", r#"{"decision":"replace","input":{"note":"replaced"}}"#)?;
        let told = outcome.told();
        hold([(scratch.exists(MARK), "it ran"), (told.contains("replaced"), "with the replacement")], &told)
    });
    list.blocked("protected: a patch over the decider", |codex, scratch| {
        let path = scratch.frames.join("decider");
        let patch = Call::patch(&format!("*** Begin Patch\n*** Add File: {}\n+mine\n*** End Patch", path.display()));
        let body = answers(r#"{"decision":"allow"}"#);
        let outcome = decided(codex, scratch, Mode::Direct, &Spec::admitting(&["file.write"]), patch, &body)?;
        outcome.effect(text_of(&path).contains("mine"))
    });
}

/// A replaced input is judged again and then sent whole.
fn replaced(list: &mut List, mode: Mode) {
    let name = mode.name();
    let by = |input: Value| answers(&json!({"decision": "replace", "input": input}).to_string());
    list.holds(format!("{name}: the decider replaces a command"), move |codex, scratch| {
        let call = Call::shell("echo original > original.txt");
        let outcome = decided(
            codex,
            scratch,
            mode,
            &Spec::admitting(&["shell"]),
            call,
            &by(json!({"command": "echo ran > ran.txt"})),
        )?;
        hold(
            [(scratch.exists(MARK), "the replacement ran"), (!scratch.exists("original.txt"), "the original did not")],
            &outcome.told(),
        )
    });
    list.holds(format!("{name}: the decider replaces a patch"), move |codex, scratch| {
        let body = by(json!({"command": "*** Begin Patch\n*** Add File: ran.txt\n+ran\n*** End Patch"}));
        let outcome = decided(codex, scratch, mode, &Spec::admitting(&["file.write"]), adds("original.txt"), &body)?;
        hold(
            [(scratch.exists(MARK), "the replacement ran"), (!scratch.exists("original.txt"), "the original did not")],
            &outcome.told(),
        )
    });
    for (what, patch) in [
        ("by one that the frame does not admit", "*** Update File: kept.txt\n@@\n-kept\n+changed"),
        ("by one out of scope", "*** Add File: elsewhere/ran.txt\n+ran"),
        ("by one of the guard's own frame", "*** Add File: ../frames/frame.json\n+ran"),
        ("by no patch", "nothing"),
    ] {
        list.holds(format!("{name}: the decider replaces a patch {what}: neither runs"), move |codex, scratch| {
            scratch.write("kept.txt", "kept\n")?;
            let body = by(json!({"command": format!("*** Begin Patch\n{patch}\n*** End Patch")}));
            let spec = Spec::admitting(&["file.write"]).scope("elsewhere/**", "none").scope("**", "file.write");
            let outcome = decided(codex, scratch, mode, &spec, adds("original.txt"), &body)?;
            hold(
                [
                    (!scratch.exists("original.txt"), "not the original"),
                    (scratch.read("kept.txt") == "kept\n", "not the update"),
                    (!scratch.exists("elsewhere/ran.txt"), "not the one out of scope"),
                    (!text_of(&scratch.frames.join("frame.json")).contains("ran"), "not the one on the frame"),
                ],
                &outcome.told(),
            )
        });
    }
}

fn answers(decision: &str) -> String {
    format!("answer '{decision}'")
}

/// Write the decider's program.
fn written(scratch: &Scratch, body: &str) -> Result<String, String> {
    let path = scratch.frames.join("decider");
    place(&path, &format!("{HEAD}{body}\n"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).map_err(|error| error.to_string())?;
    Ok(format!("exec:{}", path.display()))
}

fn asked(scratch: &Scratch) -> String {
    text_of(&scratch.frames.join("decider.asked"))
}

/// The printed entry with the flags that a person with a decider adds.
fn entry(scratch: &Scratch, spec: &Spec, policy: &'static str, decider: &str) -> Result<String, String> {
    let frame = spec.seal(scratch, "frame.json")?;
    let entry = printed(scratch, &Ask::pinned(&frame).policy(policy))?;
    let more = format!("'{policy}' '--decider' '{decider}' '--deadline' '3'");
    Ok(entry.text.replace(&format!("'{policy}'"), &more))
}

/// Run an MCP call for which Codex wants an approval.
fn approved(codex: &Codex, scratch: &Scratch, policy: &'static str, decision: &str) -> Result<Outcome, String> {
    let spec = Spec::admitting(&[]).mcp("lab", "note");
    let entry = entry(scratch, &spec, policy, &written(scratch, &answers(decision))?)?;
    Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[Call::mcp("lab", "note")]))
        .entry(&entry)
        .flag("--dangerously-bypass-hook-trust")
        .server("lab", &json!({"tools": {"note": scratch.project.join(MARK)}}))?
        .sandbox(&["-s", "workspace-write"])
        .run()
}

fn decided(
    codex: &Codex,
    scratch: &Scratch,
    mode: Mode,
    spec: &Spec,
    call: Call,
    body: &str,
) -> Result<Outcome, String> {
    let entry = entry(scratch, spec, "frame", &written(scratch, body)?)?;
    Session::new(codex, scratch, mode, Script::calls(mode, &[call]))
        .entry(&entry)
        .flag("--dangerously-bypass-hook-trust")
        .run()
}

fn entry_with(
    codex: &Codex,
    scratch: &Scratch,
    spec: &Spec,
    policy: &'static str,
    decider: &str,
) -> Result<Outcome, String> {
    Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
        .entry(&entry(scratch, spec, policy, decider)?)
        .flag("--dangerously-bypass-hook-trust")
        .run()
}
