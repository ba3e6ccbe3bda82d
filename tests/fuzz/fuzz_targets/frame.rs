//! Any bytes as a frame: no panic. An independent reader takes an accepted document for the same value, and its digest
//! is the digest of exactly that value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metaharness::frame::FORMAT;
use metaharness::seal::{Digest, Refusal, mint, verify};
use metaharness_fuzz::frame::canonical;
use metaharness_fuzz::json::Json;

fuzz_target!(|bytes: &[u8]| {
    let other = Json::read(bytes).filter(|document| document.members().is_some());
    let shape = other.as_ref().and_then(canonical);
    let tag = other.as_ref().and_then(|document| document.get("format"));
    let tagged = tag.and_then(Json::text) == Some(FORMAT);
    let stated = other.as_ref().and_then(|document| document.get("digest")).and_then(Json::text).unwrap_or_default();
    let digest = shape.as_ref().map(|canonical| Digest::of(canonical.as_bytes()));
    let sealed = digest.as_ref().is_some_and(|digest| digest.as_str() == stated);

    let verified = verify(bytes, None);
    match &verified {
        Ok(frame) => {
            assert!(tagged && sealed, "accepted, and nobody else would");
            assert_eq!(Some(frame.digest()), digest.as_ref());
            assert_eq!(Some(frame.canonical()), shape);
            assert_eq!(verify(frame.document().as_bytes(), digest.as_ref()).as_ref(), Ok(frame));
            let other = Digest::of(b"another");
            assert!(matches!(verify(bytes, Some(&other)), Err(Refusal::Pinned { .. })));
        }
        Err(refusal) => {
            let wanted = match (&other, &shape) {
                (None, _) => "not json",
                (Some(_), _) if !tagged => "untagged",
                (Some(_), None) => "misshapen",
                _ if stated.is_empty() => "never sealed",
                _ if !sealed => "edited",
                _ => "nothing",
            };
            assert_eq!(refusal.name(), wanted, "{refusal}");
            assert!(!refusal.to_string().is_empty());
        }
    }

    // an unsealed document may leave its tag out; everything that is sealed here verifies
    let fits = shape.is_some() && (tagged || tag.is_none());
    for reseal in [false, true] {
        match mint(bytes, reseal) {
            Ok((frame, _)) => {
                assert!(fits && (sealed || stated.is_empty() || reseal));
                assert_eq!(Some(frame.canonical()), shape);
                assert_eq!(verify(frame.document().as_bytes(), None), Ok(frame));
            }
            Err(_) => assert!(!fits || !(sealed || stated.is_empty() || reseal)),
        }
    }
});
