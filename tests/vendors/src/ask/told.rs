//! The lines of an ended run, and checks that hold for every run.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::scratch::{Ended, Scratch};

pub struct Told {
    pub code: Option<i32>,
    pub lines: Vec<Value>,
    pub stderr: String,
}

impl Told {
    /// Read lines of `metaharness.event/1`, and check what holds for every run.
    pub fn events(
        code: Option<i32>,
        lines: Vec<Value>,
        stderr: String,
        commands: usize,
        scratch: &Scratch,
    ) -> Result<Told, String> {
        let told = Told { code, lines, stderr };
        match told.broken(commands, scratch) {
            None => Ok(told),
            Some(law) => Err(format!("{law}; {}", told.story())),
        }
    }

    /// As [`Told::events`], for a run that took no commands.
    pub fn of_events(ended: Ended, scratch: &Scratch) -> Result<Told, String> {
        Told::events(ended.code, parsed(&ended.stdout)?, ended.stderr, 0, scratch)
    }

    /// Read records of `stream-json`, and check what holds for every run.
    pub fn of_stream(ended: Ended, scratch: &Scratch) -> Result<Told, String> {
        let told = Told { code: ended.code, lines: parsed(&ended.stdout)?, stderr: ended.stderr };
        let kind = |line: &Value, kind: &str| line["type"] == kind;
        let asked = |place: usize, id: &Value| {
            told.lines
                .iter()
                .take(place)
                .any(|line| kind(line, "tool_use") && line["id"] == *id && line["input"].is_object())
        };
        let joined = told
            .lines
            .iter()
            .enumerate()
            .all(|(place, line)| !kind(line, "tool_result") || line["id"].is_string() && asked(place, &line["id"]));
        let last = told.lines.last().is_some_and(|line| kind(line, "result"));
        let left = scratch.still_running();
        match (joined, last, left.is_empty()) {
            (true, true, true) => Ok(told),
            (false, ..) => Err(format!("a result joins no call; {}", told.story())),
            (_, false, _) => Err(format!("the last line is no result; {}", told.story())),
            (.., false) => Err(format!("something was left running: {left:?}; {}", told.story())),
        }
    }

    fn broken(&self, commands: usize, scratch: &Scratch) -> Option<String> {
        let numbered = self.lines.iter().zip(1_u64..).all(|(line, seq)| {
            line["seq"] == seq && line["format"] == "metaharness.event/1" && line["run"] == self.lines[0]["run"]
        });
        if !numbered {
            return Some("the lines are not numbered without a gap".into());
        }
        let last = self.lines.last().unwrap_or(&Value::Null);
        if last["event"] != "stream.closed" || last["events"] != json!(self.lines.len() - 1) {
            return Some("the last line is no stream.closed with its count".into());
        }
        if self.of("command.result").count() != commands {
            return Some(format!("{commands} commands have not as many answers"));
        }
        let places = |event: &str, id: &Value| -> Vec<usize> {
            let of = |line: &Value| line["event"] == event && line["call_id"] == *id;
            self.lines.iter().enumerate().filter(|(_, line)| of(line)).map(|(place, _)| place).collect()
        };
        let ids: BTreeSet<String> =
            self.lines.iter().filter_map(|line| line["call_id"].as_str()).map(String::from).collect();
        for id in ids {
            let id = json!(id);
            let (asked, decided, over) =
                (places("tool.requested", &id), places("tool.decided", &id), places("tool.result", &id));
            let once = asked.len() == 1 && decided.len() <= 1 && over.len() <= 1;
            let row: Vec<usize> = asked.into_iter().chain(decided).chain(over).collect();
            if !once || !row.is_sorted() {
                return Some(format!("the lines of {id} are not one row: requested, decided, result"));
            }
        }
        if self.of("tool.requested").any(|line| line["input"].is_null()) {
            return Some("a call has no input".into());
        }
        let left = scratch.still_running();
        (!left.is_empty()).then(|| format!("something was left running: {left:?}"))
    }

    pub fn of<'a>(&'a self, event: &'a str) -> impl Iterator<Item = &'a Value> {
        self.lines.iter().filter(move |line| line["event"] == event)
    }

    pub fn about<'a>(&'a self, event: &'a str, call: &Value) -> &'a Value {
        self.of(event).find(|line| line["call_id"] == call["call_id"]).unwrap_or(&Value::Null)
    }

    pub fn first<'a>(&'a self, event: &'a str) -> &'a Value {
        self.of(event).next().unwrap_or(&Value::Null)
    }

    pub fn warned(&self, code: &str) -> bool {
        self.of("warning").any(|line| line["code"] == code)
    }

    /// The reason in `stream.closed`.
    pub fn reason(&self) -> &str {
        self.first("stream.closed")["reason"].as_str().unwrap_or_default()
    }

    /// The lines in short, for people.
    pub fn story(&self) -> String {
        format!("code {:?}, stderr {:?}; {}", self.code, self.stderr.trim(), story(&self.lines))
    }
}

fn parsed(text: &str) -> Result<Vec<Value>, String> {
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line:?}"))).collect()
}

pub fn story(lines: &[Value]) -> String {
    let short = |line: &Value| {
        let mut line = line.clone();
        for name in ["format", "run", "seq", "at"] {
            line.as_object_mut().map(|line| line.remove(name));
        }
        let text = line.to_string();
        match text.char_indices().nth(300) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    };
    lines.iter().map(short).collect::<Vec<_>>().join("\n    ")
}
