//! All that is wrong with a document is told at once, and where.

use serde_json::{Value, json};

use crate::common::{Answer, Run, Scratch, fixture, run, schema};

const SEAL: &str = "mh-frame-seal";
const VERIFY: &str = "mh-frame-verify";

/// A document with something wrong in every corner.
const WRONG: &str = r#"{
  "format": "metaharness.frame/2",
  "workflow": {"id": 5},
  "node": [],
  "step": {"workflow": "w", "state": "é", "index": 1.5, "attempt": -1, "more": {}},
  "prior": [{"text": "a"}, {"source": 1}, "b"],
  "obligations": {},
  "next": null,
  "handoff": {"handoff": "later"},
  "operations": [{"op": "shell"}, {"op": "delete"}, {"op": "mcp.call", "server": "s"}, {"op": 1}, {"op": "search", "tool": "x"}],
  "subjects": {"rules": [{"subjects": ["**"], "operations": []}, {"subjects": ["**", 7], "operations": [{"ops": "shell"}]}]},
  "entities": {"members": "all"},
  "odd key": 1
}
"#;

fn told(program: &str, document: &str, flags: &[&str]) -> (Answer, Vec<String>) {
    let scratch = Scratch::new();
    scratch.file("d.json", document);
    let answer = Run::of(program).folder(scratch.root()).args(["d.json"]).args(flags).answer();
    let begin = format!("{program}: d.json:");
    let lines = answer.stderr.lines().filter_map(|line| line.strip_prefix(&*begin)).map(String::from).collect();
    (answer, lines)
}

#[test]
fn a_document_is_told_all_of_its_faults_by_line_and_column() {
    let wanted = [
        "2:13: `format` is \"metaharness.frame/2\", not \"metaharness.frame/1\"",
        "3:22: `workflow.id` is a number, not a string",
        "3:15: `workflow.version` is missing",
        "4:11: `node` is an array, not an object",
        "5:52: `step.index` is 1.5, not a whole number from 0 to 4294967295",
        "5:68: `step.attempt` is -1, not a whole number from 0 to 4294967295",
        "5:72: `more` is no key of step, and would lie outside the seal",
        "6:39: `prior[1].source` is a number, not a string",
        "6:28: `prior[1].text` is missing",
        "6:43: `prior[2]` is a string, not an object",
        "7:18: `obligations` is an object, not an array",
        "8:11: `next` is null, not an array",
        "9:26: `handoff.handoff` is `later`, which is none of none, artifact, structured_answer",
        "10:42: `operations[1].op` is `delete`, which is no operation",
        "10:53: `operations[2].tool` is missing",
        "10:95: `operations[3].op` is a number, not a string",
        "10:116: `operations[4]`: search has no key `tool`",
        "11:86: `subjects.rules[1].subjects[1]` is a number, not a string",
        "11:106: `ops` is no key of subjects.rules[1].operations[0], and would lie outside the seal",
        "11:105: `subjects.rules[1].operations[0].op` is missing",
        "12:27: `entities.members` is a string, not an array",
        "12:15: `entities.source` is missing",
        "13:3: `odd key` is no key of the frame, and would lie outside the seal",
        "1:1: `reaching` is missing",
    ];
    let (answer, lines) = told(SEAL, WRONG, &[]);
    assert_eq!((answer.code, &*answer.stdout), (1, ""));
    assert_eq!(lines[..wanted.len()], wanted, "{lines:#?}");
    assert!(lines[wanted.len()].starts_with(" may be left out: subjects and entities; "), "{lines:?}");
    assert!(lines[wanted.len() + 1].starts_with(" untagged: "), "{lines:?}");
    // a sealed one has to have a digest, too
    let (answer, lines) = told(VERIFY, WRONG, &[]);
    assert_eq!(answer.code, 1);
    assert!(answer.stdout.starts_with("d.json: REFUSED untagged: "), "{}", answer.stdout);
    assert_eq!(lines[..wanted.len()], wanted);
    assert_eq!(lines[wanted.len()], "1:1: no digest in it; seal it with mh-frame-seal");
    assert_eq!(told(VERIFY, WRONG, &["--status"]).0, Answer { code: 1, stdout: String::new(), stderr: String::new() });
}

