//! The least that reading a payload costs: this program reads stdin, takes three members out of the payload with
//! serde_json and passes over the rest. It prints nothing and checks nothing that a hook checks, not even for keys that
//! stand twice.

use std::io::{Error, Read as _};

use serde::Deserialize;
use serde::de::IgnoredAny;

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
