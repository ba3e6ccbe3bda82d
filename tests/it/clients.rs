//! The two clients in `shared/clients`, on stand-ins that fire the real hooks. One decides by a rule; the other asks
//! the person at a terminal, which `script` (util-linux) provides.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::common::room::{Ended, Room, bare};

/// A time that is long enough on any machine.
const PATIENCE: Duration = Duration::from_secs(600);

fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("shared/clients").join(name)
}

/// The command of a client, which starts the run.
fn by(client: &Path, room: &Room, kind: &str, more: &[&str]) -> Command {
    let run = room.governed(kind, more);
    let mut command = bare(client);
    command.args(run.get_args()).current_dir(room.path("project"));
    for (name, value) in run.get_envs() {
        match (name.to_str(), value) {
            (Some("PATH"), Some(path)) => {
                let programs = Path::new(env!("CARGO_BIN_EXE_mh-run")).parent().unwrap().display().to_string();
                let rest = std::env::var("PATH").unwrap();
                command.env("PATH", format!("{programs}:{}:{rest}", path.to_str().unwrap()))
            }
            (_, Some(value)) => command.env(name, value),
            (_, None) => command.env_remove(name),
        };
    }
    command
}

/// A call in the words of a stand-in.
fn call(room: &Room, kind: &str, id: &str, command: &str) -> String {
    let input = format!("'{{\"command\":\"{command}\"}}'");
    let kept = format!("cp \"$ROOM/answer\" '{}'", room.path(&format!("answer-{id}")).display());
    match kind {
        "claude" => format!("call {id} Bash {input}; {kept}; "),
        _ => format!("call {id} Bash {input} CommandExecution; {kept}; "),
    }
}

/// Write a stand-in that makes these calls and then answers.
fn turn(room: &Room, kind: &str, commands: &[&str]) {
    let calls: String = (1..).zip(commands).map(|(id, command)| call(room, kind, &format!("c{id}"), command)).collect();
    let body = format!("begin; {calls} answer fine");
    match kind {
        "claude" => room.claude(&body),
        _ => room.codex(&body),
    };
}

#[test]
fn the_loop_decides_by_its_rule_and_prints_the_answer() {
    for kind in ["claude", "codex"] {
        let room = Room::new();
        turn(
            &room,
            kind,
            &["git status", "git status; rm x", "ls -la", "cat a.txt sub/b.txt", "rm x;ls", "cat /a", "cat b/../../a"],
        );
        let ended = Ended::of(by(&client("ask.sh"), &room, kind, &[]).output().unwrap());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"), "{kind}: {ended:?}");
        let denied = |id: &str| room.text(&format!("answer-{id}")).contains("the shell is for ls, cat and git");
        let calls = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];
        assert_eq!(calls.map(denied), [false, true, true, false, true, true, true], "{kind}: {ended:?}");
        assert!(ended.stderr.contains("c2: deny "), "{ended:?}");
    }
}

#[test]
fn a_client_without_arguments_prints_its_usage() {
    for (name, says) in [("ask.sh", "ask.sh claude|codex "), ("ask.py", "usage: ask.py claude|codex ")] {
        let ended = Ended::of(bare(client(name)).stdin(Stdio::null()).output().unwrap());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(format!("{}{}", ended.stdout, ended.stderr).contains(says), "{ended:?}");
    }
}

#[test]
fn a_client_that_is_asked_for_help_gives_it_on_standard_output_and_needs_nothing() {
    for (name, says) in [("ask.sh", "ask.sh claude|codex "), ("ask.py", "usage: ask.py claude|codex ")] {
        for help in ["-h", "--help"] {
            let ended = Ended::of(bare(client(name)).arg(help).stdin(Stdio::null()).output().unwrap());
            assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
            assert!(ended.stdout.contains(says) && !ended.stdout.contains("jq:"), "{ended:?}");
        }
    }
}

