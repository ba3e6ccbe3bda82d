//! Any bytes as a hook's payload: stdout is empty or valid for the event, the exit code agrees with it, and no narrower
//! setup admits a call that a wider one refuses.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use metaharness::adapter::{Hook, Verdict, Wire};
use metaharness::decide::Policy;
use metaharness::hook::{Decider, DeciderLink, HookOptions, Surroundings, judge};
use metaharness::os::Stdin;
use serde_json::Value;

use crate::json::Json;

/// The folders of the payloads. Neither exists, so no link leads out of them.
const HOME: &str = "/nonexistent/home";
const PROJECT: &str = "/nonexistent/project";

/// Facts about a vendor that its answers do not tell.
pub struct Facts {
    /// The events before a call runs.
    pub gates: &'static [&'static str],
    /// An admitted call is answered by silence.
    pub silent: bool,
    /// The vendor's folder in the home folder, which no call may write to.
    pub folder: &'static str,
    /// The files that a call surely writes to.
    pub writes: fn(tool: &str, input: &Json) -> Vec<String>,
    /// The files that a call surely reads or writes.
    pub touches: fn(tool: &str, input: &Json) -> Vec<String>,
}

/// The setups that a payload is judged under, from the widest frame to no frame at all.
struct Setups {
    widest: HookOptions,
    deny_only: HookOptions,
    scoped: HookOptions,
    nothing: HookOptions,
    refused: HookOptions,
    none: HookOptions,
    required: HookOptions,
    asking: HookOptions,
}

impl Setups {
    fn new() -> Setups {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let under = |frame: &str| HookOptions { frame: Some(root.join(frame)), ..HookOptions::default() };
        let widest = || under("seeds/frame/widest.json");
        let decider = Some(Decider::Program("/nonexistent/decider".into()));
        Setups {
            widest: widest(),
            deny_only: HookOptions { policy: Policy::DenyOnly, ..widest() },
            scoped: under("seeds/frame/scoped.json"),
            nothing: under("seeds/frame/nothing.json"),
            refused: under("seeds/frame/edited.json"),
            none: HookOptions::default(),
            required: HookOptions { require_frame: true, ..HookOptions::default() },
            asking: HookOptions { decider, ..widest() },
        }
    }
}

/// Check one payload against every rule at the head of this file.
pub fn hold(vendor: &dyn Hook, bytes: &[u8], facts: &Facts) {
    thread_local!(static SETUPS: Setups = Setups::new());
    SETUPS.with(|setups| {
        let other = Json::read(bytes).filter(|payload| payload.members().is_some() && !payload.repeats());
        let event = other.as_ref().and_then(|payload| payload.get("hook_event_name")?.text()).unwrap_or_default();
        // a payload that readers could read differently, or that names no event, counts as a call
        let readable = other.as_ref().filter(|_| !event.is_empty());
        let input = Stdin { bytes: bytes.to_vec(), fault: None };
        let said = |setup: &HookOptions, ask: Option<&dyn Fn(&str) -> String>| -> Wire {
            let environment = |name: &str| match name {
                "HOME" => Some(OsString::from(HOME)),
                "CLAUDE_PROJECT_DIR" => Some(OsString::from(PROJECT)),
                _ => None,
            };
            let asked = |_: &Decider, line: &str| Ok(ask.map(|ask| ask(line)).unwrap_or_default().into_bytes());
            let left = || Duration::from_secs(10);
            let embedder = Some(DeciderLink { ask: &asked, left: &left });
            let around =
                Surroundings { environment: &environment, folder: Some(PROJECT.into()), embedder, deadline: None };
            let judged = judge(vendor, setup, &input, &around);
            let mut record = judged.record.line();
            assert_eq!(record.pop(), Some('\n'));
            assert!(!record.contains(['\n', '\r']), "{record}");
            let wire = judged.wire(vendor);
            assert_eq!(wire.block, wire.block && matches!(judged.verdict, Verdict::Deny(_)));
            let seen = Seen { facts, event, payload: readable, words: ask.is_some() };
            if setup.frame.is_some() || setup.require_frame {
                seen.valid(&wire);
                assert!(readable.is_some() || wire.block, "not readable, and not refused: {wire:?}");
            } else {
                assert_eq!(wire, Wire::silence());
            }
            wire
        };

        said(&setups.none, None);
        let refused = said(&setups.refused, None);
        let required = said(&setups.required, None);
        assert_eq!((refused.block, refused.stdout.is_empty()), (required.block, required.stdout.is_empty()));
        let widest = said(&setups.widest, None);
        let left = said(&setups.deny_only, None);
        let scoped = said(&setups.scoped, None);
        let nothing = said(&setups.nothing, None);
        let denies = |wire: &Wire| wire.block || wire.stdout.contains("\"behavior\":\"deny\"");
        assert_eq!(denies(&widest), denies(&left), "the policy is no reason to refuse");
        assert!(!grants(&left) && !grants(&nothing), "{left:?} {nothing:?}");
        for narrower in [&scoped, &nothing, &refused] {
            assert!(!denies(&widest) || denies(narrower), "{widest:?} {narrower:?}");
        }

        let Some(payload) = readable.filter(|_| event == "PreToolUse") else { return };
        let (tool, call) = (payload.get("tool_name").and_then(Json::text), payload.get("tool_input"));
        if let (Some(tool), Some(call)) = (tool, call) {
            let from = payload.get("cwd").and_then(Json::text).filter(|cwd| cwd.starts_with('/')).unwrap_or(PROJECT);
            let below = |file: &String, folder: &str| folded(from, file).starts_with(folder);
            let own = format!("{HOME}/{}", facts.folder);
            if (facts.writes)(tool, call).iter().any(|file| below(file, &own)) {
                assert!(denies(&widest), "it writes to the vendor's own folder: {widest:?}");
            }
            if (facts.touches)(tool, call).iter().any(|file| below(file, &format!("{PROJECT}/secret"))) {
                assert!(denies(&scoped), "it touches what a rule keeps it from: {scoped:?}");
            }
        }
        if !denies(&widest) {
            asked(payload, |ask| said(&setups.asking, Some(ask)));
        }
    });
}

