//! The child: started, fed, listened to, stopped in time, and gone afterwards.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{Launch, end_all};
use crate::host::{Knock, Room, words};

/// How long a vendor that was told to stop may take to say so in its stream.
const GRACE: Duration = Duration::from_secs(5);

/// How long its output is listened to when it, and all that could hold it open, has ended: what is
/// in a pipe by then is there to be read, however slow the machine.
const ECHO: Duration = Duration::from_secs(30);

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
    /// A line of the vendor's output.
    fn line(&mut self, line: &[u8]) -> Option<Stopped>;

    /// Something from outside.
    fn outside(&mut self, outside: Outside) -> Option<Stopped>;

    /// Time has passed: as often as [`Party::pause`] says.
    fn wake(&mut self);

    /// How long it may be let alone; `None` is until something happens.
    fn pause(&self) -> Option<Duration>;

    /// The vendor is about to be told to stop.
    fn stopping(&mut self);

    /// The vendor's process has ended.
    fn over(&mut self);
}

/// The way in for what comes from outside.
#[derive(Debug, Clone)]
pub struct Post(Sender<News>);

impl Post {
    /// Tell it; `false`, when the run is over.
    pub fn send(&self, outside: Outside) -> bool {
        self.0.send(News::Outside(outside)).is_ok()
    }
}

/// A turn that is about to run.
#[derive(Debug)]
pub struct Drive {
    signals: Signals,
    sender: Sender<News>,
    news: Receiver<News>,
    room: Option<Room>,
}

impl Drive {
    /// Take the signals over. From here on a first one stops the turn and a second this program.
    ///
    /// # Errors
    /// The system does not give them.
    pub fn new() -> std::io::Result<Drive> {
        let (sender, news) = mpsc::channel();
        Ok(Drive { signals: Signals::new([SIGINT, SIGTERM, SIGHUP])?, sender, news, room: None })
    }

    /// The way in for what comes from outside.
    pub fn post(&self) -> Post {
        Post(self.sender.clone())
    }

    /// Read the vendor's output only as fast as there is room for what is made of it.
    pub fn within(self, room: Room) -> Drive {
        Drive { room: Some(room), ..self }
    }

    /// Run the child to its end. When this is back, nothing that the child started is left, and all
    /// that came from outside has been heard.
    ///
    /// # Errors
    /// It could not be started.
    pub fn run(self, launch: &Launch, timeout: Option<Duration>, party: &mut dyn Party) -> Result<Ending, String> {
        let Drive { signals, sender, news, room } = self;
        let mut command = Command::new(&launch.program);
        command.args(&launch.arguments).current_dir(&launch.cwd).process_group(0);
        if launch.clear {
            command.env_clear();
        }
        for name in &launch.removed {
            command.env_remove(name);
        }
        command.envs(launch.set.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| format!("{}: cannot be started: {}", launch.program.display(), words(error)))?;
        let pid = Pid::from_child(&child);
        if let Some(mut stdin) = child.stdin.take() {
            let prompt = launch.prompt.clone();
            // one that is not read is the vendor's affair, and shows in its record
            std::thread::spawn(move || stdin.write_all(prompt.as_bytes()));
        }
        if let Some(stdout) = child.stdout.take() {
            lines(stdout, sender.clone(), room);
        }
        if let Some(stderr) = child.stderr.take() {
            tail(stderr, sender.clone());
        }
        let handle = signals.handle();
        forward(signals, sender.clone());
        std::thread::spawn(move || sender.send(News::Exit(child.wait().ok())));
        let ending = follow(&news, pid, timeout, party);
        end_all();
        handle.close();
        while let Ok(left) = news.try_recv() {
            if let News::Outside(outside) = left {
                party.outside(outside);
            }
        }
        Ok(ending)
    }
}

/// Hear the news until the child has ended and its output too.
fn follow(news: &Receiver<News>, pid: Pid, timeout: Option<Duration>, party: &mut dyn Party) -> Ending {
    let started = Instant::now();
    let mut ending = Ending { status: None, stopped: None, stderr: String::new() };
    let mut deadline = timeout.map(|timeout| started + timeout);
    let (mut over, mut lines_over, mut stderr_over) = (false, false, false);
    while !(over && lines_over && stderr_over) {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let pause = party.pause().filter(|pause| left.is_none_or(|left| *pause < left));
        let mut wanted = None;
        match news.recv_timeout(pause.or(left).unwrap_or(Duration::from_secs(3600))) {
            Ok(News::Line(line)) => wanted = party.line(&line),
            Ok(News::Outside(outside)) => wanted = party.outside(outside),
            Err(RecvTimeoutError::Timeout) if pause.is_some() => party.wake(),
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
                deadline = Some(Instant::now() + ECHO);
            }
            // a second one means now
            Ok(News::Signal(_)) if ending.stopped.is_some() => {
                let _ = kill_process_group(pid, Signal::KILL);
                return ending;
            }
            Ok(News::Signal(signal)) => {
                ending.stopped = Some(Stopped::Signal(match signal {
                    SIGINT => "SIGINT",
                    SIGHUP => "SIGHUP",
                    _ => "SIGTERM",
                }));
                deadline = Some(stop(pid, over, party));
            }
            Err(RecvTimeoutError::Timeout) if deadline.is_none() => {}
            Err(RecvTimeoutError::Timeout) if over => return ending,
            Err(RecvTimeoutError::Timeout) if ending.stopped.is_none() => {
                ending.stopped = Some(Stopped::Time);
                deadline = Some(stop(pid, over, party));
            }
            // it was told, and is still there
            Err(RecvTimeoutError::Timeout) => {
                let _ = kill_process_group(pid, Signal::KILL);
                end_all();
                deadline = Some(Instant::now() + ECHO);
                over = true;
            }
            Err(RecvTimeoutError::Disconnected) => return ending,
        }
        if let (Some(wanted), None) = (wanted, &ending.stopped) {
            ending.stopped = Some(wanted);
            deadline = Some(stop(pid, over, party));
        }
    }
    ending
}

/// Tell the vendor to stop, and say until when it may take.
fn stop(pid: Pid, over: bool, party: &mut dyn Party) -> Instant {
    if !over {
        party.stopping();
        let _ = kill_process(pid, Signal::INT);
    }
    Instant::now() + GRACE
}

fn lines(stdout: ChildStdout, sender: Sender<News>, room: Option<Room>) {
    std::thread::spawn(move || {
        for line in BufReader::with_capacity(64 * 1024, stdout).split(b'\n') {
            let Ok(line) = line else { break };
            room.iter().for_each(Room::wait);
            if sender.send(News::Line(line)).is_err() {
                return;
            }
        }
        let _ = sender.send(News::EndOfLines);
    });
}

/// Keep the end of it.
fn tail(mut stderr: ChildStderr, sender: Sender<News>) {
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

fn forward(mut signals: Signals, sender: Sender<News>) {
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if sender.send(News::Signal(signal)).is_err() {
                return;
            }
        }
    });
}
