//! `mh-setup doctor`: whether the guard is on, and if not, why.

pub mod shots;

use std::path::{Path, PathBuf};

use crate::adapter::claude::setup::doctor as claude;
use crate::adapter::codex::setup::doctor as codex;
use crate::adapter::setup::report::{DENIED, Report, State};
use crate::adapter::setup::terms::EntryTerms;
use crate::adapter::{Environment, Hook, Registration};
use crate::hook::Setup;
use crate::os;
use crate::os::permissions;
use crate::os::release::{Installed, Release, installed};
use crate::os::{End, Stop};
use crate::seal;
use crate::setup::Order;
use crate::setup::line::{absolute, of_this_release};

pub(crate) fn work(order: &Order) -> Result<(String, End), Stop> {
    let project = match &order.project {
        Some(project) => absolute(project)?,
        None => std::env::current_dir().map_err(|error| Stop::failed(os::words(error)))?,
    };
    if !project.is_dir() {
        return Err(Stop::failed(format!("{}: no such folder", project.display())));
    }
    // vendors name their working folder as the system does, without links
    let project = std::fs::canonicalize(&project).unwrap_or(project);
    let asked = order.words.get(1).map(String::as_str);
    let etc = PathBuf::from("/etc");
    let mut reports = Vec::new();
    if asked != Some("codex") {
        let flag = order.settings.as_deref().map(absolute).transpose()?;
        reports.push(claude::examine(etc.clone(), &project, flag, Depth::Fired));
    }
    if asked != Some("claude") {
        reports.push(codex::examine(etc, &project, Depth::Fired)?);
    }
    reports.iter_mut().for_each(Report::settle);
    let any = reports.iter().any(|report| report.state == State::Live);
    let all =
        reports.iter().all(|report| report.state == State::Live || (asked.is_none() && report.state == State::Absent));
    let end = if any && all { End::Good } else { End::Refused };
    let text = match order.json {
        true => json(&reports, asked.is_some()),
        false => reports.iter().map(Report::text).collect::<Vec<_>>().join("\n"),
    };
    Ok((text, end))
}

/// How far a vendor is looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The files, the environment and the line.
    Read,
    /// And the vendor's program is asked, and the line fired.
    Fired,
}

/// What stands in the way of an entry that has just been written, for a vendor that is started in this folder: each thing
/// for which doctor would not call it live, but for what only asking and firing tells.
pub fn in_the_way(vendor: &str, project: &Path) -> Vec<String> {
    let project = std::fs::canonicalize(project).unwrap_or_else(|_| project.into());
    let etc = PathBuf::from("/etc");
    let report = match vendor {
        "claude" => claude::examine(etc, &project, None, Depth::Read),
        _ => match codex::examine(etc, &project, Depth::Read) {
            Ok(report) => report,
            Err(stop) => return vec![stop.why],
        },
    };
    report.why.iter().cloned().chain(report.losses.iter().map(crate::adapter::setup::report::Loss::line)).collect()
}

/// One vendor's report as an object; both as one object by their names.
fn json(reports: &[Report], one: bool) -> String {
    let text = match reports {
        [report] if one => serde_json::to_string(report),
        reports => {
            let named: std::collections::BTreeMap<&str, &Report> =
                reports.iter().map(|report| (report.vendor, report)).collect();
            serde_json::to_string(&named)
        }
    };
    text.map(|text| text + "\n").unwrap_or_default()
}

/// What stands and falls with the line itself: its program, frame and audit, and the release. `environment` is what the
/// hook is given.
pub fn line_in_order(
    vendor: &dyn Hook,
    report: &mut Report,
    line: &Registration,
    terms: &EntryTerms,
    (oldest, depth): (&str, Depth),
    environment: Environment<'_>,
) {
    report.line = Some(line.shell_words());
    program(vendor, report, line);
    frame(report, terms);
    let told = Setup::take(line.arguments.iter().map(Into::into), environment);
    report.why.extend(told.mistake.map(|mistake| format!("{mistake}; {DENIED} when started from here")));
    let files = [("program", Some(&line.program)), ("frame", Some(&terms.frame)), ("audit", terms.audit.as_ref())];
    for (what, file) in files {
        let Some(file) = file.map(Path::new).filter(|file| file.exists()) else { continue };
        if let Some(folder) = permissions::temporary(file) {
            report.notes.push(format!("the {what} lies in the temporary folder {}", folder.display()));
        }
        if let Some(step) = permissions::open_to_all(file) {
            report.why.push(format!("every user can write {}, and with it the {what}; chmod o-w it", step.display()));
        }
        if let Some(who) = permissions::open_to_some(file) {
            report.notes.push(format!("{who}, and with it the {what}"));
        }
        if permissions::open_to_me(file) && what != "audit" {
            let pinned =
                if what == "frame" && terms.pin.is_some() { "; it is pinned, so another one is refused" } else { "" };
            report
                .notes
                .push(format!("you, and an agent with a shell, can write the {what} {}{pinned}", file.display()));
        }
    }
    if let Some(folder) =
        terms.audit.as_ref().and_then(|audit| Path::new(audit).parent()).filter(|folder| !folder.is_dir())
    {
        report.why.push(format!("{}: no such folder for the audit, so {DENIED}; make it", folder.display()));
    }
    if depth == Depth::Fired {
        release(vendor, report, oldest);
    }
}

