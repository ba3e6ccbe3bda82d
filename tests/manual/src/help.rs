//! A help text, read: the one source of man pages and completions.

/// A program, as its help texts tell of it.
pub struct Program {
    pub name: String,
    pub version: String,
    /// Its own help text.
    pub help: Help,
    /// What its first word may be, in the order of the usage; none where that is no word of a list.
    pub commands: Vec<Command>,
}

/// What a first word stands for.
pub struct Command {
    pub name: String,
    /// The words that may come after it.
    pub operands: Vec<String>,
    /// The flags that it takes.
    pub flags: Vec<Flag>,
    /// Its own help text, where that is another one than the program's.
    pub help: Option<Help>,
}

/// A help text.
#[derive(Clone, PartialEq, Eq)]
pub struct Help {
    pub usage: Vec<String>,
    pub parts: Vec<Part>,
}

/// A part of what comes after the usage.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// A paragraph.
    Text(String),
    /// An option, or another term: how it is written, and what it does.
    Term(String, String),
}

/// An option, as a shell completes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// All its names, each with its dashes.
    pub names: Vec<String>,
    pub about: String,
    /// What its values are called, in order.
    pub values: Vec<String>,
    /// Whether the last value may be said again and again.
    pub many: bool,
    /// The closed list that the first value is of.
    pub one_of: Vec<String>,
}

impl Help {
    pub fn of(text: &str) -> Help {
        let mut lines = text.lines().peekable();
        let mut usage = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.is_empty()) {
            usage.push(
                line.strip_prefix("usage: ")
                    .unwrap_or_else(|| line.strip_prefix("       ").unwrap_or(line))
                    .to_string(),
            );
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut fresh = true;
        for line in lines {
            let deep = line.len() - line.trim_start().len();
            match parts.last_mut() {
                _ if line.is_empty() => fresh = true,
                Some(Part::Term(_, about)) if !fresh && deep > 2 => joined(about, line.trim()),
                _ if deep == 2 => {
                    let (head, about) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
                    // a head that is longer than its column has but one blank behind it
                    let (head, about) =
                        if about.is_empty() { long_head(head) } else { (head.into(), about.trim().into()) };
                    parts.push(Part::Term(head, about));
                    fresh = false;
                }
                Some(Part::Text(text)) if !fresh => joined(text, line.trim()),
                _ => {
                    parts.push(Part::Text(line.trim().into()));
                    fresh = false;
                }
            }
        }
        Help { usage, parts }
    }

    /// All options, from the list of them and from the usage.
    pub fn flags(&self) -> Vec<Flag> {
        let mut all: Vec<Flag> = Vec::new();
        for part in &self.parts {
            let Part::Term(head, about) = part else { continue };
            for flag in in_head(head, about) {
                known(&mut all, flag);
            }
        }
        for flag in in_usage(&self.usage.join(" ")) {
            known(&mut all, flag);
        }
        for flag in all.iter_mut().filter(|flag| flag.about.is_empty()) {
            flag.about = flag.names.iter().find_map(|name| self.told_beside(name)).unwrap_or_default();
        }
        all
    }

    /// What is said of a flag where another one is told of: `…; --source says where`.
    fn told_beside(&self, name: &str) -> Option<String> {
        self.parts.iter().find_map(|part| {
            let Part::Term(_, about) = part else { return None };
            let (_, after) = about.split_once(&format!("; {name} "))?;
            after.split(';').next().map(String::from)
        })
    }
}

