//! Runs one turn of a vendor's program under a frame; `--help` says how.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::cli::turn(std::env::args_os().skip(1))
}
