//! The content of the trace, compared with the results of simple code from the packets and their true times.
//!
//! `TRACECONV_EXTRA_CAPTURES` names a folder with more captures (`NAME.bin` with the true times in `NAME.truth.csv.gz`); their figures
//! are printed.

use std::collections::BTreeMap;

use traceconv::format::tsp::decode::{Decoder, Lengths, Packets};
use traceconv::format::tsp::encode::packet;
use traceconv::format::tsp::generate::{Damage, GenerateOptions, TimerKind, generate_with_truth};
use traceconv::format::tsp::record::Packet;
use traceconv::model::losses::NO_CURRENT_TASK;
use traceconv::model::{EventKind, HeapOp, Severity};

use crate::captures::save;
use crate::common::views;
use crate::reader::Trace;
use crate::run::{Cut, convert, generated, subject};

/// The lengths of the generated captures, and of those of the tracer's own demo.
fn packets(capture: &[u8]) -> Vec<Packet> {
    let mut lengths = Lengths::default();
    for (id, len) in [(73, 0), (74, 0), (75, 2)] {
        assert!(lengths.give(id, len));
    }
    let decoder = Decoder::new(Packets::new(lengths.clone()), lengths);
    decoder.records(capture, 0..capture.len()).packets().to_vec()
}

/// Why a task left its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Ready,
    Blocked,
    Delayed,
    Suspended,
    Deleted,
}

#[derive(Debug, Default, PartialEq)]
struct Scheduling {
    /// By task number, in nanoseconds.
    running: BTreeMap<u8, u64>,
    /// How often each task ran.
    times: BTreeMap<u8, u64>,
    switches: u64,
    left: BTreeMap<Reason, u64>,
}

/// The running time of each task, and why it left the core, from the hooks only.
fn expected(packets: &[Packet], truth: &[u64]) -> Scheduling {
    let hooks: Vec<&Packet> = packets.iter().filter(|packet| packet.is_hook()).collect();
    let mut scheduling = Scheduling::default();
    let mut current: Option<(u8, u64)> = None;
    let mut reasons: BTreeMap<u8, Reason> = BTreeMap::new();
    let end = truth[hooks.len() - 1];
    for (packet, &time) in hooks.iter().zip(truth) {
        let subject = packet.data[0];
        match packet.id {
            2 if current.is_some_and(|(task, _)| task == subject) => {}
            2 => {
                if let Some((task, since)) = current.replace((subject, time)) {
                    *scheduling.running.entry(task).or_default() += time - since;
                    *scheduling.times.entry(task).or_default() += 1;
                    let reason = reasons.remove(&task).unwrap_or(Reason::Ready);
                    scheduling.switches += 1;
                    *scheduling.left.entry(reason).or_default() += 1;
                }
                reasons.remove(&subject);
            }
            9 | 10 => drop(current.map(|(task, _)| reasons.insert(task, Reason::Blocked))),
            38 | 39 => drop(reasons.insert(subject, Reason::Delayed)),
            41 if current.is_some_and(|(task, _)| task == subject) => drop(reasons.insert(subject, Reason::Suspended)),
            37 => drop(reasons.insert(subject, Reason::Deleted)),
            // Ready again before it left.
            11 if current.is_some_and(|(task, _)| task == subject) => drop(reasons.remove(&subject)),
            _ => {}
        }
    }
    if let Some((task, since)) = current {
        *scheduling.running.entry(task).or_default() += end - since;
    }
    scheduling
}

