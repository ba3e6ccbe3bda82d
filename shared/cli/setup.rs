//! `mh-setup`: the hooks' entries in a vendor's configuration, and checks that they hold.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use super::conclude;
use super::voice::{
    Arguments, POLICIES, SECONDS, Typed, digest, exclude, goes_with, no_such, not_taken, number, text, wrong,
};
use crate::adapter::setup::Offers;
use crate::adapter::{ALL, Facts, named, words};
use crate::hook::{Decider, LONGEST_DEADLINE};
use crate::os::mistake::Mistake;
use crate::os::{End, Stop};
use crate::setup::{PROGRAM, Request, doctor, install, list};

/// The help text. Its differences between vendors come from the vendors' rooms.
fn help() -> String {
    let vendors: Vec<_> = ALL.iter().map(|vendor| (vendor.facts(), vendor.offers())).collect();
    let words = vendors.iter().map(|(facts, _)| facts.word).collect::<Vec<_>>().join("|");
    let usage = vendors.iter().map(|(facts, offers)| {
        let place = if offers.project.is_ok() { "--project DIR|--local|--user " } else { "" };
        format!("mh-setup {} {place}--frame FILE [FLAG...]\n       ", facts.word)
    });
    let of = |part: fn(&Facts, &Offers) -> Option<String>, between: &str| {
        let all = vendors.iter().filter_map(|(facts, offers)| part(facts, offers));
        all.collect::<Vec<_>>().join(between)
    };
    let project = of(|facts, offers| Some(format!("{}: {}", facts.product, offers.project.ok()?)), "; ");
    let local = of(|facts, offers| Some(format!("{}: {}", facts.product, offers.local.ok()?)), "; ");
    let user = of(|facts, offers| Some(format!("{}: {}", facts.product, offers.user)), "; ");
    let print = of(|_, offers| Some(offers.print.into()), ", ");
    let shell = of(|facts, offers| Some(format!("with --print for {}: {}", facts.product, offers.shell.ok()?)), "; ");
    let managed = of(|_, offers| Some(offers.managed.into()), ", ");
    let settings =
        of(|facts, offers| Some(format!("a file that {} is started with by {}", facts.product, offers.flag?)), "; ");
    let flags = [
        ("--project DIR", project),
        ("--local", local),
        ("--user", user),
        ("--frame FILE", "the frame in force; the entries are pinned to its digest".into()),
        ("--digest HEX", "refuse FILE where it does not have this digest".into()),
        ("--no-pin", "not pinned: whoever can write FILE decides".into()),
        (
            "--policy POLICY",
            "deny-only unless told otherwise: an admitted call is left to the vendor's own rules; frame: an admitted \
             call is allowed"
                .into(),
        ),
        ("--audit FILE", "append one line a decision".into()),
        ("--audit-input", "with the tool's input in it, which may hold secrets".into()),
        ("--decider WHICH", format!("ask about every call that the frame admits: {}", Decider::TAKES)),
        ("--deadline SEC", "the hook's own limit, 20 unless told otherwise; the entry's limit stays above it".into()),
        ("--require-frame", "without the frame, deny (it is named, so this is only to be explicit)".into()),
        ("--remove", "take the entries out again".into()),
        ("--print", format!("write nothing, print the entries: {print}")),
        ("--shell", shell),
        ("--managed", format!("print what an administrator puts into /etc, the strongest there is: {managed}")),
    ];
    let doctors = [
        ("--project DIR", "the folder that the vendor is started in; the working folder if not told".into()),
        ("--settings FILE", settings),
        ("--json", "one JSON object".into()),
    ];
    format!(
        "\
usage: {}mh-setup {words} --remove [--project DIR|--local|--user]
       mh-setup {words} --print [--shell] | --managed --frame FILE [FLAG...]
       mh-setup doctor [{words}] [--project DIR] [--settings FILE] [--json]
       mh-setup list [DIR...] [--json]

Puts the entries that run the hook into the vendor's configuration, for the mh-hook program that
lies beside mh-setup, takes them out again, and says whether they hold. For the next step, say the
same with the next frame. Nothing but our own entries is changed.

{}
doctor reads every file that the vendor would, names what takes the guard away, and fires the
entry as the vendor would, with one call that has to be denied and one that must not be. It fires
only a line that mh-setup has written.

{}
list names every entry of ours in your own files, in the machine's, and in the projects at and
below each DIR (the working folder if none is given): which frame and step, and what of it is gone.

  --json            one JSON object
  --help, --version

exit codes: 0 done; for doctor: live (a vendor that is not set up at all does not count where
another one is live); for list: every entry is whole, and its files are there; 1 the frame is
refused; for doctor: not live; for list: an entry is not whole, or a file of it is gone; 2 usage,
a file that cannot be read or written, or something that has to be put right first
",
        usage.collect::<String>(),
        flags.iter().map(row).collect::<String>(),
        doctors.iter().map(row).collect::<String>(),
    )
}

