//! Instructions per event, of the whole process and of each stage, counted by Callgrind: they repeat where times on a shared machine do not.
//!
//! A conversion of a capture and one of a longer capture are subtracted, so that starting, recognising the format and the like, which do
//! not grow with the input, do not count. The baseline is kept per version of the compiler and kind of processor.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::bench::{self, Capture};
use crate::scaling::Costs;

/// The stages, and what the name of the function that is a stage's entry ends with. Without time that the allocator of one stage spends for
/// another they add up to nearly all.
const STAGES: [(&str, &str); 5] = [
    ("scan", "ErasedRecording>::scan"),
    ("decode", "ErasedDecode>::decode"),
    ("resolve", "ErasedResolve>::resolve"),
    ("draw", "timeline::Timeline::consume"),
    ("encode", "perfetto::block::Encoder::encode_block"),
];

/// The sizes of the two captures in bytes.
const SIZES: [u64; 2] = [1_000_000, 3_000_000];

/// Numbers of threads for which the speed-up is calculated.
const THREADS: [usize; 4] = [2, 4, 16, 64];

/// Makes the C library copy and fill in a loop. Callgrind counts each byte of `rep movsb`, which it takes for large blocks, as an
/// instruction, and how often a growing block is copied depends on what else is on the heap.
const TUNABLES: &str =
    "glibc.cpu.x86_rep_movsb_threshold=0x7fffffffffffffff:glibc.cpu.x86_rep_stosb_threshold=0x7fffffffffffffff";

/// How far the whole may be from its baseline, as a share of it.
const TOLERANCE: f64 = 0.03;

const BASELINE: &str = "benches/instructions.json";

/// Instructions per event: the whole under `all`, and the stages.
type Counts = BTreeMap<String, f64>;

/// By compiler and processor, then by format.
#[derive(Default, Deserialize, Serialize)]
#[serde(transparent)]
struct Baseline(BTreeMap<String, BTreeMap<String, Counts>>);

/// What to do with the baseline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// Print the difference.
    Show,
    /// Fail if one is beyond the tolerance.
    Check,
    /// Replace it.
    Write,
}

/// Counts for each format, prints a table, and compares it with the baseline.
pub fn run(converter: &Path, folder: &Path, formats: &[&dyn traceconv::format::Format], compare: Compare) -> anyhow::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(BASELINE);
    let mut baseline: Baseline = match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("{BASELINE} is not valid"))?,
        Err(_) => Baseline::default(),
    };
    let environment = environment()?;
    let known = baseline.0.get(&environment).cloned().unwrap_or_default();
    println!("instructions per event  {:>8} {:>9}", "all", "baseline");
    let mut beyond = Vec::new();
    let mut counted = BTreeMap::new();
    for format in formats {
        let name = format.name();
        let counts = count(converter, folder, *format)?;
        let all = counts["all"];
        let old = known.get(name).and_then(|counts| counts.get("all"));
        let change = old.map(|old| all / old - 1.0);
        let stages: Vec<String> = STAGES.iter().map(|(stage, _)| format!("{stage} {:.0}", counts[*stage])).collect();
        let change_text = change.map_or("none".to_owned(), |change| format!("{:+.1} %", 100.0 * change));
        println!("{name:<22}  {all:>8.0} {change_text:>9}  {}", stages.join(", "));
        let costs = costs(&counts);
        let speedups: Vec<String> =
            THREADS.iter().map(|&threads| format!("{:.1} with {threads}", costs.speedup(threads))).collect();
        println!("{:<22}  {:>8} {:>9}  calculated speed-up: {} threads", "", "", "", speedups.join(", "));
        if change.is_some_and(|change| change.abs() > TOLERANCE) {
            beyond.push(format!("{name} {change_text}"));
        }
        counted.insert(name.to_owned(), counts);
    }
    match compare {
        Compare::Write => {
            baseline.0.entry(environment).or_default().extend(counted);
            fs::write(&path, serde_json::to_string_pretty(&baseline)? + "\n")
                .with_context(|| format!("cannot write {BASELINE}"))?;
            println!("Wrote {BASELINE}.");
        }
        Compare::Check if known.is_empty() => println!("{BASELINE} has no figures for {environment}: nothing was compared."),
        Compare::Check => ensure!(
            beyond.is_empty(),
            "instructions per event are more than {:.0} % off {BASELINE}: {}. If that is intended: cargo xtask bench --instructions --bless",
            100.0 * TOLERANCE,
            beyond.join(", ")
        ),
        Compare::Show => {}
    }
    Ok(())
}

fn costs(counts: &Counts) -> Costs {
    let of = |stage: &str| counts.get(stage).copied().unwrap_or(0.0);
    let stages: f64 = STAGES.iter().map(|(stage, _)| of(stage)).sum();
    let rest = (of("all") - stages).max(0.0);
    Costs { scan: of("scan"), decode: of("decode"), encode: of("encode"), resolve: of("resolve"), draw: of("draw"), rest }
}

