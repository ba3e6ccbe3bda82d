//! Sub-agents, parallel calls, worktrees and working folders: the same frame decides, whoever calls from wherever.

use serde_json::{Value, json};

use super::Cases;
use super::drive::{Drive, Run, agent_input};
use super::script::Call;
use crate::case::Want;
use crate::frame::Spec;

fn touch(file: &str) -> Value {
    json!({"command": format!("touch {file}"), "description": "a step"})
}

fn with(mut input: Value, key: &str, value: Value) -> Value {
    input[key] = value;
    input
}

/// Every way to start an agent that runs one shell command, which makes o.txt.
const AGENTS: &[(&str, Drive)] = &[
    ("a nested sub-agent", |run| {
        run.agent("PARTONE")
            .agent_call("PARTONE", "Agent", agent_input("PARTTWO"))
            .agent_call("PARTTWO", "Bash", touch("o.txt"))
            .effect_or_refusal("o.txt")
    }),
    ("a background sub-agent", |run| {
        run.call("Agent", with(agent_input("PARTONE"), "run_in_background", json!(true)))
            .agent_call("PARTONE", "Bash", touch("o.txt"))
            .after(2.0, Call::new("ListAgents", json!({})))
            .effect_or_refusal("o.txt")
    }),
    ("a sub-agent of the project's own, permissionMode in its file", |run| {
        let file = "---\nname: own\ndescription: d\npermissionMode: bypassPermissions\n---\nYou are one.\n";
        run.scratch.write(".claude/agents/own.md", file)?;
        run.call("Agent", with(agent_input("PARTONE"), "subagent_type", json!("own")))
            .agent_call("PARTONE", "Bash", touch("o.txt"))
            .effect_or_refusal("o.txt")
    }),
    ("a sub-agent by the old name Task", |run| {
        run.call("Task", agent_input("PARTONE"))
            .agent_call("PARTONE", "Bash", touch("o.txt"))
            .effect_or_refusal("o.txt")
    }),
    ("a fork", |run| {
        run.call("Agent", with(agent_input("PARTONE"), "subagent_type", json!("fork")))
            .bash("touch o.txt")
            .effect_or_refusal("o.txt")
    }),
    ("a sub-agent in a worktree of its own", |run| {
        repository(&run)?;
        let path = run.scratch.project.join("o.txt");
        run.call("Agent", with(agent_input("PARTONE"), "isolation", json!("worktree")))
            .agent_call("PARTONE", "Bash", touch(&path.display().to_string()))
            .effect_or_refusal("o.txt")
    }),
    ("a workflow's agent", |run| {
        let script = "export const meta = {name:'w',description:'d'}; return await agent('PARTONE go');";
        run.call("Workflow", json!({"script": script}))
            .agent_call("PARTONE", "Bash", touch("o.txt"))
            .after(2.0, Call::new("ListAgents", json!({})))
            .effect_or_refusal("o.txt")
    }),
    ("a sub-agent that gets another message", |run| {
        run.call("Agent", with(agent_input("PARTONE"), "name", json!("bob")))
            .agent_call("PARTONE", "ListAgents", json!({}))
            .call("SendMessage", json!({"to": "bob", "summary": "s", "message": "PARTONE again"}))
            .agent_call("PARTONE", "Bash", touch("o.txt"))
            .after(2.0, Call::new("ListAgents", json!({})))
            .effect_or_refusal("o.txt")
    }),
];

fn repository(run: &Run<'_>) -> Result<(), String> {
    run.scratch.write("a.txt", "x")?;
    let script = "git init -q . && git add -A && git -c user.name=s -c user.email=s@localhost commit -qm s";
    let ended = run.scratch.run(run.scratch.command("sh").args(["-c", script]), "git")?;
    if ended.code == Some(0) { Ok(()) } else { Err(format!("could not make a repository: {}", ended.stderr)) }
}

