//! Statistics of made-up events, reckoned by hand.

use super::report::StatisticsReport;
use super::*;
use crate::model::{
    Event, Isr, Level, LossNote, Nanos, Object, ObjectKind, ObjectOp, RecordedWaits, ReportedState, Task, TaskKind, Wait,
    WaitReason, losses,
};

const IDLE: TaskId = TaskId(0);
const HIGH: TaskId = TaskId(1);
const LOW: TaskId = TaskId(2);
const TICK: IsrId = IsrId(0);
const UART: IsrId = IsrId(1);
const QUEUE: ObjectId = ObjectId(0);
const LOCK: ObjectId = ObjectId(1);

fn entities() -> Entities {
    let mut entities = Entities::default();
    for (number, name, kind) in [(1, "IDLE", TaskKind::Idle), (2, "high", TaskKind::Normal), (3, "low", TaskKind::Normal)] {
        entities.add_task(Task { number, name: Some(name.into()), kind, session: 0, waits: RecordedWaits::Ends });
    }
    for (number, name) in [(15, Some("SysTick".into())), (37, None)] {
        entities.add_isr(Isr { number, name, core: CoreId(0), session: 0 });
    }
    for (number, name, kind) in [(1, "samples", ObjectKind::Queue), (2, "bus", ObjectKind::Mutex)] {
        entities.add_object(Object { number, name: Some(name.into()), kind, session: 0, giving_is_unrecorded: false });
    }
    entities
}

fn gather(events: &[(u64, EventKind)]) -> (StatisticsReport, String) {
    let entities = entities();
    let event = |&(time, kind): &(u64, EventKind)| Event { time: Nanos(time), core: CoreId(0), kind };
    let kind = losses::FRAMES_LOST;
    let losses = vec![LossNote { kind, offset: 0, bytes: 1, at_least_lost: 1 }];
    let mut statistics = Statistics::new(true);
    // One event in each batch: open spans go on from batch to batch.
    for one in events {
        let batch = EventBatch { events: vec![event(one)], losses: losses.clone(), ..EventBatch::default() };
        statistics.consume(&batch, &entities);
    }
    statistics.finish();
    (statistics.report(&entities), statistics.folded(&entities).unwrap())
}

fn ready(task: TaskId) -> EventKind {
    EventKind::Ready { task, from_isr: false }
}

fn waits(reason: WaitReason, object: Option<ObjectId>) -> EventKind {
    EventKind::Waiting(Wait { reason, object, kernel_ticks: u32::MAX })
}

fn object(object: ObjectId, op: ObjectOp, level: u32) -> EventKind {
    EventKind::Object { object, op, from_isr: false, level: Level::known(level) }
}

/// The timeline draws a task that left without a reason, and of which nothing more is known, as ready until the loss, unless it cannot have been.
#[test]
fn undecided_time_before_a_loss_counts_as_it_is_drawn() {
    use EventKind::{Loss, SwitchedIn};
    let priority = |task, priority| EventKind::Priority { task, priority, change: PriorityChange::Reported };
    let (report, _) = gather(&[
        (0, priority(HIGH, 2)),
        (0, priority(LOW, 1)),
        (100, SwitchedIn(LOW)),
        (200, SwitchedIn(HIGH)),
        (230, ready(HIGH)),
        (250, Loss(0)),
        (300, SwitchedIn(HIGH)),
        (400, SwitchedIn(LOW)),
        (430, ready(LOW)),
        (450, Loss(0)),
    ]);
    let ready_ns = |name: &str| report.tasks.iter().find(|task| task.name == name).and_then(|task| task.ready_ns);
    assert_eq!((ready_ns("low"), ready_ns("high")), (Some(30), Some(0)));
}

