//! The hook program fails in mid-session. The entry's guard line, or the program itself, must stop the call; Codex
//! alone would run it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{List, MARK, adds, all_but, hold, place, printed, touch};
use crate::case::Seen;
use crate::codex::script::{Mode, Say, Script};
use crate::codex::session::{Codex, Outcome, Session};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

type Break = fn(&Path) -> Result<(), String>;

/// Faults of the program's file.
const FILES: &[(&str, Break)] = &[
    ("is gone", |program| io(fs::remove_file(program))),
    ("is not executable", |program| io(fs::set_permissions(program, fs::Permissions::from_mode(0o600)))),
    ("is a folder", |program| {
        io(fs::remove_file(program))?;
        io(fs::create_dir(program))
    }),
    ("is cut short", |program| {
        let whole = io(fs::read(program))?;
        replace(program, &whole[..whole.len() / 2])
    }),
    ("is for another machine", |program| {
        let mut bytes = io(fs::read(program))?;
        // e_machine in the ELF header; a script is left as it is
        if bytes.starts_with(b"\x7fELF") {
            bytes[18] = 0xf3;
            bytes[19] = 0xff;
        } else {
            bytes = b"\x7fELF".to_vec();
        }
        replace(program, &bytes)
    }),
    ("is /bin/false", |program| replace(program, &io(fs::read("/bin/false"))?)),
    ("leads nowhere", |program| {
        io(fs::remove_file(program))?;
        io(std::os::unix::fs::symlink("/nonexistent/hook", program))
    }),
];

/// Shell scripts in the program's place; `$real` is the program.
const SCRIPTS: &[(&str, &str)] = &[
    ("exits 1 without a word", "cat >/dev/null; exit 1"),
    ("exits 2 without a word", "cat >/dev/null; exit 2"),
    ("exits 3 without a word", "cat >/dev/null; exit 3"),
    ("exits 101", "cat >/dev/null; echo panicked >&2; exit 101"),
    ("is killed by SIGKILL", "cat >/dev/null; kill -9 $$"),
    ("is killed by SIGSEGV", "cat >/dev/null; kill -SEGV $$"),
    ("is killed by SIGTERM", "kill -TERM $$"),
    (
        "is killed by SIGKILL while it reads",
        "mkfifo \"$0.pipe\"; sleep 20 >\"$0.pipe\" 2>/dev/null </dev/null & \
         (sleep 0.4; kill -9 $$) >/dev/null 2>&1 </dev/null & exec \"$real\" \"$@\" <\"$0.pipe\"",
    ),
    (
        "is never given the end of its input",
        "mkfifo \"$0.pipe\"; sleep 40 >\"$0.pipe\" 2>/dev/null </dev/null & exec \"$real\" \"$@\" <\"$0.pipe\"",
    ),
    ("hangs", "exec sleep 100"),
    ("hangs and will not be told", "trap '' TERM; while :; do sleep 1; done"),
    ("is preceded by noise", "echo loading...; exec \"$real\" \"$@\""),
    ("is followed by noise", "\"$real\" \"$@\"; code=$?; echo bye; exit $code"),
    ("loses its exit code", "\"$real\" \"$@\"; exit 0"),
    ("has its exit code turned into 1", "\"$real\" \"$@\"; exit 1"),
    ("has no stderr", "exec \"$real\" \"$@\" 2>&-"),
    ("has /dev/null for stderr", "exec \"$real\" \"$@\" 2>/dev/null"),
    ("has a full disk for stderr", "exec \"$real\" \"$@\" 2>/dev/full"),
    ("has a file for stderr", "exec \"$real\" \"$@\" 2>\"$0.log\""),
    ("has no stdout", "exec \"$real\" \"$@\" >&-"),
    ("has /dev/null for stdout", "exec \"$real\" \"$@\" >/dev/null"),
    ("has a full disk for stdout", "exec \"$real\" \"$@\" >/dev/full"),
    ("has neither stdout nor stderr", "exec \"$real\" \"$@\" >&- 2>&-"),
    ("has a full disk for both", "exec \"$real\" \"$@\" >/dev/full 2>/dev/full"),
    ("has no stdin", "exec \"$real\" \"$@\" <&-"),
    ("has an empty stdin", "exec \"$real\" \"$@\" </dev/null"),
    ("has a folder for stdin", "exec \"$real\" \"$@\" </"),
    ("has half a payload for stdin", "head -c 40 | \"$real\" \"$@\""),
    ("has no memory, by RLIMIT_AS", "ulimit -v 300; exec \"$real\" \"$@\""),
    ("may open nothing", "ulimit -n 3; exec \"$real\" \"$@\""),
];

