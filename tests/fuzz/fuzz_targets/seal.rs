//! Any frame: it keeps its value when it is sealed, verified and written again; no string in it adds a line to its
//! text; and one changed byte of the document is refused or changes nothing.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use metaharness::adapter::advice;
use metaharness::frame::{
    BARE_OPERATIONS, Entities, Frame, Handoff, Node, Obligation, Operation, Prior, ScopeRule, Step, Workflow, lints,
};
use metaharness::seal::{Minted, mint, seal, verify};
use metaharness_fuzz::frame::canonical;
use metaharness_fuzz::json::Json;

/// Characters that an escape, a sort order, a line break or a normal form could get wrong.
const ODD: [char; 24] = [
    '"',
    '\\',
    '/',
    '\0',
    '\u{8}',
    '\t',
    '\n',
    '\u{b}',
    '\u{c}',
    '\r',
    '\u{1f}',
    '\u{7f}',
    '\u{85}',
    '\u{2028}',
    '\u{2029}',
    '\u{feff}',
    '\u{e000}',
    '\u{10000}',
    '\u{301}',
    ' ',
    '-',
    '|',
    '*',
    ':',
];

/// Makes frames. Strings come from the input, or are one letter each in a plain frame of the same form.
struct Maker<'a, 'b> {
    from: &'a mut Unstructured<'b>,
    plain: bool,
}

impl Maker<'_, '_> {
    fn text(&mut self) -> Result<String> {
        let character = |maker: &mut Self| {
            Ok(match maker.from.arbitrary::<u8>()? {
                byte @ 0..96 => ODD[usize::from(byte) % ODD.len()],
                byte @ 96..224 => char::from(byte & 0x7f),
                _ => maker.from.arbitrary()?,
            })
        };
        let text = String::from_iter(self.many(12, character)?);
        Ok(if self.plain { "x".into() } else { text })
    }

    fn maybe(&mut self) -> Result<Option<String>> {
        Ok(if self.from.arbitrary()? { Some(self.text()?) } else { None })
    }

    fn many<T>(&mut self, most: usize, each: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.from.int_in_range(0..=most)?;
        (0..count).map(|_| each(self)).collect()
    }

    fn operations(&mut self) -> Result<BTreeSet<Operation>> {
        let operation = |maker: &mut Self| {
            let which = maker.from.int_in_range(0..=BARE_OPERATIONS.len())?;
            Ok(match BARE_OPERATIONS.get(which) {
                Some(bare) => bare.clone(),
                None => Operation::McpCall { server: maker.text()?, tool: maker.text()? },
            })
        };
        Ok(self.many(6, operation)?.into_iter().collect())
    }

    fn obligation(&mut self) -> Result<Obligation> {
        Ok(Obligation { text: self.text()?, asked_by: self.maybe()? })
    }

    fn frame(&mut self) -> Result<Frame> {
        Ok(Frame {
            workflow: Workflow { id: self.text()?, version: self.text()? },
            node: Node { id: self.text()? },
            step: Step {
                workflow: self.text()?,
                state: self.text()?,
                index: self.from.arbitrary()?,
                attempt: self.from.arbitrary()?,
            },
            operations: self.operations()?,
            handoff: match self.from.int_in_range(0..=2)? {
                0 => Handoff::None,
                1 => Handoff::Artifact { name: self.text()?, kind: self.maybe()? },
                _ => Handoff::StructuredAnswer { schema: self.text()? },
            },
            scope: self.many(3, |maker| {
                Ok(ScopeRule { subjects: maker.many(3, Self::text)?, operations: maker.operations()? })
            })?,
            prior: self.many(3, |maker| Ok(Prior { text: maker.text()?, source: maker.maybe()? }))?,
            obligations: self.many(3, Self::obligation)?,
            reaching: self.many(3, Self::obligation)?,
            next: self.many(3, |maker| Ok(Node { id: maker.text()? }))?,
            entities: match self.from.arbitrary()? {
                true => Some(Entities { source: self.text()?, members: self.many(3, Self::text)? }),
                false => None,
            },
        })
    }
}

/// The number of lines that begin at the left edge, for a reader that takes any line break of Unicode for one. Lines
/// that a limit cut off are not counted.
fn lines(text: &str) -> usize {
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.split(breaks).filter(|line| !line.starts_with("  |")).count()
}

fn round(from: &mut Unstructured<'_>, again: &mut Unstructured<'_>) -> Result<()> {
    let (at, byte): (usize, u8) = (from.arbitrary()?, from.arbitrary()?);
    let _: (usize, u8) = (again.arbitrary()?, again.arbitrary()?);
    let frame = Maker { from, plain: false }.frame()?;
    let plain = Maker { from: again, plain: true }.frame()?;

    let sealed = seal(frame.clone());
    let document = sealed.document();
    let verified = verify(document.as_bytes(), Some(sealed.digest())).expect("what was sealed verifies");
    assert_eq!((verified.frame(), verified.document()), (&frame, document.clone()));
    let (minted, how) = mint(document.as_bytes(), false).expect("what was sealed can be sealed");
    assert_eq!((&minted, how), (&verified, Minted::Before));
    let other = Json::read(document.as_bytes()).and_then(|document| canonical(&document));
    assert_eq!(other, Some(sealed.canonical()), "by an independent reader");

    let mut changed = document.into_bytes();
    let place = at % changed.len();
    changed[place] = byte;
    if let Ok(found) = verify(&changed, None) {
        assert_eq!(found, sealed, "a changed byte {place} was taken");
    }

    let text = sealed.text().whole();
    let same_form = operations(&frame) == operations(&plain);
    if same_form {
        assert_eq!(lines(&text), lines(&seal(plain).text().whole()), "a string poses as a line:\n{text}");
    }
    assert!(text.lines().all(|line| !line.ends_with([' ', '\t'])) && !text.ends_with('\n'), "{text:?}");
    for limit in [0, 200, 1_000] {
        assert!(sealed.text().within(limit, str::len).len() <= limit);
    }
    for words in advice(&verified).into_iter().chain(lints(&frame).iter().map(ToString::to_string)) {
        assert!(!words.trim().is_empty() && !words.contains('\n'), "{words:?}");
    }
    Ok(())
}

/// The number of operations in each rule. Two operations that differ in their names alone become one in a plain frame.
fn operations(frame: &Frame) -> Vec<usize> {
    let sets = frame.scope.iter().map(|rule| &rule.operations);
    std::iter::once(&frame.operations).chain(sets).map(BTreeSet::len).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let _ = round(&mut Unstructured::new(bytes), &mut Unstructured::new(bytes));
});
