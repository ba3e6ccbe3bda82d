//! The two clients of `shared/clients`, as a stranger would start them.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::cases::hold;
use super::side::{Do, Plan, Side};
use super::told::Told;
use crate::codex::session::short;
use crate::scratch::Scratch;

/// The turn's command, started by a client that finds our programs on PATH.
fn by(client: &str, command: &Command, scratch: &Scratch) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/clients");
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into());
    let mut started = scratch.command(folder.join(client));
    started.args(command.get_args()).envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    started.env("PATH", format!("{}:{path}", scratch.bin.display())).env("SHELL", "/bin/sh");
    started
}

pub fn rule(side: &Side, scratch: &Scratch) -> Result<(), String> {
    scratch.write("a.txt", "the text\n")?;
    let plan = Plan::shell().call(Do::shell("cat a.txt")).call(Do::shell("cat a.txt > ran.txt"));
    let (command, model) = side.command(scratch, plan)?;
    let ended = scratch.run(&mut by("ask.sh", &command, scratch), "client")?;
    let answer = if side.is_claude() { "That is all.\n" } else { "done\n" };
    let answered = ended.stdout == answer;
    let told = Told { code: ended.code, lines: Vec::new(), stderr: ended.stderr };
    hold(
        [
            (model.told().contains("the text"), "what the rule allows ran"),
            (!scratch.exists("ran.txt"), "what it does not did not"),
            (model.told().contains("the shell is for ls, cat and git"), "and the model read why"),
            (answered && told.code == Some(0), "the answer"),
        ],
        &told,
    )
}

/// A terminal's output, read while it comes.
struct Shown {
    pieces: Receiver<Vec<u8>>,
    text: String,
    read: usize,
}

impl Shown {
    fn wait_for(&mut self, words: &str, scratch: &Scratch) -> Result<(), String> {
        loop {
            if let Some(at) = self.text[self.read..].find(words) {
                self.read += at + words.len();
                return Ok(());
            }
            let piece = self.pieces.recv_timeout(scratch.left());
            let piece = piece.map_err(|_| format!("{words:?} was not shown; {}", short(&self.text)))?;
            self.text.push_str(&String::from_utf8_lossy(&piece));
        }
    }
}

/// `script` (util-linux) gives the client a terminal.
pub fn person(side: &Side, scratch: &Scratch) -> Result<(), String> {
    let [first, second, third] = ["first", "second", "third"].map(|name| Do::shell(&format!("touch {name}.txt")));
    let (command, model) = side.command(scratch, Plan::shell().call(first).call(second).call(third))?;
    let command = by("ask.py", &command, scratch);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    let answer: PathBuf = scratch.logs.join("answer");
    let line = format!("exec {} > {}", line.join(" "), quoted(&answer.to_string_lossy()));
    let mut terminal = scratch.command("script");
    terminal.args(["-qefc", &line, "/dev/null"]);
    terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = scratch.spawn(terminal.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    let (Some(mut keys), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the terminal has no pipes".into());
    };
    let (sender, pieces) = channel();
    thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(read @ 1..) = output.read(&mut piece) {
            if sender.send(piece[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut shown = Shown { pieces, text: String::new(), read: 0 };
    let steps = [
        ("touch first.txt", ""),
        ("run it? y, n or e(dit): ", "y\n"),
        ("touch second.txt", ""),
        ("run it? y, n or e(dit): ", "n\n"),
        ("why not? ", "one is enough\n"),
        ("touch third.txt", ""),
        ("run it? y, n or e(dit): ", "e\n"),
        ("as one line of JSON: ", "{\"command\": \"touch other.txt\"}\n"),
        ("the turn is over: completed", ""),
    ];
    for (words, typed) in steps {
        shown.wait_for(words, scratch)?;
        keys.write_all(typed.as_bytes()).map_err(|error| format!("could not type: {error}"))?;
    }
    let status = child.wait().map_err(|error| format!("could not wait for the terminal: {error}"))?;
    let told = Told { code: status.code(), lines: Vec::new(), stderr: short(&shown.text) };
    let said = std::fs::read_to_string(&answer).unwrap_or_default();
    let there = |name: &str| scratch.exists(&format!("{name}.txt"));
    hold(
        [
            (there("first") && !there("second") && !there("third") && there("other"), "as the person said"),
            (model.told().contains("one is enough"), "the model read why"),
            (said == if side.is_claude() { "That is all.\n" } else { "done\n" }, "the answer, alone on stdout"),
            (told.code == Some(0), "the exit code"),
        ],
        &told,
    )
}

/// Quote a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