fn joined(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

/// Names and values, and what is behind them, where one blank parts the two.
fn long_head(line: &str) -> (String, String) {
    let mut words = line.split(' ').peekable();
    let mut head = Vec::new();
    while let Some(word) = words.next_if(|word| word.starts_with('-') || value(word).is_some()) {
        head.push(word);
    }
    (head.join(" "), words.collect::<Vec<_>>().join(" "))
}

/// A word that stands for a value: its name, and whether it may be said again. What is behind a bracket is about more than
/// this word.
fn value(word: &str) -> Option<(String, bool)> {
    let word = word.trim_start_matches('[').split(']').next().unwrap_or_default().trim_end_matches(',');
    let name = word.trim_end_matches("...");
    let name = name.split(',').next().unwrap_or(name);
    let capitals = name.chars().all(|c| c.is_ascii_uppercase() || matches!(c, '=' | '-'));
    (capitals && name.starts_with(|c: char| c.is_ascii_uppercase())).then(|| (name.to_string(), word.ends_with("...")))
}

/// A flag is told of in several places: what they say of it, together.
fn known(all: &mut Vec<Flag>, flag: Flag) {
    match all.iter_mut().find(|old| old.names.iter().any(|name| flag.names.contains(name))) {
        None => all.push(flag),
        Some(old) => {
            old.names.extend(flag.names.into_iter().filter(|name| !old.names.contains(name)).collect::<Vec<_>>());
            old.one_of.extend(flag.one_of.into_iter().filter(|word| !old.one_of.contains(word)).collect::<Vec<_>>());
            old.many |= flag.many;
            if old.values.is_empty() {
                old.values = flag.values;
            }
            if old.about.is_empty() {
                old.about = flag.about;
            }
        }
    }
}

/// Whether these are names and no flags of some kind: `--handoff-...` stands for several.
fn is_name(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1 && !word.ends_with('.') && word != "--"
}

/// The flags that the head of a term names.
fn in_head(head: &str, about: &str) -> Vec<Flag> {
    let mut flag = Flag { names: vec![], about: about.into(), values: vec![], many: false, one_of: listed(about) };
    for word in head.split(' ') {
        let name = word.trim_end_matches(',');
        if is_name(name) {
            flag.names.push(name.into());
        } else if let Some((name, many)) = value(word) {
            flag.values.push(name);
            flag.many |= many;
        } else if !flag.names.is_empty() && lower(word) {
            // one line for each value: --policy frame, --policy deny-only
            flag.values = vec!["WHICH".into()];
            flag.one_of = word.split('|').map(String::from).collect();
        }
    }
    // two that only share a line
    match flag.values.is_empty() && flag.names.iter().filter(|name| name.starts_with("--")).count() > 1 {
        true => flag.names.iter().map(|name| Flag { names: vec![name.clone()], ..flag.clone() }).collect(),
        false => Some(flag).filter(|flag| !flag.names.is_empty()).into_iter().collect(),
    }
}

fn lower(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '|'))
}

/// The flags in a usage: `[--digest HEX]`, `--print digest|canonical|text`.
fn in_usage(usage: &str) -> Vec<Flag> {
    let mut all: Vec<Flag> = Vec::new();
    let mut open = false;
    for word in usage.split_whitespace() {
        let bare = word.trim_start_matches('[').split(']').next().unwrap_or_default().trim_end_matches("...");
        if is_name(bare) {
            all.push(Flag {
                names: vec![bare.into()],
                about: String::new(),
                values: vec![],
                many: false,
                one_of: vec![],
            });
            open = !word.contains(']');
            continue;
        }
        let taken = all.last_mut().filter(|_| open);
        if let (Some(flag), Some((name, many))) = (taken, value(word)) {
            flag.values.push(name);
            flag.many |= many;
            open = !word.contains(']');
        } else if let Some(flag) = all.last_mut().filter(|flag| open && flag.values.is_empty() && lower(bare)) {
            flag.values.push("WHICH".into());
            flag.one_of = bare.split('|').map(String::from).collect();
            open = false;
        } else {
            open = false;
        }
    }
    all
}

