//! The suite on the real vendors: each case drives Claude Code or Codex, headless, on a
//! loopback stub of its model's service, with the hook entry exactly as the product
//! prints it, and is judged by what is on disk afterwards. `tests/vendors/run` builds,
//! installs the vendors, and starts this.
// a failure is a line of its report, which names the file itself
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
