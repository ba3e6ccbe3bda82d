//! Asking an embedder about a call that the frame admits.
//!
//! The frame has the last word, whatever the embedder answers: a replaced input is judged from the start, and an answer
//! that cannot be delivered as meant becomes a denial that says so.

use std::time::Duration;

use super::judge::{Case, stopped};
use super::resolve::finish;
use super::{Decider, Unanswered};
use crate::adapter::{Hook, Payload};
use crate::decide::{self, Asks, Decision, Need, clipped};
use crate::frame::shown;
use crate::protocol::{Command, CommandKind, Requested, Word};

/// Sends a line to a decider and returns the line that answers it.
pub type Ask<'a> = &'a dyn Fn(&Decider, &str) -> Result<Vec<u8>, Unanswered>;

/// The connection to an embedder.
pub struct DeciderLink<'a> {
    /// Sends a line, returns the answer.
    pub ask: Ask<'a>,
    /// The time that is left for the answer.
    pub left: &'a dyn Fn() -> Duration,
}

/// The decision, and the name of the party that made it.
pub fn consult(vendor: &dyn Hook, case: &Case<'_>, decider: &Decider, needs: &[Need]) -> (Decision, &'static str) {
    let denied = |why: &str, by| {
        let decider = clipped(&shown(&decider.to_string()), 300);
        (Decision::Deny(stopped(vendor, case.setup, &format!("the decider {decider} {why}"))), by)
    };
    let Some(embedder) = &case.around.embedder else { return denied("is not asked here", "adapter") };
    let Some(call_id) = &case.payload.call_id else {
        return denied("cannot be asked: the payload has no `tool_use_id` to ask about", "adapter");
    };
    let line = request(vendor, case, call_id, needs, (embedder.left)()).line();
    let answer = match (embedder.ask)(decider, &line) {
        Ok(answer) => answer,
        Err(Unanswered { late: true, why }) => return denied(&why, "deadline"),
        Err(Unanswered { late: false, why }) => return denied(&why, "adapter"),
    };
    match read(&answer, call_id) {
        Ok((Word::Deny(why), Some(by))) => {
            (Decision::Deny(decide::refused(case.frame, &format!("{} was not run: {why}", shown(case.tool)))), by)
        }
        Ok((word, _)) => embedded(vendor, case, word),
        Err(why) => denied(&format!("gave no decision: {why}"), "adapter"),
    }
}

fn request<'a>(vendor: &dyn Hook, case: &Case<'a>, call_id: &'a str, needs: &[Need], left: Duration) -> Requested<'a> {
    let operations = needs.iter().filter_map(|need| need.wanted.operation());
    let subjects = needs.iter().filter_map(|need| need.path.as_ref()).map(|path| format!("file:{}", path.written));
    let input = case.payload.input.raw();
    Requested {
        run: case.payload.session.as_deref().unwrap_or_default(),
        call_id,
        name: case.tool,
        input: if input.is_empty() { "null" } else { input },
        operations: operations.collect(),
        subjects: subjects.collect(),
        deadline_ms: u32::try_from(left.as_millis()).unwrap_or(u32::MAX),
        vendor: vendor.facts().word,
        agent_id: case.payload.agent.as_deref(),
        cwd: case.payload.cwd.as_deref(),
        frame_digest: case.frame.digest().as_str(),
    }
}

/// The decision in a line, if it is about this call.
fn read<'a>(answer: &'a [u8], call_id: &str) -> Result<(Word<'a>, Option<&'static str>), String> {
    match Command::read(answer) {
        Ok(Command { order: CommandKind::Decide { call_id: about, word, by }, .. }) if about == call_id => {
            Ok((word, by))
        }
        Ok(Command { order: CommandKind::Decide { call_id: about, .. }, .. }) => {
            Err(format!("it is about the call {}", clipped(&shown(&about), 80)))
        }
        Ok(Command { order: CommandKind::Other(other), .. }) => {
            Err(format!("it is {}, and only tool.decide is heard here", other.name))
        }
        Err(malformed) => Err(malformed.to_string()),
    }
}

fn embedded(vendor: &dyn Hook, case: &Case<'_>, word: Word<'_>) -> (Decision, &'static str) {
    match decide::embedded(case.frame, word, case.setup.policy) {
        Decision::Replace(input) => replaced(vendor, case, input),
        decision => (decision, "embedder"),
    }
}

/// The second judgement: self-protection, frame and scope judge the call with its new input.
fn replaced(vendor: &dyn Hook, case: &Case<'_>, input: String) -> (Decision, &'static str) {
    let tool = shown(case.tool);
    let undelivered = |why: &str| {
        let why = format!("{tool} {why}: the embedder replaced the input, and that cannot be delivered");
        (Decision::Deny(decide::refused(case.frame, &why)), "adapter")
    };
    let new = match vendor.replacement(&case.payload.event, &input, case.tool) {
        Ok(new) => new,
        Err(why) => return undelivered(&why),
    };
    let payload = Payload { input: new, ..case.payload.clone() };
    let call =
        finish(vendor, case.setup, case.frame, &payload, case.tool, vendor.asks(&payload, case.tool), case.around);
    match decide::decide(case.frame, &call, case.setup.policy) {
        Decision::Deny(reason) => (Decision::Deny(reason), "frame"),
        _ if call.asks == Asks::Conversation => undelivered("touches nothing outside the conversation"),
        _ => (Decision::Replace(input), "embedder"),
    }
}
