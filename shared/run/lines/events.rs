//! `metaharness.event/1`: the turn for an embedder.

use std::os::unix::process::ExitStatusExt as _;

use serde_json::{Value, json};

use super::{Item, Lines, ToldCall, TurnEnd};
use crate::adapter::run::{Figures, Warning};
use crate::frame::{Handoff, Operation, write_operation};
use crate::json::{Layout, Writer};
use crate::protocol::event::{
    Census, CommandOutcome, DecisionBody, EventBody, FinalAnswer, Hermetic, Imposed, McpServer, Numbered,
    ObservedModel, PermissionDenial, Plugin, Process, RateLimit, Refused, SessionEnded, SessionStarted, StepOutcome,
    ToolRequested, Unavailable, Usage, Withheld,
};
use crate::run::{Judgement, Stopped};
use crate::seal::VerifiedFrame;

/// The writer of this form, with the facts that the run knows before it begins.
#[derive(Debug)]
pub struct Events {
    numbered: Numbered,
    about: About,
    census: Census,
    agents: u64,
    credentials: Option<String>,
    begun: bool,
}

/// The run's facts for the first lines.
#[derive(Debug, Default)]
pub struct About {
    pub vendor: &'static str,
    pub version: String,
    pub frame: Option<VerifiedFrame>,
    /// `frame`, `deny-only` or `ask`, if a frame is in force.
    pub decisions: Option<&'static str>,
    /// Whether the run has a scratch home.
    pub hermetic: bool,
    pub cwd: String,
    /// The model that the command line asked for.
    pub model: Option<String>,
    /// The tools that are not offered, each with the operation that it needs.
    pub withheld: Option<Vec<(&'static str, &'static str)>>,
    /// Configuration around the run that was left out.
    pub ambient: Vec<String>,
    /// The parts of the surroundings that were cut off, each with the means.
    pub imposed: Vec<(&'static str, &'static str)>,
    /// The parts that could not be cut off, each with the reason.
    pub unavailable: Vec<(&'static str, &'static str)>,
}

impl Events {
    /// `run` is the run's id.
    pub fn new(run: String, about: About) -> Events {
        Events {
            numbered: Numbered::new(run),
            about,
            census: Census::default(),
            agents: 0,
            credentials: None,
            begun: false,
        }
    }

    /// The last line of a run, with its number.
    pub fn closed(&mut self, reason: &str, process: Process) -> String {
        let (events, run) = (self.numbered.said(), self.numbered.run().to_string());
        self.numbered.line(None, &EventBody::StreamClosed { events, reason, run_id: &run, process })
    }

    fn digest(&self) -> Option<String> {
        self.about.frame.as_ref().map(|frame| frame.digest().to_string())
    }

    /// The step that the frame describes.
    fn step(&self) -> Option<Value> {
        let step = &self.about.frame.as_ref()?.frame().step;
        Some(json!({"workflow": step.workflow, "state": step.state, "index": step.index, "attempt": step.attempt}))
    }

