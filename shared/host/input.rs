//! Standard input, to its end.
//!
//! It is read whatever the answer will be: a hook that stops reading breaks the vendor's pipe, and
//! Codex lets the call run then. It may be a pipe or a socket, blocking or not, slow or endless.

use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::file::words;

/// The largest payload that is kept, in bytes.
pub const MAX_PAYLOAD: usize = 64 * 1024 * 1024;

/// What came in.
#[derive(Debug, Default)]
pub struct Input {
    /// The bytes, as many as were kept.
    pub bytes: Vec<u8>,
    /// Why they are not all of it, or cannot be relied on.
    pub fault: Option<String>,
}

/// Read standard input to its end, or until the deadline.
pub fn read_stdin(deadline: Instant) -> Input {
    let mut input = Input { bytes: Vec::with_capacity(64 * 1024), fault: None };
    let stdin = rustix::stdio::stdin();
    loop {
        if let Err(why) = wait(&stdin, PollFlags::IN, deadline) {
            input.fault = Some(format!("standard input {why}"));
            return input;
        }
        let over = input.bytes.len() > MAX_PAYLOAD;
        if over {
            input.fault = Some(format!("standard input holds more than {MAX_PAYLOAD} bytes"));
            input.bytes.clear();
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
pub fn wait(file: &impl rustix::fd::AsFd, ready: PollFlags, deadline: Instant) -> Result<(), String> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // asked first: an input that never ends is always ready
        if left.is_zero() {
            return Err(LATE.into());
        }
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match rustix::event::poll(&mut [PollFd::new(file, ready)], Some(&left)) {
            Ok(0) => return Err(LATE.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("cannot be waited for: {}", words(error))),
        }
    }
}
