//! The bars: upper limits on counts, and on ratios of times with a margin.
//!
//! A count is the same on any machine. A ratio of times is not, so its bar lies above the measured ratio, and a ratio
//! that misses it is measured again.

use std::path::Path;

use crate::cases::{Bench, Group, KINDS, MIB, Make, READ, READ_SIZES, case};
use crate::counts::{Counter, size};
use crate::payloads::{keys, patch, payload, plain};
use crate::{measured, processor_ratio};

/// The most kilobytes of a hook above an empty static program. 0.1.1 has about 50 more than 0.1.0: paths taken in every
/// way, the list of guarded places, keys told apart under a secret.
const SIZE: f64 = 400.0;

/// The most processor time of a hook, as a multiple of a program that only reads.
const PROCESSOR: f64 = 2.5;

/// The most memory of a hook for a payload, as a multiple of the payload's size. A small call's memory is taken off
/// first, and half a MiB that an allocator keeps in pieces.
const MEMORY: f64 = 2.1;

/// The most times that a ratio is measured.
const TRIES: usize = 8;

#[derive(Default)]
struct Bars {
    missed: usize,
}

impl Bars {
    fn hold(&mut self, what: &str, found: f64, bar: f64) {
        let word = if found <= bar { "holds" } else { "MISSED" };
        eprintln!("{word:7} {what}: {found:.2}, bar {bar:.2}");
        self.missed += usize::from(found > bar);
    }

    /// Compare one case's median with another's; the least ratio of [`TRIES`] counts, since other work on the machine
    /// only adds time.
    fn ratio(&mut self, group: &Group, rounds: usize, (of, to): (usize, usize), bar: f64) -> Result<(), String> {
        let mut least = f64::INFINITY;
        for _ in 0..TRIES {
            let times = measured(group, rounds)?;
            let median = |case: usize| times[case].at(0.5);
            least = least.min(median(of) / median(to));
            if least <= bar {
                break;
            }
        }
        let what = format!("{}, {} of {}", group.title, group.cases[of].name, group.cases[to].name);
        self.hold(&what, least, bar);
        Ok(())
    }
}

pub fn check(bench: &Bench, scratch: &Path) -> Result<(), String> {
    let mut bars = Bars::default();
    let counter = Counter::new(scratch);
    for program in [&bench.claude, &bench.codex] {
        let name = program.rsplit('/').next().unwrap_or_default();
        bars.hold(&format!("{name}, KB above an empty program"), (size(program)? - size(&bench.empty)?) / 1e3, SIZE);
    }

    let read = bench.hook("an allowed Read", &payload("Read", r#"{"file_path":"/x/a.txt"}"#), 0);
    let write = bench.hook("an allowed Write", &plain(1_000), 0);
    // an allowed Read makes 45 calls; the bar leaves two for another loader or allocator
    for (case, bar) in [(&read, 47.0), (&write, 75.0)] {
        bars.hold(&format!("{}, system calls", case.name), counter.system_calls(case)?, bar);
        bars.hold(&format!("{}, peak memory in MiB", case.name), counter.peak(case)? / MIB as f64, 4.0);
    }
    for (kind, make) in KINDS {
        let peak = counter.peak(&bench.sized(make, 16 * MIB))?;
        bars.hold(&format!("16 MiB of {kind}, peak memory of its size"), peak / (16 * MIB) as f64, 1.3);
    }

    let patch = patch(16 * MIB);
    let peak = counter.peak(&case("a patch", &[&bench.codex, "--frame", &bench.small], Some(&patch), 0))?;
    bars.hold("16 MiB of patch, peak memory of its size", peak / (16 * MIB) as f64, 1.3);

    // twice the size takes twice the work, once the cost of every call is taken off
    let kinds = KINDS.into_iter().chain([("keys of one object", keys as Make)]);
    for (kind, make) in kinds {
        let mut counted = [0.0; 3];
        for (counted, bytes) in counted.iter_mut().zip([MIB / 4, MIB / 2, MIB]) {
            *counted = counter.instructions(&bench.sized(make, bytes))?;
        }
        let [quarter, half, whole] = counted;
        bars.hold(&format!("{kind}, instructions of twice as much"), (whole - half) / (half - quarter), 2.3);
    }

    bars.ratio(&bench.one_call(), 100, (3, 0), 1.3)?;
    for ((kind, make), bar) in KINDS.into_iter().zip([0.4, 0.4, 0.1]) {
        bars.ratio(&bench.payloads(kind, make, 16 * MIB), 48, (2, 0), bar)?;
    }
    if let Some((bytes, file)) = bench.frames.last() {
        bars.ratio(&bench.frame(*bytes, file), 50, (2, 0), 3.0)?;
    }
    let small = counter.peak(&read)?;
    for (kind, make) in READ {
        for bytes in READ_SIZES {
            let group = bench.reading(kind, make, bytes);
            let size = group.cases[1].input.as_ref().map_or(0, Vec::len) as f64;
            let peak = counter.peak(&group.cases[1])? - small - (MIB / 2) as f64;
            bars.hold(&format!("{}, peak memory of its size", group.title), peak / size, MEMORY);
            let mut least = f64::INFINITY;
            for _ in 0..TRIES {
                least = least.min(processor_ratio(&group, 40)?);
                if least <= PROCESSOR {
                    break;
                }
            }
            bars.hold(&format!("{}, processor time of serde_json's", group.title), least, PROCESSOR);
        }
    }
    match bars.missed {
        0 => Ok(()),
        missed => Err(format!("{missed} of the bars above are missed")),
    }
}
