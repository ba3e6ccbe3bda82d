//! What `mh-run` is told.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{about, text};
use super::prompt::whole;
use super::{PROGRAM, capabilities, schema};
use crate::adapter::run::Credentials;
use crate::adapter::{self, ALL, Adapter};
use crate::decide::Policy;
use crate::hook::Decider;
use crate::os::Stop;
use crate::os::words;
use crate::run::{ASK, OnEof};
use crate::seal::Digest;

/// What the program says of itself.
const HELP: &str = "\
usage: mh-run VENDORS -p [TEXT] [--frame FILE [--digest HEX]] [options] [-- vendor options]
       mh-run capabilities VENDORS [--output-format text|json]
       mh-run schema [NAME]

Runs one turn of PRODUCTS under a sealed frame, and ends with a code that a script can
trust: on 0, standard output is the model's answer and nothing else. capabilities: what a run with
this vendor can promise. schema: the JSON Schema of a line or a document; without NAME, their names.

  -p, --prompt [TEXT]     the prompt, whatever it begins with (also --print); with standard input
                          besides, that and a blank line go before it. Without TEXT, -p stands last
                          or before --, and standard input is the prompt. A TEXT that is in full an
                          option of this program is refused: write --prompt=TEXT, or use a file
  --prompt-file FILE      the prompt is in FILE
  --frame FILE            the frame in force; none, and the vendor's own rules decide
  --digest HEX            the frame must have this digest
  --decisions frame       an admitted call is granted; the default
  --decisions deny-only   an admitted call is left to the vendor's own rules
  --decisions ask         an admitted call waits for a tool.decide line on standard input; standard
                          output tells the turn in lines (see also: mh-run schema)
  --deadline SECONDS      with ask: how long a call waits, 300 unless told otherwise
  --on-eof deny           with ask, when standard input ends: calls are denied; the default
  --on-eof interrupt      the turn is stopped
  --decider WHICH         ask about admitted calls: exec:/abs/program or unix:/abs/socket
  --model MODEL           the vendor's model
  --cwd DIR               the folder to work in
  --timeout SECONDS       stop the turn when it takes longer
  --output-format text    the answer; the default
  --output-format json    one object, whatever happens
  --output-format stream-json   a record a line as it goes, that object last
  --output-format events  metaharness.event/1 lines; the default of ask, which has no other
  --verbose               show the turn on stderr as it goes
  --fail-on-denied        a call that was refused makes the exit code 1
  --handoff-check         what the frame owes must be there afterwards
  --artifact NAME=PATH    where the artifact is that the frame owes
  --schema FILE           the schema of the answer that the frame owes
  --audit FILE            keep the hook's decisions there
  --mcp-config FILE       MCP servers, as {\"mcpServers\":{...}}; there are no others
SANDBOXESINSTRUCTIONS  --hermetic              a scratch home and a cleared environment
  --credentials WHICH     which go along then: inherit (the default), api-key or none
  --env NAME              a variable that goes along then
  --needs CONTROL,...     refuse to start where one of these cannot be honoured
  --program PATH          the vendor's program, if it is not on PATH
  --help, --version

exit codes: 0 answered; 1 not answered, or not to be trusted; 2 refused before the start
";

/// The same, with what each vendor has.
pub fn help() -> String {
    let each =
        |of: &dyn Fn(&'static dyn Adapter) -> String| -> Vec<String> { ALL.iter().map(|vendor| of(*vendor)).collect() };
    let sandboxes = each(&|vendor| match vendor.sandboxes() {
        [] => String::new(),
        all => format!("  --sandbox MODE          {}: {}\n", vendor.facts().product, either(all)),
    });
    let instructions = each(&|vendor| match vendor.ambient().instructions.first() {
        None => String::new(),
        Some(file) => format!(
            "  --project-instructions  {}: give it the project's {file}, which is left out else\n",
            vendor.facts().product
        ),
    });
    HELP.replace("VENDORS", &each(&|vendor| vendor.facts().word.into()).join("|"))
        .replace("PRODUCTS", &each(&|vendor| vendor.facts().product.into()).join(" or "))
        .replace("SANDBOXES", &sandboxes.concat())
        .replace("INSTRUCTIONS", &instructions.concat())
}

/// What a command line asks for.
pub enum Errand {
    /// A text about the program.
    About(String),
    /// A turn.
    Turn(Box<Options>),
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The answer.
    Text,
    /// One object.
    Json,
    /// A record a line, and that object.
    Stream,
    /// Lines of `metaharness.event/1`.
    Events,
}

/// How an embedder takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// How long a call waits.
    pub deadline: Duration,
    /// What becomes of the turn when standard input ends.
    pub on_eof: OnEof,
}

/// The longest that a call can wait, in seconds: what a hook can be given, and time to answer.
const LONGEST_WAIT: u64 = 590;

/// Where the prompt is from, besides standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// From there alone.
    Stdin,
    /// The command line.
    Text(String),
    /// A file.
    File(PathBuf),
}

