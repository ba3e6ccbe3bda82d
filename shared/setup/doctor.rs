//! `mh-setup doctor`: whether the guard is on, else the reason why not.

use std::path::Path;

use super::line::{answers, of_this_release};
use super::probe::probe;
use super::{PROGRAM, Request};
use crate::adapter::setup::file::absolute;
use crate::adapter::setup::report::{DENIED, Liveness, Loss, Report};
use crate::adapter::setup::terms::EntryTerms;
use crate::adapter::setup::{Depth, Examined, Setup, WholeEntry};
use crate::adapter::{ALL, Hook, Registration};
use crate::frame::shown;
use crate::hook::{Decider, HookOptions};
use crate::os::permissions;
use crate::os::release::{Installed, Release, installed};
use crate::os::{self, Progress};
use crate::os::{End, Stop};
use crate::seal::{self, Refusal, VerifiedFrame};

/// The folder of the machine's own configuration.
pub(super) const ETC: &str = "/etc";

/// Examine every vendor, or the one on the command line.
pub(crate) fn work(request: &Request) -> Result<(String, End), Stop> {
    let project = match &request.project {
        Some(project) => absolute(project)?,
        None => std::env::current_dir().map_err(|error| Stop::failed(os::words(error)))?,
    };
    if !project.is_dir() {
        return Err(Stop::failed(format!("{}: no such folder", project.display())));
    }
    // vendors name their working folder with links followed, as the system does
    let project = fs_err::canonicalize(&project).unwrap_or(project);
    let asked = request.words.get(1).map(String::as_str);
    let progress = Progress::new(PROGRAM);
    let mut reports = Vec::new();
    for vendor in ALL.iter().filter(|vendor| asked.is_none_or(|asked| asked == vendor.facts().word)) {
        progress.at(format!("{}: reading what it reads when it is started here", vendor.facts().word));
        let examined = vendor.examine(Path::new(ETC), &project, request.settings.as_deref())?;
        reports.push(report(*vendor, examined.as_ref(), Depth::Probed, &progress));
    }
    drop(progress);
    reports.iter_mut().for_each(Report::settle);
    let any = reports.iter().any(|report| report.state == Liveness::Live);
    let all = reports
        .iter()
        .all(|report| report.state == Liveness::Live || (asked.is_none() && report.state == Liveness::Absent));
    let end = if any && all { End::Good } else { End::Refused };
    let text = match request.json {
        true => json(&reports, asked.is_some()),
        false => reports.iter().map(Report::text).collect::<Vec<_>>().join("\n"),
    };
    Ok((text, end))
}

/// The obstacles for an entry that was just written, for a vendor that starts in this folder: every reason for which
/// doctor would not call it live, apart from those that need the vendor's answer or a fired line.
pub(super) fn in_the_way(vendor: &dyn Setup, project: &Path) -> Vec<String> {
    let project = fs_err::canonicalize(project).unwrap_or_else(|_| project.into());
    match vendor.examine(Path::new(ETC), &project, None) {
        Ok(examined) => {
            let report = report(vendor, examined.as_ref(), Depth::Read, &Progress::new(PROGRAM));
            report.why.iter().cloned().chain(report.losses.iter().map(Loss::line)).collect()
        }
        Err(why) => vec![why.to_string()],
    }
}

/// Report the findings in the order in which they matter.
fn report(vendor: &dyn Setup, examined: &dyn Examined, depth: Depth, progress: &Progress) -> Report {
    let word = vendor.facts().word;
    let mut report = Report::new(vendor.facts().word, vendor.unseen().into());
    report.layers = examined.files();
    let all = examined.entries(&mut report);
    let Some((guard, others)) = all.split_last() else {
        if report.state == Liveness::Absent {
            examined.absent(&mut report);
        }
        progress.at(format!("{word}: asking for its release"));
        release(vendor, &mut report);
        return report;
    };
    line_in_order(vendor, examined, guard, &mut report);
    if depth == Depth::Probed {
        progress.at(format!("{word}: asking for its release"));
        release(vendor, &mut report);
    }
    progress.at(format!("{word}: going through what takes the hook away"));
    for other in others.iter().filter(|other| other.line != guard.line) {
        beside(vendor, &mut report, other);
    }
    examined.look(guard, depth, &mut report);
    report.notes.extend(guard.older.as_ref().map(|why| {
        let file = guard.file.display();
        format!("{file}: an entry as an older mh-setup wrote it: {why}; say mh-setup {word} again")
    }));
    report.notes.extend(verified(&guard.terms).ok().and_then(|frame| vendor.lacks(&frame)));
    if !own_program(vendor, &guard.line) {
        report.state = Liveness::Altered;
        report.why.push(format!(
            "{}: not the program beside this mh-setup, so it was not fired; use the mh-setup beside it",
            guard.line.program
        ));
        return report;
    }
    report.state = Liveness::NotLive;
    if depth == Depth::Probed && report.why.is_empty() && report.losses.is_empty() {
        progress.at(format!("{word}: firing the entry"));
        fire(vendor, examined, guard, &mut report);
    }
    report
}

