//! Pages of Markdown whose commands are run, and whose outputs are held to what the page shows.
//!
//! Every fenced block of a page says in its info string what it is:
//!
//! * `console run`: commands behind `$ `, each with what it prints. They run in the order of the page, in one shell.
//! * `console run whole`: one command, and all the rest is what it prints, lines that begin with `$ ` too.
//! * `console run-vendor claude`: the same, for the real vendor; the suite on the real vendors runs it.
//! * `console not-run: why`: commands that no test runs.
//! * `sh file NAME`, and any other language: a file of the reader's, which the commands below it find.
//! * `text picture`: a drawing.
//!
//! A comment `<!-- model "PROMPT" … -->` says what the model of a `run-vendor` block answers to a prompt.

mod like;
mod mark;
mod place;
mod play;
mod write;

use std::ops::Range;
use std::path::Path;

pub use like::{alike, differs};
pub use mark::{Mark, Model};
pub use place::{ADA, Place};
pub use play::{Said, play};
pub use write::{rewritten, steady};

/// A page, read.
pub struct Page {
    pub name: String,
    pub lines: Vec<String>,
    pub blocks: Vec<Block>,
    pub models: Vec<Model>,
}

/// A fenced block.
pub struct Block {
    /// The line of its fence, counted from 1.
    pub line: usize,
    pub mark: Mark,
    /// Whether it is one command, and all the rest is what that prints.
    pub whole: bool,
    /// Where its text stands in the page's lines.
    pub text: Range<usize>,
}

/// One command of a block.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub command: String,
    /// Where what it prints stands in the page's lines.
    pub shown: Range<usize>,
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// All that is wrong in it, a line each.
    pub fn read(root: &Path, name: &str) -> Result<Page, Vec<String>> {
        let text = fs_err::read_to_string(root.join(name)).map_err(|why| vec![format!("{name}: {why}")])?;
        Page::of(name, &text)
    }

    /// Takes a page from its text.
    ///
    /// # Errors
    /// As [`Page::read`].
    pub fn of(name: &str, text: &str) -> Result<Page, Vec<String>> {
        let mut page =
            Page { name: name.into(), lines: text.lines().map(String::from).collect(), blocks: vec![], models: vec![] };
        let mut faults = Vec::new();
        let mut fault = |at: usize, why: String| faults.push(format!("{name}:{}: {why}", at + 1));
        let mut at = 0;
        while at < page.lines.len() {
            let line = page.lines[at].as_str();
            if let Some(info) = line.trim_start().strip_prefix("```") {
                let end = (at + 1..page.lines.len()).find(|next| page.lines[*next].trim() == "```");
                let Some(end) = end else {
                    fault(at, "this fence is never closed".into());
                    break;
                };
                if line.starts_with(' ') {
                    fault(at, "a fence begins its line".into());
                }
                match Mark::of(info) {
                    Ok(mark) => {
                        let whole = info.ends_with(" run whole");
                        let block = Block { line: at + 1, mark, whole, text: at + 1..end };
                        if block.mark.runs() && !page.lines[at + 1].starts_with("$ ") {
                            fault(at + 1, "a block that runs begins with a command: $ …".into());
                        }
                        page.blocks.push(block);
                    }
                    Err(why) => fault(at, why),
                }
                at = end;
            } else if line.starts_with("<!-- model ") {
                let end = (at..page.lines.len()).find(|next| page.lines[*next].ends_with("-->")).unwrap_or(at);
                match Model::of(&page.lines[at..=end].join("\n")) {
                    Ok(model) => page.models.push(model),
                    Err(why) => fault(at, why),
                }
                at = end;
            } else if line.starts_with("    ")
                && at > 0
                && page.lines[at - 1].is_empty()
                && !in_a_list(&page.lines[..at])
            {
                fault(at, "an indented block has no mark: put it between fences".into());
            }
            at += 1;
        }
        if faults.is_empty() { Ok(page) } else { Err(faults) }
    }

    /// The commands of a block.
    pub fn steps(&self, block: &Block) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut continued = false;
        for at in block.text.clone() {
            let line = self.lines[at].as_str();
            let last = steps.last_mut();
            let command = line.strip_prefix("$ ").filter(|_| !block.whole || at == block.text.start);
            match (command, last) {
                (Some(command), _) => {
                    steps.push(Step { command: command.into(), shown: at + 1..at + 1 });
                }
                // as the shell asks for the rest of a command, or as people write it in a script
                (None, Some(step)) if step.shown.start == at && (continued || line.starts_with("> ")) => {
                    step.command.push('\n');
                    step.command.push_str(line.strip_prefix("> ").unwrap_or(line));
                    step.shown = at + 1..at + 1;
                }
                (None, Some(step)) => step.shown.end = at + 1,
                (None, None) => {}
            }
            continued = line.ends_with('\\') && steps.last().is_some_and(|step| step.shown.start == at + 1);
        }
        // a blank line between two commands is for the eye
        for step in &mut steps {
            while step.shown.end > step.shown.start && self.lines[step.shown.end - 1].is_empty() {
                step.shown.end -= 1;
            }
        }
        steps
    }

    /// What the page shows of a command's output.
    pub fn shown(&self, step: &Step) -> Vec<&str> {
        self.lines[step.shown.clone()].iter().map(String::as_str).collect()
    }

    /// The targets of its links, each with its line.
    pub fn links(&self) -> Vec<(usize, &str)> {
        let fenced = |at: usize| self.blocks.iter().any(|block| block.text.contains(&at));
        let mut found = Vec::new();
        for (at, line) in self.lines.iter().enumerate().filter(|(at, _)| !fenced(*at)) {
            for (open, _) in line.match_indices("](") {
                let rest = &line[open + 2..];
                found.extend(rest.find(')').map(|end| (at + 1, &rest[..end])));
            }
        }
        found
    }

    /// The anchors of its headings, as code browsers make them.
    pub fn anchors(&self) -> Vec<String> {
        let fenced = |at: usize| self.blocks.iter().any(|block| block.text.contains(&at));
        let heading =
            |line: &String| Some(line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?.to_string());
        let slug = |title: String| {
            let kept = title.to_lowercase().replace(' ', "-");
            kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
        };
        let lines = self.lines.iter().enumerate().filter(|(at, _)| !fenced(*at));
        lines.filter_map(|(_, line)| heading(line)).map(slug).collect()
    }
}

