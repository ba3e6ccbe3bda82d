//! doctor's `live` means that the hook holds the real Codex when it is started there: the cases change the environment,
//! `.env`, the login shell and the home's spelling, and compare the outcome with doctor's report.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::doctor::{Steady, doctor_of, edited};
use super::{List, MARK, adds, all_but, hold, over_etc, pinned, place, text_of};
use crate::case::Seen;
use crate::codex::appserver::hooks;
use crate::codex::script::{Mode, Script};
use crate::codex::session::{Codex, Session};
use crate::frame::Spec;
use crate::scratch::Scratch;

/// A situation, in which both Codex and doctor are started.
struct There<'a> {
    codex: &'a Codex,
    scratch: &'a Scratch,
    env: Vec<(String, String)>,
    wrap: Vec<String>,
}

impl There<'_> {
    fn env(&mut self, name: &str, value: &str) {
        self.env.push((name.into(), value.into()));
    }

    /// A file for bash to run first, which ends bash with 0.
    fn leave(&self) -> Result<String, String> {
        let file = self.scratch.root.join("leave.sh");
        place(&file, "exit 0\n")?;
        Ok(file.to_string_lossy().into_owned())
    }

    /// Puts this folder of the scratch first on PATH, after the vendor's.
    fn first_on_path(&mut self, folder: &str) {
        let vendor = self.codex.program.parent().unwrap_or(Path::new("/")).display();
        let first = self.scratch.root.join(folder);
        let path = std::env::var("PATH").unwrap_or_default();
        self.env("PATH", &format!("{vendor}:{}:{path}", first.display()));
    }

    fn dotenv(&self, text: &str) -> Result<(), String> {
        place(&self.scratch.config.join(".env"), text)
    }

    /// Sets this login shell for every user.
    fn login_shell(&mut self, shell: &str) -> Result<(), String> {
        let etc = self.scratch.root.join("etc");
        let passwd = fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
        let lines = passwd.lines().filter_map(|line| line.rsplit_once(':'));
        place(&etc.join("passwd"), &lines.map(|(head, _)| format!("{head}:{shell}\n")).collect::<String>())?;
        self.wrap = over_etc(&etc).into();
        Ok(())
    }

    /// Hides every bash under an empty file.
    fn no_bash(&mut self) {
        let script = "for f in /bin/bash /usr/bin/bash /usr/local/bin/bash; do \
                      [ ! -e $f ] || mount --bind /dev/null $f || exit 99; done; exec \"$@\"";
        let hide = ["unshare", "-m", "sh", "-c", script, "sh"].map(String::from);
        self.wrap = hide.into_iter().chain(self.wrap.drain(..)).collect();
    }

    fn program(&self, name: &str, text: &str) -> Result<String, String> {
        let file = self.scratch.root.join(name);
        place(&file, text)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
        Ok(file.to_string_lossy().into_owned())
    }
}

/// A function that answers for the entry's command line: its noise spoils the answer that the hook has already given.
const ANSWERS: &str = "() { for f in 1 10 11 12; do builtin echo noise >&$f; done; builtin exit 0; }";

