//! `mh-frame-seal` on documents: the ones that it takes, the ones that it refuses, and the file that it writes.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Stdio;

use fs_err::os::unix::fs::symlink;

use crate::common::{Answer, GOLDEN, Run, Scratch, fixture, run};

fn golden() -> String {
    fs_err::read_to_string(fixture("golden/frame.json")).unwrap()
}

/// The golden frame before sealing: no digest, no tag, nullable members left out.
fn unsealed() -> String {
    let mut value: serde_json::Value = serde_json::from_str(&golden()).unwrap();
    let frame = value.as_object_mut().unwrap();
    for key in ["digest", "format", "entities"] {
        frame.remove(key);
    }
    frame["obligations"][0].as_object_mut().unwrap().remove("asked_by");
    serde_json::to_string(frame).unwrap()
}

fn edited() -> String {
    golden().replace("\"op\": \"search\"", "\"op\": \"web.read\"")
}

#[track_caller]
fn good(answer: Answer) -> String {
    assert_eq!((answer.code, &*answer.stderr), (0, ""));
    answer.stdout
}

#[track_caller]
fn fails(answer: Answer, code: i32, stderr: &str) {
    assert_eq!(answer, Answer { code, stdout: String::new(), stderr: format!("mh-frame-seal: {stderr}\n") });
}

/// Check for a refusal that contains this reason.
#[track_caller]
fn refused(answer: Answer, line: &str) {
    assert_eq!((answer.code, &*answer.stdout), (1, ""));
    assert!(answer.stderr.lines().any(|told| told == format!("mh-frame-seal: {line}")), "{}", answer.stderr);
}

#[test]
fn an_unsealed_frame_comes_out_in_the_form_on_disk() {
    let scratch = Scratch::new();
    let file = scratch.file("unsealed.json", unsealed());
    assert_eq!(good(run("mh-frame-seal", [&file])), golden());
    assert_eq!(good(Run::of("mh-frame-seal").args(["-"]).stdin(unsealed()).answer()), golden());
    assert_eq!(good(Run::of("mh-frame-seal").stdin(unsealed()).answer()), golden());
    let empty_digest = golden().replace(GOLDEN, "");
    assert_eq!(good(Run::of("mh-frame-seal").stdin(empty_digest).answer()), golden());
}

#[test]
fn an_intact_document_keeps_its_value() {
    let compact: serde_json::Value = serde_json::from_str(&golden()).unwrap();
    assert_eq!(good(Run::of("mh-frame-seal").stdin(compact.to_string()).answer()), golden());
    assert_eq!(good(Run::of("mh-frame-seal").args(["--reseal"]).stdin(golden()).answer()), golden());
}

#[test]
fn a_changed_sealed_frame_is_refused_and_not_repaired() {
    let scratch = Scratch::new();
    let file = scratch.file("edited.json", edited());
    let name = file.to_str().unwrap();
    let new = "17e2b8fc";
    let answer = run("mh-frame-seal", [name, "-o", name]);
    assert_eq!((answer.code, &*answer.stdout), (1, ""));
    let start = format!("mh-frame-seal: {name}: edited: it says it is {GOLDEN}, but its contents are ");
    let rest = answer.stderr.strip_prefix(&start).unwrap();
    let (digest, rest) = rest.split_at(64);
    assert_eq!(
        rest,
        ": edited after it was sealed; take the sealed one back, or seal the change with mh-frame-seal --reseal\n"
    );
    assert_eq!(fs_err::read_to_string(&file).unwrap(), edited(), "the file is as it was");
    let resealed = good(run("mh-frame-seal", [name, "--reseal"]));
    // an operation out of order is put in canonical order
    assert!(resealed.contains(digest) && !resealed.contains(GOLDEN), "{new} {resealed}");
    assert!(resealed.find("skill.load").unwrap() < resealed.find("web.read").unwrap());
}

