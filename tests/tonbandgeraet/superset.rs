//! Recordings of the superset with every kind of record: the content of the trace, compared with the results of simple code, and the
//! effects of damage.
//!
//! [`Story`] makes a recording of random but possible activity and writes down the expected content of the trace beside the frames. It
//! knows nothing of the resolver or the timeline.

use std::collections::BTreeMap;

use traceconv::format::OptionValue;
use traceconv::format::tonbandgeraet::arguments::{self, Argument};
use traceconv::format::tonbandgeraet::encode::Sequence;
use traceconv::format::tonbandgeraet::record::{Record, TaskState};

use crate::common::views;
use crate::reader::{Arg, Trace};
use crate::run::{Cut, Random, convert, subject};

const TASKS: u32 = 4;
const NS_PER_TICK: u64 = 10;
/// The last of the capture at which a timer may still be armed.
const OPEN_END: u64 = u64::MAX;

/// The expected content of a trace.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    /// By the name of the track: time and value.
    counters: BTreeMap<String, Vec<(u64, i64)>>,
    /// By timer: when it was armed, and until when.
    armed: BTreeMap<String, Vec<(u64, u64)>>,
    expired: BTreeMap<String, Vec<u64>>,
    /// From where a task is notified to where it takes note of it.
    notified: Vec<(u64, u64)>,
    /// From the command to where the timer task carries it out.
    commands: Vec<(u64, u64)>,
    /// From an interrupt's request to where the timer task sets the bits.
    bits: Vec<(u64, u64)>,
    /// From where bytes are sent to where the first of them is received.
    bytes: Vec<(u64, u64)>,
}

struct Story {
    sequence: Sequence,
    frames: Vec<u8>,
    random: Random,
    ticks: u64,
    expected: Expected,
    /// How many frames hold an event.
    events: u64,
}

impl Story {
    fn new(seed: u64) -> Story {
        let sequence = Sequence::new(1, (u32::try_from(NS_PER_TICK).unwrap(), 1), 1, 30);
        let mut story =
            Story { sequence, frames: Vec::new(), random: Random(seed), ticks: 1000, expected: Expected::default(), events: 0 };
        story.sequence.start(1000);
        story
    }

    fn ns(&self) -> u64 {
        self.ticks * NS_PER_TICK
    }

    fn event(&mut self, record: Record<&[u8]>) -> u64 {
        self.ticks += 1 + self.random.below(40) as u64;
        self.sequence.event(0, self.ticks, &record, &mut self.frames);
        self.events += 1;
        self.ns()
    }

    fn name(&mut self, record: Record<&[u8]>) {
        self.sequence.metadata(0, &record, &mut self.frames);
    }

    fn count(&mut self, track: &str, ns: u64, value: i64) {
        let values = self.expected.counters.entry(track.to_owned()).or_default();
        // A repeated level is not a step.
        let is_level = track == "flags" || track == "pipe";
        if !is_level || values.last().is_none_or(|last| last.1 != value) {
            values.push((ns, value));
        }
    }

    fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.random.below(end as usize)).unwrap()
    }
}

/// The objects of the target.
struct World {
    running: u32,
    heap: i64,
    heap_total: i64,
    blocks: Vec<(u64, u32)>,
    group_bits: u32,
    requests: Vec<(u32, u64)>,
    /// The items in the stream: when each was sent, and how much of it is left.
    stream: Vec<(Option<u64>, u32)>,
    level: u32,
    armed_since: Option<u64>,
    commands: Vec<(u32, u64)>,
    /// By task: the notification of which it took no note.
    pending: BTreeMap<u32, u64>,
}

