//! Shared by the tests: fixtures, tables, made frames, and runs of the built programs.
//!
//! Every run starts with an empty environment, so that no setting of the machine changes an answer.

pub mod home;
pub mod room;
pub mod schema;

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

pub const CLAUDE: &str = "claude";
pub const CODEX: &str = "codex";
pub const VENDORS: [&str; 2] = [CLAUDE, CODEX];

/// The golden frame's published digest.
pub const GOLDEN: &str = "43a6f845a21f3475569323950a9d276bfed3df11979adc3edf18878da6963a12";

/// Whether repeated trials run as often as in CI, which sets `MH_TEST_LONG=1`. Elsewhere they run less often.
pub fn long() -> bool {
    std::env::var_os("MH_TEST_LONG").is_some_and(|value| value == "1")
}

/// The number of repetitions: `all` in CI, else `few`.
pub fn times<N>(all: N, few: N) -> N {
    if long() { all } else { few }
}

/// A generator's settings: a quarter of the cases outside of CI. A finding goes into a test of its own, so no file
/// keeps it.
pub fn cases(all: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases: times(all, all / 4), failure_persistence: None, ..Default::default() }
}

/// The most threads of one test.
const AT_ONCE: usize = 16;

/// Do this for each element, many at once and in any order, since most trials only wait. The results come in the order
/// of the elements.
pub fn side_by_side<T: Sync, R: Send>(all: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Option<R>>> = Mutex::new(all.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(all.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = all.get(at) else { break };
                    let result = each(one);
                    found.lock().unwrap()[at] = Some(result);
                }
            });
        }
    });
    found.into_inner().unwrap().into_iter().map(Option::unwrap).collect()
}

/// Write a program. Another process writes it: were it open for writing here, a child of any other test could hold it
/// open between fork and exec, and the program could not be started.
pub fn executable(path: &Path, text: &str) {
    let mut writer = Command::new("/bin/sh");
    writer.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// Copy a program, by another process as in [`executable`].
pub fn copied(program: &Path, to: &Path) {
    assert!(Command::new("cp").arg(program).arg(to).status().unwrap().success());
}

pub fn fixture(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// Every file of `shared/`: its path below that folder, and its text.
pub fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, all),
                false => all.push(path),
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("shared");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.retain(|file| file.extension().is_some_and(|end| end == "rs"));
    files.sort();
    let named = |file: &PathBuf| file.strip_prefix(&root).unwrap().to_str().unwrap().to_string();
    files.iter().map(|file| (named(file), fs_err::read_to_string(file).unwrap())).collect()
}

/// A table in `fixtures/`: separated by tabs, with the names of the columns in the first line.
pub fn table<const N: usize>(path: &str, columns: [&str; N]) -> Vec<[String; N]> {
    let text = fs_err::read_to_string(fixture(path)).unwrap();
    let mut rows = text.lines().map(|line| line.split('\t').map(String::from).collect::<Vec<_>>());
    assert_eq!(rows.next().unwrap(), columns, "{path}");
    rows.map(|row| row.try_into().unwrap_or_else(|row| panic!("{path}: {row:?}"))).collect()
}

pub fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_mh-run")).with_file_name(name)
}

/// A program's output and exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// stdout as JSON; it has to be one object and a line feed.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let line = self.stdout.strip_suffix('\n').unwrap_or_else(|| panic!("no newline at the end: {self:?}"));
        assert!(!line.contains('\n'), "more than one line: {self:?}");
        let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {self:?}"));
        assert!(value.is_object(), "{self:?}");
        value
    }

    /// Check for no output and exit 0.
    #[track_caller]
    pub fn is_silent(&self) {
        assert_eq!((self.code, &*self.stdout, &*self.stderr), (0, "", ""));
    }

    /// Check for a denial in all three forms with the same reason; the reason.
    #[track_caller]
    pub fn denial(&self) -> String {
        assert_eq!(self.code, 2, "{self:?}");
        let json = self.json();
        let specific = &json["hookSpecificOutput"];
        let reason = specific["permissionDecisionReason"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_string();
        assert_eq!(specific["permissionDecision"], "deny", "{self:?}");
        assert_eq!(self.stderr, format!("{reason}\n"));
        reason
    }
}

/// A run of a built program. By default the environment and stdin are empty.
pub struct Run {
    pub command: Command,
    stdin: Vec<u8>,
}

