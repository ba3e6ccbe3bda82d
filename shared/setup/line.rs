//! From an order to the hook's line, and everything for which no line is written.

use std::path::{Path, PathBuf};

use super::{Order, PROGRAM};
use crate::adapter::setup::terms::EntryTerms;
use crate::adapter::{Hook, Registration};
use crate::decide::Policy;
use crate::os;
use crate::os::permissions;
use crate::os::release::{Installed, Release, asking_release, installed, said};
use crate::os::{Stop, VERSION, complain};
use crate::seal::{self, VerifiedFrame};

/// The hook's line, and the frame that it names.
pub struct Line {
    pub(crate) registration: Registration,
    pub(crate) terms: EntryTerms,
    pub(crate) frame: VerifiedFrame,
}

/// The line that an order asks for: the program beside this one, every setting as a flag.
pub fn line(vendor: &dyn Hook, order: &Order) -> Result<Line, Stop> {
    let file = order.frame.as_ref().ok_or_else(|| Stop::usage("say which frame: --frame FILE"))?;
    let file = absolute(file)?;
    let shown = words(&file)?;
    let frame = os::read_bounded(&file, seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, None))
        .map_err(|refusal| Stop::document(&shown, &refusal))?;
    let program = program(vendor)?;
    let audit = order.audit.as_deref().map(absolute).transpose()?;
    if let Some(folder) = audit.as_ref().and_then(|audit| audit.parent()).filter(|folder| !folder.is_dir()) {
        let why = format!(
            "{}: no such folder; without it no audit line can be written, and every call is denied",
            folder.display()
        );
        return Err(Stop::failed(why));
    }
    let terms = EntryTerms {
        frame: shown,
        pin: (!order.no_pin).then(|| frame.digest().clone()),
        policy: order.policy.unwrap_or(Policy::DenyOnly),
        audit: audit.as_deref().map(words).transpose()?,
        require_frame: order.require_frame,
    };
    Ok(Line { registration: terms.registration(&words(&program)?), terms, frame })
}

/// The hook program beside this one, which has to be of this release: an older one denies every call by a flag that it
/// does not know.
pub fn program(vendor: &dyn Hook) -> Result<PathBuf, Stop> {
    let own = std::env::current_exe().map_err(|error| Stop::failed(os::words(error)))?;
    let program = own.with_file_name(vendor.facts().program);
    if !program.is_file() {
        return Err(Stop::failed(format!("{}: no such file; it belongs beside mh-setup", program.display())));
    }
    of_this_release(vendor, &program).map_err(|why| Stop::failed(format!("{why}; nothing was changed")))?;
    Ok(program)
}

/// Whether a hook program and this one are of one release; why not, and what to do.
pub fn of_this_release(vendor: &dyn Hook, program: &Path) -> Result<(), String> {
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

impl Line {
    /// Refuse a program or frame that somebody else could put another one in the place of; where
    /// only something is printed, say so and go on.
    pub fn safe(&self, writes: bool) -> Result<(), Stop> {
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

    /// What has been written, for people: the frame, the pin, the policy.
    pub fn told(&self, vendor: &dyn Hook) -> String {
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
pub fn new_enough(vendor: &dyn Hook, oldest: &str, why: &str) -> Result<String, Stop> {
    let (word, product) = (vendor.facts().word, vendor.facts().product);
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

/// A path made absolute, its folder by the name that it really has. A link that is the file
/// itself stays one: what it leads to may change from step to step.
pub fn absolute(path: &Path) -> Result<PathBuf, Stop> {
    let whole =
        std::path::absolute(path).map_err(|error| Stop::failed(format!("{}: {}", path.display(), os::words(error))))?;
    let real = whole.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    Ok(match (real, whole.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => std::fs::canonicalize(&whole).unwrap_or(whole),
    })
}

/// A path that can stand in JSON and TOML.
pub fn words(path: &Path) -> Result<String, Stop> {
    match path.to_str() {
        Some(text) => Ok(text.into()),
        None => Err(Stop::failed(format!("{}: not UTF-8, so no entry can name it", path.display()))),
    }
}

/// Put the new text of a file in place, or take the file away; what to say about it.
pub fn put(file: &Path, new: Option<&str>) -> Result<(), Stop> {
    let Some(new) = new else {
        return fs_err::remove_file(file).map_err(|error| Stop::failed(error.to_string()));
    };
    let written = os::write_beside(file, new.as_bytes()).map_err(Stop::failed)?;
    if written.through_link {
        complain(PROGRAM, &format!("{} is a link; wrote {}", file.display(), written.file.display()));
    }
    Ok(())
}

/// Say which entries stood otherwise than they are written: what somebody put into them, a decider
/// for one, is gone with them.
pub fn tell_replaced(file: &Path, altered: &[&str]) {
    if !altered.is_empty() {
        let events = altered.join(", ");
        let why = format!(
            "{}: entries of ours were not as mh-setup writes them, and what was changed in them is gone: {events}",
            file.display()
        );
        complain(PROGRAM, &why);
    }
}

/// Say what the entries that have been written cannot hold against as it stands.
pub fn tell_in_the_way(all: Vec<String>) {
    for why in all {
        complain(PROGRAM, &format!("not live yet: {why}"));
    }
}

/// The text of a file that is to be changed; `None`: there is none.
pub fn current(file: &Path) -> Result<Option<String>, Stop> {
    crate::adapter::claude::setup::text_of(file)
        .transpose()
        .map_err(|why| Stop::failed(format!("{}: {why}", file.display())))
}

/// A fault in a file at a byte, by line and column.
pub fn fault(file: &Path, text: &str, at: usize, what: &str) -> Stop {
    let (line, column) = crate::adapter::setup::text::place(text, at);
    Stop::failed(format!(
        "{}: line {line}, column {column}: {what}; put it right first, nothing was changed",
        file.display()
    ))
}