/// A recording of `rounds` operations.
fn story(seed: u64, rounds: usize) -> (Vec<u8>, Expected, u64) {
    let ts = 0;
    let mut story = Story::new(seed);
    for task in 1..=TASKS {
        let name = format!("worker{task}");
        story.name(Record::TaskName { task_id: task, name: name.as_bytes() });
    }
    story.name(Record::TaskIsTimerTask { task_id: TASKS });
    story.name(Record::EventGroupName { event_group_id: 1, name: b"flags" });
    story.name(Record::StreamName { stream_id: 1, name: b"pipe" });
    story.name(Record::TimerName { timer_id: 1, name: b"blink" });
    // The state at the start: priorities, a level, bits.
    for task_id in 1..=TASKS {
        let priority = task_id + 2;
        let state = if task_id == 1 { TaskState::Running } else { TaskState::Ready };
        let ns = story.event(Record::TaskState { ts, task_id, state, priority });
        story.count(&format!("worker{task_id}/priority"), ns, i64::from(priority));
    }
    let ns = story.event(Record::StreamLevel { ts, stream_id: 1, bytes: 6 });
    story.count("pipe", ns, 6);
    let ns = story.event(Record::EventGroupBits { ts, event_group_id: 1, bits: 0b1000 });
    story.count("flags", ns, 0b1000);
    // Armed before the recording began, and once only.
    let armed_since = story.event(Record::TimerState { ts, timer_id: 1, period_ticks: 100, flags: 2 });
    story.event(Record::StateEnd { ts, missing: 0 });
    let mut world = World {
        running: 1,
        heap: 0,
        heap_total: 0,
        blocks: Vec::new(),
        group_bits: 0b1000,
        requests: Vec::new(),
        stream: vec![(None, 6)],
        level: 6,
        armed_since: Some(armed_since),
        commands: Vec::new(),
        pending: BTreeMap::new(),
    };
    for _ in 0..rounds {
        round(&mut story, &mut world);
    }
    if let Some(since) = world.armed_since {
        story.expected.armed.entry("blink".into()).or_default().push((since, OPEN_END));
    }
    let Story { mut sequence, mut frames, ticks, mut expected, events, .. } = story;
    sequence.stop(0, ticks, &mut frames);
    for flows in [&mut expected.notified, &mut expected.commands, &mut expected.bits, &mut expected.bytes] {
        flows.sort_unstable();
    }
    (frames, expected, events)
}

fn round(story: &mut Story, world: &mut World) {
    let ts = 0;
    match story.below(13) {
        0 | 1 => {
            let task_id = 1 + story.below(TASKS);
            if task_id != world.running {
                story.event(Record::TaskSwitchedIn { ts, task_id });
                world.running = task_id;
            }
        }
        2 => {
            let (address, bytes) = (0x2000_0000 + u64::from(story.below(1000)) * 8, 1 + story.below(500));
            let ns = story.event(Record::HeapAlloc { ts, address, bytes });
            world.blocks.push((address, bytes));
            world.heap += i64::from(bytes);
            world.heap_total += i64::from(bytes);
            story.count("heap in use", ns, world.heap);
            story.count("heap allocated in total", ns, world.heap_total);
        }
        3 => {
            let Some((address, bytes)) = world.blocks.pop() else { return };
            let ns = story.event(Record::HeapFree { ts, address, bytes });
            world.heap -= i64::from(bytes);
            story.count("heap in use", ns, world.heap);
        }
        4 => {
            let (task_id, free_bytes) = (1 + story.below(TASKS), 4 * story.below(300));
            let ns = story.event(Record::TaskStack { ts, task_id, free_bytes });
            story.count(&format!("worker{task_id}/least free stack"), ns, i64::from(free_bytes));
        }
        5 => {
            let bits = 1 << story.below(6);
            world.group_bits |= bits;
            let bits_after = world.group_bits;
            let ns = story.event(Record::EventGroupSet { ts, event_group_id: 1, bits, bits_after });
            story.count("flags", ns, i64::from(bits_after));
            // Carries out the request of an interrupt, if it is the same.
            if let Some(asked) = world.requests.iter().position(|request| request.0 == bits) {
                let (_, asked_ns) = world.requests.remove(asked);
                story.expected.bits.push((asked_ns, ns));
            }
        }
        6 => {
            let bits = 1 << story.below(6);
            world.group_bits &= !bits;
            let bits_after = world.group_bits;
            let ns = story.event(Record::EventGroupClear { ts, event_group_id: 1, bits, bits_after });
            story.count("flags", ns, i64::from(bits_after));
        }
        7 => {
            let bits = 1 << story.below(6);
            story.event(Record::IsrEnter { ts, isr_id: 1 });
            let ns = story.event(Record::EventGroupSetFromIsr { ts, event_group_id: 1, bits });
            story.event(Record::IsrExit { ts, isr_id: 1 });
            if world.requests.len() < 60 {
                world.requests.push((bits, ns));
            } else {
                world.requests.remove(0);
                world.requests.push((bits, ns));
            }
        }
        8 => {
            let bytes = 1 + story.below(20);
            world.level += bytes;
            let ns = story.event(Record::StreamSend { ts, stream_id: 1, bytes, bytes_after: world.level });
            world.stream.push((Some(ns), bytes));
            story.count("pipe", ns, i64::from(world.level));
        }
        9 => {
            let bytes = (1 + story.below(25)).min(world.level);
            if bytes == 0 {
                return;
            }
            world.level -= bytes;
            let ns = story.event(Record::StreamReceive { ts, stream_id: 1, bytes, bytes_after: world.level });
            story.count("pipe", ns, i64::from(world.level));
            let mut rest = bytes;
            let mut first = None;
            while rest > 0 {
                let (sent, left) = &mut world.stream[0];
                first = first.or(sent.take());
                let taken = rest.min(*left);
                rest -= taken;
                *left -= taken;
                if *left == 0 {
                    world.stream.remove(0);
                }
            }
            story.expected.bytes.extend(first.map(|sent| (sent, ns)));
        }
        10 => {
            let task_id = 1 + story.below(TASKS);
            let ns = story.event(Record::TaskNotify { ts, task_id, index: 0, value: 7 });
            world.pending.insert(task_id, ns);
        }
        11 => {
            let ns = story.event(Record::CurtaskNotifyReceived { ts, index: 0, value: 7 });
            story.expected.notified.extend(world.pending.remove(&world.running).map(|sent| (sent, ns)));
        }
        _ => timer(story, world),
    }
}

