//! MCP tools: the server and tool that a call is for, and the calls that cannot tell it.

use serde_json::{Value, json};

use crate::common::{Answer, CLAUDE, CODEX, Run, Scratch, bytes, call};

struct Case {
    scratch: Scratch,
}

impl Case {
    /// A frame that admits these pairs. mh-frame-seal refuses ambiguous pairs, so the library's plain functions seal
    /// it, as another sealer would.
    fn admitting(pairs: &[(&str, &str)]) -> Case {
        let scratch = Scratch::new();
        let path = scratch.frame("frame.json", &[]);
        let document = fs_err::read(&path).unwrap();
        let mut frame = metaharness::frame::read(&document).unwrap().frame.unwrap();
        for (server, tool) in pairs {
            let (server, tool) = ((*server).into(), (*tool).into());
            frame.operations.insert(metaharness::frame::Operation::McpCall { server, tool });
        }
        fs_err::write(&path, metaharness::seal::seal(frame).document()).unwrap();
        Case { scratch }
    }

    fn fire(&self, vendor: &str, payload: &Value) -> Answer {
        let run = Run::hook(vendor).frame(self.scratch.path("frame.json")).args(["--policy", "deny-only"]);
        run.stdin(bytes(payload)).answer()
    }

    #[track_caller]
    fn admits(&self, vendor: &str, payload: &Value) {
        self.fire(vendor, payload).is_silent();
    }

    #[track_caller]
    fn denies(&self, vendor: &str, payload: &Value, why: &str) {
        let reason = self.fire(vendor, payload).denial();
        let wanted = format!("{} {why} (step 1, ", payload["tool_name"].as_str().unwrap());
        assert!(reason.starts_with(&wanted), "{reason}");
    }
}

/// A call as Claude Code sends it since it names the server.
fn named(tool: &str, server: impl Into<Value>) -> Value {
    let mut payload = call(CLAUDE, tool, json!({}));
    payload["mcp_server"] = json!({ "name": server.into(), "source": "dynamic" });
    payload
}

const AMBIGUOUS: &str = "can be read as 2 different pairs of mcp server and tool, of which only 1 is admitted: it is \
                         ambiguous, and so not admitted";

#[test]
fn a_plain_pair_is_known_by_its_name_alone() {
    let case = Case::admitting(&[("lab", "note")]);
    for vendor in [CLAUDE, CODEX] {
        case.admits(vendor, &call(vendor, "mcp__lab__note", json!({})));
        for (tool, pair) in [
            ("mcp__lab__notes", "lab/notes"),
            ("mcp__lab__Note", "lab/Note"),
            ("mcp__LAB__note", "LAB/note"),
            ("mcp__la__note", "la/note"),
        ] {
            case.denies(
                vendor,
                &call(vendor, tool, json!({})),
                &format!("needs mcp.call {pair}, which is not admitted"),
            );
        }
        for tool in ["mcp__lab", "mcp__lab__", "mcp____note", "mcp__"] {
            let why = format!("needs mcp.call ({tool}), which is not admitted");
            case.denies(vendor, &call(vendor, tool, json!({})), &why);
        }
    }
}

#[test]
fn the_servers_raw_name_settles_an_ambiguous_one() {
    let case = Case::admitting(&[("a", "b__note")]);
    case.admits(CLAUDE, &named("mcp__a__b__note", "a"));
    case.denies(CLAUDE, &named("mcp__a__b__note", "a__b"), "needs mcp.call a__b/note, which is not admitted");
    for server in ["my server", "my.server", "my_server"] {
        let case = Case::admitting(&[("my server", "do.thing")]);
        let payload = named("mcp__my_server__do_thing", server);
        match server {
            "my server" => case.admits(CLAUDE, &payload),
            _ => case.denies(CLAUDE, &payload, &format!("needs mcp.call {server}/do_thing, which is not admitted")),
        }
    }
    let case = Case::admitting(&[("\u{dc}n\u{ef}", "n")]);
    case.admits(CLAUDE, &named("mcp___n___n", "\u{dc}n\u{ef}"));
}

#[test]
fn a_tool_of_another_server_than_the_named_one_is_denied() {
    let case = Case::admitting(&[("lab", "note"), ("other", "note")]);
    let why = "is not a tool of the mcp server that the payload names";
    for server in [json!("other"), json!(""), json!(null), json!(7), json!("lab__note")] {
        case.denies(CLAUDE, &named("mcp__lab__note", server), why);
    }
    case.denies(CLAUDE, &named("mcp__lab__", "lab"), why);
    let mut payload = call(CLAUDE, "mcp__lab__note", json!({}));
    payload["mcp_server"] = "lab".into();
    case.denies(CLAUDE, &payload, why);
}

