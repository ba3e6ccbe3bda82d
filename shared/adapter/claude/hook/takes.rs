//! The inputs of Claude Code's tools that were seen to run with a replaced input, by the schemas that its model gets
//! (release 2.1.332). If an input does not fit, the vendor drops it, and neither input runs. The vendor accepts numbers
//! and booleans written as strings, and ignores unknown members; both are refused here, since the call that runs would
//! not be the one that was decided.

use crate::adapter::Takes;
use crate::adapter::takes::Form::{Between, Flag, List, Map, Number, Object, Said, Text, Whole, Word};
use crate::adapter::takes::Member;

/// The greatest integer that JavaScript represents exactly, as it does all smaller ones.
const SAFE: i64 = (1 << 53) - 1;

/// The tools that accept a replaced input.
pub static TAKES: &[Takes] = &[
    Takes::new(
        "Agent",
        &[
            Member::needed("description", Text),
            Member::needed("prompt", Text),
            Member::optional("subagent_type", Text),
            Member::optional("model", Word(&["sonnet", "opus", "haiku", "fable"])),
            Member::optional("effort", Word(&["low", "medium", "high", "xhigh", "max"])),
            Member::optional("run_in_background", Flag),
            Member::optional("isolation", Word(&["worktree", "remote"])),
        ],
    ),
    Takes::new(
        "Bash",
        &[
            Member::needed("command", Text),
            Member::optional("timeout", Number),
            Member::optional("description", Text),
            Member::optional("run_in_background", Flag),
            Member::optional("dangerouslyDisableSandbox", Flag),
        ],
    ),
    Takes::new(
        "Edit",
        &[
            Member::needed("file_path", Text),
            Member::needed("old_string", Text),
            Member::needed("new_string", Text),
            Member::optional("replace_all", Flag),
        ],
    ),
    Takes::new("Glob", &[Member::needed("pattern", Text), Member::optional("path", Text)]),
    Takes::new(
        "Grep",
        &[
            Member::needed("pattern", Text),
            Member::optional("path", Text),
            Member::optional("glob", Text),
            Member::optional("output_mode", Word(&["content", "files_with_matches", "count"])),
            Member::optional("-B", Number),
            Member::optional("-A", Number),
            Member::optional("-C", Number),
            Member::optional("context", Number),
            Member::optional("-n", Flag),
            Member::optional("-i", Flag),
            Member::optional("-o", Flag),
            Member::optional("type", Text),
            // the schema allows any number, but of a replaced input the tool accepts only these
            Member::optional("head_limit", Whole(0, SAFE)),
            Member::optional("offset", Number),
            Member::optional("multiline", Flag),
        ],
    ),
    Takes::new(
        "Monitor",
        &[
            Member::optional("command", Text),
            Member::needed("description", Text),
            Member::optional("timeout_ms", Between(1_000, 3_600_000)),
            Member::optional(
                "ws",
                Object(&[
                    Member::needed("url", Said(is_socket, "a ws:// or wss:// address")),
                    Member::optional("protocols", List(&Said(is_token, "the name of a protocol"))),
                ]),
            ),
        ],
    )
    .one_of(&["command", "ws"]),
    Takes::new(
        "NotebookEdit",
        &[
            Member::needed("notebook_path", Text),
            Member::optional("cell_id", Text),
            Member::needed("new_source", Text),
            Member::optional("cell_type", Word(&["code", "markdown"])),
            Member::optional("edit_mode", Word(&["replace", "insert", "delete"])),
        ],
    ),
    Takes::new(
        "Read",
        &[
            Member::needed("file_path", Text),
            Member::optional("offset", Whole(0, SAFE)),
            Member::optional("limit", Whole(1, SAFE)),
            Member::optional("pages", Text),
            Member::optional("allow_large", Flag),
        ],
    ),
    Takes::new("Skill", &[Member::needed("skill", Said(is_name, "a skill's name")), Member::optional("args", Text)]),
    Takes::new(
        "TaskCreate",
        &[
            Member::needed("subject", Text),
            Member::needed("description", Text),
            Member::optional("activeForm", Text),
            Member::optional("metadata", Map),
        ],
    ),
    Takes::new("Write", &[Member::needed("file_path", Text), Member::needed("content", Text)]),
];

fn is_socket(url: &str) -> bool {
    let authority = url.strip_prefix("ws://").or_else(|| url.strip_prefix("wss://")).unwrap_or_default();
    let host = authority.split(['/', '?', '#']).next().unwrap_or_default();
    !host.is_empty() && !host.contains('@') && url.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn is_name(name: &str) -> bool {
    !name.trim().is_empty()
}