    fn started(&mut self, session: Option<&str>, model: Option<&str>, facts: &Value) -> String {
        self.begun = true;
        let word = |name: &str| facts.get(name).and_then(Value::as_str);
        self.credentials = word("credential_source").map(String::from);
        let admitted = self.about.frame.iter().flat_map(|frame| &frame.frame().operations);
        let started = SessionStarted {
            adapter: self.about.vendor,
            adapter_class: "hook",
            harness_version: word("harness_version").unwrap_or(&self.about.version),
            vendor_version: word("harness_version").unwrap_or(&self.about.version),
            driver_version: env!("CARGO_PKG_VERSION"),
            session_id: session,
            model: model.or(self.about.model.as_deref()),
            permission_mode: word("permission_mode"),
            credential_source: word("credential_source"),
            output_style: word("output_style"),
            cwd: Some(&self.about.cwd),
            offered_tools: names(facts, "offered_tools"),
            available_operations: admitted.map(as_value).collect(),
            withheld: self.about.withheld.as_ref().map(|tools| {
                let needs = |operation| format!("needs {operation}, which the frame does not admit");
                tools.iter().map(|(tool, operation)| Withheld { tool, reason: needs(operation) }).collect()
            }),
            slash_commands: names(facts, "slash_commands"),
            skills: names(facts, "skills"),
            agents: names(facts, "agents"),
            plugins: named(facts, "plugins", |name, member| {
                let (source, version) = (member("source").or_else(|| member("path")), member("version"));
                Plugin { name, source, version }
            }),
            mcp_servers: named(facts, "mcp_servers", |name, member| McpServer { name, status: member("status") }),
            inputs_digest: None,
            transcript: None,
            hermetic: Hermetic {
                mode: if self.about.hermetic { "hermetic" } else { "inherit" },
                decisions: self.about.decisions,
                imposed: self.about.imposed.iter().map(|(row, how)| Imposed { row, how }).collect(),
                unavailable: self.about.unavailable.iter().map(|(row, why)| Unavailable { row, why }).collect(),
                ambient_inputs: self.about.ambient.clone(),
                installed_plugins: None,
            },
        };
        let mut out = self.numbered.line(None, &EventBody::SessionStarted(Box::new(started)));
        let digest = self.digest();
        if let (Some(step), Some(frame_digest)) = (self.step(), &digest) {
            out += &self.numbered.line(None, &EventBody::StepEntered { step, frame_digest });
        }
        out + &self.numbered.line(None, &EventBody::TurnStarted { turn: 1, frame_digest: digest.as_deref() })
    }

    fn requested(&mut self, at: Option<&str>, call: &ToldCall, waits: Option<u64>, seam: &str) -> String {
        let digest = self.digest();
        // Codex puts the tool's namespace before its name
        let spawns = matches!(call.tool.as_str(), "Agent" | "Task") || call.tool.ends_with("spawn_agent");
        self.agents += u64::from(!call.nested && spawns);
        self.numbered.line(
            at,
            &EventBody::ToolRequested(ToolRequested {
                call_id: &call.id,
                name: &call.tool,
                input: call.input.as_deref(),
                operations: call.operations.as_deref(),
                subjects: call.subjects.as_deref(),
                decision_required: waits.is_some(),
                deadline_ms: waits,
                seam,
                vendor: self.about.vendor,
                agent_id: call.agent.as_deref(),
                cwd: call.cwd.as_deref(),
                frame_digest: digest.as_deref(),
            }),
        )
    }

    fn decided(&mut self, call: &ToldCall, judgement: &Judgement, latency: Option<u64>) -> String {
        let reason = judgement.reason().unwrap_or_default();
        let (count, decision) = match judgement.decision.decision.as_str() {
            "allow" => (&mut self.census.allowed, DecisionBody::Allow),
            "replace" => {
                (&mut self.census.replaced, DecisionBody::Replace { input: judgement.decision.input.as_deref() })
            }
            "abstain" => (&mut self.census.abstained, DecisionBody::Abstain),
            _ => (&mut self.census.denied, DecisionBody::Deny { reason }),
        };
        *count += 1;
        *self.census.by_seam.entry(judgement.seam.clone()).or_default() += 1;
        *self.census.by_decider.entry(judgement.decided_by.clone()).or_default() += 1;
        let (decided_by, seam) = (judgement.decided_by.as_str(), judgement.seam.as_str());
        let event = EventBody::ToolDecided { call_id: &call.id, decision, decided_by, seam, latency_ms: latency };
        self.numbered.line(judgement.at.as_deref(), &event)
    }

