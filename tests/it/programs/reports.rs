//! Complaints of people who use tool hooks, guards and hashed JSON. Each test meets the complaints above it.
//! `owner/repository#number` is `https://github.com/owner/repository/issues/number`.

use serde_json::{Value, json};

use metaharness::frame::shown;

use crate::common::{Answer, CLAUDE, CODEX, GOLDEN, Run, Scratch, VENDORS, bytes, call, event, fixture, run, shell};

fn golden() -> std::path::PathBuf {
    fixture("golden/frame.json")
}

fn fire(vendor: &str, payload: &Value) -> Answer {
    Run::hook(vendor).frame(golden()).stdin(bytes(payload)).answer()
}

#[track_caller]
fn denied(vendor: &str, payload: &Value) -> String {
    fire(vendor, payload).denial()
}

/// The printed entry of Claude Code's hook for an event.
fn claude_entry(event: &str) -> Value {
    let answer = run("mh-setup", ["claude", "--print", "--frame", golden().to_str().unwrap()]);
    let settings: Value = serde_json::from_str(&answer.stdout).unwrap();
    settings["hooks"][event][0].clone()
}

fn codex_entries() -> String {
    let run = Run::of("mh-setup").args(["codex", "--print", "--frame", golden().to_str().unwrap()]);
    run.env("CODEX_HOME", "/srv/codex").answer().stdout
}

// anthropics/claude-code#6305: the author looked for the tool's name in variables that do not exist, and thought that
// hooks never run
#[test]
fn the_call_is_on_stdin_and_an_empty_stdin_is_named() {
    let run = Run::hook(CLAUDE).frame(golden()).env("TOOL_NAME", "Bash").env("CLAUDE_TOOL_NAME", "Bash");
    assert!(run.answer().denial().contains("the payload on standard input was empty"));
}

// anthropics/claude-code#44707 and #21988: a guard that blocks by exit 1 blocks nothing
#[test]
fn every_refusal_ends_with_0_or_2() {
    for vendor in VENDORS {
        for args in [&["--frame", "/nonexistent"][..], &["--frame", ""], &["--frame"], &["--x"], &["--digest", "0"]] {
            for payload in [&shell(vendor)[..], b"", b"\0", b"{\"hook_event_name\":\"PreToolUse\"}"] {
                assert_eq!(Run::hook(vendor).args(args).stdin(payload).answer().code, 2);
            }
        }
    }
}

// anthropics/claude-code#80697: the interpreter of a hook could not start and ended with its own exit 2, and every call
// was blocked
#[test]
fn the_entry_runs_the_program_by_its_absolute_path() {
    let entry = claude_entry("PreToolUse")["hooks"][0].clone();
    let command = std::path::PathBuf::from(entry["command"].as_str().unwrap());
    assert!(command.is_absolute() && command.is_file());
    assert_eq!(fs_err::read(command).unwrap()[..4], *b"\x7fELF", "no interpreter line");
}

// anthropics/claude-code#84656 and #84302: the hook took longer than its timeout, and the tool ran
#[test]
fn the_entry_has_a_timeout_and_fails_closed_and_a_fifo_blocks_nothing() {
    for event in ["PreToolUse", "PreSkillShellCommand", "UserPromptSubmit", "SessionStart", "SubagentStart"] {
        let entry = claude_entry(event)["hooks"][0].clone();
        assert_eq!((&entry["timeout"], &entry["onFailure"]), (&json!(30), &json!("block")));
    }
    let scratch = Scratch::new();
    let fifo = scratch.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    // opening a FIFO without a writer would block for ever
    let reason = Run::hook(CLAUDE).env("MH_FRAME", fifo).stdin(shell(CLAUDE)).answer().denial();
    assert!(reason.contains("it is a named pipe, not a regular file"));
}

