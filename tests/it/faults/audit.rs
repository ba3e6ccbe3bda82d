//! The audit: a line that cannot be written denies the call, and hundreds of hooks at once lose no line.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use fs_err::os::unix::fs::symlink;
use serde_json::{Value, json};

use crate::common::{CLAUDE, Run, Scratch, VENDORS, bytes, call, fixture};
use crate::faults::row::{Row, Trial, blocks, borne, can, hold};

fn to(trial: &mut Trial<'_>, audit: impl Into<OsString>) {
    trial.args(["--audit".into(), audit.into()]);
}

/// A fault with an audit at this path.
fn at(name: &str, says: &str, path: impl Fn(&Scratch) -> PathBuf + Send + Sync + 'static) -> Row {
    let says = format!("{says}; nothing runs until this is put right");
    blocks(name, says, move |trial| to(trial, path(trial.scratch)))
}

/// Start the hook after `before` has run, with the folder `disk` on a file system of its own.
fn on_a_disk(trial: &mut Trial<'_>, before: &str) {
    let disk = trial.scratch.folder("disk");
    let disk = disk.display();
    let mount = format!("mount -t tmpfs -o size=8k none {disk} && cd {disk} && {before} && cd / && exec \"$@\"");
    trial.line(format!("exec unshare -rm /bin/sh -c '{mount}' sh \"$@\""));
    to(trial, format!("{disk}/audit.jsonl"));
}

#[test]
fn a_line_that_cannot_be_written() {
    // a user besides root may not even open it
    let kernels = if rustix::process::geteuid().is_root() { "invalid argument" } else { "permission denied" };
    let mut rows = vec![
        at("a link", "it is a link", |scratch| {
            symlink(scratch.file("target", "kept\n"), scratch.path("link")).unwrap();
            scratch.path("link")
        }),
        at("a link to nothing", "it is a link", |scratch| {
            symlink(scratch.path("made-by-nobody"), scratch.path("dangling")).unwrap();
            scratch.path("dangling")
        }),
        at("a FIFO that nobody reads", "it is not a regular file", |scratch| {
            let path = scratch.path("fifo");
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
            path
        }),
        at("a folder", "is a directory", |scratch| scratch.folder("folder")),
        at("/dev/full", "it is not a regular file", |_| "/dev/full".into()),
        at("/dev/null", "it is not a regular file", |_| "/dev/null".into()),
        at("in a folder that is missing", "no such file or directory", |scratch| scratch.path("missing/audit")),
        at("below a file", "not a directory", |scratch| scratch.file("file", "").join("audit")),
        at("a name of 300 bytes", "file name too long", |scratch| scratch.path(&"n".repeat(300))),
        at("a file that only the kernel writes", kernels, |_| "/proc/self/environ".into()),
        blocks("no file may grow, and no signal", "file too large; nothing runs until this is put right", |trial| {
            trial.line("ulimit -f 0; trap '' XFSZ; exec \"$@\"");
            to(trial, trial.scratch.file("audit.jsonl", ""));
        }),
        blocks("no file may grow", "file too large; nothing runs until this is put right", |trial| {
            trial.line("ulimit -f 0; exec \"$@\"");
            to(trial, trial.scratch.file("audit.jsonl", ""));
        }),
        blocks("a call that the frame refuses as well", "the audit line could not be written to", |trial| {
            trial.payload = bytes(&call(trial.vendor, "mcp__a__b", json!({})));
            to(trial, trial.scratch.root());
        }),
        borne("a file that is there", |trial| to(trial, trial.scratch.file("audit.jsonl", "{}\n"))),
        borne("a line that a crash cut short", |trial| to(trial, trial.scratch.file("audit.jsonl", "{}\n{\"at\":"))),
        borne("a hole of a terabyte", |trial| {
            let path = trial.scratch.file("audit.jsonl", "");
            fs_err::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
            to(trial, path);
        }),
    ];
    if !rustix::process::geteuid().is_root() {
        rows.push(at("a file that may not be written", "permission denied", |scratch| {
            let path = scratch.file("audit.jsonl", "");
            fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
            path
        }));
    }
    if can(
        "an audit on a full disk and on a read-only one",
        &["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"],
    ) {
        let full = "no space left on device; nothing runs until this is put right";
        let short = "the disk is full, or a limit is reached; nothing runs until this is put right";
        rows.push(borne("a disk of its own", |trial| on_a_disk(trial, "true")));
        rows.push(blocks("a full disk", full, |trial| {
            on_a_disk(trial, "! head -c 100000 /dev/zero > fill 2>/dev/null && : > audit.jsonl");
        }));
        rows.push(blocks("a disk that is full before the line's end", short, |trial| {
            // the free space is less than a line
            on_a_disk(trial, "head -c 4095 /dev/zero > audit.jsonl && echo >> audit.jsonl && ! head -c 100000 /dev/zero > fill 2>/dev/null; truncate -s 4000 audit.jsonl");
        }));
        rows.push(blocks("a read-only disk", "read-only file system; nothing runs until this is put right", |trial| {
            on_a_disk(trial, ": > audit.jsonl && mount -o remount,bind,ro .");
        }));
        rows.push(blocks("a read-only disk, and no file", "read-only file system", |trial| {
            on_a_disk(trial, "mount -o remount,bind,ro .");
        }));
    }
    hold("audit", rows);
}