#[test]
fn time_goes_to_whoever_runs_and_waits_end_when_made_ready() {
    use EventKind::SwitchedIn;
    let (report, folded) = gather(&[
        (100, SwitchedIn(HIGH)),
        (130, waits(WaitReason::Receive, Some(QUEUE))),
        (140, SwitchedIn(LOW)),
        (200, ready(HIGH)),
        (205, SwitchedIn(HIGH)),
        (250, waits(WaitReason::Delay, None)),
        (260, SwitchedIn(LOW)),
        (300, waits(WaitReason::Delay, None)),
        (310, SwitchedIn(IDLE)),
        (400, ready(HIGH)),
        (420, SwitchedIn(HIGH)),
        (500, SwitchedIn(IDLE)),
    ]);
    assert_eq!((report.first_ns, report.last_ns, report.gaps), (Some(100), Some(500), 0));
    let core = report.cores[0];
    assert_eq!((core.busy_ns, core.idle_ns, core.interrupts_ns, core.unknown_ns), (290, 110, 0, 0));
    assert_eq!((core.load_percent, core.switches), (Some(72.5), 7));
    let [_, high, low] = &report.tasks[..] else { panic!("{:?}", report.tasks) };
    // 100..140, 205..260 and 420..500.
    assert_eq!((high.run_ns, high.cpu_percent, high.runs.count, high.runs.max_ns), (175, Some(43.75), 3, Some(80)));
    // For the queue 140..200, for time 260..400.
    assert_eq!((high.waits.count, high.waits.total_ns, high.waits.max_ns), (2, 200, Some(140)));
    let longest = high.longest_wait.as_ref().unwrap();
    assert_eq!((longest.what.as_deref(), longest.begin_ns), (Some("delay"), 260));
    assert_eq!((high.latency.count, high.latency.min_ns, high.latency.max_ns), (2, Some(5), Some(20)));
    assert_eq!((high.latency.p50_ns, high.latency.p99_ns), (Some(5), Some(20)));
    // Pre-empted 205..260; its last wait has not ended.
    assert_eq!((low.run_ns, low.preemptions, low.ready_ns, low.waits.count), (115, Some(1), Some(55), 0));
    assert_eq!((report.objects[0].waits.count, report.objects[0].longest_waiter.as_deref()), (1, Some("high")));
    assert_eq!(folded, "IDLE 110\nhigh 175\nlow 115\n");
}

#[test]
fn a_task_that_left_without_a_reason_and_is_made_ready_had_waited() {
    use EventKind::SwitchedIn;
    let (report, _) =
        gather(&[(0, SwitchedIn(HIGH)), (10, SwitchedIn(LOW)), (30, ready(HIGH)), (33, SwitchedIn(HIGH)), (40, SwitchedIn(LOW))]);
    let high = &report.tasks[0];
    assert_eq!((high.name.as_str(), high.waits.total_ns, high.preemptions, high.ready_ns), ("high", 20, Some(0), Some(3)));
    assert_eq!(high.longest_wait.as_ref().unwrap().what, None);
}

#[test]
fn an_interrupt_that_is_active_at_the_end_is_unfinished() {
    use EventKind::{IsrEnter, SwitchedIn};
    let (report, _) = gather(&[(0, SwitchedIn(LOW)), (10, IsrEnter(TICK)), (14, IsrEnter(UART)), (20, EventKind::IsrExit(UART))]);
    let tick = &report.interrupts[0];
    assert_eq!((tick.durations.count, tick.self_ns, tick.unfinished), (0, 4, 1));
}

#[test]
fn interrupts_take_their_time_from_what_they_interrupt() {
    use EventKind::{IsrEnter, IsrExit, SwitchedIn};
    let (report, folded) = gather(&[
        (0, IsrExit(UART)),
        (5, SwitchedIn(LOW)),
        (10, IsrEnter(TICK)),
        (14, IsrEnter(UART)),
        (17, IsrExit(UART)),
        (20, IsrExit(TICK)),
        (30, IsrEnter(TICK)),
        (31, IsrEnter(UART)),
        // The exit of the inner one is missing.
        (36, IsrExit(TICK)),
        (50, IsrEnter(UART)),
        (60, EventKind::CoreEnd),
    ]);
    let [tick, uart] = &report.interrupts[..] else { panic!("{:?}", report.interrupts) };
    assert_eq!((tick.name.as_str(), tick.durations.count, tick.durations.total_ns, tick.self_ns), ("SysTick", 2, 16, 8));
    assert_eq!((tick.durations.min_ns, tick.durations.max_ns, tick.unfinished), (Some(6), Some(10), 0));
    assert_eq!((uart.name.as_str(), uart.durations.count, uart.durations.max_ns), ("ISR #37", 1, Some(3)));
    assert_eq!((uart.self_ns, uart.unfinished), (3 + 5 + 10, 2));
    let core = report.cores[0];
    assert_eq!((core.busy_ns, core.interrupts_ns, core.unknown_ns), (29, 26, 5));
    assert_eq!(folded, "low 29\nlow;ISR #37 10\nlow;SysTick 8\nlow;SysTick;ISR #37 8\n");
}

