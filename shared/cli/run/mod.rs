//! `mh-run`: one governed turn that a script can trust.

mod capabilities;
mod options;
mod prompt;
mod report;
mod schema;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use self::options::{Errand, Format, Options};
use self::report::Transcript;
use super::voice;

use crate::adapter::run::{Journaled, LaunchOrder, Run, Shadowed, TurnEvent};
use crate::adapter::setup::file::in_words;
use crate::adapter::{self, Hook};
use crate::decide;
use crate::os::release::Release;
use crate::os::{self, End, InputLine, PrivateRoom, Stop, complain, words};
use crate::protocol::MAX_LINE;
use crate::run::{
    self, About, Backpressure, Conclusion, Drive, Embedder, Events, Lines, Merge, Outside, Post, Promise, Queue,
    Stopped, StreamLines, StreamTold, Unhonoured,
};
use crate::seal::{self, VerifiedFrame};

/// The program's name, which every message begins with.
pub const PROGRAM: &str = "mh-run";

/// The whole of `mh-run`.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let end = match options::take(arguments.into_iter().collect()) {
        Ok(Errand::About(text)) if os::say(PROGRAM, &text) => Ok(End::Good),
        Ok(Errand::About(_)) => Ok(End::Failed),
        Ok(Errand::Turn(options)) => work(&options),
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

