//! The flags on a hook's line. The same code writes and reads them, so that a line can be told from one that only
//! resembles ours.

use std::path::Path;

use crate::adapter::Registration;
use crate::decide::Policy;
use crate::seal::Digest;

/// The flags of a hook, in the order in which they are written.
#[derive(Debug, Clone, Copy)]
pub struct Flags<'a> {
    /// The absolute path of the frame in force.
    pub frame: Option<&'a str>,
    /// The digest that the frame is pinned to.
    pub pin: Option<&'a Digest>,
    /// The answer to an admitted call.
    pub policy: Policy,
    /// The absolute path of the audit.
    pub audit: Option<&'a str>,
    /// Whether calls are denied without a frame.
    pub require_frame: bool,
    /// The program or socket that is asked about admitted calls.
    pub decider: Option<&'a str>,
    /// Whether the inputs of calls are recorded too.
    pub audit_input: bool,
    /// Whether nobody can approve a call.
    pub unattended: bool,
    /// The hook's own limit in seconds, if it differs from [`Registration::PATIENCE`].
    pub deadline: Option<u32>,
}

impl Flags<'_> {
    /// The one flag that is always written.
    pub const fn of(policy: Policy) -> Self {
        Flags {
            frame: None,
            pin: None,
            policy,
            audit: None,
            require_frame: false,
            decider: None,
            audit_input: false,
            unattended: false,
            deadline: None,
        }
    }

    pub fn arguments(&self) -> Vec<String> {
        let (pin, deadline) = (self.pin.map(ToString::to_string), self.deadline.map(|seconds| seconds.to_string()));
        let value = |name: &'static str, value: Option<&str>| value.map(|value| vec![name.into(), value.into()]);
        let switch = |name: &'static str, on: bool| on.then(|| vec![name.into()]);
        let given = [
            value("--frame", self.frame),
            value("--digest", pin.as_deref()),
            value("--policy", Some(self.policy.word())),
            value("--audit", self.audit),
            switch("--require-frame", self.require_frame),
            value("--decider", self.decider),
            switch("--audit-input", self.audit_input),
            switch("--unattended", self.unattended),
            value("--deadline", deadline.as_deref()),
        ];
        given.into_iter().flatten().flatten().collect()
    }

    /// The whole line that starts this hook program.
    pub fn registration(&self, program: &str) -> Registration {
        let patience = self.deadline.unwrap_or(Registration::PATIENCE);
        Registration { program: program.into(), arguments: self.arguments(), patience }
    }
}

/// The flags that `mh-setup` writes into an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryTerms {
    /// The absolute path of the frame in force.
    pub frame: String,
    /// The digest that the frame is pinned to.
    pub pin: Option<Digest>,
    /// The answer to an admitted call.
    pub policy: Policy,
    /// The absolute path of the audit.
    pub audit: Option<String>,
    /// Whether the line denies calls without a frame.
    pub require_frame: bool,
    /// The program or socket that is asked about admitted calls.
    pub decider: Option<String>,
    /// Whether the inputs of calls are recorded too.
    pub audit_input: bool,
    /// The hook's own limit in seconds, if it differs from [`Registration::PATIENCE`].
    pub deadline: Option<u32>,
}

impl EntryTerms {
    fn flags(&self) -> Flags<'_> {
        Flags {
            frame: Some(&self.frame),
            pin: self.pin.as_ref(),
            audit: self.audit.as_deref(),
            require_frame: self.require_frame,
            decider: self.decider.as_deref(),
            audit_input: self.audit_input,
            deadline: self.deadline,
            ..Flags::of(self.policy)
        }
    }

    /// The whole line that starts this hook program.
    pub fn registration(&self, program: &str) -> Registration {
        self.flags().registration(program)
    }

    /// The terms with a frame and nothing else.
    pub fn on(frame: String) -> EntryTerms {
        EntryTerms {
            frame,
            pin: None,
            policy: Policy::Frame,
            audit: None,
            require_frame: false,
            decider: None,
            audit_input: false,
            deadline: None,
        }
    }

    /// Whether the terms are equal but for flags that concern waiting calls alone. A person may have added a decider
    /// under that event only.
    pub fn agrees(&self, other: &EntryTerms) -> bool {
        let elsewhere =
            |terms: &EntryTerms| EntryTerms { decider: None, audit_input: false, deadline: None, ..terms.clone() };
        elsewhere(self) == elsewhere(other)
    }

    /// The terms of these arguments, if they have exactly the form of an entry's.
    pub fn of(arguments: &[String]) -> Option<EntryTerms> {
        let mut terms = EntryTerms::on(String::new());
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            match flag.as_str() {
                "--frame" => terms.frame.clone_from(rest.next()?),
                "--digest" => terms.pin = Some(Digest::parse(rest.next()?)?),
                "--policy" => terms.policy = Policy::from_word(rest.next()?)?,
                "--audit" => terms.audit = Some(rest.next()?.clone()),
                "--require-frame" => terms.require_frame = true,
                "--decider" => terms.decider = Some(rest.next()?.clone()),
                "--audit-input" => terms.audit_input = true,
                "--deadline" => terms.deadline = Some(rest.next()?.parse().ok()?),
                _ => return None,
            }
        }
        (terms.flags().arguments() == arguments).then_some(terms)
    }
}

