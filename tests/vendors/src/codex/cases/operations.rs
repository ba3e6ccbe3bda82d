//! Every operation that has a tool on Codex: an admitted tool runs, and one whose operation alone is not admitted does
//! not.

use serde_json::{Value, json};

use super::{List, MARK, OPERATIONS, adds, all_but, denied, touch, under};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Codex, Outcome};
use crate::frame::Spec;
use crate::schemas::{self, Schemas};
use crate::scratch::Scratch;

/// A tool, its operation and its visible effect.
struct Row {
    name: &'static str,
    needs: &'static [&'static str],
    call: fn(&Scratch) -> Call,
    ran: fn(&Scratch, &Outcome) -> bool,
}

const ROWS: &[Row] = &[
    Row { name: "exec_command", needs: &["shell"], call: |_| touch(), ran: |scratch, _| scratch.exists(MARK) },
    Row {
        name: "exec_command that reads",
        needs: &["shell"],
        call: |_| Call::shell("cat kept.txt; ls; grep -r kept . > ran.txt"),
        ran: |scratch, _| scratch.exists(MARK),
    },
    Row {
        name: "exec_command that is a patch",
        needs: &["shell"],
        call: |_| {
            Call::shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ran.txt\n+ran\n*** End Patch\nEOF\n")
        },
        ran: |scratch, _| scratch.exists(MARK),
    },
    Row {
        name: "a patch that adds",
        needs: &["file.write"],
        call: |_| adds(MARK),
        ran: |scratch, _| scratch.exists(MARK),
    },
    Row {
        name: "a patch that updates",
        needs: &["file.edit"],
        call: |_| Call::patch("*** Begin Patch\n*** Update File: kept.txt\n@@\n-kept\n+changed\n*** End Patch"),
        ran: |scratch, _| scratch.read("kept.txt") != "kept\n",
    },
    Row {
        name: "a patch that deletes",
        needs: &["file.write"],
        call: |_| Call::patch("*** Begin Patch\n*** Delete File: kept.txt\n*** End Patch"),
        ran: |scratch, _| !scratch.exists("kept.txt"),
    },
    Row {
        name: "a patch that moves",
        needs: &["file.write", "file.edit"],
        call: |_| {
            Call::patch(
                "*** Begin Patch\n*** Update File: kept.txt\n*** Move to: ran.txt\n@@\n-kept\n+moved\n*** End Patch",
            )
        },
        ran: |scratch, _| scratch.exists(MARK) || !scratch.exists("kept.txt"),
    },
    Row {
        name: "a patch that adds and updates",
        needs: &["file.write", "file.edit"],
        call: |_| {
            Call::patch(
                "*** Begin Patch\n*** Add File: ran.txt\n+ran\n*** Update File: kept.txt\n@@\n-kept\n+changed\n*** End Patch",
            )
        },
        ran: |scratch, _| scratch.exists(MARK) || scratch.read("kept.txt") != "kept\n",
    },
    Row {
        name: "view_image",
        needs: &["file.read"],
        call: |scratch| Call::tool("view_image", json!({"path": scratch.project.join("dot.png")})),
        ran: |_, outcome| said(outcome, DOT_ENCODED),
    },
    Row {
        name: "update_plan",
        needs: &["task.todo"],
        call: |_| Call::tool("update_plan", json!({"plan": [{"step": "the only one", "status": "pending"}]})),
        ran: |_, outcome| !denied(outcome),
    },
    Row {
        name: "create_goal",
        needs: &["task.todo"],
        call: |_| Call::tool("create_goal", json!({"objective": "the only goal"})),
        ran: |_, outcome| outcome.told().contains("the only goal"),
    },
    Row {
        name: "get_goal",
        needs: &["task.todo"],
        call: |_| Call::tool("get_goal", json!({})),
        ran: |_, outcome| !denied(outcome),
    },
];

