//! What reading a payload costs at least: a program that reads standard input and takes three fields out of it with
//! serde_json, and passes over the rest. It prints nothing, and keeps no rule that a hook keeps: keys that stand twice are
//! all the same to it.

use std::io::{Error, Read as _};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The fields that a hook judges by.
#[derive(Deserialize)]
struct Call {
    hook_event_name: String,
    tool_name: String,
    tool_input: IgnoredAny,
}

fn main() -> Result<(), Error> {
    let mut payload = Vec::new();
    std::io::stdin().read_to_end(&mut payload)?;
    let Call { hook_event_name, tool_name, tool_input } = serde_json::from_slice(&payload)?;
    std::hint::black_box((hook_event_name, tool_name, tool_input));
    Ok(())
}
