//! A fresh folder for each case: no vendor reads a person's own configuration, and every process that a vendor starts
//! can be found and ended.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Our programs; each case gets copies, so that it may break them.
const PROGRAMS: [&str; 6] =
    ["mh-hook-claude", "mh-hook-codex", "mh-frame-seal", "mh-frame-verify", "mh-setup", "mh-run"];

static COUNT: AtomicU32 = AtomicU32::new(0);

pub struct Scratch {
    pub root: PathBuf,
    /// HOME; below follow the vendor's configuration folder, the project that it starts in, and TMPDIR.
    pub home: PathBuf,
    pub config: PathBuf,
    pub project: PathBuf,
    pub tmp: PathBuf,
    /// Copies of our programs; below follow the sealed frames, and the requests and output.
    pub bin: PathBuf,
    pub frames: PathBuf,
    pub logs: PathBuf,
    /// Whether what is recorded of the vendors is to be written anew.
    pub record: bool,
    deadline: Instant,
    children: AtomicU32,
}

/// The result of a program that ran to its end.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Scratch {
    /// `built` is the folder of the programs under test; the case's folder is made below `below`.
    pub fn new(below: &Path, built: &Path, name: &str, limit: Duration) -> io::Result<Scratch> {
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let slug: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(24).collect();
        let root = below.join(format!("mh-suite-{}-{number:03}-{slug}", std::process::id()));
        let at = |part: &str| root.join(part);
        let scratch = Scratch {
            home: at("home"),
            config: at("config"),
            project: at("project"),
            tmp: at("tmp"),
            bin: at("bin"),
            frames: at("frames"),
            logs: at("logs"),
            record: false,
            root,
            deadline: Instant::now() + limit,
            children: AtomicU32::new(0),
        };
        // Writable by this user alone: a frame in a folder that others can write to would prove nothing.
        let mut folder = DirBuilder::new();
        folder.mode(0o700);
        folder.create(&scratch.root)?;
        for part in [
            &scratch.home,
            &scratch.config,
            &scratch.project,
            &scratch.tmp,
            &scratch.bin,
            &scratch.frames,
            &scratch.logs,
        ] {
            folder.create(part)?;
        }
        for program in PROGRAMS {
            let from = built.join(program);
            if from.exists() {
                fs::copy(from, scratch.bin.join(program))?;
            }
        }
        Ok(scratch)
    }

    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// Writes a file below the project, and makes its folders.
    pub fn write(&self, relative: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.project.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| format!("could not make {}: {error}", parent.display()))?;
        }
        fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()))?;
        Ok(path)
    }

    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.project.join(relative)).unwrap_or_default()
    }

    pub fn exists(&self, relative: &str) -> bool {
        self.project.join(relative).symlink_metadata().is_ok()
    }

    /// A command with an environment of PATH, HOME and TMPDIR alone, all of them the case's. [`Scratch::sweep`] finds
    /// the processes of a case by the path in HOME.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into()))
            .env("HOME", &self.home)
            .env("TMPDIR", &self.tmp)
            .env("LANG", "C.UTF-8")
            .env("NO_PROXY", "127.0.0.1")
            .current_dir(&self.project)
            .stdin(Stdio::null());
        command
    }

    /// Starts a command in a process group of its own.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, String> {
        loop {
            match command.process_group(0).spawn() {
                Ok(child) => return Ok(child),
                // Between its fork and its exec, another case's child can hold a freshly copied program open.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < self.deadline => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(format!("could not start {}: {error}", command.get_program().display())),
            }
        }
    }

    /// The rest of the case's time.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The command lines of the processes that this case started and that still run.
    pub fn still_running(&self) -> Vec<String> {
        let line = |pid: String| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let found = marked(self.root.as_os_str().as_encoded_bytes()).into_iter().map(line);
        found.filter(|line| !line.is_empty()).map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
    }

    /// Runs a command to its end or to the case's deadline. Its output goes to files in `logs`, so a grandchild that
    /// holds a pipe open delays nothing.
    pub fn run(&self, command: &mut Command, label: &str) -> Result<Ended, String> {
        let number = self.children.fetch_add(1, Ordering::SeqCst);
        let log = |kind: &str| self.logs.join(format!("{number:02}-{label}.{kind}"));
        let open = |kind: &str| File::create(log(kind)).map_err(|error| format!("could not open a log: {error}"));
        command.stdout(open("stdout")?).stderr(open("stderr")?);
        let mut child = self.spawn(command)?;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < self.deadline => thread::sleep(Duration::from_millis(10)),
                Ok(None) => {
                    self.sweep();
                    drop(child.kill());
                    drop(child.wait());
                    return Err(format!("{label} did not end before the case's deadline"));
                }
                Err(error) => return Err(format!("could not wait for {label}: {error}")),
            }
        };
        let read = |kind: &str| fs::read(log(kind)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let stdout = read("stdout").unwrap_or_default();
        // these lines contain records of the real vendors
        match stdout.lines().filter(|_| label == "mh-run").find_map(schema_check::wrong_line) {
            Some(wrong) => Err(wrong),
            None => Ok(Ended { code: status.code(), stdout, stderr: read("stderr").unwrap_or_default() }),
        }
    }

    /// Ends every process whose environment names this folder. A vendor's tool shells have sessions and groups of their
    /// own, so ending the group is not enough.
    pub fn sweep(&self) {
        let mark = self.root.as_os_str().as_encoded_bytes();
        for _ in 0..3 {
            let found = marked(mark);
            if found.is_empty() {
                return;
            }
            drop(Command::new("kill").arg("-9").args(&found).stdout(Stdio::null()).stderr(Stdio::null()).status());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn remove(&self) {
        drop(fs::remove_dir_all(&self.root));
    }
}

fn marked(mark: &[u8]) -> Vec<String> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| environ.windows(mark.len()).any(|part| part == mark))
        })
        .collect()
}
