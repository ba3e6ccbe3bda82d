//! doctor's `live` means that the hook holds the real Claude Code when it is started there: the cases change managed
//! settings, the environment, the values of other keys and the place, and compare the outcome with doctor's report.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use super::Cases;
use super::around::Change;
use super::drive::{Launch, Run};
use super::setup::{Place, said};
use crate::entry::Ask;
use crate::frame::Spec;
use crate::scratch::Scratch;

/// The file that no frame here admits writing.
const MARK: &str = "o.txt";

fn refused() -> Spec {
    Spec::all_but("file.write")
}

/// A change to a guarded project, whether the guard holds after it, and the words that doctor has to name.
const SITUATIONS: &[(&str, bool, &str, Change)] = &[
    ("managed strictPluginOnlyCustomization true", false, "strictPluginOnlyCustomization", |run| {
        Ok(run.beside_managed(r#"{"strictPluginOnlyCustomization":true}"#))
    }),
    ("managed strictPluginOnlyCustomization that names hooks", false, "strictPluginOnlyCustomization", |run| {
        Ok(run.beside_managed(r#"{"strictPluginOnlyCustomization":["skills","hooks"]}"#))
    }),
    ("managed strictPluginOnlyCustomization that is a word", false, "strictPluginOnlyCustomization", |run| {
        Ok(run.beside_managed(r#"{"strictPluginOnlyCustomization":"false"}"#))
    }),
    ("managed strictPluginOnlyCustomization that is an object", false, "strictPluginOnlyCustomization", |run| {
        Ok(run.beside_managed(r#"{"strictPluginOnlyCustomization":{}}"#))
    }),
    ("managed strictPluginOnlyCustomization of agents alone", true, "", |run| {
        Ok(run.beside_managed(r#"{"strictPluginOnlyCustomization":["agents"]}"#))
    }),
    ("managed strictPluginOnlyCustomization of nothing", true, "", |run| {
        Ok(run.beside_managed(r#"{"strictPluginOnlyCustomization":[]}"#))
    }),
    ("managed strictPluginOnlyCustomization false", true, "", |run| {
        Ok(run.beside_managed(r#"{"strictPluginOnlyCustomization":false}"#))
    }),
    ("managed strictPluginOnlyCustomization null", true, "", |run| {
        Ok(run.beside_managed(r#"{"strictPluginOnlyCustomization":null}"#))
    }),
    ("strictPluginOnlyCustomization in the project's own settings", true, "", |run| {
        Ok(run.setting("strictPluginOnlyCustomization", json!(true)))
    }),
    ("managed allowManagedHooksOnly", false, "allowManagedHooksOnly", |run| {
        Ok(run.beside_managed(r#"{"allowManagedHooksOnly":true}"#))
    }),
    ("managed allowManagedHooksOnly that is a word", false, "allowManagedHooksOnly", |run| {
        Ok(run.beside_managed(r#"{"allowManagedHooksOnly":"no"}"#))
    }),
    ("managed allowManagedHooksOnly null", true, "", |run| Ok(run.beside_managed(r#"{"allowManagedHooksOnly":null}"#))),
    ("managed disableAllHooks", false, "disableAllHooks", |run| Ok(run.beside_managed(r#"{"disableAllHooks":true}"#))),
    ("managed settings with keys of the wrong kind", true, "", |run| {
        Ok(run.beside_managed(r#"{"model":5,"permissions":"x"}"#))
    }),
    ("managed env CLAUDE_CODE_SAFE_MODE", false, "env.CLAUDE_CODE_SAFE_MODE", |run| {
        Ok(run.beside_managed(r#"{"env":{"CLAUDE_CODE_SAFE_MODE":"yes"}}"#))
    }),
    ("CLAUDE_CODE_SIMPLE that is not on", true, "", |run| Ok(run.env("CLAUDE_CODE_SIMPLE", "2"))),
    ("CLAUDE_CODE_IGNORE_PERSISTED_TRUST", false, "CLAUDE_CODE_IGNORE_PERSISTED_TRUST", |run| {
        Ok(run.env("CLAUDE_CODE_IGNORE_PERSISTED_TRUST", "1"))
    }),
    ("CLAUDE_CODE_IGNORE_PERSISTED_TRUST, the entry in the person's settings", true, "", |run| {
        Ok(run.launch(Launch::User).env("CLAUDE_CODE_IGNORE_PERSISTED_TRUST", "1"))
    }),
    ("CLAUDE_CODE_IGNORE_PERSISTED_TRUST in the person's settings", true, "", |run| {
        Ok(run.user_setting("env", json!({"CLAUDE_CODE_IGNORE_PERSISTED_TRUST": "1"})))
    }),
    ("a prefix for shells in the project's env", true, "", |run| {
        let prefix = prefix(run.scratch)?;
        Ok(run.setting("env", json!({"CLAUDE_CODE_SHELL_PREFIX": prefix})))
    }),
    (
        "disableAllHooks in the local settings of the repository that it is started below",
        false,
        "disableAllHooks",
        |run| {
            git(run.scratch, &["init", "-q", "."])?;
            run.scratch.write("sub/keep", "")?;
            run.scratch.write(".claude/settings.local.json", r#"{"disableAllHooks":true}"#)?;
            Ok(run.launch(Launch::User).inside("sub"))
        },
    ),
    ("disableAllHooks in the local settings of the main checkout of a worktree", false, "disableAllHooks", |run| {
        worktree(run.scratch)?;
        run.scratch.write(".claude/settings.local.json", r#"{"disableAllHooks":true}"#)?;
        Ok(run.launch(Launch::User).inside("linked"))
    }),
    ("disableAllHooks in the local settings of a worktree, started below its root", true, "", |run| {
        worktree(run.scratch)?;
        run.scratch.write("linked/sub/keep", "")?;
        run.scratch.write("linked/.claude/settings.local.json", r#"{"disableAllHooks":true}"#)?;
        Ok(run.launch(Launch::User).inside("linked/sub"))
    }),
    (
        "started in a linked worktree",
        false,
        "in the main checkout, which the vendor does not read in a linked worktree",
        |run| {
            worktree(run.scratch)?;
            Ok(run.inside("linked"))
        },
    ),
    ("started in the main checkout of a worktree", true, "/linked: a linked worktree, in which", |run| {
        worktree(run.scratch)?;
        Ok(run)
    }),
];

/// Keys with values of the wrong kind, and whether the vendor passes over the whole file for them.
const VALUES: &[(&str, &str, bool)] = &[
    ("permissions", r#"{"allow":"Read"}"#, true),
    ("permissions", r#"{"deny":null}"#, true),
    ("permissions", r#"{"defaultMode":"nosuch"}"#, true),
    ("permissions", r#"{"allow":["bad((", 5]}"#, false),
    ("statusLine", "{}", true),
    ("enabledPlugins", r#"{"a":5}"#, true),
    ("sandbox", r#"{"enabled":"x"}"#, true),
    ("cleanupPeriodDays", "0.5", true),
    ("companyAnnouncements", "[5]", true),
    ("spinnerVerbs", r#"{"mode":5}"#, true),
    ("tui", "5", true),
    ("env", r#"{"A":5}"#, false),
    ("theme", "5", false),
    ("deniedModels", "5", false),
    ("crossSessionInbound", "5", false),
    ("extraKnownMarketplaces", r#"{"a":5}"#, false),
];

pub fn add(cases: &mut Cases) {
    for (what, blocked, named, change) in SITUATIONS {
        cases.holds(format!("doctor: {what}: it says what Claude Code does"), move |run| {
            let run = change(run.frame(&refused())?)?;
            let again = change(Run::new(run.program(), run.scratch).frame(&refused())?)?;
            agrees(run, again, *blocked, named)
        });
    }
    shell_form(cases);
    values(cases);
    layers(cases);
}

/// One refused call, compared with doctor's report.
fn agrees(run: Run<'_>, again: Run<'_>, blocked: bool, named: &str) -> Result<(), String> {
    let scratch = run.scratch;
    let ended = again.doctor()?;
    let path = scratch.project.join(MARK);
    let outcome = run.write(&path, "x").go()?;
    let ran = path.symlink_metadata().is_ok();
    let holds = [
        (ran != blocked, "Claude Code does as is known"),
        (ended.code == Some(i32::from(!blocked)), "the doctor says so"),
        (ended.stdout.contains(named), "it names what does it"),
    ];
    drop(outcome);
    match holds.iter().find(|(holds, _)| !holds) {
        None => Ok(()),
        Some((_, what)) => Err(format!("does not hold: {what}; ran: {ran}; {}", said(&ended))),
    }
}

/// A program that runs a tool's command, and that ends well without output in a hook's place.
fn prefix(scratch: &Scratch) -> Result<String, String> {
    let file = scratch.root.join("prefix");
    let text = "#!/bin/sh\ncase $* in *mh-hook*) exit 0 ;; esac\nexec /bin/sh -c \"$*\"\n";
    fs::write(&file, text)
        .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(0o755)))
        .map_err(|error| error.to_string())?;
    Ok(file.display().to_string())
}

fn shell_form(cases: &mut Cases) {
    fn shell(run: Run<'_>) -> Result<Run<'_>, String> {
        let frame = refused().seal(run.scratch, "frame.json")?;
        let ask = Ask { more: vec!["--shell".into()], ..Ask::pinned(&frame) };
        run.entry(&ask, &frame)
    }
    const SHELL: &[(&str, bool, &str, Change)] = &[
        ("nothing besides", true, "a shell starts the program", |run| Ok(run)),
        ("a prefix for shells in the environment", false, "the environment: CLAUDE_CODE_SHELL_PREFIX", |run| {
            let prefix = prefix(run.scratch)?;
            Ok(run.env("CLAUDE_CODE_SHELL_PREFIX", &prefix))
        }),
        ("a prefix for shells in the project's env", false, "env.CLAUDE_CODE_SHELL_PREFIX", |run| {
            let prefix = prefix(run.scratch)?;
            Ok(run.setting("env", json!({"CLAUDE_CODE_SHELL_PREFIX": prefix})))
        }),
        ("a prefix for shells in the person's env", false, "env.CLAUDE_CODE_SHELL_PREFIX", |run| {
            let prefix = prefix(run.scratch)?;
            Ok(run.user_setting("env", json!({"CLAUDE_CODE_SHELL_PREFIX": prefix})))
        }),
        ("an empty prefix in the environment", true, "", |run| Ok(run.env("CLAUDE_CODE_SHELL_PREFIX", ""))),
        ("SHELL, CLAUDE_CODE_SHELL, ENV and BASH_ENV in the project's env", true, "", |run| {
            let prefix = prefix(run.scratch)?;
            Ok(run.setting(
                "env",
                json!({"SHELL": prefix, "CLAUDE_CODE_SHELL": prefix, "ENV": prefix, "BASH_ENV": prefix}),
            ))
        }),
        ("a PATH that leads nowhere in the project's env", true, "", |run| {
            Ok(run.setting("env", json!({"PATH": "/nowhere"})))
        }),
    ];
    for (what, blocked, named, change) in SHELL {
        cases.holds(format!("doctor: the shell form, {what}: it says what Claude Code does"), move |run| {
            let run = change(shell(run)?)?;
            let again = change(shell(Run::new(run.program(), run.scratch))?)?;
            agrees(run, again, *blocked, named)
        });
    }
}

/// Settings files that the vendor passes over: doctor reports it, and mh-setup writes nothing into them.
fn values(cases: &mut Cases) {
    for (key, value, lost) in VALUES {
        cases.holds(format!("doctor: {key} {value}: it and mh-setup say what Claude Code does"), move |run| {
            let value: Value = serde_json::from_str(value).map_err(|error| error.to_string())?;
            let (program, scratch) = (run.program(), run.scratch);
            let run = run.frame(&refused())?.setting(key, value.clone());
            let again = Run::new(program, scratch).frame(&refused())?.setting(key, value.clone());
            let named = if *lost { "passes over a file that is not in order" } else { "" };
            agrees(run, again, !lost, named)?;
            let place = Place::new(scratch)?;
            let frame = place.frame(scratch, &refused())?;
            let before = json!({*key: value}).to_string();
            let file = scratch.write(".claude/settings.json", &before)?;
            let ended = place.ordered(scratch, program, "--project", &["--frame", &frame])?;
            let after = fs::read_to_string(file).unwrap_or_default();
            match (ended.code, after == before) {
                (Some(2), true) if *lost => Ok(()),
                (Some(0), false) if !lost => Ok(()),
                _ => Err(format!("mh-setup ended with {:?} and left {after}: {}", ended.code, ended.stderr)),
            }
        });
    }
}

/// More than one entry, and settings that can hold none.
fn layers(cases: &mut Cases) {
    cases.holds("doctor: entries of the project and of the person with other frames: both are shown", |run| {
        let wide = Spec::all().seal(run.scratch, "wide.json")?;
        let beside = crate::entry::claude(run.scratch, &Ask::pinned(&wide))?;
        let run = run.frame(&refused())?.user_setting("hooks", beside["hooks"].clone());
        let again =
            Run::new(run.program(), run.scratch).frame(&refused())?.user_setting("hooks", beside["hooks"].clone());
        agrees(run, again, true, "an entry of ours with another line stands there as well")
    });
    cases.holds("doctor: without a claude on PATH nothing is called live", |run| {
        let ended = run.frame(&refused())?.env("PATH", "/usr/bin:/bin").doctor()?;
        match ended.stdout.contains("there is no claude on PATH, so whether") && ended.code == Some(1) {
            true => Ok(()),
            false => Err(said(&ended)),
        }
    });
    cases.holds("doctor: a claude that says more than a pipe holds is heard out", |run| {
        let folder = run.scratch.root.join("loud");
        let real = run.program().display().to_string();
        let text = format!(
            "#!/bin/sh\n[ \"$1\" != --version ] || head -c 300000 /dev/zero | tr '\\0' '\\n' >&2\n\"{real}\" \"$@\" || exit\n\
             [ \"$1\" != --version ] || head -c 300000 /dev/zero | tr '\\0' '\\n'\n"
        );
        let file = folder.join("claude");
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&file, text))
            .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(0o755)))
            .map_err(|error| error.to_string())?;
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let ended = run.frame(&refused())?.env("PATH", &path).doctor()?;
        match ended.code == Some(0) && ended.stdout.contains("Claude Code 2.") {
            true => Ok(()),
            false => Err(said(&ended)),
        }
    });
    cases.holds("doctor: managed settings whose answer comes from a program are named", |run| {
        let run = run.frame(&refused())?.beside_managed(r#"{"policyHelper":{"path":"/bin/true"}}"#);
        let ended = run.doctor()?;
        match ended.code == Some(1) && ended.stdout.contains("policyHelper puts what a program answers") {
            true => Ok(()),
            false => Err(said(&ended)),
        }
    });
}

fn git(scratch: &Scratch, words: &[&str]) -> Result<(), String> {
    let mut command: Command = scratch.command("git");
    command.args(["-c", "user.name=suite", "-c", "user.email=suite@localhost"]).args(words);
    let ended = scratch.run(&mut command, "git")?;
    match ended.code {
        Some(0) => Ok(()),
        code => Err(format!("git {words:?} ended with {code:?}: {}", ended.stderr)),
    }
}

/// The project as a repository with a linked worktree in it.
pub fn worktree(scratch: &Scratch) -> Result<(), String> {
    if scratch.exists("linked") {
        return Ok(());
    }
    git(scratch, &["init", "-q", "."])?;
    scratch.write("readme", "x")?;
    git(scratch, &["add", "readme"])?;
    git(scratch, &["commit", "-q", "-m", "first"])?;
    git(scratch, &["worktree", "add", "-q", "linked"])
}
