//! The path scope, on patches and pictures: the file that a call would touch decides, however its path is spelled.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{List, OPERATIONS, denied, hold, place, text_of, under};
use crate::codex::script::{Call, Mode, Script};
use crate::frame::Spec;
use crate::scratch::Scratch;

/// `{project}` and `{outside}` in a patch are absolute paths.
struct Row {
    name: &'static str,
    patch: &'static str,
    /// The file that is checked, relative to the project.
    target: &'static str,
    ran: bool,
}

const fn row(name: &'static str, patch: &'static str, target: &'static str, ran: bool) -> Row {
    Row { name, patch, target, ran }
}

/// Patches under a scope that admits writing below `src` alone.
const ROWS: &[Row] = &[
    row("inside", "*** Add File: src/new.txt\n+x", "src/new.txt", true),
    row("inside, deeper", "*** Add File: src/a/b/new.txt\n+x", "src/a/b/new.txt", true),
    row("inside, absolute", "*** Add File: {project}/src/new.txt\n+x", "src/new.txt", true),
    row("inside, by a detour", "*** Add File: ./src/../src/new.txt\n+x", "src/new.txt", true),
    row("inside, updated", "*** Update File: src/kept.txt\n@@\n-kept\n+changed", "src/kept.txt", true),
    row("outside", "*** Add File: new.txt\n+x", "new.txt", false),
    row("outside, a folder whose name begins alike", "*** Add File: src2/new.txt\n+x", "src2/new.txt", false),
    row("outside, in another case", "*** Add File: SRC/new.txt\n+x", "SRC/new.txt", false),
    row("outside by ..", "*** Add File: src/../new.txt\n+x", "new.txt", false),
    row("outside the project by ..", "*** Add File: src/../../tmp/new.txt\n+x", "../tmp/new.txt", false),
    row("outside, absolute", "*** Add File: {outside}/new.txt\n+x", "../tmp/new.txt", false),
    row("a link to a folder outside", "*** Add File: src/door/new.txt\n+x", "../tmp/new.txt", false),
    row("a link to a file outside", "*** Update File: src/link.txt\n@@\n-kept\n+changed", "../tmp/kept.txt", false),
    row("through a link and back by ..", "*** Add File: src/door/../new.txt\n+x", "../new.txt", false),
    row(
        "a link outside that leads in, written through",
        "*** Update File: in.txt\n@@\n-kept\n+changed",
        "src/kept.txt",
        true,
    ),
    // Deleting and moving act on the link itself; its target stays.
    row("a link outside that leads in, deleted", "*** Delete File: in.txt", "in.txt", false),
    row(
        "a link outside that leads in, moved in",
        "*** Update File: in.txt\n*** Move to: src/new.txt\n@@\n-kept\n+changed",
        "in.txt",
        false,
    ),
    row("updated outside", "*** Update File: kept.txt\n@@\n-kept\n+changed", "kept.txt", false),
    row("deleted outside", "*** Delete File: kept.txt", "kept.txt", false),
    row("moved out", "*** Update File: src/kept.txt\n*** Move to: new.txt\n@@\n-kept\n+changed", "new.txt", false),
    row("moved in", "*** Update File: kept.txt\n*** Move to: src/new.txt\n@@\n-kept\n+changed", "src/new.txt", false),
    row("one file of two outside", "*** Add File: src/new.txt\n+x\n*** Add File: new.txt\n+x", "src/new.txt", false),
    row("a path with a blank at its start", "*** Add File:  src/new.txt\n+x", " src/new.txt", false),
    row("a path with blanks at its end", "*** Add File: new.txt \n+x", "new.txt", false),
];

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        for row in ROWS {
            let name = format!("{}: scope: a patch {}", mode.name(), row.name);
            let want = if row.ran { crate::case::Want::Ran } else { crate::case::Want::Blocked };
            list.add(name, want, move |codex, scratch| {
                let target = scratch.project.join(row.target);
                seed(scratch)?;
                let before = state(&target);
                let body = row
                    .patch
                    .replace("{project}", &scratch.project.to_string_lossy())
                    .replace("{outside}", &scratch.tmp.to_string_lossy());
                let call = Call::patch(&format!("*** Begin Patch\n{body}\n*** End Patch"));
                let spec = Spec::admitting(&OPERATIONS)
                    .scope("file:src/**", "file.write,file.edit,file.read")
                    .scope("file:**", "file.read");
                let outcome = under(codex, scratch, mode, &spec, Script::calls(mode, &[call]))?.run()?;
                outcome.effect(state(&target) != before)
            });
        }
        list.holds(
            format!("{}: scope: a picture may be looked at only where reading is admitted", mode.name()),
            move |codex, scratch| {
                let spec = Spec::admitting(&["file.read"]).scope("file:open/**", "file.read").scope("file:**", "");
                for (path, denies) in [("open/a.png", false), ("shut/a.png", true), ("open/../shut/a.png", true)] {
                    let call = Call::tool("view_image", json!({"path": path}));
                    let outcome = under(codex, scratch, mode, &spec, Script::calls(mode, &[call]))?.run()?;
                    if denied(&outcome) != denies {
                        return Err(format!("{path}: {}", outcome.told()));
                    }
                }
                Ok(crate::case::Seen::held())
            },
        );
    }
    list.limit(
        "an admitted shell writes outside the scope",
        "a shell command has no path; do not admit shell where the scope must hold, or use the sandbox",
        |codex, scratch| {
            let spec = Spec::admitting(&["shell"]).scope("file:**", "");
            let call = super::touch();
            let outcome = under(codex, scratch, Mode::Direct, &spec, Script::calls(Mode::Direct, &[call]))?.run()?;
            outcome.effect(scratch.exists(super::MARK))
        },
    );
    list.holds("the project folder is Codex's own, not the folder that a call names", |codex, scratch| {
        place(&scratch.tmp.join("src/kept.txt"), "kept\n")?;
        let spec = Spec::admitting(&["file.write"]).scope("file:src/**", "file.write").scope("file:**", "");
        // The agent chooses the shell's `workdir`, which is the payload's `cwd`.
        let call = Call::tool("exec_command", json!({"cmd": "echo ran > src/new.txt", "workdir": scratch.tmp}));
        let patch = Call::patch(&format!(
            "*** Begin Patch\n*** Add File: {}/src/new.txt\n+x\n*** End Patch",
            scratch.tmp.display()
        ));
        let script = Script::calls(Mode::Direct, &[call, patch]);
        let outcome = under(codex, scratch, Mode::Direct, &spec, script)?.run()?;
        hold([(!scratch.tmp.join("src/new.txt").exists(), "neither wrote there")], &outcome.told())
    });
}

/// Whether a path exists, and the text there.
fn state(path: &std::path::Path) -> (bool, String) {
    (path.symlink_metadata().is_ok(), text_of(path))
}

fn seed(scratch: &Scratch) -> Result<(), String> {
    scratch.write("src/kept.txt", "kept\n")?;
    scratch.write("kept.txt", "kept\n")?;
    place(&scratch.tmp.join("kept.txt"), "kept\n")?;
    let links = [
        (scratch.tmp.clone(), "src/door"),
        (scratch.tmp.join("kept.txt"), "src/link.txt"),
        (scratch.project.join("src/kept.txt"), "in.txt"),
    ];
    for (to, name) in links {
        symlink(&to, scratch.project.join(name)).map_err(|error| format!("could not link {name}: {error}"))?;
    }
    Ok(())
}
