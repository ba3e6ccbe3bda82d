//! Ordinary calls under a frame that admits their operation: the guard against odd paths must not stop a person's work.
//! The cases are projects with links, `..`, blanks and é, monorepos, worktrees, a home behind a link, and names that
//! only look like guarded ones.

use std::path::PathBuf;

use fs_err::os::unix::fs::symlink;
use serde_json::{Value, json};

use crate::common::{CLAUDE, CODEX, Run, Scratch, bytes, call};

const ALL: &str = "file.read,file.write,file.edit,dir.list,search";

/// A home behind a link, with a project in it.
struct Home {
    scratch: Scratch,
    /// By the link, as `HOME` and the launcher's folder name it.
    project: PathBuf,
    /// By its real path.
    real: PathBuf,
}

/// Files of the project, with the layouts that they stand for.
const FILES: [&str; 30] = [
    "README.md",
    "src/a.rs",
    "src/deep/er/b.rs",
    "with blank/in name.txt",
    "docs/é/ü ñ.md",
    "docs/日本語.md",
    "packages/api/src/x.ts",
    "packages/web/src/y.ts",
    ".gitignore",
    ".env",
    ".github/workflows/ci.yml",
    ".vscode/settings.json",
    ".claude/notes.md",
    ".claude/plans/next.md",
    ".codex/notes.md",
    ".worktrees/feature/src/a.rs",
    "settings.json",
    "config/settings.local.json",
    "mcp.json",
    "agents/a.md",
    "skills/s/SKILL.md",
    "hooks/pre-commit.sh",
    "proc/self.rs",
    "dev/fd/3.md",
    "etc/passwd",
    "bin/bash",
    "lib/x.so",
    "home~/a~b.txt",
    "a..b/c..",
    "node_modules/left-pad/index.js",
];

/// Other spellings of existing files.
const WAYS: [&str; 18] = [
    "src/../README.md",
    "./src/./a.rs",
    "src//deep///er/b.rs",
    "src/deep/../../packages/api/src/x.ts",
    "packages/web/../api/src/x.ts",
    // a package that another one reaches by a link, as package managers make them
    "packages/web/node_modules/api/src/x.ts",
    "current/src/x.ts",
    "current/../README.md",
    "link to docs/é/ü ñ.md",
    // out of the project and back
    "../my project/src/a.rs",
    "../my project/../my project/README.md",
    // linked from outside, and leading outside
    "store/table.csv",
    "../store/table.csv",
    "LICENSE",
    // new files, reached by new folders too
    "new.txt",
    "new folder/deep/new.txt",
    "build/out.txt",
    "missing/../src/a.rs",
];

impl Home {
    fn new() -> Home {
        let scratch = Scratch::new();
        let real = scratch.folder("disk 2/users/ü/my project");
        symlink(scratch.path("disk 2/users"), scratch.path("home")).unwrap();
        let project = scratch.path("home/ü/my project");
        for file in FILES {
            scratch.file(&format!("disk 2/users/ü/my project/{file}"), "x");
        }
        scratch.file("disk 2/users/ü/store/table.csv", "x");
        fs_err::create_dir_all(real.join("packages/web/node_modules")).unwrap();
        for (target, link) in [
            ("../../api", "packages/web/node_modules/api"),
            ("packages/api", "current"),
            ("docs", "link to docs"),
            ("../store", "store"),
            ("docs/LICENSE.md", "LICENSE"),
            ("dist", "build"),
        ] {
            symlink(target, real.join(link)).unwrap();
        }
        fs_err::write(real.join("docs/LICENSE.md"), "x").unwrap();
        Home { scratch, project, real }
    }

