//! One payload under one frame: the answer, and the line for the audit.

use std::path::PathBuf;
use std::time::Instant;

use super::HookOptions;
use super::consult::{DeciderLink, consult};
use super::resolve::finish;
use crate::adapter::{self, Environment, Event, Hook, Payload, RawAsks, Verdict, Wire};
use crate::decide::{self, Action, Asks, Decision, Occasion, REASON_LIMIT, Wanted, clipped};
use crate::frame::shown;
use crate::os::{self, Stdin};
use crate::protocol::AuditLine;
use crate::seal::{self, VerifiedFrame};

/// The facts for a judgement besides the options and the payload.
pub struct Surroundings<'a> {
    /// The environment in which the hook runs.
    pub environment: Environment<'a>,
    /// The folder that replaces the process's own.
    pub folder: Option<PathBuf>,
    /// The connection to an embedder; without one, a call that needs it is denied.
    pub embedder: Option<DeciderLink<'a>>,
    /// The time by which the call has to be judged, else it is denied.
    pub deadline: Option<Instant>,
}

/// The judgement of a payload.
#[derive(Debug)]
pub struct Judged {
    /// The kind of the event.
    pub event: Event,
    /// The event's name.
    pub name: String,
    pub verdict: Verdict,
    /// The audit line without its time.
    pub record: AuditLine,
    /// Whether this is a decision that the audit must have.
    pub counts: bool,
}

impl Judged {
    /// The answer in the vendor's format.
    pub fn wire(&self, vendor: &dyn Hook) -> Wire {
        vendor.answer(self.event, &self.name, &self.verdict)
    }
}

/// Judge one payload. This reads the frame and looks at paths; it changes nothing.
pub fn judge(vendor: &dyn Hook, setup: &HookOptions, input: &Stdin, around: &Surroundings<'_>) -> Judged {
    let mut record =
        AuditLine { vendor: vendor.facts().word, decided_by: "adapter", seam: "hook", ..AuditLine::default() };
    let frame = frame_in_force(vendor, setup);
    if let Ok(Some(frame)) = &frame {
        record.frame_digest = Some(frame.digest().to_string());
    }
    let payload = match &input.fault {
        Some(fault) => Err(fault.clone()),
        None => Payload::read_until(&input.bytes, &vendor.facts().payload, around.deadline)
            .map_err(|why| format!("the payload {why}")),
    };
    let (event, name) = match &payload {
        Ok(payload) => (vendor.event(&payload.event), payload.event.clone()),
        Err(_) => (Event::Gate, vendor.facts().gate.into()),
    };
    if let Ok(payload) = &payload {
        record.event = Some(payload.event.clone());
        record.session_id.clone_from(&payload.session);
        record.agent_id.clone_from(&payload.agent);
        record.call_id.clone_from(&payload.call_id);
        record.tool.clone_from(&payload.tool);
    }
    let stranger = payload.as_ref().ok().and_then(|payload| adapter::stranger(vendor.facts(), payload));
    let occasion = Occasion {
        frame: frame.as_ref().map_or(Some(false), |frame| frame.as_ref().map(|_| true)),
        readable: payload.is_ok(),
        stranger: stranger.is_some(),
        event,
        tool: payload.as_ref().is_ok_and(|payload| payload.tool.is_some()),
    };
    let denied = |why: &str| Verdict::Deny(stopped(vendor, setup, why));
    let verdict = match (occasion.action(), &frame, &payload) {
        (Action::Decide, Ok(Some(frame)), Ok(payload)) => {
            let tool = payload.tool.as_deref().unwrap_or_default();
            let case = Case { setup, frame, payload, tool, around };
            call(vendor, &case, event, &mut record).at(
                event,
                setup.policy,
                vendor.grants_approval(tool),
                setup.unattended,
            )
        }
        (Action::Tell, Ok(Some(frame)), _) => {
            let alone = if setup.unattended { ALONE } else { "" };
            let text =
                frame.text().within(vendor.facts().text_limit - vendor.measure(alone), |text| vendor.measure(text));
            Verdict::Text(text + alone)
        }
        (Action::RefuseFrame, Err(refused), _) => Verdict::Deny(refused.clone()),
        (Action::RefusePayload, _, Err(why)) => denied(why),
        (Action::RefuseStranger, ..) => {
            let other = stranger.unwrap_or("another agent");
            denied(&format!("the payload is {other}'s, and this hook is {}'s", vendor.facts().product))
        }
        (Action::RefuseNameless, ..) => denied(&format!("the payload has no `{}`", vendor.facts().payload.tool)),
        (Action::RefuseEvent, ..) => denied(&format!(
            "{} {} has no event `{}`, so nothing says what an answer to it does",
            vendor.facts().product,
            vendor.facts().table.release,
            clipped(&shown(&name), 80)
        )),
        (Action::Abstain, ..) => Verdict::Abstain,
        // an action without its object cannot occur; if it did, the call would not run
        _ => denied("a fault in this program; please report it"),
    };
    record.decision.decision = match &verdict {
        Verdict::Allow => "allow",
        Verdict::Abstain | Verdict::Text(_) => "abstain",
        Verdict::Deny(_) => "deny",
        Verdict::Replace { .. } => "replace",
    };
    if let Verdict::Deny(reason) = &verdict {
        record.decision.reason = Some(reason.clone());
    }
    if let (true, Ok(payload)) = (setup.audit_input, &payload) {
        record.input = Some(payload.input.raw().into()).filter(|raw: &String| !raw.is_empty());
        if let Verdict::Replace { input, .. } = &verdict {
            record.decision.input = Some(input.clone());
        }
    }
    let waits = matches!(event, Event::Gate | Event::Approval | Event::Unknown);
    let counts = event != Event::Passing && (waits || matches!(verdict, Verdict::Deny(_)));
    let mut judged = Judged { event, name, verdict, record, counts };
    if judged.verdict == Verdict::Allow && judged.wire(vendor) == Wire::silence() {
        // the answer grants nothing, and the record holds the answer that goes out
        judged.record.decision.decision = "abstain";
    }
    judged
}

