//! Damaged captures: a flipped bit, a missing byte and a missing piece change their neighbourhood and nothing else.
//!
//! The neighbourhood of a damage, in the trace: from some records before it (their times are checked against later ones) to where the
//! records after it have restored the state that it made unknown. For the CPU tracks, interrupts and objects that is the next context
//! switch after the next wait; for a task, the first time it is switched in after that; for a counter, the next value
//! after that. For metadata and `core_id`, which affect everything, the neighbourhood is the whole trace.
//!
//! `TRACECONV_EXTRA_CAPTURES` names a folder with more captures to damage.

use std::collections::BTreeMap;
use std::ops::Range;

use traceconv::format::tonbandgeraet::decode::Records;
use traceconv::format::tonbandgeraet::generate::Damage;
use traceconv::format::tonbandgeraet::record::Record;
use traceconv::model::TextRef;

use crate::reader::{Trace, TrackKind};
use crate::run::{self, Cut, Random};

/// How many records on each side belong to the neighbourhood: as many as are asked about a time stamp, and some.
const NEIGHBOURS: usize = 16;

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Flip,
    Deletion,
    CutOut,
}

/// A capture and its undamaged result.
struct Original {
    bytes: Vec<u8>,
    records: Records,
    trace: Shown,
    ns_per_ts: u64,
}

/// The path of a track, a time, and an item.
type Item<T> = (String, u64, T);

/// The content of a trace, by the path of the track.
struct Shown {
    /// Begin, end and name.
    slices: Vec<Item<(u64, String)>>,
    instants: Vec<Item<String>>,
    counters: BTreeMap<String, Vec<(u64, i64)>>,
    /// Time, state of the task before, that task, the next one.
    switches: Vec<(u64, i64, i32, i32)>,
    wakings: Vec<(u64, i32, bool)>,
    /// The paths of thread tracks, and their threads.
    threads: BTreeMap<String, i32>,
    bounds: Option<(u64, u64)>,
}

fn shown(bytes: &[u8], context: &str) -> Shown {
    let trace = Trace::parse(bytes).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(trace.unclosed.is_empty(), "{context}: slices without end");
    let path = |track| {
        let thread = if matches!(trace.tracks[&track].kind, TrackKind::Thread { .. }) { "thread " } else { "" };
        format!("{thread}{}", trace.path(track))
    };
    let mut switches = Vec::new();
    for rows in trace.sched.values() {
        let mut before = -1;
        for row in rows {
            switches.push((row.ts, row.prev_state, before, row.next_tid));
            before = row.next_tid;
        }
    }
    let wakings = trace.wakings.values().flatten().map(|waking| (waking.ts, waking.tid, waking.in_irq));
    let threads = trace.tracks.iter().filter_map(|(&track, info)| match info.kind {
        TrackKind::Thread { tid, .. } => Some((path(track), tid as i32)),
        _ => None,
    });
    let mut counters: BTreeMap<String, Vec<(u64, i64)>> = BTreeMap::new();
    for (&track, values) in &trace.counters {
        counters.entry(path(track)).or_default().extend(values);
    }
    let mut slices: Vec<Item<(u64, String)>> = trace
        .slices
        .iter()
        .map(|slice| (path(slice.track), slice.ts, (slice.end().unwrap_or(slice.ts), slice.name.clone())))
        .collect();
    let mut instants: Vec<Item<String>> =
        trace.instants.iter().map(|instant| (path(instant.track), instant.ts, instant.name.clone())).collect();
    slices.sort();
    instants.sort();
    let times = slices.iter().flat_map(|(_, begin, (end, _))| [*begin, *end]);
    let times = times.chain(instants.iter().map(|instant| instant.1)).chain(switches.iter().map(|switch| switch.0));
    let times = times.chain(counters.values().flatten().map(|value| value.0));
    let bounds = times.fold(None, |bounds: Option<(u64, u64)>, time| {
        let (first, last) = bounds.unwrap_or((time, time));
        Some((first.min(time), last.max(time)))
    });
    Shown { slices, instants, counters, switches, wakings: wakings.collect(), threads: threads.collect(), bounds }
}

