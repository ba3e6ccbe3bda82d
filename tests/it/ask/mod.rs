//! `mh-run` that tells its turn in lines, and `--decisions ask`, where an embedder steers it: on
//! stand-ins that fire the real hooks.

mod asking;
mod calls;
mod commands;
mod ends;
mod readers;
mod start;
mod strangers;
mod stream;
mod told;
