//! One run of the real Codex: its configuration, the stub for its model, and the outcome.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::launch::Entry;
use super::script::{Mode, Script};
use super::stub::{Asked, Stub, outputs};
use crate::case::Seen;
use crate::frame::Frame;
use crate::scratch::{Ended, Scratch};

#[derive(Clone)]
pub struct Codex {
    pub program: PathBuf,
}

/// The place of the entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `$CODEX_HOME/config.toml`, where mh-setup puts it.
    Config,
    /// The launch line.
    Flags,
    HooksJson,
    Nowhere,
}

pub struct Session<'a> {
    codex: &'a Codex,
    scratch: &'a Scratch,
    mode: Mode,
    script: Script,
    entry: String,
    place: Place,
    config: String,
    flags: Vec<String>,
    env: Vec<(String, String)>,
    sandbox: Vec<String>,
    prompt: Vec<String>,
    wrap: Vec<String>,
    unfinished: bool,
}

pub struct Outcome {
    pub ended: Ended,
    pub asked: Vec<Asked>,
}

impl<'a> Session<'a> {
    pub fn new(codex: &'a Codex, scratch: &'a Scratch, mode: Mode, script: Script) -> Session<'a> {
        Session {
            codex,
            scratch,
            mode,
            script,
            entry: String::new(),
            place: Place::Nowhere,
            config: String::new(),
            flags: Vec::new(),
            env: Vec::new(),
            sandbox: vec!["--dangerously-bypass-approvals-and-sandbox".into()],
            prompt: vec!["please do the scripted thing".into()],
            wrap: Vec::new(),
            unfinished: false,
        }
    }

    /// Writes the entry into `config.toml`, byte for byte.
    pub fn entry(mut self, text: &str) -> Self {
        self.entry = text.into();
        self.place = Place::Config;
        self
    }

    pub fn entry_at(mut self, place: Place, entry: &Entry) -> Result<Self, String> {
        self.place = place;
        match place {
            Place::Config => self.entry = entry.text.clone(),
            Place::Flags => self.flags.extend(entry.flags()),
            Place::HooksJson => {
                let path = self.scratch.config.join("hooks.json");
                fs::write(&path, entry.json().to_string())
                    .map_err(|error| format!("could not write {}: {error}", path.display()))?;
                self.flags.push("--dangerously-bypass-hook-trust".into());
                for setting in entry.feature_settings() {
                    self.flags.extend(["-c".into(), setting]);
                }
            }
            Place::Nowhere => {}
        }
        Ok(self)
    }

    /// Adds tables to `config.toml`.
    pub fn config(mut self, text: &str) -> Self {
        self.config.push_str(text);
        self.config.push('\n');
        self
    }

    /// Trusts the project. Codex reads a project's `.codex` folder only then.
    pub fn trusting_the_project(self) -> Self {
        let table =
            format!("[projects.{}]\ntrust_level = \"trusted\"\n", quoted(&self.scratch.project.to_string_lossy()));
        self.config(&table)
    }

    /// Adds an MCP server, which is this program again; see `mcp.rs`.
    pub fn server(self, name: &str, spec: &Value) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
        let table = format!(
            "[mcp_servers.{}]\ncommand = {}\nargs = [\"mcp\", {}]\n",
            quoted(name),
            quoted(&own.to_string_lossy()),
            quoted(&spec.to_string())
        );
        Ok(self.config(&table))
    }

    pub fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.into());
        self
    }

    pub fn setting(self, setting: &str) -> Self {
        self.flag("-c").flag(setting)
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets flags in place of the full bypass: `-s MODE`, `--approve-for-me`.
    pub fn sandbox(mut self, flags: &[&str]) -> Self {
        self.sandbox = flags.iter().map(|flag| (*flag).to_string()).collect();
        self
    }

    /// Sets the words after the flags of `codex exec`: a prompt, or a subcommand and a prompt.
    pub fn prompt(mut self, words: &[&str]) -> Self {
        self.prompt = words.iter().map(|word| (*word).to_string()).collect();
        self
    }

    /// Puts these words before Codex's command line: a mount namespace, a limit.
    pub fn wrapped(mut self, words: &[String]) -> Self {
        self.wrap = words.to_vec();
        self
    }

    /// The vendor may end before the script does.
    pub fn unfinished(mut self) -> Self {
        self.unfinished = true;
        self
    }

    /// Starts the stub and writes `config.toml`, so that the vendor can be started.
    pub fn prepare(&self) -> Result<Stub, String> {
        let stub = Stub::start(self.script.clone())?;
        self.configure(&stub)?;
        Ok(stub)
    }

    /// Writes `config.toml` for a running stub.
    pub fn configure(&self, stub: &Stub) -> Result<(), String> {
        let path = self.scratch.config.join("config.toml");
        let text = format!(
            "model = \"{}\"\nmodel_provider = \"stub\"\ncheck_for_update_on_startup = false\n\n\
             [analytics]\nenabled = false\n\n\
             [model_providers.stub]\nname = \"stub\"\nbase_url = \"{}\"\nwire_api = \"responses\"\n\
             env_key = \"STUB_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\n{}\n{}",
            self.mode.model(),
            stub.url(),
            self.config,
            self.entry
        );
        fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()))
    }

    /// The vendor's command with this session's environment.
    pub fn command(&self) -> Command {
        let mut words = self.wrap.clone();
        words.push(self.codex.program.to_string_lossy().into_owned());
        let mut command = self.command_of(&words[0]);
        command.args(&words[1..]);
        command
    }

    /// The command line of the terminal program.
    pub fn terminal_words(&self) -> Vec<String> {
        let mut words = self.wrap.clone();
        words.push(self.codex.program.to_string_lossy().into_owned());
        words.extend(self.sandbox.iter().chain(&self.flags).chain(&self.prompt).cloned());
        words
    }

    /// Any program with this session's environment.
    pub fn command_of(&self, program: &str) -> Command {
        let mut command = self.scratch.command(program);
        command.env("CODEX_HOME", &self.scratch.config).env("STUB_KEY", "none");
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command
    }

    pub fn model(&self) -> &'static str {
        self.mode.model()
    }

    pub fn program(&self) -> &Path {
        &self.codex.program
    }

    /// The settings of the launch line, which the app-server takes too.
    pub fn settings(&self) -> &[String] {
        &self.flags
    }

    pub fn log(&self, name: &str) -> PathBuf {
        self.scratch.logs.join(name)
    }

    pub fn project(&self) -> &Path {
        &self.scratch.project
    }

    /// Runs the script in a turn of `mh-run` under this frame, with these flags. The session's `config.toml` must
    /// change nothing, so the stub is named on the command line.
    pub fn governed(&self, frame: &Frame, flags: &[&str]) -> Result<Outcome, String> {
        let (mut command, stub) = self.governed_command(frame, flags)?;
        let ended = self.scratch.run(&mut command, "mh-run")?;
        Ok(Outcome { ended, asked: stub.asked() })
    }

    /// The command of such a turn, and the service that it uses.
    pub fn governed_command(&self, frame: &Frame, flags: &[&str]) -> Result<(Command, Stub), String> {
        let stub = self.prepare()?;
        let mut command = self.scratch.command(self.scratch.program("mh-run"));
        command.env("CODEX_HOME", &self.scratch.config).env("STUB_KEY", "none");
        command.args(["codex", "-p", "please do the scripted thing", "--model", self.mode.model(), "--program"]);
        command.arg(&self.codex.program).arg("--frame").arg(&frame.path).args(flags);
        let provider = format!(
            "model_providers.stub={{name=\"stub\",base_url=\"{}\",wire_api=\"responses\",env_key=\"STUB_KEY\",\
             request_max_retries=0,stream_max_retries=0}}",
            stub.url()
        );
        command.args(["--", "-c", "model_provider=\"stub\"", "-c", &provider]);
        Ok((command, stub))
    }

    pub fn run(&self) -> Result<Outcome, String> {
        let stub = self.prepare()?;
        self.run_on(&stub)
    }

    /// Runs `codex exec` to its end.
    pub fn run_on(&self, stub: &Stub) -> Result<Outcome, String> {
        let mut command = self.command();
        command
            .args(["exec", "--json", "--skip-git-repo-check"])
            .args(&self.sandbox)
            .args(&self.flags)
            .args(&self.prompt);
        let ended = self.scratch.run(&mut command, "codex")?;
        let outcome = Outcome { ended, asked: stub.asked() };
        // A vendor that never came to the call proves nothing by a missing file.
        if !self.unfinished && outcome.of("main").count() <= self.script.main.len() {
            return Err(format!(
                "codex ended with {:?} after {} requests, before the script's end: {} {}",
                outcome.ended.code,
                outcome.of("main").count(),
                outcome.ended.stderr.trim(),
                outcome.ended.stdout.trim()
            ));
        }
        Ok(outcome)
    }
}