/// The same, as the trace shows it.
fn shown(trace: &Trace, idle: Option<u8>) -> Scheduling {
    let mut scheduling = Scheduling::default();
    let running = trace.running();
    let last = running.iter().filter(|slice| slice.dur.is_some()).map(|slice| slice.ts).max();
    for slice in &running {
        let task = if slice.tid == 0 { idle } else { u8::try_from(slice.tid).ok() };
        let Some(task) = task else { continue };
        let Some(dur) = slice.dur else { continue };
        *scheduling.running.entry(task).or_default() += dur;
        if Some(slice.ts) == last {
            continue;
        }
        scheduling.switches += 1;
        let reason = match slice.end_state {
            Some(0) => Reason::Ready,
            Some(4) => Reason::Suspended,
            Some(16) => Reason::Deleted,
            _ => {
                let thread = trace.thread(i64::from(slice.tid)).expect("the task has a track");
                let end = slice.ts + dur;
                let wait = trace.slices_on(thread).find(|wait| wait.ts == end).expect("there is a slice of the wait");
                if wait.name.starts_with("delay") { Reason::Delayed } else { Reason::Blocked }
            }
        };
        *scheduling.left.entry(reason).or_default() += 1;
    }
    scheduling
}

fn check(name: &str, capture: &[u8], truth: &[u64], idle: Option<u8>, step_ns: u64) -> Scheduling {
    let conversion = convert(capture, Cut::WHOLE);
    let (shown, expected) = (shown(&conversion.read(), idle), expected(&packets(capture), truth));
    assert_eq!((shown.switches, &shown.left), (expected.switches, &expected.left), "{name}");
    for (task, time) in &expected.running {
        let found = shown.running.get(task).copied().unwrap_or(0);
        // Each switch is known to a step of the timer.
        let bound = step_ns * (expected.times.get(task).copied().unwrap_or(0) + 1);
        assert!(found.abs_diff(*time) <= bound, "{name}: task {task} ran for {found} ns, truly for {time} ns");
    }
    expected
}

#[test]
fn running_times_and_reasons_are_true() {
    for (timer, step_ns) in [(TimerKind::Up1MHz, 1_000), (TimerKind::Down93, 10_700), (TimerKind::Up250kHz, 4_000)] {
        for is_tickless in [false, true] {
            let options = GenerateOptions { bytes: 300_000, seed: 5, timer, is_tickless, ..GenerateOptions::default() };
            let (capture, truth) = generate_with_truth(&options);
            let found = check(&format!("{options:?}"), &capture, &truth, Some(10), step_ns);
            assert!(found.left.len() >= 4 && found.left.values().all(|&count| count > 10), "{found:?}");
        }
    }
}

/// Of switches alone it is unknown why a task leaves.
#[test]
fn without_records_of_readiness_no_task_is_drawn_ready() {
    let whole = generated(100_000, 2, Damage::None);
    let kept = packets(&whole).into_iter().filter(|packet| matches!(packet.id, 2 | 6 | 44));
    let mut capture = Vec::new();
    for (kept, packet_id) in kept.zip((0..=255).cycle()) {
        packet(&Packet { packet_id, ..kept }, &mut capture);
    }
    let ready = |capture: &[u8]| {
        let conversion = convert(capture, Cut::WHOLE);
        let running = conversion.read().running();
        let left: Vec<_> = running.iter().filter(|slice| slice.dur.is_some()).collect();
        // The last one ends with the capture, or where it is unknown who runs.
        let ready = left.iter().rev().skip(1).filter(|slice| slice.end_state == Some(0)).count();
        (left.len(), ready, conversion.summary.facts.hints.join(" "))
    };
    let (all, some, hints) = ready(&whole);
    assert!(some > 10 && !hints.contains("ready"), "{hints}");
    let (switches, none, hints) = ready(&capture);
    assert_eq!((switches, none), (all, 0));
    assert!(hints.contains("the ids 9, 10, 11, 38, 39,"), "{hints}");
}

#[test]
fn a_task_created_after_the_object_list_has_a_hint() {
    let whole = generated(100_000, 2, Damage::None);
    let hints = |number: Option<u8>| {
        let mut capture = whole.clone();
        if let (Some(number), Some(last)) = (number, packets(&whole).last()) {
            let packet_id = last.packet_id.wrapping_add(1);
            packet(&Packet { id: 35, packet_id, data: [number, 0, 0, 0, 0, 0, 0, 0], data_len: 1, ..*last }, &mut capture);
        }
        convert(&capture, Cut::WHOLE).summary.facts.hints.join(" ")
    };
    assert!(!hints(None).contains("have no names"));
    assert!(hints(Some(11)).contains("created after the object list have no names: #11."), "{}", hints(Some(11)));
    // Far from the numbers of the others it is rather damage.
    assert!(!hints(Some(77)).contains("have no names"));
}