/// What a client says of what it needs and has not, in a session without a terminal.
#[test]
fn a_client_says_what_it_needs_and_has_not() {
    let room = Room::new();
    let folder = room.path("tools");
    fs_err::create_dir(&folder).unwrap();
    let real = |name: &str| {
        let path = std::env::var_os("PATH").unwrap();
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()).unwrap()
    };
    for name in ["bash", "sed", "setsid", "env"] {
        fs_err::os::unix::fs::symlink(real(name), folder.join(name)).unwrap();
    }
    let said = |name: &str, path: &std::ffi::OsStr| {
        let mut command = Command::new("setsid");
        command.arg("-w").arg(client(name)).args(["claude", "--frame", "f", "-p", "x"]).env("PATH", path);
        let ended = Ended::of(command.stdin(Stdio::null()).output().unwrap());
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
        ended.stderr
    };
    assert_eq!(said("ask.sh", folder.as_ref()), "ask.sh: there is no mh-run on PATH; put it there\n");
    fs_err::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mh-run"), folder.join("mh-run")).unwrap();
    assert_eq!(said("ask.sh", folder.as_ref()), "ask.sh: there is no jq on PATH; put it there\n");
    let told = said("ask.py", &std::env::var_os("PATH").unwrap());
    let end = "; ask.sh goes by a rule and needs none\n";
    assert!(told.starts_with("ask.py: there is no terminal here to ask at (") && told.ends_with(end), "{told}");
}

