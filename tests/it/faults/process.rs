//! The process: its limits, its signals and the system around it.

use std::io::{BufRead as _, Read as _, Write as _};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::json;

use crate::common::{CLAUDE, CODEX, Run, bytes, call, program};
use crate::faults::outputs::late_reader;
use crate::faults::row::{Row, Sink, Source, Trial, blocks, borne, can, ends, hold};

fn pid(of: u32) -> Pid {
    Pid::from_raw(of.try_into().unwrap()).unwrap()
}

/// Write the payload after this time, when the process is running and waiting for it.
fn later(payload_after: Duration) -> Source {
    Source::pipe(move |mut pipe, payload| {
        std::thread::sleep(payload_after);
        pipe.write_all(&payload)?;
        Ok(Box::new(()))
    })
}

const A_MOMENT: Duration = Duration::from_millis(300);

/// Wait until the hook's own code runs: it holds signals back, and the loader before it does not.
fn running(of: u32) {
    for _ in 0..4_000 {
        let Ok(status) = fs_err::read_to_string(format!("/proc/{of}/status")) else { return };
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        if line("Name:").starts_with("mh-hook-") && line("SigBlk:").bytes().any(|digit| digit != b'0') {
            return;
        }
        std::thread::sleep(A_MOMENT / 60);
    }
}

/// Set a limit on the running process, then write the payload.
fn limited(trial: &mut Trial<'_>, resource: Resource, most: u64) {
    let (fallen, falls) = std::sync::mpsc::channel();
    trial.stdin = Source::pipe(move |mut pipe, payload| {
        let _ = falls.recv();
        pipe.write_all(&payload)?;
        Ok(Box::new(()))
    });
    trial.meanwhile = Some(Box::new(move |of| {
        running(of);
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        prlimit(Some(pid(of)), resource, limit).unwrap();
        fallen.send(()).unwrap();
    }));
}

#[test]
fn limits() {
    let descriptors = |most: u64| {
        let says = "is refused: unreadable: too many open files";
        blocks(format!("{most} descriptors"), says, move |trial| limited(trial, Resource::Nofile, most))
    };
    hold(
        "limits of the process",
        vec![
            descriptors(0),
            descriptors(1),
            descriptors(2),
            descriptors(3),
            borne("4 descriptors", |trial| limited(trial, Resource::Nofile, 4)),
            borne("no process to start", |trial| limited(trial, Resource::Nproc, 0)),
            borne("no file to lock, no memory to lock", |trial| limited(trial, Resource::Memlock, 0)),
            borne("a stack of 128 KiB", |trial| trial.line("ulimit -s 128; exec \"$@\"")),
            borne("no core to leave", |trial| limited(trial, Resource::Core, 0)),
            borne("the lowest priority", |trial| trial.line("exec nice -n 19 \"$@\"")),
            blocks("no byte of a file to write, and an audit", "the audit line could not be written to", |trial| {
                let audit = trial.scratch.path("audit.jsonl");
                trial.args(["--audit".into(), audit.into_os_string()]);
                limited(trial, Resource::Fsize, 0);
            }),
            borne("no byte of a file to write, and no audit", |trial| limited(trial, Resource::Fsize, 0)),
        ],
    );
}