fn timer(story: &mut Story, world: &mut World) {
    let (ts, timer_id) = (0, 1);
    let track = || "blink".to_owned();
    match story.below(4) {
        0 if world.armed_since.is_some() => {
            let ns = story.event(Record::TimerExpired { ts, timer_id });
            story.expected.expired.entry(track()).or_default().push(ns);
            let since = world.armed_since.take().unwrap();
            story.expected.armed.entry(track()).or_default().push((since, ns));
        }
        choice => {
            // 1 starts, 3 stops.
            let command = if choice == 1 { 3 } else { 1 };
            let asked = story.event(Record::TimerCommand { ts, timer_id, command, value: 100 });
            world.commands.push((command, asked));
            let ns = story.event(Record::TimerCommandReceived { ts, timer_id, command, value: 100 });
            let (_, asked) = world.commands.remove(0);
            match (command, world.armed_since) {
                (1, None) => {
                    world.armed_since = Some(ns);
                    story.expected.commands.push((asked, ns));
                }
                (1, Some(_)) => story.expected.commands.push((asked, ns)),
                (_, Some(since)) => {
                    story.expected.armed.entry(track()).or_default().push((since, ns));
                    world.armed_since = None;
                }
                (_, None) => {}
            }
        }
    }
}

/// The content of the trace.
fn shown(trace: &Trace) -> Expected {
    let mut shown = Expected::default();
    for (&track, values) in &trace.counters {
        let path = trace.path(track);
        let mut parts: Vec<&str> = path.rsplit('/').collect();
        parts.truncate(if path.ends_with("/priority") || path.ends_with("/least free stack") { 2 } else { 1 });
        parts.reverse();
        shown.counters.insert(parts.join("/"), values.clone());
    }
    let ends = trace.slices.iter().filter_map(|slice| slice.end());
    let end = ends.chain(trace.sched.values().flatten().map(|row| row.ts)).max().unwrap_or(0);
    for slice in trace.slices.iter().filter(|slice| slice.name == "armed") {
        let until = slice.end().filter(|&until| until < end).unwrap_or(OPEN_END);
        shown.armed.entry(trace.tracks[&slice.track].name.clone()).or_default().push((slice.ts, until));
    }
    for instant in trace.instants.iter().filter(|instant| instant.name == "expired") {
        shown.expired.entry(trace.tracks[&instant.track].name.clone()).or_default().push(instant.ts);
    }
    let mut from: BTreeMap<u64, (u64, &str)> = BTreeMap::new();
    for instant in &trace.instants {
        from.extend(instant.flows_out.iter().map(|&flow| (flow, (instant.ts, &*instant.name))));
    }
    let ends = trace.instants.iter().map(|instant| (&instant.flows_in, instant.ts));
    let ends = ends.chain(trace.slices.iter().map(|slice| (&slice.flows_in, slice.ts)));
    for (flows, ns) in ends {
        for flow in flows {
            let (sent, name) = from[flow];
            let list = match name.split(' ').next() {
                Some("notify") => &mut shown.notified,
                Some("start" | "stop") => &mut shown.commands,
                Some("set") => &mut shown.bits,
                Some("send") => &mut shown.bytes,
                _ => panic!("a flow from {name:?}"),
            };
            list.push((sent, ns));
        }
    }
    for flows in [&mut shown.notified, &mut shown.commands, &mut shown.bits, &mut shown.bytes] {
        flows.sort_unstable();
    }
    shown
}

