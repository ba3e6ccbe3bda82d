//! The table of faults: each row has a fault, the way a hook is started in it, and the reaction that the vendor must
//! show.

use std::any::Any;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{PipeWriter, Read, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use metaharness::adapter::Registration;
use serde_json::json;

use crate::common::{CLAUDE, Scratch, VENDORS, bytes, call, event, fixture, program, shell, side_by_side};
use crate::faults::host::{self, Ended, Event, Host};

/// The timeout of Codex's entry, the shorter one of both vendors.
const PATIENCE: Duration = Duration::from_secs(25);

/// A value that is kept until the hook has ended.
pub type Held = Box<dyn Any + Send>;

/// stdin, and the work at its other end while the hook runs.
pub struct Source {
    pub file: OwnedFd,
    pub write: Box<dyn FnOnce(Vec<u8>) -> std::io::Result<Held> + Send>,
}

impl Source {
    /// A file, which has no other end.
    pub fn file(file: impl Into<OwnedFd>) -> Source {
        Source { file: file.into(), write: Box::new(|_| Ok(Box::new(()))) }
    }

    /// A pipe, and the function that writes the payload to it.
    pub fn pipe(write: impl FnOnce(PipeWriter, Vec<u8>) -> std::io::Result<Held> + Send + 'static) -> Source {
        let (reader, writer) = std::io::pipe().unwrap();
        Source { file: reader.into(), write: Box::new(|payload| write(writer, payload)) }
    }
}

/// An output and its reader.
pub struct Sink {
    pub file: OwnedFd,
    pub heard: Option<Box<dyn Read + Send>>,
    pub held: Held,
}

impl Sink {
    pub fn pipe() -> Sink {
        let (reader, writer) = std::io::pipe().unwrap();
        Sink { file: writer.into(), heard: Some(Box::new(reader)), held: Box::new(()) }
    }

    /// An output that no vendor reads.
    pub fn lost(file: impl Into<OwnedFd>) -> Sink {
        Sink { file: file.into(), heard: None, held: Box::new(()) }
    }
}

/// Whether the golden frame admits the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    Admitted,
    Refused,
}

type Meanwhile = Box<dyn FnOnce(u32) + Send>;

/// One start of a hook. A new value has no fault.
pub struct Trial<'a> {
    pub vendor: &'static str,
    pub scratch: &'a Scratch,
    pub event: Event,
    /// A line of `sh` that starts the hook as `"$@"`.
    pub line: Option<String>,
    pub frame: Option<OsString>,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub folder: PathBuf,
    pub payload: Vec<u8>,
    pub stdin: Source,
    pub stdout: Sink,
    pub stderr: Sink,
    /// Runs beside the hook, with the hook's process number.
    pub meanwhile: Option<Meanwhile>,
    pub patience: Duration,
}

