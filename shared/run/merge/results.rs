//! The results of calls: from the vendor's record, from the text that the model got, and from denials.

use serde_json::Value;

use super::{Known, Merge};
use crate::adapter::run::CallEnd;
use crate::run::lines::Item;

impl Merge<'_> {
    /// The results of calls in a script that the vendor turned down. They have no record, only the text that the script
    /// got. A command may outlive its script, so it comes last, unless the script reports on it.
    pub(super) fn turned_down(&mut self, at: Option<&str>, told: &str, last: bool) {
        let Some(journal) = self.journal else { return };
        let left = |id: &String| {
            let known = self.calls.get(id).filter(|known| known.decided && !known.called && !known.over)?;
            let tool = known.call.tool.as_str();
            let unapproved = journal.unapproved(tool, told);
            let over = last || unapproved || tool != "Bash";
            (known.denied.is_none() && over && journal.leaves_record(tool)).then(|| CallEnd {
                call_id: id.clone(),
                failed: true,
                content: told.into(),
                unapproved: Some(unapproved),
                told: true,
                ..CallEnd::default()
            })
        };
        let mut left: Vec<CallEnd> = self.order.iter().filter_map(left).collect();
        if !last {
            // a script gets the text of one call at a time
            left.truncate(1);
        }
        for end in left {
            self.result(at, &end, "rollout");
        }
    }

    /// The results of calls that ended with the turn.
    pub(super) fn ended_with_the_turn(&mut self) {
        if self.journal.is_none() || self.turn.is_stopping() {
            return;
        }
        let left = |id: &&String| self.calls.get(*id).is_some_and(|known| known.called && !known.over);
        let left: Vec<String> = self.order.iter().filter(left).cloned().collect();
        for call_id in left {
            let content = "it had not ended when the turn did, and was ended with it".into();
            let end = CallEnd { call_id, failed: true, content, told: true, ..CallEnd::default() };
            self.result(None, &end, "rollout");
        }
    }

    /// The results of denied calls whose ids are not in the vendor's record: calls inside a script of Codex, and calls
    /// that a stop cut short.
    pub(super) fn denied_within(&mut self, at: Option<&str>) {
        let left = |(id, known): (&String, &Known)| {
            let content = known.denied.clone().filter(|_| !known.over)?;
            Some(CallEnd { call_id: id.clone(), failed: true, content, ..CallEnd::default() })
        };
        let left: Vec<CallEnd> = self.order.iter().filter_map(|id| left(self.calls.get_key_value(id)?)).collect();
        for end in left {
            self.result(at, &end, "hook");
        }
    }

    /// Write a result, once.
    pub(super) fn result(&mut self, at: Option<&str>, end: &CallEnd, source: &str) {
        let CallEnd { call_id: id, failed, withheld, content, exit_code, record, unapproved, .. } = end;
        self.release(Some(id));
        if *failed {
            self.never_decided(id);
        }
        let known = self.known(id);
        if std::mem::replace(&mut known.over, true) {
            return;
        }
        if known.call.tool.is_empty() {
            let kind = record.as_ref().and_then(|record| record.get("type")).and_then(Value::as_str);
            known.call.tool = kind.unwrap_or("a tool").into();
        }
        let tool = known.call.tool.clone();
        if *withheld && !known.decided {
            let denial = self.turn.refusal(id, &tool);
            self.judged(&denial);
        }
        self.request(id, None, "none");
        let call = self.known(id).call.clone();
        let (failed, record, exit_code) = (Some(*failed), record.as_deref(), *exit_code);
        let unapproved = *unapproved == Some(true);
        self.tell(at, &Item::Result { call: &call, failed, unapproved, content, exit_code, record, source });
    }
}
