//! The captures of `testdata/tonbandgeraet`: generated ones, hand-made ones that each show one behaviour, and those that the tracer
//! library recorded. A table.

use std::fs;
use std::path::{Path, PathBuf};

use traceconv::format::tonbandgeraet::decode::Stored;
use traceconv::format::tonbandgeraet::encode::encode;
use traceconv::format::tonbandgeraet::generate::Damage;
use traceconv::format::tonbandgeraet::record::QueueKind as Kind;
use traceconv::format::tonbandgeraet::record::Record::{self, *};

use crate::common::golden::Capture;
use crate::run::generated;

/// All captures.
pub fn all() -> Vec<Capture> {
    let capture = |name: &str, bytes| Capture { name: name.to_owned(), bytes };
    let mut all = vec![
        capture("generated", generated(4_000, 1, 1, Damage::None)),
        capture("generated_two_cores", generated(6_000, 2, 2, Damage::None)),
        capture("generated_flips", damaged(3, Damage::Flips)),
        capture("generated_cuts", damaged(5, Damage::Cuts)),
        capture("generated_drops", damaged(3, Damage::Drops)),
    ];
    all.extend(HAND_MADE.iter().map(|&(name, make)| capture(name, make())));
    all.extend(recorded());
    all
}

/// Where the captures lie.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tonbandgeraet")
}

/// Recordings of the tracer library in `target/` on a kernel, in order of their names. Beside each is the log that the application wrote
/// down meanwhile (`.log.txt`), which the library's tests hold against it.
pub fn recorded() -> Vec<Capture> {
    let entries = fs::read_dir(folder()).expect("the folder is there").map(|entry| entry.expect("it can be listed").path());
    let name = |path: PathBuf| path.file_name()?.to_str()?.strip_suffix(".log.txt").map(str::to_owned);
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    let capture = |name: String| {
        let bytes = fs::read(folder().join(format!("{name}.bin"))).unwrap_or_else(|error| panic!("{name}.bin: {error}"));
        Capture { name, bytes }
    };
    names.into_iter().map(capture).collect()
}

/// The names of a generated capture, and some 3000 bytes around the first place where it differs from an undamaged one.
fn damaged(seed: u64, damage: Damage) -> Vec<u8> {
    let (whole, damaged) = (generated(200_000, seed, 1, Damage::None), generated(200_000, seed, 1, damage));
    let same = whole.iter().zip(&damaged).take_while(|(one, two)| one == two).count();
    let records = crate::run::records(&whole);
    let first = |wanted: &dyn Fn(&Stored) -> bool| {
        records.frames.iter().find(|stored| wanted(stored)).map_or(whole.len(), |stored| stored.offset as usize)
    };
    let frame_at = |offset: usize| first(&|stored| stored.offset as usize >= offset);
    let names = first(&|stored| stored.record.ts().is_some_and(|ts| ts > 0));
    let start = frame_at(same.saturating_sub(1_500)).max(names);
    let after = &damaged[same..(same + 1_500).min(damaged.len())];
    let end = after.iter().rposition(|&byte| byte == 0).map_or(0, |at| at + 1);
    [&whole[..names], &whole[start..same], &after[..end]].concat()
}

type Borrowed = Record<&'static [u8]>;