#[test]
fn every_kind_of_record_is_shown_as_recorded() {
    for seed in 1..=12 {
        let (capture, expected, events) = story(seed, 1500);
        let conversion = convert(&capture, Cut::WHOLE);
        assert_eq!(conversion.summary.ledger.entries(), [], "seed {seed}");
        assert!(conversion.summary.events + 1 >= events, "seed {seed}");
        let shown = shown(&conversion.read());
        for (track, values) in &expected.counters {
            assert_eq!(shown.counters.get(track), Some(values), "seed {seed}: {track}");
        }
        assert_eq!(shown.counters.len(), expected.counters.len());
        let expected = Expected { counters: BTreeMap::new(), ..expected };
        assert_eq!(Expected { counters: BTreeMap::new(), ..shown }, expected, "seed {seed}");
        assert!(
            expected.notified.len() > 20 && expected.commands.len() > 20 && expected.bits.len() > 20 && expected.bytes.len() > 20
        );
        assert!(expected.armed["blink"].len() > 5 && expected.expired["blink"].len() > 5);
    }
}

/// The largest effect of one damage: it is reported, nothing crashes, time stays within the recording, and nothing is invented.
fn check_damage(context: &str, capture: &[u8], last_ns: u64, lost_at_most: u64) {
    let whole = convert(capture, Cut::WHOLE);
    let small = convert(capture, Cut::SMALL);
    assert!(whole.trace == small.trace, "{context}: another trace in small pieces");
    assert_eq!(views::ledger(&whole.summary), views::ledger(&small.summary), "{context}");
    let trace = Trace::parse(&whole.trace).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(trace.unclosed.is_empty(), "{context}");
    assert_eq!(whole.summary.facts.sessions, 1, "{context}: a reset was invented");
    let last = whole.summary.last.map_or(0, |time| time.0);
    assert!(last <= last_ns, "{context}: the last event at {last} ns, after the end at {last_ns}");
    let lost = whole.summary.ledger.at_least_lost();
    assert!(lost <= lost_at_most, "{context}: {lost} events lost, {:?}", whole.summary.ledger.entries());
}

/// The byte ranges of the clock: a flipped bit there changes every time, and nothing contradicts it.
fn first_syncs(capture: &[u8]) -> usize {
    let frames: Vec<&[u8]> = capture.split_inclusive(|&byte| byte == 0).collect();
    frames.first().map_or(0, |frame| frame.len())
}

#[test]
fn damage_stays_where_it_is() {
    let (capture, _, _) = story(3, 900);
    let last_ns = convert(&capture, Cut::WHOLE).summary.last.unwrap().0;
    let protected = first_syncs(&capture);
    let syncs = clock_bytes(&capture);
    let mut random = Random(99);
    for _ in 0..1500 {
        let at = protected + random.below(capture.len() - protected);
        let bit = random.below(8);
        if syncs.contains(&at) {
            continue;
        }
        let mut flipped = capture.clone();
        flipped[at] ^= 1 << bit;
        check_damage(&format!("bit {bit} of byte {at}"), &flipped, last_ns, 8);
    }
    for _ in 0..300 {
        let at = protected + random.below(capture.len() - protected);
        let mut shorter = capture.clone();
        shorter.remove(at);
        check_damage(&format!("byte {at} missing"), &shorter, last_ns, 8);
        let end = (at + 2 + random.below(300)).min(capture.len());
        let mut cut = capture.clone();
        cut.drain(at..end);
        check_damage(&format!("bytes {at} to {end} missing"), &cut, last_ns, (end - at) as u64);
    }
}

