//! How calls ended: by the vendor's record, by what the model was told, and by their denial.

use serde_json::Value;

use super::{Known, Merge};
use crate::adapter::run::CallEnd;
use crate::run::Judgement;
use crate::run::lines::Item;

impl Merge<'_> {
    /// The result of a call of which the vendor's record has nothing but what the model was told.
    pub(super) fn given(&mut self, at: Option<&str>, id: &str, content: String) {
        let end = CallEnd { call_id: id.into(), ran: true, content, ..CallEnd::default() };
        self.result(at, &end, false, "rollout");
    }

    /// The results of calls that were denied, and of which the vendor's record has nothing under their
    /// ids: those inside a script of Codex's, and those that a stop cut short.
    pub(super) fn denied_within(&mut self, at: Option<&str>) {
        let left = |(id, known): (&String, &Known)| {
            let content = known.denied.clone().filter(|_| !known.over)?;
            Some(CallEnd { call_id: id.clone(), failed: true, content, ..CallEnd::default() })
        };
        let left: Vec<CallEnd> = self.order.iter().filter_map(|id| left(self.calls.get_key_value(id)?)).collect();
        for end in left {
            self.result(at, &end, true, "hook");
        }
    }

    /// Tell a result, once; `says` is whether the vendor says if it failed.
    pub(super) fn result(&mut self, at: Option<&str>, end: &CallEnd, says: bool, source: &str) {
        let CallEnd { call_id: id, failed, withheld, content, exit_code, record, .. } = end;
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
        if *withheld && !known.decided {
            self.judged(&Judgement::withheld(id));
        }
        self.request(id, None, "none");
        let call = self.known(id).call.clone();
        let (failed, record, exit_code) = (says.then_some(*failed), record.as_deref(), *exit_code);
        self.tell(at, &Item::Result { call: &call, failed, content, exit_code, record, source });
    }
}