impl Original {
    fn new(bytes: Vec<u8>) -> Original {
        let records = run::records(&bytes);
        let resolution = records.frames.iter().find_map(|stored| match stored.record {
            Record::TsResolutionNs { ns_per_ts } => Some(ns_per_ts),
            _ => None,
        });
        let trace = shown(&run::convert(&bytes, Cut::WHOLE).trace, "undamaged");
        Original { bytes, records, trace, ns_per_ts: resolution.unwrap_or(1) }
    }

    fn record(&self, number: usize) -> &Record<TextRef> {
        &self.records.frames[number].record
    }

    /// The time of the last timed record up to number `number`.
    fn ns_until(&self, number: usize) -> Option<u64> {
        let timed = |number: &usize| self.record(*number).ts().filter(|&ts| ts > 0);
        (0..=number.min(self.records.frames.len() - 1)).rev().find_map(|number| timed(&number)).map(|ts| ts * self.ns_per_ts)
    }

    /// The first time from record `number` on at which `is_it` holds, and the record's number.
    fn first(&self, number: usize, is_it: impl Fn(&Record<TextRef>) -> bool) -> Option<(usize, u64)> {
        let found = (number..self.records.frames.len()).find(|&number| is_it(self.record(number)))?;
        Some((found, self.record(found).ts()? * self.ns_per_ts))
    }

    /// Damages a copy, and checks the result. Returns whether everything outside the neighbourhood was compared.
    fn check(&self, kind: Kind, random: &mut Random) -> bool {
        let at = random.below(self.bytes.len());
        let mut bytes = self.bytes.clone();
        let context = match kind {
            Kind::Flip => {
                let bit = random.below(8);
                bytes[at] ^= 1 << bit;
                format!("bit {bit} of byte {at} flipped")
            }
            Kind::Deletion => {
                bytes.remove(at);
                format!("byte {at} missing")
            }
            Kind::CutOut => {
                let end = (at + 2 + random.below(400)).min(bytes.len());
                bytes.drain(at..end);
                format!("bytes {at} to {end} missing")
            }
        };
        // Every other time in small pieces.
        let cut = if at.is_multiple_of(2) { Cut::WHOLE } else { Cut::SMALL };
        let conversion = run::convert(&bytes, cut);
        let damaged = shown(&conversion.trace, &context);
        let (changed, others) = self.changed(&run::records(&bytes));
        if kind == Kind::Flip {
            assert!(changed.len() <= 2, "{context}: {} records are gone", changed.len());
        }
        let measures_all = |record: &Record<TextRef>| record.ts().is_none() || matches!(record, Record::CoreId { .. });
        let records = self.records.frames[changed.clone()].iter().map(|stored| &stored.record).chain(&others);
        let is_general = records.clone().any(measures_all);
        if !records.clone().any(|record| matches!(record, Record::TsResolutionNs { .. })) {
            let (first, last) = self.trace.bounds.unwrap_or_default();
            let bounds = damaged.bounds.unwrap_or((first, last));
            let allowed = first.saturating_sub(SECOND)..=last + SECOND;
            assert!(allowed.contains(&bounds.0) && allowed.contains(&bounds.1), "{context}: from {} to {}", bounds.0, bounds.1);
        }
        if is_general {
            return false;
        }
        self.compare_before(changed.start, &damaged, &context);
        self.compare_after(changed.end, &damaged, &context);
        true
    }

