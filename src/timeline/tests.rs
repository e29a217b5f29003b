//! The timeline as a whole: events in, operations out. Records that never match must not pile up, and slices must not nest
//! deeper than the viewer shows.

use super::{Settings, Timeline};
use crate::model::losses::DROPPED_BY_TARGET;
use crate::model::{
    Args, CoreId, Entities, Event, EventBatch, EventKind, HeapOp, Isr, IsrId, Label, Lane, LaneId, LaneKind, LaneOwner, Level,
    LossNote, Nanos, Object, ObjectId, ObjectKind, ObjectOp, Packed, RecordedWaits, Task, TaskId, TaskKind, Wait, WaitReason,
};
use crate::track::{Flow, OpKind, PrevState, SwitchRow};

/// A firmware of two tasks, an interrupt, and a lane of the firmware and of the first task each.
fn entities(tasks: u32) -> Entities {
    let mut all = Entities::default();
    for number in 1..=tasks {
        all.add_task(Task { number, name: None, kind: TaskKind::Normal, session: 0, waits: RecordedWaits::Ends });
    }
    for owner in [LaneOwner::Firmware, LaneOwner::Task(TaskId(0))] {
        all.add_lane(Lane { number: 1, name: None, owner, kind: LaneKind::Events, session: 0 });
    }
    all.add_isr(Isr { number: 1, name: Some("".into()), core: CoreId(0), session: 0 });
    all
}

fn timeline() -> Timeline {
    of_cores(1)
}

fn of_cores(cores: u16) -> Timeline {
    Timeline::new(Settings {
        firmware_name: "test".into(),
        cores,
        operations: true,
        raw_events: false,
        begins_midway: false,
        range_ns: None,
    })
}

fn batch(kinds: impl IntoIterator<Item = EventKind>) -> EventBatch {
    let events = (1..).zip(kinds).map(|(time, kind)| Event { time: Nanos(time), core: CoreId(0), kind });
    EventBatch { events: events.collect(), ..EventBatch::default() }
}

/// Draws, and returns the deepest nesting on any track. Every slice must have ended.
fn deepest(timeline: &mut Timeline, kinds: Vec<EventKind>, entities: &Entities) -> usize {
    timeline.consume(&batch(kinds), entities);
    timeline.finish();
    let mut open = std::collections::BTreeMap::<u32, usize>::new();
    let mut deepest = 0;
    for op in timeline.take_blocks().iter().flat_map(|block| &block.ops) {
        let depth = open.entry(op.track.0).or_default();
        match op.kind {
            OpKind::Begin => *depth += 1,
            OpKind::End => *depth = depth.checked_sub(1).expect("an end without a begin"),
            _ => {}
        }
        deepest = deepest.max(*depth);
    }
    assert!(open.values().all(|&depth| depth == 0), "a slice never ended");
    deepest
}

#[test]
fn interrupts_that_never_exit_do_not_pile_up() {
    let mut timeline = timeline();
    let kinds = vec![EventKind::IsrEnter(IsrId(0)); 10_000];
    assert!(deepest(&mut timeline, kinds, &entities(0)) < 512);
    assert!(timeline.counts().missing_isr_exits >= 9_000);
}

#[test]
fn spans_of_a_lane_do_not_nest_deeper_than_the_viewer_shows() {
    for lane in [LaneId(0), LaneId(1)] {
        let mut timeline = timeline();
        let mut kinds = vec![EventKind::SwitchedIn(TaskId(0))];
        kinds.extend(vec![EventKind::SpanBegin { lane, label: Label::NONE, args: Args::NONE }; 2_000]);
        kinds.extend(vec![EventKind::SpanEnd { lane, args: Args::NONE }; 2_001]);
        let deepest = deepest(&mut timeline, kinds, &entities(2));
        assert!((400..512).contains(&deepest), "{deepest}");
        let counts = timeline.counts();
        assert_eq!(counts.unmatched_span_ends, 1);
        assert!(counts.too_deep_spans >= 1_000);
    }
}