#[test]
fn the_first_of_them_is_what_it_is_refused_for() {
    for name in ["documents/index-minus-zero.json", "documents/op-unknown.json", "vectors/null-next.json"] {
        let file = fixture(name);
        let answer = run(VERIFY, ["--json", file.to_str().unwrap()]);
        let line: Value = serde_json::from_str(&answer.stdout).unwrap();
        let fault = &line["refusal"]["faults"][0];
        let why = format!("byte {}: {}", fault["byte"], fault["what"].as_str().unwrap());
        assert_eq!(line["refusal"]["why"], why, "{name}");
    }
}

#[test]
fn json_has_every_fault_with_its_path() {
    for program in [SEAL, VERIFY] {
        let (answer, _) = told(program, WRONG, &["--json"]);
        assert_eq!((answer.code, &*answer.stderr), (1, ""));
        let line: Value = serde_json::from_str(&answer.stdout).unwrap();
        schema::holds("verify", &line);
        let faults = line["refusal"]["faults"].as_array().unwrap();
        let paths: Vec<&str> = faults.iter().map(|fault| fault["path"].as_str().unwrap()).collect();
        let wanted = [
            "format",
            "workflow.id",
            "workflow.version",
            "node",
            "step.index",
            "step.attempt",
            "step.more",
            "prior[1].source",
            "prior[1].text",
            "prior[2]",
            "obligations",
            "next",
            "handoff.handoff",
            "operations[1].op",
            "operations[2].tool",
            "operations[3].op",
            "operations[4].tool",
            "subjects.rules[1].subjects[1]",
            "subjects.rules[1].operations[0].ops",
            "subjects.rules[1].operations[0].op",
            "entities.members",
            "entities.source",
            "[\"odd key\"]",
            "reaching",
        ];
        assert_eq!(paths[..wanted.len()], wanted, "{program}");
        let last = json!({ "path": "reaching", "line": 1, "column": 1, "byte": 0, "what": "`reaching` is missing" });
        assert_eq!(faults[wanted.len() - 1], last);
        assert_eq!(paths.get(wanted.len()), (program == VERIFY).then_some(&"digest"));
    }
}

#[test]
fn a_syntax_error_and_a_key_that_stands_twice_are_all_that_is_told() {
    for (document, wanted) in [
        ("{\n \"next\": 5,\n  \"node\" 1}", "3:10: expected `:` after a key"),
        ("{\"a\": 1,\n \"next\": 5, \"next\": []}", "2:13: the key `next` stands twice in one object"),
        ("\n[]", "2:1: a frame is an object, and this is an array"),
    ] {
        let (answer, lines) = told(SEAL, document, &[]);
        assert_eq!(answer.code, 1, "{document}");
        let faults: Vec<&String> = lines.iter().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(faults.len(), 1, "{lines:?}");
        assert!(faults[0].starts_with(wanted.split(':').take(2).collect::<Vec<_>>().join(":").as_str()), "{lines:?}");
        assert!(faults[0].contains(wanted.rsplit(": ").next().unwrap()), "{lines:?}");
    }
}

#[test]
fn of_a_great_many_a_hundred_are_told_and_the_rest_is_counted() {
    let document = format!("{{\"prior\": [{}0]}}", "0,".repeat(999));
    let (_, lines) = told(SEAL, &document, &[]);
    assert_eq!(lines.iter().filter(|line| !line.starts_with(' ')).count(), 100);
    // the thousand, and what is missing besides
    assert!(lines.contains(&" and 908 more".to_string()), "{:?}", lines.last());
    let (answer, _) = told(VERIFY, &document, &["--json"]);
    let line: Value = serde_json::from_str(&answer.stdout).unwrap();
    schema::holds("verify", &line);
    assert_eq!(line["refusal"]["faults_untold"], 908);
}

