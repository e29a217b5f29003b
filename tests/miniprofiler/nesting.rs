//! Slices of calls in hard cases: callers that come long after the calls that they made, equal times, time ranges, filters.

use traceconv::format::OptionValue;
use traceconv::model::Nanos;
use traceconv::pipeline::TimeBound;

use crate::reader::Trace;
use crate::run::{Cut, Random, TimedCall, capture, options, shown, sorted, subject};

type Record = (u32, u32, u32, u16);

fn timed_calls(records: &[Record]) -> Vec<TimedCall> {
    let of = |&(address, entry, duration, depth): &Record| TimedCall {
        begin_ns: u64::from(entry) * 1000,
        end_ns: u64::from(entry) * 1000 + u64::from(duration) * 1000,
        depth: i64::from(depth.cast_signed()),
        function: format!("0x{:08X}", address & !1),
    };
    sorted(records.iter().map(of).collect())
}

fn convert(records: &[Record]) -> (Trace, Vec<(&'static str, u64)>) {
    let conversion = subject().convert(&capture(records, 20), Cut::WHOLE);
    let ledger = conversion.summary.ledger.entries().iter().map(|entry| (entry.kind.code, entry.count)).collect();
    (conversion.read(), ledger)
}

/// Checks that all calls are drawn, on the track of the processor.
fn check_nested(records: &[Record]) {
    let (trace, ledger) = convert(records);
    assert_eq!(ledger, []);
    assert_eq!(sorted(shown(&trace)), timed_calls(records));
    assert_eq!(trace.slices.len(), records.len());
    assert!(trace.slices.iter().all(|slice| trace.path(slice.track) == "firmware/CPU"));
    let mut outer = trace.slices.iter().filter(|slice| slice.depth == 0);
    if records.last().is_some_and(|last| last.3 == 0) {
        assert_eq!(outer.next().map(|slice| slice.name.clone()), Some(format!("0x{:08X}", records[records.len() - 1].0 & !1)));
        assert!(outer.next().is_none(), "all is in the last call");
    }
}

/// `main` calls a million functions, the first of them in its first microsecond, and its record comes last.
#[test]
fn a_main_loop_that_returns_is_around_all_that_it_called() {
    for first in [0, 1] {
        let mut records: Vec<Record> = Vec::new();
        for n in 0..100_000 {
            let at = first + n * 10;
            records.push((3, at, 0, 2));
            records.push((3, at, 2, 2));
            records.push((2, at, 5, 1));
        }
        records.push((1, 0, 1_000_100, 0));
        check_nested(&records);
    }
}

/// The same for a tower of calls that are all open from the first microsecond on, over thousands of calls each.
#[test]
fn a_tower_of_late_callers_that_begin_together_keeps_its_order() {
    let mut records: Vec<Record> = Vec::new();
    let mut at = 0;
    for depth in (0..8u16).rev() {
        for _ in 0..2_000 {
            records.push((100, at, 0, depth + 1));
            records.push((101, at, 1, depth + 1));
            at += 1;
        }
        records.push((u32::from(depth), 0, at, depth));
    }
    check_nested(&records);
}

/// Callers that begin with one of their calls in the middle of a long row, all late.
#[test]
fn late_callers_in_the_middle_of_a_row() {
    let mut records: Vec<Record> = Vec::new();
    let mut at = 0;
    for _ in 0..5 {
        let begin = at;
        for _ in 0..3_000 {
            records.push((100, at, 1, 2));
            at += 1;
        }
        records.push((50, begin, at - begin, 1));
    }
    records.push((1, 0, at, 0));
    check_nested(&records);
}

/// Random trees: every call has its caller, times are often equal, and the trees are of any size.
fn tree(random: &mut Random, at: &mut u32, depth: u16, records: &mut Vec<Record>) {
    let begin = *at;
    let calls = match (depth, random.below(20)) {
        (12.., _) => 0,
        (0..3, 0..4) => random.below(60),
        _ => random.below(3),
    };
    for _ in 0..calls {
        *at += random.below(3) as u32 / 2;
        tree(random, at, depth + 1, records);
    }
    *at += random.below(3) as u32 / 2;
    records.push((random.below(5) as u32, begin, *at - begin, depth));
}

#[test]
fn random_trees_are_drawn_as_they_are() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let mut records = Vec::new();
        let mut at = 0;
        // From depth 1 on: it is never known that no caller will come.
        for _ in 0..20 {
            tree(&mut random, &mut at, 1, &mut records);
        }
        let rows = records.clone();
        records.push((1, 0, at, 0));
        check_nested(&records);
        // Without the last one, too.
        let (trace, ledger) = convert(&rows);
        assert_eq!(ledger, []);
        assert_eq!(sorted(shown(&trace)), timed_calls(&rows), "seed {seed}");
    }
}

/// The exits of some calls are interrupted before their records are written, so up to three nested handlers that interrupted
/// them are reported first: they are drawn after these calls, which are around the calls that they made.
#[test]
fn calls_whose_exits_are_interrupted_are_around_what_they_called() {
    let mut others = 0;
    for seed in 200..260 {
        let mut random = Random(seed);
        let mut wire: Vec<Record> = Vec::new();
        let mut at = 0;
        for _ in 0..80 {
            tree(&mut random, &mut at, 3, &mut wire);
            if random.below(3) == 0 {
                let end = at;
                let interrupted = wire.pop().unwrap();
                let handlers = 1 + random.below(3) as u32;
                for inner in (0..handlers).rev() {
                    wire.push((0x900 + inner, end + inner, 2 * (handlers - inner), 3 + inner as u16));
                }
                at += 2 * handlers;
                wire.push(interrupted);
            }
        }
        wire.push((2, 0, at, 2));
        assert!(wire.windows(2).any(|pair| pair[0].1 + pair[0].2 > pair[1].1 + pair[1].2), "seed {seed}: none is late");
        let (trace, ledger) = convert(&wire);
        assert_eq!(sorted(shown(&trace)), timed_calls(&wire), "seed {seed}");
        // The calls that have waited longest for their caller may have been written already.
        others += ledger.iter().map(|(_, count)| count).sum::<u64>();
    }
    assert!(others <= 4, "{others} calls are drawn elsewhere, or without their callers");
}

