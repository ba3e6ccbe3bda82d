//! The tables of documents: the verifier's answer to each, word for word.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::common::{Answer, GOLDEN, Run, fixture, run, table};

fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Check every document of a folder against its table: the line for people, the exit code, and the digest of the
/// canonical bytes of a valid document.
fn holds(folder: &str) {
    let rows = table(&format!("{folder}.tsv"), ["document", "verdict", "elsewhere", "why"]);
    let mut stored: Vec<String> = fs_err::read_dir(fixture(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    stored.sort();
    let mut named: Vec<String> = rows.iter().map(|[document, ..]| document.clone()).collect();
    named.sort();
    assert_eq!(stored, named, "the table and the folder hold the same documents");
    for [document, verdict, ..] in rows {
        let file = fixture(format!("{folder}/{document}.json"));
        let file = file.to_str().unwrap();
        let answer = run("mh-frame-verify", [file]);
        assert_eq!(answer.stdout, format!("{file}: {verdict}\n"), "{document}");
        let Some(digest) = verdict.strip_prefix("OK ") else {
            assert_eq!(answer.code, 1, "{document}");
            assert_eq!(run("mh-frame-verify", [file, "--print", "canonical"]).stdout, "", "{document}");
            continue;
        };
        assert_eq!(answer.code, 0, "{document}");
        let canonical = run("mh-frame-verify", [file, "--print", "canonical"]).stdout;
        assert_eq!(sha256(&canonical), digest, "{document}");
        let printed = run("mh-frame-verify", [file, "--print", "digest"]);
        assert_eq!(printed, Answer { code: 0, stdout: format!("{digest}\n"), stderr: String::new() }, "{document}");
        // sealing it again does not change its value
        let sealed = Run::of("mh-frame-seal").args([file]).answer();
        assert_eq!(sealed.code, 0, "{document}: {}", sealed.stderr);
        let again = Run::of("mh-frame-verify").args(["-"]).stdin(sealed.stdout.clone()).answer();
        assert_eq!(again.stdout, format!("-: OK {digest}\n"), "{document}");
        let twice = Run::of("mh-frame-seal").stdin(sealed.stdout.clone()).answer();
        assert_eq!(twice.stdout, sealed.stdout, "{document}");
    }
}

#[test]
fn every_vector_gives_what_its_table_says() {
    holds("vectors");
}

#[test]
fn every_odd_document_gives_what_its_table_says() {
    holds("documents");
}

#[test]
fn the_golden_document_verifies_and_comes_out_byte_for_byte() {
    let file = fixture("golden/frame.json");
    let file = file.to_str().unwrap();
    assert_eq!(run("mh-frame-verify", [file]).stdout, format!("{file}: OK {GOLDEN}\n"));
    let document = fs_err::read_to_string(file).unwrap();
    assert_eq!(run("mh-frame-seal", [file]).stdout, document);
    let canonical = fs_err::read_to_string(fixture("golden/frame.canonical")).unwrap();
    assert_eq!(run("mh-frame-verify", [file, "--print", "canonical"]).stdout, canonical);
    assert_eq!(sha256(canonical), GOLDEN);
}

#[test]
fn the_golden_document_can_be_built_from_flags() {
    let flags = "--new --workflow development/default --version 1 --state implement --step 2 --handoff-none \
                 --admit skill.load shell,search file.write --admit file.read --admit file.edit,dir.list";
    let mut flags: Vec<&str> = flags.split_whitespace().collect();
    flags.extend(["--obligation", "the suite is red before the implementation"]);
    flags.extend(["--reaching", "to verify: the suite is green"]);
    let document = fs_err::read_to_string(fixture("golden/frame.json")).unwrap();
    assert_eq!(run("mh-frame-seal", flags).stdout, document);
}

#[test]
fn the_frames_to_start_from_are_sealed_and_admit_what_their_names_say() {
    for (name, admits) in [
        ("nothing", &[][..]),
        ("read-only", &["dir.list", "file.read", "search"]),
        ("edit-only", &["dir.list", "file.edit", "file.read", "search"]),
        (
            "edit-and-shell",
            &["dir.list", "file.edit", "file.read", "file.write", "search", "shell", "skill.load", "task.todo"],
        ),
        (
            "one-mcp-server",
            &[
                "dir.list",
                "file.read",
                "mcp.call:lab/append",
                "mcp.call:lab/note",
                "mcp.call:lab/resources/list",
                "mcp.call:lab/resources/read",
                "search",
            ],
        ),
        (
            "everything",
            &[
                "dir.list",
                "file.edit",
                "file.read",
                "file.write",
                "search",
                "shell",
                "skill.load",
                "subagent.spawn",
                "task.todo",
                "web.read",
            ],
        ),
    ] {
        let path = fixture(format!("frames/{name}.json"));
        let file = path.to_str().unwrap();
        assert_eq!(run("mh-frame-verify", [file]).code, 0, "{name}");
        assert_eq!(run("mh-frame-seal", [file]).stdout, fs_err::read_to_string(&path).unwrap(), "{name}");
        let canonical = run("mh-frame-verify", [file, "--print", "canonical"]).stdout;
        let value: serde_json::Value = serde_json::from_str(&canonical).unwrap();
        let operations: Vec<String> = value["operations"].as_array().unwrap().iter().map(word).collect();
        assert_eq!(operations, admits, "{name}");
    }
}

fn word(operation: &serde_json::Value) -> String {
    let text = |key: &str| operation[key].as_str().unwrap_or_default();
    match text("op") {
        "mcp.call" => format!("mcp.call:{}/{}", text("server"), text("tool")),
        bare => bare.into(),
    }
}

#[test]
fn an_unreadable_file_differs_from_a_refused_document() {
    let scratch = crate::common::Scratch::new();
    let fifo = scratch.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let socket = scratch.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let looped = scratch.path("loop");
    fs_err::os::unix::fs::symlink(&looped, &looped).unwrap();
    let below = scratch.file("file", "{}").join("below");
    let long = scratch.path(&"n".repeat(300));
    for (path, why) in [
        (scratch.path("missing").as_path(), "no such file or directory"),
        (scratch.root(), "it is a folder, not a regular file"),
        (&fifo, "it is a named pipe, not a regular file"),
        // opening a socket fails before its kind is known
        (&socket, "no such device or address"),
        (&looped, "too many levels of symbolic links"),
        (&below, "not a directory"),
        (&long, "file name too long"),
        (Path::new("/dev/null"), "it is a device, not a regular file"),
        (Path::new("/dev/zero"), "it is a device, not a regular file"),
    ] {
        let file = path.to_str().unwrap();
        let answer = run("mh-frame-verify", [file]);
        assert_eq!((answer.code, answer.stdout), (2, format!("{file}: REFUSED unreadable: {why}\n")));
        let answer = run("mh-frame-seal", [file]);
        assert_eq!((answer.code, answer.stderr), (2, format!("mh-frame-seal: {file}: {why}\n")));
    }
}

#[test]
fn refusals_come_in_their_fixed_order() {
    // a document with every fault at once; the faults are mended one by one
    let golden = fs_err::read_to_string(fixture("golden/frame.json")).unwrap();
    let mut document = golden.replace("metaharness.frame/1", "metaharness.frame/2");
    document = document.replace("\"next\": []", "\"next\": null").replace("\"index\": 2", "\"index\": 3");
    document.push('x');
    let other = "0".repeat(64);
    let says = |document: &str| {
        let answer = Run::of("mh-frame-verify").args(["-", "--digest", &other]).stdin(document).answer();
        answer.stdout.strip_prefix("-: REFUSED ").unwrap().split(": ").next().unwrap().to_string()
    };
    let padded = format!("{document}{}", " ".repeat(16 * 1024 * 1024 - document.len()));
    assert_eq!(says(&padded), "not json");
    assert_eq!(says(&document), "not json");
    document.pop();
    assert_eq!(says(&document), "untagged");
    document = document.replace("metaharness.frame/2", "metaharness.frame/1");
    assert_eq!(says(&document), "misshapen");
    document = document.replace("\"next\": null", "\"next\": []");
    assert_eq!(says(&document), "edited");
    assert_eq!(says(&document.replace(GOLDEN, "")), "never sealed");
    assert_eq!(says(&golden), "pinned");
}
