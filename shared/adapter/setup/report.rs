//! Doctor's findings, for people and for programs.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

/// A way in which the guard is lost, or a hole in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The file, variable or other place of the loss.
    pub file: String,
    /// The key, if there is one.
    pub key: String,
    /// Its effect.
    pub what: String,
    pub remedy: String,
}

impl Loss {
    /// A loss by this key; [`Loss::within`] adds the file.
    pub fn new(key: &str, what: &str, remedy: &str) -> Loss {
        Loss { file: String::new(), key: key.into(), what: what.into(), remedy: remedy.into() }
    }

    pub fn within(self, file: impl Into<String>) -> Loss {
        Loss { file: file.into(), ..self }
    }

    /// The loss in one line.
    pub fn line(&self) -> String {
        let key = if self.key.is_empty() { String::new() } else { format!(" {}", self.key) };
        format!("{}:{key} {}; {}", self.file, self.what, self.remedy)
    }
}

/// The effect of an entry whose program starts and cannot judge.
pub const DENIED: &str = "every call is denied";

/// The state of the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Liveness {
    /// The line was fired, and denied exactly the call that it must.
    Live,
    /// It is registered, but calls run past it, or none runs at all.
    NotLive,
    /// There is an entry of a form that `mh-setup` does not write; it was not fired.
    Altered,
    /// Nothing is registered.
    Absent,
}

/// A file that was examined.
#[derive(Debug, Clone, Serialize)]
pub struct SeenFile {
    /// The vendor's word for the file's place among the others.
    pub layer: &'static str,
    /// Its path.
    pub file: String,
    /// `absent`, `read`, or the reason why it could not be read.
    pub status: String,
    /// The number of events with an entry of ours.
    pub entries: usize,
    /// Other people's hooks on the same events.
    pub others: Vec<OtherHook>,
}

impl SeenFile {
    /// A file of this layer with the number of our entries, and the commands of other hooks by event.
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

/// Another person's hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherHook {
    pub event: &'static str,
    /// Its command, or its value in place of one.
    pub command: String,
}

/// A line that was fired and answered correctly.
#[derive(Debug, Clone, Serialize)]
pub struct Probed {
    /// The tool whose call was denied.
    pub denied: String,
    /// The tool whose call was not denied.
    pub passed: String,
    /// The median time of the line in milliseconds.
    pub line_ms: f64,
    /// The median time of the program alone.
    pub program_ms: f64,
}

/// Doctor's report on one vendor.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of this JSON shape.
    pub v: u32,
    /// The vendor's word.
    pub vendor: &'static str,
    /// The state of the guard.
    pub state: Liveness,
    /// The things to put right before the guard is live.
    pub why: Vec<String>,
    /// The ways that disable the guard, by file, key and remedy.
    pub losses: Vec<Loss>,
    /// The vendor's release, or a note that it was not checked.
    pub release: String,
    /// The hook's line.
    pub line: Option<String>,
    /// The frame: its digest, and whether the line is pinned to it.
    pub frame: Option<String>,
    /// The calls that the line was fired with.
    pub fired: Option<Probed>,
    /// The files that the vendor reads.
    pub layers: Vec<SeenFile>,
    /// Notes about things that disable nothing by themselves.
    pub notes: Vec<String>,
    /// Ways past the hook that this program cannot see.
    pub unseen: Vec<&'static str>,
    /// Whether a file that may hold entries could not be read, and no entry was found elsewhere.
    #[serde(skip)]
    pub untold: bool,
}

impl Report {
    /// An empty report.
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

    /// Report a file that is not in order. If no entry was found elsewhere, its content matters and is unknown.
    pub fn unreadable(&mut self, file: &Path, why: &str) {
        self.untold = true;
        self.state = Liveness::NotLive;
        self.why.push(format!(
            "{}: not in order, so the vendor does not hear it, and whether an entry of ours stands in it cannot be told: {why}; \
             put it right first",
            file.display()
        ));
    }

    /// Correct findings that say that every call is denied: if something takes calls past the hook first, they are
    /// denied only after that is removed.
    pub fn settle(&mut self) {
        if self.losses.iter().all(|loss| loss.what.contains(DENIED)) {
            return;
        }
        let later = format!("{DENIED} once it comes to the hook again");
        for text in self.why.iter_mut().chain(self.losses.iter_mut().map(|loss| &mut loss.what)) {
            *text = text.replace(DENIED, &later);
        }
    }

    /// The report for people.
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