#[test]
fn interrupts_alone_say_nothing_of_the_load() {
    let isrs = [(10, EventKind::IsrEnter(TICK)), (14, EventKind::IsrExit(TICK)), (90, EventKind::CoreEnd)];
    let core = gather(&isrs).0.cores[0];
    assert_eq!((core.interrupts_ns, core.unknown_ns, core.load_percent), (4, 76, None));
    let mut with_idle = vec![(0, EventKind::SwitchedIn(IDLE))];
    with_idle.extend(isrs);
    assert_eq!(gather(&with_idle).0.cores[0].load_percent, Some(4.44));
}

#[test]
fn nothing_is_measured_across_a_gap() {
    use EventKind::SwitchedIn;
    let (report, _) = gather(&[
        (0, SwitchedIn(HIGH)),
        (10, waits(WaitReason::Delay, None)),
        (20, SwitchedIn(LOW)),
        (25, object(LOCK, ObjectOp::Receive, 0)),
        (40, EventKind::Loss(0)),
        (50, ready(HIGH)),
        (60, object(LOCK, ObjectOp::Send, 1)),
        (70, SwitchedIn(HIGH)),
        (100, SwitchedIn(IDLE)),
    ]);
    assert_eq!((report.gaps, report.gap_ns), (1, 15));
    assert_eq!(report.rate_hz(17), Some(17e9 / 85.0), "of the time in which something would have been seen");
    let core = report.cores[0];
    // Until the last event before the gap it is known who ran.
    assert_eq!((core.busy_ns, core.unknown_ns), (25 + 30, 45));
    let tasks: Vec<_> = report.tasks.iter().map(|task| (task.name.as_str(), task.run_ns, task.waits.count)).collect();
    assert_eq!(tasks, [("high", 50, 0), ("low", 5, 0)]);
    assert_eq!(report.tasks[0].latency.count, 1, "made ready after the gap");
    assert_eq!(report.objects[0].holds.unwrap().count, 0);
}

/// Starvation would be invisible if only readiness that has ended counted.
#[test]
fn a_task_that_never_gets_the_core_is_ready_until_a_loss_and_until_the_end() {
    use EventKind::SwitchedIn;
    let suspended = |task| EventKind::Suspended(task);
    let events = [
        (0, SwitchedIn(HIGH)),
        (10, ready(LOW)),
        (30, ready(IDLE)),
        (40, EventKind::Loss(0)),
        (50, SwitchedIn(HIGH)),
        (60, ready(LOW)),
        (75, suspended(LOW)),
        (90, waits(WaitReason::Delay, None)),
    ];
    let of_low = |report: &StatisticsReport| {
        let low = report.tasks.iter().find(|task| task.name == "low").unwrap();
        (low.ready_ns, low.suspended_ns, low.latency.count, low.run_ns)
    };
    // 10..30 and 60..75, then 75..90.
    assert_eq!(of_low(&gather(&events).0), (Some(20 + 15), 15, 0, 0));
}

/// A task that left without a reason is suspended or deleted: until then it waited or was ready, as the timeline draws it.
#[test]
fn undecided_time_before_a_suspension_counts_as_it_is_drawn() {
    use EventKind::{Suspended, SwitchedIn, TaskDeleted};
    let priority = |task, priority| EventKind::Priority { task, priority, change: PriorityChange::Reported };
    for end in [Suspended as fn(TaskId) -> EventKind, TaskDeleted] {
        let after = |first: TaskId, next: TaskId| {
            let (report, _) = gather(&[
                (0, priority(HIGH, 2)),
                (0, priority(LOW, 1)),
                (100, SwitchedIn(first)),
                (200, SwitchedIn(next)),
                (230, end(first)),
                (300, SwitchedIn(IDLE)),
            ]);
            let task = report.tasks.iter().find(|task| task.number == first.0 + 1).expect("it ran");
            (task.ready_ns, task.waits.count)
        };
        assert_eq!(after(HIGH, LOW), (Some(0), 1), "a task of lower priority ran");
        assert_eq!(after(LOW, HIGH), (Some(30), 0));
    }
}

/// Its begin was not seen, so it is no wait that has a length, and no latency.
#[test]
fn the_time_in_a_reported_state_counts_from_the_report_on() {
    use EventKind::{SwitchedIn, TaskReported};
    let spent = |state| {
        let events = [
            (0, SwitchedIn(HIGH)),
            (10, TaskReported { task: LOW, state }),
            (30, SwitchedIn(LOW)),
            (40, SwitchedIn(HIGH)),
            (50, ready(LOW)),
        ];
        let (report, _) = gather(&events);
        let low = report.tasks.iter().find(|task| task.name == "low").expect("it ran");
        (low.ready_ns, low.suspended_ns, low.latency.count, low.waits.count)
    };
    assert_eq!(spent(ReportedState::Ready), (Some(20), 0, 0, 1), "the wait is the one until 50");
    assert_eq!(spent(ReportedState::Suspended), (Some(0), 20, 0, 1));
    assert_eq!(spent(ReportedState::Waiting), (Some(0), 0, 0, 1));
}

