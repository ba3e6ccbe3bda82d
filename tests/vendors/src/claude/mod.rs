//! Claude Code: the stub of its model's service, the driver, the cases.

mod agents;
mod around;
mod around_run;
mod audit;
mod control;
mod decider;
pub mod drive;
mod faults;
mod governed;
mod live;
mod managed;
mod mcp;
pub mod messages;
mod modes;
mod outcome;
mod outcomes;
mod permission;
mod prompt;
mod protect;
mod round_paths;
mod scope;
pub mod script;
mod setup;
mod skills;
mod tampering;
mod tools;

use std::path::{Path, PathBuf};

use crate::ask::{self, Side};
use crate::case::{Case, Seen, Want};
use crate::docs;
use drive::Run;

struct Cases {
    program: PathBuf,
    all: Vec<Case>,
}

impl Cases {
    fn add(
        &mut self,
        name: impl Into<String>,
        want: Want,
        run: impl Fn(Run<'_>) -> Result<Seen, String> + Send + Sync + 'static,
    ) {
        let program = self.program.clone();
        self.all.push(Case::new("claude", name, want, move |scratch| run(Run::new(&program, scratch))));
    }

    fn ran(&mut self, name: impl Into<String>, run: impl Fn(Run<'_>) -> Result<Seen, String> + Send + Sync + 'static) {
        self.add(name, Want::Ran, run);
    }

    fn blocked(
        &mut self,
        name: impl Into<String>,
        run: impl Fn(Run<'_>) -> Result<Seen, String> + Send + Sync + 'static,
    ) {
        self.add(name, Want::Blocked, run);
    }

    fn holds(&mut self, name: impl Into<String>, run: impl Fn(Run<'_>) -> Result<(), String> + Send + Sync + 'static) {
        self.add(name, Want::Holds, move |place| run(place).map(|()| Seen::held()));
    }

    /// Adds a case for a hole that the README names.
    fn limit(
        &mut self,
        limit: &'static str,
        name: impl Into<String>,
        run: impl Fn(Run<'_>) -> Result<Seen, String> + Send + Sync + 'static,
    ) {
        let program = self.program.clone();
        let case = Case::new("claude", name, Want::Ran, move |scratch| run(Run::new(&program, scratch)));
        self.all.push(case.limit(limit));
    }
}

pub fn cases(program: &Path) -> Vec<Case> {
    let mut cases = Cases { program: program.into(), all: Vec::new() };
    tools::add(&mut cases);
    control::add(&mut cases);
    modes::add(&mut cases);
    permission::add(&mut cases);
    prompt::add(&mut cases);
    mcp::add(&mut cases);
    agents::add(&mut cases);
    skills::add(&mut cases);
    scope::add(&mut cases);
    protect::add(&mut cases);
    round_paths::add(&mut cases);
    faults::add(&mut cases);
    tampering::add(&mut cases);
    decider::add(&mut cases);
    audit::add(&mut cases);
    around::add(&mut cases);
    governed::add(&mut cases);
    outcomes::add(&mut cases);
    around_run::add(&mut cases);
    managed::add(&mut cases);
    setup::add(&mut cases);
    live::add(&mut cases);
    cases.all.extend(ask::cases(&Side::Claude(program.into())));
    cases.all.extend(docs::cases("claude", program));
    cases.all
}
