//! Times, losses and names, compared with what the generator knows.

use std::sync::Arc;

use traceconv::format::systemview::decode::Records;
use traceconv::format::systemview::encode::{self, numbers};
use traceconv::format::systemview::generate::{Damage, GenerateOptions, SYS_FREQ, generate_with_truth};
use traceconv::format::systemview::packet::{self, Reading};
use traceconv::format::systemview::record::{extended, id, system_record};
use traceconv::format::{FORMATS, FormatOptions, OptionValue};
use traceconv::input::{Input, ReadOptions};
use traceconv::model::{EventKind, LossKind, losses};
use traceconv::pipeline::{self, ConvertError, Source};

use crate::captures::{Stream, functions, small};
use crate::common::run::{Subject, options};
use crate::run::{Conversion, Cut, convert, generated_with, subject};

/// The names and times of the packets, as `dump` lists them.
pub fn listed(capture: &[u8]) -> Vec<(String, Option<u64>, Option<u16>)> {
    let mut all = Vec::new();
    subject().each_record(capture, Cut::WHOLE, |record| {
        if !matches!(record.record, "SYNC" | "HEADER" | "BLOCK" | "HELLO" | "invalid") {
            all.push((record.record.to_owned(), record.nanos, record.core));
        }
    });
    all
}

pub fn lost(conversion: &Conversion, kind: LossKind) -> (u64, u64) {
    let entries = conversion.summary.ledger.entries();
    entries.iter().find(|entry| entry.kind == kind).map_or((0, 0), |entry| (entry.count, entry.at_least_lost))
}

#[test]
fn every_packet_has_its_time_and_core() {
    for seed in 0..4 {
        let given = GenerateOptions {
            bytes: 60_000,
            seed,
            has_two_cores: seed % 2 == 1,
            overflows: seed > 1,
            ..GenerateOptions::default()
        };
        let (capture, truth) = generate_with_truth(&given);
        let found = listed(&capture);
        assert_eq!(found.len(), truth.len());
        for ((name, nanos, core), truth) in found.iter().zip(&truth) {
            if let Some((expected, _)) = system_record(truth.id).filter(|_| truth.id != id::EX) {
                assert_eq!(name, expected);
            }
            assert_eq!(*core, Some(u16::from(truth.core)));
            assert_eq!(*nanos, Some(truth.ticks * 1_000_000_000 / u64::from(SYS_FREQ)), "{name}");
        }
    }
}

/// The counter of the target is never reset, and does not count the packet that found the buffer full.
#[test]
fn overflows_count_what_was_dropped() {
    let whole = GenerateOptions { bytes: 80_000, seed: 3, ..GenerateOptions::default() };
    assert_eq!(lost(&convert(&generated_with(&whole), Cut::WHOLE), losses::DROPPED_BY_TARGET), (0, 0));
    let mut stream = small("N=x,O=FreeRTOS");
    stream
        .n(id::OVERFLOW, &[10])
        .n(id::IDLE, &[])
        .n(id::OVERFLOW, &[10])
        .n(id::IDLE, &[])
        .n(id::OVERFLOW, &[15])
        .n(id::IDLE, &[]);
    assert_eq!(lost(&convert(&stream.bytes, Cut::WHOLE), losses::DROPPED_BY_TARGET), (3, 11 + 1 + 6));
}

/// What was dropped before the recording began is not missing in it.
#[test]
fn a_count_from_before_the_recording_is_no_loss() {
    let recorded = |system_time: &dyn Fn(&mut Stream)| {
        let mut stream = Stream::default();
        stream.start(5_000, "N=x,O=FreeRTOS");
        system_time(&mut stream);
        stream.n(id::IDLE, &[]).after(50_000, id::OVERFLOW, &numbers(&[57])).n(id::IDLE, &[]);
        stream.after(50_000, id::OVERFLOW, &numbers(&[59])).n(id::IDLE, &[]);
        lost(&convert(&stream.bytes, Cut::WHOLE), losses::DROPPED_BY_TARGET)
    };
    // The time stamp of the start is the time since the target's restart, …
    assert_eq!(recorded(&|stream| _ = stream.n(id::SYSTIME_CYCLES, &[5_300])), (2, 58 + 3));
    assert_eq!(recorded(&|stream| _ = stream.n(id::SYSTIME_US, &[0, 0])), (2, 58 + 3));
    // … or that since another recording.
    assert_eq!(recorded(&|stream| _ = stream.n(id::SYSTIME_CYCLES, &[500_005_300])), (2, 1 + 3));
    assert_eq!(recorded(&|stream| _ = stream.n(id::SYSTIME_US, &[50_000_000, 0])), (2, 1 + 3));
}

/// A recording may begin within a packet: what is read there makes no loss, and the clock that comes later makes no silence.
#[test]
fn a_recording_from_the_middle_has_no_silence() {
    let mut stream = Stream::default();
    for number in 0..40 {
        stream.n(id::ISR_ENTER, &[15 + number % 7]).n(id::ISR_EXIT, &[]);
    }
    stream.start(100, "N=x,O=FreeRTOS").n(id::SYSTIME_CYCLES, &[5_000_000]);
    stream.n(id::TASK_START_EXEC, &[1]).n(id::IDLE, &[]);
    // The ends of packets that are damage, an overflow, and nothing odd.
    for before in [&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF][..], &[1, 85, 16], &[]] {
        let capture = [before, &stream.bytes].concat();
        let summary = subject().convert(&capture, Cut::WHOLE).summary;
        let span = summary.last.unwrap().0 - summary.first.unwrap().0;
        assert!(span < 2_000_000, "{before:?}: {span} ns");
        let dropped = summary.ledger.entries().iter().find(|entry| entry.kind == losses::DROPPED_BY_TARGET);
        assert_eq!(dropped.map(|entry| entry.at_least_lost), None, "{before:?}");
    }
}

/// A count is not believed if the time before it has no room for the packets that it counts. Then one packet was dropped, at most.
#[test]
fn a_drop_count_needs_time() {
    let capture = generated_with(&GenerateOptions { bytes: 40_000, seed: 3, ..GenerateOptions::default() });
    let mut records = Records::default();
    records.read(Reading::Plain, &capture, 0..capture.len());
    for at in records.packets[300..2000].iter().step_by(100).map(|record| record.offset as usize) {
        for (delta, is_believed) in [(92u32, false), (90_000, true)] {
            let (mut damaged, mut made_up) = (capture.clone(), Vec::new());
            encode::packet(Reading::Plain, 0, id::OVERFLOW, &numbers(&[114]), delta, &mut made_up);
            damaged.splice(at..at, made_up);
            let lost = lost(&convert(&damaged, Cut::WHOLE), losses::DROPPED_BY_TARGET);
            match is_believed {
                true => assert_eq!(lost, (1, 115), "at byte {at}"),
                // It depends on how soon the next packet follows whether it is an overflow at all.
                false => assert!([(0, 0), (1, 1)].contains(&lost), "at byte {at}: {lost:?}"),
            }
        }
    }
}

