//! Boards that are reset again and again, and recordings that are paused.

use traceconv::format::tonbandgeraet::encode::encode;
use traceconv::format::tonbandgeraet::record::Record;
use traceconv::model::losses;

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
