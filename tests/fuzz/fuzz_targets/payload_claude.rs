//! Any bytes as a payload of Claude Code.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metaharness::adapter::claude::Claude;
use metaharness_fuzz::json::Json;
use metaharness_fuzz::payload::{Facts, hold};

const FACTS: Facts = Facts {
    gates: &["PreToolUse", "PreSkillShellCommand"],
    silent: false,
    folder: ".claude",
    writes,
    touches: |tool, input| match tool {
        "Read" => member(input, "file_path"),
        tool => writes(tool, input),
    },
};

fn writes(tool: &str, input: &Json) -> Vec<String> {
    match tool {
        "Write" | "Edit" | "MultiEdit" => member(input, "file_path"),
        "NotebookEdit" => member(input, "notebook_path"),
        _ => Vec::new(),
    }
}

fn member(input: &Json, name: &str) -> Vec<String> {
    input.get(name).and_then(Json::text).map(String::from).into_iter().collect()
}

fuzz_target!(|bytes: &[u8]| hold(&Claude, bytes, &FACTS));