pub fn list(list: &mut List) {
    recorded(list);
    for mode in Mode::BOTH {
        for row in ROWS {
            let name = format!("{}: {}", mode.name(), row.name);
            list.ran(format!("{name} runs when {} is admitted", row.needs.join(" and ")), move |codex, scratch| {
                tried(codex, scratch, mode, row, &Spec::admitting(row.needs))
            });
            for needed in row.needs {
                list.blocked(
                    format!("{name} does not run without {needed}, all else admitted"),
                    move |codex, scratch| tried(codex, scratch, mode, row, &all_but(&[needed])),
                );
            }
        }
        offered(list, mode);
        resources(list, mode);
        conversation(list, mode);
    }
    list.blocked("direct: a tool that may change permissions is denied, all admitted", |codex, scratch| {
        let call = Call::tool(
            "request_permissions",
            json!({"permissions": {"network": {"enabled": true}}, "reason": "to see"}),
        );
        let script = Script::calls(Mode::Direct, &[call]);
        let outcome = under(codex, scratch, Mode::Direct, &Spec::admitting(&OPERATIONS), script)?
            .setting("features.request_permissions_tool=true")
            .run()?;
        outcome.effect(!denied(&outcome))
    });
    list.holds("direct: patches with odd headers add nothing where only file.edit is admitted", |codex, scratch| {
        let odd = [
            "\t*** Add File: ran.txt\n+x",
            "*** Add File:ran.txt\n+x",
            "***  Add File: ran.txt\n+x",
            "*** Add File: ran.txt \t\n+x",
            "*** add file: ran.txt\n+x",
            "\u{a0}*** Add File: ran.txt\n+x",
            "*** Add File: \u{a0}ran.txt\n+x",
            "*** Update File: kept.txt\n@@\n-kept\n+kept\n*** Add File: ran.txt\n+x",
            "*** Update File: kept.txt\n@@\n-kept\n+kept\n \n*** Add File: ran.txt\n+x",
            "*** Update File: kept.txt\n@@\n-kept\n+kept\n*** End of File\n*** Add File: ran.txt\n+x",
            "*** Update File: kept.txt\n*** Move to: ran.txt\n@@\n-kept\n+kept",
            "*** Update File: kept.txt\n\t*** Move to: ran.txt\n@@\n-kept\n+kept",
            "*** Update File: kept.txt\n*** Move to:  ran.txt\n@@\n-kept\n+kept",
            "*** Add File: ran.txt\r\n+x\r",
            "*** Add File: ran.txt\u{2028}+x",
            "*** Environment ID: x\n*** Add File: ran.txt\n+x",
        ];
        scratch.write("kept.txt", "kept\n")?;
        let mut calls: Vec<Call> =
            odd.iter().map(|body| Call::patch(&format!("*** Begin Patch\n{body}\n*** End Patch"))).collect();
        calls.push(Call::patch("<<'EOF'\n*** Begin Patch\n*** Add File: ran.txt\n+x\n*** End Patch\nEOF\n"));
        let outcome =
            under(codex, scratch, Mode::Direct, &Spec::admitting(&["file.edit"]), Script::calls(Mode::Direct, &calls))?
                .run()?;
        let names = || -> Result<Vec<String>, std::io::Error> {
            std::fs::read_dir(&scratch.project)?
                .map(|file| Ok(file?.file_name().to_string_lossy().into_owned()))
                .collect()
        };
        let names = names().map_err(|error| error.to_string())?;
        super::hold([(names == ["kept.txt"], "nothing was added")], &format!("{names:?}; {}", outcome.told()))
    });
    list.holds(
        "the provider's own web search is never seen by a hook; web_search=\"disabled\" takes it from the offer",
        |codex, scratch| {
            let offered = |setting: &str| -> Result<bool, String> {
                let outcome = under(codex, scratch, Mode::Direct, &all_but(&["web.read"]), Script::default())?
                    .setting(setting)
                    .run()?;
                Ok(outcome.asked.iter().any(|asked| {
                    asked.body["tools"]
                        .as_array()
                        .is_some_and(|tools| tools.iter().any(|tool| tool["type"] == "web_search"))
                }))
            };
            super::hold(
                [
                    (offered("web_search=\"live\"")?, "it is offered when it is on"),
                    (!offered("web_search=\"disabled\"")?, "it is not offered when it is off"),
                ],
                "",
            )
        },
    );
}

