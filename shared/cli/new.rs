//! A frame from flags, no JSON by hand.

use super::{operation, text};
use crate::frame::{Entities, Frame, Handoff, Node, Obligation, Operation, Prior, ScopeRule, Step, Workflow};
use crate::os::Stop;

/// What the flags have said so far.
#[derive(Default)]
pub(super) struct Builder {
    frame: Frame,
    workflow: Option<String>,
    version: Option<String>,
    state: Option<String>,
    step: Option<u32>,
    attempt: Option<u32>,
    handoff: Option<Handoff>,
    /// The rules that stand last: for a project, and against all else.
    project: Option<[ScopeRule; 2]>,
    /// What `--source` and `--asked-by` are about.
    last: Option<Stated>,
}

enum Stated {
    Prior,
    Obligation,
    Reaching,
}

impl Builder {
    /// Take one flag with its values.
    pub(super) fn flag(&mut self, flag: &str, parser: &mut lexopt::Parser) -> Result<(), Stop> {
        let named = format!("--{flag}");
        let mut value = || text(parser.value()?, &named);
        match flag {
            "workflow" => once(&mut self.workflow, &named, value()?)?,
            "version" => once(&mut self.version, &named, value()?)?,
            "state" => once(&mut self.state, &named, value()?)?,
            "step" => once(&mut self.step, &named, number(&named, &value()?)?)?,
            "attempt" => once(&mut self.attempt, &named, number(&named, &value()?)?)?,
            "admit" => {
                for word in values(parser, &named)? {
                    for word in word.split(',') {
                        self.frame.operations.insert(operation(word, "--admit-mcp")?);
                    }
                }
            }
            "admit-mcp" => {
                let (server, tool) = (value()?, value()?);
                self.frame.operations.insert(Operation::McpCall { server, tool });
            }
            "prior" => {
                self.frame.prior.push(Prior { text: value()?, source: None });
                self.last = Some(Stated::Prior);
            }
            "obligation" => {
                self.frame.obligations.push(Obligation { text: value()?, asked_by: None });
                self.last = Some(Stated::Obligation);
            }
            "reaching" => {
                self.frame.reaching.push(Obligation { text: value()?, asked_by: None });
                self.last = Some(Stated::Reaching);
            }
            "source" | "asked-by" => {
                let origin = value()?;
                self.origin(flag, &named, origin)?;
            }
            "next" => self.frame.next.extend(values(parser, &named)?.into_iter().map(|id| Node { id })),
            "handoff-none" => once(&mut self.handoff, "a handoff", Handoff::None)?,
            "handoff-artifact" => {
                once(&mut self.handoff, "a handoff", Handoff::Artifact { name: value()?, kind: None })?;
            }
            "handoff-answer" => {
                once(&mut self.handoff, "a handoff", Handoff::StructuredAnswer { schema: value()? })?;
            }
            "kind" => match &mut self.handoff {
                Some(Handoff::Artifact { kind, .. }) => once(kind, &named, value()?)?,
                _ => return Err(Stop::usage("--kind is about the --handoff-artifact before it, and there is none")),
            },
            "entities-from" => match &mut self.frame.entities {
                Some(_) => return Err(Stop::usage("--entities-from is given twice")),
                none => *none = Some(Entities { source: value()?, members: Vec::new() }),
            },
            "entity" => match &mut self.frame.entities {
                Some(entities) => entities.members.extend(values(parser, &named)?),
                None => return Err(Stop::usage("--entity needs --entities-from before it")),
            },
            "scope" => {
                let (glob, operations) = (value()?, value()?);
                self.frame.scope.push(rule(glob, &operations)?);
            }
            "scope-project" => {
                let (folder, operations) = (value()?, value()?);
                once(&mut self.project, &named, project(&folder, &operations)?)?;
            }
            _ => return Err(Stop::usage(format!("there is no flag {named}"))),
        }
        Ok(())
    }