/// Put a call to an embedder and take its decision back: the line says what the payload does, and the answer is the
/// embedder's decision or a denial.
fn asked(payload: &Json, said: impl Fn(&dyn Fn(&str) -> String) -> Wire) {
    let input = RefCell::new(None);
    let line_of = |line: &str, decision: Value| {
        assert!(line.ends_with('\n') && line.matches(['\n', '\r', '\u{2028}', '\u{2029}']).count() == 1, "{line:?}");
        let (value, other): (Value, _) = (serde_json::from_str(line).unwrap(), Json::read(line.as_bytes()).unwrap());
        assert_eq!(value["format"], "metaharness.event/1");
        assert_eq!(other.get("call_id"), payload.get("tool_use_id"));
        assert_eq!(other.get("name"), payload.get("tool_name"));
        assert_eq!(other.get("input"), payload.get("tool_input").or(Some(&Json::Null)));
        let decision = if decision["decision"] == "replace" {
            // the input as it was sent, so that it can be told from a replaced one
            input.replace(Json::read(value["input"].to_string().as_bytes()));
            serde_json::json!({ "decision": "replace", "input": value["input"] })
        } else {
            decision
        };
        serde_json::json!({
            "format": "metaharness.command/1", "id": "1", "command": "tool.decide", "call_id": value["call_id"],
            "decision": decision,
        })
        .to_string()
    };
    let wire = said(&|line| line_of(line, serde_json::json!({ "decision": "replace" })));
    match (&*input.borrow(), wire.stdout.contains("\"updatedInput\"")) {
        (Some(input), true) => {
            let answer = Json::read(wire.stdout.as_bytes()).unwrap();
            let given = answer.get("hookSpecificOutput").and_then(|specific| specific.get("updatedInput"));
            assert_eq!(given, Some(input));
        }
        (Some(_), false) => assert!(wire.block, "a replace that was dropped: {wire:?}"),
        (None, _) => assert!(wire.block || wire == Wire::silence(), "nobody was asked: {wire:?}"),
    }
    let words = payload.get("tool_input").and_then(|input| input.get("command")?.text()).unwrap_or("no");
    let deny = serde_json::json!({ "decision": "deny", "reason": words });
    let wire = said(&|line| line_of(line, deny.clone()));
    assert!(wire.block || (input.borrow().is_none() && wire == Wire::silence()), "{wire:?}");
}

fn grants(wire: &Wire) -> bool {
    wire.stdout.contains("\"permissionDecision\":\"allow\"") || wire.stdout.contains("\"behavior\":\"allow\"")
}

/// A path made absolute, with `.` and `..` taken out by their letters.
fn folded(from: &str, file: &str) -> PathBuf {
    let mut all = PathBuf::new();
    for part in Path::new(from).join(file).components() {
        match part {
            Component::ParentDir => drop(all.pop()),
            Component::CurDir => {}
            part => all.push(part),
        }
    }
    all
}

struct Seen<'a> {
    facts: &'a Facts,
    event: &'a str,
    /// `None` if the payload cannot be read.
    payload: Option<&'a Json>,
    /// A reason may be in an embedder's own words.
    words: bool,
}

