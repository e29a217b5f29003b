//! Contracts that hold for any input: arbitrary bytes, and arbitrary events in any order.

use proptest::prelude::*;
use traceconv::format::tonbandgeraet::encode::encode;
use traceconv::format::tonbandgeraet::generate::Damage;
use traceconv::format::tonbandgeraet::record::{QueueKind, Record};
use traceconv::pipeline::{self, EventDetail};

use crate::common::views;
use crate::reader::Trace;
use crate::run::{self, Cut, Random, convert, convert_with};

/// An event to be. Few ids, so that events meet the same tasks, queues, interrupts and markers again and again.
#[derive(Clone, Debug)]
struct Step {
    event: u8,
    id: u32,
    number: u32,
    val: i64,
    text: &'static [u8],
    kind: QueueKind,
    time: Time,
}

/// The step of the time.
#[derive(Clone, Copy, Debug)]
enum Time {
    /// Forwards by N ticks.
    Forth(u64),
    /// Back by N ticks.
    Back(u64),
    /// Only this event has another time.
    Odd(u64),
}

prop_compose! {
    fn step()(
        event in 0u8..52,
        // Mostly small, but also the largest of all.
        id in prop_oneof![30 => 0u32..5, 1 => Just(u32::MAX)],
        number in prop_oneof![20 => 0u32..4, 1 => any::<u32>()],
        val in any::<i64>(),
        text in prop::sample::select(vec![&b""[..], b"a", b"name", b"\xFF\xC3"]),
        kind in prop::sample::select(vec![
            QueueKind::Queue,
            QueueKind::CountingSemaphore,
            QueueKind::BinarySemaphore,
            QueueKind::Mutex,
            QueueKind::RecursiveMutex,
        ]),
        time in prop_oneof![
            10 => Just(Time::Forth(0)),
            60 => (1u64..1000).prop_map(Time::Forth),
            1 => any::<u64>().prop_map(Time::Forth),
            2 => (1u64..100_000).prop_map(Time::Back),
            1 => any::<u64>().prop_map(Time::Odd),
        ],
    ) -> Step {
        Step { event, id, number, val, text, kind, time }
    }
}

impl Step {
    fn record(&self, ts: u64) -> Record<&'static [u8]> {
        let &Step { event, id, number, val, text, kind: queue_kind, .. } = self;
        match event {
            0 => Record::CoreId { ts, core_id: id },
            1 => Record::DroppedEvtCnt { ts, cnt: number },
            2 => Record::TsResolutionNs { ns_per_ts: u64::from(number) },
            3 => Record::IsrName { isr_id: id, name: text },
            4 | 5 => Record::IsrEnter { ts, isr_id: id },
            6 | 7 => Record::IsrExit { ts, isr_id: id },
            8 => Record::EvtmarkerName { evtmarker_id: id, name: text },
            9 => Record::Evtmarker { ts, evtmarker_id: id, msg: text },
            10 => Record::EvtmarkerBegin { ts, evtmarker_id: id, msg: text },
            11 => Record::EvtmarkerEnd { ts, evtmarker_id: id },
            12 => Record::ValmarkerName { valmarker_id: id, name: text },
            13 => Record::Valmarker { ts, valmarker_id: id, val },
            14..=17 => Record::TaskSwitchedIn { ts, task_id: id },
            18 | 19 => Record::TaskToRdyState { ts, task_id: id },
            20 => Record::TaskResumed { ts, task_id: id },
            21 => Record::TaskResumedFromIsr { ts, task_id: id },
            22 => Record::TaskSuspended { ts, task_id: id },
            23 => Record::CurtaskDelay { ts, ticks: number },
            24 => Record::CurtaskDelayUntil { ts, time_to_wake: number },
            25 => Record::TaskPrioritySet { ts, task_id: id, priority: number },
            26 => Record::TaskPriorityInherit { ts, task_id: id, priority: number },
            27 => Record::TaskPriorityDisinherit { ts, task_id: id, priority: number },
            28 => Record::TaskCreated { ts, task_id: id },
            29 => Record::TaskName { task_id: id, name: text },
            30 => Record::TaskIsIdleTask { task_id: id, core_id: number },
            31 => Record::TaskIsTimerTask { task_id: id },
            32 => Record::TaskDeleted { ts, task_id: id },
            33 => Record::QueueCreated { ts, queue_id: id },
            34 => Record::QueueName { queue_id: id, name: text },
            35 => Record::QueueKind { queue_id: id, kind: queue_kind },
            36 => Record::QueueSend { ts, queue_id: id, len_after: number },
            37 => Record::QueueSendFromIsr { ts, queue_id: id, len_after: number },
            38 => Record::QueueOverwrite { ts, queue_id: id, len_after: number },
            39 => Record::QueueOverwriteFromIsr { ts, queue_id: id, len_after: number },
            40 => Record::QueueReceive { ts, queue_id: id, len_after: number },
            41 => Record::QueueReceiveFromIsr { ts, queue_id: id, len_after: number },
            42 => Record::QueueReset { ts, queue_id: id },
            43 => Record::CurtaskBlockOnQueuePeek { ts, queue_id: id, ticks_to_wait: number },
            44 => Record::CurtaskBlockOnQueueSend { ts, queue_id: id, ticks_to_wait: number },
            45 => Record::CurtaskBlockOnQueueReceive { ts, queue_id: id, ticks_to_wait: number },
            46 => Record::QueueCurLength { ts, queue_id: id, length: number },
            47 => Record::TaskEvtmarkerName { evtmarker_id: id, task_id: number, name: text },
            48 => Record::TaskEvtmarker { ts, evtmarker_id: id, msg: text },
            49 => Record::TaskEvtmarkerBegin { ts, evtmarker_id: id, msg: text },
            50 => Record::TaskEvtmarkerEnd { ts, evtmarker_id: id },
            _ => Record::TaskValmarker { ts, valmarker_id: id, val },
        }
    }
}

