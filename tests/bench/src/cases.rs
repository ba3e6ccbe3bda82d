//! What is measured against what.

use std::path::Path;

use crate::payloads::{
    code, colliding_keys, dense, escaped_keys, frame, keys, large_frame, long_keys, nests, payload, plain, short_keys,
};

/// A mebibyte.
pub const MIB: usize = 1 << 20;

/// Cases that are compared with the first of them.
pub struct Group {
    /// What the group is about.
    pub title: String,
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

/// A case by its parts.
pub fn case(name: &str, command: &[&str], input: Option<&[u8]>, exit: i32) -> Case {
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

/// Makes a payload of about so many bytes.
pub type Make = fn(usize) -> Vec<u8>;

/// The kinds of payload.
pub const KINDS: [(&str, Make); 3] = [("one plain string", plain), ("code", code), ("nothing but tokens", dense)];

/// What is read beside a program that only reads.
pub const READ: [(&str, Make); 9] = [
    ("one plain string", plain),
    ("code", code),
    ("nothing but tokens", dense),
    ("nothing but nesting", nests),
    ("keys of one object", keys),
    ("keys, the shortest", short_keys),
    ("keys behind the same 60 escapes", escaped_keys),
    ("keys behind the same 700 bytes", long_keys),
    ("keys that collide in a hash without a secret", colliding_keys),
];

/// The sizes that these have, in bytes: the largest is nearly the largest payload that is read.
pub const READ_SIZES: [usize; 3] = [MIB, 16 * MIB, 63 * MIB];

/// The programs, and the frames that they judge by.
pub struct Bench {
    /// Where the programs are.
    pub bin: String,
    /// `mh-hook-claude`
    pub claude: String,
    /// `mh-hook-codex`
    pub codex: String,
    /// A program that does nothing, built in the same way.
    pub empty: String,
    /// A program that reads a payload with serde_json, built for speed.
    pub serde: String,
    /// A frame that admits to read and to write.
    pub small: String,
    /// The same with 1,000 path rules.
    pub scoped: String,
    /// Frames of 1, 4 and nearly 16 MiB.
    pub frames: Vec<(usize, String)>,
}

impl Bench {
    /// Seal the frames.
    pub fn new(bin: String, serde: String, scratch: &Path) -> Result<Bench, String> {
        let admit = ["--admit".to_string(), "file.read,file.write".to_string()];
        let small = frame(&bin, scratch, "small.json", &admit)?.display().to_string();
        let mut rules = admit.to_vec();
        for rule in 0..1_000 {
            rules.extend(["--scope".into(), format!("src/module-{rule}/**/*.rs"), "file.read,file.write".into()]);
        }
        let scoped = frame(&bin, scratch, "scoped.json", &rules)?.display().to_string();
        let mut frames = Vec::new();
        for size in [MIB, 4 * MIB, 16 * MIB - MIB / 8] {
            frames.push((size, large_frame(&bin, scratch, size)?.display().to_string()));
        }
        let program = |name: &str| format!("{bin}/{name}");
        let (claude, codex, empty) = (program("mh-hook-claude"), program("mh-hook-codex"), program("empty"));
        Ok(Bench { bin, claude, codex, empty, serde, small, scoped, frames })
    }

    /// A hook on a payload under the small frame.
    pub fn hook(&self, name: &str, input: &[u8], exit: i32) -> Case {
        case(name, &[&self.claude, "--frame", &self.small], Some(input), exit)
    }

    /// A hook on a payload of this size.
    pub fn sized(&self, make: Make, bytes: usize) -> Case {
        self.hook(&format!("a payload of {bytes} bytes"), &make(bytes), 0)
    }

    /// Whole processes.
    pub fn one_call(&self) -> Group {
        let Bench { claude, codex, empty, small, scoped, .. } = self;
        let (write, bash) = (plain(1_000), payload("Bash", r#"{"command":"ls"}"#));
        let read = payload("Read", r#"{"file_path":"/x/a.txt"}"#);
        let (_, large) = &self.frames[0];
        Group {
            title: "one call".into(),
            share: 1,
            cases: vec![
                case("/bin/true", &["/bin/true"], Some(&read), 0),
                case("an empty static program", &[empty], Some(&read), 0),
                case("mh-hook-claude, no frame (abstain)", &[claude], Some(&read), 0),
                self.hook("mh-hook-claude, allow", &read, 0),
                self.hook("mh-hook-claude, deny", &bash, 2),
                self.hook("mh-hook-claude, Write (self-protection)", &write, 0),
                case("mh-hook-claude, 1,000 path rules", &[claude, "--frame", scoped], Some(&read), 0),
                case("mh-hook-claude, a frame of 1 MiB", &[claude, "--frame", large], Some(&write), 0),
                case("mh-hook-codex, deny", &[codex, "--frame", small], Some(&payload("nothing", "{}")), 2),
                case("sh + jq, the tool's name only", &["sh", "-c", NAIVE_JQ], Some(&read), 0),
                case("python3, the same", &["python3", "-c", NAIVE_PYTHON], Some(&read), 0),
                case("node, the same", &["node", "-e", NAIVE_NODE], Some(&read), 0),
            ],
        }
    }

    /// The line that stands in a vendor's configuration, by how it is started.
    pub fn lines(&self) -> Group {
        let read = payload("Read", r#"{"file_path":"/x/a.txt"}"#);
        let line = format!("'{}' --frame '{}'", self.claude, self.small);
        let limited = format!("/usr/bin/timeout -k 1 25 {line}");
        let shell = |shell: &str, line: &str| case(&format!("{shell} -c"), &[shell, "-c", line], Some(&read), 0);
        let named = |name: &str, case: Case| Case { name: name.into(), ..case };
        Group {
            title: "the registered line".into(),
            share: 1,
            cases: vec![
                case("/bin/true", &["/bin/true"], Some(&read), 0),
                self.hook("exec form (Claude Code)", &read, 0),
                named("sh -c 'hook || exit 2'", shell("sh", &format!("{line} || exit 2"))),
                named("bash -c 'hook || exit 2'", shell("bash", &format!("{line} || exit 2"))),
                named("sh -c 'timeout hook || exit 2'", shell("sh", &format!("{limited} || exit 2"))),
                named(
                    "bash -c 'timeout hook || { ... }' (Codex)",
                    shell("bash", &format!("{limited} || {{ echo '(this call was not run)' >&2; exit 2; }}")),
                ),
            ],
        }
    }

    /// A payload of one kind and size, against what only counts its bytes and what reads all of it.
    pub fn payloads(&self, kind: &str, make: Make, bytes: usize) -> Group {
        let input = make(bytes);
        Group {
            title: format!("a payload of {} KiB, {kind}", bytes / 1024),
            share: (bytes / MIB).clamp(1, 20),
            cases: vec![
                case("jq -e .tool_name", &["jq", "-e", ".tool_name"], Some(&input), 0),
                case("wc -c", &["wc", "-c"], Some(&input), 0),
                self.hook("mh-hook-claude", &input, 0),
            ],
        }
    }

    /// A payload, beside what only reads it.
    pub fn reading(&self, kind: &str, make: Make, bytes: usize) -> Group {
        let input = make(bytes);
        Group {
            title: format!("{} MiB, {kind}", bytes / MIB),
            share: (bytes / MIB).clamp(1, 20),
            cases: vec![case("serde", &[&self.serde], Some(&input), 0), self.hook("mh-hook-claude", &input, 0)],
        }
    }

    /// A payload that is too large to be kept.
    pub fn too_large(&self) -> Group {
        let input = plain(64 * MIB);
        Group {
            title: "a payload of 64 MiB and a little".into(),
            share: 20,
            cases: vec![
                case("wc -c", &["wc", "-c"], Some(&input[..]), 0),
                self.hook("mh-hook-claude, refused for its size", &input, 2),
            ],
        }
    }

    /// A frame of one size.
    pub fn frame(&self, bytes: usize, file: &str) -> Group {
        let verify = format!("{}/mh-frame-verify", self.bin);
        Group {
            title: format!("a frame of {} KiB", bytes / 1024),
            share: (bytes / MIB).clamp(1, 10),
            cases: vec![
                case("sha256sum", &["sha256sum", file], None, 0),
                case("mh-frame-verify --status", &[&verify, "--status", file], None, 0),
                case("mh-hook-claude", &[&self.claude, "--frame", file], Some(&plain(300)), 0),
            ],
        }
    }
}