#[test]
fn tasks_that_never_come_back_do_not_pile_up() {
    let entities = entities(3_000);
    let mut timeline = timeline();
    timeline.consume(&batch((0..3_000).map(|task| EventKind::SwitchedIn(TaskId(task)))), &entities);
    assert!(timeline.undecided.len() <= 256);
}

#[test]
fn wakings_after_an_undecided_row_do_not_pile_up() {
    let entities = entities(3);
    let mut timeline = timeline();
    let run = [EventKind::SwitchedIn(TaskId(0)), EventKind::SwitchedIn(TaskId(1))];
    let wake = [EventKind::Suspended(TaskId(2)), EventKind::Resumed { task: TaskId(2), from_isr: false }];
    timeline.consume(&batch(run.into_iter().chain(wake.into_iter().cycle().take(100_000))), &entities);
    assert!(timeline.cores[0].rows.len() <= super::sched::PENDING_ROWS);
}

/// A task wakes, runs, waits and wakes again within a tick of a coarse clock: the viewer keeps the order if the times differ.
#[test]
fn wakings_and_switches_of_the_same_time_are_apart() {
    let entities = entities(3);
    let ready = |task| EventKind::Resumed { task: TaskId(task), from_isr: false };
    let run = |task| EventKind::SwitchedIn(TaskId(task));
    let wait = || EventKind::Waiting(Wait { reason: WaitReason::Delay, object: None, kernel_ticks: 1 });
    let events = [(100, run(0)), (100, wait()), (100, run(2)), (1_000, ready(0)), (1_000, run(0)), (1_000, wait())]
        .into_iter()
        .chain([(1_000, run(2)), (1_000, ready(0)), (2_000, run(0)), (3_000, run(2))]);
    let events = events.map(|(time, kind)| Event { time: Nanos(time), core: CoreId(0), kind }).collect();
    let mut timeline = timeline();
    timeline.consume(&EventBatch { events, ..EventBatch::default() }, &entities);
    timeline.finish();
    let blocks = timeline.take_blocks();
    let rows = || blocks.iter().flat_map(|block| &block.sched);
    // A switch to no task comes before the first one, and the end is one.
    let switches: Vec<u64> = rows().flat_map(|rows| &rows.switches).map(|row| row.time_ns).collect();
    assert_eq!(switches, [100, 100, 100, 1_000, 1_000, 2_000, 3_000, 3_000]);
    let wakings: Vec<u64> = rows().flat_map(|rows| &rows.wakings).map(|row| row.time_ns).collect();
    assert_eq!(wakings, [999, 1_001]);
}

/// The viewer reads each CPU as a stream of its own: of rows of the same time it may take either first.
#[test]
fn a_task_that_moves_within_a_tick_leaves_before_it_enters() {
    let run = |task| EventKind::SwitchedIn(TaskId(task));
    let events = [(10, 1, run(0)), (20, 0, run(1)), (30, 1, run(2)), (30, 0, run(0)), (30, 0, run(1)), (40, 1, run(0))];
    let times = switches(&events, &entities(3)).into_iter().map(|rows| rows.iter().map(|row| row.time_ns).collect::<Vec<_>>());
    // A switch to no task comes before the first one, and the end is one.
    assert_eq!(times.collect::<Vec<_>>(), [vec![20, 20, 31, 31, 40], vec![10, 10, 30, 40, 40]]);
}

#[test]
fn a_task_that_is_made_ready_by_another_core_within_a_tick_has_left() {
    let entities = entities(3);
    let run = |task| EventKind::SwitchedIn(TaskId(task));
    let wait = EventKind::Waiting(Wait { reason: WaitReason::Delay, object: None, kernel_ticks: 1 });
    let ready = EventKind::Ready { task: TaskId(0), from_isr: false };
    let events = [(10, 1, run(0)), (12, 0, run(1)), (20, 1, wait), (30, 1, run(2)), (30, 0, ready), (50, 1, run(0))];
    let events = events.map(|(time, core, kind)| Event { time: Nanos(time), core: CoreId(core), kind });
    let mut timeline = of_cores(2);
    timeline.consume(&EventBatch { events: events.to_vec(), ..EventBatch::default() }, &entities);
    timeline.finish();
    let blocks = timeline.take_blocks();
    let wakings = blocks.iter().flat_map(|block| &block.sched).flat_map(|rows| &rows.wakings);
    assert_eq!(wakings.map(|row| row.time_ns).collect::<Vec<_>>(), [31]);
}

