//! A governed run of Claude Code.

pub mod launch;
pub mod stream;
