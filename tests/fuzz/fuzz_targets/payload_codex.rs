//! Any bytes as a payload of Codex.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metaharness::adapter::codex::Codex;
use metaharness_fuzz::json::Json;
use metaharness_fuzz::payload::{Facts, hold};

const FACTS: Facts = Facts {
    gates: &["PreToolUse"],
    silent: true,
    folder: ".codex",
    writes: patched,
    touches: |tool, input| match (tool, input.get("path").and_then(Json::text)) {
        ("view_image", Some(file)) => vec![file.into()],
        _ => patched(tool, input),
    },
};

/// The files of a patch, where its headers can be read in one way only.
fn patched(tool: &str, input: &Json) -> Vec<String> {
    let Some(patch) = input.get("command").and_then(Json::text).filter(|_| tool == "apply_patch") else {
        return Vec::new();
    };
    let words = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    patch.lines().filter_map(|line| words.iter().find_map(|word| line.strip_prefix(word))).map(String::from).collect()
}

fuzz_target!(|bytes: &[u8]| hold(&Codex, bytes, &FACTS));