/// Without a reason, and not seen again: on several cores nothing says that it is still ready, except a task of lower priority that its core
/// took instead, which says that it is not.
#[test]
fn the_state_of_a_task_that_left_for_good_is_not_guessed() {
    let mut entities = entities(3);
    let kind = TaskKind::Idle;
    let idle = entities.add_task(Task { number: 9, name: None, kind, session: 0, waits: RecordedWaits::Ends }).unwrap();
    let run = |task| EventKind::SwitchedIn(TaskId(task));
    let left = |events: &[(u64, u16, EventKind)]| switches(events, &entities)[0][2].prev_state;
    assert_eq!(left(&[(10, 0, run(0)), (11, 1, run(1)), (20, 0, run(2)), (90, 1, run(1))]), PrevState::Unknown);
    assert_eq!(
        left(&[(10, 0, run(0)), (11, 1, run(1)), (20, 0, EventKind::SwitchedIn(idle)), (90, 1, run(1))]),
        PrevState::Waiting
    );
    let suspended = EventKind::Suspended(TaskId(0));
    assert_eq!(left(&[(10, 0, run(0)), (11, 1, run(1)), (20, 0, run(2)), (90, 1, suspended)]), PrevState::Unknown);
    // It was pre-empted.
    assert_eq!(left(&[(10, 0, run(0)), (11, 1, run(1)), (20, 0, run(2)), (90, 0, run(0))]), PrevState::Ready);
}

/// The viewer would count it among the runnable threads up to the end.
#[test]
fn the_thread_of_an_unknown_task_is_not_ready_afterwards() {
    let run = |task, time| Event { time: Nanos(time), core: CoreId(0), kind: EventKind::SwitchedIn(TaskId(task)) };
    let loss = Event { time: Nanos(20), core: CoreId(0), kind: EventKind::Loss(0) };
    let losses = vec![LossNote { kind: DROPPED_BY_TARGET, offset: 0, bytes: 0, at_least_lost: 1 }];
    let mut timeline = timeline();
    timeline.consume(&EventBatch { events: vec![run(0, 10), loss, run(1, 30)], losses, ..EventBatch::default() }, &entities(2));
    timeline.finish();
    let blocks = timeline.take_blocks();
    let rows = blocks.iter().flat_map(|block| &block.sched).flat_map(|rows| &rows.switches);
    let left = rows.filter(|row| row.time_ns == 30).map(|row| row.prev_state);
    assert_eq!(left.collect::<Vec<_>>().first(), Some(&PrevState::Unknown));
}

#[test]
fn entities_that_a_gap_visits_are_listed_once() {
    let entities = entities(3);
    let mut timeline = timeline();
    let lane = LaneId(0);
    let span =
        [EventKind::SpanBegin { lane, label: Label::NONE, args: Args::NONE }, EventKind::SpanEnd { lane, args: Args::NONE }];
    let kinds = span.into_iter().chain([EventKind::SwitchedIn(TaskId(0)), EventKind::SwitchedIn(TaskId(1))]);
    let mut batch = batch(kinds.cycle().take(1_000));
    // The same tasks on two cores: each switch to one takes it from the other core.
    (0..).zip(&mut batch.events).for_each(|(index, event)| event.core = CoreId(index % 2));
    timeline.consume(&batch, &entities);
    assert_eq!((timeline.touched.tasks.len(), timeline.touched.lanes.len()), (2, 1));
}

#[test]
fn an_interrupt_with_an_empty_name_has_a_number() {
    let entities = entities(0);
    let mut timeline = timeline();
    timeline.consume(&batch([EventKind::IsrEnter(IsrId(0))]), &entities);
    timeline.finish();
    let blocks = timeline.take_blocks();
    assert!(blocks[0].tracks.iter().any(|track| &*track.name == "ISR #1"));
}

