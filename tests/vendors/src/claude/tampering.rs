//! The hook's environment, changed by the launcher or, in mid-session, by settings.

use serde_json::{Value, json};

use super::Cases;
use super::drive::{Launch, Run};
use super::script::Call;
use crate::case::Seen;
use crate::frame::Spec;

/// Variables with other values than the entry's flags.
const VARIABLES: &[(&str, &str)] = &[
    ("MH_FRAME", "/no/such/frame.json"),
    ("MH_FRAME", ""),
    ("MH_FRAME_DIGEST", "0000000000000000000000000000000000000000000000000000000000000000"),
    ("MH_POLICY", "deny-only"),
    ("MH_DECIDER", "exec:/bin/true"),
    ("MH_AUDIT", "/no/such/audit.jsonl"),
    ("MH_DEADLINE", "1"),
];

fn touch(run: Run<'_>) -> Result<Seen, String> {
    run.bash("touch o.txt").effect("o.txt")
}

/// An admitted shell writes settings, which the vendor takes up within 3 s; a call follows.
fn settings_then_touch(run: Run<'_>, file: &str, settings: &Value) -> Result<Seen, String> {
    let path = run.scratch.project.join(file);
    let scratch = run.scratch;
    let command = format!("mkdir -p .claude && cat > '{}' <<'END'\n{settings}\nEND", path.display());
    let outcome = run
        .bash(&command)
        .after(4.0, Call::new("Bash", json!({"command": "touch o.txt", "description": "a step"})))
        .go()?;
    outcome.effect(scratch.exists("o.txt"))
}

pub fn add(cases: &mut Cases) {
    for (name, value) in VARIABLES {
        let shown = if value.is_empty() { "empty" } else { "other than the flag" };
        cases.blocked(format!("the launcher's {name}, {shown}"), move |run| {
            touch(run.frame(&Spec::all())?.without("UserPromptSubmit").env(name, value))
        });
    }
    for (name, value) in [VARIABLES[0], VARIABLES[2], VARIABLES[4]] {
        cases.blocked(format!("settings env sets {name} in mid-session"), move |run| {
            let settings = json!({"env": {name: value}});
            settings_then_touch(run.frame(&Spec::all())?, ".claude/settings.local.json", &settings)
        });
        cases.ran(format!("strongest launch: settings env that sets {name} is not read"), move |run| {
            let run = run.frame(&Spec::all())?.launch(Launch::Strong);
            settings_then_touch(run, ".claude/settings.local.json", &json!({"env": {name: value}}))
        });
    }
    cases.blocked("settings env breaks PATH, HOME and CLAUDE_PROJECT_DIR, a call not admitted", |run| {
        let env =
            json!({"PATH": "/no/such", "HOME": "/no/such", "CLAUDE_PROJECT_DIR": "/no/such", "BASH_ENV": "/no/such"});
        let run = run.frame(&Spec::all_but("file.write"))?.setting("env", env);
        let path = run.scratch.project.join("o.txt");
        run.write(path, "x").effect_or_refusal("o.txt")
    });
    cases.blocked("settings env moves CLAUDE_PROJECT_DIR, a write out of scope", |run| {
        let run = run.frame(&Spec::all().scope("file:src/**", "file.write").scope("file:**", "file.read"))?;
        let path = run.scratch.write("other/src/keep", "")?.with_file_name("o.txt");
        let moved = run.scratch.project.join("other");
        run.setting("env", json!({"CLAUDE_PROJECT_DIR": moved})).write(path, "x").effect("other/src/o.txt")
    });
    cases.blocked("settings env moves CLAUDE_CONFIG_DIR, a write to the configuration folder", |run| {
        let run = run.frame(&Spec::all())?.setting("env", json!({"CLAUDE_CONFIG_DIR": "/no/such"}));
        let path = run.scratch.config.join("settings.json");
        run.write(&path, "{\"disableAllHooks\":true}").effect(path)
    });
    preload(cases);
}

const PRELOAD: &str = "#include <unistd.h>\n#include <string.h>\nextern char *program_invocation_name;\n\
                       __attribute__((constructor)) static void gone(void) {\n\
                       if (strstr(program_invocation_name, \"mh-hook\")) _exit(0);\n}\n";

/// A preloaded library would end the process before it begins. A static program has no loader that reads the variable.
fn preload(cases: &mut Cases) {
    cases.holds("settings env LD_PRELOAD: no way in where the program is static, a limit where it is not", |run| {
        let run = run.frame(&Spec::all_but("shell"))?;
        let scratch = run.scratch;
        let source = scratch.logs.join("gone.c");
        let library = scratch.logs.join("gone.so");
        std::fs::write(&source, PRELOAD).map_err(|error| error.to_string())?;
        let mut cc = scratch.command("cc");
        let ended =
            scratch.run(cc.args(["-shared", "-fPIC", "-D_GNU_SOURCE", "-o"]).arg(&library).arg(&source), "cc")?;
        if ended.code != Some(0) {
            return Err(format!("could not build the library: {}", ended.stderr));
        }
        let program = std::fs::read(scratch.program("mh-hook-claude")).map_err(|error| error.to_string())?;
        let dynamic = has_loader(&program);
        let outcome = run.setting("env", json!({"LD_PRELOAD": library})).bash("touch o.txt").go()?;
        outcome.effect(false)?;
        match (dynamic, scratch.exists("o.txt")) {
            (true, true) | (false, false) => Ok(()),
            (true, false) => Err(format!("blocked, though the program is dynamic; {}", outcome.detail())),
            (false, true) => Err(format!("ran, though the program is static; {}", outcome.detail())),
        }
    });
}

/// Whether an ELF program (64 bit, little-endian) has a PT_INTERP header, which names a loader.
fn has_loader(program: &[u8]) -> bool {
    let number = |at: usize, width: usize| {
        let bytes = program.get(at..at + width).unwrap_or_default();
        bytes.iter().rev().fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte))
    };
    let (table, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
    (0..count).any(|entry| number(table + entry * size, 4) == 3)
}
