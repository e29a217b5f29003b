//! Contracts between the stages: cuts, bytes, times.

use super::decode::{Decoder, Lengths, Packets};
use super::generate::{GenerateOptions, TimerKind, generate_with_truth};
use super::resolve::{Resolver, Setup};
use super::scan::ScanFacts;
use super::timer::TimerOptions;
use crate::format::{Resolve, Resolved};
use crate::model::{Entities, EventBatch, Ledger};

/// The offset and the time of each hook of a capture, and its ledger.
fn times(input: &[u8], timer_options: TimerOptions) -> (Vec<(u64, u64)>, Ledger) {
    let cutter = Packets::new(Lengths::default());
    let mut facts = ScanFacts::default();
    Decoder::new(cutter.clone(), Lengths::default()).each(input, 0..input.len(), &mut facts);
    let lengths = facts.lengths(&Lengths::default());
    let decoder = Decoder::new(cutter, lengths.clone());
    let mut ledger = Ledger::default();
    let setup = Setup { core: 0, timer_options, lengths, facts };
    let mut resolver = Resolver::new(vec![setup], std::slice::from_mut(&mut ledger));
    let (mut entities, mut batch) = (Entities::default(), EventBatch::default());
    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
    resolver.resolve(0, Box::new(decoder.records(input, 0..input.len())), &mut out);
    resolver.finish(0, &mut out);
    (resolver.times().to_vec(), ledger)
}

/// Times against the truth, in nanoseconds: how many steps differ by more than 0.1 ms from the true ones, and the least and the
/// greatest error.
fn errors(times: &[(u64, u64)], truth: &[u64]) -> (usize, i64, i64) {
    assert_eq!(times.len(), truth.len(), "packets that have no time");
    let error = |(time, truth): (&(u64, u64), &u64)| time.1.cast_signed() - truth.cast_signed();
    let errors: Vec<i64> = times.iter().zip(truth).map(error).collect();
    let wrong = errors.windows(2).filter(|pair| (pair[1] - pair[0]).abs() > 100_000).count();
    (wrong, errors.iter().copied().min().unwrap_or(0), errors.iter().copied().max().unwrap_or(0))
}

#[test]
fn times_of_more_captures_are_true() {
    let Some(folder) = std::env::var_os("TRACECONV_EXTRA_CAPTURES") else { return };
    for entry in std::fs::read_dir(folder).expect("TRACECONV_EXTRA_CAPTURES names a folder") {
        let path = entry.expect("it can be listed").path();
        let Ok(truth) = std::fs::File::open(path.with_extension("truth.csv.gz")) else { continue };
        if path.extension().is_none_or(|extension| extension != "bin") {
            continue;
        }
        let truth = std::io::read_to_string(flate2::read::GzDecoder::new(truth)).expect("it is text");
        let hooks = truth.lines().skip(1).filter_map(|line| line.strip_prefix("S,"));
        let truth: Vec<u64> = hooks.map(|line| line.split(',').next().expect("a time").parse().expect("a number")).collect();
        let capture = std::fs::read(&path).expect("it can be read");
        let (times, ledger) = times(&capture, TimerOptions::default());
        println!("{}: {} packets, {:?}", path.display(), times.len(), ledger.entries());
        let times = &times[..truth.len().min(times.len())];
        let (wrong, least, most) = errors(times, &truth[..times.len()]);
        println!("    {wrong} wrong, error {least} to {most} ns");
        assert!(times.is_sorted_by_key(|time| time.1), "time goes backwards");
        // One timer read in two halves cannot be told from a sound one: a packet alone in its tick.
        let (wrong, least) = if path.to_string_lossy().contains("tickless") {
            (wrong.saturating_sub(2), least.max(-10_700))
        } else {
            (wrong, least)
        };
        assert!(wrong == 0 && least >= -10_700 && most <= 2_700, "{}", path.display());
    }
}

#[test]
fn times_of_generated_captures_are_true() {
    use TimerKind::{Down93, Modulo1000, Nothing, Up1MHz, Up250kHz};
    for (timer, is_tickless, least, most) in [
        (Up1MHz, false, -1_000, 0),
        (Up1MHz, true, -1_000, 0),
        (Down93, false, -10_700, 2_700),
        (Down93, true, -10_700, 2_700),
        (Up250kHz, false, -4_000, 0),
        (Modulo1000, false, -1_000, 0),
        (Nothing, false, -1_010_000, 0),
    ] {
        let options = GenerateOptions { bytes: 2_000_000, timer, is_tickless, ..GenerateOptions::default() };
        let (capture, truth) = generate_with_truth(&options);
        let (times, ledger) = times(&capture, TimerOptions::default());
        assert!(ledger.entries().is_empty(), "{timer:?}: {:?}", ledger.entries());
        assert!(times.is_sorted_by_key(|time| time.1), "{timer:?}: time goes backwards");
        let (wrong, found_least, found_most) = errors(&times, &truth);
        assert!(found_least >= least && found_most <= most, "{options:?}: {wrong} wrong, {found_least} to {found_most} ns");
    }
}
