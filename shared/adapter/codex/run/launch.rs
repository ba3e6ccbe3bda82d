//! Codex's launch (measured on 0.171.0): hooks, their trust and the features that they need come by `-c`, which holds
//! through every change of a file. The user's configuration is not read, so no other server, hook or trusted project
//! comes with it.

use std::path::Path;

use serde_json::Value;

use crate::adapter::codex;
use crate::adapter::codex::setup::parse;
use crate::adapter::run::{Credentials, Launch, LaunchOrder, Unprepared, home};
use crate::adapter::setup::file::text_of;
use crate::adapter::setup::tree::Spanned;
use crate::decide::admits;
use crate::frame::Operation;
use crate::os::PrivateRoom;

/// The setting that withholds the provider's own search.
pub const NO_SEARCH: &str = "web_search=\"disabled\"";

const KEYS: [&str; 3] = ["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"];

pub fn prepare(order: &LaunchOrder, room: &PrivateRoom, launch: &mut Launch) -> Result<(), Unprepared> {
    let mut arguments: Vec<String> =
        ["exec", "--json", "--skip-git-repo-check", "--ignore-user-config", "--ignore-rules"]
            .map(String::from)
            .to_vec();
    let sandbox = sandbox(order);
    arguments.extend(["-s".into(), sandbox.into()]);
    let mut settings = codex::session(&order.registration());
    // it runs at the provider, where no hook sees it
    if !admitted(order, &Operation::WebRead) {
        settings.push(NO_SEARCH.into());
    }
    settings.push("check_for_update_on_startup=false".into());
    settings.extend(servers(order)?);
    arguments.extend(settings.iter().flat_map(|setting| ["-c".into(), setting.clone()]));
    (launch.settings, launch.sandbox) = (settings, Some(sandbox.into()));
    if let Some(model) = &order.model {
        arguments.extend(["-m".into(), model.clone()]);
    }
    if let Some((file, _)) = &order.schema {
        arguments.extend(["--output-schema".into(), file.to_string_lossy().into_owned()]);
    }
    arguments.extend(order.options.iter().cloned());
    arguments.push("-".into());
    launch.arguments = arguments.into_iter().map(Into::into).collect();
    // zsh reads this folder before every hook, and one line in it can end the hook with 0
    let empty = room.folder("zdotdir")?;
    launch.set.push(("ZDOTDIR".into(), empty.into()));
    launch.home = home(order.vendor, &order.cwd);
    if order.hermetic {
        let folder = room.folder("home/.codex")?;
        in_a_keyring(order, &launch.home)?;
        order.carry(launch, (launch.home.join("auth.json"), folder.join("auth.json")), &KEYS, &[])?;
        launch.set.push(("CODEX_HOME".into(), folder.clone().into()));
        launch.home = folder;
    }
    Ok(())
}

/// Codex keeps a login in a keyring under its folder's name, so a run with another folder does not find it.
fn in_a_keyring(order: &LaunchOrder, home: &Path) -> Result<(), Unprepared> {
    let file = home.join("config.toml");
    let text = match order.credentials {
        Credentials::Inherit if !home.join("auth.json").is_file() => text_of(&file).and_then(Result::ok),
        _ => None,
    };
    let config = text.and_then(|text| parse(&text).ok());
    let store =
        config.as_ref().and_then(|config| config.root.get("cli_auth_credentials_store")).and_then(Spanned::text);
    match store.filter(|store| *store != "file") {
        None => Ok(()),
        Some(store) => Err(Unprepared::Order(format!(
            "{}: cli_auth_credentials_store is {store:?}, and there is no auth.json: a login in a keyring does not go along \
             into a scratch home; say --credentials api-key or none, or keep the login in a file",
            file.display()
        ))),
    }
}

fn admitted(order: &LaunchOrder, operation: &Operation) -> bool {
    order.frame.as_ref().is_none_or(|(_, frame)| admits(frame, operation))
}

/// The default of `codex exec` is read-only, in which an admitted patch fails.
fn sandbox(order: &LaunchOrder) -> &str {
    let writes = [Operation::FileEdit, Operation::FileWrite, Operation::Shell];
    match &order.sandbox {
        Some(sandbox) => sandbox,
        None if order.frame.is_some() && writes.iter().any(|operation| admitted(order, operation)) => "workspace-write",
        None => "read-only",
    }
}

/// The servers of an `mcpServers` file as one setting: the path before `=` is split at every dot, quoted or not, so a
/// name can only stand after it.
fn servers(order: &LaunchOrder) -> Result<Option<String>, Unprepared> {
    let Some(servers) = order.mcp.as_ref().and_then(|file| file.get("mcpServers")).and_then(Value::as_object) else {
        return Ok(None);
    };
    let mut tables = Vec::new();
    for (name, server) in servers {
        let members =
            server.as_object().ok_or_else(|| Unprepared::Order(format!("mcp server {name:?}: it is not an object")))?;
        let told = members.iter().filter(|(key, _)| *key != "type").map(|(key, value)| {
            let key = if key == "headers" { "http_headers" } else { key };
            format!("{key}={}", toml(value))
        });
        // without it the vendor silently goes on without a server that cannot start
        let required = (!members.contains_key("required")).then(|| "required=true".to_string());
        tables.push(format!("{}={{{}}}", codex::basic(name), told.chain(required).collect::<Vec<_>>().join(",")));
    }
    Ok(Some(format!("mcp_servers={{{}}}", tables.join(","))))
}

/// A JSON value as TOML. TOML has no null, so nulls are left out.
fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => codex::basic(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().filter(|item| !item.is_null()).map(toml).collect::<Vec<_>>().join(","))
        }
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members = members.map(|(key, value)| format!("{}={}", codex::basic(key), toml(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
