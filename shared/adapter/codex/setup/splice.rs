//! Adding our entries to a `config.toml` and removing them, at byte offsets.
//!
//! Only the file itself is kept, so a change in a table that is not ours has a comment after it with the former text.
//! Our own tables come at the end, each after a blank line. A file that did not end in a newline still does not.

use std::ops::Range;

use super::read::{Config, TableForm, begin, end, parse};
use super::{commands, dead_trust, entries, expected, groups, is_ours, wholly_ours};
use crate::adapter::Registration;
use crate::adapter::codex::{EVENTS, FEATURES, basic, command, group, trust, trust_key, trusted_hash};
use crate::adapter::setup::text::{Edits, line_end, line_start, newline};
use crate::adapter::setup::tree::{Member, Spanned, Value};
use crate::json::Fault;

const MARK: &str = " # mh-setup";
const WAS: &str = " # mh-setup, was: ";
const BOM: char = '\u{feff}';

/// The configuration with the entries and their trust; `None` is a missing file. `file` is Codex's absolute path for
/// it.
///
/// # Errors
/// The text is no TOML, or its form does not allow adding entries.
pub fn with_entries(text: Option<&str>, line: &Registration, file: &str) -> Result<String, Fault> {
    if let Some(rest) = text.and_then(|text| text.strip_prefix(BOM)) {
        return with_entries(Some(rest), line, file).map(|new| format!("{BOM}{new}"));
    }
    let command = command(line);
    let mut text = text.map(String::from);
    if let Some(found) = &text {
        let config = parse(found)?;
        let mut ran = commands(&config.root);
        ran.push(command.clone());
        let left = without_dead(found, &config, &ran, &live_keys(&config.root, file));
        let config = parse(&left)?;
        text = Some(match EVENTS.iter().all(|(event, _)| in_place(groups(&config.root, event))) {
            true => left,
            // ours, but in another place or form: remove them first, then add them
            false => taken_out(&left, file)?.unwrap_or_default(),
        });
    }
    let new = text.is_none();
    let text = text.unwrap_or_default();
    let config = parse(&text)?;
    let mut work = Work { text: &text, config: &config, edits: Edits::default(), pieces: Vec::new() };
    work.features()?;
    work.groups(&command)?;
    work.trust(&command, file)?;
    Ok(work.finish(new))
}

/// The keys by which our entries in this file are trusted, or will be.
fn live_keys(root: &Spanned, file: &str) -> Vec<String> {
    let key = |(event, snake): (&str, &str)| {
        let there = groups(root, event);
        trust_key(file, snake, there.iter().position(wholly_ours).unwrap_or(there.len()), 0)
    };
    EVENTS.into_iter().map(key).collect()
}

/// The text without left-over trusts of our entries: see [`dead_trust`].
fn without_dead(text: &str, config: &Config, ran: &[String], live: &[String]) -> String {
    let mut out = Out { text, edits: Edits::default(), to_end: false };
    for member in dead_trust(&config.root, ran, live) {
        out.cut_state(config, member.at, &member.key, &member.node);
    }
    out.finish()
}

/// Whether the event has at most one group of ours, and nothing of ours in another group.
fn in_place(groups: &[Spanned]) -> bool {
    let wholly = groups.iter().filter(|group| wholly_ours(group)).count();
    wholly < 2 && groups.iter().filter(|group| !wholly_ours(group)).flat_map(entries).all(|entry| !is_ours(entry))
}

struct Work<'a> {
    text: &'a str,
    config: &'a Config,
    edits: Edits,
    pieces: Vec<String>,
}

