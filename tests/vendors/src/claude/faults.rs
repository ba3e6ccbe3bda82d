//! An admitted shell command breaks the guard in mid-session, and the next call must not run. Where no program can
//! answer, the entry's `onFailure` must block the call.

use super::Cases;
use super::drive::{Launch, Run};
use crate::case::Seen;
use crate::entry::Ask;
use crate::frame::Spec;

/// Shell commands that break the guard; `{H}` is the hook program, `{F}` the frame.
const BREAKS: &[(&str, &str)] = &[
    ("the hook program missing", "rm '{H}'"),
    ("the hook program not executable", "chmod 644 '{H}'"),
    ("a folder in place of the hook program", "rm '{H}' && mkdir '{H}'"),
    ("the hook program empty", "rm '{H}' && install -m 755 /dev/null '{H}'"),
    ("a script without its interpreter", "{W}printf '#!/no/such/program\\n' > '{H}'"),
    ("a dangling symlink in place of the hook program", "ln -sf /no/such/program '{H}'"),
    ("a program for another machine", "{W}printf '\\177ELF\\001\\001\\001' > '{H}'"),
    ("the hook program cut short", "head -c 5000 '{H}' > '{H}.cut' && chmod 755 '{H}.cut' && mv '{H}.cut' '{H}'"),
    ("killed by SIGKILL", "{W}printf '#!/bin/sh\\nkill -9 $$\\n' > '{H}'"),
    ("killed by SIGSEGV", "{W}printf '#!/bin/sh\\nkill -11 $$\\n' > '{H}'"),
    ("killed by SIGTERM", "{W}printf '#!/bin/sh\\nkill -15 $$\\n' > '{H}'"),
    ("exit status 1", "{W}printf '#!/bin/sh\\nexit 1\\n' > '{H}'"),
    ("exit status 127", "{W}printf '#!/bin/sh\\nexit 127\\n' > '{H}'"),
    ("exit status 101, as a panic's", "{W}printf '#!/bin/sh\\nexit 101\\n' > '{H}'"),
    (
        "exit status 1 with an allow on stdout",
        "{W}cat > '{H}' <<'END'
#!/bin/sh
echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'
exit 1
END",
    ),
    (
        "RLIMIT_AS leaves no memory to start in",
        "mv '{H}' '{H}.real' && printf '#!/bin/sh\nulimit -v 1000\nexec \"$0.real\" \"$@\"\n' > '{H}' && chmod 755 '{H}'",
    ),
    ("the frame missing", "rm '{F}'"),
    ("the frame cut short", "truncate -s 100 '{F}'"),
    ("the frame edited", "sed -i 's/file.read/file.edit/' '{F}'"),
    ("a FIFO in place of the frame", "rm '{F}' && mkfifo '{F}'"),
    ("a folder in place of the frame", "rm '{F}' && mkdir '{F}'"),
    ("an endless file in place of the frame", "ln -sf /dev/zero '{F}'"),
    ("the frame grown past its bound", "head -c 20000000 /dev/zero | tr '\\0' ' ' >> '{F}'"),
];

/// The start of a command that puts a script in the hook program's place: a running program cannot be written to, so
/// the file is made anew.
const ANEW: &str = "rm -f '{H}' && install -m 755 /dev/null '{H}' && ";

fn broken(run: Run<'_>, command: &str) -> Result<Seen, String> {
    let hook = run.scratch.program("mh-hook-claude").display().to_string();
    let frame = run.scratch.frames.join("frame.json").display().to_string();
    let command = command.replace("{W}", ANEW).replace("{H}", &hook).replace("{F}", &frame);
    let outcome_of = run.bash(&format!("(set -e\n{command}\ntouch broken.txt)")).bash("touch o.txt");
    let scratch = outcome_of.scratch;
    let outcome = outcome_of.go()?;
    if !scratch.exists("broken.txt") {
        return Err(format!("the guard was not broken; {}", outcome.detail()));
    }
    outcome.effect(scratch.exists("o.txt"))
}

