//! The entry as `mh-setup` prints it, and the same entry in the other places that Codex reads hooks from: the launch
//! line and `hooks.json`.

use serde_json::{Value as Json, json};
use toml::{Table, Value};

/// The source name in the trust keys of hooks from the launch line.
const FLAGS: &str = "/<session-flags>/config.toml";

pub struct Entry {
    /// The text exactly as printed.
    pub text: String,
    table: Table,
}

impl Entry {
    pub fn read(text: String) -> Result<Entry, String> {
        let table = text.parse().map_err(|error| format!("what mh-setup prints is no TOML: {error}"))?;
        Ok(Entry { text, table })
    }

    fn hooks(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.table.get("hooks").and_then(Value::as_table).into_iter().flatten().filter(|(event, _)| *event != "state")
    }

    fn features(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.table.get("features").and_then(Value::as_table).into_iter().flatten()
    }

    fn state(&self) -> Option<&Table> {
        self.table.get("hooks")?.get("state")?.as_table()
    }

    /// The entry with a hook without flags, whose settings come from the environment. The printed hashes do not trust
    /// it.
    pub fn without_flags(&self) -> Result<String, String> {
        let mut text = String::new();
        for line in self.text.split_inclusive('\n') {
            match line.split_once("/mh-hook-codex'") {
                Some((head, tail)) if line.starts_with("command") => {
                    let at = tail.find(" ||").ok_or("the entry has no guard line")?;
                    text.push_str(head);
                    text.push_str("/mh-hook-codex'");
                    text.push_str(&tail[at..]);
                }
                _ => text.push_str(line),
            }
        }
        Ok(text)
    }

    /// The entry as `-c` arguments. The place of a handler changes its trust key but not its hash.
    pub fn flags(&self) -> Vec<String> {
        let mut settings: Vec<String> = self.hooks().map(|(event, groups)| format!("hooks.{event}={groups}")).collect();
        let mut state = Table::new();
        for (key, value) in self.state().into_iter().flatten() {
            if let Some((_, tail)) = key.split_once("config.toml:") {
                state.insert(format!("{FLAGS}:{tail}"), value.clone());
            }
        }
        settings.push(format!("hooks.state={}", Value::Table(state)));
        settings.extend(self.feature_settings());
        settings.into_iter().flat_map(|setting| ["-c".to_string(), setting]).collect()
    }

    pub fn feature_settings(&self) -> impl Iterator<Item = String> {
        self.features().map(|(name, value)| format!("features.{name}={value}"))
    }

    /// The entry as a `hooks.json`.
    pub fn json(&self) -> Json {
        let hooks: serde_json::Map<String, Json> = self
            .hooks()
            .filter_map(|(event, groups)| Some((event.clone(), serde_json::to_value(groups).ok()?)))
            .collect();
        json!({"hooks": hooks})
    }

    /// The entry without its trust hashes.
    pub fn untrusted(&self) -> String {
        let mut whole = self.table.clone();
        if let Some(Value::Table(hooks)) = whole.get_mut("hooks") {
            hooks.remove("state");
        }
        whole.to_string()
    }

    /// One event's group of the entry, trusted as printed.
    pub fn only(&self, event: &str) -> String {
        let mut whole = self.table.clone();
        if let Some(Value::Table(hooks)) = whole.get_mut("hooks") {
            hooks.retain(|key, _| key == event || key == "state");
        }
        whole.to_string()
    }
}
