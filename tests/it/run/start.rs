//! `mh-run` before the turn: refusals before anything starts, and the vendor's arguments and environment.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::room::{Ended, Room, like};

const ANSWER: &str = "begin; answer fine";

#[test]
fn a_wrong_command_line_is_refused_with_nothing_started() {
    let room = Room::new();
    room.claude(ANSWER).codex(ANSWER);
    for (kind, arguments, why) in [
        ("gemini", &["-p", "x"][..], "\"gemini\" is no vendor; there are claude and codex; see --help"),
        ("claude", &[], "no prompt is given: -p TEXT"),
        ("claude", &["--output-format", "json"], "no prompt is given"),
        ("claude", &["--verbose"], "no prompt is given"),
        ("claude", &["-p", "x", "-p", "y"], "the prompt is given twice"),
        ("claude", &["-p", "x", "--output-format", "yaml"], "--output-format takes text, json, stream-json or events"),
        ("claude", &["-p", "x", "--decisions", "observe"], "--decisions takes frame, deny-only or ask"),
        (
            "claude",
            &["-p", "x", "--timeout", "0"],
            "--timeout takes a whole number of seconds from 1 to 31536000, not \"0\"",
        ),
        ("claude", &["-p", "x", "--credentials", "none"], "--credentials goes with --hermetic"),
        ("claude", &["-p", "x", "--env", "A"], "--env goes with --hermetic"),
        ("claude", &["-p", "x", "--sandbox", "read-only"], "--sandbox is for codex"),
        ("codex", &["-p", "x", "--sandbox", "none"], "--sandbox takes read-only"),
        ("codex", &["-p", "x", "--project-instructions"], "--project-instructions is for claude"),
        ("claude", &["-p", "x", "--handoff-check"], "--handoff-check goes with --frame"),
        ("claude", &["-p", "x", "--decider", "exec:/bin/sh"], "--decider goes with --frame"),
        ("claude", &["-p", "x", "--decider", "exec:/nowhere"], "--decider /nowhere: no such file"),
        ("claude", &["-p", "x", "--decider", "exec:/etc/passwd"], "--decider /etc/passwd: it is not a program"),
        ("claude", &["-p", "x", "--decider", "unix:/etc/passwd"], "--decider /etc/passwd: it is not a socket"),
        ("claude", &["-p", "x", "--digest", "00"], "--digest takes 64"),
        ("claude", &["-p", "x", "--cwd", "/nowhere"], "/nowhere: not a folder"),
        ("claude", &["-p", "x", "--mcp-config", "/nowhere"], "/nowhere: no such file"),
        ("claude", &["-p", "x", "--nonsense"], "there is no flag --nonsense"),
        ("claude", &["-p", "x", "more"], "there is no argument \"more\"; see --help"),
        ("claude", &["-p", "x", "--needs", "interrupt,steer"], "UNSUPPORTED_CONTROL: steer cannot be honoured"),
        ("claude", &["-p", "x", "--needs", "tool.decide"], "UNSUPPORTED_CONTROL: tool.decide needs an embedder"),
        (
            "claude",
            &["-p", "x", "--", "--bare"],
            "SHADOWED: --bare: not an option that can be passed to claude under a frame; behind -- may stand: --add-dir VALUE, ",
        ),
        (
            "codex",
            &["-p", "x", "--", "-c", "features.hooks=false"],
            "SHADOWED: -c features.hooks=false: not a key that can be set under a frame; these can: hide_agent_reasoning, ",
        ),
        ("codex", &["-p", "x", "--", "--ephemeral"], "SHADOWED: --ephemeral: "),
    ] {
        Ended::of(room.command(kind, arguments).output().unwrap()).refused(why);
    }
    assert_eq!(room.text("arguments"), "");
}

#[test]
fn an_audit_that_no_line_can_be_written_to_is_refused_with_nothing_started() {
    let room = Room::new();
    room.claude(ANSWER);
    let pipe = room.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (audit, why) in [
        (pipe.to_str().unwrap(), "it is not a regular file"),
        ("/dev/full", "it is not a regular file"),
        ("/nowhere/audit", "no such file or directory"),
    ] {
        let run = room.command("claude", &["-p", "x", "--audit", audit]).output().unwrap();
        Ended::of(run).refused(&format!("the audit {audit} cannot be written to: {why}"));
    }
    assert_eq!(room.text("arguments"), "");
}