/// A turn that is asked for.
#[derive(Debug)]
pub struct Options {
    pub vendor: &'static dyn Adapter,
    pub prompt: Prompt,
    pub frame: Option<PathBuf>,
    pub pin: Option<Digest>,
    pub policy: Policy,
    pub asking: Option<Asking>,
    pub decider: Option<String>,
    pub model: Option<String>,
    pub cwd: PathBuf,
    pub timeout: Option<Duration>,
    pub format: Format,
    pub verbose: bool,
    pub fail_on_denied: bool,
    pub handoff_check: bool,
    pub artifacts: BTreeMap<String, PathBuf>,
    pub schema: Option<(PathBuf, String)>,
    pub audit: Option<PathBuf>,
    pub mcp: Option<serde_json::Value>,
    pub sandbox: Option<String>,
    pub project_instructions: bool,
    pub hermetic: bool,
    pub credentials: Credentials,
    pub carried: Vec<OsString>,
    pub needs: Vec<String>,
    pub program: Option<PathBuf>,
    /// What stands behind `--`, not held to the list yet.
    pub passed: Vec<OsString>,
}

/// The command line as it is typed: each flag once.
#[derive(Default)]
struct Typed {
    vendor: Option<String>,
    prompt: Option<Prompt>,
    values: BTreeMap<&'static str, OsString>,
    artifacts: Vec<OsString>,
    carried: Vec<OsString>,
    switches: Vec<&'static str>,
    passed: Vec<OsString>,
}

const VALUES: [&str; 17] = [
    "deadline",
    "on-eof",
    "frame",
    "digest",
    "decisions",
    "decider",
    "model",
    "cwd",
    "timeout",
    "output-format",
    "schema",
    "audit",
    "mcp-config",
    "sandbox",
    "credentials",
    "needs",
    "program",
];

const SWITCHES: [&str; 5] = ["verbose", "fail-on-denied", "handoff-check", "project-instructions", "hermetic"];

/// Take a command line.
pub fn take(mut arguments: Vec<OsString>) -> Result<Errand, Stop> {
    match arguments.first().and_then(|word| word.to_str()) {
        Some("schema") => return schema::take(arguments.split_off(1)).map(Errand::About),
        Some("capabilities") => return capabilities::take(arguments.split_off(1)).map(Errand::About),
        _ => {}
    }
    let mut typed = Typed::default();
    if let Some(at) = arguments.iter().position(|argument| argument == "--") {
        typed.passed = arguments.split_off(at).into_iter().skip(1).collect();
        separated(&arguments, &typed.passed)?;
    }
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        if let Some(text) = about(&argument, PROGRAM, &help()) {
            return Ok(Errand::About(text));
        }
        match argument {
            lexopt::Arg::Short('p') | lexopt::Arg::Long("prompt" | "print") => {
                let prompt = match prompt_if_any(&mut parser)? {
                    Some(value) => Prompt::Text(text(value, "--prompt")?),
                    None => Prompt::Stdin,
                };
                once(typed.prompt.replace(prompt), "the prompt")?;
            }
            lexopt::Arg::Long("prompt-file") => {
                let file = Prompt::File(parser.value()?.into());
                once(typed.prompt.replace(file), "the prompt")?;
            }
            lexopt::Arg::Long("artifact") => typed.artifacts.push(parser.value()?),
            lexopt::Arg::Long("env") => typed.carried.push(parser.value()?),
            lexopt::Arg::Long(name) => {
                if let Some(name) = SWITCHES.iter().find(|known| **known == name) {
                    typed.switches.push(name);
                } else if let Some(name) = VALUES.iter().find(|known| **known == name) {
                    let value = parser.value()?;
                    once(typed.values.insert(name, value), &format!("--{name}"))?;
                } else {
                    return Err(Stop::usage(format!("there is no flag --{}", name.escape_default())));
                }
            }
            lexopt::Arg::Value(word) if typed.vendor.is_none() => typed.vendor = Some(text(word, "the vendor")?),
            other => return Err(other.unexpected().into()),
        }
    }
    typed.settle().map(|options| Errand::Turn(Box::new(options)))
}