/// The last column of the table of flags.
const WIDTH: usize = 96;

/// A flag and its meaning, broken into lines.
fn row((flag, meaning): &(&str, String)) -> String {
    let (mut out, mut line) = (String::new(), format!("  {flag:<17}"));
    for word in meaning.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            out += &(line + "\n");
            line = " ".repeat(19);
        }
        line += &format!(" {word}");
    }
    out + &line + "\n"
}

/// The whole of `mh-setup`.
pub fn setup(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    conclude(PROGRAM, || work(arguments.into_iter().collect()))
}

fn work(arguments: Vec<OsString>) -> Result<(String, End), Stop> {
    let mut request = Request::default();
    let mut arguments = Arguments::new(PROGRAM, help(), arguments);
    while let Some(argument) = arguments.next(true)? {
        match argument {
            Typed::About(text) => return Ok((text, End::Good)),
            Typed::Flag(flag) => take(&mut request, &flag, &mut arguments)?,
            Typed::Word(word) => match (request.words.as_slice(), word.to_str()) {
                ([], _) => request.words.push(first(&text(word, "the vendor")?)?),
                ([list], _) if list == LIST => request.folders.push(word.into()),
                ([doctor], Some(_)) if doctor == DOCTOR => request.words.push(vendor(&text(word, "the vendor")?)?),
                ([doctor, ..], _) if doctor == DOCTOR => {
                    return Err(arguments.stray(&word, "doctor looks at one vendor, or at all where none is named"));
                }
                ([vendor, ..], _) => {
                    return Err(arguments.stray(&word, &format!("behind {vendor} stand flags alone")));
                }
            },
        }
    }
    let said: Vec<&str> = request.words.iter().map(String::as_str).collect();
    match said.as_slice() {
        [DOCTOR, about @ ..] => {
            fits_doctor(&request, about.first().copied())?;
            doctor::work(&request)
        }
        [LIST] => {
            fits_list(&request)?;
            list::work(&request)
        }
        [word] => {
            let vendor = named(word).ok_or_else(nobody)?;
            fits(&request)?;
            install::work(vendor, &request)
        }
        _ => Err(nobody()),
    }
}

const DOCTOR: &str = "doctor";
const LIST: &str = "list";

fn nobody() -> Stop {
    wrong(&Mistake::Missing("vendor", &format!("{}; or say doctor, or list", words(|_| true))))
}

/// The first word: a vendor's, or one of this program's.
fn first(word: &str) -> Result<String, Stop> {
    let instead = match word {
        DOCTOR | LIST => return Ok(word.into()),
        "status" | "check" | "health" | "verify" | "test" => "mh-setup doctor says whether the hooks are on",
        "install" | "add" | "init" | "set" => "say the vendor: mh-setup VENDOR --frame FILE",
        "uninstall" | "remove" | "rm" | "delete" => "say the vendor: mh-setup VENDOR --remove",
        "ls" | "show" => "mh-setup list names the entries that there are",
        word => return vendor(word),
    };
    Err(Stop::failed(format!("\"{word}\" is no vendor: {instead}")))
}

fn vendor(word: &str) -> Result<String, Stop> {
    let words: Vec<&str> = ALL.iter().map(|vendor| vendor.facts().word).collect();
    match named(word) {
        Some(vendor) => Ok(vendor.facts().word.into()),
        None => Err(no_such("vendor", word, &words, &[DOCTOR, LIST])),
    }
}

