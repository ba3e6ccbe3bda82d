//! The operation that each tool of Claude Code needs.

use crate::adapter::{
    LONGEST, PathKind, Payload, RawAsks, RawNeed, RawPath, Table, Tool, is_blank, on_file, resources,
};
use crate::decide::clipped;
use crate::frame::Operation::{
    DirList, FileEdit, FileRead, FileWrite, Search, Shell, SkillLoad, SubagentSpawn, TaskTodo, WebRead,
};
use crate::frame::shown;

const QUEUES: &str = "queues a prompt for later, outside this step";
const MOVES: &str = "moves the session to another working tree";

/// The folder of the vendor's copies of the working tree, in the repository (measured).
const COPIES: &str = ".claude/worktrees";

/// The tools of the measured release, those of older releases, and the names that the model may still use for them.
pub static TABLE: Table = Table {
    release: "2.1.332",
    tools: &[
        Tool::carries("Glob", "dir.list", |call| below(call, Head::Glob)),
        Tool::carries("LS", "dir.list", |call| below(call, Head::None)),
        Tool::carries("Edit", "file.edit", |call| on_file(call, "file_path", FileEdit)),
        Tool::carries("MultiEdit", "file.edit", |call| on_file(call, "file_path", FileEdit)),
        Tool::carries("NotebookEdit", "file.edit", |call| on_file(call, "notebook_path", FileEdit)),
        Tool::carries("Read", "file.read", read),
        Tool::carries("Write", "file.write", |call| on_file(call, "file_path", FileWrite)),
        Tool::carries("ListMcpResourcesTool", "mcp.call SERVER/resources/list", |call| {
            resources(call, "resources/list")
        }),
        Tool::carries("ReadMcpResourceTool", "mcp.call SERVER/resources/read", |call| {
            resources(call, "resources/read")
        }),
        Tool::carries("Grep", "search", |call| below(call, Head::Search)),
        Tool::carries("Bash", "shell", |_| RawAsks::operation(Shell)),
        Tool::carries("PowerShell", "shell", |_| RawAsks::operation(Shell)),
        Tool::carries("Monitor", "shell; with `ws` also web.read", monitor),
        Tool::carries("Skill", "skill.load; with `@` in `args` also file.read and dir.list", skill),
        Tool::carries("Agent", "subagent.spawn", agent),
        Tool::carries("Task", "subagent.spawn", agent),
        Tool::carries("Workflow", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("SendMessage", "subagent.spawn", |_| RawAsks::operation(SubagentSpawn)),
        Tool::carries("TodoWrite", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("TaskCreate", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("TaskGet", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("TaskList", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("TaskUpdate", "task.todo", |_| RawAsks::operation(TaskTodo)),
        Tool::carries("WebFetch", "web.read", |_| RawAsks::operation(WebRead)),
        Tool::carries("WebSearch", "web.read", |_| RawAsks::operation(WebRead)),
        Tool::conversation("AskUserQuestion", "asks the person"),
        Tool::conversation("EnterPlanMode", "plan mode only narrows"),
        Tool::conversation("ExitPlanMode", "asks the person to end plan mode"),
        Tool::conversation("ReportFindings", "hands a report to the host"),
        Tool::conversation("StructuredOutput", "returns the answer; without it --json-schema is never met"),
        Tool::conversation("ToolSearch", "loads the schema of a tool, whose calls are judged"),
        Tool::conversation("ListAgents", "lists what runs"),
        Tool::conversation("TaskStop", "stops what runs"),
        Tool::conversation("KillShell", "stops what runs; the old name of TaskStop"),
        Tool::conversation("KillBash", "stops what runs; in older releases"),
        Tool::conversation("BashOutput", "shows what runs; in older releases"),
        Tool::conversation("TaskOutput", "shows what runs; in older releases"),
        Tool::denied("CronCreate", QUEUES),
        Tool::denied("CronDelete", "changes what is queued for later, outside this step"),
        Tool::denied("CronList", "shows what is queued for later, outside this step"),
        Tool::denied("ScheduleWakeup", QUEUES),
        Tool::denied("EnterWorktree", MOVES),
        Tool::denied("ExitWorktree", MOVES),
        Tool::denied("DeferredToolPlaceholder", "stands for tools that are not loaded and is none itself"),
    ],
};

/// The part of a pattern that tells where a call looks.
enum Head {
    /// The pattern is a glob over paths.
    Glob,
    /// The pattern is searched for in files.
    Search,
    None,
}

/// A call about everything below a folder: `path` or the working folder, joined for a glob with the pattern up to its
/// first wildcard.
fn below(call: &Payload<'_>, head: Head) -> RawAsks {
    let operation = if matches!(head, Head::Search) { Search } else { DirList };
    if call.input.has("path") && call.input.text("path").is_none() {
        return RawAsks::Inadmissible("has a `path` that is no string, so it cannot be told where it looks".into());
    }
    let path = call.input.text("path").unwrap_or_default();
    let pattern = call.input.text("pattern").unwrap_or_default();
    if path.len() > LONGEST {
        return RawAsks::Inadmissible(RawNeed::too_long());
    }
    let mut folder = if path.is_empty() { ".".to_string() } else { path.to_string() };
    if let Head::Glob = head {
        // the vendor strips it (measured), and the rest may be an absolute path
        if pattern.starts_with(is_blank) || pattern.ends_with(is_blank) || pattern.contains('\u{feff}') {
            return RawAsks::Inadmissible("has white space at an end of its pattern: write it without".into());
        }
        // of an absolute pattern, the vendor strips only the ends of the leading folder, as it does with `path`
        // (measured)
        if let Some(part) = path.split('/').chain(pattern.split('/')).find(|part| part.ends_with(is_blank)) {
            return RawAsks::Inadmissible(format!(
                "has {} in its path or pattern, and one reader cuts the white space at its end off and another does not: write \
                 it without, or search the folder above",
                clipped(&shown(part), 150)
            ));
        }
        let wild = pattern.find(['*', '?', '[', '{', '!', '(']).unwrap_or(pattern.len());
        let (literal, rest) = match pattern[..wild].rfind('/') {
            _ if wild == pattern.len() => (pattern.as_ref(), ""),
            Some(slash) => pattern.split_at(slash + 1),
            None => ("", pattern.as_ref()),
        };
        if rest.split(['/', '{', '}', ',', '(', ')', '|']).any(|part| part == "..") {
            return RawAsks::Inadmissible("has `..` behind a wildcard, so it cannot be told where it looks".into());
        }
        if literal.starts_with('/') {
            folder = literal.into();
        } else if !literal.is_empty() {
            folder = format!("{folder}/{literal}");
        }
    }
    RawAsks::Needs(vec![RawNeed {
        path: Some(RawPath { written: folder, kind: PathKind::Folder }),
        ..RawNeed::of(operation)
    }])
}

/// Reads a file. Where no file has the given name, and it is that of a macOS screenshot with the time of day, the
/// vendor tries the other blank before AM or PM (measured, both ways).
fn read(call: &Payload<'_>) -> RawAsks {
    const BLANKS: [&str; 2] = [" ", "\u{202f}"];
    let mut asks = on_file(call, "file_path", FileRead);
    if let RawAsks::Needs(needs) = &mut asks {
        let written =
            needs.iter().find_map(|need| need.path.as_ref()).map(|path| path.written.clone()).unwrap_or_default();
        let other = |end: &str, from: &str, to: &str| {
            written.strip_suffix(&format!("{from}{end}")).map(|head| RawNeed::on(FileRead, format!("{head}{to}{end}")))
        };
        let [plain, narrow] = BLANKS;
        needs.extend(
            ["AM.png", "PM.png"].iter().find_map(|end| other(end, plain, narrow).or_else(|| other(end, narrow, plain))),
        );
    }
    asks
}

/// Starts an agent here, in a copy of the working tree, or on another machine.
fn agent(call: &Payload<'_>) -> RawAsks {
    match call.input.text("isolation").as_deref() {
        None if !call.input.has("isolation") => RawAsks::operation(SubagentSpawn),
        Some("worktree") => RawAsks::Needs(vec![RawNeed {
            path: Some(RawPath { written: COPIES.into(), kind: PathKind::Folder }),
            ..RawNeed::of(SubagentSpawn)
        }]),
        _ => RawAsks::Inadmissible(
            "has an `isolation` other than `worktree`: no hook is asked about what an agent does on another machine; start it \
             without"
                .into(),
        ),
    }
}

/// Loads a skill. In its arguments, `@` with a name is a file that the vendor reads, or a folder that it lists, by
/// itself and past every hook (measured: at the start, after white space and after a CJK full stop; not after a letter
/// or a digit).
fn skill(call: &Payload<'_>) -> RawAsks {
    let mut needs = vec![RawNeed::of(SkillLoad)];
    match call.input.text("args") {
        None if call.input.has("args") => {
            return RawAsks::Inadmissible("has `args` that are no string, so it cannot be told what they name".into());
        }
        Some(args) => {
            if let Some(mention) = mention(&args) {
                if mention.contains(':') {
                    return RawAsks::Inadmissible(format!(
                        "has {} in its `args`, which can name a resource of a server, and no hook is asked about that: write \
                         it without",
                        clipped(&shown(mention), 150)
                    ));
                }
                needs.extend([FileRead, DirList].map(|operation| RawNeed {
                    path: Some(RawPath { written: mention.into(), kind: PathKind::Any }),
                    ..RawNeed::of(operation)
                }));
            }
        }
        None => {}
    }
    RawAsks::Needs(needs)
}

/// The rest of the text from the first `@` that may name a file. The text of the skill before it is unknown here.
fn mention(text: &str) -> Option<&str> {
    let (at, _) =
        text.match_indices('@').find(|(at, _)| !text[..*at].ends_with(|c: char| c.is_ascii_alphanumeric()))?;
    text.get(at..)
}

/// Runs a command in the background, or opens a web socket.
fn monitor(call: &Payload<'_>) -> RawAsks {
    let mut needs = vec![RawNeed::of(Shell)];
    needs.extend(call.input.has("ws").then(|| RawNeed::of(WebRead)));
    RawAsks::Needs(needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Input;

    /// The operation and the folder of a call, or the reason why they cannot be told.
    fn looks(tool: &str, input: &str) -> Result<String, String> {
        let call = Payload {
            input: Input::read(input, crate::adapter::claude::Claude::FACTS.payload.asked).unwrap(),
            ..Payload::default()
        };
        match TABLE.asks(&call, tool, "Claude Code") {
            RawAsks::Needs(needs) => Ok(needs
                .iter()
                .map(|need| match &need.path {
                    Some(path) => format!("{} {:?} {}", need.wanted.words(), path.kind, path.written),
                    None => need.wanted.words(),
                })
                .collect::<Vec<_>>()
                .join(", ")),
            RawAsks::Inadmissible(why) => Err(why),
            RawAsks::Conversation => Ok("conversation".into()),
        }
    }

    #[test]
    fn a_search_is_about_the_folder_that_it_looks_in() {
        for (tool, input, wanted) in [
            ("Glob", r#"{"pattern": "*.rs"}"#, "dir.list Folder ."),
            ("Glob", r#"{"pattern": "a/b/*.rs", "path": "src"}"#, "dir.list Folder src/a/b/"),
            ("Glob", r#"{"pattern": "/a/b/c*/**"}"#, "dir.list Folder /a/b/"),
            ("Glob", r#"{"pattern": "a/b", "path": ""}"#, "dir.list Folder ./a/b"),
            ("Glob", r#"{"pattern": "a?/b"}"#, "dir.list Folder ."),
            ("Glob", r#"{"path": "src"}"#, "dir.list Folder src"),
            ("Grep", r#"{"pattern": "/a/*", "path": "src"}"#, "search Folder src"),
            ("LS", r#"{"path": "/a"}"#, "dir.list Folder /a"),
            ("Glob", r#"{"pattern": "**/[...slug]/v*..md"}"#, "dir.list Folder ."),
            (
                "Read",
                r#"{"file_path": "/a 5 AM.png"}"#,
                "file.read File /a 5 AM.png, file.read File /a 5\u{202f}AM.png",
            ),
            (
                "Read",
                r#"{"file_path": "/a 5\u202fPM.png"}"#,
                "file.read File /a 5\u{202f}PM.png, file.read File /a 5 PM.png",
            ),
            ("Read", r#"{"file_path": "/a AM.jpg"}"#, "file.read File /a AM.jpg"),
            ("Skill", r#"{"skill": "a", "args": "mail to a@b.org"}"#, "skill.load"),
            ("Skill", r#"{"skill": "a", "args": "see @x/y"}"#, "skill.load, file.read Any @x/y, dir.list Any @x/y"),
            ("Skill", r#"{"skill": "a", "args": "\u3002@x"}"#, "skill.load, file.read Any @x, dir.list Any @x"),
            ("Monitor", r#"{"command": "true"}"#, "shell"),
            ("Monitor", r#"{"ws": "wss://a"}"#, "shell, web.read"),
        ] {
            assert_eq!(looks(tool, input).as_deref(), Ok(wanted), "{tool} {input}");
        }
        for (tool, input, wanted) in [
            ("Glob", r#"{"pattern": "a/*/../b"}"#, "has `..` behind a wildcard, so it cannot be told where it looks"),
            ("Glob", r#"{"pattern": "a/{..,b}/c"}"#, "has `..` behind a wildcard, so it cannot be told where it looks"),
            ("Skill", r#"{"args": ["@a"]}"#, "has `args` that are no string, so it cannot be told what they name"),
            (
                "Skill",
                r#"{"args": "@srv:file:///a"}"#,
                "has @srv:file:///a in its `args`, which can name a resource of a server, and no hook is asked about that: \
                 write it without",
            ),
            ("Grep", r#"{"path": 1}"#, "has a `path` that is no string, so it cannot be told where it looks"),
            (
                "Read",
                r#"{"file_path": ""}"#,
                "has no `file_path` that is a string, so it cannot be told which file it is about",
            ),
        ] {
            assert_eq!(looks(tool, input), Err(wanted.into()), "{tool} {input}");
        }
    }

    #[test]
    fn white_space_at_the_end_of_a_name_is_refused_in_a_glob() {
        for input in [
            r#"{"path": ".. ", "pattern": "sib/*"}"#,
            r#"{"path": "link ", "pattern": "dir/*"}"#,
            r#"{"path": "/p/ ", "pattern": "sub/*"}"#,
            r#"{"pattern": "/p/.. /*"}"#,
            r#"{"pattern": "/p/sub\u00a0/b.txt"}"#,
            r#"{"pattern": "/p/sub\u2028/*"}"#,
            r#"{"path": "/p/x\ufeff", "pattern": "sub/*"}"#,
        ] {
            let why = looks("Glob", input).unwrap_err();
            assert!(why.contains("cuts the white space at its end off"), "{input}: {why}");
        }
        assert!(looks("Glob", r#"{"path": "a b/c d", "pattern": "e f/*"}"#).is_ok());
    }

    #[test]
    fn a_tool_is_what_its_class_says_and_the_table_prints_it() {
        assert_eq!(looks("TaskStop", "{}").as_deref(), Ok("conversation"));
        assert_eq!(looks("CronCreate", "{}"), Err(format!("{QUEUES}, which no operation admits")));
        let unknown = "is unknown to the tool table of Claude Code 2.1.332, so nothing says which operation it is";
        for tool in ["bash", "Bash ", "", "Bas"] {
            assert_eq!(looks(tool, "{}"), Err(unknown.into()), "{tool}");
        }
        let printed = TABLE.print(&crate::adapter::claude::Claude::FACTS);
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines[0], "tool table of Claude Code 2.1.332");
        assert_eq!(lines.len(), TABLE.tools.len() + 3);
        assert!(lines.contains(&"Glob                     needs    dir.list"), "{printed}");
        assert!(lines.contains(&"TaskStop                 abstain  stops what runs"), "{printed}");
        assert!(lines.contains(&"any other                deny     unknown to this table"), "{printed}");
    }
}
