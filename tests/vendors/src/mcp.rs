//! A stdio MCP server whose tools leave a mark on the disk. It is this same program, started again by the vendor with
//! `mcp SPEC`. SPEC is one JSON object:
//!
//!     {"tools": {"NAME": "/abs/file to make"}, "resources": {"URI": "/abs/file to make"},
//!      "listed": "/abs/file to make when resources are listed", "approve": "allow" | "deny"}
//!
//! With `approve` there is a tool `approve` too, for `--permission-prompt-tool`.

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};

use serde_json::{Map, Value, json};

pub fn serve(spec: &str) -> Result<(), String> {
    let spec: Value = serde_json::from_str(spec).map_err(|error| format!("the mcp spec is no JSON: {error}"))?;
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        let method = message["method"].as_str().unwrap_or_default();
        let mut reply = json!({"jsonrpc": "2.0", "id": id});
        match answer(&spec, method, &message["params"]) {
            Some(result) => reply["result"] = result,
            None => reply["error"] = json!({"code": -32601, "message": "no such method"}),
        }
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{reply}").and_then(|()| stdout.flush()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn answer(spec: &Value, method: &str, params: &Value) -> Option<Value> {
    let listed = |key: &str| spec[key].as_object().cloned().unwrap_or_default();
    Some(match method {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"].as_str().unwrap_or("2025-06-18"),
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "suite", "version": "1"},
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": tools(spec, &listed("tools"))}),
        "tools/call" => call(spec, params),
        "resources/list" => {
            mark(&spec["listed"]);
            let resources: Vec<Value> = listed("resources")
                .keys()
                .map(|uri| json!({"uri": uri, "name": uri, "mimeType": "text/plain"}))
                .collect();
            json!({"resources": resources})
        }
        "resources/templates/list" => {
            mark(&spec["listed"]);
            json!({"resourceTemplates": []})
        }
        "resources/read" => {
            let uri = params["uri"].as_str().unwrap_or_default();
            mark(&spec["resources"][uri]);
            json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": "the resource's text"}]})
        }
        _ => return None,
    })
}

fn tools(spec: &Value, named: &Map<String, Value>) -> Vec<Value> {
    let mut tools: Vec<Value> = named
        .keys()
        .map(|name| {
            json!({"name": name, "description": "leaves a mark", "inputSchema": {
                "type": "object", "properties": {"note": {"type": "string"}}}})
        })
        .collect();
    if spec["approve"].is_string() {
        tools.push(json!({"name": "approve", "description": "answers permission prompts", "inputSchema": {
            "type": "object", "properties": {"tool_name": {"type": "string"}, "input": {"type": "object"}}}}));
    }
    tools
}

fn call(spec: &Value, params: &Value) -> Value {
    let name = params["name"].as_str().unwrap_or_default();
    let text = if name == "approve" {
        match spec["approve"].as_str() {
            Some("allow") => json!({"behavior": "allow", "updatedInput": params["arguments"]["input"]}).to_string(),
            _ => json!({"behavior": "deny", "message": "the person says no"}).to_string(),
        }
    } else {
        mark(&spec["tools"][name]);
        format!("done: {}", params["arguments"])
    };
    json!({"content": [{"type": "text", "text": text}]})
}

fn mark(path: &Value) {
    if let Some(path) = path.as_str() {
        // On failure the file is missing, which the case notices; this process has no one to report to.
        drop(OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| file.write_all(b"ran\n")));
    }
}