/// A capture whose target filters some hooks.
fn filtered(filtered: &'static [u8]) -> (Trace, String, u64) {
    let options = GenerateOptions { bytes: 100_000, seed: 2, filtered, ..GenerateOptions::default() };
    let conversion = convert(&generate_with_truth(&options).0, Cut::WHOLE);
    let without = conversion.summary.ledger.entries().iter().find(|entry| entry.kind == NO_CURRENT_TASK);
    (conversion.read(), conversion.summary.facts.hints.join(" "), without.map_or(0, |entry| entry.count))
}

fn holds(trace: &Trace) -> usize {
    trace.slices.iter().filter(|slice| slice.name.starts_with("held by")).count()
}

#[test]
fn a_mutex_is_not_drawn_as_held_if_its_gives_are_filtered() {
    let (whole, hints, _) = filtered(&[]);
    assert!(holds(&whole) > 100 && !hints.contains("mutex"), "{hints}");
    let (trace, hints, _) = filtered(&[23, 29]);
    assert!(holds(&trace) == 0 && hints.contains("the ids 23, 29, which say what is sent"), "{hints}");
}

/// A delay names its task, which is all that is known of who runs.
#[test]
fn delays_are_read_without_switches() {
    let (trace, hints, without_task) = filtered(&[2]);
    assert!(hints.contains("the ids 2, which say which task runs"), "{hints}");
    assert_eq!(without_task, 0);
    let names: std::collections::BTreeSet<String> = trace.running().into_iter().map(|run| run.comm).collect();
    for name in ["sampler", "display", "storage", "poller"] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
}

/// The errors of the times of those packets that are one event each, in nanoseconds.
fn errors(capture: &[u8], truth: &[u64]) -> Vec<i64> {
    let mut found = Vec::new();
    subject().resolve(capture, usize::MAX / 2, |batch, _| {
        found.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::SwitchedIn(_) => Some((2, event.time.0)),
            EventKind::Ready { .. } | EventKind::Relisted(_) => Some((11, event.time.0)),
            EventKind::Heap { op: HeapOp::Allocate, .. } => Some((50, event.time.0)),
            EventKind::Heap { .. } => Some((51, event.time.0)),
            EventKind::Instant { .. } => Some((0, event.time.0)),
            _ => None,
        }));
    });
    let packets = packets(capture);
    let hooks = packets.iter().filter(|packet| packet.is_hook()).zip(truth);
    let expected: Vec<(u8, u64)> = hooks
        .filter_map(|(packet, &time)| match packet.id {
            2 | 11 | 50 | 51 => Some((packet.id, time)),
            3 | 14 | 16 | 22 | 34 | 36 | 73..=77 => Some((0, time)),
            _ => None,
        })
        .collect();
    assert_eq!(found.len(), expected.len());
    let errors = found.iter().zip(&expected).map(|(found, expected)| {
        assert_eq!(found.0, expected.0, "events in another order");
        found.1.cast_signed() - expected.1.cast_signed()
    });
    errors.collect()
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_EXTRA_CAPTURES"]
fn more_captures_mean_what_they_did() {
    let folder = std::env::var_os("TRACECONV_EXTRA_CAPTURES").expect("TRACECONV_EXTRA_CAPTURES names a folder");
    for entry in std::fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let Ok(truth) = std::fs::File::open(path.with_extension("truth.csv.gz")) else { continue };
        if path.extension().is_none_or(|extension| extension != "bin") {
            continue;
        }
        let truth = std::io::read_to_string(flate2::read::GzDecoder::new(truth)).expect("it is text");
        let hooks = truth.lines().skip(1).filter_map(|line| line.strip_prefix("S,"));
        let truth: Vec<u64> = hooks.map(|line| line.split(',').next().expect("a time").parse().expect("a number")).collect();
        let capture = std::fs::read(&path).expect("it can be read");
        let step_ns = if path.to_string_lossy().contains("psoc") { 10_700 } else { 1_000 };
        let found = check(&path.to_string_lossy(), &capture, &truth, Some(10), step_ns);
        println!("{}: {:?}", path.display(), (found.switches, &found.left));
        let errors = errors(&capture, &truth);
        let (least, most) = (errors.iter().min().expect("events"), errors.iter().max().expect("events"));
        let wrong = errors.iter().filter(|error| **error < -step_ns.cast_signed() || **error > step_ns.cast_signed()).count();
        println!("{} times, errors {least} to {most} ns, {wrong} beyond a step of the timer", errors.len());
        // A torn timer cannot be recognised if it is alone in its tick.
        assert!(wrong <= if path.to_string_lossy().contains("tickless") { 2 } else { 0 });
        println!("{}", views::ledger(&convert(&capture, Cut::WHOLE).summary));
    }
}

