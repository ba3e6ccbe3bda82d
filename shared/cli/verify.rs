//! `mh-frame-verify`: whether a document is a frame, whether its seal describes it, and what it admits.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::explain::{self, Expected, Premises, Question};
use super::faults::{Faults, json_line};
use super::voice::{Arguments, POLICIES, Typed, digest, exclude, goes_with, operation, wrong};
use super::{Print, conclude, read};
use crate::adapter::{advice, preview_words};
use crate::decide::{Policy, admits};
use crate::frame::{Operation, parts};
use crate::os::mistake::{Mistake, typed};
use crate::os::{End, Stop, complain};
use crate::seal::{self, Digest, Refusal};

const PROGRAM: &str = "mh-frame-verify";

const HELP: &str = "\
usage: mh-frame-verify FILE... | -  [--quiet | --status | --json] [--digest HEX]
       mh-frame-verify FILE --print digest|canonical|text|enforced
       mh-frame-verify FILE --admits OP... | --admits-mcp SERVER TOOL
       mh-frame-verify FILE --explain VENDORS --call TOOL [WHAT] | --payload FILE
                       [--expect allow|deny] [--policy P] [--project DIR]
       mh-frame-verify FILE --expectations LIST [--policy P] [--project DIR]

Verifies sealed frames: one line a file, `FILE: OK DIGEST` or `FILE: REFUSED NAME: why`.
Warnings go to stderr.

  --quiet            say nothing of files that are in order
  --status           say nothing at all; the exit code answers
  --json             one JSON object a line instead
  --digest HEX       the frame must have this digest (one file)
  --print WHAT       print the digest, the canonical bytes, the instruction text, or what of the
                     frame is enforced, what is checked at the end of a turn, and what is told only
  --admits OP...     does the frame admit all of these? the exit code answers
                     (an MCP tool is mcp.call:SERVER/TOOL)
  --admits-mcp SERVER TOOL   the same of one tool of one MCP server, whatever is in its name
  --explain VENDOR   what the vendor's hook would answer to a call, and why: nothing is
                     written, nothing is asked; the policy is `frame` unless --policy says
                     otherwise, paths go by --project, else by the working folder
  --call TOOL [WHAT] the call in words: the vendor's tool, and the file, command, pattern or
                     address that it is about: --call Edit src/a.rs, --call Bash,
                     --call apply_patch 'Add File: a.rs', --call mcp__github__create_issue
  --payload FILE     the call as a payload that was recorded; paths go by its `cwd`
  --expect WHAT      allow or deny: the exit code says whether that is the answer
  --expectations LIST   a file of such questions, a line each: `deny claude Write /etc/passwd`
  --help, --version

exit codes: 0 all good; 1 a document is refused, or the answer is no; 2 usage, or a file
cannot be read; the highest wins
";

#[derive(Default)]
struct Job {
    files: Vec<PathBuf>,
    quiet: bool,
    status: bool,
    json: bool,
    pin: Option<Digest>,
    print: Option<Print>,
    admits: Vec<Operation>,
    explain: Option<String>,
    payload: Option<PathBuf>,
    call: Option<Question>,
    expect: Option<Expected>,
    expectations: Option<PathBuf>,
    policy: Option<Policy>,
    project: Option<PathBuf>,
}

/// The whole of `mh-frame-verify`.
pub fn verify(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    conclude(PROGRAM, || work(arguments.into_iter().collect()))
}

