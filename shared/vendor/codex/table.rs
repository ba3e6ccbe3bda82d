//! Which operation each tool of Codex carries.
//!
//! The names are those in the hook's payload: a namespace and a name stand together without a
//! separator. There is no tool to read, list or search: the shell does it.

use super::patch;
use crate::frame::Operation::{FileRead, Shell, SubagentSpawn, TaskTodo, WebRead};
use crate::vendor::{RawAsks, Table, Tool, on_file, resources};

const NO_HOOK: &str = "shell; no hook was seen for it";

/// The tools of the release that was measured, direct and nested in code mode.
pub static TABLE: Table = Table {
    release: "0.171.0",
    tools: &[
        Tool::carries("apply_patch", "add and delete: file.write, update: file.edit, move: both", patch::asks),
        Tool::carries("view_image", "file.read", |call| on_file(call, "path", FileRead)),
        Tool::carries("list_mcp_resources", "mcp.call SERVER/resources/list", |call| resources(call, "resources/list")),
        Tool::carries("list_mcp_resource_templates", "mcp.call SERVER/resources/templates/list", |call| {
            resources(call, "resources/templates/list")
        }),
        Tool::carries("read_mcp_resource", "mcp.call SERVER/resources/read", |call| resources(call, "resources/read")),
        Tool::carries("Bash", "shell", |_| RawAsks::operation(Shell)),
        Tool::carries("write_stdin", "shell; seen at PermissionRequest only", |_| RawAsks::operation(Shell)),
        Tool::carries("exec", NO_HOOK, |_| RawAsks::operation(Shell)),
        Tool::carries("exec_command", NO_HOOK, |_| RawAsks::operation(Shell)),
        Tool::carries("shell", NO_HOOK, |_| RawAsks::operation(Shell)),
        Tool::carries("shell_command", NO_HOOK, |_| RawAsks::operation(Shell)),
        Tool::carries("local_shell_call", NO_HOOK, |_| RawAsks::operation(Shell)),
        Tool::carries("spawn_agent", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("multi_agent_v1spawn_agent", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("multi_agent_v1send_input", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("multi_agent_v1resume_agent", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("collaborationspawn_agent", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("collaborationfollowup_task", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("collaborationsend_message", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("update_plan", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("get_goal", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("create_goal", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("update_goal", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("web_search", "web.read; no hook was seen for it", |_| RawAsks::operation(WebRead)),
        Tool::conversation("request_user_input", "asks the person"),
        Tool::conversation("request_user_input_async", "asks the person"),
        Tool::conversation("send_message_to_user_async", "tells the person"),
        Tool::conversation("tool_search", "loads the schema of a tool, whose calls are judged"),
        Tool::conversation("get_context_remaining", "counts the context"),
        Tool::conversation("new_context", "starts the context afresh, in the same session"),
        Tool::conversation("clocksleep", "waits"),
        Tool::conversation("clockcurr_time", "tells the time"),
        Tool::conversation("wait", "waits for what runs"),
        Tool::conversation("multi_agent_v1wait_agent", "waits for what runs"),
        Tool::conversation("multi_agent_v1close_agent", "stops what runs"),
        Tool::conversation("collaborationwait_agent", "waits for what runs"),
        Tool::conversation("collaborationlist_agents", "lists what runs"),
        Tool::conversation("collaborationinterrupt_agent", "stops what runs"),
        Tool::denied("request_permissions", "asks for wider permissions"),
    ],
};