/// A fault that sends a signal to the hook while `set` keeps it busy.
fn signalled(name: String, signal: Signal, set: impl Fn(&mut Trial<'_>) + Send + Sync + 'static) -> Row {
    borne(name, move |trial| {
        set(trial);
        trial.meanwhile = Some(Box::new(move |of| {
            running(of);
            std::thread::sleep(A_MOMENT / 6);
            for _ in 0..3 {
                // the hook may have ended already
                let _ = kill_process(pid(of), signal);
            }
        }));
    })
}

fn catchable() -> Vec<(&'static str, Signal)> {
    vec![
        ("SIGHUP", Signal::HUP),
        ("SIGINT", Signal::INT),
        ("SIGQUIT", Signal::QUIT),
        ("SIGABRT", Signal::ABORT),
        ("SIGALRM", Signal::ALARM),
        ("SIGTERM", Signal::TERM),
        ("SIGPIPE", Signal::PIPE),
        ("SIGUSR1", Signal::USR1),
        ("SIGUSR2", Signal::USR2),
        ("SIGCHLD", Signal::CHILD),
        ("SIGTSTP", Signal::TSTP),
        ("SIGTTIN", Signal::TTIN),
        ("SIGTTOU", Signal::TTOU),
        ("SIGXCPU", Signal::XCPU),
        ("SIGXFSZ", Signal::XFSZ),
        ("SIGVTALRM", Signal::VTALARM),
        ("SIGPROF", Signal::PROF),
        ("SIGSYS", Signal::SYS),
        ("SIGTRAP", Signal::TRAP),
        ("SIGIO", Signal::IO),
        ("SIGWINCH", Signal::WINCH),
        // sent by another process, so no fault of the program
        ("SIGSEGV", Signal::SEGV),
        ("SIGBUS", Signal::BUS),
        ("SIGILL", Signal::ILL),
        ("SIGFPE", Signal::FPE),
    ]
}

/// A slow writer delays the read, and full pipes with a late reader delay the write.
#[test]
fn signals_during_the_read_and_the_write() {
    let mut rows = Vec::new();
    for (name, signal) in catchable() {
        rows.push(signalled(format!("{name} during the read"), signal, |trial| trial.stdin = later(A_MOMENT)));
        rows.push(signalled(format!("{name} during the write"), signal, |trial| {
            (trial.stdout, trial.stderr) = (late_reader(true), late_reader(true));
        }));
    }
    rows.push(borne("SIGSTOP, and SIGCONT later", |trial| {
        trial.stdin = later(A_MOMENT);
        trial.meanwhile = Some(Box::new(|of| {
            running(of);
            let _ = kill_process(pid(of), Signal::STOP);
            std::thread::sleep(A_MOMENT * 2);
            let _ = kill_process(pid(of), Signal::CONT);
        }));
    }));
    hold("signals", rows);
}

const ALLOW: &str = r#"{"format":"metaharness.command/1","id":"1","command":"tool.decide","call_id":"call-1","decision":{"decision":"allow"}}"#;

/// Set a decider: this script.
fn decider(trial: &mut Trial<'_>, script: &str) {
    let path = trial.scratch.path("decider");
    // written by another process, since a child of another test may hold a file open for writing, and such a program
    // cannot be started
    let mut write = std::process::Command::new("/bin/sh");
    write.args(["-c", "printf %s \"$1\" > \"$2\" && chmod 700 \"$2\"", "sh", script]).arg(&path);
    assert!(write.status().unwrap().success());
    trial.args(["--decider".into(), format!("exec:{}", path.display())]);
}

/// Set a decider that runs `before` and then allows the call.
pub fn allows(trial: &mut Trial<'_>, before: &str) {
    decider(trial, &format!("#!/bin/sh\nread -r line\n{before}\necho '{ALLOW}'\n"));
}

#[test]
fn signals_and_a_decider() {
    let mut rows = vec![borne("a decider has no signal held back", |trial| {
        // without a shell, since a shell starts with its own signal mask
        let look =
            r#"BEGIN { while ((getline line < "/proc/self/status") > 0) if (line ~ /^SigBlk:[ \t]*0+$/) print allow }"#;
        decider(trial, &format!("#!/usr/bin/awk -f\n{}", look.replace("allow", &format!("{ALLOW:?}"))));
    })];
    let own = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"];
    for (name, signal) in catchable().into_iter().filter(|(name, _)| !own.contains(name)) {
        rows.push(signalled(format!("{name} before a decider is started"), signal, |trial| {
            trial.stdin = later(A_MOMENT);
            allows(trial, "true");
        }));
        rows.push(signalled(format!("{name} while a decider thinks"), signal, |trial| allows(trial, "sleep 0.5")));
    }
    hold("signals and a decider", rows);
}

/// Ends that no program can answer: the entry has to block the call.
#[test]
fn ends_that_no_program_can_answer() {
    let killed = |name: &str, signal: &'static str| {
        let line = format!("(sleep 0.4; kill -{signal} $$) >/dev/null 2>&1 </dev/null & exec \"$@\"");
        ends(name, move |trial| {
            trial.line(line.clone());
            // the payload comes after the signal
            trial.stdin = Source::pipe(|pipe, _| Ok(Box::new(pipe)));
        })
    };
    let unstarted = |name: &str, line: &'static str| {
        ends(name, move |trial| {
            trial.line(line);
            trial.stdin.write = Box::new(|_| Ok(Box::new(())));
        })
    };
    hold(
        "what ends the program",
        vec![
            killed("SIGKILL", "KILL"),
            unstarted("RLIMIT_AS: no memory to start in", "ulimit -v 300; exec \"$@\""),
            unstarted("a stack too small to start on", "ulimit -s 4; exec \"$@\""),
            unstarted("the program is missing", "exec \"$1.missing\""),
            unstarted("the program is not executable", "exec /etc/passwd"),
            unstarted("the program is a folder", "exec /"),
            // the payload has two hundred times the memory that is left
            ends("RLIMIT_AS: no memory to go on with", |trial| {
                trial.line("ulimit -v 60000; exec \"$@\"");
                trial.payload.resize(60_000_000, b' ');
                let write = std::mem::replace(&mut trial.stdin.write, Box::new(|_| Ok(Box::new(()))));
                trial.stdin.write = Box::new(move |payload| Ok(write(payload).unwrap_or_else(|_| Box::new(()))));
            }),
        ],
    );
}

