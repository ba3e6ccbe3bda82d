//! A folder for a turn with a stand-in for the vendor: a script that takes the vendor's command line, writes its stream
//! and fires the hooks of its settings.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::{executable, schema};

/// The head of both stand-ins: record the arguments, the environment and the prompt.
const FIRST: &str = r#"
printf '%s\n' "$@" > "$ROOM/arguments"
env > "$ROOM/environment"
cat > "$ROOM/prompt"
say() { printf '%s\n' "$1"; }
"#;

/// Claude Code: `call ID TOOL INPUT` asks for a call, fires the hook and writes the result. If `agent` is set, the call
/// is a sub-agent's.
const CLAUDE: &str = r#"
settings=; previous=
for word; do [ "$previous" = --settings ] && settings=$word; previous=$word; done
program=$(printf %s "$settings" | sed 's/.*"command":"\([^"]*\)".*/\1/')
words=$(printf %s "$settings" | sed 's/.*"args":\[\([^]]*\)\].*/\1/' | tr -d '"' | tr ',' ' ')
hook() {
  printf '{%s"session_id":"s1","prompt_id":"p","cwd":"/","hook_event_name":"%s","tool_name":"%s","tool_input":%s,"tool_use_id":"%s"}' \
    "${agent:+\"agent_id\":\"$agent\",}" "$1" "$2" "$4" "$3" | "$program" $words > "$ROOM/answer" 2>&1
  code=$?
}
begin() { say '{"type":"system","subtype":"init","session_id":"s1","model":"model-1"}'; }
use() { say '{"type":"assistant","message":{"id":"m-'$1'","content":[{"type":"tool_use","id":"'$1'","name":"'$2'","input":'"$3"'}]}}'; }
result() { say '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"'$1'","is_error":'$2',"content":"'"$3"'"}]}}'; }
call() {
  use "$1" "$2" "$3"; hook PreToolUse "$2" "$1" "$3"
  if [ $code = 0 ]; then result "$1" false ran; else result "$1" true blocked; fi
}
answer() {
  say '{"type":"assistant","message":{"id":"m-last","content":[{"type":"text","text":"'"$1"'"}]}}'
  say '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"stop_reason":"end_turn","result":"'"$1"'","usage":{"input_tokens":7,"output_tokens":3},"permission_denials":[]}'
}
"#;

/// Codex's answers over its app-server before the first prompt: the hooks of its launch, all trusted, and the
/// requirements of every session, from a file that a test may write.
const ASKED: &str = r#"
if [ "$1" = app-server ]; then
  hooks=
  for word; do
    case $word in
      hooks.PreToolUse=*) key=pre_tool_use ;;
      hooks.PermissionRequest=*) key=permission_request ;;
      hooks.UserPromptSubmit=*) key=user_prompt_submit ;;
      hooks.SessionStart=*) key=session_start ;;
      hooks.SubagentStart=*) key=subagent_start ;;
      *) continue ;;
    esac
    line=$(printf %s "$word" | sed 's/^.*command="\(.*\)"}\]}\]$/\1/')
    hooks="$hooks${hooks:+,}{\"key\":\"/<session-flags>/config.toml:$key:0:0\",\"source\":\"sessionFlags\",\"enabled\":true,\"trustStatus\":\"trusted\",\"command\":\"$line\"}"
  done
  printf '%s\n' '{"id":1,"result":{}}' '{"method":"configWarning","params":{}}' "{\"id\":2,\"result\":{\"data\":[{\"hooks\":[$hooks]}]}}"
  required=$(cat "$ROOM/required" 2>/dev/null || echo null)
  printf '%s\n' "{\"id\":3,\"result\":{\"requirements\":$required}}" '{"id":4,"result":{"config":{"features":{"hooks":true,"unified_exec_tty":false},"web_search":"disabled"}}}'
  cat > /dev/null
  exit
fi
"#;

/// Codex: `call ID TOOL INPUT KIND` fires the hook, and writes to the rollout what ran.
const CODEX: &str = r#"
line=; for word; do case $word in hooks.PreToolUse=*) line=$word ;; esac; done
line=$(printf %s "$line" | sed 's/^.*command="\(.*\)"}\]}\]$/\1/; s/\\"/"/g; s/\\\\/\\/g')
rollout="$CODEX_HOME/sessions/2026/rollout-t1.jsonl"
mkdir -p "$CODEX_HOME/sessions/2026"; : > "$rollout"
hook() {
  printf '{"session_id":"t1","turn_id":"u","cwd":"/","hook_event_name":"%s","tool_name":"%s","tool_input":%s,"tool_use_id":"%s"}' \
    "$1" "$2" "$4" "$3" | sh -c "$line" > "$ROOM/answer" 2>&1
  code=$?
}
ran() { printf '%s\n' '{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"'$2'","id":"'$1'","status":"completed","source":"'$3'"}}}' >> "$rollout"; }
begin() { say '{"type":"thread.started","thread_id":"t1"}'; say '{"type":"turn.started"}'; }
call() {
  hook PreToolUse "$2" "$1" "$3"
  [ $code = 0 ] || { told "$1" 'Command blocked by PreToolUse hook: no'; return; }
  say '{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"x","aggregated_output":"","exit_code":0,"status":"completed"}}'
  ran "$1" "$4"
}
told() { printf '%s\n' '{"type":"response_item","payload":{"type":"function_call_output","call_id":"'"$1"'","output":"'"$2"'"}}' >> "$rollout"; }
item() { [ ! -e "$rollout" ] || printf '%s\n' '{"type":"event_msg","payload":{"type":"item_completed","item":'"$1"'}}' >> "$rollout"; }
answer() {
  item '{"type":"AgentMessage","id":"m9","content":[{"type":"Text","text":"'"$1"'"}]}'
  say '{"type":"item.completed","item":{"id":"item_9","type":"agent_message","text":"'"$1"'"}}'
  say '{"type":"turn.completed","usage":{"input_tokens":7,"cached_input_tokens":1,"output_tokens":3,"reasoning_output_tokens":2}}'
}
"#;

