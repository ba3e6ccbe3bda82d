//! The entries that `mh-setup` writes into a configuration, and doctor's reports on one, compared with Codex's
//! behaviour.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{List, MARK, all_but, hold, pinned, place, text_of, touch};
use crate::case::Seen;
use crate::codex::script::{Mode, Script};
use crate::codex::session::{Codex, Session};
use crate::frame::Spec;
use crate::scratch::Scratch;

type Act = fn(&Scratch) -> Result<(), String>;

/// A change to the configuration, whether the project is trusted, and whether the guard holds after it.
const SITUATIONS: &[(&str, bool, bool, Act)] = &[
    ("as printed", false, true, |_| Ok(())),
    ("with no trust", false, false, |scratch| edited(scratch, "\ntrusted_hash = ", "\nother = ")),
    ("with one byte of the command changed", false, false, |scratch| edited(scratch, "-k 1 25", "-k 1 24")),
    ("with trust for another CODEX_HOME", false, false, |scratch| {
        let file = scratch.config.join("config.toml");
        edited(scratch, &format!("{}:", file.display()), "/elsewhere/config.toml:")
    }),
    ("with hooks switched off", false, false, |scratch| edited(scratch, "\nhooks = true", "\nhooks = false")),
    ("with the hook's own switch off", false, false, |scratch| {
        edited(scratch, "\nenabled = true", "\nenabled = false")
    }),
    ("behind another hook of the same event", false, false, |scratch| {
        let other = "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"exit 0\"\n\n";
        edited(scratch, "[[hooks.PreToolUse]]\n", &format!("{other}[[hooks.PreToolUse]]\n"))
    }),
    ("beside a hooks.json of another's", false, true, |scratch| {
        let other = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 0"}]}]}}"#;
        place(&scratch.config.join("hooks.json"), other)
    }),
    ("in a trusted project that switches hooks off", true, false, |scratch| project(scratch, "hooks = false")),
    // The old name counts only if no file has the new one, and the entry has it.
    ("in a trusted project that switches them off by the old name", true, true, |scratch| {
        project(scratch, "codex_hooks = false")
    }),
    ("in a project that nobody trusts and that switches hooks off", false, true, |scratch| {
        project(scratch, "hooks = false")
    }),
];

pub fn list(list: &mut List) {
    written(list);
    for (what, trusted, blocked, act) in SITUATIONS {
        list.holds(format!("doctor: {what}: it says what Codex does"), move |codex, scratch| {
            let entry = pinned(scratch, &all_but(&["shell"]))?;
            let script = Script::calls(Mode::Direct, &[touch()]);
            let mut session = Session::new(codex, scratch, Mode::Direct, script).entry(&entry.text);
            if *trusted {
                session = session.trusting_the_project();
            }
            let stub = session.prepare()?;
            act(scratch)?;
            let (live, said) = doctor(codex, scratch)?;
            let outcome = session.run_on(&stub)?;
            hold(
                [
                    (scratch.exists(MARK) != *blocked, "Codex does as is known"),
                    (live == *blocked, "the doctor says so"),
                ],
                &format!("live: {live}; {said}; {}", outcome.told()),
            )
        });
    }
    list.holds("doctor: a trusted project that switches terminals on is named", |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["web.read"]))?;
        let session =
            Session::new(codex, scratch, Mode::Direct, Script::default()).entry(&entry.text).trusting_the_project();
        let _stub = session.prepare()?;
        project(scratch, "unified_exec_tty = true")?;
        let (_, said) = doctor(codex, scratch)?;
        hold([(said.contains("unified_exec_tty"), "it is named")], &said)
    });
}

/// A folder that is not temporary, since mh-setup refuses frames in temporary ones. Dropping the value removes it.
pub struct Steady(PathBuf);

impl Steady {
    pub fn new(scratch: &Scratch) -> Result<Steady, String> {
        let name = scratch.root.file_name().unwrap_or_default();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs").join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("could not make {}: {error}", folder.display()))?;
        for program in ["mh-setup", "mh-hook-codex"] {
            fs::copy(scratch.program(program), folder.join(program)).map_err(|error| error.to_string())?;
        }
        Ok(Steady(folder))
    }

    /// The `mh-setup` in this folder.
    pub fn program(&self) -> PathBuf {
        self.0.join("mh-setup")
    }

    /// Seals a frame in this folder.
    pub fn frame(&self, scratch: &Scratch, spec: &Spec) -> Result<String, String> {
        let frame = self.0.join("frame.json");
        spec.seal_to(scratch, &frame)?;
        Ok(frame.to_string_lossy().into_owned())
    }

    fn setup(&self, scratch: &Scratch, words: &[&str]) -> Result<(), String> {
        self.setup_with(scratch, words, &[])
    }

    /// Runs `mh-setup codex` with these variables added.
    pub fn setup_with(&self, scratch: &Scratch, words: &[&str], env: &[(String, String)]) -> Result<(), String> {
        let mut command = scratch.command(self.0.join("mh-setup"));
        command.arg("codex").args(words).env("CODEX_HOME", &scratch.config);
        command.envs(env.iter().map(|(name, value)| (name, value)));
        let ended = scratch.run(&mut command, "setup")?;
        match ended.code {
            Some(0) => Ok(()),
            code => Err(format!("mh-setup codex {words:?} ended with {code:?}: {}", ended.stderr)),
        }
    }
}