impl Seen<'_> {
    /// Check that stdout is empty or one object of the event's shape on one line, and that the exit code goes with it.
    fn valid(&self, wire: &Wire) {
        assert_eq!(wire.block, !wire.stderr.is_empty(), "{wire:?}");
        if wire.stdout.is_empty() {
            assert_eq!(*wire, Wire::silence());
            return;
        }
        assert!(wire.stdout.ends_with('\n') && wire.stdout.matches('\n').count() == 1, "{wire:?}");
        let answer = Json::read(wire.stdout.as_bytes()).unwrap_or_else(|| panic!("no JSON: {wire:?}"));
        assert!(!answer.repeats(), "{wire:?}");
        let specific = answer.get("hookSpecificOutput");
        match self.event {
            "UserPromptSubmit" if self.payload.is_some() => {
                assert_eq!(answer.keys(), "decision,reason");
                assert_eq!(answer.get("decision").and_then(Json::text), Some("block"));
                self.refused(answer.get("reason"), wire);
            }
            "SessionStart" | "SubagentStart" if self.payload.is_some() => self.context(&answer, wire),
            "PermissionRequest" if self.payload.is_some() => {
                assert_eq!(answer.keys(), "hookSpecificOutput");
                let specific = specific.unwrap();
                assert_eq!(specific.keys(), "decision,hookEventName");
                assert_eq!(specific.get("hookEventName").and_then(Json::text), Some(self.event));
                let decision = specific.get("decision").unwrap();
                match decision.get("behavior").and_then(Json::text) {
                    Some("deny") if self.facts.silent => self.refused(decision.get("message"), wire),
                    Some("deny") => {
                        assert!(!wire.block, "exit 2 is no denial there");
                        self.reason(decision.get("message").and_then(Json::text).unwrap());
                    }
                    Some("allow") => {
                        assert_eq!(decision.keys(), "behavior");
                        assert!(self.facts.silent && !wire.block, "{wire:?}");
                        let tool = self.payload.and_then(|payload| payload.get("tool_name")?.text()).unwrap();
                        assert!(tool.starts_with("mcp__"), "granted {tool}");
                    }
                    _ => panic!("{wire:?}"),
                }
            }
            _ => {
                assert_eq!(answer.keys(), "hookSpecificOutput");
                self.permission(specific.unwrap(), wire);
            }
        }
    }

    fn permission(&self, specific: &Json, wire: &Wire) {
        let gate = self.facts.gates.contains(&self.event);
        let name = if gate && self.payload.is_some() { self.event } else { "PreToolUse" };
        assert_eq!(specific.get("hookEventName").and_then(Json::text), Some(name), "{wire:?}");
        match specific.get("permissionDecision").and_then(Json::text) {
            Some("deny") => {
                assert_eq!(specific.keys(), "hookEventName,permissionDecision,permissionDecisionReason");
                self.refused(specific.get("permissionDecisionReason"), wire);
            }
            said => {
                assert!(!wire.block && self.event == "PreToolUse" && self.payload.is_some(), "{wire:?}");
                let wanted = match (said, specific.get("updatedInput")) {
                    (Some("allow"), None) if !self.facts.silent => "hookEventName,permissionDecision",
                    (Some("allow"), Some(_)) => "hookEventName,permissionDecision,updatedInput",
                    (None, Some(_)) if !self.facts.silent => "hookEventName,updatedInput",
                    _ => panic!("{wire:?}"),
                };
                assert_eq!(specific.keys(), wanted);
            }
        }
    }

    fn context(&self, answer: &Json, wire: &Wire) {
        assert!(!wire.block, "{wire:?}");
        let specific = answer.get("hookSpecificOutput").unwrap();
        assert_eq!(specific.keys(), "additionalContext,hookEventName");
        assert_eq!(specific.get("hookEventName").and_then(Json::text), Some(self.event));
        let context = specific.get("additionalContext").and_then(Json::text).unwrap();
        assert!(!context.trim().is_empty());
        match answer.keys().as_str() {
            "hookSpecificOutput" => {}
            "continue,hookSpecificOutput,stopReason" if self.facts.silent && self.event == "SessionStart" => {
                assert_eq!(answer.get("continue"), Some(&Json::Bool(false)));
                self.reason(answer.get("stopReason").and_then(Json::text).unwrap());
            }
            _ => panic!("{wire:?}"),
        }
    }

    /// Check that a denial stands three times, each time with the same reason.
    fn refused(&self, reason: Option<&Json>, wire: &Wire) {
        let reason = reason.and_then(Json::text).unwrap_or_else(|| panic!("{wire:?}"));
        assert!(wire.block && wire.needs_stderr == self.facts.silent, "{wire:?}");
        assert_eq!(wire.stderr, format!("{reason}\n"));
        self.reason(reason);
    }

    fn reason(&self, reason: &str) {
        assert!(!reason.trim().is_empty() && reason.chars().count() <= 1_000, "{} {reason}", reason.len());
        let harmless = |c: char| match self.words {
            true => !c.is_control() || matches!(c, '\n' | '\t'),
            false => matches!(c, ' '..='~'),
        };
        assert!(reason.chars().all(harmless), "{reason:?}");
    }
}