type Act = fn(&mut There<'_>) -> Result<(), String>;

/// A change, whether the guard holds after it, and the words that doctor has to name.
const SITUATIONS: &[(&str, bool, &str, Act)] = &[
    ("BASH_ENV in the environment", false, "BASH_ENV", |there| {
        let file = there.leave()?;
        there.env("BASH_ENV", &file);
        Ok(())
    }),
    ("BASH_ENV in .env", false, ".env: BASH_ENV", |there| {
        let file = there.leave()?;
        there.dotenv(&format!("# mine\nexport BASH_ENV='{file}'\n"))
    }),
    ("SHELLOPTS=noexec in the environment", false, "SHELLOPTS", |there| {
        there.env("SHELLOPTS", "noexec");
        Ok(())
    }),
    ("SHELLOPTS=noexec in .env", false, ".env: SHELLOPTS", |there| there.dotenv("SHELLOPTS=noexec\n")),
    ("another HOME in .env, CODEX_HOME set", true, "", |there| there.dotenv("HOME=/nowhere\n")),
    ("what a .env is for", true, "", |there| there.dotenv("OPENAI_API_KEY=k\nPATH=/nowhere\nCODEX_HOME=/nowhere\n")),
    ("a function named echo in the environment", true, "", |there| {
        there.env("BASH_FUNC_echo%%", ANSWERS);
        Ok(())
    }),
    ("a function named exit in the environment", true, "", |there| {
        there.env("BASH_FUNC_exit%%", ANSWERS);
        Ok(())
    }),
    ("functions named unset, builtin and command in the environment", true, "", |there| {
        for name in ["unset", "builtin", "command", "timeout"] {
            there.env(&format!("BASH_FUNC_{name}%%"), "() { exit 0; }");
        }
        Ok(())
    }),
    ("a tracing bash with a function named echo", false, "SHELLOPTS", |there| {
        there.env("BASH_FUNC_echo%%", ANSWERS);
        there.env("SHELLOPTS", "noexec:xtrace");
        Ok(())
    }),
    ("sh as login shell", true, "", |there| there.login_shell("/bin/sh")),
    ("a login shell that is none of its own", true, "", |there| there.login_shell("/usr/sbin/nologin")),
    ("sh as login shell, BASH_ENV in the environment", true, "", |there| {
        let file = there.leave()?;
        there.env("BASH_ENV", &file);
        there.login_shell("/bin/sh")
    }),
    ("no bash on the machine", true, "", |there| {
        there.login_shell("/bin/bash")?;
        there.no_bash();
        Ok(())
    }),
    ("another bash first on PATH", true, "", |there| {
        there.program("first/bash", "#!/bin/sh\nexec /bin/sh \"$@\"\n")?;
        there.first_on_path("first");
        there.login_shell("/usr/sbin/nologin")
    }),
    ("a bash first on PATH that says yes to all", false, "first/bash", |there| {
        there.program("first/bash", "#!/bin/sh\nexit 0\n")?;
        there.first_on_path("first");
        there.login_shell("/usr/sbin/nologin")
    }),
    ("a login shell that says hello before every answer", true, "`hello there`", |there| {
        let shell = there.program("greets/zsh", "#!/bin/sh\necho hello there\nexec /bin/sh \"$@\"\n")?;
        there.login_shell(&shell)
    }),
    ("a login shell whose start-up file ends it well", false, "greets/zsh", |there| {
        let shell = there.program("greets/zsh", "#!/bin/sh\nexit 0\n")?;
        there.login_shell(&shell)
    }),
];

pub fn list(list: &mut List) {
    for (what, blocked, named, act) in SITUATIONS {
        list.holds(format!("doctor: {what}: it says what Codex does"), move |codex, scratch| {
            let entry = pinned(scratch, &all_but(&["file.write", "shell"]))?;
            agrees(codex, scratch, &entry.text, *blocked, named, *act)
        });
    }
    older(list);
    homes(list);
    layers(list);
}

/// One refused call under this configuration, compared with doctor's report.
fn agrees(codex: &Codex, scratch: &Scratch, entry: &str, blocked: bool, named: &str, act: Act) -> Result<Seen, String> {
    let mut there = There { codex, scratch, env: Vec::new(), wrap: Vec::new() };
    act(&mut there)?;
    // The call is a patch: without a shell, a shell's command would not run either.
    let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[adds(MARK)])).entry(entry);
    compare(codex, &there, &scratch.program("mh-setup"), session, blocked, named)
}

fn compare(
    codex: &Codex,
    there: &There<'_>,
    setup: &Path,
    session: Session<'_>,
    blocked: bool,
    named: &str,
) -> Result<Seen, String> {
    let scratch = there.scratch;
    let stub = session.prepare()?;
    let (live, said) = doctor_of(codex, scratch, setup, &there.wrap, &there.env)?;
    let session = there.env.iter().fold(session, |session, (name, value)| session.env(name, value));
    let outcome = session.wrapped(&there.wrap).run_on(&stub)?;
    hold(
        [
            (scratch.exists(MARK) != blocked, "Codex does as is known"),
            (live == blocked, "the doctor says so"),
            (said.contains(named), "it names what does it"),
        ],
        &format!("live: {live}; {said}; {}", outcome.told()),
    )
}

