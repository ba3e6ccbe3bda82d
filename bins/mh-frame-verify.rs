//! Verifies a frame and says what it admits; `--help` says how.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::cli::verify(std::env::args_os().skip(1))
}
