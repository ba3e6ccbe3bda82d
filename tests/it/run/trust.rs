//! Attempts to fool `mh-run`: a prompt that is an option, the caller's environment, a record by another writer, a call
//! that ran after its denial.

use std::io::Write as _;
use std::process::{Output, Stdio};

use crate::common::room::{Ended, Room};
use serde_json::{Value, json};

const READ: &str = "call c1 Read '{\"file_path\":\"/a\"}'";

/// A run with this prompt and this stdin.
fn prompted(room: &Room, words: &[&str], stdin: &str) -> Output {
    let frame = room.path("frame.json");
    let mut command = room.command("claude", &["--frame", frame.to_str().unwrap()]);
    let mut child =
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // a program that refuses the command line does not read it
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn what_stands_behind_p_is_the_prompt_or_refused_and_never_an_option() {
    let room = Room::new();
    room.claude("begin; answer fine");
    for (words, stdin, prompt) in [
        (&["-p", "- a list"][..], "", "- a list"),
        (&["-p", "--x"], "", "--x"),
        (&["-p", "-x"], "", "-x"),
        (&["-p", "-p and more"], "", "-p and more"),
        (&["-p", "--frames"], "", "--frames"),
        (&["-p", "--program of events"], "", "--program of events"),
        (&["--prompt", "-"], "", "-"),
        (&["--print", "---"], "", "---"),
        (&["--prompt=--frame"], "", "--frame"),
        (&["--prompt=-p"], "", "-p"),
        (&["-p", "why?", "--model", "m"], "the log\n", "the log\n\nwhy?"),
        (&["-p"], "from there", "from there"),
        (&["--model", "m", "--prompt"], "from there", "from there"),
        (&["-p", "--", "--effort", "low"], "from there", "from there"),
        (&["-p", "x", "--", "--effort", "low"], "", "x"),
    ] {
        let ended = Ended::of(prompted(&room, words, stdin));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"), "{words:?} {ended:?}");
        assert_eq!(room.text("prompt"), prompt, "{words:?}");
    }
    fs_err::remove_file(room.path("prompt")).unwrap();
    let kept = room.path("kept.jsonl");
    let audit = format!("--audit={}", kept.display());
    for words in [
        &["-p", "--program=./evil.sh"][..],
        &["-p", &audit],
        &["-p", "--verbose"],
        &["-p", "--frame", "x"],
        &["-p", "-p", "x"],
        &["-p", "--help"],
        &["-p", "-h"],
        &["-p", "-V"],
        &["-p", "--version"],
        &["--prompt", "--print"],
        &["--print", "--prompt-file=x"],
        // a prompt that is the separator before the vendor's options
        &["-p", "--"],
        &["-p", "--", "--model", "m"],
        &["-p", "--", "--effort=low", "--output-format=json"],
    ] {
        let ended = Ended::of(prompted(&room, words, "from there"));
        ended.refused("--prompt=TEXT or use --prompt-file");
    }
    Ended::of(prompted(&room, &["-p", "--", "--", "--effort", "low"], "")).refused("SHADOWED: --: ");
    assert!(!kept.exists() && !room.path("prompt").exists());
}

#[test]
fn a_vendor_is_given_its_own_variables_by_a_list_and_none_that_a_shell_obeys() {
    let room = Room::new();
    room.claude("begin; answer fine");
    room.codex("begin; answer fine");
    let passed = [
        ("ANTHROPIC_BASE_URL", "http://x"),
        ("AWS_REGION", "r"),
        ("CLAUDE_CODE_USE_BEDROCK", "1"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "t"),
        ("CODEX_API_KEY", "k"),
        ("OPENAI_BASE_URL", "http://y"),
        ("MALLOC_ARENA_MAX", "2"),
    ];
    let dropped = ["BASH_ENV", "BASH_FUNC_echo%%", "BUN_OPTIONS", "GLIBC_TUNABLES", "NODE_OPTIONS", "SHELLOPTS"];
    for (kind, own) in [("claude", "CLAUDE_CODE_PLUGIN_DIRS"), ("codex", "CODEX_EXEC_SERVER_URL")] {
        let mut command = room.governed(kind, &[]);
        command.envs(passed).envs(dropped.map(|name| (name, "x"))).env(own, "x");
        command.env("CLAUDE_CODE_SESSION_ID", "s").env("MH_FRAME", "/nowhere");
        let ended = Ended::of(command.output().unwrap());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"), "{ended:?}");
        let environment = room.text("environment");
        let has = |name: &str| environment.lines().any(|line| line.split('=').next() == Some(name));
        for (name, _) in passed {
            assert!(has(name), "{kind} {name}: {environment}");
        }
        for name in dropped.iter().chain(&[own, "CLAUDE_CODE_SESSION_ID", "MH_FRAME"]) {
            assert!(!has(name), "{kind} {name}");
        }
        let mut names = dropped.to_vec();
        names.push(own);
        names.sort_unstable();
        assert_eq!(ended.stderr, format!("mh-run: variables that {kind} is not given: {}\n", names.join(", ")));
    }
    // nor the call that asks for the release
    room.program("bin/claude", "#!/bin/sh\n[ -z \"$BASH_ENV$BUN_OPTIONS\" ] && echo 2.1.332 || echo none\n");
    let mut command = room.governed("claude", &[]);
    let ended = Ended::of(command.env("BASH_ENV", "/x").env("BUN_OPTIONS", "--preload /x").output().unwrap());
    ended.failed("ended with exit code 0");
}

#[test]
fn a_cleared_environment_takes_no_such_variable_in_again() {
    let room = Room::new();
    room.claude("begin; answer fine");
    for (kind, name) in
        [("claude", "BASH_ENV"), ("claude", "CLAUDE_CODE_PLUGIN_DIRS"), ("codex", "SHELLOPTS"), ("claude", "MH_FRAME")]
    {
        room.run(kind, &["--hermetic", "--env", name]).refused(&format!("SHADOWED: --env {name}: it "));
    }
    assert_eq!(room.run("claude", &["--hermetic", "--env", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"]).code, Some(0));
}

#[test]
fn what_codexs_own_file_sets_for_every_hook_refuses_the_run() {
    let room = Room::new();
    room.codex("begin; answer fine");
    let file = room.path("home/.codex/.env");
    fs_err::write(&file, "A=1\nexport BASH_ENV=\"/x\"\n").unwrap();
    room.run("codex", &[]).refused(&format!("SHADOWED: {}: BASH_ENV ", file.display()));
    assert!(!room.path("prompt").exists());
    // a scratch home has none
    assert_eq!(room.run("codex", &["--hermetic"]).code, Some(0));
    assert!(room.path("prompt").exists());
    fs_err::write(&file, "OPENAI_API_KEY=x\n").unwrap();
    assert_eq!(room.run("codex", &[]).code, Some(0));
    // and a reader of lines gets that in lines
    fs_err::write(&file, "LD_PRELOAD=x\n").unwrap();
    let ended = Ended::of(room.governed("codex", &["--output-format", "events"]).output().unwrap());
    assert!(
        ended.code == Some(2) && ended.stdout.contains("SHADOWED") && ended.stdout.contains("LD_PRELOAD"),
        "{ended:?}"
    );
}

#[test]
fn the_vendors_descriptors_cannot_be_opened_by_their_names() {
    let room = Room::new();
    let open = "for n in 0 1 2; do (: >> /proc/$$/fd/$n) 2> /dev/null && echo $n >> \"$ROOM/opened\"; done; \
                ls -l /proc/$$/fd > \"$ROOM/all\"";
    room.claude(&format!("{open}; begin; {READ}; answer fine"));
    assert_eq!(room.run("claude", &[]).stdout, "fine\n");
    room.codex(&format!("{open}; begin; answer fine"));
    assert_eq!(room.run("codex", &[]).stdout, "fine\n");
    assert!(!room.path("opened").exists(), "{}", room.text("opened"));
    // nothing else of the run is passed down
    let all = room.text("all");
    assert!(all.contains("socket:") && !all.contains("mh-run-") && !all.contains("audit"), "{all}");
}

#[test]
fn the_end_of_a_turn_is_told_once_and_by_a_vendor_that_nobody_killed() {
    let room = Room::new();
    let second = "answer fine; say '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":2,\"result\":\"other\"}'";
    for (kind, body, outcome, why) in [
        ("claude", format!("begin; {READ}; {second}"), "unenforced", "says twice how the turn ended"),
        (
            "claude",
            "begin; answer fine; kill -9 $$".into(),
            "unenforced",
            "a signal that is none of this run's ended it (SIGKILL)",
        ),
        ("claude", "begin; answer fine; exit 137".into(), "unenforced", "(SIGKILL)"),
        ("claude", "begin; kill -9 $$".into(), "no_terminal_record", "ended without an exit code"),
        ("codex", "begin; answer fine; answer fine".into(), "unenforced", "says twice how the turn ended"),
        ("codex", "begin; answer fine; kill -15 $$".into(), "unenforced", "(SIGTERM)"),
    ] {
        room.claude(&body);
        room.codex(&body);
        let (code, object) = room.json(kind, &[]);
        assert_eq!(
            (code, &object["outcome"], &object["result"]),
            (Some(1), &json!(outcome), &Value::Null),
            "{body} {object}"
        );
        assert!(object["error"].as_str().unwrap().contains(why), "{object}");
    }
    // the end of a turn without a prompt is not the end of this one
    let other = "say '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":0,\"result\":\"\",\"origin\":{\"kind\":\"task-notification\"}}'";
    room.claude(&format!("begin; {other}; {READ}; answer fine; {other}"));
    assert_eq!(room.run("claude", &[]).stdout, "fine\n");
    room.claude(&format!("begin; {READ}; {other}"));
    assert_eq!(room.json("claude", &[]).1["outcome"], "no_terminal_record");
}

/// A result with the vendor's own record of the party that decided the call.
fn result(id: &str, failed: bool, decision: &str, source: &str) -> String {
    let refused = if decision == "reject" { "\"non_execution_kind\":\"permission-rule\"," } else { "" };
    format!(
        "say '{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"is_error\":{failed},\
         \"content\":\"x\"}}]}},\"tool_result_meta\":[{{\"id\":\"{id}\",{refused}\"permission_decision\":{{\"decision\":\"{decision}\",\
         \"source\":\"{source}\"}}}}]}}'"
    )
}

#[test]
fn what_ran_was_let_run_by_the_audit_and_by_the_vendors_own_word() {
    let room = Room::new();
    let read = "use c1 Read '{}'; hook PreToolUse Read c1 '{\"file_path\":\"/a\"}'";
    let web = "use c1 WebFetch '{}'; hook PreToolUse WebFetch c1 '{}'";
    let frame: &[&str] = &[];
    let deny_only: &[&str] = &["--decisions", "deny-only"];
    for (flags, call, end, why) in [
        (frame, web, "result c1 false ran".to_string(), Some("the hook denied it, and it ran")),
        (deny_only, web, "result c1 false ran".into(), Some("the hook denied it, and it ran")),
        (frame, web, result("c1", false, "accept", "hook"), Some("the hook denied it, and it ran")),
        (frame, web, result("c1", true, "accept", "config"), Some("the hook denied it, and it ran")),
        (frame, read, result("c1", false, "accept", "config"), Some("it ran by another's word")),
        (frame, read, result("c1", true, "accept", "user_temporary"), Some("it ran by another's word")),
        (
            deny_only,
            read,
            result("c1", false, "accept", "hook"),
            Some("by the word of a hook that is none of this run's"),
        ),
        (frame, read, result("c1", true, "reject", "hook"), Some("a hook stopped it, and no denial is in the audit")),
        (frame, read, result("c1", false, "accept", "hook"), None),
        (frame, read, "result c1 false ran".into(), None),
        (frame, read, result("c1", true, "reject", "config"), None),
        (frame, web, result("c1", true, "reject", "hook"), None),
        (frame, web, "result c1 true blocked".into(), None),
        (deny_only, read, result("c1", false, "accept", "config"), None),
        (deny_only, read, result("c1", false, "accept", "user_temporary"), None),
        (deny_only, web, result("c1", true, "reject", "hook"), None),
    ] {
        room.claude(&format!("begin; {call}; {end}; answer fine"));
        let (code, object) = room.json("claude", flags);
        match why {
            None => assert_eq!(code, Some(0), "{call} {end}: {object}"),
            Some(why) => {
                assert_eq!((code, &object["outcome"]), (Some(1), &json!("unenforced")), "{call} {end}: {object}");
                let named = &object["unenforced"][0];
                assert_eq!(named["call_id"], "c1");
                assert!(named["reason"].as_str().unwrap().contains(why), "{why}: {object}");
            }
        }
    }
    // in this mode the vendor's own rules decide after the hook
    let planned = "say '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\",\"permissionMode\":\"plan\"}'";
    room.claude(&format!("{planned}; {read}; {}; answer fine", result("c1", false, "accept", "config")));
    assert_eq!(room.run("claude", &[]).code, Some(0));
    room.claude(&format!("{planned}; {web}; {}; answer fine", result("c1", false, "accept", "config")));
    assert_eq!(room.json("claude", &[]).1["outcome"], "unenforced");
    // Codex's record has no such word; its rollout shows what ran
    room.codex(
        "begin; hook PreToolUse apply_patch x1 '{\"command\":\"*** Add File: a\"}'; ran x1 FileChange ''; answer fine",
    );
    let (code, object) = room.json("codex", &[]);
    assert_eq!((code, &object["unenforced"][0]["call_id"]), (Some(1), &json!("x1")));
    assert!(object["error"].as_str().unwrap().contains("the hook denied it, and it ran"), "{object}");
}

#[test]
fn hooks_and_plugins_that_are_none_of_the_runs_leave_the_turn_unenforced() {
    let room = Room::new();
    let hook = |kind: &str, event: &str, id: &str| {
        format!(
            "say '{{\"type\":\"system\",\"subtype\":\"hook_{kind}\",\"hook_id\":\"{id}\",\"hook_name\":\"{event}:x\",\"hook_event\":\"{event}\",\"exit_code\":0}}'"
        )
    };
    let init = |plugins: &str| {
        format!("say '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\",\"plugins\":[{plugins}]}}'")
    };
    let built_in = r#"{"name":"own","path":"builtin","source":"own@builtin"}"#;
    let both = |event: &str| {
        [
            hook("started", event, "a"),
            hook("started", event, "b"),
            hook("response", event, "a"),
            hook("response", event, "b"),
        ]
        .join("; ")
    };
    let after = |event: &str| {
        [
            hook("started", event, "a"),
            hook("response", event, "a"),
            hook("started", event, "b"),
            hook("response", event, "b"),
        ]
        .join("; ")
    };
    for (body, tool) in [
        (init(r#"{"name":"evil","path":"/x/evil"}"#), Some("plugin evil")),
        (init(&format!(r#"{built_in},"evil""#)), Some("plugin evil")),
        (format!("begin; {}", hook("started", "PostToolUse", "a")), Some("PostToolUse:x")),
        (format!("begin; {}", both("SessionStart")), Some("SessionStart:x")),
        (format!("begin; {}", both("UserPromptSubmit")), Some("UserPromptSubmit:x")),
        (
            format!("begin; {READ}; {}; {}", hook("response", "PreToolUse", "a"), hook("response", "PreToolUse", "b")),
            Some("PreToolUse"),
        ),
        (init(built_in), None),
        (format!("begin; {}", after("SessionStart")), None),
        (format!("begin; {READ}; {}", hook("response", "PreToolUse", "a")), None),
    ] {
        room.claude(&format!("{body}; answer fine"));
        let (code, object) = room.json("claude", &[]);
        match tool {
            None => assert_eq!(code, Some(0), "{body}: {object}"),
            Some(tool) => {
                assert_eq!((code, &object["outcome"]), (Some(1), &json!("unenforced")), "{body}: {object}");
                assert_eq!(object["unenforced"][0]["tool"], tool, "{object}");
            }
        }
    }
}

#[test]
fn a_turn_leaves_nothing_in_the_background_and_nothing_for_later() {
    let room = Room::new();
    room.claude("begin; answer fine");
    let mut command = room.governed("claude", &[]);
    command.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "0").env("CLAUDE_CODE_DISABLE_CRON", "0");
    let ended = Ended::of(command.output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for set in ["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_DISABLE_CRON=1"] {
        assert!(room.text("environment").lines().any(|line| line == set), "{set}");
    }
    let arguments = room.text("arguments");
    let tools = arguments.lines().skip_while(|line| *line != "--tools").nth(1).unwrap();
    assert!(tools.contains("Bash") && !tools.contains("Monitor"), "{tools}");
}

#[test]
fn codex_is_launched_without_rules_of_others_and_with_its_hooks_switched_on() {
    let room = Room::new();
    room.codex("begin; answer fine");
    assert_eq!(room.run("codex", &[]).code, Some(0));
    let arguments = room.text("arguments");
    assert!(arguments.lines().any(|line| line == "--ignore-rules"));
    let state = arguments.lines().find(|line| line.starts_with("hooks.state=")).unwrap();
    assert_eq!(state.matches("trusted_hash=").count(), 5);
    assert_eq!(state.matches(",enabled=true}").count(), 5, "{state}");
}

#[test]
fn a_scratch_home_has_the_login_by_a_link() {
    let room = Room::new();
    let look = "for f in \"$CODEX_HOME/auth.json\" \"$CLAUDE_CONFIG_DIR/.credentials.json\"; do \
                [ -L \"$f\" ] && printf renewed > \"$f\"; done";
    room.codex(&format!("{look}; begin; answer fine"));
    room.claude(&format!("{look}; begin; answer fine"));
    fs_err::create_dir(room.path("home/.claude")).unwrap();
    for (kind, file) in [("codex", "home/.codex/auth.json"), ("claude", "home/.claude/.credentials.json")] {
        fs_err::write(room.path(file), "old").unwrap();
        room.run(kind, &["--hermetic", "--credentials", "none"]);
        assert_eq!(room.text(file), "old");
        room.run(kind, &["--hermetic"]);
        assert_eq!(room.text(file), "renewed", "{kind}");
        // a missing file is no fault
        fs_err::remove_file(room.path(file)).unwrap();
        assert_ne!(room.run(kind, &["--hermetic"]).code, Some(2));
    }
    // a login in a keyring belongs to the folder that it was made for
    fs_err::write(room.path("home/.codex/config.toml"), "cli_auth_credentials_store = \"keyring\"\n").unwrap();
    room.run("codex", &["--hermetic"]).refused("a login in a keyring does not go along");
    assert_ne!(room.run("codex", &["--hermetic", "--credentials", "api-key"]).code, Some(2));
}

#[test]
fn codex_is_asked_what_it_makes_of_the_launch_before_the_first_prompt() {
    let room = Room::new();
    room.codex("begin; answer fine");
    for (required, why) in [
        (r#"{"allowManagedHooksOnly":true}"#, "allow_managed_hooks_only"),
        (r#"{"featureRequirements":{"hooks":false}}"#, "features.hooks to false"),
        (r#"{"allowedApprovalPolicies":["on-request"]}"#, "no approval policy never"),
        (r#"{"allowedSandboxModes":["read-only"]}"#, "no sandbox workspace-write"),
    ] {
        fs_err::write(room.path("required"), required).unwrap();
        room.run("codex", &[]).refused(why);
    }
    assert!(!room.path("prompt").exists());
    fs_err::write(room.path("required"), r#"{"allowedSandboxModes":["read-only","workspace-write"]}"#).unwrap();
    assert_eq!(room.run("codex", &[]).code, Some(0));
    // a vendor that cannot be asked is not started
    let asked =
        "#!/bin/sh\n[ \"$1\" = --version ] && { echo codex-cli 0.171.0; exit; }\necho 'no such command' >&2; exit 2\n";
    room.program("bin/codex", asked);
    room.run("codex", &[]).refused("it ended before it had answered: no such command");
    room.program(
        "bin/codex",
        &asked.replace(
            "echo 'no such command' >&2; exit 2",
            "echo '{\"id\":2,\"error\":{\"code\":-1}}'; exec cat > /dev/null",
        ),
    );
    room.run("codex", &[]).refused("hooks/list: {\"code\":-1}");
    assert_eq!(fs_err::read_dir(room.path("tmp")).unwrap().count(), 0);
}

#[test]
fn what_the_run_itself_has_open_cannot_be_opened_by_its_agent() {
    let room = Room::new();
    let open = "for n in 0 1; do (: >> /proc/$PPID/fd/$n) 2> /dev/null && echo $n >> \"$ROOM/opened\"; done; \
                (: < /proc/self/fd/0) 2> /dev/null; echo ran > \"$ROOM/ran\"";
    room.claude(&format!("{open}; begin; {READ}; answer fine"));
    let run = room.governed("claude", &[]);
    // root may trace every process, unless it gives that up
    let mut command = std::process::Command::new("setpriv");
    command.args(["--bounding-set", "-sys_ptrace", "true"]).stderr(Stdio::null());
    let root = rustix::process::geteuid().is_root();
    let mut command = match (root, command.status()) {
        (false, _) => run,
        (true, Ok(status)) if status.success() => {
            let mut command = std::process::Command::new("setpriv");
            command.args(["--bounding-set", "-sys_ptrace"]).arg(run.get_program()).args(run.get_args());
            command.env_remove("LD_LIBRARY_PATH").current_dir(room.path("project"));
            command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command
        }
        _ => return,
    };
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"), "{ended:?}");
    assert!(room.path("ran").exists() && !room.path("opened").exists(), "{}", room.text("opened"));
}
