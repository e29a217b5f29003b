//! Statistics gathered while a trace is made, and statistics of a part of a recording: of every capture that comes with the program.

#[path = "common/mod.rs"]
mod common;
mod reader;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::run::{Cut, Subject, options};
use traceconv::input::detect;
use traceconv::model::Nanos;
use traceconv::pipeline::{self, Gathered, Options, Source, TimeBound};
use traceconv::stats::report::StatisticsReport;

/// All captures of the formats, with their format as recognised by content.
fn captures() -> Vec<(PathBuf, Vec<u8>, Subject)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")];
    let mut captures = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_capture = path.extension().is_some_and(|extension| extension == "bin" || extension == "stp");
            let bytes = std::fs::read(&path).unwrap();
            if is_capture && let Ok(detected) = detect::detect(&bytes, &[]) {
                captures.push((path, bytes, Subject::new(detected.format.name())));
            }
        }
    }
    captures.sort_by(|one, other| one.0.cmp(&other.0));
    let formats: std::collections::BTreeSet<_> = captures.iter().map(|(_, _, subject)| subject.format.name()).collect();
    assert!(captures.len() > 50 && formats.len() >= 5, "{} captures, {formats:?}", captures.len());
    captures
}

fn source<'a>(subject: &Subject, capture: &'a [u8]) -> Source<'a> {
    Source::new(capture, subject.format).options(subject.options.clone())
}

fn gather(subject: &Subject, capture: &[u8], options: &Options) -> Gathered {
    pipeline::statistics(&[source(subject, capture)], options, true, &mut |_| true).expect("damage is no error")
}

fn between(cut: Cut, from_ns: u64, to_ns: u64) -> Options {
    let bound = |ns| Some(TimeBound::Absolute(Nanos(ns)));
    options(cut).from(bound(from_ns)).to(bound(to_ns))
}

/// The first and the last time of a recording, and one in the middle of it.
fn times(report: &StatisticsReport) -> Option<(u64, u64, u64)> {
    let (first_ns, last_ns) = (report.first_ns?, report.last_ns?);
    Some((first_ns, first_ns + (last_ns - first_ns) * 3 / 7, last_ns))
}

#[test]
fn a_conversion_gathers_what_statistics_alone_do() {
    for (path, capture, subject) in captures() {
        let name = path.display();
        let whole = gather(&subject, &capture, &options(Cut::WHOLE));
        let Some((_, middle_ns, last_ns)) = times(&whole.statistics) else { continue };
        for range in [options(Cut::WHOLE), between(Cut::WHOLE, middle_ns / 2, (middle_ns + last_ns) / 2)] {
            let alone = gather(&subject, &capture, &range);
            for cut in [Cut::WHOLE, Cut::SMALL] {
                let cut = range.clone().threads(cut.threads).window_bytes(cut.window_bytes).statistics(true);
                let mut trace = Vec::new();
                let converted = pipeline::convert(&[source(&subject, &capture)], &cut, &mut trace, &mut |_| true).unwrap();
                assert_eq!(converted.statistics.first(), Some(&alone.statistics), "{name}");
                let without = subject.convert_with(&capture, &cut.statistics(false)).trace;
                assert!(trace == without, "statistics change the trace of {name}");
            }
        }
    }
}

/// The use of every nanosecond: of each core, task and interrupt, by all its distinguishing fields.
fn spent(report: &StatisticsReport) -> BTreeMap<String, u64> {
    let mut spent = BTreeMap::new();
    for core in &report.cores {
        let known_ns = core.busy_ns + core.idle_ns + core.interrupts_ns;
        let (first_ns, last_ns) = (report.first_ns.unwrap(), report.last_ns.unwrap());
        assert_eq!(known_ns + core.unknown_ns, last_ns - first_ns, "core {}", core.core);
        spent.insert(format!("core {}", core.core), known_ns);
    }
    for task in &report.tasks {
        let key = format!("task {} {} {}", task.name, task.number, task.session);
        *spent.entry(format!("{key} suspended")).or_default() += task.suspended_ns;
        *spent.entry(key).or_default() += task.run_ns;
    }
    for isr in &report.interrupts {
        *spent.entry(format!("isr {} {} {} {}", isr.name, isr.number, isr.core, isr.session)).or_default() += isr.self_ns;
    }
    spent.retain(|_, &mut spent_ns| spent_ns > 0);
    spent
}

