//! What SEGGER's target library and its hooks for FreeRTOS record in cases that their documentation does not mention.

use traceconv::format::systemview::encode::numbers;
use traceconv::format::systemview::packet;
use traceconv::format::systemview::record::id;
use traceconv::model::{EventKind, losses};

use crate::captures::{Stream, small};
use crate::meaning::{listed, lost, ran, runs, started};
use crate::run::{Cut, convert, subject};

/// Version 3.30 sent the low byte of a long text's length first.
#[test]
fn the_length_of_a_text_has_its_bytes_in_either_order() {
    for (len, order) in [(300, [1, 44]), (300, [44, 1]), (5, [0, 5]), (255, [0, 255]), (255, [255, 0])] {
        let bytes = [&[255], &order[..], &vec![b'x'; len]].concat();
        assert_eq!(packet::text(&bytes).map(|(text, bytes)| (text.len(), bytes)), Some((len, len + 3)), "{order:?}");
    }
    // A text that is cut is none.
    assert_eq!(packet::text(&[255, 1, 0, b'x', b'x', b'x', b'x']), None);
}

/// A task with another name after a gap is another task: its creation may be missing. So is the one that ran before a creation without a name.
#[test]
fn another_name_after_a_gap_is_another_task() {
    let names = |first: u64, second: u64| [("first 0".to_owned(), first), ("second 0".to_owned(), second)];
    let mut stopped = started(1_000_000, 0, Some(0), "first");
    runs(&mut stopped, 100);
    stopped.n(id::TRACE_STOP, &[]);
    let mut next = started(1_000_000, 50_000, Some(51_000), "second");
    runs(&mut next, 200);
    let stopped = [stopped.bytes, next.bytes].concat();
    assert_eq!(ran(&stopped), names(300_000, 600_000));
    let mut dropped = started(1_000_000, 0, None, "first");
    runs(&mut dropped, 100);
    dropped.n(id::OVERFLOW, &[9]).after(1, id::IDLE, &[]).task(1, 3, "second");
    runs(&mut dropped, 200);
    assert_eq!(ran(&dropped.bytes), names(300_000, 600_000));
    for capture in [&stopped, &dropped.bytes] {
        let whole = convert(capture, Cut::WHOLE).trace;
        for window_bytes in [40, 64, 100] {
            assert!(convert(capture, Cut { threads: 2, window_bytes }).trace == whole, "windows of {window_bytes}");
        }
    }
    let mut unnamed = Stream::default();
    unnamed.start(5_000, "N=x,O=FreeRTOS").n(id::IDLE, &[]);
    runs(&mut unnamed, 100);
    unnamed.n(id::TASK_CREATE, &[1]).task(1, 3, "second");
    runs(&mut unnamed, 200);
    assert_eq!(ran(&unnamed.bytes), [(" 0".to_owned(), 30_000), ("second 0".to_owned(), 60_000)]);
}

/// Where the library has no room for the packet of the stop, only the silence before the next start shows that it was stopped.
#[test]
fn a_stop_may_be_missing() {
    let restarted = |silence: u32| {
        let mut stream = started(1_000_000, 0, Some(0), "task");
        runs(&mut stream, 1_000);
        let mut next = started(1_000_000, silence, Some(silence + 6_000), "task");
        runs(&mut next, 1_000);
        lost(&convert(&[stream.bytes, next.bytes].concat(), Cut::WHOLE), losses::RECORDING_RESTARTED).0
    };
    assert_eq!([restarted(900), restarted(60_000)], [0, 1]);
}

/// SEGGER's hooks for FreeRTOS say of no task that it is the idle task; they only give it no name, and never say that it runs.
#[test]
fn the_idle_task_is_no_other_task() {
    let tasks = |stream: &Stream| {
        let mut tasks = Vec::new();
        subject().resolve(&stream.bytes, 1 << 20, |_, entities| {
            tasks = entities.tasks.iter().map(|task| task.name.as_deref().unwrap_or("").to_owned()).collect();
        });
        tasks.sort();
        tasks
    };
    let mut stream = Stream::default();
    stream.start(5_000, "N=x,O=FreeRTOS").n(id::TASK_CREATE, &[1]).task(1, 3, "main").n(id::TASK_START_READY, &[1]);
    stream.n(id::TASK_CREATE, &[2]).n(id::TASK_START_READY, &[2]).n(id::TASK_START_EXEC, &[1]).n(id::IDLE, &[]);
    assert_eq!(tasks(&stream), ["IDLE", "main"]);
    // The name of a task that has not run may be missing, too.
    stream.n(id::OVERFLOW, &[1]).after(1, id::IDLE, &[]);
    assert_eq!(tasks(&stream), ["", "IDLE", "main"]);
}