    /// The reasons against these calls; empty if all are admitted.
    fn refused(&self, frame: &[&str], calls: &[(&'static str, &'static str, Value)]) -> Vec<String> {
        let frame = self.scratch.frame("frame.json", frame);
        let one = |(vendor, tool, input): &(&str, &str, Value)| {
            let mut payload = call(vendor, tool, input.clone());
            payload["cwd"] = self.project.to_str().unwrap().into();
            let run = Run::hook(vendor).frame(&frame).args(["--policy", "deny-only"]).folder(&self.project);
            let run = run.env("HOME", self.scratch.path("home/ü")).env("CLAUDE_PROJECT_DIR", &self.project);
            let answer = run.env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(bytes(&payload)).answer();
            (answer.code != 0 || !answer.stdout.is_empty()).then(|| format!("{tool} {input}: {}", answer.stderr))
        };
        let half = calls.len().div_ceil(4);
        std::thread::scope(|scope| {
            let parts: Vec<_> =
                calls.chunks(half).map(|part| scope.spawn(move || part.iter().filter_map(one).collect())).collect();
            parts.into_iter().flat_map(|part| -> Vec<String> { part.join().unwrap() }).collect()
        })
    }
}

/// Calls of the tools that read this file, and of those that write it.
fn calls(written: &str, absolute: &str) -> Vec<(&'static str, &'static str, Value)> {
    let patch =
        |header: String| json!({ "command": format!("*** Begin Patch\n*** {header}\n@@\n-a\n+b\n*** End Patch") });
    let folder = written.rsplit_once('/').map_or(".", |(folder, _)| folder);
    vec![
        (CLAUDE, "Read", json!({ "file_path": absolute })),
        (CLAUDE, "Grep", json!({ "pattern": "x", "path": folder })),
        (CLAUDE, "Glob", json!({ "pattern": format!("{folder}/*.md") })),
        (CODEX, "view_image", json!({ "path": written })),
        (CLAUDE, "Write", json!({ "file_path": absolute, "content": "x" })),
        (CLAUDE, "Edit", json!({ "file_path": absolute, "old_string": "a", "new_string": "b" })),
        (CODEX, "apply_patch", patch(format!("Update File: {written}"))),
        (CODEX, "apply_patch", patch(format!("Delete File: {absolute}"))),
        (CODEX, "apply_patch", patch(format!("Update File: {written}\n*** Move to: {written}.moved"))),
    ]
}

#[test]
fn ordinary_admitted_calls_are_let_through() {
    let home = Home::new();
    let mut all = Vec::new();
    for file in FILES.iter().chain(&WAYS) {
        let by_link = home.project.join(file);
        let really = home.real.join(file);
        all.extend(calls(file, by_link.to_str().unwrap()));
        all.push((CLAUDE, "Read", json!({ "file_path": really.to_str().unwrap() })));
        all.push((CLAUDE, "Write", json!({ "file_path": really.to_str().unwrap(), "content": "x" })));
    }
    // without a path rule, a project's own instructions may be read and written
    for file in ["CLAUDE.md", "AGENTS.md", ".claude/rules/style.md", ".claude/worktrees/w/src/a.rs"] {
        all.extend(calls(file, home.project.join(file).to_str().unwrap()));
    }
    assert!(all.len() >= 500, "{}", all.len());
    assert_eq!(home.refused(&["--admit", ALL], &all), Vec::<String>::new());
}

#[test]
fn path_rules_let_admitted_files_through_in_every_spelling() {
    let home = Home::new();
    let mut all = Vec::new();
    for file in FILES.iter().chain(&WAYS) {
        all.extend(calls(file, home.project.join(file).to_str().unwrap()));
    }
    let rules = ["--admit", ALL, "--scope", "secret/**", "none", "--scope", "**", ALL];
    assert_eq!(home.refused(&rules, &all), Vec::<String>::new());
    // rules that list the writable files
    let inside = |file: &&&str| file.starts_with("src/") && !file.contains("..") || file.starts_with("packages/");
    let few: Vec<_> = FILES
        .iter()
        .chain(&WAYS)
        .filter(inside)
        .flat_map(|file| calls(file, home.project.join(file).to_str().unwrap()))
        .collect();
    let rules = ["--admit", ALL, "--scope", "src/**", ALL, "--scope", "packages/**", ALL, "--scope", "**", "none"];
    assert_eq!(home.refused(&rules, &few), Vec::<String>::new());
}
