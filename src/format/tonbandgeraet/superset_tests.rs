//! The superset: the vectors of its description, and the contracts of its decoder under losses and damage.

use proptest::prelude::*;

use super::Tonbandgeraet;
use super::decode::{Decoder, Wire};
use super::encode::{Sequence, encode};
use super::record::Record;
use super::scan::ScanFacts;
use super::sync_frame::flags;
use super::tests::{bytes_of, regular_parts};
use crate::format::{Facts, Format, FormatOptions, Part, Resolved};
use crate::model::{CoreId, Entities, EventBatch, EventKind, Ledger, Nanos};

/// 168 MHz.
const CLOCK: (u32, u32) = (1000, 168);

/// The resolved events of a capture.
#[derive(Debug)]
struct Resolution {
    events: Vec<(Nanos, CoreId, EventKind)>,
    losses: Vec<(&'static str, u64)>,
    ledger: Ledger,
    facts: Facts,
}

impl Resolution {
    fn times(&self) -> Vec<u64> {
        self.events
            .iter()
            .filter(|event| !matches!(event.2, EventKind::Loss(_) | EventKind::CoreEnd))
            .map(|event| event.0.0)
            .collect()
    }

    fn entries(&self) -> Vec<(&'static str, u64, u64)> {
        self.ledger.entries().iter().map(|entry| (entry.kind.code, entry.count, entry.at_least_lost)).collect()
    }
}

fn resolve(capture: &[u8], part_bytes: usize) -> Resolution {
    let scan = Tonbandgeraet.open(&[FormatOptions::default()]).unwrap();
    let parts: Vec<Part<'_>> = regular_parts(capture, part_bytes).into_iter().map(|range| Part::new(capture, range)).collect();
    let facts = parts.iter().fold(None, |before, &part| Some(scan.join(capture, before, scan.scan(0, part))));
    let mut ledgers = vec![Ledger::default()];
    let mut stages = scan.finish(vec![facts], &mut ledgers);
    let mut ledger = ledgers.remove(0);
    let (mut entities, mut batch) = (Entities::default(), EventBatch::default());
    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
    for part in parts {
        let records = stages.decode.decode(0, part, None);
        stages.resolve.resolve(0, capture, records, &mut out);
    }
    stages.resolve.finish(0, capture, &mut out);
    ledger.sort();
    Resolution {
        events: batch.events.iter().map(|event| (event.time, event.core, event.kind)).collect(),
        losses: batch.losses.iter().map(|note| (note.kind.code, note.at_least_lost)).collect(),
        ledger,
        facts: stages.resolve.facts(),
    }
}

#[test]
fn vectors_of_one_core() {
    let mut sequence = Sequence::new(1, CLOCK, 0, 100);
    let mut capture = Vec::new();
    let expect = |capture: &mut Vec<u8>, hex: &str| assert_eq!(std::mem::take(capture), bytes_of(hex));
    let isr_enter = |isr_id| Record::IsrEnter { ts: 0, isr_id };
    let isr_exit = |isr_id| Record::IsrExit { ts: 0, isr_id };
    sequence.start(1000);
    sequence.event(0, 1000, &isr_enter(0), &mut capture);
    expect(&mut capture, "060c54010201010107e807a801e80700 0384020100");
    sequence.event(0, 1007, &isr_exit(0), &mut capture);
    expect(&mut capture, "03851f0100");
    sequence.event(0, 1039, &Record::Evtmarker { ts: 0, evtmarker_id: 300, msg: b"hi" }, &mut capture);
    expect(&mut capture, "08878401ac02686900");
    sequence.event(0, 6000, &Record::Valmarker { ts: 0, valmarker_id: 2, val: -5 }, &mut capture);
    expect(&mut capture, "078b859b01020b00");
    sequence.metadata(0, &Record::ValmarkerName { valmarker_id: 2, name: b"t" }, &mut capture);
    expect(&mut capture, "040a027400");
    sequence.lose(6100);
    sequence.event(0, 6200, &isr_exit(3), &mut capture);
    expect(&mut capture, "040c54010201090601e807a801b83000 0485040300");
    sequence.event(0, 6200 + (1 << 33), &isr_enter(1), &mut capture);
    expect(&mut capture, "040c540102010c0801e807a801b8b080802000 0484020100");
    sequence.stop(0, 6210 + (1 << 33), &mut capture);
    expect(&mut capture, "060c540104010c0a01e807a801c2b080802000");
}

/// The vectors of two cores.
const TWO_CORES: &str =
    "060c54010202010107e807a801e80700 0384020100 03853b0100 08878402ac02686900 078b89b602020b00 04840e0700 050f01075500";

#[test]
fn vectors_of_two_cores() {
    let mut sequence = Sequence::new(2, CLOCK, 0, 100);
    let mut capture = Vec::new();
    sequence.start(1000);
    sequence.event(0, 1000, &Record::IsrEnter { ts: 0, isr_id: 0 }, &mut capture);
    sequence.event(0, 1007, &Record::IsrExit { ts: 0, isr_id: 0 }, &mut capture);
    sequence.event(0, 1039, &Record::Evtmarker { ts: 0, evtmarker_id: 300, msg: b"hi" }, &mut capture);
    sequence.event(0, 6000, &Record::Valmarker { ts: 0, valmarker_id: 2, val: -5 }, &mut capture);
    sequence.event(1, 6001, &Record::IsrEnter { ts: 0, isr_id: 7 }, &mut capture);
    sequence.metadata(1, &Record::CoreIsrName { core_id: 1, isr_id: 7, name: b"U" }, &mut capture);
    assert_eq!(capture, bytes_of(TWO_CORES));

    let found = resolve(&capture, 1 << 20);
    let ns = |ticks: u64| ticks * 1000 / 168;
    assert_eq!(found.times(), [1000, 1007, 1039, 6000, 6001].map(ns));
    assert_eq!(found.events.iter().map(|event| event.1.0).collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
    assert_eq!((found.entries(), found.facts.cores), (vec![], 2));
    assert_eq!(found.facts.clock.unwrap().0.ns_per_tick(), (125, 21));
}

#[test]
fn the_format_is_recognised_by_its_frames() {
    let wire = |capture: &[u8]| ScanFacts::scan(capture, 0..capture.len()).wire();
    assert_eq!(wire(&bytes_of(TWO_CORES)), Wire::Superset);
    let mut plain = Vec::new();
    super::generate::generate(&super::generate::GenerateOptions { bytes: 20_000, ..Default::default() }, &mut plain).unwrap();
    assert_eq!(wire(&plain), Wire::Plain);
    // Bytes that look like a sync do not change the format of a plain capture.
    plain.extend(bytes_of("060c54010202010107e807a801e80700"));
    assert_eq!(wire(&plain), Wire::Plain);
    assert!(Tonbandgeraet.probe(&bytes_of(TWO_CORES), true).unwrap().score >= 80);
}

/// A recording of `count` value markers, 10 ticks of 1 ns apart, and the frames it consists of.
fn recording(count: u32, sync_every: u32) -> Vec<Vec<u8>> {
    recording_of(count, sync_every, 10)
}

fn recording_of(count: u32, sync_every: u32, step: u64) -> Vec<Vec<u8>> {
    let mut sequence = Sequence::new(1, (1, 1), 0, sync_every);
    sequence.start(0);
    let mut capture = Vec::new();
    for n in 1..=count {
        sequence.event(0, u64::from(n) * step, &Record::Valmarker { ts: 0, valmarker_id: 1, val: i64::from(n) }, &mut capture);
    }
    sequence.stop(0, u64::from(count) * step, &mut capture);
    capture.split_inclusive(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

#[test]
fn lost_frames_are_counted_exactly_and_their_successors_uncertain_until_the_next_sync() {
    // Frames 0 and 11, 22, … are syncs.
    let mut frames = recording(30, 10);
    frames.drain(3..10);
    let found = resolve(&frames.concat(), 1 << 20);
    // Three are known from the next frame, four more from the next sync.
    assert_eq!(found.losses, [("frames_lost", 3), ("frames_lost", 4)]);
    assert_eq!(found.entries(), [("frames_lost", 2, 7), ("time_uncertain", 1, 0)]);
    assert_eq!(found.times()[..5], [10, 20, 30, 110, 120], "the event after the loss comes as early as it can");
}

#[test]
fn a_lost_sync_costs_no_count() {
    let mut frames = recording(30, 10);
    frames.remove(11);
    let found = resolve(&frames.concat(), 1 << 20);
    assert_eq!(found.losses, [("frames_lost", 1)]);
}

#[test]
fn a_bad_frame_is_not_counted_twice() {
    let mut frames = recording(30, 10);
    // Its code points past its end.
    frames[5][0] = 9;
    let found = resolve(&frames.concat(), 1 << 20);
    assert_eq!(found.losses, [("malformed_cobs", 1)]);
    assert_eq!(found.entries(), [("malformed_cobs", 1, 1), ("time_uncertain", 5, 0)]);
}

#[test]
fn events_of_later_versions_are_skipped_without_harm() {
    let mut frames = recording(30, 10);
    // Another id, and more fields, for the 5th frame; for the 7th one more field only.
    let id = frames[5].iter().position(|&byte| byte == 0x8B).unwrap();
    frames[5][id] = 0x80 | 0x79;
    let len = frames[7].len();
    frames[7].insert(len - 1, 0x33);
    frames[7][0] += 1;
    let found = resolve(&frames.concat(), 1 << 20);
    assert_eq!(found.entries(), [("unknown_event", 1, 1)]);
    assert!(found.losses.is_empty());
    let expected: Vec<u64> = (1..=30).filter(|&n| n != 5).map(|n| n * 10).collect();
    assert_eq!(found.times(), expected);
}

#[test]
fn events_before_the_first_sync_have_no_time() {
    let frames = recording(30, 10);
    let found = resolve(&frames[5..].concat(), 1 << 20);
    assert_eq!(found.entries(), [("before_first_sync", 6, 6)]);
    assert_eq!(found.times().first(), Some(&110));
}

#[test]
fn events_dropped_by_the_target_are_reported_once() {
    let mut sequence = Sequence::new(1, (1, 1), 0, 100);
    let mut capture = Vec::new();
    let marker = Record::Valmarker { ts: 0, valmarker_id: 1, val: 0 };
    sequence.start(0);
    sequence.event(0, 10, &marker, &mut capture);
    sequence.lose(20);
    sequence.lose(30);
    sequence.event(0, 40, &marker, &mut capture);
    sequence.event(0, 50, &marker, &mut capture);
    sequence.stop(0, 60, &mut capture);
    let found = resolve(&capture, 1 << 20);
    assert_eq!(found.entries(), [("dropped_by_target", 1, 2)]);
    assert_eq!(found.losses, [("dropped_by_target", 2)]);
    assert_eq!(found.times(), [10, 40, 50]);
}

#[test]
fn snapshots_of_several_cores_follow_each_other_in_a_file() {
    let snapshot = flags::SNAPSHOT << flags::BACKEND_SHIFT;
    let mut capture = Vec::new();
    for core in 0..2 {
        let mut sequence = Sequence::new(2, (1, 1), snapshot, 3);
        encode(&Record::CoreIsrName { core_id: core, isr_id: 1, name: b"timer" }, &mut capture);
        sequence.start(100);
        for n in 0..10 {
            let at = 100 + u64::from(core) + n * 10;
            sequence.event(core, at, &Record::IsrEnter { ts: 0, isr_id: 1 }, &mut capture);
        }
    }
    let found = resolve(&capture, 1 << 20);
    assert_eq!(found.entries(), []);
    assert_eq!(found.facts.sessions, 1);
    for core in 0..2 {
        let of_core = found.events.iter().filter(|event| event.1 == CoreId(core)).map(|event| event.0.0);
        assert!(of_core.eq((0..10).map(|n| 100 + u64::from(core) + n * 10)));
    }
}

#[test]
fn a_recording_that_starts_again() {
    let mut sequence = Sequence::new(1, (1, 1), 0, 100);
    let mut capture = Vec::new();
    let marker = Record::Valmarker { ts: 0, valmarker_id: 1, val: 0 };
    sequence.start(1000);
    sequence.event(0, 1000, &marker, &mut capture);
    sequence.stop(0, 1100, &mut capture);
    sequence.start(2000);
    sequence.event(0, 2000, &marker, &mut capture);
    let found = resolve(&capture, 1 << 20);
    assert_eq!(found.entries(), [("recording_restarted", 1, 0)]);
    assert_eq!((found.times(), found.facts.sessions), (vec![1000, 2000], 1));
    // After a reset the clock starts again.
    let mut sequence = Sequence::new(1, (1, 1), 0, 100);
    sequence.start(5);
    sequence.event(0, 5, &marker, &mut capture);
    sequence.event(0, 9, &marker, &mut capture);
    let found = resolve(&capture, 1 << 20);
    assert_eq!(found.facts.sessions, 2);
    assert!(found.entries().iter().any(|entry| entry.0 == "session_restart"));
}

proptest! {
    #[test]
    fn deltas_survive_encoding_and_decoding(
        steps in prop::collection::vec((0u64..4, prop_oneof![9 => 0u64..1000, 1 => any::<u32>().prop_map(u64::from)]), 1..300),
        cores in 1u32..5,
        sync_every in 1u32..40,
        part_bytes in 1usize..400,
    ) {
        let mut sequence = Sequence::new(cores, (1, 1), 0, sync_every);
        let mut capture = Vec::new();
        let (mut now, mut expected) = (7, Vec::new());
        sequence.start(now);
        // A first or last time that is far from all others of its core is treated as damaged: none is alone here.
        let edge: Vec<_> = (0..2 * u64::from(cores)).map(|core| (core, 1)).collect();
        for (core, step) in edge.iter().copied().chain(steps).chain(edge.iter().copied()) {
            let core = (core % u64::from(cores)) as u32;
            now += step;
            expected.push((now, core));
            sequence.event(core, now, &Record::IsrEnter { ts: 0, isr_id: 3 }, &mut capture);
        }
        let found = resolve(&capture, part_bytes);
        let times: Vec<_> = found.events.iter().map(|event| (event.0.0, u32::from(event.1.0))).collect();
        prop_assert_eq!(found.entries(), vec![]);
        prop_assert_eq!(times, expected);
    }

    #[test]
    fn cuts_change_nothing_and_damage_only_its_frames(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..6),
        part_bytes in 1usize..400,
    ) {
        let mut capture = recording(60, 10).concat();
        for (at, bit) in flips {
            let at = at.index(capture.len());
            capture[at] ^= 1 << bit;
        }
        let whole = resolve(&capture, 1 << 20);
        let parts = resolve(&capture, part_bytes);
        prop_assert_eq!(&whole.events, &parts.events);
        prop_assert_eq!(&whole.losses, &parts.losses);
        prop_assert_eq!(whole.entries(), parts.entries());
        let account = whole.ledger.decoded_bytes + whole.ledger.skipped_bytes;
        prop_assert_eq!(account, capture.len() as u64);
    }
}

#[test]
fn a_sync_within_an_inheritance_hides_nothing() {
    // A sync before each frame.
    let mut sequence = Sequence::new(2, (1, 1), flags::FREERTOS, 1);
    let mut capture = Vec::new();
    sequence.start(1000);
    let inherit = Record::TaskPriorityInherit { ts: 0, task_id: 2, priority: 7 };
    sequence.event(0, 1000, &Record::TaskSwitchedIn { ts: 0, task_id: 1 }, &mut capture);
    sequence.event(0, 1010, &Record::TaskToRdyState { ts: 0, task_id: 2 }, &mut capture);
    // On the other core an interrupt comes between.
    sequence.event(1, 1011, &Record::IsrEnter { ts: 0, isr_id: 3 }, &mut capture);
    sequence.event(0, 1012, &inherit, &mut capture);
    sequence.event(0, 1020, &Record::TaskToRdyState { ts: 0, task_id: 2 }, &mut capture);
    sequence.event(0, 1030, &Record::TaskSwitchedIn { ts: 0, task_id: 2 }, &mut capture);
    sequence.event(0, 1031, &inherit, &mut capture);
    let found = resolve(&capture, 1 << 20);
    let ready = |kind: &EventKind| matches!(kind, EventKind::Relisted(_) | EventKind::Ready { .. });
    let kinds: Vec<bool> =
        found.events.iter().filter(|event| ready(&event.2)).map(|event| matches!(event.2, EventKind::Relisted(_))).collect();
    assert_eq!(kinds, [true, false]);
}

#[test]
fn a_priority_set_under_an_inherited_one_makes_nothing_ready() {
    let mut sequence = Sequence::new(1, (1, 1), flags::FREERTOS, 100);
    let mut capture = Vec::new();
    sequence.start(1000);
    sequence.event(0, 1000, &Record::TaskSwitchedIn { ts: 0, task_id: 2 }, &mut capture);
    sequence.event(0, 1010, &Record::TaskSwitchedIn { ts: 0, task_id: 1 }, &mut capture);
    // The kernel puts the task, which was preempted, on a ready list again.
    sequence.event(0, 1020, &Record::TaskBasePriority { ts: 0, task_id: 2, priority: 3 }, &mut capture);
    sequence.event(0, 1021, &Record::TaskToRdyState { ts: 0, task_id: 2 }, &mut capture);
    let found = resolve(&capture, 1 << 20);
    let relisted = found.events.iter().filter(|event| matches!(event.2, EventKind::Relisted(_))).count();
    let ready = found.events.iter().filter(|event| matches!(event.2, EventKind::Ready { .. })).count();
    assert_eq!((relisted, ready), (1, 0));
}

#[test]
fn what_is_lost_before_the_end_is_lost_before_the_end() {
    let mut sequence = Sequence::new(1, (1, 1), flags::FREERTOS, 100);
    let mut capture = Vec::new();
    sequence.start(1000);
    sequence.event(0, 1000, &Record::TaskSwitchedIn { ts: 0, task_id: 1 }, &mut capture);
    sequence.lose(2000);
    sequence.stop(0, 9000, &mut capture);
    let found = resolve(&capture, 1 << 20);
    let end: Vec<(u64, EventKind)> = found.events.iter().map(|event| (event.0.0, event.2)).skip(1).collect();
    assert_eq!(end, [(9000, EventKind::Loss(0)), (9000, EventKind::CoreEnd)]);
    assert_eq!(found.losses, [("dropped_by_target", 1)]);
}

#[test]
fn a_piece_that_came_twice_or_elsewhere_is_no_loss() {
    let frames = recording(400, 10);
    let cases: [(&str, Vec<&[Vec<u8>]>); 4] = [
        ("twice", vec![&frames[..190], &frames[100..]]),
        ("twice, with no whole interval", vec![&frames[..104], &frames[98..]]),
        ("a later piece before", vec![&frames[..100], &frames[200..250], &frames[100..200], &frames[250..]]),
        ("a piece of one sync", vec![&frames[..100], &frames[112..123], &frames[100..112], &frames[123..]]),
    ];
    for (name, pieces) in cases {
        let found = resolve(&pieces.concat().concat(), 1 << 20);
        assert_eq!(found.ledger.at_least_lost(), 0, "{name}: {:?}", found.entries());
        assert!(found.entries().iter().all(|entry| entry.0 != "recording_restarted"), "{name}: {:?}", found.entries());
        assert_eq!(found.facts.sessions, 1, "{name}");
    }
    // More frames between two syncs than these count: they came twice.
    let frames = recording(1000, 500);
    let found = resolve(&[&frames[..200], &frames[20..]].concat().concat(), 1 << 20);
    assert_eq!((found.losses, found.facts.sessions), (vec![], 1));
}

#[test]
fn unreadable_frames_are_among_those_that_are_missing() {
    let mut frames = recording(60, 30);
    // Sixteen are missing, which the number of the next frame does not show, and their remains look like two.
    frames.splice(3..19, vec![bytes_of("020400"); 2]);
    let found = resolve(&frames.concat(), 1 << 20);
    assert_eq!(found.ledger.at_least_lost(), 16, "{:?}", found.entries());
}

#[test]
fn a_recording_that_starts_within_a_frame_starts_there() {
    let frames = recording(300, 100);
    let mut before = frames[..150].concat();
    // The target is reset while it sends a frame.
    before.truncate(before.len() - 2);
    let found = resolve(&[before, frames.concat()].concat(), 1 << 20);
    let codes: Vec<&str> = found.entries().iter().map(|entry| entry.0).collect();
    assert_eq!(codes, ["malformed_cobs", "recording_restarted", "session_restart"]);
    let (times, starts) = (found.times(), found.events.iter().position(|event| matches!(event.2, EventKind::SessionStart(1))));
    let times = &times[times.len() - 300..];
    assert!(starts.is_some());
    assert!(times.iter().zip(1..).all(|(time, n)| time - times[0] == (n - 1) * 10), "{times:?}");
}

/// A frame is searched once: thousands of begins in one would take as many searches of its rest.
#[test]
fn both_passes_find_the_same_syncs_in_bad_frames() {
    let frames = recording(300, 100);
    let (event, sync) = (&frames[5][..3], &frames[0][..]);
    let another = [event, &sync[..5], sync].concat();
    let capture = [&frames[..50], &[[event, sync].concat(), another], &frames[50..]].concat().concat();
    let points = ScanFacts::scan(&capture, 0..capture.len()).sync_points;
    let found: Vec<u64> = points.iter().map(|point| point.offset).collect();
    let records = Decoder::new(Wire::Superset, true).records(&capture, 0..capture.len());
    let decoded = records.frames.iter().filter(|stored| matches!(stored.record, Record::Sync { .. }));
    assert_eq!(found, decoded.map(|stored| u64::from(stored.offset)).collect::<Vec<u64>>());
    assert_eq!(found.len(), frames.len() - 300 + 2);
}

/// The rest of a frame that a reset cut may make a valid one of the start after it: a longer text, or fields of a later version.
#[test]
fn a_cut_frame_hides_no_start() {
    let mut sequence = Sequence::new(1, (1, 1), 0, 100);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    sequence.start(1000);
    for n in 0..20 {
        sequence.event(0, 1000 + 10 * n, &Record::Evtmarker { ts: 0, evtmarker_id: 3, msg: b"boot, boot" }, &mut first);
    }
    let text = first.len();
    sequence.stop(0, 1300, &mut first);
    let mut sequence = Sequence::new(1, (1, 1), 0, 100);
    sequence.start(500);
    for n in 0..20 {
        sequence.event(0, 500 + 10 * n, &Record::IsrEnter { ts: 0, isr_id: n as u32 }, &mut second);
    }
    for cut in text - 14..first.len() {
        let found = resolve(&[&first[..cut], &second].concat(), 1 << 20);
        assert_eq!(found.facts.sessions, 2, "cut at {cut}: {:?}", found.entries());
        assert!(found.ledger.at_least_lost() <= 1, "cut at {cut}: {:?}", found.entries());
        let times = found.times();
        let second = &times[times.len() - 20..];
        assert!(second.windows(2).all(|pair| pair[1] - pair[0] == 10), "cut at {cut}: {times:?}");
    }
}

/// A start says so surely: if the clock has gone back with it, however little, the target was reset.
#[test]
fn a_start_with_an_earlier_clock_is_a_reset() {
    for back in [1, 100, 10_000] {
        for count in [3, 50] {
            let mut capture = Vec::new();
            for start in [100_000, 100_000 + 7 * (count - 1) - back, 80_000] {
                let mut sequence = Sequence::new(2, (1, 1), 0, 100);
                sequence.start(start);
                for n in 0..count {
                    sequence.event((n % 2) as u32, start + 7 * n, &Record::IsrEnter { ts: 0, isr_id: 3 }, &mut capture);
                }
            }
            let found = resolve(&capture, 1 << 20);
            assert_eq!(found.facts.sessions, 3, "{back} {count}: {:?}", found.entries());
            let is_event = |event: &EventKind| matches!(event, EventKind::IsrEnter { .. });
            let times: Vec<u64> = found.events.iter().filter(|event| is_event(&event.2)).map(|event| event.0.0).collect();
            assert_eq!(times.len(), 3 * count as usize);
            for session in times.chunks(count as usize) {
                assert!(session.windows(2).all(|pair| pair[1] - pair[0] == 7), "{back} {count}: {session:?}");
            }
        }
    }
}

#[test]
fn numbers_that_go_back_show_a_restart_whose_sync_is_lost() {
    let (frames, others) = (recording(300, 10), recording_of(300, 10, 7));
    let found = resolve(&[&frames[..], &others[150..]].concat().concat(), 1 << 20);
    assert_eq!(found.facts.sessions, 2, "{:?}", found.entries());
}

#[test]
fn a_damaged_frame_adds_neither_cores_nor_losses() {
    let mut frames = recording(60, 10);
    // The number of cores of a sync.
    assert_eq!(frames[22][..6], [4, 0x0C, 0x54, 1, 2, 1]);
    frames[22][5] = 9;
    let found = resolve(&frames.concat(), 1 << 20);
    assert_eq!((found.facts.cores, found.ledger.at_least_lost()), (1, 0));
    // Ids of a drop counter, which only the plain format sends, and of names without room, which are no events.
    for id in [0x81, 0x8D] {
        let mut frames = recording(60, 10);
        let at = frames[15].iter().position(|&byte| byte == 0x8B).unwrap();
        frames[15][at] = id;
        let found = resolve(&frames.concat(), 1 << 20);
        assert_eq!(found.ledger.at_least_lost(), 0, "{:?}", found.entries());
    }
}

#[test]
fn a_few_times_that_damage_made_absolute_hide_no_recording() {
    let mut frames = recording(300, 100);
    for frame in frames.iter_mut().skip(5).step_by(20) {
        let at = frame.iter().position(|&byte| byte == 0x8B).unwrap();
        frame[at] = 0x0B;
    }
    let probe = Tonbandgeraet.probe(&frames.concat(), true);
    assert!(probe.is_some_and(|probe| probe.score >= 90));
}
