//! A mistake on a command line, in the one wording that it has in every program; and the one rule by which an option
//! takes its value.

use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::decide::clipped;

/// A mistake on a command line. Words are as they can be shown: see [`typed`].
#[derive(Debug, Clone, Copy)]
pub enum Mistake<'a> {
    /// There is no flag of this name.
    NoFlag(&'a str),
    /// A word stands where none does.
    NoArgument(&'a str),
    /// An option stands without its value: at the end, or before another option.
    NoValue(&'a str, Option<&'a str>),
    /// A flag that stands alone is given a value.
    Valueless(&'a str, &'a str),
    /// The value is none that the option takes: the option, what it takes, the value.
    Takes(&'a str, &'a str, &'a str),
    /// It can be given once.
    Twice(&'a str),
    /// A flag says nothing without another one.
    GoesWith(&'a str, &'a str),
    /// Flags that do not go together, and why.
    Exclude(&'a str, &'a str),
    /// Something that is needed, and how it is given.
    Missing(&'a str, &'a str),
}

impl fmt::Display for Mistake<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::NoFlag(flag) => write!(f, "there is no flag {flag}"),
            Mistake::NoArgument(word) => write!(f, "there is no argument \"{word}\""),
            Mistake::NoValue(flag, None) => write!(f, "{flag} takes a value, and none is given"),
            Mistake::NoValue(flag, Some(next)) => {
                let joined = if flag.starts_with("--") { "=" } else { "" };
                write!(
                    f,
                    "{flag} takes a value, and behind it stands {next}; a value that begins with - is joined: \
                     {flag}{joined}VALUE"
                )
            }
            Mistake::Valueless(flag, given) => write!(f, "{flag} takes no value, and is given \"{given}\""),
            Mistake::Takes(flag, takes, given) => write!(f, "{flag} takes {takes}, not \"{given}\""),
            Mistake::Twice(what) => write!(f, "{what} is given twice"),
            Mistake::GoesWith(flag, with) => write!(f, "{flag} goes with {with}"),
            Mistake::Exclude(flags, why) => write!(f, "{flags} do not go together: {why}"),
            Mistake::Missing(what, how) => write!(f, "no {what} is given: {how}"),
        }
    }
}

/// The most of a word that is repeated.
const SHOWN: usize = 200;

/// A word as it was typed, for a sentence: what a terminal would act on escaped, and not too long.
pub fn typed(word: &OsStr) -> String {
    clipped(&word.to_string_lossy().escape_debug().to_string(), SHOWN)
}

/// A word reads as an option: it begins with `-` and is not that alone.
pub fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-") && word != "-"
}

/// The value of the option that was read last: what is joined to it, or the next word. That is never another option.
///
/// # Errors
/// There is none; the word that stands there in its place.
pub fn value(parser: &mut lexopt::Parser) -> Result<OsString, Option<String>> {
    if let Some(joined) = parser.optional_value() {
        return Ok(joined);
    }
    let Some(mut rest) = parser.try_raw_args() else { return Err(None) };
    match rest.next_if(|word| !is_option(word)) {
        Some(word) => Ok(word),
        None => Err(rest.peek().map(typed)),
    }
}

/// The words of an error of the parser's, which are about the shape of an option alone.
pub fn misread(error: &lexopt::Error) -> String {
    match error {
        lexopt::Error::UnexpectedValue { option, value } => Mistake::Valueless(option, &typed(value)).to_string(),
        other => other.to_string(),
    }
}
