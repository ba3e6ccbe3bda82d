//! `mh-run` that tells its turn in lines, and `--decisions ask`, where an embedder steers it: on
//! stand-ins that fire the real hooks.
#![allow(clippy::unwrap_used)]

mod asking;
mod calls;
mod commands;
mod ends;
mod readers;
#[path = "../run_common/mod.rs"]
mod run_common;
mod start;
mod strangers;
mod stream;
mod told;
