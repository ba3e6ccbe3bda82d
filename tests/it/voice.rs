//! What is said of a command line that is wrong: the whole message, for every program. One phrasing a kind of mistake, the
//! wrong word in it, and the one that was likely meant.

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::common::{CLAUDE, Run, Scratch, program, run, shell};

/// A command line in words, and what the program says of it, without its name in front and the way to the help behind.
type Row = (&'static str, &'static str);

/// Hold each of these to its message: exit 2, nothing on standard output, that line on stderr and no other.
#[track_caller]
fn holds(rows: &[Row]) {
    let scratch = Scratch::new();
    scratch.frame("step.json", &["--admit", "file.read"]);
    for (line, wanted) in rows {
        let mut words = line.split(' ');
        let name = words.next().unwrap();

        let answer = Run::of(name).args(words).folder(scratch.root()).answer();
        let wanted = wanted.strip_suffix(HELP).map_or(wanted.to_string(), |said| format!("{said}; see --help"));
        assert_eq!((answer.code, &*answer.stdout), (2, ""), "{line}: {answer:?}");
        assert_eq!(answer.stderr, format!("{name}: {wanted}\n"), "{line}");
    }
}

/// In the place of `; see --help`.
const HELP: &str = " …";

const NO_PROMPT: &str = "no prompt is given: -p TEXT, or -p as the last word with the prompt on standard input …";
const OPERATIONS: &str = "there are file.read, file.write, file.edit, dir.list, search, shell, web.read, skill.load, \
                          subagent.spawn, task.todo, and mcp.call:SERVER/TOOL …";

#[test]
fn what_new_users_typed_is_answered_by_what_they_meant() {
    let operations = format!("\"delete\" is no operation; {OPERATIONS}");
    let operations: &'static str = operations.leak();
    holds(&[
        ("mh-frame-verify step.json --canonical", "there is no flag --canonical …"),
        ("mh-frame-seal --nwe", "there is no flag --nwe; did you mean --new?"),
        ("mh-run claude -p x --modell y", "there is no flag --modell; did you mean --model?"),
        ("mh-setup claude --usr", "there is no flag --usr; did you mean --user?"),
        (
            "mh-frame-verify --admits shell step.json",
            "\"step.json\" is no operation, and a file: put the file first, as in mh-frame-verify FILE --admits OP",
        ),
        (
            "mh-frame-seal --new --admit-mcp github -o x.json",
            "--admit-mcp takes SERVER TOOL, and only \"github\" is given …",
        ),
        (
            "mh-frame-seal --new --admit-mcp github --handoff-none",
            "--admit-mcp takes SERVER TOOL, and only \"github\" is given …",
        ),
        ("mh-frame-seal --new --scope src/** -o x", "--scope takes GLOB OP,OP, and only \"src/**\" is given …"),
        (
            "mh-run claude --frame -p hi",
            "--frame takes a value, and behind it stands -p; a value that begins with - is joined: --frame=VALUE …",
        ),
        ("mh-run claude hi", "there is no argument \"hi\": the prompt stands behind -p, as in -p \"hi\""),
        ("mh-frame-seal --workflow w", "--workflow goes with --new …"),
        (
            "mh-run claude -p x --policy deny-only",
            "there is no flag --policy: mh-run has it as --decisions, and its default is frame",
        ),
        (
            "mh-run claude -p x -- --decisions deny-only",
            "SHADOWED: --decisions: it is an option of mh-run; put it before --",
        ),
        ("mh-setup status", "\"status\" is no vendor: mh-setup doctor says whether the hooks are on"),
        ("mh-frame-seal --new --admit read", "\"read\" is no operation; did you mean file.read?"),
        ("mh-frame-seal --new --admit Bash", "\"Bash\" is no operation; did you mean shell?"),
        ("mh-frame-seal --new --admit delete", operations),
        (
            "mh-run claude -p x --timeout 5m",
            "--timeout takes a whole number of seconds from 1 to 31536000, not \"5m\"; did you mean 300?",
        ),
        ("mh-frame-verify step.json --table --json", "there is no flag --table …"),
        (
            "mh-frame-seal --new",
            "a new frame needs --workflow ID, --version V, --state S, --step N and what the step owes: --handoff-none, \
             --handoff-artifact NAME or --handoff-answer SCHEMA …",
        ),
        ("mh-frame-verify step.json --payload p.json", "--payload goes with --explain …"),
        (
            "mh-frame-verify step.json --print text --json",
            "--print and --json do not go together: that is for the line that each file has otherwise …",
        ),
        (
            "mh-setup claude --print --project . --frame step.json",
            "--print and --project do not go together: what is printed is written nowhere …",
        ),
        ("mh-frame-seal step.json -o none/x.json", "none/x.json: there is no folder none; make it first"),
        ("mh-frame-seal none.json", "none.json: no such file or directory"),
        ("mh-frame-seal .", ".: it is a folder, not a regular file"),
    ]);
}