/// Buffers overflow when more happens than usual.
#[test]
fn a_burst_drops_more_than_the_usual_traffic_allows() {
    let mut stream = small("N=x,O=FreeRTOS");
    let busy = |stream: &mut Stream| {
        for number in 0..600 {
            stream.n(id::ISR_ENTER, &[15 + number % 7]).n(id::ISR_EXIT, &[]);
        }
    };
    busy(&mut stream);
    stream.after(10_000, id::OVERFLOW, &numbers(&[600]));
    busy(&mut stream);
    stream.after(10_000, id::OVERFLOW, &numbers(&[605]));
    busy(&mut stream);
    // More than any program can drop in this time; the next count is compared with the one before.
    stream.after(10_000, id::OVERFLOW, &numbers(&[50_000]));
    busy(&mut stream);
    stream.after(10_000, id::OVERFLOW, &numbers(&[610]));
    busy(&mut stream);
    let conversion = convert(&stream.bytes, Cut::WHOLE);
    assert_eq!(lost(&conversion, losses::DROPPED_BY_TARGET), (4, 601 + 6 + 1 + 6));
    assert_eq!(lost(&conversion, losses::DROP_COUNTER_OUTLIER).0, 1);
}

/// The bytes around an overflow are there before it too, if the traffic is periodic; and so is its count, which does not go up if only one packet
/// was dropped.
#[test]
fn overflows_in_periodic_traffic_are_no_copies() {
    for (counts, dropped) in [([1, 2, 3, 4], 8), ([3, 3, 3, 3], 7)] {
        let mut stream = small("N=x,O=FreeRTOS");
        let busy = |stream: &mut Stream| {
            for _ in 0..100 {
                stream.n(id::ISR_ENTER, &[15]).n(id::ISR_EXIT, &[]);
            }
        };
        busy(&mut stream);
        for count in counts {
            stream.n(id::OVERFLOW, &[count]);
            busy(&mut stream);
        }
        let conversion = convert(&stream.bytes, Cut::WHOLE);
        assert_eq!(lost(&conversion, losses::DROPPED_BY_TARGET), (4, dropped));
        assert_eq!(lost(&conversion, losses::DROP_COUNTER_OUTLIER).0, 0);
    }
}