fn capture(steps: &[Step]) -> Vec<u8> {
    let mut frames = Vec::new();
    let mut now = 1_000_000u64;
    for step in steps {
        let ts = match step.time {
            Time::Forth(ticks) => {
                now = now.wrapping_add(ticks);
                now
            }
            Time::Back(ticks) => {
                now = now.wrapping_sub(ticks);
                now
            }
            Time::Odd(ticks) => ticks,
        };
        encode(&step.record(ts), &mut frames);
    }
    frames
}

/// Converts in small and large pieces: the same bytes, which the reader accepts.
fn check(capture: &[u8]) -> Result<(), TestCaseError> {
    let whole = convert(capture, Cut::WHOLE);
    let small = convert(capture, Cut::SMALL);
    prop_assert_eq!(views::ledger(&small.summary), views::ledger(&whole.summary));
    if small.trace != whole.trace {
        let read = |trace| Trace::parse(trace).map(|trace| views::trace(&trace)).map_err(TestCaseError::fail);
        prop_assert_eq!(read(&small.trace)?, read(&whole.trace)?, "in small pieces, and whole");
        prop_assert!(false, "the same content in other bytes");
    }
    let trace = Trace::parse(&whole.trace).map_err(TestCaseError::fail)?;
    prop_assert!(trace.unclosed.is_empty(), "slices without end: {:?}", trace.slices[trace.unclosed[0]]);
    for detail in [EventDetail::Overview, EventDetail::All] {
        let options = run::options(Cut::WHOLE).events(detail);
        Trace::parse(&convert_with(capture, &options).trace).map_err(TestCaseError::fail)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn events_in_any_order_give_a_sound_trace(steps in prop::collection::vec(step(), 0..150)) {
        check(&capture(&steps))?;
    }

    #[test]
    fn any_bytes_give_a_sound_trace(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2000),
        prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 3, 4, 5, 6, 0x54, 0x55, 0x66, 0x6A, 0x80]), 0..2000),
    ]) {
        check(&bytes)?;
    }

    #[test]
    fn a_time_range_gives_a_sound_trace(
        steps in prop::collection::vec(step(), 0..100),
        from in prop::option::of(0u64..60_000),
        len in prop::option::of(0u64..60_000),
    ) {
        let after_start = |ns| pipeline::TimeBound::AfterStart(traceconv::model::Nanos(ns));
        let from_ns = from.unwrap_or(0);
        let options = run::options(Cut::SMALL).from(from.map(after_start)).to(len.map(|len| after_start(from_ns + len)));
        let trace = Trace::parse(&convert_with(&capture(&steps), &options).trace).map_err(TestCaseError::fail)?;
        prop_assert!(trace.unclosed.is_empty());
    }
}

/// Cut and put together again, files from a running target are longer than a window: the threads really work in parallel.
#[test]
fn windows_and_threads_change_nothing() {
    let mut random = Random(7);
    for (seed, damage) in (0..).zip([Damage::None, Damage::Flips, Damage::Cuts, Damage::Drops]) {
        for cores in [1, 2, 3] {
            let capture = run::generated(150_000, seed, cores, damage);
            let whole = convert(&capture, Cut::WHOLE);
            for threads in [1, 2, 3] {
                let cut = Cut { threads, window_bytes: 100 + random.below(30_000) };
                assert!(convert(&capture, cut).trace == whole.trace, "{damage:?} {cores} cores: another trace with {cut:?}");
            }
            whole.read();
        }
    }
}

/// A sync that is not the first, a frame of an unknown event, and the beginning of another frame.
#[test]
fn losses_at_one_place_are_named_by_the_first() {
    let capture = b"\x06\x0C\x54\x01\x02\x05\x0A\x01\x01\x9F\xA5\x10\xA1\x10\x8B\x03\0\x05\x9F\xF0\xA3\x01\0\x10";
    run::subject().check_cuts(capture);
}