/// The words of a line that consists of words in single quotes, as [`Registration::shell_words`] writes them.
pub fn unquoted(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        let mut word = String::new();
        rest = rest.strip_prefix('\'')?;
        loop {
            let (inside, after) = rest.split_once('\'')?;
            word.push_str(inside);
            match after.strip_prefix("\\''") {
                Some(after) => {
                    word.push('\'');
                    rest = after;
                }
                None => {
                    rest = after;
                    break;
                }
            }
        }
        words.push(word);
        match rest {
            "" => return Some(words),
            _ => rest = rest.strip_prefix(' ')?,
        }
    }
}

/// A path as one word for a shell.
pub fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Whether a command runs a program of this name, by any path and in any wrapping.
pub fn names(command: &str, program: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "/'\"`;|&(){}=\\".contains(c));
    command
        .match_indices(program)
        .any(|(at, _)| edge(command[..at].chars().next_back()) && edge(command[at + program.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_nothing_else_is() {
        let terms = EntryTerms {
            frame: "/it's/a frame".into(),
            pin: Digest::parse(&"a".repeat(64)),
            policy: Policy::DenyOnly,
            audit: Some("/a".into()),
            require_frame: true,
            decider: Some("unix:/d".into()),
            audit_input: true,
            deadline: Some(5),
        };
        assert_eq!(EntryTerms::of(&terms.flags().arguments()), Some(terms.clone()));
        let line = terms.registration("/bin/mh-hook-claude");
        let words = unquoted(&line.shell_words()).unwrap();
        assert_eq!((words[0].as_str(), &words[1..]), ("/bin/mh-hook-claude", &line.arguments[..]));
        let mut other = terms.flags().arguments();
        other.push("--no-self-protect".into());
        assert_eq!(EntryTerms::of(&other), None);
        other = terms.flags().arguments();
        other.swap(0, 4);
        assert_eq!(EntryTerms::of(&other), None);
        for line in ["'a", "'a'b", "a", "'a'  'b'", "'a' || exit 2", ""] {
            assert_eq!(unquoted(line), None, "{line}");
        }
    }

    #[test]
    fn flags_have_one_order_and_each_of_them_is_read_back() {
        let pin = Digest::parse(&"a".repeat(64));
        let flags = Flags {
            frame: Some("/f"),
            pin: pin.as_ref(),
            audit: Some("/a"),
            require_frame: true,
            decider: Some("unix:/d"),
            audit_input: true,
            deadline: Some(5),
            ..Flags::of(Policy::Frame)
        };
        let line = flags.registration("/bin/mh-hook-claude");
        let words = format!(
            "--frame /f --digest {} --policy frame --audit /a --require-frame --decider unix:/d --audit-input --deadline 5",
            "a".repeat(64)
        );
        assert_eq!((line.arguments.join(" "), line.patience), (words, 5));
        assert_eq!(Flags::of(Policy::DenyOnly).arguments(), ["--policy", "deny-only"]);
        let entry = Flags { decider: None, audit_input: false, deadline: None, ..flags };
        let plain = EntryTerms::of(&entry.arguments()).unwrap();
        for more in [
            Flags { decider: flags.decider, ..entry },
            Flags { audit_input: true, ..entry },
            Flags { deadline: flags.deadline, ..entry },
        ] {
            let terms = EntryTerms::of(&more.arguments()).unwrap();
            assert!(terms != plain && terms.agrees(&plain), "{more:?}");
            assert_eq!(terms.registration("/b").patience, more.deadline.unwrap_or(Registration::PATIENCE));
        }
        assert!(!plain.agrees(&EntryTerms { audit: None, ..plain.clone() }));
    }

    #[test]
    fn a_program_is_known_by_its_whole_name() {
        for line in ["mh-hook-claude", "/b/mh-hook-claude --x", "exec '/b/mh-hook-claude'", "A=1 mh-hook-claude;:"] {
            assert!(names(line, "mh-hook-claude"), "{line}");
        }
        for line in ["my-mh-hook-claude", "/b/mh-hook-claude.sh", "mh-hook-claude2", ""] {
            assert!(!names(line, "mh-hook-claude"), "{line}");
        }
    }
}
