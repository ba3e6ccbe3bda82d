//! A frame from flags, without JSON by hand.

use super::voice::{Arguments, joined, number, once, operation, wrong};
use crate::frame::{Entities, Frame, Handoff, Node, Obligation, Operation, Prior, ScopeRule, Step, Workflow};
use crate::os::Stop;
use crate::os::mistake::{Mistake, typed};

/// The values of the flags so far.
#[derive(Default)]
pub(super) struct Builder {
    frame: Frame,
    workflow: Option<String>,
    version: Option<String>,
    state: Option<String>,
    step: Option<u32>,
    attempt: Option<u32>,
    handoff: Option<Handoff>,
    /// The last rules: one for the project, and one against everything else.
    project: Option<[ScopeRule; 2]>,
    /// The statement that `--source` and `--asked-by` belong to.
    last: Option<Stated>,
}

enum Stated {
    Prior,
    Obligation,
    Reaching,
}

const OWES: &str = "what the step owes: --handoff-none, --handoff-artifact NAME or --handoff-answer SCHEMA";

impl Builder {
    /// Take one flag with its values.
    pub(super) fn flag(&mut self, flag: &str, arguments: &mut Arguments) -> Result<(), Stop> {
        match flag {
            "--workflow" => once(&mut self.workflow, flag, arguments.text()?)?,
            "--version" => once(&mut self.version, flag, arguments.text()?)?,
            "--state" => once(&mut self.state, flag, arguments.text()?)?,
            "--step" => once(&mut self.step, flag, counted(flag, arguments)?)?,
            "--attempt" => once(&mut self.attempt, flag, counted(flag, arguments)?)?,
            "--admit" => {
                for word in arguments.texts()? {
                    for word in word.split(',') {
                        self.frame.operations.insert(operation(word, "--admit-mcp")?);
                    }
                }
            }
            "--admit-mcp" => {
                let (server, tool) = arguments.two("SERVER TOOL")?;
                self.frame.operations.insert(Operation::McpCall { server, tool });
            }
            "--prior" => {
                self.frame.prior.push(Prior { text: arguments.text()?, source: None });
                self.last = Some(Stated::Prior);
            }
            "--obligation" => {
                self.frame.obligations.push(Obligation { text: arguments.text()?, asked_by: None });
                self.last = Some(Stated::Obligation);
            }
            "--reaching" => {
                self.frame.reaching.push(Obligation { text: arguments.text()?, asked_by: None });
                self.last = Some(Stated::Reaching);
            }
            "--source" | "--asked-by" => {
                let origin = arguments.text()?;
                self.origin(flag, origin)?;
            }
            "--next" => self.frame.next.extend(arguments.texts()?.into_iter().map(|id| Node { id })),
            "--handoff-none" => once(&mut self.handoff, "a handoff", Handoff::None)?,
            "--handoff-artifact" => {
                let name = arguments.text()?;
                once(&mut self.handoff, "a handoff", Handoff::Artifact { name, kind: None })?;
            }
            "--handoff-answer" => {
                let schema = arguments.text()?;
                once(&mut self.handoff, "a handoff", Handoff::StructuredAnswer { schema })?;
            }
            "--kind" => match &mut self.handoff {
                Some(Handoff::Artifact { kind, .. }) => once(kind, flag, arguments.text()?)?,
                _ => return Err(wrong(&Mistake::GoesWith(flag, "the --handoff-artifact before it"))),
            },
            "--entities-from" => {
                let source = arguments.text()?;
                once(&mut self.frame.entities, flag, Entities { source, members: Vec::new() })?;
            }
            "--entity" => match &mut self.frame.entities {
                Some(entities) => entities.members.extend(arguments.texts()?),
                None => return Err(wrong(&Mistake::GoesWith(flag, "the --entities-from before it"))),
            },
            "--scope" => {
                let (glob, operations) = arguments.two("GLOB OP,OP")?;
                self.frame.scope.push(rule(glob, &operations)?);
            }
            "--scope-project" => {
                let (folder, operations) = arguments.two("DIR OP,OP")?;
                once(&mut self.project, flag, project(&folder, &operations)?)?;
            }
            _ => return Err(arguments.unknown()),
        }
        Ok(())
    }

    /// The frame, if nothing required is missing.
    pub(super) fn frame(self) -> Result<Frame, Stop> {
        let needed = [
            ("--workflow ID", self.workflow.is_some()),
            ("--version V", self.version.is_some()),
            ("--state S", self.state.is_some()),
            ("--step N", self.step.is_some()),
            (OWES, self.handoff.is_some()),
        ];
        let (Some(id), Some(version), Some(state), Some(index), Some(handoff)) =
            (self.workflow, self.version, self.state, self.step, self.handoff)
        else {
            let missing: Vec<&str> = needed.iter().filter(|(_, given)| !given).map(|(what, _)| *what).collect();
            return Err(Stop::usage(format!("a new frame needs {}", joined(&missing, "and"))));
        };
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

    fn origin(&mut self, flag: &str, origin: String) -> Result<(), Stop> {
        let source = flag == "--source";
        let place = match &self.last {
            Some(Stated::Prior) if source => self.frame.prior.last_mut().map(|line| &mut line.source),
            Some(Stated::Obligation) if !source => self.frame.obligations.last_mut().map(|line| &mut line.asked_by),
            Some(Stated::Reaching) if !source => self.frame.reaching.last_mut().map(|line| &mut line.asked_by),
            _ => None,
        };
        let before = if source { "the --prior before it" } else { "the --obligation or --reaching before it" };
        match place {
            Some(place) => once(place, flag, origin),
            None => Err(wrong(&Mistake::GoesWith(flag, before))),
        }
    }
}

/// A rule of the path scope. A glob without a scheme is a file glob.
fn rule(glob: String, operations: &str) -> Result<ScopeRule, Stop> {
    let schemed = glob.starts_with("file:") || glob.starts_with("proc:");
    let subjects = vec![if schemed { glob } else { format!("file:{glob}") }];
    let operations = match operations {
        "none" => Default::default(),
        list => list.split(',').map(|word| operation(word, "--admit-mcp")).collect::<Result<_, _>>()?,
    };
    Ok(ScopeRule { subjects, operations })
}

/// The rules that admit these operations in a folder and nothing elsewhere. A rule looks at a path's real place, so the
/// folder is named with links followed.
fn project(folder: &str, operations: &str) -> Result<[ScopeRule; 2], Stop> {
    #[expect(clippy::disallowed_methods, reason = "the sentence names the folder")]
    let real = std::fs::canonicalize(folder)
        .map_err(|error| Stop::failed(format!("--scope-project {folder}: {}", crate::os::words(error))))?;
    if !real.is_dir() {
        return Err(wrong(&Mistake::Takes("--scope-project", "a folder", &typed(folder.as_ref()))));
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

fn counted(flag: &str, arguments: &mut Arguments) -> Result<u32, Stop> {
    number(flag, &arguments.text()?, (0, u32::MAX), "")
}
