//! The audit file: one JSON line a decision.
//!
//! Proof against accident, not against an agent that has a shell: that can append to it too.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use super::file::words;
use crate::json::{Layout, Writer};
use crate::protocol::one_line;

/// One decision. Names are those of `metaharness.event/1` `tool.decided` where it has one; what is
/// not known is null. No tool input unless it is asked for: it may hold secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// When, by RFC 3339 in UTC.
    pub at: String,
    /// `claude` or `codex`.
    pub vendor: &'static str,
    /// The event's name.
    pub event: Option<String>,
    /// The vendor's session.
    pub session_id: Option<String>,
    /// The sub-agent, on its calls.
    pub agent_id: Option<String>,
    /// The vendor's id of the call.
    pub call_id: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The operations that the call needs.
    pub operations: Vec<String>,
    /// The tool's input, in JSON, where it is asked for.
    pub input: Option<String>,
    /// The decision as it went out.
    pub decision: Decided,
    /// Who decided: `frame`, `embedder`, `deadline` where one did not answer in time, or `adapter`
    /// where it did not come to any of that.
    pub decided_by: &'static str,
    /// Where the decision took hold.
    pub seam: &'static str,
    /// The digest of the frame in force.
    pub frame_digest: Option<String>,
    /// The hook's own time up to here, in microseconds.
    pub micros: u64,
}

/// A decision, as the line protocols write it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decided {
    /// `allow`, `abstain`, `deny` or `replace`.
    pub decision: &'static str,
    /// Why, where it is a denial.
    pub reason: Option<String>,
    /// The input that took the place of the tool's own, in JSON, where inputs are asked for.
    pub input: Option<String>,
}

impl Record {
    /// Set the time to now. A clock outside the years that RFC 3339 has is put at their edge.
    pub fn stamp(&mut self) {
        let last = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
        let now = SystemTime::now().clamp(UNIX_EPOCH, last);
        self.at = humantime::format_rfc3339_millis(now).to_string();
    }

    /// The line, with its line feed.
    pub fn line(&self) -> String {
        let mut out = Writer::new(Layout::Canonical);
        out.object();
        out.member("at", &self.at);
        out.member("vendor", self.vendor);
        out.nullable("event", self.event.as_deref());
        out.nullable("session_id", self.session_id.as_deref());
        out.nullable("agent_id", self.agent_id.as_deref());
        out.nullable("call_id", self.call_id.as_deref());
        out.nullable("tool", self.tool.as_deref());
        out.key("operations");
        out.array();
        self.operations.iter().for_each(|operation| out.string(operation));
        out.end_array();
        if let Some(input) = &self.input {
            out.key("input");
            out.raw(input);
        }
        out.key("decision");
        out.object();
        out.member("decision", self.decision.decision);
        if let Some(reason) = &self.decision.reason {
            out.member("reason", reason);
        }
        if let Some(input) = &self.decision.input {
            out.key("input");
            out.raw(input);
        }
        out.end_object();
        out.member("decided_by", self.decided_by);
        out.member("seam", self.seam);
        out.nullable("frame_digest", self.frame_digest.as_deref());
        out.key("micros");
        out.number(self.micros);
        out.end_object();
        one_line(out.finish())
    }
}

/// Append a record with a single write. The file is made for its owner alone; a link is not
/// followed, nothing but a regular file is written to, and nothing is waited for.
///
/// A single append is never mixed with another's. A line that a crash cut short is ended first;
/// where two hooks see the same stump, a blank line is left.
///
/// # Errors
/// Why the line is not there, or not whole.
pub fn append(path: &Path, record: &Record) -> Result<(), String> {
    let (file, size) = open_audit(path)?;
    let mut line = Vec::new();
    if let Some(last) = size.checked_sub(1) {
        let mut byte = [b'\n'];
        rustix::io::pread(&file, &mut byte, last).map_err(words)?;
        line.extend((byte != [b'\n']).then_some(b'\n'));
    }
    line.extend(record.line().into_bytes());
    match rustix::io::write(&file, &line) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(_) => Err("the disk is full, or a limit is reached".into()),
        Err(error) => Err(words(error)),
    }
}

/// Open an audit as every line of it is written, making the file where it is not there; its size
/// too.
///
/// # Errors
/// Why no line could be appended to it.
pub fn open_audit(path: &Path) -> Result<(rustix::fd::OwnedFd, u64), String> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::RUSR | Mode::WUSR).map_err(|error| match error {
        Errno::LOOP => "it is a link".into(),
        error => words(error),
    })?;
    let found = fstat(&file).map_err(words)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok((file, u64::try_from(found.st_size).unwrap_or(0))),
        _ => Err("it is not a regular file".into()),
    }
}
