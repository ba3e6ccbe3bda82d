//! The same steps for either vendor, in the words that its model uses.

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Asking;
use crate::claude::drive::Run;
use crate::claude::messages::Stub as Messages;
use crate::claude::script::Call as ClaudeCall;
use crate::codex::cases::agents;
use crate::codex::script::{Call as CodexCall, Mode, Say, Script};
use crate::codex::session::{Codex, Session};
use crate::codex::stub::{Stub as Responses, outputs};
use crate::frame::Spec;
use crate::http::Service;
use crate::scratch::Scratch;

/// A vendor, and its model's way to call tools.
#[derive(Clone)]
pub enum Side {
    Claude(PathBuf),
    Codex(Codex, Mode),
}

/// A call that both vendors have.
#[derive(Clone)]
pub enum Do {
    Shell(String),
    /// Make a new file with the vendor's own tool.
    Write(PathBuf),
    /// Call the tool `note` of the server `lab`, which makes `ran.txt`.
    Mcp,
    /// List that server's resources.
    Resources,
    /// Start a sub-agent that makes one shell call.
    Agent(String),
    /// Call this tool with this input; only one vendor has it.
    Tool(&'static str, Value),
}

impl Do {
    pub fn shell(command: &str) -> Do {
        Do::Shell(command.into())
    }
}

/// One answer of the model.
struct Step {
    calls: Vec<Do>,
    delay: Duration,
}

/// A turn to run.
pub struct Plan {
    spec: Spec,
    steps: Vec<Step>,
    flags: Vec<String>,
    passed: Vec<String>,
    service: Service,
}

impl Plan {
    pub fn new(spec: Spec) -> Plan {
        Plan { spec, steps: Vec::new(), flags: Vec::new(), passed: Vec::new(), service: Service::default() }
    }

    pub fn shell() -> Plan {
        Plan::new(Spec::admitting(&["shell"]))
    }

    /// Add an answer with these calls.
    pub fn calls(mut self, calls: Vec<Do>) -> Plan {
        self.steps.push(Step { calls, delay: Duration::ZERO });
        self
    }

    pub fn call(self, call: Do) -> Plan {
        self.calls(vec![call])
    }

    /// Add an answer with this call, after a delay.
    pub fn late(mut self, seconds: u64, call: Do) -> Plan {
        self.steps.push(Step { calls: vec![call], delay: Duration::from_secs(seconds) });
        self
    }

    /// Add flags for `mh-run`.
    pub fn flags(mut self, flags: &[&str]) -> Plan {
        self.flags.extend(flags.iter().map(|flag| (*flag).to_string()));
        self
    }

    /// Add options for the vendor, after `--`.
    pub fn passed(mut self, options: &[&str]) -> Plan {
        self.passed.extend(options.iter().map(|option| (*option).to_string()));
        self
    }

    /// Set the behaviour of the model's service.
    pub fn service(mut self, service: Service) -> Plan {
        self.service = service;
        self
    }
}

/// The model's service, while the turn runs.
pub enum Model {
    Claude(Messages),
    Codex(Responses),
}

impl Model {
    /// Every tool result that the model got, in all conversations.
    pub fn told(&self) -> String {
        match self {
            Model::Claude(stub) => {
                let answers = stub.requests().iter().flat_map(crate::claude::script::answers).collect::<Vec<_>>();
                answers.into_iter().map(|answer| answer.text).collect::<Vec<_>>().join("\n")
            }
            Model::Codex(stub) => stub.asked().iter().map(|asked| outputs(&asked.body)).collect::<Vec<_>>().join("\n"),
        }
    }

    /// The number of requests.
    pub fn requests(&self) -> usize {
        match self {
            Model::Claude(stub) => stub.requests().len(),
            Model::Codex(stub) => stub.asked().len(),
        }
    }
}

/// The word that marks a sub-agent's prompt.
const PART: &str = "PARTONE";

impl Side {
    pub fn vendor(&self) -> &'static str {
        match self {
            Side::Claude(_) => "claude",
            Side::Codex(..) => "codex",
        }
    }

    /// The beginning of the cases' names.
    pub fn title(&self) -> String {
        match self {
            Side::Claude(_) => "mh-run ask".into(),
            Side::Codex(_, mode) => format!("mh-run ask, {}", mode.name()),
        }
    }

    pub fn is_claude(&self) -> bool {
        matches!(self, Side::Claude(_))
    }

