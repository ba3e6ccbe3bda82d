//! The path scope of a frame: each file is judged by every spelling of its path, and the scope never admits more.

use std::path::PathBuf;

use fs_err::os::unix::fs::symlink;
use serde_json::{Value, json};

use crate::common::{CLAUDE, CODEX, Run, Scratch, bytes, call};

struct Case {
    scratch: Scratch,
    project: PathBuf,
    frame: PathBuf,
}

impl Case {
    /// A frame that admits the file operations, with these path rules.
    fn new(rules: &[(&str, &str)]) -> Case {
        let scratch = Scratch::new();
        let project = scratch.folder("project");
        let mut flags = vec!["--admit", "file.read,file.write,file.edit,dir.list,search,shell"];
        for (glob, operations) in rules {
            flags.extend(["--scope", glob, operations]);
        }
        let frame = scratch.frame("frame.json", &flags);
        Case { scratch, project, frame }
    }

    /// The reason against a call, up to the step's name; `None` if it is admitted.
    fn says(&self, vendor: &str, tool: &str, input: Value) -> Option<String> {
        let mut payload = call(vendor, tool, input);
        payload["cwd"] = self.project.to_str().unwrap().into();
        let run = Run::hook(vendor).frame(&self.frame).args(["--policy", "deny-only", "--no-self-protect"]);
        let run = run.folder(&self.project).env("CLAUDE_PROJECT_DIR", &self.project);
        let answer = run.stdin(bytes(&payload)).answer();
        if answer.code == 0 {
            answer.is_silent();
            return None;
        }
        let reason = answer.denial();
        Some(reason.split(" (step 1, ").next().unwrap().strip_prefix(&format!("{tool} ")).unwrap().into())
    }

    fn edits(&self, path: &str) -> Option<String> {
        self.says(CLAUDE, "Edit", json!({ "file_path": path }))
    }

    fn at(&self, path: &str) -> String {
        self.project.join(path).to_str().unwrap().into()
    }
}

fn refused(operation: &str, path: &str, rule: usize, glob: &str) -> Option<String> {
    Some(format!("needs {operation} on {path}, which path rule {rule} (file:{glob}) does not admit"))
}

#[test]
fn the_first_rule_that_matches_decides_and_none_is_silent() {
    let case = Case::new(&[("src/gen/**", "file.read"), ("src/**", "file.edit,file.read"), ("docs/*", "none")]);
    assert_eq!(case.edits(&case.at("src/a.rs")), None);
    assert_eq!(case.edits("src/deep/a.rs"), None);
    assert_eq!(case.edits("src/gen/a.rs"), refused("file.edit", "src/gen/a.rs", 1, "src/gen/**"));
    assert_eq!(case.says(CLAUDE, "Read", json!({ "file_path": "src/gen/a.rs" })), None);
    assert_eq!(
        case.says(CLAUDE, "Write", json!({ "file_path": "src/a.rs" })),
        refused("file.write", "src/a.rs", 2, "src/**")
    );
    assert_eq!(case.edits("docs/a.md"), refused("file.edit", "docs/a.md", 3, "docs/*"));
    assert_eq!(case.edits("docs/deep/a.md"), None, "a star stops at a slash, and no other rule matches");
    assert_eq!(case.edits("README.md"), None);
    assert_eq!(case.edits("/somewhere/else"), None);
}

#[test]
fn a_catch_all_closes_the_scope() {
    let case = Case::new(&[("src/**", "file.edit"), ("**", "none")]);
    assert_eq!(case.edits("src/a.rs"), None);
    for path in ["README.md", "/etc/passwd", "../frame.json", "srcs/a.rs", "SRC/a.rs", "src"] {
        assert_eq!(case.edits(path), refused("file.edit", path, 2, "**"));
    }
}