// plastic-labs/claude-honcho#59, chaitanyagiri/munder-difflin#121: a timeout in the wrong unit
#[test]
fn timeouts_are_whole_seconds_from_1_to_60() {
    let claude = claude_entry("PreToolUse")["hooks"][0]["timeout"].as_u64().unwrap();
    assert!((1..=60).contains(&claude));
    let codex = codex_entries();
    let timeouts: Vec<u64> =
        codex.lines().filter_map(|line| line.strip_prefix("timeout = ")).map(|value| value.parse().unwrap()).collect();
    assert_eq!(timeouts.len(), 5);
    assert!(timeouts.iter().all(|seconds| (1..=60).contains(seconds)));
}

// openai/codex#46210, #21639, #22847: an untrusted hook is skipped without a message
#[test]
fn the_same_entry_prints_the_same_trust_and_another_entry_another() {
    let hashes =
        |text: &str| text.lines().filter(|line| line.starts_with("trusted_hash")).map(String::from).collect::<Vec<_>>();
    assert_eq!(codex_entries(), codex_entries());
    let golden = golden();
    let args = ["codex", "--print", "--frame", golden.to_str().unwrap(), "--policy", "frame"];
    let other = Run::of("mh-setup").args(args).env("CODEX_HOME", "/srv/codex").answer().stdout;
    for (one, other) in hashes(&codex_entries()).iter().zip(hashes(&other)) {
        assert_ne!(*one, other);
    }
}

// anthropics/claude-code#4669: a decision at the top level does not count
#[test]
fn a_denial_has_exactly_the_shape_that_the_vendor_reads() {
    let answer = fire(CLAUDE, &call(CLAUDE, "WebFetch", json!({})));
    let reason = answer.denial();
    let wanted = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason } });
    assert_eq!(answer.json(), wanted);
}

// anthropics/claude-code#13756, #23284, #26923: exit 2 together with JSON did not block
#[test]
fn a_denial_has_the_same_reason_in_json_and_on_stderr_with_exit_2() {
    for (vendor, tool) in [(CLAUDE, "Task"), (CODEX, "spawn_agent")] {
        denied(vendor, &call(vendor, tool, json!({})));
    }
}

// i9wa4/dotfiles#378, reboot-dev/reboot#118, termaxa/termaxa#74, openai/codex#20756,
// kunchenguid/firstmate#810, hashgraph-online/hol-guard#3013: a bare allow, or an ask, marks the
// hook as failed on Codex, and the call runs
#[test]
fn codex_is_told_nothing_of_an_admitted_call_and_never_to_ask() {
    for policy in ["frame", "deny-only"] {
        let run = Run::hook(CODEX).frame(fixture("frames/everything.json")).args(["--policy", policy]);
        run.stdin(shell(CODEX)).answer().is_silent();
    }
    for row in crate::common::table("payloads/codex.tsv", ["payload", "frame", "policy", "answer", "says"]) {
        assert_ne!(row[3], "ask");
    }
}