pub struct Room {
    folder: tempfile::TempDir,
}

/// A command whose environment is PATH alone, so that a setting for a vendor or for us cannot change a test.
pub fn bare(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}

/// Give a command exactly the environment of another.
pub fn like<'a>(other: &Command, command: &'a mut Command) -> &'a mut Command {
    command.env_clear().envs(other.get_envs().filter_map(|(name, value)| Some((name, value?))))
}

/// Wait until the stand-in has made its file `ready`.
pub fn ready(room: &Room) {
    while !room.path("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

impl Room {
    pub fn new() -> Room {
        let room = Room { folder: tempfile::tempdir().unwrap() };
        for name in ["bin", "project", "home", "tmp", "home/.codex"] {
            fs_err::create_dir(room.path(name)).unwrap();
        }
        room.seal(&["--admit", "file.read", "shell", "--handoff-none"]);
        room
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs_err::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Seal `frame.json` with these flags added.
    pub fn seal(&self, more: &[&str]) {
        let sealed = Command::new(env!("CARGO_BIN_EXE_mh-frame-seal"))
            .args(["--new", "--workflow", "w", "--version", "1", "--state", "s", "--step", "1"])
            .args(more)
            .arg("-o")
            .arg(self.path("frame.json"))
            .status();
        assert!(sealed.unwrap().success());
    }

    pub fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        executable(&path, text);
        path
    }

    fn script(&self, name: &str, version: &str, prelude: &str, body: &str) {
        let asked = if name == "codex" { ASKED } else { "" };
        let text = format!(
            "#!/bin/sh\nROOM='{}'\n[ \"$1\" = --version ] && {{ echo '{version}'; exit; }}\n{asked}{FIRST}{prelude}{body}\n",
            self.folder.path().display()
        );
        self.program(&format!("bin/{name}"), &text);
    }

    /// Write the body of the stand-in for Claude Code.
    pub fn claude(&self, body: &str) -> &Room {
        self.script("claude", "2.1.332 (Claude Code)", CLAUDE, body);
        self
    }

    /// Write the body of the stand-in for Codex.
    pub fn codex(&self, body: &str) -> &Room {
        self.script("codex", "codex-cli 0.171.0", CODEX, body);
        self
    }

    /// Make a stand-in that answers `--version` with this release.
    pub fn release(&self, name: &str, version: &str) {
        self.script(name, version, "", "");
    }

    /// The command of a run, with an empty stdin.
    pub fn command(&self, kind: &str, arguments: &[&str]) -> Command {
        let mut command = bare(env!("CARGO_BIN_EXE_mh-run"));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("bin").display());
        command.arg(kind).args(arguments).current_dir(self.path("project"));
        command.env("PATH", path).env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.env("CODEX_HOME", self.path("home/.codex"));
        command.stdin(Stdio::null());
        command
    }

    /// The command of a run under the frame, with a prompt.
    pub fn governed(&self, kind: &str, more: &[&str]) -> Command {
        let frame = self.path("frame.json");
        let mut command = self.command(kind, &["-p", "do it", "--frame", frame.to_str().unwrap()]);
        command.args(more);
        command
    }

    pub fn run(&self, kind: &str, more: &[&str]) -> Ended {
        Ended::of(self.governed(kind, more).output().unwrap())
    }

    /// Run it with `--output-format json`; its exit code and object.
    pub fn json(&self, kind: &str, more: &[&str]) -> (Option<i32>, Value) {
        let ended = Ended::of(self.governed(kind, more).args(["--output-format", "json"]).output().unwrap());
        assert_eq!(ended.stdout.lines().count(), 1, "{} {}", ended.stdout, ended.stderr);
        (ended.code, serde_json::from_str(&ended.stdout).unwrap())
    }
}

#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The end of a run. Lines for programs are checked against their schema.
    pub fn of(output: Output) -> Ended {
        let stdout = String::from_utf8(output.stdout).unwrap();
        stdout.lines().for_each(schema::line);
        Ended { code: output.status.code(), stdout, stderr: String::from_utf8(output.stderr).unwrap() }
    }

    /// Check for exit 2, an empty stdout and this on stderr.
    #[track_caller]
    pub fn refused(&self, why: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        assert!(self.stderr.starts_with("mh-run: ") && self.stderr.contains(why), "{why}: {}", self.stderr);
    }

    /// Check for exit 1, an empty stdout and this on stderr.
    #[track_caller]
    pub fn failed(&self, why: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(1), ""), "{self:?}");
        assert!(self.stderr.contains(why), "{why}: {}", self.stderr);
    }
}
