//! A path is read by the hook and, a moment later, by the vendor. The hook denies a path that the two might read
//! differently, whichever tool has it. A file that a vendor reads, starts or obeys by itself counts as read and as
//! changed.

use std::path::PathBuf;

use fs_err::os::unix::fs::symlink;
use serde_json::{Value, json};

use crate::common::{CLAUDE, CODEX, Run, Scratch, bytes, call};

const OPERATIONS: &str = "file.read,file.write,file.edit,dir.list,search,skill.load,subagent.spawn";

struct Case {
    scratch: Scratch,
    project: PathBuf,
    frame: PathBuf,
}

impl Case {
    fn new(operations: &str, rules: &[(&str, &str)]) -> Case {
        let scratch = Scratch::new();
        let project = scratch.folder("home/project");
        let mut flags = vec!["--admit", operations];
        for (glob, operations) in rules {
            flags.extend(["--scope", glob, operations]);
        }
        let frame = scratch.frame("frame.json", &flags);
        Case { scratch, project, frame }
    }

    fn hook(&self, vendor: &str, tool: &str, input: Value) -> Run {
        let mut payload = call(vendor, tool, input);
        payload["cwd"] = self.project.to_str().unwrap().into();
        let run = Run::hook(vendor).frame(&self.frame).args(["--policy", "deny-only"]).folder(&self.project);
        let run = run.env("HOME", self.scratch.path("home")).env("CLAUDE_PROJECT_DIR", &self.project);
        run.stdin(bytes(&payload))
    }

    /// The reason against a call; `None` if it is admitted.
    fn says(&self, vendor: &str, tool: &str, input: Value) -> Option<String> {
        let answer = self.hook(vendor, tool, input).answer();
        if answer.code == 0 {
            answer.is_silent();
            return None;
        }
        Some(answer.denial())
    }

    fn link(&self, to: &str, from: &str) {
        let from = self.project.join(from);
        fs_err::create_dir_all(from.parent().unwrap()).unwrap();
        symlink(to, from).unwrap();
    }
}

/// A call of every tool that takes a path.
fn all(path: &str) -> Vec<(&'static str, &'static str, Value)> {
    let patch = |body: String| json!({ "command": format!("*** Begin Patch\n{body}\n*** End Patch") });
    vec![
        (CLAUDE, "Read", json!({ "file_path": path })),
        (CLAUDE, "Write", json!({ "file_path": path, "content": "x" })),
        (CLAUDE, "Edit", json!({ "file_path": path, "old_string": "a", "new_string": "b" })),
        (CLAUDE, "MultiEdit", json!({ "file_path": path, "edits": [] })),
        (CLAUDE, "NotebookEdit", json!({ "notebook_path": path, "new_source": "x" })),
        (CLAUDE, "Grep", json!({ "pattern": "x", "path": path })),
        (CLAUDE, "Glob", json!({ "pattern": "*", "path": path })),
        (CLAUDE, "LS", json!({ "path": path })),
        (CODEX, "view_image", json!({ "path": path })),
        (CODEX, "apply_patch", patch(format!("*** Add File: {path}\n+x"))),
        (CODEX, "apply_patch", patch(format!("*** Update File: {path}\n@@\n-a\n+b"))),
        (CODEX, "apply_patch", patch(format!("*** Delete File: {path}"))),
        (CODEX, "apply_patch", patch(format!("*** Update File: src/a\n*** Move to: {path}\n@@\n-a\n+b"))),
    ]
}

