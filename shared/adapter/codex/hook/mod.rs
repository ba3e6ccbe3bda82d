//! The payloads of Codex's hook, and its answers.

pub mod answer;
pub mod patch;
pub mod table;
pub mod takes;
