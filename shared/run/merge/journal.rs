//! The vendor's journal: its files are looked for until they exist, and are read as they grow.

use std::time::Instant;

use super::{Journaling, Merge, SEARCH, is_said, take};
use crate::adapter::run::Journal;
use crate::os::Follow;

impl Merge<'_> {
    pub(super) fn look_at_journal(&mut self, journal: &'static dyn Journal) {
        // the session's file comes first, since a sub-agent's file has the session's id in its name too
        let agents = self.calls.values().filter_map(|known| known.call.agent.as_ref());
        for id in self.turn.session.iter().chain(agents) {
            if !self.journaling.iter().any(|one| one.id == *id) {
                self.journaling.push(Journaling { id: id.clone(), file: None });
            }
        }
        let now = Instant::now();
        let missing = self.journaling.iter().any(|one| one.file.is_none());
        if missing && self.searched.is_none_or(|before| now.duration_since(before) >= SEARCH) {
            self.searched = Some(now);
            for Journaling { id, file } in self.journaling.iter_mut().filter(|one| one.file.is_none()) {
                *file = journal.file(&self.home, id).map(|file| Follow::new(file, 0));
            }
        }
        let mut journaling = std::mem::take(&mut self.journaling);
        for Journaling { id, file } in &mut journaling {
            if let Some(follow) = file {
                self.follow_journal(journal, follow, self.turn.session.as_ref() == Some(id));
            }
        }
        self.journaling = journaling;
    }

    /// Write the new records of a journal file; the model's words only from the session's own file.
    pub(super) fn follow_journal(&mut self, journal: &'static dyn Journal, follow: &mut Follow, own: bool) {
        // an unreadable file makes the turn unenforced at its end
        let _ = follow.lines(&mut |line| {
            let (at, events) = journal.line(line);
            for event in events {
                match (is_said(&event), own) {
                    (true, false) => continue,
                    (true, true) if !take(&mut self.unsaid, &event) => self.said_first.push(event.clone()),
                    _ => {}
                }
                self.event(at.as_deref(), event, &[], "rollout");
            }
        });
    }
}