#[test]
fn the_loop_ends_as_the_run_ends() {
    let room = Room::new();
    room.claude("begin; exit 0");
    let ended = Ended::of(by(&client("ask.sh"), &room, "claude", &[]).output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    let ended = Ended::of(by(&client("ask.sh"), &room, "claude", &["--needs", "steer"]).output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.stderr.contains("UNSUPPORTED_CONTROL"), "{ended:?}");
}

/// A terminal with the person's client in it. The client's stdout goes to a file.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    output: Receiver<Vec<u8>>,
    seen: String,
    /// The end of the part that was searched.
    read: usize,
    answer: PathBuf,
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl Terminal {
    fn start(room: &Room, kind: &str, more: &[&str]) -> Terminal {
        Terminal::with(room, kind, more, |_| ())
    }

    fn with(room: &Room, kind: &str, more: &[&str], prepare: impl FnOnce(&mut Command)) -> Terminal {
        let run = by(&client("ask.py"), room, kind, more);
        let answer = room.path("stdout");
        let words = std::iter::once(run.get_program()).chain(run.get_args());
        let line: Vec<String> = words.map(|word| quoted(word.to_str().unwrap())).collect();
        let line = format!("exec {} > {}", line.join(" "), quoted(answer.to_str().unwrap()));
        let mut command = bare("script");
        command.args(["-qefc", &line, "/dev/null"]).current_dir(room.path("project"));
        for (name, value) in run.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("SHELL", "/bin/sh");
        prepare(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = stdout.read(&mut piece) {
                if sender.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { keys: child.stdin.take().unwrap(), child, output, seen: String::new(), read: 0, answer }
    }

    /// Wait until the terminal shows this.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        loop {
            if let Some(at) = self.seen[self.read..].find(text) {
                self.read += at + text.len();
                return;
            }
            let piece = self.output.recv_timeout(PATIENCE);
            let piece = piece.unwrap_or_else(|_| panic!("no {text:?} after {:?} in {:?}", self.read, self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// Wait for the end: the exit code, stdout, and everything that the terminal showed.
    fn end(mut self) -> (Option<i32>, String, String) {
        while let Ok(piece) = self.output.recv_timeout(PATIENCE) {
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        let code = self.child.wait().unwrap().code();
        (code, fs_err::read_to_string(&self.answer).unwrap_or_default(), self.seen)
    }
}

const ASKED: &str = "run it? y, n or e(dit): ";

#[test]
fn a_person_says_yes_or_no_with_a_reason_or_gives_another_input() {
    for kind in ["claude", "codex"] {
        let room = Room::new();
        turn(&room, kind, &["one", "two", "three"]);
        let mut terminal = Terminal::start(&room, kind, &[]);
        terminal.shows("Bash needs shell; ");
        terminal.shows("\"command\": \"one\"");
        terminal.shows(ASKED);
        terminal.types("y\n");
        terminal.shows("\"command\": \"two\"");
        terminal.shows(ASKED);
        terminal.types("n\n");
        terminal.shows("why not? ");
        terminal.types("\n");
        terminal.shows("a reason, please");
        terminal.types("two is too many\n");
        terminal.shows("\"command\": \"three\"");
        terminal.shows(ASKED);
        terminal.types("e\n");
        terminal.shows("as one line of JSON: ");
        terminal.types("{\"command\":\n");
        terminal.shows("that is no JSON");
        terminal.types("e\n");
        terminal.shows("as one line of JSON: ");
        terminal.types("{\"command\": \"four\"}\n");
        terminal.shows("the turn is over: completed");
        let (code, stdout, seen) = terminal.end();
        assert_eq!((code, stdout.as_str()), (Some(0), "fine\n"), "{kind}: {seen}");
        let answers = ["c1", "c2", "c3"].map(|id| room.text(&format!("answer-{id}")));
        let [one, two, three] = answers;
        assert!(!one.contains("deny") && two.contains("two is too many"), "{kind}: {one} {two}");
        assert!(three.contains("\"updatedInput\":{\"command\": \"four\"}"), "{kind}: {three}");
    }
}

#[test]
fn a_replace_that_is_refused_is_shown_and_asked_again() {
    let room = Room::new();
    turn(&room, "codex", &["one"]);
    let mut terminal = Terminal::start(&room, "codex", &[]);
    terminal.shows(ASKED);
    terminal.types("e\n");
    terminal.shows("as one line of JSON: ");
    terminal.types("{\"command\": \"two\", \"cwd\": \"/\"}\n");
    terminal.shows("refused, UNSUPPORTED_CONTROL: ");
    terminal.shows("\"command\": \"one\"");
    terminal.shows(ASKED);
    terminal.types("y\n");
    let (code, stdout, seen) = terminal.end();
    assert_eq!((code, stdout.as_str()), (Some(0), "fine\n"), "{seen}");
}

#[test]
fn an_editor_is_given_the_input() {
    let room = Room::new();
    turn(&room, "claude", &["one"]);
    let editor = room.program("bin/editor", "#!/bin/sh\nsed -i s/one/two/ \"$2\"\n");
    let mut terminal = Terminal::with(&room, "claude", &[], |command| {
        command.env("EDITOR", format!("'{}' --wait", editor.display()));
    });
    terminal.shows(ASKED);
    terminal.types("e\n");
    let (code, _, seen) = terminal.end();
    assert!(room.text("answer-c1").contains("\"updatedInput\":{\"command\": \"two\"}"), "{code:?} {seen}");
}

#[test]
fn a_call_that_nobody_decides_is_denied_and_the_next_one_is_shown() {
    let room = Room::new();
    turn(&room, "claude", &["one", "two"]);
    let mut terminal = Terminal::start(&room, "claude", &["--deadline", "1"]);
    terminal.shows(ASKED);
    terminal.shows("too late");
    terminal.shows("\"command\": \"two\"");
    let (code, _, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(room.text("answer-c1").contains("nobody decided about it in 1 second"), "{seen}");
}

#[test]
fn control_c_stops_the_turn_and_control_d_ends_the_deciding() {
    let room = Room::new();
    turn(&room, "claude", &["one", "two"]);
    let mut terminal = Terminal::start(&room, "claude", &[]);
    terminal.shows(ASKED);
    terminal.types("\x03");
    terminal.shows("Stopping the turn");
    terminal.shows("the turn is over: killed");
    let (code, stdout, seen) = terminal.end();
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{seen}");

    let room = Room::new();
    turn(&room, "claude", &["one", "two"]);
    let mut terminal = Terminal::start(&room, "claude", &[]);
    terminal.shows(ASKED);
    terminal.types("\x04");
    terminal.shows("the turn is over: completed");
    let (code, stdout, seen) = terminal.end();
    assert_eq!((code, stdout.as_str()), (Some(0), "fine\n"), "{seen}");
    assert!(["answer-c1", "answer-c2"].iter().all(|answer| room.text(answer).contains("the embedder is gone")));
}

#[test]
fn the_terminal_obeys_no_character_of_the_agents() {
    let room = Room::new();
    turn(&room, "claude", &["a\\u001b]0;b\\u0007\\u009b2Jc\\u007f\\u202e"]);
    let mut terminal = Terminal::start(&room, "claude", &[]);
    terminal.shows(ASKED);
    let shown = terminal.seen.clone();
    terminal.types("y\n");
    terminal.end();
    assert!(shown.contains("\\u001b]0;b\\u0007"), "{shown}");
    assert!(!shown.contains(['\x1b', '\x07', '\u{9b}', '\x7f', '\u{202e}']), "{shown:?}");
}

#[test]
fn the_clients_exit_code_is_the_runs() {
    let room = Room::new();
    room.claude("begin; exit 0");
    let (code, stdout, seen) = Terminal::start(&room, "claude", &[]).end();
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{seen}");
    let (code, stdout, seen) = Terminal::start(&room, "claude", &["--needs", "steer"]).end();
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{seen}");
    assert!(seen.contains("UNSUPPORTED_CONTROL"), "{seen}");
    let (code, stdout, seen) = Terminal::start(&room, "claude", &["--timeout", "0"]).end();
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{seen}");
    assert!(seen.contains("--timeout takes a whole number") && !seen.contains("cut short"), "{seen}");
}
