//! A man page, in the macros of man(7).

use std::fmt::Write as _;

use crate::help::{Help, Part, Program};

/// The page of a program; `others` are those that it is shipped with.
pub fn page(program: &Program, others: &[&str]) -> String {
    let Program { name, version, help, .. } = program;
    let mut out = format!(".TH {} 1 \"\" \"metaharness-hooks {version}\" \"User Commands\"\n", name.to_uppercase());
    // the first thing that it says of itself
    let first = help.parts.iter().find_map(|part| match part {
        Part::Text(text) => text.split(". ").next().and_then(|text| text.split(": ").next()),
        Part::Term(..) => None,
    });
    section(&mut out, "NAME");
    let _ =
        writeln!(out, "{} \\- {}", escaped(name), escaped(&uncapital(first.unwrap_or_default().trim_end_matches('.'))));
    section(&mut out, "SYNOPSIS");
    synopsis(&mut out, help);
    section(&mut out, "DESCRIPTION");
    body(&mut out, help);
    for command in &program.commands {
        if let Some(own) = &command.help {
            section(&mut out, &format!("{name} {}", command.name));
            synopsis(&mut out, own);
            out.push_str(".PP\n");
            body(&mut out, own);
        }
    }
    section(&mut out, "SEE ALSO");
    let others: Vec<String> =
        others.iter().filter(|other| *other != name).map(|other| format!("{} (1)", escaped(other))).collect();
    let last = others.len().saturating_sub(1);
    for (at, other) in others.iter().enumerate() {
        let _ = writeln!(out, ".BR {other}{}", if at == last { "" } else { " ," });
    }
    out
}

fn section(out: &mut String, title: &str) {
    let _ = writeln!(out, ".SH \"{}\"", escaped(title).to_uppercase());
}

fn synopsis(out: &mut String, help: &Help) {
    out.push_str(".nf\n");
    for line in &help.usage {
        let _ = writeln!(out, "{}", escaped(line));
    }
    out.push_str(".fi\n");
}

fn body(out: &mut String, help: &Help) {
    let mut text_before = true;
    for part in &help.parts {
        match part {
            Part::Text(text) => match text.strip_prefix("exit codes: ") {
                Some(codes) => {
                    section(out, "EXIT STATUS");
                    for code in codes.split("; ") {
                        let Some((number, what)) = code.split_once(' ').filter(|(number, _)| number.len() == 1) else {
                            let _ = writeln!(out, ".PP\n{}", escaped(code));
                            continue;
                        };
                        let _ = writeln!(out, ".TP\n.B {number}\n{}", escaped(what));
                    }
                }
                None => {
                    let _ = writeln!(
                        out,
                        "{}{}",
                        if text_before && out.ends_with("\"\n") { "" } else { ".PP\n" },
                        escaped(text)
                    );
                    text_before = true;
                }
            },
            Part::Term(head, about) => {
                text_before = false;
                let _ = writeln!(
                    out,
                    ".TP\n{}\n{}",
                    term(head),
                    if about.is_empty() { "\\&".into() } else { escaped(about) }
                );
            }
        }
    }
}

/// Names in bold, what stands for a value in italics.
fn term(head: &str) -> String {
    let words: Vec<String> = head
        .split(' ')
        .map(|word| match word.starts_with('-') || !word.contains(|c: char| c.is_ascii_uppercase()) {
            true => format!("\\fB{}\\fR", escaped(word)),
            false => format!("\\fI{}\\fR", escaped(word)),
        })
        .collect();
    words.join(" ")
}

fn uncapital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        // a name keeps its letter
        Some(first) if !text.starts_with("Claude") && !text.starts_with("Codex") => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.into(),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
