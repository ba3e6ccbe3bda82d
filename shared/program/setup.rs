//! `mh-setup`: the hooks' entries in a vendor's configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{End, Stop, VERSION, run, text};
use crate::decide::Policy;
use crate::host;
use crate::seal;
use crate::vendor::{Registration, Vendor, claude, codex};

const PROGRAM: &str = "mh-setup";

const HELP: &str = "\
usage: mh-setup claude|codex --print [--shell] --frame FILE [--no-pin] [--policy frame|deny-only]
             [--audit FILE] [--require-frame]

Prints the entries that run the hook, for the mh-hook program that lies beside mh-setup.

  --print           print the entries: JSON for a settings file of Claude Code, TOML for
                    the config.toml of Codex with the hashes by which it trusts them
  --shell           Claude Code: the form for releases before 2.1.295, which know no onFailure
  --frame FILE      the frame in force; the entries are pinned to its digest
  --no-pin          not pinned: whoever can write FILE decides
  --policy POLICY   deny-only unless told otherwise: an admitted call is left to the vendor's
                    own rules; frame: an admitted call is allowed
  --audit FILE      append one line a decision
  --require-frame   without the frame, deny (it is named, so this is only to be explicit)
  --help, --version

exit codes: 0 printed; 1 the frame is refused; 2 usage, or a file cannot be read
";

#[derive(Default)]
struct Order {
    vendor: Option<String>,
    print: bool,
    shell: bool,
    frame: Option<PathBuf>,
    no_pin: bool,
    policy: Option<Policy>,
    audit: Option<PathBuf>,
    require_frame: bool,
}

/// Run it.
pub fn setup(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run(PROGRAM, || work(arguments.into_iter().collect()))
}

fn work(arguments: Vec<OsString>) -> Result<(String, End), Stop> {
    let mut order = Order::default();
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            lexopt::Arg::Short('h') | lexopt::Arg::Long("help") => return Ok((HELP.into(), End::Good)),
            lexopt::Arg::Short('V') | lexopt::Arg::Long("version") => {
                return Ok((format!("{PROGRAM} {VERSION}\n"), End::Good));
            }
            lexopt::Arg::Long("print") => order.print = true,
            lexopt::Arg::Long("shell") => order.shell = true,
            lexopt::Arg::Long("no-pin") => order.no_pin = true,
            lexopt::Arg::Long("require-frame") => order.require_frame = true,
            lexopt::Arg::Long("frame") => order.frame = Some(parser.value()?.into()),
            lexopt::Arg::Long("audit") => order.audit = Some(parser.value()?.into()),
            lexopt::Arg::Long("policy") => {
                let word = text(parser.value()?, "--policy")?;
                let policy = Policy::from_word(&word);
                order.policy = Some(policy.ok_or_else(|| Stop::usage("--policy takes frame or deny-only"))?);
            }
            lexopt::Arg::Value(vendor) if order.vendor.is_none() => order.vendor = Some(text(vendor, "the vendor")?),
            other => return Err(other.unexpected().into()),
        }
    }
    if !order.print {
        return Err(Stop::usage("nothing to do without --print"));
    }
    match order.vendor.as_deref() {
        Some("claude") => {
            let entry = registration::<claude::Claude>(&order)?;
            Ok((claude::settings(&entry, order.shell), End::Good))
        }
        Some("codex") if order.shell => Err(Stop::usage("--shell is for claude; codex always runs a shell")),
        Some("codex") => {
            let entry = registration::<codex::Codex>(&order)?;
            let home = std::env::var_os("CODEX_HOME").map(PathBuf::from);
            let home = home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".codex")));
            let home = home.ok_or_else(|| Stop::failed("neither CODEX_HOME nor HOME is set"))?;
            Ok((codex::config(&entry, &words(&home.join("config.toml"))?), End::Good))
        }
        _ => Err(Stop::usage("say for which vendor: claude or codex")),
    }
}

/// The hook's command line: the program beside this one, and every setting as a flag.
fn registration<V: Vendor>(order: &Order) -> Result<Registration, Stop> {
    let frame = order.frame.as_ref().ok_or_else(|| Stop::usage("say which frame: --frame FILE"))?;
    let frame = std::path::absolute(frame).map_err(|error| Stop::failed(host::words(error)))?;
    let shown = words(&frame)?;
    let sealed = host::read_bounded(&frame, seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, None))
        .map_err(|refusal| Stop::document(&shown, &refusal))?;
    let own = std::env::current_exe().map_err(|error| Stop::failed(host::words(error)))?;
    let program = own.with_file_name(V::PROGRAM);
    if !program.is_file() {
        return Err(Stop::failed(format!("{}: no such file; it belongs beside mh-setup", program.display())));
    }
    let mut arguments = vec!["--frame".into(), shown];
    if !order.no_pin {
        arguments.extend(["--digest".into(), sealed.digest().to_string()]);
    }
    arguments.extend(["--policy".into(), order.policy.unwrap_or(Policy::DenyOnly).word().into()]);
    if let Some(audit) = &order.audit {
        let audit = std::path::absolute(audit).map_err(|error| Stop::failed(host::words(error)))?;
        arguments.extend(["--audit".into(), words(&audit)?]);
    }
    arguments.extend(order.require_frame.then(|| "--require-frame".to_string()));
    Ok(Registration { program: words(&program)?, arguments })
}

/// A path that can stand in JSON and TOML.
fn words(path: &Path) -> Result<String, Stop> {
    match path.to_str() {
        Some(text) => Ok(text.into()),
        None => Err(Stop::failed(format!("{}: not UTF-8, so no entry can name it", path.display()))),
    }
}