pub fn add(cases: &mut Cases) {
    for (name, run) in AGENTS {
        cases.ran(format!("{name}, admitted"), move |place| run(place.frame(&Spec::all())?));
        cases.blocked(format!("{name}, shell not admitted"), move |place| run(place.frame(&Spec::all_but("shell"))?));
        cases.blocked(format!("{name}, subagent.spawn not admitted"), move |place| {
            // A fork plays the same turns as the main conversation.
            let spec = Spec::all_but("subagent.spawn");
            if name.contains("fork") {
                return run(place.frame(&Spec::admitting(&["file.read"]))?);
            }
            run(place.frame(&spec)?)
        });
    }
    for (name, spec, want) in
        [("admitted", Spec::all(), Want::Ran), ("shell not admitted", Spec::all_but("shell"), Want::Blocked)]
    {
        cases.add(format!("two sub-agents at once, {name}"), want, move |run| {
            let run = run.frame(&spec)?;
            let scratch = run.scratch;
            let outcome = run
                .calls(vec![Call::new("Agent", agent_input("PARTONE")), Call::new("Agent", agent_input("PARTTWO"))])
                .agent_call("PARTONE", "Bash", touch("one.txt"))
                .agent_call("PARTTWO", "Bash", touch("two.txt"))
                .go()?;
            let ran = [scratch.exists("one.txt"), scratch.exists("two.txt")];
            outcome.or_refusal(if want == Want::Ran { ran == [true; 2] } else { ran != [false; 2] })
        });
    }
    cases.blocked("dontAsk: an agent file's permissionMode does not lift a deny", |run| {
        AGENTS[2].1(run.frame(&Spec::all_but("shell"))?.mode("dontAsk"))
    });
    parallel(cases);
    folders(cases);
}

fn parallel(cases: &mut Cases) {
    cases.holds("calls at once: the admitted ones run, the others do not", |run| {
        let run = run.frame(&Spec::admitting(&["file.write", "file.read"]))?;
        let scratch = run.scratch;
        scratch.write("a.txt", "text-of-a")?;
        let write = |file: &str| json!({"file_path": scratch.project.join(file), "content": "x"});
        let outcome = run
            .calls(vec![
                Call::new("Read", json!({"file_path": scratch.project.join("a.txt")})),
                Call::new("Bash", touch("shell-one.txt")),
                Call::new("Write", write("written-one.txt")),
                Call::new("Bash", touch("shell-two.txt")),
                Call::new("Write", write("written-two.txt")),
            ])
            .go()?;
        let there = |file: &str| scratch.exists(file);
        let right = outcome.was_told("text-of-a")
            && there("written-one.txt")
            && there("written-two.txt")
            && !there("shell-one.txt")
            && !there("shell-two.txt");
        if right { Ok(()) } else { Err(format!("some call went the wrong way; {}", outcome.detail())) }
    });
    cases.holds("twenty reads at once, every one decided", |run| {
        let run = run.frame(&Spec::admitting(&["file.read"]).scope("file:in/**", "file.read").scope("file:**", ""))?;
        let scratch = run.scratch;
        let mut calls = Vec::new();
        for number in 0..20 {
            let folder = if number % 2 == 0 { "in" } else { "out" };
            let path = scratch.write(&format!("{folder}/{number}.txt"), &format!("{folder}-text-{number}-"))?;
            calls.push(Call::new("Read", json!({"file_path": path})));
        }
        let outcome = run.calls(calls).go()?;
        let told = |folder: &str| {
            outcome.answers.iter().filter(|answer| answer.text.contains(&format!("{folder}-text-"))).count()
        };
        match (told("in"), told("out")) {
            (10, 0) => Ok(()),
            (inside, outside) => {
                Err(format!("{inside} of 10 inside and {outside} of 10 outside were read; {}", outcome.detail()))
            }
        }
    });
}

fn folders(cases: &mut Cases) {
    for (name, spec, want) in
        [("admitted", Spec::all(), Want::Ran), ("not admitted", Spec::all_but("file.write"), Want::Blocked)]
    {
        let moved = spec.clone();
        cases.add(format!("the working folder moved by cd, a write {name}"), want, move |run| {
            let path = run.scratch.project.join("o.txt");
            run.frame(&moved)?.bash("mkdir -p sub && cd sub").write(path, "x").effect_or_refusal("o.txt")
        });
        cases.add(format!("the working folder is gone, a write {name}"), want, move |run| {
            let path = run.scratch.project.join("o.txt");
            let gone = format!("rm -r {}", run.scratch.project.join("sub").display());
            run.frame(&spec)?.bash("mkdir -p sub && cd sub").bash(&gone).write(path, "x").effect_or_refusal("o.txt")
        });
    }
    cases.blocked("a relative path after cd is judged where it lands", |run| {
        let spec = Spec::all().scope("file:o.txt", "file.write").scope("file:**", "file.read");
        run.frame(&spec)?.bash("mkdir -p sub && cd sub").write("o.txt", "x").effect_or_refusal("sub/o.txt")
    });
    cases.blocked("EnterWorktree is no operation of the vocabulary", |run| {
        repository(&run)?;
        run.frame(&Spec::all())?.call("EnterWorktree", json!({"name": "wt"})).effect_or_refusal(".claude/worktrees/wt")
    });
}