/// The command line of release 0.1.0, trusted by the hash that Codex itself gives it.
fn older(list: &mut List) {
    fn entry(codex: &Codex, scratch: &Scratch) -> Result<String, String> {
        let new = pinned(scratch, &all_but(&["file.write", "shell"]))?.text;
        let old = new.replace("POSIXLY_CORRECT=1; unset -f echo 2>/dev/null; ", "").replace("\nenabled = true", "");
        let (hooks_alone, _) = old.split_once("\n[hooks.state.").ok_or("no trust is printed")?;
        let session = Session::new(codex, scratch, Mode::Direct, Script::default()).entry(hooks_alone);
        let listed = hooks(&session)?;
        let listed = listed["data"][0]["hooks"].as_array().cloned().unwrap_or_default();
        let trust = listed
            .iter()
            .map(|hook| format!("\n[hooks.state.{}]\ntrusted_hash = {}\n", hook["key"], hook["currentHash"]));
        Ok(format!("{hooks_alone}\n{}", trust.collect::<String>()))
    }
    list.holds("doctor: the entry of 0.1.0 is live, with a note", |codex, scratch| {
        let entry = entry(codex, scratch)?;
        agrees(codex, scratch, &entry, true, "an entry as an older mh-setup wrote it", |_| Ok(()))
    });
    for (what, act) in [
        (
            "echo",
            (|there| {
                there.env("BASH_FUNC_echo%%", ANSWERS);
                Ok(())
            }) as Act,
        ),
        ("exit", |there| {
            there.env("BASH_FUNC_exit%%", ANSWERS);
            Ok(())
        }),
    ] {
        list.holds(
            format!("doctor: the entry of 0.1.0, a function named {what}: it says what Codex does"),
            move |codex, scratch| {
                let entry = entry(codex, scratch)?;
                agrees(codex, scratch, &entry, false, &format!("BASH_FUNC_{what}"), act)
            },
        );
    }
    list.holds(
        "round: doctor: mh-setup renews the entry of 0.1.0, and a function falls to the new line",
        |codex, scratch| {
            let steady = Steady::new(scratch)?;
            let frame = steady.frame(scratch, &all_but(&["file.write", "shell"]))?;
            let mut there = There { codex, scratch, env: Vec::new(), wrap: Vec::new() };
            there.env("BASH_FUNC_exit%%", ANSWERS);
            let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[adds(MARK)]));
            let stub = session.prepare()?;
            steady.setup_with(scratch, &["--frame", &frame, "--policy", "frame"], &[])?;
            // back to the line of 0.1.0, without its trust
            edited(scratch, "POSIXLY_CORRECT=1; unset -f echo 2>/dev/null; ", "")?;
            edited(scratch, "\nenabled = true", "")?;
            steady.setup_with(scratch, &["--frame", &frame, "--policy", "frame"], &[])?;
            let (live, said) = doctor_of(codex, scratch, &steady.program(), &[], &there.env)?;
            let outcome = session.env("BASH_FUNC_exit%%", ANSWERS).run_on(&stub)?;
            hold(
                [(!scratch.exists(MARK), "the call is held"), (live, "the doctor says so")],
                &format!("{said}; {}", outcome.told()),
            )
        },
    );
}

/// Spellings of the home, without `CODEX_HOME`: mh-setup writes the trust keys that Codex looks up.
fn homes(list: &mut List) {
    type Lay = fn(&Scratch, &Path) -> std::io::Result<String>;
    const HOMES: &[(&str, Lay)] = &[
        ("a home below a link", |scratch, home| {
            symlink(home.parent().unwrap_or(home), scratch.root.join("link"))?;
            fs::create_dir(home.join(".codex"))?;
            Ok(format!("{}/link/{}", scratch.root.display(), home.file_name().unwrap_or_default().display()))
        }),
        ("a home below a link, spelled with dots and slashes", |scratch, home| {
            symlink(home.parent().unwrap_or(home), scratch.root.join("link"))?;
            fs::create_dir(home.join(".codex"))?;
            let name = home.file_name().unwrap_or_default().display();
            Ok(format!("{}//link/../link/./{name}/", scratch.root.display()))
        }),
        ("a ~/.codex that is a link", |scratch, home| {
            fs::create_dir(scratch.root.join("dotfiles"))?;
            symlink(scratch.root.join("dotfiles"), home.join(".codex"))?;
            Ok(home.display().to_string())
        }),
        ("a config.toml that is a link, in a home below one", |scratch, home| {
            symlink(home.parent().unwrap_or(home), scratch.root.join("link"))?;
            fs::create_dir(home.join(".codex"))?;
            fs::write(scratch.root.join("mine.toml"), "")?;
            symlink(scratch.root.join("mine.toml"), home.join(".codex/config.toml"))?;
            Ok(format!("{}/link/{}", scratch.root.display(), home.file_name().unwrap_or_default().display()))
        }),
    ];
    for (what, lay) in HOMES {
        list.holds(format!("doctor: {what}: mh-setup writes what Codex looks up"), move |codex, scratch| {
            let steady = Steady::new(scratch)?;
            let frame = steady.frame(scratch, &all_but(&["file.write", "shell"]))?;
            let home = scratch.root.join("people/ada");
            fs::create_dir_all(&home).map_err(|error| error.to_string())?;
            let home = lay(scratch, &home).map_err(|error| error.to_string())?;
            let env = [("HOME".to_string(), home.clone()), ("CODEX_HOME".to_string(), String::new())];
            let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[adds(MARK)]));
            let stub = session.prepare()?;
            let config = text_of(&scratch.config.join("config.toml"));
            fs::write(Path::new(&home).join(".codex/config.toml"), config).map_err(|error| error.to_string())?;
            steady.setup_with(scratch, &["--frame", &frame, "--policy", "frame"], &env)?;
            let (live, said) = doctor_of(codex, scratch, &steady.program(), &[], &env)?;
            let outcome = session.env("HOME", &home).env("CODEX_HOME", "").run_on(&stub)?;
            hold(
                [(!scratch.exists(MARK), "the call is held"), (live, "the doctor says so")],
                &format!("{said}; {}", outcome.told()),
            )
        });
    }
    list.holds("round: doctor: a HOME in .env moves the configuration: it says what Codex does", |codex, scratch| {
        let steady = Steady::new(scratch)?;
        let frame = steady.frame(scratch, &all_but(&["file.write", "shell"]))?;
        let (home, other) = (scratch.root.join("ada"), scratch.root.join("other"));
        for folder in [&home, &other] {
            fs::create_dir_all(folder.join(".codex")).map_err(|error| error.to_string())?;
        }
        let mut there = There { codex, scratch, env: Vec::new(), wrap: Vec::new() };
        there.env("HOME", &home.to_string_lossy());
        there.env("CODEX_HOME", "");
        let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[adds(MARK)]));
        let stub = session.prepare()?;
        let config = text_of(&scratch.config.join("config.toml"));
        for folder in [&home, &other] {
            place(&folder.join(".codex/config.toml"), &config)?;
        }
        steady.setup_with(scratch, &["--frame", &frame, "--policy", "frame"], &there.env)?;
        place(&home.join(".codex/.env"), &format!("HOME={}\n", other.display()))?;
        let (live, said) = doctor_of(codex, scratch, &steady.program(), &[], &there.env)?;
        let outcome = session.env("HOME", &home.to_string_lossy()).env("CODEX_HOME", "").run_on(&stub)?;
        hold(
            [
                (scratch.exists(MARK), "Codex reads the other one"),
                (!live, "the doctor says so"),
                (said.contains("HOME moves Codex's home"), "it names what does it"),
            ],
            &format!("{said}; {}", outcome.told()),
        )
    });
}

