//! Places that no call may write to: the guard's own files, by every path that leads to them.

use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::symlink;
use serde_json::{Value, json};

use metaharness::frame::shown;

use crate::common::{CLAUDE, CODEX, Run, Scratch, bytes, call, program};

/// A project, a frame that admits every write, and a hook under it.
struct Case {
    scratch: Scratch,
    project: PathBuf,
    frame: PathBuf,
}

const FRAME: &str = "the frame in force";
const HOOK: &str = "the program that guards this step";
const AUDIT: &str = "the audit of this step";
const CLAUDE_S: &str = "the configuration of Claude Code";
const CODEX_S: &str = "the configuration of Codex";
const ZSH: &str = "a start-up file of the shell that starts the hook";

impl Case {
    fn new() -> Case {
        let scratch = Scratch::new();
        let project = scratch.folder("home/project");
        let frame = scratch.frame("frame.json", &["--admit", "file.write", "file.edit", "file.read"]);
        Case { scratch, project, frame }
    }

    fn hook(&self, vendor: &str) -> Run {
        let run = Run::hook(vendor).frame(&self.frame).args(["--policy", "deny-only"]).folder(&self.project);
        run.env("HOME", self.scratch.path("home")).env("CLAUDE_PROJECT_DIR", &self.project)
    }

    fn writes(&self, vendor: &str, path: impl AsRef<Path>) -> Value {
        let path = path.as_ref().to_str().unwrap();
        let mut payload = match vendor {
            CLAUDE => call(CLAUDE, "Write", json!({ "file_path": path, "content": "x" })),
            _ => call(CODEX, "apply_patch", json!({ "command": patch(&format!("Update File: {path}")) })),
        };
        payload["cwd"] = self.project.to_str().unwrap().into();
        payload
    }

    #[track_caller]
    fn denied(&self, vendor: &str, path: impl AsRef<Path>, what: &str) {
        let path = path.as_ref();
        let payload = self.writes(vendor, path);
        let reason = self.hook(vendor).stdin(bytes(&payload)).answer().denial();
        let wanted = format!(
            "{} would change {}, which is {what}: what guards a step is not changed from inside it (step 1, attempt 1, state s, \
             workflow w); admitted here: ",
            payload["tool_name"].as_str().unwrap(),
            shown(path.to_str().unwrap())
        );
        assert!(reason.starts_with(&wanted), "{reason}\n{wanted}");
    }

    #[track_caller]
    fn let_be(&self, vendor: &str, path: impl AsRef<Path>) {
        self.hook(vendor).stdin(bytes(&self.writes(vendor, path))).answer().is_silent();
    }
}

fn patch(header: &str) -> String {
    format!("*** Begin Patch\n*** {header}\n@@\n-a\n+b\n*** End Patch")
}

const BOTH: [&str; 2] = [CLAUDE, CODEX];

#[test]
fn the_frame_in_force_is_protected_by_every_path_to_it() {
    let case = Case::new();
    let root = case.scratch.root();
    let link = case.project.join("link.json");
    symlink(&case.frame, &link).unwrap();
    let far = case.project.join("far.json");
    symlink("link.json", &far).unwrap();
    symlink(root, case.project.join("out")).unwrap();
    let hard = case.project.join("hard.json");
    fs_err::hard_link(&case.frame, &hard).unwrap();
    for vendor in BOTH {
        case.denied(vendor, &case.frame, FRAME);
        case.denied(vendor, "../../frame.json", FRAME);
        case.denied(vendor, "missing/../../../frame.json", FRAME);
        case.denied(vendor, &link, FRAME);
        case.denied(vendor, "far.json", FRAME);
        case.denied(vendor, "out/frame.json", FRAME);
        case.denied(vendor, "out/./home//../frame.json", FRAME);
        case.denied(vendor, &hard, FRAME);
        case.let_be(vendor, "frame.json");
        case.let_be(vendor, root.join("frame.json2"));
    }
}