pub fn list(list: &mut List) {
    for (what, spoil) in FILES {
        list.blocked(format!("the hook program {what}"), move |codex, scratch| {
            let program = scratch.program("mh-hook-codex");
            let outcome = spoiled(codex, scratch, Mode::Direct, move || spoil(&program))?;
            outcome.effect(scratch.exists(MARK))
        });
    }
    for (what, body) in SCRIPTS {
        list.blocked(format!("the hook program {what}"), move |codex, scratch| {
            wrapped(codex, scratch, Mode::Direct, body)
        });
    }
    for (what, body) in
        [("is killed by SIGKILL", "cat >/dev/null; kill -9 $$"), ("has no stderr", "exec \"$real\" \"$@\" 2>&-")]
    {
        list.blocked(format!("code mode: the hook program {what}"), move |codex, scratch| {
            wrapped(codex, scratch, Mode::Code, body)
        });
    }
    audit(list);
    from_the_start(list);
    limits(list);
}

fn io<T>(result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// Put a new file in the program's place, since the old one may be running.
fn replace(program: &Path, bytes: &[u8]) -> Result<(), String> {
    io(fs::remove_file(program))?;
    io(fs::write(program, bytes))?;
    io(fs::set_permissions(program, fs::Permissions::from_mode(0o700)))
}

fn script(program: &Path, body: &str) -> Result<(), String> {
    let real = program.with_file_name("real-hook");
    io(fs::copy(program, &real))?;
    let text = format!("#!/bin/sh\nreal='{}'\n{body}\n", real.display());
    replace(program, text.as_bytes())
}

/// A session with one call that is not admitted; the fault happens just before that call.
fn spoiled(
    codex: &Codex,
    scratch: &Scratch,
    mode: Mode,
    spoil: impl Fn() -> Result<(), String> + Send + Sync + 'static,
) -> Result<Outcome, String> {
    let frame = all_but(&["shell"]).seal(scratch, "frame.json")?;
    let entry = printed(scratch, &Ask::pinned(&frame))?;
    session(codex, scratch, mode, &entry.text, touch(), spoil)
}

fn session(
    codex: &Codex,
    scratch: &Scratch,
    mode: Mode,
    entry: &str,
    call: crate::codex::script::Call,
    spoil: impl Fn() -> Result<(), String> + Send + Sync + 'static,
) -> Result<Outcome, String> {
    let said = Say::late(move |_| match spoil() {
        Ok(()) => mode.say(&call),
        // The reader of a failed case sees this message: then the call is never made.
        Err(error) => Say::Message(format!("could not spoil: {error}")),
    });
    Session::new(codex, scratch, mode, Script::turns(vec![vec![said]])).entry(entry).run()
}

fn wrapped(codex: &Codex, scratch: &Scratch, mode: Mode, body: &'static str) -> Result<Seen, String> {
    let program = scratch.program("mh-hook-codex");
    let outcome = spoiled(codex, scratch, mode, move || script(&program, body))?;
    outcome.effect(scratch.exists(MARK))
}

/// An admitted call is denied if its audit line cannot be written.
fn audit(list: &mut List) {
    fn run(
        codex: &Codex,
        scratch: &Scratch,
        spoil: impl Fn(&Path, &Path) -> Result<(), String> + Send + Sync + 'static,
    ) -> Result<Seen, String> {
        let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
        let audit = scratch.frames.join("audit.jsonl");
        let mut ask = Ask::pinned(&frame);
        ask.audit = Some(audit.clone());
        let entry = printed(scratch, &ask)?;
        let program = scratch.program("mh-hook-codex");
        let outcome = session(codex, scratch, Mode::Direct, &entry.text, touch(), move || spoil(&program, &audit))?;
        outcome.effect(scratch.exists(MARK))
    }
    list.blocked("the audit line is over RLIMIT_FSIZE", |codex, scratch| {
        run(codex, scratch, |program, _| script(program, "ulimit -f 0; exec \"$real\" \"$@\""))
    });
    list.blocked("the audit is a link", |codex, scratch| {
        run(codex, scratch, |_, audit| {
            drop(fs::remove_file(audit));
            io(std::os::unix::fs::symlink(audit.with_file_name("elsewhere"), audit))
        })
    });
    list.blocked("the audit is a folder", |codex, scratch| {
        run(codex, scratch, |_, audit| {
            drop(fs::remove_file(audit));
            io(fs::create_dir(audit))
        })
    });
    list.blocked("the audit is a pipe that nobody reads", |codex, scratch| {
        run(codex, scratch, |_, audit| {
            drop(fs::remove_file(audit));
            super::fifo(audit)
        })
    });
    list.ran("an audit that can be written stops nothing", |codex, scratch| run(codex, scratch, |_, _| Ok(())));
    list.holds("the audit has one line a decision, and no tool input", |codex, scratch| {
        let frame = Spec::admitting(&["file.write"]).seal(scratch, "frame.json")?;
        let audit = scratch.frames.join("audit.jsonl");
        let mut ask = Ask::pinned(&frame);
        ask.audit = Some(audit.clone());
        let entry = printed(scratch, &ask)?;
        let calls = [touch(), adds("secret-name.txt")];
        Session::new(codex, scratch, Mode::Code, Script::calls(Mode::Code, &calls)).entry(&entry.text).run()?;
        let text = super::text_of(&audit);
        let lines: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let of = |tool: &str| lines.iter().filter(|line| line.to_string().contains(tool)).count();
        hold(
            [
                (lines.len() == text.lines().count(), "each line is JSON"),
                (of("\"Bash\"") == 1, "one line for the shell"),
                (of("\"apply_patch\"") == 1, "one line for the patch"),
                (!text.contains("secret-name"), "no input"),
                (!text.contains("echo ran"), "no command"),
            ],
            &text,
        )
    });
}

/// The program is broken when the session starts: the guard line already stops the prompt.
fn from_the_start(list: &mut List) {
    let rows: [(&str, Break); 3] = [
        ("is gone", |program| io(fs::remove_file(program))),
        ("exits 1", |program| script(program, "exit 1")),
        ("is killed", |program| script(program, "kill -9 $$")),
    ];
    for (what, spoil) in rows {
        list.holds(
            format!("the hook program {what} from the start: no request for the model"),
            move |codex, scratch| {
                let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
                let entry = printed(scratch, &Ask::pinned(&frame))?;
                spoil(&scratch.program("mh-hook-codex"))?;
                let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
                    .entry(&entry.text)
                    .unfinished()
                    .run()?;
                hold(
                    [(outcome.asked.is_empty(), "no request"), (!scratch.exists(MARK), "nothing ran")],
                    &outcome.ended.stderr,
                )
            },
        );
    }
    list.holds("the entry's timeout cannot be started: no request for the model", |codex, scratch| {
        let entry = printed(scratch, &Ask::pinned(&Spec::admitting(&["shell"]).seal(scratch, "frame.json")?))?;
        let covered = "mount --bind /dev/null /usr/bin/timeout && exec \"$@\"";
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.text)
            .wrapped(&["unshare", "-m", "sh", "-c", covered, "sh"].map(String::from))
            .unfinished()
            .run()?;
        hold(
            [
                (outcome.ended.code == Some(0), "codex itself was started"),
                (outcome.asked.is_empty(), "no request"),
                (!scratch.exists(MARK), "nothing ran"),
            ],
            &outcome.ended.stderr,
        )
    });
    list.ran("programs and frame in a folder whose name has blanks and quotes", |codex, scratch| {
        odd_folder(codex, scratch, &Spec::admitting(&["shell"]))
    });
    list.blocked("programs and frame in a folder whose name has blanks and quotes deny", |codex, scratch| {
        odd_folder(codex, scratch, &all_but(&["shell"]))
    });
}

