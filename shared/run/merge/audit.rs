//! The hooks' decisions, from the audit.

use std::time::Instant;

use super::{CUT_SHORT, EMBEDDER, Merge, another, millis, operations};
use crate::adapter::run::Warning;
use crate::run::Judgement;
use crate::run::Unenforced;
use crate::run::embedder::again;
use crate::run::lines::Item;

impl Merge<'_> {
    /// Read the new lines of the audit and of the vendor's journal. Before the session is known, a line cannot be
    /// assigned to it, and a call would come before its session.
    pub(super) fn look(&mut self) {
        if !self.begun {
            return;
        }
        let mut audit = std::mem::take(&mut self.audit);
        let read = audit.lines(&mut |line| {
            if let Some(mut judgement) = Judgement::read(line).filter(|judgement| self.is_own(judgement)) {
                self.vouched(&mut judgement);
                self.judgements.push(judgement.clone());
                match self.is_ahead(&judgement) {
                    true => {
                        self.since.get_or_insert_with(Instant::now);
                        self.held.push(judgement);
                    }
                    false => self.judged(&judgement),
                }
            }
        });
        self.audit = audit;
        if let Err(error) = read {
            self.fault = Some(error.to_string());
        }
        if let (Some(journal), true) = (self.journal, self.lines.is_some()) {
            self.look_at_journal(journal);
        }
    }

    /// Whether a decision is about a call that is not in the vendor's record yet and that no hook waits for.
    fn is_ahead(&self, judgement: &Judgement) -> bool {
        let Some(id) = judgement.call_id.as_ref().filter(|_| self.lines.is_some()) else { return false };
        self.calls.get(id).is_none_or(|known| !known.called && known.asked.is_none() && !known.over)
    }

    /// Write the held decisions about this call; `None` for all of them.
    pub(super) fn release(&mut self, id: Option<&str>) {
        let (now, later) = std::mem::take(&mut self.held)
            .into_iter()
            .partition::<Vec<_>, _>(|judgement| id.is_none() || judgement.call_id.as_deref() == id);
        self.held = later;
        if self.held.is_empty() {
            self.since = None;
        }
        for judgement in now {
            self.judged(&judgement);
        }
    }

    /// Whether a decision belongs to this turn. If the vendor never named its session, a line of a shared audit counts
    /// only if its call is known.
    pub(super) fn is_own(&self, judgement: &Judgement) -> bool {
        match (&self.turn.session, &judgement.call_id) {
            (None, Some(id)) if self.shared => {
                self.calls.contains_key(id) || self.turn.calls.iter().any(|call| call.id == *id)
            }
            (None, None) if self.shared => judgement.session_id.is_none(),
            (session, _) => judgement.of(session.as_deref()),
        }
    }

    /// A decision that falsely names the embedder leaves the turn unenforced.
    pub(super) fn vouched(&mut self, judgement: &mut Judgement) {
        let Some(embedder) = &mut self.embedder else { return };
        if judgement.decided_by == EMBEDDER && !judgement.denies() && !embedder.vouches(judgement) {
            judgement.decided_by = "adapter".into();
            self.turn.unenforced.push(Unenforced {
                call_id: judgement.call_id.clone(),
                tool: judgement.tool.clone().unwrap_or_default(),
                why: "it went on by the word of somebody who is not the embedder of this run".into(),
            });
        }
    }

    pub(super) fn judged(&mut self, judgement: &Judgement) {
        let Some(id) = &judgement.call_id else {
            if judgement.denies() {
                let what = judgement.tool.as_deref().or(judgement.event.as_deref()).unwrap_or("an event");
                let message = format!("{what}: {}", judgement.reason().unwrap_or_default());
                self.tell(judgement.at.as_deref(), &Item::Warning { code: Warning::HookRefused, message: &message });
            }
            return;
        };
        let known = self.known(id);
        let repeated = judgement.decided_by == "adapter" && judgement.reason().is_some_and(again);
        if known.decided || (known.asked.is_some() && repeated) {
            return;
        }
        if known.asked.is_some() && another(&known.call, judgement) {
            let (word, by) = (&judgement.decision.decision, &judgement.decided_by);
            let message = format!("the call {id} came again with another tool or input: {word}, by the {by}");
            self.tell(judgement.at.as_deref(), &Item::Warning { code: Warning::Mutated, message: &message });
            return;
        }
        known.decided = true;
        known.denied = judgement.denies().then(|| judgement.reason().unwrap_or_default().into());
        let call = &mut known.call;
        call.nested |= judgement.agent_id.is_some();
        call.agent = judgement.agent_id.clone().or(call.agent.take());
        if call.tool.is_empty() {
            call.tool = judgement.tool.clone().unwrap_or_default();
        }
        call.input = judgement.input.clone().or(call.input.take());
        call.operations = call.operations.take().or_else(|| operations(&judgement.operations()));
        let latency = known.asked.map_or(judgement.micros / 1000, |asked| millis(asked.elapsed()));
        self.request(id, None, &judgement.seam);
        let call = self.known(id).call.clone();
        let mut judgement = judgement.clone();
        if judgement.decision.decision == "replace" && judgement.decision.input.is_none() {
            // an audit that others may read holds no inputs
            judgement.decision.input =
                self.embedder.as_ref().and_then(|embedder| embedder.replaced(id)).map(ToOwned::to_owned);
        }
        self.tell(None, &Item::Decided { call: &call, judgement: &judgement, latency: Some(latency) });
    }

    /// A call that the embedder was asked about and whose hook ended before it could answer. If the audit has no line
    /// for it, no decision went out, so the call was denied.
    pub(super) fn never_decided(&mut self, id: &str) {
        let known = self.known(id);
        if known.asked.is_some() && !known.decided && !known.over {
            self.judged(&Judgement::denial(id, CUT_SHORT, "adapter", "hook"));
        }
    }
}
