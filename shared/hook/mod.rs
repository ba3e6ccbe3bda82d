//! The hook program: one payload in, one answer out.
//!
//! Whatever goes wrong is remembered until the event is known, and then ends in the answer that
//! keeps the call from running.

mod consult;
mod decider;
mod options;
mod paths;

pub use consult::Embedder;
pub use decider::{Decider, Unanswered, same_user};
pub use options::{DEADLINE, Setup};

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use self::consult::consult;
use self::paths::{Folders, Taken};
use crate::adapter::{
    self, Environment, Event, Hook, LONGEST, MOST_BYTES, MOST_PATHS, PathKind, Payload, Place, Protected, RawAsks,
    RawNeed, RawPath, Verdict, Wire,
};
use crate::decide::{self, Asks, Call, Decision, Kept, Need, Policy, REASON_LIMIT, Tampering, Target, clipped};
use crate::frame::{Operation, shown};
use crate::os::{self, Exit, Input, Record};
use crate::seal::{self, VerifiedFrame};

/// What is left for the answer when the deadline has passed: the entries' own limit lies above it.
const LAST_WORD: Duration = Duration::from_secs(2);

/// Run the hook of one vendor.
pub fn run(vendor: &dyn Hook, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let start = Instant::now();
    // the reason goes out by our own hand
    std::panic::set_hook(Box::new(|_| {}));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let [only] = arguments.as_slice()
        && let Some(text) = only.to_str().and_then(|flag| about(vendor, flag))
    {
        return if os::say(vendor.facts().program, &text) { Exit::Answered } else { Exit::Blocked }.into();
    }
    os::hold_signals();
    answer_or_block(vendor, start, || work(vendor, start, arguments)).into()
}

/// What the program says about itself when that is all it is asked.
fn about(vendor: &dyn Hook, flag: &str) -> Option<String> {
    match flag {
        "--help" | "-h" => Some(help(vendor)),
        "--version" | "-V" => Some(format!("{} {}\n", vendor.facts().program, os::VERSION)),
        "--table" => Some(vendor.facts().table.print(vendor.facts())),
        _ => None,
    }
}

fn help(vendor: &dyn Hook) -> String {
    format!(
        "\
usage: {program} [--frame FILE [--digest HEX]] [--policy frame|deny-only] [--require-frame]
       {dots} [--audit FILE] [--decider WHICH] [--audit-input] [--deadline SECONDS] [--no-self-protect]
       {program} --table | --help | --version

{product} runs this for each tool call. It reads the call from standard input and answers by
the sealed frame in force: allow, abstain, deny or replace. Whatever goes wrong, the call does not run.

  --frame FILE         the frame in force, by absolute path      (or MH_FRAME)
                       neither given: no frame is in force, and the hook abstains
  --digest HEX         the frame must have this digest           (or MH_FRAME_DIGEST)
  --policy frame       an admitted call is allowed; the default  (or MH_POLICY)
  --policy deny-only   an admitted call is left to {product}'s own rules
  --require-frame      no frame is then a denial                 (or MH_REQUIRE_FRAME=1)
  --audit FILE         append one line a decision                (or MH_AUDIT)
  --audit-input        with the tool's input in it, which may hold secrets
  --decider WHICH      ask about every call that the frame       (or MH_DECIDER)
                       admits: exec:/abs/program or unix:/abs/socket
  --deadline SECONDS   for all of it, 20 unless told otherwise   (or MH_DEADLINE)
  --no-self-protect    let writes to the guard's own files be judged like any other
  --table              print which operation each tool of {product} carries

With --frame, settings come from the command line alone: a variable that says otherwise is
a mistake, and every call is denied.

exit codes: 0 answered, or nothing to say; 2 the call must not run
",
        program = vendor.facts().program,
        dots = " ".repeat(vendor.facts().program.len()),
        product = vendor.facts().product,
    )
}

