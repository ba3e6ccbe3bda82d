//! The hook's options, from its arguments and its environment.
//!
//! A mistake is remembered: the payload has to be read to its end first, and the event decides whether a mistake is
//! answered at all.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Decider;
use crate::adapter::{Environment, Registration};
use crate::decide::Policy;
use crate::os::mistake::{Mistake, misread, value};
use crate::seal::Digest;

/// The time from the process's start in which stdin and the decider must be done. The entry's own limit lies above it.
pub const DEADLINE: Duration = Duration::from_secs(Registration::PATIENCE as u64);

/// The longest possible deadline in seconds: Claude Code's own default for a hook.
pub const LONGEST_DEADLINE: u32 = 600;

/// The options of a hook, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOptions {
    /// The absolute path of the frame in force.
    pub frame: Option<PathBuf>,
    /// Whether a call is denied where no frame is in force.
    pub require_frame: bool,
    /// The digest that the frame must have.
    pub pin: Option<Digest>,
    /// The answer to an admitted call.
    pub policy: Policy,
    /// The absolute path of the audit, which gets a line a decision.
    pub audit: Option<PathBuf>,
    /// Whether the audit line also has the tool's input, which may hold secrets.
    pub audit_input: bool,
    /// The party that is asked about a call that the frame admits.
    pub decider: Option<Decider>,
    /// The time for the whole process.
    pub deadline: Duration,
    /// Whether writes to the guarded places are denied.
    pub self_protect: bool,
    /// Whether nobody can approve a call, and there is no entry that somebody could remove.
    pub unattended: bool,
    /// The first mistake in these options, in words.
    pub mistake: Option<String>,
}

impl Default for HookOptions {
    fn default() -> Self {
        HookOptions {
            frame: None,
            require_frame: false,
            pin: None,
            policy: Policy::Frame,
            audit: None,
            audit_input: false,
            decider: None,
            deadline: DEADLINE,
            self_protect: true,
            unattended: false,
            mistake: None,
        }
    }
}

/// A setting that has both a flag and a variable.
struct Setting {
    flag: &'static str,
    variable: &'static str,
}

const SETTINGS: [Setting; 7] = [
    Setting { flag: "frame", variable: "MH_FRAME" },
    Setting { flag: "digest", variable: "MH_FRAME_DIGEST" },
    Setting { flag: "policy", variable: "MH_POLICY" },
    Setting { flag: "audit", variable: "MH_AUDIT" },
    Setting { flag: "deadline", variable: "MH_DEADLINE" },
    Setting { flag: "require-frame", variable: "MH_REQUIRE_FRAME" },
    Setting { flag: "decider", variable: "MH_DECIDER" },
];

impl HookOptions {
    /// Take the arguments, without the program's name, and the environment.
    ///
    /// With `--frame`, the command line is the only source: a variable is accepted only if it has the same value.
    /// Without `--frame`, a flag beside a variable of another value is a mistake too.
    pub fn take(arguments: impl IntoIterator<Item = OsString>, environment: Environment<'_>) -> HookOptions {
        let mut setup = HookOptions::default();
        let mut values: [Option<OsString>; SETTINGS.len()] = Default::default();
        if let Err(why) = setup.flags(arguments, &mut values) {
            setup.mistaken(why);
        }
        let by_command_line = values[0].is_some();
        for (setting, value) in SETTINGS.iter().zip(&mut values) {
            let Some(told) = environment(setting.variable) else { continue };
            match value {
                Some(value) if *value == told => {}
                None if !by_command_line => *value = Some(told),
                _ => setup.mistaken(format!(
                    "the environment has {}=\"{}\", and the command line does not say the same by --{}: settings come from \
                     one place, so take the variable out",
                    setting.variable,
                    clear(&told),
                    setting.flag
                )),
            }
        }
        for (setting, value) in SETTINGS.iter().zip(values) {
            let Some(value) = value else { continue };
            if let Err(takes) = setup.set(setting.flag, &value) {
                let flag = format!("--{} (or {})", setting.flag, setting.variable);
                setup.mistaken(Mistake::Takes(&flag, &takes, &clear(&value)).to_string());
            }
        }
        if setup.pin.is_some() && setup.frame.is_none() {
            setup.mistaken(
                "a digest is given and no frame that could have it; give --frame (or MH_FRAME) as well".into(),
            );
        }
        if setup.decider.is_some() && setup.frame.is_none() {
            setup.mistaken(
                "a decider is given and no frame that it could narrow; give --frame (or MH_FRAME) as well".into(),
            );
        }
        setup
    }

