//! The suite's arguments.

use std::path::PathBuf;
use std::time::Duration;

pub struct Options {
    /// The vendor's version; `None` leaves its cases out.
    pub claude: Option<String>,
    pub codex: Option<String>,
    pub only: Vec<String>,
    /// Run the cases beyond the default set too. A case that `only` names runs in any case.
    pub all: bool,
    pub jobs: usize,
    pub keep: bool,
    /// Print the details of passing cases too.
    pub verbose: bool,
    pub list: bool,
    /// Write what is recorded of the vendors anew.
    pub record: bool,
    pub bin: PathBuf,
    pub npm: PathBuf,
    pub runs: PathBuf,
    pub limit: Duration,
}

const USAGE: &str = "usage: vendor-suite [--claude VERSION|none] [--codex VERSION|none] [--all] [--only SUBSTRING]... \
                     [--jobs N] [--keep] [--verbose] [--list] [--record] [--bin DIR] [--npm DIR] [--runs DIR] [--limit SECONDS]";

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let here = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
        let mut options = Options {
            claude: Some("2.1.332".into()),
            codex: Some("0.171.0".into()),
            only: Vec::new(),
            all: false,
            jobs: cores * 2,
            keep: false,
            verbose: false,
            list: false,
            record: false,
            bin: here.parent().map(PathBuf::from).unwrap_or_default(),
            npm: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("npm"),
            // Neither /tmp nor TMPDIR: Codex's sandbox may always write there.
            runs: PathBuf::from("/var/tmp"),
            limit: Duration::from_secs(90),
        };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            match flag.as_str() {
                "--all" => options.all = true,
                "--keep" => options.keep = true,
                "--verbose" => options.verbose = true,
                "--list" => options.list = true,
                "--record" => options.record = true,
                "--claude" | "--codex" | "--only" | "--jobs" | "--bin" | "--npm" | "--runs" | "--limit" => {
                    let value = rest.next().ok_or_else(|| format!("{flag} needs a value; {USAGE}"))?;
                    options.set(flag, value)?;
                }
                _ => return Err(format!("no such argument: {flag}; {USAGE}")),
            }
        }
        Ok(options)
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<(), String> {
        let version = || (value != "none").then(|| value.to_string());
        let number = || value.parse::<u64>().map_err(|_| format!("{flag} needs a number, not {value}"));
        match flag {
            "--claude" => self.claude = version(),
            "--codex" => self.codex = version(),
            "--only" => self.only.push(value.to_string()),
            "--jobs" => self.jobs = usize::try_from(number()?).unwrap_or(1).max(1),
            "--limit" => self.limit = Duration::from_secs(number()?),
            "--bin" => self.bin = PathBuf::from(value),
            "--npm" => self.npm = PathBuf::from(value),
            _ => self.runs = PathBuf::from(value),
        }
        Ok(())
    }
}
