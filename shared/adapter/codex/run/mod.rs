//! A governed run of Codex.

pub mod agreed;
pub mod launch;
pub mod rollout;
pub mod stream;
