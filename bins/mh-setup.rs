//! Puts the hooks into a vendor's configuration.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::cli::setup(std::env::args_os().skip(1))
}
