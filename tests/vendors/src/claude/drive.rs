//! One run of `claude -p`: its settings, its launch and its outcome.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::messages::Stub;
pub use super::outcome::Outcome;
use super::script::{Call, MAIN, Script};
use crate::case::Seen;
use crate::entry::{self, Ask};
use crate::frame::{Frame, Spec};
use crate::http::Service;
use crate::scratch::{Ended, Scratch};

/// The place of the hook entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launch {
    /// The project's `.claude/settings.json`, the most common place.
    Project,
    /// `--settings` with `disableAllHooks: false` and no other source: the strongest launch without managed settings
    /// (measured on 2.1.332).
    Strong,
    /// As [`Launch::Strong`], with the settings in a file, which can be spoiled.
    StrongFile,
    /// The person's settings in the configuration folder.
    User,
    /// Managed settings in an /etc that only this run sees.
    Managed,
}

/// The function that drives a run to its outcome.
pub type Drive = fn(Run<'_>) -> Result<Seen, String>;

pub struct Run<'a> {
    pub scratch: &'a Scratch,
    program: &'a Path,
    launch: Launch,
    hooks: Map<String, Value>,
    settings: Map<String, Value>,
    user: Map<String, Value>,
    mcp: Map<String, Value>,
    script: Script,
    prompt: String,
    mode: &'static str,
    flags: Vec<String>,
    env: Vec<(String, String)>,
    folder: PathBuf,
    digest: String,
    beside: Vec<(String, Value)>,
    mangle: Option<fn(String) -> String>,
    managed_only: bool,
    managed: Option<String>,
    own_etc: bool,
}