// openai/codex#27833: a shell in between turned exit 2 into 1, and the patch was written
#[test]
fn the_json_on_stdout_denies_without_the_exit_code() {
    let patch = json!({ "command": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch" });
    let run = Run::hook(CODEX).frame(fixture("frames/read-only.json"));
    let answer = run.stdin(bytes(&call(CODEX, "apply_patch", patch))).answer();
    assert_eq!(answer.json()["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(!answer.json()["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().trim().is_empty());
}

// Dicklesworthstone/destructive_command_guard#183: on Codex, the guard denied by exit 2 alone
#[test]
fn codex_gets_json_on_stdout_and_the_reason_on_stderr() {
    let answer = fire(CODEX, &call(CODEX, "web_search", json!({})));
    assert_eq!(
        answer.stderr.trim_end(),
        answer.json()["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap()
    );
}

// thedotmack/claude-mem#3910, #3280, #4081: with two objects on stdout, neither counts
#[test]
fn stdout_is_empty_or_one_object_and_a_line_feed() {
    for vendor in VENDORS {
        for name in ["PreToolUse", "PermissionRequest", "UserPromptSubmit", "SessionStart", "SubagentStart", "Stop"] {
            for frame in [golden(), "/nonexistent".into()] {
                let answer = Run::hook(vendor).frame(frame).stdin(bytes(&event(vendor, name))).answer();
                if !answer.stdout.is_empty() {
                    answer.json();
                }
            }
        }
    }
}

// anthropics/claude-code#39344: a hook's ask overrode what the user had denied
#[test]
fn claude_is_never_told_to_ask_and_an_approval_is_never_granted() {
    for frame in ["everything", "nothing", "read-only"] {
        for tool in ["Bash", "Write", "AskUserQuestion", "CronCreate", "Nonsense"] {
            for name in ["PreToolUse", "PermissionRequest"] {
                let mut payload = call(CLAUDE, tool, json!({ "file_path": "/a", "command": "x" }));
                payload["hook_event_name"] = name.into();
                let answer =
                    Run::hook(CLAUDE).frame(fixture(format!("frames/{frame}.json"))).stdin(bytes(&payload)).answer();
                assert!(!answer.stdout.contains("\"ask\""), "{answer:?}");
                assert!(name == "PreToolUse" || !answer.stdout.contains("\"allow\""), "{answer:?}");
            }
        }
    }
}

// Dicklesworthstone/destructive_command_guard#401, #280: a denial without a usable reason, and an explanation that
// contradicted it
#[test]
fn a_reason_names_the_operation_and_the_frame_and_the_explanation_is_the_answer() {
    let scratch = Scratch::new();
    for (vendor, tool, operation) in [(CLAUDE, "WebFetch", "web.read"), (CODEX, "update_plan", "task.todo")] {
        let payload = call(vendor, tool, json!({}));
        let answer = fire(vendor, &payload);
        let reason = answer.denial();
        assert!(
            reason.contains(&format!("needs {operation}, ")) && reason.ends_with(&format!("frame {}", &GOLDEN[..12]))
        );
        let file = scratch.file("payload.json", bytes(&payload));
        let golden = golden();
        let args = [golden.to_str().unwrap(), "--explain", vendor, "--payload", file.to_str().unwrap()];
        let explained = run("mh-frame-verify", args);
        assert!(explained.stdout.contains(&format!("stdout: {}", answer.stdout)), "{}", explained.stdout);
    }
}

// JeongJaeSoon/agent-guard#112, nizos/probity#29: a list of names misses other tools that edit
#[test]
fn every_tool_that_edits_needs_file_edit_and_the_matcher_is_every_tool() {
    assert_eq!(claude_entry("PreToolUse")["matcher"], "*");
    for (tool, member) in [("NotebookEdit", "notebook_path"), ("MultiEdit", "file_path"), ("Edit", "file_path")] {
        let payload = call(CLAUDE, tool, json!({ member: "/nonexistent/a" }));
        assert_eq!(fire(CLAUDE, &payload).json()["hookSpecificOutput"]["permissionDecision"], "allow");
        let run = Run::hook(CLAUDE).frame(fixture("frames/read-only.json")).stdin(bytes(&payload));
        assert!(run.answer().denial().starts_with(&format!("{tool} needs file.edit, which is not admitted")));
    }
}

// mksglu/context-mode#64: a tool was renamed, and the guard knew only its old name
#[test]
fn an_agent_is_a_sub_agent_by_its_old_name_and_its_new_one() {
    for tool in ["Task", "Agent"] {
        let reason = denied(CLAUDE, &call(CLAUDE, tool, json!({ "prompt": "x" })));
        assert!(reason.starts_with(&format!("{tool} needs subagent.spawn, which is not admitted")));
    }
}

// DeusData/codebase-memory-mcp#1082: in some builds the shell is the only tool for searching
#[test]
fn a_frame_that_admits_a_search_and_no_shell_is_warned_of() {
    let answer = run("mh-frame-verify", [fixture("frames/read-only.json")]);
    assert_eq!(answer.code, 0);
    assert!(answer.stderr.contains("Codex has no tool for dir.list, file.read, search: its shell does that"));
    assert!(answer.stderr.contains("Claude Code offers its tools for dir.list, search only when asked"));
}

// anthropics/claude-code#71688, #74203: commas and hyphens in a matcher matched nothing
#[test]
fn a_server_with_a_hyphen_is_named_like_any_other() {
    let run = Run::hook(CLAUDE).frame(fixture("documents/mcp-hyphen.json"));
    let answer = run.stdin(bytes(&call(CLAUDE, "mcp__brave-search__brave_web_search", json!({})))).answer();
    assert_eq!(answer.json()["hookSpecificOutput"]["permissionDecision"], "allow");
    assert!(!claude_entry("PreToolUse")["matcher"].as_str().unwrap().contains(','));
}

// openai/codex#26733, #16732: a patch is one text, so no matcher for Edit or Write sees it
#[test]
fn a_patch_needs_every_operation_of_its_files() {
    let scratch = Scratch::new();
    let says = |operations: &[&str], header: &str| {
        let patch = json!({ "command": format!("*** Begin Patch\n*** {header}\n*** End Patch") });
        let run = Run::hook(CODEX).frame(scratch.admitting(operations));
        run.stdin(bytes(&call(CODEX, "apply_patch", patch))).answer().code
    };
    for (header, write, edit) in [
        ("Add File: a", 0, 2),
        ("Delete File: a", 0, 2),
        ("Update File: a", 2, 0),
        ("Update File: a\n*** Move to: b", 2, 2),
    ] {
        assert_eq!((says(&["file.write"], header), says(&["file.edit"], header)), (write, edit), "{header}");
        assert_eq!(says(&["file.write", "file.edit"], header), 0, "{header}");
    }
}

// openai/codex#23411, #46372: some input to a running shell reaches no hook
#[test]
fn writing_to_a_running_shell_needs_shell() {
    let payload = call(CODEX, "write_stdin", json!({ "session_id": 1, "chars": "rm -rf x\n" }));
    fire(CODEX, &payload).is_silent();
    let run = Run::hook(CODEX).frame(fixture("frames/edit-only.json")).stdin(bytes(&payload));
    assert!(run.answer().denial().starts_with("write_stdin needs shell, which is not admitted"));
}

// anthropics/claude-code#40580, #43612, #21460, #88441, aflock-ai/aflock#100: a sub-agent's calls escaped the guard
#[test]
fn a_sub_agents_call_is_judged_like_any_other() {
    for vendor in VENDORS {
        for tool in ["Bash", "mcp__lab__note", "Nonsense"] {
            let mut payload = call(vendor, tool, json!({ "command": "x" }));
            let own = fire(vendor, &payload);
            payload["agent_id"] = "a".into();
            payload["agent_type"] = "general-purpose".into();
            assert_eq!(fire(vendor, &payload), own);
        }
    }
}

// names that look like a tool's name and belong to no tool
#[test]
fn a_name_is_a_tools_only_if_it_is_exactly_equal() {
    for vendor in VENDORS {
        let (product, release) = if vendor == CLAUDE { ("Claude Code", "2.1.332") } else { ("Codex", "0.171.0") };
        for (name, shown) in [
            ("B\u{430}sh", "B\\u{430}sh"),
            ("Bash\0", "Bash\\u{0}"),
            (" Bash", " Bash"),
            ("Bash ", "Bash "),
            ("BASH", "BASH"),
            ("bash", "bash"),
            ("Bash\n", "Bash\\n"),
            ("\u{200b}Bash", "\\u{200b}Bash"),
            ("\u{ff22}ash", "\\u{ff22}ash"),
            ("", ""),
        ] {
            let reason = denied(vendor, &call(vendor, name, json!({ "command": "true" })));
            let wanted = format!(
                "{shown} is unknown to the tool table of {product} {release}, so nothing says which operation it is (step 2, "
            );
            assert!(reason.starts_with(&wanted), "{reason}");
            assert!(reason.is_ascii());
        }
    }
}

// tirth8205/code-review-graph#493: a hook that answers before it has read breaks its host's pipe
#[test]
fn the_pipe_is_read_to_its_end_whatever_the_answer() {
    for vendor in VENDORS {
        let large = bytes(&call(vendor, "mcp__a__b", json!({ "content": "x".repeat(2 * 1024 * 1024) })));
        Run::hook(vendor).frame(golden()).stdin(large.clone()).answer().denial();
        Run::hook(vendor).args(["--nonsense"]).stdin(large.clone()).answer().denial();
        Run::hook(vendor).stdin(large).answer().is_silent();
    }
}

// anthropics/claude-code#42702, #67326: stdin is sometimes empty
#[test]
fn an_empty_stdin_is_a_denial_that_says_so() {
    for vendor in VENDORS {
        let reason = Run::hook(vendor).frame(golden()).answer().denial();
        assert!(reason.starts_with(&format!("mh-hook-{vendor}: the payload on standard input was empty; ")));
    }
}

// duncatzat/vigils#65: a panic ends with 101, and the call runs
#[test]
fn no_payload_makes_a_hook_panic_and_a_panic_would_be_caught() {
    // with `panic = "abort"` a panic would be a signal; catching panics has a test of its own
    let manifest = fs_err::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    assert!(manifest.contains("panic = \"unwind\"") && !manifest.contains("panic = \"abort\""));
    // many payloads, each a recorded one with a few bytes changed: every one gets a verdict
    use metaharness::adapter::{claude::Claude, codex::Codex};
    use metaharness::hook::{HookOptions, Surroundings, judge};
    use metaharness::os::Stdin;
    let setup = HookOptions { frame: Some(golden()), ..HookOptions::default() };
    let environment = |_: &str| None;
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize
    };
    for recorded in [
        "payloads/claude/Glob.json",
        "payloads/codex/PreToolUse.apply_patch.json",
        "payloads/claude/mcp__lab__do__it.json",
    ] {
        let whole = fs_err::read(fixture(recorded)).unwrap();
        for _ in 0..crate::common::times(4_000, 500) {
            let mut bytes = whole.clone();
            for _ in 0..1 + random() % 3 {
                let at = random() % bytes.len();
                match random() % 3 {
                    0 => bytes[at] = random() as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"\"\\{}[],:*/.\n0"[random() % 13]),
                }
            }
            let around = Surroundings {
                environment: &environment,
                folder: Some("/nonexistent".into()),
                embedder: None,
                deadline: None,
            };
            let input = Stdin { bytes, fault: None };
            judge(&Claude, &setup, &input, &around);
            judge(&Codex, &setup, &input, &around);
        }
    }
}

// Clear-Sights/Makoto#35: a lone surrogate could not be parsed, and the call ran
#[test]
fn a_lone_surrogate_is_a_denial() {
    for vendor in VENDORS {
        let payload = String::from_utf8(shell(vendor)).unwrap().replace("true", "\\ud83d");
        let reason = Run::hook(vendor).frame(golden()).stdin(payload).answer().denial();
        assert!(reason.contains("a lone surrogate, `\\ud83d`, which is no character"));
    }
}

// anthropics/claude-code#9447, #27343, #33815, #57959, openai/codex#40325: a variable that was set for the agent does
// not reach its hooks
#[test]
fn a_lost_variable_means_no_frame_unless_one_is_required() {
    for vendor in VENDORS {
        Run::hook(vendor).stdin(shell(vendor)).answer().is_silent();
        let reason = Run::hook(vendor).args(["--require-frame"]).stdin(shell(vendor)).answer().denial();
        assert!(reason.contains("no frame is in force, and one is required"));
    }
}

// chitinhq/agentguard#622, Drakon-Systems-Ltd/ShieldCortex#500, IgorGanapolsky/ThumbGate#2781: the agent edited its own
// guard
#[test]
fn an_admitted_write_does_not_reach_the_guard() {
    let scratch = Scratch::new();
    let frame = scratch.admitting(&["file.write"]);
    let hook = fs_err::canonicalize(crate::common::program("mh-hook-claude")).unwrap();
    for (path, what) in [
        (frame.to_str().unwrap(), "the frame in force"),
        (hook.to_str().unwrap(), "the program that guards this step"),
        ("/nonexistent/.claude/settings.local.json", "the configuration of Claude Code"),
    ] {
        let payload = bytes(&call(CLAUDE, "Write", json!({ "file_path": path, "content": "" })));
        let reason = Run::hook(CLAUDE).frame(&frame).stdin(payload).answer().denial();
        assert!(reason.starts_with(&format!("Write would change {}, which is {what}: ", shown(path))), "{reason}");
    }
}
