//! `mh-frame-verify`: is this a frame, does its seal describe it, what does it admit.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::explain::{self, Expected, Premises, Question};
use super::faults::{Faults, json_line};
use super::{Print, about, conclude, operation, read, text};
use crate::adapter::{advice, preview_words};
use crate::decide::{Policy, admits};
use crate::frame::{Operation, parts};
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

/// Run it.
pub fn verify(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    conclude(PROGRAM, || work(arguments.into_iter().collect()))
}

fn work(arguments: Vec<OsString>) -> Result<(String, End), Stop> {
    let mut order = Job::default();
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        if let Some(text) = about(&argument, PROGRAM, &HELP.replace("VENDORS", &preview_words("|"))) {
            return Ok((text, End::Good));
        }
        match argument {
            lexopt::Arg::Short('q') | lexopt::Arg::Long("quiet") => order.quiet = true,
            lexopt::Arg::Long("status") => order.status = true,
            lexopt::Arg::Long("json") => order.json = true,
            lexopt::Arg::Long("digest") => {
                let word = text(parser.value()?, "--digest")?;
                let pin = Digest::parse(&word);
                order.pin = Some(pin.ok_or_else(|| {
                    Stop::usage(format!("--digest takes 64 lower-case hexadecimal digits, not {word:?}"))
                })?);
            }
            lexopt::Arg::Long("print") => order.print = Some(Print::from_word(&text(parser.value()?, "--print")?)?),
            lexopt::Arg::Long("admits") => {
                for value in parser.values()? {
                    order.admits.push(operation(&text(value, "--admits")?, "--admits-mcp")?);
                }
            }
            lexopt::Arg::Long("admits-mcp") => {
                let server = text(parser.value()?, "--admits-mcp")?;
                order.admits.push(Operation::McpCall { server, tool: text(parser.value()?, "--admits-mcp")? });
            }
            lexopt::Arg::Long("explain") => order.explain = Some(text(parser.value()?, "--explain")?),
            lexopt::Arg::Long("payload") => order.payload = Some(parser.value()?.into()),
            lexopt::Arg::Long("call") => {
                let tool = text(parser.value()?, "--call")?;
                // what looks like a flag is one: `--call Bash --expect deny`
                let about = match parser.raw_args()?.next_if(|word| !word.to_string_lossy().starts_with('-')) {
                    Some(about) => text(about, "--call")?,
                    None => String::new(),
                };
                order.call = Some(Question { tool, about });
            }
            lexopt::Arg::Long("expect") => {
                let word = text(parser.value()?, "--expect")?;
                let wanted = Expected::from_word(&word);
                order.expect =
                    Some(wanted.ok_or_else(|| Stop::usage(format!("--expect takes allow or deny, not {word:?}")))?);
            }
            lexopt::Arg::Long("expectations") => order.expectations = Some(parser.value()?.into()),
            lexopt::Arg::Long("project") => order.project = Some(parser.value()?.into()),
            lexopt::Arg::Long("policy") => {
                let word = text(parser.value()?, "--policy")?;
                let policy = Policy::from_word(&word);
                order.policy = Some(policy.ok_or_else(|| Stop::usage("--policy takes frame or deny-only"))?);
            }
            lexopt::Arg::Value(file) => order.files.push(file.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    if order.files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Stop::usage("- is given twice, and standard input can be read once"));
    }
    let explains = order.explain.is_some() || order.expectations.is_some();
    let one_only = order.pin.is_some() || order.print.is_some() || !order.admits.is_empty() || explains;
    let file = match order.files.as_slice() {
        [] => return Err(Stop::usage("no file is given")),
        [file] if one_only => file,
        _ if one_only => {
            return Err(Stop::usage("--digest, --print, --admits, --explain and --expectations take one file"));
        }
        _ if order.payload.is_some() || order.call.is_some() || order.expect.is_some() => {
            return Err(Stop::usage("--payload, --call and --expect are about --explain, and it is not given"));
        }
        _ => return Ok(list(&order)),
    };
    if order.print.is_some() || !order.admits.is_empty() {
        return question(&order, file);
    }
    let terms =
        Premises { frame: file, pin: order.pin.as_ref(), policy: order.policy, project: order.project.as_deref() };
    if let Some(list) = &order.expectations {
        return explain::expectations(&terms, list, PROGRAM);
    }
    let Some(vendor) = &order.explain else { return Ok(list(&order)) };
    explain::known(vendor)?;
    let answered = match (&order.call, &order.payload) {
        (Some(call), None) => explain::said(&terms, vendor, call)?,
        (None, Some(payload)) => explain::recorded(&terms, vendor, payload)?,
        _ => return Err(Stop::usage("--explain needs --call TOOL [WHAT] or --payload FILE, one of them")),
    };
    Ok(answered.told(order.expect, PROGRAM))
}

/// One line a file.
fn list(order: &Job) -> (String, End) {
    let (mut out, mut end) = (String::new(), End::Good);
    for file in &order.files {
        let name = file.to_string_lossy();
        let bytes = read(file);
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

/// A file's name on one line, as `sha256sum` has it: a line whose name is escaped begins with a
/// backslash. What a terminal would act on is escaped too.
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

/// A question about one frame, answered by what is printed or by the exit code.
fn question(order: &Job, file: &Path) -> Result<(String, End), Stop> {
    let found = read(file).and_then(|bytes| seal::verify(&bytes, order.pin.as_ref()));
    let frame = found.map_err(|refusal| Stop::document(&file.display().to_string(), &refusal))?;
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
