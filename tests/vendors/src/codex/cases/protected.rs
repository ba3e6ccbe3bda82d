//! Self-protection: with every operation admitted, a patch to the guard's own files is denied.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::{List, OPERATIONS, place, printed, text_of};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Script};
use crate::codex::session::{Codex, Session};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

struct Place {
    name: &'static str,
    path: fn(&Scratch) -> PathBuf,
    /// The file exists before. Codex adds a file over an existing one, and its own configuration must stay readable.
    seeded: bool,
}

const PLACES: &[Place] = &[
    Place { name: "the frame", path: |scratch| scratch.frames.join("frame.json"), seeded: false },
    Place { name: "the hook program", path: |scratch| scratch.program("mh-hook-codex"), seeded: false },
    Place { name: "the audit", path: |scratch| scratch.frames.join("audit.jsonl"), seeded: false },
    Place { name: "$CODEX_HOME/config.toml", path: |scratch| scratch.config.join("config.toml"), seeded: false },
    Place { name: "$CODEX_HOME/hooks.json", path: |scratch| scratch.config.join("hooks.json"), seeded: false },
    Place {
        name: "another file in $CODEX_HOME",
        path: |scratch| scratch.config.join("rules/new.rules"),
        seeded: false,
    },
    Place { name: "a profile in $CODEX_HOME", path: |scratch| scratch.config.join("work.config.toml"), seeded: false },
    Place {
        name: "the project's .codex/config.toml",
        path: |scratch| scratch.project.join(".codex/config.toml"),
        seeded: true,
    },
    Place {
        name: "a new .codex/config.toml in the project",
        path: |scratch| scratch.project.join(".codex/config.toml"),
        seeded: false,
    },
    Place {
        name: "the project's .codex/hooks.json",
        path: |scratch| scratch.project.join(".codex/hooks.json"),
        seeded: false,
    },
    Place {
        name: "a folder below's .codex/config.toml",
        path: |scratch| scratch.project.join("sub/.codex/config.toml"),
        seeded: false,
    },
    Place { name: ".zshenv at home", path: |scratch| scratch.home.join(".zshenv"), seeded: false },
];

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        for place in PLACES {
            list.blocked(format!("{}: protected: a patch over {}", mode.name(), place.name), move |codex, scratch| {
                tried(codex, scratch, mode, place, &|path| format!("*** Add File: {}\n+mine", path.display()))
            });
        }
    }
    let protected = |name: &str| PLACES.iter().find(move |place| place.name == name);
    for name in ["the frame", "the hook program", "$CODEX_HOME/config.toml"] {
        let Some(place) = protected(name) else {
            continue;
        };
        list.blocked(format!("protected: {name} deleted"), move |codex, scratch| {
            tried(codex, scratch, Mode::Direct, place, &|path| format!("*** Delete File: {}", path.display()))
        });
        list.blocked(format!("protected: {name} by a link in the project"), move |codex, scratch| {
            let at = (place.path)(scratch);
            let folder = at.parent().map(PathBuf::from).unwrap_or_default();
            let file = at.file_name().unwrap_or_default().to_string_lossy().into_owned();
            symlink(folder, scratch.project.join("door")).map_err(|error| error.to_string())?;
            tried(codex, scratch, Mode::Direct, place, &|_| format!("*** Add File: door/{file}\n+mine"))
        });
        list.blocked(format!("protected: {name} by .."), move |codex, scratch| {
            tried(codex, scratch, Mode::Direct, place, &|path| {
                let tail = path.strip_prefix(&scratch.root).unwrap_or(path).display();
                format!("*** Add File: ../{tail}\n+mine")
            })
        });
        list.blocked(format!("protected: a file moved over {name}"), move |codex, scratch| {
            scratch.write("mine.txt", "kept\n")?;
            tried(codex, scratch, Mode::Direct, place, &|path| {
                format!("*** Update File: mine.txt\n*** Move to: {}\n@@\n-kept\n+mine", path.display())
            })
        });
        list.blocked(format!("protected: {name} as the last file of a long patch"), move |codex, scratch| {
            tried(codex, scratch, Mode::Code, place, &|path| {
                let others: String = (0..50).map(|n| format!("*** Add File: f{n}.txt\n+x\n")).collect();
                format!("{others}*** Add File: {}\n+mine", path.display())
            })
        });
    }
    linked(list);
    list.limit(
        "an admitted shell writes over the hook program",
        "a shell has no path; keep the program where the agent's user cannot write, or use the sandbox",
        |codex, scratch| {
            let program = scratch.program("mh-hook-codex");
            let entry = super::pinned(scratch, &Spec::admitting(&["shell"]))?;
            let calls = [Call::shell(&format!("cp /bin/true {}", program.display())), super::adds(super::MARK)];
            let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &calls))
                .entry(&entry.text)
                .run()?;
            outcome.effect(scratch.exists(super::MARK))
        },
    );
}

