//! The start of a session: a refused frame stops the prompt before any request, and a good frame gives the model its
//! text.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::Cases;
use super::drive::{Outcome, Run};
use crate::case::Want;
use crate::entry::Ask;
use crate::frame::Spec;

const OBLIGATION: &str = "Leave the changelog as it is";

type Spoil = fn(&Path) -> std::io::Result<()>;

/// Changes that make a frame one that the hook refuses.
const REFUSED: &[(&str, Spoil)] = &[
    ("missing", |path| fs::remove_file(path)),
    ("edited", |path| {
        let text = fs::read_to_string(path)?;
        fs::write(path, text.replace(OBLIGATION, "Do as you please"))
    }),
    ("empty", |path| fs::write(path, "")),
    ("a folder", |path| fs::remove_file(path).and_then(|()| fs::create_dir(path))),
    ("a FIFO that nobody writes", |path| {
        fs::remove_file(path)?;
        std::process::Command::new("mkfifo").arg(path).status().map(|_| ())
    }),
    ("a symlink to itself", |path| {
        fs::remove_file(path)?;
        std::os::unix::fs::symlink(path, path)
    }),
];

fn spec() -> Spec {
    Spec::all().obligation(OBLIGATION)
}

fn no_request(outcome: &Outcome) -> Result<(), String> {
    match outcome.requests.len() {
        0 => Ok(()),
        count => Err(format!("{count} requests were made; {}", outcome.detail())),
    }
}

pub fn add(cases: &mut Cases) {
    for (name, spoil) in REFUSED {
        cases.holds(format!("a frame that is {name}: no request to the model"), move |run| {
            let run = run.frame(&spec())?;
            spoil(&run.scratch.frames.join("frame.json")).map_err(|error| error.to_string())?;
            no_request(&run.bash("touch o.txt").go()?)
        });
        cases.add(
            format!("a frame that is {name}: no call runs where only PreToolUse is set"),
            Want::Blocked,
            move |run| {
                let run = run.frame(&spec())?.without("UserPromptSubmit").without("PermissionRequest");
                spoil(&run.scratch.frames.join("frame.json")).map_err(|error| error.to_string())?;
                run.bash("touch o.txt").effect("o.txt")
            },
        );
    }
    cases.holds("a frame resealed under the pin: no request to the model", |run| {
        let run = run.frame(&spec())?;
        Spec::all().seal(run.scratch, "frame.json")?;
        no_request(&run.bash("touch o.txt").go()?)
    });
    cases.blocked("a frame resealed under the pin: no call runs where only PreToolUse is set", |run| {
        let run = run.frame(&spec())?.without("UserPromptSubmit");
        Spec::all().seal(run.scratch, "frame.json")?;
        run.bash("touch o.txt").effect("o.txt")
    });
    cases.limit("without a pin whoever can write the frame can seal it again", "a frame resealed, not pinned", |run| {
        let frame = Spec::all_but("shell").seal(run.scratch, "frame.json")?;
        let run = run.entry(&Ask::pinned(&frame).unpinned(), &frame)?;
        Spec::all().seal(run.scratch, "frame.json")?;
        run.bash("touch o.txt").effect("o.txt")
    });
    cases.ran("a frame reached by a symlink", |run| {
        let frame = spec().seal(run.scratch, "frame.json")?;
        let link = run.scratch.frames.join("current.json");
        std::os::unix::fs::symlink(&frame.path, &link).map_err(|error| error.to_string())?;
        let ask = Ask { frame: Some(link), ..Ask::pinned(&frame) };
        run.entry(&ask, &frame)?.bash("touch o.txt").effect("o.txt")
    });
    text(cases);
    cases.holds("the hook program missing: no request to the model", |run| {
        let run = run.frame(&spec())?;
        fs::remove_file(run.scratch.program("mh-hook-claude")).map_err(|error| error.to_string())?;
        no_request(&run.bash("touch o.txt").go()?)
    });
    cases.holds("a frame named by an empty path: no request to the model", |run| {
        let run = run.frame(&spec())?.edit(|_, hook| hook["args"] = json!(["--frame", ""]));
        no_request(&run.bash("touch o.txt").go()?)
    });
}

fn with_text<'a>(run: Run<'a>, spec: &Spec) -> Result<(Run<'a>, String), String> {
    let frame = spec.seal(run.scratch, "frame.json")?;
    let digest = frame.digest.clone();
    Ok((run.entry(&Ask::pinned(&frame), &frame)?, digest))
}

fn text(cases: &mut Cases) {
    cases.holds("the frame's text is in the request that the model gets", |run| {
        let (run, digest) = with_text(run, &spec())?;
        let outcome = run.go()?;
        let main = outcome.conversation(super::script::MAIN)?;
        if main.contains(OBLIGATION) && main.contains(&digest) && main.contains("file.read") {
            return Ok(());
        }
        Err(format!("the request does not hold the frame's text; {}", outcome.detail()))
    });
    cases.holds("the frame's text is in a sub-agent's request", |run| {
        let (run, digest) = with_text(run, &spec())?;
        let outcome = run.agent("PARTONE").go()?;
        let part = outcome.conversation("PARTONE go")?;
        if part.contains(OBLIGATION) && part.contains(&digest) {
            return Ok(());
        }
        Err(format!("the sub-agent's request does not hold the frame's text; {}", outcome.detail()))
    });
    cases.holds("a refused frame: the session is told so", |run| {
        let run = run.frame(&spec())?.without("UserPromptSubmit");
        fs::write(run.scratch.frames.join("frame.json"), "{").map_err(|error| error.to_string())?;
        let outcome = run.go()?;
        let main = outcome.conversation(super::script::MAIN)?;
        if main.contains("not json") { Ok(()) } else { Err(format!("nothing of a refusal; {}", outcome.detail())) }
    });
    for (place, word) in [("the request", super::script::MAIN), ("a sub-agent's request", "PARTONE go")] {
        cases.holds(format!("a text of 30,000 characters: whole sections in {place}, no preview"), move |run| {
            let mut long = Spec::all();
            for number in 0..300 {
                long = long.obligation(&format!("Obligation {number:03} {}", "of many words ".repeat(6)));
            }
            let (run, _) = with_text(run, &long)?;
            let outcome = run.agent("PARTONE").go()?;
            let text = outcome.conversation(word)?;
            if !text.contains("eft out") || !text.contains("file.read") {
                return Err("the text does not say what was left out, or lost what binds".into());
            }
            if text.contains("Obligation 000") {
                return Err("a section was cut in its middle".into());
            }
            if text.contains("persisted-output") || text.contains("Output too large") {
                return Err("the vendor made a preview of it".into());
            }
            Ok(())
        });
    }
}
