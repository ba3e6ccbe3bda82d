//! The hook program: one payload in, one answer out.
//!
//! A fault is remembered until the event is known, and then becomes the answer that keeps the call from running.

mod consult;
mod decider;
mod guard;
mod judge;
mod options;
mod paths;
mod resolve;

pub use consult::DeciderLink;
pub use decider::Decider;
pub(crate) use decider::Unanswered;
#[cfg(feature = "run")]
pub(crate) use decider::same_user;
pub(crate) use judge::Judged;
#[cfg(feature = "run")]
pub(crate) use judge::UNTIL;
pub use judge::{Surroundings, judge};
pub(crate) use options::DEADLINE;
pub use options::HookOptions;
#[cfg(feature = "setup")]
pub(crate) use options::LONGEST_DEADLINE;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use self::judge::stopped;
use crate::adapter::{Event, Hook, Verdict};
use crate::decide::clipped;
use crate::frame::shown;
use crate::os::{self, Exit};

/// The time for the answer after the deadline: the entry's own limit lies above it.
const LAST_WORD: Duration = Duration::from_secs(2);

/// Run the hook of one vendor.
pub fn run(vendor: &dyn Hook, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let start = Instant::now();
    // this program writes the reason itself
    std::panic::set_hook(Box::new(|_| {}));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let [only] = arguments.as_slice()
        && let Some(text) = only.to_str().and_then(|flag| about(vendor, flag))
    {
        return if os::say(vendor.facts().program, &text) { Exit::Answered } else { Exit::Blocked }.into();
    }
    os::hold_signals();
    answer_or_block(vendor, start, || work(vendor, start, arguments)).into()
}

/// The answer to a question about the program itself.
fn about(vendor: &dyn Hook, flag: &str) -> Option<String> {
    match flag {
        "--help" | "-h" => Some(help(vendor)),
        "--version" | "-V" => Some(format!("{} {}\n", vendor.facts().program, os::VERSION)),
        "--table" => Some(vendor.facts().table.print(vendor.facts())),
        _ => None,
    }
}

fn help(vendor: &dyn Hook) -> String {
    format!(
        "\
usage: {program} [--frame FILE [--digest HEX]] [--policy frame|deny-only] [--require-frame]
       {dots} [--audit FILE] [--decider WHICH] [--audit-input] [--deadline SECONDS] [--no-self-protect]
       {dots} [--unattended]
       {program} --table | --help | --version

{product} runs this for each tool call. It reads the call from standard input and answers by
the sealed frame in force: allow, abstain, deny or replace. Whatever goes wrong, the call does not run.

  --frame FILE         the frame in force, by absolute path      (or MH_FRAME)
                       neither given: no frame is in force, and the hook abstains
  --digest HEX         the frame must have this digest           (or MH_FRAME_DIGEST)
  --policy frame       an admitted call is allowed; the default  (or MH_POLICY)
  --policy deny-only   an admitted call is left to {product}'s own rules
  --require-frame      no frame is then a denial                 (or MH_REQUIRE_FRAME=1)
  --audit FILE         append one line a decision                (or MH_AUDIT)
  --audit-input        with the tool's input in it, which may hold secrets
  --decider WHICH      ask about every call that the frame       (or MH_DECIDER)
                       admits: exec:/abs/program or unix:/abs/socket
  --deadline SECONDS   for all of it, 20 unless told otherwise   (or MH_DEADLINE)
  --no-self-protect    let writes to the guard's own files be judged like any other
  --unattended         nobody is there to approve a call: mh-run starts the hook so
  --table              print which operation each tool of {product} carries

With --frame, settings come from the command line alone: a variable that says otherwise is
a mistake, and every call is denied.

exit codes: 0 answered, or nothing to say; 2 the call must not run
",
        program = vendor.facts().program,
        dots = " ".repeat(vendor.facts().program.len()),
        product = vendor.facts().product,
    )
}

/// Answer, and block on a panic: an escaped panic is exit 101, which both vendors take for permission.
fn answer_or_block(vendor: &dyn Hook, start: Instant, answer: impl FnOnce() -> Exit) -> Exit {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        let reason =
            format!("{}: a fault in this program, so the call was not run; please report it", vendor.facts().program);
        let wire = vendor.answer(Event::Gate, vendor.facts().gate, &Verdict::Deny(reason));
        catch_unwind(AssertUnwindSafe(|| os::deliver(&wire, start + DEADLINE))).unwrap_or(Exit::Blocked)
    })
}

fn work(vendor: &dyn Hook, start: Instant, arguments: Vec<OsString>) -> Exit {
    let environment = |name: &str| std::env::var_os(name);
    let setup = HookOptions::take(arguments, &environment);
    let deadline = start + setup.deadline;
    let input = os::read_stdin(deadline);
    let ask = |decider: &Decider, line: &str| decider.ask(line, deadline);
    let left = || deadline.saturating_duration_since(Instant::now());
    let embedder = Some(DeciderLink { ask: &ask, left: &left });
    let around = Surroundings { environment: &environment, folder: None, embedder, deadline: Some(deadline) };
    let mut judged = judge(vendor, &setup, &input, &around);
    if let (Some(file), true) = (&setup.audit, judged.counts) {
        judged.record.micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        judged.record.at = os::now();
        if let Err(error) = os::append(file, &judged.record.line()) {
            let file = clipped(&shown(&file.to_string_lossy()), 300);
            judged.verdict = Verdict::Deny(stopped(
                vendor,
                &setup,
                &format!("the audit line could not be written to {file}: {}", error.why()),
            ));
        }
    }
    // a decider may have used up the time, and its denial still has to go out
    os::deliver(&judged.wire(vendor), deadline.max(Instant::now() + LAST_WORD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::PREVIEWS;

    #[test]
    fn a_panic_blocks_and_is_no_other_exit_code() {
        // this fails with 101 if the profile ever aborts instead of unwinding
        for vendor in PREVIEWS {
            assert_eq!(answer_or_block(*vendor, Instant::now(), || panic!("injected")), Exit::Blocked);
        }
    }
}
