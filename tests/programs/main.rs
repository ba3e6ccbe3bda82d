//! The tests of the built programs, by subject, in one crate so that it is linked once. Black box: a program is started, and what it says
//! and how it ends is compared with what the tables and pages say.
// clippy takes only functions marked as tests for tests
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod audit;
mod common;
mod documents;
mod events;
mod keys;
mod launch;
mod limits;
mod mcp;
mod ordinary;
mod patches;
mod payloads;
mod properties;
mod protection;
mod reports;
mod reports_sealed;
mod round;
mod scope;
mod seal;
mod seal_new;
mod setup;
mod text;
mod tools;
mod verify;
