//! The words of a command line, taken one by one, and the messages about wrong ones: each repeats the wrong word and
//! suggests the nearest right one.

use std::ffi::{OsStr, OsString};

use crate::adapter::PREVIEWS;
use crate::decide::Policy;
use crate::frame::{BARE_OPERATIONS, NoOperation, Operation};
use crate::os::mistake::{Mistake, is_option, typed, value};
use crate::os::{Stop, VERSION};
use crate::seal::Digest;

/// A word of a command line.
pub(super) enum Typed {
    /// A flag, with its dashes.
    Flag(String),
    /// Any other word.
    Word(OsString),
    /// The answer to a question about the program itself.
    About(String),
}

/// Dashes that begin no option.
const DASHES: [char; 6] = ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2212}'];

/// The words of a command line that are not read yet.
pub(super) struct Arguments {
    parser: lexopt::Parser,
    program: &'static str,
    help: String,
    /// Every word as it was typed.
    all: Vec<OsString>,
    /// The last flag.
    flag: String,
}

impl Arguments {
    pub(super) fn new(program: &'static str, help: String, all: Vec<OsString>) -> Arguments {
        Arguments { parser: lexopt::Parser::from_args(all.clone()), program, help, all, flag: String::new() }
    }

    /// The next word. A program that has a `--version` of its own handles it itself.
    pub(super) fn next(&mut self, version: bool) -> Result<Option<Typed>, Stop> {
        let Some(argument) = self.parser.next()? else { return Ok(None) };
        self.flag = match argument {
            lexopt::Arg::Value(word) => {
                // text that was copied from a page has other dashes
                let dashed = |word: &str| Some(format!("--{}", word.strip_prefix(DASHES)?.trim_start_matches(DASHES)));
                return match word.to_str().and_then(dashed).filter(|name| flags(&self.help).contains(&name.as_str())) {
                    Some(name) => {
                        Err(Stop::failed(format!("{}; did you mean {name}?", Mistake::NoFlag(&typed(&word)))))
                    }
                    None => Ok(Some(Typed::Word(word))),
                };
            }
            lexopt::Arg::Short(letter) => format!("-{letter}"),
            lexopt::Arg::Long(name) => format!("--{name}"),
        };
        Ok(Some(match self.flag.as_str() {
            "-h" | "--help" => Typed::About(self.help.clone()),
            "-V" => Typed::About(format!("{} {VERSION}\n", self.program)),
            "--version" if version => Typed::About(format!("{} {VERSION}\n", self.program)),
            flag => Typed::Flag(flag.into()),
        }))
    }

    /// The value of the last flag.
    pub(super) fn value(&mut self) -> Result<OsString, Stop> {
        value(&mut self.parser).map_err(|next| wrong(&Mistake::NoValue(&self.flag, next.as_deref())))
    }

    /// The value of the last flag as text.
    pub(super) fn text(&mut self) -> Result<String, Stop> {
        text(self.value()?, &self.flag)
    }

    /// The two values of the last flag, which `takes` names; neither may be another option.
    pub(super) fn two(&mut self, takes: &str) -> Result<(String, String), Stop> {
        let first = self.text()?;
        match self.another()? {
            Some(second) => Ok((first, second)),
            None => {
                let flag = &self.flag;
                Err(Stop::usage(format!("{flag} takes {takes}, and only \"{}\" is given", typed(first.as_ref()))))
            }
        }
    }

    /// One value or more, up to the next flag; what is joined to the flag stands alone.
    pub(super) fn texts(&mut self) -> Result<Vec<String>, Stop> {
        if let Some(joined) = self.joined() {
            return Ok(vec![text(joined, &self.flag)?]);
        }
        let first = self.text()?;
        let more = self.parser.try_raw_args().map(|mut rest| {
            let mut more = Vec::new();
            while let Some(word) = rest.next_if(|word| !is_option(word)) {
                more.push(word);
            }
            more
        });
        let more = more.unwrap_or_default().into_iter().map(|word| text(word, &self.flag));
        std::iter::once(Ok(first)).chain(more).collect()
    }

    /// The next word, unless it reads as an option.
    pub(super) fn another(&mut self) -> Result<Option<String>, Stop> {
        let word = self.parser.try_raw_args().and_then(|mut rest| rest.next_if(|word| !is_option(word)));
        word.map(|word| text(word, &self.flag)).transpose()
    }

    /// The next word, whatever it begins with.
    #[cfg(feature = "run")]
    pub(super) fn whatever(&mut self) -> Option<OsString> {
        self.parser.optional_value().or_else(|| self.parser.try_raw_args()?.next())
    }

