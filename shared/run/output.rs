//! The `text` and `json` outputs: one answer, or one object.

use serde::Serialize;

use super::{Outcome, Turn};

/// The facts that the outputs have besides the turn.
#[derive(Debug, Clone)]
pub struct Printed<'a> {
    pub vendor: &'a str,
    pub version: String,
    pub digest: Option<&'a str>,
    /// The policy, if a frame is in force.
    pub policy: Option<&'a str>,
    pub millis: u64,
}

/// The `text` output: the answer and its line feed.
pub fn text(turn: &Turn) -> String {
    let answer = turn.answer();
    match answer.ends_with('\n') {
        true => answer.into(),
        false => format!("{answer}\n"),
    }
}

#[derive(Serialize)]
struct Result<'a> {
    r#type: &'a str,
    v: u32,
    session_id: Option<&'a str>,
    outcome: &'a str,
    is_error: bool,
    result: Option<&'a str>,
    error: Option<&'a str>,
    model: Option<&'a str>,
    duration_ms: u64,
    model_calls: Option<u64>,
    usage: UsageRow,
    cost_usd: Option<f64>,
    denied: Vec<DeniedRow<'a>>,
    vendor: &'a str,
    vendor_version: &'a str,
    driver_version: &'a str,
    frame: Option<&'a str>,
    policy: Option<&'a str>,
    refused: Vec<RefusedRow<'a>>,
    unenforced: Vec<Missing<'a>>,
}

#[derive(Serialize)]
struct UsageRow {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

#[derive(Serialize)]
struct DeniedRow<'a> {
    tool: &'a str,
    summary: &'a str,
}

#[derive(Serialize)]
struct RefusedRow<'a> {
    tool: &'a str,
    call_id: Option<&'a str>,
    reason: &'a str,
    decided_by: &'a str,
}

#[derive(Serialize)]
struct Missing<'a> {
    tool: &'a str,
    call_id: Option<&'a str>,
    reason: &'a str,
}

/// The `json` output: one object, whatever happened.
pub fn json(turn: &Turn, outcome: Outcome, error: Option<&str>, answered: bool, frame: &Printed<'_>) -> String {
    let result = Result {
        r#type: "result",
        v: 1,
        session_id: turn.session.as_deref(),
        outcome: outcome.word(),
        is_error: !answered,
        result: answered.then(|| turn.answer()),
        error,
        model: turn.model.as_deref(),
        duration_ms: frame.millis,
        model_calls: turn.model_calls,
        usage: UsageRow {
            input_tokens: turn.figures.input,
            output_tokens: turn.figures.output,
            cached_input_tokens: turn.figures.cached,
            reasoning_tokens: turn.figures.reasoning,
        },
        cost_usd: turn.facts().and_then(|facts| facts.get("total_cost_usd")?.as_f64()),
        denied: turn.denied.iter().map(|denied| DeniedRow { tool: &denied.tool, summary: &denied.summary }).collect(),
        vendor: frame.vendor,
        vendor_version: &frame.version,
        driver_version: env!("CARGO_PKG_VERSION"),
        frame: frame.digest,
        policy: frame.policy,
        refused: turn
            .refused
            .iter()
            .map(|refused| RefusedRow {
                tool: refused.tool.as_deref().unwrap_or_default(),
                call_id: refused.call_id.as_deref(),
                reason: refused.reason().unwrap_or_default(),
                decided_by: &refused.decided_by,
            })
            .collect(),
        unenforced: turn
            .unenforced
            .iter()
            .map(|missing| Missing { tool: &missing.tool, call_id: missing.call_id.as_deref(), reason: &missing.why })
            .collect(),
    };
    crate::protocol::one_line(serde_json::to_string(&result).unwrap_or_default())
}
