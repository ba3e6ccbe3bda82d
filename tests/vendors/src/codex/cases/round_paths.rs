//! Ways round the frame that were searched for: a path that the hook reads as one file and Codex, a moment later, as
//! another; and files that Codex reads, starts or obeys by itself.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::{List, OPERATIONS, all_but, denied, pinned, place, printed, text_of, under};
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Codex, Session};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

/// A frame that opens src for writing and nothing else for reading.
fn open() -> Spec {
    Spec::admitting(&OPERATIONS).scope("file:src/**", "file.read,file.write,file.edit").scope("file:**", "")
}

/// Patches that change a file outside src, with that file. The kernel's reading of each path stays inside.
const PATCHES: &[(&str, &str, &str)] = &[
    ("add by .. over a link", "*** Add File: src/link/../../x.txt\n+mine", "x.txt"),
    ("add by .. over a link, absolute", "*** Add File: {P}/src/link/../../x.txt\n+mine", "x.txt"),
    ("update by .. over a link", "*** Update File: src/link/../../kept.txt\n@@\n-kept\n+mine", "kept.txt"),
    ("delete by .. over a link", "*** Delete File: src/link/../../kept.txt", "kept.txt"),
    (
        "move away by .. over a link",
        "*** Update File: src/link/../../kept.txt\n*** Move to: src/x.txt\n@@\n-kept\n+mine",
        "kept.txt",
    ),
    (
        "move to by .. over a link",
        "*** Update File: src/kept.txt\n*** Move to: src/link/../../x.txt\n@@\n-kept\n+mine",
        "x.txt",
    ),
    ("add by .. over two links", "*** Add File: src/hop/../../x.txt\n+mine", "x.txt"),
    ("add by .. behind what is missing", "*** Add File: src/none/../../x.txt\n+mine", "x.txt"),
    ("add by .. behind a file", "*** Add File: src/kept.txt/../../x.txt\n+mine", "x.txt"),
    ("add by a link that goes round", "*** Add File: src/round/../../x.txt\n+mine", "x.txt"),
    ("add by /proc/self/cwd", "*** Add File: /proc/self/cwd/x.txt\n+mine", "x.txt"),
    ("add by /proc/thread-self", "*** Add File: /proc/thread-self/cwd/x.txt\n+mine", "x.txt"),
    ("add by a link to /proc/self", "*** Add File: src/own/x.txt\n+mine", "x.txt"),
    ("add by another process's root", "*** Add File: /proc/{N}/root{P}/x.txt\n+mine", "x.txt"),
    ("add by a home", "*** Add File: ~/x.txt\n+mine", "~/x.txt"),
    ("add by a link that dangles", "*** Add File: src/dangling\n+mine", "x.txt"),
    ("delete a link, then add by its name", "*** Delete File: src/in\n*** Add File: src/in/../x.txt\n+mine", "x.txt"),
    (
        "move to twice",
        "*** Update File: src/kept.txt\n*** Move to: src/y\n*** Move to: x.txt\n@@\n-kept\n+mine",
        "x.txt",
    ),
    ("header ended by CR", "*** Add File: src/y\r*** Add File: x.txt\n+mine", "x.txt"),
    ("lines ended by CR LF", "*** Add File: x.txt\r\n+mine\r", "x.txt"),
    ("header behind U+0085", "*** Add File: src/y\u{85}*** Add File: x.txt\n+mine", "x.txt"),
    ("header behind U+2028", "*** Add File: src/y\n+a\u{2028}*** Add File: x.txt\n+mine", "x.txt"),
    ("header with U+00A0 before it", "\u{a0}*** Add File: x.txt\n+mine", "x.txt"),
    ("header with U+00A0 before the name", "*** Add File: \u{a0}x.txt\n+mine", "x.txt"),
    ("header with a tab", "*** Add File:\tx.txt\n+mine", "x.txt"),
    ("header with two blanks", "***  Add File: x.txt\n+mine", "x.txt"),
    ("header without a blank", "***Add File: x.txt\n+mine", "x.txt"),
    ("name in quotes", "*** Add File: \"x.txt\"\n+mine", "x.txt"),
    ("environment of its own", "*** Environment ID: local\n*** Add File: x.txt\n+mine", "x.txt"),
    (
        "in a heredoc",
        "*** End Patch\nEOF\ncd .. && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: x.txt\n+mine",
        "x.txt",
    ),
];