impl<'a> Run<'a> {
    pub fn new(program: &'a Path, scratch: &'a Scratch) -> Run<'a> {
        Run {
            scratch,
            program,
            launch: Launch::Project,
            hooks: Map::new(),
            settings: Map::new(),
            user: Map::new(),
            mcp: Map::new(),
            script: Script::default(),
            prompt: format!("{MAIN} do the step"),
            mode: "bypassPermissions",
            flags: Vec::new(),
            env: Vec::new(),
            folder: scratch.project.clone(),
            digest: String::new(),
            beside: Vec::new(),
            mangle: None,
            managed_only: false,
            managed: None,
            own_etc: false,
        }
    }

    pub fn program(&self) -> &'a Path {
        self.program
    }

    /// Run another program in the vendor's place.
    pub fn with_program(mut self, program: &'a Path) -> Run<'a> {
        self.program = program;
        self
    }

    /// Seals the frame and adds the usual entry: pinned, policy `frame`.
    pub fn frame(self, spec: &Spec) -> Result<Run<'a>, String> {
        let frame = spec.seal(self.scratch, "frame.json")?;
        self.entry(&Ask::pinned(&frame), &frame)
    }

    /// Adds the entry that is printed for `ask`. A refusal must name `frame`.
    pub fn entry(mut self, ask: &Ask, frame: &Frame) -> Result<Run<'a>, String> {
        self.digest.clone_from(&frame.digest);
        let printed = entry::claude(self.scratch, ask)?;
        let hooks = printed["hooks"].as_object().ok_or("mh-setup printed no hooks")?;
        self.hooks = hooks.clone();
        Ok(self)
    }

    /// Changes each printed entry, as a person might edit it.
    pub fn edit(mut self, change: impl Fn(&str, &mut Value)) -> Run<'a> {
        for (event, groups) in &mut self.hooks {
            for group in groups.as_array_mut().into_iter().flatten() {
                for hook in group["hooks"].as_array_mut().into_iter().flatten() {
                    change(event, hook);
                }
            }
        }
        self
    }

    /// Removes this event's hook from the entry.
    pub fn without(mut self, event: &str) -> Run<'a> {
        self.hooks.remove(event);
        self
    }

    /// Adds PreToolUse's hook under this event too, for which none is printed.
    pub fn also(mut self, event: &str) -> Run<'a> {
        if let Some(groups) = self.hooks.get("PreToolUse").cloned() {
            self.hooks.insert(event.into(), groups);
        }
        self
    }

    /// Adds another person's hook beside ours, in the project's settings.
    pub fn beside(mut self, event: &str, command: &str) -> Run<'a> {
        let group = json!({"matcher": "*", "hooks": [{"type": "command", "command": command}]});
        self.beside.push((event.into(), group));
        self
    }

    /// Sets managed settings of exactly this text, and launches with them.
    pub fn managed(mut self, text: String) -> Run<'a> {
        self.managed = Some(text);
        self.launch = Launch::Managed;
        self
    }

    /// Sets managed settings of exactly this text, and leaves the entry in its place.
    pub fn beside_managed(mut self, text: &str) -> Run<'a> {
        self.managed = Some(text.into());
        self.own_etc = true;
        self
    }

    /// Sets managed settings that allow no other hooks.
    pub fn managed_only(mut self) -> Run<'a> {
        self.managed_only = true;
        self
    }

    /// Changes the text of the project's settings file before it is written.
    pub fn mangle(mut self, change: fn(String) -> String) -> Run<'a> {
        self.mangle = Some(change);
        self
    }

    pub fn launch(mut self, launch: Launch) -> Run<'a> {
        self.launch = launch;
        self
    }

    pub fn mode(mut self, mode: &'static str) -> Run<'a> {
        self.mode = mode;
        self
    }

    /// Sets a key of the project's settings.
    pub fn setting(mut self, key: &str, value: Value) -> Run<'a> {
        self.settings.insert(key.into(), value);
        self
    }

    pub fn user_setting(mut self, key: &str, value: Value) -> Run<'a> {
        self.user.insert(key.into(), value);
        self
    }

    pub fn flag(mut self, flag: &str) -> Run<'a> {
        self.flags.push(flag.into());
        self
    }

    pub fn env(mut self, key: &str, value: &str) -> Run<'a> {
        self.env.push((key.into(), value.into()));
        self
    }

    pub fn prompt(mut self, text: &str) -> Run<'a> {
        self.prompt = text.into();
        self
    }

    /// Starts the vendor in this folder below the project.
    pub fn inside(mut self, folder: &str) -> Run<'a> {
        self.folder = self.scratch.project.join(folder);
        self
    }

    /// Adds an MCP server of the suite's own (see `mcp`).
    pub fn server(mut self, name: &str, spec: &Value) -> Result<Run<'a>, String> {
        let suite = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
        self.mcp.insert(name.into(), json!({"command": suite, "args": ["mcp", spec.to_string()]}));
        Ok(self)
    }

    pub fn call(self, name: &str, input: Value) -> Run<'a> {
        self.calls(vec![Call::new(name, input)])
    }

    /// Adds a shell command.
    pub fn bash(self, command: &str) -> Run<'a> {
        self.call("Bash", json!({"command": command, "description": "a step"}))
    }

    pub fn write(self, path: impl AsRef<Path>, content: &str) -> Run<'a> {
        self.call("Write", json!({"file_path": path.as_ref(), "content": content}))
    }

    pub fn read(self, path: impl AsRef<Path>) -> Run<'a> {
        self.call("Read", json!({"file_path": path.as_ref()}))
    }

    /// Adds a turn that reads a file below the project.
    pub fn read_in(self, file: &str) -> Run<'a> {
        let path = self.scratch.project.join(file);
        self.read(path)
    }

    /// Adds a turn of these calls, after a delay.
    pub fn step(mut self, calls: Vec<Call>, delay: Duration) -> Run<'a> {
        self.script.push(calls, delay);
        self
    }

    /// Sets the behaviour of the model's service.
    pub fn service(mut self, service: Service) -> Run<'a> {
        self.script.service = service;
        self
    }

    /// Adds a turn of parallel calls.
    pub fn calls(mut self, calls: Vec<Call>) -> Run<'a> {
        self.script.push(calls, Duration::ZERO);
        self
    }

    /// Adds a call after a delay: the vendor needs up to 3 s to notice a changed file.
    pub fn after(mut self, seconds: f32, call: Call) -> Run<'a> {
        self.script.push(vec![call], Duration::from_secs_f32(seconds));
        self
    }

    /// Adds a call of the sub-agent whose prompt contains `word`.
    pub fn agent_call(mut self, word: &str, name: &str, input: Value) -> Run<'a> {
        self.script.push_other(word, Call::new(name, input));
        self
    }

    /// Adds a call that starts a sub-agent with the prompt `word`.
    pub fn agent(self, word: &str) -> Run<'a> {
        self.call("Agent", agent_input(word))
    }

    /// Writes the settings files and returns the flags of the launch.
    fn lay_out(&mut self) -> Result<Vec<String>, String> {
        let scratch = self.scratch;
        let mut settings = std::mem::take(&mut self.settings);
        let mut user = std::mem::take(&mut self.user);
        let mut flags = std::mem::take(&mut self.flags);
        match self.launch {
            _ if self.hooks.is_empty() && self.launch != Launch::Managed => {}
            Launch::Project => drop(settings.insert("hooks".into(), Value::Object(self.hooks.clone()))),
            Launch::User => drop(user.insert("hooks".into(), Value::Object(self.hooks.clone()))),
            Launch::Strong | Launch::StrongFile => {
                let mut strong = json!({"disableAllHooks": false, "hooks": self.hooks}).to_string();
                if self.launch == Launch::StrongFile {
                    let path = scratch.logs.join("settings.json");
                    let text = self.mangle.map_or(strong.clone(), |change| change(strong));
                    std::fs::write(&path, text)
                        .map_err(|error| format!("could not write {}: {error}", path.display()))?;
                    strong = path.display().to_string();
                }
                flags.extend(["--settings".into(), strong, "--setting-sources".into(), String::new()]);
            }
            Launch::Managed => {
                let made = json!({"hooks": self.hooks, "allowManagedHooksOnly": self.managed_only}).to_string();
                std::fs::write(scratch.logs.join("managed.json"), self.managed.take().unwrap_or(made))
                    .map_err(|error| format!("could not write the managed settings: {error}"))?;
            }
        }
        if let Some(text) = self.managed.take().filter(|_| self.own_etc) {
            std::fs::write(scratch.logs.join("managed.json"), text)
                .map_err(|error| format!("could not write the managed settings: {error}"))?;
        }
        for (event, group) in std::mem::take(&mut self.beside) {
            let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
            match hooks[event.as_str()].as_array_mut() {
                Some(groups) => groups.push(group),
                None => hooks[event.as_str()] = json!([group]),
            }
        }
        if !settings.is_empty() {
            let text = Value::Object(settings).to_string();
            let text = self.mangle.map_or(text.clone(), |change| change(text));
            scratch.write(".claude/settings.json", &text)?;
        }
        if !user.is_empty() {
            let path = scratch.config.join("settings.json");
            std::fs::write(&path, Value::Object(user).to_string())
                .map_err(|error| format!("could not write {}: {error}", path.display()))?;
        }
        if !self.mcp.is_empty() {
            let path = scratch.logs.join("mcp.json");
            std::fs::write(&path, json!({"mcpServers": self.mcp}).to_string())
                .map_err(|error| format!("could not write {}: {error}", path.display()))?;
            flags.extend(["--mcp-config".into(), path.display().to_string()]);
        }
        Ok(flags)
    }

    pub fn go(mut self) -> Result<Outcome, String> {
        let scratch = self.scratch;
        let flags = self.lay_out()?;
        let stub = Stub::start(self.script, scratch.logs.clone())
            .map_err(|error| format!("could not start the stub of the model's service: {error}"))?;
        let mut command = match self.own_etc || self.launch == Launch::Managed {
            true => with_own_etc(scratch, self.program)?,
            false => scratch.command(self.program),
        };
        command
            .args(["-p", &self.prompt, "--output-format", "stream-json", "--verbose", "--include-hook-events"])
            .args(["--permission-mode", self.mode])
            .args(&flags)
            .current_dir(&self.folder);
        surroundings(&mut command, scratch, &stub);
        command.envs(self.env);
        let ended = scratch.run(&mut command, "claude")?;
        Ok(Outcome::new(ended, stub.requests(), self.digest))
    }

    /// Asks `mh-setup doctor` about the same settings; the vendor is not started.
    pub fn doctor(mut self) -> Result<Ended, String> {
        self.lay_out()?;
        let setup = self.scratch.program("mh-setup");
        let mut command = match self.own_etc || self.launch == Launch::Managed {
            true => with_own_etc(self.scratch, &setup)?,
            false => self.scratch.command(setup),
        };
        command.args(["doctor", "claude", "--project"]).arg(&self.folder);
        // doctor asks the vendor's own program on PATH for its release.
        command.env("PATH", path_with(self.scratch, self.program)?);
        command.env("CLAUDE_CONFIG_DIR", &self.scratch.config).envs(self.env).current_dir(&self.folder);
        self.scratch.run(&mut command, "doctor")
    }

    /// Runs the same calls in a turn of `mh-run` under this frame, with these flags. This run's settings stand in the
    /// project's file, where they must change nothing.
    pub fn governed(self, spec: &Spec, flags: &[&str]) -> Result<Outcome, String> {
        let scratch = self.scratch;
        let frame = spec.seal(scratch, "frame.json")?;
        let (mut command, stub) = self.command(&frame, flags)?;
        let ended = scratch.run(&mut command, "mh-run")?;
        Ok(Outcome::new(ended, stub.requests(), frame.digest))
    }

    /// The command of such a turn, and the service that it uses.
    pub fn command(self, frame: &Frame, flags: &[&str]) -> Result<(Command, Stub), String> {
        let scratch = self.scratch;
        if !self.settings.is_empty() {
            scratch.write(".claude/settings.json", &Value::Object(self.settings).to_string())?;
        }
        let stub = Stub::start(self.script, scratch.logs.clone())
            .map_err(|error| format!("could not start the stub of the model's service: {error}"))?;
        let own = scratch.program("mh-run");
        let mut command = match self.managed {
            Some(text) => {
                std::fs::write(scratch.logs.join("managed.json"), text)
                    .map_err(|error| format!("could not write the managed settings: {error}"))?;
                with_own_etc(scratch, &own)?
            }
            None => scratch.command(own),
        };
        command.args(["claude", "-p", &self.prompt, "--program"]).arg(self.program);
        command.arg("--frame").arg(&frame.path).args(flags).current_dir(&self.folder);
        surroundings(&mut command, scratch, &stub);
        command.envs(self.env);
        Ok((command, stub))
    }

    /// Runs. The call's effect is this file, below the project or absolute.
    pub fn effect(self, file: impl AsRef<Path>) -> Result<Seen, String> {
        let path = self.scratch.project.join(file);
        let outcome = self.go()?;
        outcome.effect(path.symlink_metadata().is_ok())
    }

    /// As [`Run::effect`]. If the file is missing, the model must have got the frame's own denial; after any other
    /// obstacle the case would prove nothing.
    pub fn effect_or_refusal(self, file: impl AsRef<Path>) -> Result<Seen, String> {
        let path = self.scratch.project.join(file);
        let outcome = self.go()?;
        outcome.or_refusal(path.symlink_metadata().is_ok())
    }

    /// Runs. The effect is a tool result with `text`, since tools that only read leave no file.
    pub fn told(self, text: &str) -> Result<Seen, String> {
        let outcome = self.go()?;
        let told = outcome.was_told(text);
        outcome.or_refusal(told)
    }
}

