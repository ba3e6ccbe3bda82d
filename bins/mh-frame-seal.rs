//! Seals a frame; `--help` says how.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::cli::seal(std::env::args_os().skip(1))
}
