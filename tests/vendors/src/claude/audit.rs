//! The audit file after a real session: one whole line for each decision, whichever agent called.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Cases;
use super::drive::agent_input;
use super::script::Call;
use crate::entry::Ask;
use crate::frame::Spec;

pub fn add(cases: &mut Cases) {
    cases.holds("the audit has one line for each decision, also of calls at once and of sub-agents", |run| {
        let scratch = run.scratch;
        let frame = Spec::all_but("shell").seal(scratch, "frame.json")?;
        let audit = scratch.logs.join("audit.jsonl");
        let ask = Ask { audit: Some(audit.clone()), ..Ask::pinned(&frame) };
        let path = scratch.write("a.txt", "x")?;
        let read = || Call::new("Read", json!({"file_path": path}));
        let shell = json!({"command": "touch o.txt", "description": "d"});
        let outcome = run
            .entry(&ask, &frame)?
            .calls((0..10).map(|_| read()).collect())
            .calls(vec![Call::new("Agent", agent_input("PARTONE")), Call::new("Agent", agent_input("PARTTWO"))])
            .agent_call("PARTONE", "Bash", shell.clone())
            .agent_call("PARTTWO", "Bash", shell)
            .go()?;
        let text = std::fs::read_to_string(&audit).map_err(|error| format!("no audit: {error}"))?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for line in text.lines() {
            let line: Value =
                serde_json::from_str(line).map_err(|error| format!("a line is no JSON: {error}: {line}"))?;
            *counts.entry(line["tool"].as_str().or(line["name"].as_str()).unwrap_or("-").to_string()).or_default() += 1;
        }
        let count = |tool: &str| counts.get(tool).copied().unwrap_or_default();
        if (count("Read"), count("Agent"), count("Bash")) == (10, 2, 2) {
            return Ok(());
        }
        Err(format!("the lines are {counts:?}; {}", outcome.detail()))
    });
}