    /// The records lost by the damage, and those that replaced them.
    fn changed(&self, damaged: &Records) -> (Range<usize>, Vec<Record<TextRef>>) {
        let same = |one: usize, two: usize| {
            let own = |records: &Records, number: usize| {
                let record = records.frames[number].record;
                (record.map_text(|_| ()), record.text().map(|text| records.bytes(text).to_vec()))
            };
            own(&self.records, one) == own(damaged, two)
        };
        let (all, all_damaged) = (self.records.frames.len(), damaged.frames.len());
        let shorter = all.min(all_damaged);
        let before = (0..shorter).take_while(|&number| same(number, number)).count();
        let after = (0..shorter - before).take_while(|&back| same(all - 1 - back, all_damaged - 1 - back)).count();
        let others = damaged.frames[before..all_damaged - after].iter().map(|stored| stored.record).collect();
        (before..all - after, others)
    }

    fn compare_before(&self, changed: usize, damaged: &Shown, context: &str) {
        let Some(until) = changed.checked_sub(NEIGHBOURS).and_then(|number| self.ns_until(number)) else { return };
        let context = format!("{context}, until {until}");
        let slices = |shown: &Shown| filter(&shown.slices, |(_, _, (end, _))| *end < until);
        equal(&slices(&self.trace), &slices(damaged), "slices", &context);
        let instants = |shown: &Shown| filter(&shown.instants, |(_, ts, _)| *ts < until);
        equal(&instants(&self.trace), &instants(damaged), "instants", &context);
        let switches = |shown: &Shown| {
            let rows = shown.switches.iter().filter(|row| row.0 < until);
            rows.map(|&(ts, left, before, next)| {
                let came_again = self.trace.switches.iter().any(|row| row.0 > ts && row.0 < until && row.3 == before);
                (ts, came_again.then_some(left), next)
            })
            .collect::<Vec<_>>()
        };
        equal(&switches(&self.trace), &switches(damaged), "switches", &context);
        let wakings = |shown: &Shown| filter(&shown.wakings, |waking| waking.0 < until);
        equal(&wakings(&self.trace), &wakings(damaged), "wakings", &context);
        for (path, values) in &self.trace.counters {
            let found = damaged.counters.get(path).map_or(&[][..], Vec::as_slice);
            let before = |values: &[(u64, i64)]| filter(values, |value| value.0 < until);
            let (values, mut found) = (before(values), before(found));
            // A queue with "two" items may be an overwritten mailbox: the next operation decides, and may be lost.
            if found.len() == values.len() + 1 && found.last().is_some_and(|last| last.1 == 2) {
                found.pop();
            }
            equal(&values, &found, path, &context);
        }
    }