/// Everything that can be refused is refused before the vendor starts: an error from here is exit 2.
fn work(options: &Options) -> Result<End, Stop> {
    let frame = frame(options)?;
    let passed = controls(options)?;
    let promise = match (&frame, options.handoff_check) {
        (Some((_, frame)), true) => {
            Some(Promise::of(frame.frame(), &options.cwd, &options.artifacts, options.schema.is_some()))
        }
        _ => None,
    };
    let promise = promise.transpose().map_err(Stop::failed)?;
    let hook = hook(options.vendor)?;
    let prompt = prompt::take(&options.prompt, options.asking.is_none())?;
    let (program, version) = adapter::run::find(options.vendor, options.program.as_deref()).map_err(Stop::failed)?;
    let run = os::run_id();
    let room = PrivateRoom::new(&run).map_err(|error| {
        let below = std::env::temp_dir();
        Stop::failed(format!(
            "no folder for the run can be made below {}: {}; set TMPDIR to a folder that can be written to",
            below.display(),
            error.why()
        ))
    })?;
    let audit = options.audit.clone().unwrap_or_else(|| room.path().join("audit.jsonl"));
    let (_, audited) = crate::os::open_audit(&audit).map_err(|error| {
        Stop::failed(format!("the audit {} cannot be written to: {}", audit.display(), error.why()))
    })?;
    let socket = room.path().join("asked");
    let order = LaunchOrder {
        vendor: options.vendor,
        program,
        hook,
        frame,
        policy: options.policy,
        audit: in_words(&audit)?,
        decider: match options.asking {
            Some(_) => Some(format!("unix:{}", in_words(&socket)?)),
            None => options.decider.clone(),
        },
        // the hook's own limit lies above the embedder's, which denies with a better reason
        patience: options.asking.map(|asking| u32::try_from(asking.deadline.as_secs() + 10).unwrap_or(u32::MAX)),
        // a call in a script of Codex has its input nowhere else
        inputs: options.audit.is_none(),
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
        options: passed,
    };
    let launch = adapter::run::launch(&order, &room).map_err(|why| Stop::failed(why.to_string()))?;
    os::shut().map_err(|why| Stop::failed(format!("this run could not be kept out of the agent's reach: {why}")))?;
    os::adopt().map_err(|why| Stop::failed(format!("what a turn leaves running could not be ended: {why}")))?;
    if order.frame.is_some() {
        order.vendor.agrees(&order, &launch, &room).map_err(|why| refused(options, why))?;
    }
    let drive = Drive::new().map_err(|error| Stop::failed(format!("signals could not be taken: {}", words(error))))?;
    let post = drive.post();
    if options.asking.is_some() {
        let post = post.clone();
        run::listen(&socket, move |knock| post.send(Outside::Hook(knock)))?;
    }
    let before = report::before(options, &order, &launch, version);
    let lost = post.clone();
    let outlet = Queue::new(move |_| {
        lost.send(Outside::Unread);
    });
    let room_for_more = outlet.room();

    let started = Instant::now();
    let transcript = Transcript::new(options.verbose || std::io::stderr().is_terminal());
    let show = |event: &TurnEvent| transcript.show(event);
    let embedder = options.asking.map(|asking| Embedder::new(options.vendor, asking.deadline, asking.on_eof));
    let mut course = Merge::new(options.vendor, (audit, audited), launch.home.clone(), &show, outlet)
        .sharing(options.audit.is_some())
        .telling(lines(options, &order, &run, version, &before))
        .warning(&before.warnings)
        .withholding(withheld(&order))
        .asking(embedder);
    if options.asking.is_some() {
        let room_for_more = room_for_more.clone();
        std::thread::spawn(move || commands(&post, &room_for_more));
    }
    let (ending, late) = drive.run(&launch, options.timeout, &room_for_more, &mut course)?;
    let judgements = course.settle();
    let turn = &mut course.turn;
    let journaled = options.vendor.journal().map(|_| journaled(options.vendor, &launch.home, turn.session.as_deref()));
    turn.audit(options.vendor, &judgements, journaled.as_ref().map(Option::as_ref));
    turn.ended(&ending);
    let Conclusion { outcome, error, answered } =
        turn.conclusion(&ending, promise.as_ref(), options.fail_on_denied).with(options.vendor, turn.unauthorized);
    let printed = run::Printed {
        vendor: options.vendor.facts().word,
        version: version.to_string(),
        digest: order.frame.as_ref().map(|(_, frame)| frame.digest().as_str()),
        policy: order.policy(),
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    report::on_the_way(turn, answered, options.vendor.facts().program);
    // a turn whose stdout nobody reads did not fail by that, and the message has a line of its own
    let error = error.as_deref().filter(|_| ending.stopped != Some(Stopped::Unread));
    late.hear(&mut course);
    let written = course.end(|turn, lines| match (lines, options.format) {
        (Some(lines), _) => lines.end(&run::TurnEnd {
            turn,
            outcome,
            error,
            answered,
            ending: &ending,
            printed: &printed,
            checked: promise.is_some(),
        }),
        (None, Format::Json) => run::json(turn, outcome, error, answered, &printed),
        (None, _) if answered => run::text(turn),
        (None, _) => String::new(),
    });
    match (&written, options.format) {
        (Err(why), _) => report::unwritten(why, error),
        (Ok(()), Format::Text) if !answered => {
            complain(PROGRAM, error.unwrap_or("the turn did not complete"));
        }
        (Ok(()), Format::Events) => error.into_iter().for_each(|error| complain(PROGRAM, error)),
        (Ok(()), _) => {}
    }
    let good = written.is_ok() && answered;
    Ok(if good { End::Good } else { End::Refused })
}

/// The form of the lines while the turn runs, if it is printed in lines.
fn lines(
    options: &Options,
    order: &LaunchOrder,
    run: &str,
    version: Release,
    before: &report::Before,
) -> Option<Box<dyn Lines>> {
    let cwd = order.cwd.display().to_string();
    Some(match options.format {
        Format::Text | Format::Json => return None,
        Format::Stream => Box::new(StreamLines {
            vendor: options.vendor.facts().word,
            version: version.to_string(),
            frame: order.frame.as_ref().map(|(_, frame)| frame.digest().to_string()),
            policy: order.policy(),
            model: options.model.clone(),
            cwd,
            prompt: order.prompt.clone(),
            told: StreamTold::default(),
        }),
        Format::Events => Box::new(Events::new(
            run.into(),
            About {
                vendor: options.vendor.facts().word,
                version: version.to_string(),
                frame: order.frame.as_ref().map(|(_, frame)| frame.clone()),
                decisions: if options.asking.is_some() { Some(run::ASK) } else { order.policy() },
                hermetic: options.hermetic,
                cwd,
                model: options.model.clone(),
                withheld: order.withheld(),
                ambient: before.left_out.clone(),
                imposed: adapter::run::imposed(options.vendor, order.frame.is_some(), options.hermetic),
                unavailable: options.vendor.unavailable(),
            },
        )),
    })
}

/// The reasons for refusing calls of tools that are not offered, in the hook's own words.
fn withheld(order: &LaunchOrder) -> HashMap<&'static str, String> {
    let (Some((_, frame)), Some(tools)) = (&order.frame, order.withheld()) else { return HashMap::new() };
    let reason = |tool, needs| decide::refused(frame, &format!("{tool} needs {needs}, which is not admitted"));
    tools.into_iter().map(|(tool, needs)| (tool, reason(tool, needs))).collect()
}

/// Pass on the embedder's lines as fast as they can be answered. This goes on while the embedder reads nothing, since
/// one of its lines may be a stop.
fn commands(post: &Post, room: &Backpressure) {
    os::read_lines(MAX_LINE, &mut |line| {
        room.wait_beyond();
        post.send(match line {
            InputLine::Whole(line) => Outside::Command(line),
            InputLine::TooLong => Outside::TooLong,
        })
    });
    post.send(Outside::Gone);
}