fn gather_part(from_ns: u64, to_ns: u64, events: &[(u64, EventKind)]) -> StatisticsReport {
    let entities = entities();
    let mut statistics = Statistics::new(false);
    statistics.limit_to(from_ns, to_ns);
    let losses = vec![LossNote { kind: losses::FRAMES_LOST, offset: 0, bytes: 1, at_least_lost: 1 }];
    let events = events.iter().map(|&(time, kind)| Event { time: Nanos(time), core: CoreId(0), kind }).collect();
    statistics.consume(&EventBatch { events, losses, ..EventBatch::default() }, &entities);
    statistics.finish();
    statistics.report(&entities)
}

/// It left its core before the part: whether it waits or is kept from running is seen only later.
#[test]
fn a_task_that_left_before_a_part_is_ready_in_it_if_it_runs_again_without_a_wake_up() {
    use EventKind::SwitchedIn;
    let of_low = |wakes: &[(u64, EventKind)]| {
        let first = [(0, SwitchedIn(LOW)), (10, ready(HIGH)), (12, SwitchedIn(HIGH))];
        let last = [(60, waits(WaitReason::Delay, None)), (62, SwitchedIn(LOW)), (70, ready(HIGH)), (90, SwitchedIn(HIGH))];
        let report = gather_part(40, 80, &[&first[..], wakes, &last].concat());
        let low = report.tasks.iter().find(|task| task.name == "low").unwrap();
        (low.ready_ns, low.preemptions, low.waits.count, low.latency.count)
    };
    assert_eq!(of_low(&[]), (Some(62 - 40), Some(0), 0, 0), "it was pre-empted before the part");
    assert_eq!(of_low(&[(50, ready(LOW))]), (Some(62 - 50), Some(0), 0, 1), "its wait began before the part");
}

#[test]
fn the_levels_of_a_part_are_those_that_objects_have_in_it() {
    use EventKind::{LateObjectLevel, Loss, ObjectLevel};
    let high = |from_ns, to_ns, events: &[(u64, EventKind)]| {
        let report = gather_part(from_ns, to_ns, events);
        report.objects.first().and_then(|queue| Some((queue.high_water?, queue.high_water_ns?)))
    };
    let events = [
        (10, object(QUEUE, ObjectOp::Send, 5)),
        (30, object(QUEUE, ObjectOp::Receive, 4)),
        (50, ObjectLevel { object: QUEUE, level: 1 }),
        (70, Loss(0)),
        (80, ready(LOW)),
    ];
    assert_eq!(high(20, 60, &events), Some((5, 20)), "it has it when the part begins");
    assert_eq!(high(31, 60, &events), Some((4, 31)));
    assert_eq!(high(75, 90, &events), None, "after a loss it is unknown");
    // A level that is known only when the next operation comes, which is after the part.
    let unknown = EventKind::Object { object: QUEUE, op: ObjectOp::Send, from_isr: false, level: Level::UNKNOWN };
    let late = LateObjectLevel { object: QUEUE, level: 2, since: crate::model::Packed(30) };
    let events = [(10, object(QUEUE, ObjectOp::Send, 1)), (30, unknown), (70, late), (70, object(QUEUE, ObjectOp::Send, 9))];
    assert_eq!(high(20, 60, &events), Some((2, 30)));
    assert_eq!(high(40, 60, &events), Some((2, 40)));
    assert_eq!(high(20, 29, &events), Some((1, 20)));
}

/// A ring in memory begins with the loss of all that was overwritten.
#[test]
fn what_was_lost_before_the_first_event_is_no_time_of_the_recording() {
    use EventKind::{SessionStart, SwitchedIn};
    for first in [EventKind::Loss(0), SessionStart(1)] {
        let (report, _) = gather(&[(500, first), (500, SwitchedIn(HIGH)), (540, SwitchedIn(LOW)), (600, SwitchedIn(HIGH))]);
        assert_eq!((report.first_ns, report.gap_ns, report.seen_ns()), (Some(500), 0, 100));
        assert_eq!(report.gaps, u64::from(first == EventKind::Loss(0)));
    }
}

