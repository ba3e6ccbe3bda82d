//! The vendor's process: started, fed, read, stopped in time, and gone afterwards.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::signal as known;
use signal_hook::iterator::Signals;

use super::{Backpressure, Knock};
use crate::adapter::run::Launch;
use crate::os::{self, Wires, end_all, spawn};

/// The time that a stopped vendor has to write its last record.
const GRACE: Duration = Duration::from_secs(5);

/// The time for reading the output after the vendor, and every process that could hold the pipe open, has ended. The
/// pipe holds the rest by then, so only a slow machine needs it.
const ECHO: Duration = Duration::from_secs(30);

/// The time that a reader of stdout may take nothing once the run was told to stop.
const UNREAD: Duration = Duration::from_secs(3);

/// That time when the run was told to stop twice.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Signals that end a program by default and are sent from outside. Each stops the turn, so that neither the vendor nor
/// the run's folder stays behind. SIGXFSZ is missing: the write that goes over the limit fails, and nothing stops.
const STOPS: [i32; 11] = [
    known::SIGHUP,
    known::SIGINT,
    known::SIGQUIT,
    known::SIGUSR1,
    known::SIGUSR2,
    known::SIGALRM,
    known::SIGTERM,
    known::SIGXCPU,
    known::SIGVTALRM,
    known::SIGPROF,
    known::SIGIO,
];

/// The most pieces of news that wait. A sender with more is held up, so a signal is never far behind.
const NEWS: usize = 32;

/// The most bytes of the vendor's stderr that are kept, from the end.
const STDERR: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    Signal(&'static str),
    /// The time limit was reached.
    Time,
    Command {
        halt: bool,
        reason: String,
    },
    /// The embedder is gone, and `OnEof::Interrupt` says to stop then.
    Gone,
    /// Nobody reads stdout.
    Unread,
}

#[derive(Debug)]
pub struct Ending {
    /// `None` where the system did not tell.
    pub status: Option<ExitStatus>,
    /// The reason, if the turn was stopped from outside.
    pub stopped: Option<Stopped>,
    /// The end of the vendor's stderr.
    pub stderr: String,
}

impl Ending {
    /// The signal that ended the vendor, if this program did not send it. A wrapper around the vendor, as a shell is,
    /// reports it as an exit code above 128.
    pub fn killed(&self) -> Option<i32> {
        let status = self.status.filter(|_| self.stopped.is_none())?;
        let told = status.code().map(|code| code - 128).filter(|signal| (1..=31).contains(signal));
        status.signal().or(told)
    }
}

/// News from outside the vendor.
#[derive(Debug)]
pub enum Outside {
    /// A line from the embedder.
    Command(Vec<u8>),
    /// A line from the embedder that is longer than the limit.
    TooLong,
    /// The embedder closed its side.
    Gone,
    /// A hook asks, or a hook that asked has gone.
    Hook(Knock),
    /// Nothing more can be written to stdout.
    Unread,
}

/// News from the threads.
enum News {
    Line(Vec<u8>),
    EndOfLines,
    Exit(Option<ExitStatus>),
    Signal(i32),
    Stderr(String),
    Outside(Outside),
}

/// The receiver of the turn's news. A method that returns [`Stopped`] stops the turn.
pub trait Party {
    fn started(&mut self);

    /// A line of the vendor's stdout.
    fn line(&mut self, line: &[u8]) -> Option<Stopped>;

    fn outside(&mut self, outside: Outside) -> Option<Stopped>;

    /// Called when [`Party::pause`] has passed.
    fn wake(&mut self);

    /// The longest time until the next [`Party::wake`]; `None` waits for news.
    fn pause(&self) -> Option<Duration>;

    /// The vendor is about to be stopped.
    fn stopping(&mut self, by: &Stopped);

    /// The vendor's process has ended.
    fn over(&mut self);
}

/// A sender for news from outside the vendor.
#[derive(Debug, Clone)]
pub struct Post {
    sender: SyncSender<News>,
    shut: Arc<AtomicBool>,
}

impl Post {
    /// `false` means that the run is over.
    pub fn send(&self, outside: Outside) -> bool {
        !self.shut.load(Ordering::Relaxed) && self.sender.send(News::Outside(outside)).is_ok()
    }
}

#[derive(Debug)]
pub struct Drive {
    signals: Signals,
    post: Post,
    news: Receiver<News>,
}

impl Drive {
    /// Take over the signals. From here on the first one stops the turn, and the second one this program.
    pub fn new() -> std::io::Result<Drive> {
        let (sender, news) = mpsc::sync_channel(NEWS);
        let post = Post { sender, shut: Arc::default() };
        signal_hook::flag::register(known::SIGXFSZ, Arc::default())?;
        Ok(Drive { signals: Signals::new(STOPS)?, post, news })
    }

    pub fn post(&self) -> Post {
        self.post.clone()
    }

    /// Run the vendor to its end. Its output is read only as fast as the lines made from it find room. On return no
    /// process that it started is left.
    pub fn run(
        self,
        launch: &Launch,
        timeout: Option<Duration>,
        room: &Backpressure,
        party: &mut dyn Party,
    ) -> Result<(Ending, Late), os::Error> {
        let Drive { signals, post: Post { sender, shut }, news } = self;
        let mut command = launch.command();
        command.args(&launch.arguments).process_group(0);
        let (mut child, Wires { stdin, stdout, stderr }) =
            spawn(command).map_err(|error| os::Error::by(&launch.program, "cannot be started", error))?;
        party.started();
        let pid = Pid::from_child(&child);
        feed(stdin, launch.prompt.clone());
        lines(stdout, sender.clone(), room.clone());
        tail(stderr, sender.clone());
        forward(signals, sender.clone(), room.clone());
        std::thread::spawn(move || sender.send(News::Exit(child.wait().ok())));
        let ending = follow(&news, pid, timeout, room, party);
        end_all();
        Ok((ending, Late { news, shut }))
    }
}

