//! Checks that the audit has a decision for every call of the turn.

use super::embedder::again;
use super::turn::{Denied, TurnCall, Unenforced, summary};
use super::{Judgement, Turn};
use crate::adapter::Event;
use crate::adapter::run::{Journal, Journaled, JournaledCall, JournaledScript, Run, Witness};

/// The lines of the audit about one call, from before it ran.
#[derive(Debug, Default, Clone, Copy)]
struct AuditWord {
    any: bool,
    denies: bool,
    /// There is a decision that grants the call.
    grants: bool,
}

impl AuditWord {
    fn of(id: &str, judgements: &[Judgement], gate: &str) -> AuditWord {
        let mut word = AuditWord::default();
        for judgement in judgements.iter().filter(|judgement| judgement.call_id.as_deref() == Some(id)) {
            word.any = true;
            // a repeated id was denied, but the call that ran was decided by the first line
            let repeated = judgement.decided_by == "adapter" && judgement.reason().is_some_and(again);
            word.denies |= judgement.gates(gate) && judgement.denies() && !repeated;
            word.grants |= judgement.gates(gate) && judgement.grants();
        }
        word
    }

    /// The fault, if the audit did not let the call run that ran.
    fn of_what_ran(self) -> Option<&'static str> {
        match self {
            AuditWord { any: false, .. } => Some("it ran, and no decision of the hook is in the audit"),
            AuditWord { denies: true, .. } => Some("the hook denied it, and it ran"),
            _ => None,
        }
    }

    /// The contradiction between the audit and the vendor's record of a call.
    fn fault(self, call: &TurnCall, stopping: bool, planned: bool) -> Option<&'static str> {
        let known = call.witness.is_some();
        // a record without a witness shows a denial only as an error
        let ran = call.ran && (known || !self.denies || !call.failed);
        if let Some(fault) = self.of_what_ran().filter(|_| ran) {
            return Some(fault);
        }
        match (call.witness?, self) {
            (Witness::HookLet, AuditWord { grants: false, denies: false, .. }) => {
                Some("it ran by the word of a hook that is none of this run's")
            }
            (Witness::OtherLet, AuditWord { grants: true, .. }) if !planned => {
                Some("the hook allowed it, and the vendor says that it ran by another's word")
            }
            // stopping the turn ends the hook, and the hook's call does not run
            (Witness::HookStopped, AuditWord { denies: false, .. }) if !stopping => {
                Some("a hook stopped it, and no denial is in the audit")
            }
            _ => None,
        }
    }
}

impl Turn {
    /// Hold the turn to the hooks' decisions. The ids that the hooks saw stand in the vendor's stream (`None`) or in
    /// its journal, as far as that could be read (`Some(None)` if not at all).
    pub fn audit(&mut self, vendor: &dyn Run, judgements: &[Judgement], journaled: Option<Option<&Journaled>>) {
        let gate = vendor.facts().gate;
        self.hook = vendor.facts().program;
        let mut stopped = Vec::new();
        match (journaled, vendor.journal()) {
            (Some(Some(journaled)), Some(journal)) => {
                self.by_journal(gate, judgements, journaled, journal);
                stopped = unaudited(gate, &self.calls, judgements, journaled);
            }
            (Some(_), _) => {
                let ran = self.calls.iter().filter(|call| call.over);
                let unread = "the vendor's rollout could not be read, so it is not known whether the hook decided it";
                self.unenforced.extend(ran.map(|call| missing(&call.id, &call.tool, unread)));
            }
            (None, _) => {
                let (stopping, planned) = (self.is_stopping(), self.planned);
                for call in self.calls.iter().filter(|call| call.over) {
                    let word = AuditWord::of(&call.id, judgements, gate);
                    if !word.any && call.by_hook {
                        // the record of an older release does not show whether the call ran
                        let why = (!stopping).then_some("a hook stopped it, and no denial is in the audit");
                        stopped.extend(why.map(|why| (missing(&call.id, &call.tool, why), call.told.clone())));
                    } else if let Some(why) = word.fault(call, stopping, planned) {
                        self.unenforced.push(missing(&call.id, &call.tool, why));
                    }
                }
            }
        }
        let denials = || judgements.iter().filter(|judgement| judgement.denies());
        self.blocked_prompt = denials()
            .find(|denial| {
                let event = denial.event.as_deref().map(|event| vendor.event(event));
                matches!(event, Some(Event::Prompt | Event::Start))
            })
            .and_then(|denial| denial.reason().map(String::from));
        self.refused = denials().filter(|denial| denial.tool.is_some() && !denial.unattended()).cloned().collect();
        for (missing, told) in stopped {
            // the hook's own message about what kept it from deciding or from writing the audit
            match told.find(&format!("{}: ", vendor.facts().program)) {
                None => self.unenforced.push(missing),
                Some(at) => {
                    let reason = told.get(at..).unwrap_or_default();
                    let denial = Judgement::denial(&missing.call_id.unwrap_or_default(), reason, "adapter", "hook");
                    self.refused.push(Judgement { tool: Some(missing.tool), ..denial });
                }
            }
        }
        if journaled.is_none() {
            self.count_answers(judgements, gate);
        }
        let withheld = self.calls.iter().filter(|call| call.withheld);
        let withheld: Vec<Judgement> = withheld.map(|call| self.refusal(&call.id, &call.tool)).collect();
        self.refused.extend(withheld);
        let refused = |id: &str| self.refused.iter().any(|denial| denial.call_id.as_deref() == Some(id));
        // a record that lists refusals by the vendor's permissions also lists calls that one of its deny rules stopped
        let own = self.denials.iter().filter(|(id, ..)| {
            let call = self.calls.iter().find(|call| call.id == *id);
            !refused(id) && call.is_none_or(|call| !call.by_hook && call.unapproved != Some(false))
        });
        self.denied = own
            .map(|(id, tool, input)| Denied { id: id.clone(), tool: tool.clone(), summary: summary(input) })
            .collect();
        self.undecided = self.refused.iter().filter(|denial| denial.undecided(vendor.facts().program)).count();
    }

