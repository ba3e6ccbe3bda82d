//! `mh-setup`: the hooks' entries in a vendor's configuration, and whether they hold.

use std::ffi::OsString;
use std::process::ExitCode;

use super::{about, conclude, text};
use crate::adapter::setup::Offers;
use crate::adapter::{ALL, Facts, named, words};
use crate::decide::Policy;
use crate::os::{End, Stop};
use crate::setup::{PROGRAM, Request, doctor, install};

/// The help: what differs from vendor to vendor is put together from what each of them says.
fn help() -> String {
    let vendors: Vec<_> = ALL.iter().map(|vendor| (vendor.facts(), vendor.offers())).collect();
    let words = vendors.iter().map(|(facts, _)| facts.word).collect::<Vec<_>>().join("|");
    let usage = vendors.iter().map(|(facts, offers)| {
        let place = if offers.project.is_ok() { "--project DIR|--user " } else { "" };
        format!("mh-setup {} {place}--frame FILE [FLAG...]\n       ", facts.word)
    });
    let of = |part: fn(&Facts, &Offers) -> Option<String>, between: &str| {
        let all = vendors.iter().filter_map(|(facts, offers)| part(facts, offers));
        all.collect::<Vec<_>>().join(between)
    };
    let project = of(|facts, offers| Some(format!("{}: {}", facts.product, offers.project.ok()?)), "; ");
    let user = of(|facts, offers| Some(format!("{}: {}", facts.product, offers.user)), "; ");
    let print = of(|_, offers| Some(offers.print.into()), ", ");
    let shell = of(|facts, offers| Some(format!("with --print for {}: {}", facts.product, offers.shell.ok()?)), "; ");
    let managed = of(|_, offers| Some(offers.managed.into()), ", ");
    let settings =
        of(|facts, offers| Some(format!("a file that {} is started with by {}", facts.product, offers.flag?)), "; ");
    let flags = [
        ("--project DIR", project),
        ("--user", user),
        ("--frame FILE", "the frame in force; the entries are pinned to its digest".into()),
        ("--no-pin", "not pinned: whoever can write FILE decides".into()),
        (
            "--policy POLICY",
            "deny-only unless told otherwise: an admitted call is left to the vendor's own rules; frame: an admitted \
             call is allowed"
                .into(),
        ),
        ("--audit FILE", "append one line a decision".into()),
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
usage: {}mh-setup {words} --remove [--project DIR|--user]
       mh-setup {words} --print [--shell] | --managed --frame FILE [FLAG...]
       mh-setup doctor [{words}] [--project DIR] [--settings FILE] [--json]

Puts the entries that run the hook into the vendor's configuration, for the mh-hook program that
lies beside mh-setup, takes them out again, and says whether they hold. For the next step, say the
same with the next frame. Nothing but our own entries is changed.

{}
doctor reads every file that the vendor would, names what takes the guard away, and fires the
entry as the vendor would, with one call that has to be denied and one that must not be. It fires
only a line that mh-setup has written.

{}
  --help, --version

exit codes: 0 done, for doctor: live; 1 the frame is refused, for doctor: not live (of both
vendors, one that is not set up at all does not count where the other one is live); 2 usage, a
file that cannot be read or written, or something that has to be put right first
",
        usage.collect::<String>(),
        flags.iter().map(row).collect::<String>(),
        doctors.iter().map(row).collect::<String>(),
    )
}

/// The last column of the flags' table.
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

/// Run it.
pub fn setup(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    conclude(PROGRAM, || work(arguments.into_iter().collect()))
}

fn work(arguments: Vec<OsString>) -> Result<(String, End), Stop> {
    let mut request = Request::default();
    let mut parser = lexopt::Parser::from_args(arguments);
    let help = help();
    while let Some(argument) = parser.next()? {
        if let Some(text) = about(&argument, PROGRAM, &help) {
            return Ok((text, End::Good));
        }
        match argument {
            lexopt::Arg::Long("print") => request.print = true,
            lexopt::Arg::Long("shell") => request.shell = true,
            lexopt::Arg::Long("managed") => request.managed = true,
            lexopt::Arg::Long("remove") => request.remove = true,
            lexopt::Arg::Long("user") => request.user = true,
            lexopt::Arg::Long("json") => request.json = true,
            lexopt::Arg::Long("no-pin") => request.no_pin = true,
            lexopt::Arg::Long("require-frame") => request.require_frame = true,
            lexopt::Arg::Long("project") => request.project = Some(parser.value()?.into()),
            lexopt::Arg::Long("settings") => request.settings = Some(parser.value()?.into()),
            lexopt::Arg::Long("frame") => request.frame = Some(parser.value()?.into()),
            lexopt::Arg::Long("audit") => request.audit = Some(parser.value()?.into()),
            lexopt::Arg::Long("policy") => {
                let word = text(parser.value()?, "--policy")?;
                let policy = Policy::from_word(&word);
                request.policy = Some(policy.ok_or_else(|| Stop::usage("--policy takes frame or deny-only"))?);
            }
            lexopt::Arg::Value(word) if request.words.len() < 2 => request.words.push(text(word, "the vendor")?),
            other => return Err(other.unexpected().into()),
        }
    }
    let nobody = || Stop::usage(format!("say for which vendor: {}; or doctor", words(|_| true)));
    let said: Vec<&str> = request.words.iter().map(String::as_str).collect();
    match said.as_slice() {
        ["doctor", about @ ..] => {
            request.fits_doctor()?;
            match about.iter().all(|word| named(word).is_some()) {
                true => doctor::work(&request),
                false => {
                    let all: Vec<&str> = ALL.iter().map(|vendor| vendor.facts().word).collect();
                    Err(Stop::usage(format!("doctor takes {}, or neither for both", all.join(", "))))
                }
            }
        }
        said => {
            let [word] = said else { return Err(nobody()) };
            let vendor = named(word).ok_or_else(nobody)?;
            request.fits()?;
            install::work(vendor, &request)
        }
    }
}