pub fn frames(records: &[Borrowed]) -> Vec<u8> {
    let mut frames = Vec::new();
    records.iter().for_each(|record| encode(record, &mut frames));
    frames
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

type Make = fn() -> Vec<u8>;

const HAND_MADE: &[(&str, Make)] = &[
    ("every_event", every_event),
    ("bad_frames", bad_frames),
    ("unfinished_frame", unfinished_frame),
    ("oversize_run", oversize_run),
    ("bare_metal", bare_metal),
    ("restart", restart),
    ("core_id_at_zero", core_id_at_zero),
    ("time_peak", time_peak),
    ("time_dip", time_dip),
    ("time_first_absurd", time_first_absurd),
    ("time_last_absurd", time_last_absurd),
    ("mailbox", mailbox),
    ("drop_counter_repeated", drop_counter_repeated),
    ("drop_counter_grown", drop_counter_grown),
    ("drop_counter_spike", drop_counter_spike),
    ("marker_of_task_zero", marker_of_task_zero),
    ("nested_isrs", nested_isrs),
    ("mutex_handover", mutex_handover),
    ("resumed_from_isr", resumed_from_isr),
    ("task_id_reused", task_id_reused),
    ("lossy_text", lossy_text),
    ("left_without_reason", left_without_reason),
];

/// Every event of the format, in the order of ids, as the target's own encoder writes it.
fn every_event() -> Vec<u8> {
    hex("0101010100 0104e8070100 0301050100 06018001ac0200 03020100 03020a00 07028094ebdc0300 0203085379735469636b00
        0a030f5379735469636b00 03030f00 0204010100 0704959aef3a0f00 0705a09aef3a0f00 0906014d794576747300
        0907a38de30401686900 0707a38de3040100 0c08a38de304ac02776f726b00 0809f08de304ac0200 070a0274656d7000
        040b4d020100 050b4d020200 050b4d020300 050b4d027e00 060b4d02800100 060b4d02810100 070b4d0280897a00
        070b4d0281897a00 1b0bffffffffffffffffff01ffffffff0ffeffffffffffffffff0100
        1b0bffffffffffffffffff01ffffffff0fffffffffffffffffff0100 120bffffffffffffffffff01ffffffff0f0100
        0654c0c4070300 0855a38de304ab0400 0656c0c4070300 0657c0c4070300 0658c0c4070300 0659c0c4076400
        0a5ac0c407ffffffff0f00 075bc0c407030700 075cc0c407030700 095dfc80fec104652a00 065ec0c4070300
        095f03776f726b657200 0360040100 03610500 0662c0c4070300 0663c0c4070900 0b6465746573743132313200
        0365090100 0465090400 0766c0c407090400 0767c0c407090400 0768c0c407090100 0769c0c407090100
        076ac0c407090100 076bc0c407090300 076cc0c4070900 0b6dc0c40709ffffffff0f00 076ec0c407090a00
        076fc0c407090100 0770c0c407090100 097a0103706861736500 0a7bc0c4070150494e4700 097cc0c4070172756e00
        067dc0c4070100 077e0203636e7400 077fc0c407020b00")
}

/// Every way in which a frame can be bad, between two good ones.
fn bad_frames() -> Vec<u8> {
    let bad = [
        "00",
        "0100",
        "05540100",
        "028000",
        "020c00",
        "020400",
        "0404808000",
        "080401ffffffff1f00",
        "0c048080808080808080800200",
        "050401010700",
        "0465010900",
        "050601c32800",
    ];
    let mut capture = frames(&[TsResolutionNs { ns_per_ts: 10 }, TaskName { task_id: 1, name: b"worker" }]);
    for (number, bad) in (1..).zip(bad) {
        let ts = number * 1000;
        capture.extend(frames(&[TaskSwitchedIn { ts, task_id: 1 }, IsrEnter { ts: ts + 100, isr_id: 7 }]));
        capture.extend(hex(bad));
        capture.extend(frames(&[IsrExit { ts: ts + 200, isr_id: 7 }]));
    }
    capture
}

fn unfinished_frame() -> Vec<u8> {
    let mut capture = frames(&[
        TaskSwitchedIn { ts: 100, task_id: 1 },
        EvtmarkerBegin { ts: 200, evtmarker_id: 1, msg: b"open at the end" },
        IsrEnter { ts: 300, isr_id: 1 },
        Evtmarker { ts: 400, evtmarker_id: 1, msg: b"this frame is cut" },
    ]);
    capture.truncate(capture.len() - 5);
    capture
}

/// A run of bytes without a delimiter that is longer than any frame, as from another file, between good events.
fn oversize_run() -> Vec<u8> {
    let mut capture = frames(&[TaskSwitchedIn { ts: 100, task_id: 1 }, TaskSwitchedIn { ts: 200, task_id: 2 }]);
    capture.extend((0..traceconv::frame::MAX_FRAME_BYTES + 1000).map(|number| (number % 255 + 1) as u8));
    capture.push(0);
    capture.extend(frames(&[TaskSwitchedIn { ts: 300, task_id: 1 }, TaskSwitchedIn { ts: 400, task_id: 2 }]));
    capture
}

/// Only events that need no operating system.
fn bare_metal() -> Vec<u8> {
    let mut records: Vec<Borrowed> = vec![
        CoreId { ts: 0, core_id: 0 },
        TsResolutionNs { ns_per_ts: 1000 },
        IsrName { isr_id: 15, name: b"SysTick" },
        EvtmarkerName { evtmarker_id: 1, name: b"main loop" },
        ValmarkerName { valmarker_id: 1, name: b"voltage" },
    ];
    for turn in 0..8u64 {
        let ts = 500 + turn * 1000;
        let events: [Borrowed; 6] = [
            EvtmarkerBegin { ts, evtmarker_id: 1, msg: b"" },
            Valmarker { ts: ts + 100, valmarker_id: 1, val: 3_300 - (turn * turn) as i64 },
            IsrEnter { ts: ts + 400, isr_id: 15 },
            Evtmarker { ts: ts + 410, evtmarker_id: 2, msg: b"tick" },
            IsrExit { ts: ts + 420, isr_id: 15 },
            EvtmarkerEnd { ts: ts + 900, evtmarker_id: 1 },
        ];
        records.extend(events);
    }
    frames(&records)
}

/// Two tasks that take turns on a queue, `turns` times from `start` on.
fn turns(start: u64, turns: u64) -> Vec<Borrowed> {
    let mut records = Vec::new();
    for turn in 0..turns {
        let ts = start + turn * 1000;
        records.extend([
            TaskSwitchedIn { ts, task_id: 1 },
            QueueSend { ts: ts + 100, queue_id: 1, len_after: 1 },
            TaskToRdyState { ts: ts + 110, task_id: 2 },
            TaskSwitchedIn { ts: ts + 200, task_id: 2 },
            QueueReceive { ts: ts + 300, queue_id: 1, len_after: 0 },
            Valmarker { ts: ts + 310, valmarker_id: 1, val: turn as i64 },
            CurtaskBlockOnQueueReceive { ts: ts + 400, queue_id: 1, ticks_to_wait: u32::MAX },
        ]);
    }
    records
}

fn names() -> Vec<Borrowed> {
    vec![
        TsResolutionNs { ns_per_ts: 10 },
        TaskName { task_id: 1, name: b"producer" },
        TaskName { task_id: 2, name: b"consumer" },
        QueueName { queue_id: 1, name: b"items" },
        QueueKind { queue_id: 1, kind: Kind::Queue },
        ValmarkerName { valmarker_id: 1, name: b"turn" },
    ]
}

/// The target is reset in mid-stream: the clock, the ids and the drop counter start again, with other names.
fn restart() -> Vec<u8> {
    let first =
        [&[CoreId { ts: 0, core_id: 0 }][..], &names(), &[DroppedEvtCnt { ts: 5_000, cnt: 0 }], &turns(5_000, 5)].concat();
    let mut second = first.clone();
    second[2] = TaskName { task_id: 1, name: b"reader" };
    second[3] = TaskName { task_id: 2, name: b"writer" };
    frames(&[first, second].concat())
}

/// Streaming is stopped and started again: metadata is repeated after a `core_id` at time 0, but the clock continues.
fn core_id_at_zero() -> Vec<u8> {
    let start = [&[CoreId { ts: 0, core_id: 0 }][..], &names(), &[CoreId { ts: 0, core_id: 0 }]].concat();
    frames(&[&start[..], &turns(5_000, 5), &start, &turns(11_000, 5)].concat())
}

fn with_time(number: usize, ts: u64) -> Vec<u8> {
    let mut records = [names(), turns(5_000, 10)].concat();
    let place = names().len() + number;
    records[place] = match records[place] {
        TaskSwitchedIn { task_id, .. } => TaskSwitchedIn { ts, task_id },
        CurtaskBlockOnQueueReceive { queue_id, ticks_to_wait, .. } => CurtaskBlockOnQueueReceive { ts, queue_id, ticks_to_wait },
        QueueSend { queue_id, len_after, .. } => QueueSend { ts, queue_id, len_after },
        other => other,
    };
    frames(&records)
}

/// One bit of a time is flipped: 17 years later.
fn time_peak() -> Vec<u8> {
    with_time(29, 5_000 | 1 << 59)
}

/// One bit of a time is flipped: earlier than all others.
fn time_dip() -> Vec<u8> {
    with_time(28, 9_000 & 0x3FF)
}

fn time_first_absurd() -> Vec<u8> {
    with_time(0, 5_000 | 1 << 59)
}

fn time_last_absurd() -> Vec<u8> {
    with_time(69, 14_400 | 1 << 59)
}

/// A queue of one item that is overwritten, as targets report it; and a deeper one that holds two.
fn mailbox() -> Vec<u8> {
    let mut records: Vec<Borrowed> = vec![
        QueueName { queue_id: 1, name: b"mailbox" },
        QueueName { queue_id: 2, name: b"deep" },
        TaskSwitchedIn { ts: 1000, task_id: 1 },
    ];
    let ops = [(1, 1), (1, 2), (1, 2), (2, 1), (2, 2), (-1, 0), (-2, 1), (1, 1), (1, 2), (-1, 0), (2, 2), (2, 3)];
    for (turn, (queue, len_after)) in (1..).zip(ops) {
        let ts = 1000 + turn * 100;
        records.push(match queue {
            1.. => QueueSend { ts, queue_id: queue as u32, len_after },
            _ => QueueReceive { ts, queue_id: -queue as u32, len_after },
        });
    }
    frames(&records)
}

fn with_counters(counters: &[u32]) -> Vec<u8> {
    let mut records = names();
    for (turn, &cnt) in (0..).zip(counters) {
        let ts = 5_000 + turn * 1000;
        records.push(DroppedEvtCnt { ts, cnt });
        records.extend(turns(ts, 1));
    }
    frames(&records)
}

/// After a loss, the target repeats its counter before every event.
fn drop_counter_repeated() -> Vec<u8> {
    let mut records = names();
    for (number, record) in turns(5_000, 6).into_iter().enumerate() {
        let ts = record.ts().unwrap_or(0);
        records.extend([DroppedEvtCnt { ts, cnt: if number < 14 { 0 } else { 17 } }, record]);
    }
    frames(&records)
}

fn drop_counter_grown() -> Vec<u8> {
    with_counters(&[0, 0, 0, 12, 12, 13, 13])
}

/// One bit of the counter is flipped.
fn drop_counter_spike() -> Vec<u8> {
    with_counters(&[3, 3, 3 | 1 << 20, 3, 3, 3])
}

/// Real targets name task-local markers with task 0: the running task is meant.
fn marker_of_task_zero() -> Vec<u8> {
    let mut records: Vec<Borrowed> = vec![TaskName { task_id: 1, name: b"one" }, TaskName { task_id: 2, name: b"two" }];
    for (task_id, name, value) in [(1, &b"phase of one"[..], &b"value of one"[..]), (2, b"phase of two", b"value of two")] {
        let ts = u64::from(task_id) * 1000;
        records.extend([
            TaskSwitchedIn { ts, task_id },
            TaskEvtmarkerName { evtmarker_id: 1, task_id: 0, name },
            TaskValmarkerName { valmarker_id: 1, task_id: 0, name: value },
            TaskEvtmarkerBegin { ts: ts + 100, evtmarker_id: 1, msg: b"" },
            TaskValmarker { ts: ts + 200, valmarker_id: 1, val: -5 },
            TaskEvtmarker { ts: ts + 300, evtmarker_id: 1, msg: b"here" },
            TaskEvtmarkerEnd { ts: ts + 400, evtmarker_id: 1 },
        ]);
    }
    frames(&records)
}

/// Interrupts in interrupts, one that interrupts itself, an exit without an enter, and an exit that is missing.
fn nested_isrs() -> Vec<u8> {
    frames(&[
        IsrName { isr_id: 1, name: b"low" },
        IsrName { isr_id: 2, name: b"high" },
        IsrExit { ts: 50, isr_id: 2 },
        IsrEnter { ts: 100, isr_id: 1 },
        IsrEnter { ts: 110, isr_id: 2 },
        IsrEnter { ts: 120, isr_id: 2 },
        QueueSendFromIsr { ts: 125, queue_id: 1, len_after: 1 },
        IsrExit { ts: 130, isr_id: 2 },
        IsrExit { ts: 140, isr_id: 2 },
        QueueReceiveFromIsr { ts: 145, queue_id: 1, len_after: 0 },
        IsrExit { ts: 150, isr_id: 1 },
        IsrEnter { ts: 200, isr_id: 1 },
        IsrEnter { ts: 210, isr_id: 2 },
        IsrExit { ts: 220, isr_id: 1 },
        IsrEnter { ts: 300, isr_id: 1 },
    ])
}

/// A task waits for a mutex, its holder inherits its priority, gives the mutex back, and the waiting one gets it.
fn mutex_handover() -> Vec<u8> {
    frames(&[
        TsResolutionNs { ns_per_ts: 100 },
        QueueKind { queue_id: 1, kind: Kind::Mutex },
        QueueName { queue_id: 1, name: b"bus" },
        TaskName { task_id: 1, name: b"low" },
        TaskName { task_id: 2, name: b"high" },
        TaskPrioritySet { ts: 10, task_id: 1, priority: 1 },
        TaskPrioritySet { ts: 10, task_id: 2, priority: 5 },
        TaskSwitchedIn { ts: 100, task_id: 1 },
        QueueReceive { ts: 110, queue_id: 1, len_after: 0 },
        TaskToRdyState { ts: 200, task_id: 2 },
        TaskSwitchedIn { ts: 210, task_id: 2 },
        CurtaskBlockOnQueueReceive { ts: 220, queue_id: 1, ticks_to_wait: 50 },
        TaskToRdyState { ts: 221, task_id: 1 },
        TaskPriorityInherit { ts: 222, task_id: 1, priority: 5 },
        TaskSwitchedIn { ts: 230, task_id: 1 },
        QueueSend { ts: 300, queue_id: 1, len_after: 1 },
        TaskPriorityDisinherit { ts: 301, task_id: 1, priority: 1 },
        TaskToRdyState { ts: 302, task_id: 1 },
        TaskToRdyState { ts: 303, task_id: 2 },
        TaskSwitchedIn { ts: 310, task_id: 2 },
        QueueReceive { ts: 320, queue_id: 1, len_after: 0 },
        QueueSend { ts: 400, queue_id: 1, len_after: 1 },
        CurtaskDelay { ts: 410, ticks: 10 },
        TaskSwitchedIn { ts: 420, task_id: 1 },
        QueueReceive { ts: 430, queue_id: 1, len_after: 0 },
        QueueSend { ts: 440, queue_id: 1, len_after: 1 },
    ])
}

/// A task is resumed by an interrupt that is not traced: reported as resumed, and as ready.
fn resumed_from_isr() -> Vec<u8> {
    frames(&[
        TaskName { task_id: 1, name: b"main" },
        TaskName { task_id: 2, name: b"sleeper" },
        TaskSwitchedIn { ts: 100, task_id: 2 },
        TaskSuspended { ts: 200, task_id: 2 },
        TaskSwitchedIn { ts: 210, task_id: 1 },
        TaskResumedFromIsr { ts: 500, task_id: 2 },
        TaskToRdyState { ts: 501, task_id: 2 },
        TaskSwitchedIn { ts: 510, task_id: 2 },
        TaskSuspended { ts: 600, task_id: 2 },
        TaskSwitchedIn { ts: 610, task_id: 1 },
        TaskResumed { ts: 700, task_id: 2 },
        TaskToRdyState { ts: 701, task_id: 2 },
        TaskSwitchedIn { ts: 710, task_id: 2 },
    ])
}

/// A task is deleted, and another one gets its id.
fn task_id_reused() -> Vec<u8> {
    let life = |ts: u64| -> [Borrowed; 6] {
        [
            TaskCreated { ts, task_id: 2 },
            TaskPrioritySet { ts, task_id: 2, priority: 3 },
            TaskToRdyState { ts: ts + 10, task_id: 2 },
            TaskSwitchedIn { ts: ts + 20, task_id: 2 },
            TaskDeleted { ts: ts + 80, task_id: 2 },
            TaskSwitchedIn { ts: ts + 90, task_id: 1 },
        ]
    };
    let start: [Borrowed; 3] =
        [TaskName { task_id: 1, name: b"main" }, TaskName { task_id: 2, name: b"job" }, TaskSwitchedIn { ts: 50, task_id: 1 }];
    frames(&[&start[..], &life(100), &life(300)].concat())
}

/// Texts that the target has cut within a character.
fn lossy_text() -> Vec<u8> {
    frames(&[
        EvtmarkerName { evtmarker_id: 1, name: b"Schl\xC3\xBCssel f\xC3" },
        EvtmarkerBegin { ts: 100, evtmarker_id: 1, msg: b"gr\xC3\xB6\xC3" },
        EvtmarkerEnd { ts: 200, evtmarker_id: 1 },
        Evtmarker { ts: 300, evtmarker_id: 1, msg: b"" },
    ])
}

/// Tasks that leave the core without a word: one was pre-empted, the other waited for something untraced.
fn left_without_reason() -> Vec<u8> {
    frames(&[
        TaskName { task_id: 1, name: b"preempted" },
        TaskName { task_id: 2, name: b"notified" },
        TaskSwitchedIn { ts: 100, task_id: 2 },
        TaskSwitchedIn { ts: 200, task_id: 1 },
        TaskToRdyState { ts: 300, task_id: 2 },
        TaskSwitchedIn { ts: 310, task_id: 2 },
        TaskSwitchedIn { ts: 400, task_id: 1 },
        TaskToRdyState { ts: 500, task_id: 2 },
        TaskSwitchedIn { ts: 510, task_id: 2 },
        TaskSwitchedIn { ts: 600, task_id: 1 },
    ])
}