    /// The value that is joined to the flag that was read last.
    pub(super) fn joined(&mut self) -> Option<OsString> {
        self.parser.optional_value()
    }

    /// The value of the last flag, which must be one of these words.
    pub(super) fn one_of<T: Copy>(&mut self, words: &[(&str, T)]) -> Result<T, Stop> {
        let given = self.text()?;
        one_of(&self.flag, &given, words)
    }

    /// Set a value that may be given once.
    pub(super) fn once<T>(&self, place: &mut Option<T>, value: T) -> Result<(), Stop> {
        once(place, &self.flag, value)
    }

    /// The message about a last flag that this program does not have.
    pub(super) fn unknown(&self) -> Stop {
        let flag = &typed(OsStr::new(&self.flag));
        let mistake = Mistake::NoFlag(flag);
        if let Some(instead) = instead(self.program, flag) {
            return Stop::failed(format!("{mistake}: {instead}"));
        }
        let known = flags(&self.help);
        // `-new` for `--new`
        let whole = self.all.iter().filter_map(|word| word.to_str()).find(|word| {
            flag.len() == 2 && word.starts_with(flag.as_str()) && known.contains(&format!("-{word}").as_str())
        });
        match whole {
            Some(word) => Stop::failed(format!("{mistake}; did you mean -{word}?")),
            None => meant(&mistake.to_string(), flag, &known),
        }
    }

    /// The message about a word that has no place here; `otherwise` is used if no known word is near.
    pub(super) fn stray(&self, given: &OsStr, otherwise: &str) -> Stop {
        let word = typed(given);
        let mistake = Mistake::NoArgument(&word);
        let known = flags(&self.help);
        let name = format!("--{word}");
        match known.contains(&name.as_str()) {
            true => Stop::failed(format!("{mistake}; did you mean {name}?")),
            false if otherwise.is_empty() => wrong(&mistake),
            false => no_word_of(otherwise, given),
        }
    }
}

/// The message about a flag that a word of the program does not have, although the program has it elsewhere.
#[cfg(feature = "run")]
pub(super) fn no_flag_of(word: &str, flag: &str) -> Stop {
    Stop::usage(format!("{} of {word}", Mistake::NoFlag(&typed(OsStr::new(flag)))))
}

/// The message about a word that has no place here, with the reason.
pub(super) fn no_word_of(why: &str, word: &OsStr) -> Stop {
    Stop::failed(format!("{}: {why}", Mistake::NoArgument(&typed(word))))
}

/// The message about a mistake.
pub(super) fn wrong(mistake: &Mistake<'_>) -> Stop {
    Stop::usage(mistake.to_string())
}

/// Refuse flags that have no effect without another one that is missing.
pub(super) fn goes_with(given: &[(&str, bool)], with: &str) -> Result<(), Stop> {
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(wrong(&Mistake::GoesWith(flag, with))),
        None => Ok(()),
    }
}

/// Refuse more than one of these flags: each determines the whole output or task.
pub(super) fn exclude(given: &[(&str, bool)], why: &str) -> Result<(), Stop> {
    let given: Vec<&str> = given.iter().filter(|(_, given)| *given).map(|(flag, _)| *flag).collect();
    match given.len() {
        0 | 1 => Ok(()),
        _ => Err(wrong(&Mistake::Exclude(&joined(&given, "and"), why))),
    }
}

/// The value of a flag, which must be text.
pub(super) fn text(value: OsString, flag: &str) -> Result<String, Stop> {
    value.into_string().map_err(|value| Stop::usage(format!("{flag} is not UTF-8: \"{}\"", typed(&value))))
}

/// Set a value that may be given once.
pub(super) fn once<T>(place: &mut Option<T>, what: &str, value: T) -> Result<(), Stop> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(wrong(&Mistake::Twice(what))),
    }
}

/// The meaning of one of these words.
pub(super) fn one_of<T: Copy>(flag: &str, given: &str, words: &[(&str, T)]) -> Result<T, Stop> {
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    match words.iter().find(|(word, _)| *word == given) {
        Some((_, meaning)) => Ok(*meaning),
        None => Err(not_taken(flag, &joined(&names, "or"), given, &names)),
    }
}

/// The message about a value that an option does not take: the values that it takes, and the nearest of these words.
pub(super) fn not_taken(flag: &str, takes: &str, given: &str, words: &[&str]) -> Stop {
    meant(&Mistake::Takes(flag, takes, &typed(OsStr::new(given))).to_string(), given, words)
}

/// The policies of a hook.
pub(super) const POLICIES: [(&str, Policy); 2] = [("frame", Policy::Frame), ("deny-only", Policy::DenyOnly)];

