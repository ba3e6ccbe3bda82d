//! Whose turn it is: the same steps for either vendor, as its model would ask for them.

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

/// A vendor, and how its model calls tools.
#[derive(Clone)]
pub enum Side {
    Claude(PathBuf),
    Codex(Codex, Mode),
}

/// A call that both vendors have.
#[derive(Clone)]
pub enum Do {
    Shell(String),
    /// A new file, by the tool that is for it.
    Write(PathBuf),
    /// The tool `note` of the server `lab`, which makes `ran.txt`.
    Mcp,
    /// The list of that server's resources.
    Resources,
    /// A sub-agent, which makes one call of a shell.
    Agent(String),
    /// A tool of this name with this input, for the one vendor that has it.
    Tool(&'static str, Value),
}

impl Do {
    pub fn shell(command: &str) -> Do {
        Do::Shell(command.into())
    }
}

/// What the model says in one answer.
struct Step {
    calls: Vec<Do>,
    delay: Duration,
}

/// A turn that is to be run.
pub struct Plan {
    spec: Spec,
    steps: Vec<Step>,
    flags: Vec<String>,
    passed: Vec<String>,
    service: Service,
}

impl Plan {
    /// A turn under a frame that admits this.
    pub fn new(spec: Spec) -> Plan {
        Plan { spec, steps: Vec::new(), flags: Vec::new(), passed: Vec::new(), service: Service::default() }
    }

    /// A turn under a frame that admits a shell.
    pub fn shell() -> Plan {
        Plan::new(Spec::admitting(&["shell"]))
    }

    /// The calls of one answer.
    pub fn calls(mut self, calls: Vec<Do>) -> Plan {
        self.steps.push(Step { calls, delay: Duration::ZERO });
        self
    }

    pub fn call(self, call: Do) -> Plan {
        self.calls(vec![call])
    }

    /// The same, in an answer that takes its time.
    pub fn late(mut self, seconds: u64, call: Do) -> Plan {
        self.steps.push(Step { calls: vec![call], delay: Duration::from_secs(seconds) });
        self
    }

    /// Flags of `mh-run`.
    pub fn flags(mut self, flags: &[&str]) -> Plan {
        self.flags.extend(flags.iter().map(|flag| (*flag).to_string()));
        self
    }

    /// Options of the vendor's, behind `--`.
    pub fn passed(mut self, options: &[&str]) -> Plan {
        self.passed.extend(options.iter().map(|option| (*option).to_string()));
        self
    }

    /// A service that behaves like this.
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
    /// All that the model was told by tools, in all conversations.
    pub fn told(&self) -> String {
        match self {
            Model::Claude(stub) => {
                let answers = stub.requests().iter().flat_map(crate::claude::script::answers).collect::<Vec<_>>();
                answers.into_iter().map(|answer| answer.text).collect::<Vec<_>>().join("\n")
            }
            Model::Codex(stub) => stub.asked().iter().map(|asked| outputs(&asked.body)).collect::<Vec<_>>().join("\n"),
        }
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        match self {
            Model::Claude(stub) => stub.requests().len(),
            Model::Codex(stub) => stub.asked().len(),
        }
    }
}

/// The word in the prompt of a sub-agent.
const PART: &str = "PARTONE";

impl Side {
    /// The vendor's word.
    pub fn vendor(&self) -> &'static str {
        match self {
            Side::Claude(_) => "claude",
            Side::Codex(..) => "codex",
        }
    }

    /// How a case's name begins.
    pub fn title(&self) -> String {
        match self {
            Side::Claude(_) => "mh-run ask".into(),
            Side::Codex(_, mode) => format!("mh-run ask, {}", mode.name()),
        }
    }

    pub fn is_claude(&self) -> bool {
        matches!(self, Side::Claude(_))
    }

    /// A turn that is steered.
    pub fn ask<'a>(&self, scratch: &'a Scratch, plan: Plan) -> Result<(Asking<'a>, Model), String> {
        let (command, model) = self.command(scratch, plan.flags(&["--decisions", "ask"]))?;
        Ok((Asking::start(scratch, command)?, model))
    }

    /// The turn's command, and the service that it asks.
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

/// One answer of Codex's model: side by side, in code mode from one script.
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