/// The events of a capture, without their offsets in the file.
fn events(capture: &[u8]) -> String {
    views::events(&subject(), capture, usize::MAX / 2)
}

#[test]
fn a_saved_measurement_means_what_its_stream_does() {
    let stream = generated(20_000, 2, Damage::None);
    let saved = save(&stream);
    assert_eq!(events(&saved), events(&stream));
    let marked = [b"\xEF\xBB\xBF", &*saved].concat();
    assert_eq!((subject().format.probe(&marked, true).is_some(), events(&marked)), (true, events(&stream)), "an editor saved it");
    // The viewer's numbers have a gap where the object lists were.
    let summary = convert(&saved, Cut::SMALL).summary;
    let codes: Vec<&str> = summary.ledger.entries().iter().map(|entry| entry.kind.code).collect();
    assert_eq!(codes, ["lists_kept_apart"]);
}

#[test]
fn preambles_inside_packets_are_data() {
    let capture = crate::captures::streams().into_iter().find(|capture| capture.name == "preamble_inside").expect("it is there");
    let found = packets(&capture.bytes);
    assert_eq!(found.iter().map(|packet| packet.packet_id).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn losses_are_reported_by_cause() {
    let causes = |damage| {
        let summary = convert(&generated(300_000, 4, damage), Cut::WHOLE).summary;
        let losses = summary.ledger.entries().iter().filter(|entry| entry.kind.severity == Severity::Loss);
        losses.map(|entry| entry.kind.code).collect::<Vec<_>>()
    };
    assert_eq!(causes(Damage::None), [] as [&str; 0]);
    assert_eq!(causes(Damage::Fifo), ["dropped_by_target"]);
    assert!(causes(Damage::Bytes).contains(&"frames_lost"));
}

/// A loss on the target is reported after all packets in its FIFO, but is placed at its own time: earlier state is not used
/// after it.
#[test]
fn losses_on_the_target_are_at_their_own_time() {
    let capture = generated(300_000, 4, Damage::Fifo);
    let errors: Vec<Packet> = packets(&capture).into_iter().filter(|packet| packet.id == 101).collect();
    let trace = convert(&capture, Cut::WHOLE).read();
    let track = trace.track("Losses").expect("there are losses");
    let gaps: Vec<(u64, u64)> = trace.slices_on(track).map(|gap| (gap.ts, gap.end().expect("it ends"))).collect();
    assert!(gaps.len() > 2 && errors.len() > gaps.len());
    for error in errors {
        // Up, 412 of 1000 counts ahead of the tick.
        let ns = u64::from(error.tick) * 1_000_000 + (u64::from(error.timer) + 588) % 1000 * 1000;
        if ns < 1_000_000 {
            // Before anything ran, a loss is no slice.
            continue;
        }
        let is_inside = |gap: &(u64, u64), ns: u64| (gap.0..=gap.1).contains(&ns);
        assert!(gaps.iter().any(|gap| is_inside(gap, ns) || is_inside(gap, ns + 1_000_000)), "{error:?} at {ns}");
    }
}
