//! `mh-frame-seal`: an unsealed frame in, a sealed document out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::faults::{Faults, json_line};
use super::voice::{Arguments, Typed, exclude, flags, wrong};
use super::{Print, conclude, listed, read};
use crate::adapter::{advice, surely_meant_otherwise};
use crate::frame::Lint;
use crate::os;
use crate::os::mistake::Mistake;
use crate::os::{End, Stop, complain};
use crate::seal::{Minted, Refusal, VerifiedFrame, mint};

const PROGRAM: &str = "mh-frame-seal";

const HELP: &str = "\
usage: mh-frame-seal [FILE|-] [-o OUT] [--reseal] [--allow-doubtful] [--print digest|canonical|text|enforced]
       mh-frame-seal [FILE|-] --json [-o OUT] [--reseal] [--allow-doubtful]
       mh-frame-seal --new --workflow ID --version V --state S --step N [--attempt N]
             [--admit OP...]... [--admit-mcp SERVER TOOL]...
             [--prior TEXT [--source S]]... [--obligation TEXT [--asked-by S]]...
             [--reaching TEXT [--asked-by S]]... [--next STATE...]...
             --handoff-none | --handoff-artifact NAME [--kind K] | --handoff-answer SCHEMA
             [--entities-from S --entity M...] [--scope GLOB OP,OP]... [--scope-project DIR OP,OP]
             [-o OUT] [--print ...]

Seals a frame: reads one without a digest (from standard input unless FILE is given) or
builds one from flags, and writes the sealed document to standard output or to OUT.
Nothing is admitted by default. All that is wrong with a document is told at once, by line and column;
of a document, format, digest, subjects and entities may be left out, and so may asked_by, source and kind.

  -o, --output OUT   write beside OUT and rename, so that it holds the old or the new; stderr
                     tells the digest, unless --print does
  --reseal           seal a document again whose digest does not describe it; without
                     this such a document is refused
  --allow-doubtful   seal what nobody means as well: a rule that never decides, a glob that matches
                     no path, a rule for an operation that is not admitted
  --print WHAT       print the digest, the canonical bytes, the instruction text, or what of the
                     frame is enforced, what is checked at the end of a turn, and what is told only
                     (instead of the document, unless that goes to OUT)
  --json             say what came of it as one JSON object, as mh-frame-verify does, with all
                     that is wrong with the document; the document itself goes to OUT alone
  --new              build the frame from flags
  --admit OP...      OPERATIONS
  --admit-mcp SERVER TOOL   one tool of one MCP server
  --prior TEXT       what has been established already; --source says where
  --obligation TEXT  what must hold in this step; --asked-by says who wants it
  --reaching TEXT    what a way out of it still lacks
  --next STATE...    the states that can be reached from here
  --handoff-...      what the step owes before it may end: nothing, a file, or an answer
                     that a schema describes
  --entities-from S  the answer is to be one of a closed list, which S gave: --entity M...
  --scope GLOB OPS   what may be done to the files that GLOB matches (`*` within a folder,
                     `**` across folders); OPS is a list with commas, or `none`; the first
                     rule that matches decides
  --scope-project DIR OPS   OPS in DIR and all below it, and nothing anywhere else; the
                     rules of --scope come before
  --help, --version

exit codes: 0 sealed; 1 the document is refused; 2 usage, or a file cannot be read or written
";

/// The whole of `mh-frame-seal`.
pub fn seal(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    conclude(PROGRAM, || work(arguments.into_iter().collect()))
}

