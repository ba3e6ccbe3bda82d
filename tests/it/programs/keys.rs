//! The reader finds every duplicate key. It is compared with a check that decodes keys by another reader and compares
//! every two of them.

use metaharness::json::Reader;
use proptest::prelude::*;

/// The first duplicate in a document, as `key@offset`.
fn read(text: &str) -> Option<String> {
    let mut reader = Reader::new(text.as_bytes()).unwrap();
    reader.skip().and_then(|()| reader.end()).unwrap();
    reader.duplicate().map(|found| format!("{}@{}", found.key, found.at))
}

/// The first duplicate, found by comparing decoded keys one by one.
fn naive(keys: &[String]) -> Option<(usize, String)> {
    let read: Vec<String> = keys.iter().map(|key| serde_json::from_str(key).unwrap()).collect();
    let mut at = 1;
    for (n, key) in read.iter().enumerate() {
        if read[..n].contains(key) {
            return Some((at, key.clone()));
        }
        at += keys[n].len() + ":0,".len();
    }
    None
}

fn object(keys: &[String]) -> String {
    let members: Vec<String> = keys.iter().map(|key| format!("{key}:0")).collect();
    format!("{{{}}}", members.join(","))
}

fn key() -> impl Strategy<Value = String> {
    let head =
        prop_oneof![Just(String::new()), Just(r"\u0061".repeat(60)), Just("a".repeat(60)), Just("h".repeat(700))];
    let part = prop_oneof![
        4 => "[a-c]", 1 => Just(r"\u0061".into()), 1 => Just(r"\ud83d\uDE00".into()), 1 => Just("\u{1f600}".into()),
        1 => Just(r"\/".into()), 1 => Just("/".into()), 1 => Just(r#"\""#.into()), 1 => Just(r"\u0022".into()),
        1 => Just(r"\n".into()), 1 => Just(r"\\".into()), 1 => Just("\u{e9}".into()), 1 => Just(r"\u00E9".into()),
    ];
    (head, prop::collection::vec(part, 0..6)).prop_map(|(head, parts)| format!("\"{head}{}\"", parts.concat()))
}

proptest! {
    #![proptest_config(crate::common::cases(256))]

    #[test]
    fn the_first_duplicate_is_the_one_that_comparing_every_two_keys_finds(
        keys in prop::collection::vec(key(), 0..80), twin in any::<prop::sample::Index>(), plain in 0_usize..40,
    ) {
        // objects with few and with many keys, with and without a duplicate; the rest of the document does not matter
        let few: Vec<String> = (0..plain).map(|n| format!("\"k{n}\"")).chain(keys.iter().cloned()).collect();
        let mut names: Vec<String> = Vec::new();
        let mut distinct = few.clone();
        distinct.retain(|key| {
            let name = serde_json::from_str(key).unwrap();
            let new = !names.contains(&name);
            names.push(name);
            new
        });
        let mut twice = distinct.clone();
        twice.extend((!distinct.is_empty()).then(|| twin.get(&distinct).clone()));
        for keys in [few, distinct, twice] {
            let text = object(&keys);
            let wanted = naive(&keys);
            let shown = |skipped: usize| wanted.as_ref().map(|(at, key)| format!("{key}@{}", at + skipped));
            prop_assert_eq!(read(&text), shown(0), "{}", text);
            let around = format!("{{\"\\u006b1\":{{\"k1\":[{text}]}},\"k2\":0}}");
            prop_assert_eq!(read(&around), shown(around.find(&text).unwrap_or(0)), "{}", around);
        }
    }
}

#[test]
fn the_first_duplicate_among_many_keys_is_found() {
    let count: usize = 20_000;
    for head in ["", r"\u0061\u0062", "hhhhhhhhh"] {
        let mut keys: Vec<String> = (0..count).map(|n| format!("\"{head}{n:x}\"")).collect();
        assert_eq!(read(&object(&keys)), None);
        let place = |n: usize, keys: &[String]| 1 + keys[..n].iter().map(|key| key.len() + 3).sum::<usize>();
        keys[count - 1] = keys[7].clone();
        keys[5_000] = keys[3].clone();
        keys[5_001] = keys[3].clone();
        let key: String = serde_json::from_str(&keys[3]).unwrap();
        assert_eq!(read(&object(&keys)), Some(format!("{key}@{}", place(5_000, &keys))));
    }
}