fn tried(codex: &Codex, scratch: &Scratch, mode: Mode, row: &Row, spec: &Spec) -> Result<Seen, String> {
    scratch.write("kept.txt", "kept\n")?;
    let dot = scratch.project.join("dot.png");
    std::fs::write(&dot, DOT).map_err(|error| format!("could not write {}: {error}", dot.display()))?;
    let script = Script::calls(mode, &[(row.call)(scratch)]);
    let outcome = under(codex, scratch, mode, spec, script)?.config("[tools.update_plan]\nenabled = true\n").run()?;
    outcome.effect((row.ran)(scratch, &outcome))
}

/// The table has every tool that the vendor offers with all features on. An unknown tool is denied, and its row has to
/// be written.
fn offered(list: &mut List, mode: Mode) {
    // Without `memories`: it offers no tool, and its agent in the background may take the script's turn.
    const FEATURES: [&str; 9] = [
        "artifact",
        "context_management",
        "default_mode_request_user_input",
        "goals",
        "multi_agent_v2",
        "request_permissions_tool",
        "send_message_to_user_async",
        "sleep_tool",
        "token_budget",
    ];
    list.holds(format!("{}: every tool that Codex offers is in the table", mode.name()), move |codex, scratch| {
        let asks = match mode {
            Mode::Direct => Script::default(),
            Mode::Code => Script::turns(vec![vec![Say::code("text(ALL_TOOLS.map(tool => tool.name).join(' '))")]]),
        };
        let mut session = under(codex, scratch, mode, &Spec::admitting(&["web.read"]), asks)?
            .config("[tools.update_plan]\nenabled = true\n")
            .server("lab", &json!({"tools": {"note": null}}))?;
        for feature in FEATURES {
            session = session.setting(&format!("features.{feature}=true"));
        }
        let outcome = session.run()?;
        let table = scratch.run(scratch.command(scratch.program("mh-hook-codex")).arg("--table"), "table")?.stdout;
        let known: Vec<&str> = table.lines().filter_map(|line| line.split(' ').next()).collect();
        let mut names: Vec<String> = outcome.asked.iter().flat_map(|asked| names(&asked.body)).collect();
        // A script joins namespace and name; the hook's name has nothing between.
        let nested = outcome.told();
        names.extend(
            nested.lines().last().into_iter().flat_map(|line| line.split(' ')).map(|name| name.replace("__", "")),
        );
        let unknown: Vec<&String> = names
            .iter()
            .filter(|name| !name.is_empty() && !name.starts_with("mcp") && !known.contains(&name.as_str()))
            .collect();
        super::hold(
            [(names.len() > 5, "tools are offered"), (unknown.is_empty(), "all are known")],
            &format!("{unknown:?}"),
        )
    });
}

/// What the tools take that Codex offers, in both generations of its agents.
fn recorded(list: &mut List) {
    list.holds("the schemas of the tools are those in fixtures/tools", |codex, scratch| {
        let mut seen = Schemas::new();
        // the first generation's are told only to a model that looks for them
        let script = || {
            let search = json!({"type": "tool_search_call", "id": "item-s", "call_id": "search", "status": "completed",
                                "execution": "client", "arguments": {"query": "spawn agent", "limit": 20}});
            Script::turns(vec![vec![Say::Item(search)]])
        };
        for mode in Mode::BOTH {
            let outcome = under(codex, scratch, mode, &Spec::admitting(&["web.read"]), script())?
                .config("[tools.update_plan]\nenabled = true\n")
                .run()?;
            for asked in &outcome.asked {
                seen.extend(
                    named(&asked.body).filter_map(|(name, tool)| Some((name, tool.get("parameters")?.clone()))),
                );
            }
        }
        schemas::hold(scratch, "codex", &codex.program, seen)?;
        Ok(Seen::held())
    });
}

/// The tools that a request offers, by the names that a hook would see.
fn names(body: &Value) -> Vec<String> {
    named(body).map(|(name, _)| name).collect()
}

