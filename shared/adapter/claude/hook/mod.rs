//! What Claude Code's hook is given, and what it answers.

pub mod answer;
pub mod table;
pub mod takes;
