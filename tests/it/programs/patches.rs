//! Codex's patches: the operations that each of their files needs.

use serde_json::{Value, json};

use crate::common::{CODEX, Run, Scratch, bytes, call};

/// The reason against a patch under a frame that admits these operations; `None` if it is admitted.
fn says(operations: &[&str], input: Value) -> Option<String> {
    let scratch = Scratch::new();
    let frame = scratch.admitting(operations);
    let answer = Run::hook(CODEX).frame(frame).stdin(bytes(&call(CODEX, "apply_patch", input))).answer();
    if answer.code == 0 {
        answer.is_silent();
        return None;
    }
    let reason = answer.denial();
    Some(reason.strip_prefix("apply_patch ").unwrap().split(" (step 1, ").next().unwrap().into())
}

fn patch(body: &str) -> Value {
    json!({ "command": format!("*** Begin Patch\n{body}\n*** End Patch") })
}

const ADD: &str = "*** Add File: a.txt\n+text";
const DELETE: &str = "*** Delete File: a.txt";
const UPDATE: &str = "*** Update File: a.txt\n@@ fn main\n a\n-b\n+c\n*** End of File";
const MOVE: &str = "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-b\n+c";

fn needs(operation: &str) -> Option<String> {
    Some(format!("needs {operation}, which is not admitted"))
}

#[test]
fn each_kind_of_change_needs_its_operation() {
    for (body, write, edit) in [
        (ADD, None, needs("file.write")),
        (DELETE, None, needs("file.write")),
        (UPDATE, needs("file.edit"), None),
        (MOVE, needs("file.edit"), needs("file.write")),
        (&format!("{ADD}\n{UPDATE}"), needs("file.edit"), needs("file.write")),
        (&format!("{UPDATE}\n{DELETE}"), needs("file.edit"), needs("file.write")),
    ] {
        assert_eq!(says(&["file.write"], patch(body)), write, "{body}");
        assert_eq!(says(&["file.edit"], patch(body)), edit, "{body}");
        assert_eq!(says(&["file.edit", "file.write"], patch(body)), None, "{body}");
        // admitting the shell does not admit the patch tool
        assert!(says(&["shell", "file.read"], patch(body)).is_some(), "{body}");
    }
}

#[test]
fn a_header_is_read_in_every_spelling() {
    for header in [
        "*** Add File: a.txt",
        "  *** Add File: a.txt",
        "\t*** Add File: a.txt  ",
        "*** Add File:a.txt",
        "***  Add File: a.txt",
        "*** Add File : a.txt",
        "*** Add File: a.txt\r",
    ] {
        assert_eq!(says(&["file.edit"], patch(header)), needs("file.write"), "{header:?}");
    }
    // between added lines it is text; between context lines it counts as a header
    assert_eq!(says(&["file.edit"], patch("*** Update File: a\n@@\n+*** Add File: b")), None);
    assert_eq!(says(&["file.edit"], patch("*** Update File: a\n@@\n-*** Delete File: b")), None);
    assert_eq!(says(&["file.edit"], patch("*** Update File: a\n@@\n *** Add File: b")), needs("file.write"));
}

#[test]
fn a_header_that_is_not_known_is_named() {
    for (header, shown) in [
        ("*** Copy File: a", "Copy File: a"),
        ("*** add file: a", "add file: a"),
        ("*** Add File:", "Add File:"),
        ("*** Add File", "Add File"),
        ("*** Update File: a\n*** Moved to: b", "Moved to: b"),
        ("*** Chmod: \u{430}", "Chmod: \\u{430}"),
        // Codex takes a second blank for the name's first character
        ("*** Add File:  a", "Add File:  a"),
        ("*** Update File: \ta", "Update File: \\ta"),
    ] {
        let wanted = format!("has the patch header `{shown}`, of which it is not known what it changes");
        assert_eq!(says(&["file.edit", "file.write"], patch(header)), Some(wanted));
    }
}

#[test]
fn a_patch_that_cannot_be_read_needs_both() {
    for command in ["", "not a patch", "*** Begin Patch\n*** End Patch"] {
        let input = json!({ "command": command });
        assert_eq!(says(&["file.write"], input.clone()), needs("file.edit"), "{command:?}");
        assert_eq!(says(&["file.edit"], input.clone()), needs("file.write"), "{command:?}");
        assert_eq!(says(&["file.edit", "file.write"], input), None, "{command:?}");
    }
    let why = "has no `command` that is a string, so its patch cannot be read";
    for input in
        [json!({}), json!(null), json!("*** Begin Patch"), json!({ "command": ["a"] }), json!({ "patch": "x" })]
    {
        assert_eq!(says(&["file.edit", "file.write"], input), Some(why.into()));
    }
}

#[test]
fn line_ends_of_every_kind_end_a_line() {
    let patch = json!({ "command": "*** Begin Patch\r\n*** Update File: a.txt\r\n@@\r\n-a\r\n+b\r\n*** Add File: b\r\n*** End Patch\r\n" });
    assert_eq!(says(&["file.edit"], patch), needs("file.write"));
}
