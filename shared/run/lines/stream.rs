//! `stream-json`: the turn for a script, one complete record a line, the last the object that
//! `json` prints alone. Types and fields are only ever added; to remove or redefine one raises `v`.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Item, Lines, TurnEnd};
use crate::protocol::{UNATTENDED, one_line};
use crate::run::json;

/// What the first line says that no record of the vendor's does.
#[derive(Debug, Default)]
pub struct StreamLines {
    /// The vendor's word.
    pub vendor: &'static str,
    /// The vendor's release.
    pub version: String,
    /// The digest of the frame in force.
    pub frame: Option<String>,
    /// The policy in force, where a frame is.
    pub policy: Option<&'static str>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The folder that the turn works in.
    pub cwd: String,
    /// The prompt.
    pub prompt: String,
    /// What is out already.
    pub told: StreamTold,
}

/// What is out of a turn in this form.
#[derive(Debug, Default)]
pub struct StreamTold {
    /// The first line.
    begun: bool,
    /// That these calls needed an approval.
    denied: HashSet<String>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StreamRecord<'a> {
    Init {
        v: u32,
        session_id: Option<&'a str>,
        model: Option<&'a str>,
        mode: Option<&'a str>,
        cwd: &'a str,
        harness_version: &'a str,
        vendor: &'a str,
        vendor_version: &'a str,
        driver_version: &'a str,
        frame: Option<&'a str>,
        policy: Option<&'a str>,
    },
    User {
        text: &'a str,
    },
    Reasoning {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        tool: &'a str,
        input: Option<&'a RawValue>,
    },
    Approval {
        id: &'a str,
        tool: &'a str,
        decision: &'a str,
        reason: Option<&'a str>,
    },
    ToolResult {
        id: &'a str,
        tool: &'a str,
        status: &'a str,
        output: Option<&'a str>,
        error: Option<&'a str>,
    },
    Assistant {
        text: &'a str,
    },
}

fn line(record: &StreamRecord<'_>) -> String {
    one_line(serde_json::to_string(record).unwrap_or_default())
}

impl Lines for StreamLines {
    fn tell(&mut self, _: Option<&str>, item: &Item<'_>) -> String {
        match *item {
            Item::Started { session, model, facts } => self.begin(session, model, facts),
            Item::Text { text, .. } => line(&StreamRecord::Assistant { text }),
            Item::Thinking { text, .. } => line(&StreamRecord::Reasoning { text }),
            // a sub-agent's own calls: the call that started it stands for them
            Item::Requested { call, .. } | Item::Decided { call, .. } | Item::Result { call, .. } if call.nested => {
                String::new()
            }
            Item::Requested { call, .. } => {
                line(&StreamRecord::ToolUse { id: &call.id, tool: &call.tool, input: call.input.as_deref() })
            }
            // what the frame decided is a result like another; an approval is somebody's word
            Item::Decided { call, judgement, .. } => {
                let decision = match (judgement.decided_by.as_str(), judgement.denies()) {
                    ("embedder", false) => "allowed_once",
                    ("embedder", true) => "denied",
                    ("deadline", _) => "timed_out",
                    ("adapter", true) => "refused",
                    _ => return String::new(),
                };
                line(&StreamRecord::Approval { id: &call.id, tool: &call.tool, decision, reason: judgement.reason() })
            }
            Item::Result { call, failed, unapproved, content, .. } => {
                let approval = if unapproved { self.unapproved(&call.id, &call.tool) } else { String::new() };
                let result = line(&StreamRecord::ToolResult {
                    id: &call.id,
                    tool: &call.tool,
                    status: match failed {
                        Some(true) => "failed",
                        Some(false) => "ok",
                        None => "unknown",
                    },
                    output: (failed != Some(true)).then_some(content),
                    error: (failed == Some(true)).then_some(content),
                });
                approval + &result
            }
            _ => String::new(),
        }
    }

    fn end(&mut self, end: &TurnEnd<'_>) -> String {
        let begun = self.begin(None, None, &Value::Null);
        // an older release says so in its last record alone
        let denied = end.turn.denied.iter().map(|denied| self.unapproved(&denied.id, &denied.tool));
        begun + &denied.collect::<String>() + &json(end.turn, end.outcome, end.error, end.answered, end.printed)
    }
}

impl StreamLines {
    /// The first two lines, once: a vendor that ends before it has said anything has a turn, too.
    fn begin(&mut self, session: Option<&str>, model: Option<&str>, facts: &Value) -> String {
        if std::mem::replace(&mut self.told.begun, true) {
            return String::new();
        }
        let init = StreamRecord::Init {
            v: 1,
            session_id: session,
            model: model.or(self.model.as_deref()),
            mode: facts.get("permission_mode").and_then(Value::as_str),
            cwd: &self.cwd,
            harness_version: env!("CARGO_PKG_VERSION"),
            vendor: self.vendor,
            vendor_version: &self.version,
            driver_version: env!("CARGO_PKG_VERSION"),
            frame: self.frame.as_deref(),
            policy: self.policy,
        };
        line(&init) + &line(&StreamRecord::User { text: &self.prompt })
    }

    /// That a call needed an approval which nobody could give, once.
    fn unapproved(&mut self, id: &str, tool: &str) -> String {
        match self.told.denied.insert(id.into()) {
            true => line(&StreamRecord::Approval { id, tool, decision: "denied", reason: Some(UNATTENDED) }),
            false => String::new(),
        }
    }
}