/// A command that starts the vendor with its own /etc for managed settings. The layer is a tmpfs, since an overlay
/// cannot lie over another overlay, and a container's root often is one.
fn with_own_etc(scratch: &Scratch, program: &Path) -> Result<Command, String> {
    const SCRIPT: &str = "mount -t tmpfs none \"$2\" && mkdir \"$2/up\" \"$2/work\" && mount -t overlay none \
        -o \"lowerdir=/etc,upperdir=$2/up,workdir=$2/work\" /etc && mkdir -p /etc/claude-code && \
        cp \"$1\" /etc/claude-code/managed-settings.json && shift 2 && exec \"$@\"";
    let layer = scratch.root.join("etc");
    std::fs::create_dir_all(&layer).map_err(|error| format!("could not make {}: {error}", layer.display()))?;
    let mut command = scratch.command("unshare");
    command.args(["-m", "sh", "-c", SCRIPT, "sh"]).arg(scratch.logs.join("managed.json")).arg(layer).arg(program);
    Ok(command)
}

/// A PATH that begins with the vendor's program under its usual name.
pub fn path_with(scratch: &Scratch, program: &Path) -> Result<String, String> {
    let folder = scratch.root.join("vendor");
    let link = folder.join("claude");
    if link.symlink_metadata().is_err() {
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::os::unix::fs::symlink(program, &link))
            .map_err(|error| format!("could not make {}: {error}", link.display()))?;
    }
    Ok(format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default()))
}

/// Sets the vendor's environment.
fn surroundings(command: &mut std::process::Command, scratch: &Scratch, stub: &Stub) {
    command
        .env("CLAUDE_CONFIG_DIR", &scratch.config)
        .env("ANTHROPIC_BASE_URL", stub.server.url())
        .env("ANTHROPIC_API_KEY", "none")
        // Root may bypass permissions only if the vendor believes itself in a sandbox.
        .env("IS_SANDBOX", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_ERROR_REPORTING", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
}

pub fn agent_input(word: &str) -> Value {
    json!({"description": "part", "prompt": format!("{word} go"), "subagent_type": "general-purpose",
           "run_in_background": false})
}