#[test]
fn the_target_of_a_link_is_neither_written_nor_made() {
    let scratch = Scratch::new();
    let target = scratch.file("target", "kept\n");
    symlink(&target, scratch.path("link")).unwrap();
    symlink(scratch.path("made-by-nobody"), scratch.path("dangling")).unwrap();
    for vendor in VENDORS {
        for link in ["link", "dangling"] {
            let run =
                Run::hook(vendor).frame(fixture("golden/frame.json")).args(["--audit".into(), scratch.path(link)]);
            run.stdin(crate::common::shell(vendor)).answer().denial();
        }
    }
    assert_eq!(fs_err::read_to_string(&target).unwrap(), "kept\n");
    assert!(!scratch.path("made-by-nobody").exists());
}

/// All hooks wait for their payload before the first one gets it. Their outputs go to /dev/null, to save descriptors.
#[test]
fn four_hundred_hooks_at_once_lose_no_line_and_mix_none() {
    const HOOKS: usize = 400;
    let scratch = Scratch::new();
    let audit = scratch.file("audit.jsonl", "{}\n{\"torn\":");
    let start = |n: usize| -> Child {
        let mut run = Run::hook(VENDORS[n % 2]).frame(fixture("golden/frame.json")).args(["--deadline", "300"]);
        run.command.arg("--audit").arg(&audit).stdout(Stdio::null()).stderr(Stdio::null());
        run.command.spawn().unwrap()
    };
    let mut hooks: Vec<Child> = (0..HOOKS).map(start).collect();
    for (n, child) in hooks.iter_mut().enumerate() {
        let mut payload = call(VENDORS[n % 2], &format!("mcp__s__{}", "t".repeat(500)), json!({}));
        payload["tool_use_id"] = format!("call {n}").into();
        child.stdin.as_mut().unwrap().write_all(&bytes(&payload)).unwrap();
    }
    // each hook waits for the end of its stdin
    let ends: Vec<_> = hooks.iter_mut().map(|child| child.stdin.take()).collect();
    drop(ends);
    for mut child in hooks {
        assert_eq!(child.wait().unwrap().code(), Some(2));
    }
    let text = fs_err::read_to_string(&audit).unwrap();
    let mut calls: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| Some(line["call_id"].as_str()?.to_string()))
        .collect();
    calls.sort();
    let mut wanted: Vec<String> = (0..HOOKS).map(|n| format!("call {n}")).collect();
    wanted.sort();
    assert_eq!(calls, wanted);
    // the stump, and at most one blank line for each hook that saw it
    let other = text.lines().filter(|line| !line.contains("call_id")).filter(|line| !line.is_empty());
    assert_eq!(other.collect::<Vec<_>>(), ["{}", "{\"torn\":"]);
}

/// A line that a full disk cut short is ended before the next line, once there is room.
#[test]
fn a_line_after_the_disk_had_no_room() {
    let scratch = Scratch::new();
    let audit = scratch.path("audit.jsonl");
    let fire = |limit: &str| {
        let mut command = std::process::Command::new("/bin/sh");
        command.env_clear().args(["-c", &format!("{limit} exec \"$@\""), "sh"]);
        command.arg(crate::common::program("mh-hook-claude")).arg("--frame").arg(fixture("golden/frame.json"));
        command.arg("--audit").arg(&audit).stdin(fs_err::File::open(scratch.path("call")).unwrap().into_file());
        command.output().unwrap().status.code()
    };
    scratch.file("call", crate::common::shell(CLAUDE));
    // the blocks have 512 bytes: one line fits, and a part of the next
    let line = {
        assert_eq!(fire(""), Some(0));
        fs_err::metadata(&audit).unwrap().len()
    };
    let mut codes = Vec::new();
    while codes.last() != Some(&Some(2)) {
        codes.push(fire("ulimit -f 2;"));
        assert!(codes.len() < 20, "{line} {codes:?}");
    }
    assert_eq!(fs_err::metadata(&audit).unwrap().len(), 1024, "cut short in the middle of a line");
    assert_eq!(fire(""), Some(0));
    let text = fs_err::read_to_string(&audit).unwrap();
    let whole = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    assert_eq!(whole, codes.len() + 1, "all but the one that was cut short: {text}");
}
