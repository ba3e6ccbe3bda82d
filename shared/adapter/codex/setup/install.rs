//! Entries for Codex: written, taken out, printed.

use std::path::Path;

use crate::adapter::codex::codex_lacks;
use crate::adapter::codex::setup::{Found, found, home, only_entries_differ, parse, taken_out, with_entries};
use crate::adapter::codex::{Codex, TRUSTS_FROM, config, managed};
use crate::os::lock::lock;
use crate::os::{End, Stop, complain};
use crate::setup::doctor::in_the_way;
use crate::setup::line::{current, fault, line, new_enough, put, tell_in_the_way, tell_replaced, words};
use crate::setup::{Order, PROGRAM};

const WHY_THIS_RELEASE: &str = "older ones do not trust the entry, and skip it without a word";

pub(crate) fn work(order: &Order) -> Result<(String, End), Stop> {
    if order.shell {
        return Err(Stop::usage("--shell is for claude; codex always runs a shell"));
    }
    if order.project.is_some() {
        return Err(Stop::usage(
            "--project is for claude: codex takes trust from the user's configuration alone, so the entries stand there too",
        ));
    }
    let home = home(&|name| std::env::var_os(name));
    // by the name that Codex has for it, which trust is keyed with
    let home = home.ok_or_else(|| Stop::failed("neither CODEX_HOME nor HOME is set"))?;
    let file = home.join("config.toml");
    if order.print || order.managed {
        let line = line(&Codex, order)?;
        line.safe(false)?;
        if order.managed {
            complain(PROGRAM, "for /etc/codex/requirements.toml, written by root; every other hook is shut out");
            return Ok((managed(&line.registration), End::Good));
        }
        return Ok((config(&line.registration, &words(&file)?), End::Good));
    }
    if order.remove { remove(&file) } else { write(order, &file) }
}

fn write(order: &Order, file: &Path) -> Result<(String, End), Stop> {
    let line = line(&Codex, order)?;
    line.safe(true)?;
    if let Some(why) = codex_lacks(&line.frame) {
        complain(PROGRAM, &format!("{}: {why}", line.terms.frame));
    }
    let release = new_enough(&Codex, TRUSTS_FROM, WHY_THIS_RELEASE)?;
    if let Some(folder) = file.parent() {
        fs_err::create_dir_all(folder).map_err(|error| Stop::failed(error.to_string()))?;
    }
    let _held = lock(file).map_err(Stop::failed)?;
    let text = current(file)?;
    let key = words(file)?;
    let new = with_entries(text.as_deref(), &line.registration, &key)
        .map_err(|(at, what)| fault(file, text.as_deref().unwrap_or_default(), at, &what))?;
    nothing_else(file, text.as_deref().unwrap_or_default(), &new, &key)?;
    let done = match text.as_deref() == Some(new.as_str()) {
        true => "the entries are there already, nothing was changed",
        false => {
            put(file, Some(&new))?;
            let old = text.and_then(|text| parse(&text).ok()).map(|old| found(&old.root)).unwrap_or_default();
            let altered = old.iter().filter(|(_, _, found)| matches!(found, Found::Altered(_)));
            tell_replaced(file, &altered.map(|(event, ..)| *event).collect::<Vec<_>>());
            "entries and their trust written"
        }
    };
    tell_in_the_way(in_the_way(Codex::FACTS.word, Path::new(".")));
    let told = line.told(&Codex);
    Ok((format!("{}: {done}\n{told}{release}{UNDONE}is it on? mh-setup doctor codex\n", file.display()), End::Good))
}

/// What the entries cannot hold against.
const UNDONE: &str = "\
limits: the configuration of a project that you trust can undo features.hooks = true and
  features.unified_exec_tty = false; what it cannot undo: mh-setup codex --managed, as root, or a
  run that mh-run starts. A start-up file of the shell (.zshenv, or what BASH_ENV names) runs
  before the hook in any case
";

fn remove(file: &Path) -> Result<(String, End), Stop> {
    let shown = file.display();
    let none =
        || Ok((format!("{shown}: no entry of {} there, nothing was changed\n", Codex::FACTS.program), End::Good));
    if current(file)?.is_none() {
        return none();
    }
    let _held = lock(file).map_err(Stop::failed)?;
    let Some(text) = current(file)? else { return none() };
    match taken_out(&text, &words(file)?).map_err(|(at, what)| fault(file, &text, at, &what))? {
        Some(new) if new == text => none(),
        Some(new) => {
            put(file, Some(&new))?;
            Ok((format!("{shown}: entries and their trust taken out\n"), End::Good))
        }
        None => {
            put(file, None)?;
            Ok((format!("{shown}: removed, it held nothing else\n"), End::Good))
        }
    }
}

/// Nothing but our entries may have changed, whatever the file looks like.
fn nothing_else(file: &Path, old: &str, new: &str, key: &str) -> Result<(), Stop> {
    match only_entries_differ(old, new, key) {
        true => Ok(()),
        false => Err(Stop::failed(format!(
            "{}: laid out so that the entries cannot be put in without touching the rest; nothing was changed; add what \
             --print prints by hand",
            file.display()
        ))),
    }
}