/// Fire the line, which makes it live if its answer is right.
fn fire(vendor: &dyn Setup, examined: &dyn Examined, guard: &WholeEntry, report: &mut Report) {
    let trial = examined.trial(guard);
    let shell = trial.shell.as_ref().map(|shell| shell.display());
    match probe(vendor, guard, &trial, &|name| examined.variable(name)) {
        Ok((fired, beside)) => {
            report.fired = Some(fired);
            report.notes.extend(beside.map(|text| {
                format!(
                    "{} says this beside every answer: `{}`; a denial holds, and what the hook tells the model does not \
                     reach it as it should; take it out of its start-up file",
                    shell.map(|shell| shell.to_string()).unwrap_or_default(),
                    shown(&text)
                )
            }));
            report.notes.extend(guard.terms.decider.as_ref().map(|decider| {
                format!("the decider {decider} was not asked: what was fired is answered before it comes to that")
            }));
            report.state = Liveness::Live;
        }
        Err(why) => {
            let by = shell.map(|shell| format!(" by {shell}")).unwrap_or_default();
            report.why.push(format!("fired{by}: {why}"));
        }
    }
}

/// One vendor's report as an object; several as one object by the vendors' names.
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

/// Check everything that the line depends on: its program, frame, audit and options.
fn line_in_order(vendor: &dyn Setup, examined: &dyn Examined, guard: &WholeEntry, report: &mut Report) {
    let WholeEntry { line, terms, .. } = guard;
    report.line = Some(line.shell_words());
    program(vendor, report, line);
    frame(report, terms);
    let told = HookOptions::take(line.arguments.iter().map(Into::into), &|name| examined.variable(name));
    let decider = told.decider.as_ref();
    if let Some(why) = decider.and_then(|decider| answers(decider).err()) {
        report.why.push(format!("the decider {why}"));
    }
    report.why.extend(told.mistake.map(|mistake| format!("{mistake}; {DENIED} when started from here")));
    let files = [
        ("program", Some(Path::new(&line.program))),
        ("frame", Some(Path::new(&terms.frame))),
        ("audit", terms.audit.as_ref().map(Path::new)),
        ("decider", decider.map(Decider::path)),
    ];
    for (what, file) in files {
        let Some(file) = file.filter(|file| file.exists()) else { continue };
        written_by_others(what, file, terms, report);
    }
    if let Some(folder) =
        terms.audit.as_ref().and_then(|audit| Path::new(audit).parent()).filter(|folder| !folder.is_dir())
    {
        report.why.push(format!("{}: no such folder for the audit, so {DENIED}; make it", folder.display()));
    }
}

/// Report the users who could replace this file.
fn written_by_others(what: &str, file: &Path, terms: &EntryTerms, report: &mut Report) {
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
        report.notes.push(format!("you, and an agent with a shell, can write the {what} {}{pinned}", file.display()));
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

/// Report an entry of ours besides the guard: both judge every call.
fn beside(vendor: &dyn Hook, report: &mut Report, other: &WholeEntry) {
    let file = other.file.display();
    let more = match looked_at(&other.terms) {
        Ok(frame) => format!("its frame is {frame}"),
        Err(why) => {
            report.why.push(format!(
                "{file}: the entry there as well: {why}, so {DENIED}; say mh-setup {} again",
                vendor.facts().word
            ));
            return;
        }
    };
    let program = &other.line.program;
    if rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_err() {
        report.why.push(format!("{file}: the entry there starts {program}, which cannot be started, so {DENIED}"));
    }
    report.notes.push(format!(
        "{file}: an entry of ours with another line stands there as well, {more}: both judge every call, and one runs that neither denies"
    ));
}

/// Whether a line starts the program beside this one. The behaviour of another program is unknown.
fn own_program(vendor: &dyn Hook, line: &Registration) -> bool {
    let real = |path: &Path| fs_err::canonicalize(path).ok();
    let own = std::env::current_exe().ok().map(|own| own.with_file_name(vendor.facts().program));
    let named = Path::new(&line.program);
    // a program that is gone is not another one
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

/// The frame of these terms.
fn verified(terms: &EntryTerms) -> Result<VerifiedFrame, Refusal> {
    os::read_bounded(Path::new(&terms.frame), seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, terms.pin.as_ref()))
}

/// The frame of these terms in words, or the refusal.
pub(super) fn looked_at(terms: &EntryTerms) -> Result<String, String> {
    let frame = verified(terms).map_err(|refusal| {
        // the message about an edited frame names the fault itself
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
        shown(&step.workflow)
    ))
}

/// Report the vendor's release, and whether the entry holds on it.
fn release(vendor: &dyn Setup, report: &mut Report) {
    let (oldest, _) = vendor.oldest();
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
