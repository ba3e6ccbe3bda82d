//! `mh-run`: one turn of the real Codex with the hooks on its launch line, and the exit code for its outcome.

use serde_json::json;

use super::{List, MARK, all_but, hold, text_of, touch};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Say, Script};
use crate::codex::session::{Codex, Session};
use crate::codex::stub::Asked;
use crate::frame::Spec;
use crate::scratch::{Ended, Scratch};

/// The end of a turn, and the requests to the model.
struct Turn {
    ended: Ended,
    asked: Vec<Asked>,
}

impl Turn {
    fn detail(&self) -> String {
        format!("{:?}, {} requests; {} {}", self.ended.code, self.asked.len(), self.ended.stdout, self.ended.stderr)
    }
}

fn turn(session: &Session<'_>, scratch: &Scratch, spec: &Spec, flags: &[&str]) -> Result<Turn, String> {
    let frame = spec.seal(scratch, "frame.json")?;
    started(session, scratch, &frame.path.to_string_lossy(), flags)
}

fn started(session: &Session<'_>, scratch: &Scratch, frame: &str, flags: &[&str]) -> Result<Turn, String> {
    let stub = session.prepare()?;
    let run = scratch.program("mh-run").to_string_lossy().into_owned();
    let mut command = session.command_of(&run);
    command.args(["codex", "-p", "please do the scripted thing", "--frame", frame]).args(flags);
    command.arg("--program").arg(session.program());
    // mh-run leaves the user's configuration out, and so the stub's address.
    let model = format!(
        "model_providers.stub={{name=\"stub\",base_url=\"{}\",wire_api=\"responses\",env_key=\"STUB_KEY\",\
         request_max_retries=0,stream_max_retries=0}}",
        stub.url()
    );
    command.args(["--model", session.model(), "--", "-c", "model_provider=\"stub\"", "-c", &model]);
    let ended = scratch.run(&mut command, "run")?;
    Ok(Turn { ended, asked: stub.asked() })
}