    fn session_ended<'a>(&self, end: &TurnEnd<'a>, facts: &'a Value, used: Usage) -> SessionEnded<'a> {
        let (word, number) = (
            |name: &str| facts.get(name).and_then(Value::as_str),
            |name: &str| facts.get(name).and_then(Value::as_u64),
        );
        let denials = end.turn.permission_denials().iter();
        let denials =
            denials.map(|(id, tool, input)| PermissionDenial { tool_name: tool, tool_use_id: id, tool_input: input });
        let answered = end.answered;
        SessionEnded {
            is_error: !answered,
            error: end.error,
            subtype: word("subtype"),
            stop_reason: word("stop_reason"),
            terminal_reason: Some(end.outcome.word()),
            api_error_status: number("api_error_status"),
            num_turns: number("num_turns"),
            duration_ms: Some(end.printed.millis),
            duration_api_ms: number("duration_api_ms"),
            ttft_ms: number("ttft_ms"),
            time_to_request_ms: number("time_to_request_ms"),
            total_cost_usd: used.cost_usd,
            permission_denials: end.turn.facts().map(|_| denials.collect()),
            subagents_spawned: Some(self.agents),
            usage: used,
            model_usage: facts.get("model_usage").filter(|usage| usage.is_object()),
            census: self.census.clone(),
            final_answer: answered.then(|| FinalAnswer { text: end.turn.answer(), turn_id: None }),
            observed_models: end
                .turn
                .model
                .as_deref()
                .map(|model| vec![ObservedModel { turn: 1, turn_id: None, model, scope: "session" }]),
        }
    }
}

/// The names in a list of the vendor's record. Its items are strings or objects with a `name`, since a record may
/// change its shape and the line must not.
fn names<'a>(facts: &'a Value, list: &str) -> Option<Vec<&'a str>> {
    let name = |item: &'a Value| item.as_str().or_else(|| item.get("name")?.as_str());
    Some(facts.get(list)?.as_array()?.iter().filter_map(name).collect())
}

/// The names in such a list, each with another value of its item.
fn named<'a, T>(
    facts: &'a Value,
    list: &str,
    of: impl Fn(&'a str, &dyn Fn(&str) -> Option<&'a str>) -> T,
) -> Option<Vec<T>> {
    let one = |item: &'a Value| {
        let member = |name: &str| item.get(name).and_then(Value::as_str);
        Some(of(item.as_str().or_else(|| member("name"))?, &member))
    };
    Some(facts.get(list)?.as_array()?.iter().filter_map(one).collect())
}

/// The figures, with those that only the vendor's own record has.
fn usage(figures: &Figures, facts: &Value) -> Usage {
    let word = |name: &str| facts.get(name).and_then(Value::as_str).map(String::from);
    Usage {
        input_tokens: figures.input,
        output_tokens: figures.output,
        cache_read_input_tokens: figures.cached,
        cache_creation_input_tokens: figures.created,
        service_tier: word("service_tier"),
        thinking_tokens: figures.reasoning,
        iterations: None,
        speed: word("speed"),
        cost_usd: facts.get("total_cost_usd").and_then(Value::as_f64),
    }
}

/// The operation in the form that a frame has.
fn as_value(operation: &Operation) -> Value {
    let mut out = Writer::new(Layout::Canonical);
    write_operation(operation, &mut out);
    serde_json::from_str(&out.finish()).unwrap_or_default()
}

