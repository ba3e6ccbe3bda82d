//! What is measured against what.

use std::path::Path;

use crate::payloads::{code, dense, frame, large_frame, payload, plain};

/// Cases that are compared with the first of them.
pub struct Group {
    /// What the group is about.
    pub title: &'static str,
    /// The cases, taken in turn.
    pub cases: Vec<Case>,
    /// The rounds are divided by this, for slow cases.
    pub share: usize,
}

/// One command with its input.
pub struct Case {
    /// The name in the table.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// What it reads.
    pub input: Option<Vec<u8>>,
    /// How it has to end.
    pub exit: i32,
}

fn case(name: &str, command: &[&str], input: Option<&[u8]>, exit: i32) -> Case {
    Case {
        name: name.into(),
        command: command.iter().map(ToString::to_string).collect(),
        input: input.map(<[u8]>::to_vec),
        exit,
    }
}

/// The same decision as people write it: is the tool one of a few?
const NAIVE_JQ: &str = r#"case $(jq -r .tool_name) in Read|Write) exit 0;; *) echo no >&2; exit 2;; esac"#;
const NAIVE_PYTHON: &str = "import json,sys\nif json.load(sys.stdin)['tool_name'] not in ('Read','Write'): sys.exit(2)";
const NAIVE_NODE: &str = "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>process.exit(['Read','Write'].includes(JSON.parse(s).tool_name)?0:2))";

/// Everything that is measured.
pub fn groups(bin: &str, scratch: &Path) -> Result<Vec<Group>, String> {
    let admit = |operations: &str| vec!["--admit".to_string(), operations.to_string()];
    let small = frame(bin, scratch, "small.json", &admit("file.read,file.write"))?.display().to_string();
    let mut rules = admit("file.read,file.write");
    for rule in 0..1_000 {
        rules.extend(["--scope".into(), format!("src/module-{rule}/**/*.rs"), "file.read,file.write".into()]);
    }
    let scoped = frame(bin, scratch, "scoped.json", &rules)?.display().to_string();
    let large = large_frame(bin, scratch, 11_000_000)?.display().to_string();
    let claude = format!("{bin}/mh-hook-claude");
    let codex = format!("{bin}/mh-hook-codex");
    let empty = format!("{bin}/empty");
    let (write, bash) = (plain(300), payload("Bash", r#"{"command":"ls"}"#));
    let read = payload("Read", r#"{"file_path":"/x/a.txt"}"#);

    let process = Group {
        title: "one call",
        share: 1,
        cases: vec![
            case("/bin/true", &["/bin/true"], Some(&read), 0),
            case("an empty static program", &[&empty], Some(&read), 0),
            case("mh-hook-claude, no frame (abstain)", &[&claude], Some(&read), 0),
            case("mh-hook-claude, allow", &[&claude, "--frame", &small], Some(&read), 0),
            case("mh-hook-claude, deny", &[&claude, "--frame", &small], Some(&bash), 2),
            case("mh-hook-claude, Write (self-protection)", &[&claude, "--frame", &small], Some(&write), 0),
            case("mh-hook-claude, 1,000 path rules", &[&claude, "--frame", &scoped], Some(&read), 0),
            case("mh-hook-codex, deny", &[&codex, "--frame", &small], Some(&payload("nothing", "{}")), 2),
            case("sh + jq, the tool's name only", &["sh", "-c", NAIVE_JQ], Some(&read), 0),
            case("python3, the same", &["python3", "-c", NAIVE_PYTHON], Some(&read), 0),
            case("node, the same", &["node", "-e", NAIVE_NODE], Some(&read), 0),
        ],
    };
    let line = format!("'{claude}' --frame '{small}'");
    let guarded = format!("{line} || exit 2");
    let limited = format!("/usr/bin/timeout -k 1 25 {line} || {{ echo '(this call was not run)' >&2; exit 2; }}");
    let lines = Group {
        title: "the registered line",
        share: 1,
        cases: vec![
            case("/bin/true", &["/bin/true"], Some(&read), 0),
            case("exec form (Claude Code)", &[&claude, "--frame", &small], Some(&read), 0),
            case("sh -c 'hook || exit 2'", &["sh", "-c", &guarded], Some(&read), 0),
            case("bash -c 'timeout hook || { ... }' (Codex)", &["bash", "-c", &limited], Some(&read), 0),
        ],
    };
    let mut all = vec![process, lines];
    for (title, make) in [
        ("a payload of 16 MiB, one plain string", plain as fn(usize) -> Vec<u8>),
        ("a payload of 16 MiB, code", code),
        ("a payload of 16 MiB, nothing but tokens", dense),
    ] {
        let input = make(16 << 20);
        all.push(Group {
            title,
            share: 10,
            cases: vec![
                case("jq -e .tool_name", &["jq", "-e", ".tool_name"], Some(&input), 0),
                case("wc -c", &["wc", "-c"], Some(&input), 0),
                case("mh-hook-claude", &[&claude, "--frame", &small], Some(&input), 0),
            ],
        });
    }
    let input = plain(64 << 20);
    all.push(Group {
        title: "a payload of 64 MiB and a little",
        share: 20,
        cases: vec![
            case("wc -c", &["wc", "-c"], Some(&input[..]), 0),
            case("mh-hook-claude, refused for its size", &[&claude, "--frame", &small], Some(&input), 2),
        ],
    });
    all.push(Group {
        title: "a frame of 15 MB",
        share: 10,
        cases: vec![
            case("sha256sum", &["sha256sum", &large], None, 0),
            case("mh-frame-verify --status", &[&format!("{bin}/mh-frame-verify"), "--status", &large], None, 0),
            case("mh-hook-claude", &[&claude, "--frame", &large], Some(&write), 0),
        ],
    });
    Ok(all)
}
