//! `mh-frame-seal --new`: a frame from flags, without JSON written by hand.

use serde_json::{Value, json};

use crate::common::{NEW, Run, run};

#[track_caller]
fn built(flags: &[&str]) -> Value {
    let answer = run("mh-frame-seal", NEW.iter().chain(flags));
    assert_eq!((answer.code, &*answer.stderr), (0, ""));
    let mut value: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(value["format"], "metaharness.frame/1");
    let frame = value.as_object_mut().unwrap();
    frame.remove("format");
    assert_eq!(frame.remove("digest").unwrap().as_str().unwrap().len(), 64);
    value
}

fn least() -> Value {
    json!({
        "entities": null, "handoff": { "handoff": "none" }, "next": [], "node": { "id": "s" }, "obligations": [],
        "operations": [], "prior": [], "reaching": [],
        "step": { "attempt": 1, "index": 1, "state": "s", "workflow": "w" }, "workflow": { "id": "w", "version": "1" },
    })
}

#[test]
fn nothing_is_admitted_by_default() {
    assert_eq!(built(&[]), least());
}

#[test]
fn every_flag_sets_its_member() {
    for (flags, key, wanted) in [
        (&["--attempt", "3"][..], "step", json!({ "attempt": 3, "index": 1, "state": "s", "workflow": "w" })),
        (
            &["--admit", "shell", "search", "--admit", "file.read,shell"],
            "operations",
            json!([{ "op": "file.read" }, { "op": "search" }, { "op": "shell" }]),
        ),
        (
            &["--admit-mcp", "brave-search", "brave_web_search", "--admit-mcp", "a/b", "c", "--admit", "mcp.call:a/b"],
            "operations",
            json!([
                { "op": "mcp.call", "server": "a", "tool": "b" },
                { "op": "mcp.call", "server": "a/b", "tool": "c" },
                { "op": "mcp.call", "server": "brave-search", "tool": "brave_web_search" },
            ]),
        ),
        (
            &["--prior", "p1", "--prior", "p2", "--source", "d2"],
            "prior",
            json!([{ "source": null, "text": "p1" }, { "source": "d2", "text": "p2" }]),
        ),
        (
            &["--obligation", "o1", "--asked-by", "d1", "--obligation", "o2"],
            "obligations",
            json!([{ "asked_by": "d1", "text": "o1" }, { "asked_by": null, "text": "o2" }]),
        ),
        (
            &["--reaching", "r1", "--asked-by", "", "--reaching", ""],
            "reaching",
            json!([{ "asked_by": "", "text": "r1" }, { "asked_by": null, "text": "" }]),
        ),
        (&["--next", "a", "b", "--next", "a"], "next", json!([{ "id": "a" }, { "id": "b" }, { "id": "a" }])),
        (
            &["--entities-from", "list", "--entity", "a", "b", "--entity", "c"],
            "entities",
            json!({ "members": ["a", "b", "c"], "source": "list" }),
        ),
        (&["--entities-from", "list"], "entities", json!({ "members": [], "source": "list" })),
    ] {
        let mut value = least();
        value[key] = wanted;
        assert_eq!(built(flags), value);
    }
    let scope =
        ["--scope", "src/**", "file.edit,file.read", "--scope", "file:**", "none", "--scope", "proc:x", "shell"];
    let rules = json!({ "rules": [
        { "operations": [{ "op": "file.edit" }, { "op": "file.read" }], "subjects": ["file:src/**"] },
        { "operations": [], "subjects": ["file:**"] },
        { "operations": [{ "op": "shell" }], "subjects": ["proc:x"] },
    ] });
    assert_eq!(built(&[&["--admit", "file.edit,file.read,shell"], &scope[..]].concat())["subjects"], rules);
}

#[test]
fn a_step_says_what_it_owes() {
    let handoff = |flags: &[&str]| {
        let answer = run("mh-frame-seal", NEW.iter().filter(|flag| **flag != "--handoff-none").chain(flags));
        assert_eq!(answer.code, 0, "{answer:?}");
        serde_json::from_str::<Value>(&answer.stdout).unwrap()["handoff"].clone()
    };
    assert_eq!(handoff(&["--handoff-artifact", "a"]), json!({ "handoff": "artifact", "kind": null, "name": "a" }));
    assert_eq!(
        handoff(&["--handoff-artifact", "a", "--kind", "k"]),
        json!({ "handoff": "artifact", "kind": "k", "name": "a" })
    );
    assert_eq!(handoff(&["--handoff-answer", "s/1"]), json!({ "handoff": "structured_answer", "schema": "s/1" }));
}

