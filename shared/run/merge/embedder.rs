//! Questions to the embedder, and its answers.

use std::time::Instant;

use super::Merge;
use crate::run::Knock;
use crate::run::embedder::{Asked, Told};
use crate::run::lines::{Item, ToldCall};

impl Merge<'_> {
    pub(super) fn asked(&mut self, asked: Asked, waits: u64) {
        let known = self.known(&asked.call_id);
        known.asked = Some(Instant::now());
        known.call = ToldCall {
            id: asked.call_id.clone(),
            tool: asked.name,
            input: Some(asked.input),
            operations: asked.operations,
            subjects: asked.subjects,
            nested: known.call.nested || asked.agent_id.is_some(),
            agent: asked.agent_id,
            cwd: asked.cwd,
        };
        self.request(&asked.call_id, Some(waits), "hook");
    }

    /// The session has begun, or it never will: handle the questions that came before it.
    pub(super) fn begin(&mut self) {
        self.begun = true;
        for (_, knock) in std::mem::take(&mut self.early) {
            self.knocked(knock);
        }
    }

    pub(super) fn knocked(&mut self, knock: Knock) {
        let Some(embedder) = &mut self.embedder else { return };
        if !self.begun {
            return self.early.push((Instant::now(), knock));
        }
        let told = match knock {
            Knock::Asked { number, line, answer } => embedder.asked(number, &line, answer, Instant::now()),
            Knock::Left { number } => embedder.left(number),
        };
        self.told(told);
    }

    pub(super) fn told(&mut self, told: Vec<Told>) {
        for told in told {
            match told {
                Told::Requested(asked, waits) => self.asked(*asked, waits),
                Told::Answered { id, outcome } => {
                    let outcome = outcome.as_ref().copied().map_err(|(code, why)| (*code, why.as_str()));
                    self.tell(None, &Item::Answered { id: &id, outcome });
                }
                Told::Warning { code, message } => self.tell(None, &Item::Warning { code, message: &message }),
            }
        }
    }
}