#[test]
fn the_gaps_of_a_part_are_those_that_reach_into_it() {
    use EventKind::{Loss, SessionStart, SwitchedIn};
    let gaps = |from_ns, to_ns, events: &[(u64, EventKind)]| {
        let report = gather_part(from_ns, to_ns, events);
        assert!(report.cores.iter().all(|core| core.known_ns() + core.unknown_ns == report.duration_ns()));
        (report.gaps, report.gap_ns, report.cores[0].known_ns())
    };
    let events =
        [(0, SwitchedIn(LOW)), (10, ready(HIGH)), (90, Loss(0)), (90, Loss(0)), (95, SwitchedIn(LOW)), (99, ready(HIGH))];
    assert_eq!(gaps(0, 99, &events), (2, 80, 10 + 4));
    assert_eq!(gaps(20, 60, &events), (2, 40, 0), "it lies in the gap");
    assert_eq!(gaps(5, 60, &events), (2, 50, 5));
    assert_eq!(gaps(20, 97, &events), (2, 70, 2));
    assert_eq!(gaps(95, 99, &events), (0, 0, 4));
    assert_eq!((gaps(90, 99, &events), gaps(0, 10, &events)), ((0, 0, 4), (0, 0, 10)), "it only touches the part");
    assert_eq!((gaps(89, 99, &events), gaps(0, 11, &events)), ((2, 1, 4), (2, 1, 10)));
    assert_eq!((gaps(30, 30, &events).0, gaps(10, 10, &events).0, gaps(90, 90, &events).0), (2, 0, 0), "a moment");
    let restart = [(0, SwitchedIn(LOW)), (10, ready(HIGH)), (90, SessionStart(1)), (95, SwitchedIn(LOW))];
    assert_eq!(gaps(20, 60, &restart), (0, 40, 0), "between two sessions");
    // It begins before the recording does.
    let events = [(50, Loss(0)), (50, SwitchedIn(LOW)), (99, ready(HIGH))];
    assert_eq!((gaps(0, 80, &events), gaps(50, 80, &events)), ((1, 0, 30), (1, 0, 30)));
}

/// While one recording misses something, another one's levels are changed unseen.
#[test]
fn no_level_goes_on_into_a_part_that_begins_in_a_gap_of_another_core() {
    let events = [
        (0, 0, object(QUEUE, ObjectOp::Send, 3)),
        (10, 1, EventKind::SwitchedIn(HIGH)),
        (10, 1, EventKind::Missing),
        (20, 0, object(QUEUE, ObjectOp::Send, 5)),
        (60, 0, object(QUEUE, ObjectOp::Send, 2)),
        (80, 1, EventKind::Loss(0)),
        (90, 0, object(QUEUE, ObjectOp::Send, 3)),
    ];
    let of_part = |from_ns, to_ns| {
        let mut statistics = Statistics::new(false);
        statistics.limit_to(from_ns, to_ns);
        let losses = vec![LossNote { kind: losses::FRAMES_LOST, offset: 0, bytes: 1, at_least_lost: 1 }];
        let event = |(time, core, kind)| Event { time: Nanos(time), core: CoreId(core), kind };
        let entities = entities();
        statistics.consume(&EventBatch { events: events.map(event).to_vec(), losses, ..EventBatch::default() }, &entities);
        statistics.finish();
        let report = statistics.report(&entities);
        (report.objects.first().and_then(|queue| queue.high_water), report.gaps)
    };
    assert_eq!(of_part(5, 15), (Some(3), 1));
    assert_eq!(of_part(15, 70), (Some(5), 1));
    assert_eq!(of_part(30, 50), (None, 1), "it lies in the gap");
    assert_eq!(of_part(30, 70), (Some(2), 1));
    assert_eq!(of_part(30, 95), (Some(3), 1));
    assert_eq!(of_part(85, 95), (Some(3), 0));
    assert_eq!(
        (of_part(5, 10).1, of_part(5, 11).1, of_part(79, 95).1, of_part(80, 95).1),
        (0, 1, 1, 0),
        "it only touches the part"
    );
}