#[test]
fn a_frame_that_is_refused_is_refused_before_the_start() {
    let room = Room::new();
    room.claude(ANSWER);
    let run =
        |arguments: &[&str]| Ended::of(room.command("claude", &[&["-p", "x"], arguments].concat()).output().unwrap());
    run(&["--frame", "missing.json"]).refused("missing.json: no such file or directory");
    let frame = room.path("frame.json");
    let frame = frame.to_str().unwrap();
    run(&["--frame", frame, "--digest", &"0".repeat(64)]).refused("frame.json: pinned: ");
    let edited = room.text("frame.json").replace("file.read", "web.read");
    fs_err::write(room.path("edited.json"), edited).unwrap();
    run(&["--frame", "../edited.json"]).refused("edited.json: edited: ");
    assert_eq!(room.text("arguments"), "");
}

#[test]
fn a_vendor_that_is_missing_or_too_old_is_refused() {
    let room = Room::new();
    room.run("claude", &[]).refused("claude: not found on PATH; install it, or name it by --program");
    room.release("claude", "2.1.294 (Claude Code)");
    room.run("claude", &[]).refused("release 2.1.294 is too old");
    room.release("codex", "codex-cli 0.170.9");
    room.run("codex", &[]).refused("release 0.170.9 is too old");
    room.release("claude", "something else");
    room.run("claude", &[]).refused("--version names no release");
    room.run("claude", &["--program", "/nowhere/claude"]).refused("/nowhere/claude: cannot be started");
    room.claude(ANSWER);
    crate::common::copied(&room.path("bin/claude"), &room.path("other"));
    assert_eq!(room.run("claude", &["--program", room.path("other").to_str().unwrap()]).stdout, "fine\n");
}

#[test]
fn a_program_is_asked_its_release_once_and_again_when_its_file_has_changed() {
    let room = Room::new();
    // a program, not a script, that prints a release and nothing else
    let native = room.path("native");
    fs_err::copy(env!("CARGO_BIN_EXE_mh-frame-seal"), &native).unwrap();
    let run = || room.run("claude", &["--program", native.to_str().unwrap()]);
    let release = env!("CARGO_PKG_VERSION");
    run().refused(&format!("release {release} is too old"));
    // the release that it is taken for shows that it was not asked again
    let cache = room.path("home/.cache/metaharness-hooks/releases");
    let kept = fs_err::read_to_string(&cache).unwrap();
    assert_eq!(kept.matches(release).count(), 1, "{kept}");
    fs_err::write(&cache, kept.replace(&format!("\t{release}\n"), "\t2.1.332\n")).unwrap();
    assert_eq!(run().code, Some(1), "started");
    fs_err::OpenOptions::new()
        .append(true)
        .open(&native)
        .unwrap()
        .into_file()
        .set_len(fs_err::metadata(&native).unwrap().len() + 1)
        .unwrap();
    run().refused(&format!("release {release} is too old"));
    // a folder that cannot be written is no fault, and a script is asked each time
    room.claude(ANSWER);
    fs_err::remove_dir_all(room.path("home/.cache")).unwrap();
    fs_err::write(room.path("home/.cache"), "").unwrap();
    assert_eq!(room.run("claude", &[]).stdout, "fine\n");
    room.release("claude", "2.1.294 (Claude Code)");
    room.run("claude", &[]).refused("release 2.1.294 is too old");
}

#[test]
fn folders_that_a_turn_cannot_do_without_are_named_before_the_start() {
    let room = Room::new();
    room.claude(ANSWER).codex(ANSWER);
    fs_err::write(room.path("file"), "").unwrap();
    for (kind, variable) in [("claude", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")] {
        let mut command = room.governed(kind, &[]);
        command.env(variable, room.path("file/below"));
        let ended = Ended::of(command.output().unwrap());
        ended.refused(&format!("mh-run: {kind} keeps its records in "));
        ended.refused(&format!("not a directory; name another folder by {variable}, or use --hermetic"));
        let mut command = room.governed(kind, &[]);
        command.env("TMPDIR", "/nowhere/at/all");
        Ended::of(command.output().unwrap()).refused(
            "no folder for the run can be made below /nowhere/at/all: no such file or directory; set TMPDIR to a folder that \
             can be written to",
        );
    }
    assert_eq!(room.text("arguments"), "");
}

#[test]
fn no_frame_is_allowed_and_said() {
    let room = Room::new();
    room.claude("begin; call c1 Bash '{\"command\":\"x\"}'; answer fine");
    let ended = Ended::of(room.command("claude", &["-p", "x"]).output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "fine\n"), "{ended:?}");
    assert_eq!(ended.stderr.matches("NO_FRAME_IN_FORCE").count(), 1);
    assert!(!room.text("arguments").lines().any(|line| line == "--tools"));
}