/// Take one flag with its value.
fn take(request: &mut Request, flag: &str, arguments: &mut Arguments) -> Result<(), Stop> {
    match flag {
        "--print" => request.print = true,
        "--shell" => request.shell = true,
        "--managed" => request.managed = true,
        "--remove" => request.remove = true,
        "--user" => request.user = true,
        "--local" => request.local = true,
        "--json" => request.json = true,
        "--no-pin" => request.no_pin = true,
        "--require-frame" => request.require_frame = true,
        "--audit-input" => request.audit_input = true,
        "--project" | "--settings" | "--frame" | "--audit" => {
            let file = PathBuf::from(arguments.value()?);
            let place = match flag {
                "--project" => &mut request.project,
                "--settings" => &mut request.settings,
                "--frame" => &mut request.frame,
                _ => &mut request.audit,
            };
            arguments.once(place, file)?;
        }
        "--digest" => {
            let pin = digest(flag, &arguments.text()?)?;
            arguments.once(&mut request.digest, pin)?;
        }
        "--policy" => {
            let policy = arguments.one_of(&POLICIES)?;
            arguments.once(&mut request.policy, policy)?;
        }
        "--decider" => {
            let given = arguments.text()?;
            let decider = Decider::parse(given.as_ref());
            let decider = decider.ok_or_else(|| not_taken(flag, Decider::TAKES, &given, &[]))?;
            arguments.once(&mut request.decider, decider)?;
        }
        "--deadline" => {
            let seconds = number(flag, &arguments.text()?, (1, LONGEST_DEADLINE), SECONDS)?;
            arguments.once(&mut request.deadline, seconds)?;
        }
        _ => return Err(arguments.unknown()),
    }
    Ok(())
}

/// The given flags of an entry.
fn terms(request: &Request) -> [(&'static str, bool); 9] {
    [
        ("--frame", request.frame.is_some()),
        ("--digest", request.digest.is_some()),
        ("--no-pin", request.no_pin),
        ("--policy", request.policy.is_some()),
        ("--audit", request.audit.is_some()),
        ("--audit-input", request.audit_input),
        ("--require-frame", request.require_frame),
        ("--decider", request.decider.is_some()),
        ("--deadline", request.deadline.is_some()),
    ]
}

/// Refuse combinations that make no sense where entries are written, removed or printed, and flags that would be
/// ignored.
fn fits(request: &Request) -> Result<(), Stop> {
    let [project, local, user] = places(request);
    let acts = [("--print", request.print), ("--managed", request.managed), ("--remove", request.remove)];
    exclude(&acts, "each is a thing to do of its own")?;
    exclude(&[user, project], "they are two places")?;
    exclude(&[user, local], "they are two places")?;
    for place in [project, local, user] {
        exclude(&[acts[0], place], "what is printed is written nowhere")?;
        exclude(&[acts[1], place], "what is printed is written nowhere")?;
    }
    for term in terms(request) {
        exclude(&[acts[2], term], "entries are taken out whatever they say")?;
    }
    exclude(&[("--digest", request.digest.is_some()), ("--no-pin", request.no_pin)], "one pins, one does not")?;
    goes_with(&[("--shell", request.shell && !request.print)], "--print")?;
    goes_with(&[("--audit-input", request.audit_input && request.audit.is_none())], "--audit")?;
    goes_with(&[("--settings", request.settings.is_some())], "doctor")?;
    goes_with(&[("--json", request.json)], "doctor or list")
}

fn places(request: &Request) -> [(&'static str, bool); 3] {
    [("--project", request.project.is_some()), ("--local", request.local), ("--user", request.user)]
}

/// Refuse flags whose values doctor reads from the entries.
fn fits_doctor(request: &Request, vendor: Option<&str>) -> Result<(), Stop> {
    let [_, local, user] = places(request);
    written(request, DOCTOR, &[local, user])?;
    match vendor.and_then(named) {
        Some(vendor) if vendor.offers().flag.is_none() && request.settings.is_some() => {
            let others = words(|vendor| vendor.offers().flag.is_some());
            Err(Stop::usage(format!("--settings is for {others}")))
        }
        _ => Ok(()),
    }
}

/// Refuse flags whose values list finds by itself.
fn fits_list(request: &Request) -> Result<(), Stop> {
    if request.project.is_some() {
        return Err(Stop::failed("--project does not go with list: folders stand alone, as in mh-setup list DIR"));
    }
    let [_, local, user] = places(request);
    written(request, LIST, &[local, user, ("--settings", request.settings.is_some())])
}

/// Refuse flags about writing entries.
fn written(request: &Request, word: &str, more: &[(&str, bool)]) -> Result<(), Stop> {
    let acts = [
        ("--print", request.print),
        ("--managed", request.managed),
        ("--remove", request.remove),
        ("--shell", request.shell),
    ];
    let terms = terms(request);
    match acts.iter().chain(&terms).chain(more).find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => {
            Err(Stop::usage(format!("{flag} does not go with {word}: it looks at what is set up, and writes nothing")))
        }
    }
}
