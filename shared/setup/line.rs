//! The hook's line from the command line, and the reasons for refusing to write one.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::{PROGRAM, Request};
use crate::adapter::setup::Setup;
use crate::adapter::setup::file::{absolute, in_words};
use crate::adapter::setup::terms::EntryTerms;
use crate::adapter::{Hook, Registration};
use crate::decide::Policy;
use crate::hook::Decider;
use crate::os;
use crate::os::permissions;
use crate::os::release::{Installed, Release, asking_release, installed, said};
use crate::os::{Stop, VERSION, complain};
use crate::seal::{self, VerifiedFrame};

/// The hook's line with its frame.
pub(super) struct PreparedLine {
    pub(super) registration: Registration,
    pub(super) terms: EntryTerms,
    pub(super) frame: VerifiedFrame,
    pub(super) decider: Option<Decider>,
}

/// Check that a decider can be asked.
///
/// # Errors
/// The decider is missing, or is not what it must be.
pub(crate) fn answers(decider: &Decider) -> Result<(), String> {
    let shown = decider.path().display();
    #[expect(clippy::disallowed_methods, reason = "the sentence names the file")]
    let found = std::fs::metadata(decider.path()).map_err(|error| format!("{shown}: {}", os::words(error)))?;
    let wanted = match decider {
        Decider::Program(_) if !found.is_file() || found.permissions().mode() & 0o111 == 0 => {
            "a program that can be started"
        }
        Decider::Socket(_) if !found.file_type().is_socket() => "a socket",
        _ => return Ok(()),
    };
    Err(format!("{shown}: it is not {wanted}, so every call would be denied"))
}

/// The line: the program beside this one, with every setting as a flag.
pub(super) fn prepare(vendor: &dyn Hook, request: &Request) -> Result<PreparedLine, Stop> {
    let file = request.frame.as_ref().ok_or_else(|| Stop::usage("no frame is given: --frame FILE"))?;
    let file = absolute(file)?;
    let shown = in_words(&file)?;
    let frame = os::read_bounded(&file, seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, request.digest.as_ref()))
        .map_err(|refusal| Stop::document(&shown, &refusal))?;
    let program = program(vendor)?;
    let audit = request.audit.as_deref().map(absolute).transpose()?;
    if let Some(folder) = audit.as_ref().and_then(|audit| audit.parent()).filter(|folder| !folder.is_dir()) {
        let why = format!(
            "{}: no such folder; without it no audit line can be written, and every call is denied",
            folder.display()
        );
        return Err(Stop::failed(why));
    }
    let terms = EntryTerms {
        frame: shown,
        pin: (!request.no_pin).then(|| frame.digest().clone()),
        policy: request.policy.unwrap_or(Policy::DenyOnly),
        audit: audit.as_deref().map(in_words).transpose()?,
        require_frame: request.require_frame,
        decider: request.decider.as_ref().map(ToString::to_string),
        audit_input: request.audit_input,
        deadline: request.deadline,
    };
    let program = in_words(&program)?;
    if let Some(decider) = &request.decider {
        match (answers(decider), decider) {
            (Err(why), Decider::Program(_)) => return Err(Stop::failed(format!("--decider {why}"))),
            // a listener may come later
            (Err(why), Decider::Socket(_)) => complain(PROGRAM, &format!("--decider {why}")),
            (Ok(()), _) => {}
        }
    }
    let decider = request.decider.clone();
    Ok(PreparedLine { registration: terms.registration(&program), terms, frame, decider })
}

/// The hook program beside this one. It must be of this release: an older one denies every call because of a flag that
/// it does not know.
fn program(vendor: &dyn Hook) -> Result<PathBuf, Stop> {
    let own = std::env::current_exe().map_err(|error| Stop::failed(os::words(error)))?;
    let program = own.with_file_name(vendor.facts().program);
    if !program.is_file() {
        return Err(Stop::failed(format!("{}: no such file; it belongs beside mh-setup", program.display())));
    }
    of_this_release(vendor, &program).map_err(|why| Stop::failed(format!("{why}; nothing was changed")))?;
    Ok(program)
}

/// Check a hook program for this release. The error names its release and the remedy.
pub(super) fn of_this_release(vendor: &dyn Hook, program: &Path) -> Result<(), String> {
    let shown = program.display();
    let text = said(asking_release(program)).map_err(|why| format!("{shown}: asked for its release: {why}"))?;
    match text.strip_prefix(vendor.facts().program).map(str::trim) {
        Some(VERSION) => Ok(()),
        Some(other) if Release::find(other).is_some() => Err(format!(
            "{shown}: it is of release {}, and this mh-setup of {VERSION}; install both from one release",
            crate::frame::shown(other)
        )),
        _ => Err(format!("{shown}: it does not say its release as {} does; install it again", vendor.facts().program)),
    }
}