    /// The calls from the vendor's journal: it has the ids that the hook saw, and the calls that were turned down.
    fn by_journal(&mut self, gate: &str, judgements: &[Judgement], journaled: &Journaled, journal: &dyn Journal) {
        self.unenforced
            .extend(journaled.unseen.iter().map(|(id, what)| missing(id, what, "no hook ever sees such a call")));
        let word_of = |id: &str| judgements.iter().find(|judgement| judgement.call_id.as_deref() == Some(id));
        let named =
            |id: &str, tool: &str| word_of(id).and_then(|word| word.tool.clone()).unwrap_or_else(|| tool.into());
        self.calls.clear();
        for JournaledCall { id, tool, input, nested, end } in &journaled.calls {
            let unseen = journaled.unseen.iter().any(|(unseen, _)| unseen == id);
            let ran = end.as_ref().is_some_and(|end| end.ran) && !unseen;
            if let Some(fault) = AuditWord::of(id, judgements, gate).of_what_ran().filter(|_| ran) {
                let kind = end.as_ref().and_then(|end| end.record.as_ref()?.get("type")?.as_str());
                self.unenforced.push(missing(id, kind.unwrap_or(tool), fault));
            }
            let mut call = TurnCall {
                id: id.clone(),
                tool: named(id, tool),
                input: word_of(id).and_then(Judgement::input_value).unwrap_or_else(|| input.clone()),
                nested: *nested,
                ..TurnCall::default()
            };
            match end {
                Some(end) => call.end(end.clone()),
                // the call ran, and ended with the turn before a record was written
                None => call.failed = true,
            }
            self.calls.push(call);
        }
        // a call in a script has no record if it was turned down, and the script may not report it
        let script_of = |word: &Judgement| {
            let later = |script: &&JournaledScript| script.at.is_some() && script.at >= word.at;
            journaled.scripts.iter().find(later)
        };
        for word in judgements.iter().filter(|word| word.gates(gate) && word.event.is_some() && !word.denies()) {
            let (Some(id), Some(tool)) = (&word.call_id, &word.tool) else { continue };
            if self.calls.iter().any(|call| call.id == *id) || !journal.leaves_record(tool) {
                continue;
            }
            let told = script_of(word).map(|script| script.told.as_str());
            let unapproved = told.is_some_and(|told| journal.unapproved(tool, told));
            self.calls.push(TurnCall {
                id: id.clone(),
                tool: tool.clone(),
                input: word.input_value().unwrap_or_default(),
                nested: word.agent_id.is_some(),
                over: true,
                failed: true,
                unapproved: Some(unapproved),
                told: told.unwrap_or_default().into(),
                ..TurnCall::default()
            });
        }
        let unapproved = self.calls.iter().filter(|call| call.unapproved == Some(true));
        self.denials = unapproved.map(|call| (call.id.clone(), call.tool.clone(), call.input.clone())).collect();
        self.model_calls = Some(journaled.model_calls);
        self.figures_of(&journaled.figures);
        self.model = journaled.model.clone().or(self.model.take());
    }

    /// Each answer of a hook before a call has its line in the audit, so an answer more is from another hook.
    fn count_answers(&mut self, judgements: &[Judgement], gate: &str) {
        let own = judgements.iter().filter(|judgement| judgement.event.as_deref() == Some(gate)).count();
        if self.answered > own && self.unenforced.is_empty() {
            let why = format!(
                "{} answers of hooks to calls, and {own} decisions in the audit: a hook ran beside this run's own",
                self.answered
            );
            self.unenforced.push(Unenforced { call_id: None, tool: gate.into(), why });
        }
    }
}

fn missing(id: &str, tool: &str, why: &str) -> Unenforced {
    Unenforced { call_id: Some(id.into()), tool: tool.into(), why: why.into() }
}

/// Calls that the model was told are blocked by the hook, without a denial in the audit; and the text that it was told.
fn unaudited(
    gate: &str,
    calls: &[TurnCall],
    judgements: &[Judgement],
    journaled: &Journaled,
) -> Vec<(Unenforced, String)> {
    let why = "a call was blocked by the hook's line, and no decision of the hook is in the audit";
    let denials: Vec<&Judgement> = judgements.iter().filter(|judgement| judgement.denies()).collect();
    let about = |id: &str| denials.iter().filter(|denial| denial.call_id.as_deref() == Some(id)).count();
    let direct: Vec<&TurnCall> = calls.iter().filter(|call| call.by_hook).collect();
    let mut all: Vec<(Unenforced, String)> = direct
        .iter()
        .filter(|call| about(&call.id) == 0)
        .map(|call| (missing(&call.id, &call.tool, why), call.told.clone()))
        .collect();
    // a script does not tell which of its calls was denied
    let mut elsewhere = denials.len() - direct.iter().map(|call| about(&call.id)).sum::<usize>();
    for script in journaled.scripts.iter().filter(|script| script.by_hook) {
        if elsewhere == 0 {
            all.push((Unenforced { call_id: None, tool: gate.into(), why: why.into() }, script.told.clone()));
        }
        elsewhere = elsewhere.saturating_sub(1);
    }
    all
}
