//! Verifies frames.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::program::verify(std::env::args_os().skip(1))
}
