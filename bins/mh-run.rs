//! Runs one governed turn of a vendor's program.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::cli::turn(std::env::args_os().skip(1))
}
