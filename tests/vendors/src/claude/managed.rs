//! Hooks in managed settings: no way was found to remove them. The file's place is fixed, so each run gets its own /etc
//! in a mount namespace, which takes root.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde_json::json;

use super::Cases;
use super::around::{LOST, WITHOUT};
use super::drive::Launch;
use crate::case::Want;
use crate::frame::Spec;

pub fn possible() -> bool {
    let mut command = Command::new("unshare");
    command.args(["-m", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub fn add(cases: &mut Cases) {
    if !possible() {
        drop(writeln!(
            io::stderr().lock(),
            "claude: no cases with managed settings: no mount namespace here (it takes root)"
        ));
        return;
    }
    for (name, change) in LOST.iter().chain(WITHOUT) {
        cases.blocked(format!("{name}, hooks in managed settings"), move |run| {
            let run = change(run.frame(&Spec::all_but("shell"))?.launch(Launch::Managed))?;
            let path = run.scratch.project.join("o.txt").display().to_string();
            run.bash(&format!("touch {path}")).effect_or_refusal("o.txt")
        });
    }
    cases.ran("hooks in managed settings, admitted", |run| {
        run.frame(&Spec::all())?.launch(Launch::Managed).bash("touch o.txt").effect("o.txt")
    });
    for (name, spec, want) in
        [("admitted", Spec::all(), Want::Ran), ("not admitted, --bare", Spec::all_but("shell"), Want::Blocked)]
    {
        cases.add(format!("managed settings as mh-setup --managed prints them, {name}"), want, move |run| {
            let frame = spec.seal(run.scratch, "frame.json")?;
            let mut command = run.scratch.command(run.scratch.program("mh-setup"));
            command.args(["claude", "--managed", "--policy", "frame", "--frame"]).arg(&frame.path);
            let printed = run.scratch.run(&mut command, "setup")?;
            if printed.code != Some(0) {
                return Err(format!("mh-setup --managed ended with {:?}: {}", printed.code, printed.stderr));
            }
            let run = run.managed(printed.stdout).mode("bypassPermissions");
            let run = if want == Want::Blocked { run.flag("--bare") } else { run };
            run.bash("touch o.txt").effect("o.txt")
        });
    }
    cases.blocked("self-protection, Write to the managed settings", |run| {
        let run = run.frame(&Spec::all())?.launch(Launch::Managed);
        let file = "/etc/claude-code/managed-settings.json";
        // The run's own /etc is gone afterwards, so its last call prints the file.
        let outcome = run.read(file).write(file, "{}").bash(&format!("cat {file}")).go()?;
        let there = outcome.was_told("mh-hook-claude");
        outcome.or_refusal(!there)
    });
    cases.blocked("another hook's updatedInput beside managed hooks that allow no others", |run| {
        let secret = run.scratch.project.join("secret.txt");
        let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
                            "updatedInput": {"file_path": secret, "content": "x"}}});
        let run = run.frame(&Spec::all())?.launch(Launch::Managed).managed_only();
        let path = run.scratch.project.join("o.txt");
        run.beside("PreToolUse", &format!("echo '{answer}'")).write(path, "x").effect("secret.txt")
    });
}
