//! Faults: against both hooks, every fault of standard input, the outputs, the environment, the frame's file, the working
//! folder and the process that a system can produce, and what the vendor does then. `cargo test --test faults -- --nocapture`
//! prints the table: a row a fault, what the call comes to, and the hook's exit code.
// clippy takes only functions marked as tests for tests
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod audit;
mod clock;
// shared with the tests of the programs, which use more of it
#[allow(dead_code)]
#[path = "../programs/common.rs"]
mod common;
mod environment;
mod folder;
mod frame;
mod host;
mod outputs;
mod payload;
mod process;
mod row;
mod seal;
mod stdin;
mod swap;