/// Whether what comes after these lines, indented, belongs to an item of a list.
fn in_a_list(before: &[String]) -> bool {
    let item = |line: &String| {
        line.starts_with("- ") || line.starts_with("* ") || line.starts_with(|c: char| c.is_ascii_digit())
    };
    before.iter().rev().find(|line| !line.is_empty() && !line.starts_with(' ')).is_some_and(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Two words\n\n```console run\n$ echo a; \\\n  echo b\na\nb\n\n$ cat <<E\n> x\n> E\nx\n```\n";

    #[test]
    fn commands_go_over_lines_and_end_where_their_output_begins() {
        let page = Page::of("a.md", PAGE).unwrap();
        let steps = page.steps(&page.blocks[0]);
        assert_eq!(steps[0], Step { command: "echo a; \\\n  echo b".into(), shown: 5..7 });
        assert_eq!(steps[1], Step { command: "cat <<E\nx\nE".into(), shown: 11..12 });
        assert_eq!(page.shown(&steps[0]), ["a", "b"]);
        assert_eq!(page.anchors(), ["two-words"]);
    }

    #[test]
    fn a_command_may_print_lines_that_look_like_commands() {
        let page = Page::of("a.md", "```console run whole\n$ a\n$ b\nc\n```\n").unwrap();
        assert_eq!(page.steps(&page.blocks[0]), [Step { command: "a".into(), shown: 2..4 }]);
    }

    #[test]
    fn a_block_that_does_not_say_what_it_is_is_a_fault() {
        for (text, why) in [
            ("```console\n$ true\n```\n", "says nothing of itself"),
            ("```\n$ true\n```\n", "says nothing of itself"),
            ("```console run\ntrue\n```\n", "begins with a command"),
            ("```console not-run:\n$ true\n```\n", "why"),
            ("```console run-vendor\n$ true\n```\n", "which vendor"),
            ("```console run\n$ true\n", "never closed"),
            ("words\n\n    $ true\n", "no mark"),
            ("```text picture\n$ true\n```\n```console walk\n```\n", "walk"),
        ] {
            let faults = Page::of("a.md", text).err().unwrap_or_default();
            assert!(faults.iter().any(|fault| fault.contains(why)), "{text}: {faults:?}");
        }
        assert!(Page::of("a.md", "- item\n\n    more of it\n").is_ok());
    }
}
