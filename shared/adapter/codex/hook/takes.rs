//! The inputs of Codex's tools that were seen to run with a replaced input (release 0.171.0). For a shell and a patch,
//! a hook sees `command` alone, and Codex takes only that from the answer; the other inputs are as its model gets them.
//! Except for `update_plan`, Codex ignores unknown members of these, so the call that runs would not be the one that
//! was decided.

use crate::adapter::Takes;
use crate::adapter::takes::Form::{Flag, List, Object, Text, Word};
use crate::adapter::takes::Member;

const COMMAND: &[Member] = &[Member::needed("command", Text)];

/// The tools that accept a replaced input.
pub static TAKES: &[Takes] = &[
    Takes::new("Bash", COMMAND),
    Takes::new("apply_patch", COMMAND),
    Takes::new("view_image", &[Member::needed("path", Text)]),
    Takes::new(
        "update_plan",
        &[
            Member::optional("explanation", Text),
            Member::needed(
                "plan",
                List(&Object(&[
                    Member::needed("step", Text),
                    Member::needed("status", Word(&["pending", "in_progress", "completed"])),
                ])),
            ),
        ],
    )
    .null_is_absent(),
    Takes::new(
        "spawn_agent",
        &[
            Member::optional("message", Text),
            Member::optional(
                "items",
                List(&Object(&[
                    Member::optional("type", Text),
                    Member::optional("text", Text),
                    Member::optional("image_url", Text),
                    Member::optional("audio_url", Text),
                    Member::optional("path", Text),
                    Member::optional("name", Text),
                ])),
            ),
            Member::optional("model", Text),
            Member::optional("reasoning_effort", Text),
            Member::optional("fork_context", Flag),
        ],
    )
    .one_of(&["message", "items"])
    .null_is_absent(),
];