    fn flags(
        &mut self,
        arguments: impl IntoIterator<Item = OsString>,
        values: &mut [Option<OsString>],
    ) -> Result<(), String> {
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next().map_err(|error| misread(&error))? {
            let flag = match argument {
                lexopt::Arg::Long("no-self-protect") => {
                    self.self_protect = false;
                    continue;
                }
                lexopt::Arg::Long("unattended") => {
                    self.unattended = true;
                    continue;
                }
                lexopt::Arg::Long("audit-input") => {
                    self.audit_input = true;
                    continue;
                }
                lexopt::Arg::Long(flag) => flag.to_string(),
                lexopt::Arg::Short(flag) => return Err(unknown(&Mistake::NoFlag(&format!("-{flag}")))),
                lexopt::Arg::Value(value) => return Err(unknown(&Mistake::NoArgument(&clear(&value)))),
            };
            let Some(at) = SETTINGS.iter().position(|setting| setting.flag == flag) else {
                return Err(unknown(&Mistake::NoFlag(&format!("--{}", flag.escape_default()))));
            };
            let flag = format!("--{flag}");
            let value = match SETTINGS[at].flag {
                "require-frame" => "1".into(),
                _ => value(&mut parser).map_err(|next| Mistake::NoValue(&flag, next.as_deref()).to_string())?,
            };
            if values[at].replace(value).is_some() {
                return Err(Mistake::Twice(&flag).to_string());
            }
        }
        Ok(())
    }

    fn set(&mut self, flag: &str, value: &OsStr) -> Result<(), String> {
        let word = value.to_str().unwrap_or_default();
        match flag {
            "frame" => self.frame = Some(absolute(value)?),
            "audit" => self.audit = Some(absolute(value)?),
            "digest" => {
                self.pin = Some(Digest::parse(word).ok_or(HEX)?);
            }
            "policy" => {
                self.policy = Policy::from_word(word).ok_or("frame or deny-only")?;
            }
            "deadline" => {
                let seconds = word.parse().ok().filter(|seconds| (1..=LONGEST_DEADLINE).contains(seconds));
                let seconds = seconds.ok_or("a whole number of seconds from 1 to 600")?;
                self.deadline = Duration::from_secs(u64::from(seconds));
            }
            "require-frame" => {
                self.require_frame = true;
                if word != "1" {
                    return Err("1, or nothing at all".into());
                }
            }
            _ => self.decider = Some(Decider::parse(value).ok_or(Decider::TAKES)?),
        }
        Ok(())
    }

    fn mistaken(&mut self, why: String) {
        self.mistake.get_or_insert(why);
    }
}

/// The form of `--digest`'s value.
const HEX: &str = "64 lower-case hexadecimal digits";

/// The message about an unknown word that resembles no option.
fn unknown(mistake: &Mistake<'_>) -> String {
    format!("{mistake}; see --help")
}

fn absolute(value: &OsStr) -> Result<PathBuf, String> {
    match Path::new(value) {
        path if path.is_absolute() => Ok(path.into()),
        // the agent can change the working folder
        _ => Err("an absolute path".into()),
    }
}

