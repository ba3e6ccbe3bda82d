//! The working folder.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::common::{CLAUDE, CODEX, bytes, call, fixture};
use crate::faults::row::{Row, Trial, blocks, borne, hold};

/// Set a call that writes this file.
fn write(trial: &mut Trial<'_>, file: &str) {
    let mut payload = match trial.vendor {
        CLAUDE => call(CLAUDE, "Write", json!({ "file_path": file })),
        _ => call(
            CODEX,
            "apply_patch",
            json!({ "command": format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch") }),
        ),
    };
    payload.as_object_mut().unwrap().remove("cwd");
    trial.payload = bytes(&payload);
}

/// Set a frame whose rules admit writing in the project folder.
fn scoped(trial: &mut Trial<'_>) {
    let flags = ["--admit", "file.write", "--scope", "*", "file.write", "--scope", "**", "none"];
    trial.frame = Some(trial.scratch.frame("scoped.json", &flags).into());
}

fn gone(trial: &mut Trial<'_>) {
    let folder = trial.scratch.folder("gone").display().to_string();
    trial.line(format!("cd '{folder}' && rmdir '{folder}' && exec \"$@\""));
}

/// Set a working folder so deep that the kernel has no path for it.
fn deep(trial: &mut Trial<'_>) {
    let folder = trial.scratch.folder("deep").display().to_string();
    let part = "d".repeat(200);
    trial.line(format!("cd -P '{folder}'; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do mkdir {part} && cd -P {part} || exit 7; done; exec \"$@\""));
}

fn closed(trial: &mut Trial<'_>) {
    let folder = trial.scratch.folder("closed");
    fs_err::set_permissions(&folder, std::fs::Permissions::from_mode(0o000)).unwrap();
    // entered before all users but root are shut out of it
    trial.folder = folder;
}

#[test]
fn a_folder_that_is_not_there_or_has_no_name() {
    let mut rows: Vec<Row> = vec![borne("gone", gone), borne("deeper than a path can be", deep)];
    if rustix::process::geteuid().is_root() {
        rows.push(borne("closed to everybody", closed));
    }
    // without path rules no path is judged, and the operation is admitted
    rows.push(borne("gone, and a relative path", |trial| {
        gone(trial);
        if !String::from_utf8_lossy(&trial.payload).contains("mcp__") {
            write(trial, "a.txt");
        }
    }));
    rows.push(blocks(
        "gone, and path rules that are relative to it",
        "the working folder that they are relative to is gone",
        |trial| {
            gone(trial);
            scoped(trial);
            write(trial, "a.txt");
        },
    ));
    rows.push(blocks("gone, and an absolute path under relative rules", "is gone", |trial| {
        gone(trial);
        scoped(trial);
        write(trial, "/nonexistent/a.txt");
    }));
    rows.push(blocks("deeper than a path can be, and path rules", "", |trial| {
        deep(trial);
        scoped(trial);
        write(trial, "../a.txt");
    }));
    rows.push(blocks("a folder that is the frame's own", "which is the frame in force", |trial| {
        let frame = trial.scratch.path("frame.json");
        fs_err::copy(fixture("golden/frame.json"), &frame).unwrap();
        trial.folder = trial.scratch.root().into();
        trial.frame = Some(frame.into());
        write(trial, "frame.json");
    }));
    hold("working folder", rows);
}