    /// The frame, if nothing that it needs is missing.
    pub(super) fn frame(self) -> Result<Frame, Stop> {
        let needed =
            |value: Option<String>, flag: &str| value.ok_or_else(|| Stop::usage(format!("a new frame needs {flag}")));
        let id = needed(self.workflow, "--workflow")?;
        let version = needed(self.version, "--version")?;
        let state = needed(self.state, "--state")?;
        let index = self.step.ok_or_else(|| Stop::usage("a new frame needs --step"))?;
        let handoff = self.handoff.ok_or_else(|| {
            Stop::usage("say what the step owes: --handoff-none, --handoff-artifact NAME or --handoff-answer SCHEMA")
        })?;
        let mut frame = self.frame;
        frame.scope.extend(self.project.into_iter().flatten());
        Ok(Frame {
            step: Step { workflow: id.clone(), state: state.clone(), index, attempt: self.attempt.unwrap_or(1) },
            workflow: Workflow { id, version },
            node: Node { id: state },
            handoff,
            ..frame
        })
    }

    fn origin(&mut self, flag: &str, named: &str, origin: String) -> Result<(), Stop> {
        let place = match (flag, &self.last) {
            ("source", Some(Stated::Prior)) => self.frame.prior.last_mut().map(|line| &mut line.source),
            ("asked-by", Some(Stated::Obligation)) => self.frame.obligations.last_mut().map(|line| &mut line.asked_by),
            ("asked-by", Some(Stated::Reaching)) => self.frame.reaching.last_mut().map(|line| &mut line.asked_by),
            _ => None,
        };
        match place {
            Some(place) => once(place, named, origin),
            None if flag == "source" => Err(Stop::usage("--source is about the --prior before it, and there is none")),
            None => Err(Stop::usage("--asked-by is about the --obligation or --reaching before it, and there is none")),
        }
    }
}

/// A rule of the path scope. A glob without a scheme is one over files.
fn rule(glob: String, operations: &str) -> Result<ScopeRule, Stop> {
    let schemed = glob.starts_with("file:") || glob.starts_with("proc:");
    let subjects = vec![if schemed { glob } else { format!("file:{glob}") }];
    let operations = match operations {
        "none" => Default::default(),
        list => list.split(',').map(|word| operation(word, "--admit-mcp")).collect::<Result<_, _>>()?,
    };
    Ok(ScopeRule { subjects, operations })
}

/// The rules that admit these operations in a folder and nothing anywhere else. A rule admits only where a path really
/// leads, so the folder is named by that.
fn project(folder: &str, operations: &str) -> Result<[ScopeRule; 2], Stop> {
    let failed = |error: std::io::Error| Stop::failed(format!("--scope-project: {}", crate::os::words(error)));
    let real = fs_err::canonicalize(folder).map_err(failed)?;
    if !real.is_dir() {
        return Err(Stop::usage(format!("--scope-project takes a folder, and {folder:?} is none")));
    }
    let real = real.to_str().ok_or_else(|| Stop::usage(format!("--scope-project: {folder:?} is not UTF-8")))?;
    if real.contains('*') {
        return Err(Stop::usage(format!(
            "--scope-project: the folder {real:?} has a `*` in its name, which a glob cannot say"
        )));
    }
    let below = rule(format!("{}/**", real.trim_end_matches('/')), operations)?;
    Ok([below, rule("/**".into(), "none")?])
}

fn once<T>(place: &mut Option<T>, flag: &str, value: T) -> Result<(), Stop> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Stop::usage(format!("{flag} is given twice"))),
    }
}

fn number(flag: &str, value: &str) -> Result<u32, Stop> {
    value.parse().map_err(|_| Stop::usage(format!("{flag} takes a whole number from 0 to 4294967295, not {value:?}")))
}

/// One value or more, up to the next flag.
fn values(parser: &mut lexopt::Parser, flag: &str) -> Result<Vec<String>, Stop> {
    let values: Vec<_> = parser.values()?.collect();
    values.into_iter().map(|value| text(value, flag)).collect()
}
