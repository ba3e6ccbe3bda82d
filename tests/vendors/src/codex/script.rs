//! The scripted model's answers: tool calls as output items of the Responses API, direct ones or, as most models of the
//! measured release make them, from JavaScript in one tool `exec`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::http::Service;

/// The model's way to call tools, which Codex chooses by the model's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Direct,
    Code,
}

impl Mode {
    pub const BOTH: [Mode; 2] = [Mode::Direct, Mode::Code];

    pub fn model(self) -> &'static str {
        match self {
            Mode::Direct => "gpt-5.5",
            Mode::Code => "gpt-6-sol",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Mode::Direct => "direct",
            Mode::Code => "code mode",
        }
    }

    /// A call in this mode's form.
    pub fn say(self, call: &Call) -> Say {
        match self {
            Mode::Direct => Say::Call(call.clone()),
            Mode::Code => Say::code(format!("text(await {});", call.script())),
        }
    }
}

#[derive(Clone)]
enum Input {
    Arguments(Value),
    /// For tools without a schema, and for arguments that are not JSON.
    Text(String),
}

/// A call of one tool, for either mode.
#[derive(Clone)]
pub struct Call {
    namespace: Option<String>,
    name: String,
    input: Input,
    freeform: bool,
}

impl Call {
    pub fn tool(name: &str, arguments: Value) -> Call {
        Call { namespace: None, name: name.into(), input: Input::Arguments(arguments), freeform: false }
    }

    pub fn within(mut self, namespace: &str) -> Call {
        self.namespace = Some(namespace.into());
        self
    }

    pub fn shell(command: &str) -> Call {
        Call::tool("exec_command", json!({"cmd": command}))
    }

    pub fn patch(text: &str) -> Call {
        Call { namespace: None, name: "apply_patch".into(), input: Input::Text(text.into()), freeform: true }
    }

    /// A call of an MCP server's tool, with both names as Codex renders them for the model.
    pub fn mcp(server: &str, tool: &str) -> Call {
        Call::tool(tool, json!({"note": "hello"})).within(&format!("mcp__{server}"))
    }

    /// A function call with this text as its arguments, JSON or not.
    pub fn garbled(mut self, text: &str) -> Call {
        self.input = Input::Text(text.into());
        self
    }

    fn item(&self, id: &str) -> Value {
        let mut item = json!({"call_id": id, "name": self.name});
        if self.freeform {
            item["type"] = json!("custom_tool_call");
            item["status"] = json!("completed");
            item["input"] = json!(self.input.text());
        } else {
            item["type"] = json!("function_call");
            item["arguments"] = json!(self.input.text());
        }
        item["id"] = json!(format!("item-{id}"));
        if let Some(namespace) = &self.namespace {
            item["namespace"] = json!(namespace);
        }
        item
    }

    /// The JavaScript expression that makes this call.
    pub fn script(&self) -> String {
        let name = match &self.namespace {
            // Measured: no second separator where either name has an underscore at that end.
            Some(namespace) if namespace.ends_with('_') || self.name.starts_with('_') => {
                format!("{namespace}{}", self.name)
            }
            Some(namespace) => format!("{namespace}__{}", self.name),
            None => self.name.clone(),
        };
        let argument = match &self.input {
            Input::Arguments(value) => value.to_string(),
            Input::Text(text) => json!(text).to_string(),
        };
        format!("tools[{}]({argument})", json!(name))
    }
}

impl Input {
    fn text(&self) -> String {
        match self {
            Input::Arguments(value) => value.to_string(),
            Input::Text(text) => text.clone(),
        }
    }
}

type Late = Arc<dyn Fn(&str) -> Say + Send + Sync>;

/// One item of an answer.
#[derive(Clone)]
pub enum Say {
    Call(Call),
    Code(String),
    Message(String),
    /// An item of the service's, as it stands.
    Item(Value),
    /// Made when its turn comes, from all the tool outputs that the model was given.
    Late(Late),
}

impl Say {
    pub fn code(script: impl Into<String>) -> Say {
        Say::Code(script.into())
    }

    pub fn late(make: impl Fn(&str) -> Say + Send + Sync + 'static) -> Say {
        Say::Late(Arc::new(make))
    }

    pub fn item(&self, id: &str, outputs: &str) -> Value {
        match self {
            Say::Call(call) => call.item(id),
            Say::Code(script) => json!({
                "type": "custom_tool_call", "id": format!("item-{id}"), "call_id": id,
                "status": "completed", "namespace": "functions", "name": "exec", "input": script}),
            Say::Message(text) => json!({
                "type": "message", "id": format!("item-{id}"), "role": "assistant",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}),
            Say::Item(item) => item.clone(),
            Say::Late(make) => make(outputs).item(id, outputs),
        }
    }
}

/// The model's answer to one request.
pub type Turn = Vec<Say>;

/// The answers for each thread of a session.
#[derive(Clone, Default)]
pub struct Script {
    pub main: Vec<Turn>,
    /// Threads by a word in their first request: sub-agents, reviews, a nested session. The first match counts.
    pub others: Vec<(String, Vec<Turn>)>,
    pub service: Service,
}

impl Script {
    pub fn turns(main: Vec<Turn>) -> Script {
        Script { main, others: Vec::new(), service: Service::default() }
    }

    /// Sets the behaviour of the model's service.
    pub fn service(mut self, service: Service) -> Script {
        self.service = service;
        self
    }

    /// A script with one call for each turn.
    pub fn calls(mode: Mode, calls: &[Call]) -> Script {
        Script::turns(calls.iter().map(|call| vec![mode.say(call)]).collect())
    }

    pub fn other(mut self, marker: &str, turns: Vec<Turn>) -> Script {
        self.others.push((marker.into(), turns));
        self
    }
}
