//! The path scope: a rule that admits must match the path's real target; a rule that refuses matches any spelling.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::Cases;
use super::drive::Run;
use crate::case::{Seen, Want};
use crate::frame::Spec;

/// A frame that opens src without src/secret; other files may only be read.
fn spec() -> Spec {
    Spec::all()
        .scope("file:src/secret/**", "")
        .scope("file:src/**", "file.read,file.write,file.edit,dir.list,search")
        .scope("file:**", "file.read")
}

fn prepare(run: &Run<'_>) -> Result<(), String> {
    let scratch = run.scratch;
    scratch.write("src/a.txt", "text-of-src needle")?;
    scratch.write("src/secret/key.txt", "text-of-secret needle")?;
    scratch.write("other/b.txt", "text-of-other needle")?;
    let link = |to: &str, from: &str| {
        symlink(scratch.project.join(to), scratch.project.join(from))
            .map_err(|error| format!("could not link: {error}"))
    };
    link("other", "src/out")?;
    link("src", "other/in")?;
    link("src/secret", "src/open")?;
    link("other/b.txt", "src/b-link.txt")?;
    link("other/not-there.txt", "src/dangling.txt")
}

/// The path of a write, the path where its effect would be, and the required outcome. `{P}` is the project.
const WRITES: &[(&str, &str, &str, Want)] = &[
    ("inside, absolute", "{P}/src/o.txt", "src/o.txt", Want::Ran),
    ("inside, relative", "src/o.txt", "src/o.txt", Want::Ran),
    ("inside, in a folder to be made", "{P}/src/new/deep/o.txt", "src/new/deep/o.txt", Want::Ran),
    ("inside, by a symlink from outside", "{P}/other/in/o.txt", "src/o.txt", Want::Ran),
    ("outside, absolute", "{P}/other/o.txt", "other/o.txt", Want::Blocked),
    ("outside, relative", "other/o.txt", "other/o.txt", Want::Blocked),
    ("outside by ..", "{P}/src/../other/o.txt", "other/o.txt", Want::Blocked),
    ("outside by .., relative", "src/../o.txt", "o.txt", Want::Blocked),
    ("outside by a symlinked folder", "{P}/src/out/o.txt", "other/o.txt", Want::Blocked),
    ("outside by a dangling symlink", "{P}/src/dangling.txt", "other/not-there.txt", Want::Blocked),
    ("outside the project", "{P}/../home/o.txt", "../home/o.txt", Want::Blocked),
    ("outside, a sibling whose name begins alike", "{P}/srcery/o.txt", "srcery/o.txt", Want::Blocked),
    ("outside, another case", "{P}/SRC/o.txt", "SRC/o.txt", Want::Blocked),
    ("outside by /proc/self/cwd", "/proc/self/cwd/other/o.txt", "other/o.txt", Want::Blocked),
    ("outside by doubled slashes", "{P}//other///o.txt", "other/o.txt", Want::Blocked),
    ("refused folder inside", "{P}/src/secret/o.txt", "src/secret/o.txt", Want::Blocked),
    ("refused folder by a symlink", "{P}/src/open/o.txt", "src/secret/o.txt", Want::Blocked),
    ("refused folder by ..", "{P}/src/a/../secret/o.txt", "src/secret/o.txt", Want::Blocked),
];

