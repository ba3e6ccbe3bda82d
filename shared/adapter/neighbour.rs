//! What the hook of every vendor has to know of each: whose payload it may be given by mistake, and what one vendor's
//! tools can take from another's guard.

use std::path::Path;

use super::payload::{Keys, Payload};
use super::places::Protected;
use super::{Environment, Facts, NEIGHBOURS};

/// A vendor, as the hooks of all vendors know it.
pub struct Neighbour {
    /// The word for it, and the name of its program: `claude`. No more of its facts: each hook would carry the tables of all.
    pub word: &'static str,
    /// The program, by the name its users know: `Claude Code`.
    pub product: &'static str,
    /// Whether a payload has all of the keys that only this vendor's have, and none that only another's have.
    pub owns: fn(Keys) -> bool,
    /// The places that it is governed by and started from.
    pub places: fn(Environment<'_>, Option<&Path>) -> Vec<Protected>,
    /// Two folders one in the other, below which it makes copies of a working tree.
    pub copies: Option<[&'static str; 2]>,
}

/// Whose payload this is, if it is not this vendor's.
pub fn stranger(own: &Facts, payload: &Payload<'_>) -> Option<&'static str> {
    let Keys { generation_id, camel_tool, .. } = payload.keys;
    match payload.event.as_str() {
        _ if generation_id => Some("Cursor"),
        _ if camel_tool => Some("Copilot"),
        "BeforeTool" | "AfterTool" | "BeforeToolSelection" | "BeforeModel" | "BeforeAgent" => Some("Gemini CLI"),
        _ => {
            let others = NEIGHBOURS.iter().filter(|other| other.word != own.word);
            others.filter(|other| (other.owns)(payload.keys)).map(|other| other.product).next()
        }
    }
}

/// Whether these folders, from the project down, lead into a copy of a working tree that a vendor made.
pub fn is_copy(parts: &[impl AsRef<std::ffi::OsStr>]) -> bool {
    let mut copies = NEIGHBOURS.iter().filter_map(|vendor| vendor.copies);
    copies.any(|copies| parts.windows(2).any(|pair| pair.iter().zip(copies).all(|(part, name)| part.as_ref() == name)))
}
