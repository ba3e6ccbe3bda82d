//! The seal: the digest over a frame's canonical form. A frame may decide only if its seal was verified here.

mod faults;
mod refusal;

pub use faults::{DocumentFault, faults};
pub use refusal::{MAX_BYTES, Refusal};

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::frame::{self, Document, FORMAT, Frame, Tag};

/// A SHA-256, as 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest(String);

impl Digest {
    /// Only 64 lower-case hexadecimal digits are a digest.
    pub(crate) fn parse(text: &str) -> Option<Digest> {
        let hex = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| Digest(text.into()))
    }

    /// The SHA-256 of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            for half in [byte >> 4, byte & 15] {
                hex.extend(char::from_digit(half.into(), 16));
            }
        }
        Digest(hex)
    }

    /// All 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, which name a frame in a reason.
    pub(crate) fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A frame whose digest was computed or verified. Only this module makes one, and only such a frame may decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedFrame {
    frame: Frame,
    digest: Digest,
}

impl VerifiedFrame {
    /// The contents.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The digest of the contents.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The JSON document, as it is written to disk.
    pub fn document(&self) -> String {
        frame::document(&self.frame, self.digest.as_str())
    }

    /// The text that the digest is computed over.
    pub fn canonical(&self) -> String {
        frame::canonical(&self.frame)
    }

    /// The instruction text for the model.
    pub fn text(&self) -> frame::Text {
        frame::text(&self.frame, self.digest.as_str())
    }
}

/// Compute the digest of a frame.
pub fn seal(frame: Frame) -> VerifiedFrame {
    let digest = Digest::of(frame::canonical(&frame).as_bytes());
    VerifiedFrame { frame, digest }
}

/// Verify a sealed document. If a pin is given, the digest has to be the pin.
///
/// # Errors
/// The first refusal, in the order of [`Refusal`]'s variants.
pub fn verify(bytes: &[u8], pin: Option<&Digest>) -> Result<VerifiedFrame, Refusal> {
    let document = read(bytes)?;
    match document.tag {
        Tag::Text(tag) if tag == FORMAT => {}
        tag => return Err(Refusal::Untagged(tag)),
    }
    let sealed = seal(document.frame.map_err(Refusal::Misshapen)?);
    match document.digest {
        None => return Err(Refusal::NeverSealed),
        Some(stated) => intact(&sealed, stated)?,
    }
    match pin {
        Some(pin) if *pin != sealed.digest => Err(Refusal::Pinned { pinned: pin.clone(), found: sealed.digest }),
        _ => Ok(sealed),
    }
}

/// Whether [`mint`] made the seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Minted {
    /// The document had no valid seal.
    Now,
    /// The document was sealed already, and its digest described it.
    Before,
}

/// Seal a document that is not sealed yet; its tag may be left out. A document that is sealed and intact is returned as
/// it is. With `reseal`, a wrong digest in the document is replaced.
///
/// # Errors
/// As for [`verify`]. A digest that does not describe the document is refused without `reseal`: a person who changed a
/// sealed frame has to hear of it.
pub fn mint(bytes: &[u8], reseal: bool) -> Result<(VerifiedFrame, Minted), Refusal> {
    let document = read(bytes)?;
    match document.tag {
        Tag::Absent => {}
        Tag::Text(tag) if tag == FORMAT => {}
        tag => return Err(Refusal::Untagged(tag)),
    }
    let sealed = seal(document.frame.map_err(Refusal::Misshapen)?);
    match document.digest {
        Some(stated) if !stated.is_empty() => match intact(&sealed, stated) {
            Ok(()) => Ok((sealed, Minted::Before)),
            Err(_) if reseal => Ok((sealed, Minted::Now)),
            Err(refusal) => Err(refusal),
        },
        _ => Ok((sealed, Minted::Now)),
    }
}

fn read(bytes: &[u8]) -> Result<Document, Refusal> {
    if bytes.len() > MAX_BYTES {
        return Err(Refusal::TooLarge);
    }
    frame::read(bytes).map_err(Refusal::NotJson)
}

/// Digests are compared as strings, so one in upper-case digits is refused.
fn intact(sealed: &VerifiedFrame, stated: String) -> Result<(), Refusal> {
    if stated.is_empty() {
        return Err(Refusal::NeverSealed);
    }
    if stated != sealed.digest.as_str() {
        return Err(Refusal::Edited { stated, computed: sealed.digest.clone() });
    }
    Ok(())
}
