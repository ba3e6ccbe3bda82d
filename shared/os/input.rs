//! Reading stdin to its end.
//!
//! A hook reads all of it, whatever the answer will be: a hook that stops reading breaks the vendor's pipe, and Codex
//! then lets the call run. stdin may be a pipe or a socket, blocking or not, slow or endless.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::file::words;
use super::{Error, signals};

/// The largest payload that is kept, in bytes.
pub const MAX_PAYLOAD: usize = 64 * 1024 * 1024;

/// The time in which a vendor has begun to write its payload. After that, stdin may be a person's terminal.
const SOON: Duration = Duration::from_secs(1);

/// A payload as the hook got it from stdin.
#[derive(Debug, Default)]
pub struct Stdin {
    /// Empty where `fault` says that there were too many.
    pub bytes: Vec<u8>,
    /// The reason why `bytes` is incomplete or cannot be trusted.
    pub fault: Option<String>,
}

#[derive(Debug)]
pub enum InputLine {
    /// Without the line feed.
    Whole(Vec<u8>),
    /// Longer than the limit, so its bytes were dropped.
    TooLong,
}

/// Read stdin line by line until its end, or until `tell` returns false. The last line needs no line feed.
pub fn read_lines(limit: usize, tell: &mut dyn FnMut(InputLine) -> bool) {
    let stdin = rustix::stdio::stdin();
    let (mut line, mut dropped) = (Vec::new(), false);
    let mut piece = Vec::with_capacity(64 * 1024);
    let mut end = |line: &mut Vec<u8>, dropped: &mut bool| match std::mem::take(dropped) {
        true => tell(InputLine::TooLong),
        false => tell(InputLine::Whole(std::mem::take(line))),
    };
    loop {
        piece.clear();
        match rustix::io::read(stdin, rustix::buffer::spare_capacity(&mut piece)) {
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => {
                let _ = wait(&stdin, PollFlags::IN, Instant::now() + Duration::from_secs(3600));
                continue;
            }
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
        let mut rest = piece.as_slice();
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            keep(&mut line, &mut dropped, &rest[..at], limit);
            rest = &rest[at + 1..];
            if !end(&mut line, &mut dropped) {
                return;
            }
        }
        keep(&mut line, &mut dropped, rest, limit);
    }
    if dropped || !line.is_empty() {
        end(&mut line, &mut dropped);
    }
}

fn keep(line: &mut Vec<u8>, dropped: &mut bool, more: &[u8], limit: usize) {
    *dropped |= line.len() + more.len() > limit;
    if *dropped {
        *line = Vec::new();
    } else {
        line.extend_from_slice(more);
    }
}

pub fn read_stdin(deadline: Instant) -> Stdin {
    let mut input = Stdin { bytes: Vec::with_capacity(64 * 1024), fault: None };
    let stdin = rustix::stdio::stdin();
    let mut until = deadline.min(Instant::now() + SOON);
    loop {
        if input.bytes.len() > MAX_PAYLOAD {
            input.fault = Some(format!("standard input holds more than {MAX_PAYLOAD} bytes"));
        }
        match wait(&stdin, PollFlags::IN, until) {
            // every writer has closed its end, and nothing is left to read
            Ok(PollFlags::HUP) => return input,
            Ok(_) => until = deadline,
            Err(_) if until < deadline => {
                // a person who runs the hook by hand may end it with Ctrl-C
                if stdin.is_terminal() {
                    signals::release();
                }
                until = deadline;
                continue;
            }
            Err(why) => {
                input.fault = Some(format!("standard input {why}"));
                return input;
            }
        }
        if input.fault.is_some() {
            // the rest is read too, and dropped
            input.bytes.clear();
        } else if input.bytes.capacity() - input.bytes.len() < 4 * 1024 {
            input.bytes.reserve(input.bytes.len().clamp(64 * 1024, 16 * 1024 * 1024));
        }
        match rustix::io::read(stdin, rustix::buffer::spare_capacity(&mut input.bytes)) {
            Ok(0) => return input,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => {
                input.fault = Some(format!("standard input cannot be read: {}", words(error)));
                return input;
            }
        }
    }
}

const LATE: &str = "was not done when the deadline passed";

/// Wait until a descriptor is ready, or has failed, which the next read or write will tell. Returns the state that it
/// is in.
///
/// # Errors
/// The deadline passed, or the descriptor cannot be waited for.
pub fn wait(file: &impl rustix::fd::AsFd, ready: PollFlags, deadline: Instant) -> Result<PollFlags, Error> {
    let mut files = [PollFd::new(file, ready)];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // checked first: an endless input is always ready
        if left.is_zero() {
            return Err(Error::process(LATE));
        }
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match rustix::event::poll(&mut files, Some(&left)) {
            Ok(0) => return Err(Error::process(LATE)),
            Ok(_) => return Ok(files[0].revents()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(Error::Process { what: "cannot be waited for", source: Some(error.into()) }),
        }
    }
}
