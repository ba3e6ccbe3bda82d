//! The tests of the built programs, by subject, in one program so that it is linked once. They are black-box tests: a
//! test starts a program and compares its output and exit code with the tables and pages. `cargo test --test it
//! faults::` runs one subject.
//!
//! The tests run side by side in one process. A test that needs another folder, environment, limit or mask sets it on
//! the program that it starts, never on this process.
// clippy counts only functions marked `#[test]` as tests
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod ask;
mod clients;
mod common;
mod decider;
mod docs;
mod faults;
mod install;
mod layout;
mod lines;
mod manual;
mod programs;
mod run;
mod setup;
mod voice;
