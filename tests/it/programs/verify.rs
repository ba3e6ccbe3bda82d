//! `mh-frame-verify`: its flags, its lines, its exit codes.

use crate::common::{Answer, GOLDEN, Run, Scratch, fixture, run};

const VERIFY: &str = "mh-frame-verify";

fn golden() -> String {
    fixture("golden/frame.json").to_str().unwrap().into()
}

fn edited(scratch: &Scratch) -> String {
    let text = fs_err::read_to_string(fixture("golden/frame.json")).unwrap();
    let file = scratch.file("edited.json", text.replace("\"index\": 2", "\"index\": 3"));
    file.to_str().unwrap().into()
}

#[track_caller]
fn usage(args: &[&str], why: &str) {
    let stderr = format!("{VERIFY}: {why}; see --help\n");
    assert_eq!(run(VERIFY, args), Answer { code: 2, stdout: String::new(), stderr });
}

#[test]
fn several_files_get_a_line_each_and_the_highest_code_wins() {
    let scratch = Scratch::new();
    let (good, bad) = (golden(), edited(&scratch));
    let missing = scratch.path("missing.json").to_str().unwrap().to_string();
    let codes = |files: &[&String]| {
        let answer = run(VERIFY, files);
        assert_eq!(answer.stdout.lines().count(), files.len());
        for (line, file) in answer.stdout.lines().zip(files) {
            assert!(line.starts_with(&format!("{file}: ")), "{line}");
        }
        answer.code
    };
    assert_eq!(codes(&[&good]), 0);
    assert_eq!(codes(&[&good, &good]), 0);
    assert_eq!(codes(&[&bad]), 1);
    assert_eq!(codes(&[&good, &bad, &good]), 1);
    assert_eq!(codes(&[&missing]), 2);
    assert_eq!(codes(&[&missing, &bad]), 2);
    assert_eq!(codes(&[&bad, &missing, &good]), 2);
}

#[test]
fn quiet_prints_only_faults_and_status_prints_nothing() {
    let scratch = Scratch::new();
    let (good, bad) = (golden(), edited(&scratch));
    for quiet in ["--quiet", "-q"] {
        assert_eq!(run(VERIFY, [quiet, &good]).stdout, "");
        let answer = run(VERIFY, [quiet, &good, &bad]);
        assert_eq!((answer.code, answer.stdout.lines().count()), (1, 1));
        assert!(answer.stdout.starts_with(&format!("{bad}: REFUSED edited: it says it is {GOLDEN}")));
    }
    for (files, code) in [(&[&good][..], 0), (&[&good, &bad], 1), (&[&"missing".to_string()], 2)] {
        let answer = Run::of(VERIFY).args(["--status"]).args(files).answer();
        assert_eq!(answer, Answer { code, stdout: String::new(), stderr: String::new() });
    }
}

#[test]
fn a_name_is_escaped_as_sha256sum_does() {
    let scratch = Scratch::new();
    let document = fs_err::read(fixture("golden/frame.json")).unwrap();
    for (name, shown) in [("a\nb", "a\\nb"), ("a\\b", "a\\\\b"), ("a\rb", "a\\rb"), ("a\u{1b}[2J", "a\\u{1b}[2J")] {
        scratch.file(name, &document);
        let answer = Run::of(VERIFY).folder(scratch.root()).args([name]).answer();
        assert_eq!(answer.stdout, format!("\\{shown}: OK {GOLDEN}\n"));
    }
    for plain in ["a b", "é: OK", "a\tb"] {
        scratch.file(plain, &document);
        let answer = Run::of(VERIFY).folder(scratch.root()).args([plain]).answer();
        assert_eq!(answer.stdout, format!("{plain}: OK {GOLDEN}\n"));
    }
    // the file's name is escaped, so no file can forge the line of a valid one
    scratch.file("x\ny.json: OK", "{}");
    let answer = Run::of(VERIFY).folder(scratch.root()).args(["x\ny.json: OK"]).answer();
    assert_eq!(answer.stdout.lines().count(), 1);
}