impl PreparedLine {
    /// Refuse a program or frame that another user could replace; if the entries are only printed, warn.
    pub(super) fn safe(&self, writes: bool) -> Result<(), Stop> {
        let program = Path::new(&self.registration.program);
        let decider = match &self.decider {
            Some(Decider::Program(path)) => Some(("the decider", "put it somewhere else", path.as_path())),
            _ => None,
        };
        let parts = [
            ("the program", "install it somewhere else", program),
            ("the frame", "put it somewhere else", Path::new(&self.terms.frame)),
        ];
        for (what, remedy, path) in parts.into_iter().chain(decider) {
            let temporary = permissions::temporary(path).map(|folder| {
                format!("{}: {what} lies in the temporary folder {}; {remedy}", path.display(), folder.display())
            });
            let open = || {
                let step = permissions::open_to_all(path)?;
                let step = step.display();
                Some(format!("{}: every user can write {step}, and with it {what}; chmod o-w {step}", path.display()))
            };
            match temporary.or_else(open) {
                Some(why) if writes => return Err(Stop::failed(why)),
                Some(why) => complain(PROGRAM, &why),
                None => {}
            }
            if let Some(why) = permissions::open_to_some(path).filter(|_| writes) {
                complain(PROGRAM, &format!("{why}, and with it {what}: who that is decides as well"));
            }
        }
        Ok(())
    }

    /// The frame, the pin and the policy of the new entries, for people; each with its former value if that differs.
    pub(super) fn told(&self, vendor: &dyn Hook, before: Option<&EntryTerms>) -> String {
        let pin = match self.terms.pin {
            Some(_) => "pinned to it",
            None => "not pinned: whoever can write the file decides",
        };
        let policy = match self.terms.policy {
            Policy::DenyOnly => format!(
                "deny-only: what the frame does not admit is denied, what it admits is left to {}'s own rules \
                 (--policy frame lets it run unasked)",
                vendor.facts().product
            ),
            Policy::Frame => {
                format!("frame: what the frame admits runs without {} asking anybody", vendor.facts().product)
            }
        };
        let was = |old: Option<String>, new: &str| match old.filter(|old| old != new) {
            Some(old) => format!("{old} -> "),
            None => String::new(),
        };
        let frame = format!("{} {}", self.terms.frame, in_short(&self.frame));
        let mut out = format!("frame: {}{frame}, {pin}\n", was(before.map(frame_before), &frame));
        let old = before.filter(|before| before.policy != self.terms.policy).map(|before| before.policy.word());
        out += &format!("policy: {}{policy}\n", was(old.map(String::from), ""));
        for (name, of) in
            [("audit", audit as fn(&EntryTerms) -> Option<String>), ("decider", decider), ("deadline", deadline)]
        {
            let (old, new) = (before.and_then(of), of(&self.terms));
            if old.is_some() || new.is_some() {
                let new = new.unwrap_or("none".into());
                out += &format!("{name}: {}{new}\n", was(old, &new));
            }
        }
        out
    }
}

fn audit(terms: &EntryTerms) -> Option<String> {
    let inputs = if terms.audit_input { ", with the inputs of tools" } else { "" };
    terms.audit.as_ref().map(|audit| format!("{audit}{inputs}"))
}

fn decider(terms: &EntryTerms) -> Option<String> {
    terms.decider.clone()
}

fn deadline(terms: &EntryTerms) -> Option<String> {
    terms.deadline.map(|seconds| format!("{seconds} s"))
}

/// A frame's digest and step for a sentence.
fn in_short(frame: &VerifiedFrame) -> String {
    let step = &frame.frame().step;
    format!("{} (step {} of {})", frame.digest().short(), step.index, crate::frame::shown(&step.workflow))
}

/// The former frame of an entry: its pin, if the file has changed since.
fn frame_before(terms: &EntryTerms) -> String {
    let found = os::read_bounded(Path::new(&terms.frame), seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, terms.pin.as_ref()));
    let short = match (found, &terms.pin) {
        (Ok(frame), _) => in_short(&frame),
        (Err(_), Some(pin)) => format!("{} (not there any more)", pin.short()),
        (Err(_), None) => "(not there any more)".into(),
    };
    format!("{} {short}", terms.frame)
}

/// Refuse an older vendor; the text reports a release that could not be checked.
pub(super) fn new_enough(vendor: &dyn Setup) -> Result<String, Stop> {
    let (word, product) = (vendor.facts().word, vendor.facts().product);
    let (oldest, why) = vendor.oldest();
    match installed(word) {
        Installed::Nowhere => {
            Ok(format!("{product}: not checked, there is no {word} on PATH; it has to be {oldest} or newer: {why}\n"))
        }
        Installed::Silent(program, error) => Ok(format!(
            "{product}: not checked, {}: {error}; it has to be {oldest} or newer: {why}\n",
            program.display()
        )),
        Installed::At(program, release) if Release::find(oldest).is_some_and(|oldest| release < oldest) => {
            Err(Stop::failed(format!(
                "{}: this is {product} {release}, and it has to be {oldest} or newer: {why}; update it",
                program.display()
            )))
        }
        Installed::At(program, release) => Ok(format!("{product}: {release} ({})\n", program.display())),
    }
}
