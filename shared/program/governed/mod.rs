//! `mh-run`: one governed turn that a script can trust.

mod options;
mod prompt;
mod report;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use self::options::{Asked, Format, Options};
use self::report::Transcript;
use super::{End, Stop, VERSION, complain};
use crate::host::{self, words};
use crate::seal::{self, VerifiedFrame};
use crate::turn::{self, Drive, Kind, Order, PrivateRoom, Promise, Reader, Turn, rollout::Rollout};
use crate::vendor::{Vendor, claude::Claude, codex::Codex};

/// The program's name, in front of everything it says.
pub const PROGRAM: &str = "mh-run";

/// Run it.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let end = match options::take(arguments.into_iter().collect()) {
        Ok(Asked::About(text)) if host::say(PROGRAM, &text) => Ok(End::Good),
        Ok(Asked::About(_)) => Ok(End::Failed),
        Ok(Asked::Turn(options)) => work(&options),
        Err(stop) => Err(stop),
    };
    match end {
        Ok(end) => end,
        Err(stop) => {
            complain(PROGRAM, &stop.why);
            stop.end
        }
    }
    .into()
}

/// All that can be refused is refused before anything is started: an error from here is exit 2.
fn work(options: &Options) -> Result<End, Stop> {
    let frame = frame(options)?;
    turn::layers(options.kind, Path::new("/")).map_err(Stop::failed)?;
    needs(options)?;
    let promise = match (&frame, options.handoff_check) {
        (Some((_, frame)), true) => {
            Some(Promise::of(frame.frame(), &options.cwd, &options.artifacts, options.schema.is_some()))
        }
        _ => None,
    };
    let promise = promise.transpose().map_err(Stop::failed)?;
    let hook = hook(options.kind)?;
    let prompt = prompt::take(&options.prompt).map_err(Stop::failed)?;
    let (program, version) = turn::find(options.kind, options.program.as_deref()).map_err(Stop::failed)?;
    let room = PrivateRoom::new().map_err(|error| Stop::failed(format!("no folder for the run: {}", words(error))))?;
    let audit = options.audit.clone().unwrap_or_else(|| room.path().join("audit.jsonl"));
    let (_, audited) = crate::host::open_audit(&audit)
        .map_err(|why| Stop::failed(format!("the audit {} cannot be written to: {why}", audit.display())))?;
    let order = Order {
        kind: options.kind,
        program,
        hook,
        frame,
        policy: options.policy,
        audit: utf8(&audit)?,
        decider: options.decider.clone(),
        prompt,
        model: options.model.clone(),
        cwd: options.cwd.clone(),
        hermetic: options.hermetic,
        credentials: options.credentials,
        carried: options.carried.clone(),
        mcp: options.mcp.clone(),
        schema: options.schema.clone(),
        sandbox: options.sandbox.clone(),
        instructions: options.instructions()?,
        options: options.passed.clone(),
    };
    let launch = turn::launch(&order, &room).map_err(Stop::failed)?;
    turn::adopt().map_err(|why| Stop::failed(format!("what a turn leaves running could not be ended: {why}")))?;
    let drive = Drive::new().map_err(|error| Stop::failed(format!("signals could not be taken: {}", words(error))))?;
    report::before(options, &order, version);

    let (started, mut reader, mut turn) = (Instant::now(), Reader::new(options.kind), Turn::default());
    let transcript = Transcript::new(options.verbose || std::io::stderr().is_terminal());
    let ending = drive
        .run(&launch, options.timeout, &mut |line| {
            for event in reader.line(line) {
                transcript.show(&event);
                turn.hear(event);
            }
        })
        .map_err(Stop::failed)?;
    let judgements = turn::judgements(&audit, audited).map_err(|error| Stop::refused(words(error)))?;
    let rollout = turn.session.as_deref().and_then(|session| rollout(options.kind, &launch.home, session));
    turn.audit(options.kind, &judgements, rollout.as_ref());
    let (outcome, error) = turn.outcome(&ending, promise.as_ref());
    let printed = turn::Printed {
        vendor: options.kind.word(),
        version: version.to_string(),
        digest: order.frame.as_ref().map(|(_, frame)| frame.digest().as_str()),
        policy: options.policy.word(),
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    report::on_the_way(&turn, outcome);
    let said = match options.format {
        Format::Text if outcome.answered() => report::print(&turn::text(&turn), None),
        Format::Text => {
            complain(PROGRAM, error.as_deref().unwrap_or("the turn did not complete"));
            true
        }
        Format::Json => report::print(&turn::json(&turn, outcome, error.as_deref(), &printed), error.as_deref()),
    };
    let refused = !turn.refused.is_empty() || !turn.denied.is_empty();
    let good = said && outcome.answered() && !(options.fail_on_denied && refused);
    Ok(if good { End::Good } else { End::Refused })
}

/// The frame, refused before money is spent.
fn frame(options: &Options) -> Result<Option<(String, VerifiedFrame)>, Stop> {
    let Some(path) = &options.frame else { return Ok(None) };
    let shown = utf8(path)?;
    host::read_bounded(path, seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, options.pin.as_ref()))
        .map(|frame| Some((shown.clone(), frame)))
        .map_err(|refusal| Stop::failed(format!("{shown}: {}: {refusal}", refusal.name())))
}