/// The closed list that a description names: `a, b or c`, at its beginning or behind a colon, or nothing but names.
fn listed(about: &str) -> Vec<String> {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '.'));
    let words: Vec<&str> = about.split(' ').collect();
    if words.len() > 2 && words.iter().all(|word| plain(word)) && words.iter().any(|word| word.contains('.')) {
        return words.iter().map(|word| (*word).to_string()).collect();
    }
    // deny-only unless told otherwise: …; frame: …
    if let Some((first, others)) = about.split_once(" unless told otherwise: ").filter(|(first, _)| plain(first)) {
        let named = others.split("; ").skip(1).filter_map(|other| Some(other.split_once(": ")?.0));
        let list: Vec<String> = std::iter::once(first).chain(named).map(String::from).collect();
        if list.len() > 1 && list.iter().all(|word| plain(word)) {
            return list;
        }
    }
    for segment in about.split(": ") {
        let segment = without_brackets(segment);
        let Some((before, after)) = segment.split_once(" or ") else { continue };
        let last = after.split(' ').next().unwrap_or_default();
        let mut list: Vec<&str> = before.split(", ").map(str::trim).collect();
        list.push(last);
        if list.iter().all(|word| plain(word) && !word.contains('.')) && after.trim() == last {
            return list.into_iter().map(String::from).collect();
        }
    }
    Vec::new()
}

/// Without what stands between brackets.
fn without_brackets(text: &str) -> String {
    let mut depth = 0;
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.replace(" ,", ",").replace("  ", " ")
}