#[test]
fn a_newer_vendor_is_named_and_run() {
    let room = Room::new();
    room.claude(ANSWER);
    let script = room.text("bin/claude").replace("2.1.332", "9.0.0");
    fs_err::write(room.path("bin/claude"), script).unwrap();
    let ended = room.run("claude", &[]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("VERSION_OFF_PIN: claude is 9.0.0; what is known of it was measured on 2.1.332"));
}

fn with_stdin(room: &Room, arguments: &[&str], stdin: &[u8]) -> Ended {
    let mut command = room.command("claude", arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin);
    Ended::of(child.wait_with_output().unwrap())
}

#[test]
fn the_prompt_is_the_value_standard_input_or_both() {
    let room = Room::new();
    room.claude(ANSWER);
    fs_err::write(room.path("file"), "from a file").unwrap();
    for (arguments, stdin, prompt) in [
        (&["-p", "why?"][..], "", "why?"),
        (&["-p", "why?"], "log\n", "log\n\nwhy?"),
        (&["-p", "why?"], "log", "log\n\nwhy?"),
        (&["-pwhy?"], "log", "log\n\nwhy?"),
        (&["--print=why?"], "", "why?"),
        (&["-p"], "only\n", "only\n"),
        (&["--verbose", "-p"], "only\n", "only\n"),
        (&["--prompt-file", "../file"], "", "from a file"),
        (&["--prompt-file", "../file"], "log", "log\n\nfrom a file"),
    ] {
        let ended = with_stdin(&room, arguments, stdin.as_bytes());
        assert_eq!(ended.code, Some(0), "{arguments:?} {ended:?}");
        assert_eq!(room.text("prompt"), prompt, "{arguments:?}");
    }
}

#[test]
fn the_lines_of_a_shell_script_work() {
    let room = Room::new();
    room.claude(ANSWER);
    let run = room.command("claude", &[]);
    let shell = |line: &str| {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &line.replace("mh-run", &format!("'{}'", run.get_program().display()))]);
        like(&run, &mut shell).current_dir(room.path("project"));
        Ended::of(shell.output().unwrap())
    };
    assert_eq!(shell("echo oops > log; cat log | mh-run claude -p 'why does this fail?'").stdout, "fine\n");
    assert_eq!(room.text("prompt"), "oops\n\nwhy does this fail?");
    assert_eq!(shell("echo diff | mh-run claude -p").stdout, "fine\n");
    assert_eq!(room.text("prompt"), "diff\n");
    let out =
        "out=$(mh-run claude -p 'summarise CHANGELOG.md' </dev/null 2>log) || { cat log; exit 1; }; echo \"got $out\"";
    assert_eq!(shell(out).stdout, "got fine\n");
    room.claude("begin; say '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"429\"}'");
    let failed = shell(out);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stdout.ends_with("mh-run: 429\n") && !failed.stdout.contains("got"), "{failed:?}");
}

#[test]
fn a_prompt_that_is_none_is_refused() {
    let room = Room::new();
    room.claude(ANSWER);
    with_stdin(&room, &["-p"], b" \n").refused("the prompt is empty");
    with_stdin(&room, &["-p", ""], b"").refused("the prompt is empty");
    with_stdin(&room, &["-p"], b"a\xff").refused("standard input is not UTF-8 (byte 1)");
    with_stdin(&room, &["-p", "x"], &vec![b'a'; 8 * 1024 * 1024 + 1])
        .refused("standard input holds more than 8388608 bytes");
    with_stdin(&room, &["--prompt-file", "/nowhere"], b"").refused("/nowhere: no such file");
    fs_err::write(room.path("long"), vec![b'a'; 8 * 1024 * 1024 + 1]).unwrap();
    with_stdin(&room, &["--prompt-file", "../long"], b"").refused("../long: it holds more than 8388608 bytes");
    let folder = fs_err::File::open(room.path("project")).unwrap();
    let ended = room.command("claude", &["-p", "x"]).stdin(folder.into_file()).output().unwrap();
    Ended::of(ended).refused("could not read stdin: is a directory");
    assert_eq!(room.text("arguments"), "");
}