/// The version of the compiler, for what it compiles, and whether the processor has AVX2: some libraries then take other paths.
fn environment() -> anyhow::Result<String> {
    let out = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8(out.stdout).context("rustc -vV is not UTF-8")?;
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).context("rustc -vV is incomplete");
    #[cfg(target_arch = "x86_64")]
    let extension = if std::is_x86_feature_detected!("avx2") { " avx2" } else { "" };
    #[cfg(not(target_arch = "x86_64"))]
    let extension = "";
    Ok(format!("{} {}{extension}", field("release:")?, field("host:")?))
}

fn count(converter: &Path, folder: &Path, format: &dyn traceconv::format::Format) -> anyhow::Result<Counts> {
    let mut totals = Vec::new();
    for bytes in SIZES {
        let capture = bench::capture(folder, format, bytes)?;
        let output = folder.join("bench.perfetto-trace");
        let events = bench::events(converter, &capture, &output)?;
        totals.push((events, callgrind(converter, folder, &capture)?));
    }
    let [(few, short), (many, long)] = totals.as_slice() else { bail!("two captures are compared") };
    let events = many.saturating_sub(*few);
    ensure!(events > 0, "the longer capture of {} has no more events", format.name());
    Ok(long
        .iter()
        .map(|(name, &count)| {
            let base = short.get(name).copied().unwrap_or(0);
            // Tenths are enough, and make a small change of the baseline a small difference.
            (name.clone(), (count.saturating_sub(base) as f64 / events as f64 * 10.0).round() / 10.0)
        })
        .collect())
}

/// The instructions of one conversion with one thread: all, and of each stage.
fn callgrind(converter: &Path, folder: &Path, capture: &Capture) -> anyhow::Result<BTreeMap<String, u64>> {
    let (counts, output) = (folder.join("callgrind.out"), folder.join("bench.perfetto-trace"));
    let convert = bench::convert(converter, capture, &output, 1);
    let status = Command::new("valgrind")
        .env("GLIBC_TUNABLES", TUNABLES)
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(convert.get_program())
        .args(convert.get_args())
        .status()
        .context("cannot run valgrind, which counts instructions: install it (apt-get install valgrind)")?;
    ensure!(status.success(), "{convert:?} failed below valgrind: {status}");
    let listed = Command::new("callgrind_annotate")
        .args(["--inclusive=yes", "--threshold=100"])
        .arg(&counts)
        .output()
        .context("cannot run callgrind_annotate, which comes with valgrind")?;
    parse(&String::from_utf8_lossy(&listed.stdout))
}

/// The figures in what `callgrind_annotate --inclusive=yes` prints: lines like `1,234 (5.67%)  file:function [object]`.
fn parse(listed: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut counts: BTreeMap<String, u64> = STAGES.iter().map(|(stage, _)| ((*stage).to_owned(), 0)).collect();
    for line in listed.lines() {
        let line = line.trim_start();
        let Some((number, rest)) = line.split_once([' ', '(']) else { continue };
        let Ok(count) = number.replace(',', "").parse::<u64>() else { continue };
        if rest.contains("PROGRAM TOTALS") {
            counts.insert("all".into(), count);
        }
        let function = rest.rsplit_once(" [").map_or(rest, |(function, _)| function).trim_end();
        if let Some((stage, _)) = STAGES.iter().find(|(_, end)| function.ends_with(end)) {
            // A stage with several types is several functions.
            *counts.entry((*stage).to_owned()).or_default() += count;
        }
    }
    ensure!(counts.contains_key("all"), "callgrind_annotate printed no total");
    let missing: Vec<&str> = STAGES.iter().map(|(stage, _)| *stage).filter(|stage| counts[*stage] == 0).collect();
    ensure!(missing.is_empty(), "no instructions of {}: were its functions renamed or inlined?", missing.join(", "));
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_and_stages_are_read() {
        let listed = "\
Profile data file 't6.cg'
782,328,663 (100.0%)  PROGRAM TOTALS
166,651,872 (21.30%)  ???:<traceconv::format::stages::Adapter<R> as traceconv::format::stages::ErasedResolve>::resolve [/t/traceconv]
  1,000,000 ( 0.13%)  ???:<traceconv::format::stages::Adapter<Q> as traceconv::format::stages::ErasedResolve>::resolve [/t/traceconv]
165,525,833 (21.16%)  ???:<traceconv::format::stages::Adapter<D> as traceconv::format::stages::ErasedDecode>::decode [/t/traceconv]
165,308,151 (21.13%)  ???:traceconv::timeline::Timeline::consume [/t/traceconv]
172,059,845 (21.99%)  ???:traceconv::perfetto::block::Encoder::encode_block [/t/traceconv]
 49,260,124 ( 6.30%)  ???:<traceconv::format::stages::Adapter<R> as traceconv::format::stages::ErasedRecording>::scan [/t/traceconv]";
        let counts = parse(listed).unwrap();
        assert_eq!(counts["all"], 782_328_663);
        assert_eq!(counts["resolve"], 167_651_872);
        assert_eq!(counts["scan"], 49_260_124);
        let without = listed.lines().filter(|line| !line.contains("encode_block")).collect::<Vec<_>>().join("\n");
        assert!(parse(&without).unwrap_err().to_string().contains("no instructions of encode"));
    }
}
