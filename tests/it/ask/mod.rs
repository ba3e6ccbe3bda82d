//! `mh-run` with its turn as lines, and `--decisions ask`, where an embedder steers the turn. The vendors are stand-ins
//! that fire the real hooks.

mod asking;
mod calls;
mod commands;
mod ends;
mod readers;
mod start;
mod strangers;
mod stream;
mod told;