#[test]
fn without_a_raw_name_every_reading_has_to_be_admitted() {
    let one = Case::admitting(&[("a", "b__note")]);
    let other = Case::admitting(&[("a__b", "note")]);
    let both = Case::admitting(&[("a", "b__note"), ("a__b", "note")]);
    let none = Case::admitting(&[("b", "note")]);
    for vendor in [CLAUDE, CODEX] {
        let payload = call(vendor, "mcp__a__b__note", json!({}));
        one.denies(vendor, &payload, AMBIGUOUS);
        other.denies(vendor, &payload, AMBIGUOUS);
        both.admits(vendor, &payload);
        none.denies(vendor, &payload, "needs mcp.call (mcp__a__b__note), which is not admitted");
        // the separators overlap
        let payload = call(vendor, "mcp__a___b", json!({}));
        Case::admitting(&[("a", "_b")]).denies(vendor, &payload, AMBIGUOUS);
        Case::admitting(&[("a_", "b")]).denies(vendor, &payload, AMBIGUOUS);
        Case::admitting(&[("a", "_b"), ("a_", "b")]).admits(vendor, &payload);
    }
}

#[test]
fn names_in_the_frame_are_compared_in_each_vendors_rendering() {
    let case = Case::admitting(&[("brave-search", "dash-name.dot")]);
    case.admits(CODEX, &call(CODEX, "mcp__brave_search__dash_name_dot", json!({})));
    case.admits(CLAUDE, &call(CLAUDE, "mcp__brave-search__dash-name_dot", json!({})));
    let why = "needs mcp.call brave_search/dash_name_dot, which is not admitted";
    case.denies(CLAUDE, &call(CLAUDE, "mcp__brave_search__dash_name_dot", json!({})), why);
    // for servers with colliding names, Codex uses a hash, which no name in a frame renders to
    let case = Case::admitting(&[("a-b", "tool")]);
    let why = "needs mcp.call a_b_0123456789ab/tool, which is not admitted";
    case.denies(CODEX, &call(CODEX, "mcp__a_b_0123456789ab__tool", json!({})), why);
}

#[test]
fn resources_are_methods_of_a_named_server() {
    let case =
        Case::admitting(&[("lab", "resources/list"), ("lab", "resources/read"), ("lab", "resources/templates/list")]);
    for (vendor, tool, method) in [
        (CLAUDE, "ListMcpResourcesTool", "resources/list"),
        (CLAUDE, "ReadMcpResourceTool", "resources/read"),
        (CODEX, "list_mcp_resources", "resources/list"),
        (CODEX, "list_mcp_resource_templates", "resources/templates/list"),
        (CODEX, "read_mcp_resource", "resources/read"),
    ] {
        case.admits(vendor, &call(vendor, tool, json!({ "server": "lab", "uri": "lab://one" })));
        let why = format!("needs mcp.call other/{method}, which is not admitted");
        case.denies(vendor, &call(vendor, tool, json!({ "server": "other" })), &why);
        let why =
            format!("names no server, so it asks all of them: name one for which mcp.call SERVER/{method} is admitted");
        for input in
            [json!({}), json!({ "server": "" }), json!({ "server": null }), json!({ "server": ["lab"] }), json!("lab")]
        {
            case.denies(vendor, &call(vendor, tool, input), &why);
        }
        let nothing = Case::admitting(&[("lab", "note")]);
        let why = format!("needs mcp.call lab/{method}, which is not admitted");
        nothing.denies(vendor, &call(vendor, tool, json!({ "server": "lab" })), &why);
    }
}

#[test]
fn admitting_every_bare_operation_admits_no_mcp_tool() {
    let frame = crate::common::fixture("frames/everything.json");
    for vendor in [CLAUDE, CODEX] {
        let payload = bytes(&call(vendor, "mcp__lab__note", json!({})));
        let reason = Run::hook(vendor).frame(&frame).stdin(payload).answer().denial();
        assert!(
            reason.starts_with("mcp__lab__note needs mcp.call lab/note, which is not admitted (step 1, "),
            "{reason}"
        );
    }
}
