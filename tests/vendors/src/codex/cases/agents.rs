//! Sub-agents: starting one is an operation, and their calls are decided like the main agent's. Codex has two
//! generations of agent tools; the model's name chooses one.

use serde_json::json;

use super::{List, MARK, OPERATIONS, adds, all_but, denied, hold, touch, under};
use crate::codex::script::{Call, Mode, Say, Script, Turn};
use crate::frame::Spec;

/// The second generation's tool, which even code-mode models call directly.
fn spawn(name: &str, message: &str) -> Say {
    Say::Call(
        Call::tool("spawn_agent", json!({"task_name": name, "message": message, "fork_turns": "none"}))
            .within("collaboration"),
    )
}

fn wait() -> Say {
    Say::Call(Call::tool("wait_agent", json!({"timeout_ms": 15_000})).within("collaboration"))
}

/// The first generation's tool.
fn spawn_first(message: &str) -> Say {
    Say::Call(Call::tool("spawn_agent", json!({"message": message})).within("multi_agent_v1"))
}

fn wait_first() -> Say {
    Say::late(|outputs| {
        Say::Call(
            Call::tool("wait_agent", json!({"targets": [agent(outputs)], "timeout_ms": 15_000}))
                .within("multi_agent_v1"),
        )
    })
}

/// The last agent id in the tool outputs.
pub fn agent(outputs: &str) -> String {
    outputs.rsplit_once("\"agent_id\":\"").and_then(|(_, tail)| tail.split('"').next()).unwrap_or("none").into()
}

struct Generation {
    name: &'static str,
    mode: Mode,
    spawn: fn(&str) -> Say,
    wait: fn() -> Say,
}

const GENERATIONS: [Generation; 2] = [
    Generation { name: "agents v2", mode: Mode::Code, spawn: |marker| spawn("child", marker), wait },
    Generation { name: "agents v1", mode: Mode::Direct, spawn: spawn_first, wait: wait_first },
];

/// The calls that start an agent with this message and wait for it.
pub fn one(mode: Mode, message: &str) -> [Say; 2] {
    let own = GENERATIONS.iter().find(|generation| generation.mode == mode);
    own.map_or_else(|| [spawn("child", message), wait()], |own| [(own.spawn)(message), (own.wait)()])
}

pub fn list(list: &mut List) {
    for Generation { name, mode, spawn, wait } in GENERATIONS {
        let child = move |turns: Vec<Turn>| {
            Script::turns(vec![vec![spawn("CHILD-TASK")], vec![wait()]]).other("CHILD-TASK", turns)
        };
        list.holds(format!("{name}: an agent starts when subagent.spawn is admitted"), move |codex, scratch| {
            let outcome = under(codex, scratch, mode, &Spec::admitting(&["subagent.spawn"]), child(vec![]))?.run()?;
            hold([(outcome.of("CHILD-TASK").count() > 0, "the agent asked its model")], &outcome.told())
        });
        list.holds(
            format!("{name}: an agent does not start without subagent.spawn, all else admitted"),
            move |codex, scratch| {
                let outcome = under(codex, scratch, mode, &all_but(&["subagent.spawn"]), child(vec![]))?.run()?;
                hold(
                    [
                        (outcome.of("CHILD-TASK").count() == 0, "no agent asked"),
                        (denied(&outcome), "by the hook's word"),
                    ],
                    &outcome.told(),
                )
            },
        );
        list.ran(format!("{name}: an agent's admitted call runs"), move |codex, scratch| {
            let spec = Spec::admitting(&["subagent.spawn", "shell"]);
            let outcome = under(codex, scratch, mode, &spec, child(vec![vec![mode.say(&touch())]]))?.run()?;
            outcome.effect(scratch.exists(MARK))
        });
        list.blocked(format!("{name}: an agent's call that is not admitted does not run"), move |codex, scratch| {
            let outcome =
                under(codex, scratch, mode, &all_but(&["shell"]), child(vec![vec![mode.say(&touch())]]))?.run()?;
            if outcome.of("CHILD-TASK").count() < 2 {
                return Err(format!("the agent did not come to its call; {}", outcome.told()));
            }
            outcome.effect(scratch.exists(MARK))
        });
    }
    nested(list);
    list.holds("agents v2: the other agent tools need subagent.spawn where they give work", |codex, scratch| {
        let tools = [
            ("followup_task", json!({"target": "child", "message": "more"}), true),
            ("send_message", json!({"target": "child", "message": "more"}), true),
            ("list_agents", json!({}), false),
            ("wait_agent", json!({"timeout_ms": 10}), false),
        ];
        for (tool, arguments, denies) in tools {
            let call = Say::Call(Call::tool(tool, arguments).within("collaboration"));
            let outcome =
                under(codex, scratch, Mode::Code, &all_but(&["subagent.spawn"]), Script::turns(vec![vec![call]]))?
                    .run()?;
            if denied(&outcome) != denies {
                return Err(format!("{tool}: {}", outcome.told()));
            }
        }
        Ok(crate::case::Seen::held())
    });
    list.holds("agents v1: the other agent tools need subagent.spawn where they give work", |codex, scratch| {
        let tools = [
            ("send_input", json!({"target": "none", "message": "more"}), true),
            ("resume_agent", json!({"id": "none"}), true),
            ("wait_agent", json!({"targets": ["none"], "timeout_ms": 10}), false),
        ];
        for (tool, arguments, denies) in tools {
            let call = Say::Call(Call::tool(tool, arguments).within("multi_agent_v1"));
            let outcome =
                under(codex, scratch, Mode::Direct, &all_but(&["subagent.spawn"]), Script::turns(vec![vec![call]]))?
                    .run()?;
            if denied(&outcome) != denies {
                return Err(format!("{tool}: {}", outcome.told()));
            }
        }
        Ok(crate::case::Seen::held())
    });
}