fn work(arguments: Vec<OsString>) -> Result<(String, End), Stop> {
    let new = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--new");
    let (mut input, mut output, mut print) = (None, None, None);
    let (mut reseal, mut doubtful, mut json) = (false, false, false);
    let mut builder = super::new::Builder::default();
    let mut arguments = Arguments::new(PROGRAM, HELP.replace("OPERATIONS", &listed(21, 57)), arguments);
    // with --new, --version belongs to the workflow
    while let Some(argument) = arguments.next(!new)? {
        match argument {
            Typed::About(text) => return Ok((text, End::Good)),
            Typed::Word(file) if new => {
                return Err(arguments.stray(&file, "--new builds the frame from flags, and reads no file"));
            }
            Typed::Word(file) if input.is_none() => input = Some(PathBuf::from(file)),
            Typed::Word(file) => return Err(arguments.stray(&file, "one document is sealed at a time")),
            Typed::Flag(flag) => match flag.as_str() {
                "-o" | "--output" => {
                    let file = PathBuf::from(arguments.value()?);
                    arguments.once(&mut output, file)?;
                }
                "--reseal" => reseal = true,
                "--allow-doubtful" => doubtful = true,
                "--json" => json = true,
                "--print" => {
                    let what = arguments.one_of(&Print::WORDS)?;
                    arguments.once(&mut print, what)?;
                }
                "--new" => {}
                flag if new => builder.flag(flag, &mut arguments)?,
                flag if flags(HELP).contains(&flag) => return Err(wrong(&Mistake::GoesWith(flag, "--new"))),
                _ => return Err(arguments.unknown()),
            },
        }
    }
    let output = output.filter(|target| target != Path::new("-"));
    exclude(&[("--json", json), ("--print", print.is_some())], "each says what stdout is")?;
    let (name, sealed) = match new {
        true if reseal => {
            return Err(wrong(&Mistake::Exclude(
                "--new and --reseal",
                "a frame that is built is sealed for the first time",
            )));
        }
        true => ("the new frame".to_string(), minted(crate::seal::seal(builder.frame()?), doubtful)),
        false => {
            let file = input.unwrap_or_else(|| "-".into());
            (file.display().to_string(), sealed(&file, reseal, doubtful))
        }
    };
    let sealed = match sealed {
        Ok(sealed) => sealed,
        Err(unsealed) if json => return Ok((unsealed.json_line(&name), unsealed.end())),
        Err(unsealed) => return Err(unsealed.told(&name)),
    };
    if let Some(target) = &output {
        let written = os::write_beside(target, sealed.document().as_bytes())?;
        if written.through_link {
            complain(PROGRAM, &format!("{} is a link; wrote {}", target.display(), written.file.display()));
        }
        // not on stdout: a caller that captures or pipes it has asked for something else, or for nothing
        if print.is_none() {
            complain(PROGRAM, &format!("{}: sealed {}", target.display(), sealed.digest()));
        }
    }
    let shown = match (print, &output) {
        _ if json => json_line(&name, Ok(sealed.digest().as_str()), &advice(&sealed), &[]),
        (Some(print), _) => print.of(&sealed),
        (None, None) => sealed.document(),
        (None, Some(_)) => String::new(),
    };
    Ok((shown, End::Good))
}

/// The reason why nothing was sealed.
enum Unsealed {
    /// The document is refused, with every fault of it.
    Document(Refusal, Faults),
    /// The frame holds parts that every reader accepts and no author means.
    Doubtful(Vec<Lint>),
}

impl Unsealed {
    fn end(&self) -> End {
        match self {
            Unsealed::Document(Refusal::Unreadable(_), _) => End::Failed,
            _ => End::Refused,
        }
    }

    /// Write everything to stderr but the last line, which is returned.
    fn told(self, name: &str) -> Stop {
        match self {
            Unsealed::Document(refusal, faults) => {
                faults.tell(PROGRAM, name);
                Stop::document(name, &refusal)
            }
            Unsealed::Doubtful(lints) => {
                lints.iter().for_each(|lint| complain(PROGRAM, &format!("{name}: not sealed: {lint}")));
                Stop::refused(format!("{name}: --allow-doubtful seals it all the same"))
            }
        }
    }

    fn json_line(&self, name: &str) -> String {
        match self {
            Unsealed::Document(refusal, faults) => {
                json_line(name, Err((refusal.name(), &refusal.to_string(), faults)), &[], &[])
            }
            Unsealed::Doubtful(lints) => {
                let lints: Vec<String> = lints.iter().map(ToString::to_string).collect();
                let why = "what is in it cannot be meant so; --allow-doubtful seals it all the same";
                json_line(name, Err(("doubtful", why, &Faults::default())), &lints, &[])
            }
        }
    }
}

fn sealed(file: &Path, reseal: bool, doubtful: bool) -> Result<VerifiedFrame, Unsealed> {
    let bytes = read(PROGRAM, file).map_err(|refusal| Unsealed::Document(refusal, Faults::default()))?;
    match mint(&bytes, reseal) {
        Ok((sealed, Minted::Before)) => Ok(sealed),
        Ok((sealed, Minted::Now)) => minted(sealed, doubtful),
        Err(refusal) => {
            let faults = Faults::of(&refusal, &bytes, false);
            Err(Unsealed::Document(refusal, faults))
        }
    }
}

/// A newly sealed frame must not hold parts that every reader accepts and no author means; every such part is reported.
fn minted(sealed: VerifiedFrame, doubtful: bool) -> Result<VerifiedFrame, Unsealed> {
    let lints = surely_meant_otherwise(&sealed);
    if lints.is_empty() || doubtful { Ok(sealed) } else { Err(Unsealed::Doubtful(lints)) }
}
