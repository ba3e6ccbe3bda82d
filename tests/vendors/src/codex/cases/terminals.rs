//! The terminal program. Hooks run in its server. The first launch starts the server, and later launches use it, with
//! the first one's environment.

use serde_json::json;

use super::{List, MARK, adds, hold, over_etc, place, printed, touch};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Codex, Session};
use crate::codex::stub::{Stub, outputs};
use crate::codex::terminal::sit;
use crate::entry::Ask;
use crate::frame::{Frame, Spec};
use crate::scratch::Scratch;

/// Marks the offer of a newer model as answered; the program would wait for that answer.
const SEEN: &str = "[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n";

/// Flags in place of the full bypass, which would keep the work in the terminal program's own process.
const UNASKED: &[&str] = &["-s", "danger-full-access", "-a", "never"];

/// Words in the request for the session's title, which has a thread of its own.
const TITLE: &str = "Generate a concise";

const SECOND: &str = "SECOND-LAUNCH";

pub fn list(list: &mut List) {
    list.blocked("the terminal program: a call that is not admitted does not run", |codex, scratch| {
        alone(codex, scratch, "file.write")
    });
    list.ran("the terminal program: an admitted call runs", |codex, scratch| alone(codex, scratch, "shell"));
    // The title's thread has no hooks and needs none: its only tool is the patch, in a read-only sandbox.
    list.holds("the terminal program: its search for a title can touch nothing", |codex, scratch| {
        scratch.write("kept.txt", "KEPT\n")?;
        let tries = [
            Call::shell("cat kept.txt; echo ran > ran.txt"),
            adds(MARK),
            Call::tool("view_image", json!({"path": scratch.project.join("kept.txt")})),
        ];
        let script = Script::turns(vec![vec![Say::Call(touch())]])
            .other(TITLE, tries.map(|call| vec![Say::Call(call)]).to_vec());
        let frame = Spec::admitting(&["web.read"]).seal(scratch, "frame.json")?;
        let entry = printed(scratch, &Ask::pinned(&frame))?;
        let session = start(codex, scratch, script).entry(&entry.text);
        let stub = session.prepare()?;
        sit(&session, || stub.asked().iter().filter(|asked| asked.part == TITLE).count() > 3)?;
        let told = told(&stub, TITLE);
        hold([(!told.contains("KEPT"), "it read nothing"), (!scratch.exists(MARK), "it wrote nothing")], &told)
    });
    list.holds("the terminal program, twice: the second launch is under its own entry's frame", |codex, scratch| {
        let told = twice(codex, scratch, false)?;
        hold([(scratch.exists("first.txt"), "the first ran"), (!scratch.exists(MARK), "the second did not")], &told)
    });
    list.limit(
        "the terminal program, twice: the frame of the second launch's environment",
        "its server keeps the first launch's environment; name the frame in the entry, as mh-setup prints it",
        |codex, scratch| {
            let told = twice(codex, scratch, true)?;
            Ok(Seen::effect(scratch.exists(MARK), told))
        },
    );
}

fn start<'a>(codex: &'a Codex, scratch: &'a Scratch, script: Script) -> Session<'a> {
    Session::new(codex, scratch, Mode::Direct, script).sandbox(UNASKED).trusting_the_project().config(SEEN)
}

fn alone(codex: &Codex, scratch: &Scratch, admitted: &str) -> Result<Seen, String> {
    let frame = Spec::admitting(&[admitted]).seal(scratch, "frame.json")?;
    let entry = printed(scratch, &Ask::pinned(&frame))?;
    let session = start(codex, scratch, Script::turns(vec![vec![Say::Call(touch())]]).other(TITLE, Vec::new()))
        .entry(&entry.text);
    let stub = session.prepare()?;
    sit(&session, || !told(&stub, "main").is_empty())?;
    let told = told(&stub, "main");
    if !scratch.exists(MARK) && !told.contains("PreToolUse hook") {
        return Err(format!("did nothing, and not by the hook's word; the model was told: {told}"));
    }
    Ok(Seen::effect(scratch.exists(MARK), told))
}

/// Two launches: the first one's frame admits the patches of both, the second one's does not. Returns the tool outputs
/// that the second one's model got.
fn twice(codex: &Codex, scratch: &Scratch, by_environment: bool) -> Result<String, String> {
    let wide = Spec::admitting(&["file.write"]).seal(scratch, "wide.json")?;
    let narrow = Spec::admitting(&["web.read"]).seal(scratch, "narrow.json")?;
    let script = Script::turns(vec![vec![Say::Call(adds("first.txt"))]])
        .other(TITLE, Vec::new())
        .other(SECOND, vec![vec![Say::Call(adds(MARK))]]);
    let launch = |frame: &Frame, prompt: &str| -> Result<Session<'_>, String> {
        let entry = printed(scratch, &Ask::pinned(frame))?;
        let session = start(codex, scratch, script.clone()).prompt(&[prompt]);
        if !by_environment {
            return Ok(session.entry(&entry.text));
        }
        // The system's configuration needs no trust, and no hash is printed for this entry.
        let etc = scratch.root.join("etc");
        place(&etc.join("codex/config.toml"), &entry.without_flags()?)?;
        Ok(session.wrapped(&over_etc(&etc)).env("MH_FRAME", &frame.path.to_string_lossy()))
    };
    let first = launch(&wide, "first launch")?;
    let stub = first.prepare()?;
    sit(&first, || !told(&stub, "main").is_empty())?;
    let second = launch(&narrow, SECOND)?;
    second.configure(&stub)?;
    sit(&second, || !told(&stub, SECOND).is_empty())?;
    Ok(told(&stub, SECOND))
}

/// The tool outputs that the model got in a part of the script.
fn told(stub: &Stub, part: &str) -> String {
    let asked = stub.asked();
    asked.iter().rfind(|asked| asked.part == part).map(|asked| outputs(&asked.body)).unwrap_or_default()
}