/// The same, each with what the request says of it.
fn named(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    let lists = body["input"].as_array().into_iter().flatten().map(|item| &item["tools"]).chain([&body["tools"]]);
    lists.filter_map(Value::as_array).flatten().flat_map(|tool| {
        let name = tool["name"].as_str().or_else(|| tool["type"].as_str()).unwrap_or_default();
        let space = if name == "functions" { "" } else { name };
        let inner = tool["tools"].as_array().map(|inner| {
            inner
                .iter()
                .filter_map(|tool| Some((format!("{space}{}", tool["name"].as_str()?), tool)))
                .collect::<Vec<_>>()
        });
        inner.unwrap_or_else(|| vec![(name.to_string(), tool)])
    })
}

/// Resources of MCP servers, which are `mcp.call` with the method as the tool.
fn resources(list: &mut List, mode: Mode) {
    let rows: [(&str, &str, Value); 3] = [
        ("list_mcp_resources", "resources/list", json!({"server": "lab"})),
        ("list_mcp_resource_templates", "resources/templates/list", json!({"server": "lab"})),
        ("read_mcp_resource", "resources/read", json!({"server": "lab", "uri": "lab://one"})),
    ];
    for (tool, method, arguments) in rows {
        let call = Call::tool(tool, arguments);
        let run = move |codex: &Codex, scratch: &Scratch, spec: &Spec, call: &Call| {
            let mark = scratch.project.join(MARK);
            // The vendor itself lists resources when it starts a server, and may.
            let spec_of_server = if method == "resources/read" {
                json!({"resources": {"lab://one": mark}})
            } else {
                json!({"resources": {"lab://one": null}})
            };
            let outcome = under(codex, scratch, mode, spec, Script::calls(mode, std::slice::from_ref(call)))?
                .server("lab", &spec_of_server)?
                .run()?;
            outcome.effect(!denied(&outcome))
        };
        let admitted = call.clone();
        list.ran(
            format!("{}: {tool} runs when {method} of that server is admitted", mode.name()),
            move |codex, scratch| run(codex, scratch, &Spec::admitting(&[]).mcp("lab", method), &admitted),
        );
        list.blocked(
            format!("{}: {tool} does not run when another server's is admitted", mode.name()),
            move |codex, scratch| run(codex, scratch, &Spec::admitting(&OPERATIONS).mcp("other", method), &call),
        );
    }
    list.blocked(
        format!("{}: list_mcp_resources that names no server does not run", mode.name()),
        move |codex, scratch| {
            let spec = Spec::admitting(&OPERATIONS).mcp("lab", "resources/list");
            let call = Call::tool("list_mcp_resources", json!({}));
            let outcome = under(codex, scratch, mode, &spec, Script::calls(mode, &[call]))?
                .server("lab", &json!({"resources": {"lab://one": null}}))?
                .run()?;
            outcome.effect(!denied(&outcome))
        },
    );
}

/// Tools that touch nothing outside the conversation need no operation and are not denied.
fn conversation(list: &mut List, mode: Mode) {
    let mut calls = vec![Call::tool("get_context_remaining", json!({}))];
    if mode == Mode::Code {
        calls.push(Call::tool("curr_time", json!({})).within("clock"));
    }
    list.holds(
        format!("{}: tools that touch nothing outside the conversation are let be", mode.name()),
        move |codex, scratch| {
            let outcome = under(codex, scratch, mode, &Spec::admitting(&["web.read"]), Script::calls(mode, &calls))?
                .setting("features.token_budget=true")
                .run()?;
            super::hold([(!denied(&outcome), "none is denied")], &outcome.told())
        },
    );
}

fn said(outcome: &Outcome, part: &str) -> bool {
    outcome.asked.last().is_some_and(|asked| asked.body["input"].to_string().contains(part))
}

/// The beginning of the picture below, as sent to the model.
const DOT_ENCODED: &str = ";base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";

/// A picture of one dot.
const DOT: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 0x0a, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0,
    1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];