/// Answer, and should anything panic on the way, block: an escaped panic is exit 101, which both
/// vendors take for leave.
fn answer_or_block(vendor: &dyn Hook, start: Instant, answer: impl FnOnce() -> Exit) -> Exit {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        let reason =
            format!("{}: a fault in this program, so the call was not run; please report it", vendor.facts().program);
        let wire = vendor.answer(Event::Gate, "PreToolUse", &Verdict::Deny(reason));
        catch_unwind(AssertUnwindSafe(|| os::deliver(&wire, start + DEADLINE))).unwrap_or(Exit::Blocked)
    })
}

fn work(vendor: &dyn Hook, start: Instant, arguments: Vec<OsString>) -> Exit {
    let environment = |name: &str| std::env::var_os(name);
    let setup = Setup::take(arguments, &environment);
    let deadline = start + setup.deadline;
    let input = os::read_stdin(deadline);
    let ask = |decider: &Decider, line: &str| decider.ask(line, deadline);
    let left = || deadline.saturating_duration_since(Instant::now());
    let embedder = Some(Embedder { ask: &ask, left: &left });
    let around = Surroundings { environment: &environment, folder: None, embedder, deadline: Some(deadline) };
    let mut judged = judge(vendor, &setup, &input, &around);
    if let (Some(file), true) = (&setup.audit, judged.counts) {
        judged.record.micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        judged.record.stamp();
        if let Err(why) = os::append(file, &judged.record) {
            let file = clipped(&shown(&file.to_string_lossy()), 300);
            judged.verdict =
                Verdict::Deny(stopped(vendor, &format!("the audit line could not be written to {file}: {why}")));
        }
    }
    // a decider may have used all the time there was, and its denial has to go out still
    os::deliver(&judged.wire(vendor), deadline.max(Instant::now() + LAST_WORD))
}

/// What a judgement goes by besides the setup and the payload.
pub struct Surroundings<'a> {
    /// The environment.
    pub environment: Environment<'a>,
    /// The folder that stands for the process's own.
    pub folder: Option<PathBuf>,
    /// The way to an embedder; none, and a call that needs one is denied.
    pub embedder: Option<Embedder<'a>>,
    /// When the call has to be judged; what is not by then is denied.
    pub deadline: Option<Instant>,
}

/// What a payload comes to.
#[derive(Debug)]
pub struct Judged {
    /// What kind of event it was.
    pub event: Event,
    /// Its name.
    pub name: String,
    /// What is to be said.
    pub verdict: Verdict,
    /// The audit line, but for its time.
    pub record: Record,
    /// Whether this is a decision, which an audit has to hold.
    pub counts: bool,
}

impl Judged {
    /// The answer on the vendor's wire.
    pub fn wire(&self, vendor: &dyn Hook) -> Wire {
        vendor.answer(self.event, &self.name, &self.verdict)
    }
}

