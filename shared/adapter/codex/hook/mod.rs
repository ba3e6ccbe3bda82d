//! What Codex's hook is given, and what it answers.

pub mod answer;
pub mod patch;
pub mod table;
pub mod takes;