#[test]
fn a_restart_empties_the_heap() {
    use crate::model::{HeapOp, Packed};
    let heap = |op, address, bytes| EventKind::Heap { op, address: Packed(address), bytes };
    let (report, _) = gather(&[
        (0, heap(HeapOp::Allocate, 8, 100)),
        (1, heap(HeapOp::Allocate, 16, 50)),
        (2, EventKind::SessionStart(1)),
        (3, heap(HeapOp::Allocate, 24, 10)),
        (4, heap(HeapOp::Allocate, 32, 5)),
        (5, heap(HeapOp::Free, 32, 0)),
        // Taken before the recording of this session began: its size is not that of the block of another session.
        (6, heap(HeapOp::Free, 8, 4)),
    ]);
    let heap = report.heap.unwrap();
    assert_eq!((heap.allocations, heap.frees, heap.used_bytes, heap.high_water_bytes), (4, 2, 10 - 4, 150));
}

/// One recording has lost something while another goes on: who ran there, and who was ready, is unknown since its last event.
#[test]
fn what_one_of_several_recordings_lost_is_unknown_from_its_last_event_on() {
    use EventKind::SwitchedIn;
    let events = [
        (0, 0, SwitchedIn(IDLE)),
        (10, 1, SwitchedIn(HIGH)),
        (20, 0, ready(LOW)),
        (20, 1, EventKind::Missing),
        (60, 0, SwitchedIn(IDLE)),
        (80, 0, SwitchedIn(LOW)),
        (90, 1, EventKind::Loss(0)),
        (95, 1, SwitchedIn(HIGH)),
        (100, 0, SwitchedIn(IDLE)),
    ];
    let entities = entities();
    let mut statistics = Statistics::new(false);
    let losses = vec![LossNote { kind: losses::FRAMES_LOST, offset: 0, bytes: 1, at_least_lost: 1 }];
    let event = |(time, core, kind)| Event { time: Nanos(time), core: CoreId(core), kind };
    statistics.consume(&EventBatch { events: events.map(event).to_vec(), losses, ..EventBatch::default() }, &entities);
    statistics.finish();
    let report = statistics.report(&entities);
    let cores: Vec<_> = report.cores.iter().map(|core| (core.busy_ns + core.idle_ns, core.unknown_ns)).collect();
    assert_eq!(cores, [(20 + 20, 40 + 20), (10 + 5, 10 + 75)]);
    assert!(!report.tasks.iter().any(|task| task.name == "low"), "it may have run on the other core meanwhile");
    assert_eq!(report.gaps, 1);
}

/// Calls are reported when they have ended, with their begin. What was called before a loss is not its caller's own time.
#[test]
fn a_call_across_a_loss_has_its_callees_from_before() {
    let mut entities = entities();
    let [main, work] = ["main", "work"].map(|name| {
        let function = crate::model::Function { name: name.into(), address: 0, source: None, isr: None };
        entities.add_function(function).unwrap()
    });
    let call = |function, depth, begin, end| {
        let begin = crate::model::Packed(begin);
        (end, EventKind::Call { function, depth, is_hidden: false, begin, ended_before_ns: 0 })
    };
    let events = [call(work, 1, 10, 40), (60, EventKind::Loss(0)), call(work, 1, 70, 80), call(main, 0, 0, 100)];
    let mut statistics = Statistics::new(false);
    let losses = vec![LossNote { kind: losses::FRAMES_LOST, offset: 0, bytes: 1, at_least_lost: 1 }];
    let events = events.map(|(time, kind)| Event { time: Nanos(time), core: CoreId(0), kind }).to_vec();
    statistics.consume(&EventBatch { events, losses, ..EventBatch::default() }, &entities);
    statistics.finish();
    let report = statistics.report(&entities);
    let self_ns: Vec<_> = report.functions.iter().map(|function| (function.name.as_str(), function.self_ns)).collect();
    assert_eq!(self_ns, [("main", 60), ("work", 40)]);
    // The first event is at 40, and the gap has 20: all of it is in a call that is reported later.
    assert_eq!((report.seen_ns(), report.functions_ns), (40, 100));
}

/// Neither a loss nor the end of the recording takes back that a task had to leave its core: the timeline draws it as runnable.
#[test]
fn a_pre_emption_counts_if_its_end_is_not_seen() {
    use EventKind::SwitchedIn;
    let priority = |task, priority| (0, EventKind::Priority { task, priority, change: PriorityChange::Reported });
    let of_low = |events: &[(u64, EventKind)]| {
        let report = gather(&[&[priority(HIGH, 2), priority(LOW, 1)], events].concat()).0;
        let low = report.tasks.iter().find(|task| task.name == "low").unwrap();
        (low.preemptions, low.ready_ns)
    };
    let until_end = [(0, SwitchedIn(LOW)), (10, ready(HIGH)), (12, SwitchedIn(HIGH)), (30, ready(IDLE))];
    assert_eq!(of_low(&until_end), (Some(1), Some(18)));
    let until_loss = [&until_end[..], &[(40, EventKind::Loss(0)), (50, SwitchedIn(LOW))]].concat();
    assert_eq!(of_low(&until_loss), (Some(1), Some(18)));
    // Nothing follows.
    assert_eq!(of_low(&until_end[..3]), (Some(0), Some(0)));
    // The idle task runs: it had waited.
    assert_eq!(of_low(&[&until_end[..3], &[(20, SwitchedIn(IDLE))]].concat()), (Some(0), Some(0)));
}