fn work(arguments: Vec<OsString>) -> Result<(String, End), Stop> {
    let mut order = Job::default();
    let mut arguments = Arguments::new(PROGRAM, HELP.replace("VENDORS", &preview_words("|")), arguments);
    while let Some(argument) = arguments.next(true)? {
        let flag = match argument {
            Typed::About(text) => return Ok((text, End::Good)),
            Typed::Word(file) => {
                order.files.push(file.into());
                continue;
            }
            Typed::Flag(flag) => flag,
        };
        match flag.as_str() {
            "-q" | "--quiet" => order.quiet = true,
            "--status" => order.status = true,
            "--json" => order.json = true,
            "--digest" => {
                let pin = digest(&flag, &arguments.text()?)?;
                arguments.once(&mut order.pin, pin)?;
            }
            "--print" => {
                let what = arguments.one_of(&Print::WORDS)?;
                arguments.once(&mut order.print, what)?;
            }
            "--admits" => {
                for word in arguments.texts()? {
                    order.admits.push(operation(&word, "--admits-mcp").map_err(|stop| file_among(&word, stop))?);
                }
            }
            "--admits-mcp" => {
                let (server, tool) = arguments.two("SERVER TOOL")?;
                order.admits.push(Operation::McpCall { server, tool });
            }
            "--explain" => {
                let vendor = arguments.text()?;
                explain::known(&vendor)?;
                arguments.once(&mut order.explain, vendor)?;
            }
            "--payload" => {
                let file = arguments.value()?.into();
                arguments.once(&mut order.payload, file)?;
            }
            "--call" => {
                let tool = arguments.text()?;
                // a word like a flag is a flag: `--call Bash --expect deny`
                let about = arguments.another()?.unwrap_or_default();
                arguments.once(&mut order.call, Question { tool, about })?;
            }
            "--expect" => {
                let wanted = arguments.one_of(&Expected::WORDS)?;
                arguments.once(&mut order.expect, wanted)?;
            }
            "--expectations" => {
                let list = arguments.value()?.into();
                arguments.once(&mut order.expectations, list)?;
            }
            "--project" => {
                let folder = arguments.value()?.into();
                arguments.once(&mut order.project, folder)?;
            }
            "--policy" => {
                let policy = arguments.one_of(&POLICIES)?;
                arguments.once(&mut order.policy, policy)?;
            }
            _ => return Err(arguments.unknown()),
        }
    }
    order.fits()?;
    let [file] = order.files.as_slice() else { return Ok(list(&order)) };
    if order.print.is_some() || !order.admits.is_empty() {
        return question(&order, file);
    }
    let terms =
        Premises { frame: file, pin: order.pin.as_ref(), policy: order.policy, project: order.project.as_deref() };
    if let Some(list) = &order.expectations {
        return explain::expectations(&terms, list, PROGRAM);
    }
    let Some(vendor) = &order.explain else { return Ok(list(&order)) };
    let answered = match (&order.call, &order.payload) {
        (Some(call), None) => explain::said(&terms, vendor, call)?,
        (None, Some(payload)) => explain::recorded(&terms, vendor, payload)?,
        _ => return Err(wrong(&Mistake::Missing("call", "--explain takes --call TOOL [WHAT] or --payload FILE"))),
    };
    Ok(answered.told(order.expect, PROGRAM))
}

/// The message about a word among operations that is none: it may be the file.
fn file_among(word: &str, stop: Stop) -> Stop {
    match Path::new(word).is_file() {
        true => Stop::failed(format!(
            "\"{}\" is no operation, and a file: put the file first, as in {PROGRAM} FILE --admits OP",
            typed(word.as_ref())
        )),
        false => stop,
    }
}

impl Job {
    /// Refuse combinations that make no sense, and flags that would be ignored.
    fn fits(&self) -> Result<(), Stop> {
        let Job { quiet, status, json, .. } = *self;
        let (call, payload, expect) = (self.call.is_some(), self.payload.is_some(), self.expect.is_some());
        let (explain, listed) = (self.explain.is_some(), self.expectations.is_some());
        let (print, admits) = (self.print.is_some(), !self.admits.is_empty());
        if self.files.is_empty() {
            return Err(wrong(&Mistake::Missing("file", "name one, or - for standard input")));
        }
        if self.files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
            return Err(Stop::usage("- is given twice, and standard input can be read once"));
        }
        goes_with(
            &[("--payload", payload), ("--call", call), ("--expect", expect)].map(|(flag, on)| (flag, on && !explain)),
            "--explain",
        )?;
        let (policy, project) = (self.policy.is_some(), self.project.is_some());
        let explains = explain || listed;
        goes_with(
            &[("--policy", policy && !explains), ("--project", project && !explains)],
            "--explain or --expectations",
        )?;
        exclude(&[("--quiet", quiet), ("--status", status), ("--json", json)], "say which of the three")?;
        exclude(&[("--call", call), ("--payload", payload)], "a call is said or recorded")?;
        let questions = [("--print", print), ("--admits", admits)];
        for question in questions {
            exclude(&[question, ("--explain", explain)], "each is a question of its own")?;
            exclude(&[question, ("--expectations", listed)], "each is a question of its own")?;
        }
        exclude(&[("--explain", explain), ("--expectations", listed)], "each is a question of its own")?;
        let answers = [("--print", print), ("--admits", admits), ("--explain", explain), ("--expectations", listed)];
        for (question, _) in answers.into_iter().filter(|(_, asked)| *asked) {
            // with --status and --admits nothing is printed, and the exit code answers; `--print enforced` has a JSON
            // form
            let json = json && !(question == "--print" && matches!(self.print, Some(Print::Enforced)));
            let loud = [("--quiet", quiet), ("--status", status && question != "--admits"), ("--json", json)];
            for manner in loud {
                exclude(&[(question, true), manner], "that is for the line that each file has otherwise")?;
            }
        }
        let one = answers.into_iter().chain([("--digest", self.pin.is_some())]).find(|(_, given)| *given);
        match one {
            Some((flag, _)) if self.files.len() > 1 => {
                Err(Stop::usage(format!("{flag} takes one file, and {} are given", self.files.len())))
            }
            _ => Ok(()),
        }
    }
}