#[test]
fn json_prints_one_object_a_line() {
    let scratch = Scratch::new();
    let answer = run(VERIFY, ["--json", &golden(), &edited(&scratch), "missing"]);
    assert_eq!(answer.code, 2);
    assert_eq!(answer.stderr, "", "warnings stand in the lines");
    let lines: Vec<serde_json::Value> = answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        lines[0],
        serde_json::json!({ "file": golden(), "ok": true, "digest": GOLDEN, "refusal": null, "warnings": [] })
    );
    assert_eq!((&lines[1]["ok"], &lines[1]["digest"]), (&false.into(), &serde_json::Value::Null));
    assert_eq!(lines[1]["refusal"]["name"], "edited");
    assert_eq!(lines[2]["refusal"], serde_json::json!({ "name": "unreadable", "why": "no such file or directory" }));
    let answer = run(VERIFY, ["--json", fixture("frames/nothing.json").to_str().unwrap()]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&answer.stdout).unwrap()["warnings"], serde_json::json!([]));
}

#[test]
fn a_pin_is_held_to_and_takes_one_file() {
    let scratch = Scratch::new();
    let good = golden();
    assert_eq!(run(VERIFY, ["--digest", GOLDEN, &good]).code, 0);
    let other = "0".repeat(64);
    let answer = run(VERIFY, [&good, "--digest", &other]);
    let why = format!("the frame is {GOLDEN}, and {other} is asked for: this is another frame");
    assert_eq!((answer.code, answer.stdout), (1, format!("{good}: REFUSED pinned: {why}\n")));
    // a pin equal to the digest in an edited file does not make the file valid
    let answer = run(VERIFY, [&edited(&scratch), "--digest", GOLDEN]);
    assert!(answer.stdout.contains(": REFUSED edited: "), "{}", answer.stdout);
    for print in ["digest", "canonical", "text"] {
        let answer = run(VERIFY, [&good, "--digest", &other, "--print", print]);
        assert_eq!((answer.code, answer.stdout), (1, String::new()));
        assert_eq!(answer.stderr, format!("{VERIFY}: {good}: pinned: {why}\n"));
    }
    usage(&["--digest", GOLDEN, &good, &good], "--digest takes one file, and 2 are given");
    for bad in ["", "43a6", &GOLDEN.to_uppercase(), &format!("sha256:{}", &GOLDEN[7..])] {
        usage(&["--digest", bad, &good], &format!("--digest takes 64 lower-case hexadecimal digits, not {bad:?}"));
    }
}