/// Judge one payload. Reads the frame and looks at paths; changes nothing.
pub fn judge(vendor: &dyn Hook, setup: &Setup, input: &Input, around: &Surroundings<'_>) -> Judged {
    let mut record = Record { vendor: vendor.facts().word, decided_by: "adapter", seam: "hook", ..Record::default() };
    let frame = frame_in_force(vendor, setup);
    if let Ok(Some(frame)) = &frame {
        record.frame_digest = Some(frame.digest().to_string());
    }
    let payload = match &input.fault {
        Some(fault) => Err(fault.clone()),
        None => Payload::read_until(&input.bytes, around.deadline).map_err(|why| format!("the payload {why}")),
    };
    let (event, name) = match &payload {
        Ok(payload) => (vendor.event(&payload.event), payload.event.clone()),
        Err(_) => (Event::Gate, "PreToolUse".into()),
    };
    if let Ok(payload) = &payload {
        record.event = Some(payload.event.clone());
        record.session_id.clone_from(&payload.session);
        record.agent_id.clone_from(&payload.agent);
        record.call_id.clone_from(&payload.call_id);
        record.tool.clone_from(&payload.tool);
    }
    let verdict = match (&frame, &payload) {
        (Ok(None), _) => Verdict::Abstain,
        (_, Ok(_)) if event == Event::Passing => Verdict::Abstain,
        // no call waits for an answer
        (_, Ok(payload))
            if event == Event::Unknown
                && payload.tool.is_none()
                && adapter::stranger(vendor.facts(), payload).is_none() =>
        {
            Verdict::Abstain
        }
        (Err(refused), _) => Verdict::Deny(refused.clone()),
        (_, Err(why)) => Verdict::Deny(stopped(vendor, why)),
        (Ok(Some(frame)), Ok(payload)) => match adapter::stranger(vendor.facts(), payload) {
            Some(other) => Verdict::Deny(stopped(
                vendor,
                &format!("the payload is {other}'s, and this hook is {}'s", vendor.facts().product),
            )),
            None => by_event(vendor, setup, frame, event, payload, around, &mut record),
        },
    };
    record.decision.decision = match &verdict {
        Verdict::Allow => "allow",
        Verdict::Abstain | Verdict::Text(_) => "abstain",
        Verdict::Deny(_) => "deny",
        Verdict::Replace { .. } => "replace",
    };
    if let Verdict::Deny(reason) = &verdict {
        record.decision.reason = Some(reason.clone());
    }
    if let (true, Ok(payload)) = (setup.audit_input, &payload) {
        record.input = Some(payload.input.raw().into()).filter(|raw: &String| !raw.is_empty());
        if let Verdict::Replace { input, .. } = &verdict {
            record.decision.input = Some(input.clone());
        }
    }
    let waits = matches!(event, Event::Gate | Event::Approval | Event::Unknown);
    let counts = event != Event::Passing && (waits || matches!(verdict, Verdict::Deny(_)));
    let mut judged = Judged { event, name, verdict, record, counts };
    if judged.verdict == Verdict::Allow && judged.wire(vendor) == Wire::silence() {
        // what goes out grants nothing, and the record says what went out
        judged.record.decision.decision = "abstain";
    }
    judged
}

/// The frame in force: none, or one that verifies. `Err` is why every call is denied.
fn frame_in_force(vendor: &dyn Hook, setup: &Setup) -> Result<Option<VerifiedFrame>, String> {
    if let Some(mistake) = &setup.mistake {
        return Err(stopped(vendor, mistake));
    }
    let Some(path) = &setup.frame else {
        return match setup.require_frame {
            true => Err(stopped(vendor, "no frame is in force, and one is required; give --frame (or MH_FRAME)")),
            false => Ok(None),
        };
    };
    os::read_bounded(path, seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, setup.pin.as_ref()))
        .map(Some)
        .map_err(|refusal| {
            let path = clipped(&shown(&path.to_string_lossy()), 300);
            stopped(vendor, &format!("the frame {path} is refused: {}: {refusal}", refusal.name()))
        })
}

/// A reason that is not about this one call.
pub(crate) fn stopped(vendor: &dyn Hook, why: &str) -> String {
    let end = format!("; nothing runs until this is put right; to undo, {}", vendor.facts().undo);
    format!(
        "{}: {}{end}",
        vendor.facts().program,
        clipped(&shown(why), REASON_LIMIT - vendor.facts().program.len() - 2 - end.len())
    )
}

/// A call under a frame.
pub(super) struct Case<'a> {
    /// What the hook is told.
    pub setup: &'a Setup,
    /// The frame in force.
    pub frame: &'a VerifiedFrame,
    /// The payload.
    pub payload: &'a Payload<'a>,
    /// The tool.
    pub tool: &'a str,
    /// What else it goes by.
    pub around: &'a Surroundings<'a>,
}

