//! stdin in every state that a vendor, or a wrapper around the hook, can leave it in.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::time::Duration;

use fs_err::File;
use serde_json::json;

use crate::common::{Run, VENDORS, bytes, call, fixture, shell};
use crate::faults::host::Event;
use crate::faults::row::{Given, Row, Source, Trial, blocks, borne, hold};

const EMPTY: &str = "the payload on standard input was empty; the vendor gives the call as one JSON object there";
const LATE: &str = "standard input was not done when the deadline passed; nothing runs until this is put right";

/// A fault with an input that never ends, under a short deadline.
fn endless(name: &str, source: impl Fn() -> Source + Send + Sync + 'static) -> Row {
    blocks(name, LATE, move |trial| {
        trial.args(["--deadline", "1"]);
        trial.stdin = source();
    })
}

/// A file that is opened without blocking.
fn opened(path: impl AsRef<std::path::Path>) -> File {
    File::options().read(true).write(true).open(path.as_ref()).unwrap()
}

fn in_pieces(mut to: impl std::io::Write, payload: &[u8], pieces: usize, pause: u64) -> std::io::Result<()> {
    for piece in payload.chunks(payload.len().div_ceil(pieces)) {
        to.write_all(piece)?;
        std::thread::sleep(Duration::from_millis(pause));
    }
    Ok(())
}

fn fifo(trial: &Trial<'_>) -> File {
    let path = trial.scratch.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    opened(path)
}

pub fn socket(write: impl FnOnce(&mut UnixStream, Vec<u8>) -> std::io::Result<()> + Send + 'static) -> Source {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    Source {
        file: OwnedFd::from(theirs),
        write: Box::new(move |payload| {
            write(&mut ours, payload)?;
            Ok(Box::new(ours))
        }),
    }
}

#[test]
fn an_input_that_is_not_there_or_cannot_be_read() {
    hold(
        "standard input",
        vec![
            blocks("closed", EMPTY, |trial| {
                trial.stdin = Source::file(File::open("/dev/null").unwrap());
                trial.line("exec \"$@\" <&-");
            }),
            blocks("/dev/null", EMPTY, |trial| trial.stdin = Source::file(File::open("/dev/null").unwrap())),
            blocks("a pipe with nothing in it", EMPTY, |trial| trial.payload.clear()),
            blocks("an empty file", EMPTY, |trial| trial.stdin = Source::file(tempfile::tempfile().unwrap())),
            blocks("a socket whose other end is gone", EMPTY, |trial| {
                trial.stdin = Source::file(UnixStream::pair().unwrap().0);
            }),
            blocks("a folder", "standard input cannot be read: is a directory", |trial| {
                trial.stdin = Source::file(File::open(fixture("")).unwrap());
            }),
            blocks("open for writing only", "standard input cannot be read: bad file descriptor", |trial| {
                trial.stdin = Source::file(File::options().write(true).open("/dev/null").unwrap());
            }),
            blocks("a socket that listens", LATE, |trial| {
                trial.args(["--deadline", "1"]);
                trial.stdin = Source::file(UnixListener::bind(trial.scratch.path("socket")).unwrap());
            }),
            blocks("a file that fails when it is read", "standard input cannot be read: input/output error", |trial| {
                trial.stdin = Source::file(File::open("/proc/self/mem").unwrap());
            }),
            blocks("half a payload", "the payload is not one JSON object: byte ", |trial| {
                trial.payload.truncate(trial.payload.len() / 2);
            }),
        ],
    );
}

