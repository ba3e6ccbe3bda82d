//! Outputs that are closed, full or unread.

use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use fs_err::File;

use crate::common::{CLAUDE, CODEX, Run, Scratch, VENDORS, bytes, event, fixture};
use crate::faults::host::Event;
use crate::faults::row::{Given, Row, Sink, Source, Trial, borne, hold, mute, unheard};

/// A way to lose an output: a shell's redirection, or a file.
#[derive(Clone, Copy)]
enum Lost {
    By(&'static str),
    File(fn(&Scratch) -> Sink),
}

fn writable(path: impl AsRef<std::path::Path>) -> File {
    File::options().write(true).open(path.as_ref()).unwrap()
}

/// A pipe or socket that is full.
fn full<F: Into<OwnedFd> + std::io::Write>(mut ours: F, reader: impl std::any::Any + Send, blocks: bool) -> Sink {
    let file: OwnedFd = {
        let mut taken = 0;
        // blocking is a property of the open file; it is set again below
        let junk = [b'.'; 4096];
        while let Ok(more) = ours.write(&junk) {
            taken += more;
        }
        assert!(taken > 0);
        ours.into()
    };
    rustix::io::ioctl_fionbio(&file, !blocks).unwrap();
    Sink { held: Box::new(reader), ..Sink::lost(file) }
}

fn full_pipe(blocks: bool) -> Sink {
    let (reader, writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    full(writer, reader, blocks)
}

fn full_socket(blocks: bool) -> Sink {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    full(theirs, ours, blocks)
}

/// Every way to lose an output.
const WAYS: [(&str, Lost); 15] = [
    ("closed", Lost::By("&-")),
    ("/dev/null", Lost::By("/dev/null")),
    ("/dev/full", Lost::By("/dev/full")),
    ("/dev/zero, which takes all and gives it to nobody", Lost::By("/dev/zero")),
    (
        "/dev/null, opened for reading too",
        Lost::File(|_| Sink::lost(File::options().read(true).write(true).open("/dev/null").unwrap())),
    ),
    ("a regular file, which no vendor reads", Lost::File(|scratch| Sink::lost(writable(scratch.file("log", ""))))),
    (
        "a file that is open for reading only",
        Lost::File(|scratch| Sink::lost(File::open(scratch.file("log", "")).unwrap())),
    ),
    ("a folder", Lost::File(|scratch| Sink::lost(File::open(scratch.root()).unwrap()))),
    ("a pipe whose reader is gone", Lost::File(|_| Sink::lost(std::io::pipe().unwrap().1))),
    (
        "the reading end of a pipe",
        Lost::File(|_| {
            let (reader, writer) = std::io::pipe().unwrap();
            Sink { held: Box::new(writer), ..Sink::lost(reader) }
        }),
    ),
    ("a socket whose other end is gone", Lost::File(|_| Sink::lost(UnixStream::pair().unwrap().0))),
    ("a full pipe that nobody reads", Lost::File(|_| full_pipe(true))),
    ("a full pipe that does not block and nobody reads", Lost::File(|_| full_pipe(false))),
    ("a full socket that nobody reads", Lost::File(|_| full_socket(true))),
    ("a full socket that does not block and nobody reads", Lost::File(|_| full_socket(false))),
];

fn lose(trial: &mut Trial<'_>, stdout: Option<Lost>, stderr: Option<Lost>) {
    // a short deadline, for the outputs that nobody reads
    trial.args(["--deadline", "1"]);
    let mut line = String::from("exec \"$@\"");
    for (lost, fd) in [(stdout, 1), (stderr, 2)] {
        match (lost, fd) {
            (Some(Lost::By(to)), fd) => line += &format!(" {fd}>{to}"),
            (Some(Lost::File(sink)), 1) => trial.stdout = sink(trial.scratch),
            (Some(Lost::File(sink)), _) => trial.stderr = sink(trial.scratch),
            (None, _) => {}
        }
    }
    trial.line(line);
}

#[test]
fn stdout_is_lost() {
    let mut rows: Vec<Row> = Vec::new();
    for (name, lost) in WAYS {
        rows.push(mute(format!("call: {name}"), move |trial| lose(trial, Some(lost), None)));
        // on Claude Code only the JSON denies an approval, and our entries have no hook there
        let set = move |trial: &mut Trial<'_>| lose(trial, Some(lost), None);
        rows.push(mute(format!("approval: {name}"), set).at(Event::Approval).only(&[CODEX]));
        rows.push(mute(format!("prompt: {name}"), set).at(Event::Prompt));
    }
    hold("standard output", rows);
}

#[test]
fn stderr_is_lost() {
    let mut rows: Vec<Row> = Vec::new();
    for (name, lost) in WAYS {
        let set = move |trial: &mut Trial<'_>| lose(trial, None, Some(lost));
        rows.push(borne(format!("call: {name}"), set));
        rows.push(borne(format!("approval: {name}"), set).at(Event::Approval));
        rows.push(borne(format!("prompt: {name}"), set).at(Event::Prompt));
    }
    hold("standard error", rows);
}

#[test]
fn both_are_lost() {
    let ways = WAYS.into_iter().filter(|(_, lost)| matches!(lost, Lost::By(_)));
    let row = |(name, lost)| unheard(name, move |trial| lose(trial, Some(lost), Some(lost)));
    let all = unheard("closed, and standard input too", |trial| {
        trial.stdin = Source::file(File::open("/dev/null").unwrap());
        trial.line("exec \"$@\" <&- >&- 2>&-");
    });
    hold("both outputs", ways.map(row).chain([all]).collect());
    // both outputs are lost, so no entry is tried; the exit code has to be right all the same
    std::thread::scope(|scope| {
        for (name, lost) in WAYS {
            for vendor in VENDORS {
                scope.spawn(move || {
                    let scratch = Scratch::new();
                    let mut trial = Trial::new(vendor, &scratch, Event::Call, Given::Refused);
                    lose(&mut trial, Some(lost), Some(lost));
                    assert_eq!(trial.fire(false).code, Some(2), "{vendor} {name}");
                });
            }
        }
    });
}

/// A reader that starts late, and passes over what was in the pipe before the answer.
struct Slow<R> {
    reader: R,
    before: usize,
}

impl<R: Read> Read for Slow<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.before > 0 {
            std::thread::sleep(Duration::from_millis(200));
            std::io::copy(&mut (&mut self.reader).take(self.before as u64), &mut std::io::sink())?;
            self.before = 0;
        }
        self.reader.read(into)
    }
}

