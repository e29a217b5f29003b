//! Boards that are reset again and again, and recordings that are paused.

use traceconv::format::tonbandgeraet::encode::encode;
use traceconv::format::tonbandgeraet::record::Record;
use traceconv::model::losses;

use crate::reader::{TrackInfo, TrackKind};
use crate::run::{Cut, convert};

/// The start of a recording, and two tasks that are created at `ts`, if the kernel is new.
fn start(ts: u64, is_new: bool, out: &mut Vec<u8>) {
    let mut put = |record: Record<&[u8]>| encode(&record, out);
    put(Record::CoreId { ts: 0, core_id: 0 });
    put(Record::TsResolutionNs { ns_per_ts: 1000 });
    put(Record::IsrName { isr_id: 15, name: b"SysTick" });
    put(Record::CoreId { ts: 0, core_id: 0 });
    for task_id in 1..=2u32 {
        if is_new {
            put(Record::TaskCreated { ts: ts + u64::from(task_id), task_id });
            put(Record::TaskPrioritySet { ts: ts + u64::from(task_id), task_id, priority: 1 });
        }
        put(Record::TaskName { task_id, name: b"pump" });
    }
}

/// How many restarts a recording has, and how many odd times.
fn counted(recording: &[u8]) -> (u64, u64) {
    let ledger = convert(recording, Cut::WHOLE).summary.ledger;
    let count = |kinds: &[_]| ledger.entries().iter().filter(|entry| kinds.contains(&entry.kind)).map(|entry| entry.count).sum();
    (count(&[losses::SESSION_RESTART]), count(&[losses::TIME_OUTLIER, losses::TIME_HELD, losses::DUPLICATED_BLOCK]))
}

fn switch(ts: u64, out: &mut Vec<u8>) {
    encode(&Record::TaskSwitchedIn::<&[u8]> { ts, task_id: 1 + (ts % 2) as u32 }, out);
}

/// The library can start a recording again without its metadata. Only the drop counters show that.
#[test]
fn nothing_is_known_of_a_pause_without_metadata() {
    let mut recording = Vec::new();
    start(0, true, &mut recording);
    for number in 0..600u64 {
        let ts = 1000 + number * 10;
        if (300..330).contains(&number) {
            continue;
        }
        if number % 51 == 0 {
            encode(&Record::DroppedEvtCnt::<&[u8]> { ts, cnt: 0 }, &mut recording);
        }
        encode(&Record::TaskSwitchedIn::<&[u8]> { ts, task_id: 1 + (number % 2) as u32 }, &mut recording);
    }
    let conversion = convert(&recording, Cut::WHOLE);
    let entries = conversion.summary.ledger.entries();
    let lost: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.count, entry.at_least_lost)).collect();
    assert!(lost.contains(&(losses::EVENTS_MISSING, 1, 30)), "{lost:?}");
    assert_eq!(conversion.summary.facts.sessions, 1);
    let trace = conversion.read();
    let is_loss = |path: &str| path.ends_with("Losses");
    let (start, end) = (3_990_000, 4_300_000);
    let loss = trace.slices.iter().find(|slice| is_loss(&trace.path(slice.track))).expect("it is drawn");
    assert_eq!((loss.ts, loss.end()), (start, Some(end)));
    for slice in trace.slices.iter().filter(|slice| !is_loss(&trace.path(slice.track))) {
        assert!(slice.end().is_none_or(|end| end <= start) || slice.ts >= end, "{} crosses the pause", slice.name);
    }
}

#[test]
fn short_sessions_are_all_told_apart() {
    // The last times are before, at or after the first ones of the next session, which passes them at once or in long steps.
    for (begin, step) in [(0, 1), (0, 0), (40, 3), (9_000, 70), (9_000, 4_000)] {
        let mut recording = Vec::new();
        for session in 0..5 {
            let begin = begin + session % 2 * step;
            start(begin, true, &mut recording);
            (0..4 + session).for_each(|number| switch(begin + 3 + number * number * step, &mut recording));
        }
        assert_eq!(counted(&recording), (4, 0), "from {begin} by {step}");
    }
}

