//! The tests of the built programs, by subject, in one program so that it is linked once. Black box: a program is started,
//! and what it says and how it ends is compared with what the tables and pages say. `cargo test --test it faults::` runs one
//! subject.
//!
//! They share a process, and run side by side in it: a test that needs another folder, environment, limit or mask gives it to
//! the program that it starts, never to itself.
// clippy takes only functions marked as tests for tests
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
