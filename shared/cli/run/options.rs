//! The command line of `mh-run`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::voice::{
    Arguments, SECONDS, Typed, digest, goes_with, joined, no_such, not_taken, number, once, one_of, text, wrong,
};
use super::prompt::whole;
use super::{PROGRAM, capabilities, schema};
use crate::adapter::run::{Credentials, Run, Shadowed};
use crate::adapter::{self, NotGoverned};
use crate::decide::Policy;
use crate::hook::Decider;
use crate::os::Stop;
use crate::os::mistake::{Mistake, typed};
use crate::os::words;
use crate::run::{ASK, OnEof};
use crate::seal::Digest;

/// The text of `--help`.
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

/// The words of the vendors for which this holds, in a sentence.
pub fn words_of(holds: impl Fn(&dyn Run) -> bool) -> String {
    let words: Vec<&str> =
        adapter::governed().filter(|vendor| holds(*vendor)).map(|vendor| vendor.facts().word).collect();
    words.join(" or ")
}

/// The help text with each vendor's facts.
pub fn help() -> String {
    let each = |of: &dyn Fn(&'static dyn Run) -> String| -> Vec<String> { adapter::governed().map(of).collect() };
    let sandboxes = each(&|vendor| match vendor.sandboxes() {
        [] => String::new(),
        all => format!("  --sandbox MODE          {}: {}\n", vendor.facts().product, joined(all, "or")),
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

/// The task that a command line gives.
pub enum Errand {
    /// A text about the program itself.
    About(String),
    /// A turn.
    Turn(Box<Options>),
}

/// The form of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    /// One JSON object.
    Json,
    /// A record a line, and the JSON object last.
    Stream,
    /// Lines of `metaharness.event/1`.
    Events,
}

/// The embedder's part in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// The time that a call waits.
    pub deadline: Duration,
    /// The effect of the end of stdin.
    pub on_eof: OnEof,
}

/// The longest time that a call can wait, in seconds: the hook's longest deadline without the time to answer.
const LONGEST_WAIT: u64 = 590;

/// The source of the prompt besides stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// Stdin alone.
    Stdin,
    Text(String),
    File(PathBuf),
}

/// The options of a turn.
#[derive(Debug)]
pub struct Options {
    pub vendor: &'static dyn Run,
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
    /// The words behind `--`, not checked yet.
    pub passed: Vec<OsString>,
}

/// The flags as they were typed, each once.
#[derive(Default)]
struct Given {
    vendor: Option<&'static dyn Run>,
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

pub fn take(mut arguments: Vec<OsString>) -> Result<Errand, Stop> {
    match arguments.first().and_then(|word| word.to_str()) {
        Some("schema") => return schema::take(arguments.split_off(1)).map(Errand::About),
        Some("capabilities") => return capabilities::take(arguments.split_off(1)).map(Errand::About),
        _ => {}
    }
    let mut given = Given::default();
    if let Some(at) = arguments.iter().position(|argument| argument == "--") {
        given.passed = arguments.split_off(at).into_iter().skip(1).collect();
        separated(&arguments, &given.passed)?;
    }
    let mut arguments = Arguments::new(PROGRAM, help(), arguments);
    while let Some(argument) = arguments.next(true)? {
        let flag = match argument {
            Typed::About(text) => return Ok(Errand::About(text)),
            Typed::Word(word) if given.vendor.is_none() => {
                given.vendor = Some(vendor(&text(word, "the vendor")?)?);
                continue;
            }
            Typed::Word(word) if given.prompt.is_none() => {
                let prompt = format!("the prompt stands behind -p, as in -p \"{}\"", typed(&word));
                return Err(arguments.stray(&word, &prompt));
            }
            Typed::Word(word) => return Err(arguments.stray(&word, "")),
            Typed::Flag(flag) => flag,
        };
        given.flag(&flag, &mut arguments)?;
    }
    given.settle().map(|options| Errand::Turn(Box::new(options)))
}

/// The vendor with this option, if it can be passed on.
fn passed_by(flag: &str) -> Option<&'static str> {
    let has = |vendor: &&dyn Run| {
        let options = vendor.options();
        options.passed.iter().any(|passed| passed.name == flag) || options.short.iter().any(|(short, _)| *short == flag)
    };
    adapter::governed().find(has).map(|vendor| vendor.facts().word)
}

/// The vendor with this word.
pub fn vendor(word: &str) -> Result<&'static dyn Run, Stop> {
    let elsewhere = match word {
        "doctor" | "setup" | "status" => "mh-setup doctor says whether hooks are on",
        "frame" | "seal" | "new" => "a frame is made by mh-frame-seal --new",
        "verify" => "a frame is looked at by mh-frame-verify FILE",
        word => {
            let words: Vec<&str> = adapter::governed().map(|vendor| vendor.facts().word).collect();
            return adapter::governed_named(Some(word)).map_err(|why| match why {
                NotGoverned::Unknown => no_such("vendor", word, &words, &["capabilities", "schema"]),
                NotGoverned::Ungoverned(_) => Stop::usage(why.to_string()),
            });
        }
    };
    Err(Stop::failed(format!("\"{word}\" is no vendor: {elsewhere}")))
}

