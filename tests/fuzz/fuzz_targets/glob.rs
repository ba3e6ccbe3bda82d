//! A glob and a text, each on one line, and a third line that fills the stars: the matcher agrees with the plain
//! definition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metaharness::scope::matches;

/// The plain definition: `*` is any run without `/`, `**` is any run, every other byte is itself, and the glob matches
/// the whole text.
fn plain(glob: &[u8], text: &[u8]) -> bool {
    match glob {
        [] => text.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=text.len()).any(|run| plain(rest, &text[run..])),
        [b'*', rest @ ..] => {
            (0..=text.len()).take_while(|run| !text[..*run].contains(&b'/')).any(|run| plain(rest, &text[run..]))
        }
        [byte, rest @ ..] => text.first() == Some(byte) && plain(rest, &text[1..]),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = std::str::from_utf8(bytes) else { return };
    let mut lines = input.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (glob, text, filling) = (line(), line(), line());
    // the plain definition takes exponential time
    if glob.matches('*').count() <= 6 && text.len() <= 40 {
        assert_eq!(matches(glob, text), plain(glob.as_bytes(), text.as_bytes()), "{glob:?} {text:?}");
    }
    // a glob matches the text that filling its stars makes of it, at any length
    let narrow: String = filling.chars().filter(|c| *c != '/').collect();
    let filled: Vec<String> = glob.split("**").map(|part| part.replace('*', &narrow)).collect();
    let filled = filled.join(filling);
    assert!(matches(glob, &filled), "{glob:?} {filled:?}");
});
