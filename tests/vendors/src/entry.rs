//! The hook entries exactly as `mh-setup` prints them: the suite measures what a person gets.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::frame::Frame;
use crate::scratch::Scratch;

/// The arguments for `mh-setup --print`.
#[derive(Clone)]
pub struct Ask {
    pub frame: Option<PathBuf>,
    /// Pin the frame's present digest.
    pub pin: bool,
    pub policy: &'static str,
    pub audit: Option<PathBuf>,
    /// Further flags.
    pub more: Vec<String>,
}

impl Ask {
    /// The usual entry: pinned, and admitted calls are allowed.
    pub fn pinned(frame: &Frame) -> Ask {
        Ask { frame: Some(frame.path.clone()), pin: true, policy: "frame", audit: None, more: Vec::new() }
    }

    pub fn policy(mut self, policy: &'static str) -> Ask {
        self.policy = policy;
        self
    }

    pub fn unpinned(mut self) -> Ask {
        self.pin = false;
        self
    }

    fn print(&self, scratch: &Scratch, vendor: &str, prepare: impl FnOnce(&mut Command)) -> Result<String, String> {
        let mut command = scratch.command(scratch.program("mh-setup"));
        command.args([vendor, "--print"]);
        if let Some(frame) = &self.frame {
            command.arg("--frame").arg(frame);
            if !self.pin {
                command.arg("--no-pin");
            }
        }
        command.args(["--policy", self.policy]);
        if let Some(audit) = &self.audit {
            command.arg("--audit").arg(audit);
        }
        command.args(&self.more);
        prepare(&mut command);
        let ended = scratch.run(&mut command, "setup")?;
        match ended.code {
            Some(0) => Ok(ended.stdout),
            code => Err(format!("mh-setup {vendor} --print ended with {code:?}: {}", ended.stderr.trim())),
        }
    }
}

/// The settings object for Claude Code: `{"hooks": ...}`.
pub fn claude(scratch: &Scratch, ask: &Ask) -> Result<Value, String> {
    let text = ask.print(scratch, "claude", |_| ())?;
    serde_json::from_str(&text).map_err(|error| format!("mh-setup claude --print is no JSON: {error}"))
}

/// The TOML for `$CODEX_HOME/config.toml`, with trust hashes. CODEX_HOME is the case's configuration folder.
pub fn codex(scratch: &Scratch, ask: &Ask) -> Result<String, String> {
    ask.print(scratch, "codex", |command| {
        command.env("CODEX_HOME", &scratch.config);
    })
}