fn once<T>(before: Option<T>, what: &str) -> Result<(), Stop> {
    match before {
        None => Ok(()),
        Some(_) => Err(Stop::usage(format!("{what} is given twice"))),
    }
}

/// The prompt behind its flag, if there is one: what is joined to it, or the next word. That is never read as an option,
/// whatever it begins with: it may be a script's variable, and what is in that would steer the run.
fn prompt_if_any(parser: &mut lexopt::Parser) -> Result<Option<OsString>, Stop> {
    if let Some(joined) = parser.optional_value() {
        return Ok(Some(joined));
    }
    let Some(word) = parser.try_raw_args().and_then(|mut rest| rest.next()) else { return Ok(None) };
    match own(&word) {
        Some(option) => Err(unclear(&format!("behind -p stands {option}, an option of this program"))),
        None => Ok(Some(word)),
    }
}

/// A `--` behind a prompt's flag could be the prompt. It is taken for the sign that stands before the vendor's options
/// where nothing else can be meant.
fn separated(before: &[OsString], passed: &[OsString]) -> Result<(), Stop> {
    let flag = |word: &OsString| ["-p", "--prompt", "--print"].iter().any(|flag| word == flag);
    if !before.last().is_some_and(flag) {
        return Ok(());
    }
    match (passed, passed.iter().find_map(|word| own(word))) {
        ([], _) => Err(unclear("behind -p stands --, and nothing behind that")),
        (_, Some(option)) => {
            Err(unclear(&format!("behind -p stands --, and behind that {option}, an option of this program")))
        }
        _ => Ok(()),
    }
}

fn unclear(what: &str) -> Stop {
    Stop::usage(format!(
        "{what}: is it the prompt, or is standard input? Nothing was started. If it is the prompt, write --prompt=TEXT or \
         use --prompt-file FILE; if standard input is, put -p last"
    ))
}

/// The option that a word is in full, where it is one of this program's: its name, with a value joined to it or not.
fn own(word: &OsStr) -> Option<String> {
    let word = word.to_string_lossy();
    if ["-p", "-h", "-V"].contains(&&*word) {
        return Some(word.into_owned());
    }
    let name = word.strip_prefix("--")?.split('=').next()?;
    let more = ["prompt", "print", "prompt-file", "artifact", "env", "help", "version"];
    let known = VALUES.iter().chain(&SWITCHES).chain(&more).any(|known| *known == name);
    known.then(|| format!("--{name}"))
}

impl Typed {
    fn word(&mut self, name: &'static str) -> Result<Option<String>, Stop> {
        self.values.remove(name).map(|value| text(value, &format!("--{name}"))).transpose()
    }

    fn switch(&self, name: &str) -> bool {
        self.switches.contains(&name)
    }

    /// A path made absolute, since the child works in another folder.
    fn path(&mut self, name: &'static str) -> Result<Option<PathBuf>, Stop> {
        self.values.remove(name).map(|value| absolute(Path::new(&value))).transpose()
    }

