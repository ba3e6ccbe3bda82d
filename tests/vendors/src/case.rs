//! A case: one run of a real vendor, and what must be seen on disk after it.

use crate::scratch::Scratch;

/// What a case must end in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Want {
    /// The call did what it was asked to do.
    Ran,
    /// The call left no trace.
    Blocked,
    /// The case looks at something else than one call's effect: it says `Err` itself
    /// when that does not hold.
    Holds,
}

/// What was there after the run.
pub struct Seen {
    pub ran: bool,
    /// For people: what the vendor said, which file was looked for.
    pub detail: String,
}

impl Seen {
    pub fn effect(ran: bool, detail: impl Into<String>) -> Seen {
        Seen { ran, detail: detail.into() }
    }

    /// For `Want::Holds`.
    pub fn held() -> Seen {
        Seen { ran: false, detail: String::new() }
    }
}

/// Why a case fails.
pub enum Failure {
    /// What was on disk is not what was wanted.
    Wrong(String),
    /// It did not come to that, or what a case of [`Want::Holds`] looks at does not hold.
    NoVerdict(String),
}

impl Failure {
    /// The same with these words added.
    pub fn told(self, more: &str) -> Failure {
        match self {
            Failure::Wrong(detail) => Failure::Wrong(detail + more),
            Failure::NoVerdict(detail) => Failure::NoVerdict(detail + more),
        }
    }
}

type Run = Box<dyn Fn(&Scratch) -> Result<Seen, String> + Send + Sync>;

pub struct Case {
    pub vendor: &'static str,
    pub name: String,
    pub want: Want,
    /// A limit that the README names. Such a case shows the hole, so it wants `Ran`;
    /// the day the vendor closes it the case fails, and the README's line can go.
    pub limit: Option<&'static str>,
    pub run: Run,
}

impl Case {
    pub fn new(
        vendor: &'static str,
        name: impl Into<String>,
        want: Want,
        run: impl Fn(&Scratch) -> Result<Seen, String> + Send + Sync + 'static,
    ) -> Case {
        Case { vendor, name: name.into(), want, limit: None, run: Box::new(run) }
    }

    /// The same, as a hole that the README names by `limit`.
    pub fn limit(mut self, limit: &'static str) -> Case {
        self.limit = Some(limit);
        self.want = Want::Ran;
        self
    }

    /// `Ok` with what was seen, or why it fails.
    pub fn judge(&self, outcome: Result<Seen, String>) -> Result<String, Failure> {
        let seen = outcome.map_err(Failure::NoVerdict)?;
        match (self.want, seen.ran) {
            (Want::Holds, _) | (Want::Ran, true) | (Want::Blocked, false) => Ok(seen.detail),
            (Want::Ran, false) => Err(Failure::Wrong(format!("wanted RAN, BLOCKED; {}", seen.detail))),
            (Want::Blocked, true) => Err(Failure::Wrong(format!("wanted BLOCKED, RAN; {}", seen.detail))),
        }
    }
}
