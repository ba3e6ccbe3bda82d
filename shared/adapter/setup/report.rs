//! Findings, for people and for programs.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

/// A way in which the guard is lost, or a hole in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The file, variable or other place that it stands in.
    pub file: String,
    /// The key, where there is one.
    pub key: String,
    /// Its effect.
    pub what: String,
    /// The way to put it right.
    pub remedy: String,
}

impl Loss {
    /// A loss by this key; the file is told later.
    pub fn new(key: &str, what: &str, remedy: &str) -> Loss {
        Loss { file: String::new(), key: key.into(), what: what.into(), remedy: remedy.into() }
    }

    /// The same, in this file.
    pub fn within(self, file: impl Into<String>) -> Loss {
        Loss { file: file.into(), ..self }
    }

    /// In one line.
    pub fn line(&self) -> String {
        let key = if self.key.is_empty() { String::new() } else { format!(" {}", self.key) };
        format!("{}:{key} {}; {}", self.file, self.what, self.remedy)
    }
}

/// The outcome of an entry whose program is started and cannot judge.
pub const DENIED: &str = "every call is denied";

/// The state of the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Liveness {
    /// Fired, and it denied what it must and nothing else.
    Live,
    /// It is registered, and calls run past it, or none runs at all.
    NotLive,
    /// An entry stands there that `mh-setup` does not write so; it was not fired.
    Altered,
    /// Nothing is registered.
    Absent,
}

/// A file that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct SeenFile {
    /// Its place among the others, in the vendor's word.
    pub layer: &'static str,
    /// Its path.
    pub file: String,
    /// `absent`, `read`, or why it is not.
    pub status: String,
    /// The number of events that our entry stands under.
    pub entries: usize,
    /// Other people's hooks on the same events.
    pub others: Vec<OtherHook>,
}

impl SeenFile {
    /// A file of this layer: how many entries of ours stand in it, and by event the commands of others.
    pub fn new(
        layer: &'static str,
        file: &Path,
        status: String,
        entries: Option<usize>,
        others: Option<Vec<(&'static str, String)>>,
    ) -> SeenFile {
        let others = others.unwrap_or_default().into_iter();
        SeenFile {
            layer,
            file: file.display().to_string(),
            status,
            entries: entries.unwrap_or(0),
            others: others.map(|(event, command)| OtherHook { event, command }).collect(),
        }
    }
}

/// Somebody else's hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherHook {
    /// The event.
    pub event: &'static str,
    /// Its command, or what it has in the place of one.
    pub command: String,
}

/// A line that was fired and answered as it must.
#[derive(Debug, Clone, Serialize)]
pub struct Probed {
    /// The tool whose call was denied.
    pub denied: String,
    /// The tool whose call was not.
    pub passed: String,
    /// The time of the line, in milliseconds: the middle of several.
    pub line_ms: f64,
    /// The time of the program alone.
    pub program_ms: f64,
}

/// Doctor's word on one vendor.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of this shape.
    pub v: u32,
    /// The vendor's word.
    pub vendor: &'static str,
    /// The state of the guard.
    pub state: Liveness,
    /// Everything that has to be put right before it is live.
    pub why: Vec<String>,
    /// Each way that takes the guard away, by file, key and remedy.
    pub losses: Vec<Loss>,
    /// The vendor's release, or that it was not checked.
    pub release: String,
    /// The hook's line.
    pub line: Option<String>,
    /// The frame: its digest and whether the line is pinned to it.
    pub frame: Option<String>,
    /// The calls that the line was fired with.
    pub fired: Option<Probed>,
    /// The files that the vendor reads.
    pub layers: Vec<SeenFile>,
    /// Things worth knowing that take nothing away by themselves.
    pub notes: Vec<String>,
    /// Ways round the hook that cannot be seen from here.
    pub unseen: Vec<&'static str>,
    /// Whether a file could not be read that entries may stand in, and none was found elsewhere.
    #[serde(skip)]
    pub untold: bool,
}

impl Report {
    /// One of which nothing is known yet.
    pub fn new(vendor: &'static str, unseen: Vec<&'static str>) -> Report {
        Report {
            v: 1,
            vendor,
            state: Liveness::Absent,
            why: Vec::new(),
            losses: Vec::new(),
            release: String::new(),
            line: None,
            frame: None,
            fired: None,
            layers: Vec::new(),
            notes: Vec::new(),
            unseen,
            untold: false,
        }
    }

    /// Say of a file that it is not in order, where nothing of ours was found in any other: what stands in it is not known.
    pub fn unreadable(&mut self, file: &Path, why: &str) {
        self.untold = true;
        self.state = Liveness::NotLive;
        self.why.push(format!(
            "{}: not in order, so the vendor does not hear it, and whether an entry of ours stands in it cannot be told: {why}; \
             put it right first",
            file.display()
        ));
    }

    /// Say of what would deny every call that it does so later, where something else takes calls past the hook first.
    pub fn settle(&mut self) {
        if self.losses.iter().all(|loss| loss.what.contains(DENIED)) {
            return;
        }
        let later = format!("{DENIED} once it comes to the hook again");
        for text in self.why.iter_mut().chain(self.losses.iter_mut().map(|loss| &mut loss.what)) {
            *text = text.replace(DENIED, &later);
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let headline = match self.state {
            Liveness::Live => "live",
            Liveness::NotLive if self.untold => "not live: a file that an entry may stand in is not in order",
            Liveness::NotLive => "registered but not live",
            Liveness::Altered => "registered, altered: not fired",
            Liveness::Absent => "absent",
        };
        let _ = writeln!(out, "{}: {headline}", self.vendor);
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(out, "  {name:<9}{value}");
        };
        for why in &self.why {
            row("why", why);
        }
        for loss in &self.losses {
            row("why", &loss.line());
        }
        for (name, value) in [("line", &self.line), ("frame", &self.frame)] {
            if let Some(value) = value {
                row(name, value);
            }
        }
        row("vendor", &self.release);
        if let Some(fired) = &self.fired {
            row("fired", &format!("{} denied, {} not denied", fired.denied, fired.passed));
            row("time", &format!("line {:.1} ms, program {:.1} ms", fired.line_ms, fired.program_ms));
        }
        for seen in &self.layers {
            let entries =
                if seen.entries > 0 { format!(", our entry under {} events", seen.entries) } else { String::new() };
            row("file", &format!("{} ({}): {}{entries}", seen.file, seen.layer, seen.status));
        }
        for seen in &self.layers {
            for other in &seen.others {
                let what = "another hook, and a rewrite of a call by it is judged by nobody";
                row(
                    "note",
                    &format!("{}: {} `{}`: {what}", seen.file, other.event, crate::frame::shown(&other.command)),
                );
            }
        }
        for note in &self.notes {
            row("note", note);
        }
        for unseen in &self.unseen {
            row("unseen", unseen);
        }
        out
    }
}