/// A digest from the command line.
pub(super) fn digest(flag: &str, word: &str) -> Result<Digest, Stop> {
    Digest::parse(word).ok_or_else(|| not_taken(flag, "64 lower-case hexadecimal digits", word, &[]))
}

/// A whole number within these bounds.
pub(super) fn number<T>(flag: &str, given: &str, (least, most): (T, T), of: &str) -> Result<T, Stop>
where
    T: Copy + PartialOrd + std::fmt::Display + std::str::FromStr + TryFrom<u64>,
{
    if let Some(number) = given.parse::<T>().ok().filter(|number| *number >= least && *number <= most) {
        return Ok(number);
    }
    let takes = format!("a whole number{of} from {least} to {most}");
    let mistake = Mistake::Takes(flag, &takes, &typed(OsStr::new(given))).to_string();
    let units = [("ms", 0), ("min", 60), ("s", 1), ("m", 60), ("h", 3600)];
    let seconds = units.iter().filter(|_| of == SECONDS).find_map(|(unit, worth)| {
        let count: u64 = given.strip_suffix(unit)?.trim().parse().ok()?;
        let seconds = count.checked_mul(*worth).and_then(|seconds| T::try_from(seconds).ok())?;
        (seconds >= least && seconds <= most).then_some(seconds)
    });
    Err(match seconds {
        Some(seconds) => Stop::failed(format!("{mistake}; did you mean {seconds}?")),
        None => Stop::usage(mistake),
    })
}

/// The unit of a time, for [`number`].
pub(super) const SECONDS: &str = " of seconds";

/// The message about a word that is none of these; `more` has further words that may be meant.
#[cfg(feature = "setup")]
pub(super) fn no_such(noun: &str, given: &str, words: &[&str], more: &[&str]) -> Stop {
    let mistake = format!("\"{}\" is no {noun}", typed(OsStr::new(given)));
    let all = [words, more].concat();
    match nearest(given, &all).is_empty() {
        true => Stop::usage(format!("{mistake}; there are {}", joined(words, "and"))),
        false => meant(&mistake, given, &all),
    }
}

/// An operation from a flag; `pair` is the flag that takes the names of an MCP server and its tool as two values.
pub(super) fn operation(word: &str, pair: &str) -> Result<Operation, Stop> {
    Operation::from_word(word).map_err(|why| match why {
        NoOperation::Unknown => no_operation(word),
        NoOperation::Ambiguous => Stop::usage(format!(
            "\"{}\" does not say which slash ends the server's name; write {pair} SERVER TOOL",
            typed(OsStr::new(word))
        )),
    })
}

fn no_operation(word: &str) -> Stop {
    let mistake = format!("\"{}\" is no operation", typed(OsStr::new(word)));
    let names = BARE_OPERATIONS.each_ref().map(Operation::name);
    if let Some((server, tool)) = word.strip_prefix("mcp__").and_then(|pair| pair.split_once("__")) {
        return Stop::failed(format!("{mistake}; did you mean mcp.call:{server}/{tool}?"));
    }
    if word.starts_with("mcp") {
        return Stop::failed(format!("{mistake}: a tool of an MCP server is mcp.call:SERVER/TOOL"));
    }
    // the operations that the vendors' own tools of this name need, else those with this word as a part
    let mut meant: Vec<&str> = names.into_iter().filter(|name| needs(name, word)).collect();
    if meant.is_empty() {
        meant = names.into_iter().filter(|name| name.split('.').any(|part| part.eq_ignore_ascii_case(word))).collect();
    }
    if meant.is_empty() {
        meant = nearest(word, &names);
    }
    if meant.is_empty() {
        let parts: Vec<&str> = names.iter().flat_map(|name| name.split('.')).collect();
        let near = nearest(word, &parts);
        meant = names.into_iter().filter(|name| name.split('.').any(|part| near.contains(&part))).collect();
    }
    match meant.is_empty() {
        true => Stop::usage(format!("{mistake}; there are {}, and mcp.call:SERVER/TOOL", names.join(", "))),
        false => Stop::failed(format!("{mistake}; did you mean {}?", joined(&meant, "or"))),
    }
}

/// Whether a tool of this name, in letters of either case, needs this operation.
fn needs(operation: &str, tool: &str) -> bool {
    let tables = PREVIEWS.iter().map(|vendor| vendor.facts().table);
    tables.flat_map(|table| table.needing(operation)).any(|name| name.eq_ignore_ascii_case(tool))
}

/// The message about a mistake with the nearest of these words, or with the way to the help if none is near.
pub(super) fn meant(mistake: &str, given: &str, words: &[&str]) -> Stop {
    match nearest(given, words) {
        near if near.is_empty() => Stop::usage(mistake),
        near => Stop::failed(format!("{mistake}; did you mean {}?", joined(&near, "or"))),
    }
}