#[test]
fn a_flag_that_is_missing_twice_or_wrong_is_named() {
    let without = |flag: &str| {
        let at = NEW.iter().position(|word| *word == flag).unwrap();
        let taken = if flag == "--handoff-none" { 1 } else { 2 };
        [&NEW[..at], &NEW[at + taken..]].concat()
    };
    let with = |flags: &[&'static str]| [&NEW[..], flags].concat();
    for (flags, why) in [
        (without("--workflow"), "a new frame needs --workflow ID"),
        (without("--version"), "a new frame needs --version V"),
        (without("--state"), "a new frame needs --state S"),
        (without("--step"), "a new frame needs --step N"),
        (
            without("--handoff-none"),
            "a new frame needs what the step owes: --handoff-none, --handoff-artifact NAME or --handoff-answer SCHEMA",
        ),
        (with(&["--workflow", "x"]), "--workflow is given twice"),
        (with(&["--handoff-answer", "x"]), "a handoff is given twice"),
        (with(&["--kind", "k"]), "--kind goes with the --handoff-artifact before it"),
        (with(&["--attempt=-1"]), "--attempt takes a whole number from 0 to 4294967295, not \"-1\""),
        (with(&["--attempt", "4294967296"]), "--attempt takes a whole number from 0 to 4294967295, not \"4294967296\""),
        (with(&["--source", "d"]), "--source goes with the --prior before it"),
        (with(&["--prior", "p", "--asked-by", "d"]), "--asked-by goes with the --obligation or --reaching before it"),
        (with(&["--prior", "p", "--source", "d", "--source", "e"]), "--source is given twice"),
        (with(&["--entity", "a"]), "--entity goes with the --entities-from before it"),
        (with(&["--entities-from", "a", "--entities-from", "b"]), "--entities-from is given twice"),
        (with(&["--admit"]), "--admit takes a value, and none is given"),
        (
            with(&["--admit", "mcp.call:a/b/c"]),
            "\"mcp.call:a/b/c\" does not say which slash ends the server's name; write --admit-mcp SERVER TOOL",
        ),
        (with(&["--admit-mcp", "lab"]), "--admit-mcp takes SERVER TOOL, and only \"lab\" is given"),
        (with(&["--colour", "red"]), "there is no flag --colour"),
        (
            with(&["--admit", "remove"]),
            "\"remove\" is no operation; there are file.read, file.write, file.edit, dir.list, search, shell, web.read, \
             skill.load, subagent.spawn, task.todo, and mcp.call:SERVER/TOOL",
        ),
    ] {
        let answer = run("mh-frame-seal", &flags);
        assert_eq!((answer.code, answer.stdout), (2, String::new()), "{flags:?}");
        assert_eq!(answer.stderr, format!("mh-frame-seal: {why}; see --help\n"));
    }
}

/// What stderr says of a new frame with these doubts.
fn not_sealed(doubts: &[&str]) -> String {
    let lines = doubts.iter().map(|doubt| format!("mh-frame-seal: the new frame: not sealed: {doubt}\n"));
    lines.collect::<String>() + "mh-frame-seal: the new frame: --allow-doubtful seals it all the same\n"
}

#[test]
fn a_frame_that_nobody_means_is_not_sealed() {
    for (flags, doubt) in [
        (&["--attempt", "0"][..], "`step.attempt` is 0; attempts are counted from 1: write the number of this one"),
        (
            &["--admit-mcp", "a__b", "note"],
            "mcp.call \"a__b\"/\"note\" reaches a vendor's hook as `mcp__a__b__note`, which another pair of server and tool \
             can read as well; rename the server or the tool",
        ),
        (
            &["--admit-mcp", "", "note"],
            "mcp.call \"\"/\"note\" reaches a vendor's hook as `mcp____note`, which another pair of server and tool can read \
             as well; rename the server or the tool",
        ),
    ] {
        let answer = run("mh-frame-seal", NEW.iter().chain(flags));
        assert_eq!((answer.code, answer.stdout), (1, String::new()));
        assert_eq!(answer.stderr, not_sealed(&[doubt]));
    }
    for (names, member) in
        [(["", "1", "s"], "workflow.id"), (["w", " ", "s"], "workflow.version"), (["w", "1", "\t"], "node.id")]
    {
        let [workflow, version, state] = names;
        let named = ["--workflow", workflow, "--version", version, "--state", state];
        let answer = run("mh-frame-seal", ["--new", "--step", "0", "--handoff-none"].iter().chain(&named));
        let doubt = format!("`{member}` is blank; give it its name");
        assert_eq!((answer.code, answer.stderr), (1, not_sealed(&[&doubt])));
    }
}

#[test]
fn a_path_rule_that_never_decides_is_not_sealed() {
    let scratch = crate::common::Scratch::new();
    for (glob, why) in [
        ("", "it is empty"),
        ("./secret/**", "a path has no `.`"),
        ("secret//**", "a path has no `//`"),
        ("secret/", "a path does not end in `/`; write `/**` for all below a folder"),
        ("../**", "a path has no `..`"),
        ("a/../b", "a path has no `..`"),
        ("~/**", "a path does not begin with `~`; write the home folder out"),
        ("!secret/**", "`!` is no negation; put a rule with fewer operations before"),
        ("$HOME/**", "nothing is put in for a variable; write out what it stands for"),
        ("secret/** ", "it has white space at an end"),
        (" secret", "it has white space at an end"),
    ] {
        let answer = run(
            "mh-frame-seal",
            [
                "--new",
                "--workflow",
                "w",
                "--version",
                "1",
                "--state",
                "s",
                "--step",
                "1",
                "--handoff-none",
                "--scope",
                glob,
                "none",
            ],
        );
        let doubt = format!("the glob \"file:{glob}\" of the path scope matches no path: {why}");
        assert_eq!((answer.code, answer.stderr), (1, not_sealed(&[&doubt])));
    }
    for glob in [".", "**", "/etc/**", "src/*.rs", "..src/**", "a.b/.c/**", "app/[slug]/**", "a b/$x"] {
        scratch.frame("frame.json", &["--scope", glob, "none"]);
    }
}

#[test]
fn a_rule_with_an_unmeant_sense_is_not_sealed_without_the_flag() {
    let scratch = crate::common::Scratch::new();
    let admit = ["--admit", "file.read,file.write"];
    for (scope, doubts) in [
        (
            &["--scope", "**", "file.read", "--scope", "secret/**", "none"][..],
            &[
                "rule 2 of the path scope never decides, since rule 1 before it matches all that it matches; put it before that \
               one, or take it out",
            ][..],
        ),
        (
            &["--scope", "src/**", "file.edit", "--scope", "src/*.rs", "file.read,shell"],
            &[
                "rule 1 of the path scope has file.edit, which the frame does not admit anywhere; admit it, or take it out of the rule",
                "rule 2 of the path scope has shell, which the frame does not admit anywhere; admit it, or take it out of the rule",
                "rule 2 of the path scope never decides, since rule 1 before it matches all that it matches; put it before \
                 that one, or take it out",
            ],
        ),
    ] {
        let answer = run("mh-frame-seal", NEW.iter().chain(&admit).chain(scope));
        assert_eq!((answer.code, &*answer.stdout, answer.stderr), (1, "", not_sealed(doubts)));
        // who means it says so; everybody reads it, and verify goes on to warn
        let frame = scratch.frame("frame.json", &[&admit, scope, &["--allow-doubtful"]].concat());
        let answer = run("mh-frame-verify", [frame]);
        assert_eq!(answer.code, 0);
        for doubt in doubts {
            assert!(answer.stderr.contains(&format!("warning: {doubt}\n")), "{}", answer.stderr);
        }
    }
    // in the other order every rule decides
    scratch
        .frame("frame.json", &[&admit[..], &["--scope", "secret/**", "none", "--scope", "**", "file.read"]].concat());
}

#[test]
fn scope_project_admits_the_project_and_nothing_else() {
    let scratch = crate::common::Scratch::new();
    let project = scratch.folder("my project");
    fs_err::write(project.join("a.txt"), "").unwrap();
    fs_err::os::unix::fs::symlink(&project, scratch.path("link")).unwrap();
    let link = scratch.path("link");
    let admit = ["--admit", "file.read,file.write"];
    let scope = ["--scope-project", link.to_str().unwrap(), "file.read", "--scope", "secret/**", "none"];
    let frame = scratch.frame("frame.json", &[&admit[..], &scope].concat());
    let document: serde_json::Value = serde_json::from_slice(&fs_err::read(&frame).unwrap()).unwrap();
    let globs: Vec<&str> = document["subjects"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["subjects"][0].as_str().unwrap())
        .collect();
    let below = format!("file:{}/**", project.to_str().unwrap());
    assert_eq!(globs, ["file:secret/**", &below, "file:/**"]);
    let says = |tool: &str, path: &std::path::Path| {
        let payload = crate::common::call("claude", tool, serde_json::json!({ "file_path": path, "content": "" }));
        let run = Run::hook("claude").frame(&frame).folder(&project).env("CLAUDE_PROJECT_DIR", &project);
        run.stdin(crate::common::bytes(&payload)).answer().code
    };
    assert_eq!(says("Read", &project.join("a.txt")), 0);
    assert_eq!(says("Read", &link.join("new/b.txt")), 0);
    assert_eq!(says("Write", &project.join("a.txt")), 2);
    assert_eq!(says("Read", &project.join("secret/key")), 2);
    assert_eq!(says("Read", &scratch.path("other.txt")), 2);
    assert_eq!(says("Read", "/etc/passwd".as_ref()), 2);
    for (folder, why) in [
        ("/nonexistent/folder", "--scope-project /nonexistent/folder: no such file or directory\n"),
        (project.join("a.txt").to_str().unwrap(), "--scope-project takes a folder, not \""),
    ] {
        let answer = run("mh-frame-seal", NEW.iter().chain(&["--scope-project", folder, "none"]));
        assert_eq!((answer.code, answer.stdout), (2, String::new()));
        assert!(answer.stderr.contains(why), "{}", answer.stderr);
    }
}
