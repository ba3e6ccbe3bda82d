//! The payloads of Claude Code's hook, and its answers.

pub mod answer;
pub mod table;
pub mod takes;
