//! A sealed workflow frame decides, call by call, what a coding agent may do.
//!
//! The modules stand in order: each uses only those above it.

pub mod json;

pub mod frame;

pub mod seal;

pub mod scope;

pub mod protocol;

pub mod decide;

pub mod os;

pub mod adapter;

pub mod hook;

#[cfg(feature = "setup")]
pub(crate) mod setup;

#[cfg(feature = "run")]
pub mod run;

pub mod cli;