/// The protocol's word for the reason why a run ended.
fn reason(end: &TurnEnd<'_>, facts: &Value) -> &'static str {
    let budget = |word: &str| word.contains("budget") || word.contains("max_turns");
    match &end.ending.stopped {
        Some(Stopped::Command { halt: true, .. }) => "steer-halt",
        // including a run that was told to stop and answered all the same
        _ if end.answered => "completed",
        Some(_) => "killed",
        None if facts.get("subtype").and_then(Value::as_str).is_some_and(budget) => "budget",
        None => "error",
    }
}

fn process(end: &TurnEnd<'_>) -> Process {
    let status = end.ending.status;
    match status.and_then(|status| status.code()).map(|code| Process::Exited { code }) {
        Some(exited) => exited,
        None => {
            status.and_then(|status| status.signal()).map_or(Process::Unknown, |signal| Process::Signaled { signal })
        }
    }
}

impl Lines for Events {
    fn tell(&mut self, at: Option<&str>, item: &Item<'_>) -> String {
        let event = match *item {
            Item::Started { session, model, facts } => return self.started(session, model, facts),
            Item::Requested { call, waits, seam } => return self.requested(at, call, waits, seam),
            Item::Decided { call, judgement, latency } => return self.decided(call, judgement, latency),
            Item::Text { text, request } => EventBody::Text { text, request_id: request },
            Item::Thinking { text, request } => EventBody::Thinking { text, request_id: request },
            Item::Result { call, failed, content, exit_code, record, source, .. } => EventBody::ToolResult {
                call_id: &call.id,
                is_error: failed,
                content,
                bytes: content.len(),
                tool_use_result: record,
                exit_code,
                outcome_source: source,
            },
            Item::Estimate { tokens, delta } => EventBody::ThinkingEstimate { estimate: tokens, delta },
            Item::ModelCall { request, model, figures } => {
                EventBody::Usage { request_id: Some(request), model, usage: usage(figures, &Value::Null) }
            }
            Item::RateLimit(info) => {
                let word = |name| info.get(name).and_then(Value::as_str);
                let info = RateLimit {
                    status: word("status"),
                    window: word("window"),
                    resets_at: info.get("resets_at").and_then(Value::as_u64),
                    utilization: info.get("utilization").and_then(Value::as_f64),
                    using_overage: info.get("using_overage").and_then(Value::as_bool),
                };
                EventBody::RateLimit { info }
            }
            Item::Warning { code, message } => EventBody::Warning { code: code.word(), message },
            Item::Unauthorized { detail, line } => {
                EventBody::AuthExpired { credential_source: self.credentials.as_deref(), detail, source_line: line }
            }
            Item::Opaque { kind, subtype, digest, line } => {
                EventBody::Opaque { vendor_type: kind, vendor_subtype: subtype, digest, source_line: line }
            }
            Item::Answered { id, outcome } => {
                let outcome = match outcome {
                    Ok(()) => CommandOutcome::Ok { applies_at: None },
                    Err((code, reason)) => CommandOutcome::Refused { refused: Refused { code: code.word(), reason } },
                };
                EventBody::CommandResult { id, outcome }
            }
        };
        self.numbered.line(at, &event)
    }

    fn end(&mut self, end: &TurnEnd<'_>) -> String {
        let mut out = if self.begun { String::new() } else { self.started(None, None, &Value::Null) };
        let (turn, facts) = (end.turn, end.turn.facts().unwrap_or(&Value::Null));
        for missing in &turn.unenforced {
            let message = format!("{}: {}", missing.tool, missing.why);
            out += &self.numbered.line(None, &EventBody::Warning { code: Warning::Gap.word(), message: &message });
        }
        if turn.facts().is_none() {
            let message = "the vendor ended without saying how the turn went";
            out += &self.numbered.line(None, &EventBody::Warning { code: Warning::NoTerminalRecord.word(), message });
        }
        let model = turn.model.as_deref();
        let used = usage(&turn.figures, facts);
        out += &self.numbered.line(None, &EventBody::Usage { request_id: None, model, usage: used.clone() });
        let stop_reason = facts.get("stop_reason").and_then(Value::as_str);
        out += &self.numbered.line(None, &EventBody::TurnEnded { turn: 1, stop_reason });
        let ended = self.session_ended(end, facts, used);
        out += &self.numbered.line(None, &EventBody::SessionEnded(Box::new(ended)));
        if let Some(step) = self.step() {
            let owes = self.about.frame.as_ref().is_some_and(|frame| frame.frame().handoff != Handoff::None);
            let outcome = match (end.answered, end.error) {
                (true, _) if owes && !end.checked => {
                    StepOutcome::NoVerdict { reason: "what the step owes was not looked for (--handoff-check)" }
                }
                (true, _) => StepOutcome::Completed,
                (false, error) => StepOutcome::Failed { reason: error.unwrap_or(end.outcome.word()) },
            };
            out += &self.numbered.line(None, &EventBody::StepLeft { step, outcome });
        }
        out + &self.closed(reason(end, facts), process(end))
    }
}
