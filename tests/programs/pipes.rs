//! Standard input in every state a vendor can leave it in, and outputs that nobody takes.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{Answer, CLAUDE, CODEX, Run, VENDORS, bytes, call, event, fixture, program, shell};

fn golden() -> std::path::PathBuf {
    fixture("golden/frame.json")
}

/// What a child that was started by hand said.
fn said(child: Child) -> Answer {
    let output = child.wait_with_output().unwrap();
    Answer {
        code: output.status.code().unwrap_or_else(|| panic!("ended by a signal: {output:?}")),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The hook with this as its standard input. A deadline that is not to be reached is long, since
/// a machine under load may take seconds to start a process.
fn given(vendor: &str, stdin: impl Into<Stdio>, deadline: &str) -> Child {
    let mut run = Run::hook(vendor).frame(golden()).args(["--deadline", deadline]);
    run.command.stdin(stdin).spawn().unwrap()
}

fn stops(vendor: &str, answer: &Answer, why: &str) {
    let wanted = format!("mh-hook-{vendor}: {why}; nothing runs until this is put right; to undo, ");
    let reason = answer.denial();
    assert!(reason.starts_with(&wanted), "{reason}");
}

const EMPTY: &str = "the payload on standard input was empty; the vendor gives the call as one JSON object there";
const LATE: &str = "standard input was not done when the deadline passed";

#[test]
fn an_empty_or_closed_standard_input_is_named() {
    for vendor in VENDORS {
        stops(vendor, &said(given(vendor, Stdio::null(), "60")), EMPTY);
        let closed = shell_with(vendor, "exec \"$@\" <&-").spawn().unwrap();
        stops(vendor, &said(closed), EMPTY);
        let folder = File::open(fixture("")).unwrap();
        stops(vendor, &said(given(vendor, folder, "60")), "standard input cannot be read: is a directory");
        let write_only = File::options().write(true).open("/dev/null").unwrap();
        stops(vendor, &said(given(vendor, write_only, "60")), "standard input cannot be read: bad file descriptor");
        let file = tempfile::tempfile().unwrap();
        (&file).write_all(&shell(vendor)).unwrap();
        std::io::Seek::rewind(&mut &file).unwrap();
        assert_eq!(said(given(vendor, file, "60")).code, 0, "a file will do");
    }
}

/// The hook under the golden frame, by way of a shell line that moves its descriptors.
fn shell_with(vendor: &str, line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.env_clear().args(["-c", line, "sh"]).arg(program(&format!("mh-hook-{vendor}")));
    command.arg("--frame").arg(golden()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_slow_writer_is_waited_for_and_one_that_never_ends_is_not() {
    for vendor in VENDORS {
        let payload = shell(vendor);
        let mut run = Run::hook(vendor).frame(golden()).args(["--deadline", "60"]);
        let mut child = run.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        for piece in payload.chunks(payload.len() / 3) {
            std::thread::sleep(Duration::from_millis(60));
            stdin.write_all(piece).unwrap();
        }
        drop(stdin);
        assert_eq!(said(child).code, 0);
        for held in [&payload[..], b""] {
            let mut child = given(vendor, Stdio::piped(), "1");
            let mut stdin = child.stdin.take().unwrap();
            // less than a pipe holds, so this waits for nobody
            stdin.write_all(held).unwrap();
            let begun = Instant::now();
            stops(vendor, &said(child), LATE);
            // its own deadline, and far below the vendor's
            assert!(begun.elapsed() < Duration::from_secs(60));
            drop(stdin);
        }
    }
}

#[test]
fn a_flood_without_end_is_stopped_by_the_deadline() {
    for vendor in VENDORS {
        let zeros = File::open("/dev/zero").unwrap();
        stops(vendor, &said(given(vendor, zeros, "1")), LATE.trim_start());
    }
}

#[test]
fn a_descriptor_that_does_not_block_is_waited_on() {
    for vendor in VENDORS {
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let mut run = Run::hook(vendor).frame(golden()).args(["--deadline", "60"]);
        let child = run.command.stdin(reader).spawn().unwrap();
        let payload = shell(vendor);
        for piece in payload.chunks(payload.len() / 2) {
            std::thread::sleep(Duration::from_millis(60));
            writer.write_all(piece).unwrap();
        }
        drop((writer, run));
        assert_eq!(said(child).code, 0);
    }
}

#[test]
fn sockets_serve_as_all_three_as_claude_code_has_them() {
    for vendor in VENDORS {
        for (payload, code) in [(shell(vendor), 0), (bytes(&call(vendor, "mcp__a__b", json!({}))), 2)] {
            let pair = || UnixStream::pair().unwrap();
            let ((mut stdin, in_), (mut stdout, out), (mut stderr, err)) = (pair(), pair(), pair());
            let mut run = Run::hook(vendor).frame(golden());
            run.command.stdin(OwnedFd::from(in_)).stdout(OwnedFd::from(out)).stderr(OwnedFd::from(err));
            let mut child = run.command.spawn().unwrap();
            drop(run);
            stdin.write_all(&payload).unwrap();
            stdin.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = Answer { code: 0, stdout: String::new(), stderr: String::new() };
            stdout.read_to_string(&mut answer.stdout).unwrap();
            stderr.read_to_string(&mut answer.stderr).unwrap();
            answer.code = child.wait().unwrap().code().unwrap();
            assert_eq!(answer.code, code, "{answer:?}");
            if code == 2 {
                answer.denial();
            }
        }
    }
}

#[test]
fn sixty_four_mebibytes_are_kept_and_what_is_more_is_read_and_refused() {
    const MOST: usize = 64 * 1024 * 1024;
    for (vendor, more) in [(CLAUDE, 0), (CODEX, 0), (CLAUDE, 1), (CODEX, 1_000_000)] {
        let mut payload = shell(vendor);
        payload.resize(MOST + more, b' ');
        let run = Run::hook(vendor).frame(golden()).args(["--deadline", "300"]);
        let answer = run.stdin(payload).answer();
        match more {
            0 => assert_eq!(answer.code, 0, "{answer:?}"),
            _ => stops(vendor, &answer, "standard input holds more than 67108864 bytes"),
        }
    }
}

#[test]
fn a_large_payload_that_is_refused_never_breaks_the_pipe() {
    for vendor in VENDORS {
        for size in [1, 32] {
            let content = "x".repeat(size * 1024 * 1024);
            let payload = bytes(&call(vendor, "mcp__lab__write", json!({ "content": content })));
            // by a frame, by a frame that is refused, by a mistake on the command line
            let run = |args: &[&str]| Run::hook(vendor).args(args).args(["--deadline=300"]).stdin(payload.clone());
            run(&["--frame", golden().to_str().unwrap()]).answer().denial();
            run(&["--frame", "/nonexistent"]).answer().denial();
            run(&["--nonsense"]).answer().denial();
            run(&[]).answer().is_silent();
        }
    }
}

#[test]
fn two_hundred_runs_without_a_frame_break_no_pipe() {
    for vendor in VENDORS {
        let payload = bytes(&call(vendor, "Bash", json!({ "command": "x".repeat(400) })));
        for _ in 0..200 {
            Run::hook(vendor).stdin(payload.clone()).answer().is_silent();
        }
    }
}

#[test]
fn a_working_folder_that_is_gone_matters_to_nobody() {
    let scratch = crate::common::Scratch::new();
    let folder = scratch.folder("gone").display().to_string();
    for vendor in VENDORS {
        fs_err::create_dir_all(&folder).unwrap();
        let mut child =
            shell_with(vendor, &format!("cd '{folder}' && rmdir '{folder}' && exec \"$@\"")).spawn().unwrap();
        let write = match vendor {
            CLAUDE => call(CLAUDE, "Write", json!({ "file_path": "a.txt" })),
            _ => call(
                CODEX,
                "apply_patch",
                json!({ "command": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch" }),
            ),
        };
        child.stdin.take().unwrap().write_all(&bytes(&write)).unwrap();
        let answer = said(child);
        assert_eq!((answer.code, &*answer.stderr), (0, ""));
    }
}

/// Ways in which an output is not there.
const LOST: [&str; 4] = ["closed", "null", "full", "broken"];

/// Runs a hook whose standard output, or standard error, or both, are lost.
fn without(vendor: &str, stdout: Option<&str>, stderr: Option<&str>, frame: &str, payload: &[u8]) -> Answer {
    let closes =
        |lost: Option<&str>, fd: &str| if lost == Some("closed") { format!(" {fd}>&-") } else { String::new() };
    let mut command = Command::new("/bin/sh");
    command.env_clear().args(["-c", &format!("exec \"$@\"{}{}", closes(stdout, "1"), closes(stderr, "2")), "sh"]);
    command.arg(program(&format!("mh-hook-{vendor}"))).args(["--frame", frame]);
    let to = |lost: Option<&str>| match lost {
        None | Some("closed") => Stdio::piped(),
        Some("null") => Stdio::null(),
        Some("full") => File::options().write(true).open("/dev/full").unwrap().into(),
        _ => std::io::pipe().unwrap().1.into(),
    };
    let mut child = command.stdin(Stdio::piped()).stdout(to(stdout)).stderr(to(stderr)).spawn().unwrap();
    drop(command);
    child.stdin.take().unwrap().write_all(payload).unwrap();
    said(child)
}

fn why(lost: &str) -> &str {
    match lost {
        "broken" => "broken pipe",
        _ => "it is closed, /dev/null, or another device",
    }
}

#[test]
fn an_answer_that_cannot_be_given_on_stdout_blocks_by_stderr_and_exit_2() {
    let golden = golden();
    let golden = golden.to_str().unwrap();
    for lost in LOST {
        for vendor in VENDORS {
            let deny = bytes(&call(vendor, "mcp__a__b", json!({})));
            let whole = without(vendor, None, None, golden, &deny).denial();
            let answer = without(vendor, Some(lost), None, golden, &deny);
            assert_eq!((answer.code, answer.stderr), (2, format!("{whole}\n")), "{vendor} {lost}");
            // text that is lost leaves a session without its frame's words
            let start = without(vendor, Some(lost), None, golden, &bytes(&event(vendor, "SessionStart")));
            let stderr = format!("the answer could not be written to standard output: {}\n", why(lost));
            assert_eq!((start.code, start.stderr), (2, stderr.clone()), "{vendor} {lost}");
            let admitted = without(vendor, Some(lost), None, golden, &shell(vendor));
            match vendor {
                CLAUDE => assert_eq!((admitted.code, admitted.stderr), (2, stderr), "{lost}"),
                // to admit is to say nothing, and that arrives
                _ => assert_eq!((admitted.code, &*admitted.stderr), (0, ""), "{lost}"),
            }
            let prompt = without(vendor, Some(lost), None, "/nonexistent", &bytes(&event(vendor, "UserPromptSubmit")));
            assert_eq!(prompt.code, 2);
            assert!(prompt.stderr.contains("the frame /nonexistent is refused: "), "{prompt:?}");
        }
    }
}

#[test]
fn a_reason_that_cannot_be_given_on_stderr_leaves_the_json() {
    let golden = golden();
    let golden = golden.to_str().unwrap();
    for lost in LOST {
        for vendor in VENDORS {
            // exit 2 with blank stderr runs the call on Codex; there the JSON alone blocks, with exit 0
            let code = if vendor == CLAUDE { 2 } else { 0 };
            let deny = bytes(&call(vendor, "mcp__a__b", json!({})));
            let whole = without(vendor, None, None, golden, &deny);
            let answer = without(vendor, None, Some(lost), golden, &deny);
            assert_eq!((answer.code, answer.stdout), (code, whole.stdout), "{vendor} {lost}");
            let mut approval = call(vendor, "mcp__a__b", json!({}));
            approval["hook_event_name"] = "PermissionRequest".into();
            let answer = without(vendor, None, Some(lost), golden, &bytes(&approval));
            assert_eq!(answer.code, 0);
            assert_eq!(answer.json()["hookSpecificOutput"]["decision"]["behavior"], "deny");
            let prompt = without(vendor, None, Some(lost), "/nonexistent", &bytes(&event(vendor, "UserPromptSubmit")));
            assert_eq!((prompt.code, &prompt.json()["decision"]), (code, &"block".into()), "{vendor} {lost}");
            // nothing was to be said on stderr
            assert_eq!(without(vendor, None, Some(lost), golden, &shell(vendor)).code, 0);
        }
    }
}

#[test]
fn with_both_lost_the_exit_code_is_what_is_left() {
    let golden = golden();
    for lost in LOST {
        for vendor in VENDORS {
            let deny = bytes(&call(vendor, "mcp__a__b", json!({})));
            let answer = without(vendor, Some(lost), Some(lost), golden.to_str().unwrap(), &deny);
            assert_eq!(answer, Answer { code: 2, stdout: String::new(), stderr: String::new() }, "{vendor} {lost}");
        }
    }
}

#[test]
fn what_a_program_says_about_itself_is_never_lost_in_silence() {
    for vendor in VENDORS {
        for flag in ["--help", "--table", "--version"] {
            let mut run = Run::hook(vendor).args([flag]);
            run.command.stdout(File::options().write(true).open("/dev/full").unwrap());
            let answer = run.answer();
            let stderr = format!("mh-hook-{vendor}: could not write to standard output: no space left on device\n");
            assert_eq!((answer.code, answer.stderr), (2, stderr));
        }
    }
}

#[test]
fn every_way_to_refuse_ends_with_0_or_2() {
    // the paths above, once more by their exit code alone, at every event
    for vendor in VENDORS {
        for frame in [golden().to_str().unwrap(), "/nonexistent", "", "relative", "/dev/zero", "/"] {
            for payload in ["", "{", "[]", "{}", "\u{feff}{}", "{\"hook_event_name\":\"PreToolUse\"}", "\u{0}"] {
                let answer = Run::hook(vendor).frame(frame).stdin(payload).answer();
                assert_eq!(answer.code, 2, "{answer:?}");
            }
            for name in ["PreToolUse", "PermissionRequest", "SessionStart", "UserPromptSubmit", "Stop", "Nonsense"] {
                let answer = Run::hook(vendor).frame(frame).stdin(bytes(&event(vendor, name))).answer();
                assert!(matches!(answer.code, 0 | 2), "{answer:?}");
            }
        }
    }
}
