//! The prompt, from the command line and from stdin.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;

use super::PROGRAM;
use super::options::Prompt;
use crate::os::{self, Stop};
use crate::seal::Refusal;

/// The longest prompt, in bytes.
const LIMIT: usize = 8 * 1024 * 1024;

/// The time that stdin may delay a prompt that does not need it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The prompt, with the content of stdin if that belongs to it.
///
/// # Errors
/// There is no prompt, or it cannot be read.
pub fn take(prompt: &Prompt, stdin: bool) -> Result<String, Stop> {
    let value = match prompt {
        Prompt::Stdin => None,
        Prompt::Text(text) => Some(text.clone()),
        Prompt::File(path) => {
            let shown = path.display();
            let bytes = whole(path, LIMIT)?;
            Some(String::from_utf8(bytes).map_err(|_| Stop::failed(format!("{shown}: not UTF-8")))?)
        }
    };
    let given = if stdin { given(value.is_some())? } else { None };
    let whole = match (given, value) {
        (Some(given), Some(value)) if !given.is_empty() => {
            let blank = if given.ends_with('\n') { "\n" } else { "\n\n" };
            format!("{given}{blank}{value}")
        }
        (_, Some(value)) => value,
        (Some(given), None) => given,
        (None, None) => {
            let why = "the prompt is to come from standard input, and that is a terminal; give -p TEXT";
            return Err(Stop::failed(why));
        }
    };
    match whole.trim().is_empty() {
        true => Err(Stop::failed("the prompt is empty")),
        false => Ok(whole),
    }
}

/// A file of at most this many bytes.
pub fn whole(path: &Path, limit: usize) -> Result<Vec<u8>, Stop> {
    os::read_bounded(path, limit).map_err(|refusal| {
        let why = match refusal {
            // the refusal's own words name the limit of a frame
            Refusal::TooLarge => format!("it holds more than {limit} bytes"),
            refusal => refusal.to_string(),
        };
        Stop::failed(format!("{}: {why}", path.display()))
    })
}

/// The content of stdin; a terminal gives none.
fn given(may_do_without: bool) -> Result<Option<String>, Stop> {
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let stdin = rustix::stdio::stdin();
    if may_do_without && os::wait(&stdin, PollFlags::IN, Instant::now() + PATIENCE).is_err() {
        os::tell(&format!(
            "{PROGRAM}: nothing came on standard input in {} s, so it is left out; </dev/null says so at once\n",
            PATIENCE.as_secs()
        ));
        return Ok(Some(String::new()));
    }
    let mut bytes = Vec::new();
    loop {
        bytes.reserve(64 * 1024);
        match rustix::io::read(stdin, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => break,
            Ok(_) if bytes.len() > LIMIT => {
                return Err(Stop::failed(format!("standard input holds more than {LIMIT} bytes")));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let year = Instant::now() + Duration::from_secs(31_536_000);
                os::wait(&stdin, PollFlags::IN, year).map_err(|why| Stop::failed(format!("standard input {why}")))?;
            }
            Err(error) => return Err(Stop::failed(format!("could not read stdin: {}", os::words(error)))),
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(Stop::failed(format!("standard input is not UTF-8 (byte {at})")))
        }
    }
}