/// A full pipe whose reader starts after the hook has begun to write.
pub fn late_reader(blocks: bool) -> Sink {
    let (reader, mut writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let mut before = 0;
    while let Ok(more) = writer.write(&[b'.'; 4096]) {
        before += more;
    }
    rustix::io::ioctl_fionbio(&writer, !blocks).unwrap();
    Sink { file: writer.into(), heard: Some(Box::new(Slow { reader, before })), held: Box::new(()) }
}

fn socket() -> Sink {
    let (ours, theirs) = UnixStream::pair().unwrap();
    Sink { file: theirs.into(), heard: Some(Box::new(ours)), held: Box::new(()) }
}

#[test]
fn outputs_of_another_kind_or_with_a_slow_reader() {
    let both = |trial: &mut Trial<'_>, sink: fn() -> Sink| {
        trial.stdout = sink();
        trial.stderr = sink();
    };
    hold(
        "outputs, odd but heard",
        vec![
            borne("sockets, and one for standard input, as Claude Code has them", move |trial| {
                both(trial, socket);
                trial.stdin = crate::faults::stdin::socket(|socket, payload| {
                    socket.write_all(&payload)?;
                    socket.shutdown(std::net::Shutdown::Write)
                });
            }),
            borne("sockets that do not block", move |trial| {
                both(trial, socket);
                for file in [&trial.stdout.file, &trial.stderr.file] {
                    rustix::io::ioctl_fionbio(file, true).unwrap();
                }
            }),
            borne("full pipes, read late", move |trial| both(trial, || late_reader(true))),
            borne("full pipes that do not block, read late", move |trial| both(trial, || late_reader(false))),
            borne("a FIFO for standard output", |trial| {
                let path = trial.scratch.path("fifo");
                rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
                let both = File::options().read(true).write(true).open(&path).unwrap();
                let (reader, writer) = (File::open(&path).unwrap(), writable(&path));
                drop(both);
                trial.stdout = Sink { file: writer.into(), heard: Some(Box::new(reader)), held: Box::new(()) };
            }),
        ],
    );
}

fn why(name: &str) -> &str {
    match name {
        "a pipe whose reader is gone" => "broken pipe",
        "a file that is open for reading only" => "bad file descriptor",
        _ => "it is closed, /dev/null, or another device",
    }
}

#[test]
fn a_lost_text_is_reported_on_stderr() {
    // at the start of a session, where no answer stops anything
    let golden = fixture("golden/frame.json");
    for (name, lost) in WAYS.into_iter().filter(|(name, _)| name.starts_with("/dev") || why(name) != why("closed")) {
        for vendor in VENDORS {
            let scratch = Scratch::new();
            let mut trial = Trial::new(vendor, &scratch, Event::Call, Given::Admitted);
            trial.frame = Some(golden.clone().into());
            trial.payload = bytes(&event(vendor, "SessionStart"));
            lose(&mut trial, Some(lost), None);
            let ended = trial.fire(false);
            let stderr = format!("the answer could not be written to standard output: {}\n", why(name));
            assert_eq!((ended.code, String::from_utf8(ended.stderr).unwrap()), (Some(2), stderr), "{vendor} {name}");
        }
    }
}

#[test]
fn a_lost_help_text_is_reported() {
    for vendor in [CLAUDE, CODEX] {
        for flag in ["--help", "--table", "--version"] {
            let mut run = Run::hook(vendor).args([flag]);
            run.command.stdout(writable("/dev/full").into_file());
            let answer = run.answer();
            let stderr = format!("mh-hook-{vendor}: could not write to standard output: no space left on device\n");
            assert_eq!((answer.code, answer.stderr), (2, stderr));
        }
    }
}