#[test]
fn a_document_that_is_no_frame_is_refused_by_name() {
    for (document, stderr) in [
        ("[]", "-: not json: byte 0: a frame is an object, and this is an array"),
        ("", "-: not json: byte 0: it is empty"),
        (
            r#"{"format":"metaharness.frame/2"}"#,
            "-: untagged: `format` is \"metaharness.frame/2\", not \"metaharness.frame/1\"",
        ),
        (r#"{"format":null}"#, "-: untagged: `format` is null, not \"metaharness.frame/1\""),
        ("{}", "-: misshapen: byte 0: `workflow` is missing"),
        (r#"{"allow":1}"#, "-: misshapen: byte 1: `allow` is no key of the frame, and would lie outside the seal"),
        (r#"{"next":[],"next":[]}"#, "-: misshapen: byte 11: the key `next` stands twice in one object"),
    ] {
        let answer = Run::of("mh-frame-seal").stdin(document).answer();
        assert_eq!((answer.code, &*answer.stdout), (1, ""), "{document}");
        // all that is wrong stands before it, by line and column
        let last = answer.stderr.lines().last().unwrap();
        assert_eq!(last, format!("mh-frame-seal: {stderr}"), "{document}");
        assert!(answer.stderr.starts_with("mh-frame-seal: -:1:"), "{}", answer.stderr);
    }
}

#[test]
fn a_doubtful_frame_is_not_sealed_and_only_warned_of_once_it_is() {
    let scratch = Scratch::new();
    let change = |from: &str, to: &str| {
        let changed = unsealed().replace(from, to);
        assert_ne!(changed, unsealed(), "{from}");
        changed
    };
    let server = |list: &str| change(r#"{"op":"dir.list"}"#, list);
    for (document, doubt) in [
        (
            change(r#""attempt":1"#, r#""attempt":0"#),
            "`step.attempt` is 0; attempts are counted from 1: write the number of this one",
        ),
        (change(r#""development/default""#, r#""""#), "`workflow.id` is blank; give it its name"),
        (
            change(r#""workflow":"development/default""#, r#""workflow":"other""#),
            "`step.workflow` is \"other\", but `workflow.id` is \"development/default\"; write the same name in both",
        ),
        (
            change(r#""state":"implement""#, r#""state":"verify""#),
            "`step.state` is \"verify\", but `node.id` is \"implement\"; write the same name in both",
        ),
        (
            server(r#"{"op":"mcp.call","server":"a","tool":"b__c"}"#),
            "mcp.call \"a\"/\"b__c\" reaches a vendor's hook as `mcp__a__b__c`, which another pair of server and tool can \
             read as well; rename the server or the tool",
        ),
        (
            server(r#"{"op":"mcp.call","server":"my-lab","tool":"t"},{"op":"mcp.call","server":"my.lab","tool":"t"}"#),
            "mcp.call \"my-lab\"/\"t\" reaches a vendor's hook as `mcp__my_lab__t`, which another pair of server and tool \
             can read as well; rename the server or the tool",
        ),
    ] {
        let target = scratch.path("never.json");
        let target = target.to_str().unwrap();
        let stderr = format!("-: not sealed: {doubt}");
        refused(Run::of("mh-frame-seal").args(["-o", target]).stdin(document.clone()).answer(), &stderr);
        assert!(!scratch.path("never.json").exists());
        // a frame that another program sealed is valid for everybody, and comes out unchanged
        let (digest, sealed) = sealed_elsewhere(&document);
        let answer = Run::of("mh-frame-verify").args(["-"]).stdin(sealed.clone()).answer();
        assert_eq!((answer.code, answer.stdout), (0, format!("-: OK {digest}\n")));
        assert!(answer.stderr.contains(&format!("mh-frame-verify: -: warning: {doubt}\n")), "{}", answer.stderr);
        assert_eq!(good(Run::of("mh-frame-seal").stdin(sealed.clone()).answer()), sealed);
        // sealing it anew is refused like the first time
        let unsealed_again = sealed.replace(&digest, &"0".repeat(64));
        refused(Run::of("mh-frame-seal").args(["--reseal"]).stdin(unsealed_again).answer(), &stderr);
    }
}

/// Seal with the library's plain functions, which check for no doubtful rules.
fn sealed_elsewhere(document: &str) -> (String, String) {
    let frame = metaharness::frame::read(document.as_bytes()).unwrap().frame.unwrap();
    let sealed = metaharness::seal::seal(frame);
    (sealed.digest().to_string(), sealed.document())
}

/// What is said of the golden frame when it has been written to this file.
fn told(file: &str) -> Answer {
    Answer { code: 0, stdout: String::new(), stderr: format!("mh-frame-seal: {file}: sealed {GOLDEN}\n") }
}

#[test]
fn printing_goes_to_stdout_instead_of_the_document_or_beside_the_file() {
    let scratch = Scratch::new();
    let out = scratch.path("out.json");
    let out = out.to_str().unwrap();
    let canonical = fs_err::read_to_string(fixture("golden/frame.canonical")).unwrap();
    let seal = |args: &[&str]| good(Run::of("mh-frame-seal").args(args).stdin(unsealed()).answer());
    assert_eq!(seal(&["--print", "digest"]), format!("{GOLDEN}\n"));
    assert_eq!(seal(&["--print=canonical"]), canonical);
    assert!(seal(&["--print", "text"]).ends_with(&format!("\n\nFrame digest: sha256 {GOLDEN}\n")));
    // the digest goes where no pipeline reads, and not at all where --print says what to say
    let answer = Run::of("mh-frame-seal").args(["-o", out]).stdin(unsealed()).answer();
    assert_eq!(answer, told(out));
    assert_eq!(fs_err::read_to_string(out).unwrap(), golden());
    fs_err::remove_file(out).unwrap();
    assert_eq!(seal(&["--print", "digest", "--output", out]), format!("{GOLDEN}\n"));
    assert_eq!(fs_err::read_to_string(out).unwrap(), golden());
}

#[test]
fn a_file_can_be_sealed_in_place_and_keeps_its_mode() {
    let scratch = Scratch::new();
    let file = scratch.file("frame.json", unsealed());
    fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs_err::metadata(&file).unwrap().ino();
    let name = file.to_str().unwrap();
    assert_eq!(run("mh-frame-seal", [name, "-o", name]), told(name));
    assert_eq!(fs_err::read_to_string(&file).unwrap(), golden());
    let after = fs_err::metadata(&file).unwrap();
    assert_eq!(after.permissions().mode() & 0o7777, 0o640);
    assert_ne!(after.ino(), before, "written beside and renamed");
    let left: Vec<_> = fs_err::read_dir(scratch.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["frame.json"], "nothing is left beside it");
}

#[test]
fn a_relative_name_is_written_in_the_working_folder() {
    let scratch = Scratch::new();
    let answer = Run::of("mh-frame-seal").folder(scratch.root()).args(["-o", "f.json"]).stdin(unsealed()).answer();
    assert_eq!(answer, told("f.json"));
    assert_eq!(fs_err::read_to_string(scratch.path("f.json")).unwrap(), golden());
}

#[test]
fn a_link_of_the_callers_own_is_followed() {
    let scratch = Scratch::new();
    let file = scratch.file("real/frame.json", "old");
    let link = scratch.path("link.json");
    symlink("real/frame.json", &link).unwrap();
    let name = link.to_str().unwrap();
    let answer = Run::of("mh-frame-seal").args(["-o", name]).stdin(unsealed()).answer();
    let Answer { stderr, .. } = told(name);
    let stderr = format!("mh-frame-seal: {name} is a link; wrote {}\n{stderr}", file.display());
    assert_eq!(answer, Answer { code: 0, stdout: String::new(), stderr });
    assert!(fs_err::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs_err::read_to_string(&file).unwrap(), golden());

    let nowhere = scratch.path("nowhere.json");
    symlink("missing/frame.json", &nowhere).unwrap();
    let name = nowhere.to_str().unwrap();
    let stderr = format!("{name}: it is a link that leads nowhere: no such file or directory");
    fails(Run::of("mh-frame-seal").args(["-o", name]).stdin(unsealed()).answer(), 2, &stderr);
}

#[test]
fn a_link_to_another_users_file_is_not_followed() {
    // for root, a file of nobody; for every other user, one of root
    let scratch = Scratch::new();
    let link = scratch.path("link.json");
    let (target, who) = if rustix::process::geteuid().is_root() {
        let file = scratch.file("theirs.json", "theirs");
        let nobody = rustix::process::Uid::from_raw(65534);
        rustix::fs::chown(&file, Some(nobody), None).unwrap();
        (file, "theirs")
    } else {
        (std::path::PathBuf::from("/etc/passwd"), "root's")
    };
    symlink(&target, &link).unwrap();
    let name = link.to_str().unwrap();
    let before = fs_err::read(&target).unwrap();
    let target = fs_err::canonicalize(&target).unwrap();
    let stderr = format!("{name}: it is a link, and the link or its file {} is not yours", target.display());
    fails(Run::of("mh-frame-seal").args(["-o", name]).stdin(unsealed()).answer(), 2, &stderr);
    assert_eq!(fs_err::read(&target).unwrap(), before, "{who}");
}

#[test]
fn a_failed_write_loses_nothing() {
    let scratch = Scratch::new();
    let folder = scratch.folder("folder");
    let name = folder.to_str().unwrap();
    let seal = |name: &str| Run::of("mh-frame-seal").args(["-o", name]).stdin(unsealed()).answer();
    fails(seal(name), 2, &format!("{name}: it is not a regular file, so it is not replaced"));
    fails(seal("/dev/null"), 2, "/dev/null: it is not a regular file, so it is not replaced");
    let missing = scratch.path("missing/frame.json");
    let name = missing.to_str().unwrap();
    let folder = scratch.path("missing");
    fails(seal(name), 2, &format!("{name}: there is no folder {}; make it first", folder.display()));
}

#[test]
fn a_document_that_cannot_be_printed_is_a_failure() {
    for name in ["mh-frame-seal", "mh-frame-verify"] {
        let onto = |device: &str| {
            let mut run = Run::of(name).args([fixture("golden/frame.json")]);
            let device = fs_err::OpenOptions::new().write(true).open(device).unwrap();
            run.command.stdout(Stdio::from(device.into_parts().0));
            run.answer()
        };
        let full = onto("/dev/full");
        let stderr = format!("{name}: could not write to standard output: no space left on device\n");
        assert_eq!((full.code, full.stderr), (2, stderr));
        // /dev/null means that the output is not wanted
        let null = onto("/dev/null");
        assert_eq!((null.code, null.stderr), (0, String::new()));
    }
    let mut closed = std::process::Command::new("/bin/sh");
    closed.args(["-c", "exec \"$@\" >&-", "sh"]);
    closed.arg(crate::common::program("mh-frame-seal")).arg(fixture("golden/frame.json"));
    let output = closed.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn mistakes_on_the_command_line_are_refused() {
    let file = fixture("golden/frame.json");
    let file = file.to_str().unwrap();
    for (args, why) in [
        (&[file, file][..], format!("there is no argument \"{file}\": one document is sealed at a time")),
        (&["--print", "all"], "--print takes digest, canonical, text or enforced, not \"all\"".into()),
        (&["--print"], "--print takes a value, and none is given".into()),
        (&["-o"], "-o takes a value, and none is given".into()),
        (&["--admit", "shell"], "--admit goes with --new".into()),
        (&["-x"], "there is no flag -x".into()),
        (
            &["--new", "--reseal"],
            "--new and --reseal do not go together: a frame that is built is sealed for the first time".into(),
        ),
        (
            &["--new", file],
            format!("there is no argument \"{file}\": --new builds the frame from flags, and reads no file"),
        ),
    ] {
        let help = if why.contains(&format!("\"{file}\"")) { "" } else { "; see --help" };
        fails(run("mh-frame-seal", args), 2, &format!("{why}{help}"));
    }
    assert_eq!(good(run("mh-frame-seal", ["--version"])), format!("mh-frame-seal {}\n", env!("CARGO_PKG_VERSION")));
    for help in ["--help", "-h"] {
        assert!(good(run("mh-frame-seal", [help])).starts_with("usage: mh-frame-seal [FILE|-] [-o OUT]"));
    }
}