#[test]
fn what_else_is_mistyped_is_answered_in_the_same_words() {
    holds(&[
        // flags: a letter, a word, a dash, another program's, another tool's
        ("mh-frame-seal -new", "there is no flag -n; did you mean --new?"),
        ("mh-frame-seal —new", "there is no flag —new; did you mean --new?"),
        ("mh-setup claude frame", "there is no argument \"frame\"; did you mean --frame?"),
        ("mh-frame-seal --NEW", "there is no flag --NEW; did you mean --new?"),
        ("mh-frame-seal step.json --out x", "there is no flag --out; did you mean --output?"),
        ("mh-frame-seal --frame step.json", "there is no flag --frame: the file stands alone: mh-frame-seal FILE"),
        (
            "mh-frame-seal --digest 00",
            "there is no flag --digest: --print digest prints it; mh-frame-verify --digest HEX holds a frame to it",
        ),
        ("mh-frame-seal -f", "there is no flag -f …"),
        ("mh-frame-verify --frame step.json", "there is no flag --frame: the file stands alone: mh-frame-verify FILE"),
        ("mh-frame-verify step.json --admit shell", "there is no flag --admit; did you mean --admits?"),
        (
            "mh-frame-verify step.json --decisions frame",
            "there is no flag --decisions: mh-frame-verify has it as --policy",
        ),
        (
            "mh-setup claude --decisions frame",
            "there is no flag --decisions: mh-setup has it as --policy, and its default is deny-only",
        ),
        ("mh-setup claude --global", "there is no flag --global: your own settings are --user"),
        ("mh-setup claude --uninstall", "there is no flag --uninstall: entries are taken out by --remove"),
        ("mh-setup claude --dry-run", "there is no flag --dry-run: --print writes nothing and prints the entries"),
        ("mh-run claude -p x --json", "there is no flag --json: write --output-format json"),
        (
            "mh-run claude -p x --effort high",
            "there is no flag --effort: it is an option of claude, and stands behind --, as in mh-run claude -p TEXT -- --effort",
        ),
        ("mh-run capabilities codex --json", "there is no flag --json of capabilities …"),
        ("mh-run schema --output-format json", "there is no flag --output-format of schema …"),
        // vendors and words
        ("mh-run claud -p x", "\"claud\" is no vendor; did you mean claude?"),
        ("mh-run Claude -p x", "\"Claude\" is no vendor; did you mean claude?"),
        ("mh-run claude-code -p x", "\"claude-code\" is no vendor; did you mean claude?"),
        ("mh-run cursor -p x", "\"cursor\" is no vendor; there are claude and codex …"),
        ("mh-run schemas", "\"schemas\" is no vendor; did you mean schema?"),
        ("mh-run schema evnt", "\"evnt\" is no schema; did you mean event?"),
        ("mh-run doctor", "\"doctor\" is no vendor: mh-setup doctor says whether hooks are on"),
        ("mh-run", "no vendor is given: claude or codex …"),
        ("mh-run claude", NO_PROMPT),
        ("mh-run claude -p x y", "there is no argument \"y\" …"),
        ("mh-setup", "no vendor is given: claude or codex; or say doctor, or list …"),
        ("mh-setup docter", "\"docter\" is no vendor; did you mean doctor?"),
        ("mh-setup install", "\"install\" is no vendor: say the vendor: mh-setup VENDOR --frame FILE"),
        ("mh-setup doctor cursor", "\"cursor\" is no vendor; there are claude and codex …"),
        (
            "mh-setup doctor claude codex",
            "there is no argument \"codex\": doctor looks at one vendor, or at all where none is named",
        ),
        ("mh-setup claude step.json", "there is no argument \"step.json\": behind claude stand flags alone"),
        ("mh-setup list --project .", "--project does not go with list: folders stand alone, as in mh-setup list DIR"),
        // values
        (
            "mh-frame-verify step.json --print txt",
            "--print takes digest, canonical, text or enforced, not \"txt\"; did you mean text?",
        ),
        (
            "mh-frame-verify step.json --explain claud --call Bash",
            "--explain takes claude or codex, not \"claud\"; did you mean claude?",
        ),
        ("mh-frame-verify step.json --digest ABC", "--digest takes 64 lower-case hexadecimal digits, not \"ABC\" …"),
        (
            "mh-frame-verify step.json --explain claude --call Bash --expect ask",
            "--expect takes allow or deny, not \"ask\" …",
        ),
        (
            "mh-frame-verify step.json --explain claude",
            "no call is given: --explain takes --call TOOL [WHAT] or --payload FILE …",
        ),
        (
            "mh-run claude -p x --output-format jsn",
            "--output-format takes text, json, stream-json or events, not \"jsn\"; did you mean json?",
        ),
        (
            "mh-run claude -p x --decisions deny",
            "--decisions takes frame, deny-only or ask, not \"deny\"; did you mean deny-only?",
        ),
        (
            "mh-run codex -p x --sandbox readonly",
            "--sandbox takes read-only, workspace-write or danger-full-access, not \"readonly\"; did you mean read-only?",
        ),
        (
            "mh-run claude -p x --hermetic --credentials key",
            "--credentials takes inherit, api-key or none, not \"key\" …",
        ),
        (
            "mh-run claude -p x --needs ster",
            "--needs takes tool.decide, frame.set, message.inject, steer, permission.set, interrupt or halt, not \"ster\"; did you mean steer?",
        ),
        ("mh-run claude -p x --timeout 0", "--timeout takes a whole number of seconds from 1 to 31536000, not \"0\" …"),
        (
            "mh-run claude -p x --timeout 1h",
            "--timeout takes a whole number of seconds from 1 to 31536000, not \"1h\"; did you mean 3600?",
        ),
        (
            "mh-setup claude --policy deny_only",
            "--policy takes frame or deny-only, not \"deny_only\"; did you mean deny-only?",
        ),
        (
            "mh-setup claude --deadline 2m",
            "--deadline takes a whole number of seconds from 1 to 600, not \"2m\"; did you mean 120?",
        ),
        ("mh-setup claude --decider jq", "--decider takes exec:/abs/program or unix:/abs/socket, not \"jq\" …"),
        ("mh-frame-seal --new --step one", "--step takes a whole number from 0 to 4294967295, not \"one\" …"),
        ("mh-frame-seal --new --admit file.raed", "\"file.raed\" is no operation; did you mean file.read?"),
        (
            "mh-frame-seal --new --admit apply_patch",
            "\"apply_patch\" is no operation; did you mean file.write or file.edit?",
        ),
        ("mh-frame-seal --new --admit Grep", "\"Grep\" is no operation; did you mean search?"),
        (
            "mh-frame-seal --new --admit mcp.call:github",
            "\"mcp.call:github\" is no operation: a tool of an MCP server is mcp.call:SERVER/TOOL",
        ),
        ("mh-frame-seal --new --scope src/** raed", "\"raed\" is no operation; did you mean file.read or web.read?"),
        // a value that is none
        ("mh-frame-seal step.json -o", "-o takes a value, and none is given …"),
        (
            "mh-frame-seal -o --new",
            "-o takes a value, and behind it stands --new; a value that begins with - is joined: -oVALUE …",
        ),
        (
            "mh-frame-seal --new --admit --handoff-none",
            "--admit takes a value, and behind it stands --handoff-none; a value that begins with - is joined: --admit=VALUE …",
        ),
        (
            "mh-setup claude --project --user",
            "--project takes a value, and behind it stands --user; a value that begins with - is joined: --project=VALUE …",
        ),
        (
            "mh-frame-verify step.json --call --expect deny",
            "--call takes a value, and behind it stands --expect; a value that begins with - is joined: --call=VALUE …",
        ),
        ("mh-frame-verify step.json --json=yes", "--json takes no value, and is given \"yes\" …"),
        ("mh-run claude -p x --verbose=1", "--verbose takes no value, and is given \"1\" …"),
        // twice
        ("mh-frame-seal step.json -o a -o b", "-o is given twice …"),
        ("mh-frame-verify step.json --print digest --print text", "--print is given twice …"),
        ("mh-setup claude --frame a --frame b", "--frame is given twice …"),
        ("mh-run claude -p x --model a --model b", "--model is given twice …"),
        ("mh-frame-verify - -", "- is given twice, and standard input can be read once …"),
        // what nothing would listen to
        ("mh-frame-verify step.json --policy frame", "--policy goes with --explain or --expectations …"),
        ("mh-frame-verify step.json --expectations l --call Bash", "--call goes with --explain …"),
        (
            "mh-frame-verify step.json --explain claude --call Bash --expectations l",
            "--explain and --expectations do not go together: each is a question of its own …",
        ),
        (
            "mh-frame-verify step.json --admits shell --json",
            "--admits and --json do not go together: that is for the line that each file has otherwise …",
        ),
        ("mh-frame-verify step.json --quiet --json", "--quiet and --json do not go together: say which of the three …"),
        ("mh-frame-verify step.json step.json --print text", "--print takes one file, and 2 are given …"),
        (
            "mh-setup claude --user --remove --require-frame",
            "--remove and --require-frame do not go together: entries are taken out whatever they say …",
        ),
        (
            "mh-setup claude --user --local --frame step.json",
            "--user and --local do not go together: they are two places …",
        ),
        ("mh-setup claude --user --audit-input --frame step.json", "--audit-input goes with --audit …"),
        ("mh-setup claude --user --json --frame step.json", "--json goes with doctor or list …"),
        ("mh-setup doctor codex --settings x", "--settings is for claude …"),
        (
            "mh-setup doctor --decider exec:/d",
            "--decider does not go with doctor: it looks at what is set up, and writes nothing …",
        ),
        (
            "mh-run claude -p x --digest 0000000000000000000000000000000000000000000000000000000000000000",
            "--digest goes with --frame …",
        ),
        ("mh-run claude -p x --on-eof deny", "--on-eof goes with --decisions ask …"),
        ("mh-run claude -p x --env A", "--env goes with --hermetic …"),
        (
            "mh-frame-seal --new --reseal",
            "--new and --reseal do not go together: a frame that is built is sealed for the first time …",
        ),
        (
            "mh-frame-seal --new step.json",
            "there is no argument \"step.json\": --new builds the frame from flags, and reads no file",
        ),
        ("mh-frame-seal step.json step.json", "there is no argument \"step.json\": one document is sealed at a time"),
    ]);
}

