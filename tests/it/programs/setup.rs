//! The entries that `mh-setup --print` prints: the hook's program is started by its path, every setting is on its
//! command line, and a failure blocks.

use serde_json::{Value, json};

use metaharness::os::permissions;

use crate::common::{Answer, GOLDEN, Run, Scratch, fixture, program, run};

fn golden() -> String {
    fixture("golden/frame.json").to_str().unwrap().into()
}

fn printed(args: &[&str]) -> String {
    let answer = Run::of("mh-setup").args(args).args(["--frame", &golden()]).env("CODEX_HOME", "/srv/codex").answer();
    assert_eq!((answer.code, &*besides_the_place(&answer.stderr)), (0, ""), "{answer:?}");
    answer.stdout
}

/// stderr without the warning about our own files in a temporary folder, where a checkout may be.
fn besides_the_place(stderr: &str) -> String {
    let told = [program("mh-hook-claude"), golden().into()].iter().any(|file| permissions::temporary(file).is_some());
    stderr.lines().filter(|line| !(told && line.contains(" lies in the temporary folder "))).collect()
}

#[test]
fn claude_gets_the_exec_form_that_fails_closed() {
    let settings: Value = serde_json::from_str(&printed(&["claude", "--print"])).unwrap();
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(settings.as_object().unwrap().len(), 1);
    let events: Vec<&String> = hooks.keys().collect();
    let mut wanted = ["PreToolUse", "PreSkillShellCommand", "UserPromptSubmit", "SessionStart", "SubagentStart"];
    wanted.sort_unstable();
    assert_eq!(events, wanted);
    let hook = program("mh-hook-claude");
    for groups in hooks.values() {
        let entry = json!({
            "type": "command", "command": hook, "args": ["--frame", golden(), "--digest", GOLDEN, "--policy", "deny-only"],
            "timeout": 30, "onFailure": "block",
        });
        assert_eq!(groups, &json!([{ "matcher": "*", "hooks": [entry] }]));
    }
    let with = |args: &[&str]| {
        let settings: Value = serde_json::from_str(&printed(&[&["claude", "--print"], args].concat())).unwrap();
        settings["hooks"]["PreToolUse"][0]["hooks"][0].clone()
    };
    let args = |args: &[&str]| with(args)["args"].clone();
    assert_eq!(args(&["--no-pin"]), json!(["--frame", golden(), "--policy", "deny-only"]));
    assert_eq!(
        args(&["--policy", "frame", "--audit", "/var/a.jsonl", "--require-frame"]),
        json!([
            "--frame",
            golden(),
            "--digest",
            GOLDEN,
            "--policy",
            "frame",
            "--audit",
            "/var/a.jsonl",
            "--require-frame"
        ])
    );
    let shell = with(&["--shell"]);
    assert_eq!(shell.get("args"), None);
    let line =
        format!("'{}' '--frame' '{}' '--digest' '{GOLDEN}' '--policy' 'deny-only' || exit 2", hook.display(), golden());
    assert_eq!(shell["command"], line);
}

