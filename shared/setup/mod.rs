//! The vendors' configuration: our entries into it, out of it, and whether they hold.

pub mod claude;
pub mod codex;
pub mod dotenv;
pub mod fire;
pub mod lock;
pub mod obeyed;
pub mod place;
pub mod release;
pub mod report;
pub mod terms;
pub mod text;
pub mod tree;
