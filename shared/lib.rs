//! A sealed workflow frame decides, call by call, what a coding agent may do.
//!
//! Rooms by subject; each knows only those above it in this list.

pub mod decide;
pub mod frame;
pub mod host;
pub mod json;
pub mod program;
pub mod scope;
pub mod seal;
pub mod setup;
pub mod vendor;
