//! The seal: the digest over a frame's canonical form, and the one way to a frame that may decide.

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
    /// A digest as somebody wrote it; anything but 64 lower-case hexadecimal digits is none.
    pub fn parse(text: &str) -> Option<Digest> {
        let hex = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| Digest(text.into()))
    }

    /// The digest of these bytes.
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

    /// The first twelve, which name a frame in a reason.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A frame whose seal describes it. Only this room makes one, and nothing else may decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedFrame {
    frame: Frame,
    digest: Digest,
}

impl VerifiedFrame {
    /// The frame.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Its digest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The document, as it is written to disk.
    pub fn document(&self) -> String {
        frame::document(&self.frame, self.digest.as_str())
    }

    /// The bytes that the digest is over.
    pub fn canonical(&self) -> String {
        frame::canonical(&self.frame)
    }

    /// The instruction text.
    pub fn text(&self) -> frame::Text {
        frame::text(&self.frame, self.digest.as_str())
    }
}

/// Seal a frame.
pub fn seal(frame: Frame) -> VerifiedFrame {
    let digest = Digest::of(frame::canonical(&frame).as_bytes());
    VerifiedFrame { frame, digest }
}

/// Verify a sealed document, and hold it to a pin where there is one.
///
/// # Errors
/// The refusals, in their fixed order.
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

/// Whether [`mint`] found the document sealed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Minted {
    /// It was not; the seal is new.
    Now,
    /// It was, and the seal described it.
    Before,
}

/// Seal a document that is not sealed yet, its tag left out or right. One that is sealed and
/// intact comes out as the same value. With `reseal`, a digest that stands in it is not asked.
///
/// # Errors
/// As for [`verify`]; above all a digest that does not describe the document: whoever changed a
/// sealed frame must be told.
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

/// By exact string, so upper-case digits are no digest.
fn intact(sealed: &VerifiedFrame, stated: String) -> Result<(), Refusal> {
    if stated.is_empty() {
        return Err(Refusal::NeverSealed);
    }
    if stated != sealed.digest.as_str() {
        return Err(Refusal::Edited { stated, computed: sealed.digest.clone() });
    }
    Ok(())
}