pub fn add(cases: &mut Cases) {
    for (name, command) in BREAKS {
        cases.blocked(format!("fault, {name}"), move |run| broken(run.frame(&Spec::all())?, command));
    }
    cases.blocked("fault, the frame resealed under the pin", |run| {
        let run = run.frame(&Spec::admitting(&["shell"]))?;
        let other = Spec::all().seal(run.scratch, "wider.json")?;
        broken(run, &format!("cp '{}' '{{F}}'", other.path.display()))
    });
    cases.blocked("fault, the audit file cannot be written", |run| {
        let frame = Spec::all().seal(run.scratch, "frame.json")?;
        let audit = run.scratch.logs.join("audit.jsonl");
        let command = format!("rm -f '{0}' && mkdir '{0}'", audit.display());
        let ask = Ask { audit: Some(audit), ..Ask::pinned(&frame) };
        broken(run.entry(&ask, &frame)?, &command)
    });
    cases.blocked("fault, RLIMIT_FSIZE stops the audit line", |run| {
        let frame = Spec::all().seal(run.scratch, "frame.json")?;
        let ask = Ask { audit: Some(run.scratch.logs.join("audit.jsonl")), ..Ask::pinned(&frame) };
        let wrap = "mv '{H}' '{H}.real' && printf '#!/bin/sh\\nulimit -f 0\\nexec \"$0.real\" \"$@\"\\n' > '{H}' && chmod 755 '{H}'";
        broken(run.entry(&ask, &frame)?, wrap)
    });
    deadlines(cases);
    wrappers(cases);
    cases.blocked("strongest launch, fault, the hook program missing", |run| {
        broken(run.frame(&Spec::all())?.launch(Launch::Strong), "rm '{H}'")
    });
}

fn deadlines(cases: &mut Cases) {
    cases.blocked("slower than the entry's own timeout of 30 s", |run| {
        broken(run.frame(&Spec::all())?, "{W}printf '#!/bin/sh\\nexec sleep 50\\n' > '{H}'")
    });
}

/// Wrappers around our program. A denial is exit 2, which added output does not spoil; a wrapper that ends with 0 gives
/// its own answer.
fn wrappers(cases: &mut Cases) {
    let wrapped = |script: &str| {
        format!("mv '{{H}}' '{{H}}.real' && printf '{script}' > '{{H}}' && chmod 755 '{{H}}' && rm '{{F}}'")
    };
    let before = wrapped("#!/bin/sh\\necho noise\\nexec \"$0.real\" \"$@\"\\n");
    cases.blocked("a wrapper's noise before our deny", move |run| broken(run.frame(&Spec::all())?, &before));
    let after = wrapped("#!/bin/sh\\n\"$0.real\" \"$@\"\\nstatus=$?\\necho noise\\nexit $status\\n");
    cases.blocked("a wrapper's noise after our deny", move |run| broken(run.frame(&Spec::all())?, &after));
    let silent = wrapped("#!/bin/sh\\nexec \"$0.real\" \"$@\" >&- 2>&-\\n");
    cases.blocked("a wrapper that closes stdout and stderr", move |run| broken(run.frame(&Spec::all())?, &silent));
    let deaf = wrapped("#!/bin/sh\\nexec \"$0.real\" \"$@\" <&-\\n");
    cases.blocked("a wrapper that closes stdin", move |run| broken(run.frame(&Spec::all())?, &deaf));
    let ends = wrapped("#!/bin/sh\\n\"$0.real\" \"$@\" >/dev/null\\necho done\\n");
    cases.limit(
        "a wrapper that ends with 0 answers in our place: the entry runs our program itself",
        "a wrapper that ends with 0 whatever we said",
        move |run| broken(run.frame(&Spec::all())?, &ends),
    );
}
