//! Runs the cases side by side and reports them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use crate::case::{Case, Failure};
use crate::options::Options;
use crate::scratch::Scratch;
use crate::{beyond, claude, codex};

/// The time after a case's deadline in which the case may look at the disk and report.
const GRACE: Duration = Duration::from_secs(10);

/// Whether at least one case ran and all of them passed.
pub fn run(options: &Options) -> Result<bool, String> {
    let mut cases = Vec::new();
    if let Some(version) = &options.claude {
        cases.extend(claude::cases(&installed(&options.npm, "claude", version)?));
    }
    if let Some(version) = &options.codex {
        cases.extend(codex::cases(&installed(&options.npm, "codex", version)?));
    }
    if let Some(stale) = beyond::stale(&cases) {
        return Err(format!("tests/vendors/src/beyond.rs is stale: {stale}"));
    }
    // `--list` and `--only` reach the cases beyond the default set too
    let any = options.all || options.list || !options.only.is_empty();
    cases.retain(|case| {
        let line = format!("{}: {}", case.vendor, case.name);
        let wanted = options.only.is_empty() || options.only.iter().any(|part| line.contains(part.as_str()));
        wanted && (any || beyond::by_default(case))
    });
    if options.list {
        for case in &cases {
            let set = if beyond::by_default(case) { "" } else { " [--all]" };
            say(&format!("{}: {}{}{set}", case.vendor, case.name, note(case)))?;
        }
        let default = cases.iter().filter(|case| beyond::by_default(case)).count();
        say(&format!("{default} by default, {} with --all", cases.len()))?;
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
                    if !decided(&Arc::new(case), options, &bin) {
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

/// The vendor's program, where `run` had npm install it.
fn installed(npm: &Path, vendor: &str, version: &str) -> Result<PathBuf, String> {
    let path = npm.join(format!("{vendor}-{version}/node_modules/.bin/{vendor}"));
    path.canonicalize().map_err(|error| {
        format!(
            "could not find {}: {error}; tests/vendors/run installs it, --{vendor} none leaves it out",
            path.display()
        )
    })
}

/// Runs a case, and runs it again if it came to no verdict: on a busy machine a vendor may end before the script does.
/// A wrong outcome stands.
fn decided(case: &Arc<Case>, options: &Options, bin: &Path) -> bool {
    let title = format!("{}: {}{}", case.vendor, case.name, note(case));
    let outcome = match one(case, options, bin) {
        Err(Failure::NoVerdict(detail)) => {
            drop(say(&format!("again {title}: {detail}")));
            one(case, options, bin)
        }
        outcome => outcome,
    };
    drop(say(&match &outcome {
        Ok(detail) if options.verbose && !detail.is_empty() => format!("ok   {title}: {detail}"),
        Ok(_) => format!("ok   {title}"),
        Err(Failure::Wrong(detail) | Failure::NoVerdict(detail)) => format!("FAIL {title}: {detail}"),
    }));
    outcome.is_ok()
}

fn one(case: &Arc<Case>, options: &Options, bin: &Path) -> Result<String, Failure> {
    let mut scratch = Scratch::new(&options.runs, bin, &case.name, options.limit)
        .map_err(|error| Failure::NoVerdict(format!("could not make a scratch folder: {error}")))?;
    scratch.record = options.record;
    let scratch = Arc::new(scratch);
    let (sender, receiver) = mpsc::channel();
    let place = Arc::clone(&scratch);
    // In a thread of its own, so that a case whose code hangs does not block the worker.
    let run = Arc::clone(case);
    thread::spawn(move || drop(sender.send(run.judge((run.run)(&place)))));
    let outcome = match receiver.recv_timeout(options.limit + GRACE) {
        Ok(outcome) => outcome,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(Failure::NoVerdict("did not end before its deadline".into())),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(Failure::NoVerdict("the case's own code panicked".into())),
    };
    scratch.sweep();
    if outcome.is_ok() || !options.keep {
        scratch.remove();
    }
    let told =
        if options.keep { format!("; see {}", scratch.root.display()) } else { "; --keep keeps the transcript".into() };
    outcome.map_err(|failure| failure.told(&told))
}

fn note(case: &Case) -> String {
    case.limit.map(|limit| format!(" (limit: {limit})")).unwrap_or_default()
}

fn say(line: &str) -> Result<(), String> {
    writeln!(io::stdout().lock(), "{line}").map_err(|error| format!("could not write to stdout: {error}"))
}
