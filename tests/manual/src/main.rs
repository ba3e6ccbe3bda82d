//! `manual PROGRAMS OUT`: man pages and shell completions of the programs in the folder PROGRAMS, into `OUT/man` and
//! `OUT/completions`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let done = match arguments.as_slice() {
        [programs, out] => manual::made(programs, out),
        _ => Err("usage: manual PROGRAMS OUT".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("manual: {why}");
            ExitCode::FAILURE
        }
    }
}
