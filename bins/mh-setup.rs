//! Puts a hook into a vendor's configuration, and tells whether one is on; `--help` says how.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::cli::setup(std::env::args_os().skip(1))
}