fn by_event(
    vendor: &dyn Hook,
    setup: &Setup,
    frame: &VerifiedFrame,
    event: Event,
    payload: &Payload<'_>,
    around: &Surroundings<'_>,
    record: &mut Record,
) -> Verdict {
    match (event, &payload.tool) {
        (Event::Gate | Event::Approval, None) => Verdict::Deny(stopped(vendor, "the payload has no `tool_name`")),
        (Event::Gate | Event::Approval, Some(tool)) => {
            let raw = vendor.asks(payload, tool);
            if let RawAsks::Needs(needs) = &raw {
                record.operations = needs.iter().map(|need| need.wanted.words()).collect();
                record.operations.sort_unstable();
                record.operations.dedup();
            }
            let call = finish(vendor, setup, frame, payload, tool, raw, around);
            record.decided_by = "frame";
            let mut decision = decide::decide(frame, &call, setup.policy);
            if let (Some(decider), Event::Gate, Asks::Needs(needs), Decision::Allow | Decision::Abstain) =
                (&setup.decider, event, &call.asks, &decision)
            {
                let case = Case { setup, frame, payload, tool, around };
                (decision, record.decided_by) = consult(vendor, &case, decider, needs);
            }
            if around.deadline.is_some_and(|deadline| Instant::now() >= deadline)
                && !matches!(decision, Decision::Deny(_))
            {
                decision = Decision::Deny(stopped(vendor, "the call was not judged when the deadline passed"));
                record.decided_by = "deadline";
            }
            match decision {
                Decision::Deny(reason) => Verdict::Deny(reason),
                Decision::Replace(input) => Verdict::Replace { input, grants: setup.policy == Policy::Frame },
                Decision::Allow if event == Event::Gate || vendor.grants_approval(tool) => Verdict::Allow,
                Decision::Allow | Decision::Abstain => Verdict::Abstain,
            }
        }
        (Event::Unknown, Some(_)) => Verdict::Deny(stopped(
            vendor,
            &format!(
                "{} {} has no event `{}`, so nothing says what an answer to it does",
                vendor.facts().product,
                vendor.facts().table.release,
                clipped(&shown(&payload.event), 80)
            ),
        )),
        (Event::Start, _) => Verdict::Text(frame.text().within(vendor.facts().text_limit, |text| vendor.measure(text))),
        (Event::Unknown, None) | (Event::Prompt | Event::Passing, _) => Verdict::Abstain,
    }
}

/// Why the paths of a call are too much to be judged, if they are.
fn too_much(payload: &Payload<'_>, needs: &[RawNeed]) -> Option<String> {
    let folder = payload.cwd.as_ref().map_or(0, String::len);
    let paths = || needs.iter().filter_map(|need| need.path.as_ref());
    if paths().any(|path| folder + path.written.len() > LONGEST) {
        return Some(RawNeed::too_long());
    }
    let bytes: usize = paths().map(|path| folder + path.written.len()).sum();
    (paths().count() > MOST_PATHS || bytes > MOST_BYTES).then(RawNeed::too_many)
}

/// Finish a call's paths, as far as the frame has rules for them, and see whether it writes to
/// what the guard stands on.
pub(crate) fn finish(
    vendor: &dyn Hook,
    setup: &Setup,
    frame: &VerifiedFrame,
    payload: &Payload<'_>,
    tool: &str,
    raw: RawAsks,
    around: &Surroundings<'_>,
) -> Call {
    let call = |tampers, asks| Call { tool: tool.into(), tampers, asks };
    match raw {
        RawAsks::Needs(needs) => match finished(vendor, setup, frame, payload, needs, around) {
            Ok((tampers, needs)) => call(tampers, Asks::Needs(needs)),
            Err(why) => call(None, Asks::Nothing(why)),
        },
        RawAsks::Conversation => call(None, Asks::Conversation),
        RawAsks::Nothing(why) => call(None, Asks::Nothing(why)),
    }
}

