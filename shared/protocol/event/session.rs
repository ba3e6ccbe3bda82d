//! The first and the last line about a session.

use serde::Serialize;
use serde_json::Value;

use super::Usage;

#[derive(Debug, Default, Serialize)]
pub struct SessionStarted<'a> {
    /// `claude` or `codex`.
    pub adapter: &'a str,
    /// `hook`, the seam that holds calls to the frame.
    pub adapter_class: &'a str,
    /// The vendor's release number.
    pub harness_version: &'a str,
    /// The same, by the name that it has in every form of output.
    pub vendor_version: &'a str,
    /// The release of the program that writes this.
    pub driver_version: &'a str,
    /// The vendor's id of the session.
    pub session_id: Option<&'a str>,
    pub model: Option<&'a str>,
    pub permission_mode: Option<&'a str>,
    pub credential_source: Option<&'a str>,
    pub output_style: Option<&'a str>,
    pub cwd: Option<&'a str>,
    /// The tools that the vendor offers to the model.
    pub offered_tools: Option<Vec<&'a str>>,
    /// The operations that the frame admits. Left out where it admits none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub available_operations: Vec<Value>,
    pub withheld: Option<Vec<Withheld<'a>>>,
    pub slash_commands: Option<Vec<&'a str>>,
    pub skills: Option<Vec<&'a str>>,
    pub agents: Option<Vec<&'a str>>,
    pub plugins: Option<Vec<Plugin<'a>>>,
    pub mcp_servers: Option<Vec<McpServer<'a>>>,
    /// Always null: this program computes none.
    pub inputs_digest: Option<&'a str>,
    pub transcript: Option<Value>,
    pub hermetic: Hermetic<'a>,
}

#[derive(Debug, Serialize)]
pub struct Withheld<'a> {
    pub tool: &'a str,
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub struct Plugin<'a> {
    pub name: &'a str,
    pub source: Option<&'a str>,
    pub version: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub struct McpServer<'a> {
    pub name: &'a str,
    /// The vendor's word.
    pub status: Option<&'a str>,
}

/// How far a run is cut off from what lies around.
/// The isolation of a run from the settings, plugins and files around it.
#[derive(Debug, Default, Serialize)]
pub struct Hermetic<'a> {
    /// `hermetic` or `inherit`.
    pub mode: &'a str,
    /// `frame`, `deny-only` or `ask`; null where no frame is in force.
    pub decisions: Option<&'a str>,
    /// What was done for it.
    pub imposed: Vec<Imposed<'a>>,
    pub unavailable: Vec<Unavailable<'a>>,
    /// Inputs that were found around the run and left out.
    pub ambient_inputs: Vec<String>,
    pub installed_plugins: Option<&'a Value>,
}

#[derive(Debug, Serialize)]
pub struct Imposed<'a> {
    pub row: &'a str,
    pub how: &'a str,
}

#[derive(Debug, Serialize)]
pub struct Unavailable<'a> {
    pub row: &'a str,
    pub why: &'a str,
}

#[derive(Debug, Default, Serialize)]
pub struct SessionEnded<'a> {
    /// The turn gave no answer, or one that is not to be trusted.
    pub is_error: bool,
    /// Why there is no answer, where there is none.
    pub error: Option<&'a str>,
    /// The vendor's word for the end.
    pub subtype: Option<&'a str>,
    /// The vendor's word for the reason why the model stopped.
    pub stop_reason: Option<&'a str>,
    /// The run's outcome, as `completed`.
    pub terminal_reason: Option<&'a str>,
    /// The HTTP status of the model's service, where a request failed.
    pub api_error_status: Option<u64>,
    /// The vendor's count.
    pub num_turns: Option<u64>,
    pub duration_ms: Option<u64>,
    /// The time in the model's service.
    pub duration_api_ms: Option<u64>,
    /// The time to the first token.
    pub ttft_ms: Option<u64>,
    pub time_to_request_ms: Option<u64>,
    pub total_cost_usd: Option<f64>,
    /// The calls that the vendor's own permissions refused.
    pub permission_denials: Option<Vec<PermissionDenial<'a>>>,
    pub subagents_spawned: Option<u64>,
    pub usage: Usage,
    /// By model, as the vendor writes it.
    pub model_usage: Option<&'a Value>,
    pub census: Census,
    pub final_answer: Option<FinalAnswer<'a>>,
    pub observed_models: Option<Vec<ObservedModel<'a>>>,
}

#[derive(Debug, Serialize)]
pub struct PermissionDenial<'a> {
    pub tool_name: &'a str,
    pub tool_use_id: &'a str,
    pub tool_input: &'a Value,
}

/// The numbers of decisions.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Census {
    pub allowed: u64,
    pub denied: u64,
    pub replaced: u64,
    pub abstained: u64,
    /// All decisions by the seam where they took hold.
    pub by_seam: std::collections::BTreeMap<String, u64>,
    /// All decisions by the one who decided.
    pub by_decider: std::collections::BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
pub struct FinalAnswer<'a> {
    pub text: &'a str,
    pub turn_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub struct ObservedModel<'a> {
    pub turn: u32,
    pub turn_id: Option<&'a str>,
    pub model: &'a str,
    /// `session` or `subagent`.
    pub scope: &'a str,
}