/// Beside damage a count is not believed, but packets were dropped.
#[test]
fn an_overflow_beside_damage_is_a_loss() {
    let mut stream = small("N=x,O=FreeRTOS");
    let busy = |stream: &mut Stream, rounds: u32| {
        for number in 0..rounds {
            stream.n(id::ISR_ENTER, &[15 + number % 7]).n(id::ISR_EXIT, &[]);
        }
    };
    busy(&mut stream, 20);
    stream.n(id::OVERFLOW, &[7]).n(id::IDLE, &[]);
    stream.raw(&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    busy(&mut stream, 20);
    stream.n(id::OVERFLOW, &[9]);
    busy(&mut stream, 20);
    assert_eq!(lost(&convert(&stream.bytes, Cut::WHOLE), losses::DROPPED_BY_TARGET), (2, 1 + 10));
}

/// The target's counter never goes back: a count that those after it contradict is made up, and so is a lone one in much damage.
#[test]
fn damage_makes_no_overflows() {
    let busy = |stream: &mut Stream| {
        for number in 0..100 {
            stream.n(id::ISR_ENTER, &[15 + number % 7]).n(id::ISR_EXIT, &[]);
        }
    };
    let mut stream = small("N=x,O=FreeRTOS");
    for count in [5, 9, 90, 12, 14] {
        busy(&mut stream);
        stream.after(10_000, id::OVERFLOW, &numbers(&[count])).n(id::IDLE, &[]);
    }
    busy(&mut stream);
    assert_eq!(lost(&convert(&stream.bytes, Cut::WHOLE), losses::DROPPED_BY_TARGET), (5, 6 + 5 + 1 + 4 + 3));
    for (places, lost_at_least) in [(3, 21), (4, 1)] {
        let mut stream = small("N=x,O=FreeRTOS");
        busy(&mut stream);
        stream.after(10_000, id::OVERFLOW, &numbers(&[20])).n(id::IDLE, &[]);
        for _ in 0..places {
            busy(&mut stream);
            stream.raw(&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        }
        busy(&mut stream);
        let lost = lost(&convert(&stream.bytes, Cut::WHOLE), losses::DROPPED_BY_TARGET);
        assert_eq!(lost, (1, lost_at_least), "{places} places of damage");
    }
}

/// A difference that no other packet has is not believed beside damage, however short it is.
#[test]
fn a_step_beside_damage_is_a_usual_one() {
    let busy = |stream: &mut Stream| {
        for number in 0..100 {
            stream.n(id::ISR_ENTER, &[15 + number % 7]).n(id::ISR_EXIT, &[]);
        }
    };
    let mut stream = small("N=x,O=FreeRTOS");
    busy(&mut stream);
    stream.raw(&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF]).after(9_000_000, id::ISR_ENTER, &numbers(&[15])).n(id::ISR_EXIT, &[]);
    busy(&mut stream);
    assert!(convert(&stream.bytes, Cut::WHOLE).summary.last.unwrap().0 < 10_000_000);
}

/// Nor starts: the library sends ten zeros before each, and its configuration after it.
#[test]
fn damage_makes_no_starts() {
    let mut stream = started(10_000_000, 5_000, Some(40_000), "main");
    stream.n(id::TASK_START_EXEC, &[1]).raw(&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    stream.n(id::TRACE_STOP, &[]);
    for number in 0..20 {
        stream.n(id::ISR_ENTER, &[15 + number % 7]).n(id::ISR_EXIT, &[]);
    }
    stream.after(9_000_000, id::TRACE_START, &[]).n(id::SYSTIME_US, &[500, 0]).raw(&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    for number in 0..20 {
        stream.n(id::ISR_ENTER, &[15 + number % 7]).n(id::ISR_EXIT, &[]);
    }
    let conversion = convert(&stream.bytes, Cut::WHOLE);
    assert_eq!(lost(&conversion, losses::SESSION_RESTART), (0, 0));
    assert_eq!(lost(&conversion, losses::RECORDING_RESTARTED), (0, 0));
    assert!(conversion.summary.last.unwrap().0 < 500_000_000);
}

/// Nothing tells a packet that damage made up from a real one after a long silence.
#[test]
fn a_long_silence_in_a_damaged_recording_is_ambiguous() {
    let mut stream = small("N=x,O=FreeRTOS");
    let busy = |stream: &mut Stream| {
        for _ in 0..40 {
            stream.n(id::ISR_ENTER, &[15]).n(id::ISR_EXIT, &[]);
        }
    };
    busy(&mut stream);
    stream.after(50_000_000, id::ISR_ENTER, &numbers(&[15]));
    busy(&mut stream);
    let silent = convert(&stream.bytes, Cut::WHOLE);
    assert_eq!(lost(&silent, losses::TIME_AMBIGUOUS), (0, 0));
    let mut damaged = stream.clone();
    damaged.raw(&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    busy(&mut damaged);
    let damaged = convert(&damaged.bytes, Cut::WHOLE);
    assert_eq!(lost(&damaged, losses::TIME_AMBIGUOUS), (1, 0));
    for conversion in [silent, damaged] {
        assert!(conversion.summary.last.unwrap().0 > 5_000_000_000);
    }
}

#[test]
fn a_piece_that_is_there_twice_loses_nothing() {
    let capture = generated_with(&GenerateOptions { bytes: 40_000, seed: 3, ..GenerateOptions::default() });
    for step in 0..150 {
        let (at, len) = (8_000 + step * 83, 300 + step * 7 % 300);
        let mut twice = capture.clone();
        twice.splice(at + len..at + len, capture[at..at + len].iter().copied());
        let ledger = convert(&twice, Cut::WHOLE).summary.ledger;
        assert_eq!(ledger.at_least_lost(), 0, "{len} bytes at {at}: {:?}", ledger.entries());
    }
}

/// Nor does its time pass twice.
#[test]
fn a_piece_that_is_there_twice_makes_no_time() {
    let capture = generated_with(&GenerateOptions { bytes: 40_000, seed: 3, ..GenerateOptions::default() });
    let span = |capture: &[u8]| convert(capture, Cut::WHOLE).summary.last.unwrap().0;
    let whole = span(&capture);
    let (mut recognised, mut surplus, mut copied) = (0, 0, 0);
    for step in 0..150 {
        let (at, len) = (8_000 + step * 83, 400 + step * 7 % 300);
        let mut twice = capture.clone();
        twice.splice(at + len..at + len, capture[at..at + len].iter().copied());
        let conversion = convert(&twice, Cut::WHOLE);
        if lost(&conversion, losses::DUPLICATED_BLOCK).0 > 0 {
            recognised += 1;
            surplus += conversion.summary.last.unwrap().0.saturating_sub(whole);
            copied += whole - span(&[&capture[..at], &capture[at + len..]].concat());
        }
    }
    // A few packets at the begin of a copy may be read before reading is sure to continue at one.
    assert!(recognised > 80 && surplus < copied / 20, "{recognised} recognised, {surplus} of {copied} ns too long");
}

/// Damage within the piece does not make two of it.
#[test]
fn a_damaged_piece_that_is_there_twice_is_one() {
    let capture = generated_with(&GenerateOptions { bytes: 40_000, seed: 3, ..GenerateOptions::default() });
    let pieces = (0..50).map(|step| {
        let mut twice = capture.clone();
        let (at, len) = (8_000 + step * 83, 600);
        for place in [at + 40, at] {
            twice.splice(place..place, [30, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        }
        twice.splice(at + len..at + len, twice[at..at + len].to_vec());
        lost(&convert(&twice, Cut::WHOLE), losses::DUPLICATED_BLOCK).0
    });
    let pieces: Vec<u64> = pieces.collect();
    assert!(pieces.iter().all(|&pieces| pieces <= 1) && pieces.iter().sum::<u64>() > 25, "{pieces:?}");
}

/// The same events in a row may be there twice, too, and go on after that.
#[test]
fn periodic_traffic_after_damage_is_no_copy() {
    let mut stream = small("N=x,O=FreeRTOS");
    let busy = |stream: &mut Stream| {
        for number in 0..900 {
            stream.n(id::ISR_ENTER, &[15 + number % 50]).n(id::ISR_EXIT, &[]);
        }
    };
    busy(&mut stream);
    stream.raw(&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    busy(&mut stream);
    assert_eq!(lost(&convert(&stream.bytes, Cut::WHOLE), losses::DUPLICATED_BLOCK), (0, 0));
}

/// A packet that was cut by the restart must not swallow the start that follows it.
#[test]
fn a_restart_may_cut_any_packet() {
    let made = |seed| generated_with(&GenerateOptions { bytes: 20_000, seed, ..GenerateOptions::default() });
    let (first, second) = (made(3), made(5));
    for at in 9_000..9_300 {
        let capture = [&first[..at], &second].concat();
        assert_eq!(convert(&capture, Cut::WHOLE).summary.facts.sessions, 2, "cut at byte {at}");
    }
}

/// A target greets its host on a serial line and on a socket, whenever a host comes.
#[test]
fn greetings_are_no_damage() {
    let made = |seed| generated_with(&GenerateOptions { bytes: 20_000, seed, ..GenerateOptions::default() });
    let (first, second) = (made(3), made(5));
    let stream = |capture: &[u8]| capture[packet::starts(capture).next().unwrap()..].to_vec();
    for hello in [&b"SV\x03\x03"[..], b"SEGGER SystemView V3.52.00\0\0\0\0\0\0"] {
        let capture = [hello, &stream(&first), hello, &stream(&second)].concat();
        let summary = convert(&capture, Cut::WHOLE).summary;
        assert_eq!((summary.ledger.skipped_bytes, summary.ledger.at_least_lost()), (0, 0), "{:?}", summary.ledger.entries());
        assert_eq!(listed(&capture).len(), listed(&first).len() + listed(&second).len());
    }
}

#[test]
fn a_restart_begins_a_session_and_a_repeated_start_does_not() {
    let restarted = GenerateOptions { bytes: 40_000, restart_after: Some(2_000), ..GenerateOptions::default() };
    let conversion = convert(&generated_with(&restarted), Cut::WHOLE);
    assert_eq!(lost(&conversion, losses::SESSION_RESTART).0, 1);
    assert_eq!(conversion.summary.facts.sessions, 2);
    let mut stream = small("N=x,O=FreeRTOS");
    stream.start(100, "N=x,O=FreeRTOS").n(id::SYSTIME_CYCLES, &[6_900]).n(id::IDLE, &[]);
    assert_eq!(convert(&stream.bytes, Cut::WHOLE).summary.facts.sessions, 1);
}

/// A start of a target with these ticks per second, and two tasks; the times are those that an operating system tells, or the clock's.
pub fn started(hz: u32, stamp: u32, us: Option<u32>, name: &str) -> Stream {
    let mut stream = Stream::default();
    encode::sync(&mut stream.bytes);
    stream.after(stamp, id::TRACE_START, &[]).after(0, id::INIT, &numbers(&[hz, 168_000_000, 0x2000_0000, 2]));
    stream.after(0, id::SYSDESC, &encode::numbers_and_text(&[], "N=x,O=FreeRTOS"));
    match us {
        Some(us) => stream.after(0, id::SYSTIME_US, &numbers(&[us, 0])),
        None => stream.after(0, id::SYSTIME_CYCLES, &numbers(&[stamp])),
    };
    stream.after(0, id::TASK_INFO, &encode::numbers_and_text(&[1, 3], name));
    stream
}

/// Three runs of a task, and as long without it.
pub fn runs(stream: &mut Stream, ticks: u32) {
    for _ in 0..3 {
        stream.after(ticks, id::TASK_START_EXEC, &numbers(&[1])).after(ticks, id::IDLE, &[]);
    }
}

/// After a restart another program may run, with another clock.
#[test]
fn each_session_has_its_own_clock() {
    let (mut first, mut second) = (started(1_000_000, 0, None, "alpha"), started(32_768, 0, None, "gamma"));
    runs(&mut first, 100_000);
    runs(&mut second, 32_768);
    let capture = [first.bytes, second.bytes].concat();
    let summary = convert(&capture, Cut::WHOLE).summary;
    assert_eq!(summary.facts.sessions, 2);
    assert!(summary.facts.details.iter().any(|detail| detail.value == "32768 Hz from session 2 on"));
    assert_eq!(summary.last.unwrap().0 / 1_000_000, 600 + 6_000);
    // An option gives the rate of all.
    let mut subject = subject();
    subject.options.clock = traceconv::model::Rate::from_hz(1_000_000, 1);
    let summary = subject.convert(&capture, Cut::WHOLE).summary;
    assert!(summary.last.unwrap().0 < 1_000_000_000);
}

/// The operating system's clock is 0 at each start, or too few ticks were recorded to tell them from a delay of the reading.
#[test]
fn short_sessions_are_kept_apart() {
    let sessions = |first: (u32, u32), second: (u32, u32), us: Option<[u32; 2]>, is_stopped: bool| {
        let mut one = started(1_000_000, first.0, us.map(|us| us[0]), "alpha");
        runs(&mut one, first.1);
        if is_stopped {
            one.n(id::TRACE_STOP, &[]);
        }
        let mut two = started(1_000_000, second.0, us.map(|us| us[1]), "alpha");
        runs(&mut two, second.1);
        convert(&[one.bytes, two.bytes].concat(), Cut::WHOLE).summary.facts.sessions
    };
    assert_eq!(sessions((0, 100_000), (0, 100_000), Some([0, 0]), false), 2);
    assert_eq!(sessions((1000, 300), (500, 300), None, false), 2);
    assert_eq!(sessions((0, 5_000), (0, 5_000), None, false), 2);
    // The recorder was connected later after the second start than after the first one.
    assert_eq!(sessions((1_000, 100_000), (2_000_000, 100_000), Some([1_000, 1_990_000]), false), 2);
    assert_eq!(sessions((1_000, 100_000), (2_000_000, 100_000), Some([1_000, 1_990_000]), true), 2);
    // The clock goes on: the recorder was stopped, or connected again.
    assert_eq!(sessions((1_000, 100_000), (2_000_000, 100_000), Some([1_000, 2_601_000]), true), 1);
    assert_eq!(sessions((0, 100_000), (50_000, 100_000), Some([0, 650_000]), false), 1);
    assert_eq!(sessions((0, 100_000), (50_000, 100_000), Some([0, 0]), true), 1);
    assert_eq!(sessions((0, 100_000), (0, 100_000), Some([50_000, 50_000]), false), 1);
}

/// The names of tasks with the nanoseconds that each ran, in the order of their names.
pub fn ran(capture: &[u8]) -> Vec<(String, u64)> {
    let mut names: Vec<String> = Vec::new();
    let (mut ran, mut running) = (std::collections::BTreeMap::new(), None::<(usize, u64)>);
    subject().resolve(capture, 1 << 20, |batch, entities| {
        names = entities.tasks.iter().map(|task| format!("{} {}", task.name.as_deref().unwrap_or(""), task.session)).collect();
        for event in &batch.events {
            if let EventKind::SwitchedIn(task) = event.kind
                && let Some((task, since)) = running.replace((task.index(), event.time.0))
            {
                *ran.entry(task).or_insert(0) += event.time.0 - since;
            }
        }
    });
    let mut all: Vec<(String, u64)> = ran.into_iter().map(|(task, time)| (names[task].clone(), time)).collect();
    all.retain(|one| !one.0.starts_with("IDLE"));
    all.sort();
    all
}

/// After a restart the ids may have other names.
#[test]
fn names_hold_for_their_session() {
    let (mut first, mut second) = (started(1_000_000, 0, None, "alpha"), started(32_768, 0, None, "gamma"));
    runs(&mut first, 100_000);
    runs(&mut second, 32_768);
    let capture = [first.bytes, second.bytes].concat();
    assert_eq!(ran(&capture), [("alpha 0".to_owned(), 300_000_000), ("gamma 1".to_owned(), 3_000_000_000)]);
}

/// A task that is created again with another name is another task; one that says its name late, or again, is not.
#[test]
fn an_id_is_used_again() {
    let mut stream = started(1_000_000, 0, None, "first");
    runs(&mut stream, 100);
    stream.n(id::TASK_TERMINATE, &[1]).n(id::TASK_CREATE, &[1]).task(1, 3, "").task(1, 3, "second");
    runs(&mut stream, 200);
    let second = |ran: u64| [("first 0".to_owned(), 300_000), ("second 0".to_owned(), ran)];
    assert_eq!(ran(&stream.bytes), second(600_000));
    stream.n(id::TASK_TERMINATE, &[1]).n(id::TASK_CREATE, &[1]).task(1, 3, "").task(1, 3, "second");
    runs(&mut stream, 100);
    assert_eq!(ran(&stream.bytes), second(900_000));
    let whole = convert(&stream.bytes, Cut::WHOLE).trace;
    for window_bytes in [40, 64, 100] {
        assert!(convert(&stream.bytes, Cut { threads: 2, window_bytes }).trace == whole, "windows of {window_bytes}");
    }
    // Without a new creation it has another name.
    let mut stream = started(1_000_000, 0, None, "first");
    runs(&mut stream, 100);
    stream.task(1, 3, "second");
    runs(&mut stream, 100);
    assert_eq!(ran(&stream.bytes), [("second 0".to_owned(), 600_000)]);
}

/// After damage, most packets are found again, and the clock of the next start gives the time.
#[test]
fn damage_costs_little() {
    for damage in [Damage::Flips, Damage::Bytes] {
        let whole = GenerateOptions { bytes: 400_000, seed: 2, ..GenerateOptions::default() };
        let good = listed(&generated_with(&whole)).len();
        let capture = generated_with(&GenerateOptions { damage, ..whole });
        let conversion = convert(&capture, Cut::WHOLE);
        let bad = conversion.summary.ledger.skipped_bytes;
        let found = listed(&capture).len();
        assert!(bad * 200 < capture.len() as u64, "{damage:?}: {bad} of {} bytes skipped", capture.len());
        assert!(found * 100 > good * 98, "{damage:?}: {found} of {good} packets");
    }
}

/// Numbers of several bytes look like packets with times of their own where bytes before them are missing.
#[test]
fn missing_bytes_make_no_time() {
    let mut stream = Stream { reading: Reading::CoreBit, ..Stream::default() };
    stream.raw(encode::header(Reading::CoreBit)).start(900, "N=test,D=esp32,C=xtensa,O=FreeRTOS");
    for round in 0..40 {
        stream.core = round & 1;
        stream.n(49, &[0xBB_D9F0, 0xC0C0_0000, u32::MAX, 0]).n(53, &[0xBB_D9F0, 0, 0, 0]).n(id::TASK_START_EXEC, &[0xBB_D994]);
        stream.n(id::TASK_STOP_READY, &[0xBB_D994, 4]).n(34, &[20 + u32::from(round)]).n(id::IDLE, &[]);
    }
    let whole = &stream.bytes;
    let mut noticed = 0;
    for at in 200..whole.len() - 24 {
        for len in [1, 2, 3, 5, 8, 13, 21] {
            let summary = convert(&[&whole[..at], &whole[at + len..]].concat(), Cut::WHOLE).summary;
            let span = summary.last.unwrap().0 - summary.first.unwrap().0;
            if summary.ledger.skipped_bytes > 0 {
                assert!(span < 1_000_000_000, "{span} ns where {len} bytes at {at} are missing");
                noticed += 1;
            }
        }
    }
    assert!(noticed > 1000);
}

fn described(files: &[(&'static str, &str)]) -> FormatOptions {
    let own = files
        .iter()
        .map(|(name, text)| (*name, OptionValue::File { path: "given.txt".to_owned(), bytes: Arc::from(text.as_bytes()) }));
    FormatOptions { own: own.collect(), ..FormatOptions::default() }
}

#[test]
fn descriptions_name_events_and_values() {
    let mut stream = small("N=x,O=embOS");
    stream.n(40, &[0x40, 1]).n(id::END_CALL, &[40, 0]);
    let mut subject = subject();
    subject.options =
        described(&[("systemview-desc", "NamedType Mode 0=off 1=on\n40 OS_Use mutex=%I mode=%Mode | Returns %d\n")]);
    let trace = subject.convert(&stream.bytes, Cut::WHOLE).read();
    let call = trace.slices.iter().find(|slice| slice.name == "OS_Use").expect("the call is drawn");
    let text = format!("{:?}", call.args);
    assert!(text.contains("mode") && text.contains("on"), "{text}");
    let hint = |description: &str| convert(&small(description).bytes, Cut::WHOLE).summary.facts.hints.join(" ");
    assert!(hint("N=x,O=embOS").contains("--systemview-desc"));
    assert!(!hint("N=x,O=Zephyr").contains("--systemview-desc"));
}

#[test]
fn a_file_without_descriptions_is_refused() {
    let format = subject().format;
    let error = format.open(&[described(&[("systemview-desc", "nothing here\n")])]).err().expect("it is refused");
    assert!(error.found.contains("given.txt") && error.expected.contains("k_sem_take"), "{error:?}");
}

/// Each core in a file of its own, as OpenOCD writes them: packets that concern both cores are in both.
#[test]
fn two_files_of_two_cores_are_one_recording() {
    let files = [0u32, 1].map(|core| {
        let mut stream = small("N=x,D=esp32,O=FreeRTOS");
        for _ in 0..20 {
            stream.n(id::ISR_ENTER, &[5 + core]).n(id::TASK_START_READY, &[1 + core]).n(id::ISR_TO_SCHEDULER, &[]);
            stream.n(id::TASK_START_EXEC, &[1 + core]).n(id::OVERFLOW, &[7]).n(id::IDLE, &[]);
        }
        stream.bytes
    });
    let format = FORMATS.iter().copied().find(|format| format.name() == "systemview").expect("it is registered");
    let convert = |window_bytes: usize, threads: usize| {
        let sources: Vec<Source<'_>> = files.iter().map(|file| Source::new(file, format)).collect();
        let mut trace = Vec::new();
        let cut = Cut { threads, window_bytes };
        let converted = pipeline::convert(&sources, &options(cut), &mut trace, &mut |_| true).expect("nothing stops it");
        let lost: Vec<u64> = converted.inputs.iter().map(|input| input.ledger.at_least_lost()).collect();
        let elsewhere = |input: usize| {
            let details = &converted.inputs[input].facts.details;
            details.iter().find(|detail| detail.name == "losses").map(|detail| detail.value.clone())
        };
        assert_eq!(elsewhere(0), None);
        assert_eq!(elsewhere(1).as_deref(), Some("at least 27 events of all cores, counted with the first"));
        (trace, lost)
    };
    let (trace, lost) = convert(1 << 20, 1);
    assert_eq!(lost, [8 + 19, 0]);
    for (window_bytes, threads) in [(64, 1), (100, 3), (1000, 2)] {
        assert!(convert(window_bytes, threads).0 == trace, "windows of {window_bytes}");
    }
    let read = crate::reader::Trace::parse(&trace).expect("the reader takes it");
    assert_eq!(read.sched.values().filter(|switches| !switches.is_empty()).count(), 2);
}

/// Both cores in one file: the header says where each begins. OpenOCD writes a version before, pyOCD does not.
#[test]
fn one_file_may_hold_each_core() {
    one_file_holds_each_core("; Version     SEGGER SystemViewer V3.60\n");
    one_file_holds_each_core("; RecordTime   01 Jan 2026 12:00:00\n; Author       x\n");
}

fn one_file_holds_each_core(first_lines: &str) {
    let stream = |seed| generated_with(&GenerateOptions { bytes: 20_000, seed, ..GenerateOptions::default() });
    let streams = [stream(2), stream(4)].map(|stream| stream[packet::starts(&stream).next().unwrap()..].to_vec());
    let header = |second: usize| format!(";\n{first_lines}; Offset Core0 0\n; Offset Core1 {second}\n;\n").into_bytes();
    let recognise = |file: Vec<u8>, core| {
        let options = ReadOptions::default();
        let input = Input::from_vec(file, &options).unwrap();
        input.recognise(None, &FormatOptions { core, ..FormatOptions::default() }, &options)
    };
    let right = header(streams[0].len());
    let file = [&right[..], &streams[0], &streams[1]].concat();
    let found = recognise(file.clone(), None).unwrap();
    assert_eq!(found.len(), 2);
    for (core, one) in found.iter().enumerate() {
        assert_eq!(one.options.core, Some(core as u16));
        assert_eq!(one.input.bytes(), [&right[..], &streams[core]].concat());
        assert_eq!(one.input.damages(), []);
    }
    assert!(recognise(file, Some(0)).is_err(), "one core is named for two");
    // The file was cut before the second core began, or the header is wrong.
    let cut = recognise([&right[..], &streams[0][..9000]].concat(), None).unwrap();
    assert_eq!(cut.iter().map(|one| one.input.damages().len()).collect::<Vec<_>>(), [0, 1]);
    let wrong = recognise([&header(77)[..], &streams[0], &streams[1]].concat(), None).unwrap();
    assert_eq!(wrong.len(), 1);
    // The same header with one core is part of its recording, not text before it.
    let single = format!(";\n{first_lines}; Offset Core0 0\n;\n").into_bytes();
    let found = recognise([&single[..], &streams[0]].concat(), None).unwrap();
    assert_eq!((found.len(), found[0].input.bytes().len()), (1, single.len() + streams[0].len()));
    assert_eq!(found[0].input.damages(), []);
}

#[test]
fn waits_have_the_reason_that_is_recorded() {
    let mut stream = small("N=x,O=FreeRTOS");
    stream
        .n(35, &[10])
        .n(id::TASK_STOP_READY, &[1, 4])
        .n(id::TASK_START_EXEC, &[2])
        .n(id::TASK_STOP_READY, &[2, 4])
        .n(id::IDLE, &[]);
    let mut reasons = Vec::new();
    subject().resolve(&stream.bytes, 1 << 20, |batch, _| {
        reasons.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::Waiting(wait) => Some((wait.reason, wait.kernel_ticks)),
            _ => None,
        }));
    });
    use traceconv::model::WaitReason::{Delay, NotRecorded};
    assert_eq!(reasons, [(Delay, 10), (NotRecorded, u32::MAX)]);
}

/// The operations on objects, and the spans and instants on the tracks of calls, by their names.
pub fn called(stream: &Stream) -> Vec<String> {
    let mut all = Vec::new();
    subject().resolve(&stream.bytes, 1 << 20, |batch, entities| {
        let name = |label: traceconv::model::Label| label.as_name().map_or("", |name| &entities.names[name.index()]).to_owned();
        all.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::Object { op, .. } => Some(format!("{op:?}")),
            EventKind::SpanBegin { label, .. } => Some(format!("begin {}", name(label))),
            EventKind::Instant { label, .. } => Some(name(label)),
            EventKind::SpanEnd { .. } => Some("end".to_owned()),
            _ => None,
        }));
    });
    all
}

/// The ports for FreeRTOS 10 record a receive as one that only looks at an item, but without a place for the item.
#[test]
fn a_receive_without_a_place_for_the_item_is_no_peek() {
    let nowhere = 0u32.wrapping_sub(0x2000_0000) >> 2;
    let mut stream = small("N=x,O=FreeRTOS");
    stream.n(92, &[64, nowhere, 10, 1]).n(92, &[64, nowhere, 10, 0]).n(92, &[64, 72, 10, 1]).n(92, &[64, 72, 10, 0]);
    let mut operations = called(&stream);
    operations.retain(|one| one != "xQueueGenericReceive");
    assert_eq!(operations, ["Receive", "Receive", "Peek", "Receive"]);
}

/// The port for FreeRTOS 11 records two functions twice, but their end once.
#[test]
fn a_call_that_is_recorded_twice_is_one() {
    let mut stream = small("N=x,O=FreeRTOS");
    stream.n(201, &[0x3800_0000, 5]).n(285, &[9]).n(id::END_CALL, &[285, 0]).n(201, &[1, 5]).n(id::END_CALL, &[201]);
    stream.n(197, &[10]).n(id::END_CALL, &[197]);
    stream.n(201, &[1, 6]).n(201, &[1, 6]).n(id::END_CALL, &[201]);
    let [set, remove, delay] = ["begin vTaskPrioritySet", "begin uxListRemove", "begin vTaskDelay"];
    assert_eq!(called(&stream), [set, remove, "end", "end", delay, "end", set, "end"]);
}

/// An end ends its own call, with those within it, and no other.
#[test]
fn the_end_of_a_call_ends_no_other_call() {
    let mut stream = small("N=x,O=FreeRTOS");
    stream.n(197, &[10]).n(285, &[9]).n(id::END_CALL, &[197]).n(id::END_CALL, &[285, 0]);
    stream.n(197, &[11]).n(id::END_CALL, &[285, 0]).n(id::END_CALL, &[197]);
    let [remove, delay] = ["begin uxListRemove", "begin vTaskDelay"];
    assert_eq!(called(&stream), [delay, remove, "end", "end", delay, "end"]);
    let conversion = convert(&stream.bytes, Cut::WHOLE);
    assert_eq!([losses::EXIT_MISSING, losses::SPAN_END_WITHOUT_BEGIN].map(|kind| lost(&conversion, kind).0), [1, 2]);
}

/// A recording of a target of 64 or 32 bits. Its counter has 28 bits, so a difference across its wrap has ones before it.
fn of_bits(is_wide: bool, base: u64) -> Vec<u8> {
    let mut stream = Stream::default();
    let payload = |values: &[u64]| {
        let mut bytes = Vec::new();
        let limit = if is_wide { u64::MAX } else { u64::from(u32::MAX) };
        values.iter().for_each(|value| encode::number(value & limit, &mut bytes));
        bytes
    };
    let id_of = |address: u64| (base + address).wrapping_sub(base) >> 2 & (u64::MAX >> 2);
    let minus_one = u64::MAX;
    encode::sync(&mut stream.bytes);
    stream.put(id::TRACE_START, &[]).put(id::INIT, &payload(&[10_000_000, 10_000_000, base, 2]));
    stream.put(id::SYSDESC, &encode::numbers_and_text(&[], "N=x,O=FreeRTOS"));
    stream.put(id::SYSTIME_US, &payload(&[1 << 40 | 600, 1 << 8]));
    for (task, name) in [(0x100, "one"), (0x200, "two")] {
        let mut info = payload(&[id_of(task), 3]);
        encode::text(name.as_bytes(), &mut info);
        stream.put(id::TASK_INFO, &info).put(id::STACK_INFO, &payload(&[id_of(task), base + 0x4000, 2048, 512]));
    }
    for round in 0..20 {
        stream.put(id::TASK_START_EXEC, &payload(&[id_of(0x100)]));
        stream.put(92, &payload(&[id_of(0x800), id_of(0x900), minus_one, 0])).put(id::END_CALL, &payload(&[92, minus_one]));
        let delta = 300 + round;
        let wrapped = if is_wide { u64::from(u32::MAX) << 28 | delta } else { delta };
        encode::packet(Reading::Wide, 0, id::TASK_START_EXEC, &payload(&[id_of(0x200)]), wrapped, &mut stream.bytes);
    }
    stream.bytes
}

#[test]
fn numbers_may_have_64_bits() {
    let narrow = of_bits(false, 0x2000_0000);
    let said = |conversion: &Conversion| {
        let details = &conversion.summary.facts.details;
        details.iter().find(|detail| detail.name == "numbers").map(|detail| detail.value.clone())
    };
    let bits_32 = convert(&narrow, Cut::WHOLE);
    assert_eq!(said(&bits_32), None);
    assert_eq!(ran(&narrow).len(), 2);
    for base in [0x2000_0000, 0x0008_8000_0000] {
        let wide = of_bits(true, base);
        assert_eq!(subject().format.probe(&wide, true).map(|probe| probe.score), Some(97));
        let bits_64 = convert(&wide, Cut::WHOLE);
        assert_eq!(said(&bits_64).as_deref(), Some("of up to 64 bits"));
        assert_eq!(bits_64.summary.ledger.entries(), []);
        assert_eq!((listed(&wide), ran(&wide)), (listed(&narrow), ran(&narrow)));
        let trace = bits_64.read();
        let receive = trace.slices.iter().find(|slice| slice.name == "xQueueGenericReceive").expect("it is drawn");
        let argument = |name| format!("{:?}", receive.arg(name).expect("it is drawn"));
        let queue = base + 0x800;
        assert!(argument("xQueue").contains(&queue.to_string()), "{}", argument("xQueue"));
        assert!(argument("xTicksToWait").contains("18446744073709551615"), "{}", argument("xTicksToWait"));
    }
}

/// The time since the restart may have more than 32 bits.
#[test]
fn a_target_of_64_bits_may_have_run_for_long() {
    let mut wide = of_bits(true, 0x0008_8000_0000);
    let start_after = |ticks: u64| {
        let mut packet = Vec::new();
        encode::packet(Reading::Wide, 0, id::TRACE_START, &[], ticks, &mut packet);
        packet
    };
    let short = wide.splice(10..12, start_after(60_000_000_000));
    assert_eq!(short.collect::<Vec<u8>>(), start_after(100));
    let first = listed(&wide)[0].1;
    assert_eq!(first, Some(6_000_000_000_000));
}

/// Bytes that happen to look like numbers of 64 bits do not change how others are read.
#[test]
fn damage_makes_no_numbers_of_64_bits() {
    let (capture, _) = generate_with_truth(&GenerateOptions { bytes: 30_000, seed: 5, ..GenerateOptions::default() });
    for seed in 0..200u64 {
        let mut damaged = capture.clone();
        for place in 0..1 + seed % 8 {
            let at = 200 + (seed * 7919 + place * 1237) as usize % 12_000;
            let noise = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(place as u32 * 8) | 0x8080_8080_8080;
            damaged[at..at + 8].copy_from_slice(&noise.to_le_bytes());
        }
        assert_eq!(Reading::of(&damaged), Reading::Plain, "seed {seed}");
    }
}

/// The name of the device says how ids are read, also if the recording begins late in the file.
#[test]
fn both_cores_are_found_after_other_bytes() {
    let options = GenerateOptions { bytes: 20_000, has_two_cores: true, ..GenerateOptions::default() };
    let (capture, _) = generate_with_truth(&options);
    let stream = &capture[packet::starts(&capture).next().expect("it has a start")..];
    for before in [100, 6_000, 50_000] {
        let found = listed(&[vec![0xFF; before].as_slice(), stream].concat());
        assert!(found.iter().any(|record| record.2 == Some(1)), "{before}");
        let names =
            |records: &[(String, Option<u64>, Option<u16>)]| records.iter().map(|record| record.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&listed(stream)), "{before}");
    }
}

/// The texts of such a message are copies, after its numbers; or addresses of the program's texts.
#[test]
fn messages_of_the_program_have_texts() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/symbols/pump.elf");
    let mut program = std::fs::read(path).expect("it is in the repository");
    let at = memchr::memmem::find(&program, b"pump: flow").expect("the program has the text");
    program[at..at + 26].copy_from_slice(b"%s is at %d, not %s\0valve\0");
    let text = 0xE8 + (at as u32 - 0x10E8);
    let mut stream = small("N=x,O=embOS");
    let mut copies = numbers(&[extended::PRINT_ELF, text, 1, (-21i32).cast_unsigned()]);
    encode::text(b"flow", &mut copies);
    encode::text(b"22", &mut copies);
    stream.put(id::EX, &copies);
    stream.n(id::EX, &[extended::PRINT_ELF, text, 0, text + 20, 0, text + 20]);
    stream.n(id::EX, &[extended::PRINT_ELF, text, 0, 0x0800_0000, 5]);
    let mut subject = subject();
    subject.options.own.push(("elf", OptionValue::File { path: "pump.elf".into(), bytes: program.into() }));
    let trace = subject.convert(&stream.bytes, Cut::WHOLE).read();
    let messages: Vec<&str> = trace.logs.iter().map(|log| log.body.as_str()).collect();
    assert_eq!(messages, ["flow is at -21, not 22", "valve is at 0, not valve", "0x08000000 is at 5, not %s"]);
}

/// The program `pump.elf`, as an option.
fn with_program() -> Subject {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/symbols/pump.elf");
    let program = std::fs::read(path).expect("it is in the repository");
    let mut subject = subject();
    subject.options.own.push(("elf", OptionValue::File { path: "pump.elf".into(), bytes: program.into() }));
    subject
}

/// Functions are slices of the code that calls them. A task goes on within its functions, and a missing end is that of the function around.
#[test]
fn functions_are_slices_of_their_tasks() {
    let conversion = with_program().convert(&functions(true, true), Cut::WHOLE);
    let codes = [losses::EXIT_MISSING, losses::UNMATCHED_EXIT].map(|kind| lost(&conversion, kind).0);
    assert_eq!(codes, [1, 1]);
    let trace = conversion.read();
    let mut slices: Vec<(&str, &str, u64, Option<u64>)> = trace
        .slices
        .iter()
        .filter(|slice| slice.arg("called at").is_some())
        .map(|slice| (&*trace.tracks[&slice.track].name, &*slice.name, slice.ts / 10_000, slice.dur.map(|dur| dur / 10_000)))
        .collect();
    slices.sort_by_key(|slice| slice.2);
    let first = slices[0].2;
    slices.iter_mut().for_each(|slice| slice.2 -= first);
    let isr = "functions outside of tasks, core 0";
    assert_eq!(
        slices,
        [
            ("main", "Reset_Handler", 0, Some(17)),
            ("main", "pump::Valve::clamp(int) const", 1, Some(13)),
            (isr, "Pump_IRQHandler", 3, Some(1)),
            ("worker", "Reset_Handler", 7, Some(5)),
            ("worker", "SysTick_Handler", 8, Some(4)),
            ("main", "0x20000000", 18, Some(1)),
        ]
    );
    let place = trace.slices.iter().find_map(|slice| slice.arg("called at")).expect("it has one");
    assert!(format!("{place:?}").contains("Reset_Handler"), "{place:?}");
}

/// A recording that begins after the module's description: the program says that the arguments are functions.
#[test]
fn the_program_tells_which_events_are_functions() {
    let found = |subject: &Subject, capture: &[u8]| {
        let conversion = subject.convert(capture, Cut::WHOLE);
        let details = &conversion.summary.facts.details;
        let said = details.iter().find(|detail| detail.name == "function calls").map(|detail| detail.value.clone());
        let hints = conversion.summary.facts.hints.join(" ");
        let slices = conversion.read().slices.iter().filter(|slice| slice.arg("called at").is_some()).count();
        (said, hints, slices)
    };
    assert_eq!(found(&with_program(), &functions(false, true)).0, None, "one address is not that of a function");
    let capture = functions(false, false);
    let (said, hints, slices) = found(&with_program(), &capture);
    assert_eq!((said.as_deref(), slices), (Some("event ids 512 and 513"), 5));
    assert!(!hints.contains("512"), "{hints}");
    // ESP-IDF's file of descriptions always has the heap there.
    let text = "512 esp_sysview_heap_trace_alloc addr=%p size=%u\n513 esp_sysview_heap_trace_free addr=%p\n";
    let file = ("systemview-desc", OptionValue::File { path: "SYSVIEW_FreeRTOS.txt".into(), bytes: text.as_bytes().into() });
    let mut with_both = with_program();
    with_both.options.own.push(file.clone());
    assert_eq!(found(&with_both, &capture).2, 5);
    let (said, hints, slices) = found(&subject(), &capture);
    assert_eq!((said, slices), (None, 0));
    assert!(hints.contains("No module describes its events from 512 to 513") && hints.contains("--elf"), "{hints}");
}

/// ESP-IDF sends the begin of the SHA-256 of the program's file.
#[test]
fn the_program_is_compared_with_the_one_that_ran() {
    let recording = |digits: &str| {
        let mut stream = small("N=test,O=FreeRTOS");
        stream.put(id::SYSDESC, &encode::numbers_and_text(&[], &format!("ELF_SHA256={digits}"))).n(id::IDLE, &[]).bytes.clone()
    };
    let right = recording("6e572d992");
    let of_machine = |system: &str| small(system).n(id::IDLE, &[]).bytes.clone();
    let said = |subject: &Subject, capture: &[u8]| {
        let facts = subject.convert(capture, Cut::WHOLE).summary.facts;
        let program = facts.details.iter().find(|detail| detail.name == "program").map(|detail| detail.value.clone());
        (program.unwrap_or_default(), facts.hints.iter().filter(|hint| hint.contains("another build")).count())
    };
    assert_eq!(said(&subject(), &right), ("its SHA-256 begins with 6e572d992".to_owned(), 0));
    assert_eq!(said(&with_program(), &right), ("the one that ran: its SHA-256 begins with 6e572d992".to_owned(), 0));
    let other = "another build: its SHA-256 does not begin with 6e572d993";
    assert_eq!(said(&with_program(), &recording("6E572D993")), (other.to_owned(), 1));
    assert_eq!(said(&with_program(), &recording("x")), (String::new(), 0));
    // The program is for ARM.
    for (system, hints) in
        [("N=test,D=Cortex-M4", 0), ("N=test,D=esp32,C=Xtensa", 1), ("N=test,D=esp32c3,C=riscv", 1), ("N=test,D=chip", 0)]
    {
        assert_eq!(said(&with_program(), &of_machine(system)).1, hints, "{system}");
    }
    let mut strict = with_program();
    strict.options.own.push(("require-elf-match", OptionValue::Flag));
    strict.convert(&right, Cut::WHOLE);
    for other in [recording("6e572d993"), recording("x")] {
        let source = Source::new(&other, strict.format).options(strict.options.clone());
        match pipeline::convert(&[source], &options(Cut::WHOLE), &mut Vec::new(), &mut |_| true) {
            Err(ConvertError::Refused(why)) => assert!(why.contains("not known to be the program that ran"), "{why}"),
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
}

/// The program may lack what names need, or be another one.
#[test]
fn what_the_program_lacks_is_said() {
    let hints = |file: &str, capture: &[u8]| {
        let path = format!("{}/testdata/symbols/{file}", env!("CARGO_MANIFEST_DIR"));
        let program = std::fs::read(path).expect("it is in the repository");
        let mut subject = subject();
        subject.options.own.push(("elf", OptionValue::File { path: file.into(), bytes: program.into() }));
        subject.convert(capture, Cut::WHOLE).summary.facts.hints.join(" ")
    };
    let capture = functions(true, true);
    let said = hints("pump_no_debug.elf", &capture);
    assert!(said.contains("About pump_no_debug.elf: it has no debug information"), "{said}");
    let said = hints("pump.elf", &capture);
    assert!(!said.contains("debug information") && !said.contains("another one"), "{said}");
    let mut stream = small("N=x,O=embOS");
    stream.n(id::EX, &[extended::PRINT_ELF, 0x0900_0000, 0, 1]).n(id::EX, &[extended::PRINT_ELF, 0x0900_0100, 0, 1]);
    let said = hints("pump.elf", &stream.bytes);
    assert!(said.contains("The program has only 0 of 2 addresses in the recording"), "{said}");
}

/// A recording that begins after the heap module's description has its events by ESP-IDF's file.
#[test]
fn a_file_tells_which_events_are_of_the_heap() {
    let mut stream = small("N=test,O=FreeRTOS");
    stream.n(512, &[0x3FFB_6000, 24, 0x4008_1F34]).n(513, &[0x3FFB_6000, 0x4008_1F34]);
    let heap = |subject: &Subject| {
        let mut heap: Vec<u32> = Vec::new();
        subject.resolve(&stream.bytes, 1 << 20, |batch, _| {
            heap.extend(batch.events.iter().filter_map(|event| match event.kind {
                EventKind::Heap { bytes, .. } => Some(bytes),
                _ => None,
            }));
        });
        heap
    };
    assert_eq!(heap(&subject()), [0u32; 0]);
    let text = "512 esp_sysview_heap_trace_alloc addr=%p size=%u callers=%x\n513 esp_sysview_heap_trace_free addr=%p\n";
    let mut subject = subject();
    let file = OptionValue::File { path: "SYSVIEW_FreeRTOS.txt".into(), bytes: text.as_bytes().into() };
    subject.options.own.push(("systemview-desc", file));
    assert_eq!(heap(&subject), [24, 24]);
}