/// What a call needs, and what it would change that is kept from it. `Err` is why that cannot be told, to follow the
/// tool's name.
fn finished(
    vendor: &dyn Hook,
    setup: &Setup,
    frame: &VerifiedFrame,
    payload: &Payload<'_>,
    needs: Vec<RawNeed>,
    around: &Surroundings<'_>,
) -> Result<(Option<Tampering>, Vec<Need>), String> {
    let rules = !frame.frame().scope.is_empty();
    let needs = by_letters(payload, needs, rules)?;
    let paths = || needs.iter().filter_map(|need| need.path.as_ref());
    let scoped = rules && paths().next().is_some();
    let writes = setup.self_protect && needs.iter().any(|need| need.writes() && need.path.is_some());
    if !scoped && !writes {
        // nobody asks where it leads
        let target = |path: RawPath| Target { written: path.written, spelled: Vec::new() };
        let needs = needs.into_iter().map(|need| Need { wanted: need.wanted, path: need.path.map(target) });
        return Ok((None, needs.collect()));
    }
    let folders = folders(vendor, payload, around);
    if scoped && folders.project.is_none() {
        return Err("cannot be judged by the path rules: the working folder that they are relative to is gone".into());
    }
    let taken = paths().map(|path| folders.take(path)).collect::<Result<Vec<_>, _>>()?;
    if scoped && let Some(path) = taken.iter().find(|path| folders.is_copy(path)) {
        return Err(format!(
            "is about {}, in a copy of the working tree, where the path rules of this step do not hold: work on the files \
             of the project itself",
            clipped(&shown(path.written()), 150)
        ));
    }
    let mut tampers = None;
    if writes {
        let mut places = places(setup, &folders, &taken, around.environment)?;
        if scoped || !decide::admits(frame, &Operation::FileRead) {
            places.extend(loaded(vendor));
        }
        let written = needs.iter().filter(|need| need.path.is_some()).zip(&taken);
        tampers = paths::guarded(written.filter(|(need, _)| need.writes()).map(|(_, path)| path), &places);
    }
    let mut taken = taken.into_iter();
    let needs = needs.into_iter().map(|need| Need {
        path: need.path.map(|path| {
            let spelled = taken.next().filter(|_| scoped).map(|taken| folders.spell(&taken)).unwrap_or_default();
            Target { written: path.written, spelled }
        }),
        wanted: need.wanted,
    });
    Ok((tampers, needs.collect()))
}

/// What can be told of a call's paths by their letters, no file looked at: what no reader could be sure of is refused.
fn by_letters(payload: &Payload<'_>, needs: Vec<RawNeed>, rules: bool) -> Result<Vec<RawNeed>, String> {
    if let Some(why) = too_much(payload, &needs) {
        return Err(why);
    }
    let any = |path: &RawPath| path.kind == PathKind::Any;
    let paths = || needs.iter().filter_map(|need| need.path.as_ref());
    if let Some(path) = paths().find(|path| rules && any(path)) {
        return Err(format!(
            "has {} in it, by which the vendor reads files by itself, and it cannot be told which: the path rules of this \
             step cannot judge it; write it without, and read the file by a call of its own",
            clipped(&shown(&path.written), 150)
        ));
    }
    match paths().filter(|path| !any(path)).find_map(|path| paths::unclear(&path.written, payload.cwd.as_deref())) {
        Some(why) => Err(why),
        None => {
            Ok(needs.into_iter().map(|need| RawNeed { path: need.path.filter(|path| !any(path)), ..need }).collect())
        }
    }
}

/// The folders that paths go by: what the environment names as the project, else the process's
/// own folder, which an agent cannot move, if it is still there.
fn folders(vendor: &dyn Hook, payload: &Payload<'_>, around: &Surroundings<'_>) -> Folders {
    let own = || around.folder.clone().or_else(|| std::env::current_dir().ok());
    let absolute = |path: &PathBuf| path.is_absolute();
    let working = payload.cwd.as_ref().map(PathBuf::from).filter(absolute).or_else(own);
    Folders::new(
        working.unwrap_or_else(|| "/".into()),
        vendor.facts().project.and_then(around.environment).map(PathBuf::from).filter(absolute).or_else(own),
    )
}

/// The file of this program: by the system's word, and where it has none, without `/proc`, by the name that it was started
/// by, if that is absolute.
fn own_program() -> Option<PathBuf> {
    let named = || std::env::args_os().next().map(PathBuf::from).filter(|name| name.is_absolute());
    std::env::current_exe().ok().or_else(named)
}

