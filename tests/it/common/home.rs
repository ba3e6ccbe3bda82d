//! A home, a project and copies of the programs. None lies in a temporary folder, since `mh-setup` refuses those.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fs_err as fs;
use metaharness::frame::{Frame, Node, Operation, Step, Workflow};
use metaharness::os::permissions;
use metaharness::seal;

use crate::common::executable;

pub struct Home {
    pub root: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Home {
        let root = Home::beside();
        let scratch = Home { root };
        // a `.git` makes the folder a root of its own, so configuration above it does not count
        for folder in ["bin", "home", "codex", "project", "path", ".git"] {
            fs::create_dir(scratch.at(folder)).unwrap();
        }
        for (name, built) in [
            ("mh-setup", env!("CARGO_BIN_EXE_mh-setup")),
            ("mh-hook-claude", env!("CARGO_BIN_EXE_mh-hook-claude")),
            ("mh-hook-codex", env!("CARGO_BIN_EXE_mh-hook-codex")),
        ] {
            let copy = scratch.at("bin").join(name);
            fs::hard_link(built, &copy).or_else(|_| fs::copy(built, &copy).map(drop)).unwrap();
        }
        // Codex takes bash where a person's own shell is neither bash nor zsh
        let path = std::env::var_os("PATH").unwrap_or_default();
        let bash = std::env::split_paths(&path).map(|folder| folder.join("bash")).find(|bash| bash.is_file());
        fs_err::os::unix::fs::symlink(bash.expect("no bash on PATH"), scratch.at("path/bash")).unwrap();
        scratch.frame("frame.json", &[Operation::FileRead]);
        scratch.vendor("claude", "2.1.332 (Claude Code)");
        scratch.vendor("codex", "codex-cli 0.171.0");
        scratch
    }

    /// A folder that is in no temporary one.
    pub fn beside() -> tempfile::TempDir {
        let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let base = match permissions::temporary(&built) {
            None => built,
            // a checkout in a temporary folder: the home is the one place that is none
            Some(_) => {
                PathBuf::from(std::env::var_os("HOME").expect("no HOME, and the checkout is in a temporary folder"))
            }
        };
        tempfile::Builder::new().prefix(".mh-setup-test-").tempdir_in(base).unwrap()
    }

    /// No program of this name on PATH.
    pub fn without_vendor(&self, word: &str) {
        fs::remove_file(self.at(&format!("path/{word}"))).unwrap();
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub fn shown(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().into()
    }

    /// A sealed frame that admits these operations.
    pub fn frame(&self, name: &str, operations: &[Operation]) -> PathBuf {
        let frame = Frame {
            workflow: Workflow { id: "release".into(), version: "1".into() },
            node: Node { id: "draft".into() },
            step: Step { workflow: "release".into(), state: "draft".into(), index: 2, attempt: 1 },
            operations: operations.iter().cloned().collect(),
            ..Frame::default()
        };
        let file = self.at(name);
        fs::write(&file, seal::seal(frame).document()).unwrap();
        file
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let file = self.at(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, bytes).unwrap();
        file
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Put a program on PATH that answers `--version` with this.
    pub fn vendor(&self, word: &str, says: &str) {
        executable(&self.at(&format!("path/{word}")), &format!("#!/bin/sh\necho '{says}'\n"));
    }

    pub fn setup(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.at("bin/mh-setup"));
        command
            .env_clear()
            .env("HOME", self.at("home"))
            .env("CODEX_HOME", self.at("codex"))
            .env("PATH", self.at("path"))
            .current_dir(self.at("project"))
            .args(arguments);
        command
    }

    /// Run `mh-setup`, which has to succeed; its stdout.
    pub fn run(&self, arguments: &[&str]) -> String {
        let done = self.setup(arguments).assert().success();
        let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
        if arguments.contains(&"--json") {
            let name = if arguments.first() == Some(&"list") { "list" } else { "doctor" };
            crate::common::schema::holds(name, &serde_json::from_str(&text).unwrap());
        }
        text
    }

    /// Run `mh-setup`, which has to fail with this code; its stderr.
    pub fn fails(&self, arguments: &[&str], code: i32) -> String {
        let done = self.setup(arguments).assert().code(code).stdout("");
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    }
}

pub fn set_mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The output of `mh-setup`.
pub struct Done(Output);

pub trait Assert {
    fn assert(&mut self) -> Done;
}

impl Assert for Command {
    fn assert(&mut self) -> Done {
        Done(self.output().unwrap())
    }
}

impl Done {
    #[track_caller]
    pub fn success(self) -> Done {
        self.code(0)
    }

    #[track_caller]
    pub fn code(self, code: i32) -> Done {
        assert_eq!(self.0.status.code(), Some(code), "{:?}", self.0);
        self
    }

    #[track_caller]
    pub fn stdout(self, text: &str) -> Done {
        assert_eq!(String::from_utf8_lossy(&self.0.stdout), text);
        self
    }

    pub fn get_output(&self) -> &Output {
        &self.0
    }
}