    fn compare_after(&self, changed: usize, damaged: &Shown, context: &str) {
        // Where the running task is known again: after a wait, which ends all interrupts, and a switch.
        let is_wait = |record: &Record<TextRef>| {
            matches!(
                record,
                Record::CurtaskDelay { .. } | Record::CurtaskDelayUntil { .. } | Record::CurtaskBlockOnQueueReceive { .. }
            )
        };
        let is_switch = |record: &Record<TextRef>| matches!(record, Record::TaskSwitchedIn { .. });
        let Some((switch, _)) = self.first(changed + NEIGHBOURS, is_switch) else { return };
        let Some((wait, _)) = self.first(switch, is_wait) else { return };
        let Some((start, since)) = self.first(wait, is_switch) else { return };
        let context = format!("{context}, since {since}");
        // Each thread, since it is known again.
        let known = |tid: i32| {
            let runs =
                |record: &Record<TextRef>| matches!(record, Record::TaskSwitchedIn { task_id, .. } if *task_id == tid as u32);
            self.first(start, runs).map_or(u64::MAX, |(_, since)| since)
        };
        let mut since_of: BTreeMap<i32, u64> = BTreeMap::new();
        for &tid in self.trace.threads.values().chain(damaged.threads.values()) {
            since_of.entry(tid).or_insert_with(|| known(tid));
        }
        let since_on = |path: &str| {
            let thread = self.trace.threads.get(path).or(damaged.threads.get(path));
            thread.map_or(since, |tid| since_of[tid])
        };
        let slices = |shown: &Shown| filter(&shown.slices, |(path, begin, _)| *begin > since_on(path));
        equal(&slices(&self.trace), &slices(damaged), "slices", &context);
        let instants = |shown: &Shown| filter(&shown.instants, |(path, ts, _)| *ts > since_on(path));
        equal(&instants(&self.trace), &instants(damaged), "instants", &context);
        let switches = |shown: &Shown| {
            let rows = shown.switches.iter().filter(|row| row.0 > since);
            rows.map(|&(ts, left, before, next)| {
                let came_again = self.trace.switches.iter().any(|row| row.0 > ts && row.3 == before);
                (ts, came_again.then_some(left), next)
            })
            .collect::<Vec<_>>()
        };
        equal(&switches(&self.trace), &switches(damaged), "switches", &context);
        let wakings = |shown: &Shown| filter(&shown.wakings, |(ts, tid, _)| *ts > since_of.get(tid).copied().unwrap_or(since));
        equal(&wakings(&self.trace), &wakings(damaged), "wakings", &context);
        for (path, values) in &self.trace.counters {
            let found = damaged.counters.get(path).map_or(&[][..], Vec::as_slice);
            let Some(&(known, _)) = values.iter().find(|value| value.0 > since) else { continue };
            let at = |values: &[(u64, i64)], ts: u64| values.iter().rev().find(|value| value.0 <= ts).map(|value| value.1);
            for &(ts, _) in values.iter().chain(found).filter(|value| value.0 >= known) {
                assert_eq!(at(values, ts), at(found, ts), "{context}: {path} at {ts}");
            }
        }
    }
}

fn filter<T: Clone>(items: &[T], is_it: impl Fn(&T) -> bool) -> Vec<T> {
    items.iter().filter(|item| is_it(item)).cloned().collect()
}

fn equal<T: std::fmt::Debug + PartialEq>(original: &[T], damaged: &[T], items: &str, context: &str) {
    for (number, (one, two)) in original.iter().zip(damaged).enumerate() {
        assert_eq!(one, two, "{context}: number {number} of the {items}: original, damaged");
    }
    let further = (original.get(damaged.len()..), damaged.get(original.len()..));
    assert_eq!(original.len(), damaged.len(), "{context}: the number of {items}; further: {further:?}");
}

/// The generated capture, and those given from outside.
fn originals() -> Vec<(String, Original)> {
    let mut originals = vec![("generated".to_owned(), Original::new(run::generated(33_000, 4, 1, Damage::None)))];
    if let Some(folder) = std::env::var_os("TRACECONV_EXTRA_CAPTURES") {
        for entry in std::fs::read_dir(folder).expect("TRACECONV_EXTRA_CAPTURES names a folder") {
            let path = entry.expect("it can be listed").path();
            if path.extension().is_some_and(|extension| extension == "bin") {
                let bytes = std::fs::read(&path).expect("it can be read");
                originals.push((path.display().to_string(), Original::new(bytes)));
            }
        }
    }
    originals
}

fn check_all(kind: Kind) {
    const TIMES: usize = 300;
    for (name, original) in originals() {
        let mut random = Random(kind as u64 + 1);
        let compared = (0..TIMES).filter(|_| original.check(kind, &mut random)).count();
        println!("{name}: {TIMES} times {kind:?}, {compared} of them outside of metadata");
        assert!(compared > TIMES / 2, "{name}: hardly anything was compared");
    }
}

#[test]
fn a_flipped_bit_changes_its_neighbourhood_alone() {
    check_all(Kind::Flip);
}

#[test]
fn a_missing_byte_changes_its_neighbourhood_alone() {
    check_all(Kind::Deletion);
}

#[test]
fn a_missing_piece_changes_its_neighbourhood_alone() {
    check_all(Kind::CutOut);
}

