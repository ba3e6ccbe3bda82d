//! What an entry asks of the hook, and the line that says so. One place writes it and reads it
//! back, so that a line can be told from one that only looks like ours.

use crate::adapter::Registration;
use crate::decide::Policy;
use crate::seal::Digest;

/// What the hook is told by its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The frame in force, by absolute path.
    pub frame: String,
    /// The digest it is pinned to.
    pub pin: Option<Digest>,
    /// What an admitted call is answered with.
    pub policy: Policy,
    /// Where decisions are recorded, by absolute path.
    pub audit: Option<String>,
    /// Whether `--require-frame` is said.
    pub require_frame: bool,
}

impl Terms {
    /// The hook's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut all = vec!["--frame".into(), self.frame.clone()];
        if let Some(pin) = &self.pin {
            all.extend(["--digest".into(), pin.to_string()]);
        }
        all.extend(["--policy".into(), self.policy.word().into()]);
        if let Some(audit) = &self.audit {
            all.extend(["--audit".into(), audit.clone()]);
        }
        all.extend(self.require_frame.then(|| "--require-frame".to_string()));
        all
    }

    /// The whole line.
    pub fn registration(&self, program: &str) -> Registration {
        Registration { program: program.into(), arguments: self.arguments(), patience: Registration::PATIENCE }
    }

    /// The terms of these arguments, if they are exactly what [`Terms::arguments`] gives.
    pub fn of(arguments: &[String]) -> Option<Terms> {
        let mut terms =
            Terms { frame: String::new(), pin: None, policy: Policy::Frame, audit: None, require_frame: false };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            match flag.as_str() {
                "--frame" => terms.frame.clone_from(rest.next()?),
                "--digest" => terms.pin = Some(Digest::parse(rest.next()?)?),
                "--policy" => terms.policy = Policy::from_word(rest.next()?)?,
                "--audit" => terms.audit = Some(rest.next()?.clone()),
                "--require-frame" => terms.require_frame = true,
                _ => return None,
            }
        }
        (terms.arguments() == arguments).then_some(terms)
    }
}

/// The words of a line that is nothing but words in single quotes, as [`Registration::shell_words`]
/// writes them.
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

/// Whether a command runs a program of this name, by whatever path and in whatever wrapping.
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
        let terms = Terms {
            frame: "/it's/a frame".into(),
            pin: Digest::parse(&"a".repeat(64)),
            policy: Policy::DenyOnly,
            audit: Some("/a".into()),
            require_frame: true,
        };
        assert_eq!(Terms::of(&terms.arguments()), Some(terms.clone()));
        let line = terms.registration("/bin/mh-hook-claude");
        let words = unquoted(&line.shell_words()).unwrap();
        assert_eq!((words[0].as_str(), &words[1..]), ("/bin/mh-hook-claude", &line.arguments[..]));
        let mut other = terms.arguments();
        other.push("--no-self-protect".into());
        assert_eq!(Terms::of(&other), None);
        other = terms.arguments();
        other.swap(0, 4);
        assert_eq!(Terms::of(&other), None);
        for line in ["'a", "'a'b", "a", "'a'  'b'", "'a' || exit 2", ""] {
            assert_eq!(unquoted(line), None, "{line}");
        }
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
