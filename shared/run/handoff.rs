//! What a step owes, looked at after the turn: a hook can ask for it, and only a launcher can make
//! an end of a turn depend on it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::frame::{Frame, Handoff};

/// What a frame owes, with what was there before the turn.
#[derive(Debug, Clone, Default)]
pub struct Promise {
    owed: Vec<Owed>,
}

/// One thing that is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owed {
    /// A file that is there afterwards, and is not what it was.
    Artifact {
        /// Its name in the frame.
        name: String,
        /// Where it is to be.
        path: PathBuf,
        /// What was there.
        before: Option<FileIdentity>,
    },
    /// An answer that the vendor holds to a schema.
    Structured {
        /// The schema's name in the frame.
        schema: String,
    },
    /// An answer that is one of these.
    Member {
        /// The list.
        members: Vec<String>,
    },
}

/// What changes when a file is written.
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
    /// What this frame owes. An artifact lies where it is told, else at its name below the folder.
    ///
    /// # Errors
    /// Something that is owed could not be looked at afterwards, and what to give.
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

    /// What is missing after a turn that answered so.
    pub fn missing(&self, answer: &str) -> Option<String> {
        self.owed.iter().find_map(|owed| match owed {
            Owed::Artifact { name, path, before } => match identity(path) {
                None => Some(format!("the artifact {name:?} is owed, and {} is not there", path.display())),
                after if after == *before => {
                    Some(format!("the artifact {name:?} is owed, and {} is as it was", path.display()))
                }
                _ => None,
            },
            // whether it is valid is the vendor's word; that it is an answer at all is looked at
            Owed::Structured { schema } => serde_json::from_str::<serde_json::Value>(answer)
                .is_err()
                .then(|| format!("an answer by the schema {schema:?} is owed, and the answer is no json")),
            Owed::Member { members } => (!members.iter().any(|member| member == answer.trim())).then(|| {
                format!("the answer is none of the {} members that the frame has to choose from", members.len())
            }),
        })
    }
}
