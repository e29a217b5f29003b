//! Bytes → statistics, in every format and of any part: no panic, the same for windows of any size, the sums hold, and the trace shows the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::format::{FORMATS, Format};
use traceconv::model::Nanos;
use traceconv::pipeline::{Gathered, Options, Source, TimeBound, convert, statistics};
use traceconv::stats::SpreadReport;
use traceconv::stats::report::StatisticsReport;
use traceconv::stats::text;

#[path = "../../tests/reader/mod.rs"]
mod reader;

fn gather(format: &'static dyn Format, input: &[u8], options: &Options) -> Gathered {
    let source = Source::new(input, format);
    statistics(&[source], options, true, &mut |_| true).expect("damage is no error")
}

/// Every nanosecond of every core is somebody's or unknown, and nobody has more than there is.
fn check(report: &StatisticsReport, folded: &str) {
    let (Some(first_ns), Some(last_ns)) = (report.first_ns, report.last_ns) else {
        assert!(report.cores.is_empty() && report.tasks.is_empty() && report.functions.is_empty() && folded.is_empty());
        return;
    };
    let mut known_ns = 0u128;
    for core in &report.cores {
        let known = [core.busy_ns, core.idle_ns, core.interrupts_ns].map(u128::from).iter().sum::<u128>();
        assert_eq!(known + u128::from(core.unknown_ns), u128::from(last_ns - first_ns), "core {}", core.core);
        assert!(core.load_percent.is_none_or(|load| (0.0..=100.0).contains(&load)));
        known_ns += known;
    }
    let run_ns: u128 = report.tasks.iter().map(|task| u128::from(task.run_ns)).sum();
    let isr_ns: u128 = report.interrupts.iter().map(|isr| u128::from(isr.self_ns)).sum();
    assert_eq!(run_ns + isr_ns, known_ns);
    let self_ns: u128 = report.functions.iter().map(|function| u128::from(function.self_ns)).sum();
    for function in &report.functions {
        // Samples of the program counter give a function time without a call.
        assert!(function.samples > 0 || function.self_ns <= function.calls.total_ns, "{}", function.name);
        assert!(function.calls.min_ns <= function.calls.mean_ns && function.calls.mean_ns <= function.calls.max_ns);
    }
    let in_line =
        |line: &str| line.rsplit_once(' ').and_then(|(_, ns)| ns.parse::<u128>().ok()).expect("a line ends with its time");
    let folded_ns = folded.lines().map(in_line).sum::<u128>();
    // Where there are samples, they take the place of what is known.
    assert!(report.functions.iter().any(|function| function.samples > 0) || folded_ns == known_ns + self_ns);
}

/// How many, their sum, the greatest.
type Figures = (u64, u128, u64);

fn reported<'a>(spreads: impl Iterator<Item = &'a SpreadReport>) -> Figures {
    spreads.fold(Figures::default(), |sum, spread| {
        (sum.0 + spread.count, sum.1 + u128::from(spread.total_ns), sum.2.max(spread.max_ns.unwrap_or_default()))
    })
}

fn drawn(values: impl Iterator<Item = u64>) -> Figures {
    values.fold(Figures::default(), |sum, value| (sum.0 + 1, sum.1 + u128::from(value), sum.2.max(value)))
}

/// Runs of tasks, interrupts, and holds of mutexes are those of the trace.
fn compare(report: &StatisticsReport, trace: &reader::Trace) {
    let tasks = report.tasks.iter().filter(|task| !task.is_idle);
    // Of a task that moves to another core at once, the switch there is drawn a nanosecond later.
    if trace.sched.len() < 2 {
        assert_eq!(reported(tasks.map(|task| &task.runs)), drawn(trace.runs().map(|run| run.1)), "runs");
    }
    let interrupts = trace.ended_slices("/Interrupts/").map(|(_, dur)| dur);
    assert_eq!(reported(report.interrupts.iter().map(|isr| &isr.durations)), drawn(interrupts), "interrupts");
    let holds = trace.ended_slices("/Objects/").filter(|(slice, _)| slice.is_hold()).map(|(_, dur)| dur);
    assert_eq!(reported(report.objects.iter().filter_map(|object| object.holds.as_ref())), drawn(holds), "holds");
}

fuzz_target!(|input: &[u8]| {
    // The first bytes say in which format the others are taken, how they are cut, and which part counts.
    let Some((&[format, cut, from, to], input)) = input.split_first_chunk() else { return };
    let format = FORMATS[usize::from(format) % FORMATS.len()];
    let options = |window_bytes| Options::default().threads(1).window_bytes(window_bytes);
    let whole = gather(format, input, &options(1 << 20));
    check(&whole.statistics, whole.folded.as_deref().unwrap_or_default());
    assert!(!text::tables(&whole.statistics, 5).contains("  \n"), "no line ends with blanks");
    let pieces = gather(format, input, &options(16 + usize::from(cut)));
    assert_eq!(pieces.statistics, whole.statistics, "windows change the statistics");

    let mut trace = Vec::new();
    convert(&[Source::new(input, format)], &options(1 << 20), &mut trace, &mut |_| true).expect("damage is no error");
    compare(&whole.statistics, &reader::Trace::parse(&trace).expect("the reader accepts it"));

    let (Some(first_ns), Some(last_ns)) = (whole.statistics.first_ns, whole.statistics.last_ns) else { return };
    let bound = |share: u8| {
        let ns = u128::from(last_ns - first_ns) * u128::from(share) / 255;
        Some(TimeBound::AfterStart(Nanos(u64::try_from(ns).expect("a part of a number that fits"))))
    };
    let part = options(64).from(bound(from.min(to))).to(bound(from.max(to)));
    let part = gather(format, input, &part);
    check(&part.statistics, part.folded.as_deref().unwrap_or_default());
});
