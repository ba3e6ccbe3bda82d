//! Counts, which are the same on any machine: bytes, system calls, instructions, peak memory.

use std::path::{Path, PathBuf};

use crate::cases::Case;
use crate::once;

/// Runs a command under a program that counts.
pub struct Counter {
    /// The file for the counts.
    log: PathBuf,
}

impl Counter {
    pub fn new(scratch: &Path) -> Counter {
        Counter { log: scratch.join("counted") }
    }

    /// System calls, with those that start and end the process.
    pub fn system_calls(&self, case: &Case) -> Result<f64, String> {
        let text = self.under(case, |log| vec!["strace".into(), "-qq".into(), "-f".into(), "-o".into(), log])?;
        // the runtime reads the process's memory map, which is longer if the program's path is: however many reads that
        // takes, they count as one
        let (mut in_maps, mut reads) = (false, 0);
        let counts = text.lines().filter(|line| {
            if in_maps && line.contains("read(") {
                reads += 1;
                return reads == 1;
            }
            in_maps = line.contains("/proc/self/maps") || in_maps && !line.contains("close(");
            line.contains('(')
        });
        Ok(counts.count() as f64)
    }

    /// Peak resident memory in bytes.
    pub fn peak(&self, case: &Case) -> Result<f64, String> {
        let time = |log| ["/usr/bin/time", "-q", "-f", "%M", "-o"].map(String::from).into_iter().chain([log]).collect();
        let text = self.under(case, time)?;
        let kilobytes: f64 = text.trim().parse().map_err(|_| format!("time says {text:?}"))?;
        Ok(kilobytes * 1024.0)
    }

    /// Instructions, by callgrind.
    pub fn instructions(&self, case: &Case) -> Result<f64, String> {
        let text = self.under(case, |log| {
            let quiet = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(String::from);
            quiet.into_iter().chain([format!("--log-file={log}")]).collect()
        })?;
        let counted = text.lines().find_map(|line| line.split("Collected : ").nth(1));
        counted.and_then(|number| number.trim().parse().ok()).ok_or_else(|| format!("callgrind says {text}"))
    }

    fn under(&self, case: &Case, wrapper: impl FnOnce(String) -> Vec<String>) -> Result<String, String> {
        let mut command = wrapper(self.log.display().to_string());
        command.extend(case.command.iter().cloned());
        let name = format!("{} under {}", case.name, command[0]);
        once(&Case { name, command, input: case.input.clone(), exit: case.exit })?;
        std::fs::read_to_string(&self.log).map_err(|error| error.to_string())
    }
}

pub fn size(program: &str) -> Result<f64, String> {
    std::fs::metadata(program).map(|found| found.len() as f64).map_err(|error| format!("{program}: {error}"))
}