/// A ready task that gets another priority moves to another list of ready tasks, which the kernel records as becoming ready.
#[test]
fn a_task_with_another_priority_was_ready() {
    let woken = |moves: &dyn Fn(&mut Stream)| {
        let mut stream = small("N=x,O=FreeRTOS");
        stream.n(id::ISR_ENTER, &[15]).n(id::ISR_TO_SCHEDULER, &[]).n(id::TASK_START_EXEC, &[2]);
        moves(&mut stream);
        stream.n(id::TASK_STOP_READY, &[2, 4]).n(id::TASK_START_EXEC, &[1]);
        let mut woken = 0;
        subject().resolve(&stream.bytes, 1 << 20, |batch, _| {
            woken += batch.events.iter().filter(|event| matches!(event.kind, EventKind::Ready { .. })).count();
        });
        woken
    };
    let ready = |stream: &mut Stream| _ = stream.n(id::TASK_START_READY, &[1]);
    assert_eq!(woken(&ready), 1);
    // FreeRTOS 11: within the calls.
    for event in [246, 201] {
        assert_eq!(
            woken(&|stream| {
                stream.n(event, &[1, 5]).n(285, &[9]).n(id::END_CALL, &[285, 0]);
                ready(stream);
                stream.n(id::END_CALL, &[event.into()]);
            }),
            0
        );
    }
    // FreeRTOS 10: before the record of the inheritance, which has the task's address, and after that of the priority.
    assert_eq!(
        woken(&|stream| {
            ready(stream);
            stream.n(73, &[0x2000_0004]);
        }),
        0
    );
    assert_eq!(
        woken(&|stream| {
            stream.n(40, &[1, 5]).task(1, 5, "main");
            ready(stream);
        }),
        0
    );
    // Another task's, or an interrupt's.
    assert_eq!(
        woken(&|stream| {
            ready(stream);
            stream.n(73, &[0x2000_0008]).n(246, &[2]).n(id::ISR_ENTER, &[15]);
            ready(stream);
            stream.n(id::ISR_EXIT, &[]).n(id::END_CALL, &[246]).n(40, &[2, 5]);
            ready(stream);
        }),
        3
    );
}

/// The oldest packet of a ring is cut. It is no damage, and what its bytes look like is no loss.
#[test]
fn a_ring_begins_within_a_packet() {
    let mut stream = Stream::default();
    stream.raw(&[0xE3, 0x81, 0xFF]).n(id::OVERFLOW, &[6]);
    for _ in 0..200 {
        stream.n(id::ISR_ENTER, &[15]).n(id::ISR_EXIT, &[]).n(id::TASK_START_EXEC, &[1]);
    }
    let conversion = convert(&stream.bytes, Cut::WHOLE);
    assert_eq!(lost(&conversion, losses::STARTS_WITHIN_PACKET), (1, 1));
    assert_eq!([losses::DAMAGED_PACKET, losses::DROPPED_BY_TARGET].map(|kind| lost(&conversion, kind)), [(0, 0); 2]);
}

/// Counters of 16 and of 24 bits: the library sends the difference of an overflow packet as a signed one.
#[test]
fn the_difference_of_an_overflow_is_no_negative_one() {
    for (sent, ticks) in [(0xFFFF_9000, 0x9000), (0xFFA0_0000, 0xA0_0000), (0xFFFF_FFFF, 0xFFFF), (0x00A0_0000, 0xA0_0000)] {
        let mut stream = small("N=x,O=FreeRTOS");
        let before = listed(&stream.bytes).last().unwrap().1.unwrap();
        stream.after(sent, id::OVERFLOW, &numbers(&[3])).after(1, id::IDLE, &[]);
        let times: Vec<u64> = listed(&stream.bytes).iter().map(|one| one.1.unwrap() - before).rev().take(2).collect();
        assert_eq!(times, [(ticks + 1) * 100, ticks * 100], "{sent:#x}");
    }
}