/// More than one entry, and settings that can hold none.
fn layers(list: &mut List) {
    list.holds("doctor: entries of the user and of the system with other frames: both are shown", |codex, scratch| {
        let wide = Spec::admitting(&["file.write", "shell"]).seal(scratch, "wide.json")?;
        let wide = super::printed(scratch, &crate::entry::Ask::pinned(&wide))?;
        let etc = scratch.root.join("etc");
        place(&etc.join("codex/config.toml"), &wide.untrusted())?;
        let entry = pinned(scratch, &all_but(&["file.write", "shell"]))?;
        let mut there = There { codex, scratch, env: Vec::new(), wrap: Vec::new() };
        there.wrap = over_etc(&etc).into();
        let session =
            Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[adds(MARK)])).entry(&entry.text);
        compare(
            codex,
            &there,
            &scratch.program("mh-setup"),
            session,
            true,
            "an entry of ours with another line stands there as well",
        )
    });
    list.holds(
        "doctor: a profile that switches the entry off is named, and does so with -p alone",
        |codex, scratch| {
            let entry = pinned(scratch, &all_but(&["file.write", "shell"]))?;
            let config = scratch.config.join("config.toml");
            let off = format!("[hooks.state.\"{}:pre_tool_use:0:0\"]\nenabled = false\n", config.display());
            place(&scratch.config.join("fast.config.toml"), &off)?;
            let session = |mark| {
                Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[adds(mark)]))
                    .entry(&entry.text)
            };
            let stub = session(MARK).prepare()?;
            let (live, said) = doctor_of(codex, scratch, &scratch.program("mh-setup"), &[], &[])?;
            session(MARK).run_on(&stub)?;
            drop(stub);
            let without = scratch.exists(MARK);
            session("with.txt").flag("-p").flag("fast").run()?;
            hold(
                [
                    (!without && live, "without -p it holds, and the doctor says so"),
                    (scratch.exists("with.txt"), "with -p it does not"),
                    (said.contains("fast.config.toml: hooks.state"), "it is named"),
                ],
                &said,
            )
        },
    );
    list.holds("doctor: without a codex on PATH nothing is called live", |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let session = Session::new(codex, scratch, Mode::Direct, Script::default()).entry(&entry.text);
        let _stub = session.prepare()?;
        let path = [("PATH".to_string(), "/usr/bin:/bin".to_string())];
        let (live, said) = doctor_of(codex, scratch, &scratch.program("mh-setup"), &[], &path)?;
        hold([(!live, "not live"), (said.contains("there is no codex on PATH, so whether"), "it says why")], &said)
    });
}
