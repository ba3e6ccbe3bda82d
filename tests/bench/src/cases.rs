//! The commands that are measured, in groups that are compared.

use std::path::Path;

use crate::payloads::{
    code, colliding_keys, dense, escaped_keys, frame, keys, large_frame, long_keys, nests, payload, plain, short_keys,
};

pub const MIB: usize = 1 << 20;

/// Cases that are compared with the first one.
pub struct Group {
    pub title: String,
    /// Run by turns.
    pub cases: Vec<Case>,
    /// The number of rounds is divided by this, for slow cases.
    pub share: usize,
}

pub struct Case {
    pub name: String,
    pub command: Vec<String>,
    /// For stdin.
    pub input: Option<Vec<u8>>,
    /// The exit code that it has to end with.
    pub exit: i32,
}

pub fn case(name: &str, command: &[&str], input: Option<&[u8]>, exit: i32) -> Case {
    Case {
        name: name.into(),
        command: command.iter().map(ToString::to_string).collect(),
        input: input.map(<[u8]>::to_vec),
        exit,
    }
}

/// The decision as a person would write it in a shell script: is the tool one of a few?
const NAIVE_JQ: &str = r#"case $(jq -r .tool_name) in Read|Write) exit 0;; *) echo no >&2; exit 2;; esac"#;
const NAIVE_PYTHON: &str = "import json,sys\nif json.load(sys.stdin)['tool_name'] not in ('Read','Write'): sys.exit(2)";
const NAIVE_NODE: &str = "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>process.exit(['Read','Write'].includes(JSON.parse(s).tool_name)?0:2))";

/// A function that makes a payload of about this size.
pub type Make = fn(usize) -> Vec<u8>;

pub const KINDS: [(&str, Make); 3] = [("one plain string", plain), ("code", code), ("nothing but tokens", dense)];

/// The payloads that a hook reads in comparison with a program that only reads.
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

/// The sizes of [`READ`] in bytes. The last is close to the largest payload that a hook reads.
pub const READ_SIZES: [usize; 3] = [MIB, 16 * MIB, 63 * MIB];

pub struct Bench {
    /// The folder of the programs.
    pub bin: String,
    pub claude: String,
    pub codex: String,
    /// A program that does nothing, built like the hooks.
    pub empty: String,
    /// A program that reads a payload with serde_json, built for speed.
    pub serde: String,
    /// A frame that admits reading and writing.
    pub small: String,
    /// The same frame with 1,000 path rules.
    pub scoped: String,
    /// Frames of 1, 4 and nearly 16 MiB.
    pub frames: Vec<(usize, String)>,
}

impl Bench {
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

    pub fn hook(&self, name: &str, input: &[u8], exit: i32) -> Case {
        case(name, &[&self.claude, "--frame", &self.small], Some(input), exit)
    }

    pub fn sized(&self, make: Make, bytes: usize) -> Case {
        self.hook(&format!("a payload of {bytes} bytes"), &make(bytes), 0)
    }

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

    /// The entry's command line in a vendor's configuration, by the ways that vendors start it.
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

    /// A payload, in comparison with a program that counts its bytes and a program that reads all of it.
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

    /// A payload, in comparison with a program that only reads it.
    pub fn reading(&self, kind: &str, make: Make, bytes: usize) -> Group {
        let input = make(bytes);
        Group {
            title: format!("{} MiB, {kind}", bytes / MIB),
            share: (bytes / MIB).clamp(1, 20),
            cases: vec![case("serde", &[&self.serde], Some(&input), 0), self.hook("mh-hook-claude", &input, 0)],
        }
    }

    /// A payload beyond the limit, which a hook reads and drops.
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