/// Configuration in another folder, reached by links, as people with a folder of dotfiles have it.
fn linked(list: &mut List) {
    const LINKED: Place =
        Place { name: "linked", path: |scratch| scratch.root.join("dotfiles/config.toml"), seeded: false };
    fn session(codex: &Codex, scratch: &Scratch, patch: &str) -> Result<Seen, String> {
        let kept = (LINKED.path)(scratch);
        place(&kept, "")?;
        symlink(&kept, scratch.config.join("config.toml")).map_err(|error| error.to_string())?;
        symlink(&scratch.config, scratch.project.join("door")).map_err(|error| error.to_string())?;
        let frame = Spec::admitting(&OPERATIONS).seal(scratch, "frame.json")?;
        let entry = printed(scratch, &Ask::pinned(&frame))?;
        let call = Call::patch(&format!("*** Begin Patch\n{patch}\n*** End Patch"));
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[call]))
            .entry(&entry.text)
            .run()?;
        let gone = scratch.config.join("config.toml").symlink_metadata().is_err();
        outcome.effect(gone || text_of(&kept).contains("mine"))
    }
    list.blocked("protected: a config.toml that is a link, by its own name", |codex, scratch| {
        let path = scratch.config.join("config.toml");
        session(codex, scratch, &format!("*** Add File: {}\n+mine", path.display()))
    });
    list.blocked("protected: a config.toml that is a link, by another link to its folder", |codex, scratch| {
        session(codex, scratch, "*** Add File: door/config.toml\n+mine")
    });
    list.blocked("protected: a config.toml that is a link, by what it leads to", |codex, scratch| {
        session(codex, scratch, &format!("*** Add File: {}\n+mine", (LINKED.path)(scratch).display()))
    });
    list.blocked("protected: a config.toml that is a link, deleted", |codex, scratch| {
        session(codex, scratch, "*** Delete File: door/config.toml")
    });
}

fn tried(
    codex: &Codex,
    scratch: &Scratch,
    mode: Mode,
    protected: &Place,
    patch: &dyn Fn(&std::path::Path) -> String,
) -> Result<Seen, String> {
    let frame = Spec::admitting(&OPERATIONS).seal(scratch, "frame.json")?;
    let mut ask = Ask::pinned(&frame);
    ask.audit = Some(scratch.frames.join("audit.jsonl"));
    let entry = printed(scratch, &ask)?;
    let path = (protected.path)(scratch);
    if protected.seeded {
        place(&path, "# nothing\n")?;
    }
    let body = patch(&path);
    let call = Call::patch(&format!("*** Begin Patch\n{body}\n*** End Patch"));
    let outcome = Session::new(codex, scratch, mode, Script::calls(mode, &[call])).entry(&entry.text).run()?;
    outcome.effect(text_of(&path).contains("mine") || (body.contains("Delete") && !path.exists()))
}
