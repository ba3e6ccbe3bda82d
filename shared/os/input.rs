//! Standard input, to its end.
//!
//! It is read whatever the answer will be: a hook that stops reading breaks the vendor's pipe, and
//! Codex lets the call run then. It may be a pipe or a socket, blocking or not, slow or endless.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::file::words;
use super::{Error, signals};

/// The largest payload that is kept, in bytes.
pub const MAX_PAYLOAD: usize = 64 * 1024 * 1024;

/// When a vendor has given its payload, or nobody of that kind is there.
const SOON: Duration = Duration::from_secs(1);

/// What came in.
#[derive(Debug, Default)]
pub struct Stdin {
    /// The bytes, as many as were kept.
    pub bytes: Vec<u8>,
    /// Why they are not all of it, or cannot be relied on.
    pub fault: Option<String>,
}

/// A line of standard input.
#[derive(Debug)]
pub enum InputLine {
    /// Its bytes, without the line feed.
    Whole(Vec<u8>),
    /// It was too long to be kept, and was passed over.
    TooLong,
}

/// Read standard input line by line, for as long as `tell` takes them. A last line needs no line
/// feed. When this is back, there is no more, whatever the cause.
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

/// Read standard input to its end, or until the deadline.
pub fn read_stdin(deadline: Instant) -> Stdin {
    let mut input = Stdin { bytes: Vec::with_capacity(64 * 1024), fault: None };
    let stdin = rustix::stdio::stdin();
    let mut until = deadline.min(Instant::now() + SOON);
    loop {
        if input.bytes.len() > MAX_PAYLOAD {
            input.fault = Some(format!("standard input holds more than {MAX_PAYLOAD} bytes"));
        }
        match wait(&stdin, PollFlags::IN, until) {
            // nobody is left who could write, and nothing is left to read
            Ok(PollFlags::HUP) => return input,
            Ok(_) => until = deadline,
            Err(_) if until < deadline => {
                // somebody who runs it by hand may end it by hand
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
            // the rest is read all the same, into the same place again and again
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

/// Wait until a descriptor is ready for this, or has failed, which reading or writing will tell.
/// Gives what it is.
///
/// # Errors
/// It is not when the deadline has passed, or cannot be waited for.
pub fn wait(file: &impl rustix::fd::AsFd, ready: PollFlags, deadline: Instant) -> Result<PollFlags, Error> {
    let mut files = [PollFd::new(file, ready)];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // asked first: an input that never ends is always ready
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