#[test]
fn the_scope_admits_no_further_operation() {
    let scratch = Scratch::new();
    let rule = ["--scope", "**", "file.edit,file.read", "--allow-doubtful"];
    let frame = scratch.frame("frame.json", &[&["--admit", "file.read"], &rule[..]].concat());
    let payload = bytes(&call(CLAUDE, "Edit", json!({ "file_path": "a" })));
    let reason = Run::hook(CLAUDE).frame(frame).stdin(payload).answer().denial();
    assert!(reason.starts_with("Edit needs file.edit, which is not admitted (step "), "{reason}");
}

#[test]
fn a_rule_admits_only_where_the_path_really_leads() {
    let case = Case::new(&[("src/**", "file.edit"), ("**", "none")]);
    let src = case.scratch.folder("project/src");
    symlink("/etc", src.join("etc")).unwrap();
    symlink("../secret", src.join("dangling")).unwrap();
    symlink("src", case.project.join("alias")).unwrap();
    for path in ["src/etc/passwd", "src/dangling", "src/../README.md", "src/etc/../README.md"] {
        assert_eq!(case.edits(path), refused("file.edit", path, 2, "**"), "{path}");
    }
    // another name of an admitted file is admitted
    assert_eq!(case.edits("alias/a.rs"), None);
    let open = Case::new(&[("docs/**", "none"), ("src/**", "file.edit")]);
    open.scratch.folder("project/src");
    symlink("src", open.project.join("alias")).unwrap();
    assert_eq!(open.edits("alias/a.rs"), None);
    assert_eq!(open.edits("docs/../src/a.rs"), refused("file.edit", "docs/../src/a.rs", 1, "docs/**"));
}

#[test]
fn a_rule_that_refuses_matches_on_any_spelling() {
    let case = Case::new(&[("secret/**", "none"), ("**", "file.edit")]);
    case.scratch.folder("project/secret");
    case.scratch.folder("project/open");
    symlink("../secret/key", case.project.join("open/key")).unwrap();
    symlink("../open/a", case.project.join("secret/a")).unwrap();
    let at = case.at("secret/key");
    for path in [
        &*at,
        "secret/key",
        "./secret/key",
        "open/../secret/key",
        "open/key",
        "secret/a",
        "missing/../secret/key",
        "secret/../secret/key",
        "secret/x/../key",
    ] {
        assert_eq!(case.edits(path), refused("file.edit", path, 1, "secret/**"), "{path}");
    }
    assert_eq!(case.edits("open/a"), None);
    // an absolute glob matches a relative path too
    let absolute = format!("{}/secret/**", case.project.display());
    let case2 =
        Case { frame: case.scratch.frame("f2.json", &["--admit", "file.edit", "--scope", &absolute, "none"]), ..case };
    assert_eq!(case2.edits("open/key"), refused("file.edit", "open/key", 1, &absolute));
}

#[test]
fn a_project_that_is_reached_by_a_link_is_the_same_project() {
    let case = Case::new(&[("src/**", "file.edit"), ("**", "none")]);
    let alias = case.scratch.path("alias");
    symlink(&case.project, &alias).unwrap();
    let mut payload = call(CLAUDE, "Edit", json!({ "file_path": alias.join("src/a.rs") }));
    payload["cwd"] = alias.to_str().unwrap().into();
    let run = Run::hook(CLAUDE).frame(&case.frame).args(["--policy", "deny-only"]).env("CLAUDE_PROJECT_DIR", &alias);
    run.stdin(bytes(&payload)).answer().is_silent();
}

#[test]
fn the_project_is_the_launchers_and_never_the_payloads() {
    let case = Case::new(&[("src/**", "file.edit"), ("**", "none")]);
    let other = case.scratch.folder("project/other");
    for vendor in [CLAUDE, CODEX] {
        let mut payload = match vendor {
            CLAUDE => call(CLAUDE, "Edit", json!({ "file_path": "src/a.rs" })),
            _ => call(
                CODEX,
                "apply_patch",
                json!({ "command": "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** End Patch" }),
            ),
        };
        payload["cwd"] = other.to_str().unwrap().into();
        let run = Run::hook(vendor).frame(&case.frame).folder(&case.project).env("CLAUDE_PROJECT_DIR", &case.project);
        let reason = run.stdin(bytes(&payload)).answer().denial();
        assert!(reason.contains("needs file.edit on src/a.rs, which path rule 2 (file:**) does not admit"), "{reason}");
    }
}