/// The last drop counter has no later one that could contradict it.
#[test]
fn a_flipped_last_drop_counter_is_not_believed_beyond_reason() {
    use traceconv::format::tonbandgeraet::encode::encode;

    let capture = |counts: &[u32]| {
        let mut frames = Vec::new();
        for (turn, &cnt) in (0u64..).zip(counts) {
            encode(&Record::DroppedEvtCnt { ts: turn * 5000, cnt }, &mut frames);
            for n in 1..50 {
                encode(&Record::IsrEnter { ts: turn * 5000 + n * 100, isr_id: 1 }, &mut frames);
                encode(&Record::IsrExit { ts: turn * 5000 + n * 100 + 50, isr_id: 1 }, &mut frames);
            }
        }
        frames
    };
    let lost = |counts: &[u32]| run::convert(&capture(counts), Cut::SMALL).summary.ledger.at_least_lost();
    assert_eq!(lost(&[3, 3, 3, 3, 500]), 500, "a burst at the end is accepted");
    for bit in 14..32 {
        assert_eq!(lost(&[3, 3, 3, 3, 3 ^ 1 << bit]), 3, "bit {bit}");
    }
    // Where the bit says little, and other frames are damaged, the user is told.
    let hints = |counts: &[u32], damage: &[u8]| {
        let frames = [&capture(counts), damage].concat();
        run::convert(&frames, Cut::SMALL).summary.facts.hints.iter().filter(|hint| hint.contains("one flipped bit")).count()
    };
    let damage = [3, 0xFF, 1, 0];
    assert_eq!([hints(&[3, 3, 3, 7], &damage), hints(&[3, 3, 3, 7], &[]), hints(&[3, 3, 3, 8], &damage)], [1, 0, 0]);
    assert_eq!(hints(&[3, 3, 7, 7], &damage), 0, "it is confirmed");
}

/// A drop counter of a piece that came twice is no new one.
#[test]
fn a_repeated_drop_counter_counts_no_loss_again() {
    use traceconv::format::tonbandgeraet::encode::encode;

    let mut frames = Vec::new();
    for turn in 0..40u64 {
        let dropped = Record::DroppedEvtCnt { ts: turn * 5000, cnt: turn as u32 / 2 * 3 };
        encode(&dropped, &mut frames);
        for n in 1..50 {
            encode(&Record::IsrEnter { ts: turn * 5000 + n * 100, isr_id: 1 }, &mut frames);
            encode(&Record::IsrExit { ts: turn * 5000 + n * 100 + 50, isr_id: 1 }, &mut frames);
        }
    }
    let (piece, once) = (frames.len() / 2 - 3000..frames.len() / 2, least_lost(&frames));
    assert_eq!(once, 57);
    assert_eq!(least_lost(&[&frames[..piece.end], &frames[piece.start..]].concat()), once);
}

fn least_lost(capture: &[u8]) -> u64 {
    run::convert(capture, Cut::SMALL).summary.ledger.at_least_lost()
}

/// A piece that is there twice is joined in the middle of a frame, but all frames are there.
#[test]
fn a_piece_that_is_there_twice_loses_nothing() {
    let capture = run::generated(20_000, 3, 1, Damage::None);
    let mut random = Random(7);
    for _ in 0..40 {
        let (at, len) = (5000 + random.below(10_000), 300 + random.below(700));
        let mut twice = capture.clone();
        twice.splice(at..at, capture[at..at + len].iter().copied());
        assert_eq!(least_lost(&twice), 0, "{len} bytes at {at}");
    }
}

/// A delimiter within a frame makes two bad ones of it.
#[test]
fn a_frame_in_two_pieces_is_one_loss() {
    let capture = run::generated(6000, 3, 1, Damage::None);
    for at in 3000..3300 {
        let mut split = capture.clone();
        split[at] = 0;
        assert!(least_lost(&split) <= 1, "byte {at}");
    }
}
