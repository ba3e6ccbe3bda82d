//! Complaints about sealed and hashed JSON. Each test meets the complaints above it, as in `reports.rs`.

use serde_json::Value;

use crate::common::{GOLDEN, Run, fixture, run};

fn golden() -> std::path::PathBuf {
    fixture("golden/frame.json")
}

fn document(name: &str) -> String {
    fixture(format!("documents/{name}.json")).to_str().unwrap().into()
}

fn verdict(name: &str) -> String {
    let file = document(name);
    let answer = run("mh-frame-verify", [&file]);
    answer.stdout.strip_prefix(&format!("{file}: ")).unwrap().trim_end().into()
}

// serde-rs/json#762 and #1113, Cyphrme/Coz#26, theupdateframework/python-tuf#372,
// freedomofpress/securedrop-client#1752, luckyPipewrench/agent-egress-bench#56: of two equal keys, one reader takes the
// first and another reader the last
#[test]
fn a_key_that_stands_twice_is_named() {
    for (name, key) in [
        ("duplicate-operations", "operations"),
        ("duplicate-nested", "index"),
        ("duplicate-digest", "digest"),
        ("unknown-spelled-by-escape", "op"),
    ] {
        let verdict = verdict(name);
        assert!(verdict.starts_with("REFUSED misshapen: byte "), "{verdict}");
        assert!(verdict.ends_with(&format!(": the key `{key}` stands twice in one object")), "{verdict}");
    }
}

// a key outside the digest can be added to a sealed file, and the digest still holds
#[test]
fn a_key_that_no_digest_covers_is_named() {
    for name in ["unknown-top-level", "unknown-op-parameter"] {
        let verdict = verdict(name);
        assert!(verdict.starts_with("REFUSED misshapen: byte "), "{verdict}");
        assert!(verdict.contains(": `allow_network` is no key of "), "{verdict}");
    }
    assert_eq!(verdict("subjects-empty"), format!("OK {GOLDEN}"), "a key that is known");
}

// serde-rs/json#805, #1115: a byte order mark is called an expected value
#[test]
fn a_byte_order_mark_and_utf_16_are_named() {
    assert!(verdict("bom").contains("byte order mark"));
    assert!(verdict("utf16").contains("UTF-16"));
}

// trace-spec#74, sipyourdrink-ltd/bernstein#5094: encoders escape characters that the canonical form leaves unescaped
#[test]
fn a_digest_over_another_encoders_bytes_is_not_the_seal() {
    for name in ["text-ascii-digest", "text-html-go-digest"] {
        assert!(verdict(name).starts_with("REFUSED edited: "), "{name}");
    }
    for name in ["text-html", "text-slash-escaped"] {
        assert!(verdict(name).starts_with("OK "), "{name}");
    }
}

// evik42/serde-json-canonicalizer#9, acg-box/decodex#1110, denoland/deno#8163: a feature that another crate switched on
// changed the order of keys, and so every digest
#[test]
fn the_canonical_bytes_depend_on_no_crates_map() {
    // the modules that make digests do not use serde_json, so its features cannot change them
    let mut looked = 0;
    for (path, text) in crate::common::sources() {
        if ["json/", "frame/", "seal/"].iter().any(|room| path.starts_with(room)) {
            // unit tests may compare a module with another reader
            let text = text.split("#[cfg(test)]").next().unwrap();
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            assert!(!code.join("\n").contains("serde"), "{path}");
            looked += 1;
        }
    }
    assert!(looked > 8);
    // the order of the keys in the file does not matter either: here the golden frame's keys are reversed
    let value: Value = serde_json::from_str(&fs_err::read_to_string(golden()).unwrap()).unwrap();
    let mut members: Vec<String> =
        value.as_object().unwrap().iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    members.reverse();
    let answer = Run::of("mh-frame-verify").args(["-"]).stdin(format!("{{{}}}", members.join(","))).answer();
    assert_eq!(answer.stdout, format!("-: OK {GOLDEN}\n"));
}

// mozilla/normandy#1210, sipyourdrink-ltd/bernstein#5494: the same number in several spellings
#[test]
fn a_whole_number_has_one_spelling() {
    for name in [
        "index-float",
        "index-exponent",
        "index-minus-zero",
        "index-leading-zero",
        "index-plus",
        "index-nan",
        "index-string",
        "index-huge",
    ] {
        let verdict = verdict(name);
        assert!(
            verdict.starts_with("REFUSED misshapen: ") || verdict.starts_with("REFUSED not json: "),
            "{name}: {verdict}"
        );
    }
}

// google-agentic-commerce/AP2#265: there was no rule about normal forms
#[test]
fn a_text_is_its_code_points_without_normalisation() {
    let (nfc, nfd) = (verdict("text-nfc"), verdict("text-nfd"));
    assert!(nfc.starts_with("OK ") && nfd.starts_with("OK ") && nfc != nfd);
    assert!(verdict("text-nfd-with-nfc-digest").starts_with("REFUSED edited: "));
}

// sigstore/cosign#1821, #2131, #3908: verification answered another question than the one that was asked
#[test]
fn three_exit_codes_tell_three_things() {
    let (good, bad) = (document("golden"), document("flip-index"));
    assert_eq!(run("mh-frame-verify", [&good, &good]).code, 0);
    let answer = run("mh-frame-verify", [&good, &bad]);
    assert_eq!((answer.code, answer.stdout.lines().count()), (1, 2));
    assert_eq!(run("mh-frame-verify", ["/nonexistent"]).code, 2);
    let answer = run("mh-frame-verify", [""; 0]);
    assert_eq!(
        (answer.code, &*answer.stderr),
        (2, "mh-frame-verify: no file is given: name one, or - for standard input; see --help\n")
    );
}

// flop-labs/technocore-sonnet-challenge#3: the digest covered the file in place of its canonical form
#[test]
fn the_bytes_under_the_digest_can_be_printed_and_hashed() {
    let sealed =
        Run::of("mh-frame-seal").args(["--print", "digest"]).stdin(fs_err::read(golden()).unwrap()).answer().stdout;
    assert_eq!(sealed, format!("{GOLDEN}\n"));
    let golden = golden();
    let canonical = run("mh-frame-verify", [golden.to_str().unwrap(), "--print", "canonical"]).stdout;
    let digest: String =
        <sha2::Sha256 as sha2::Digest>::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, GOLDEN);
}