impl Work<'_> {
    /// Refuse a list where the vendor takes a table, and a table where it takes a list: an addition would make the text
    /// invalid, or land in the last item of the list.
    fn fits(&self, path: &[&str], list: bool) -> Result<(), Fault> {
        let Some(node) = self.config.root.find(path) else { return Ok(()) };
        let (what, header) = match (&node.value, list) {
            (Value::Array(_), false) => ("a list", format!("[{}]", path.join("."))),
            (Value::Object(_), true) => ("a table", format!("[[{}]]", path.join("."))),
            _ => return Ok(()),
        };
        Err(Fault::new(
            begin(node),
            format!("`{}` is {what}, which Codex does not take there; write it under {header}", path.join(".")),
        ))
    }

    fn features(&mut self) -> Result<(), Fault> {
        let path = ["features"];
        self.fits(&path, false)?;
        let table = self.config.root.find(&path);
        let is = |key: &str, on: bool| table.and_then(|table| table.get(key)).and_then(Spanned::bool) == Some(on);
        if FEATURES.into_iter().all(|(key, on)| is(key, on)) {
            return Ok(());
        }
        let (after, prefix) = match self.config.form(&path) {
            TableForm::Inline(at) => {
                let why = "`features` is written in one piece, which nothing can be added to; write it as a table \
                           under [features]";
                return Err(Fault::new(at, why));
            }
            TableForm::Absent => {
                let lines = FEATURES.map(|(key, on)| format!("{key} = {on}{MARK}\n")).concat();
                self.pieces.push(format!("[features]{MARK}\n{lines}"));
                return Ok(());
            }
            TableForm::Header(span) => (span, ""),
            TableForm::Dotted(span) => (span, "features."),
        };
        for (key, on) in FEATURES {
            match table.and_then(|table| table.get(key)) {
                None => {
                    let at = line_end(self.text, after.end);
                    let line = format!("{prefix}{key} = {on}{MARK}");
                    self.edits.put(
                        at..at,
                        match self.text[..at].ends_with('\n') {
                            true => format!("{line}{}", newline(self.text)),
                            false => format!("{}{line}", newline(self.text)),
                        },
                    );
                }
                Some(node) => self.set(node, &on.to_string(), true)?,
            }
        }
        Ok(())
    }

    /// Replace a value, and keep the old one in a comment after it.
    fn set(&mut self, node: &Spanned, new: &str, keep: bool) -> Result<(), Fault> {
        let old = self.text.get(node.span.clone()).unwrap_or_default();
        let rest = self.text[node.span.end..line_end(self.text, node.span.end)].trim();
        let plain = matches!(node.value, Value::Bool(_) | Value::Text(_)) && !old.contains(['\n', '#']);
        if old == new {
            return Ok(());
        }
        if !keep {
            self.edits.put(node.span.clone(), new);
        } else if plain && (rest.is_empty() || rest.starts_with('#')) {
            self.edits.put(node.span.clone(), format!("{new}{WAS}{old}"));
        } else {
            let why =
                format!("this has to be {new}, and it cannot be changed where it stands; put it on a line of its own");
            return Err(Fault::new(node.span.start, why));
        }
        Ok(())
    }

    fn groups(&mut self, command: &str) -> Result<(), Fault> {
        self.fits(&["hooks"], false)?;
        for (event, _) in EVENTS {
            self.fits(&["hooks", event], true)?;
            if let TableForm::Inline(at) = self.config.form(&["hooks", event]) {
                let why = format!(
                    "`hooks` or `hooks.{event}` is written in one piece, which nothing can be added to; write it as \
                     tables under [[hooks.{event}]]"
                );
                return Err(Fault::new(at, why));
            }
            match groups(&self.config.root, event).iter().find(|group| wholly_ours(group)) {
                None => self.pieces.push(group(event, command)),
                Some(old) if expected(event, command).is_some_and(|new| new.same(old)) => {}
                Some(old) => {
                    let span = line_start(self.text, old.span.start)..line_end(self.text, end(old));
                    let new = group(event, command).replace('\n', newline(self.text));
                    let cut = self.text[..span.end].ends_with('\n');
                    self.edits.put(span, if cut { new } else { new.trim_end().to_string() });
                }
            }
        }
        Ok(())
    }

    fn trust(&mut self, command: &str, file: &str) -> Result<(), Fault> {
        self.fits(&["hooks", "state"], false)?;
        if let TableForm::Inline(at) = self.config.form(&["hooks", "state"]) {
            let why = "`hooks.state` is written in one piece, which nothing can be added to; write it as tables under \
                       [hooks.state.\"...\"]";
            return Err(Fault::new(at, why));
        }
        for ((event, snake), key) in EVENTS.into_iter().zip(live_keys(&self.config.root, file)) {
            let hash = trusted_hash(snake, command);
            let Some(state) = self.config.root.find(&["hooks", "state", &key]) else {
                self.pieces.push(trust(&key, &hash));
                continue;
            };
            // the left-over trust of another hook's former group is not ours
            let keep = !groups(&self.config.root, event).iter().any(wholly_ours);
            let Some(trusted) = state.get("trusted_hash") else {
                return Err(Fault::new(state.span.start, "this trust has no `trusted_hash`; take it out"));
            };
            self.set(trusted, &basic(&hash), keep)?;
            match state.get("enabled") {
                Some(node) => self.set(node, "true", keep)?,
                None => self.enable(&key, trusted, keep)?,
            }
        }
        Ok(())
    }

    /// State in a trust, after the hash, that its entry is on.
    fn enable(&mut self, key: &str, trusted: &Spanned, keep: bool) -> Result<(), Fault> {
        let mark = if keep { MARK } else { "" };
        match self.config.form(&["hooks", "state", key]) {
            TableForm::Header(_) => {
                let at = line_end(self.text, trusted.span.end);
                let newline = newline(self.text);
                let line = match self.text[..at].ends_with('\n') {
                    true => format!("enabled = true{mark}{newline}"),
                    false => format!("{newline}enabled = true{mark}"),
                };
                self.edits.put(at..at, line);
                Ok(())
            }
            TableForm::Inline(_) if !keep => {
                self.edits.put(trusted.span.end..trusted.span.end, ", enabled = true");
                Ok(())
            }
            _ => {
                let why = format!(
                    "this trust has to say `enabled = true`; write it as a table under [hooks.state.{}]",
                    basic(key)
                );
                Err(Fault::new(trusted.span.start, why))
            }
        }
    }

    /// The text with everything added.
    fn finish(self, new: bool) -> String {
        let Work { text, mut edits, pieces, .. } = self;
        if !pieces.is_empty() {
            let mut all: String = pieces.iter().map(|piece| format!("\n{piece}")).collect();
            if !text.is_empty() && !text.ends_with('\n') {
                all.insert(0, '\n');
                all.pop();
            }
            let all = all.replace('\n', newline(text));
            edits.put(text.len()..text.len(), if new { all.trim_start() } else { &all });
        }
        edits.apply(text)
    }
}

