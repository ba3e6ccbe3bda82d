//! Claude Code's launch (measured on 2.1.332): the hooks come by `--settings` with `disableAllHooks: false`, and no
//! other source of settings is read. This holds through every change of a settings file during the turn.

use serde_json::{Value, json};

use crate::adapter::claude;
use crate::adapter::run::{Launch, LaunchOrder, Unprepared, home};
use crate::decide::admits;
use crate::frame::Operation;
use crate::os::PrivateRoom;
use crate::seal::VerifiedFrame;

/// The tools that are offered for each operation. The model does not get tools that are not admitted; the vendor
/// refuses a call of a withheld tool before the hook sees it.
const OFFERED: [(Operation, &[&str]); 10] = [
    (Operation::DirList, &["Glob"]),
    (Operation::FileEdit, &["Edit", "NotebookEdit"]),
    (Operation::FileRead, &["Read"]),
    (Operation::FileWrite, &["Write"]),
    (Operation::Search, &["Grep"]),
    // no Monitor: no switch stops it from running in the background
    (Operation::Shell, &["Bash", "TaskStop"]),
    (Operation::SkillLoad, &["Skill"]),
    (Operation::SubagentSpawn, &["Agent", "SendMessage"]),
    (Operation::TaskTodo, &["TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"]),
    (Operation::WebRead, &["WebFetch", "WebSearch"]),
];

/// Variables that are always set: work that a turn leaves in the background, or puts off, would run after the turn's
/// end without a frame.
const SET: [(&str, &str); 2] = [("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"), ("CLAUDE_CODE_DISABLE_CRON", "1")];

const KEYS: [&str; 2] = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"];
const MORE: [&str; 2] = ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

pub fn prepare(order: &LaunchOrder, room: &PrivateRoom, launch: &mut Launch) -> Result<(), Unprepared> {
    let mut arguments: Vec<String> =
        ["-p", "--output-format", "stream-json", "--verbose", "--include-hook-events"].map(String::from).to_vec();
    let mut pair = |name: &str, value: &str| arguments.extend([name.to_string(), value.to_string()]);
    pair("--settings", &settings(order)?);
    pair("--setting-sources", "");
    if let Some((_, frame)) = &order.frame {
        pair("--tools", &tools(frame));
    }
    if let Some(model) = &order.model {
        pair("--model", model);
    }
    if let Some((_, schema)) = &order.schema {
        pair("--json-schema", schema);
    }
    if let Some(instructions) = &order.instructions {
        pair("--append-system-prompt", instructions);
    }
    if let Some(mcp) = &order.mcp {
        let file = room.path().join("mcp.json");
        fs_err::write(&file, mcp.to_string())?;
        pair("--mcp-config", &file.to_string_lossy());
    }
    arguments.push("--strict-mcp-config".into());
    arguments.extend(order.options.iter().cloned());
    launch.arguments = arguments.into_iter().map(Into::into).collect();
    launch.set.extend(SET.map(|(name, value)| (name.into(), value.into())));
    launch.dropped.retain(|name| SET.iter().all(|(set, _)| name != set));
    launch.home = home(order.vendor, &order.cwd);
    if order.hermetic {
        let folder = room.folder("home/.claude")?;
        let name = ".credentials.json";
        order.carry(launch, (launch.home.join(name), folder.join(name)), &KEYS, &MORE)?;
        launch.set.push(("CLAUDE_CONFIG_DIR".into(), folder.clone().into()));
        launch.home = folder;
    }
    Ok(())
}

/// The entries, and the one switch that another layer could override.
fn settings(order: &LaunchOrder) -> Result<String, Unprepared> {
    let entries = claude::settings(&order.registration(), claude::EntryForm::Exec);
    let mut settings: Value = serde_json::from_str(&entries).map_err(|error| Unprepared::Order(error.to_string()))?;
    if let Some(settings) = settings.as_object_mut() {
        settings.insert("disableAllHooks".into(), json!(false));
    }
    Ok(settings.to_string())
}

/// The tools that are not offered under this frame, each with the operation that it needs.
pub fn withheld(frame: &VerifiedFrame) -> Vec<(&'static str, &'static str)> {
    let closed = OFFERED.iter().filter(|(operation, _)| !admits(frame, operation));
    closed.flat_map(|(operation, tools)| tools.iter().map(|tool| (*tool, operation.name()))).collect()
}

fn tools(frame: &VerifiedFrame) -> String {
    let admitted = OFFERED.iter().filter(|(operation, _)| admits(frame, operation));
    let mut names: Vec<&str> = admitted.flat_map(|(_, tools)| tools.iter().copied()).collect();
    let mcp = frame.frame().operations.iter().any(|operation| matches!(operation, Operation::McpCall { .. }));
    if mcp {
        // the vendor may withhold the servers' tools until they are looked up
        names.extend(["ToolSearch", "ListMcpResourcesTool", "ReadMcpResourceTool"]);
    }
    names.join(",")
}