/// NetX calls the mutex and the event group of an instance by one name.
#[test]
fn objects_of_two_kinds_and_one_name_are_distinguished() {
    let mut entities = entities(0);
    let mut levels = Vec::new();
    for (number, kind) in (1..).zip([ObjectKind::Queue, ObjectKind::CountingSemaphore, ObjectKind::Queue]) {
        let object = Object { number, name: Some("IP".into()), kind, session: 0, giving_is_unrecorded: false };
        levels.push(EventKind::ObjectLevel { object: entities.add_object(object).unwrap(), level: 1 });
    }
    let mut timeline = timeline();
    timeline.consume(&batch(levels), &entities);
    timeline.finish();
    let blocks = timeline.take_blocks();
    let names: Vec<&str> = blocks[0].tracks.iter().map(|track| &*track.name).filter(|name| name.starts_with("IP")).collect();
    assert_eq!(names, ["IP", "IP (counting semaphore)", "IP"]);
}

#[test]
fn a_flow_that_ends_has_begun() {
    let mut entities = entities(1);
    let object = entities
        .add_object(Object { number: 1, name: None, kind: ObjectKind::Queue, session: 0, giving_is_unrecorded: false })
        .unwrap();
    let operation = |op, level| EventKind::Object { object, op, from_isr: false, level: Level::known(level) };
    // The sender of the first item is unknown.
    let kinds = [
        operation(ObjectOp::Send, 1),
        EventKind::SwitchedIn(TaskId(0)),
        operation(ObjectOp::Send, 2),
        operation(ObjectOp::Receive, 1),
        operation(ObjectOp::Receive, 0),
    ];
    let mut timeline = timeline();
    timeline.consume(&batch(kinds), &entities);
    timeline.finish();
    let blocks = timeline.take_blocks();
    let flows: Vec<(Flow, i64)> = blocks[0].ops.iter().filter(|op| op.flow != Flow::None).map(|op| (op.flow, op.value)).collect();
    assert_eq!(flows, [(Flow::Out, 1), (Flow::In, 1)]);
}

fn switches(events: &[(u64, u16, EventKind)], entities: &Entities) -> Vec<Vec<SwitchRow>> {
    let mut timeline = of_cores(2);
    let events = events.iter().map(|&(time, core, kind)| Event { time: Nanos(time), core: CoreId(core), kind }).collect();
    timeline.consume(&EventBatch { events, ..EventBatch::default() }, entities);
    timeline.finish();
    let mut rows = vec![Vec::new(), Vec::new()];
    for sched in timeline.take_blocks().iter().flat_map(|block| &block.sched) {
        rows[usize::from(sched.core)].extend_from_slice(&sched.switches);
    }
    rows
}

#[test]
fn a_core_whose_recording_ends_early_runs_nothing_known_after_that() {
    let mut entities = Entities::default();
    for number in [7, 8] {
        entities.add_task(Task { number, name: None, kind: TaskKind::Normal, session: 0, waits: RecordedWaits::Ends });
    }
    let rows = switches(
        &[
            (10, 0, EventKind::SwitchedIn(TaskId(0))),
            (12, 1, EventKind::SwitchedIn(TaskId(1))),
            (20, 1, EventKind::CoreEnd),
            (90, 0, EventKind::SwitchedIn(TaskId(0))),
        ],
        &entities,
    );
    let of_core_1: Vec<(u64, i32)> = rows[1].iter().map(|row| (row.time_ns, row.next_tid)).collect();
    // A switch to no task comes first. The last one is to the thread that represents an unknown task.
    assert_eq!(of_core_1[..2], [(12, 0), (12, 8)]);
    assert_eq!(of_core_1.len(), 3);
    assert_eq!(of_core_1[2].0, 20);
    assert!(![0, 7, 8].contains(&of_core_1[2].1));
    // The other core continues to the end.
    assert_eq!(rows[0].last().map(|row| (row.time_ns, row.next_tid, row.prev_state)), Some((90, 0, PrevState::Ready)));
}