impl Drop for Steady {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Entries are written into a configuration that has other settings, replaced for the next step's frame, and taken out.
fn written(list: &mut List) {
    fn run(codex: &Codex, scratch: &Scratch, then: &[&[&str]], second: Option<&str>) -> Result<Seen, String> {
        let steady = Steady::new(scratch)?;
        let frame = steady.frame(scratch, &all_but(&["shell"]))?;
        let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .config("[tools.update_plan]\nenabled = true\n");
        let stub = session.prepare()?;
        let before = text_of(&scratch.config.join("config.toml"));
        steady.setup(scratch, &["--frame", &frame, "--policy", "frame"])?;
        if let Some(admitted) = second {
            let frame = steady.0.join("second.json");
            Spec::admitting(&[admitted]).seal_to(scratch, &frame)?;
            steady.setup(scratch, &["--frame", &frame.to_string_lossy(), "--policy", "frame"])?;
        }
        for words in then {
            steady.setup(scratch, words)?;
        }
        let outcome = session.run_on(&stub)?;
        if !then.is_empty() && text_of(&scratch.config.join("config.toml")) != before {
            return Err(format!("something stayed behind: {}", text_of(&scratch.config.join("config.toml"))));
        }
        outcome.effect(scratch.exists(MARK))
    }
    deciders(list);
    list.blocked("mh-setup writes the entry: it is live", |codex, scratch| run(codex, scratch, &[], None));
    list.ran("mh-setup writes the next step's frame: it is the one in force", |codex, scratch| {
        run(codex, scratch, &[], Some("shell"))
    });
    list.ran("mh-setup --remove: the configuration is as it was", |codex, scratch| {
        run(codex, scratch, &[&["--remove"]], None)
    });
}

/// Deciders that `mh-setup` puts in: Codex trusts an entry with another limit, the doctor asks nobody, and one that takes
/// longer than the usual limit has the time that was asked for.
fn deciders(list: &mut List) {
    const ANSWER: &str = r#"id=$(sed -n 's/.*"call_id":"\([^"]*\)".*/\1/p'); printf '{"format":"metaharness.command/1","id":"1","command":"tool.decide","call_id":"%s","decision":DECISION}\n' "$id""#;
    fn run(codex: &Codex, scratch: &Scratch, decision: &str) -> Result<(bool, String, String), String> {
        let steady = Steady::new(scratch)?;
        let frame = steady.frame(scratch, &all_but(&["web.read"]))?;
        let decider = steady.0.join("decider");
        let asked = scratch.logs.join("asked");
        let text = format!("#!/bin/sh\n: > '{}'\n{decision}\n", asked.display());
        fs::write(&decider, text)
            .and_then(|()| fs::set_permissions(&decider, fs::Permissions::from_mode(0o755)))
            .map_err(|error| format!("could not write the decider: {error}"))?;
        let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]));
        let stub = session.prepare()?;
        let which = format!("exec:{}", decider.display());
        let words = ["--frame", &frame, "--policy", "frame", "--decider", &which, "--deadline", "40"];
        steady.setup(scratch, &words)?;
        let (live, said) = doctor_of(codex, scratch, &steady.program(), &[], &[])?;
        if !live || asked.exists() {
            return Err(format!("asked: {}; {said}", asked.exists()));
        }
        let outcome = session.run_on(&stub)?;
        Ok((scratch.exists(MARK), outcome.told(), said))
    }
    let deny = ANSWER.replace("DECISION", r#"{"decision":"deny","reason":"the embedder would rather not"}"#);
    list.holds(
        "mh-setup --decider: doctor calls it live and asks nobody, and a denial holds",
        move |codex, scratch| {
            let (ran, told, said) = run(codex, scratch, &deny)?;
            hold(
                [(!ran, "the call did not run"), (told.contains("would rather not"), "it says why")],
                &format!("{told}; {said}"),
            )
        },
    );
    let slow = format!("sleep 22\n{}", ANSWER.replace("DECISION", r#"{"decision":"allow"}"#));
    list.holds("mh-setup --deadline: a decider that takes 22 seconds of 40 is waited for", move |codex, scratch| {
        let (ran, told, said) = run(codex, scratch, &slow)?;
        hold([(ran, "the call ran")], &format!("{told}; {said}"))
    });
}

fn doctor(codex: &Codex, scratch: &Scratch) -> Result<(bool, String), String> {
    doctor_of(codex, scratch, &scratch.program("mh-setup"), &[], &[])
}

/// The report of this `mh-setup doctor`, started by these words and with these variables added.
pub fn doctor_of(
    codex: &Codex,
    scratch: &Scratch,
    setup: &Path,
    wrap: &[String],
    env: &[(String, String)],
) -> Result<(bool, String), String> {
    let folder = codex.program.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let path = std::env::var("PATH").unwrap_or_default();
    let words: Vec<String> = wrap.iter().cloned().chain([setup.to_string_lossy().into_owned()]).collect();
    let mut command = scratch.command(&words[0]);
    command
        .args(&words[1..])
        .args(["doctor", "codex", "--project"])
        .arg(&scratch.project)
        .env("CODEX_HOME", &scratch.config)
        .env("PATH", format!("{folder}:{path}"))
        .envs(env.iter().map(|(name, value)| (name, value)));
    let ended = scratch.run(&mut command, "doctor")?;
    let said = format!("{}{}", ended.stdout, ended.stderr);
    match ended.code {
        Some(0) => Ok((true, said)),
        Some(1) => Ok((false, said)),
        code => Err(format!("mh-setup doctor ended with {code:?}: {said}")),
    }
}

pub fn edited(scratch: &Scratch, from: &str, to: &str) -> Result<(), String> {
    let path = scratch.config.join("config.toml");
    let text = text_of(&path);
    if !text.contains(from) {
        return Err(format!("there is no {from:?} in {}", path.display()));
    }
    place(&path, &text.replace(from, to))
}

fn project(scratch: &Scratch, feature: &str) -> Result<(), String> {
    scratch.write(".codex/config.toml", &format!("[features]\n{feature}\n")).map(drop)
}