/// The vendor's options from behind `--`.
pub fn passed(options: &Options) -> Result<Vec<String>, Shadowed> {
    adapter::run::options(options.vendor, &options.passed).map_err(|why| {
        let named = why.to_string();
        let ours = options.passed.iter().filter_map(|word| own(word)).find(|ours| named.starts_with(ours.as_str()));
        ours.map_or(why, |ours| Shadowed::by(&ours, format!("it is an option of {PROGRAM}; put it before --")))
    })
}

/// The prompt after its flag, if there is one: joined to the flag, or the next word. The next word is never read as an
/// option, whatever it begins with: it may come from a script's variable, whose content would steer the run.
fn prompt_if_any(arguments: &mut Arguments) -> Result<Option<OsString>, Stop> {
    if let Some(joined) = arguments.joined() {
        return Ok(Some(joined));
    }
    let Some(word) = arguments.whatever() else { return Ok(None) };
    match own(&word) {
        Some(option) => Err(unclear(&format!("behind -p stands {option}, an option of this program"))),
        None => Ok(Some(word)),
    }
}

/// A `--` after a prompt's flag could be the prompt. It is read as the separator before the vendor's options only where
/// nothing else is possible.
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

/// The full name of the option, if the word is one of this program's: its name, with or without a joined value.
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

impl Given {
    /// Take one flag with its value.
    fn flag(&mut self, flag: &str, arguments: &mut Arguments) -> Result<(), Stop> {
        match flag {
            "-p" | "--prompt" | "--print" => {
                let prompt = match prompt_if_any(arguments)? {
                    Some(value) => Prompt::Text(text(value, "--prompt")?),
                    None => Prompt::Stdin,
                };
                return once(&mut self.prompt, "the prompt", prompt);
            }
            "--prompt-file" => {
                let file = Prompt::File(arguments.value()?.into());
                return once(&mut self.prompt, "the prompt", file);
            }
            "--artifact" => self.artifacts.push(arguments.value()?),
            "--env" => self.carried.push(arguments.value()?),
            flag => {
                let name = flag.strip_prefix("--").unwrap_or_default();
                if let Some(name) = SWITCHES.iter().find(|known| **known == name) {
                    self.switches.push(name);
                } else if let Some(name) = VALUES.iter().find(|known| **known == name) {
                    let value = arguments.value()?;
                    if self.values.insert(name, value).is_some() {
                        return Err(wrong(&Mistake::Twice(flag)));
                    }
                } else if let Some(theirs) = passed_by(flag) {
                    return Err(Stop::failed(format!(
                        "{}: it is an option of {theirs}, and stands behind --, as in {PROGRAM} {theirs} -p TEXT -- {flag}",
                        Mistake::NoFlag(flag)
                    )));
                } else {
                    return Err(arguments.unknown());
                }
            }
        }
        Ok(())
    }

    fn word(&mut self, name: &'static str) -> Result<Option<String>, Stop> {
        self.values.remove(name).map(|value| text(value, &format!("--{name}"))).transpose()
    }

    fn switch(&self, name: &str) -> bool {
        self.switches.contains(&name)
    }

    /// An absolute path, since the vendor works in another folder.
    fn path(&mut self, name: &'static str) -> Result<Option<PathBuf>, Stop> {
        self.values.remove(name).map(|value| absolute(Path::new(&value))).transpose()
    }