/// The guard's own files, and files that a vendor starts or obeys by itself. The frame admits everything.
const GUARDED: &[(&str, &str)] = &[
    ("/bin/../{F}/frame.json", "{F}/frame.json"),
    ("src/link/../../../frames/frame.json", "{F}/frame.json"),
    ("src/link/../../../bin/mh-hook-codex", "{B}/mh-hook-codex"),
    ("{P}/src/link/../../../config/config.toml", "{C}/config.toml"),
    ("/proc/self/root{F}/frame.json", "{F}/frame.json"),
    ("/proc/{N}/root{F}/frame.json", "{F}/frame.json"),
    ("/proc/self/cwd/.codex/config.toml", "{P}/.codex/config.toml"),
    ("src/own/.codex/hooks.json", "{P}/.codex/hooks.json"),
    ("{B}/mh-setup", "{B}/mh-setup"),
    ("{B}/mh-hook-claude", "{B}/mh-hook-claude"),
    (".claude/settings.json", "{P}/.claude/settings.json"),
    (".claude/settings.local.json", "{P}/.claude/settings.local.json"),
    ("src/.Claude/Settings.local.json", "{P}/src/.Claude/Settings.local.json"),
    (".mcp.json", "{P}/.mcp.json"),
    (".claude/agents/x.md", "{P}/.claude/agents/x.md"),
    (".claude/skills/x/SKILL.md", "{P}/.claude/skills/x/SKILL.md"),
    (".claude/commands/x.md", "{P}/.claude/commands/x.md"),
    (".agents/skills/x/agents/openai.yaml", "{P}/.agents/skills/x/agents/openai.yaml"),
    (".codex/rules/x.rules", "{P}/.codex/rules/x.rules"),
    (".codex/.env", "{P}/.codex/.env"),
    (".git/config", "{P}/.git/config"),
    (".git/commondir", "{P}/.git/commondir"),
    ("sub/.git", "{P}/sub/.git"),
    ("{H}/.gitconfig", "{H}/.gitconfig"),
    ("{H}/.claude/settings.json", "{H}/.claude/settings.json"),
    ("{H}/.bashrc", "{H}/.bashrc"),
    ("{H}/by-bash-env.sh", "{H}/by-bash-env.sh"),
];

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        // both modes read patches by the same code; the first twelve are about paths, so code mode tries them too
        let rows = if mode == Mode::Code { &PATCHES[..12] } else { PATCHES };
        for (name, patch, target) in rows {
            list.blocked(format!("round: {}: {name}", mode.name()), move |codex, scratch| {
                seed(scratch)?;
                let target = scratch.project.join(target);
                let before = state(&target);
                let call = patched(&filled(patch, scratch));
                let outcome = under(codex, scratch, mode, &open(), Script::calls(mode, &[call]))?.run()?;
                // some of these are no patch for the vendor, which then reports it itself
                Ok(outcome.seen(state(&target) != before))
            });
        }
    }
    for (path, target) in GUARDED {
        // code mode reads patches by the same code, as the cases above show
        list.blocked(format!("round: a patch over {path}"), move |codex, scratch| {
            seed(scratch)?;
            let (path, target) = (filled(path, scratch), filled(target, scratch));
            let frame = Spec::admitting(&OPERATIONS).seal(scratch, "frame.json")?;
            let entry = printed(scratch, &Ask::pinned(&frame))?;
            let call = patched(&format!("*** Add File: {path}\n+mine"));
            let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[call]));
            let outcome = session.entry(&entry.text).env("BASH_ENV", &filled("{H}/by-bash-env.sh", scratch)).run()?;
            outcome.effect(text_of(Path::new(&target)).contains("mine"))
        });
    }
    for path in ["AGENTS.md", ".git/info/exclude", ".gitattributes", ".claude/a.md"] {
        list.ran(format!("round: a patch over {path}, which nobody starts"), move |codex, scratch| {
            let call = patched(&format!("*** Add File: {path}\n+mine"));
            let script = Script::calls(Mode::Direct, &[call]);
            let outcome = under(codex, scratch, Mode::Direct, &Spec::admitting(&OPERATIONS), script)?.run()?;
            outcome.effect(text_of(&scratch.project.join(path)).contains("mine"))
        });
    }
    filters(list);
    pictures(list);
}

/// A command that a patch writes and that git runs for Codex at the next session's start.
fn filters(list: &mut List) {
    list.blocked("round: a filter in .git/config, which the next session's `git status` starts", |codex, scratch| {
        scratch.write("a.txt", "x\n")?;
        let script = "git init -q . && git add -A && git -c user.name=s -c user.email=s@localhost commit -qm s";
        let ended = scratch.run(scratch.command("sh").args(["-c", script]), "git")?;
        if ended.code != Some(0) {
            return Err(format!("could not make a repository: {}", ended.stderr));
        }
        let mark = scratch.project.join("ran.txt");
        // of the same length as before, so that git has to read the file
        let call = patched(&format!(
            "*** Update File: .git/config\n@@\n-[core]\n+[filter \"x\"]\n+clean = \"touch '{}'; cat\"\n+[core]\n\
             *** Add File: .gitattributes\n+* filter=x\n*** Update File: a.txt\n@@\n-x\n+y",
            mark.display()
        ));
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let first = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[call]));
        let outcome = first.entry(&entry.text).run()?;
        let second = Script::turns(vec![vec![Say::Message("nothing".into())]]);
        Session::new(codex, scratch, Mode::Direct, second).entry(&entry.text).unfinished().run()?;
        outcome.effect(mark.exists())
    });
}