/// A hook answers in the same words, suggests nothing, and blocks.
#[test]
fn a_hook_says_it_in_the_same_words_and_blocks() {
    for (words, wanted) in [
        (&["--fraem", "/f"][..], "there is no flag --fraem; see --help"),
        (&["/f"], "there is no argument \"/f\"; see --help"),
        (&["--frame"], "--frame takes a value, and none is given"),
        (
            &["--frame", "--policy", "frame"],
            "--frame takes a value, and behind it stands --policy; a value that begins with - is joined: --frame=VALUE",
        ),
        (&["--audit-input=1"], "--audit-input takes no value, and is given \"1\""),
        (&["--policy", "deny"], "--policy (or MH_POLICY) takes frame or deny-only, not \"deny\""),
        (
            &["--deadline", "5m"],
            "--deadline (or MH_DEADLINE) takes a whole number of seconds from 1 to 600, not \"5m\"",
        ),
        (&["--frame", "/a", "--frame", "/a"], "--frame is given twice"),
    ] {
        let answer = Run::hook(CLAUDE).args(words).stdin(shell(CLAUDE)).answer();
        assert!(answer.denial().starts_with(&format!("mh-hook-claude: {wanted}; nothing runs until")), "{answer:?}");
    }
}

/// A value that begins with a dash is said by joining it, and only so.
#[test]
fn a_value_that_begins_with_a_dash_is_joined() {
    let scratch = Scratch::new();
    let file = scratch.path("-x.json");
    let name = file.to_str().unwrap();
    let flags = ["--obligation=- the suite is red", "--prior=--new", "--next=-s", "--scope=-src/**", "file.read"];
    let answer = run("mh-frame-seal", crate::common::NEW.iter().chain(&["--admit", "file.read"]).chain(&flags));
    assert_eq!((answer.code, &*answer.stderr), (0, ""), "{answer:?}");
    for text in ["\"- the suite is red\"", "\"--new\"", "\"-s\"", "\"file:-src/**\""] {
        assert!(answer.stdout.contains(text), "{text} {}", answer.stdout);
    }
    let seal =
        |output: &[&str]| Run::of("mh-frame-seal").folder(scratch.root()).args(output).stdin(&*answer.stdout).answer();
    assert_eq!(seal(&["-o-x.json"]).code, 0);
    assert_eq!(fs_err::read_to_string(&file).unwrap(), answer.stdout);
    fs_err::remove_file(&file).unwrap();
    assert_eq!(seal(&["--output=-x.json"]).code, 0);
    assert_eq!(run("mh-frame-verify", [name]).code, 0);
    assert_eq!(Run::of("mh-frame-verify").folder(scratch.root()).args(["--", "-x.json"]).answer().code, 0);
    // and what is joined stands alone, where more could follow
    let joined =
        Run::of("mh-frame-verify").folder(scratch.root()).args(["--admits=file.read", "--", "-x.json"]).answer();
    assert_eq!((joined.code, &*joined.stderr), (0, ""));
    assert_eq!(run("mh-frame-verify", ["--admits=shell", name]).code, 1);
    // a lone dash is a value: standard output
    assert_eq!(seal(&["-o", "-"]).stdout, answer.stdout);
}