/// What a writing call must not touch: what guards this step, and what any vendor is governed by.
fn places(
    setup: &Setup,
    folders: &Folders,
    taken: &[Taken],
    environment: Environment<'_>,
) -> Result<Vec<Protected>, String> {
    let own = own_program().ok_or(
        "cannot be judged: the file of the program that guards this step cannot be told; mount /proc, or start the program by \
         its absolute path",
    )?;
    let file = |path: PathBuf, what| Protected::guard(Place::File(path), what);
    let mut all = Vec::new();
    all.extend(setup.frame.clone().map(|path| file(path, "the frame in force")));
    let folder = own.parent().map(PathBuf::from).filter(|folder| taken.iter().any(|path| path.is_below(folder)));
    all.push(file(own, "the program that guards this step"));
    // the programs beside it are as good as it: one of them writes the entries. Where the system told
    // of the program, no link is left in its folder's name
    if let Some(folder) = folder {
        // a project that holds the program, as a checkout does, is worked on all the same
        let holds = folders.real_project().is_some_and(|project| project.starts_with(&folder));
        let names = if holds { &["mh-*"] } else { &["*"] };
        let place = Place::Among { names, folders: vec![folder], below: !holds };
        all.push(Protected::guard(place, "beside the program that guards this step"));
    }
    all.extend(setup.audit.clone().map(|path| file(path, "the audit of this step")));
    all.extend(setup.decider.as_ref().map(|decider| file(decider.path().into(), "the decider of this step")));
    all.extend(adapter::places(environment, folders.project.as_deref()));
    Ok(all)
}

/// What the vendor loads by itself, of its own accord.
fn loaded(vendor: &dyn Hook) -> impl Iterator<Item = Protected> {
    let what = "loaded by itself, with every file that it imports";
    vendor.facts().loaded.iter().map(move |names| Protected { place: Place::Names(names), what, kept: Kept::Loads })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{claude::Claude, codex::Codex};

    /// What is read in time may be judged too late.
    #[test]
    fn a_call_that_is_judged_too_late_is_denied_and_the_record_says_by_whom() {
        let frame = seal::verify(include_bytes!("../../fixtures/golden/frame.json"), None).unwrap();
        let call = |event: &str, tool: &str| {
            format!(r#"{{"hook_event_name":"{event}","tool_name":"{tool}","tool_input":{{"command":"true"}}}}"#)
        };
        let judged = |event, tool, deadline| {
            let payload = call("PreToolUse", tool);
            let payload = Payload::read(payload.as_bytes()).unwrap();
            let around = Surroundings { environment: &|_| None, folder: None, embedder: None, deadline };
            let mut record = Record::default();
            let verdict = by_event(&Claude, &Setup::default(), &frame, event, &payload, &around, &mut record);
            (verdict, record.decided_by)
        };
        let (past, ahead) = (Some(Instant::now()), Instant::now().checked_add(Duration::from_secs(1 << 20)));
        for deadline in [None, ahead] {
            assert_eq!(judged(Event::Gate, "Bash", deadline), (Verdict::Allow, "frame"));
        }
        for event in [Event::Gate, Event::Approval] {
            for tool in ["Bash", "AskUserQuestion"] {
                let (Verdict::Deny(why), by) = judged(event, tool, past) else { panic!("{event:?} {tool}") };
                assert!(why.contains("the call was not judged when the deadline passed"), "{why}");
                assert_eq!(by, "deadline");
            }
        }
        // what the frame refuses is refused by the frame all the same
        assert_eq!(judged(Event::Gate, "CronList", past).1, "frame");
    }

    #[test]
    fn a_panic_blocks_and_is_no_other_exit_code() {
        // fails with 101 if the profile ever aborts instead of unwinding
        assert_eq!(answer_or_block(&Claude, Instant::now(), || panic!("injected")), Exit::Blocked);
        assert_eq!(answer_or_block(&Codex, Instant::now(), || panic!("injected")), Exit::Blocked);
    }
}
