//! The files and reports of `mh-setup`, compared with the vendor's behaviour.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Cases;
use super::around::{LOST, WITHOUT};
use super::drive::{Run, path_with};
use super::live::worktree;
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
        match whose {
            "--project" => drop(command.arg(&scratch.project)),
            "--local" => drop(command.arg("--project").arg(&scratch.project)),
            _ => {}
        }
        command
    }

    /// The doctor's word on the vendor, started in this folder.
    fn doctor(&self, scratch: &Scratch, vendor: &Path, folder: &Path) -> Result<Ended, String> {
        let mut command = scratch.command(self.0.join("mh-setup"));
        command.args(["doctor", "claude", "--project"]).arg(folder).env("CLAUDE_CONFIG_DIR", &scratch.config);
        command.env("PATH", path_with(scratch, vendor)?).current_dir(folder);
        scratch.run(&mut command, "doctor")
    }

    /// A program that decides each call so, and leaves a mark where it is asked.
    fn decider(&self, scratch: &Scratch, decision: &str) -> Result<String, String> {
        let path = self.0.join("decider");
        let text = format!("#!/bin/sh\n: > '{}'\n{decision}\n", scratch.logs.join("asked").display());
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|error| format!("could not write the decider: {error}"))?;
        Ok(format!("exec:{}", path.display()))
    }

    /// A frame that lies there.
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
    for whose in ["--project", "--user", "--local"] {
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
                "--local" => run.scratch.write(".claude/settings.local.json", text)?,
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
    local(cases);
    deciders(cases);
}

/// An entry in the local settings of a repository, and a vendor that is started elsewhere in it.
fn local(cases: &mut Cases) {
    for (whence, folder) in [("its root", "."), ("a folder below", "sub"), ("a linked worktree", "linked")] {
        let name = format!("mh-setup --local, the vendor started in {whence}: doctor says what Claude Code does");
        cases.holds(name, move |run| {
            let (program, scratch) = (run.program(), run.scratch);
            worktree(scratch)?;
            scratch.write("sub/keep", "")?;
            let place = Place::new(scratch)?;
            place.set_up(scratch, "--local", &Spec::all_but("shell"))?;
            let ended = place.doctor(scratch, program, &scratch.project.join(folder))?;
            let mark = scratch.project.join("o.txt");
            run.inside(folder).bash(&format!("touch '{}'", mark.display())).go()?;
            match (ended.code, mark.exists()) {
                (Some(0), false) | (Some(1), true) => Ok(()),
                (_, ran) => Err(format!("the call ran: {ran}; {}", said(&ended))),
            }
        });
    }
}

/// Deciders that `mh-setup` puts in: the doctor asks none, the vendor's calls are put to them, and one that takes longer
/// than the usual limit has the time that was asked for.
fn deciders(cases: &mut Cases) {
    const ANSWER: &str = r#"id=$(sed -n 's/.*"call_id":"\([^"]*\)".*/\1/p'); printf '{"format":"metaharness.command/1","id":"1","command":"tool.decide","call_id":"%s","decision":DECISION}\n' "$id""#;
    let deny = ANSWER.replace("DECISION", r#"{"decision":"deny","reason":"the embedder would rather not"}"#);
    let slow = format!("sleep 22\n{}", ANSWER.replace("DECISION", r#"{"decision":"allow"}"#));
    cases.holds("mh-setup --decider: doctor calls it live and asks nobody, and a denial holds", move |run| {
        let (program, scratch) = (run.program(), run.scratch);
        let place = Place::new(scratch)?;
        let (frame, decider) = (place.frame(scratch, &Spec::all())?, place.decider(scratch, &deny)?);
        place.setup(scratch, "--project", &["--frame", &frame, "--policy", "frame", "--decider", &decider])?;
        let ended = place.doctor(scratch, program, &scratch.project)?;
        let asked = scratch.logs.join("asked");
        if ended.code != Some(0) || asked.exists() {
            return Err(format!("asked: {}; {}", asked.exists(), said(&ended)));
        }
        let outcome = run.bash("touch o.txt").go()?;
        match (asked.exists(), scratch.exists("o.txt"), outcome.was_told("the embedder would rather not")) {
            (true, false, true) => Ok(()),
            seen => Err(format!("asked, ran, told: {seen:?}; {}", outcome.detail())),
        }
    });
    cases.ran("mh-setup --deadline: a decider that takes 22 seconds of 40 is waited for", move |run| {
        let place = Place::new(run.scratch)?;
        let (frame, decider) = (place.frame(run.scratch, &Spec::all())?, place.decider(run.scratch, &slow)?);
        let more = ["--frame", &frame, "--policy", "frame", "--decider", &decider, "--deadline", "40"];
        place.setup(run.scratch, "--project", &more)?;
        run.bash("touch o.txt").effect("o.txt")
    });
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
