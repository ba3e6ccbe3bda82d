//! What a step owes, checked after the turn. A hook can only ask the model for it; a launcher can make the turn's
//! outcome depend on it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::frame::{Frame, Handoff};

/// What a frame owes, with the state of the files before the turn.
#[derive(Debug, Clone, Default)]
pub struct Promise {
    owed: Vec<Owed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owed {
    /// A file that exists afterwards and differs from the one before.
    Artifact {
        /// Its name in the frame.
        name: String,
        path: PathBuf,
        before: Option<FileIdentity>,
    },
    /// An answer that the vendor holds to a schema.
    Structured {
        /// The schema's name in the frame.
        schema: String,
    },
    /// An answer that is in this list.
    Member { members: Vec<String> },
}

/// The facts that change when a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let found = fs_err::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some(FileIdentity { inode: found.ino(), size: found.size(), changed: (found.ctime(), found.ctime_nsec()) })
}

impl Promise {
    /// The frame's obligation. `told` gives an artifact's path; without one it is the artifact's name below the folder.
    pub fn of(frame: &Frame, cwd: &Path, told: &BTreeMap<String, PathBuf>, schema: bool) -> Result<Promise, String> {
        let mut owed = Vec::new();
        match &frame.handoff {
            Handoff::None => {}
            Handoff::Artifact { name, .. } => {
                let path = cwd.join(told.get(name).map_or(Path::new(name), PathBuf::as_path));
                owed.push(Owed::Artifact { name: name.clone(), before: identity(&path), path });
            }
            Handoff::StructuredAnswer { schema: name } if schema => {
                owed.push(Owed::Structured { schema: name.clone() })
            }
            Handoff::StructuredAnswer { schema: name } => {
                return Err(format!("the frame owes an answer by the schema {name:?}; give it with --schema FILE"));
            }
        }
        if let Some(entities) = &frame.entities {
            owed.push(Owed::Member { members: entities.members.clone() });
        }
        if let Some(name) =
            told.keys().find(|name| !matches!(&frame.handoff, Handoff::Artifact { name: owed, .. } if owed == *name))
        {
            return Err(format!("the frame owes no artifact {name:?}"));
        }
        Ok(Promise { owed })
    }

    /// The reason, if the turn with this answer did not produce what it owes.
    pub fn missing(&self, answer: &str) -> Option<String> {
        self.owed.iter().find_map(|owed| match owed {
            Owed::Artifact { name, path, before } => match identity(path) {
                None => Some(format!("the artifact {name:?} is owed, and {} is not there", path.display())),
                after if after == *before => {
                    Some(format!("the artifact {name:?} is owed, and {} is as it was", path.display()))
                }
                _ => None,
            },
            // the vendor checks the answer against the schema; here it must only be JSON
            Owed::Structured { schema } => serde_json::from_str::<serde_json::Value>(answer)
                .is_err()
                .then(|| format!("an answer by the schema {schema:?} is owed, and the answer is no json")),
            Owed::Member { members } => (!members.iter().any(|member| member == answer.trim())).then(|| {
                format!("the answer is none of the {} members that the frame has to choose from", members.len())
            }),
        })
    }
}