#[test]
fn an_input_that_never_ends() {
    hold(
        "standard input without an end",
        vec![
            endless("a pipe that is held open, nothing written", || Source::pipe(|pipe, _| Ok(Box::new(pipe)))),
            endless("a pipe that is held open, the payload written", || {
                Source::pipe(|mut pipe, payload| {
                    pipe.write_all(&payload)?;
                    Ok(Box::new(pipe))
                })
            }),
            endless("a pipe that is held open, half the payload written", || {
                Source::pipe(|mut pipe, payload| {
                    pipe.write_all(&payload[..payload.len() / 2])?;
                    Ok(Box::new(pipe))
                })
            }),
            endless("a pipe that gets a byte now and then", || {
                Source::pipe(|mut pipe, payload| {
                    pipe.write_all(&payload)?;
                    // until the hook ends and the pipe breaks
                    while pipe.write_all(b" ").is_ok() {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    Ok(Box::new(()))
                })
            }),
            endless("a pipe that gets as much as it takes", || {
                Source::pipe(|mut pipe, _| {
                    while pipe.write_all(&[b' '; 65536]).is_ok() {}
                    Ok(Box::new(()))
                })
            }),
            endless("a socket that is held open", || socket(|socket, payload| socket.write_all(&payload))),
            endless("a socket of datagrams", || {
                let (ours, theirs) = UnixDatagram::pair().unwrap();
                Source {
                    file: OwnedFd::from(theirs),
                    write: Box::new(move |payload| {
                        ours.send(&payload)?;
                        Ok(Box::new(ours))
                    }),
                }
            }),
            blocks("a FIFO that nobody writes to", LATE, |trial| {
                trial.args(["--deadline", "1"]);
                trial.stdin = Source::file(fifo(trial));
            }),
            endless("a terminal that nobody types at", || Source::file(opened("/dev/ptmx"))),
            endless("/dev/zero", || Source::file(File::open("/dev/zero").unwrap())),
            endless("/dev/urandom", || Source::file(File::open("/dev/urandom").unwrap())),
        ],
    );
}

#[test]
fn an_input_that_is_slow_or_of_another_kind() {
    hold(
        "standard input, odd but whole",
        vec![
            borne("a pipe that is written slowly", |trial| {
                trial.stdin = Source::pipe(|pipe, payload| {
                    in_pieces(pipe, &payload, 3, 60)?;
                    Ok(Box::new(()))
                });
            }),
            borne("a pipe that is written byte by byte", |trial| {
                trial.stdin = Source::pipe(|pipe, payload| {
                    in_pieces(pipe, &payload, payload.len(), 0)?;
                    Ok(Box::new(()))
                });
            }),
            borne("a pipe that does not block, written slowly", |trial| {
                trial.stdin = Source::pipe(|pipe, payload| {
                    in_pieces(pipe, &payload, 3, 60)?;
                    Ok(Box::new(()))
                });
                rustix::io::ioctl_fionbio(&trial.stdin.file, true).unwrap();
            }),
            borne("a socket", |trial| {
                trial.stdin = socket(|socket, payload| {
                    socket.write_all(&payload)?;
                    socket.shutdown(Shutdown::Write)
                });
            }),
            borne("a socket that does not block, written slowly", |trial| {
                trial.stdin = socket(|socket, payload| {
                    in_pieces(&mut *socket, &payload, 3, 60)?;
                    socket.shutdown(Shutdown::Write)
                });
                rustix::io::ioctl_fionbio(&trial.stdin.file, true).unwrap();
            }),
            borne("a FIFO", |trial| {
                let both = fifo(trial);
                let path = trial.scratch.path("fifo");
                let mut writer = File::options().write(true).open(&path).unwrap();
                let reader = File::open(&path).unwrap();
                drop(both);
                trial.stdin = Source {
                    file: reader.into(),
                    write: Box::new(move |payload| {
                        writer.write_all(&payload)?;
                        Ok(Box::new(()))
                    }),
                };
            }),
            borne("a file", |trial| {
                let file = trial.scratch.file("payload", &trial.payload);
                trial.stdin = Source::file(File::open(file).unwrap());
            }),
            borne("a file that is open for writing too", |trial| {
                trial.stdin = Source::file(opened(trial.scratch.file("payload", &trial.payload)));
            }),
        ],
    );
}

#[test]
fn sixty_four_mebibytes_are_kept_and_a_longer_payload_is_read_and_refused() {
    const MOST: usize = 64 * 1024 * 1024;
    let large = |trial: &mut Trial<'_>, size: usize| {
        trial.payload.resize(size, b' ');
        trial.args(["--deadline", "300"]);
        trial.patience = Duration::from_secs(310);
    };
    for vendor in VENDORS {
        let scratch = crate::common::Scratch::new();
        let mut trial = Trial::new(vendor, &scratch, Event::Call, Given::Admitted);
        large(&mut trial, MOST);
        assert_eq!(trial.fire(false).code, Some(0), "{vendor}");
    }
    let more = "standard input holds more than 67108864 bytes; nothing runs until this is put right";
    let more = |name: &str, size: usize| blocks(name, more, move |trial| large(trial, size));
    hold(
        "standard input, too large",
        vec![more("64 MiB and one byte", MOST + 1), more("64 MiB and a million bytes", MOST + 1_000_000)],
    );
}

#[test]
fn a_large_payload_that_is_refused_never_breaks_the_pipe() {
    for vendor in VENDORS {
        for size in [1, crate::common::times(32, 4)] {
            let content = "x".repeat(size * 1024 * 1024);
            let payload = bytes(&call(vendor, "mcp__lab__write", json!({ "content": content })));
            // under a frame, under a refused frame, and with a mistake on the command line
            let run = |args: &[&str]| Run::hook(vendor).args(args).args(["--deadline=300"]).stdin(payload.clone());
            run(&["--frame", fixture("golden/frame.json").to_str().unwrap()]).answer().denial();
            run(&["--frame", "/nonexistent"]).answer().denial();
            run(&["--nonsense"]).answer().denial();
            run(&[]).answer().is_silent();
        }
    }
}

#[test]
fn two_hundred_runs_without_a_frame_break_no_pipe() {
    for vendor in VENDORS {
        let payload = bytes(&call(vendor, "Bash", json!({ "command": "x".repeat(400) })));
        for _ in 0..200 {
            Run::hook(vendor).stdin(payload.clone()).answer().is_silent();
        }
    }
    // an absent payload is not parsed if no frame is in force
    for vendor in VENDORS {
        Run::hook(vendor).stdin(&shell(vendor)[..20]).answer().is_silent();
    }
}
