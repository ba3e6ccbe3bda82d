//! Measures what a hook costs: whole processes from start to answer. The cases of a group run by turns, so that a noisy
//! machine slows all of them. Only ratios are worth reading.
// each failure is reported by a line that names the file
#![allow(clippy::disallowed_methods)]

mod bars;
mod cases;
mod counts;
mod payloads;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use cases::{Bench, Case, Group, KINDS, MIB, READ, READ_SIZES, case};
use counts::{Counter, size};

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(bin), Some(serde), what) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: bench FOLDER-OF-PROGRAMS PROGRAM-THAT-ONLY-READS [ROUNDS | --bars]".into());
    };
    let scratch = std::env::temp_dir().join(format!("mh-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
    let done = Bench::new(bin, serde, &scratch).and_then(|bench| match what.as_deref() {
        Some("--bars") => bars::check(&bench, &scratch),
        Some(rounds) => tables(&bench, &scratch, rounds.parse().map_err(|_| "ROUNDS is a number")?),
        None => tables(&bench, &scratch, 200),
    });
    let _ = std::fs::remove_dir_all(&scratch);
    done
}

fn tables(bench: &Bench, scratch: &Path, rounds: usize) -> Result<(), String> {
    let mut out = String::new();
    counted(bench, &Counter::new(scratch), &mut out)?;
    for group in [bench.one_call(), bench.lines()] {
        table(&group, rounds, &mut out)?;
    }
    for (kind, make) in KINDS {
        let mut slope = Slope::default();
        for bytes in [1 << 10, 1 << 16, MIB, 16 * MIB, 63 * MIB] {
            slope.point(bytes, table(&bench.payloads(kind, make, bytes), rounds, &mut out)?);
        }
        slope.say(&["jq", "wc", "mh-hook-claude"], &mut out);
    }
    table(&bench.too_large(), rounds, &mut out)?;
    reading(bench, &Counter::new(scratch), rounds, &mut out)?;
    let mut slope = Slope::default();
    for (bytes, file) in &bench.frames {
        slope.point(*bytes, table(&bench.frame(*bytes, file), rounds, &mut out)?);
    }
    slope.say(&["sha256sum", "mh-frame-verify", "mh-hook-claude"], &mut out);
    std::io::stdout().write_all(out.as_bytes()).map_err(|error| error.to_string())
}

/// A table of reading costs, in comparison with a program that only reads.
fn reading(bench: &Bench, counter: &Counter, rounds: usize, out: &mut String) -> Result<(), String> {
    let _ = writeln!(out, "\n| a payload | processor time of serde_json's | peak memory of its size |\n|---|---|---|");
    for (kind, make) in READ {
        for bytes in READ_SIZES {
            let group = bench.reading(kind, make, bytes);
            let peak = counter.peak(&group.cases[1])?;
            let size = group.cases[1].input.as_ref().map_or(0, Vec::len) as f64;
            let _ = writeln!(out, "| {} | {:.2} | {:.2} |", group.title, processor_ratio(&group, rounds)?, peak / size);
        }
    }
    Ok(())
}

/// The processor time of a group's second case as a multiple of the first's. The least of all rounds counts, since
/// other work on the machine only adds time.
fn processor_ratio(group: &Group, rounds: usize) -> Result<f64, String> {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..(rounds / group.share).max(5) {
        for (case, least) in group.cases.iter().zip(&mut least) {
            let before = processor()?;
            once(case)?;
            *least = least.min(processor()? - before);
        }
    }
    Ok(least[1] / least[0])
}

/// The processor time of all children that have ended, in seconds.
fn processor() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    let times = [usage.user_time(), usage.system_time()];
    Ok(times.iter().map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6).sum())
}