/// News that arrives after the turn and before its last line is written.
#[derive(Debug)]
pub struct Late {
    news: Receiver<News>,
    shut: Arc<AtomicBool>,
}

impl Late {
    /// Pass on what has arrived, and nothing after that.
    pub fn hear(self, party: &mut dyn Party) {
        // a sender that never stops is not read for ever
        self.shut.store(true, Ordering::Relaxed);
        while let Ok(left) = self.news.try_recv() {
            if let News::Outside(outside) = left {
                party.outside(outside);
            }
        }
    }
}

/// Follow the news until the vendor and its output have ended.
fn follow(
    news: &Receiver<News>,
    pid: Pid,
    timeout: Option<Duration>,
    room: &Backpressure,
    party: &mut dyn Party,
) -> Ending {
    let started = Instant::now();
    let mut ending = Ending { status: None, stopped: None, stderr: String::new() };
    let mut deadline = timeout.map(|timeout| started + timeout);
    let (mut over, mut lines_over, mut stderr_over) = (false, false, false);
    // at the next deadline nothing is left to do but to stop waiting
    let mut last = false;
    let mut woken = started;
    while !(over && lines_over && stderr_over) {
        // the time counts, however much news there is
        let now = Instant::now();
        let mut wanted = None;
        if deadline.is_some_and(|deadline| deadline <= now) {
            if last {
                return ending;
            }
            if ending.stopped.is_some() {
                // the vendor was told to stop, and is still there
                let _ = kill_process_group(pid, Signal::KILL);
                (last, deadline) = (true, Some(now + ECHO));
                continue;
            }
            room.hurry(UNREAD);
            wanted = Some(Stopped::Time);
        } else {
            if party.pause().is_some_and(|pause| now.duration_since(woken) >= pause) {
                party.wake();
                woken = now;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            let pause = party.pause().map(|pause| (woken + pause).saturating_duration_since(now));
            let wait = left.into_iter().chain(pause).min().unwrap_or(Duration::from_secs(3600));
            match news.recv_timeout(wait) {
                Ok(News::Line(line)) => wanted = party.line(&line),
                Ok(News::Outside(outside)) => wanted = party.outside(outside),
                Ok(News::EndOfLines) => lines_over = true,
                Ok(News::Stderr(text)) => {
                    ending.stderr = text;
                    stderr_over = true;
                }
                Ok(News::Exit(status)) => {
                    over = true;
                    ending.status = status;
                    party.over();
                    // processes that the vendor left may hold its pipes open for ever
                    end_all();
                    room.open();
                    (last, deadline) = (true, Some(Instant::now() + ECHO));
                }
                // a second signal means now
                Ok(News::Signal(_)) if ending.stopped.is_some() => {
                    room.hurry(AT_ONCE);
                    let _ = kill_process_group(pid, Signal::KILL);
                    return ending;
                }
                Ok(News::Signal(signal)) => {
                    wanted = Some(Stopped::Signal(signal_hook::low_level::signal_name(signal).unwrap_or("a signal")));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return ending,
            }
        }
        if let (Some(wanted), None) = (wanted, &ending.stopped) {
            party.stopping(&wanted);
            ending.stopped = Some(wanted);
            if !over {
                // the vendor may still write a last record, which must not wait for a slow reader
                room.open();
                let _ = kill_process(pid, Signal::INT);
                deadline = Some(Instant::now() + GRACE);
            }
        }
    }
    ending
}

/// Write the prompt and end the stream.
fn feed(mut stdin: UnixStream, prompt: String) {
    // a prompt that the vendor does not read shows in the vendor's record
    std::thread::spawn(move || stdin.write_all(prompt.as_bytes()).and_then(|()| stdin.shutdown(Shutdown::Write)));
}

fn lines(stdout: UnixStream, sender: SyncSender<News>, room: Backpressure) {
    std::thread::spawn(move || {
        for line in BufReader::with_capacity(64 * 1024, stdout).split(b'\n') {
            let Ok(line) = line else { break };
            room.wait();
            if sender.send(News::Line(line)).is_err() {
                return;
            }
        }
        let _ = sender.send(News::EndOfLines);
    });
}

/// Keep the end of the vendor's stderr.
fn tail(mut stderr: UnixStream, sender: SyncSender<News>) {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut piece = [0; 8 * 1024];
        while let Ok(read @ 1..) = stderr.read(&mut piece) {
            kept.extend_from_slice(piece.get(..read).unwrap_or_default());
            if kept.len() > 2 * STDERR {
                kept.drain(..kept.len() - STDERR);
            }
        }
        let _ = sender.send(News::Stderr(String::from_utf8_lossy(&kept).into_owned()));
    });
}

/// This runs to the end of the process: after the turn a signal still ends the wait for a reader.
fn forward(mut signals: Signals, sender: SyncSender<News>, room: Backpressure) {
    std::thread::spawn(move || {
        let mut patience = UNREAD;
        for signal in signals.forever() {
            room.hurry(patience);
            patience = AT_ONCE;
            let _ = sender.send(News::Signal(signal));
        }
    });
}
