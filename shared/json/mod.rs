//! JSON, read strictly and written canonically.
//!
//! A permissive reader is a hole in a guard: where two readers of the same bytes can disagree, an agent chooses which
//! of them is asked. So this reader takes exactly one document of RFC 8259 with bounded depth, and reports every key
//! that stands twice in one object.

mod place;
mod read;
mod write;

pub(crate) use place::{Place, places};
pub use read::Reader;
pub(crate) use read::{Fault, Key, Kind};
pub(crate) use write::{Layout, Writer};
