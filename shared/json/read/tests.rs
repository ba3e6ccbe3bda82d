use super::text::BEYOND;
use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<Option<String>, String> {
    let mut reader = Reader::new(text.as_bytes()).map_err(|e| e.to_string())?;
    reader.skip().and_then(|()| reader.end()).map_err(|e| e.to_string())?;
    Ok(reader.duplicate().map(|d| format!("{}@{}", d.key, d.at)))
}

#[test]
fn duplicate_keys_are_found_at_every_level_in_every_spelling_and_number() {
    assert_eq!(read(r#"{"a":1,"a":2}"#), Ok(Some("a@7".into())));
    assert_eq!(read(r#"{"x":[{"a":1,"\u0061":2}]}"#), Ok(Some("a@13".into())));
    assert_eq!(read(r#"{"a":{"a":1},"b":{"a":1}}"#), Ok(None));
    for count in [15, 16, 17, 18, 500] {
        let keys: Vec<String> = (0..count).map(|i| format!("\"k{i}\":0")).collect();
        assert_eq!(read(&format!("{{{}}}", keys.join(","))), Ok(None), "{count}");
        for twice in [0, count / 2, count - 1] {
            let text = format!("{{{},\"\\u006b{twice}\":0}}", keys.join(","));
            let found = read(&text).unwrap().unwrap();
            assert!(found.starts_with(&format!("k{twice}@")), "{count} {twice} {found}");
        }
    }
}

#[test]
fn one_key_over_and_over_takes_no_more_memory_than_it_has_to() {
    let text = format!("{{{}\"\":0}}", "\"\":0,".repeat(100_000));
    let mut reader = Reader::new(text.as_bytes()).unwrap();
    reader.skip().unwrap();
    assert_eq!(reader.duplicate().unwrap().at, 6);
    assert!(size_of_val(&*reader.keys.spare_capacity_mut()) < text.len() / 100);
}

#[test]
fn a_tag_goes_by_all_of_a_key_and_by_the_secret() {
    // with further bytes behind the key, and without
    let tag = |point, key: &str| {
        let tag = |bytes: &str| Secret::tag(&mut Some(Secret(point)), bytes.as_bytes(), key.len());
        assert_eq!(tag(key), tag(&format!("{key}\"0123456789")));
        tag(key)
    };
    let keys: Vec<String> = (0..40).flat_map(|n| ["a", "b", "\0"].map(|c| c.repeat(n))).collect();
    let mut tags: Vec<u32> = keys.iter().map(|key| tag(0x0123_4567_89ab_cdef, key)).collect();
    assert_eq!(tag(5, "abcdefghijk"), tag(5, "abcdefghijk"));
    assert_ne!(tag(5, "abcdefghijk"), tag(6, "abcdefghijk"));
    tags.sort_unstable();
    tags.dedup();
    // the empty key is there three times
    assert_eq!(tags.len(), keys.len() - 2);
    // a step is arithmetic modulo the prime
    let exact = |value: u64, coefficient: u64, point: u64| {
        ((u128::from(value) + u128::from(coefficient)) * u128::from(point) % u128::from(Secret::PRIME)) as u64
    };
    for value in [0, 1, Secret::PRIME - 1, Secret::PRIME, Secret::PRIME + 7, 1 << 60] {
        for coefficient in [0, 1, (1 << 56) - 1] {
            for point in [0, 1, 2, Secret::PRIME - 1] {
                let step = Secret(point).step(value, coefficient);
                assert!(step <= Secret::PRIME + 7, "{step}");
                assert_eq!(step % Secret::PRIME, exact(value, coefficient, point));
            }
        }
    }
}

#[test]
fn reading_ends_when_the_deadline_has_passed() {
    let text = format!("[{}0]", "0,".repeat(STRIDE));
    let read = |deadline| Reader::new(text.as_bytes()).unwrap().until(deadline).skip();
    assert_eq!(read(Some(Instant::now())).unwrap_err().to_string(), "byte 1: the deadline passed here");
    assert_eq!(read(None), Ok(()));
    assert_eq!(read(Instant::now().checked_add(std::time::Duration::from_secs(1 << 20))), Ok(()));
}

#[test]
fn depth_is_bounded_at_127() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(read(&nested(127)), Ok(None));
    assert_eq!(read(&nested(128)), Err("byte 127: nested more than 127 levels deep".into()));
    assert!(read(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn what_is_not_json_is_named_with_its_byte() {
    for (text, wanted) in [
        ("", "byte 0: it is empty"),
        (" \n", "byte 0: there is nothing but white space in it"),
        ("\u{feff}{}", "byte 0: it begins with a byte order mark; save it as UTF-8 without one"),
        ("{} {}", "byte 3: there are bytes after the end of the document"),
        ("{\"a\":1,}", "byte 7: a comma before the closing bracket"),
        ("[1 2]", "byte 3: expected `,` or `]`, found `2`"),
        ("{\"a\" 1}", "byte 5: expected `:` after a key, found `1`"),
        ("{a:1}", "byte 1: expected a key in double quotes, found `a`"),
        ("[02]", "byte 2: expected `,` or `]`, found `2`"),
        ("[+2]", "byte 1: expected a value, found `+`"),
        ("[NaN]", "byte 1: expected a value, found `N`"),
        ("[nul]", "byte 1: expected a value, found `n`"),
        ("[1.]", "byte 3: expected a digit, found `]`"),
        ("[1e999]", "byte 1: number out of range"),
        ("[\"\\ud800\"]", "byte 2: a lone surrogate, `\\ud800`, which is no character"),
        ("[\"\\ud800\\u0041\"]", "byte 2: a lone surrogate, `\\ud800`, which is no character"),
        ("[\"\\udc00\"]", "byte 2: a lone surrogate, `\\udc00`, which is no character"),
        ("[\"\\u12\"]", "byte 2: `\\u` without four hexadecimal digits"),
        ("[\"\\x\"]", "byte 2: an escape that JSON does not have"),
        ("[\"a\tb\"]", "byte 3: a control character in a string, not escaped"),
        ("[\"abc", "byte 5: the document ends inside a string"),
        ("{\"a\":", "byte 5: the document ends where a value should be"),
    ] {
        assert_eq!(read(text), Err(wanted.to_string()), "{text:?}");
    }
}

#[test]
fn objects_of_any_size_close_and_their_keys_are_told_apart_from_those_around_them() {
    for count in [0, 1, 16, 17, 40] {
        let keys: Vec<String> = (0..count).map(|i| format!("\"k{i}\":[{{\"k0\":{i}}},[]]")).collect();
        let inner = format!("{{{}}}", keys.join(","));
        assert_eq!(read(&format!("{{\"k1\":{inner},\"k\":{inner},\"a\":[{inner},{{}}]}}")), Ok(None), "{count}");
        let twice = format!("{{\"k1\":{inner},\"k1\":0}}");
        assert_eq!(read(&twice), Ok(Some(format!("k1@{}", inner.len() + 7))), "{count}");
    }
}

/// Whether this reader refuses a number, and whether its double is infinite.
fn refused_and_infinite(number: &str) -> (bool, bool) {
    let found = read(number);
    assert!(found == Ok(None) || found == Err("byte 0: number out of range".into()), "{number} {found:?}");
    (found.is_err(), number.parse::<f64>().unwrap().is_infinite())
}

#[test]
fn the_least_number_out_of_range_is_where_doubles_end() {
    let beyond = std::str::from_utf8(BEYOND).unwrap();
    let below = format!("{}1", beyond.strip_suffix('2').unwrap());
    let (zeros, more) = ("0".repeat(400), "0".repeat(5_000));
    for (digits, out) in [(beyond, true), (&below, false)] {
        let mut numbers = vec![
            digits.to_string(),
            format!("{digits}.0{more}1"),
            format!("{digits}{zeros}.{more}1e-400"),
            format!("0.{zeros}{digits}e709"),
            format!("0.{more}{digits}{more}e5309"),
        ];
        for point in 1..309 {
            let (whole, part) = digits.split_at(point);
            numbers.push(format!("{whole}.{part}e{}", 309 - point));
            numbers.push(format!("-{whole}.{part}0E+000{}", 309 - point));
            numbers.push(format!("-0.{}{digits}e{}", "0".repeat(point), 309 + point));
            numbers.push(format!("{digits}{}E-{point}", "0".repeat(point)));
        }
        for number in numbers {
            assert_eq!(refused_and_infinite(&number), (out, out), "{number}");
        }
    }
    for number in ["0e999999999", "-0.000e400", "1e308", "1e309", "0.1e309", "0.1e310", "2e308", "1e-999999999"] {
        let (found, wanted) = refused_and_infinite(number);
        assert_eq!(found, wanted, "{number}");
    }
    assert!(read("1e99999999999999999999999").is_err());
    assert_eq!(read("1e-99999999999999999999999"), Ok(None));
    // the only numbers that std reads differently: it stops at the sixth digit of an exponent
    let one = format!("1{}e-1000000", "0".repeat(1_000_000));
    assert_eq!(refused_and_infinite(&one), (false, true));
}

proptest! {
    #[test]
    fn a_number_is_out_of_range_where_a_double_is_infinite(
        whole in "-?(0|[1-9][0-9]{0,4}|1797693134862315[0-9]{0,300}|[1-9][0-9]{290,320})",
        part in "(|\\.0{0,320}[0-9]{1,20})",
        exponent in "(|[eE][+-]?0{0,3}([0-9]|[1-9][0-9]|[2-4][0-9]{2}|30[0-9]|31[0-9]))",
    ) {
        let number = format!("{whole}{part}{exponent}");
        let (found, wanted) = refused_and_infinite(&number);
        prop_assert_eq!(found, wanted, "{}", number);
    }
}

#[test]
fn strings_come_out_with_their_escapes_resolved() {
    let text = r#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é""#;
    let mut reader = Reader::new(text.as_bytes()).unwrap();
    assert_eq!(reader.string().unwrap(), "a\"\\/\u{8}\u{c}\n\r\té😀é");
}

#[test]
fn the_fast_run_stops_where_the_slow_one_would() {
    for at in 0..40 {
        for stop in [b'"', b'\\', 0x1F, 0x00] {
            let mut bytes = vec![b'z'; 40];
            bytes[at] = stop;
            assert_eq!(plain_run(&bytes), at);
        }
    }
    assert_eq!(plain_run("é\u{7f}\u{ff}! ".repeat(9).as_bytes()), "é\u{7f}\u{ff}! ".repeat(9).len());
}
