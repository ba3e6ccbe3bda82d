//! What a hook costs: whole processes, from start to answer, all in one run and taken in turn, so
//! that a noisy machine is noisy for everybody. Only ratios are worth reading.

mod cases;
mod payloads;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cases::{Case, Group};

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(bin), rounds) = (arguments.next(), arguments.next()) else {
        return Err("usage: bench FOLDER-OF-PROGRAMS [ROUNDS]".into());
    };
    let rounds: usize = rounds.map_or(Ok(200), |rounds| rounds.parse()).map_err(|_| "ROUNDS is a number")?;
    let scratch = std::env::temp_dir().join(format!("mh-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
    let groups = cases::groups(&bin, &scratch);
    let mut out = String::new();
    for group in groups? {
        measure(&group, rounds, &mut out)?;
    }
    let _ = std::fs::remove_dir_all(&scratch);
    std::io::stdout().write_all(out.as_bytes()).map_err(|error| error.to_string())
}

/// Run a group's cases in turn, so many rounds, and write its table.
fn measure(group: &Group, rounds: usize, out: &mut String) -> Result<(), String> {
    let rounds = (rounds / group.share).max(10);
    let mut times: Vec<Vec<Duration>> = vec![Vec::with_capacity(rounds); group.cases.len()];
    for round in 0..rounds + 2 {
        for (case, times) in group.cases.iter().zip(&mut times) {
            let taken = once(case)?;
            // the first two fill the caches
            if round >= 2 {
                times.push(taken);
            }
        }
    }
    let sorted: Vec<Vec<Duration>> = times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            times
        })
        .collect();
    let at = |times: &[Duration], share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let base = at(&sorted[0], 0.5);
    let _ = writeln!(out, "\n{} ({rounds} rounds, times of {})\n", group.title, group.cases[0].name);
    let _ = writeln!(out, "| | median | p99 | median in ms |\n|---|---|---|---|");
    for (case, times) in group.cases.iter().zip(&sorted) {
        let (median, slow) = (at(times, 0.5), at(times, 0.99));
        let _ = writeln!(out, "| {} | {:.2} | {:.2} | {median:.3} |", case.name, median / base, slow / base);
    }
    Ok(())
}

/// One whole run. The input comes from a file, or through a pipe as a vendor gives it.
fn once(case: &Case) -> Result<Duration, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", case.name);
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
        // a naive guard may stop reading early
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