/// The bytes of the syncs that hold the clock's fraction. All syncs have the same; a different one is reported as a contradiction.
fn clock_bytes(capture: &[u8]) -> Vec<usize> {
    let mut bytes = Vec::new();
    let mut at = 0;
    for frame in capture.split_inclusive(|&byte| byte == 0) {
        if frame.get(1..3) == Some(&[0x0C, 0x54]) {
            bytes.extend(at..at + frame.len());
        }
        at += frame.len();
    }
    // Flags, counters and times of syncs have a test of their own.
    bytes
}

#[test]
fn a_flipped_bit_of_a_sync_invents_no_loss() {
    let (capture, _, events) = story(5, 600);
    let last_sync = capture[..capture.len() - 1].iter().rposition(|&byte| byte == 0).unwrap();
    let last_ns = convert(&capture, Cut::WHOLE).summary.last.unwrap().0;
    for at in clock_bytes(&capture).into_iter().filter(|&at| at >= first_syncs(&capture)) {
        for bit in [0, 3, 6] {
            let mut flipped = capture.clone();
            flipped[at] ^= 1 << bit;
            let conversion = convert(&flipped, Cut::WHOLE);
            let lost = conversion.summary.ledger.at_least_lost();
            // No sync confirms the last one, so it may report as many losses as there were events.
            let at_most = if at > last_sync { 264 + events } else { 8 };
            assert!(lost <= at_most, "bit {bit} of byte {at}: {lost} events lost, {:?}", conversion.summary.ledger.entries());
            assert_eq!(conversion.summary.facts.sessions, 1, "bit {bit} of byte {at}");
            let last = conversion.summary.last.unwrap().0;
            let latest = if at > last_sync { 64 * last_ns } else { last_ns };
            assert!(last <= latest, "bit {bit} of byte {at}: the last event at {last}, after {last_ns}");
        }
    }
}

/// A recording of two cores that begins in mid-run: who runs where is known from its first event on, and for which notification a task waits.
#[test]
fn a_recording_of_two_cores_begins_with_who_runs() {
    let ts = 0;
    let mut sequence = Sequence::new(2, (10, 1), 1, 30);
    let mut frames = Vec::new();
    sequence.start(1000);
    for (task_id, name) in [(1, b"left"), (2, b"rite"), (3, b"last")] {
        sequence.metadata(0, &Record::TaskName { task_id, name }, &mut frames);
    }
    let events = [
        (0, 1000, Record::TaskRunning { ts, task_id: 1 }),
        (1, 1000, Record::TaskRunning { ts, task_id: 2 }),
        (0, 1001, Record::TaskState { ts, task_id: 1, state: TaskState::Running, priority: 3 }),
        (0, 1002, Record::TaskState { ts, task_id: 2, state: TaskState::Running, priority: 2 }),
        (0, 1003, Record::TaskState { ts, task_id: 3, state: TaskState::Ready, priority: 1 }),
        (0, 1004, Record::StateEnd { ts, missing: 0 }),
        (1, 1100, Record::CurtaskBlockOnNotify { ts, index: 3, ticks_to_wait: 7 }),
        (1, 1110, Record::TaskSwitchedIn { ts, task_id: 3 }),
        (0, 1200, Record::TaskNotify { ts, task_id: 2, index: 3, value: 1 }),
        (0, 1210, Record::TaskToRdyState { ts, task_id: 2 }),
    ];
    for (core, ticks, record) in &events {
        sequence.event(*core, *ticks, record, &mut frames);
    }
    sequence.stop(0, 1300, &mut frames);
    let conversion = convert(&frames, Cut::WHOLE);
    assert_eq!(conversion.summary.ledger.entries(), []);
    let trace = conversion.read();
    let rows = trace.sched.iter().flat_map(|(cpu, rows)| rows.iter().map(|row| (*cpu, row.ts, &*row.next_comm)));
    let mut rows: Vec<(u32, u64, &str)> = rows.collect();
    rows.retain(|row| ["left", "rite", "last"].contains(&row.2));
    assert_eq!(rows, [(0, 10_000, "left"), (1, 10_000, "rite"), (1, 11_100, "last")]);
    let wait = trace.slices.iter().find(|slice| slice.name == "notification").expect("it waits");
    assert_eq!(wait.arg("index"), Some(&Arg::Uint(3)));
}

