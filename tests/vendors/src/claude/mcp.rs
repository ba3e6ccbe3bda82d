//! MCP: the server's raw name decides; the vendor's rewriting of it does not matter.

use serde_json::{Value, json};

use super::Cases;
use super::drive::Run;
use crate::case::{Seen, Want};
use crate::frame::Spec;

/// A server, a tool, and the name by which the model calls the tool.
const NAMES: &[(&str, &str, &str)] = &[
    ("lab", "append", "mcp__lab__append"),
    ("my server", "append", "mcp__my_server__append"),
    ("dot.ted", "do.thing", "mcp__dot_ted__do_thing"),
    ("brave-search", "brave_web-search", "mcp__brave-search__brave_web-search"),
    ("lab__two", "do__it", "mcp__lab__two__do__it"),
    ("Ünï", "append", "mcp___n___append"),
    ("plugin:x:y", "append", "mcp__plugin_x_y__append"),
];

/// A server with one tool that leaves `mark` in the project.
fn serving<'a>(run: Run<'a>, server: &str, tool: &str, mark: &str) -> Result<Run<'a>, String> {
    let path = run.scratch.project.join(mark);
    run.server(server, &json!({"tools": {tool: path}}))
}

fn call(run: Run<'_>, server: &str, tool: &str, name: &str) -> Result<Seen, String> {
    serving(run, server, tool, "o.txt")?.call(name, json!({"note": "x"})).effect_or_refusal("o.txt")
}

/// Admits a pair that renders like another one. `mh-frame-seal` refuses such pairs, but other sealers may not.
fn admit(spec: &Spec, server: &str, tool: &str) -> Spec {
    let name = format!("{server}__{tool}");
    if name.matches("__").count() > 1 || !name.is_ascii() {
        return spec.clone().ambiguous_mcp(server, tool);
    }
    spec.clone().mcp(server, tool)
}

pub fn add(cases: &mut Cases) {
    for (server, tool, name) in NAMES {
        cases.ran(format!("MCP {server:?} {tool:?}, admitted"), move |run| {
            call(run.frame(&admit(&Spec::admitting(&[]), server, tool))?.mode("manual"), server, tool, name)
        });
        cases.blocked(format!("MCP {server:?} {tool:?}, another tool of it admitted"), move |run| {
            call(run.frame(&admit(&Spec::all(), server, "else"))?, server, tool, name)
        });
    }
    cases.blocked("MCP, no tool of any server admitted", |run| {
        call(run.frame(&Spec::all())?, "lab", "append", "mcp__lab__append")
    });
    cases.blocked("MCP \"my server\", a look-alike \"my_server\" admitted", |run| {
        call(run.frame(&Spec::all().mcp("my_server", "append"))?, "my server", "append", "mcp__my_server__append")
    });
    cases.blocked("MCP \"a__b\" \"c\", the other split \"a\" \"b__c\" admitted", |run| {
        call(run.frame(&admit(&Spec::all(), "a", "b__c"))?, "a__b", "c", "mcp__a__b__c")
    });
    cases.ran("MCP \"a__b\" \"c\", this split admitted", |run| {
        call(run.frame(&admit(&Spec::all(), "a__b", "c"))?, "a__b", "c", "mcp__a__b__c")
    });
    alike(cases);
    resources(cases);
    cases.blocked("MCP from the project's .mcp.json, not admitted", |run| project_server(run, &Spec::all()));
    cases.ran("MCP from the project's .mcp.json, admitted", |run| {
        project_server(run, &Spec::admitting(&[]).mcp("lab", "append"))
    });
}

/// Two servers with one rendered name. The vendor calls one of them, and the call may run only on the server that the
/// frame names.
fn alike(cases: &mut Cases) {
    let pairs = [
        (("my server", "append"), ("my_server", "append"), "mcp__my_server__append"),
        (("a", "b__c"), ("a__b", "c"), "mcp__a__b__c"),
    ];
    for (one, two, name) in pairs {
        for (admitted, other) in [(one, two), (two, one)] {
            for (first, second) in [(one, two), (two, one)] {
                let title = format!("MCP {one:?} and {two:?}, only {admitted:?} admitted, {first:?} configured first");
                cases.holds(title, move |run| {
                    let mark = |which: (&str, &str)| {
                        if which == admitted { "admitted.txt" } else { "other.txt" }
                    };
                    let scratch = run.scratch;
                    let run = run.frame(&admit(&Spec::all(), admitted.0, admitted.1))?;
                    let run = serving(run, first.0, first.1, mark(first))?;
                    let run = serving(run, second.0, second.1, mark(second))?;
                    let outcome = run.call(name, json!({})).go()?;
                    outcome.effect(false)?;
                    if scratch.exists("other.txt") {
                        return Err(format!("{other:?} was called; {}", outcome.detail()));
                    }
                    Ok(())
                });
            }
        }
    }
}

fn with_resource(run: Run<'_>) -> Result<Run<'_>, String> {
    let mark = run.scratch.project.join("o.txt");
    run.server("lab", &json!({"tools": {}, "resources": {"lab://one": mark}}))
}

fn resources(cases: &mut Cases) {
    const RESOURCES: [(&str, &str, &str); 2] = [
        ("ListMcpResourcesTool", "resources/list", "lab://one"),
        ("ReadMcpResourceTool", "resources/read", "the resource's text"),
    ];
    for (tool, operation, text) in RESOURCES {
        let input = json!({"server": "lab", "uri": "lab://one"});
        let input = if tool.starts_with("List") { json!({"server": "lab"}) } else { input };
        for (name, spec, want) in [
            ("admitted", Spec::admitting(&[]).mcp("lab", operation), Want::Ran),
            ("a tool of that server admitted", Spec::all().mcp("lab", "append"), Want::Blocked),
            ("another server's admitted", Spec::all().mcp("other", operation), Want::Blocked),
        ] {
            let input: Value = input.clone();
            cases.add(format!("{tool}, {name}"), want, move |run| {
                with_resource(run.frame(&spec)?)?.call(tool, input.clone()).told(text)
            });
        }
    }
    cases.blocked("ListMcpResourcesTool that names no server", |run| {
        let spec = Spec::all().mcp("lab", "resources/list");
        with_resource(run.frame(&spec)?)?.call("ListMcpResourcesTool", json!({})).told("lab://one")
    });
}

fn project_server(run: Run<'_>, spec: &Spec) -> Result<Seen, String> {
    let mark = run.scratch.project.join("o.txt");
    let suite = std::env::current_exe().map_err(|error| error.to_string())?;
    let server = json!({"command": suite, "args": ["mcp", json!({"tools": {"append": mark}}).to_string()]});
    run.scratch.write(".mcp.json", &json!({"mcpServers": {"lab": server}}).to_string())?;
    run.frame(spec)?
        .user_setting("enableAllProjectMcpServers", json!(true))
        .call("mcp__lab__append", json!({}))
        .effect_or_refusal("o.txt")
}