#[test]
fn a_prompt_from_a_terminal_is_refused_and_a_value_is_not_waited_for_there() {
    let room = Room::new();
    room.claude(ANSWER);
    let at_a_terminal = |more: &[&str]| {
        let run = room.command("claude", more);
        let words: Vec<String> = std::iter::once(run.get_program())
            .chain(run.get_args())
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &words.join(" "), "/dev/null"]).current_dir(room.path("project")).stdin(Stdio::null());
        let output = like(&run, &mut command).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, told) = at_a_terminal(&["-p"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("the prompt is to come from standard input, and that is a terminal; give -p TEXT"), "{told}");
    let (code, told) = at_a_terminal(&["-p", "x"]);
    assert_eq!(code, Some(0), "{told}");
    // and a person at a terminal sees the turn
    assert!(told.contains("says: fine") && !told.contains("nothing came on standard input"), "{told}");
    assert_eq!(room.text("prompt"), "x");
}

#[test]
fn a_standard_input_that_stays_silent_is_left_out_after_three_seconds() {
    let room = Room::new();
    room.claude(ANSWER);
    let start = Instant::now();
    let mut command = room.command("claude", &["-p", "why?"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let held = child.stdin.take();
    let ended = Ended::of(child.wait_with_output().unwrap());
    drop(held);
    assert_eq!((ended.code, room.text("prompt").as_str()), (Some(0), "why?"));
    assert!(ended.stderr.contains("nothing came on standard input in 3 s, so it is left out"), "{ended:?}");
    assert!(start.elapsed() >= Duration::from_secs(3));
}

#[test]
fn a_closed_standard_input_is_no_input() {
    let room = Room::new();
    room.claude(ANSWER);
    let mut shell = std::process::Command::new("/bin/sh");
    let run = room.command("claude", &[]);
    shell.args(["-c", "exec \"$0\" \"$@\" <&-"]).arg(run.get_program()).args(["claude", "-p", "x"]);
    like(&run, &mut shell).current_dir(room.path("project"));
    let ended = Ended::of(shell.output().unwrap());
    assert_eq!((ended.code, room.text("prompt").as_str()), (Some(0), "x"), "{ended:?}");
}

#[test]
fn claude_is_started_with_the_strongest_launch() {
    let room = Room::new();
    room.claude(ANSWER);
    fs_err::write(room.path("project/CLAUDE.md"), "be brief").unwrap();
    let mut command = room.governed("claude", &["--model", "m", "--", "--effort", "low"]);
    command.env("CLAUDE_CODE_SIMPLE", "1").env("CLAUDE_CODE_SAFE_MODE", "1").env("MH_FRAME", "/x").env("KEPT", "1");
    let ended = Ended::of(command.output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("left out of this turn: ") && ended.stderr.contains("/project/CLAUDE.md"),
        "{ended:?}"
    );
    let arguments = room.text("arguments");
    let after = |flag: &str| arguments.lines().skip_while(|line| *line != flag).nth(1).unwrap_or("absent").to_string();
    assert_eq!(after("--setting-sources"), "");
    assert_eq!(after("--tools"), "Read,Bash,TaskStop");
    assert_eq!(after("--model"), "m");
    assert!(arguments.lines().any(|line| line == "--strict-mcp-config"));
    assert!(arguments.lines().any(|line| line == "--effort=low"));
    assert!(!arguments.contains("do it"), "the prompt is in the list of processes");
    let settings: serde_json::Value = serde_json::from_str(&after("--settings")).unwrap();
    assert_eq!(settings["disableAllHooks"], false);
    let entry = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!((&entry["onFailure"], &entry["args"][0]), (&"block".into(), &"--frame".into()));
    let environment = room.text("environment");
    for gone in ["CLAUDE_CODE_SIMPLE=", "CLAUDE_CODE_SAFE_MODE=", "MH_FRAME="] {
        assert!(!environment.lines().any(|line| line.starts_with(gone)), "{gone}");
    }
    assert!(environment.contains("KEPT=1"));
    room.run("claude", &["--project-instructions"]);
    assert!(room.text("arguments").contains("--append-system-prompt\nbe brief"));
    // nothing of the run is left, and nothing is written into the project or the home
    assert_eq!(fs_err::read_dir(room.path("tmp")).unwrap().count(), 0);
    assert_eq!(fs_err::read_dir(room.path("project")).unwrap().count(), 1);
}

#[test]
fn codex_is_started_with_the_strongest_launch() {
    let room = Room::new();
    room.codex(ANSWER);
    assert_eq!(room.run("codex", &["--", "-c", "model_provider=x"]).code, Some(0));
    let arguments = room.text("arguments");
    let has = |line: &str| arguments.lines().any(|found| found == line);
    for line in [
        "exec",
        "--json",
        "--ignore-user-config",
        "workspace-write",
        "features.hooks=true",
        "features.unified_exec_tty=false",
        "web_search=\"disabled\"",
        "--config=model_provider=x",
        "-",
    ] {
        assert!(has(line), "{line}: {arguments}");
    }
    assert!(!arguments.contains("bypass") && !arguments.contains("ephemeral"), "{arguments}");
    assert!(
        arguments.contains("hooks.state={\"/<session-flags>/config.toml:pre_tool_use:0:0\"={trusted_hash=\"sha256:")
    );
    let zdotdir = room.text("environment").lines().find_map(|line| line.strip_prefix("ZDOTDIR=").map(String::from));
    assert!(zdotdir.unwrap().starts_with(room.path("tmp").to_str().unwrap()));
    room.run("codex", &["--sandbox", "danger-full-access"]);
    assert!(room.text("arguments").lines().any(|line| line == "danger-full-access"));
    room.seal(&["--admit", "file.read", "web.read", "--handoff-none"]);
    room.run("codex", &[]);
    let arguments = room.text("arguments");
    assert!(arguments.lines().any(|line| line == "read-only") && !arguments.contains("web_search"), "{arguments}");
}

#[test]
fn mcp_servers_come_from_the_file_alone() {
    let room = Room::new();
    room.claude(ANSWER).codex(ANSWER);
    let servers = r#"{"mcpServers":{"a.b":{"type":"stdio","command":"run \"it\"","args":["x"],"env":{"K":"v"}}}}"#;
    fs_err::write(room.path("mcp.json"), servers).unwrap();
    room.run("codex", &["--mcp-config", "../mcp.json"]);
    let wanted = r#"mcp_servers={"a.b"={args=["x"],command="run \"it\"",env={"K"="v"},required=true}}"#;
    assert!(room.text("arguments").lines().any(|line| line == wanted), "{}", room.text("arguments"));
    room.run("claude", &["--mcp-config", "../mcp.json"]);
    assert!(room.text("arguments").lines().any(|line| line == "--mcp-config"));
    fs_err::write(room.path("mcp.json"), "{}").unwrap();
    room.run("claude", &["--mcp-config", "../mcp.json"]).refused("there is no object `mcpServers` in it");
}

#[test]
fn a_hermetic_turn_has_a_home_and_an_environment_of_its_own() {
    let room = Room::new();
    room.claude(ANSWER);
    fs_err::create_dir(room.path("home/.claude")).unwrap();
    fs_err::write(room.path("home/.claude/.credentials.json"), "secret").unwrap();
    let environment = |more: &[&str]| {
        let mut command = room.governed("claude", more);
        command.args(["--hermetic", "--env", "WANTED"]).env("WANTED", "1").env("OTHER", "1");
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_AUTH_TOKEN", "t");
        assert_eq!(command.output().unwrap().status.code(), Some(0));
        room.text("environment")
    };
    let body = format!("{ANSWER}; ls -A \"$CLAUDE_CONFIG_DIR\" > \"$ROOM/config\"; echo $HOME > \"$ROOM/home-was\"");
    room.claude(&body);
    let all = environment(&[]);
    assert!(all.contains("WANTED=1") && all.contains("PATH=") && !all.contains("OTHER="), "{all}");
    assert!(all.contains("ANTHROPIC_API_KEY=k") && all.contains("ANTHROPIC_AUTH_TOKEN=t"), "{all}");
    assert_eq!(room.text("config"), ".credentials.json\n");
    assert!(room.text("home-was").starts_with(room.path("tmp").to_str().unwrap()));
    let key = environment(&["--credentials", "api-key"]);
    assert!(key.contains("ANTHROPIC_API_KEY=k") && !key.contains("ANTHROPIC_AUTH_TOKEN"), "{key}");
    assert_eq!(room.text("config"), "");
    let none = environment(&["--credentials", "none"]);
    assert!(!none.contains("ANTHROPIC_"), "{none}");
    assert_eq!(fs_err::read_dir(room.path("tmp")).unwrap().count(), 0);
}