/// As ThreadX records it. What was left before a part is not of that part.
#[test]
fn who_states_each_wait_and_leaves_without_one_was_preempted() {
    use EventKind::SwitchedIn;
    let mut entities = entities();
    let stating = Task { number: 4, name: None, kind: TaskKind::Normal, session: 0, waits: RecordedWaits::All };
    let task = entities.add_task(stating).unwrap();
    let preemptions = |from_ns| {
        let mut statistics = Statistics::new(false);
        statistics.limit_to(from_ns, u64::MAX);
        let events = [
            (0, SwitchedIn(task)),
            (10, SwitchedIn(LOW)),
            (20, SwitchedIn(task)),
            (30, waits(WaitReason::Delay, None)),
            (32, SwitchedIn(LOW)),
            (40, ready(task)),
            (42, SwitchedIn(task)),
            (50, SwitchedIn(LOW)),
        ];
        let events = events.map(|(time, kind)| Event { time: Nanos(time), core: CoreId(0), kind }).to_vec();
        statistics.consume(&EventBatch { events, ..EventBatch::default() }, &entities);
        statistics.finish();
        let report = statistics.report(&entities);
        let of_task = report.tasks.iter().find(|task| task.number == 4).unwrap();
        (of_task.preemptions, of_task.ready_ns)
    };
    assert_eq!([0, 15].map(preemptions), [(Some(2), Some(12)), (Some(1), Some(7))]);
}

#[test]
fn readiness_that_is_not_recorded_is_not_zero() {
    let mut entities = entities();
    let unrecorded = Task { number: 4, name: None, kind: TaskKind::Normal, session: 0, waits: RecordedWaits::Nothing };
    let task = entities.add_task(unrecorded).unwrap();
    let events = [(0, task), (10, LOW), (20, task)];
    let event = |(time, task)| Event { time: Nanos(time), core: CoreId(0), kind: EventKind::SwitchedIn(task) };
    let mut statistics = Statistics::new(false);
    statistics.consume(&EventBatch { events: events.map(event).to_vec(), ..EventBatch::default() }, &entities);
    statistics.finish();
    let report = statistics.report(&entities);
    let figures: Vec<_> =
        report.tasks.iter().map(|task| (task.number, task.runs.count, task.preemptions, task.ready_ns)).collect();
    assert_eq!(figures, [(3, 1, Some(0), Some(0)), (4, 1, None, None)]);
    let text = super::text::tables(&report, 10);
    let line = text.lines().find(|line| line.contains("#4")).unwrap();
    assert_eq!(line.split_whitespace().rev().take(3).collect::<Vec<_>>(), ["-", "-", "-"], "pre-empted, ready and longest wait");
}

#[test]
fn queues_and_mutexes() {
    use EventKind::SwitchedIn;
    let (report, _) = gather(&[
        (0, SwitchedIn(HIGH)),
        (1, EventKind::Capacity { object: QUEUE, items: 8, item_bytes: 4 }),
        (2, object(QUEUE, ObjectOp::Send, 1)),
        (3, object(QUEUE, ObjectOp::Send, 2)),
        (4, object(QUEUE, ObjectOp::Receive, 1)),
        (5, object(QUEUE, ObjectOp::Send, 2)),
        (10, object(LOCK, ObjectOp::Receive, 0)),
        (17, object(LOCK, ObjectOp::Send, 1)),
        (20, object(LOCK, ObjectOp::Receive, 0)),
        (25, object(LOCK, ObjectOp::Delete, 0)),
        (30, object(LOCK, ObjectOp::Receive, 0)),
    ]);
    let [queue, lock] = &report.objects[..] else { panic!("{:?}", report.objects) };
    assert_eq!((queue.sends, queue.receives, queue.capacity), (3, 1, Some(8)));
    assert_eq!((queue.high_water, queue.high_water_ns, queue.holds), (Some(2), Some(3), None));
    let holds = lock.holds.unwrap();
    // Until it is given or deleted; the last hold has not ended.
    assert_eq!((holds.count, holds.total_ns, lock.high_water), (2, 7 + 5, None));
}