/// The frame, refused before money is spent.
fn frame(options: &Options) -> Result<Option<(String, VerifiedFrame)>, Stop> {
    let Some(path) = &options.frame else { return Ok(None) };
    let shown = in_words(path)?;
    os::read_bounded(path, seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, options.pin.as_ref()))
        .map(|frame| Some((shown.clone(), frame)))
        .map_err(|refusal| Stop { end: End::Failed, ..Stop::document(&shown, &refusal) })
}

/// The vendor's options from behind `--`, or the control that the run needs and cannot have, before money is spent.
fn controls(options: &Options) -> Result<Vec<String>, Stop> {
    for control in &options.needs {
        let why = match run::controls(options.vendor).find(|(known, _)| known == control) {
            None => {
                let known: Vec<&str> = run::controls(options.vendor).map(|(known, _)| known).collect();
                return Err(voice::not_taken("--needs", &voice::joined(&known, "or"), control, &known));
            }
            Some((_, Some(why))) => why,
            // by --decider, or by lines
            Some(("tool.decide", None)) if options.decider.is_none() && options.asking.is_none() => {
                "needs an embedder: give --decisions ask or --decider".into()
            }
            // a signal does both where there are no lines
            Some((_, None)) => continue,
        };
        return Err(refused(options, Unhonoured::Unsupported { control: control.clone(), why }));
    }
    let shadowed = |why: Shadowed| refused(options, why);
    options.vendor.shadows(Path::new("/etc")).map_err(shadowed)?;
    adapter::run::carried(options.vendor, &options.carried).map_err(shadowed)?;
    if !options.hermetic {
        let home = adapter::run::home(options.vendor, &options.cwd);
        recorded(options.vendor, &home)?;
        options.vendor.env_file(&home).map_err(shadowed)?;
    }
    options::passed(options).map_err(shadowed)
}

/// Check that the vendor can write its records. Without that it fails with words that name neither the folder nor a
/// remedy, if it fails at all.
fn recorded(vendor: &dyn Run, home: &Path) -> Result<(), Stop> {
    os::can_write_below(home).map_err(|error| {
        let (word, (variable, _)) = (vendor.facts().word, vendor.own_folder());
        Stop::failed(format!(
            "{word} keeps its records in {}, where nothing can be written: {}; name another folder by {variable}, or use \
             --hermetic",
            home.display(),
            error.why()
        ))
    })
}

/// The run needs a control that cannot be honoured; a reader of lines gets that in lines.
fn refused(options: &Options, why: impl Into<Unhonoured>) -> Stop {
    let why = why.into();
    if options.format == Format::Events {
        report::refused(&why);
    }
    Stop::failed(why.to_string())
}

/// The hook program beside this one.
fn hook(vendor: &dyn Hook) -> Result<String, Stop> {
    let own = std::env::current_exe().map_err(|error| Stop::failed(words(error)))?;
    let hook = own.with_file_name(vendor.facts().program);
    match hook.is_file() {
        true => Ok(in_words(&hook)?),
        false => Err(Stop::failed(format!("{}: no such file; it belongs beside mh-run", hook.display()))),
    }
}

/// The vendor's journal of the session and of its sub-agents, if it can be read.
fn journaled(vendor: &dyn Run, home: &Path, session: Option<&str>) -> Option<Journaled> {
    let journal = vendor.journal()?;
    let files = journal.files(home, session?);
    let mut journaled = Journaled::default();
    for file in &files {
        journal.read(file, journal.is_own(file, session?), &mut journaled).ok()?;
    }
    (!files.is_empty()).then_some(journaled)
}

impl Options {
    /// The project's own instructions, which the launch's isolation drops.
    fn instructions(&self) -> Result<Option<String>, Stop> {
        let names = self.vendor.ambient().instructions;
        if !self.project_instructions || names.is_empty() {
            return Ok(None);
        }
        let file = names.iter().map(|name| self.cwd.join(name)).find(|file| file.is_file());
        let file = file.ok_or_else(|| {
            Stop::failed(format!("{}: there is no {} in it", self.cwd.display(), names.first().unwrap_or(&"")))
        })?;
        let text = fs_err::read_to_string(&file).map_err(|error| Stop::failed(words(error)))?;
        // the longest argument on Linux
        match text.len() < 128 * 1024 {
            true => Ok(Some(text)),
            false => Err(Stop::failed(format!("{}: too long to be passed on ({} bytes)", file.display(), text.len()))),
        }
    }
}
