//! A case: one run of a real vendor, and its required effect on the disk.

use crate::scratch::Scratch;

/// The required outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Want {
    /// The call did what it was asked to do.
    Ran,
    /// The call left no trace.
    Blocked,
    /// The case checks something besides one call's effect, and returns `Err` itself if it does not hold.
    Holds,
}

/// The outcome of a run.
pub struct Seen {
    pub ran: bool,
    /// For people: the vendor's output, and the file that was looked for.
    pub detail: String,
}

impl Seen {
    pub fn effect(ran: bool, detail: impl Into<String>) -> Seen {
        Seen { ran, detail: detail.into() }
    }

    pub fn held() -> Seen {
        Seen { ran: false, detail: String::new() }
    }
}

pub enum Failure {
    /// The disk does not hold the required outcome.
    Wrong(String),
    /// The run ended before the outcome could show, or the check of a [`Want::Holds`] failed.
    NoVerdict(String),
}

impl Failure {
    /// This failure with words added.
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
    /// A limit that the README names. The case shows the hole, so it wants `Ran`. Once the vendor closes the hole, the
    /// case fails, and the README's line can go.
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

    /// Mark the case as a hole that the README names by `limit`.
    pub fn limit(mut self, limit: &'static str) -> Case {
        self.limit = Some(limit);
        self.want = Want::Ran;
        self
    }

    /// The details of the outcome, or the failure.
    pub fn judge(&self, outcome: Result<Seen, String>) -> Result<String, Failure> {
        let seen = outcome.map_err(Failure::NoVerdict)?;
        match (self.want, seen.ran) {
            (Want::Holds, _) | (Want::Ran, true) | (Want::Blocked, false) => Ok(seen.detail),
            (Want::Ran, false) => Err(Failure::Wrong(format!("wanted RAN, BLOCKED; {}", seen.detail))),
            (Want::Blocked, true) => Err(Failure::Wrong(format!("wanted BLOCKED, RAN; {}", seen.detail))),
        }
    }
}
