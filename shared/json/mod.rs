//! JSON, read strictly and written canonically.
//!
//! A permissive reader is a hole in a guard: where two readers of the same bytes can
//! disagree, an agent chooses which of them is asked. So the reader here takes one
//! document of RFC 8259, nothing before it and nothing after it, bounded in depth, and
//! reports every key that stands twice in one object.

mod place;
mod read;
mod write;

pub use place::{Place, places};
pub use read::{Duplicate, Fault, Key, Kind, MAX_DEPTH, Number, Reader};
pub use write::{Layout, Writer};