    fn settle(mut self) -> Result<Options, Stop> {
        let vendor = self.vendor.as_deref().and_then(adapter::named);
        let vendor = vendor.ok_or_else(|| Stop::usage(format!("say whose turn: {}", adapter::words(|_| true))))?;
        let prompt =
            self.prompt.take().ok_or_else(|| Stop::usage("say what to do: -p TEXT, or -p with standard input"))?;
        let frame = self.path("frame")?;
        let pin = self.word("digest")?.map(|word| {
            Digest::parse(&word).ok_or_else(|| Stop::usage("--digest takes 64 lower-case hexadecimal digits"))
        });
        let pin = pin.transpose()?;
        if pin.is_some() && frame.is_none() {
            return Err(Stop::usage("--digest without --frame"));
        }
        let decisions = self.word("decisions")?;
        let policy = match decisions.as_deref() {
            None | Some(ASK) => Policy::Frame,
            Some(word) => {
                Policy::from_word(word).ok_or_else(|| Stop::usage("--decisions takes frame, deny-only or ask"))?
            }
        };
        let asking = self.asking(decisions.as_deref() == Some(ASK))?;
        let format = match (self.word("output-format")?.as_deref(), asking) {
            (None | Some("events"), Some(_)) => Format::Events,
            (Some(_), Some(_)) => return Err(Stop::usage("--decisions ask goes with --output-format events alone")),
            (None | Some("text"), None) => Format::Text,
            (Some("json"), None) => Format::Json,
            (Some("stream-json"), None) => Format::Stream,
            (Some("events"), None) => Format::Events,
            _ => return Err(Stop::usage("--output-format takes text, json, stream-json or events")),
        };
        if asking.is_some() && prompt == Prompt::Stdin {
            return Err(Stop::usage(
                "with --decisions ask standard input is for commands: give -p TEXT or --prompt-file",
            ));
        }
        if asking.is_some() && frame.is_none() {
            return Err(Stop::usage(
                "--decisions ask without --frame: only what a frame admits is asked about, so give one, if need be one \
                 that admits everything",
            ));
        }
        let timeout = self.word("timeout")?.map(|word| {
            let seconds = word.parse::<u64>().ok().filter(|seconds| (1..=31_536_000).contains(seconds));
            seconds.map(Duration::from_secs).ok_or_else(|| {
                Stop::usage(format!(
                    "--timeout takes a whole number of seconds from 1 to 31536000, and {word:?} is none; leave it out for no limit"
                ))
            })
        });
        let hermetic = self.switch("hermetic");
        let credentials = match self.word("credentials")?.as_deref() {
            None => Credentials::Inherit,
            Some(_) if !hermetic => return Err(Stop::usage("--credentials goes with --hermetic")),
            Some(word) => Credentials::from_word(word)
                .ok_or_else(|| Stop::usage("--credentials takes inherit, api-key or none"))?,
        };
        if !hermetic && !self.carried.is_empty() {
            return Err(Stop::usage("--env goes with --hermetic"));
        }
        let sandbox = self.word("sandbox")?;
        if let Some(word) = &sandbox {
            let sandboxes = vendor.sandboxes();
            if sandboxes.is_empty() {
                let others = adapter::words(|vendor| !vendor.sandboxes().is_empty());
                return Err(Stop::usage(format!("--sandbox is for {others}")));
            }
            if !sandboxes.contains(&word.as_str()) {
                return Err(Stop::usage(format!("--sandbox takes {}", either(sandboxes))));
            }
        }
        let handoff_check = self.switch("handoff-check");
        if handoff_check && frame.is_none() {
            return Err(Stop::usage("--handoff-check without --frame"));
        }
        if !self.artifacts.is_empty() && !handoff_check {
            return Err(Stop::usage("--artifact goes with --handoff-check"));
        }
        if self.switch("project-instructions") && vendor.ambient().instructions.is_empty() {
            let others = adapter::words(|vendor| !vendor.ambient().instructions.is_empty());
            let word = vendor.facts().word;
            return Err(Stop::usage(format!("--project-instructions is for {others}; {word} reads its own")));
        }
        let decider = self.values.remove("decider").map(|value| decider(&value)).transpose()?;
        if decider.is_some() && asking.is_some() {
            return Err(Stop::usage("--decider and --decisions ask are two that would decide; give one"));
        }
        if decider.is_some() && frame.is_none() {
            return Err(Stop::usage("--decider without --frame: only what a frame admits is asked about"));
        }
        let cwd = match self.path("cwd")? {
            Some(cwd) => cwd,
            None => std::env::current_dir()
                .map_err(|error| Stop::failed(format!("the working folder: {}", words(error))))?,
        };
        if !cwd.is_dir() {
            return Err(Stop::failed(format!("{}: not a folder", cwd.display())));
        }
        Ok(Options {
            vendor,
            prompt,
            frame,
            pin,
            policy,
            asking,
            decider,
            model: self.word("model")?,
            cwd,
            timeout: timeout.transpose()?,
            format,
            verbose: self.switch("verbose"),
            fail_on_denied: self.switch("fail-on-denied"),
            handoff_check,
            artifacts: self.artifacts.iter().map(artifact).collect::<Result<_, _>>()?,
            schema: self.path("schema")?.map(schema).transpose()?,
            audit: self.path("audit")?,
            mcp: self.path("mcp-config")?.map(servers).transpose()?,
            sandbox,
            project_instructions: self.switch("project-instructions"),
            hermetic,
            credentials,
            carried: std::mem::take(&mut self.carried),
            needs: self.word("needs")?.map(|needs| needs.split(',').map(String::from).collect()).unwrap_or_default(),
            program: self.path("program")?,
            passed: self.passed,
        })
    }

