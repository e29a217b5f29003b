//! The timeline as a whole: events in, operations out.

use super::{Settings, Timeline};
use crate::model::{CoreId, Entities, Event, EventBatch, EventKind, Nanos, Task, TaskId, TaskKind};
use crate::track::{PrevState, SwitchRow};

fn switches(events: &[(u64, u16, EventKind)], entities: &Entities) -> Vec<Vec<SwitchRow>> {
    let settings = Settings {
        firmware_name: "test".into(),
        cores: 2,
        operations: true,
        raw_events: false,
        begins_midway: false,
        range_ns: None,
    };
    let mut timeline = Timeline::new(settings);
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
        entities.add_task(Task { number, name: None, kind: TaskKind::Normal, session: 0 });
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
    // The first switch is written twice. The last one is to the thread that stands in for an unknown task.
    assert_eq!(of_core_1[..2], [(12, 8), (12, 8)]);
    assert_eq!(of_core_1.len(), 3);
    assert_eq!(of_core_1[2].0, 20);
    assert!(![0, 7, 8].contains(&of_core_1[2].1));
    // The other core continues to the end.
    assert_eq!(rows[0].last().map(|row| (row.time_ns, row.next_tid, row.prev_state)), Some((90, 0, PrevState::Ready)));
}
