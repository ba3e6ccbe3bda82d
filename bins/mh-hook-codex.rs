//! The hook that Codex runs for each tool call.

use std::process::ExitCode;

fn main() -> ExitCode {
    metaharness::program::hook::<metaharness::vendor::codex::Codex>(std::env::args_os().skip(1))
}