/// The frame in force: none, or one that verifies. `Err` is the reason for denying every call.
fn frame_in_force(vendor: &dyn Hook, setup: &HookOptions) -> Result<Option<VerifiedFrame>, String> {
    if let Some(mistake) = &setup.mistake {
        return Err(stopped(vendor, setup, mistake));
    }
    let Some(path) = &setup.frame else {
        return match setup.require_frame {
            true => {
                Err(stopped(vendor, setup, "no frame is in force, and one is required; give --frame (or MH_FRAME)"))
            }
            false => Ok(None),
        };
    };
    os::read_bounded(path, seal::MAX_BYTES)
        .and_then(|bytes| seal::verify(&bytes, setup.pin.as_ref()))
        .map(Some)
        .map_err(|refusal| {
            let path = clipped(&shown(&path.to_string_lossy()), 300);
            stopped(vendor, setup, &format!("the frame {path} is refused: {}: {refusal}", refusal.name()))
        })
}

/// Text for the model in a run in which nobody can approve a call: the vendor's own words for such a call do not say
/// what to do next.
const ALONE: &str = "\nNobody is at a terminal in this run to approve a call. One that needs an approval does not run: do not \
                     retry it; finish with what you can and say what you could not do.\n";

/// The end of a reason that is not about this one call.
pub const UNTIL: &str = "; nothing runs until this is put right";

/// A reason that is not about this one call.
pub fn stopped(vendor: &dyn Hook, setup: &HookOptions, why: &str) -> String {
    let end = match setup.unattended {
        true => format!("{UNTIL}, and the run started again"),
        false => format!("{UNTIL}; to undo, {}", vendor.facts().undo),
    };
    format!(
        "{}: {}{end}",
        vendor.facts().program,
        clipped(&shown(why), REASON_LIMIT - vendor.facts().program.len() - 2 - end.len())
    )
}

/// A call under a frame.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub setup: &'a HookOptions,
    /// The frame in force.
    pub frame: &'a VerifiedFrame,
    pub payload: &'a Payload<'a>,
    pub tool: &'a str,
    /// The other facts.
    pub around: &'a Surroundings<'a>,
}

fn call(vendor: &dyn Hook, case: &Case<'_>, event: Event, record: &mut AuditLine) -> Decision {
    let Case { setup, frame, payload, tool, around } = *case;
    let raw = vendor.asks(payload, tool);
    if let RawAsks::Needs(needs) = &raw {
        record.operations = needs.iter().map(|need| need.wanted.words()).collect();
        record.operations.sort_unstable();
        record.operations.dedup();
        for need in needs {
            match (need.wanted.operation(), &need.wanted) {
                (Some(operation), _) => drop(record.needs.insert(operation)),
                (None, Wanted::Mcp { rendered, .. }) => record.ambiguous = Some(rendered.clone()),
                (None, _) => {}
            }
        }
    }
    let call = finish(vendor, setup, frame, payload, tool, raw, around);
    record.decided_by = "frame";
    let mut decision = decide::decide(frame, &call, setup.policy);
    if let (Some(decider), Event::Gate, Asks::Needs(needs), Decision::Allow | Decision::Abstain) =
        (&setup.decider, event, &call.asks, &decision)
    {
        (decision, record.decided_by) = consult(vendor, case, decider, needs);
    }
    if around.deadline.is_some_and(|deadline| Instant::now() >= deadline) && !matches!(decision, Decision::Deny(_)) {
        decision = Decision::Deny(stopped(vendor, setup, "the call was not judged when the deadline passed"));
        record.decided_by = "deadline";
    }
    decision
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::adapter::claude::Claude;

    /// A payload that was read in time may be judged too late.
    #[test]
    fn a_call_that_is_judged_too_late_is_denied_and_the_record_says_by_whom() {
        let frame = seal::verify(include_bytes!("../../fixtures/golden/frame.json"), None).unwrap();
        let judged = |event, tool, deadline| {
            let payload =
                format!(r#"{{"hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{{"command":"true"}}}}"#);
            let payload = Payload::read(payload.as_bytes(), &Claude::FACTS.payload).unwrap();
            let around = Surroundings { environment: &|_| None, folder: None, embedder: None, deadline };
            let mut record = AuditLine::default();
            let setup = &HookOptions::default();
            let case = Case { setup, frame: &frame, payload: &payload, tool, around: &around };
            (call(&Claude, &case, event, &mut record), record.decided_by)
        };
        let (past, ahead) = (Some(Instant::now()), Instant::now().checked_add(Duration::from_secs(1 << 20)));
        for deadline in [None, ahead] {
            assert_eq!(judged(Event::Gate, "Bash", deadline), (Decision::Allow, "frame"));
        }
        for event in [Event::Gate, Event::Approval] {
            for tool in ["Bash", "AskUserQuestion"] {
                let (Decision::Deny(why), by) = judged(event, tool, past) else { panic!("{event:?} {tool}") };
                assert!(why.contains("the call was not judged when the deadline passed"), "{why}");
                assert_eq!(by, "deadline");
            }
        }
        // a call that the frame refuses is still refused by the frame
        assert_eq!(judged(Event::Gate, "CronList", past).1, "frame");
    }
}
