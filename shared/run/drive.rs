//! The child: started, fed, listened to, stopped in time, and gone afterwards.

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

/// How long a vendor that was told to stop may take to say so in its stream.
const GRACE: Duration = Duration::from_secs(5);

/// How long its output is listened to when it, and all that could hold it open, has ended: what is
/// in a pipe by then is there to be read, however slow the machine.
const ECHO: Duration = Duration::from_secs(30);

/// How long a reader of standard output may take nothing when the run was told to stop.
const UNREAD: Duration = Duration::from_secs(3);

/// And when it was told so again.
const AT_ONCE: Duration = Duration::from_millis(100);

/// What ends a program that does not ask for it, and is not its own fault: any of them stops the turn, so that neither
/// the vendor nor the run's folder is left behind. A limit on file sizes is an error of the write, and stops nothing.
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

/// So many pieces of news may wait: whoever has more is held up, and a signal is never far behind.
const NEWS: usize = 32;

/// The most of its stderr that is kept, from the end.
const STDERR: usize = 64 * 1024;

/// Why a turn was stopped from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// By a signal to this program.
    Signal(&'static str),
    /// Its time was up.
    Time,
    /// By the embedder's command.
    Command {
        /// Whether it was `halt`, not `interrupt`.
        halt: bool,
        /// The embedder's reason.
        reason: String,
    },
    /// The embedder is gone, and the run was to end with it.
    Gone,
    /// Nobody reads what this program writes.
    Unread,
}

/// How the child ended.
#[derive(Debug)]
pub struct Ending {
    /// Its status, where it is known.
    pub status: Option<ExitStatus>,
    /// Whether it was stopped from outside.
    pub stopped: Option<Stopped>,
    /// The end of what it said on stderr.
    pub stderr: String,
}

impl Ending {
    /// The signal that ended the vendor, where it was none of ours. A program around it says the same by an exit code
    /// above 128, as a shell does.
    pub fn killed(&self) -> Option<i32> {
        let status = self.status.filter(|_| self.stopped.is_none())?;
        let told = status.code().map(|code| code - 128).filter(|signal| (1..=31).contains(signal));
        status.signal().or(told)
    }
}

/// What comes from outside the vendor.
#[derive(Debug)]
pub enum Outside {
    /// A line of the embedder's.
    Command(Vec<u8>),
    /// A line of the embedder's that is too long to be kept.
    TooLong,
    /// The embedder says no more.
    Gone,
    /// A hook asks, or has gone.
    Hook(Knock),
    /// Nothing more can be written to standard output.
    Unread,
}

/// What the threads tell.
enum News {
    Line(Vec<u8>),
    EndOfLines,
    Exit(Option<ExitStatus>),
    Signal(i32),
    Stderr(String),
    Outside(Outside),
}

/// Who hears what happens in a turn, each time told whether it is to stop.
pub trait Party {
    /// The vendor has been started.
    fn started(&mut self);

    /// A line of the vendor's output.
    fn line(&mut self, line: &[u8]) -> Option<Stopped>;

    /// Something from outside.
    fn outside(&mut self, outside: Outside) -> Option<Stopped>;

    /// Time has passed: as often as [`Party::pause`] says.
    fn wake(&mut self);

    /// How long it may be let alone; `None` is until something happens.
    fn pause(&self) -> Option<Duration>;

    /// The vendor is about to be stopped.
    fn stopping(&mut self, by: &Stopped);

    /// The vendor's process has ended.
    fn over(&mut self);
}

/// The way in for what comes from outside.
#[derive(Debug, Clone)]
pub struct Post {
    sender: SyncSender<News>,
    shut: Arc<AtomicBool>,
}

impl Post {
    /// Tell it; `false`, when the run is over.
    pub fn send(&self, outside: Outside) -> bool {
        !self.shut.load(Ordering::Relaxed) && self.sender.send(News::Outside(outside)).is_ok()
    }
}

/// A turn that is about to run.
#[derive(Debug)]
pub struct Drive {
    signals: Signals,
    post: Post,
    news: Receiver<News>,
}

impl Drive {
    /// Take the signals over. From here on a first one stops the turn and a second this program.
    ///
    /// # Errors
    /// The system does not give them.
    pub fn new() -> std::io::Result<Drive> {
        let (sender, news) = mpsc::sync_channel(NEWS);
        let post = Post { sender, shut: Arc::default() };
        signal_hook::flag::register(known::SIGXFSZ, Arc::default())?;
        Ok(Drive { signals: Signals::new(STOPS)?, post, news })
    }

    /// The way in for what comes from outside.
    pub fn post(&self) -> Post {
        self.post.clone()
    }

    /// Run the child to its end, its output read only as fast as there is room for what is made of
    /// it. When this is back, nothing that the child started is left.
    ///
    /// # Errors
    /// It could not be started.
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

/// What comes from outside when the turn is over and its last line is not out yet.
#[derive(Debug)]
pub struct Late {
    news: Receiver<News>,
    shut: Arc<AtomicBool>,
}

impl Late {
    /// Hear it, and nothing that comes later.
    pub fn hear(self, party: &mut dyn Party) {
        // whoever goes on for ever is not heard for ever
        self.shut.store(true, Ordering::Relaxed);
        while let Ok(left) = self.news.try_recv() {
            if let News::Outside(outside) = left {
                party.outside(outside);
            }
        }
    }
}

/// Hear the news until the child has ended and its output too.
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
    // whether there is nothing to be done at the deadline but to go
    let mut last = false;
    let mut woken = started;
    while !(over && lines_over && stderr_over) {
        // time goes by however much there is to hear
        let now = Instant::now();
        let mut wanted = None;
        if deadline.is_some_and(|deadline| deadline <= now) {
            if last {
                return ending;
            }
            if ending.stopped.is_some() {
                // it was told, and is still there
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
                    // what it left running may hold its pipes open for ever
                    end_all();
                    room.open();
                    (last, deadline) = (true, Some(Instant::now() + ECHO));
                }
                // a second one means now
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
                // it may have something to say still, and is not to wait for whoever reads that
                room.open();
                let _ = kill_process(pid, Signal::INT);
                deadline = Some(Instant::now() + GRACE);
            }
        }
    }
    ending
}

/// Write the prompt, and say that no more comes.
fn feed(mut stdin: UnixStream, prompt: String) {
    // one that is not read is the vendor's affair, and shows in its record
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

/// Keep the end of it.
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

/// To the end of the process: when the turn is over, a signal still says not to wait for a reader.
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