fn nested(list: &mut List) {
    list.holds("agents v2: an agent's agent is under the frame", |codex, scratch| {
        let script = Script::turns(vec![vec![spawn("child", "CHILD-TASK")], vec![wait()]])
            .other("GRANDCHILD-TASK", vec![vec![Mode::Code.say(&touch())], vec![Mode::Code.say(&adds("second.txt"))]])
            .other("CHILD-TASK", vec![vec![spawn("grandchild", "GRANDCHILD-TASK")], vec![wait()]]);
        let outcome = under(codex, scratch, Mode::Code, &all_but(&["shell"]), script)?.run()?;
        hold(
            [
                (outcome.of("GRANDCHILD-TASK").count() > 2, "it came to its end"),
                (!scratch.exists(MARK), "its shell did not run"),
                (scratch.exists("second.txt"), "its patch ran"),
            ],
            &outcome.told(),
        )
    });
    list.holds("agents v2: of agents side by side each is under the frame", |codex, scratch| {
        let turn = |name: &str, n: usize| {
            let shell = Mode::Code.say(&Call::shell(&format!("echo ran > shell{n}.txt")));
            (name.to_string(), vec![vec![shell], vec![Mode::Code.say(&adds(&format!("patch{n}.txt")))]])
        };
        let mut script = Script::turns(vec![
            vec![spawn("one", "TASK-ONE")],
            vec![spawn("two", "TASK-TWO")],
            vec![spawn("three", "TASK-THREE")],
            vec![wait()],
            vec![wait()],
            vec![wait()],
        ]);
        script.others = vec![turn("TASK-ONE", 1), turn("TASK-TWO", 2), turn("TASK-THREE", 3)];
        let outcome = under(codex, scratch, Mode::Code, &all_but(&["shell"]), script)?.run()?;
        let ran = |stem: &str| (1..4).filter(|n| scratch.exists(&format!("{stem}{n}.txt"))).count();
        hold([(ran("patch") == 3, "all patches ran"), (ran("shell") == 0, "no shell ran")], &outcome.told())
    });
    list.holds("agents v2: a task given to an agent later is under the frame", |codex, scratch| {
        let later = Say::Call(
            Call::tool("followup_task", json!({"target": "child", "message": "go on"})).within("collaboration"),
        );
        let script = Script::turns(vec![vec![spawn("child", "CHILD-TASK")], vec![wait()], vec![later], vec![wait()]])
            .other("CHILD-TASK", vec![vec![Say::Message("first done".into())], vec![Mode::Code.say(&touch())]]);
        let outcome =
            under(codex, scratch, Mode::Code, &Spec::admitting(&["subagent.spawn", "file.read"]), script)?.run()?;
        hold(
            [
                (!scratch.exists(MARK), "its shell did not run"),
                (outcome.of("CHILD-TASK").count() > 2, "it was given the task"),
                (denied(&outcome), "by the hook's word"),
            ],
            &outcome.told(),
        )
    });
    list.ran("agents v2: all admitted, an agent's agent does its work", |codex, scratch| {
        let script = Script::turns(vec![vec![spawn("child", "CHILD-TASK")], vec![wait()]])
            .other("GRANDCHILD-TASK", vec![vec![Mode::Code.say(&touch())]])
            .other("CHILD-TASK", vec![vec![spawn("grandchild", "GRANDCHILD-TASK")], vec![wait()]]);
        let outcome = under(codex, scratch, Mode::Code, &Spec::admitting(&OPERATIONS), script)?.run()?;
        outcome.effect(scratch.exists(MARK))
    });
}
