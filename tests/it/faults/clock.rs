//! A clock that jumps.
//!
//! The system may set the time of day in either direction at any moment; deadlines use the monotonic clock, which
//! nobody sets. A preloaded library makes the time of day jump a thousand years forth and back at every look and leaves
//! the monotonic clock alone. The built test programs have a loader, so the library works in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::Scratch;
use crate::faults::process::allows;
use crate::faults::row::{Source, Trial, blocks, borne, can, hold, not_shown};

const JUMPS: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int looks;
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec = looks++ % 2 ? 4102444800 + looks : 86400;
    return failed;
}
"#;

/// The library, built once.
fn library() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(Scratch, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let what = "a clock that jumps";
        if cfg!(target_feature = "crt-static") {
            not_shown(what, "programs that have a loader, and these are static");
            return None;
        }
        if !can(what, &["cc", "--version"]) {
            return None;
        }
        let scratch = Scratch::new();
        let source = scratch.file("jumps.c", JUMPS);
        let library = scratch.path("jumps.so");
        let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status().unwrap();
        assert!(built.success());
        Some((scratch, library))
    });
    built.as_ref().map(|(_, library)| library.as_path())
}

fn jumping(trial: &mut Trial<'_>, library: &Path) {
    trial.env("LD_PRELOAD", library);
}

#[test]
fn the_time_of_day_jumps() {
    use std::io::Write as _;
    let Some(library) = library() else { return };
    let late = "standard input was not done when the deadline passed";
    hold(
        "a clock that jumps",
        vec![
            borne("at every look", move |trial| jumping(trial, library)),
            borne("while the payload comes slowly", move |trial| {
                jumping(trial, library);
                trial.stdin = Source::pipe(|mut pipe, payload| {
                    for piece in payload.chunks(payload.len().div_ceil(4)) {
                        std::thread::sleep(Duration::from_millis(100));
                        pipe.write_all(piece)?;
                    }
                    Ok(Box::new(()))
                });
            }),
            blocks("while the payload never ends", late, move |trial| {
                jumping(trial, library);
                trial.args(["--deadline", "1"]);
                trial.stdin = Source::pipe(|pipe, _| Ok(Box::new(pipe)));
            }),
            blocks("while a decider does not answer", "decider was not done when the deadline passed", move |trial| {
                jumping(trial, library);
                trial.args(["--deadline", "1"]);
                allows(trial, "sleep 20");
            }),
            borne("and an audit", move |trial| {
                jumping(trial, library);
                let audit = trial.scratch.path("audit.jsonl");
                trial.args(["--audit".into(), audit.into_os_string()]);
            }),
        ],
    );
}

/// A line of the audit is whole, and has the time that the system had.
#[test]
fn an_audit_has_the_time_that_the_system_had() {
    let Some(library) = library() else { return };
    for vendor in crate::common::VENDORS {
        let scratch = Scratch::new();
        let audit = scratch.path("audit.jsonl");
        let mut trial =
            Trial::new(vendor, &scratch, crate::faults::host::Event::Call, crate::faults::row::Given::Admitted);
        jumping(&mut trial, library);
        trial.args(["--audit".into(), audit.clone().into_os_string()]);
        assert_eq!(trial.fire(false).code, Some(0));
        let line: serde_json::Value = serde_json::from_slice(&fs_err::read(&audit).unwrap()).unwrap();
        let at = line["at"].as_str().unwrap();
        // this also shows that the library was loaded
        assert!(at.starts_with("1970-01-02T00:00:00") || at.starts_with("2100-01-01T"), "{line}");
        humantime::parse_rfc3339(at).unwrap();
        let micros = line["micros"].as_u64().unwrap();
        assert!(micros < 86_400_000_000, "the hook's own time does not jump: {line}");
    }
}

/// The monotonic clock may start at any number, and at another one in a container.
#[test]
fn the_monotonic_clock_starts_elsewhere() {
    if !can("another start of the clock", &["unshare", "-rT", "--fork", "--monotonic", "1000000", "true"]) {
        return;
    }
    let mut rows = Vec::new();
    for start in ["1000000000", "-1"] {
        let line = format!("exec unshare -rT --fork --monotonic {start} --boottime {start} \"$@\"");
        let late = "standard input was not done when the deadline passed";
        let (usual, held) = (line.clone(), line);
        rows.push(borne(format!("{start} seconds away"), move |trial| trial.line(usual.clone())));
        rows.push(blocks(format!("{start} seconds away, and a payload that never ends"), late, move |trial| {
            trial.line(held.clone());
            trial.args(["--deadline", "1"]);
            trial.stdin = Source::pipe(|pipe, _| Ok(Box::new(pipe)));
        }));
    }
    hold("a clock that starts elsewhere", rows);
}
