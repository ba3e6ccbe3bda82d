//! Every operation that has a tool on Claude Code: an admitted tool runs, another one does not.

use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use serde_json::{Value, json};

use super::Cases;
use super::drive::{Drive, Run, agent_input};
use crate::case::{Seen, Want};
use crate::frame::Spec;
use crate::schemas::{self, Schemas};

/// The tools to offer, for tools that the vendor offers only on request.
const OFFERED: &str = "Bash,Read,Write,Edit,NotebookEdit,Glob,Grep,Agent,Skill,WebFetch,WebSearch,ToolSearch";

/// Every tool that can be asked for by name.
const ALL: &str = "Bash,Read,Write,Edit,NotebookEdit,Glob,Grep,Agent,Skill,WebFetch,WebSearch,ToolSearch,Monitor,TaskCreate,TaskUpdate,TaskList,TaskGet,TaskStop,TodoWrite,PowerShell,SendMessage,Workflow,ListMcpResourcesTool,ReadMcpResourceTool";

const NEEDLE: &str = "a-needle-in-the-file";

/// A tool, its operation and its visible effect.
struct Tool {
    name: &'static str,
    needs: &'static [&'static str],
    run: Drive,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "Read",
        needs: &["file.read"],
        run: |run| {
            let path = run.scratch.write("a.txt", NEEDLE)?;
            run.read(path).told(NEEDLE)
        },
    },
    Tool {
        name: "Write",
        needs: &["file.write"],
        run: |run| {
            let path = run.scratch.project.join("o.txt");
            run.write(path, "x").effect_or_refusal("o.txt")
        },
    },
    Tool {
        name: "Edit",
        needs: &["file.edit"],
        run: |run| {
            let path = run.scratch.write("a.txt", "before\n")?;
            let scratch = run.scratch;
            let outcome =
                run.call("Edit", json!({"file_path": path, "old_string": "before", "new_string": "after"})).go()?;
            outcome.or_refusal(scratch.read("a.txt").contains("after"))
        },
    },
    Tool {
        name: "NotebookEdit",
        needs: &["file.read", "file.edit"],
        run: |run| {
            let path = run.scratch.write("n.ipynb", NOTEBOOK)?;
            let scratch = run.scratch;
            // The vendor edits a notebook only after it was read.
            let outcome = run
                .read(&path)
                .call("NotebookEdit", json!({"notebook_path": path, "cell_id": "c1", "new_source": "x=2"}))
                .go()?;
            outcome.or_refusal(scratch.read("n.ipynb").contains("x=2"))
        },
    },
    Tool {
        name: "Glob",
        needs: &["dir.list"],
        run: |run| {
            run.scratch.write("sub/found-by-glob.txt", "x")?;
            run.flag("--tools").flag(OFFERED).call("Glob", json!({"pattern": "**/*.txt"})).told("found-by-glob")
        },
    },
    Tool {
        name: "Grep",
        needs: &["search"],
        run: |run| {
            run.scratch.write("sub/b.txt", NEEDLE)?;
            run.flag("--tools")
                .flag(OFFERED)
                .call("Grep", json!({"pattern": "a-needle", "output_mode": "content"}))
                .told(NEEDLE)
        },
    },
    Tool { name: "Bash", needs: &["shell"], run: |run| run.bash("touch o.txt").effect_or_refusal("o.txt") },
    Tool {
        name: "Bash in the background",
        needs: &["shell"],
        run: |run| {
            run.call("Bash", json!({"command": "touch o.txt", "description": "d", "run_in_background": true}))
                .bash("sleep 0.3")
                .effect_or_refusal("o.txt")
        },
    },
    Tool {
        name: "Monitor",
        needs: &["shell"],
        run: |run| {
            run.call(
                "Monitor",
                json!({"command": "touch o.txt", "description": "m", "timeout_ms": 2000, "persistent": false}),
            )
            .effect_or_refusal("o.txt")
        },
    },
    Tool {
        name: "Skill",
        needs: &["skill.load"],
        run: |run| {
            run.scratch.write(
                ".claude/skills/plain/SKILL.md",
                "---\nname: plain\ndescription: a skill\n---\nSay SKILLBODY.\n",
            )?;
            let outcome = run.call("Skill", json!({"skill": "plain"})).go()?;
            outcome.or_refusal(outcome.asked_with("Say SKILLBODY"))
        },
    },
    Tool {
        name: "Agent",
        needs: &["subagent.spawn", "shell"],
        run: |run| {
            run.call("Agent", agent_input("PARTONE"))
                .agent_call("PARTONE", "Bash", json!({"command": "touch o.txt", "description": "d"}))
                .effect_or_refusal("o.txt")
        },
    },
    Tool {
        name: "TaskCreate",
        needs: &["task.todo"],
        run: |run| {
            run.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")
                .call("TaskCreate", json!({"subject": "made-by-the-model", "description": "d", "activeForm": "Doing"}))
                .told("created")
        },
    },
    Tool {
        name: "TodoWrite",
        needs: &["task.todo"],
        run: |run| {
            run.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")
                .env("CLAUDE_CODE_ENABLE_TASKS", "0")
                .call("TodoWrite", json!({"todos": [{"content": "a", "status": "pending", "activeForm": "A"}]}))
                .told("modified successfully")
        },
    },
    Tool {
        name: "TaskList",
        needs: &["task.todo"],
        run: |run| run.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1").call("TaskList", json!({})).told("No tasks"),
    },
    Tool {
        name: "WebSearch",
        needs: &["web.read"],
        run: |run| {
            let outcome = run.call("WebSearch", json!({"query": "anything at all"})).go()?;
            let nested = outcome
                .requests
                .iter()
                .any(|request| request["tools"].as_array().is_some_and(|tools| tools.iter().any(is_server_search)));
            outcome.or_refusal(nested)
        },
    },
    Tool { name: "WebFetch", needs: &["web.read"], run: web_fetch },
];

