//! The states of tasks over time, by the rules of timeline and statistics.

use std::collections::{BTreeMap, HashMap};

use traceconv::model::{Entities, Event, EventKind, Scheduling, TaskId, TaskStatus, Wait, WaitReason};

/// The states of each task of each session: begin, end, and the state as a number.
pub type States = BTreeMap<(u32, u32), Vec<(u64, u64, u8)>>;

/// Follows the tasks of a recording.
#[derive(Default)]
pub struct TaskStates {
    tasks: Vec<(Scheduling, Option<u64>)>,
    /// The task that runs on each core.
    current: HashMap<u16, TaskId>,
    states: States,
}

fn number_of(status: TaskStatus) -> Option<u8> {
    match status {
        TaskStatus::Running(_) => Some(0),
        TaskStatus::Ready => Some(1),
        TaskStatus::Waiting => Some(2),
        TaskStatus::Suspended => Some(3),
        TaskStatus::Deleted => Some(4),
        TaskStatus::Unknown | TaskStatus::Undecided => None,
    }
}

impl TaskStates {
    /// The next event.
    pub fn event(&mut self, event: &Event, entities: &Entities) {
        self.tasks.resize(entities.tasks.len(), Default::default());
        let (core, time) = (event.core, event.time.0);
        match event.kind {
            EventKind::SessionStart(_) | EventKind::Loss(_) => {
                self.current.clear();
                for (scheduling, since) in &mut self.tasks {
                    scheduling.forget();
                    *since = None;
                }
            }
            EventKind::CoreEnd => {
                if let Some(task) = self.current.remove(&core.0) {
                    let before = self.tasks[task.index()].0.forget();
                    self.ended(task, before, time, entities);
                    self.tasks[task.index()].1 = None;
                }
            }
            EventKind::SwitchedIn(task) => {
                let before = self.current.insert(core.0, task);
                if before == Some(task) {
                    return self.tasks[task.index()].0.stay();
                }
                self.current.retain(|other, running| *other == core.0 || *running != task);
                if let Some(before) = before {
                    self.ended(before, TaskStatus::Running(core), time, entities);
                    self.tasks[before.index()].0.leave(&entities.tasks[before.index()]);
                }
                let status = match self.tasks[task.index()].0.enter(core) {
                    TaskStatus::Undecided => TaskStatus::Ready,
                    status => status,
                };
                self.ended(task, status, time, entities);
            }
            EventKind::Waiting(wait) => self.waits(core.0, wait),
            EventKind::WaitingForBits { object, kernel_ticks, .. } => {
                self.waits(core.0, Wait { reason: WaitReason::Bits, object: Some(object), kernel_ticks });
            }
            EventKind::WaitingForNotification { kernel_ticks, .. } => {
                self.waits(core.0, Wait { reason: WaitReason::Notification, object: None, kernel_ticks });
            }
            EventKind::Ready { task, .. } | EventKind::Resumed { task, .. } => self.made_ready(task, time, entities),
            EventKind::Relisted(task) if self.tasks[task.index()].0.status().is_parked() => {
                self.made_ready(task, time, entities);
            }
            EventKind::Suspended(task) => {
                let before = self.tasks[task.index()].0.suspend();
                before.into_iter().for_each(|before| self.ended(task, before, time, entities));
            }
            EventKind::TaskDeleted(task) => {
                let before = self.tasks[task.index()].0.delete();
                before.into_iter().for_each(|before| self.ended(task, before, time, entities));
            }
            _ => {}
        }
    }

    /// The state of a task now.
    pub fn status(&self, task: TaskId) -> Option<TaskStatus> {
        self.tasks.get(task.index()).map(|task| task.0.status())
    }

    /// All of them.
    pub fn into_states(self) -> States {
        self.states
    }

    fn waits(&mut self, core: u16, wait: Wait) {
        if let Some(task) = self.current.get(&core) {
            self.tasks[task.index()].0.will_wait(wait);
        }
    }

    fn made_ready(&mut self, task: TaskId, time: u64, entities: &Entities) {
        let Some(before) = self.tasks[task.index()].0.make_ready() else { return };
        let before = if before == TaskStatus::Undecided { TaskStatus::Waiting } else { before };
        self.ended(task, before, time, entities);
    }

    /// A state ends, and the next one begins.
    fn ended(&mut self, task: TaskId, before: TaskStatus, time: u64, entities: &Entities) {
        let since = self.tasks[task.index()].1.replace(time);
        let entity = &entities.tasks[task.index()];
        if let (Some(since), Some(number)) = (since, number_of(before)) {
            self.states.entry((entity.session, entity.number)).or_default().push((since, time, number));
        }
    }
}

/// How long tasks are in a state that is known in both, and in another one than in truth. `shift`: from the times of `made` to those of
/// the truth.
pub fn compare(truth: &States, made: &States, session: u32, shift: i128) -> (u64, u64) {
    let (mut known, mut wrong) = (0, 0);
    for ((_, task), states) in made.range((session, 0)..(session + 1, 0)) {
        let Some(true_states) = truth.get(&(0, *task)) else { continue };
        let mut at = 0;
        for &(begin, end, state) in states {
            let to_truth = |time: u64| u64::try_from(i128::from(time) - shift).unwrap_or(0);
            let (begin, end) = (to_truth(begin), to_truth(end));
            while true_states.get(at).is_some_and(|&(_, true_end, _)| true_end <= begin) {
                at += 1;
            }
            for &(true_begin, true_end, true_state) in true_states[at..].iter().take_while(|state| state.0 < end) {
                let both = true_end.min(end).saturating_sub(true_begin.max(begin));
                known += both;
                wrong += if true_state == state { 0 } else { both };
            }
        }
    }
    (known, wrong)
}