const PICTURE: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 31, 21, 196,
    137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 218, 99, 100, 248, 207, 80, 15, 0, 3, 134, 1, 128, 90, 52, 125, 107, 0, 0,
    0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

/// Pictures: through the tool that shows one, and as an agent's input.
fn pictures(list: &mut List) {
    for mode in Mode::BOTH {
        for path in
            ["src/link/../../k.png", "{P}/src/link/../../k.png", "/proc/self/cwd/k.png", "src/own/k.png", "src/out.png"]
        {
            list.blocked(format!("round: {}: view_image of {path}", mode.name()), move |codex, scratch| {
                seed(scratch)?;
                let call = Call::tool("view_image", json!({"path": filled(path, scratch)}));
                let outcome = under(codex, scratch, mode, &open(), Script::calls(mode, &[call]))?.run()?;
                // in code mode, the script decides whether the picture is shown
                outcome.effect(shown(&outcome.asked) || (mode == Mode::Code && !denied(&outcome)))
            });
        }
    }
    let given = |codex: &Codex, scratch: &Scratch, spec: &Spec, path: &str, late: bool| {
        seed(scratch)?;
        let path = filled(path, scratch);
        let items = json!([{"type": "text", "text": "CHILD-TASK"}, {"type": "local_image", "path": path}]);
        let v1 = |name: &str, input: Value| Say::Call(Call::tool(name, input).within("multi_agent_v1"));
        let mut turns = vec![vec![v1(
            "spawn_agent",
            if late { json!({"message": "CHILD-TASK"}) } else { json!({"items": items}) },
        )]];
        let child = |outputs: &str| {
            let told = outputs.split("agent_id").nth(1).unwrap_or_default();
            told.chars().skip_while(|c| !c.is_ascii_hexdigit()).take(36).collect::<String>()
        };
        if late {
            turns.push(vec![Say::late(move |outputs| {
                v1("send_input", json!({"target": child(outputs), "items": items}))
            })]);
        }
        turns.push(vec![Say::late(move |outputs| {
            v1("wait_agent", json!({"targets": [child(outputs)], "timeout_ms": 10_000}))
        })]);
        let script = Script::turns(turns).other("CHILD-TASK", vec![]);
        let outcome = under(codex, scratch, Mode::Direct, spec, script)?.run()?;
        outcome.effect(shown(&outcome.asked))
    };
    for (name, late) in [("spawn_agent", false), ("send_input", true)] {
        for path in ["{P}/k.png", "k.png", "{P}/src/link/../../k.png"] {
            list.blocked(format!("round: {name} with the picture {path}, refused"), move |codex, scratch| {
                given(codex, scratch, &open(), path, late)
            });
        }
        list.blocked(format!("round: {name} with a picture, no file may be read"), move |codex, scratch| {
            given(codex, scratch, &all_but(&["file.read"]), "{P}/k.png", late)
        });
    }
    list.ran("round: spawn_agent with a picture that may be read", move |codex, scratch| {
        given(codex, scratch, &open(), "{P}/src/k.png", false)
    });
}

/// Whether the model got the picture.
fn shown(asked: &[crate::codex::stub::Asked]) -> bool {
    asked.iter().any(|asked| asked.body.to_string().contains("data:image/png"))
}

fn patched(body: &str) -> Call {
    Call::patch(&format!("*** Begin Patch\n{body}\n*** End Patch"))
}

fn filled(text: &str, scratch: &Scratch) -> String {
    let folders = [
        ("{P}", &scratch.project),
        ("{F}", &scratch.frames),
        ("{B}", &scratch.bin),
        ("{C}", &scratch.config),
        ("{H}", &scratch.home),
    ];
    let text = folders.iter().fold(text.to_string(), |text, (key, path)| text.replace(key, &path.to_string_lossy()));
    text.replace("{N}", &std::process::id().to_string())
}

/// Whether a path exists, and the text there.
fn state(path: &Path) -> (bool, String) {
    (path.symlink_metadata().is_ok(), text_of(path))
}

fn seed(scratch: &Scratch) -> Result<(), String> {
    scratch.write("src/kept.txt", "kept\n")?;
    scratch.write("kept.txt", "kept\n")?;
    place(&scratch.project.join("src/deep/a/b/c/kept.txt"), "kept\n")?;
    for path in ["k.png", "src/k.png"] {
        fs::write(scratch.project.join(path), PICTURE).map_err(|error| format!("could not write {path}: {error}"))?;
    }
    let links = [
        ("deep/a/b/c", "link"),
        ("link", "hop"),
        ("round", "round"),
        ("/proc/self/cwd", "own"),
        ("../x.txt", "dangling"),
        ("deep", "in"),
        ("../k.png", "out.png"),
    ];
    for (to, name) in links {
        symlink(to, scratch.project.join("src").join(name))
            .map_err(|error| format!("could not link {name}: {error}"))?;
    }
    Ok(())
}