#[test]
fn cores_whose_tasks_are_unknown_run_different_threads() {
    let rows = switches(
        &[
            (10, 0, EventKind::SwitchedIn(TaskId(0))),
            (12, 1, EventKind::SwitchedIn(TaskId(1))),
            (20, 1, EventKind::CoreEnd),
            (30, 0, EventKind::CoreEnd),
        ],
        &entities(2),
    );
    let unknown = |core: usize| rows[core].last().map(|row| row.next_tid);
    assert_ne!(unknown(0), unknown(1));
}

/// The slices on the first task's thread, as begin, end, and whether they continue a wait.
fn waits(kinds: Vec<EventKind>) -> Vec<(u64, u64, bool)> {
    let mut entities = entities(2);
    for number in 1..=2 {
        entities.add_object(Object { number, name: None, kind: ObjectKind::Queue, session: 0, giving_is_unrecorded: false });
    }
    let mut timeline = timeline();
    let mut batch = batch(kinds);
    batch.losses.push(LossNote { kind: DROPPED_BY_TARGET, offset: 0, bytes: 0, at_least_lost: 1 });
    timeline.consume(&batch, &entities);
    timeline.finish();
    let thread = timeline.tasks[0].drawn.expect("it is drawn").thread;
    let mut slices: Vec<(u64, u64, bool)> = Vec::new();
    for block in timeline.take_blocks() {
        for op in block.ops.iter().filter(|op| op.track == thread) {
            let args = &block.args[op.args_start as usize..][..usize::from(op.args_len)];
            let continues = args.iter().any(|arg| block.names.get(arg.name as usize) == Some("continued"));
            match op.kind {
                OpKind::Begin => slices.push((op.time_ns, 0, continues)),
                OpKind::End => slices.last_mut().expect("it has begun").1 = op.time_ns,
                _ => {}
            }
        }
    }
    slices
}

#[test]
fn a_wait_goes_on_after_a_loss_if_its_end_shows_that() {
    let (task, other) = (TaskId(0), TaskId(1));
    let receive = |object| Wait { reason: WaitReason::Receive, object: Some(object), kernel_ticks: u32::MAX };
    let send = |object| EventKind::Object { object, op: ObjectOp::Send, level: Level::UNKNOWN, from_isr: false };
    let ready = EventKind::Ready { task, from_isr: false };
    // Times: 1 to 3, the loss up to 4.
    let after = |wait: EventKind, rest: &[EventKind]| {
        let start = [EventKind::SwitchedIn(task), wait, EventKind::SwitchedIn(other), EventKind::Loss(0)];
        waits(start.into_iter().chain(rest.iter().copied()).collect())
    };
    let (first, second) = (ObjectId(0), ObjectId(1));
    let cut = (3, 3, false);
    let wait = EventKind::Waiting(receive(first));
    assert_eq!(after(wait, &[EventKind::SwitchedIn(other), send(first), ready]), [cut, (4, 7, true)]);
    // Another object, or nothing, was sent to.
    assert_eq!(after(wait, &[EventKind::SwitchedIn(other), send(second), ready]), [cut]);
    assert_eq!(after(wait, &[ready]), [cut]);
    // It ran since.
    assert_eq!(after(wait, &[EventKind::SwitchedIn(task), send(first), ready]), [cut]);
    // A wait for time, or being suspended.
    let delay = EventKind::Waiting(Wait { reason: WaitReason::Delay, object: None, kernel_ticks: 5 });
    assert_eq!(after(delay, &[ready]), [cut, (4, 5, true)]);
    assert_eq!(after(EventKind::Suspended(task), &[EventKind::Resumed { task, from_isr: false }]), [cut, (4, 5, true)]);
    // A second loss: the wait goes on after that.
    assert_eq!(after(delay, &[EventKind::Loss(0), EventKind::SwitchedIn(other), ready]), [cut, (5, 7, true)]);
    // A core whose next task is not known: it waits all the same.
    assert_eq!(waits(vec![EventKind::SwitchedIn(task), delay, EventKind::CoreEnd, ready]), [(3, 4, false)]);
}

