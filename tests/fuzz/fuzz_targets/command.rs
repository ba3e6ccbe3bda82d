//! Any bytes as a command line: no panic. An independent reader accepts a line that ours accepts, with the same id and
//! the same decision; for any other line ours gives the id that the refusal is sent under.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metaharness::protocol::{COMMAND, Command, CommandKind, Word};
use metaharness_fuzz::json::Json;

const OTHERS: [&str; 6] = ["frame.set", "message.inject", "steer", "permission.set", "interrupt", "halt"];

/// The call's id and the decision of a `tool.decide`.
fn decide(line: &Json) -> Option<(&str, &Json)> {
    let decision = line.get("decision")?;
    decision.members()?;
    match decision.get("decision")?.text()? {
        "allow" | "abstain" => {}
        "deny" if !decision.get("reason")?.text()?.trim().is_empty() => {}
        "replace" => drop(decision.get("input")?),
        _ => return None,
    }
    Some((line.get("call_id")?.text()?, decision))
}

fuzz_target!(|bytes: &[u8]| {
    let line = Json::read(bytes).filter(|line| line.members().is_some());
    // with two ids, neither can be trusted to be the line's
    let ids = line.iter().flat_map(|line| line.members().unwrap_or_default()).filter(|(name, _)| name == "id");
    let mut ids = ids.map(|(_, id)| id.text());
    let own = ids.next().flatten().filter(|_| ids.next().is_none());
    let other = line.as_ref().filter(|line| !line.repeats());
    let member = |name: &str| other?.get(name)?.text();
    let (id, name) = (member("id"), member("command"));
    match Command::read(bytes) {
        Ok(command) => {
            assert_eq!(id, Some(command.id.as_str()));
            assert_eq!(member("format"), Some(COMMAND));
            match command.order {
                CommandKind::Decide { call_id, word, .. } => {
                    assert_eq!(name, Some("tool.decide"));
                    let (about, decision) = other.and_then(decide).expect("accepted, and nobody else would");
                    assert_eq!(call_id, about);
                    let tag = decision.get("decision").and_then(Json::text);
                    match word {
                        Word::Allow => assert_eq!(tag, Some("allow")),
                        Word::Abstain => assert_eq!(tag, Some("abstain")),
                        Word::Deny(reason) => {
                            let said = decision.get("reason").and_then(Json::text);
                            assert_eq!((tag, said), (Some("deny"), Some(reason.as_str())));
                        }
                        Word::Replace(input) => {
                            let (said, read) = (decision.get("input"), Json::read(input.as_bytes()));
                            assert_eq!((tag, said), (Some("replace"), read.as_ref()));
                        }
                    }
                }
                _ => assert!(name.is_some_and(|name| OTHERS.contains(&name)), "{name:?}"),
            }
        }
        Err(malformed) => {
            assert!(!malformed.why.is_empty());
            assert_eq!(malformed.id.as_deref(), own, "{}", malformed.why);
            let decides = member("format") == Some(COMMAND) && id.is_some() && name == Some("tool.decide");
            assert!(!decides || other.and_then(decide).is_none(), "{}", malformed.why);
        }
    }
});