    /// Start a turn that the case steers.
    pub fn ask<'a>(&self, scratch: &'a Scratch, plan: Plan) -> Result<(Asking<'a>, Model), String> {
        let (command, model) = self.command(scratch, plan.flags(&["--decisions", "ask"]))?;
        Ok((Asking::start(scratch, command)?, model))
    }

    /// The turn's command, and the service that it uses.
    pub fn command(&self, scratch: &Scratch, plan: Plan) -> Result<(Command, Model), String> {
        let frame = plan.spec.seal(scratch, "frame.json")?;
        let own = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
        let tools = json!({"tools": {"note": scratch.project.join("ran.txt")}, "resources": {"lab://one": null}});
        let servers = scratch.frames.join("servers.json");
        let spec = json!({"mcpServers": {"lab": {"command": own, "args": ["mcp", tools.to_string()]}}});
        std::fs::write(&servers, spec.to_string()).map_err(|error| error.to_string())?;
        let servers = servers.display().to_string();
        let mut flags: Vec<&str> = plan.flags.iter().map(String::as_str).collect();
        if plan.steps.iter().flat_map(|step| &step.calls).any(|call| matches!(call, Do::Mcp | Do::Resources)) {
            flags.extend(["--mcp-config", &servers]);
        }
        match self {
            Side::Claude(program) => {
                let mut run = Run::new(program, scratch).service(plan.service);
                for step in plan.steps {
                    for call in &step.calls {
                        if let Do::Agent(command) = call {
                            run = run.agent_call(PART, "Bash", json!({"command": command}));
                        }
                    }
                    run = run.step(step.calls.iter().map(claude).collect(), step.delay);
                }
                let (mut command, stub) = run.command(&frame, &flags)?;
                if !plan.passed.is_empty() {
                    command.arg("--").args(&plan.passed);
                }
                Ok((command, Model::Claude(stub)))
            }
            Side::Codex(codex, mode) => {
                let mut script = Script::turns(Vec::new()).service(plan.service);
                for step in &plan.steps {
                    if let [Do::Agent(command)] = step.calls.as_slice() {
                        let [spawn, wait] = agents::one(*mode, PART);
                        script.main.extend([vec![spawn], vec![wait]]);
                        script = script.other(PART, vec![vec![mode.say(&CodexCall::shell(command))]]);
                        continue;
                    }
                    let calls: Vec<CodexCall> = step.calls.iter().map(codex_call).collect();
                    script.main.push(said(*mode, &calls, step.delay));
                }
                flags.extend(["--sandbox", "danger-full-access"]);
                let (mut command, stub) =
                    Session::new(codex, scratch, *mode, script).governed_command(&frame, &flags)?;
                command.args(&plan.passed);
                Ok((command, Model::Codex(stub)))
            }
        }
    }
}

fn claude(call: &Do) -> ClaudeCall {
    match call {
        Do::Shell(command) => ClaudeCall::new("Bash", json!({"command": command, "description": "a step"})),
        Do::Write(path) => ClaudeCall::new("Write", json!({"file_path": path, "content": "x"})),
        Do::Mcp => ClaudeCall::new("mcp__lab__note", json!({"note": "hello"})),
        Do::Resources => ClaudeCall::new("ListMcpResourcesTool", json!({"server": "lab"})),
        Do::Agent(_) => ClaudeCall::new("Agent", crate::claude::drive::agent_input(PART)),
        Do::Tool(name, input) => ClaudeCall::new(name, input.clone()),
    }
}

fn codex_call(call: &Do) -> CodexCall {
    match call {
        Do::Shell(command) => CodexCall::shell(command),
        Do::Write(path) => crate::codex::cases::adds(&path.to_string_lossy()),
        Do::Mcp => CodexCall::mcp("lab", "note"),
        Do::Resources => CodexCall::tool("list_mcp_resources", json!({"server": "lab"})),
        Do::Agent(_) => CodexCall::tool("spawn_agent", json!({})),
        Do::Tool(name, input) => CodexCall::tool(name, input.clone()),
    }
}

/// One answer of Codex's model: parallel calls, or one script in code mode.
fn said(mode: Mode, calls: &[CodexCall], delay: Duration) -> Vec<Say> {
    let says: Vec<Say> = match (mode, calls) {
        (Mode::Code, [_, _, ..]) => {
            let calls: Vec<String> = calls.iter().map(CodexCall::script).collect();
            vec![Say::code(format!("text(JSON.stringify(await Promise.allSettled([{}])));", calls.join(", ")))]
        }
        _ => calls.iter().map(|call| mode.say(call)).collect(),
    };
    let wait = move |say: Say| {
        Say::late(move |_| {
            thread::sleep(delay);
            say.clone()
        })
    };
    if delay.is_zero() { says } else { says.into_iter().map(wait).collect() }
}
