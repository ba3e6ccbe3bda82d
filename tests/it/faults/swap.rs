//! A frame that is replaced while a hook reads it.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::common::{CLAUDE, Run, Scratch, VENDORS, program, shell, times};
use crate::faults::host::{self, Ended, Event, Host};

// agent-of-empires/agent-of-empires#2221: the policy file changed between its check and its use
/// Three files take turns under one name: the pinned frame, a frame that was edited to admit more, and a sealed frame
/// that admits more. A call that the pinned frame does not admit is never admitted, whichever file is read.
#[test]
fn ten_thousand_hooks_all_judge_by_the_pinned_frame() {
    // hooks of both vendors together
    let runs: usize = times(10_000, 1_000);
    let scratch = Scratch::new();
    let pinned = scratch.frame("pinned.json", &["--admit", "file.read"]);
    let sealed = scratch.frame("sealed.json", &["--admit", "file.read", "shell"]);
    let text = fs_err::read_to_string(&pinned).unwrap();
    let edited = scratch.file("edited.json", text.replace("file.read", "shell"));
    let digest = Run::of("mh-frame-verify").args(["--print".as_ref(), "digest".as_ref(), pinned.as_os_str()]).answer();
    let digest = digest.stdout.trim().to_string();
    let frame = scratch.path("frame.json");
    fs_err::hard_link(&pinned, &frame).unwrap();
    let calls = VENDORS.map(|vendor| scratch.file(vendor, shell(vendor)));
    let (over, next, swaps) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    // the counts of reasons: by the pinned frame, by the seal, by the pin
    let said = Mutex::new([0; 3]);
    let admitted = Mutex::new(Vec::new());
    let fire = |n: usize| {
        let vendor = VENDORS[n % 2];
        let mut command = Command::new(program(&format!("mh-hook-{vendor}")));
        command.env_clear().arg("--frame").arg(&frame).args(["--digest", &digest]);
        command
            .stdin(fs_err::File::open(&calls[n % 2]).unwrap().into_file())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = command.output().unwrap();
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        let ended = Ended { code: output.status.code(), late: false, stdout: output.stdout, stderr: output.stderr };
        let host = match vendor {
            CLAUDE => host::claude(Event::Call, &ended, false),
            _ => host::codex(Event::Call, &ended),
        };
        let why = ["Bash needs shell, which is not admitted", " is refused: edited: ", " is refused: pinned: "];
        match why.iter().position(|why| reason.contains(why)) {
            Some(at) if host == Host::Block && ended.code == Some(2) => said.lock().unwrap()[at] += 1,
            _ => admitted.lock().unwrap().push(ended),
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let beside = scratch.path("beside.json");
            for turn in [&pinned, &sealed, &pinned, &edited].iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                // renaming a file onto a link of itself leaves both names
                let _ = fs_err::remove_file(&beside);
                fs_err::hard_link(turn, &beside).unwrap();
                fs_err::rename(&beside, &frame).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
                // leave time for other processes
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    while let Some(n) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < runs) {
                        fire(n);
                    }
                })
            })
            .collect();
        let done: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        over.store(true, Ordering::Relaxed);
        assert!(done.iter().all(Result::is_ok));
    });
    let (said, admitted) = (said.into_inner().unwrap(), admitted.into_inner().unwrap());
    assert!(admitted.is_empty(), "{admitted:?}");
    // unless all three reasons occurred, the test has shown nothing
    assert!(said.iter().all(|times| *times > runs / 100), "{said:?}");
    println!(
        "\na frame swapped {} times under {runs} hooks: BLOCK {runs} ({} by the pinned frame, {} by its seal, {} by the pin)",
        swaps.into_inner(),
        said[0],
        said[1],
        said[2]
    );
}
