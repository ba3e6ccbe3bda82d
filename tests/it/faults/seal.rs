//! A seal that is killed or finds no room: the file holds the old bytes or the new ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{Scratch, fixture, program};
use crate::faults::row::can;

fn golden() -> String {
    fs_err::read_to_string(fixture("golden/frame.json")).unwrap()
}

/// The golden frame as a driver writes it before it is sealed.
fn unsealed() -> String {
    let mut value: serde_json::Value = serde_json::from_str(&golden()).unwrap();
    value.as_object_mut().unwrap().remove("digest");
    value.to_string()
}

/// A namespace in which each process gets the same number, as the first process of a container does.
const SAME_NUMBER: [&str; 4] = ["unshare", "-rpf", "--kill-child", "--mount-proc"];

struct Tracer {
    before: Vec<&'static str>,
}

impl Tracer {
    /// Seal the file in place, under strace with these options.
    fn seal(&self, file: &Path, words: &[&str]) -> Output {
        let before = self.before.iter().chain(&["strace"]).copied().chain(words.iter().copied());
        let mut command: Vec<PathBuf> = before.map(PathBuf::from).collect();
        command.push(program("mh-frame-seal"));
        Command::new(&command[0]).args(&command[1..]).arg(file).arg("-o").arg(file).output().unwrap()
    }
}

/// The system calls of a seal in order, each with its count among calls of its name.
fn calls(trace: &str) -> Vec<(String, usize)> {
    let mut seen = BTreeMap::<String, usize>::new();
    let names = trace.lines().filter_map(|line| line.split_once('(').map(|(name, _)| name.trim()));
    let calls = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    // strace itself makes the first call
    let calls = calls.filter(|name| *name != "execve");
    calls.map(|name| (name.into(), *seen.entry(name.into()).and_modify(|times| *times += 1).or_insert(1))).collect()
}

#[test]
fn a_seal_killed_at_any_system_call_leaves_the_old_bytes_or_the_new() {
    if !can("a seal that is killed at every point", &["strace", "-o", "/dev/null", "true"]) {
        return;
    }
    let apart = can("a seal after a killed one of the same number", &[&SAME_NUMBER[..], &["true"]].concat());
    let tracer = Tracer { before: if apart { SAME_NUMBER.to_vec() } else { Vec::new() } };
    let (old, new) = (unsealed(), golden());
    let scratch = Scratch::new();
    let file = scratch.file("whole/frame.json", &old);
    let trace = scratch.path("trace");
    let output = tracer.seal(&file, &["-o", trace.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let calls = calls(&fs_err::read_to_string(&trace).unwrap());
    assert!(calls.iter().any(|(name, _)| name.starts_with("rename")), "{calls:?}");
    let (mut olds, mut news, mut left) = (0, 0, 0);
    for (step, (name, which)) in calls.iter().enumerate() {
        let file = scratch.file(&format!("step{step}/frame.json"), &old);
        let inject = format!("inject={name}:signal=SIGKILL:when={which}");
        let output = tracer.seal(&file, &["-o", "/dev/null", "-e", &inject]);
        assert!(!output.status.success(), "step {step}, {name} {which}: it was not killed: {output:?}");
        match fs_err::read_to_string(&file).unwrap() {
            found if found == old => olds += 1,
            found if found == new => news += 1,
            found => panic!("step {step}, {name} {which}: neither the old nor the new: {found}"),
        }
        left += fs_err::read_dir(file.parent().unwrap()).unwrap().count() - 1;
        // the next seal works, whatever this one left behind, under any process number
        fs_err::write(&file, &old).unwrap();
        let output = tracer.seal(&file, &["-o", "/dev/null"]);
        assert!(output.status.success(), "step {step}, {name} {which}: the next seal: {output:?}");
        assert_eq!(fs_err::read_to_string(&file).unwrap(), new, "step {step}, {name} {which}");
    }
    // kills before and after the rename both happened, and one left a half file
    assert!(olds > 0 && news > 0 && left > 0, "{olds} {news} {left}");
    println!(
        "\na seal killed at each of {} calls of the system: {olds} times the old bytes, {news} times the new",
        calls.len()
    );
}

/// Seal the file after `before` has run, with the file's folder on a file system of its own.
fn on_a_disk(scratch: &Scratch, before: &str) -> (Output, String) {
    let disk = scratch.folder("disk");
    let disk = disk.display();
    scratch.file("unsealed.json", unsealed());
    let source = scratch.path("unsealed.json");
    let script = format!(
        "mount -t tmpfs -o size=8k none {disk} && cd {disk} && printf old > frame.json && {before}; \
         \"$1\" {} -o {disk}/frame.json; code=$?; echo \"$code $(cat frame.json) $(ls -A | tr '\\n' ' ')\"",
        source.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-rm", "/bin/sh", "-c", &script, "sh"]).arg(program("mh-frame-seal"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
    (output, said)
}

#[test]
fn on_a_full_disk_or_a_read_only_one_the_old_bytes_stay() {
    if !can("a seal on a full disk and on a read-only one", &["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"])
    {
        return;
    }
    let mut shown = String::new();
    for (before, left, why) in [
        ("head -c 100000 /dev/zero > fill 2>/dev/null", "2 old fill frame.json", "no space left on device"),
        // there is room for the file's name and for a part of its bytes
        (
            "head -c 4096 /dev/zero > fill && head -c 100000 /dev/zero > more 2>/dev/null",
            "2 old fill frame.json more",
            "no space left on device",
        ),
        ("mount -o remount,bind,ro .", "2 old frame.json", "read-only file system"),
    ] {
        let (output, said) = on_a_disk(&Scratch::new(), before);
        assert_eq!(said, left, "{before}: {output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_string();
        assert!(
            stderr.starts_with("mh-frame-seal: ")
                && stderr.contains("frame.json")
                && !stderr.contains("mh-new")
                && stderr.ends_with(why),
            "{before}: {stderr}"
        );
        shown += &format!("\na seal with {why}: exit 2, the old bytes");
    }
    let (output, said) = on_a_disk(&Scratch::new(), "true");
    assert!(said.starts_with("0 {") && said.ends_with("} frame.json"), "the control: {output:?}");
    println!("{shown}");
}

#[test]
fn a_limit_on_the_size_of_files_loses_nothing() {
    let scratch = Scratch::new();
    let file = scratch.file("frame.json", "old");
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "ulimit -f 0; trap '' XFSZ; exec \"$@\"", "sh"]);
    limited.arg(program("mh-frame-seal")).arg("-o").arg(&file).arg(fixture("golden/frame.json"));
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).trim_end().ends_with("file too large"), "{output:?}");
    assert_eq!(fs_err::read_to_string(&file).unwrap(), "old");
    assert_eq!(fs_err::read_dir(scratch.root()).unwrap().count(), 1, "the half file is gone");
}
