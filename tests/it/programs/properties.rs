//! Properties of every frame, and of a hook's answer to any bytes.

use std::collections::BTreeSet;

use metaharness::frame::{
    self, BARE_OPERATIONS, Entities, Frame, Handoff, Node, Obligation, Operation, Prior, ScopeRule, Step, Workflow,
};
use metaharness::seal;
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{CLAUDE, CODEX, Run, Scratch, VENDORS, bytes, call, event, fixture};

/// Strings with characters that an escape, a sort order or a normal form could get wrong.
fn text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        '"',
        '\\',
        '/',
        '\0',
        '\u{8}',
        '\t',
        '\n',
        '\u{c}',
        '\r',
        '\u{1f}',
        '\u{7f}',
        '\u{80}',
        '\u{85}',
        '\u{2028}',
        '\u{feff}',
        '\u{e000}',
        '\u{ff5e}',
        '\u{fffd}',
        '\u{10000}',
        '\u{1f600}',
        'e',
        '\u{301}',
        '<',
        '&',
        '*',
        ':',
    ]);
    vec(prop_oneof![odd, any::<char>(), proptest::char::range('a', 'c')], 0..6).prop_map(String::from_iter)
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        prop::sample::select(BARE_OPERATIONS.to_vec()),
        (text(), text()).prop_map(|(server, tool)| Operation::McpCall { server, tool }),
    ]
}

fn operations() -> impl Strategy<Value = BTreeSet<Operation>> {
    btree_set(operation(), 0..6)
}

fn obligations() -> impl Strategy<Value = Vec<Obligation>> {
    vec((text(), option::of(text())).prop_map(|(text, asked_by)| Obligation { text, asked_by }), 0..3)
}

fn handoff() -> impl Strategy<Value = Handoff> {
    prop_oneof![
        Just(Handoff::None),
        (text(), option::of(text())).prop_map(|(name, kind)| Handoff::Artifact { name, kind }),
        text().prop_map(|schema| Handoff::StructuredAnswer { schema }),
    ]
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let step = (text(), text(), any::<u32>(), any::<u32>());
    let rule = (vec(text(), 0..3), operations());
    (
        (text(), text(), text(), step),
        vec((text(), option::of(text())), 0..3),
        obligations(),
        obligations(),
        vec(text(), 0..3),
        handoff(),
        operations(),
        vec(rule, 0..3),
        option::of((text(), vec(text(), 0..3))),
    )
        .prop_map(|(names, prior, obligations, reaching, next, handoff, operations, scope, entities)| Frame {
            workflow: Workflow { id: names.0, version: names.1 },
            node: Node { id: names.2 },
            step: Step { workflow: names.3.0, state: names.3.1, index: names.3.2, attempt: names.3.3 },
            prior: prior.into_iter().map(|(text, source)| Prior { text, source }).collect(),
            obligations,
            reaching,
            next: next.into_iter().map(|id| Node { id }).collect(),
            handoff,
            operations,
            scope: scope.into_iter().map(|(subjects, operations)| ScopeRule { subjects, operations }).collect(),
            entities: entities.map(|(source, members)| Entities { source, members }),
        })
}

/// The value that the digest covers, by an independent reader.
fn sealed_value(document: &str) -> Value {
    let mut value: Value = serde_json::from_str(document).unwrap();
    let object = value.as_object_mut().unwrap();
    object.remove("digest").unwrap();
    object.remove("format").unwrap();
    value
}

/// The JSON pointers of every value inside.
fn pointers(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| pointers(value, format!("{at}/{key}"), all)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, value)| pointers(value, format!("{at}/{n}"), all))
        }
        _ => {}
    }
    all.push(at);
}

