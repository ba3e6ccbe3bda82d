//! The frame's file changes in mid-session: a call that was admitted is admitted no longer.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{List, MARK, all_but, fifo, place, printed, text_of, touch};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Codex, Session};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

type Spoil = fn(&Path) -> Result<(), String>;

/// Faults of the frame's file, after which an admitted call must not run.
const SPOILED: &[(&str, Spoil)] = &[
    ("gone", |path| gone(path)),
    ("edited", |path| place(path, &text_of(path).replace("suite", "other"))),
    ("edited where no digest looks", |path| place(path, &text_of(path).replacen('{', "{\"more\":1,", 1))),
    ("given the same key twice", |path| place(path, &text_of(path).replacen('{', "{\"workflow\":{},", 1))),
    ("empty", |path| place(path, "")),
    ("cut short", |path| {
        let text = text_of(path);
        place(path, &text[..text.len() / 2])
    }),
    ("two documents", |path| place(path, &text_of(path).repeat(2))),
    ("no JSON", |path| place(path, "frame\n")),
    ("marked with a byte order mark", |path| place(path, &format!("\u{feff}{}", text_of(path)))),
    ("not UTF-8", |path| fs::write(path, b"{\"format\":\"\xff\"}").map_err(|error| error.to_string())),
    ("larger than 16 MiB", |path| place(path, &format!("{}{}", text_of(path), " ".repeat(17 << 20)))),
    ("nested too deep", |path| place(path, &"[".repeat(100_000))),
    ("a pipe that nobody writes", |path| {
        gone(path)?;
        fifo(path)
    }),
    ("a folder", |path| {
        gone(path)?;
        fs::create_dir(path).map_err(|error| error.to_string())
    }),
    ("a link to nothing", |path| linked(path, "/nonexistent/frame.json")),
    ("a link to itself", |path| linked(path, "frame.json")),
    ("a link to /dev/zero", |path| linked(path, "/dev/zero")),
    ("a link to /dev/null", |path| linked(path, "/dev/null")),
    ("a link to the hook's own input", |path| linked(path, "/dev/stdin")),
];

pub fn list(list: &mut List) {
    for (what, spoil) in SPOILED {
        list.blocked(format!("the frame is {what}"), move |codex, scratch| {
            let ask = Ask::pinned(&Spec::admitting(&["shell"]).seal(scratch, "frame.json")?);
            let path = scratch.frames.join("frame.json");
            changed(codex, scratch, &ask, move || spoil(&path))
        });
    }
    list.ran("the frame is a link to the same document", |codex, scratch| {
        let ask = Ask::pinned(&Spec::admitting(&["shell"]).seal(scratch, "frame.json")?);
        let path = scratch.frames.join("frame.json");
        changed(codex, scratch, &ask, move || {
            let moved = path.with_file_name("moved.json");
            fs::rename(&path, &moved).map_err(|error| error.to_string())?;
            symlink(&moved, &path).map_err(|error| error.to_string())
        })
    });
    list.ran("the frame is laid out anew, its meaning unchanged", |codex, scratch| {
        let ask = Ask::pinned(&Spec::admitting(&["shell"]).seal(scratch, "frame.json")?);
        let path = scratch.frames.join("frame.json");
        changed(codex, scratch, &ask, move || place(&path, &text_of(&path).replace('\n', "\r\n")))
    });
    list.blocked("pinned: the frame is sealed again, wider", |codex, scratch| {
        let ask = Ask::pinned(&all_but(&["shell"]).seal(scratch, "frame.json")?);
        wider(codex, scratch, &ask)
    });
    list.limit(
        "without a pin: the frame is sealed again, wider",
        "a digest is no signature; mh-setup pins unless told --no-pin",
        |codex, scratch| {
            let ask = Ask::pinned(&all_but(&["shell"]).seal(scratch, "frame.json")?).unpinned();
            wider(codex, scratch, &ask)
        },
    );
    list.blocked("pinned: an admitted shell seals the frame again, wider", |codex, scratch| {
        let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
        let entry = printed(scratch, &Ask::pinned(&frame))?;
        let reseals = format!(
            "{} --new --workflow suite --version 1 --state work --step 1 --admit shell --admit file.write --handoff-none -o {}",
            scratch.program("mh-frame-seal").display(),
            scratch.frames.join("wide.json").display()
        );
        let swaps = format!("mv {} {}", scratch.frames.join("wide.json").display(), frame.path.display());
        let calls = [Call::shell(&reseals), Call::shell(&swaps), super::adds(MARK)];
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &calls))
            .entry(&entry.text)
            .run()?;
        let now = text_of(&frame.path);
        if now.contains(&frame.digest) || !now.contains("file.write") {
            return Err(format!("the shell did not seal anew: {}", outcome.told()));
        }
        outcome.effect(scratch.exists(MARK))
    });
}

fn gone(path: &Path) -> Result<(), String> {
    fs::remove_file(path).map_err(|error| error.to_string())
}

fn linked(path: &Path, to: &str) -> Result<(), String> {
    gone(path)?;
    symlink(to, path).map_err(|error| error.to_string())
}

fn wider(codex: &Codex, scratch: &Scratch, ask: &Ask) -> Result<Seen, String> {
    Spec::admitting(&["shell"]).seal(scratch, "wide.json")?;
    let path = scratch.frames.join("frame.json");
    changed(codex, scratch, ask, move || {
        fs::rename(path.with_file_name("wide.json"), &path).map_err(|error| error.to_string())
    })
}

fn changed(
    codex: &Codex,
    scratch: &Scratch,
    ask: &Ask,
    spoil: impl Fn() -> Result<(), String> + Send + Sync + 'static,
) -> Result<Seen, String> {
    let entry = printed(scratch, ask)?;
    let said = Say::late(move |_| match spoil() {
        Ok(()) => Say::Call(touch()),
        Err(error) => Say::Message(format!("could not spoil: {error}")),
    });
    let outcome =
        Session::new(codex, scratch, Mode::Direct, Script::turns(vec![vec![said]])).entry(&entry.text).run()?;
    outcome.effect(scratch.exists(MARK))
}
