//! The frame's text is in the model's request, whole or cut by whole sections.

use super::{List, hold, printed};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Codex, Session, short};
use crate::codex::stub::{Asked, words};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        list.holds(
            format!("{}: the frame's text is in the model's first request, word for word", mode.name()),
            move |codex, scratch| {
                let spec = Spec::admitting(&["shell", "file.read"])
                    .mcp("lab", "note")
                    .scope("file:src/**", "file.read")
                    .obligation("every change has a test")
                    .obligation("nothing is ünsaid: “quoted”, <tagged> & 名");
                let (text, asked) = first(codex, scratch, mode, &spec, "main")?;
                let message = carrying(&asked, &text);
                hold(
                    [(message.as_deref() == Some(text.trim()), "the text stands there")],
                    &short(&message.unwrap_or_default()),
                )
            },
        );
        list.holds(
            format!("{}: the frame's text is in a sub-agent's first request", mode.name()),
            move |codex, scratch| {
                let spec = Spec::admitting(&["subagent.spawn"]).obligation("every change has a test");
                let (text, asked) = first(codex, scratch, mode, &spec, "CHILD-TASK")?;
                hold(
                    [(carrying(&asked, &text).is_some(), "the text stands there")],
                    &short(&asked.body["input"].to_string()),
                )
            },
        );
        // Codex cuts a text above 2,500 tokens, about 10,000 characters, in the middle.
        list.holds(format!("{}: a text of 16,000 characters is there whole", mode.name()), move |codex, scratch| {
            let (text, asked) = first(codex, scratch, mode, &obliging(20, 800), "main")?;
            let message = carrying(&asked, &text);
            hold([(message.as_deref() == Some(text.trim()), "whole")], &short(&message.unwrap_or_default()))
        });
        list.holds(
            format!("{}: a text of 300,000 characters is cut by whole sections, from the end", mode.name()),
            move |codex, scratch| {
                let (text, asked) = first(codex, scratch, mode, &obliging(300, 1_000), "main")?;
                cut(&text, &carrying(&asked, &text).unwrap_or_default())
            },
        );
    }
    list.holds("a sub-agent's text of 300,000 characters is cut by whole sections too", |codex, scratch| {
        let mut spec = Spec::admitting(&["subagent.spawn"]);
        for n in 0..300 {
            spec = spec.obligation(&obligation(n, 1_000));
        }
        let (text, asked) = first(codex, scratch, Mode::Code, &spec, "CHILD-TASK")?;
        cut(&text, &carrying(&asked, &text).unwrap_or_default())
    });
}

fn obligation(n: usize, length: usize) -> String {
    format!("obligation {n:03} {} ends", "word ".repeat(length / 5))
}

fn obliging(count: usize, length: usize) -> Spec {
    (0..count).fold(Spec::admitting(&["shell"]), |spec, n| spec.obligation(&obligation(n, length)))
}

/// The frame's text as mh-frame-verify prints it, and a thread's first request.
fn first(codex: &Codex, scratch: &Scratch, mode: Mode, spec: &Spec, part: &str) -> Result<(String, Asked), String> {
    let frame = spec.seal(scratch, "frame.json")?;
    let entry = printed(scratch, &Ask::pinned(&frame))?;
    let text = scratch
        .run(scratch.command(scratch.program("mh-frame-verify")).args(["--print", "text"]).arg(&frame.path), "text")?;
    if text.code != Some(0) {
        return Err(format!("mh-frame-verify --print text ended with {:?}: {}", text.code, text.stderr));
    }
    let script = match (part, mode) {
        ("main", _) => Script::default(),
        (_, Mode::Code) => Script::turns(vec![
            vec![Say::Call(
                Call::tool(
                    "spawn_agent",
                    serde_json::json!({"task_name": "child", "message": "CHILD-TASK", "fork_turns": "none"}),
                )
                .within("collaboration"),
            )],
            vec![Say::Call(
                Call::tool("wait_agent", serde_json::json!({"timeout_ms": 15_000})).within("collaboration"),
            )],
        ])
        .other("CHILD-TASK", Vec::new()),
        (_, Mode::Direct) => Script::turns(vec![
            vec![Say::Call(
                Call::tool("spawn_agent", serde_json::json!({"message": "CHILD-TASK"})).within("multi_agent_v1"),
            )],
            vec![Say::late(|outputs| {
                Say::Call(
                    Call::tool(
                        "wait_agent",
                        serde_json::json!({"targets": [super::agents::agent(outputs)], "timeout_ms": 15_000}),
                    )
                    .within("multi_agent_v1"),
                )
            })],
        ])
        .other("CHILD-TASK", Vec::new()),
    };
    let outcome = Session::new(codex, scratch, mode, script).entry(&entry.text).run()?;
    let asked = outcome.of(part).next().cloned().ok_or_else(|| format!("{part} asked nothing: {}", outcome.told()))?;
    Ok((text.stdout, asked))
}

/// The message that begins like the text.
fn carrying(asked: &Asked, text: &str) -> Option<String> {
    let head: String = text.trim().chars().take(40).collect();
    asked.body["input"]
        .as_array()?
        .iter()
        .filter(|item| item["role"] != "assistant")
        .map(|item| words(&item["content"]))
        .find(|message| message.trim().starts_with(&head))
        .map(|message| message.trim().to_string())
}

/// Check that the message is the text's beginning up to a line's end, followed by a note about the rest.
fn cut(text: &str, message: &str) -> Result<Seen, String> {
    let same: usize = text.chars().zip(message.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let kept = text.get(..same).unwrap_or_default();
    let line_end = kept.rfind('\n').map_or(0, |at| at + 1);
    let rest = message.get(line_end..).unwrap_or_default();
    hold(
        [
            (!message.is_empty(), "there is a text"),
            (!message.contains("truncated"), "the vendor cut nothing"),
            (message.len() < text.len(), "it is shorter"),
            (message.contains("digest"), "the digest is still named"),
            (!kept[line_end..].starts_with("obligation"), "no line is begun and not ended"),
            (rest.len() < 1_000, "what follows the kept lines is short"),
        ],
        &format!("{} of {} characters kept; then: {}", line_end, text.len(), short(rest)),
    )
}
