//! What setting up needs of a vendor: entries into its configuration and out of it, and what takes them away.

pub mod probe;
pub mod report;
pub mod terms;
pub mod text;
pub mod tree;
