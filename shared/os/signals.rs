//! Signals.

use std::sync::Arc;

use nix::sys::signal::SigSet;
use signal_hook::consts::signal as known;

/// What ends or stops a process that does not ask for it, and can be asked for.
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

/// Hold back every signal that can be held back, from here to the end of the process. Both vendors take a hook that a
/// signal ended for permission to go on. What a limit on file sizes sends is then an error of the write.
///
/// A deadline ends the process in any case, and SIGKILL and a fault of its own still do.
pub fn hold() {
    // there is no set of signals that cannot be held
    let _ = SigSet::all().thread_block();
}

/// Hold none back any more.
pub fn release() {
    let _ = SigSet::all().thread_unblock();
}

/// Run this with no signal held back, for a program that is started has what its starter has. Those that came before, and
/// those that come meanwhile, are caught instead, which a started program does not take over.
pub fn free<T>(work: impl FnOnce() -> T) -> T {
    for signal in CAUGHT {
        // one that cannot be caught ends the hook as before, and the entry blocks
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
    release();
    let done = work();
    hold();
    done
}