fn program(vendor: &dyn Hook, report: &mut Report, line: &Registration) {
    let program = Path::new(&line.program);
    let shown = program.display();
    if rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_err() {
        report.why.push(format!(
            "{shown}: registered, not startable, so {DENIED}; install it again, or {}",
            vendor.facts().undo
        ));
    } else if own_program(vendor, line)
        && let Err(why) = of_this_release(vendor, program)
    {
        report.why.push(format!("{why}, so what it has to answer is not known"));
    }
}

/// An entry of ours besides the one that was looked at first: both judge every call.
pub fn beside(vendor: &dyn Hook, report: &mut Report, file: &Path, line: &Registration, terms: &EntryTerms) {
    let file = file.display();
    let more = match looked_at(terms) {
        Ok(frame) => format!("its frame is {frame}"),
        Err(why) => {
            report.why.push(format!(
                "{file}: the entry there as well: {why}, so {DENIED}; say mh-setup {} again",
                vendor.facts().word
            ));
            return;
        }
    };
    if rustix::fs::access(&line.program, rustix::fs::Access::EXEC_OK).is_err() {
        report
            .why
            .push(format!("{file}: the entry there starts {}, which cannot be started, so {DENIED}", line.program));
    }
    report.notes.push(format!(
        "{file}: an entry of ours with another line stands there as well, {more}: both judge every call, and one runs that neither denies"
    ));
}

/// Whether a line starts the program that lies beside this one: what another does is not known.
pub fn own_program(vendor: &dyn Hook, line: &Registration) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let own = std::env::current_exe().ok().map(|own| own.with_file_name(vendor.facts().program));
    let named = Path::new(&line.program);
    // one that is gone altogether is not another's
    own.is_some_and(|own| own == named || (real(&own).is_some() && real(&own) == real(named)))
}

fn frame(report: &mut Report, terms: &EntryTerms) {
    match looked_at(terms) {
        Ok(frame) => report.frame = Some(frame),
        Err(why) => {
            report
                .why
                .push(format!("{why}, so {DENIED}; say mh-setup {} again with the frame that is meant", report.vendor));
        }
    }
}

/// The frame that these terms name, in words, or why it is refused.
fn looked_at(terms: &EntryTerms) -> Result<String, String> {
    let frame = os::read_bounded(Path::new(&terms.frame), seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, terms.pin.as_ref()))
        .map_err(|refusal| {
            // an edited one says so itself
            let name = if refusal.name() == "edited" { String::new() } else { format!("{}: ", refusal.name()) };
            format!("{}: {name}{refusal}", terms.frame)
        })?;
    let pinned = if terms.pin.is_some() { "pinned" } else { "not pinned: whoever can write it decides" };
    let step = &frame.frame().step;
    Ok(format!(
        "{} {}, step {} of {}, {pinned}",
        terms.frame,
        frame.digest().short(),
        step.index,
        crate::frame::shown(&step.workflow)
    ))
}

pub(crate) fn release(vendor: &dyn Hook, report: &mut Report, oldest: &str) {
    report.release = match installed(vendor.facts().word) {
        Installed::Nowhere => {
            if report.line.is_some() {
                report.why.push(format!(
                    "there is no {} on PATH, so whether {} holds by this entry is not known; put it there",
                    vendor.facts().word,
                    vendor.facts().product
                ));
            }
            format!("not checked, there is no {} on PATH; it has to be {oldest} or newer", vendor.facts().word)
        }
        Installed::Silent(program, why) => {
            if report.line.is_some() {
                report.why.push(format!(
                    "{}: its release is not known: {why}; it has to be {oldest} or newer",
                    program.display()
                ));
            }
            format!("not checked, {}: {why}", program.display())
        }
        Installed::At(program, release) => {
            if Release::find(oldest).is_some_and(|oldest| release < oldest) {
                report.why.push(format!(
                    "{}: {} {release} is older than {oldest}; update it",
                    program.display(),
                    vendor.facts().product
                ));
            }
            format!("{} {release} ({})", vendor.facts().product, program.display())
        }
    };
}