#[test]
fn every_file_of_a_patch_is_judged_alone() {
    let case = Case::new(&[("src/**", "file.edit,file.write"), ("notes/**", "file.write"), ("**", "none")]);
    let patch = |body: &str| {
        case.says(CODEX, "apply_patch", json!({ "command": format!("*** Begin Patch\n{body}\n*** End Patch") }))
    };
    assert_eq!(patch("*** Update File: src/a\n@@\n-a\n+b\n*** Add File: notes/n\n+x"), None);
    assert_eq!(patch("*** Update File: src/a\n*** Add File: top"), refused("file.write", "top", 3, "**"));
    assert_eq!(patch("*** Update File: notes/n"), refused("file.edit", "notes/n", 2, "notes/**"));
    // a move needs both of its paths admitted
    assert_eq!(patch("*** Update File: src/a\n*** Move to: src/b"), None);
    assert_eq!(patch("*** Update File: src/a\n*** Move to: top"), refused("file.edit", "top", 3, "**"));
    assert_eq!(patch("*** Update File: top\n*** Move to: src/a"), refused("file.edit", "top", 3, "**"));
    assert_eq!(patch("*** Update File: src/a\n*** Move to: notes/n"), refused("file.edit", "notes/n", 2, "notes/**"));
    assert_eq!(
        case.says(CODEX, "view_image", json!({ "path": "src/p.png" })),
        refused("file.read", "src/p.png", 1, "src/**")
    );
}

#[test]
fn a_link_that_is_deleted_or_moved_is_judged_where_it_stands() {
    let case = Case::new(&[("src/**", "file.edit,file.write"), ("**", "none")]);
    case.scratch.file("project/src/real", "");
    case.scratch.file("project/top", "");
    symlink("src/real", case.project.join("into")).unwrap();
    symlink("../top", case.project.join("src/out")).unwrap();
    let patch = |body: &str| {
        case.says(CODEX, "apply_patch", json!({ "command": format!("*** Begin Patch\n{body}\n*** End Patch") }))
    };
    // the link is deleted, and its target stays
    assert_eq!(patch("*** Delete File: into"), refused("file.write", "into", 2, "**"));
    assert_eq!(patch("*** Delete File: src/out"), None);
    // writing through the link changes its target
    assert_eq!(patch("*** Update File: into"), None);
    assert_eq!(patch("*** Update File: src/out"), refused("file.edit", "src/out", 2, "**"));
    assert_eq!(patch("*** Add File: src/out"), refused("file.write", "src/out", 2, "**"));
    assert_eq!(patch("*** Update File: into\n*** Move to: src/b"), refused("file.write", "into", 2, "**"));
}

