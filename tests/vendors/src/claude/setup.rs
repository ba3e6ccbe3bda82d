//! The files and reports of `mh-setup`, compared with the vendor's behaviour.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Cases;
use super::around::{LOST, WITHOUT};
use super::drive::{Run, path_with};
use crate::frame::Spec;
use crate::scratch::{Ended, Scratch};

/// A folder for the programs and the frame that is not temporary, since `mh-setup` refuses temporary ones. It is
/// removed with the case.
pub struct Place(PathBuf);

impl Place {
    pub fn new(scratch: &Scratch) -> Result<Place, String> {
        let name = scratch.root.file_name().unwrap_or_default();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs").join(name);
        let made = fs::create_dir_all(&folder).and_then(|()| {
            ["mh-setup", "mh-hook-claude"]
                .iter()
                .try_for_each(|program| fs::copy(scratch.program(program), folder.join(program)).map(|_| ()))
        });
        made.map_err(|error| format!("could not prepare {}: {error}", folder.display()))?;
        Ok(Place(folder))
    }

    /// Runs `mh-setup claude` on the project's or the user's settings, with the vendor's program on PATH.
    pub fn ordered(&self, scratch: &Scratch, vendor: &Path, whose: &str, more: &[&str]) -> Result<Ended, String> {
        let mut command = self.command(scratch, whose);
        command.env("PATH", path_with(scratch, vendor)?);
        scratch.run(command.args(more), "setup")
    }

    fn command(&self, scratch: &Scratch, whose: &str) -> Command {
        let mut command = scratch.command(self.0.join("mh-setup"));
        command.args(["claude", whose]).env("CLAUDE_CONFIG_DIR", &scratch.config);
        if whose == "--project" {
            command.arg(&scratch.project);
        }
        command
    }

    /// Seals a frame in this folder.
    pub fn frame(&self, scratch: &Scratch, spec: &Spec) -> Result<String, String> {
        Ok(spec.seal_to(scratch, &self.0.join("frame.json"))?.path.display().to_string())
    }

    fn setup(&self, scratch: &Scratch, whose: &str, more: &[&str]) -> Result<(), String> {
        let ended = scratch.run(self.command(scratch, whose).args(more), "setup")?;
        match ended.code {
            Some(0) => Ok(()),
            code => Err(format!("mh-setup claude {whose} {more:?} ended with {code:?}: {}", ended.stderr.trim())),
        }
    }

    fn set_up(&self, scratch: &Scratch, whose: &str, spec: &Spec) -> Result<(), String> {
        let path = self.frame(scratch, spec)?;
        self.setup(scratch, whose, &["--frame", &path, "--policy", "frame"])
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

pub fn add(cases: &mut Cases) {
    for whose in ["--project", "--user"] {
        cases.blocked(format!("mh-setup {whose}, not admitted"), move |run| {
            let place = Place::new(run.scratch)?;
            place.set_up(run.scratch, whose, &Spec::all_but("shell"))?;
            run.bash("touch o.txt").effect("o.txt")
        });
        cases.ran(format!("mh-setup {whose}, admitted"), move |run| {
            let place = Place::new(run.scratch)?;
            place.set_up(run.scratch, whose, &Spec::all())?;
            run.mode("manual").bash("touch o.txt").effect("o.txt")
        });
        cases.blocked(format!("mh-setup {whose}, the next step's frame is the one in force"), move |run| {
            let place = Place::new(run.scratch)?;
            place.set_up(run.scratch, whose, &Spec::all())?;
            place.set_up(run.scratch, whose, &Spec::all_but("shell"))?;
            run.bash("touch o.txt").effect("o.txt")
        });
        cases.ran(format!("mh-setup {whose} --remove: the guard is gone, other settings are not"), move |run| {
            let place = Place::new(run.scratch)?;
            let text = "{\n  \"env\": {\"MINE\": \"1\"}\n}\n";
            let file = match whose {
                "--project" => run.scratch.write(".claude/settings.json", text)?,
                _ => run.scratch.config.join("settings.json"),
            };
            fs::write(&file, text).map_err(|error| error.to_string())?;
            place.set_up(run.scratch, whose, &Spec::all_but("shell"))?;
            place.setup(run.scratch, whose, &["--remove"])?;
            let after = fs::read_to_string(&file).unwrap_or_default();
            if !after.contains("MINE") || after.contains("mh-hook") {
                return Err(format!("the settings are now {after:?}"));
            }
            run.bash("touch o.txt").effect("o.txt")
        });
    }
    doctor(cases);
}

type Spoil = fn(&Run<'_>) -> std::io::Result<()>;

/// doctor's report is of use only if it says "not live" of every change that was seen to remove the hooks (the cases of
/// `around`), and "live" where nothing does.
fn doctor(cases: &mut Cases) {
    cases.holds("mh-setup doctor: live", |run| {
        let ended = run.frame(&Spec::all())?.doctor()?;
        if ended.code == Some(0) { Ok(()) } else { Err(said(&ended)) }
    });
    for (name, change) in LOST {
        cases.holds(format!("mh-setup doctor: not live with {name}"), move |run| {
            let ended = change(run.frame(&Spec::all())?)?.doctor()?;
            if ended.code == Some(1) { Ok(()) } else { Err(said(&ended)) }
        });
    }
    for (name, change) in WITHOUT.iter().filter(|(name, _)| name.starts_with("CLAUDE")) {
        cases.holds(format!("mh-setup doctor: not live with {name}"), move |run| {
            let ended = change(run.frame(&Spec::all())?)?.doctor()?;
            if ended.code == Some(1) { Ok(()) } else { Err(said(&ended)) }
        });
    }
    let broken: [(&str, Spoil); 3] = [
        ("the frame edited", |run| fs::write(run.scratch.frames.join("frame.json"), "{}")),
        ("the hook program missing", |run| fs::remove_file(run.scratch.program("mh-hook-claude"))),
        ("the hook program replaced by one that ends with 0", |run| {
            let program = run.scratch.program("mh-hook-claude");
            fs::write(program, "#!/bin/sh\nexit 0\n")
        }),
    ];
    for (name, spoil) in broken {
        cases.holds(format!("mh-setup doctor: not live with {name}"), move |run| {
            let run = run.frame(&Spec::all())?;
            spoil(&run).map_err(|error| error.to_string())?;
            let ended = run.doctor()?;
            if ended.code == Some(1) { Ok(()) } else { Err(said(&ended)) }
        });
    }
}

pub fn said(ended: &Ended) -> String {
    format!("the doctor ended with {:?}, {:?} {:?}", ended.code, ended.stdout, ended.stderr)
}
