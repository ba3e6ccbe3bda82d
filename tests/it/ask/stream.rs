//! `--output-format stream-json`: lines in the form of Claude Code's own stream, for both vendors.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::ask::asking::{both, wait};
use crate::common::room::Room;

fn records(room: &Room, kind: &str, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    let ended = room.run(kind, &[&["--output-format", "stream-json"], more].concat());
    let records = ended.stdout.split('\n').filter(|line| !line.is_empty());
    (ended.code, records.map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn types(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["type"].as_str().unwrap()).collect()
}

#[test]
fn every_record_is_there_and_results_are_joined_to_their_calls() {
    for kind in ["claude", "codex"] {
        let room = Room::new();
        let denied = match kind {
            "claude" => "Write '{\"file_path\":\"/a\",\"content\":\"\"}' FileChange",
            _ => "apply_patch '{\"command\":\"*** Begin Patch\\n*** Add File: a\\n+b\\n*** End Patch\"}' FileChange",
        };
        let thinking = match kind {
            "claude" => {
                "say '{\"type\":\"assistant\",\"message\":{\"id\":\"m0\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"}]}}'"
            }
            _ => {
                "item '{\"type\":\"Reasoning\",\"id\":\"r\",\"summary_text\":[\"hm\"]}'; \
                 say '{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"reasoning\",\"text\":\"hm\"}}'"
            }
        };
        both(
            &room,
            kind,
            &format!(
                "begin; {thinking}; call c1 Bash '{{\"command\":\"x\"}}' CommandExecution; call c2 {denied}; answer fine"
            ),
        );
        let (code, records) = records(&room, kind, &[]);
        assert_eq!(code, Some(0));
        let init = &records[0];
        assert_eq!(
            (&init["type"], &init["v"], &init["vendor"], &init["policy"]),
            (&json!("init"), &json!(1), &json!(kind), &json!("frame"))
        );
        assert!(init["session_id"].is_string() && init["cwd"].is_string() && init["frame"].is_string());
        assert_eq!(records[1], json!({"type": "user", "text": "do it"}));
        // the stream and the hook's audit are two files, and on a busy machine either may be read first
        assert!(records.contains(&json!({"type": "reasoning", "text": "hm"})), "{records:?}");
        let used = |id: &str| records.iter().position(|record| record["type"] == "tool_use" && record["id"] == id);
        let over = |id: &str| records.iter().position(|record| record["type"] == "tool_result" && record["id"] == id);
        assert!(used("c1").unwrap() < over("c1").unwrap());
        assert_eq!(records[over("c1").unwrap()]["status"], "ok");
        assert_eq!(records[used("c1").unwrap()]["input"], json!({"command": "x"}));
        assert!(used("c2").is_some());
        assert_eq!(records[over("c2").unwrap()]["status"], "failed");
        assert!(records[over("c2").unwrap()]["error"].as_str().unwrap().contains("blocked"));
        let n = records.len();
        assert_eq!(records[n - 2], json!({"type": "assistant", "text": "fine"}));
        let last = &records[n - 1];
        assert_eq!(
            (&last["type"], &last["outcome"], &last["result"], &last["refused"][0]["call_id"]),
            (&json!("result"), &json!("tool_failed"), &json!("fine"), &json!("c2"))
        );
        // a decision of the frame is no approval
        assert!(!types(&records).contains(&"approval"));
    }
}

#[test]
fn an_approval_is_the_deciders_decision() {
    let room = Room::new();
    room.claude("begin; call c1 Bash '{\"command\":\"x\"}'; call c2 Bash '{\"command\":\"y\"}'; answer fine");
    let decider = room.program(
        "decider",
        "#!/bin/sh\nread -r line\nid=$(printf %s \"$line\" | sed 's/.*\"call_id\":\"\\([^\"]*\\)\".*/\\1/')\ncase $id in \
         c1) word='{\"decision\":\"allow\"}' ;; *) word='{\"decision\":\"deny\",\"reason\":\"not y\"}' ;; esac\n\
         printf '{\"format\":\"metaharness.command/1\",\"id\":\"1\",\"command\":\"tool.decide\",\"call_id\":\"%s\",\"decision\":%s}\\n' \"$id\" \"$word\"\n",
    );
    let (_, records) = records(&room, "claude", &["--decider", &format!("exec:{}", decider.display())]);
    let approvals: Vec<&Value> = records.iter().filter(|record| record["type"] == "approval").collect();
    assert_eq!(
        approvals.iter().map(|approval| (&approval["id"], &approval["decision"])).collect::<Vec<_>>(),
        [(&json!("c1"), &json!("allowed_once")), (&json!("c2"), &json!("denied"))]
    );
    assert!(approvals[1]["reason"].as_str().unwrap().contains("not y"));
    let order: Vec<&str> = types(&records);
    assert_eq!(
        order,
        [
            "init",
            "user",
            "tool_use",
            "approval",
            "tool_result",
            "tool_use",
            "approval",
            "tool_result",
            "assistant",
            "result"
        ]
    );
}

#[test]
fn a_sub_agents_work_stands_in_its_call_alone() {
    let room = Room::new();
    let nested = "say '{\"type\":\"assistant\",\"parent_tool_use_id\":\"c0\",\"message\":{\"id\":\"n\",\"content\":[{\"type\":\"text\",\"text\":\"inner\"},{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"Bash\",\"input\":{}}]}}'; \
                  agent=a1; hook PreToolUse Bash c1 '{}'; agent=; result c1 false inner";
    room.claude(&format!(
        "begin; use c0 Read '{{}}'; hook PreToolUse Read c0 '{{}}'; {nested}; result c0 false outer; answer fine"
    ));
    let (_, records) = records(&room, "claude", &[]);
    assert_eq!(types(&records), ["init", "user", "tool_use", "tool_result", "assistant", "result"]);
    assert!(!serde_json::to_string(&records).unwrap().contains("inner"));
}

#[test]
fn each_record_is_one_line_to_every_reader_and_out_before_the_turn_ends() {
    let room = Room::new();
    room.claude(
        "begin; say '{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"a\\u2028b\\u2029c\\u0085d\\r\\ne\"}]}}'; \
         until [ -e \"$ROOM/go\" ]; do sleep 0.02; done; answer fine",
    );
    let mut command = room.governed("claude", &["--output-format", "stream-json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let seen = lines.by_ref().find(|line| line.contains("assistant")).unwrap();
    assert!(seen.contains("a\\u2028b\\u2029c") && !seen.contains(['\u{2028}', '\u{2029}']), "{seen}");
    fs_err::write(room.path("go"), "").unwrap();
    let last: Value = serde_json::from_str(&lines.last().unwrap()).unwrap();
    assert_eq!((wait(&mut child), &last["type"]), (Some(0), &json!("result")));
}

#[test]
fn a_turn_that_ends_early_has_its_last_record_too() {
    let room = Room::new();
    room.claude("begin; use c1 Bash '{}'; exit 4");
    let (code, records) = records(&room, "claude", &[]);
    let last = records.last().unwrap();
    assert_eq!((code, &last["outcome"], &last["is_error"]), (Some(1), &json!("no_terminal_record"), &json!(true)));
    assert_eq!(types(&records), ["init", "user", "tool_use", "result"]);
}
