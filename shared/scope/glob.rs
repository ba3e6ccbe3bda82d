//! Glob matching by the frame format: `*` is any run of bytes without `/`, `**` any run of bytes, and every other byte
//! is itself. A glob matches the whole text, byte by byte; there is no escape and no class.

/// Whether the glob matches the whole text. The time grows with the product of their lengths; the plain recursive way
/// takes exponential time on a hostile glob.
pub fn matches(glob: &str, text: &str) -> bool {
    let Some(star) = glob.find('*') else { return glob == text };
    // in a long list, most rules differ from a path in their first bytes
    let (head, glob) = glob.split_at(star);
    let Some(text) = text.strip_prefix(head) else { return false };
    let pieces = pieces(glob.as_bytes());
    // open[i]: the first i pieces can match the text that was read so far
    let mut open = vec![false; pieces.len() + 1];
    let mut next = open.clone();
    open[0] = true;
    skip_stars(&pieces, &mut open);
    for &byte in text.as_bytes() {
        step(&pieces, &open, byte, &mut next);
        std::mem::swap(&mut open, &mut next);
    }
    open[pieces.len()]
}

/// The most pairs of states that [`covers`] looks at.
const MOST_STATES: usize = 20_000;

/// Whether `wide` matches every text that `narrow` matches. The answer is no if it would take more than [`MOST_STATES`]
/// to tell.
pub fn covers(wide: &str, narrow: &str) -> bool {
    if !narrow.contains('*') {
        return matches(wide, narrow);
    }
    if !wide.contains('*') {
        return false;
    }
    let (wide, narrow) = (pieces(wide.as_bytes()), pieces(narrow.as_bytes()));
    // every byte that one of the globs names, a slash, and one byte that stands for all others
    let mut letters: Vec<u8> = vec![b'/'];
    letters.extend(wide.iter().chain(&narrow).filter_map(|piece| match piece {
        Piece::Byte(byte) => Some(*byte),
        Piece::Star | Piece::DoubleStar => None,
    }));
    letters.extend((0..=u8::MAX).find(|byte| !letters.contains(byte)));
    letters.sort_unstable();
    letters.dedup();
    let start = |pieces: &[Piece]| {
        let mut open = vec![false; pieces.len() + 1];
        open[0] = true;
        skip_stars(pieces, &mut open);
        open
    };
    let mut left = vec![(start(&narrow), start(&wide))];
    let mut seen = std::collections::HashSet::new();
    while let Some((inside, outside)) = left.pop() {
        if inside[narrow.len()] && !outside[wide.len()] {
            return false;
        }
        if !seen.insert((inside.clone(), outside.clone())) || !inside.contains(&true) {
            continue;
        }
        if seen.len() > MOST_STATES {
            return false;
        }
        let stepped = |pieces: &[Piece], open: &[bool], byte: u8| {
            let mut next = vec![false; open.len()];
            step(pieces, open, byte, &mut next);
            next
        };
        left.extend(letters.iter().map(|byte| (stepped(&narrow, &inside, *byte), stepped(&wide, &outside, *byte))));
    }
    true
}

/// The positions in a glob that one byte more leads to.
fn step(pieces: &[Piece], open: &[bool], byte: u8, next: &mut [bool]) {
    next.fill(false);
    for (at, piece) in pieces.iter().enumerate().filter(|(at, _)| open[*at]) {
        match piece {
            Piece::Byte(wanted) => next[at + 1] |= *wanted == byte,
            Piece::Star => next[at] |= byte != b'/',
            Piece::DoubleStar => next[at] = true,
        }
    }
    skip_stars(pieces, next);
}

#[derive(Clone, Copy)]
enum Piece {
    Byte(u8),
    Star,
    DoubleStar,
}

fn pieces(glob: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(glob.len());
    let mut at = 0;
    while at < glob.len() {
        let piece = match (glob[at], glob.get(at + 1)) {
            (b'*', Some(b'*')) => {
                at += 1;
                Piece::DoubleStar
            }
            (b'*', _) => Piece::Star,
            (byte, _) => Piece::Byte(byte),
        };
        pieces.push(piece);
        at += 1;
    }
    pieces
}

