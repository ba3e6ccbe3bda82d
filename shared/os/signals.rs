//! Holding back signals, so that a hook gives its answer.

use std::sync::Arc;

use nix::sys::signal::SigSet;
use signal_hook::consts::signal as known;

/// The signals that would end or stop a process and can be caught.
const CAUGHT: [i32; 18] = [
    known::SIGHUP,
    known::SIGINT,
    known::SIGQUIT,
    known::SIGTRAP,
    known::SIGABRT,
    known::SIGUSR1,
    known::SIGUSR2,
    known::SIGALRM,
    known::SIGTERM,
    known::SIGTSTP,
    known::SIGTTIN,
    known::SIGTTOU,
    known::SIGXCPU,
    known::SIGXFSZ,
    known::SIGVTALRM,
    known::SIGPROF,
    known::SIGIO,
    known::SIGSYS,
];

/// Hold back every signal that can be held back, until the process ends. Both vendors take a hook that a signal ended
/// for permission to go on. A write beyond a limit on file sizes then fails with an error instead of SIGXFSZ.
///
/// A deadline still ends the process, and so do SIGKILL and a fault of its own.
pub fn hold() {
    // it fails only on an invalid argument
    let _ = SigSet::all().thread_block();
}

pub fn release() {
    let _ = SigSet::all().thread_unblock();
}

/// Run `work` with no signal held back, since a program inherits the held signals of its starter. Signals that come
/// before or during `work` are caught by a handler, which a started program does not inherit.
pub fn free<T>(work: impl FnOnce() -> T) -> T {
    for signal in CAUGHT {
        // if a handler cannot be set, the signal ends the hook, and the vendor's entry blocks the call
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
    release();
    let done = work();
    hold();
    done
}
