//! The answer that a hook would give, for people. It comes from the hook's own function, on a recorded payload or on a
//! call in words.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::voice::{joined, not_taken};
use crate::adapter::{PREVIEWS, Payload, Preview, Verdict, Wire, preview_named};
use crate::decide::Policy;
use crate::frame::shown;
use crate::hook::{HookOptions, Judged, Surroundings, judge};
use crate::json::{Layout, Writer};
use crate::os::{End, Stop, complain};
use crate::os::{MAX_PAYLOAD, Stdin, read_bounded};
use crate::seal::Digest;

/// The answer that a test expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Allow,
    Deny,
}

impl Expected {
    pub(super) const WORDS: [(&str, Expected); 2] = [("allow", Expected::Allow), ("deny", Expected::Deny)];

    fn word(self) -> &'static str {
        match self {
            Expected::Allow => "allow",
            Expected::Deny => "deny",
        }
    }
}

/// A call in words.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// The vendor's name for the tool.
    pub tool: String,
    /// The call's object: a file, a command, an address; empty if none is given.
    pub about: String,
}

/// The facts that the answers depend on.
pub(super) struct Premises<'a> {
    /// The path of the frame.
    pub frame: &'a Path,
    pub pin: Option<&'a Digest>,
    pub policy: Option<Policy>,
    pub project: Option<&'a Path>,
}

/// The answer of a vendor's hook.
pub(super) struct Answered {
    judged: Judged,
    wire: Wire,
}

impl Answered {
    fn denied(&self) -> bool {
        matches!(self.judged.verdict, Verdict::Deny(_))
    }

    /// Whether the answer is the expected one. A call that is not denied goes on, by an allow or by the vendor's own
    /// rules.
    fn is(&self, wanted: Expected) -> bool {
        self.denied() == (wanted == Expected::Deny)
    }

    /// The answer in lines, with the exit code.
    pub(super) fn told(&self, wanted: Option<Expected>, program: &str) -> (String, End) {
        let good = match wanted {
            Some(wanted) if !self.is(wanted) => {
                let answer = self.judged.record.decision.decision;
                complain(program, &format!("expected {}, and the answer is {answer}", wanted.word()));
                false
            }
            Some(_) => true,
            None => !self.denied(),
        };
        (self.explanation(), if good { End::Good } else { End::Refused })
    }

    fn explanation(&self) -> String {
        let (mut out, Judged { name, record, .. }) = (String::new(), &self.judged);
        let _ = writeln!(out, "event: {name}");
        if let Some(tool) = &record.tool {
            let _ = writeln!(out, "tool: {}", shown(tool));
        }
        if !record.operations.is_empty() {
            let _ = writeln!(out, "needs: {}", record.operations.join(", "));
        }
        let _ = writeln!(out, "answer: {}", record.decision.decision);
        if let Some(reason) = &record.decision.reason {
            let _ = writeln!(out, "reason: {reason}");
        }
        let said = |text: &str| if text.is_empty() { "(nothing)".into() } else { text.trim_end().to_string() };
        let _ = writeln!(out, "stdout: {}", said(&self.wire.stdout));
        let _ = writeln!(out, "stderr: {}", said(&self.wire.stderr));
        let _ = writeln!(out, "exit: {}", if self.wire.block { 2 } else { 0 });
        out
    }
}

/// The answer to a recorded payload.
pub(super) fn recorded(terms: &Premises<'_>, vendor: &str, payload: &Path) -> Result<Answered, Stop> {
    let bytes = read_bounded(payload, MAX_PAYLOAD)
        .map_err(|refusal| Stop::failed(format!("{}: {refusal}", payload.display())))?;
    let vendor = known(vendor)?;
    let cwd = Payload::read(&bytes, &vendor.facts().payload).ok().and_then(|payload| payload.cwd).map(PathBuf::from);
    let project = terms.project.map(PathBuf::from).or(cwd);
    answer(vendor, terms, bytes, project)
}

/// The answer to a call in words.
pub(super) fn said(terms: &Premises<'_>, vendor: &str, call: &Question) -> Result<Answered, Stop> {
    let here = || std::env::current_dir().map_err(|error| Stop::failed(format!("the working folder: {error}")));
    let project = match terms.project {
        Some(project) => std::path::absolute(project).map_err(|error| Stop::failed(error.to_string()))?,
        None => here()?,
    };
    let vendor = known(vendor)?;
    answer(vendor, terms, payload(vendor, call, &project)?, Some(project))
}