/// From `{}` to a document that seals: what the first answer says, written down, is enough.
#[test]
fn the_first_answer_says_all_that_an_empty_document_needs() {
    let (_, lines) = told(SEAL, "{}", &[]);
    let missing: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("1:1: `")?.strip_suffix("` is missing")).collect();
    let needed = ["workflow", "node", "step", "prior", "obligations", "reaching", "next", "handoff", "operations"];
    assert_eq!(missing, needed);
    let document = json!({
        "workflow": {"id": "w", "version": "1"}, "node": {"id": "s"},
        "step": {"workflow": "w", "state": "s", "index": 1, "attempt": 1},
        "prior": [], "obligations": [], "reaching": [], "next": [], "handoff": {"handoff": "none"}, "operations": []
    });
    assert_eq!(told(SEAL, &document.to_string(), &[]).0.code, 0);
    for key in needed {
        let mut without = document.clone();
        without.as_object_mut().unwrap().remove(key);
        assert_eq!(told(SEAL, &without.to_string(), &[]).0.code, 1, "{key}");
    }
}

#[test]
fn the_seal_says_what_came_of_it_as_json() {
    let scratch = Scratch::new();
    let sealed = scratch.path("sealed.json");
    let unsealed = fixture("golden/frame.json");
    let files = [unsealed.as_os_str(), "--json".as_ref(), "-o".as_ref(), sealed.as_os_str()];
    let answer = Run::of(SEAL).args(files).answer();
    let line: Value = serde_json::from_str(&answer.stdout).unwrap();
    schema::holds("verify", &line);
    assert_eq!((answer.code, &line["ok"]), (0, &true.into()));
    let found = run(VERIFY, ["--json", sealed.to_str().unwrap()]);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!((&line["digest"], &line["warnings"]), (&found["digest"], &found["warnings"]));
    let new = ["--new", "--workflow", "w", "--version", "1", "--state", "s", "--step", "1", "--handoff-none"];
    let doubtful = Run::of(SEAL).args(new).args(["--attempt", "0", "--json"]).answer();
    let line: Value = serde_json::from_str(&doubtful.stdout).unwrap();
    schema::holds("verify", &line);
    assert_eq!((doubtful.code, &line["refusal"]["name"]), (1, &"doubtful".into()));
    assert!(line["warnings"][0].as_str().unwrap().starts_with("`step.attempt` is 0"), "{line}");
    let both = Run::of(SEAL).args(new).args(["--json", "--print", "digest"]).answer();
    assert_eq!((both.code, both.stdout.as_str()), (2, ""));
}

#[test]
fn what_of_a_frame_is_enforced_and_what_is_told_is_one_table() {
    let frame = fixture("golden/frame.json");
    let frame = frame.to_str().unwrap();
    let text = run(VERIFY, [frame, "--print", "enforced"]).stdout;
    let line: Value = serde_json::from_str(&run(VERIFY, [frame, "--print", "enforced", "--json"]).stdout).unwrap();
    let parts = line["parts"].as_array().unwrap();
    let document: Value = serde_json::from_str(&fs_err::read_to_string(frame).unwrap()).unwrap();
    for key in document.as_object().unwrap().keys().map(String::as_str).chain(["subjects"]) {
        // the seal itself, and what stands again in `step`
        let itself = ["digest", "format", "node", "workflow"].contains(&key);
        assert_eq!(parts.iter().any(|part| part["key"] == key), !itself, "{key}");
    }
    let held: Vec<&str> = parts.iter().map(|part| part["held"].as_str().unwrap()).collect();
    assert_eq!(held, ["enforced", "enforced", "checked", "checked", "told", "told", "told", "told", "told"]);
    for part in parts {
        let line = format!("{:<12} {:<9} ", part["key"].as_str().unwrap(), part["held"].as_str().unwrap());
        let place = text.find(&line).unwrap_or_else(|| panic!("{line}: {text}"));
        let here = part["here"].as_str().unwrap_or("nothing here");
        assert!(text[place..].lines().nth(1).unwrap().trim() == here, "{here}: {text}");
    }
    assert!(text.contains("dir.list, file.edit, file.read"), "{text}");
}