/// In random trees some calls are missing: the others are drawn, each with its times and depth, or counted.
#[test]
fn with_losses_nothing_is_moved() {
    for seed in 100..120 {
        let mut random = Random(seed);
        let mut records = Vec::new();
        let mut at = 0;
        for _ in 0..20 {
            tree(&mut random, &mut at, u16::from(seed % 2 == 0), &mut records);
        }
        if seed % 2 == 0 {
            records.push((1, 0, at, 0));
        }
        let kept: Vec<Record> = records.into_iter().filter(|_| random.below(10) > 0).collect();
        let (trace, ledger) = convert(&kept);
        assert_eq!(sorted(shown(&trace)), timed_calls(&kept), "seed {seed}");
        let overlapping = ledger.iter().find(|(code, _)| *code == "overlapping_call").map_or(0, |&(_, count)| count);
        let on_others = trace.slices.iter().filter(|slice| trace.path(slice.track) != "firmware/CPU").count() as u64;
        assert_eq!(on_others, overlapping);
        assert!(ledger.iter().all(|(code, _)| ["overlapping_call", "call_without_caller"].contains(code)), "{ledger:?}");
    }
}

/// Arbitrary calls: nothing is moved, and calls without a place are counted.
#[test]
fn arbitrary_calls_are_drawn_as_they_are_or_counted() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut end = 100;
        let records: Vec<Record> = (0..3_000)
            .map(|_| {
                end += random.below(4) as u32;
                let longest = [3, 30, 300][random.below(3)];
                let duration = random.below(longest) as u32;
                let begin = end.saturating_sub(duration);
                (random.below(5) as u32, begin, end - begin, [0, 1, 1, 2, 2, 3, 3, 9, 65535][random.below(9)])
            })
            .collect();
        let (trace, ledger) = convert(&records);
        let shown = sorted(shown(&trace));
        let truth = timed_calls(&records);
        let undrawn = ledger.iter().find(|(code, _)| *code == "undrawn_call").map_or(0, |&(_, count)| count);
        assert_eq!(shown.len() as u64 + undrawn, truth.len() as u64, "seed {seed}");
        let mut rest = truth.iter();
        for call in &shown {
            assert!(rest.any(|truth| truth == call), "seed {seed}: {call:?} never was");
        }
    }
}

/// Nothing nests deeper than the viewer shows.
#[test]
fn a_tower_that_is_too_high_is_counted() {
    let records: Vec<Record> = (0..3_000u32).map(|n| (n, 3_000 - n, 2 * n, (3_000 - n) as u16)).collect();
    let (trace, ledger) = convert(&records);
    assert!(trace.slices.iter().all(|slice| slice.depth < 512));
    let undrawn = ledger.iter().find(|(code, _)| *code == "undrawn_call").map_or(0, |&(_, count)| count);
    assert_eq!(trace.slices.len() as u64 + undrawn, 3_000);
}

#[test]
fn a_time_range_cuts_calls_at_its_borders() {
    let mut records: Vec<Record> = Vec::new();
    for n in 0..2_000 {
        records.push((3, n * 10, 2, 2));
        records.push((2, n * 10, 8, 1));
    }
    records.push((1, 0, 20_000, 0));
    let (from, to) = (5_004_000, 9_001_000);
    let bound = |ns| Some(TimeBound::Absolute(Nanos(ns)));
    let options = options(Cut::WHOLE).from(bound(from)).to(bound(to));
    let trace = subject().convert_with(&capture(&records, 20), &options).read();
    let within = |call: TimedCall| {
        let is_within = call.end_ns >= from && call.begin_ns <= to;
        is_within.then(|| TimedCall { begin_ns: call.begin_ns.max(from), end_ns: call.end_ns.min(to), ..call })
    };
    assert_eq!(sorted(shown(&trace)), sorted(timed_calls(&records).into_iter().filter_map(within).collect()));
}

#[test]
fn filters_leave_out_and_move_nothing() {
    let records: [Record; 5] = [(0x10, 2, 1, 2), (0x20, 1, 5, 1), (0x10, 7, 2, 1), (0x30, 0, 20, 0), (0x10, 30, 1, 0)];
    let with = |name, value: &str| {
        let mut subject = subject();
        subject.options.own.push((name, OptionValue::Text(value.into())));
        let trace = subject.convert(&capture(&records, 20), Cut::WHOLE).read();
        sorted(shown(&trace))
    };
    let only = |wanted: &dyn Fn(&Record) -> bool| timed_calls(&records.into_iter().filter(wanted).collect::<Vec<_>>());
    assert_eq!(with("min-duration", "2us"), only(&|record| record.2 >= 2));
    assert_eq!(with("function", "0x000000[12]0"), only(&|record| record.0 != 0x30));
    assert_eq!(with("function", "30$"), only(&|record| record.0 == 0x30));
    assert_eq!(with("function", "nothing"), []);
}
