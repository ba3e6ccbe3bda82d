//! The hook that Claude Code runs before each tool call.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::hook::run(&metaharness::adapter::claude::Claude, std::env::args_os().skip(1))
}