impl Outcome {
    /// The requests that this part of the script answered.
    pub fn of(&self, part: &str) -> impl Iterator<Item = &Asked> {
        self.asked.iter().filter(move |asked| asked.part == part)
    }

    /// Every tool output that the model got, in all threads.
    pub fn told(&self) -> String {
        let mut last: Vec<&Asked> = Vec::new();
        for asked in &self.asked {
            last.retain(|earlier| earlier.thread != asked.thread);
            last.push(asked);
        }
        last.iter().map(|asked| outputs(&asked.body)).collect::<Vec<_>>().join("\n")
    }

    /// The outcome by a file. If the file is missing, the hook must have denied the call.
    pub fn effect(&self, ran: bool) -> Result<Seen, String> {
        let told = self.told();
        if !ran && !told.contains("PreToolUse hook") {
            return Err(format!("did nothing, and not by the hook's word; the model was told: {}", short(&told)));
        }
        Ok(self.seen(ran))
    }

    /// The outcome by a file alone.
    pub fn seen(&self, ran: bool) -> Seen {
        Seen::effect(ran, format!("the model was told: {}", short(&self.told())))
    }
}

pub fn short(text: &str) -> String {
    let text = text.trim().replace('\n', " / ");
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A TOML string. JSON strings are TOML strings apart from DEL, which no case writes.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