#[test]
fn the_parts_of_a_recording_make_up_the_whole() {
    let mut compared = 0;
    for (path, capture, subject) in captures() {
        let whole = gather(&subject, &capture, &options(Cut::WHOLE)).statistics;
        let Some((first_ns, middle_ns, last_ns)) = times(&whole) else { continue };
        let mut sum: BTreeMap<String, u64> = BTreeMap::new();
        for (from_ns, to_ns) in [(first_ns, middle_ns), (middle_ns, last_ns)] {
            let part = gather(&subject, &capture, &between(Cut::WHOLE, from_ns, to_ns));
            let pieces = gather(&subject, &capture, &between(Cut::SMALL, from_ns, to_ns));
            assert_eq!(part.statistics, pieces.statistics, "{}", path.display());
            assert_eq!(part.folded, pieces.folded, "{}", path.display());
            if part.statistics.first_ns.is_some() {
                spent(&part.statistics).into_iter().for_each(|(key, spent_ns)| *sum.entry(key).or_default() += spent_ns);
            }
        }
        let expected = spent(&whole);
        compared += expected.len();
        assert_eq!(sum, expected, "{}", path.display());
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn calls_count_if_they_lie_within_the_part() {
    let mut compared = 0;
    for (path, capture, subject) in captures().into_iter().filter(|(_, _, subject)| subject.format.name() == "miniprofiler") {
        let conversion = subject.convert(&capture, Cut::WHOLE);
        let (Some(first), Some(last)) = (conversion.summary.first, conversion.summary.last) else { continue };
        let trace = conversion.read();
        let span_ns = last.0 - first.0;
        let (from_ns, to_ns) = (first.0 + span_ns / 5, first.0 + span_ns / 5 * 4);
        // Calls without a program have their function's address as their name.
        let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for slice in trace.slices.iter().filter(|slice| slice.name.starts_with("0x")) {
            let end_ns = slice.ts + slice.dur.unwrap();
            if slice.ts >= from_ns && end_ns <= to_ns {
                let (calls, total_ns) = expected.entry(slice.name.clone()).or_default();
                (*calls, *total_ns) = (*calls + 1, *total_ns + end_ns - slice.ts);
            }
        }
        let part = gather(&subject, &capture, &between(Cut::WHOLE, from_ns, to_ns));
        let functions = part.statistics.functions.iter();
        let told: BTreeMap<String, (u64, u64)> =
            functions.map(|function| (function.name.clone(), (function.calls.count, function.calls.total_ns))).collect();
        assert_eq!(told, expected, "{}", path.display());
        // The self time of a function is part of its total time.
        let self_ns: u64 = part.statistics.functions.iter().map(|function| function.self_ns).sum();
        let folded = part.folded.unwrap();
        let folded_ns: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        assert_eq!(folded_ns, self_ns, "{}", path.display());
        compared += expected.len();
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn a_part_without_events_has_no_figures_and_that_is_said() {
    let capture = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo/demo.bin")).unwrap();
    let subject = Subject::new("tonbandgeraet");
    for (from_ns, to_ns) in [(0, 1), (u64::MAX >> 2, u64::MAX >> 1)] {
        let gathered = gather(&subject, &capture, &between(Cut::WHOLE, from_ns, to_ns));
        let StatisticsReport { first_ns, last_ns, cores, tasks, .. } = gathered.statistics;
        assert_eq!((first_ns, last_ns, cores.len(), tasks.len()), (None, None, 0, 0));
        assert_eq!(gathered.folded.as_deref(), Some(""));
        assert!(gathered.warnings[0].starts_with("nothing is in the time range: "), "{:?}", gathered.warnings);
    }
}
