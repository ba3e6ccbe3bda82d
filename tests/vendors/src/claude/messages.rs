//! A stub of the Messages API with the parts that Claude Code uses.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::script::{Script, answers};
use crate::http::{Request, Response, Server, Service};

pub struct Stub {
    pub server: Server,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Stub {
    /// Each request is kept, and is written to `logs`.
    pub fn start(script: Script, logs: PathBuf) -> io::Result<Stub> {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        let server = Server::start(move |request| answer(request, &script, &kept, &logs))?;
        Ok(Stub { server, requests })
    }

    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(request: &Request, script: &Script, kept: &Mutex<Vec<Value>>, logs: &std::path::Path) -> Response {
    if request.path.contains("/count_tokens") {
        return Response::json(&json!({"input_tokens": 100}));
    }
    if request.method != "POST" || !request.path.starts_with("/v1/messages") {
        return Response::json(&json!({"data": [], "has_more": false}));
    }
    let body = request.json();
    let number = {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(body.clone());
        kept.len()
    };
    drop(fs::write(logs.join(format!("request-{number:03}.json")), format!("{body:#}")));
    let Service { headers, refuses, thinks, cut } = &script.service;
    if let Some(status) = refuses {
        let error = json!({"type": "error", "error": {"type": "authentication_error", "message": "no such key"}});
        return Response::bytes(*status, "application/json", error.to_string().into_bytes());
    }
    let said =
        body["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "assistant").count();
    let (mut blocks, stop) = match said < *cut {
        true => (vec![json!({"type": "text", "text": format!("piece {said}, ")})], "max_tokens"),
        false => blocks(script, &body, number),
    };
    if *thinks && body["thinking"]["type"].as_str().is_some_and(|kind| kind != "disabled") {
        blocks.insert(0, json!({"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}));
    }
    let id = format!("msg_suite{number:05}");
    let model = body["model"].as_str().unwrap_or("stub").to_string();
    let response =
        if body["stream"] == json!(true) { stream(id, model, blocks, stop) } else { whole(&id, &model, &blocks, stop) };
    response.with(headers)
}

fn blocks(script: &Script, body: &Value, number: usize) -> (Vec<Value>, &'static str) {
    let last_words = |text: &str| (vec![json!({"type": "text", "text": text})], "end_turn");
    let Some((turn_number, turn)) = script.turn(body) else {
        return last_words(script.last_words(body));
    };
    thread::sleep(turn.delay);
    let results: Vec<String> = answers(body).into_iter().map(|answer| answer.text).collect();
    let results = results.join("\n");
    let calls: Vec<Value> = turn
        .calls
        .iter()
        .enumerate()
        .map(|(place, call)| {
            json!({"type": "tool_use", "id": format!("toolu_suite{number:03}t{turn_number:02}c{place:02}"),
                   "name": call.name, "input": call.input(&results)})
        })
        .collect();
    (calls, "tool_use")
}

/// As the real service counts: a streamed message starts before its output is counted.
fn usage(output: u32) -> Value {
    json!({"input_tokens": 100, "output_tokens": output, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0})
}

fn whole(id: &str, model: &str, blocks: &[Value], stop: &str) -> Response {
    Response::json(&json!({"id": id, "type": "message", "role": "assistant", "model": model, "content": blocks,
                           "stop_reason": stop, "stop_sequence": null, "usage": usage(10)}))
}

fn stream(id: String, model: String, blocks: Vec<Value>, stop: &'static str) -> Response {
    Response::events(move |out| {
        out.event(
            "message_start",
            &json!({"type": "message_start", "message": {
                "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": usage(1)}}),
        )?;
        for (index, block) in blocks.iter().enumerate() {
            let (empty, delta) = match block["type"].as_str() {
                Some("text") => {
                    (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]}))
                }
                Some("thinking") => (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                ),
                _ => (
                    json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                    json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
                ),
            };
            out.event(
                "content_block_start",
                &json!({"type": "content_block_start", "index": index, "content_block": empty}),
            )?;
            out.event("content_block_delta", &json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
            if block["type"] == "thinking" {
                let signed = json!({"type": "signature_delta", "signature": block["signature"]});
                out.event(
                    "content_block_delta",
                    &json!({"type": "content_block_delta", "index": index, "delta": signed}),
                )?;
            }
            out.event("content_block_stop", &json!({"type": "content_block_stop", "index": index}))?;
        }
        out.event(
            "message_delta",
            &json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
                    "usage": {"output_tokens": 10}}),
        )?;
        out.event("message_stop", &json!({"type": "message_stop"}))
    })
}
