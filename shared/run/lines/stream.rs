//! `stream-json`: the turn for a script, one complete record a line; the last line is the object that `json` prints
//! alone. Types and fields are only ever added; removing or redefining one raises `v`.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Item, Lines, TurnEnd};
use crate::protocol::{UNATTENDED, one_line};
use crate::run::json;

/// The facts of the first line that no record of the vendor has.
#[derive(Debug, Default)]
pub struct StreamLines {
    pub vendor: &'static str,
    pub version: String,
    pub frame: Option<String>,
    /// The policy, if a frame is in force.
    pub policy: Option<&'static str>,
    /// The model that the command line asked for.
    pub model: Option<String>,
    pub cwd: String,
    pub prompt: String,
    /// The records that are written already.
    pub told: StreamTold,
}

/// The records of a turn that are written already.
#[derive(Debug, Default)]
pub struct StreamTold {
    /// The first line is written.
    begun: bool,
    /// The calls whose denial for want of an approval is written.
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
            // a sub-agent's own calls have no lines: the call that started it stands for them
            Item::Requested { call, .. } | Item::Decided { call, .. } | Item::Result { call, .. } if call.nested => {
                String::new()
            }
            Item::Requested { call, .. } => {
                line(&StreamRecord::ToolUse { id: &call.id, tool: &call.tool, input: call.input.as_deref() })
            }
            // a denial by the frame is a result like any other; an approval is given by somebody
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
        // an older release reports these denials only in its last record
        let denied = end.turn.denied.iter().map(|denied| self.unapproved(&denied.id, &denied.tool));
        begun + &denied.collect::<String>() + &json(end.turn, end.outcome, end.error, end.answered, end.printed)
    }
}

impl StreamLines {
    /// The first two lines, once. A turn whose vendor ends without a record has them too.
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

    /// The line for a call that needed an approval that nobody could give, once.
    fn unapproved(&mut self, id: &str, tool: &str) -> String {
        match self.told.denied.insert(id.into()) {
            true => line(&StreamRecord::Approval { id, tool, decision: "denied", reason: Some(UNATTENDED) }),
            false => String::new(),
        }
    }
}