/// The sandbox is off, since these cases are not about it.
const OPEN: [&str; 2] = ["--sandbox", "danger-full-access"];

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        let name = mode.name();
        list.holds(
            format!("mh-run, {name}: an admitted call runs, and the answer is all there is"),
            move |codex, scratch| {
                let session = Session::new(codex, scratch, mode, Script::calls(mode, &[touch()]));
                let turn = turn(&session, scratch, &Spec::admitting(&["shell"]), &OPEN)?;
                hold(
                    [
                        (scratch.exists(MARK), "it ran"),
                        (turn.ended.code == Some(0), "exit 0"),
                        (turn.ended.stdout.trim() == "done", "the answer"),
                    ],
                    &turn.detail(),
                )
            },
        );
        list.holds(format!("mh-run, {name}: a call that is not admitted does not run"), move |codex, scratch| {
            let session = Session::new(codex, scratch, mode, Script::calls(mode, &[touch()]));
            let turn = turn(&session, scratch, &all_but(&["shell"]), &OPEN)?;
            hold(
                [(!scratch.exists(MARK), "it did not run"), (turn.asked.len() == 2, "the model was told")],
                &turn.detail(),
            )
        });
    }
    list.holds("mh-run --fail-on-denied: a call that was denied is exit 1", |codex, scratch| {
        let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]));
        let turn = turn(&session, scratch, &all_but(&["shell"]), &[&OPEN[..], &["--fail-on-denied"]].concat())?;
        hold([(!scratch.exists(MARK), "it did not run"), (turn.ended.code == Some(1), "exit 1")], &turn.detail())
    });
    list.holds("mh-run: a frame that is refused is exit 2, and nothing is started", |codex, scratch| {
        let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[touch()]));
        let frame = Spec::admitting(&["shell"]).seal(scratch, "frame.json")?;
        super::place(&frame.path, &text_of(&frame.path).replace("suite", "other"))?;
        let turn = started(&session, scratch, &frame.path.to_string_lossy(), &OPEN)?;
        hold([(turn.ended.code == Some(2), "exit 2"), (turn.asked.is_empty(), "no request")], &turn.detail())
    });
    list.holds("mh-run: a trusted project that switches hooks off and terminals on does not", |codex, scratch| {
        fn run(codex: &Codex, scratch: &Scratch, script: Script, spec: &Spec) -> Result<Turn, String> {
            scratch.write(".codex/config.toml", "[features]\nhooks = false\nunified_exec_tty = true\n")?;
            let session = Session::new(codex, scratch, Mode::Direct, script).trusting_the_project();
            turn(&session, scratch, spec, &OPEN)
        }
        let denied = run(codex, scratch, Script::calls(Mode::Direct, &[touch()]), &all_but(&["shell"]))?;
        let off = scratch.exists(MARK);
        let opens = Call::tool("exec_command", json!({"cmd": "bash -i", "tty": true, "yield_time_ms": 300}));
        let keys = Say::late(|outputs| {
            let session = super::around::running(outputs);
            Say::Call(Call::tool("write_stdin", json!({"session_id": session, "chars": "echo ran > ran.txt\n"})))
        });
        let script = Script::turns(vec![vec![Say::Call(opens)], vec![keys]]);
        let typed = run(codex, scratch, script, &Spec::admitting(&["shell"]))?;
        hold(
            [
                (!off && denied.asked.len() == 2, "hooks are on"),
                (!scratch.exists(MARK) && typed.asked.len() == 3, "there is no terminal"),
            ],
            &format!("{}; {}", denied.detail(), typed.detail()),
        )
    });
    for (admitted, ran) in [("note", true), ("other", false)] {
        list.holds(
            format!("mh-run: an MCP call under a frame that admits {admitted:?} of its server"),
            move |codex, scratch| mcp(codex, scratch, admitted, ran),
        );
    }
    list.holds("mh-run: a sub-agent's call is under the frame after config.toml was removed", |codex, scratch| {
        let spawn =
            Call::tool("spawn_agent", json!({"task_name": "child", "message": "CHILD-TASK", "fork_turns": "none"}));
        let script = Script::turns(vec![
            vec![Say::Call(Call::shell("rm \"$CODEX_HOME/config.toml\""))],
            vec![Say::Call(spawn.within("collaboration"))],
            vec![Say::Call(Call::tool("wait_agent", json!({"timeout_ms": 15_000})).within("collaboration"))],
        ])
        .other("CHILD-TASK", vec![vec![Mode::Code.say(&super::adds(MARK))]]);
        let session = Session::new(codex, scratch, Mode::Code, script);
        let turn = turn(&session, scratch, &Spec::admitting(&["shell", "subagent.spawn"]), &OPEN)?;
        let child = turn.asked.iter().filter(|asked| asked.part == "CHILD-TASK").count();
        hold([(!scratch.exists(MARK), "it did not run"), (child > 1, "the agent came to its call")], &turn.detail())
    });
}

fn mcp(codex: &Codex, scratch: &Scratch, admitted: &str, ran: bool) -> Result<Seen, String> {
    let own = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
    let tools = json!({"tools": {"note": scratch.project.join(MARK), "other": null}});
    let servers = scratch.frames.join("servers.json");
    let spec = json!({"mcpServers": {"lab": {"command": own, "args": ["mcp", tools.to_string()]}}});
    super::place(&servers, &spec.to_string())?;
    let session = Session::new(codex, scratch, Mode::Direct, Script::calls(Mode::Direct, &[Call::mcp("lab", "note")]));
    let servers = servers.to_string_lossy();
    let turn = turn(
        &session,
        scratch,
        &Spec::admitting(&[]).mcp("lab", admitted),
        &["--sandbox", "workspace-write", "--mcp-config", &servers],
    )?;
    hold(
        [(scratch.exists(MARK) == ran, "as the frame says"), (turn.asked.len() == 2, "the model was told")],
        &turn.detail(),
    )
}
