//! The hook that Codex runs before each tool call.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::hook::run(&metaharness::adapter::codex::Codex, std::env::args_os().skip(1))
}