/// Open the position behind each star too, since a star may match nothing.
fn skip_stars(pieces: &[Piece], open: &mut [bool]) {
    for (at, piece) in pieces.iter().enumerate() {
        if matches!(piece, Piece::Star | Piece::DoubleStar) && open[at] {
            open[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{covers, matches};
    use proptest::prelude::*;

    /// The definition by recursion, exponential in the number of stars.
    fn naive(glob: &[u8], text: &[u8]) -> bool {
        match glob {
            [] => text.is_empty(),
            [b'*', b'*', rest @ ..] => (0..=text.len()).any(|n| naive(rest, &text[n..])),
            [b'*', rest @ ..] => {
                let run = text.iter().take_while(|b| **b != b'/').count();
                (0..=run).any(|n| naive(rest, &text[n..]))
            }
            [byte, rest @ ..] => text.first() == Some(byte) && naive(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_the_plain_definition(glob in "[ab/*]{0,9}", text in "[ab/]{0,9}") {
            prop_assert_eq!(matches(&glob, &text), naive(glob.as_bytes(), text.as_bytes()), "{} {}", glob, text);
        }
    }

    proptest! {
        #[test]
        fn a_covered_glob_matches_no_text_of_its_own(
            wide in "[ab/*]{0,6}",
            narrow in "[ab/*]{0,6}",
            texts in proptest::collection::vec("[abc/]{0,8}", 40),
        ) {
            let own = texts.iter().find(|text| matches(&narrow, text) && !matches(&wide, text));
            prop_assert!(own.is_none() || !covers(&wide, &narrow), "{} {} {:?}", wide, narrow, own);
        }

        #[test]
        fn a_glob_that_is_not_covered_matches_a_text_of_its_own(wide in "[ab/*]{0,4}", narrow in "[ab/*]{0,4}") {
            // all short texts: a text that tells two short globs apart is short
            let letters = ['a', 'b', 'c', '/'];
            let mut texts = vec![String::new()];
            for at in 0.. {
                let Some(text) = texts.get(at).cloned() else { break };
                if text.len() < 6 {
                    texts.extend(letters.map(|letter| format!("{text}{letter}")));
                }
            }
            let own = texts.iter().any(|text| matches(&narrow, text) && !matches(&wide, text));
            prop_assert_eq!(covers(&wide, &narrow), !own, "{} {}", wide, narrow);
        }
    }

    #[test]
    fn a_glob_covers_every_glob_inside_it() {
        for (wide, narrow, wanted) in [
            ("**", "secret/**", true),
            ("secret/**", "**", false),
            ("src/**", "src/*.rs", true),
            ("src/*", "src/**", false),
            ("src/*", "src/a.rs", true),
            ("**/*.md", "docs/**/x.md", true),
            ("**/*.md", "x.md", false),
            ("a", "a", true),
            ("é*", "éa", true),
        ] {
            assert_eq!(covers(wide, narrow), wanted, "{wide} {narrow}");
        }
        let many = "*a".repeat(40);
        assert!(!covers(&many, &format!("{many}*b")), "it ends, whatever it takes");
    }

    #[test]
    fn stars_stop_at_slashes_and_double_stars_do_not() {
        for (glob, text, wanted) in [
            ("src/*", "src/a.rs", true),
            ("src/*", "src/", true),
            ("src/*", "src/a/b", false),
            ("src/**", "src/a/b", true),
            ("src/**", "src", false),
            ("**/x", "a/b/x", true),
            ("**/x", "x", false),
            ("a[b]?", "a[b]?", true),
            ("a[b]?", "abc", false),
            ("SRC/*", "src/a", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(glob, text), wanted, "{glob} {text}");
        }
    }

    #[test]
    fn a_hostile_glob_takes_time_by_its_length() {
        assert!(!matches(&"*a".repeat(2_000), &"a".repeat(1_999)));
        assert!(!matches(&format!("{}b", "**".repeat(1_000)), &"a".repeat(4_000)));
    }
}
