//! `mh-setup` as people run it, in homes made for the purpose.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod claude;
mod codex;
mod doctor;
mod older;
mod refusals;
#[path = "../schema/mod.rs"]
mod schema;
mod scratch;