#[test]
fn a_frame_that_is_named_by_a_link_is_protected_at_both_ends() {
    let mut case = Case::new();
    let link = case.scratch.path("current.json");
    symlink(&case.frame, &link).unwrap();
    let real = std::mem::replace(&mut case.frame, link.clone());
    for vendor in BOTH {
        case.denied(vendor, &real, FRAME);
        case.denied(vendor, &link, FRAME);
    }
}

#[test]
fn the_hook_program_and_its_audit_are_protected() {
    let case = Case::new();
    let audit = case.scratch.path("audit.jsonl");
    for vendor in BOTH {
        case.denied(vendor, fs_err::canonicalize(program(&format!("mh-hook-{vendor}"))).unwrap(), HOOK);
        // the audit is protected before it exists
        let _ = fs_err::remove_file(&audit);
        let payload = bytes(&case.writes(vendor, &audit));
        let run = case.hook(vendor).args(["--audit".as_ref(), audit.as_os_str()]);
        let reason = run.stdin(payload).answer().denial();
        assert!(reason.contains(&format!("which is {AUDIT}: ")), "{reason}");
    }
}

#[test]
fn the_configuration_of_claude_code_is_protected() {
    let case = Case::new();
    let home = case.scratch.path("home");
    for path in [
        ".claude/settings.json",
        ".claude/settings.local.json",
        "./.claude/../.claude/settings.local.json",
        ".claude/SETTINGS.json",
        ".Claude/settings.json",
        "sub/dir/.claude/settings.json",
        "/somewhere/else/.claude/settings.local.json",
        "/etc/claude-code/managed-settings.json",
    ] {
        case.denied(CLAUDE, path, CLAUDE_S);
    }
    for path in [".claude/settings.json", ".claude/agents/a.md", ".claude.json"] {
        case.denied(CLAUDE, home.join(path), CLAUDE_S);
    }
    for path in [".claude/notes.md", ".claude/worktrees/a/b.rs", "settings.json", "a.claude/settings.json", ".zshenv"] {
        case.let_be(CLAUDE, path);
    }
    // a configuration folder that the environment names
    let config = case.scratch.folder("config");
    let payload = bytes(&case.writes(CLAUDE, config.join("any/file")));
    let reason = case.hook(CLAUDE).env("CLAUDE_CONFIG_DIR", &config).stdin(payload).answer().denial();
    assert!(reason.contains(&format!("which is {CLAUDE_S}: ")), "{reason}");
}

#[test]
fn a_link_into_the_configuration_is_followed_even_where_it_dangles() {
    let case = Case::new();
    case.scratch.folder("home/project/.claude");
    symlink(".claude/settings.local.json", case.project.join("harmless.txt")).unwrap();
    case.denied(CLAUDE, "harmless.txt", CLAUDE_S);
    symlink("harmless.txt", case.project.join("more-harmless.txt")).unwrap();
    case.denied(CLAUDE, "more-harmless.txt", CLAUDE_S);
    symlink(".claude", case.project.join("docs")).unwrap();
    case.denied(CLAUDE, "docs/settings.local.json", CLAUDE_S);
    // the settings file is a link: the file behind it is protected
    let elsewhere = case.scratch.file("elsewhere.json", "{}");
    symlink(&elsewhere, case.project.join(".claude/settings.json")).unwrap();
    case.denied(CLAUDE, &elsewhere, CLAUDE_S);
    case.denied(CLAUDE, ".claude/settings.json", CLAUDE_S);
    let hard = case.project.join("hard.txt");
    fs_err::hard_link(&elsewhere, &hard).unwrap();
    case.denied(CLAUDE, &hard, CLAUDE_S);
    symlink("loop", case.project.join("loop")).unwrap();
    let reason = case.hook(CLAUDE).stdin(bytes(&case.writes(CLAUDE, "loop"))).answer().denial();
    assert!(
        reason.starts_with("Write is about loop, and it cannot be told which file that is: it passes /"),
        "{reason}"
    );
}

