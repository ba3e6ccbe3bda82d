//! The suite on the real vendors. Each case runs Claude Code or Codex, headless, against a loopback stub of the model's
//! service, with the hook entry exactly as the product prints it. The files on disk afterwards decide the case.
//! `tests/vendors/run` builds, installs the vendors and starts this program.
// each failure is reported by a line that names the file
#![allow(clippy::disallowed_methods)]

mod ask;
mod beyond;
mod case;
mod claude;
mod codex;
mod docs;
mod entry;
mod frame;
mod http;
mod mcp;
mod options;
mod schemas;
mod scratch;
mod suite;

use std::io::{self, Write};
use std::process::ExitCode;

use options::Options;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [first, spec] if first == "mcp" => mcp::serve(spec).map(|()| true),
        _ => Options::parse(&arguments).and_then(|options| suite::run(&options)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            drop(writeln!(io::stderr().lock(), "vendor-suite: {message}"));
            ExitCode::from(2)
        }
    }
}