/// The states of the first task that are neither of a switch nor of a waking, of events at these times.
fn states(events: &[(u64, EventKind)]) -> Vec<(u64, PrevState)> {
    let mut timeline = timeline();
    let events = events.iter().map(|&(time, kind)| Event { time: Nanos(time), core: CoreId(0), kind }).collect();
    let losses = vec![LossNote { kind: DROPPED_BY_TARGET, offset: 0, bytes: 0, at_least_lost: 1 }];
    timeline.consume(&EventBatch { events, losses, ..EventBatch::default() }, &entities(2));
    timeline.finish();
    let blocks = timeline.take_blocks();
    let rows = blocks.iter().flat_map(|block| &block.sched).flat_map(|rows| &rows.states);
    rows.filter(|row| row.tid == 1).map(|row| (row.time_ns, row.state)).collect()
}

#[test]
fn a_ready_task_does_not_stay_ready_when_it_is_suspended_or_deleted_or_at_a_loss() {
    let (task, other) = (TaskId(0), TaskId(1));
    let start = |rest: &[(u64, EventKind)]| {
        let start = [(10, EventKind::SwitchedIn(task)), (20, EventKind::SwitchedIn(other))];
        states(&[&start, rest].concat())
    };
    let (suspended, deleted) = (EventKind::Suspended(task), EventKind::TaskDeleted(task));
    let (resumed, again) = (EventKind::Resumed { task, from_isr: false }, EventKind::SwitchedIn(task));
    assert_eq!(start(&[(30, suspended), (40, resumed), (50, again)]), [(30, PrevState::Suspended)]);
    assert_eq!(start(&[(30, deleted), (40, EventKind::SwitchedIn(other))]), [(30, PrevState::Deleted)]);
    assert_eq!(start(&[(25, EventKind::SwitchedIn(other)), (30, EventKind::Loss(0)), (40, again)]), [(25, PrevState::Unknown)]);
    // A switch or waking at the same time would be taken after it.
    assert_eq!(start(&[(30, EventKind::Loss(0)), (40, again)]), [(21, PrevState::Unknown)]);
    let ready = EventKind::Ready { task, from_isr: false };
    assert_eq!(start(&[(30, ready), (30, suspended), (32, again)]), [(31, PrevState::Suspended)]);
    assert_eq!(start(&[(30, ready), (30, suspended), (30, resumed)]), []);
    // A waking at the time of a switch is drawn after it.
    assert_eq!(start(&[(20, ready), (30, EventKind::Loss(0)), (40, again)]), [(22, PrevState::Unknown)]);
}

/// The viewer drops a waking by a core before its first switch.
#[test]
fn readiness_before_the_first_switch_is_drawn() {
    let (task, other) = (TaskId(0), TaskId(1));
    let ready = EventKind::Ready { task, from_isr: false };
    let events =
        [(10, ready), (20, EventKind::SwitchedIn(other)), (30, EventKind::SwitchedIn(task)), (40, EventKind::SwitchedIn(other))];
    assert_eq!(states(&events), [(10, PrevState::Ready)]);
    assert_eq!(states(&events[..2]), [(10, PrevState::Ready)], "it never runs");
    assert_eq!(states(&[&[(5, EventKind::SwitchedIn(other))], &events[..1], &events[2..]].concat()), [], "a waking shows it");
}

/// No switch and no waking says it.
#[test]
fn a_state_that_the_target_reports_is_drawn() {
    let (task, other) = (TaskId(0), TaskId(1));
    let (ready, runs) = (EventKind::Ready { task, from_isr: false }, EventKind::SwitchedIn(task));
    let reported = |state, next| {
        states(&[(5, EventKind::SwitchedIn(other)), (10, EventKind::TaskReported { task, state }), (20, next), (30, runs)])
    };
    use crate::model::ReportedState::{Deleted, Ready, Suspended, Waiting};
    assert_eq!(reported(Ready, runs), [(10, PrevState::Ready)]);
    assert_eq!(reported(Waiting, ready), [(10, PrevState::Waiting)]);
    assert_eq!(reported(Suspended, EventKind::Resumed { task, from_isr: false }), [(10, PrevState::Suspended)]);
    assert_eq!(reported(Ready, EventKind::Suspended(task)), [(10, PrevState::Ready), (20, PrevState::Suspended)]);
    assert_eq!(reported(Deleted, EventKind::SwitchedIn(other)), [(10, PrevState::Deleted)]);
    // A loss begins at the event before it.
    assert_eq!(reported(Ready, EventKind::Loss(0)), [(10, PrevState::Unknown)]);
    // One that was suspended is resumed, and waits on.
    let waits = EventKind::TaskReported { task, state: Waiting };
    let resumed =
        states(&[(5, EventKind::SwitchedIn(other)), (10, EventKind::Suspended(task)), (15, waits), (20, ready), (30, runs)]);
    assert_eq!(resumed, [(10, PrevState::Suspended), (15, PrevState::Waiting)]);
}