/// A notebook with one cell, c1.
pub const NOTEBOOK: &str = r#"{"cells":[{"cell_type":"code","id":"c1","metadata":{},"source":"x=1","outputs":[],"execution_count":null}],"metadata":{"language_info":{"name":"python"}},"nbformat":4,"nbformat_minor":5}"#;

fn is_server_search(tool: &Value) -> bool {
    tool["type"].as_str().is_some_and(|kind| kind.starts_with("web_search"))
}

fn web_fetch(run: Run<'_>) -> Result<Seen, String> {
    let scratch = run.scratch;
    let mark = scratch.logs.join("fetched");
    let made = mark.clone();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| format!("could not listen: {error}"))?;
    let port = listener.local_addr().map_err(|error| format!("could not listen: {error}"))?.port();
    // The vendor turns the address into https, so it gets no further than a connection. Only this run knows the port.
    // The thread ends with the suite.
    thread::spawn(move || listener.accept().and_then(|_| std::fs::write(&made, "x")));
    let outcome = run
        .setting("skipWebFetchPreflight", json!(true))
        .call("WebFetch", json!({"url": format!("http://127.0.0.1:{port}/page"), "prompt": "what does it say"}))
        .go()?;
    outcome.or_refusal(mark.exists())
}

pub fn add(cases: &mut Cases) {
    cases.holds("the schemas of the tools are those in fixtures/tools", recorded);
    // There is no PowerShell here to run it, but the hook is asked before that shows.
    cases.blocked("PowerShell, shell not admitted", |run| {
        let run = run.frame(&Spec::all_but("shell"))?.env("CLAUDE_CODE_USE_POWERSHELL_TOOL", "1");
        run.call("PowerShell", json!({"command": "New-Item o.txt", "description": "d"})).effect_or_refusal("o.txt")
    });
    for tool in TOOLS {
        let run = tool.run;
        let needs = tool.needs;
        cases.add(format!("{}, {} admitted", tool.name, needs.join(" and ")), Want::Ran, move |place| {
            run(place.frame(&Spec::admitting(needs))?)
        });
        for missing in needs {
            cases.add(format!("{}, {missing} not admitted", tool.name), Want::Blocked, move |place| {
                run(place.frame(&Spec::all_but(missing))?)
            });
        }
    }
}

/// All tools that can be had, with what they take. Two launches: the lists of things to do come in two forms.
fn recorded(run: Run<'_>) -> Result<(), String> {
    let (program, scratch) = (run.program(), run.scratch);
    let mut seen = Schemas::new();
    for tasks in ["1", "0"] {
        let run = Run::new(program, scratch).flag("--tools").flag(ALL).env("ENABLE_TOOL_SEARCH", "0");
        let run = run.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1").env("CLAUDE_CODE_ENABLE_TASKS", tasks);
        let run = run.env("CLAUDE_CODE_USE_POWERSHELL_TOOL", "1");
        for request in run.go()?.requests {
            let tools = request["tools"].as_array().into_iter().flatten();
            let own =
                tools.filter_map(|tool| Some((tool["name"].as_str()?.to_string(), tool.get("input_schema")?.clone())));
            seen.extend(own);
        }
    }
    schemas::hold(scratch, "claude", program, seen)
}
