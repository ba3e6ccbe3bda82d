//! A stub of the Responses API with the parts that Codex uses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::script::Script;
use crate::http::{Request, Response, Server, Service};

/// One request to the model, and the thread that it came from.
#[derive(Clone)]
pub struct Asked {
    pub thread: String,
    /// The part of the script that answered it: `main`, a marker, or nothing.
    pub part: String,
    pub body: Value,
}

#[derive(Default)]
struct State {
    asked: Vec<Asked>,
    /// The part for each thread; the first thread is the main one.
    parts: HashMap<String, String>,
    turns: HashMap<String, usize>,
}

pub struct Stub {
    server: Server,
    state: Arc<Mutex<State>>,
}

impl Stub {
    pub fn start(script: Script) -> Result<Stub, String> {
        let state = Arc::new(Mutex::new(State::default()));
        let kept = Arc::clone(&state);
        let server = Server::start(move |request| answer(request, &script, &kept))
            .map_err(|error| format!("could not start the stub: {error}"))?;
        Ok(Stub { server, state })
    }

    /// The provider's `base_url`.
    pub fn url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.state).asked.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(request: &Request, script: &Script, state: &Mutex<State>) -> Response {
    let path = request.path.split('?').next().unwrap_or_default();
    if request.method == "POST" && path.ends_with("/responses") {
        return respond(request, script, state);
    }
    if path.ends_with("/models") {
        return Response::json(&json!({"models": []}));
    }
    if path.ends_with("/compact") {
        return Response::json(&json!({"output": []}));
    }
    Response::bytes(404, "application/json", b"{}".to_vec())
}

fn respond(request: &Request, script: &Script, state: &Mutex<State>) -> Response {
    let body = request.json();
    let thread =
        request.header("thread-id").or_else(|| body["prompt_cache_key"].as_str()).unwrap_or_default().to_string();
    let (part, turn, number) = {
        let mut state = lock(state);
        let part = match state.parts.get(&thread) {
            Some(part) => part.clone(),
            None => {
                let part = part_of(script, &body, state.parts.is_empty());
                state.parts.insert(thread.clone(), part.clone());
                part
            }
        };
        let turn = state.turns.entry(thread.clone()).or_default();
        let now = *turn;
        *turn += 1;
        state.asked.push(Asked { thread, part: part.clone(), body: body.clone() });
        (part, now, state.asked.len())
    };
    let turns = match part.as_str() {
        "main" => Some(&script.main),
        marker => script.others.iter().find(|(name, _)| name == marker).map(|(_, turns)| turns),
    };
    let Service { headers, refuses, thinks, .. } = &script.service;
    if let Some(status) = refuses {
        let error =
            json!({"error": {"message": "no such key", "type": "invalid_request_error", "code": "invalid_api_key"}});
        return Response::bytes(*status, "application/json", error.to_string().into_bytes());
    }
    let outputs = outputs(&body);
    let mut items: Vec<Value> = match turns.and_then(|turns| turns.get(turn)) {
        Some(said) => {
            said.iter().enumerate().map(|(index, say)| say.item(&format!("call-{number}-{index}"), &outputs)).collect()
        }
        None => vec![super::script::Say::Message("done".into()).item(&format!("end-{number}"), "")],
    };
    if *thinks {
        let thought = json!({"type": "reasoning", "id": format!("thought-{number}"), "encrypted_content": null,
                             "summary": [{"type": "summary_text", "text": "Let me see."}]});
        items.insert(0, thought);
    }
    stream(number, items).with(headers)
}

fn part_of(script: &Script, body: &Value, first: bool) -> String {
    // a script without a main part is for several sessions, each found by its prompt
    if first && (!script.main.is_empty() || script.others.is_empty()) {
        return "main".into();
    }
    let text = body["input"].to_string();
    script
        .others
        .iter()
        .map(|(marker, _)| marker)
        .find(|marker| text.contains(marker.as_str()))
        .cloned()
        .unwrap_or_default()
}

fn stream(number: usize, items: Vec<Value>) -> Response {
    Response::events(move |out| {
        let id = format!("resp-{number}");
        out.event("response.created", &json!({"type": "response.created", "response": {"id": id}}))?;
        for (index, item) in items.iter().enumerate() {
            out.event(
                "response.output_item.done",
                &json!({"type": "response.output_item.done", "output_index": index, "item": item}),
            )?;
        }
        out.event(
            "response.completed",
            &json!({"type": "response.completed", "response": {"id": id, "usage": {
                "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
                "output_tokens_details": null, "total_tokens": 2}}}),
        )
    })
}

/// The text of every tool output in a request, joined.
pub fn outputs(body: &Value) -> String {
    body["input"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output")))
        .map(|item| words(&item["output"]))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The text of an input item's content, whatever its shape.
pub fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(words).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => match part.get("text").or_else(|| part.get("content")) {
            Some(inner) => words(inner),
            None => value.to_string(),
        },
        _ => String::new(),
    }
}