#[test]
fn more_instants_at_one_time_than_the_viewer_nests_are_at_the_next_nanoseconds() {
    let settings = Settings { raw_events: true, ..of_cores(1).settings };
    let mut timeline = Timeline::new(settings);
    let value = |time| Event {
        time: Nanos(time),
        core: CoreId(0),
        kind: EventKind::SpanBegin { lane: LaneId(0), label: Label::NONE, args: Args::NONE },
    };
    let events = (0..1200).map(|_| value(7)).chain([value(8), value(20)]).collect();
    timeline.consume(&EventBatch { events, ..EventBatch::default() }, &entities(1));
    timeline.finish();
    let mut counts = std::collections::BTreeMap::<u64, usize>::new();
    for op in timeline.take_blocks().iter().flat_map(|block| &block.ops).filter(|op| op.kind == OpKind::Instant) {
        *counts.entry(op.time_ns).or_default() += 1;
    }
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(7, 500), (8, 500), (9, 201), (20, 1)]);
}

/// A task that waits for a stream is woken by a notification with one index. Those with others are its own.
#[test]
fn a_notification_beside_a_wait_for_a_stream_is_drawn() {
    let mut entities = entities(2);
    let object = entities
        .add_object(Object { number: 1, name: None, kind: ObjectKind::StreamBuffer, session: 0, giving_is_unrecorded: false })
        .unwrap();
    let (sender, reader) = (TaskId(0), TaskId(1));
    let notify = |index| EventKind::Notify { task: reader, index, value: 1, from_isr: false };
    let kinds = [
        EventKind::SwitchedIn(reader),
        EventKind::Waiting(Wait { reason: WaitReason::Receive, object: Some(object), kernel_ticks: u32::MAX }),
        EventKind::WaitingForNotification { index: 0, kernel_ticks: u32::MAX },
        EventKind::SwitchedIn(sender),
        notify(2),
        notify(0),
        EventKind::Resumed { task: reader, from_isr: false },
        EventKind::SwitchedIn(reader),
        EventKind::Notified { index: 0, value: 1 },
        EventKind::Notified { index: 2, value: 1 },
    ];
    let mut timeline = timeline();
    timeline.consume(&batch(kinds), &entities);
    timeline.finish();
    let blocks = timeline.take_blocks();
    let flows: Vec<(u64, Flow)> =
        blocks[0].ops.iter().filter(|op| op.flow != Flow::None).map(|op| (op.time_ns, op.flow)).collect();
    assert_eq!(flows, [(5, Flow::Out), (10, Flow::In)]);
}

/// The allocator reports the wanted size of a block, and gives back the size of all of its memory.
#[test]
fn the_heap_does_not_drift() {
    let heap = |op, bytes| EventKind::Heap { op, address: Packed(8), bytes };
    let kinds = [heap(HeapOp::Allocate, 40), heap(HeapOp::Free, 48)];
    let mut timeline = timeline();
    timeline.consume(&batch(kinds.into_iter().cycle().take(200)), &entities(0));
    timeline.finish();
    let blocks = timeline.take_blocks();
    let in_use = blocks[0].tracks.iter().find(|track| &*track.name == "heap in use").unwrap().id;
    let ops = blocks.iter().flat_map(|block| &block.ops).filter(|op| op.track == in_use && op.kind == OpKind::Counter);
    let levels: Vec<i64> = ops.map(|op| op.value).collect();
    assert_eq!((levels.iter().min(), levels.iter().max()), (Some(&0), Some(&40)), "{levels:?}");
}