const SEARCHES: &[(&str, &str, &str, &str, Want)] = &[
    ("Glob", "inside, by path", r#"{"pattern":"*.txt","path":"{P}/src"}"#, "a.txt", Want::Ran),
    ("Glob", "inside, by pattern", r#"{"pattern":"src/*.txt"}"#, "a.txt", Want::Ran),
    ("Glob", "outside, by path", r#"{"pattern":"*.txt","path":"{P}/other"}"#, "b.txt", Want::Blocked),
    ("Glob", "outside, by pattern", r#"{"pattern":"other/*.txt"}"#, "b.txt", Want::Blocked),
    (
        "Glob",
        "outside, by .. in the pattern",
        r#"{"pattern":"../other/*.txt","path":"{P}/src"}"#,
        "b.txt",
        Want::Blocked,
    ),
    (
        "Glob",
        "outside, by an absolute pattern",
        r#"{"pattern":"{P}/other/*.txt","path":"{P}/src"}"#,
        "b.txt",
        Want::Blocked,
    ),
    ("Glob", "the whole project", r#"{"pattern":"**/*.txt"}"#, "b.txt", Want::Blocked),
    (
        "Grep",
        "inside, by path",
        r#"{"pattern":"needle","path":"{P}/src/a.txt","output_mode":"content"}"#,
        "text-of-src",
        Want::Ran,
    ),
    (
        "Grep",
        "outside, by path",
        r#"{"pattern":"needle","path":"{P}/other","output_mode":"content"}"#,
        "text-of-other",
        Want::Blocked,
    ),
    (
        "Grep",
        "refused folder, by path",
        r#"{"pattern":"needle","path":"{P}/src/secret","output_mode":"content"}"#,
        "text-of-secret",
        Want::Blocked,
    ),
    ("Grep", "the whole project", r#"{"pattern":"needle","output_mode":"content"}"#, "text-of-other", Want::Blocked),
];

pub fn add(cases: &mut Cases) {
    for (name, path, effect, want) in WRITES {
        cases.add(format!("scope, Write {name}"), *want, move |run| {
            prepare(&run)?;
            let path = path.replace("{P}", &run.scratch.project.display().to_string());
            run.frame(&spec())?.write(path, "x").effect_or_refusal(effect)
        });
    }
    for (tool, name, input, text, want) in SEARCHES {
        cases.add(format!("scope, {tool} {name}"), *want, move |run| {
            prepare(&run)?;
            let input = input.replace("{P}", &run.scratch.project.display().to_string());
            let input: Value = serde_json::from_str(&input).map_err(|error| error.to_string())?;
            run.frame(&spec())?.flag("--tools").flag("Read,Glob,Grep").call(tool, input).told(text)
        });
    }
    cases.ran("scope, Read outside what may be written", |run| read(run, "other/b.txt", "text-of-other"));
    cases.blocked("scope, Read of a refused folder", |run| read(run, "src/secret/key.txt", "text-of-secret"));
    cases
        .blocked("scope, Read of a refused folder by a symlink", |run| read(run, "src/open/key.txt", "text-of-secret"));
    edits(cases);
}

fn read(run: Run<'_>, path: &str, text: &str) -> Result<Seen, String> {
    prepare(&run)?;
    let path = run.scratch.project.join(path);
    run.frame(&spec())?.read(path).told(text)
}

fn edits(cases: &mut Cases) {
    for (name, path, file, want) in [
        ("inside", "src/a.txt", "src/a.txt", Want::Ran),
        ("outside", "other/b.txt", "other/b.txt", Want::Blocked),
        ("outside by a symlinked file", "src/b-link.txt", "other/b.txt", Want::Blocked),
        ("refused folder by a symlink", "src/open/key.txt", "src/secret/key.txt", Want::Blocked),
    ] {
        cases.add(format!("scope, Edit {name}"), want, move |run| {
            prepare(&run)?;
            let scratch = run.scratch;
            let path = scratch.project.join(path);
            let outcome = run
                .frame(&spec())?
                .call("Edit", json!({"file_path": path, "old_string": "needle", "new_string": "changed"}))
                .go()?;
            outcome.or_refusal(scratch.read(file).contains("changed"))
        });
    }
    const SEARCHED: &str = "a scope judges a search by the folder it starts in, not by what it finds";
    cases.limit(SEARCHED, "scope, Grep of a folder with a refused one inside", |run| {
        prepare(&run)?;
        let input = json!({"pattern": "needle", "path": run.scratch.project.join("src"), "output_mode": "content"});
        run.frame(&spec())?.flag("--tools").flag("Grep").call("Grep", input).told("text-of-secret")
    });
    cases.limit("a shell command has no path", "scope, a shell writes outside", |run| {
        prepare(&run)?;
        run.frame(&spec())?.bash("touch other/o.txt").effect("other/o.txt")
    });
    cases.ran("scope with no rule for the path is silent", |run| {
        let path = run.scratch.project.join("o.txt");
        let spec = Spec::all().scope("file:src/**", "file.read");
        run.frame(&spec)?.write(path, "x").effect("o.txt")
    });
}