#[test]
fn the_configuration_of_codex_and_its_shell_is_protected() {
    let case = Case::new();
    let home = case.scratch.path("home");
    for path in [
        ".codex/config.toml",
        ".codex/hooks.json",
        ".codex/work.config.toml",
        ".codex/HOOKS.JSON",
        "sub/.codex/config.toml",
        "/etc/codex/requirements.toml",
    ] {
        case.denied(CODEX, path, CODEX_S);
    }
    for path in [".codex/config.toml", ".codex/rules/x.rules", ".codex/tmp/arg0/x"] {
        case.denied(CODEX, home.join(path), CODEX_S);
    }
    case.denied(CODEX, home.join(".zshenv"), ZSH);
    case.denied(CODEX, home.join(".zshenv.zwc"), ZSH);
    case.denied(CODEX, "../.zshenv", ZSH);
    case.denied(CODEX, "/etc/zsh/zshenv", ZSH);
    for path in [".codex/notes.md", "config.toml", ".zshenv", ".zshrc"] {
        case.let_be(CODEX, path);
    }
    let told = |variable: &str, folder: &Path, path: &str, what: &str| {
        let payload = bytes(&case.writes(CODEX, folder.join(path)));
        let reason = case.hook(CODEX).env(variable, folder).stdin(payload).answer().denial();
        assert!(reason.contains(&format!("which is {what}: ")), "{reason}");
    };
    told("CODEX_HOME", &case.scratch.folder("codex"), "auth.json", CODEX_S);
    told("ZDOTDIR", &case.scratch.folder("dots"), ".zshenv", ZSH);
}

#[test]
fn a_configuration_linked_from_another_folder_is_protected_at_both_ends() {
    // as for people who keep their dot files in a repository
    let case = Case::new();
    let home = case.scratch.path("home");
    for (vendor, folder, file, what) in
        [(CLAUDE, ".claude", "settings.json", CLAUDE_S), (CODEX, ".codex", "config.toml", CODEX_S)]
    {
        let kept = case.scratch.file(&format!("home/project/dots/{vendor}-file"), "");
        case.scratch.folder(&format!("home/{folder}"));
        symlink(&kept, home.join(folder).join(file)).unwrap();
        case.denied(vendor, home.join(folder).join(file), what);
        case.denied(vendor, &kept, what);
        fs_err::remove_dir_all(home.join(folder)).unwrap();
        let kept = case.scratch.folder(&format!("home/project/dots/{vendor}"));
        symlink(&kept, home.join(folder)).unwrap();
        case.denied(vendor, home.join(folder).join("any"), what);
        case.denied(vendor, kept.join(file), what);
    }
    // a patch deletes the link, and the file behind it stays
    let link = home.join(".zshenv");
    let kept = case.scratch.file("home/project/dots/zshenv", "");
    symlink(&kept, &link).unwrap();
    for path in [&link, &kept] {
        let body = patch(&format!("Delete File: {}", path.display()));
        let payload = bytes(&call(CODEX, "apply_patch", json!({ "command": body })));
        let reason = case.hook(CODEX).stdin(payload).answer().denial();
        assert!(reason.contains(&format!("which is {ZSH}: ")), "{reason}");
    }
}

#[test]
fn every_tool_that_writes_is_stopped_and_no_tool_that_reads() {
    let case = Case::new();
    let frame = case.frame.to_str().unwrap();
    for (tool, member) in
        [("Write", "file_path"), ("Edit", "file_path"), ("MultiEdit", "file_path"), ("NotebookEdit", "notebook_path")]
    {
        let payload = bytes(&call(CLAUDE, tool, json!({ member: frame })));
        let reason = case.hook(CLAUDE).stdin(payload).answer().denial();
        assert!(reason.starts_with(&format!("{tool} would change {frame}, which is {FRAME}: ")), "{reason}");
    }
    for header in [
        format!("Add File: {frame}"),
        format!("Delete File: {frame}"),
        format!("Update File: other.txt\n*** Move to: {frame}"),
        format!("Update File: {frame}\n*** Move to: other.txt"),
        format!("Add File: other.txt\n+x\n*** Update File: {frame}"),
    ] {
        let payload = bytes(&call(CODEX, "apply_patch", json!({ "command": patch(&header) })));
        let reason = case.hook(CODEX).stdin(payload).answer().denial();
        assert!(reason.starts_with(&format!("apply_patch would change {frame}, which is {FRAME}: ")), "{reason}");
    }
    let payload = bytes(&call(CLAUDE, "Read", json!({ "file_path": frame })));
    case.hook(CLAUDE).stdin(payload).answer().is_silent();
}

