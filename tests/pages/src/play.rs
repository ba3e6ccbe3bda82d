//! The commands of a page, run in one shell.

use fs_err as fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::{Mark, Page, Place, Step};

/// A command, and what it printed.
pub struct Said {
    pub step: Step,
    /// On both outputs, in the order in which it came; no line end at its end.
    pub output: String,
}

/// Runs the commands of those blocks that are `wanted`, in the order of the page and in one shell, which starts in `~/site`;
/// a page of the checkout's root starts in the checkout. Files of the page are put into the folder that it starts in.
///
/// # Errors
/// A file that cannot be written, a shell that cannot be started or does not come to the page's end.
pub fn play(page: &Page, place: &Place, wanted: impl Fn(&Mark) -> bool) -> Result<Vec<Said>, String> {
    let folder = place.at(if page.name.contains('/') { "site" } else { "metaharness-hooks" });
    let staged = place.at(".pages");
    fs::create_dir_all(&staged).map_err(|why| why.to_string())?;
    // both outputs are one pipe: a hook answers otherwise where its stderr is a file
    let mut script = String::from("mark() { local code=$?; printf '\\036%d\\036' \"$1\"; return $code; }\n");
    let mut steps = Vec::new();
    for (number, block) in page.blocks.iter().enumerate() {
        match &block.mark {
            Mark::File(name) => {
                let text = place.real(&(page.lines[block.text.clone()].join("\n") + "\n"));
                let from = staged.join(format!("file-{number}"));
                fs::write(&from, &text).map_err(|why| why.to_string())?;
                let to = name.strip_prefix("~/").map_or_else(|| folder.join(name), |name| place.at(name));
                script.push_str(&given(&from, &to, text.starts_with("#!")));
            }
            mark if wanted(mark) => {
                for step in page.steps(block) {
                    script.push_str(&format!(
                        "mark {}\n{{\n{}\n}} </dev/null\n",
                        steps.len(),
                        place.real(&step.command)
                    ));
                    steps.push(step);
                }
            }
            _ => {}
        }
    }
    script.push_str(&format!("mark {}\n", steps.len()));
    let file = staged.join("commands");
    fs::write(&file, script).map_err(|why| why.to_string())?;
    let printed = shell(place, &folder, &file)?;
    let mut outputs = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        let (begin, end) = (format!("\x1e{number}\x1e"), format!("\x1e{}\x1e", number + 1));
        let output = printed.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
        let (output, _) = output.ok_or_else(|| {
            let seen = printed.split('\x1e').next_back().unwrap_or_default();
            format!("{}: the shell did not come past {:?}; it said {seen:?}", page.name, step.command)
        })?;
        outputs.push(Said { step, output: place.shown(output).trim_end_matches('\n').into() });
    }
    Ok(outputs)
}

/// The lines of the script that put a file of the page where it is to be, and change nothing that a command can see.
fn given(from: &Path, to: &Path, program: bool) -> String {
    let quoted = |path: &Path| format!("'{}'", path.display());
    let mode = if program { "755" } else { "644" };
    let folder = quoted(to.parent().unwrap_or(to));
    format!("code=$?; mkdir -p {folder}; install -m {mode} {} {}; (exit $code)\n", quoted(from), quoted(to))
}

/// What the script prints.
fn shell(place: &Place, folder: &Path, script: &Path) -> Result<String, String> {
    let failed = |why: std::io::Error| format!("bash: {why}");
    let (mut reader, writer) = std::io::pipe().map_err(failed)?;
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc"]).arg(script).current_dir(folder).env_clear();
    command.env("HOME", &place.home).env("PATH", place.path()).env("USER", "ada").env("LANG", "C.UTF-8");
    command.envs(place.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(failed)?).stderr(writer).process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    // it holds the pipe's other end
    drop(command);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = reader.read_to_end(&mut bytes);
        drop(sender.send(read.map(|_| bytes)));
    });
    let read = receiver.recv_timeout(place.limit);
    if read.is_err() {
        drop(Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status());
    }
    child.wait().map_err(failed)?;
    let bytes =
        read.map_err(|_| format!("the commands did not end within {} s", place.limit.as_secs()))?.map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