    fn settle(mut self) -> Result<Options, Stop> {
        let vendor = self.vendor.ok_or_else(|| wrong(&Mistake::Missing("vendor", &words_of(|_| true))))?;
        let prompt = self.prompt.take().ok_or_else(|| {
            wrong(&Mistake::Missing("prompt", "-p TEXT, or -p as the last word with the prompt on standard input"))
        })?;
        let frame = self.path("frame")?;
        let pin = self.word("digest")?.map(|word| digest("--digest", &word)).transpose()?;
        goes_with(&[("--digest", pin.is_some() && frame.is_none())], "--frame")?;
        let decisions = self.word("decisions")?;
        let policy = match decisions.as_deref() {
            None => Policy::Frame,
            Some(word) => one_of("--decisions", word, &DECISIONS)?,
        };
        let asking = self.asking(decisions.as_deref() == Some(ASK))?;
        let format = self.word("output-format")?.map(|word| one_of("--output-format", &word, &FORMATS)).transpose()?;
        let format = match (format, asking) {
            (None | Some(Format::Events), Some(_)) => Format::Events,
            (Some(_), Some(_)) => {
                return Err(wrong(&Mistake::GoesWith("--decisions ask", "--output-format events alone")));
            }
            (format, None) => format.unwrap_or(Format::Text),
        };
        if asking.is_some() && prompt == Prompt::Stdin {
            return Err(Stop::usage(
                "with --decisions ask standard input is for commands: give -p TEXT or --prompt-file",
            ));
        }
        if asking.is_some() && frame.is_none() {
            return Err(Stop::usage(
                "--decisions ask goes with --frame: only what a frame admits is asked about, so give one, if need be one \
                 that admits everything",
            ));
        }
        let timeout = self.word("timeout")?.map(|word| number("--timeout", &word, (1, 31_536_000), SECONDS));
        let timeout = timeout.transpose()?.map(Duration::from_secs);
        let hermetic = self.switch("hermetic");
        let credentials = self.word("credentials")?.map(|word| one_of("--credentials", &word, &CREDENTIALS));
        let (credentials, env) = (credentials.transpose()?, !self.carried.is_empty());
        goes_with(&[("--credentials", credentials.is_some() && !hermetic), ("--env", env && !hermetic)], "--hermetic")?;
        let credentials = credentials.unwrap_or(Credentials::Inherit);
        let sandbox = self.word("sandbox")?;
        if let Some(word) = &sandbox {
            let sandboxes = vendor.sandboxes();
            if sandboxes.is_empty() {
                let others = words_of(|vendor| !vendor.sandboxes().is_empty());
                return Err(Stop::usage(format!("--sandbox is for {others}")));
            }
            if !sandboxes.contains(&word.as_str()) {
                return Err(not_taken("--sandbox", &joined(sandboxes, "or"), word, sandboxes));
            }
        }
        let handoff_check = self.switch("handoff-check");
        goes_with(&[("--handoff-check", handoff_check && frame.is_none())], "--frame")?;
        goes_with(&[("--artifact", !self.artifacts.is_empty() && !handoff_check)], "--handoff-check")?;
        if self.switch("project-instructions") && vendor.ambient().instructions.is_empty() {
            let others = words_of(|vendor| !vendor.ambient().instructions.is_empty());
            let word = vendor.facts().word;
            return Err(Stop::usage(format!("--project-instructions is for {others}; {word} reads its own")));
        }
        let decider = self.values.remove("decider").map(|value| decider(&value)).transpose()?;
        if decider.is_some() && asking.is_some() {
            return Err(wrong(&Mistake::Exclude("--decider and --decisions ask", "each would decide")));
        }
        if decider.is_some() && frame.is_none() {
            return Err(Stop::usage("--decider goes with --frame: only what a frame admits is asked about"));
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
            timeout,
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
            let given = [("--deadline", deadline.is_some()), ("--on-eof", on_eof.is_some())];
            return goes_with(&given, "--decisions ask").map(|()| None);
        }
        let deadline = deadline.map(|word| number("--deadline", &word, (1, LONGEST_WAIT), SECONDS)).transpose()?;
        let on_eof = on_eof.map(|word| one_of("--on-eof", &word, &ON_EOF)).transpose()?;
        let deadline = Duration::from_secs(deadline.unwrap_or(300));
        Ok(Some(Asking { deadline, on_eof: on_eof.unwrap_or(OnEof::Deny) }))
    }
}

const DECISIONS: [(&str, Policy); 3] =
    [("frame", Policy::Frame), ("deny-only", Policy::DenyOnly), (ASK, Policy::Frame)];
const FORMATS: [(&str, Format); 4] =
    [("text", Format::Text), ("json", Format::Json), ("stream-json", Format::Stream), ("events", Format::Events)];
const ON_EOF: [(&str, OnEof); 2] = [("deny", OnEof::Deny), ("interrupt", OnEof::Interrupt)];
const CREDENTIALS: [(&str, Credentials); 3] =
    [("inherit", Credentials::Inherit), ("api-key", Credentials::ApiKey), ("none", Credentials::None)];

fn absolute(path: &Path) -> Result<PathBuf, Stop> {
    std::path::absolute(path).map_err(|error| Stop::usage(format!("{}: {}", path.display(), words(error))))
}

fn decider(value: &OsString) -> Result<String, Stop> {
    let given = text(value.clone(), "--decider")?;
    let decider = Decider::parse(value).ok_or_else(|| not_taken("--decider", Decider::TAKES, &given, &[]))?;
    crate::setup::answers(&decider).map_err(|why| Stop::failed(format!("--decider {why}")))?;
    Ok(given)
}

fn artifact(given: &OsString) -> Result<(String, PathBuf), Stop> {
    let given = text(given.clone(), "--artifact")?;
    let (name, path) = given.split_once('=').ok_or_else(|| not_taken("--artifact", "NAME=PATH", &given, &[]))?;
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
    // the longest argument on Linux
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
