//! Trust: Codex runs a hook only if the configuration holds the hash of its entry, and skips other hooks without a
//! message.

use serde_json::Value;

use super::{List, MARK, all_but, hold, pinned, touch};
use crate::codex::appserver::hooks;
use crate::codex::script::{Mode, Script};
use crate::codex::session::{Place, Session};

const CLOSED: &str = "Codex skips a hook that is not trusted, without a word; write the hashes that mh-setup prints, \
                      and let mh-setup doctor say whether the hooks are live";

pub fn list(list: &mut List) {
    for (name, place) in [("$CODEX_HOME/config.toml", Place::Config), ("the launch line", Place::Flags)] {
        for mode in Mode::BOTH {
            list.blocked(
                format!("{}: the entry in {name} is trusted by the hash printed", mode.name()),
                move |codex, scratch| {
                    let entry = pinned(scratch, &all_but(&["shell"]))?;
                    let outcome = Session::new(codex, scratch, mode, Script::calls(mode, &[touch()]))
                        .entry_at(place, &entry)?
                        .run()?;
                    outcome.effect(scratch.exists(MARK))
                },
            );
        }
    }
    list.holds("Codex itself lists every hook of the entry as trusted, and warns of nothing", |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let session = Session::new(codex, scratch, Mode::Direct, Script::default()).entry(&entry.text);
        let said = hooks(&session)?;
        let listed: Vec<&Value> = said["data"][0]["hooks"].as_array().into_iter().flatten().collect();
        let trusted = listed.iter().filter(|hook| hook["trustStatus"] == "trusted").count();
        hold(
            [
                (listed.len() == 5, "five hooks"),
                (trusted == listed.len(), "all trusted"),
                (said["data"][0]["warnings"].as_array().is_none_or(Vec::is_empty), "no warnings"),
                (said["data"][0]["errors"].as_array().is_none_or(Vec::is_empty), "no errors"),
            ],
            &said.to_string(),
        )
    });
    list.blocked("trust bypassed for one session: the entry without its hashes is live", |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.untrusted())
            .flag("--dangerously-bypass-hook-trust")
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    list.limit("trust is missing", CLOSED, |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.untrusted())
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    list.limit("trust is for another entry: one byte of the command was changed", CLOSED, |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.text.replace("-k 1 25", "-k 1 24"))
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
    list.limit("trust is for another place: CODEX_HOME was moved", CLOSED, |codex, scratch| {
        let entry = pinned(scratch, &all_but(&["shell"]))?;
        let home = scratch.config.to_string_lossy().into_owned();
        let outcome = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]))
            .entry(&entry.text.replace(&format!("{home}/config.toml:"), "/elsewhere/config.toml:"))
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
}
