//! The operation that each tool of Codex needs.
//!
//! The names are those in the hook's payload, where a namespace and a name stand together without a separator. Codex
//! has no tool to read, list or search: its shell does that.

use super::patch;
use crate::adapter::{Payload, RawAsks, RawNeed, Table, Tool, on_file, resources};
use crate::frame::Operation::{FileRead, Shell, SkillLoad, SubagentSpawn, TaskTodo, WebRead};

const AGENT: &str = "subagent.spawn; a file in `items` also file.read, a skill skill.load";
const NO_HOOK: &str = "shell; no hook was seen for it";

/// The tools of the measured release, direct and nested in code mode.
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
        Tool::carries("spawn_agent", AGENT, agent),
        Tool::carries("multi_agent_v1spawn_agent", AGENT, agent),
        Tool::carries("multi_agent_v1send_input", AGENT, agent),
        Tool::carries("multi_agent_v1resume_agent", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("collaborationspawn_agent", AGENT, agent),
        Tool::carries("collaborationfollowup_task", AGENT, agent),
        Tool::carries("collaborationsend_message", AGENT, agent),
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

/// Gives an agent its work, in words or in `items`. The vendor reads the pictures and sounds in `items` by itself, and
/// a relative path from its own process's folder, which may differ from the session's (release 0.171.0, measured).
fn agent(call: &Payload<'_>) -> RawAsks {
    let mut needs = vec![RawNeed::of(SubagentSpawn)];
    if !call.input.has("items") || call.input.is_null("items") {
        return RawAsks::Needs(needs);
    }
    let Some(items) = call.input.list("items") else {
        return RawAsks::Inadmissible("has `items` that are no list, so it cannot be told what they name".into());
    };
    for item in items {
        match (item.text("type").as_deref(), item.text("path")) {
            (Some("text" | "image" | "audio" | "mention"), _) => {}
            (Some("skill"), _) => needs.push(RawNeed::of(SkillLoad)),
            (Some("local_image" | "local_audio"), Some(path)) if path.starts_with('/') => {
                needs.push(RawNeed::on(FileRead, path));
            }
            (Some("local_image" | "local_audio"), _) => {
                return RawAsks::Inadmissible(
                    "names a file in its `items` by no absolute path: write it from `/` on".into(),
                );
            }
            _ => {
                return RawAsks::Inadmissible(
                    "has an entry in its `items` of which it is not known what it reads".into(),
                );
            }
        }
    }
    RawAsks::Needs(needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Input;

    #[test]
    fn a_file_that_an_agent_is_given_is_read() {
        let asked = |input: &str| {
            let call = Payload {
                input: Input::read(input, crate::adapter::codex::Codex::FACTS.payload.asked).unwrap(),
                ..Payload::default()
            };
            match TABLE.asks(&call, "spawn_agent", "Codex") {
                RawAsks::Needs(needs) => {
                    let word = |need: &RawNeed| {
                        let path = need.path.as_ref().map_or("", |path| path.written.as_str());
                        format!("{} {path}", need.wanted.words()).trim().to_string()
                    };
                    Ok(needs.iter().map(word).collect::<Vec<_>>().join(", "))
                }
                RawAsks::Inadmissible(why) => Err(why),
                RawAsks::Conversation => Ok("conversation".into()),
            }
        };
        for (items, wanted) in [
            ("null", "subagent.spawn"),
            ("[]", "subagent.spawn"),
            (r#"[{"type": "text", "text": "a"}, {"type": "mention", "path": "app://a"}]"#, "subagent.spawn"),
            (r#"[{"path": "/a", "type": "local_image"}]"#, "subagent.spawn, file.read /a"),
            (r#"[{"type": "local_audio", "path": "/a"}]"#, "subagent.spawn, file.read /a"),
            (r#"[{"type": "skill", "name": "s", "path": "/a"}]"#, "subagent.spawn, skill.load"),
        ] {
            assert_eq!(asked(&format!(r#"{{"message": "m", "items": {items}}}"#)).as_deref(), Ok(wanted), "{items}");
        }
        assert_eq!(asked(r#"{"message": "m"}"#).as_deref(), Ok("subagent.spawn"));
        for (items, wanted) in [
            (r#"[{"type": "local_image", "path": "a"}]"#, "by no absolute path"),
            (r#"[{"type": "local_image"}]"#, "by no absolute path"),
            (r#"[{"type": "local_file", "path": "/a"}]"#, "not known what it reads"),
            (r#"[{"path": "/a"}]"#, "not known what it reads"),
            (r#"["a"]"#, "not known what it reads"),
            (r#"{"type": "local_image"}"#, "no list"),
            (r#""a""#, "no list"),
        ] {
            let why = asked(&format!(r#"{{"items": {items}}}"#)).unwrap_err();
            assert!(why.contains(wanted), "{items}: {why}");
        }
    }
}