/// A command line that starts the hook in a mount namespace of its own, after `before` has run.
fn mounted(before: &str) -> String {
    format!("exec unshare -rm /bin/sh -c '{before} && exec \"$@\"' sh \"$@\"")
}

const MOUNTS: [&str; 6] = ["unshare", "-rm", "mount", "-t", "tmpfs", "none"];

#[test]
fn a_system_that_lacks_what_it_should_have() {
    if !can("a system without /proc and /dev", &[&MOUNTS[..], &["/mnt"]].concat()) {
        return;
    }
    let without = |folder: &str| mounted(&format!("mount -t tmpfs none {folder}"));
    let (proc, dev) = (without("/proc"), without("/dev"));
    let own_program = |name: &str, line: String| {
        blocks(name, "which is the program that guards this step", move |trial: &mut Trial<'_>| {
            trial.line(line.clone());
            let file =
                fs_err::canonicalize(program(&format!("mh-hook-{}", trial.vendor))).unwrap().display().to_string();
            trial.payload = bytes(&match trial.vendor {
                CLAUDE => call(CLAUDE, "Write", json!({ "file_path": file })),
                _ => call(
                    CODEX,
                    "apply_patch",
                    json!({ "command": format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch") }),
                ),
            });
        })
    };
    let null = |trial: &mut Trial<'_>| {
        let null = fs_err::File::options().write(true).open("/dev/null").unwrap();
        trial.stderr = Sink::lost(null);
    };
    let (line, other) = (dev.clone(), proc.clone());
    hold(
        "the system",
        vec![
            borne("no /proc", move |trial| trial.line(other.clone())),
            own_program("no /proc, and a write over the hook's own program", proc),
            borne("no /dev", move |trial| trial.line(line.clone())),
            borne("no /dev, and /dev/null for stderr", move |trial| {
                trial.line(dev.clone());
                null(trial);
            }),
        ],
    );
}

/// A person who starts a hook at a terminal and types nothing can end it by Ctrl-C.
#[test]
fn a_person_at_a_terminal_can_end_a_hook() {
    for vendor in [CLAUDE, CODEX] {
        let program = Run::hook(vendor).command.get_program().to_owned();
        let line =
            format!("trap : INT; echo ready; '{}' --deadline 600; echo \"ended with $?\"", program.to_str().unwrap());
        // a process that ignores Ctrl-C, as a script's background job does, would pass that on to its children
        let mut child = std::process::Command::new("env")
            .args(["--default-signal=INT", "script", "-qec", &line, "/dev/null"])
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut told = String::new();
        // from here on the shell survives Ctrl-C
        stdout.read_line(&mut told).unwrap();
        // after a second without input, the hook looks whether stdin is a terminal
        let keys = std::thread::spawn(move || {
            while stdin.write_all(b"\x03").is_ok() {
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        stdout.read_to_string(&mut told).unwrap();
        child.wait().unwrap();
        keys.join().unwrap();
        assert!(told.contains("ended with 130"), "{vendor}: {told:?}");
    }
}
