//! The documents: what their `run-vendor` blocks print with the real vendor is what stands there. With `MH_DOCS=write` it
//! is written there instead.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use page_check::{Mark, Model, Page, Place, Said, alike, differs, play, rewritten};
use serde_json::Value;

use crate::case::{Case, Seen, Want};
use crate::claude::messages::Stub as Messages;
use crate::claude::script::{Call as ClaudeCall, Script as ClaudeScript};
use crate::codex::script::{Call as CodexCall, Mode, Say, Script as CodexScript};
use crate::codex::stub::Stub as Responses;
use crate::scratch::Scratch;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// One page is written by the cases of both vendors.
static WRITES: Mutex<()> = Mutex::new(());

/// A case for each page that has blocks for this vendor.
pub fn cases(vendor: &'static str, program: &Path) -> Vec<Case> {
    let mut names = vec!["README.md".to_string()];
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).into_iter().flatten().flatten();
    names.extend(docs.map(|entry| format!("docs/{}", entry.file_name().to_string_lossy())));
    names.sort();
    let concerns = |name: &String| {
        fs::read_to_string(Path::new(ROOT).join(name))
            .is_ok_and(|text| text.contains(&format!("run-vendor {vendor}\n")))
    };
    let case = |name: String| {
        let program = program.to_path_buf();
        Case::new(vendor, format!("docs: {name} shows what is printed"), Want::Holds, move |scratch| {
            held(vendor, &program, &name, scratch).map(|()| Seen::held())
        })
    };
    names.into_iter().filter(concerns).map(case).collect()
}

/// A home that is not temporary, since `mh-setup` refuses what lies in a temporary folder. It is removed with the case.
struct Home(PathBuf);

impl Home {
    fn new(scratch: &Scratch) -> Result<Home, String> {
        let name = scratch.root.file_name().unwrap_or_default();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs").join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("could not make {}: {error}", folder.display()))?;
        Ok(Home(folder))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn held(vendor: &str, program: &Path, name: &str, scratch: &Scratch) -> Result<(), String> {
    let read = || Page::read(Path::new(ROOT), name).map_err(|faults| faults.join("; "));
    let page = read()?;
    let home = Home::new(scratch)?;
    let mut place = Place::new(&home.0, &scratch.bin, Path::new(ROOT))
        .map_err(|error| format!("could not lay out a home: {error}"))?;
    place.limit = scratch.left();
    // the stubs live until the page is over
    let (_claude, _codex) = match vendor {
        "claude" => (Some(claude(&page, &mut place, program, scratch)?), None),
        _ => (None, Some(codex(&page, &mut place, program)?)),
    };
    let own = |mark: &Mark| matches!(mark, Mark::RunVendor(word) if word == vendor);
    // what the page does without a vendor comes before, in the same home
    let said = play(&page, &place, |mark| *mark == Mark::Run || own(mark))?;
    let of = |page: &Page| -> Vec<(bool, page_check::Step)> {
        let blocks = page.blocks.iter().filter(|block| block.mark == Mark::Run || own(&block.mark));
        blocks.flat_map(|block| page.steps(block).into_iter().map(|step| (own(&block.mark), step))).collect()
    };
    if std::env::var_os("MH_DOCS").is_some_and(|value| value == "write") {
        let _alone = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
        // the other vendor's case may have moved its lines meanwhile
        let page = read()?;
        let steps = of(&page).into_iter().zip(said).filter(|((own, _), _)| *own);
        let anew: Vec<Said> = steps.map(|((_, step), said)| Said { step, output: said.output }).collect();
        return fs::write(Path::new(ROOT).join(name), rewritten(&page, &anew))
            .map_err(|error| format!("{name}: {error}"));
    }
    for ((_, step), said) in of(&page).iter().zip(&said).filter(|((own, _), _)| *own) {
        let (shown, printed) = (page.shown(step), said.output.lines().collect::<Vec<_>>());
        if !alike(&shown, &printed) {
            return Err(format!("{name}:{}: {}\n  {}", step.shown.start, step.command, differs(&shown, &printed)));
        }
    }
    Ok(())
}

/// The calls of a model, their inputs as they are in this home.
fn calls<'a>(model: &'a Model, place: &'a Place) -> impl Iterator<Item = Result<(&'a str, Value), String>> {
    model.calls.iter().map(|(tool, input)| {
        let input = serde_json::from_str(&place.real(input)).map_err(|error| format!("{tool} {input}: {error}"))?;
        Ok((tool.as_str(), input))
    })
}

fn claude(page: &Page, place: &mut Place, program: &Path, scratch: &Scratch) -> Result<Messages, String> {
    let mut script = ClaudeScript::default();
    for model in &page.models {
        for call in calls(model, place) {
            let (tool, input) = call?;
            script.push_other(&model.prompt, ClaudeCall::new(tool, input));
        }
        script.says(&model.prompt, &model.says);
    }
    let stub = Messages::start(script, scratch.logs.clone())
        .map_err(|error| format!("could not start the stub of the model's service: {error}"))?;
    place.vendor("claude", program).map_err(|error| error.to_string())?;
    let url = stub.server.url();
    let variables = [
        ("ANTHROPIC_BASE_URL", url.as_str()),
        ("ANTHROPIC_API_KEY", "none"),
        ("IS_SANDBOX", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("NO_PROXY", "127.0.0.1"),
    ];
    place.env.extend(variables.map(|(name, value)| (name.to_string(), value.to_string())));
    Ok(stub)
}

/// Codex takes the service's address from no variable, so what people have as `codex` says it.
fn codex(page: &Page, place: &mut Place, program: &Path) -> Result<Responses, String> {
    let mut script = CodexScript::turns(Vec::new());
    for model in &page.models {
        let mut turns = Vec::new();
        for call in calls(model, place) {
            turns.push(vec![Mode::Direct.say(&match call? {
                (_, Value::String(patch)) => CodexCall::patch(&patch),
                (tool, input) => CodexCall::tool(tool, input),
            })]);
        }
        turns.push(vec![Say::Message(model.says.clone())]);
        script = script.other(&model.prompt, turns);
    }
    let stub = Responses::start(script)?;
    let wrapper = format!(
        "#!/bin/sh\nexec '{}' -c 'model=\"{}\"' -c 'model_provider=\"stub\"' -c 'model_providers.stub={{name=\"stub\",\
         base_url=\"{}\",wire_api=\"responses\",env_key=\"STUB_KEY\",request_max_retries=0,stream_max_retries=0}}' \"$@\"\n",
        program.display(),
        Mode::Direct.model(),
        stub.url()
    );
    place.program(".local/bin/codex", &wrapper).map_err(|error| error.to_string())?;
    place.env.extend([("STUB_KEY".into(), "none".into()), ("NO_PROXY".into(), "127.0.0.1".into())]);
    Ok(stub)
}