fn odd_folder(codex: &Codex, scratch: &Scratch, spec: &Spec) -> Result<Seen, String> {
    let folder = scratch.root.join("it's a \"place\" of $HOME");
    io(fs::create_dir(&folder))?;
    for name in ["mh-hook-codex", "mh-setup"] {
        io(fs::copy(scratch.program(name), folder.join(name)))?;
    }
    let frame: PathBuf = folder.join("frame.json");
    spec.seal_to(scratch, &frame)?;
    let mut setup = scratch.command(folder.join("mh-setup"));
    setup
        .args(["codex", "--print", "--frame"])
        .arg(&frame)
        .args(["--policy", "frame"])
        .env("CODEX_HOME", &scratch.config);
    let printed = scratch.run(&mut setup, "setup")?;
    if printed.code != Some(0) {
        return Err(format!("mh-setup ended with {:?}: {}", printed.code, printed.stderr));
    }
    // This machine has two copies: the entry must name the one beside the mh-setup that ran.
    place(&scratch.program("mh-hook-codex"), "")?;
    let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
        .entry(&printed.stdout)
        .run()?;
    outcome.effect(scratch.exists(MARK))
}

fn limits(list: &mut List) {
    list.limit(
        "a grandchild of the hook holds its stderr: Codex waits to the entry's timeout, then runs the call",
        "the hook leaves no such child itself; wrap it in nothing that does",
        |codex, scratch| {
            let program = scratch.program("mh-hook-codex");
            let outcome =
                spoiled(codex, scratch, Mode::Direct, move || script(&program, "sleep 60 & exec \"$real\" \"$@\""))?;
            Ok(outcome.seen(scratch.exists(MARK)))
        },
    );
    list.limit(
        "the hook program is an empty file",
        "timeout hands such a file to a shell, which finds nothing to do and succeeds; install by rename, as install.sh does, and keep the program out of reach",
        |codex, scratch| {
            let program = scratch.program("mh-hook-codex");
            let outcome = spoiled(codex, scratch, Mode::Direct, move || replace(&program, b""))?;
            Ok(outcome.seen(scratch.exists(MARK)))
        },
    );
    list.limit(
        "the hook program is another that says nothing and succeeds",
        "the trust hash covers the entry, not the program; keep the program where the agent's user cannot write",
        |codex, scratch| {
            let program = scratch.program("mh-hook-codex");
            let outcome =
                spoiled(codex, scratch, Mode::Direct, move || replace(&program, &io(fs::read("/bin/true"))?))?;
            Ok(outcome.seen(scratch.exists(MARK)))
        },
    );
    list.limit(
        "a wrapper loses the hook's exit code and adds noise to its answer",
        "either alone is survived; register the hook as mh-setup prints it",
        |codex, scratch| {
            let program = scratch.program("mh-hook-codex");
            let outcome =
                spoiled(codex, scratch, Mode::Direct, move || script(&program, "\"$real\" \"$@\"; echo bye; exit 0"))?;
            Ok(outcome.seen(scratch.exists(MARK)))
        },
    );
}
