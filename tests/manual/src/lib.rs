//! Man pages and shell completions of programs, made from their help texts: what a person can type is said in one place.

mod help;
mod man;
mod shell;

use std::path::Path;
use std::process::Command;

use fs_err as fs;
use help::Program;

/// Makes them for the programs in this folder, into `man` and `completions` of another one.
///
/// # Errors
/// A program that does not tell of itself, a file that cannot be written.
pub fn made(programs: &Path, out: &Path) -> Result<(), String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(programs).map_err(|why| why.to_string())? {
        let name = entry.map_err(|why| why.to_string())?.file_name().to_string_lossy().into_owned();
        if name.starts_with("mh-") && !name.contains('.') {
            names.push(name);
        }
    }
    names.sort();
    if names.is_empty() {
        return Err(format!("{}: there is no program in it", programs.display()));
    }
    let mut all = Vec::new();
    for name in &names {
        let said = |arguments: &[&str]| said(&programs.join(name), arguments);
        let help = said(&["--help"])?;
        let version = said(&["--version"])?;
        let version = version.split_whitespace().last().unwrap_or_default();
        let mut program = Program::of(name, version, &help, |command| said(&[command, "--help"]).ok());
        // which schemas there are, no help text lists: the program does
        for command in program.commands.iter_mut().filter(|command| command.name == "schema") {
            command.operands = said(&["schema"])?.lines().map(String::from).collect();
        }
        all.push(program);
    }
    for folder in ["man", "completions"] {
        fs::create_dir_all(out.join(folder)).map_err(|why| why.to_string())?;
    }
    let shipped: Vec<&str> = names.iter().map(String::as_str).collect();
    for program in &all {
        let name = &program.name;
        for (file, text) in [
            (format!("man/{name}.1"), man::page(program, &shipped)),
            (format!("completions/{name}.bash"), shell::bash(program)),
            (format!("completions/{name}.zsh"), shell::zsh(program)),
            (format!("completions/{name}.fish"), shell::fish(program)),
        ] {
            fs::write(out.join(file), text).map_err(|why| why.to_string())?;
        }
    }
    Ok(())
}

/// What a program prints.
fn said(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(arguments).env_clear().output();
    let done = done.map_err(|why| format!("{}: {why}", program.display()))?;
    if !done.status.success() {
        return Err(format!("{} {}: {}", program.display(), arguments.join(" "), done.status));
    }
    String::from_utf8(done.stdout).map_err(|why| format!("{}: {why}", program.display()))
}
