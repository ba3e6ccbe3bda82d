//! Completions: what may stand where the cursor is, for three shells.

use std::fmt::Write as _;

use crate::help::{Flag, Program};

/// What a value that is of no list is.
enum Kind {
    File,
    Folder,
    Word,
}

fn kind(value: &str) -> Kind {
    match value {
        "FILE" | "OUT" | "PATH" | "LIST" | "NAME=PATH" => Kind::File,
        "DIR" => Kind::Folder,
        _ => Kind::Word,
    }
}

/// A program's flags where there is no command, or with all commands.
fn every_flag(program: &Program) -> Vec<Flag> {
    program.help.flags()
}

fn names(flags: &[Flag]) -> String {
    flags.iter().flat_map(|flag| flag.names.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

/// The first words, one after the other.
fn commands(program: &Program) -> String {
    program.commands.iter().map(|command| command.name.as_str()).collect::<Vec<_>>().join(" ")
}

fn function(program: &Program) -> String {
    format!("_{}", program.name.replace('-', "_"))
}

const MADE: &str = "made from the help text; do not edit";

pub fn bash(program: &Program) -> String {
    let name = &program.name;
    let function = function(program);
    let all = every_flag(program);
    let mut out = format!(
        "# bash completion of {name}, {MADE}\n\n{function}() {{\n    local cur=${{COMP_WORDS[COMP_CWORD]}} \
         prev=${{COMP_WORDS[COMP_CWORD - 1]}} flag='' words='' at\n    COMPREPLY=()\n    \
         # --flag=value comes as three words\n    if [[ $cur == = ]]; then cur=''; elif [[ $prev == = ]]; then \
         prev=${{COMP_WORDS[COMP_CWORD - 2]}}; fi\n    for ((at = 1; at < COMP_CWORD; at++)); do\n        \
         # what is behind -- is the vendor's\n        if [[ ${{COMP_WORDS[at]}} == -- ]]; then return; fi\n        \
         if [[ ${{COMP_WORDS[at]}} == -* ]]; then flag=${{COMP_WORDS[at]}}; fi\n    done\n    if [[ $cur != -* ]]; then\n        \
         case ${{COMP_WORDS[1]}}:$prev in\n"
    );
    // what only one command has comes before what all have
    for command in &program.commands {
        for flag in command.flags.iter().filter(|flag| !flag.values.is_empty() && !all.contains(flag)) {
            out.push_str(&bash_value(&command.name, flag));
        }
    }
    for flag in all.iter().filter(|flag| !flag.values.is_empty()) {
        out.push_str(&bash_value("*", flag));
    }
    out.push_str("            *)\n                case $flag in\n");
    for flag in all.iter().filter(|flag| flag.many && !flag.one_of.is_empty()) {
        let _ = writeln!(out, "                    {}) words='{}' ;;", flag.names.join(" | "), flag.one_of.join(" "));
    }
    out.push_str("                    *) ;;\n                esac\n                ;;\n        esac\n    fi\n    if [[ -z $words ]]; then\n");
    if program.commands.is_empty() {
        let _ = writeln!(out, "        words='{}'", names(&all));
    } else {
        let _ = writeln!(
            out,
            "        if ((COMP_CWORD == 1)); then\n            words='{} --help --version'\n        else\n            case \
             ${{COMP_WORDS[1]}} in",
            commands(program)
        );
        for command in &program.commands {
            let operands = command.operands.join(" ");
            let _ = writeln!(
                out,
                "                {}) words='{}' ;;",
                command.name,
                format!("{operands} {}", names(&command.flags)).trim()
            );
        }
        out.push_str("                *) ;;\n            esac\n        fi\n");
    }
    if program.commands.is_empty() {
        out.push_str("        # a word that is no flag is a file\n        if [[ $cur != -* ]]; then words=''; ");
        out.push_str("mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); fi\n");
    }
    let _ = write!(
        out,
        "    fi\n    mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}}\n\ncomplete -o filenames -F \
         {function} {name}\n"
    );
    out
}

/// What bash does for the value of a flag, behind this command.
fn bash_value(command: &str, flag: &Flag) -> String {
    let pattern: Vec<String> = flag.names.iter().map(|name| format!("{command}:{name}")).collect();
    let does = match (flag.one_of.as_slice(), kind(&flag.values[0])) {
        ([], Kind::File) => "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n                return".to_string(),
        ([], Kind::Folder) => "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n                return".to_string(),
        ([], Kind::Word) => "return".to_string(),
        (list, _) => format!("words='{}'", list.join(" ")),
    };
    format!("            {})\n                {does}\n                ;;\n", pattern.join(" | "))
}

pub fn zsh(program: &Program) -> String {
    let name = &program.name;
    let mut out = format!("#compdef {name}\n# {MADE}\n\n");
    if program.commands.is_empty() {
        let _ = writeln!(out, "_arguments{} '*:file:_files'", specs(&every_flag(program)));
        return out;
    }
    let _ = writeln!(
        out,
        "if ((CURRENT == 2)); then\n    compadd -- {}\n    compadd -- --help --version\n    return\nfi\ncase $words[2] in",
        commands(program)
    );
    for command in &program.commands {
        let operands = match command.operands.as_slice() {
            [] => String::new(),
            list => format!(" '2:what:({})'", list.join(" ")),
        };
        let _ = writeln!(out, "    {}) _arguments '1:what: '{operands}{} ;;", command.name, specs(&command.flags));
    }
    out.push_str("esac\n");
    out
}

fn specs(flags: &[Flag]) -> String {
    let mut out = String::new();
    for flag in flags {
        for name in &flag.names {
            let values: String = flag
                .values
                .iter()
                .enumerate()
                .map(|(at, value)| {
                    let does = match (flag.one_of.as_slice(), kind(value)) {
                        ([], Kind::File) => "_files".to_string(),
                        ([], Kind::Folder) => "_files -/".to_string(),
                        ([_, ..], _) if at == 0 => format!("({})", flag.one_of.join(" ")),
                        _ => " ".to_string(),
                    };
                    let again = if flag.many && at + 1 == flag.values.len() { "*-*:" } else { "" };
                    format!(":{again}{}:{does}", value.to_lowercase())
                })
                .collect();
            let about = about(flag).replace(['[', ']'], "").replace('\'', "'\\''").replace(':', "\\:");
            let about = if about.is_empty() { about } else { format!("[{about}]") };
            let _ = write!(out, " \\\n    '*{name}{about}{values}'");
        }
    }
    out
}

pub fn fish(program: &Program) -> String {
    let name = &program.name;
    let mut out = format!("# fish completion of {name}, {MADE}\n\n");
    if program.commands.is_empty() {
        every_flag(program).iter().for_each(|flag| out.push_str(&fish_flag(name, "", flag)));
        return out;
    }
    let all = commands(program);
    let first = "test (count (commandline -opc)) -eq 1";
    let _ = writeln!(out, "complete -c {name} -n '{first}' -f -a '{all}'");
    let _ = writeln!(out, "complete -c {name} -n '{first}' -l help\ncomplete -c {name} -n '{first}' -l version");
    for command in &program.commands {
        // of the words so far, the second is the command
        let condition = format!(" -n 'set -l words (commandline -opc); test \"$words[2]\" = {}'", command.name);
        if !command.operands.is_empty() {
            let _ = writeln!(out, "complete -c {name}{condition} -f -a '{}'", command.operands.join(" "));
        }
        command.flags.iter().for_each(|flag| out.push_str(&fish_flag(name, &condition, flag)));
    }
    out
}

fn fish_flag(name: &str, condition: &str, flag: &Flag) -> String {
    let mut out = format!("complete -c {name}{condition}");
    for own in &flag.names {
        match own.strip_prefix("--") {
            Some(long) => out.push_str(&format!(" -l {long}")),
            None => out.push_str(&format!(" -s {}", own.trim_start_matches('-'))),
        }
    }
    match (flag.values.first().map(|value| kind(value)), flag.one_of.as_slice()) {
        (None, _) => {}
        (Some(_), [_, ..]) => out.push_str(&format!(" -x -a '{}'", flag.one_of.join(" "))),
        (Some(Kind::File), []) => out.push_str(" -r -F"),
        (Some(Kind::Folder), []) => out.push_str(" -x -a '(__fish_complete_directories)'"),
        (Some(Kind::Word), []) => out.push_str(" -x"),
    }
    let about = about(flag).replace('\\', "\\\\").replace('\'', "\\'");
    if !about.is_empty() {
        out.push_str(&format!(" -d '{about}'"));
    }
    out + "\n"
}

/// What a flag does, in short: its first clause.
fn about(flag: &Flag) -> String {
    let first = flag.about.split(';').next().unwrap_or_default().split(". ").next().unwrap_or_default();
    let short: String = first.chars().take(76).collect();
    let short = if short.len() < first.len() { format!("{short}…") } else { short };
    short.split_whitespace().collect::<Vec<_>>().join(" ")
}