/// One line for each file.
fn list(order: &Job) -> (String, End) {
    let (mut out, mut end) = (String::new(), End::Good);
    for file in &order.files {
        let name = file.to_string_lossy();
        let bytes = read(PROGRAM, file);
        let found = bytes.as_ref().map_err(Clone::clone).and_then(|bytes| seal::verify(bytes, order.pin.as_ref()));
        end = end.max(match &found {
            Ok(_) => End::Good,
            Err(Refusal::Unreadable(_)) => End::Failed,
            Err(_) => End::Refused,
        });
        if order.status {
            continue;
        }
        let warnings = found.as_ref().map(advice).unwrap_or_default();
        let faults = match (&found, &bytes) {
            (Err(refusal), Ok(bytes)) => Faults::of(refusal, bytes, true),
            _ => Faults::default(),
        };
        if order.json {
            let said = found.as_ref().map(|frame| frame.digest().as_str());
            let why = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let said = said.map_err(|refusal| (refusal.name(), why.as_str(), &faults));
            out.push_str(&json_line(&name, said, &warnings, &[]));
            continue;
        }
        faults.tell(PROGRAM, &escaped(&name).1);
        for warning in &warnings {
            complain(PROGRAM, &format!("{}: warning: {warning}", escaped(&name).1));
        }
        let (mark, name) = escaped(&name);
        let _ = match found {
            Ok(_) if order.quiet => Ok(()),
            Ok(frame) => writeln!(out, "{mark}{name}: OK {}", frame.digest()),
            Err(refusal) => writeln!(out, "{mark}{name}: REFUSED {}: {refusal}", refusal.name()),
        };
    }
    (out, end)
}

/// A file's name on one line in the form of `sha256sum`: a line with an escaped name begins with a backslash.
/// Characters that a terminal would act on are escaped too.
fn escaped(name: &str) -> (&'static str, String) {
    let odd = |c: char| c == '\\' || (c.is_control() && c != '\t');
    if !name.contains(odd) {
        return ("", name.into());
    }
    let mut out = String::new();
    for c in name.chars() {
        match odd(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    ("\\", out)
}

/// A question about one frame, answered by the output or by the exit code.
fn question(order: &Job, file: &Path) -> Result<(String, End), Stop> {
    let found = read(PROGRAM, file).and_then(|bytes| seal::verify(&bytes, order.pin.as_ref()));
    let frame = match found.map_err(|refusal| Stop::document(&file.display().to_string(), &refusal)) {
        Ok(frame) => frame,
        Err(stop) if order.status => return Ok((String::new(), stop.end)),
        Err(stop) => return Err(stop),
    };
    let admitted = order.admits.iter().all(|operation| admits(&frame, operation));
    let printed = match order.print {
        Some(Print::Enforced) if order.json => {
            let digest = Ok(frame.digest().as_str());
            json_line(&file.to_string_lossy(), digest, &advice(&frame), &parts(frame.frame()))
        }
        print => print.map(|print| print.of(&frame)).unwrap_or_default(),
    };
    Ok((printed, if admitted { End::Good } else { End::Refused }))
}