#[test]
fn a_search_is_judged_by_the_folder_that_it_looks_in() {
    let case = Case::new(&[("src/**", "dir.list,search"), ("**", "none")]);
    let says = |tool: &str, input: Value| case.says(CLAUDE, tool, input);
    for input in [
        json!({ "pattern": "x", "path": "src" }),
        json!({ "pattern": "x", "path": "src/" }),
        json!({ "pattern": "x", "path": case.at("src/deep") }),
        json!({ "pattern": "../../**", "path": "src" }),
    ] {
        assert_eq!(says("Grep", input), None);
    }
    assert_eq!(says("Grep", json!({ "pattern": "x" })), refused("search", ".", 2, "**"));
    assert_eq!(says("Grep", json!({ "pattern": "x", "path": "" })), refused("search", ".", 2, "**"));
    assert_eq!(
        says("Grep", json!({ "pattern": "x", "path": "src/../docs" })),
        refused("search", "src/../docs", 2, "**")
    );
    for input in [
        json!({ "pattern": "src/**/*.rs" }),
        json!({ "pattern": "*.rs", "path": "src" }),
        json!({ "pattern": "deep/*.rs", "path": "src" }),
        json!({ "pattern": case.at("src/*") }),
        json!({ "pattern": "src/deep/a.rs" }),
    ] {
        assert_eq!(says("Glob", input.clone()), None, "{input}");
    }
    for (input, looks) in [
        (json!({ "pattern": "**/*.rs" }), ".".to_string()),
        (json!({ "pattern": "docs/*" }), "./docs/".into()),
        (json!({ "pattern": "../docs/*", "path": "src" }), "src/../docs/".into()),
        (json!({ "pattern": "/etc/*", "path": "src" }), "/etc/".into()),
        (json!({ "pattern": "sr[c]/*" }), ".".into()),
        (json!({ "pattern": "{src,docs}/*" }), ".".into()),
    ] {
        assert_eq!(says("Glob", input.clone()), refused("dir.list", &looks, 2, "**"), "{input}");
    }
    let why = "has `..` behind a wildcard, so it cannot be told where it looks";
    assert_eq!(says("Glob", json!({ "pattern": "src/*/../../docs/*" })), Some(why.into()));
    assert_eq!(says("LS", json!({ "path": "docs" })), refused("dir.list", "docs", 2, "**"));
}

#[test]
fn a_shell_has_no_path_and_so_no_scope() {
    let case = Case::new(&[("**", "none")]);
    assert_eq!(case.says(CLAUDE, "Bash", json!({ "command": "cat /etc/passwd" })), None);
    assert_eq!(case.says(CODEX, "Bash", json!({ "command": "cat /etc/passwd" })), None);
}

#[test]
fn a_call_whose_path_cannot_be_told_is_denied() {
    let case = Case::new(&[]);
    for (tool, member) in
        [("Read", "file_path"), ("Write", "file_path"), ("Edit", "file_path"), ("NotebookEdit", "notebook_path")]
    {
        let wanted = format!("has no `{member}` that is a string, so it cannot be told which file it is about");
        for input in [json!({}), json!({ member: "" }), json!({ member: null }), json!({ member: ["a"] }), json!("a")] {
            assert_eq!(case.says(CLAUDE, tool, input), Some(wanted.clone()), "{tool}");
        }
    }
}

#[test]
fn a_search_whose_folder_cannot_be_told_is_denied() {
    let case = Case::new(&[]);
    for (tool, wanted) in [("Grep", "search"), ("Glob", "dir.list"), ("LS", "dir.list")] {
        let why = "has a `path` that is no string, so it cannot be told where it looks";
        for path in [json!(5), json!(["src"]), json!(null)] {
            let input = json!({ "pattern": "x", "path": path });
            assert_eq!(case.says(CLAUDE, tool, input).as_deref(), Some(why), "{tool} {wanted}");
        }
    }
}

#[test]
fn a_missing_working_folder_denies_paths_under_path_rules() {
    let case = Case::new(&[("secret/**", "none")]);
    let hook = crate::common::program("mh-hook-codex");
    let mut payload = call(CODEX, "apply_patch", json!({}));
    payload["cwd"] = case.project.to_str().unwrap().into();
    payload["tool_input"]["command"] =
        format!("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch", case.at("secret/n")).into();
    let file = case.scratch.file("payload.json", bytes(&payload));
    for (gone, wanted) in [
        (false, "which path rule 1 (file:secret/**) does not admit"),
        (true, "apply_patch cannot be judged by the path rules: the working folder that they are relative to is gone"),
    ] {
        let script = if gone {
            "cd \"$1\"; rm -r \"$1\"; mkdir \"$1\"; shift; exec \"$@\" <\"$in\""
        } else {
            "cd \"$1\"; shift; exec \"$@\" <\"$in\""
        };
        let output = std::process::Command::new("/bin/sh")
            .env_clear()
            .args(["-c", script, "sh"])
            .arg(&case.project)
            .arg(&hook)
            .args(["--no-self-protect", "--frame"])
            .arg(&case.frame)
            .env("in", &file)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
}