/// The configuration without the entries and their trust; `None` if the file held nothing else and is to be removed.
///
/// # Errors
/// The text is no TOML.
pub fn taken_out(text: &str, file: &str) -> Result<Option<String>, Fault> {
    if let Some(rest) = text.strip_prefix(BOM) {
        return Ok(Some(format!("{BOM}{}", taken_out(rest, file)?.unwrap_or_default())));
    }
    let config = parse(text)?;
    let mut out = Out { text, edits: Edits::default(), to_end: false };
    let mut gone = Vec::new();
    for member in config.root.get("hooks").map(Spanned::members).unwrap_or_default() {
        let places = out.groups(member.node.items());
        let Some((_, snake)) = EVENTS.into_iter().find(|(event, _)| *event == member.key) else { continue };
        let prefix = format!("{file}:{snake}:");
        for state in config.root.find(&["hooks", "state"]).map(Spanned::members).unwrap_or_default() {
            if let Some(place) = state.key.strip_prefix(&prefix).and_then(numbers)
                && out.state(&config, state, place, &places, &prefix)
            {
                gone.push(state.key.clone());
            }
        }
    }
    for member in dead_trust(&config.root, &commands(&config.root), &gone) {
        out.cut_state(&config, member.at, &member.key, &member.node);
    }
    if let Some(features) = config.root.get("features") {
        out.unmark(features);
        if let TableForm::Header(span) = config.form(&["features"]) {
            out.made_header(span, features);
        }
    }
    let left = out.finish();
    Ok((!left.is_empty() || !text.starts_with("[features] # mh-setup")).then_some(left))
}

/// Whether two texts of the configuration `file` differ in our entries and their trust alone.
pub fn only_entries_differ(old: &str, new: &str, file: &str) -> bool {
    let rest = |text: &str| {
        let text = taken_out(text, file).ok()?.unwrap_or_default();
        parse(text.strip_prefix(BOM).unwrap_or(&text)).ok()
    };
    matches!((rest(old), rest(new)), (Some(before), Some(after)) if before.root.same(&after.root))
}

/// The last two parts of a trust's key.
fn numbers(text: &str) -> Option<(usize, usize)> {
    let (group, entry) = text.split_once(':')?;
    Some((group.parse().ok()?, entry.parse().ok()?))
}

/// The new place of each entry when others are removed; `None` if it is removed itself.
type Places = Vec<((usize, usize), Option<(usize, usize)>)>;

struct Out<'a> {
    text: &'a str,
    edits: Edits,
    /// Whether a cut reached the end of the file.
    to_end: bool,
}