/// A port may give a timer of 32 bits where 64 are asked for.
#[test]
fn a_timer_that_wraps_is_no_reset() {
    for (range, begin, wraps) in [(1u64 << 32, (1 << 32) - 3000, 1), (1 << 24, (1 << 24) - 3000, 1), (1 << 32, 1 << 20, 0)] {
        let mut recording = Vec::new();
        start(begin, true, &mut recording);
        // Where the timer does not wrap, it begins again.
        let end = if wraps == 1 { range } else { begin + 3000 };
        let time = |number: u64| if begin + number < end { begin + number } else { begin + number - end };
        for number in (10..6000).step_by(7) {
            encode(&Record::TaskSwitchedIn::<&[u8]> { ts: time(number), task_id: 1 + (number % 2) as u32 }, &mut recording);
        }
        for cut in [Cut::WHOLE, Cut::SMALL] {
            let conversion = convert(&recording, cut);
            let count = |kind| {
                let ledger = &conversion.summary.ledger;
                ledger.entries().iter().filter(|entry| entry.kind == kind).map(|entry| entry.count).sum::<u64>()
            };
            assert_eq!(
                (count(losses::TIMER_WRAPPED), count(losses::SESSION_RESTART)),
                (wraps, 1 - wraps),
                "{range} from {begin}"
            );
            if wraps == 1 {
                let times: Vec<u64> = conversion.read().sched[&0].iter().map(|switch| switch.ts).collect();
                let mut expected = (10..6000).step_by(7).map(|number| (begin + number) * 1000);
                assert!(expected.all(|time| times.binary_search(&time).is_ok()), "{times:?}");
            }
        }
    }
}

#[test]
fn a_timer_wraps_for_all_cores_wherever_that_is() {
    // The first time before the end of the range, the step, the cores, and the events that are dropped where the timer wraps first.
    type Case = (u64, u64, u64, u64, u64);
    const CASES: [Case; 9] = [
        (1 << 16, 19_990, 20, 1, 0),
        (1 << 16, 3_000, 41, 2, 0),
        (1 << 16, 60_000, 1_500, 1, 0),
        (1 << 16, 60_000, 400, 2, 0),
        (1 << 16, 19_990, 20, 2, 300),
        (1 << 24, 1_500, 20, 1, 0),
        (1 << 24, 19_990, 20, 2, 0),
        (1 << 24, 19_990, 20, 1, 600),
        (1 << 32, 19_990, 20, 3, 60),
    ];
    for (range, before, step, cores, lost) in CASES {
        let begin = range - before;
        let mut recording = Vec::new();
        start(begin, true, &mut recording);
        let first_lost = before / step - lost / 2;
        let mut expected: Vec<Vec<u64>> = vec![Vec::new(); cores as usize];
        let mut last = 0;
        for number in 1..2400 {
            let time = begin + number * step;
            // The others are silent for longer than the timer takes to wrap.
            let core = if number % 1000 < 500 { 0 } else { number / 2 % cores };
            let ts = time % range;
            if (first_lost..first_lost + lost).contains(&number) {
                continue;
            }
            if core != std::mem::replace(&mut last, core) {
                encode(&Record::CoreId::<&[u8]> { ts, core_id: core as u32 }, &mut recording);
            }
            if number == first_lost + lost && lost > 0 {
                encode(&Record::DroppedEvtCnt::<&[u8]> { ts, cnt: lost as u32 }, &mut recording);
            }
            let own = &mut expected[core as usize];
            own.push(time * 1000);
            let task_id = (1 + 2 * core + own.len() as u64 % 2) as u32;
            encode(&Record::TaskSwitchedIn::<&[u8]> { ts, task_id }, &mut recording);
        }
        for cut in [Cut::WHOLE, Cut::SMALL] {
            let conversion = convert(&recording, cut);
            let entries = conversion.summary.ledger.entries();
            let repairs: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.count)).collect();
            let wraps = (begin + 2399 * step) / range;
            let mut made = vec![(losses::TIMER_WRAPPED, wraps)];
            made.splice(0..0, (lost > 0).then_some((losses::DROPPED_BY_TARGET, 1)));
            let context = format!("{range}, {before} before its end by {step}, {cores} cores, {lost} lost");
            assert_eq!(repairs, made, "{context}");
            let trace = conversion.read();
            for (cpu, expected) in (0..).zip(&expected) {
                let times: Vec<u64> = trace.sched[&cpu].iter().map(|switch| switch.ts).collect();
                let missing: Vec<_> = expected.iter().filter(|time| times.binary_search(time).is_err()).collect();
                assert!(missing.is_empty(), "{context}: core {cpu}: {missing:?}");
            }
        }
    }
}

