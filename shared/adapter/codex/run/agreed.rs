//! Codex's own view of a launch, asked before the first prompt (0.171.0). An organization's requirements may switch
//! hooks off or change the sandbox, from places that no file here shows, and Codex would still report success.
//!
//! The question goes to a short `app-server` with the same settings in a home of its own: `exec` starts without the
//! user's configuration, and `app-server` has no switch for that. The login goes along, since requirements may come by
//! it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::adapter::codex::{EVENTS, FEATURES, SESSION, command, trust_key};
use crate::adapter::run::{Launch, LaunchOrder, Shadowed};
use crate::os::{PrivateRoom, Wires, spawn, words};

/// The time for the answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most bytes that are read of its stdout.
const MOST: u64 = 16 * 1024 * 1024;

/// The questions, with the numbers of their answers.
const ASKED: [(u64, &str); 3] = [(2, "hooks/list"), (3, "configRequirements/read"), (4, "config/read")];

/// Check that the launch would hold, by Codex's own report.
///
/// # Errors
/// The part of the launch that Codex sees otherwise, or the reason why it could not be asked.
pub fn agreed(order: &LaunchOrder, launch: &Launch, room: &PrivateRoom) -> Result<(), Shadowed> {
    let shown = order.program.display();
    let answers = ask(order, launch, room).map_err(|why| {
        let how = "it could not be asked what it makes of this launch, so it is not known that its hooks are heard";
        Shadowed::by(&shown, format!("{how}: {why}"))
    })?;
    let wanted = Meant {
        command: &command(&order.registration()),
        sandbox: launch.sandbox.as_deref().unwrap_or_default(),
        settings: &launch.settings,
    };
    match wanted.differs(&answers) {
        None => Ok(()),
        Some(why) => Err(Shadowed::by(shown, format!("asked before the first prompt, it says that {why}"))),
    }
}

/// The answers in the order of [`ASKED`].
fn ask(order: &LaunchOrder, launch: &Launch, room: &PrivateRoom) -> Result<[Value; 3], String> {
    let home = room.folder("agreed").map_err(|error| error.why())?;
    for name in ["auth.json", ".env"] {
        let from = launch.home.join(name);
        if from.is_file() {
            fs_err::os::unix::fs::symlink(from, home.join(name)).map_err(words)?;
        }
    }
    let mut command = launch.command();
    command.arg("app-server").env("CODEX_HOME", &home).process_group(0);
    // for a new home it would fetch a list of plugins
    let settings = launch.settings.iter().map(String::as_str).chain(["features.plugins=false"]);
    command.args(settings.flat_map(|setting| ["-c", setting]));
    let (mut child, Wires { mut stdin, stdout, mut stderr }) = spawn(command).map_err(words)?;
    let pid = Pid::from_child(&child);
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout.take(MOST)).split(b'\n').map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let client = json!({"clientInfo": {"name": "mh-run", "version": env!("CARGO_PKG_VERSION")}, "capabilities": {"experimentalApi": true}});
    let mut said = format!(
        "{}\n{}\n",
        json!({"id": 1, "method": "initialize", "params": client}),
        json!({"method": "initialized"})
    );
    for (id, method) in ASKED {
        let params = match method {
            "hooks/list" => json!({"cwds": [&order.cwd]}),
            "config/read" => json!({"includeLayers": false}),
            _ => Value::Null,
        };
        said += &format!("{}\n", json!({"id": id, "method": method, "params": params}));
    }
    // a program that does not read this is noticed by its output
    let _ = stdin.write_all(said.as_bytes());
    let answers = hear(&lines);
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = child.wait();
    answers.map_err(|why| {
        let mut told = String::new();
        let _ = stderr.set_read_timeout(Some(Duration::from_secs(1)));
        let _ = (&mut stderr).take(64 * 1024).read_to_string(&mut told);
        let last = told.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.map_or(why.clone(), |last| format!("{why}: {last}"))
    })
}