#[test]
fn self_protection_comes_before_the_operations_and_can_be_switched_off() {
    let case = Case::new();
    let nothing = case.scratch.frame("nothing.json", &[]);
    for vendor in BOTH {
        let payload = bytes(&case.writes(vendor, &nothing));
        let run = Run::hook(vendor).frame(&nothing).stdin(payload.clone());
        let reason = run.answer().denial();
        assert!(reason.contains(&format!("which is {FRAME}: ")), "{reason}");
        let run = Run::hook(vendor).frame(&nothing).args(["--no-self-protect"]).stdin(payload);
        let reason = run.answer().denial();
        assert!(reason.contains(", which is not admitted (step "), "{reason}");
        // self-protection never admits a call
        let payload = bytes(&case.writes(vendor, &case.frame));
        case.hook(vendor).args(["--no-self-protect"]).stdin(payload).answer().is_silent();
    }
}

#[test]
fn a_relative_path_follows_the_calls_folder_and_the_project_the_launchers() {
    let case = Case::new();
    for vendor in BOTH {
        let mut payload = case.writes(vendor, "frame.json");
        payload["cwd"] = case.scratch.root().to_str().unwrap().into();
        let reason = case.hook(vendor).stdin(bytes(&payload)).answer().denial();
        assert!(reason.contains(&format!("would change frame.json, which is {FRAME}: ")), "{reason}");
        payload["cwd"] = "relative".into();
        case.hook(vendor).stdin(bytes(&payload)).answer().is_silent();
        payload.as_object_mut().unwrap().remove("cwd");
        case.hook(vendor).folder(case.scratch.root()).stdin(bytes(&payload)).answer().denial();
    }
}

#[test]
fn files_beside_the_hook_are_protected_though_the_project_around_them_is_not() {
    let case = Case::new();
    let install = case.scratch.folder("opt/tools");
    let checkout = case.scratch.folder("disk/checkout");
    symlink(case.scratch.path("disk"), case.scratch.path("by-link")).unwrap();
    for vendor in BOTH {
        let says = |folder: &Path, project: &Path, path: &Path| {
            let program = folder.join(format!("mh-hook-{vendor}"));
            if !program.exists() {
                crate::common::copied(&crate::common::program(&format!("mh-hook-{vendor}")), &program);
            }
            let payload = bytes(&case.writes(vendor, path));
            let line = "\"$0\" --frame \"$1\" --policy deny-only < \"$2\"";
            let payload = case.scratch.file("payload.json", payload);
            let mut shell = std::process::Command::new("/bin/sh");
            shell.args(["-c", line]).arg(program).arg(&case.frame).arg(payload).env_clear();
            let output = shell.env("CLAUDE_PROJECT_DIR", project).current_dir(project).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            (output.status.code(), said.split(": ").next().unwrap_or_default().to_string())
        };
        for (file, what) in [
            ("mh-setup", Some("beside the program that guards this step")),
            ("deep/other", Some("beside the program that guards this step")),
            ("../else", None),
        ] {
            let (code, said) = says(&install, &case.project, &install.join(file));
            assert_eq!(code, Some(if what.is_some() { 2 } else { 0 }), "{file} {said}");
            assert!(
                said.ends_with(&what.map(|what| format!(", which is {what}")).unwrap_or_default()),
                "{file} {said}"
            );
        }
        // the hook program lies in the project, which a link leads to
        let project = case.scratch.path("by-link/checkout");
        for (file, code) in [("src/a.rs", 0), ("a.rs", 0), ("mh-setup", 2), ("mh-hook-claude", 2)] {
            assert_eq!(says(&checkout, &project, &project.join(file)).0, Some(code), "{vendor} {file}");
        }
    }
}
