//! Frames, made by the product's own `mh-frame-seal`. Frames that the suite sealed by itself would only prove that the
//! suite agrees with itself.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::scratch::Scratch;

pub struct Frame {
    pub path: PathBuf,
    pub digest: String,
}

/// The parts of a frame that cases set; the others have fixed values.
#[derive(Clone, Default)]
pub struct Spec {
    admit: Vec<String>,
    mcp: Vec<(String, String)>,
    ambiguous: Vec<(String, String)>,
    scope: Vec<(String, String)>,
    obligations: Vec<String>,
}

/// All operations but `mcp.call`.
pub const OPERATIONS: [&str; 10] = [
    "dir.list",
    "file.edit",
    "file.read",
    "file.write",
    "search",
    "shell",
    "skill.load",
    "subagent.spawn",
    "task.todo",
    "web.read",
];

impl Spec {
    pub fn all() -> Spec {
        Spec::admitting(&OPERATIONS)
    }

    pub fn all_but(operation: &str) -> Spec {
        let rest: Vec<&str> = OPERATIONS.iter().copied().filter(|name| *name != operation).collect();
        Spec::admitting(&rest)
    }

    pub fn admitting(operations: &[&str]) -> Spec {
        Spec { admit: operations.iter().map(|name| (*name).to_string()).collect(), ..Spec::default() }
    }

    pub fn mcp(mut self, server: &str, tool: &str) -> Spec {
        self.mcp.push((server.into(), tool.into()));
        self
    }

    /// Admit a pair that `mh-frame-seal` refuses, since two pairs render to one name. A frame with it is valid, and the
    /// hook has to judge by it.
    pub fn ambiguous_mcp(mut self, server: &str, tool: &str) -> Spec {
        self.ambiguous.push((server.into(), tool.into()));
        self
    }

    /// `operations` are joined by commas, as on the command line; empty admits none.
    pub fn scope(mut self, glob: &str, operations: &str) -> Spec {
        self.scope.push((glob.into(), operations.into()));
        self
    }

    pub fn obligation(mut self, text: &str) -> Spec {
        self.obligations.push(text.into());
        self
    }

    /// Seals it into the case's frames folder.
    pub fn seal(&self, scratch: &Scratch, name: &str) -> Result<Frame, String> {
        let path = scratch.frames.join(name);
        self.seal_to(scratch, &path)
    }

    pub fn seal_to(&self, scratch: &Scratch, path: &Path) -> Result<Frame, String> {
        let mut command = scratch.command(scratch.program("mh-frame-seal"));
        command.args(["--new", "--workflow", "suite", "--version", "1", "--state", "work", "--step", "1"]);
        for operation in &self.admit {
            command.args(["--admit", operation]);
        }
        for (server, tool) in &self.mcp {
            command.args(["--admit-mcp", server, tool]);
        }
        for (glob, operations) in &self.scope {
            let operations = if operations.is_empty() { "none" } else { operations };
            command.args(["--scope", glob, operations]);
        }
        for text in &self.obligations {
            command.args(["--obligation", text]);
        }
        command.arg("--handoff-none").arg("-o").arg(path);
        let ended = scratch.run(&mut command, "seal")?;
        if ended.code != Some(0) {
            return Err(format!("mh-frame-seal ended with {:?}: {}", ended.code, ended.stderr.trim()));
        }
        if !self.ambiguous.is_empty() {
            self.seal_ambiguous(scratch, path)?;
        }
        let mut command = scratch.command(scratch.program("mh-frame-verify"));
        command.args(["--print", "digest"]).arg(path);
        let ended = scratch.run(&mut command, "verify")?;
        if ended.code != Some(0) {
            return Err(format!("mh-frame-verify ended with {:?}: {}", ended.code, ended.stderr.trim()));
        }
        Ok(Frame { path: path.to_path_buf(), digest: ended.stdout.trim().to_string() })
    }

    /// Add the pairs without the sealer, which refuses them: `mh-frame-verify` tells the digest of an edited document,
    /// and that digest seals it.
    fn seal_ambiguous(&self, scratch: &Scratch, path: &Path) -> Result<(), String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let mut document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if let Some(operations) = document["operations"].as_array_mut() {
            for (server, tool) in &self.ambiguous {
                operations.push(json!({"op": "mcp.call", "server": server, "tool": tool}));
            }
        }
        fs::write(path, document.to_string()).map_err(|error| error.to_string())?;
        let mut command = scratch.command(scratch.program("mh-frame-verify"));
        let ended = scratch.run(command.arg(path), "verify")?;
        let said = format!("{} {}", ended.stdout, ended.stderr);
        let mut digests = said.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 64);
        let digest = digests.next_back().ok_or("mh-frame-verify names no digest")?;
        document["digest"] = json!(digest);
        fs::write(path, document.to_string()).map_err(|error| error.to_string())
    }
}