#[test]
fn steps_of_machines_and_what_waits_for_them() {
    use crate::model::{Machine, MaybeName, NameId, Origin, StepResult};
    let mut entities = Entities::default();
    let machine = Machine { name: "Table".into(), description: None, session: 0 };
    let table = entities.add_machine(machine).unwrap();
    let [eat, done] = ["EAT", "DONE"].map(|name| entities.add_name(name).unwrap());
    let by = Origin::UNKNOWN;
    let posted = |signal: NameId, fill| EventKind::Posted { to: table, by, signal, fill: Level::known(fill), urgent: false };
    let taken = |signal: NameId, fill| EventKind::Taken { machine: table, signal, fill: Level::known(fill) };
    let begin = |signal: NameId| EventKind::StepBegin { machine: table, signal, state: MaybeName::NONE };
    let end = |result| EventKind::StepEnd { machine: table, result, from: MaybeName::NONE, to: MaybeName::NONE };
    let events = [
        (0, posted(eat, 1)),
        (5, posted(done, 2)),
        (6, EventKind::NotPosted { to: table, by, signal: eat }),
        (10, taken(eat, 1)),
        (11, begin(eat)),
        (12, EventKind::Preempted { machine: table }),
        (17, EventKind::Unpreempted { machine: table }),
        (20, end(StepResult::Transition)),
        (30, taken(done, 0)),
        (31, begin(done)),
        (34, end(StepResult::Ignored)),
        // Across a gap nothing is measured.
        (40, posted(eat, 1)),
        (50, EventKind::Loss(0)),
        (60, taken(eat, 0)),
        (61, begin(eat)),
        (100, end(StepResult::Internal)),
    ];
    let kind = losses::FRAMES_LOST;
    let losses = vec![LossNote { kind, offset: 0, bytes: 1, at_least_lost: 1 }];
    let gather = |part: Option<(u64, u64)>| {
        let mut statistics = Statistics::new(false);
        part.into_iter().for_each(|(from_ns, to_ns)| statistics.limit_to(from_ns, to_ns));
        for (time, kind) in events {
            let event = Event { time: Nanos(time), core: CoreId(0), kind };
            let batch = EventBatch { events: vec![event], losses: losses.clone(), ..EventBatch::default() };
            statistics.consume(&batch, &entities);
        }
        statistics.finish();
        statistics.report(&entities)
    };
    let report = gather(None);
    let [machine] = &report.machines[..] else { panic!("{:?}", report.machines) };
    assert_eq!((machine.posts, machine.not_posted, machine.taken, machine.preemptions), (3, 1, 3, 1));
    assert_eq!((machine.steps.count, machine.steps.total_ns, machine.steps.max_ns), (3, 9 + 3 + 39, Some(39)));
    assert_eq!((machine.busy_ns, machine.busy_percent), (9 - 5 + 3 + 39, Some(51.11)), "of 90: nothing is known of the gap");
    assert_eq!((machine.transitions, machine.internals, machine.ignored), (1, 1, 1));
    assert_eq!((machine.queued.count, machine.queued.min_ns, machine.queued.max_ns), (2, Some(10), Some(25)));
    assert_eq!((machine.responses.count, machine.responses.total_ns), (2, 20 + 29));
    assert_eq!((machine.high_water, machine.high_water_ns), (Some(2), Some(5)));
    let signals: Vec<_> = machine.signals.iter().map(|signal| (signal.name.as_str(), signal.spans.total_ns)).collect();
    assert_eq!(signals, [("EAT", 48), ("DONE", 3)]);
    // It is known that events posted before the part wait, and not counted how long.
    let part = gather(Some((7, 35)));
    let machine = &part.machines[0];
    assert_eq!((machine.posts, machine.taken, machine.queued.count, machine.responses.count), (0, 2, 0, 0));
    assert_eq!((machine.steps.count, machine.steps.total_ns, machine.high_water), (2, 12, Some(2)), "both wait when it begins");
}

#[test]
fn an_empty_recording_has_no_figures() {
    let (report, folded) = gather(&[]);
    assert_eq!((report.first_ns, report.cores.len(), report.tasks.len(), folded.as_str()), (None, 0, 0, ""));
    assert_eq!(super::text::tables(&report, 10), "");
}