/// A word in characters that every reader of a reason accepts.
fn clear(value: &OsStr) -> String {
    let shown = crate::frame::shown(&value.to_string_lossy());
    crate::decide::clipped(&shown, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(arguments: &[&str], variables: &[(&str, &str)]) -> HookOptions {
        let environment = |name: &str| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
        };
        HookOptions::take(arguments.iter().map(OsString::from), &environment)
    }

    #[test]
    fn nothing_at_all_is_no_frame_and_no_mistake() {
        assert_eq!(take(&[], &[]), HookOptions::default());
    }

    #[test]
    fn every_setting_is_taken_from_either_source() {
        let pin = "0".repeat(64);
        let by_flag = take(
            &[
                "--frame",
                "/f",
                "--digest",
                &pin,
                "--policy",
                "deny-only",
                "--audit",
                "/a",
                "--deadline",
                "5",
                "--require-frame",
                "--decider",
                "unix:/d",
            ],
            &[],
        );
        let by_variable = take(
            &[],
            &[
                ("MH_FRAME", "/f"),
                ("MH_FRAME_DIGEST", &pin),
                ("MH_POLICY", "deny-only"),
                ("MH_AUDIT", "/a"),
                ("MH_DEADLINE", "5"),
                ("MH_REQUIRE_FRAME", "1"),
                ("MH_DECIDER", "unix:/d"),
            ],
        );
        assert_eq!(by_flag, by_variable);
        assert_eq!(by_flag.mistake, None);
        assert_eq!(by_flag.policy, Policy::DenyOnly);
        assert_eq!(by_flag.deadline, Duration::from_secs(5));
        assert!(by_flag.require_frame && by_flag.pin.is_some() && by_flag.decider.is_some());
    }

    #[test]
    fn with_a_frame_on_the_command_line_a_variable_may_only_repeat_it() {
        assert_eq!(take(&["--frame", "/f"], &[("MH_FRAME", "/f")]).mistake, None);
        for (variable, value) in [
            ("MH_FRAME", "/g"),
            ("MH_POLICY", "frame"),
            ("MH_AUDIT", "/a"),
            ("MH_DECIDER", "exec:/x"),
            ("MH_DEADLINE", ""),
        ] {
            let mistake = take(&["--frame", "/f"], &[(variable, value)]).mistake.unwrap();
            assert!(mistake.starts_with(&format!("the environment has {variable}=")), "{mistake}");
        }
    }

    #[test]
    fn a_flag_without_a_frame_holds_against_the_environment() {
        let setup = take(&["--policy", "deny-only"], &[("MH_FRAME", "/f")]);
        assert_eq!((setup.policy, setup.mistake), (Policy::DenyOnly, None));
        assert!(take(&["--policy", "deny-only"], &[("MH_FRAME", "/f"), ("MH_POLICY", "frame")]).mistake.is_some());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (arguments, wanted) in [
            (&["--frame", ""][..], "--frame (or MH_FRAME) takes an absolute path, not \"\""),
            (&["--frame", "f.json"], "--frame (or MH_FRAME) takes an absolute path, not \"f.json\""),
            (&["--frame"], "--frame takes a value, and none is given"),
            (
                &["--frame", "--digest", "0"],
                "--frame takes a value, and behind it stands --digest; a value that begins with - is joined: --frame=VALUE",
            ),
            (&["--frame", "/f", "--frame", "/f"], "--frame is given twice"),
            (
                &["--frame", "/f", "--digest", "ABC"],
                "--digest (or MH_FRAME_DIGEST) takes 64 lower-case hexadecimal digits, not \"ABC\"",
            ),
            (&["--policy", "Frame"], "--policy (or MH_POLICY) takes frame or deny-only, not \"Frame\""),
            (
                &["--deadline", "0"],
                "--deadline (or MH_DEADLINE) takes a whole number of seconds from 1 to 600, not \"0\"",
            ),
            (&["--decider", "/x"], "--decider (or MH_DECIDER) takes exec:/abs/program or unix:/abs/socket, not \"/x\""),
            (&["--fame", "/f"], "there is no flag --fame; see --help"),
            (&["-x"], "there is no flag -x; see --help"),
            (&["/f"], "there is no argument \"/f\"; see --help"),
            (&["--require-frame=0"], "--require-frame takes no value, and is given \"0\""),
        ] {
            assert_eq!(take(arguments, &[]).mistake.as_deref(), Some(wanted));
        }
        assert!(
            take(&["--digest", &"0".repeat(64)], &[]).mistake.unwrap().starts_with("a digest is given and no frame")
        );
        let alone = take(&[], &[("MH_DECIDER", "exec:/d")]).mistake.unwrap();
        assert!(alone.starts_with("a decider is given and no frame"), "{alone}");
        assert!(take(&[], &[("MH_REQUIRE_FRAME", "0")]).mistake.is_some());
    }
}
