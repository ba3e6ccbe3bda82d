//! The first and the last word about a session: what it was started with, and what it came to.

use serde::Serialize;
use serde_json::Value;

use super::Usage;

/// `session.started`
#[derive(Debug, Default, Serialize)]
pub struct SessionStarted<'a> {
    /// The vendor's word: `claude`, `codex`.
    pub adapter: &'a str,
    /// How calls are held to the frame: `hook`.
    pub adapter_class: &'a str,
    /// The vendor's release.
    pub harness_version: &'a str,
    /// The same, by the name that it has in every form of output.
    pub vendor_version: &'a str,
    /// The release of the program that writes this.
    pub driver_version: &'a str,
    /// The vendor's id of the session.
    pub session_id: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// The vendor's permission mode.
    pub permission_mode: Option<&'a str>,
    /// Where the credentials came from.
    pub credential_source: Option<&'a str>,
    /// The vendor's output style.
    pub output_style: Option<&'a str>,
    /// The folder that the turn works in.
    pub cwd: Option<&'a str>,
    /// The tools that the model is offered.
    pub offered_tools: Option<Vec<&'a str>>,
    /// The operations that the frame admits; left out where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub available_operations: Vec<Value>,
    /// Tools that are not offered, and why.
    pub withheld: Option<Vec<Withheld<'a>>>,
    /// The slash commands.
    pub slash_commands: Option<Vec<&'a str>>,
    /// The skills.
    pub skills: Option<Vec<&'a str>>,
    /// The agents.
    pub agents: Option<Vec<&'a str>>,
    /// The plugins.
    pub plugins: Option<Vec<Plugin<'a>>>,
    /// The MCP servers.
    pub mcp_servers: Option<Vec<McpServer<'a>>>,
    /// SHA-256 over what the run was started with; not computed here.
    pub inputs_digest: Option<&'a str>,
    /// The vendor's own record of the session.
    pub transcript: Option<Value>,
    /// How far the run is cut off from what lies around.
    pub hermetic: Hermetic<'a>,
}

/// A tool that is not offered.
#[derive(Debug, Serialize)]
pub struct Withheld<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Why.
    pub reason: String,
}

/// A plugin that the vendor loaded.
#[derive(Debug, Serialize)]
pub struct Plugin<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is from.
    pub source: Option<&'a str>,
    /// Its release.
    pub version: Option<&'a str>,
}

/// An MCP server.
#[derive(Debug, Serialize)]
pub struct McpServer<'a> {
    /// Its name.
    pub name: &'a str,
    /// How it stands, in the vendor's word.
    pub status: Option<&'a str>,
}

/// How far a run is cut off from what lies around.
#[derive(Debug, Default, Serialize)]
pub struct Hermetic<'a> {
    /// `hermetic` or `inherit`.
    pub mode: &'a str,
    /// `frame`, `deny-only` or `ask`; null where no frame is in force.
    pub decisions: Option<&'a str>,
    /// What was done for it.
    pub imposed: Vec<Imposed<'a>>,
    /// What could not be done.
    pub unavailable: Vec<Unavailable<'a>>,
    /// What lies around and was left out.
    pub ambient_inputs: Vec<String>,
    /// Plugins that the vendor loaded.
    pub installed_plugins: Option<&'a Value>,
}

/// A part of the isolation.
#[derive(Debug, Serialize)]
pub struct Imposed<'a> {
    /// Which part.
    pub row: &'a str,
    /// By what.
    pub how: &'a str,
}

/// A part of the isolation that is not there.
#[derive(Debug, Serialize)]
pub struct Unavailable<'a> {
    /// Which part.
    pub row: &'a str,
    /// Why.
    pub why: &'a str,
}

/// `session.ended`
#[derive(Debug, Default, Serialize)]
pub struct SessionEnded<'a> {
    /// Whether the turn did not answer, or is not to be trusted.
    pub is_error: bool,
    /// Why there is no answer, where there is none.
    pub error: Option<&'a str>,
    /// The vendor's word for the end.
    pub subtype: Option<&'a str>,
    /// Why the model stopped, in the vendor's word.
    pub stop_reason: Option<&'a str>,
    /// The run's own word: an outcome, as `completed`.
    pub terminal_reason: Option<&'a str>,
    /// The status of the model's service, where it failed.
    pub api_error_status: Option<u64>,
    /// The vendor's count of turns.
    pub num_turns: Option<u64>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// How long the model took, in milliseconds.
    pub duration_api_ms: Option<u64>,
    /// To the first token, in milliseconds.
    pub ttft_ms: Option<u64>,
    /// To the first request, in milliseconds.
    pub time_to_request_ms: Option<u64>,
    /// What it cost.
    pub total_cost_usd: Option<f64>,
    /// What the vendor's own permissions refused.
    pub permission_denials: Option<Vec<PermissionDenial<'a>>>,
    /// How many sub-agents were started.
    pub subagents_spawned: Option<u64>,
    /// What it used, in all.
    pub usage: Usage,
    /// The same by model, as the vendor has it.
    pub model_usage: Option<&'a Value>,
    /// The decisions, counted.
    pub census: Census,
    /// The answer.
    pub final_answer: Option<FinalAnswer<'a>>,
    /// The models that were seen.
    pub observed_models: Option<Vec<ObservedModel<'a>>>,
}

/// A call that the vendor's own permissions refused.
#[derive(Debug, Serialize)]
pub struct PermissionDenial<'a> {
    /// The tool.
    pub tool_name: &'a str,
    /// The call.
    pub tool_use_id: &'a str,
    /// Its input.
    pub tool_input: &'a Value,
}

/// Decisions, counted.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Census {
    /// Calls that were granted.
    pub allowed: u64,
    /// Calls that were denied.
    pub denied: u64,
    /// Calls that got another input.
    pub replaced: u64,
    /// Calls that nothing was claimed about.
    pub abstained: u64,
    /// All of them by where they took hold.
    pub by_seam: std::collections::BTreeMap<String, u64>,
    /// All of them by who decided.
    pub by_decider: std::collections::BTreeMap<String, u64>,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct FinalAnswer<'a> {
    /// The words.
    pub text: &'a str,
    /// The vendor's id of the turn.
    pub turn_id: Option<&'a str>,
}

/// A model that was seen.
#[derive(Debug, Serialize)]
pub struct ObservedModel<'a> {
    /// The number of the turn in the run.
    pub turn: u32,
    /// The vendor's id of the turn.
    pub turn_id: Option<&'a str>,
    /// The model.
    pub model: &'a str,
    /// Whose: `session` or `subagent`.
    pub scope: &'a str,
}