/// The controls that the caller is sure to use. `tool.decide` is honoured over `--decider`,
/// `interrupt` and `halt` by a signal; no adapter delivers the others.
fn needs(options: &Options) -> Result<(), Stop> {
    for control in &options.needs {
        let why = match control.as_str() {
            "tool.decide" if options.decider.is_some() => continue,
            "interrupt" | "halt" => continue,
            "tool.decide" => "needs an embedder: give --decider",
            "frame.set" | "message.inject" | "steer" | "permission.set" => "cannot be honoured with this vendor",
            _ => "is no control",
        };
        let why = format!("UNSUPPORTED_CONTROL: {control} {why} ({})", options.kind.word());
        return Err(Stop::failed(why));
    }
    Ok(())
}

/// The hook program that lies beside this one.
fn hook(kind: Kind) -> Result<String, Stop> {
    let name = match kind {
        Kind::Claude => Claude::PROGRAM,
        Kind::Codex => Codex::PROGRAM,
    };
    let own = std::env::current_exe().map_err(|error| Stop::failed(words(error)))?;
    let hook = own.with_file_name(name);
    match hook.is_file() {
        true => utf8(&hook),
        false => Err(Stop::failed(format!("{}: no such file; it belongs beside mh-run", hook.display()))),
    }
}

/// What Codex wrote down of the session and of its sub-agents.
fn rollout(kind: Kind, home: &Path, session: &str) -> Option<Rollout> {
    if kind != Kind::Codex {
        return None;
    }
    let files = turn::rollout::files(home, session);
    let mut rollout = Rollout::default();
    for file in &files {
        turn::rollout::read(file, &mut rollout).ok()?;
    }
    (!files.is_empty()).then_some(rollout)
}

fn utf8(path: &Path) -> Result<String, Stop> {
    path.to_str()
        .map(String::from)
        .ok_or_else(|| Stop::failed(format!("{}: not UTF-8, so no entry can name it", path.display())))
}

impl Options {
    /// The project's own instructions, which the isolation of Claude Code drops.
    fn instructions(&self) -> Result<Option<String>, Stop> {
        if !self.project_instructions || self.kind != Kind::Claude {
            return Ok(None);
        }
        let file =
            ["CLAUDE.md", ".claude/CLAUDE.md"].iter().map(|name| self.cwd.join(name)).find(|file| file.is_file());
        let file = file.ok_or_else(|| Stop::failed(format!("{}: there is no CLAUDE.md in it", self.cwd.display())))?;
        let text = fs_err::read_to_string(&file).map_err(|error| Stop::failed(words(error)))?;
        // the longest argument that Linux takes
        match text.len() < 128 * 1024 {
            true => Ok(Some(text)),
            false => Err(Stop::failed(format!("{}: too long to be passed on ({} bytes)", file.display(), text.len()))),
        }
    }
}