/// The words that were likely meant: those that differ by a few letters; where none does, the one that begins so, or is
/// begun by it.
pub(super) fn nearest<'a>(given: &str, words: &[&'a str]) -> Vec<&'a str> {
    let given = given.to_lowercase();
    let plain = |word: &str| word.trim_start_matches('-').chars().count();
    let (length, away) = (plain(&given), |word: &str| strsim::osa_distance(&given, &word.to_lowercase()));
    let least = words.iter().map(|word| away(word)).min().unwrap_or(usize::MAX);
    if length > 1 && least <= (length / 3).clamp(1, 3) {
        return words.iter().copied().filter(|word| away(word) == least).take(2).collect();
    }
    let begins =
        |word: &&str| length > 2 && (word.starts_with(&given) || (plain(word) > 2 && given.starts_with(*word)));
    match words.iter().copied().filter(begins).collect::<Vec<_>>() {
        one if one.len() == 1 => one,
        _ => Vec::new(),
    }
}

/// The flags in a help text.
pub(super) fn flags(help: &str) -> Vec<&str> {
    let words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut all: Vec<&str> = words
        .filter(|word| word.strip_prefix("--").is_some_and(|name| !name.is_empty() && !word.ends_with('-')))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Words in a row, with `last` before the last one.
pub(super) fn joined(words: &[&str], last: &str) -> String {
    match words {
        [most @ .., one, end] => {
            format!("{}{one} {last} {end}", most.iter().map(|word| format!("{word}, ")).collect::<String>())
        }
        words => words.concat(),
    }
}

/// The replacement for a flag that this program does not have, but a related program or another tool has.
fn instead(program: &str, flag: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(known, asked, _)| *known == program && *asked == flag).map(|(.., instead)| *instead)
}

const INSTEAD: &[(&str, &str, &str)] = &[
    ("mh-run", "--policy", "mh-run has it as --decisions, and its default is frame"),
    ("mh-run", "--project", "the folder to work in is --cwd DIR"),
    ("mh-run", "--json", "write --output-format json"),
    ("mh-run", "--state", "a frame is made by mh-frame-seal --new, and named by --frame FILE"),
    ("mh-setup", "--decisions", "mh-setup has it as --policy, and its default is deny-only"),
    ("mh-setup", "--cwd", "the project's folder is --project DIR"),
    ("mh-setup", "--uninstall", "entries are taken out by --remove"),
    ("mh-setup", "--global", "your own settings are --user"),
    ("mh-setup", "--dry-run", "--print writes nothing and prints the entries"),
    ("mh-setup", "--output", "--print writes to standard output"),
    ("mh-setup", "--doctor", "it is a word, not a flag: mh-setup doctor"),
    ("mh-setup", "--list", "it is a word, not a flag: mh-setup list"),
    ("mh-setup", "--status", "mh-setup doctor says whether the hooks are on"),
    ("mh-frame-verify", "--frame", "the file stands alone: mh-frame-verify FILE"),
    ("mh-frame-verify", "--decisions", "mh-frame-verify has it as --policy"),
    ("mh-frame-verify", "--cwd", "the folder that paths go by is --project DIR"),
    ("mh-frame-seal", "--frame", "the file stands alone: mh-frame-seal FILE"),
    ("mh-frame-seal", "--digest", "--print digest prints it; mh-frame-verify --digest HEX holds a frame to it"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_one_that_was_likely_meant_and_none_that_only_looks_a_little_like_it() {
        let flags = ["--admit", "--admit-mcp", "--new", "--obligation", "--output", "--print", "--state", "--step"];
        for (given, wanted) in [
            ("--outptu", &["--output"][..]),
            ("--out", &["--output"]),
            ("--OUTPUT", &["--output"]),
            ("--outputs", &["--output"]),
            ("--adimt", &["--admit"]),
            ("--admit-mpc", &["--admit-mcp"]),
            ("--stae", &["--state"]),
            ("--sta", &["--state"]),
            ("--x", &[]),
            ("--colour", &[]),
            ("--", &[]),
            ("-", &[]),
            ("", &[]),
            ("--verbose", &[]),
        ] {
            assert_eq!(nearest(given, &flags), wanted, "{given}");
        }
    }

    #[test]
    fn flags_are_read_off_a_help_text() {
        let help = "usage: x --a-b FILE | --c[=D], --handoff-... -o, --\n  --print digest--x";
        assert_eq!(flags(help), ["--a-b", "--c", "--print"]);
        assert_eq!((joined(&["a", "b", "c"], "or"), joined(&["a"], "or")), ("a, b or c".into(), "a".into()));
    }
}