/// The last frame says when a recording stopped: what ran last ran until then.
#[test]
fn the_stop_ends_what_runs() {
    let ts = 0;
    let mut sequence = Sequence::new(1, (1, 1), 1, 30);
    let mut frames = Vec::new();
    sequence.start(1000);
    sequence.event(0, 1000, &Record::EvtmarkerBegin { ts, evtmarker_id: 1, msg: b"long" }, &mut frames);
    sequence.event(0, 1000, &Record::TaskSwitchedIn { ts, task_id: 1 }, &mut frames);
    sequence.stop(0, 5_000_000_000, &mut frames);
    let conversion = convert(&frames, Cut::WHOLE);
    assert_eq!(conversion.summary.ledger.entries(), []);
    assert_eq!(conversion.summary.events, 2);
    let trace = conversion.read();
    let span = trace.slices.iter().find(|slice| slice.name == "long").expect("it is drawn");
    assert_eq!((span.ts, span.end()), (1000, Some(5_000_000_000)));
    let last = trace.sched.values().flatten().map(|row| row.ts).max();
    assert_eq!(last, Some(5_000_000_000));
}

/// Functions are spans of the task that runs, named by their addresses without a program. The exit of a call that began before the
/// recording is not drawn.
#[test]
fn functions_are_spans_of_their_tasks() {
    let ts = 0;
    let mut sequence = Sequence::new(1, (10, 1), 1, 30);
    let mut frames = Vec::new();
    sequence.start(1000);
    for (task_id, name) in [(1, b"one"), (2, b"two")] {
        sequence.metadata(0, &Record::TaskName { task_id, name }, &mut frames);
    }
    sequence.metadata(0, &Record::AddressBase { address: 0x0800_0100 }, &mut frames);
    let events = [
        (1000, Record::TaskRunning { ts, task_id: 1 }),
        (1001, Record::FunctionExit { ts, delta: 7 }),
        (1010, Record::FunctionEnter { ts, delta: 0x21 }),
        (1020, Record::FunctionEnter { ts, delta: -0xff }),
        (1030, Record::TaskSwitchedIn { ts, task_id: 2 }),
        (1040, Record::FunctionEnter { ts, delta: 0x21 }),
        (1050, Record::TaskSwitchedIn { ts, task_id: 1 }),
        (1060, Record::FunctionExit { ts, delta: -0xff }),
        (1070, Record::FunctionExit { ts, delta: 0x21 }),
    ];
    for (ticks, record) in &events {
        sequence.event(0, *ticks, record, &mut frames);
    }
    sequence.stop(0, 1100, &mut frames);
    let conversion = convert(&frames, Cut::WHOLE);
    assert_eq!(conversion.summary.ledger.entries(), []);
    let trace = conversion.read();
    let functions = trace.slices.iter().filter(|slice| slice.name.starts_with("0x"));
    let mut functions: Vec<(u64, Option<u64>, &str)> = functions.map(|slice| (slice.ts, slice.end(), &*slice.name)).collect();
    functions.sort_unstable();
    let expected =
        [(10_100, Some(10_700), "0x08000121"), (10_200, Some(10_600), "0x08000001"), (10_400, Some(11_000), "0x08000121")];
    assert_eq!(functions, expected);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/symbols/pump.elf");
    let bytes: std::sync::Arc<[u8]> = std::fs::read(path).expect("it is in the repository").into();
    let with_program = || {
        let mut subject = subject();
        subject.options.own.push(("elf", OptionValue::File { path: "pump.elf".into(), bytes: bytes.clone() }));
        subject
    };
    let hints = |frames: &[u8]| with_program().convert(frames, Cut::WHOLE).summary.facts.hints;
    let other = "The program has only 0 of 2 addresses in the recording: it may be another one than the one that ran.";
    assert_eq!(hints(&frames), [other]);
    let mut sequence = Sequence::new(1, (10, 1), 1, 30);
    frames.clear();
    sequence.start(1000);
    sequence.event(0, 1000, &Record::TaskRunning { ts, task_id: 1 }, &mut frames);
    sequence.stop(0, 1100, &mut frames);
    assert_eq!(hints(&frames), ["--elf: the recording has neither functions nor log messages, so it was not used."]);
}