    fn asking(&mut self, asked: bool) -> Result<Option<Asking>, Stop> {
        let (deadline, on_eof) = (self.word("deadline")?, self.word("on-eof")?);
        if !asked {
            return match deadline.or(on_eof) {
                None => Ok(None),
                Some(_) => Err(Stop::usage("--deadline and --on-eof go with --decisions ask")),
            };
        }
        let deadline = match deadline.as_deref().map(str::parse::<u64>) {
            None => 300,
            Some(Ok(seconds)) if (1..=LONGEST_WAIT).contains(&seconds) => seconds,
            Some(_) => {
                let usage = format!("--deadline takes a whole number of seconds from 1 to {LONGEST_WAIT}");
                return Err(Stop::usage(usage));
            }
        };
        let on_eof = match on_eof.as_deref() {
            None | Some("deny") => OnEof::Deny,
            Some("interrupt") => OnEof::Interrupt,
            Some(_) => return Err(Stop::usage("--on-eof takes deny or interrupt")),
        };
        Ok(Some(Asking { deadline: Duration::from_secs(deadline), on_eof }))
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Stop> {
    std::path::absolute(path).map_err(|error| Stop::usage(format!("{}: {}", path.display(), words(error))))
}

/// Words, the last after `or`.
fn either(words: &[&str]) -> String {
    match words {
        [most @ .., one, last] => most.iter().map(|word| format!("{word}, ")).collect::<String>() + one + " or " + last,
        words => words.concat(),
    }
}

fn decider(value: &OsString) -> Result<String, Stop> {
    let decider = Decider::parse(value).map_err(|why| Stop::usage(format!("--decider is {value:?}: {why}")))?;
    #[expect(clippy::disallowed_methods, reason = "the sentence names the file")]
    let found = std::fs::metadata(decider.path())
        .map_err(|error| Stop::failed(format!("--decider {}: {}", decider.path().display(), words(error))))?;
    let wanted = match &decider {
        Decider::Program(_) if !found.is_file() || found.permissions().mode() & 0o111 == 0 => {
            "a program that can be started"
        }
        Decider::Socket(_) if !found.file_type().is_socket() => "a socket",
        _ => return text(value.clone(), "--decider"),
    };
    Err(Stop::failed(format!(
        "--decider {}: it is not {wanted}, so every call would be denied",
        decider.path().display()
    )))
}

fn artifact(given: &OsString) -> Result<(String, PathBuf), Stop> {
    let given = text(given.clone(), "--artifact")?;
    let (name, path) = given.split_once('=').ok_or_else(|| Stop::usage("--artifact takes NAME=PATH"))?;
    Ok((name.into(), absolute(Path::new(path))?))
}

fn json(path: &Path) -> Result<(serde_json::Value, String), Stop> {
    let shown = path.display();
    let bytes = whole(path, 1024 * 1024)?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| Stop::failed(format!("{shown}: not json: {error}")))?;
    let text = value.to_string();
    Ok((value, text))
}

fn schema(path: PathBuf) -> Result<(PathBuf, String), Stop> {
    let (_, text) = json(&path)?;
    // the longest argument that Linux takes
    match text.len() < 128 * 1024 {
        true => Ok((path, text)),
        false => Err(Stop::failed(format!("{}: too long to be passed on", path.display()))),
    }
}

fn servers(path: PathBuf) -> Result<serde_json::Value, Stop> {
    let (value, _) = json(&path)?;
    match value.get("mcpServers").is_some_and(serde_json::Value::is_object) {
        true => Ok(value),
        false => Err(Stop::failed(format!("{}: there is no object `mcpServers` in it", path.display()))),
    }
}
