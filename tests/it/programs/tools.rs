//! The tool tables: every measured tool has one of three classes, and its calls are answered by the class.

use serde_json::json;

use crate::common::{CLAUDE, CODEX, Run, VENDORS, bytes, call, fixture};

/// Operations, each with the tools that carry it alone.
const CLAUDE_CARRIES: [(&str, &str); 10] = [
    ("dir.list", "Glob LS"),
    ("file.edit", "Edit MultiEdit NotebookEdit"),
    ("file.read", "Read"),
    ("file.write", "Write"),
    ("search", "Grep"),
    ("shell", "Bash PowerShell Monitor"),
    ("skill.load", "Skill"),
    ("subagent.spawn", "Agent Task Workflow SendMessage"),
    ("task.todo", "TodoWrite TaskCreate TaskGet TaskList TaskUpdate"),
    ("web.read", "WebFetch WebSearch"),
];
const CODEX_CARRIES: [(&str, &str); 5] = [
    ("file.read", "view_image"),
    ("shell", "Bash write_stdin exec exec_command shell shell_command local_shell_call"),
    (
        "subagent.spawn",
        "spawn_agent multi_agent_v1spawn_agent multi_agent_v1send_input multi_agent_v1resume_agent \
         collaborationspawn_agent collaborationfollowup_task collaborationsend_message",
    ),
    ("task.todo", "update_plan get_goal create_goal update_goal"),
    ("web.read", "web_search"),
];

/// Tools whose operations depend on the call; other tests cover them.
const READ_OFF: [(&str, &str); 2] = [
    (CLAUDE, "ListMcpResourcesTool ReadMcpResourceTool"),
    (CODEX, "apply_patch list_mcp_resources list_mcp_resource_templates read_mcp_resource"),
];

const CONVERSATION: [(&str, &str); 2] = [
    (
        CLAUDE,
        "AskUserQuestion EnterPlanMode ExitPlanMode ReportFindings StructuredOutput ToolSearch ListAgents TaskStop \
         KillShell KillBash BashOutput TaskOutput",
    ),
    (
        CODEX,
        "request_user_input request_user_input_async send_message_to_user_async tool_search get_context_remaining new_context \
         clocksleep clockcurr_time wait multi_agent_v1wait_agent multi_agent_v1close_agent collaborationwait_agent \
         collaborationlist_agents collaborationinterrupt_agent",
    ),
];

const DENIED: [(&str, &str); 2] = [
    (CLAUDE, "CronCreate CronDelete CronList ScheduleWakeup EnterWorktree ExitWorktree DeferredToolPlaceholder"),
    (CODEX, "request_permissions"),
];

fn carries(vendor: &str) -> &'static [(&'static str, &'static str)] {
    if vendor == CLAUDE { &CLAUDE_CARRIES } else { &CODEX_CARRIES }
}

fn of(list: [(&'static str, &'static str); 2], vendor: &str) -> std::str::SplitWhitespace<'static> {
    list.into_iter().find(|(whose, _)| *whose == vendor).unwrap().1.split_whitespace()
}

#[test]
fn the_printed_table_holds_every_tool_once_in_its_class() {
    for vendor in VENDORS {
        let printed = Run::hook(vendor).args(["--table"]).answer().stdout;
        let mut found: Vec<(String, String)> = printed
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with("mcp__SERVER__TOOL") && !line.starts_with("any other"))
            .map(|line| {
                let mut words = line.split_whitespace();
                (words.next().unwrap().into(), words.next().unwrap().into())
            })
            .collect();
        let class = |names: std::str::SplitWhitespace<'static>, class: &'static str| {
            names.map(|name| (name.to_string(), class.to_string())).collect::<Vec<_>>()
        };
        let mut wanted = [class(of(CONVERSATION, vendor), "abstain"), class(of(DENIED, vendor), "deny")].concat();
        wanted.extend(class(of(READ_OFF, vendor), "needs"));
        wanted.extend(carries(vendor).iter().flat_map(|(_, names)| class(names.split_whitespace(), "needs")));
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
        assert!(printed.ends_with("deny     unknown to this table\n"), "{printed}");
    }
}

/// An input with every member that some tool needs.
fn input() -> serde_json::Value {
    json!({ "file_path": "/nonexistent/a", "notebook_path": "/nonexistent/a", "path": "/nonexistent/a", "pattern": "x", "command": "x" })
}

#[test]
fn a_tool_is_admitted_by_its_operation_alone() {
    let scratch = crate::common::Scratch::new();
    for vendor in VENDORS {
        let operations: Vec<&str> = CLAUDE_CARRIES.iter().map(|(operation, _)| *operation).collect();
        for (operation, names) in carries(vendor) {
            let only = scratch.admitting(&[operation]);
            let others: Vec<&str> = operations.iter().copied().filter(|other| other != operation).collect();
            let others = scratch.frame("others.json", &["--admit", &others.join(",")]);
            for tool in names.split_whitespace() {
                let fire = |frame: &std::path::Path| {
                    let run = Run::hook(vendor).frame(frame).args(["--policy", "deny-only"]);
                    run.stdin(bytes(&call(vendor, tool, input()))).answer()
                };
                fire(&only).is_silent();
                let reason = fire(&others).denial();
                let wanted = format!("{tool} needs {operation}, which is not admitted (step ");
                assert!(reason.starts_with(&wanted), "{reason}");
            }
        }
    }
}

#[test]
fn tools_within_the_conversation_are_abstained_on_under_any_frame() {
    for vendor in VENDORS {
        for tool in of(CONVERSATION, vendor) {
            for frame in ["nothing", "everything"] {
                let run = Run::hook(vendor).frame(fixture(format!("frames/{frame}.json")));
                run.stdin(bytes(&call(vendor, tool, input()))).answer().is_silent();
            }
        }
    }
}

#[test]
fn tools_without_an_operation_are_denied_under_any_frame() {
    for vendor in VENDORS {
        for tool in of(DENIED, vendor) {
            let run = Run::hook(vendor).frame(fixture("frames/everything.json"));
            let reason = run.stdin(bytes(&call(vendor, tool, input()))).answer().denial();
            assert!(reason.contains(", which no operation admits (step 1, "), "{reason}");
        }
    }
}

#[test]
fn a_web_socket_needs_more_than_the_shell() {
    let scratch = crate::common::Scratch::new();
    let fire = |operations: &[&str]| {
        let payload = bytes(&call(CLAUDE, "Monitor", json!({ "ws": "wss://example.org" })));
        Run::hook(CLAUDE).frame(scratch.admitting(operations)).args(["--policy", "deny-only"]).stdin(payload).answer()
    };
    assert!(fire(&["shell"]).denial().starts_with("Monitor needs web.read, which is not admitted"));
    assert!(fire(&["web.read"]).denial().starts_with("Monitor needs shell, which is not admitted"));
    fire(&["shell", "web.read"]).is_silent();
}
