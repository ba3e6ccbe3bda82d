//! Signals.

use nix::sys::signal::SigSet;

/// Hold back every signal that can be held back, from here to the end of the process. Both vendors take a hook that a
/// signal ended for leave to go on. What a limit on file sizes sends is then an error of the write.
///
/// A deadline ends the process in any case, and SIGKILL and a fault of its own still do.
pub fn hold() {
    // there is no set of signals that cannot be held
    let _ = SigSet::all().thread_block();
}

/// Run this with no signal held back: a program that is started has what its starter has.
pub fn free<T>(work: impl FnOnce() -> T) -> T {
    let _ = SigSet::all().thread_unblock();
    let done = work();
    hold();
    done
}