impl Trial<'_> {
    pub fn new<'a>(vendor: &'static str, scratch: &'a Scratch, event: Event, given: Given) -> Trial<'a> {
        let refused = given == Given::Refused;
        let payload = match event {
            Event::Call if refused => bytes(&call(vendor, "mcp__a__b", json!({}))),
            Event::Call => shell(vendor),
            Event::Approval => {
                let mut approval = call(vendor, if refused { "mcp__a__b" } else { "Bash" }, json!({}));
                approval["hook_event_name"] = "PermissionRequest".into();
                bytes(&approval)
            }
            Event::Prompt => bytes(&event_of(vendor)),
        };
        // only a refused frame stops a prompt
        let frame = match event {
            Event::Prompt if refused => "/nonexistent/frame.json".into(),
            _ => fixture("golden/frame.json"),
        };
        Trial {
            vendor,
            scratch,
            event,
            line: None,
            frame: Some(frame.into()),
            args: Vec::new(),
            env: vec![("HOME".into(), "/nonexistent".into())],
            folder: fixture(""),
            payload,
            stdin: Source::pipe(|mut pipe, payload| {
                pipe.write_all(&payload)?;
                Ok(Box::new(()))
            }),
            stdout: Sink::pipe(),
            stderr: Sink::pipe(),
            meanwhile: None,
            patience: PATIENCE,
        }
    }

    pub fn args(&mut self, args: impl IntoIterator<Item = impl Into<OsString>>) {
        self.args.extend(args.into_iter().map(Into::into));
    }

    pub fn env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.env.push((name.into(), value.into()));
    }

    pub fn line(&mut self, line: impl Into<String>) {
        self.line = Some(line.into());
    }

    /// The command line of the hook.
    fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        if let Some(line) = &self.line {
            words.extend(["/bin/sh".into(), "-c".into(), line.into(), "sh".into()]);
        }
        words.push(program(&format!("mh-hook-{}", self.vendor)).into());
        if let Some(frame) = &self.frame {
            words.extend(["--frame".into(), frame.clone()]);
        }
        words.extend(self.args.iter().cloned());
        words
    }

    /// Start the hook, by the vendor's entry if asked for, and take its whole output.
    pub fn fire(self, by_entry: bool) -> Ended {
        let mut words = self.words();
        if by_entry && self.vendor != CLAUDE {
            let mut text = words.into_iter().map(|word| word.into_string().unwrap());
            let line = Registration {
                program: text.next().unwrap(),
                arguments: text.collect(),
                patience: Registration::PATIENCE,
            };
            let line = metaharness::adapter::codex::command(&line);
            words = ["/bin/bash".into(), "-c".into(), line.into()].into();
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().envs(self.env).current_dir(&self.folder);
        command.stdin(self.stdin.file).stdout(self.stdout.file).stderr(self.stderr.file);
        let mut child = command.spawn().unwrap_or_else(|why| panic!("{words:?}: {why}"));
        // only the child now holds its ends of the pipes
        drop(command);
        let pid = child.id();
        let (told, status) = mpsc::channel::<ExitStatus>();
        std::thread::spawn(move || told.send(child.wait().unwrap()));
        let hear = |sink: Option<Box<dyn Read + Send>>| {
            std::thread::spawn(move || {
                let mut all = Vec::new();
                if let Some(mut heard) = sink {
                    // a socket fails if its other end left early; its bytes are read by then
                    let _ = heard.read_to_end(&mut all);
                }
                all
            })
        };
        let (stdout, stderr) = (hear(self.stdout.heard), hear(self.stderr.heard));
        let _held = (self.stdout.held, self.stderr.held);
        let (write, payload) = (self.stdin.write, self.payload);
        let written = std::thread::spawn(move || write(payload));
        if let Some(meanwhile) = self.meanwhile {
            meanwhile(pid);
        }
        let status = status.recv_timeout(self.patience).ok();
        if status.is_none() {
            let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        let code = status.and_then(|status| status.code());
        if let (Err(why), Some(0 | 2)) = (written.join().unwrap(), code) {
            panic!("standard input was not read to its end: {why}");
        }
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        Ended { code, late: status.is_none(), stdout, stderr }
    }
}

fn event_of(vendor: &str) -> serde_json::Value {
    event(vendor, "UserPromptSubmit")
}

/// The outcome that a fault must have.
pub enum Want {
    /// The hook cannot judge, so it blocks even an admitted call. The message contains this.
    Blocks(String),
    /// The hook judges as ever: it blocks a call that is not admitted, and lets an admitted one go on.
    Borne,
    /// The hook blocks a call that is not admitted. It cannot let an admitted one run where that needs output.
    Mute,
    /// No output arrives. The hook ends with 2, and the vendor's entry blocks the call.
    Unheard,
    /// The program ends without output, and the vendor's entry blocks the call.
    Ends,
}

type Set = Box<dyn Fn(&mut Trial<'_>) + Send + Sync>;

pub struct Row {
    name: String,
    event: Event,
    vendors: &'static [&'static str],
    want: Want,
    set: Set,
}

impl Row {
    fn new(name: impl Into<String>, want: Want, set: impl Fn(&mut Trial<'_>) + Send + Sync + 'static) -> Row {
        Row { name: name.into(), event: Event::Call, vendors: &VENDORS, want, set: Box::new(set) }
    }

    /// Try it at another event than a call.
    pub fn at(self, event: Event) -> Row {
        Row { event, ..self }
    }

    /// Try it on these vendors alone.
    pub fn only(self, vendors: &'static [&'static str]) -> Row {
        Row { vendors, ..self }
    }

    fn trial<'a>(&self, vendor: &'static str, scratch: &'a Scratch, given: Given) -> Trial<'a> {
        let mut trial = Trial::new(vendor, scratch, self.event, given);
        (self.set)(&mut trial);
        trial
    }

    /// Try the fault: its lines of the table, or what is wrong.
    fn hold(&self, vendor: &'static str) -> Result<Vec<Shown>, String> {
        let mut shown = Vec::new();
        let mut fire = |given: Given, by_entry: bool, suffix: &str| {
            let scratch = Scratch::new();
            let trial = self.trial(vendor, &scratch, given);
            let event = trial.event;
            let ended = trial.fire(by_entry);
            let host = match vendor {
                CLAUDE => host::claude(event, &ended, by_entry),
                _ => host::codex(event, &ended),
            };
            shown.push(Shown { name: format!("{}{suffix}", self.name), host, code: ended.code });
            (ended, host)
        };
        let expect = |right: bool, what: &str, found: &(Ended, Host)| match right {
            true => Ok(()),
            false => Err(format!("{} on {vendor}: {what}; found {found:?}", self.name)),
        };
        // a hook has no other exit codes
        let blocked = |found: &(Ended, Host)| {
            let right = found.1 == Host::Block && matches!(found.0.code, Some(0 | 2));
            expect(right, "it has to be blocked, with exit 0 or 2", found)
        };
        let goes_on = |found: &(Ended, Host)| {
            let asked = vendor == CLAUDE && self.event == Event::Call;
            let right = found.0.code == Some(0) && found.1 == if asked { Host::Run } else { Host::Silent };
            expect(right, "what is admitted has to go on", found)
        };
        match &self.want {
            Want::Blocks(says) => {
                let found = fire(Given::Admitted, false, "");
                blocked(&found)?;
                let said = [&found.0.stdout[..], &found.0.stderr[..]].concat();
                expect(String::from_utf8_lossy(&said).contains(says), &format!("it has to say `{says}`"), &found)?;
            }
            Want::Borne => {
                blocked(&fire(Given::Refused, false, ""))?;
                goes_on(&fire(Given::Admitted, false, CONTROL))?;
            }
            Want::Mute => {
                blocked(&fire(Given::Refused, false, ""))?;
                let found = fire(Given::Admitted, false, ", an admitted call");
                let right = matches!(found.0.code, Some(0 | 2)) && found.1 != Host::Run;
                expect(right, "what nobody hears grants nothing", &found)?;
            }
            Want::Unheard => {
                let found = fire(Given::Refused, false, BARE);
                expect(found.0.code == Some(2), "exit 2 is what is left", &found)?;
                expect(found.0.stdout.is_empty() && found.0.stderr.is_empty(), "nothing can be heard", &found)?;
                let found = fire(Given::Refused, true, ENTRY);
                expect(found.1 == Host::Block, "the entry has to block it", &found)?;
            }
            Want::Ends => {
                let found = fire(Given::Admitted, false, BARE);
                let answered = matches!(found.0.code, Some(0 | 2)) || !found.0.stdout.is_empty();
                expect(!answered, "the program is ended before it can answer", &found)?;
                let found = fire(Given::Admitted, true, ENTRY);
                expect(found.1 == Host::Block, "the entry has to block it", &found)?;
            }
        }
        Ok(shown)
    }
}

const CONTROL: &str = ", an admitted call (control)";
const BARE: &str = ", the program without its entry";
const ENTRY: &str = ", by its entry";

/// A line of the table.
struct Shown {
    name: String,
    host: Host,
    code: Option<i32>,
}

/// A row with [`Want::Blocks`].
pub fn blocks(
    name: impl Into<String>,
    says: impl Into<String>,
    set: impl Fn(&mut Trial<'_>) + Send + Sync + 'static,
) -> Row {
    Row::new(name, Want::Blocks(says.into()), set)
}

/// A row with [`Want::Borne`].
pub fn borne(name: impl Into<String>, set: impl Fn(&mut Trial<'_>) + Send + Sync + 'static) -> Row {
    Row::new(name, Want::Borne, set)
}

/// A row with [`Want::Mute`]: stdout is lost.
pub fn mute(name: impl Into<String>, set: impl Fn(&mut Trial<'_>) + Send + Sync + 'static) -> Row {
    Row::new(name, Want::Mute, set)
}

/// A row with [`Want::Unheard`]: both outputs are lost.
pub fn unheard(name: impl Into<String>, set: impl Fn(&mut Trial<'_>) + Send + Sync + 'static) -> Row {
    Row::new(name, Want::Unheard, set)
}

/// A row with [`Want::Ends`].
pub fn ends(name: impl Into<String>, set: impl Fn(&mut Trial<'_>) + Send + Sync + 'static) -> Row {
    Row::new(name, Want::Ends, set)
}

/// Try every row on its vendors, print the table (`--nocapture`), and fail with every row that does not hold.
#[track_caller]
pub fn hold(subject: &str, rows: Vec<Row>) {
    let tasks: Vec<(usize, &'static str)> =
        rows.iter().enumerate().flat_map(|(at, row)| row.vendors.iter().map(move |vendor| (at, *vendor))).collect();
    let found = side_by_side(&tasks, |&(at, vendor)| {
        // a row that panics does not hold
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rows[at].hold(vendor)));
        (at, vendor, held.unwrap_or_else(|_| Err(format!("{} on {vendor}: panicked, see above", rows[at].name))))
    });
    let mut table = format!("\n{subject:<90} {:<12} {:<12}\n", "claude", "codex");
    let mut wrong = Vec::new();
    for at in 0..rows.len() {
        let of = |vendor| found.iter().find(|(row, whose, _)| (*row, *whose) == (at, vendor)).map(|(_, _, held)| held);
        wrong.extend(VENDORS.iter().filter_map(|vendor| of(vendor)?.as_ref().err()).cloned());
        let lines = VENDORS.map(|vendor| of(vendor).and_then(|held| held.as_ref().ok()));
        for line in 0..lines.iter().flatten().map(|shown| shown.len()).max().unwrap_or(0) {
            let [claude, codex] = lines.map(|shown| shown.and_then(|shown| shown.get(line)));
            let name = claude.or(codex).map_or("", |shown| &shown.name);
            let _ = writeln!(table, "{name:<90} {:<12} {:<12}", cell(claude), cell(codex));
        }
    }
    print!("{table}");
    assert!(wrong.is_empty(), "{} do not hold:\n{}", wrong.len(), wrong.join("\n"));
}

fn cell(shown: Option<&Shown>) -> String {
    match shown {
        None => "-".into(),
        Some(Shown { host, code: Some(code), .. }) => format!("{host} {code}"),
        Some(Shown { host, code: None, .. }) => format!("{host} signal"),
    }
}

/// Whether this machine can run a command that a row needs.
pub fn can(what: &str, command: &[&str]) -> bool {
    let tried = Command::new(command[0]).args(&command[1..]).output();
    let can = tried.is_ok_and(|output| output.status.success());
    if !can {
        not_shown(what, &format!("`{}`", command.join(" ")));
    }
    can
}

/// Report a row that was not tried, past the capture of the tests' output, since it has not been shown to hold.
pub fn not_shown(what: &str, takes: &str) {
    let line = format!("NOT SHOWN on this machine: {what} (it takes {takes})\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