#[test]
fn a_path_with_dots_after_a_link_is_admitted_only_if_both_its_files_are() {
    let case = Case::new(OPERATIONS, &[("src/**", "file.read,file.write,file.edit,dir.list,search"), ("**", "none")]);
    fs_err::create_dir_all(case.project.join("src/deep/a/b/c")).unwrap();
    fs_err::create_dir_all(case.project.join("lib/x")).unwrap();
    case.link("deep/a/b/c", "src/link");
    case.link("../lib/x", "src/out");
    for (vendor, tool, input) in all("src/link/../../x") {
        // outside by its letters, inside by the kernel
        let reason = case.says(vendor, tool, input).unwrap();
        assert!(reason.contains("on src/link/../../x, which path rule 2 (file:**) does not admit"), "{tool}: {reason}");
    }
    for (vendor, tool, input) in all("src/out/../x") {
        // inside by its letters, outside by the kernel
        assert!(case.says(vendor, tool, input).unwrap().contains("path rule 2"), "{tool}");
    }
    for path in ["src/link/../x", "src/deep/../x", "src/none/../x", "src/deep/a/../../x"] {
        for (vendor, tool, input) in all(path) {
            assert_eq!(case.says(vendor, tool, input), None, "{tool} {path}");
        }
    }
}

#[test]
fn a_path_that_another_process_reads_differently_is_denied_to_every_tool() {
    let free = Case::new(OPERATIONS, &[]);
    let scoped = Case::new(OPERATIONS, &[("secret/**", "none")]);
    scoped.link("/proc/self/cwd", "own");
    scoped.link("own", "hop");
    scoped.link("round", "round");
    let own = |reason: &str| reason.contains("leads through what each process sees in a way of its own");
    for path in [
        "/proc/self/cwd/x",
        "/proc/1/root/x",
        "/proc",
        "/dev/fd/3",
        "/dev/../proc/self/x",
        "//proc/./self",
        "/dev/stdin",
    ] {
        for (vendor, tool, input) in all(path) {
            for case in [&free, &scoped] {
                let reason = case.says(vendor, tool, input.clone()).unwrap();
                assert!(own(&reason), "{tool} {path}: {reason}");
            }
        }
    }
    for path in ["own", "hop/x", "own/../x", "hop/secret/../x"] {
        for (vendor, tool, input) in all(path) {
            let reason = scoped.says(vendor, tool, input).unwrap();
            assert!(own(&reason), "{tool} {path}: {reason}");
        }
    }
    for (vendor, tool, input) in all("round/x") {
        let reason = scoped.says(vendor, tool, input).unwrap();
        assert!(reason.contains("which cannot be followed (too many levels of symbolic links)"), "{tool}: {reason}");
    }
}

#[test]
fn a_path_that_a_reader_trims_or_expands_is_denied_to_every_tool() {
    let case = Case::new(OPERATIONS, &[]);
    for (path, word) in [
        ("~/x", "begins with `~`"),
        ("~root/x", "begins with `~`"),
        ("a\0b", "has a NUL in it"),
        (" x", "white space at an end"),
        ("x\u{a0}", "white space at an end"),
        ("\u{feff}x", "white space at an end"),
        ("x\u{3000}", "white space at an end"),
        ("x/.. ", "white space at an end"),
    ] {
        // Codex cuts a header off after its last word, and so does the hook
        for (vendor, tool, input) in
            all(path).into_iter().filter(|(_, tool, _)| *tool != "apply_patch" || path != "x/.. ")
        {
            let reason = case.says(vendor, tool, input).unwrap_or_else(|| panic!("{tool} {path:?} runs"));
            // the reason against a patch words a blank before a path differently
            let of_a_name = tool == "Glob" && reason.contains("white space at its end");
            assert!(reason.contains(word) || tool == "apply_patch" || of_a_name, "{tool} {path:?}: {reason}");
        }
    }
    for pattern in [" /etc/*", "\u{feff}/etc/*", "/etc/*\u{a0}"] {
        let reason = case.says(CLAUDE, "Glob", json!({ "pattern": pattern })).unwrap();
        assert!(reason.contains("white space at an end of its pattern"), "{reason}");
    }
    // this text can be no file's name
    let payload = br#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/a/\ud800"}}"#;
    Run::hook(CLAUDE).frame(&case.frame).stdin(*payload).answer().denial();
}