impl Program {
    /// Puts a program together from its help texts: `help_of` gives the one of a command.
    pub fn of(name: &str, version: &str, text: &str, help_of: impl Fn(&str) -> Option<String>) -> Program {
        let help = Help::of(text);
        let all = help.flags();
        let mut commands: Vec<Command> = Vec::new();
        for line in &help.usage {
            let mut words = line.split_whitespace();
            if words.next() != Some(name) {
                continue;
            }
            let Some(first) = words.next().filter(|word| lower(word)) else { continue };
            let operands: Vec<String> = words
                .next()
                .map(|word| word.trim_matches(|c| matches!(c, '[' | ']')))
                .filter(|word| lower(word))
                .map(|word| word.split('|').map(String::from).collect())
                .unwrap_or_default();
            let every = line.contains("[options]") || line.contains("[FLAG...]");
            let own = in_usage(line);
            let named = |flag: &&Flag| own.iter().any(|one| flag.names.iter().any(|name| one.names.contains(name)));
            for first in first.split('|') {
                if !commands.iter().any(|command| command.name == first) {
                    commands.push(Command { name: first.into(), operands: vec![], flags: vec![], help: None });
                }
                let Some(command) = commands.iter_mut().find(|command| command.name == first) else { continue };
                command.operands.extend(
                    operands.iter().filter(|word| !command.operands.contains(word)).cloned().collect::<Vec<_>>(),
                );
                for flag in all.iter().filter(|flag| every || named(flag)) {
                    let mut flag = flag.clone();
                    // the line of one word may know less of a flag than the text does
                    if let Some(list) = own
                        .iter()
                        .find(|one| flag.names.contains(&one.names[0]))
                        .filter(|one| !every && !one.one_of.is_empty())
                    {
                        flag.one_of.clone_from(&list.one_of);
                    }
                    known(&mut command.flags, flag);
                }
            }
        }
        for command in &mut commands {
            let general =
                all.iter().filter(|flag| flag.names.iter().any(|name| name == "--help" || name == "--version"));
            general.for_each(|flag| known(&mut command.flags, flag.clone()));
            command.help = help_of(&command.name).map(|text| Help::of(&text)).filter(|own| *own != help);
            if let Some(own) = &command.help {
                own.flags().into_iter().for_each(|flag| known(&mut command.flags, flag));
            }
        }
        Program { name: name.into(), version: version.into(), help, commands }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
usage: mh-x run|walk -p [TEXT] [--digest HEX] [options] [-- vendor options]
       mh-x look run|walk [--output-format text|json]
       mh-x --new [--prior TEXT [--source S]]... [--scope GLOB OP,OP]... [--entity M...] --none | --some NAME

Does a thing. It
is done well.

  -p, --prompt [TEXT]     the prompt; see
                          below
  --policy frame          is allowed
  --policy deny-only      is left
  --sandbox MODE          Codex: read-only, workspace-write or danger-full-access
  --credentials WHICH     go along then: inherit (the default), api-key or none
  --decider WHICH         ask: exec:/abs/program or unix:/abs/socket
  --mode MODE        deny-only unless told otherwise: it is left;
                     frame: it is allowed
  --deadline SEC     20 unless told otherwise; it is kept
  --admit OP...      file.read search
                     task.todo
  --scope-project DIR OPS   in DIR and all below
  --prior TEXT       what is so; --source says where
  --help, --version

exit codes: 0 done; 1 not
";

    fn flag<'a>(flags: &'a [Flag], name: &str) -> &'a Flag {
        flags
            .iter()
            .find(|flag| flag.names.iter().any(|own| own == name))
            .unwrap_or_else(|| panic!("no {name}: {flags:#?}"))
    }

    #[test]
    fn flags_are_what_the_list_and_the_usage_say() {
        let flags = Help::of(TEXT).flags();
        assert_eq!(flag(&flags, "-p").names, ["-p", "--prompt"]);
        assert_eq!(flag(&flags, "-p").about, "the prompt; see below");
        assert_eq!(flag(&flags, "--policy").one_of, ["frame", "deny-only"]);
        assert_eq!(flag(&flags, "--sandbox").one_of, ["read-only", "workspace-write", "danger-full-access"]);
        assert_eq!(flag(&flags, "--credentials").one_of, ["inherit", "api-key", "none"]);
        assert_eq!(flag(&flags, "--mode").one_of, ["deny-only", "frame"]);
        assert_eq!(flag(&flags, "--deadline").one_of, [""; 0]);
        assert_eq!(flag(&flags, "--decider").one_of, [""; 0]);
        assert_eq!(flag(&flags, "--admit").one_of, ["file.read", "search", "task.todo"]);
        assert!(flag(&flags, "--admit").many);
        assert_eq!(flag(&flags, "--scope-project").values, ["DIR", "OPS"]);
        assert_eq!(flag(&flags, "--scope-project").about, "in DIR and all below");
        let source = flag(&flags, "--source");
        assert_eq!(
            (source.values.as_slice(), source.about.as_str(), source.many),
            (&["S".to_string()][..], "says where", false)
        );
        assert_eq!(flag(&flags, "--scope").values, ["GLOB", "OP"]);
        assert!(!flag(&flags, "--scope").many && flag(&flags, "--entity").many);
        assert_eq!(flag(&flags, "--none").values, [""; 0]);
        assert_eq!(flag(&flags, "--digest").values, ["HEX"]);
        assert_eq!(flag(&flags, "--output-format").one_of, ["text", "json"]);
        assert_eq!(flag(&flags, "--version").names, ["--version"]);
    }

    #[test]
    fn a_first_word_has_the_flags_and_words_of_its_usage() {
        let program = Program::of("mh-x", "1", TEXT, |_| None);
        let names: Vec<&str> = program.commands.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(names, ["run", "walk", "look"]);
        let look = &program.commands[2];
        assert_eq!(look.operands, ["run", "walk"]);
        let names: Vec<&str> = look.flags.iter().flat_map(|flag| &flag.names).map(String::as_str).collect();
        assert_eq!(names, ["--output-format", "--help", "--version"]);
        assert!(program.commands[0].flags.iter().any(|flag| flag.names.contains(&"--sandbox".into())));
    }

    #[test]
    fn a_text_is_its_paragraphs_and_terms() {
        let help = Help::of(TEXT);
        assert!(matches!(&help.parts[0], Part::Text(text) if text == "Does a thing. It is done well."));
        assert!(matches!(help.parts.last(), Some(Part::Text(text)) if text == "exit codes: 0 done; 1 not"));
    }
}