/// Without the program a message has its place and its arguments, and a hint says what is missing. The messages of a task are in its
/// process.
#[test]
fn messages_without_their_formats_have_their_arguments() {
    let ts = 0;
    let mut sequence = Sequence::new(1, (10, 1), 1, 30);
    let mut frames = Vec::new();
    sequence.start(1000);
    let mut arguments = Vec::new();
    arguments::write(&[Argument::Unsigned(300), Argument::Signed(-1), Argument::Text(b"hi")], &mut arguments);
    sequence.event(0, 1000, &Record::Log { ts, format: 0x1A4, arguments: b"" }, &mut frames);
    sequence.event(0, 1010, &Record::TaskRunning { ts, task_id: 1 }, &mut frames);
    sequence.event(0, 1020, &Record::Log { ts, format: 0x1A5, arguments: &arguments }, &mut frames);
    sequence.stop(0, 1100, &mut frames);
    let conversion = convert(&frames, Cut::WHOLE);
    assert_eq!(conversion.summary.ledger.entries(), []);
    assert_eq!(conversion.summary.facts.hints, ["2 log messages have no text: give the program that ran with --elf"]);
    let logs = conversion.read().logs;
    let logs: Vec<(u64, &str)> = logs.iter().map(|log| (log.ts, &*log.body)).collect();
    assert_eq!(logs, [(10_000, "log 0x1A4"), (10_200, "log 0x1A5: 300, -1, \"hi\"")]);
    // What are no arguments costs its frame.
    arguments.push(0);
    sequence = Sequence::new(1, (10, 1), 1, 30);
    frames.clear();
    sequence.start(1000);
    sequence.event(0, 1000, &Record::Log { ts, format: 1, arguments: &arguments }, &mut frames);
    let conversion = convert(&frames, Cut::WHOLE);
    assert_eq!(conversion.summary.ledger.entries()[0].kind.code, "loose_bytes");
}

/// A flipped bit in the clock of any sync, the first too: the original is known from those around it.
#[test]
fn a_flipped_bit_of_a_clock_scales_no_time() {
    let (capture, _, _) = story(4, 600);
    let events = |capture: &[u8]| {
        let conversion = convert(capture, Cut::WHOLE);
        let first = conversion.read().counters.values().flatten().map(|value| value.0).min();
        ((first, conversion.summary.last), views::ledger(&conversion.summary))
    };
    let (times, _) = events(&capture);
    let syncs: Vec<usize> = clock_bytes(&capture).into_iter().filter(|&at| capture[at..].starts_with(&[0x0C, 0x54])).collect();
    assert!(syncs.len() > 5);
    for sync in syncs {
        // The numerator is the third field before the end: 10, 1.
        let at = (sync..).find(|&at| capture[at..].starts_with(&[10, 1])).unwrap();
        let mut flipped = capture.clone();
        flipped[at] ^= 1 << 4;
        let (flipped_times, ledger) = events(&flipped);
        assert_eq!(flipped_times, times, "byte {at}");
        assert!(ledger.contains("conflicting_resolution"), "byte {at}: {ledger}");
    }
}

/// Two frames whose deltas are damaged so that they jump ahead: later frames are unchanged from the next sync on.
#[test]
fn a_delta_that_jumps_ahead_is_held_by_the_next_sync() {
    let (capture, expected, _) = story(8, 600);
    let frames: Vec<Vec<u8>> = capture.split_inclusive(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
    let is_delta = |frame: &[u8]| frame.len() > 4 && frame[1] & 0x80 != 0 && frame[2] < 0x80 && frame[3] < 0x80;
    let victim = (frames.len() / 2..).find(|&number| is_delta(&frames[number])).unwrap();
    let mut damaged = frames;
    // The delta's varint gets three bytes more: a jump of millions of ticks.
    let delta = damaged[victim][2];
    damaged[victim].splice(2..3, [delta | 0x80, 0xFF, 0xFF, 0x7F]);
    damaged[victim][0] += 3;
    let conversion = convert(&damaged.concat(), Cut::WHOLE);
    assert!(conversion.summary.ledger.entries().iter().any(|entry| entry.kind.code == "time_outlier"));
    assert_eq!((conversion.summary.ledger.at_least_lost(), conversion.summary.facts.sessions), (0, 1));
    let shown = shown(&conversion.read());
    let flags = &expected.counters["flags"];
    let same = flags.iter().zip(&shown.counters["flags"]).filter(|(one, two)| one == two).count();
    assert_eq!(shown.counters["flags"].len(), flags.len());
    // Only those up to the next sync, within 30 frames, have another time.
    assert!(same + 30 >= flags.len(), "{same} of {}", flags.len());
}