impl Run {
    pub fn of(name: &str) -> Run {
        let mut command = Command::new(program(name));
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // no test changes this home or this folder
        command.env("HOME", "/nonexistent").current_dir(fixture(""));
        Run { command, stdin: Vec::new() }
    }

    pub fn hook(vendor: &str) -> Run {
        Run::of(&format!("mh-hook-{vendor}"))
    }

    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Run {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Run {
        self.command.env(name, value);
        self
    }

    pub fn folder(mut self, folder: impl AsRef<Path>) -> Run {
        self.command.current_dir(folder);
        self
    }

    pub fn frame(self, frame: impl AsRef<OsStr>) -> Run {
        self.args([OsStr::new("--frame"), frame.as_ref()])
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Run {
        self.stdin = bytes.into();
        self
    }

    /// Write all of stdin, whatever the program answers meanwhile. A broken pipe fails the test.
    #[track_caller]
    pub fn answer(mut self) -> Answer {
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let bytes = std::mem::take(&mut self.stdin);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let given = std::thread::scope(|scope| {
            let given = scope.spawn(move || stdin.write_all(&bytes));
            scope.spawn(|| err.map(|mut err| err.read_to_end(&mut stderr)));
            if let Some(mut out) = out {
                out.read_to_end(&mut stdout).unwrap();
            }
            given.join().unwrap()
        });
        let status = child.wait().unwrap();
        given.unwrap_or_else(|why| panic!("standard input was not read to its end: {why}"));
        let stdout = String::from_utf8(stdout).unwrap();
        if self.command.get_args().any(|argument| argument == "--json") {
            stdout.lines().for_each(|line| schema::holds("verify", &serde_json::from_str(line).unwrap()));
        }
        Answer {
            code: status.code().unwrap_or_else(|| panic!("ended by a signal: {status}")),
            stdout,
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }
}

/// Run a program for people with these arguments and an empty stdin.
#[track_caller]
pub fn run(name: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Answer {
    Run::of(name).args(args).answer()
}

/// A scratch folder by its real path: macOS and some distributions reach their temporary folder by a link.
pub struct Scratch {
    path: PathBuf,
    _folder: TempDir,
}

impl Scratch {
    pub fn new() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        Scratch { path: fs_err::canonicalize(folder.path()).unwrap(), _folder: folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Make a file, and its folders.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, bytes).unwrap();
        path
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs_err::create_dir_all(&path).unwrap();
        path
    }

    /// Seal a frame with these flags added to [`NEW`].
    #[track_caller]
    pub fn frame(&self, name: &str, flags: &[&str]) -> PathBuf {
        let path = self.path(name);
        let answer = Run::of("mh-frame-seal").args(NEW).args(flags).args([OsStr::new("-o"), path.as_ref()]).answer();
        assert_eq!((answer.code, &*answer.stdout), (0, ""), "{answer:?}");
        assert!(answer.stderr.contains(": sealed ") && answer.stderr.lines().count() == 1, "{answer:?}");
        path
    }

    /// Seal a frame that admits these operations.
    #[track_caller]
    pub fn admitting(&self, operations: &[&str]) -> PathBuf {
        let flags: Vec<&str> = operations.iter().flat_map(|operation| ["--admit", operation]).collect();
        self.frame("frame.json", &flags)
    }
}

/// The flags that `mh-frame-seal --new` needs at least.
pub const NEW: [&str; 10] =
    ["--new", "--workflow", "w", "--version", "1", "--state", "s", "--step", "1", "--handoff-none"];

pub fn event(vendor: &str, name: &str) -> serde_json::Value {
    let [turn, own] = if vendor == CLAUDE { ["prompt_id", "effort"] } else { ["turn_id", "model"] };
    serde_json::json!({ "session_id": "session-1", turn: "turn-1", own: "low", "cwd": "/nonexistent/project", "hook_event_name": name })
}

/// A call's payload at PreToolUse.
pub fn call(vendor: &str, tool: &str, input: serde_json::Value) -> serde_json::Value {
    let mut payload = event(vendor, "PreToolUse");
    payload["tool_name"] = tool.into();
    payload["tool_input"] = input;
    payload["tool_use_id"] = "call-1".into();
    payload
}

pub fn shell(vendor: &str) -> Vec<u8> {
    bytes(&call(vendor, "Bash", serde_json::json!({ "command": "true" })))
}

pub fn bytes(value: &serde_json::Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}