/// The vendor with this word.
pub(super) fn known(vendor: &str) -> Result<&'static dyn Preview, Stop> {
    let words: Vec<&str> = PREVIEWS.iter().map(|vendor| vendor.facts().word).collect();
    preview_named(vendor).ok_or_else(|| not_taken("--explain", &joined(&words, "or"), vendor, &words))
}

/// The payload that the vendor would send for a call.
fn payload(vendor: &dyn Preview, call: &Question, project: &Path) -> Result<Vec<u8>, Stop> {
    let members = vendor.sample(&call.tool, &call.about, project).ok_or_else(|| {
        Stop::usage(format!("{} is about a file: say which, as in --call {} src/a.rs", call.tool, call.tool))
    })?;
    let mut out = Writer::new(Layout::Canonical);
    out.object();
    let shape = &vendor.facts().payload;
    out.member(shape.cwd, &project.to_string_lossy());
    out.member(shape.event, vendor.facts().gate);
    out.member(shape.session, "explained");
    out.key(shape.input);
    out.object();
    members.iter().for_each(|(member, text)| out.member(member, text));
    out.end_object();
    out.member(shape.tool, &call.tool);
    out.member(shape.call_id, "explained");
    out.end_object();
    Ok(out.finish().into_bytes())
}

fn answer(
    vendor: &dyn Preview,
    terms: &Premises<'_>,
    bytes: Vec<u8>,
    project: Option<PathBuf>,
) -> Result<Answered, Stop> {
    let file = terms.frame;
    let frame = std::path::absolute(file).map_err(|error| Stop::failed(format!("{}: {error}", file.display())))?;
    let setup = HookOptions {
        frame: Some(frame),
        pin: terms.pin.cloned(),
        policy: terms.policy.unwrap_or(Policy::Frame),
        ..HookOptions::default()
    };
    let environment = |name: &str| match vendor.facts().project {
        Some(variable) if variable == name => project.clone().map(OsString::from),
        _ => std::env::var_os(name),
    };
    let around = Surroundings { environment: &environment, folder: project.clone(), embedder: None, deadline: None };
    let judged = judge(vendor, &setup, &Stdin { bytes, fault: None }, &around);
    Ok(Answered { wire: judged.wire(vendor), judged })
}

/// Check a frame against a list of expectations, one a line: `allow claude Edit src/a.rs`. Failed ones go to stderr,
/// with their line numbers.
pub(super) fn expectations(terms: &Premises<'_>, list: &Path, program: &str) -> Result<(String, End), Stop> {
    let name = list.display();
    let text = fs_err::read_to_string(list).map_err(|error| Stop::failed(crate::os::words(error)))?;
    let (mut all, mut missed) = (0, 0);
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let malformed = |why: &str| {
            Stop::usage(format!(
                "{name}:{}: {why}; a line is allow or deny, the vendor, a tool and what it is about",
                at + 1
            ))
        };
        let (wanted, rest) = word(line);
        let (vendor, rest) = word(rest);
        let (tool, about) = word(rest);
        let wanted_as = Expected::WORDS.iter().find(|(known, _)| *known == wanted).map(|(_, meaning)| *meaning);
        let wanted = wanted_as.ok_or_else(|| malformed(&format!("{wanted:?} is neither allow nor deny")))?;
        if tool.is_empty() {
            return Err(malformed("a tool is missing"));
        }
        let call = Question { tool: tool.into(), about: about.into() };
        let answered = said(terms, vendor, &call)
            .map_err(|stop| Stop { why: format!("{name}:{}: {}", at + 1, stop.why), ..stop })?;
        all += 1;
        if !answered.is(wanted) {
            missed += 1;
            let decision = &answered.judged.record.decision;
            let why = decision.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let (wanted, answer) = (wanted.word(), decision.decision);
            complain(
                program,
                &format!("{name}:{}: {rest}: expected {wanted}, and the answer is {answer}{why}", at + 1),
            );
        }
    }
    if all == 0 {
        return Err(Stop::failed(format!("{name}: there is no expectation in it")));
    }
    Ok(match missed {
        0 => (format!("{all} of {all} expectations hold\n"), End::Good),
        missed => (format!("{} of {all} expectations hold\n", all - missed), End::Refused),
    })
}

/// The first word of a line, and the rest.
fn word(line: &str) -> (&str, &str) {
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (first, rest.trim_start())
}