fn hear(lines: &mpsc::Receiver<Vec<u8>>) -> Result<[Value; 3], String> {
    let deadline = Instant::now() + PATIENCE;
    let mut answers = [const { None }; 3];
    while answers.iter().any(Option::is_none) {
        let line =
            lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).map_err(|error| match error {
                mpsc::RecvTimeoutError::Timeout => format!("no answer in {} s", PATIENCE.as_secs()),
                mpsc::RecvTimeoutError::Disconnected => "it ended before it had answered".into(),
            })?;
        let Ok(mut answer) = serde_json::from_slice::<Value>(&line) else { continue };
        let id = answer.get("id").and_then(Value::as_u64);
        let Some(at) = ASKED.iter().position(|(asked, _)| Some(*asked) == id) else { continue };
        if let Some(error) = answer.get("error") {
            return Err(format!("{}: {error}", ASKED[at].1));
        }
        answers[at] = Some(answer.get_mut("result").map(Value::take).unwrap_or_default());
    }
    Ok(answers.map(Option::unwrap_or_default))
}

/// The parts of the launch that must hold.
struct Meant<'a> {
    /// The line of its entries.
    command: &'a str,
    sandbox: &'a str,
    /// The settings that the launch gives.
    settings: &'a [String],
}

impl Meant<'_> {
    /// The first difference in the vendor's report.
    fn differs(&self, [hooks, requirements, config]: &[Value; 3]) -> Option<String> {
        self.requirements(requirements.get("requirements").unwrap_or(&Value::Null))
            .or_else(|| self.hooks(hooks))
            .or_else(|| self.config(config))
    }

    fn requirements(&self, required: &Value) -> Option<String> {
        let whose = "what is required of every session here";
        if required.get("allowManagedHooksOnly").and_then(Value::as_bool) == Some(true) {
            return Some(format!("{whose} (allow_managed_hooks_only) drops the hooks of this run"));
        }
        let feature = |(name, on): (&str, bool)| {
            let set = required.get("featureRequirements")?.get(name)?.as_bool()?;
            (set != on).then(|| format!("{whose} sets features.{name} to {set}"))
        };
        let refused = |list: &str, wanted: &str, what: &str| {
            let allowed = required.get(list)?.as_array()?;
            let names: Vec<String> =
                allowed.iter().map(|name| name.as_str().map_or(name.to_string(), String::from)).collect();
            (!names.iter().any(|name| name == wanted)).then(|| {
                format!("{whose} allows no {what} {wanted}, which this run asks for; allowed: {}", names.join(", "))
            })
        };
        FEATURES
            .into_iter()
            .find_map(feature)
            .or_else(|| refused("allowedApprovalPolicies", "never", "approval policy"))
            .or_else(|| refused("allowedSandboxModes", self.sandbox, "sandbox"))
    }

    /// Each of the entries must be active, and no other hook.
    fn hooks(&self, listed: &Value) -> Option<String> {
        let all: Vec<&Value> = listed.get("data").and_then(Value::as_array).into_iter().flatten().collect();
        let hooks = || all.iter().filter_map(|entry| entry.get("hooks")?.as_array()).flatten();
        let word = |hook: &Value, name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
        let heard = |hook: &Value| {
            let trusted = matches!(word(hook, "trustStatus").as_str(), "trusted" | "managed");
            hook.get("enabled").and_then(Value::as_bool) == Some(true) && trusted
        };
        let keys = EVENTS.map(|(event, snake)| (event, trust_key(SESSION, snake, 0, 0)));
        let own = |hook: &Value, key: &str| {
            word(hook, "key") == key && word(hook, "source") == "sessionFlags" && word(hook, "command") == self.command
        };
        let unheard = keys.iter().find(|(_, key)| !hooks().any(|hook| own(hook, key) && heard(hook)));
        if let Some((event, _)) = unheard {
            return Some(format!("the hook of this run at {event} is not among those it hears"));
        }
        let other = hooks().find(|hook| heard(hook) && !keys.iter().any(|(_, key)| own(hook, key)));
        other.map(|hook| {
            let (source, event) = (word(hook, "source"), word(hook, "eventName"));
            let (path, line) = (word(hook, "sourcePath"), word(hook, "command"));
            format!("a hook that is none of this run's is heard beside it ({source}, {event}, {path}): {line}")
        })
    }

    fn config(&self, read: &Value) -> Option<String> {
        let config = read.get("config").unwrap_or(&Value::Null);
        let feature = |(name, on): (&str, bool)| {
            let set = config.get("features").and_then(|features| features.get(name)).and_then(Value::as_bool);
            (set != Some(on)).then(|| format!("features.{name} is not {on}"))
        };
        let search = self.settings.iter().any(|setting| setting == super::launch::NO_SEARCH);
        let search = search && config.get("web_search").and_then(Value::as_str) != Some("disabled");
        FEATURES.into_iter().find_map(feature).or_else(|| search.then(|| "web_search is not disabled".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> [Value; 3] {
        let hook = |(event, snake): (&str, &str)| {
            json!({"key": trust_key(SESSION, snake, 0, 0), "eventName": event, "command": "line", "source": "sessionFlags",
                   "enabled": true, "trustStatus": "trusted"})
        };
        [
            json!({"data": [{"cwd": "/", "hooks": EVENTS.map(hook), "errors": [], "warnings": []}]}),
            json!({"requirements": null}),
            json!({"config": {"features": {"hooks": true, "unified_exec_tty": false}, "web_search": "disabled"}}),
        ]
    }

    fn differs(answers: &[Value; 3]) -> Option<String> {
        let settings = [super::super::launch::NO_SEARCH.to_string()];
        Meant { command: "line", sandbox: "workspace-write", settings: &settings }.differs(answers)
    }

    #[test]
    fn what_the_vendor_has_otherwise_is_named() {
        assert_eq!(differs(&answers()), None);
        let fine = json!({"allowedApprovalPolicies": ["never"], "allowedSandboxModes": ["workspace-write"],
                          "featureRequirements": {"hooks": true}, "allowManagedHooksOnly": false});
        let set = |which: usize, at: &str, value: Value| {
            let mut all = answers();
            match all[which].pointer_mut(at) {
                Some(place) => *place = value,
                None => panic!("{at}"),
            }
            all
        };
        assert_eq!(differs(&set(1, "/requirements", fine)), None);
        for (which, at, value, named) in [
            (1, "/requirements", json!({"allowManagedHooksOnly": true}), "allow_managed_hooks_only"),
            (1, "/requirements", json!({"featureRequirements": {"hooks": false}}), "features.hooks to false"),
            (
                1,
                "/requirements",
                json!({"featureRequirements": {"unified_exec_tty": true}}),
                "features.unified_exec_tty to true",
            ),
            (1, "/requirements", json!({"allowedApprovalPolicies": ["on-request"]}), "no approval policy never"),
            (1, "/requirements", json!({"allowedSandboxModes": ["read-only"]}), "no sandbox workspace-write"),
            (0, "/data", json!([]), "at PreToolUse is not among"),
            (0, "/data/0/hooks/1/enabled", json!(false), "at PermissionRequest is not among"),
            (0, "/data/0/hooks/0/trustStatus", json!("untrusted"), "at PreToolUse is not among"),
            (0, "/data/0/hooks/0/command", json!("another"), "at PreToolUse is not among"),
            (0, "/data/0/hooks/0/source", json!("user"), "at PreToolUse is not among"),
            (2, "/config/features/hooks", json!(false), "features.hooks is not true"),
            (2, "/config/features/unified_exec_tty", json!(null), "features.unified_exec_tty is not false"),
            (2, "/config/web_search", json!("live"), "web_search"),
        ] {
            let found = differs(&set(which, at, value));
            assert!(found.as_ref().is_some_and(|why| why.contains(named)), "{named}: {found:?}");
        }
        for (trust, on, told) in
            [("managed", true, true), ("trusted", true, true), ("untrusted", true, false), ("managed", false, false)]
        {
            let mut all = answers();
            let other = json!({"key": "k", "eventName": "stop", "command": "evil", "source": "system", "sourcePath": "/etc/codex/hooks.json",
                               "enabled": on, "trustStatus": trust});
            all[0]["data"][0]["hooks"].as_array_mut().unwrap().push(other);
            assert_eq!(
                differs(&all).is_some_and(|why| why.contains("/etc/codex/hooks.json") && why.contains("evil")),
                told,
                "{trust} {on}"
            );
        }
    }
}
