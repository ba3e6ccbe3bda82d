//! The terminal program, in a terminal from util-linux `script`. A server of its own does its work and outlives it.

use std::io::{Read, Write};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::session::Session;

const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal's answers to questions about its cursor, its abilities and its colours.
const ANSWERS: [(&str, &str); 5] = [
    ("\x1b[6n", "\x1b[1;1R"),
    ("\x1b[c", "\x1b[?62;22c"),
    ("\x1b[?u", "\x1b[?0u"),
    ("\x1b]10;?", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    ("\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
];

/// Starts the program with the session's prompt, and ends it once `done` holds. The server stays.
pub fn sit(session: &Session<'_>, done: impl Fn() -> bool) -> Result<(), String> {
    let words: Vec<String> =
        session.terminal_words().iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let mut command = session.command_of("script");
    // Without a size, the program never draws and never begins.
    let line = format!("stty rows 40 columns 120; exec {}", words.join(" "));
    command.args(["-q", "-f", "-e", "-c", &line, "/dev/null"]).env("TERM", "xterm-256color");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("could not start script, of util-linux: {error}"))?;
    let (Some(mut keys), Some(mut screen)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("script has no pipes".into());
    };
    let mut log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(session.log("screen"))
        .map_err(|error| format!("could not open a log: {error}"))?;
    thread::spawn(move || {
        let mut shown = [0; 8192];
        while let Ok(count @ 1..) = screen.read(&mut shown) {
            drop(log.write_all(&shown[..count]));
            let text = String::from_utf8_lossy(&shown[..count]);
            for (asked, answer) in ANSWERS {
                if text.contains(asked) && keys.write_all(answer.as_bytes()).and_then(|()| keys.flush()).is_err() {
                    return;
                }
            }
        }
    });
    let end = Instant::now() + PATIENCE;
    while !done() && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
    }
    let in_time = done();
    drop(child.kill());
    drop(child.wait());
    match in_time {
        true => Ok(()),
        false => Err("the terminal program did not come to the script's end".into()),
    }
}