#[test]
fn admits_answers_by_exit_code() {
    let good = golden();
    for (operations, code) in [
        (&["shell"][..], 0),
        (&["shell", "file.read", "skill.load"], 0),
        (&["web.read"], 1),
        (&["shell", "web.read"], 1),
        (&["mcp.call:lab/note"], 1),
    ] {
        let answer = Run::of(VERIFY).args([&good, "--admits"]).args(operations).answer();
        assert_eq!(answer, Answer { code, stdout: String::new(), stderr: String::new() }, "{operations:?}");
    }
    let server = fixture("frames/one-mcp-server.json");
    let server = server.to_str().unwrap();
    assert_eq!(run(VERIFY, [server, "--admits", "mcp.call:lab/note", "--admits", "search"]).code, 0);
    assert_eq!(run(VERIFY, [server, "--admits", "mcp.call:lab/forget"]).code, 1);
    assert_eq!(run(VERIFY, [server, "--admits-mcp", "lab", "note", "--admits", "search"]).code, 0);
    assert_eq!(run(VERIFY, [server, "--admits-mcp", "lab", "forget"]).code, 1);
    // a word that two readers would take apart in two ways is no question
    let scratch = Scratch::new();
    let slashed = scratch.frame("slashed.json", &["--admit-mcp", "a/b", "c"]);
    let slashed = slashed.to_str().unwrap();
    assert_eq!(run(VERIFY, [slashed, "--admits-mcp", "a/b", "c"]).code, 0);
    assert_eq!(run(VERIFY, [slashed, "--admits-mcp", "a", "b/c"]).code, 1);
    let answer = run(VERIFY, [slashed, "--admits", "mcp.call:a/b/c"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("write --admits-mcp SERVER TOOL"), "{}", answer.stderr);
    let answer = run(VERIFY, [&good, "--admits", "Shell"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.starts_with("mh-frame-verify: \"Shell\" is no operation; did you mean shell?\n"));
    // an answer about a document that is refused is no answer
    let answer = run(VERIFY, [&edited(&scratch), "--admits", "shell"]);
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains(": edited: "), "{}", answer.stderr);
    let answer = run(VERIFY, ["missing", "--admits", "shell"]);
    assert_eq!((answer.code, &*answer.stderr), (2, "mh-frame-verify: missing: no such file or directory\n"));
}

#[test]
fn mistakes_on_the_command_line_are_refused() {
    let good = golden();
    usage(&[], "no file is given: name one, or - for standard input");
    usage(&["--status"], "no file is given: name one, or - for standard input");
    usage(&["-", "-"], "- is given twice, and standard input can be read once");
    usage(&["--print", "digest", &good, &good], "--print takes one file, and 2 are given");
    usage(&["--print", "seal", &good], "--print takes digest, canonical, text or enforced, not \"seal\"");
    usage(&["--explain", "cursor", &good], "--explain takes claude or codex, not \"cursor\"");
    usage(&["--explain", "claude", &good], "no call is given: --explain takes --call TOOL [WHAT] or --payload FILE");
    let answer = run(VERIFY, ["--explain", "claude", &good, "--payload", &good, "--policy", "Frame"]);
    let stderr = format!("{VERIFY}: --policy takes frame or deny-only, not \"Frame\"; did you mean frame?\n");
    assert_eq!(answer, Answer { code: 2, stdout: String::new(), stderr });
    usage(&["--canonical", &good], "there is no flag --canonical");
    usage(&["-x", &good], "there is no flag -x");
    let answer = run(VERIFY, ["--explain", "claude", &good, "--payload", "missing"]);
    assert_eq!((answer.code, &*answer.stderr), (2, "mh-frame-verify: missing: no such file or directory\n"));
    assert_eq!(run(VERIFY, ["-V"]).stdout, format!("{VERIFY} {}\n", env!("CARGO_PKG_VERSION")));
    for help in ["--help", "-h"] {
        assert!(run(VERIFY, [help]).stdout.starts_with("usage: mh-frame-verify FILE... | -"));
    }
}

#[test]
fn warnings_for_the_author_go_to_stderr_and_change_no_code() {
    let scratch = Scratch::new();
    let long = "x".repeat(50_000);
    for (flags, wanted) in [
        (&["--admit", "file.write"][..], &[][..]),
        (&["--admit", "shell", "dir.list", "search", "file.read"], &[]),
        (
            &["--admit", "file.read,search"],
            &[
                "Claude Code offers its tools for search only when asked (--tools with Glob and Grep); else its shell does \
                 that, and shell is not admitted",
                "Codex has no tool for file.read, search: its shell does that, and shell is not admitted",
            ],
        ),
        (
            &["--admit", "skill.load"],
            &["Codex has no tool for skill.load: its shell does that, and shell is not admitted"],
        ),
        (
            &["--admit", "shell,file.edit", "--scope", "src/**", "file.edit"],
            &[
                "the path scope has no rule for `file:**`: of a path that no rule matches it says nothing",
                "the path scope does not bind the shell, which is admitted: a command has no path",
            ],
        ),
        (&["--admit", "file.edit", "--scope", "src/**", "file.edit", "--scope", "/**", "none"], &[]),
        (
            &["--admit", "file.edit", "--scope", "proc:x", "none", "--scope", "**", "none"],
            &["the glob `proc:x` of the path scope matches no path: it does not begin with `file:`"],
        ),
        (
            &["--admit", "file.edit", "--scope", "secret", "none", "--scope", "**", "file.edit"],
            &["the glob `file:secret` of the path scope is a file of that name; a folder is `file:secret/**`"],
        ),
        (
            &[
                "--admit",
                "file.edit",
                "--scope",
                "a/{b,c}\\\\*",
                "none",
                "--scope",
                "Makefile",
                "file.edit",
                "--scope",
                "**",
                "none",
            ],
            &["in the glob `file:a/{b,c}\\\\*` of the path scope nothing but `*` and `**` is special"],
        ),
        (
            &["--admit-mcp", "a.b", "c", "--admit-mcp", "a", "b-c"],
            &[
                "Codex takes every character of an mcp name but letters and digits for `_`, so this frame admits there as well \
               a/b_c for a/b-c, a_b/c for a.b/c",
            ],
        ),
        (
            &["--prior", &long],
            &[
                "the instruction text is longer than Claude Code carries; it ends with: (Left out here because the frame is \
                 too long: what has already been established; the digest.)",
                "the instruction text is longer than Codex carries; it ends with: (Left out here because the frame is too \
                 long: what has already been established; the digest.)",
            ],
        ),
    ] {
        let file = scratch.frame("frame.json", flags);
        let file = file.to_str().unwrap();
        let answer = run(VERIFY, [file]);
        assert_eq!(answer.code, 0);
        let lines: Vec<String> = wanted.iter().map(|why| format!("{VERIFY}: {file}: warning: {why}\n")).collect();
        assert_eq!(answer.stderr, lines.concat());
        // output for programs is free of advice
        assert_eq!(run(VERIFY, [file, "--print", "digest"]).stderr, "");
        let json: serde_json::Value = serde_json::from_str(&run(VERIFY, ["--json", file]).stdout).unwrap();
        assert_eq!(json["warnings"], serde_json::json!(wanted));
    }
}

#[test]
fn a_warning_names_its_file_on_one_line() {
    let scratch = Scratch::new();
    scratch.frame("a\nb", &["--admit", "skill.load"]);
    let answer = Run::of(VERIFY).folder(scratch.root()).args(["a\nb"]).answer();
    assert!(answer.stderr.starts_with("mh-frame-verify: a\\nb: warning: Codex has no tool"), "{}", answer.stderr);
    assert_eq!(answer.stderr.lines().count(), 1);
}

#[test]
fn a_call_in_words_is_judged_as_the_hook_judges_it() {
    let scratch = Scratch::new();
    let project = scratch.folder("project");
    let admit = ["--admit", "file.read,file.edit,search", "--scope", "src/**", "file.read,file.edit,search"];
    let frame = scratch.frame("frame.json", &[&admit[..], &["--scope", "**", "file.read"]].concat());
    let file = frame.to_str().unwrap();
    let says = |words: &[&str]| {
        let answer =
            Run::of(VERIFY).args(["--project".as_ref(), project.as_os_str()]).args([file]).args(words).answer();
        let line =
            |name: &str| answer.stdout.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_string();
        (answer.code, line("answer: "), line("reason: ").split(" (step 1, ").next().unwrap().to_string())
    };
    for (words, answer, reason) in [
        (&["claude", "--call", "Edit", "src/a.rs"][..], "allow", ""),
        (&["claude", "--call", "Edit", "src/../src/a b.rs"], "allow", ""),
        (&["claude", "--call", "Grep", "src"], "allow", ""),
        (&["claude", "--call", "Edit", "docs/a.md", "--policy", "deny-only"], "deny", "Edit needs file.edit on "),
        (&["claude", "--call", "Grep"], "deny", "Grep needs search on ., which path rule 2 (file:**) does not admit"),
        (&["claude", "--call", "Grep", " src"], "deny", "Grep is about  src, and it cannot be told which file"),
        (&["claude", "--call", "Read", "~/x"], "deny", "Read is about ~/x, and "),
        (&["claude", "--call", "Edit", " src/a.rs"], "deny", "Edit is about  src/a.rs, and "),
        (&["claude", "--call", "Bash"], "deny", "Bash needs shell, which is not admitted"),
        (&["claude", "--call", "Bash", "ls -l"], "deny", "Bash needs shell, which is not admitted"),
        (
            &["claude", "--call", "mcp__github__create_issue"],
            "deny",
            "mcp__github__create_issue needs mcp.call github/",
        ),
        (&["claude", "--call", "TaskStop"], "abstain", ""),
        (&["claude", "--call", "Nonsense", "x"], "deny", "Nonsense is unknown to the tool table"),
        (&["codex", "--call", "apply_patch", "src/a.rs"], "abstain", ""),
        (&["codex", "--call", "apply_patch", "Add File: src/a.rs"], "deny", "apply_patch needs file.write, which"),
        (&["codex", "--call", "apply_patch", "b.rs"], "deny", "apply_patch needs file.edit on b.rs, which path rule 2"),
        (&["codex", "--call", "view_image", "x.png"], "abstain", ""),
    ] {
        let words = [&["--explain"], words].concat();
        let (code, found, why) = says(&words);
        assert_eq!((code, &*found), (i32::from(answer == "deny"), answer), "{words:?}");
        assert!(why.starts_with(reason) && why.is_empty() == reason.is_empty(), "{words:?} {why}");
        let expects = |word: &'static str| says(&[&words[..], &["--expect", word]].concat()).0;
        assert_eq!((expects("allow"), expects("deny")), (code, 1 - code), "{words:?}");
    }
    for (words, why) in [
        (&["--explain", "claude"][..], "no call is given: --explain takes --call TOOL [WHAT] or --payload FILE"),
        (&["--explain", "claude", "--call", "Edit"], "Edit is about a file: say which, as in --call Edit src/a.rs"),
        (&["--explain", "cursor", "--call", "Edit", "x"], "--explain takes claude or codex, not \"cursor\""),
        (&["--explain", "claude", "--call", "Bash", "--expect", "yes"], "--expect takes allow or deny, not \"yes\""),
        (&["--expect", "deny"], "--expect goes with --explain"),
    ] {
        let answer = run(VERIFY, [&[file], words].concat());
        assert_eq!((answer.code, answer.stderr), (2, format!("{VERIFY}: {why}; see --help\n")), "{words:?}");
    }
}

#[test]
fn a_list_of_expectations_is_checked_line_by_line() {
    let scratch = Scratch::new();
    let frame = scratch.frame("frame.json", &["--admit", "file.read,file.edit"]);
    let list = |text: &str| scratch.file("list.txt", text);
    let holds = |list: &std::path::Path| {
        let options: [&std::ffi::OsStr; 3] = [frame.as_ref(), "--expectations".as_ref(), list.as_ref()];
        Run::of(VERIFY).folder(scratch.root()).args(options).answer()
    };
    let good = list(
        "# what this step is for\n\nallow claude Edit src/a b.rs\n  deny  claude  Bash  rm -rf /\nallow codex apply_patch a\n",
    );
    let answer = holds(&good);
    assert_eq!((answer.code, &*answer.stdout, &*answer.stderr), (0, "3 of 3 expectations hold\n", ""));
    let bad = list("allow claude Write src/a.rs\ndeny claude Read b\nallow claude Read b\n");
    let answer = holds(&bad);
    assert_eq!((answer.code, &*answer.stdout), (1, "1 of 3 expectations hold\n"));
    let name = bad.to_str().unwrap();
    let lines: Vec<&str> = answer.stderr.lines().collect();
    let wanted =
        format!("{VERIFY}: {name}:1: Write src/a.rs: expected allow, and the answer is deny: Write needs file.write");
    assert!(lines[0].starts_with(&wanted), "{}", answer.stderr);
    assert_eq!(lines[1], format!("{VERIFY}: {name}:2: Read b: expected deny, and the answer is allow"));
    for (text, why) in [
        (
            "maybe claude Read b",
            "1: \"maybe\" is neither allow nor deny; a line is allow or deny, the vendor, a tool and",
        ),
        ("\nallow claude", "2: a tool is missing; a line is"),
        ("deny copilot view x", "1: --explain takes claude or codex, not \"copilot\""),
        ("deny claude Read", "1: Read is about a file: say which"),
    ] {
        let answer = holds(&list(text));
        assert_eq!((answer.code, &*answer.stdout), (2, ""));
        assert!(answer.stderr.starts_with(&format!("{VERIFY}: {name}:{why}")), "{}", answer.stderr);
    }
    let answer = holds(&scratch.path("missing.txt"));
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("missing.txt`: no such file or directory"), "{}", answer.stderr);
}