proptest! {
    #![proptest_config(crate::common::cases(400))]

    #[test]
    fn any_frame_keeps_its_value_when_sealed_and_verified(frame in any_frame()) {
        let sealed = seal::seal(frame.clone());
        let document = sealed.document();
        let verified = seal::verify(document.as_bytes(), Some(sealed.digest())).unwrap();
        prop_assert_eq!(verified.frame(), &frame);
        prop_assert_eq!(verified.document(), document.clone());
        let (minted, how) = seal::mint(document.as_bytes(), false).unwrap();
        prop_assert_eq!((minted.document(), how), (document, seal::Minted::Before));
    }

    #[test]
    fn the_canonical_bytes_are_those_of_an_independent_reading_of_rfc_8785(frame in any_frame()) {
        let sealed = seal::seal(frame);
        let value = sealed_value(&sealed.document());
        prop_assert_eq!(sealed.canonical().into_bytes(), serde_json_canonicalizer::to_vec(&value).unwrap());
    }

    #[test]
    fn layout_and_key_order_on_disk_do_not_change_the_value(frame in any_frame(), pretty in any::<bool>()) {
        let sealed = seal::seal(frame);
        let value: Value = serde_json::from_str(&sealed.document()).unwrap();
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap().replace('\n', "\r\n\t") } else { value.to_string() };
        let back: Vec<_> = value.as_object().unwrap().iter().rev().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
        for text in [text, format!("{{{}}}", back.join(","))] {
            prop_assert_eq!(&seal::verify(text.as_bytes(), None).unwrap(), &sealed);
        }
    }

    /// One change to any value of the document is refused, unless it changes nothing.
    #[test]
    fn any_change_of_meaning_is_refused(frame in any_frame(), which in any::<prop::sample::Index>(), how in 0..6_u8) {
        let sealed = seal::seal(frame);
        let mut value: Value = serde_json::from_str(&sealed.document()).unwrap();
        let mut all = Vec::new();
        pointers(&value, String::new(), &mut all);
        let place = value.pointer_mut(&all[which.index(all.len())]).unwrap();
        match (&mut *place, how) {
            (Value::String(text), 0) => text.push('x'),
            (Value::String(text), 1) => { text.pop(); }
            (Value::Number(number), 0 | 1) => *place = json!(number.as_u64().unwrap().wrapping_add(1)),
            (Value::Array(items), 0) => { items.pop(); }
            (Value::Array(items), 1) => items.reverse(),
            (Value::Array(items), 2) => items.extend(items.first().cloned()),
            (Value::Object(members), 0) => { members.insert("x".into(), json!(1)); }
            (Value::Object(members), 1) => { let key = members.keys().next().cloned(); key.map(|key| members.remove(&key)); }
            (_, 3) => *place = json!(null),
            (_, 4) => *place = json!("shell"),
            _ => *place = json!([]),
        }
        match seal::verify(value.to_string().as_bytes(), None) {
            // it changed nothing: a set in another order, a nullable key left out, an empty scope
            Ok(found) => prop_assert_eq!(found.frame(), sealed.frame()),
            Err(refusal) => prop_assert!(!refusal.to_string().is_empty()),
        }
    }

    #[test]
    fn any_bytes_are_a_frame_or_a_refusal(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(seal::verify(&bytes, None).is_err());
    }

    #[test]
    fn a_sealed_document_with_bytes_broken_is_refused_or_the_same(frame in any_frame(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let sealed = seal::seal(frame);
        let mut bytes = sealed.document().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(found) = seal::verify(&bytes, None) {
            prop_assert_eq!(found.frame(), sealed.frame());
        }
    }

    #[test]
    fn no_string_adds_a_line_to_the_text(frame in any_frame()) {
        let text = frame::text(&frame, &"0".repeat(64)).whole();
        prop_assert!(!text.ends_with('\n'));
        for line in text.lines() {
            prop_assert!(!line.ends_with([' ', '\t']), "{:?}", line);
            prop_assert!(!line.contains(|c: char| c != '\t' && c.is_control()), "{:?}", line);
        }
        // each title has as many lines as the frame has strings for it, whatever the strings hold
        let breaks = |text: &str| text.replace("\r\n", "\n").matches(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']).count();
        let lines: usize = frame.prior.iter().map(|prior| 1 + breaks(&prior.text)).sum();
        if !frame.prior.is_empty() {
            let section = text.split("\n\n").find(|section| section.starts_with("Already established:")).unwrap();
            prop_assert_eq!(section.lines().count(), 1 + lines);
        }
    }
}

/// Check for an answer that a hook may give: exit 0 or 2, and stdout empty or one object.
fn is_an_answer(vendor: &str, payload: &[u8]) -> Result<(), TestCaseError> {
    let answer = Run::hook(vendor).frame(fixture("golden/frame.json")).stdin(payload).answer();
    prop_assert!(matches!(answer.code, 0 | 2), "{:?}", answer);
    if !answer.stdout.is_empty() {
        let json = answer.json();
        let known = ["hookSpecificOutput", "decision", "reason", "continue", "stopReason"];
        let all_known = json.as_object().unwrap().keys().all(|key| known.contains(&&**key));
        prop_assert!(all_known);
    }
    prop_assert_eq!(answer.code == 2, !answer.stderr.is_empty());
    let said = answer.stderr.strip_suffix('\n').unwrap_or_default();
    prop_assert!(said.len() <= 1_000 && said.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{:?}", answer);
    Ok(())
}

/// JSON of any shape, with keys that a hook reads among others.
fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "hook_event_name",
            "tool_name",
            "tool_input",
            "cwd",
            "mcp_server",
            "name",
            "file_path",
            "command",
            "path",
            "pattern",
            "server",
            "ws",
            "turn_id",
            "prompt_id",
        ])
        .prop_map(String::from),
        text(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
        prop::sample::select(vec![
            "PreToolUse",
            "PermissionRequest",
            "Bash",
            "Write",
            "apply_patch",
            "mcp__a__b__c",
            "Glob"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((key.clone(), inner), 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    // each case starts two processes
    #![proptest_config(crate::common::cases(150))]

    #[test]
    fn any_bytes_get_an_answer(payload in vec(any::<u8>(), 0..300)) {
        for vendor in VENDORS {
            is_an_answer(vendor, &payload)?;
        }
    }

    #[test]
    fn any_json_gets_an_answer(payload in any_json()) {
        for vendor in VENDORS {
            is_an_answer(vendor, &bytes(&payload))?;
        }
    }

    #[test]
    fn any_input_of_any_tool_gets_an_answer(
        input in any_json(),
        tool in prop::sample::select(vec![
            "Bash", "Write", "Edit", "NotebookEdit", "Glob", "Grep", "Monitor", "ReadMcpResourceTool", "mcp__a__b__c",
            "apply_patch", "view_image", "read_mcp_resource", "write_stdin",
        ]),
        name in prop::sample::select(vec!["PreToolUse", "PermissionRequest", "PreSkillShellCommand", "Stop", "SessionStart"]),
    ) {
        for vendor in VENDORS {
            let mut payload = call(vendor, tool, input.clone());
            payload["hook_event_name"] = name.into();
            is_an_answer(vendor, &bytes(&payload))?;
        }
    }

    #[test]
    fn a_payload_with_a_byte_broken_gets_an_answer(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for (vendor, recorded) in [(CLAUDE, "payloads/claude/Write.json"), (CODEX, "payloads/codex/PreToolUse.apply_patch.json")] {
            let mut payload = fs_err::read(fixture(recorded)).unwrap();
            let at = at.index(payload.len());
            payload[at] = byte;
            is_an_answer(vendor, &payload)?;
        }
    }

    #[test]
    fn a_patch_of_any_text_gets_an_answer_and_never_more_than_its_frame(lines in vec(
        prop_oneof![
            prop::sample::select(vec![
                "*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Update File: a", "*** Delete File: a",
                "*** Move to: b", "@@", "+x", "-x", " x", "*** End of File", "***", "*** Add File:", "",
            ]).prop_map(String::from),
            text(),
        ], 0..8)
    ) {
        let payload = bytes(&call(CODEX, "apply_patch", json!({ "command": lines.join("\n") })));
        is_an_answer(CODEX, &payload)?;
        // a frame that admits neither operation admits no patch
        let answer = Run::hook(CODEX).frame(fixture("frames/read-only.json")).stdin(payload).answer();
        prop_assert_eq!(answer.code, 2);
    }
}

#[test]
fn an_event_of_any_name_without_a_tool_is_silent_under_a_good_frame() {
    let scratch = Scratch::new();
    let frame = scratch.admitting(&["shell"]);
    for vendor in VENDORS {
        for name in ["x", "\u{0}", "PreToolUseX", "\u{1f600}", "Stop "] {
            Run::hook(vendor).frame(&frame).stdin(bytes(&event(vendor, name))).answer().is_silent();
        }
    }
}