impl Out<'_> {
    fn groups(&mut self, groups: &[Spanned]) -> Places {
        let (mut places, mut group_at) = (Places::new(), 0);
        for (at, group) in groups.iter().enumerate() {
            let gone = wholly_ours(group);
            let mut entry_at = 0;
            for (inner, entry) in entries(group).iter().enumerate() {
                let ours = is_ours(entry);
                places.push(((at, inner), (!ours).then_some((group_at, entry_at))));
                entry_at += usize::from(!ours);
                if ours && !gone && self.text[entry.span.clone()].starts_with('[') {
                    self.cut(entry.span.start..end(entry));
                }
            }
            if gone {
                self.cut(group.span.start..end(group));
            }
            group_at += usize::from(!gone);
        }
        places
    }

    /// Remove the trust of the entry at this place, or change it with the entry's move. True if either was done.
    fn state(&mut self, config: &Config, state: &Member, place: (usize, usize), places: &Places, prefix: &str) -> bool {
        let at = state.at;
        match places.iter().find(|(from, _)| *from == place).map(|(_, to)| *to) {
            Some(None) => {
                if !self.unmark(&state.node) {
                    self.cut_state(config, at, &state.key, &state.node);
                }
            }
            // another hook's entry moves up, and its trust with it
            Some(Some((group, entry))) if (group, entry) != place => {
                let quoted = self.text[at..].chars().next().filter(|c| matches!(c, '"' | '\''));
                let length = quoted.and_then(|quote| self.text[at + 1..].find(quote)).map_or(0, |inside| inside + 2);
                self.edits.put(at..at + length, basic(&format!("{prefix}{group}:{entry}")));
            }
            _ => return false,
        }
        true
    }

    /// Remove a trust.
    fn cut_state(&mut self, config: &Config, at: usize, key: &str, state: &Spanned) {
        match config.form(&["hooks", "state", key]) {
            TableForm::Header(span) => self.cut(span.start..end(state)),
            _ => self.cut(at..end(state)),
        }
    }

    /// The changed text. One that did not end in a newline still does not.
    fn finish(self) -> String {
        let Out { text, edits, to_end } = self;
        let mut left = edits.apply(text);
        if to_end && !text.ends_with('\n') {
            left.truncate(left.trim_end_matches('\n').len().max(left.len().saturating_sub(1)));
            if newline(text) == "\r\n" && left.ends_with('\r') {
                left.pop();
            }
        }
        left
    }

    /// Undo the changes that comments in this table record. The result tells whether there was one.
    fn unmark(&mut self, table: &Spanned) -> bool {
        let mut any = false;
        for member in table.members() {
            let span = &member.node.span;
            let rest = &self.text[span.end..line_end(self.text, span.end)];
            if let Some(old) = rest.strip_prefix(WAS) {
                let old = old.trim_end_matches(['\r', '\n']);
                let old = old.split(" #").next().unwrap_or(old).trim_end();
                self.edits.put(span.start..span.end + WAS.len() + old.len(), old);
                any = true;
            } else if rest.trim_end() == MARK {
                self.cut_line(member.at);
                any = true;
            }
        }
        any
    }

    /// Remove a header that we made along with its table, or only its mark if others have added items under it.
    fn made_header(&mut self, header: Range<usize>, table: &Spanned) {
        let rest = &self.text[header.end..line_end(self.text, header.end)];
        if rest.trim_end() != MARK {
            return;
        }
        // tables below it have headers of their own, and stay
        let direct = || table.members().iter().map(|member| &member.node).filter(|node| !self.is_header(node));
        let ours = |node: &Spanned| {
            let rest = &self.text[node.span.end..line_end(self.text, node.span.end)];
            rest.trim_end() == MARK
        };
        match direct().all(ours) {
            true => {
                let last = direct().map(end).max().unwrap_or(header.end);
                self.cut(header.start..last);
            }
            false => self.edits.cut(header.end..header.end + MARK.len()),
        }
    }

    /// Whether a table has a header of its own.
    fn is_header(&self, node: &Spanned) -> bool {
        matches!(node.value, Value::Object(_))
            && (node.span.is_empty() || self.text[node.span.clone()].starts_with('['))
    }

    fn cut_line(&mut self, at: usize) {
        let (start, stop) = (line_start(self.text, at), line_end(self.text, at));
        self.to_end |= stop == self.text.len();
        self.edits.cut(start..stop);
    }

    /// Remove whole lines, with the blank one before them.
    fn cut(&mut self, span: Range<usize>) {
        let (start, stop) = (line_start(self.text, span.start), line_end(self.text, span.end));
        let before = &self.text[..start];
        let blank = ["\n", "\r\n"].into_iter().rev().find_map(|newline| {
            let above = before.strip_suffix(newline)?;
            (above.is_empty() || above.ends_with('\n')).then_some(newline.len())
        });
        self.to_end |= stop == self.text.len();
        self.edits.cut(start - blank.unwrap_or(0)..stop);
    }
}