/// A decider that replaces every input by this one.
fn replacing(case: &Case, input: &Value) -> PathBuf {
    let text = format!(
        "#!/bin/sh\nid=$(sed -n 's/.*\"call_id\":\"\\([^\"]*\\)\".*/\\1/p')\nprintf '%s%s%s\\n' \
         '{{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"' \"$id\" \
         '\",\"decision\":{}}}'\n",
        json!({ "decision": "replace", "input": input })
    );
    let path = case.scratch.path("decider");
    crate::common::executable(&path, &text);
    path
}

#[test]
fn a_replaced_input_is_judged_by_the_same_rules() {
    let case = Case::new(OPERATIONS, &[("src/**", "file.read,file.write,file.edit,dir.list,search"), ("**", "none")]);
    fs_err::create_dir_all(case.project.join("src/deep/a/b/c")).unwrap();
    case.link("deep/a/b/c", "src/link");
    let at = |path: &str| format!("{}/{path}", case.project.display());
    let patch = |path: &str| json!({ "command": format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch") });
    let first = [("Grep", json!({ "pattern": "x", "path": "src" })), ("apply_patch", patch("src/a"))];
    for (vendor, (tool, input), replaced, word) in [
        (CLAUDE, &first[0], json!({ "pattern": "x", "path": at("src") }), None),
        (CLAUDE, &first[0], json!({ "pattern": "x", "path": at("src/.. ") }), Some("white space at an end")),
        (CLAUDE, &first[0], json!({ "pattern": "x", "path": "~/x" }), Some("not an absolute path")),
        (CLAUDE, &first[0], json!({ "pattern": "x", "path": at("src/link/../../x") }), Some("path rule 2")),
        (
            CLAUDE,
            &first[0],
            json!({ "pattern": "x", "path": "/proc/self/cwd" }),
            Some("leads through what each process"),
        ),
        (CODEX, &first[1], patch("src/b"), None),
        (CODEX, &first[1], patch("src/link/../../x"), Some("path rule 2")),
        (CODEX, &first[1], patch("/proc/self/cwd/x"), Some("leads through what each process")),
    ] {
        let decider = format!("exec:{}", replacing(&case, &replaced).display());
        let answer = case.hook(vendor, tool, input.clone()).args(["--decider", &decider]).answer();
        match word {
            Some(word) => assert!(answer.denial().contains(word), "{replaced}"),
            None => assert_eq!(answer.json()["hookSpecificOutput"]["updatedInput"], replaced),
        }
    }
}

#[test]
fn files_that_either_vendor_starts_or_obeys_are_kept_from_both() {
    let case = Case::new(OPERATIONS, &[]);
    let home = case.scratch.path("home").to_str().unwrap().to_string();
    let kept = |vendor, path: &str| {
        let (tool, input) = match vendor {
            CLAUDE => ("Write", json!({ "file_path": path, "content": "x" })),
            _ => (
                "apply_patch",
                json!({ "command": format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch") }),
            ),
        };
        let run = case.hook(vendor, tool, input).env("BASH_ENV", format!("{home}/by-bash-env.sh"));
        let answer = run.env("GIT_CONFIG_GLOBAL", format!("{home}/by-git")).answer();
        if answer.code == 0 { String::new() } else { answer.denial() }
    };
    for vendor in [CLAUDE, CODEX] {
        for (path, what) in [
            (".mcp.json", "starts or obeys by itself"),
            ("sub/.mcp.json", "starts or obeys by itself"),
            (".claude/agents/x.md", "starts or obeys by itself"),
            (".claude/skills/x/SKILL.md", "starts or obeys by itself"),
            (".claude/settings.local.json", "the configuration of Claude Code"),
            (".codex/config.toml", "the configuration of Codex"),
            (".agents/skills/x/SKILL.md", "starts or obeys by itself"),
            (".git/config", "what git obeys"),
            (".git/config.worktree", "what git obeys"),
            (".git/commondir", "what git obeys"),
            (".git/worktrees/a/gitdir", "what git obeys"),
            (".git/modules/a/b/config", "what git obeys"),
            ("sub/.git", "what git obeys"),
            ("{H}/.gitconfig", "what git obeys"),
            ("{H}/.config/git/config", "what git obeys"),
            ("{H}/by-git", "what git obeys"),
            ("/etc/gitconfig", "what git obeys"),
            ("{H}/.bashrc", "a start-up file"),
            ("{H}/by-bash-env.sh", "a start-up file"),
            ("/etc/profile", "a start-up file"),
            ("/etc/profile.d/a.sh", "a start-up file"),
            ("/etc/ld.so.preload", "what every program on this system is started by"),
            ("/usr/bin/git", "a program that starts the hook, or that is started with it"),
            ("/bin/timeout", "a program that starts the hook, or that is started with it"),
            ("/usr/bin/../bin/sh", "a program that starts the hook, or that is started with it"),
        ] {
            let path = path.replace("{H}", &home);
            let reason = kept(vendor, &path);
            assert!(reason.contains(what), "{vendor} {path}: {reason}");
        }
        for path in [
            ".git/info/exclude",
            ".gitignore",
            ".gitattributes",
            "git/config",
            "AGENTS.md",
            "CLAUDE.md",
            "bin/git",
            ".bashrc",
        ] {
            assert_eq!(kept(vendor, path), "", "{vendor} {path}");
        }
    }
}

#[test]
fn a_file_that_the_vendor_reads_from_an_argument_needs_file_read() {
    let skill = |args: &str| json!({ "skill": "s", "args": args });
    let picture =
        |path: &str| json!({ "items": [{ "type": "text", "text": "t" }, { "type": "local_image", "path": path }] });
    let free = Case::new(OPERATIONS, &[]);
    let blind = Case::new("skill.load,subagent.spawn,dir.list", &[]);
    let scoped = Case::new(OPERATIONS, &[("secret/**", "none")]);
    for args in ["see @a", "@\"a b\"", "\u{3002}@a", "x\n@a#L1", "a@b.org @a"] {
        assert_eq!(free.says(CLAUDE, "Skill", skill(args)), None, "{args}");
        let reason = blind.says(CLAUDE, "Skill", skill(args)).unwrap();
        assert!(reason.contains("needs file.read"), "{args}: {reason}");
        let reason = scoped.says(CLAUDE, "Skill", skill(args)).unwrap();
        assert!(reason.contains("the path rules of this step cannot judge it"), "{args}: {reason}");
    }
    for case in [&free, &blind, &scoped] {
        for args in ["", "plain words", "mail to a@b.org"] {
            assert_eq!(case.says(CLAUDE, "Skill", skill(args)), None, "{args}");
        }
        assert!(case.says(CLAUDE, "Skill", skill("@srv:a")).unwrap().contains("a resource of a server"));
        assert_eq!(case.says(CLAUDE, "Skill", json!({ "skill": "s" })), None);
    }
    let at = |case: &Case, path: &str| case.project.join(path).to_str().unwrap().to_string();
    for tool in ["spawn_agent", "multi_agent_v1send_input"] {
        assert_eq!(free.says(CODEX, tool, picture(&at(&free, "secret/a"))), None, "{tool}");
        assert_eq!(scoped.says(CODEX, tool, picture(&at(&scoped, "a"))), None, "{tool}");
        assert_eq!(blind.says(CODEX, tool, json!({ "message": "see @a" })), None, "{tool}");
        assert!(blind.says(CODEX, tool, picture(&at(&blind, "a"))).unwrap().contains("needs file.read"));
        assert!(scoped.says(CODEX, tool, picture(&at(&scoped, "secret/a"))).unwrap().contains("path rule 1"));
        assert!(free.says(CODEX, tool, picture("a")).unwrap().contains("by no absolute path"));
        assert!(
            free.says(CODEX, tool, picture("/proc/self/cwd/a")).unwrap().contains("leads through what each process")
        );
    }
}