/// A ring as it lay in memory: the oldest records come last.
#[test]
fn a_ring_that_begins_in_the_middle_is_said() {
    let recording = |times: &mut dyn Iterator<Item = u64>| {
        let mut recording = Vec::new();
        encode(&Record::TsResolutionNs::<&[u8]> { ns_per_ts: 1000 }, &mut recording);
        times.for_each(|ts| switch(ts, &mut recording));
        recording
    };
    for (oldest, hints) in [(4_000, 1), (1_000, 0)] {
        let mut times = (5_000..7_000).step_by(7).chain((oldest..oldest + 996).step_by(7));
        let facts = convert(&recording(&mut times), Cut::SMALL).summary.facts;
        assert_eq!(facts.sessions, 2);
        assert_eq!(facts.hints.iter().filter(|hint| hint.contains("a ring as it lay")).count(), hints, "{oldest}");
    }
}

/// In a session the first name counts; after a reset another firmware may have other names.
#[test]
fn other_names_for_the_same_id_are_counted() {
    for (is_new, conflicts) in [(true, 0), (false, 1)] {
        let mut recording = Vec::new();
        for (begin, is_new, name) in [(1_000, true, b"left"), (2_000, is_new, b"main")] {
            start(begin, is_new, &mut recording);
            encode(&Record::EvtmarkerName { evtmarker_id: 4, name }, &mut recording);
            (0..6).for_each(|number| switch(begin + 3 + number * 10, &mut recording));
            encode(&Record::Evtmarker { ts: begin + 80, evtmarker_id: 4, msg: b"" }, &mut recording);
        }
        for cut in [Cut::WHOLE, Cut::SMALL] {
            let ledger = convert(&recording, cut).summary.ledger;
            let found = ledger.entries().iter().filter(|entry| entry.kind == losses::CONFLICTING_NAME);
            assert_eq!(found.map(|entry| entry.count).sum::<u64>(), conflicts, "is_new: {is_new}");
        }
    }
}

/// A task may get the id of a deleted one, and has a name of its own.
#[test]
fn a_task_with_the_id_of_a_deleted_one_has_its_own_name() {
    let mut recording = Vec::new();
    start(0, true, &mut recording);
    (10..20).for_each(|ts| switch(ts, &mut recording));
    let mut put = |record: Record<&[u8]>| encode(&record, &mut recording);
    put(Record::TaskDeleted { ts: 20, task_id: 2 });
    put(Record::TaskCreated { ts: 30, task_id: 2 });
    put(Record::TaskName { task_id: 2, name: b"valve" });
    (31..40).for_each(|ts| switch(ts, &mut recording));
    let conversion = convert(&recording, Cut::WHOLE);
    assert_eq!(conversion.summary.ledger.entries(), []);
    let trace = conversion.read();
    let is_thread = |track: &&TrackInfo| matches!(track.kind, TrackKind::Thread { .. });
    let names: Vec<&str> = trace.tracks.values().filter(is_thread).map(|track| track.name.as_str()).collect();
    let of = |name: &str| names.iter().filter(|own| own.contains(name)).count();
    assert_eq!((of("pump"), of("valve")), (2, 1), "{names:?}");
}

#[test]
fn a_later_start_is_a_reset_if_the_kernel_creates_its_tasks_again() {
    for (is_new, restarts) in [(true, 1), (false, 0)] {
        let mut recording = Vec::new();
        for (begin, is_new) in [(1_000, true), (2_000, is_new)] {
            start(begin, is_new, &mut recording);
            (0..6).for_each(|number| switch(begin + 3 + number * 10, &mut recording));
        }
        assert_eq!(counted(&recording), (restarts, 0));
    }
}
