//! From what is asked for to the hook's line, and everything for which no line is written.

use std::path::{Path, PathBuf};

use super::{PROGRAM, Request};
use crate::adapter::setup::Setup;
use crate::adapter::setup::file::{absolute, in_words};
use crate::adapter::setup::terms::EntryTerms;
use crate::adapter::{Hook, Registration};
use crate::decide::Policy;
use crate::os;
use crate::os::permissions;
use crate::os::release::{Installed, Release, asking_release, installed, said};
use crate::os::{Stop, VERSION, complain};
use crate::seal::{self, VerifiedFrame};

/// The hook's line, and the frame that it names.
pub(super) struct PreparedLine {
    pub(super) registration: Registration,
    pub(super) terms: EntryTerms,
    pub(super) frame: VerifiedFrame,
}

/// The line that is asked for: the program beside this one, every setting as a flag.
pub(super) fn prepare(vendor: &dyn Hook, request: &Request) -> Result<PreparedLine, Stop> {
    let file = request.frame.as_ref().ok_or_else(|| Stop::usage("say which frame: --frame FILE"))?;
    let file = absolute(file)?;
    let shown = in_words(&file)?;
    let frame = os::read_bounded(&file, seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, None))
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
    };
    let program = in_words(&program)?;
    Ok(PreparedLine { registration: terms.registration(&program), terms, frame })
}

/// The hook program beside this one, which has to be of this release: an older one denies every call by a flag that it
/// does not know.
fn program(vendor: &dyn Hook) -> Result<PathBuf, Stop> {
    let own = std::env::current_exe().map_err(|error| Stop::failed(os::words(error)))?;
    let program = own.with_file_name(vendor.facts().program);
    if !program.is_file() {
        return Err(Stop::failed(format!("{}: no such file; it belongs beside mh-setup", program.display())));
    }
    of_this_release(vendor, &program).map_err(|why| Stop::failed(format!("{why}; nothing was changed")))?;
    Ok(program)
}

/// Hold a hook program to the release of this one; why it is another's, and what to do.
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
    /// Refuse a program or frame that somebody else could put another one in the place of; where
    /// only something is printed, say so and go on.
    pub(super) fn safe(&self, writes: bool) -> Result<(), Stop> {
        let program = Path::new(&self.registration.program);
        for (what, remedy, path) in [
            ("the program", "install it somewhere else", program),
            ("the frame", "put it somewhere else", Path::new(&self.terms.frame)),
        ] {
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

    /// The frame, the pin and the policy that have been written, for people.
    pub(super) fn told(&self, vendor: &dyn Hook) -> String {
        let step = &self.frame.frame().step;
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
        let audit = self.terms.audit.as_ref().map(|audit| format!("audit: {audit}\n")).unwrap_or_default();
        format!(
            "frame: {} {} (step {} of {}), {pin}\npolicy: {policy}\n{audit}",
            self.terms.frame,
            self.frame.digest().short(),
            step.index,
            crate::frame::shown(&step.workflow),
        )
    }
}

/// Refuse a vendor that is older than this; say what could not be checked.
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