/// A table of counts: sizes, system calls, memory, instructions.
fn counted(bench: &Bench, counter: &Counter, out: &mut String) -> Result<(), String> {
    let programs =
        ["empty", "mh-hook-claude", "mh-hook-codex", "mh-frame-seal", "mh-frame-verify", "mh-setup", "mh-run"];
    let _ = writeln!(out, "\n| program | bytes |\n|---|---|");
    for program in programs {
        let _ = writeln!(out, "| {program} | {} |", size(&format!("{}/{program}", bench.bin))?);
    }
    let _ = writeln!(out, "\n| | system calls | peak memory in KiB | instructions |\n|---|---|---|---|");
    let mut cases = bench.one_call().cases;
    cases.truncate(9);
    for (kind, make) in KINDS {
        cases.push(Case { name: format!("16 MiB, {kind}"), ..bench.sized(make, 16 * MIB) });
    }
    cases.push(Case { name: "16 MiB, keys of one object".into(), ..bench.sized(payloads::keys, 16 * MIB) });
    let (_, largest) = &bench.frames[bench.frames.len() - 1];
    cases.push(case("the largest frame", &[&bench.claude, "--frame", largest], Some(&payloads::plain(300)), 0));
    for case in &cases {
        let (calls, peak) = (counter.system_calls(case)?, counter.peak(case)? / 1024.0);
        let _ = writeln!(out, "| {} | {calls} | {peak} | {} |", case.name, counter.instructions(case)?);
    }
    Ok(())
}

/// The times of one case, sorted.
pub struct Times(Vec<Duration>);

impl Times {
    /// The time in milliseconds that this share of the runs is below.
    pub fn at(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
    }
}

/// Run a group's cases by turns for so many rounds.
pub fn measured(group: &Group, rounds: usize) -> Result<Vec<Times>, String> {
    let rounds = (rounds / group.share).max(5);
    let mut times: Vec<Vec<Duration>> = vec![Vec::with_capacity(rounds); group.cases.len()];
    for round in 0..rounds + 2 {
        for (case, times) in group.cases.iter().zip(&mut times) {
            let taken = once(case)?;
            // the first two rounds fill the caches
            if round >= 2 {
                times.push(taken);
            }
        }
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    Ok(times.into_iter().map(Times).collect())
}

/// Measure a group, write its table and return the medians.
fn table(group: &Group, rounds: usize, out: &mut String) -> Result<Vec<f64>, String> {
    let times = measured(group, rounds)?;
    let base = times[0].at(0.5);
    let _ = writeln!(out, "\n{} ({} rounds, times of {})\n", group.title, times[0].0.len(), group.cases[0].name);
    let _ = writeln!(out, "| | median | p99 | median in ms |\n|---|---|---|---|");
    for (case, times) in group.cases.iter().zip(&times) {
        let (median, slow) = (times.at(0.5), times.at(0.99));
        let _ = writeln!(out, "| {} | {:.2} | {:.2} | {median:.3} |", case.name, median / base, slow / base);
    }
    Ok(times.iter().map(|times| times.at(0.5)).collect())
}

/// The cost of one more MiB, from each size to the next.
#[derive(Default)]
struct Slope {
    points: Vec<(usize, Vec<f64>)>,
}

impl Slope {
    fn point(&mut self, bytes: usize, medians: Vec<f64>) {
        self.points.push((bytes, medians));
    }

    /// Write the last slopes, each as a multiple of the first program's.
    fn say(&self, names: &[&str], out: &mut String) {
        for step in self.points.windows(2).rev().take(2).rev() {
            let [(less, before), (more, after)] = step else { continue };
            let slopes: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
            let said: Vec<String> =
                names.iter().zip(&slopes).map(|(name, slope)| format!("{name} {:.2}", slope / slopes[0])).collect();
            let _ = writeln!(out, "\na byte more from {} to {} KiB: {}", less / 1024, more / 1024, said.join(", "));
        }
    }
}

/// Run a case once, with its input in a pipe as a vendor gives it.
pub fn once(case: &Case) -> Result<Duration, String> {
    let failed = |error: std::io::Error| format!("{}: {}: {error}", case.name, case.command[0]);
    let stdin = match &case.input {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    };
    let start = Instant::now();
    let mut child = Command::new(&case.command[0])
        .args(&case.command[1..])
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let (Some(input), Some(mut pipe)) = (&case.input, child.stdin.take()) {
        // a naive guard may stop reading before the end
        let _ = pipe.write_all(input);
    }
    let output = child.wait_with_output().map_err(failed)?;
    let taken = start.elapsed();
    match output.status.code() == Some(case.exit) {
        true => Ok(taken),
        false => {
            Err(format!("{}: ended with {}: {}", case.name, output.status, String::from_utf8_lossy(&output.stderr)))
        }
    }
}