#[test]
fn codex_gets_a_guard_line_and_its_trust_hashes() {
    let config = printed(&["codex", "--print"]);
    assert!(
        config.starts_with("[features]\nhooks = true\nunified_exec_tty = false\n\n[[hooks.PreToolUse]]\n"),
        "{config}"
    );
    let mut seen = 0;
    for (event, key) in [
        ("PreToolUse", "pre_tool_use"),
        ("PermissionRequest", "permission_request"),
        ("UserPromptSubmit", "user_prompt_submit"),
        ("SessionStart", "session_start"),
        ("SubagentStart", "subagent_start"),
    ] {
        assert!(config.contains(&format!("[[hooks.{event}.hooks]]\ntype = \"command\"\ncommand = \"")), "{config}");
        let trust = format!("[hooks.state.\"/srv/codex/config.toml:{key}:0:0\"]\ntrusted_hash = \"sha256:");
        let (_, hash) = config.split_once(&trust).unwrap_or_else(|| panic!("{config}"));
        assert!(hash[..64].bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        assert_eq!(hash[..64], trusted(key, &command(&config)));
        seen += 1;
    }
    assert_eq!(config.matches("trusted_hash").count(), seen);
    assert_eq!(config.matches("\ntimeout = 30\n").count(), seen);
    // an event that takes no context must not limit it
    assert_eq!(config.matches("\ntimeout = 30\nadditionalContextLimit = 12000\n").count(), seen - 1);
    let approval = config.split("[[hooks.PermissionRequest]]").nth(1).unwrap().split("\n[[hooks.").nth(1).unwrap();
    assert!(!approval.contains("additionalContextLimit"), "{approval}");
    assert!(!config.contains("matcher"), "an absent matcher is every tool");
    assert_eq!(config.matches("\nenabled = true\n").count(), seen);
    let line = command(&config);
    // the line shuts out functions from the environment
    let line = line.strip_prefix("POSIXLY_CORRECT=1; unset -f echo 2>/dev/null; ").unwrap();
    let (_, line) = line.split_once("/bin/timeout -k 1 25 ").unwrap_or(("", line));
    let hook = program("mh-hook-codex");
    let wanted = format!(
        "'{}' '--frame' '{}' '--digest' '{GOLDEN}' '--policy' 'deny-only' || {{ echo '(this call was not run)' >&2; exit 2; }}",
        hook.display(),
        golden()
    );
    assert_eq!(line, wanted);
}

/// The command of the first entry, without its quotes.
fn command(config: &str) -> String {
    let line = config.lines().find(|line| line.starts_with("command = ")).unwrap();
    serde_json::from_str(line.strip_prefix("command = ").unwrap()).unwrap()
}

/// The hash of an entry, as measured on Codex 0.171.0: over compact JSON with sorted keys.
fn trusted(event: &str, command: &str) -> String {
    let mut handler = json!({ "async": false, "command": command, "timeout": 30, "type": "command" });
    if event != "permission_request" {
        handler["additionalContextLimit"] = 12000.into();
    }
    let identity = json!({ "event_name": event, "hooks": [handler] });
    let bytes = serde_json_canonicalizer::to_vec(&identity).unwrap();
    <sha2::Sha256 as sha2::Digest>::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_same_call_prints_the_same_bytes() {
    for vendor in ["claude", "codex"] {
        assert_eq!(printed(&[vendor, "--print"]), printed(&[vendor, "--print"]));
    }
}

#[test]
fn the_printed_entry_runs() {
    // run as the shell would run it, with a call that the golden frame refuses
    let payload = |vendor: &str| crate::common::bytes(&crate::common::call(vendor, "mcp__a__b", json!({})));
    let settings: Value = serde_json::from_str(&printed(&["claude", "--print", "--shell"])).unwrap();
    let claude = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_string();
    let codex = command(&printed(&["codex", "--print"]));
    for (vendor, line) in [("claude", claude), ("codex", codex)] {
        let mut run = Run::hook(vendor);
        run.command = std::process::Command::new("/bin/sh");
        run.command.env_clear().args(["-c", &line]);
        for pipe in [std::process::Command::stdin, std::process::Command::stdout, std::process::Command::stderr] {
            pipe(&mut run.command, std::process::Stdio::piped());
        }
        let answer = run.stdin(payload(vendor)).answer();
        assert_eq!(answer.code, 2, "{answer:?}");
        assert_eq!(answer.json()["hookSpecificOutput"]["permissionDecision"], "deny");
        assert_eq!(answer.stderr.lines().last().unwrap() == "(this call was not run)", vendor == "codex");
        // without the program, the call is blocked too
        let gone = line.replace(&format!("mh-hook-{vendor}'"), "mh-hook-gone'");
        let output = std::process::Command::new("/bin/sh").env_clear().args(["-c", &gone]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_path_with_quotes_and_blanks_stays_one_word() {
    let scratch = Scratch::new();
    let frame = scratch.path("it's a \"frame\" $HOME `x` \\.json");
    fs_err::copy(golden(), &frame).unwrap();
    for (vendor, args) in [("claude", &["--print", "--shell"][..]), ("codex", &["--print"])] {
        let answer = Run::of("mh-setup").args([vendor]).args(args).frame(&frame).answer();
        let line = match vendor {
            "claude" => {
                let settings: Value = serde_json::from_str(&answer.stdout).unwrap();
                settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_string()
            }
            _ => command(&answer.stdout),
        };
        let call = scratch.file("call.json", crate::common::shell(vendor));
        let mut shell = std::process::Command::new("/bin/sh");
        shell.env_clear().args(["-c", &line]).stdin(fs_err::File::open(call).unwrap().into_parts().0);
        let output = shell.output().unwrap();
        assert_eq!((output.status.code(), &*output.stdout, &*output.stderr), (Some(0), &b""[..], &b""[..]), "{line}");
    }
}

#[test]
fn a_frame_that_is_refused_gets_no_entry() {
    let scratch = Scratch::new();
    let edited = scratch.file("f.json", fs_err::read_to_string(golden()).unwrap().replace("search", "shell"));
    let edited = edited.to_str().unwrap();
    let answer = run("mh-setup", ["claude", "--print", "--frame", edited]);
    assert_eq!((answer.code, &*answer.stdout), (1, ""));
    assert!(
        answer.stderr.starts_with(&format!("mh-setup: {edited}: edited: it says it is {GOLDEN}")),
        "{}",
        answer.stderr
    );
    let answer = run("mh-setup", ["codex", "--print", "--frame", "/nonexistent"]);
    let stderr = "mh-setup: /nonexistent: no such file or directory\n".to_string();
    assert_eq!(answer, Answer { code: 2, stdout: String::new(), stderr });
}