/// Every flag that is suggested is one that the program knows.
#[test]
fn what_a_help_text_names_is_known() {
    for name in ["mh-frame-seal", "mh-frame-verify", "mh-setup", "mh-run"] {
        let help = run(name, ["--help"]).stdout;
        let words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let flags: Vec<&str> =
            words.filter(|word| word.starts_with("--") && word.len() > 2 && !word.ends_with('-')).collect();
        assert!(flags.len() > 10, "{name}");
        for flag in flags {
            let more: &[&str] = if name == "mh-frame-seal" && flag != "--new" { &["--new"] } else { &[] };
            let words = if name == "mh-run" { ["codex", flag] } else { [flag, "--no-such-flag"] };
            let answer = run(name, more.iter().chain(&words));
            assert!(!answer.stderr.contains(&format!("there is no flag {flag}")), "{name} {flag}: {}", answer.stderr);
        }
    }
}

#[test]
fn status_besides_admits_says_nothing_at_all() {
    let scratch = Scratch::new();
    let frame = scratch.admitting(&["file.read"]);
    let frame = frame.to_str().unwrap();
    let edited = scratch.file("edited.json", fs_err::read_to_string(frame).unwrap().replace("file.read", "shell"));
    for (file, operation, code) in [
        (frame, "file.read", 0),
        (frame, "shell", 1),
        (edited.to_str().unwrap(), "shell", 1),
        ("/nonexistent", "shell", 2),
    ] {
        let answer = run("mh-frame-verify", [file, "--admits", operation, "--status"]);
        assert_eq!((answer.code, &*answer.stdout, &*answer.stderr), (code, "", ""));
    }
}

/// A program that waits for a person to type says so; `script` gives it a terminal.
#[test]
fn a_program_that_waits_at_a_terminal_says_for_what() {
    let mut child = Command::new("script");
    child.args(["-qec", &format!("'{}'", program("mh-frame-seal").display()), "/dev/null"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut seen, mut byte) = (String::new(), [0; 256]);
    let mut out = child.stdout.take().unwrap();
    while !seen.contains('\n') {
        match out.read(&mut byte).unwrap() {
            0 => break,
            read => seen += &String::from_utf8_lossy(&byte[..read]),
        }
    }
    drop(child.stdin.take());
    child.kill().unwrap();
    child.wait().unwrap();
    let wanted = "mh-frame-seal: standard input is a terminal: type or paste the document, and end it by Ctrl-D; or see --help\r\n";
    assert_eq!(seen, wanted);
}
