//! An independent reader of `metaharness.frame/1`: it checks the shape, and writes the canonical text from serde_json's
//! sorted map.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::json::Json;

const BARE: [&str; 10] = [
    "dir.list",
    "file.edit",
    "file.read",
    "file.write",
    "search",
    "shell",
    "skill.load",
    "subagent.spawn",
    "task.todo",
    "web.read",
];

/// The canonical text of a document of the right shape. `None` if a key stands twice, is unknown or is missing, or a
/// value has another type. The tag is not checked.
pub fn canonical(document: &Json) -> Option<String> {
    if document.repeats() || document.get("digest").is_some_and(|digest| digest.text().is_none()) {
        return None;
    }
    let known = "digest,entities,format,handoff,next,node,obligations,operations,prior,reaching,step,subjects,workflow";
    only(document, known)?;
    let mut out = Map::new();
    let mut put = |key: &str, value: Option<Value>| Some(out.insert(key.into(), value?));
    put("workflow", texts(document.get("workflow")?, &["id", "version"]))?;
    put("node", texts(document.get("node")?, &["id"]))?;
    put("step", step(document.get("step")?))?;
    put("prior", list(document.get("prior")?, |line| lined(line, "source")))?;
    put("obligations", list(document.get("obligations")?, |line| lined(line, "asked_by")))?;
    put("reaching", list(document.get("reaching")?, |line| lined(line, "asked_by")))?;
    put("next", list(document.get("next")?, |node| texts(node, &["id"])))?;
    put("handoff", handoff(document.get("handoff")?))?;
    put("operations", operations(document.get("operations")?))?;
    put("entities", entities(document.get("entities")))?;
    if let Some(subjects) = document.get("subjects") {
        only(subjects, "rules")?;
        match subjects.get("rules").map(|rules| list(rules, rule)) {
            None => {}
            Some(rules) => match rules? {
                Value::Array(rules) if rules.is_empty() => {}
                rules => put("subjects", Some(json!({ "rules": rules }))).map(|_| ())?,
            },
        }
    }
    Some(Value::Object(out).to_string())
}

/// Accept an object that has only these keys.
fn only(value: &Json, known: &str) -> Option<()> {
    value.members()?.iter().all(|(key, _)| known.split(',').any(|known| known == key)).then_some(())
}

/// Accept an object of exactly these keys, each with a string.
fn texts(value: &Json, keys: &[&str]) -> Option<Value> {
    only(value, &keys.join(","))?;
    keys.iter()
        .map(|key| Some((key.to_string(), Value::from(value.get(key)?.text()?))))
        .collect::<Option<_>>()
        .map(Value::Object)
}

/// A string or null; a missing member is null.
fn nullable(value: Option<&Json>) -> Option<Value> {
    match value {
        None | Some(Json::Null) => Some(Value::Null),
        Some(value) => Some(value.text()?.into()),
    }
}

fn list(value: &Json, each: impl Fn(&Json) -> Option<Value>) -> Option<Value> {
    value.items()?.iter().map(each).collect::<Option<Vec<_>>>().map(Value::Array)
}

fn step(value: &Json) -> Option<Value> {
    only(value, "attempt,index,state,workflow")?;
    let number = |key| match value.get(key)? {
        Json::Whole(number) => u32::try_from(*number).ok(),
        _ => None,
    };
    Some(json!({
        "attempt": number("attempt")?,
        "index": number("index")?,
        "state": value.get("state")?.text()?,
        "workflow": value.get("workflow")?.text()?,
    }))
}

fn lined(value: &Json, origin: &str) -> Option<Value> {
    only(value, &format!("text,{origin}"))?;
    Some(json!({ "text": value.get("text")?.text()?, origin: nullable(value.get(origin))? }))
}

fn handoff(value: &Json) -> Option<Value> {
    match value.get("handoff")?.text()? {
        "none" => texts(value, &["handoff"]),
        "structured_answer" => texts(value, &["handoff", "schema"]),
        "artifact" => {
            only(value, "handoff,kind,name")?;
            let name = value.get("name")?.text()?;
            Some(json!({ "handoff": "artifact", "kind": nullable(value.get("kind"))?, "name": name }))
        }
        _ => None,
    }
}

/// A set of operations, sorted by (op, server, tool).
fn operations(value: &Json) -> Option<Value> {
    let mut set = BTreeMap::new();
    for item in value.items()? {
        let op = item.get("op")?.text()?;
        let (server, tool, value) = match op {
            "mcp.call" => {
                let value = texts(item, &["op", "server", "tool"])?;
                (item.get("server")?.text()?, item.get("tool")?.text()?, value)
            }
            op if BARE.contains(&op) => ("", "", texts(item, &["op"])?),
            _ => return None,
        };
        set.insert((op, server, tool), value);
    }
    Some(set.into_values().collect())
}

fn entities(value: Option<&Json>) -> Option<Value> {
    match value {
        None | Some(Json::Null) => Some(Value::Null),
        Some(value) => {
            only(value, "members,source")?;
            let members = list(value.get("members")?, |member| Some(member.text()?.into()))?;
            Some(json!({ "members": members, "source": value.get("source")?.text()? }))
        }
    }
}

fn rule(value: &Json) -> Option<Value> {
    only(value, "operations,subjects")?;
    let subjects = list(value.get("subjects")?, |glob| Some(glob.text()?.into()))?;
    Some(json!({ "operations": operations(value.get("operations")?)?, "subjects": subjects }))
}
