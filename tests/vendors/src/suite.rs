//! Runs the cases side by side and says what came of each.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use crate::case::Case;
use crate::options::Options;
use crate::scratch::Scratch;
use crate::{claude, codex};

/// Beyond the case's deadline, for the case to look at the disk and say so.
const GRACE: Duration = Duration::from_secs(10);

/// Whether all passed, and there was something to pass.
pub fn run(options: &Options) -> Result<bool, String> {
    let mut cases = Vec::new();
    if let Some(version) = &options.claude {
        cases.extend(claude::cases(&installed(&options.npm, "claude", version)?));
    }
    if let Some(version) = &options.codex {
        cases.extend(codex::cases(&installed(&options.npm, "codex", version)?));
    }
    cases.retain(|case| {
        let line = format!("{}: {}", case.vendor, case.name);
        options.only.is_empty() || options.only.iter().any(|part| line.contains(part.as_str()))
    });
    if options.list {
        for case in &cases {
            say(&format!("{}: {}{}", case.vendor, case.name, note(case)))?;
        }
        return Ok(true);
    }
    let bin =
        options.bin.canonicalize().map_err(|error| format!("could not find {}: {error}", options.bin.display()))?;
    let total = cases.len();
    let queue: Mutex<VecDeque<Case>> = Mutex::new(cases.into());
    let failed = Mutex::new(0_usize);
    thread::scope(|scope| {
        for _ in 0..options.jobs.min(total) {
            scope.spawn(|| {
                loop {
                    let Some(case) = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else {
                        return;
                    };
                    if !one(case, options, &bin) {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&format!("{} passed, {failed} failed", total - failed))?;
    Ok(failed == 0 && total > 0)
}

/// Where `run` has npm put a vendor.
fn installed(npm: &Path, vendor: &str, version: &str) -> Result<PathBuf, String> {
    let path = npm.join(format!("{vendor}-{version}/node_modules/.bin/{vendor}"));
    path.canonicalize().map_err(|error| {
        format!(
            "could not find {}: {error}; tests/vendors/run installs it, --{vendor} none leaves it out",
            path.display()
        )
    })
}

fn one(case: Case, options: &Options, bin: &Path) -> bool {
    let title = format!("{}: {}{}", case.vendor, case.name, note(&case));
    let scratch = match Scratch::new(&options.runs, bin, &case.name, options.limit) {
        Ok(scratch) => Arc::new(scratch),
        Err(error) => {
            drop(say(&format!("FAIL {title}: could not make a scratch folder: {error}")));
            return false;
        }
    };
    let (sender, receiver) = mpsc::channel();
    let place = Arc::clone(&scratch);
    // A thread of its own: a case that hangs in its own code must not take the worker along.
    thread::spawn(move || drop(sender.send(case.judge((case.run)(&place)))));
    let outcome = match receiver.recv_timeout(options.limit + GRACE) {
        Ok(outcome) => outcome,
        Err(mpsc::RecvTimeoutError::Timeout) => Err("did not end before its deadline".to_string()),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("the case's own code panicked".to_string()),
    };
    scratch.sweep();
    let passed = outcome.is_ok();
    let line = match outcome {
        Ok(detail) if options.verbose && !detail.is_empty() => format!("ok   {title}: {detail}"),
        Ok(_) => format!("ok   {title}"),
        Err(detail) => {
            let kept = if options.keep {
                format!("; see {}", scratch.root.display())
            } else {
                "; --keep keeps the transcript".into()
            };
            format!("FAIL {title}: {detail}{kept}")
        }
    };
    if passed || !options.keep {
        scratch.remove();
    }
    drop(say(&line));
    passed
}

fn note(case: &Case) -> String {
    case.limit.map(|limit| format!(" (limit: {limit})")).unwrap_or_default()
}

fn say(line: &str) -> Result<(), String> {
    writeln!(io::stdout().lock(), "{line}").map_err(|error| format!("could not write to stdout: {error}"))
}
