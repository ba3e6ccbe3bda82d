//! A sealed workflow frame decides, call by call, what a coding agent may do.
//!
//! Rooms by subject; each knows only those above it in this list.

pub mod json;

pub mod frame;

pub mod seal;

pub mod line;

pub mod scope;

pub mod decide;

pub mod vendor;

pub mod host;

pub mod setup;

pub mod turn;

pub mod program;
