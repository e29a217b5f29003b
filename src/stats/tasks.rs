//! Tasks: how long they run, wait, and are kept from running. [`Scheduling`] decides the states.

use super::Statistics;
use super::spread::Distribution;
use crate::model::{CoreId, Entities, ObjectId, ReportedState, Scheduling, TaskId, TaskKind, TaskStatus, Wait, WaitReason};

/// One life of a task.
#[derive(Debug, Default)]
pub(super) struct TaskState {
    pub(super) scheduling: Scheduling,
    /// The time at which the state began, if that was seen.
    since_ns: Option<u64>,
    /// It is ready since an event made it so.
    is_woken: bool,
    /// It left its core before the part that is counted, undecided: if it waits, the wait began before.
    left_before: bool,
    /// What it waits for.
    wait: Option<Wait>,
    pub(super) is_touched: bool,
    /// The time on each core, without the interrupts there.
    pub(super) run_ns: Vec<u64>,
    /// From switch to switch, interrupts included.
    pub(super) runs: Distribution,
    pub(super) preemptions: u64,
    /// Ready without running.
    pub(super) ready_ns: u64,
    pub(super) waits: Distribution,
    pub(super) longest_wait: Option<LongestWait>,
    pub(super) suspended_ns: u64,
    /// From being made ready to running.
    pub(super) latency: Distribution,
    pub(super) priority: Option<i32>,
    pub(super) stack_free_bytes: Option<u32>,
}

/// The longest wait of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongestWait {
    pub(super) begin_ns: u64,
    /// `None`: without a reason.
    pub(super) wait: Option<Wait>,
}

impl TaskState {
    /// Resets all counts; the task's state goes on from there.
    pub(super) fn begin_part(&mut self, from_ns: u64) {
        let TaskState { scheduling, since_ns, wait, is_touched, priority, stack_free_bytes, .. } = *self;
        let since_ns = match scheduling.status() {
            TaskStatus::Ready | TaskStatus::Suspended | TaskStatus::Undecided => since_ns.map(|_| from_ns),
            TaskStatus::Unknown | TaskStatus::Running(_) | TaskStatus::Waiting | TaskStatus::Deleted => None,
        };
        let left_before = scheduling.status() == TaskStatus::Undecided;
        *self =
            TaskState { scheduling, since_ns, left_before, wait, is_touched, priority, stack_free_bytes, ..TaskState::default() };
    }
}

impl Statistics {
    /// The task has a state: a gap must find it.
    fn touch(&mut self, task: TaskId) -> Option<&mut TaskState> {
        let state = self.tasks.get_mut(task.index())?;
        if !state.is_touched {
            state.is_touched = true;
            self.touched.tasks.push(task);
        }
        Some(state)
    }

    pub(super) fn switched_in(&mut self, task: TaskId, core: CoreId, time_ns: u64, entities: &Entities) {
        if self.tasks.len() <= task.index() {
            return;
        }
        let previous = self.cores[core.index()].current;
        if previous == Some(task) {
            self.tasks[task.index()].scheduling.stay();
            return;
        }
        if let TaskStatus::Running(other) = self.tasks[task.index()].scheduling.status() {
            // It moved from another core whose own switch is missing.
            self.account(other, time_ns);
            self.leave_unknown(other, time_ns);
        }
        self.account(core, time_ns);
        if let Some(previous) = previous {
            self.leave(previous, task, time_ns, entities);
        }
        self.enter(task, core, time_ns);
        if !self.undecided.is_empty() {
            self.note_running(task, entities);
        }
        let state = &mut self.cores[core.index()];
        state.current = Some(task);
        state.switches += 1;
    }

    fn leave(&mut self, task: TaskId, next: TaskId, time_ns: u64, entities: &Entities) {
        let next_priority = self.tasks[next.index()].priority;
        let Some((state, entity)) = self.tasks.get_mut(task.index()).zip(entities.tasks.get(task.index())) else { return };
        if let Some(since_ns) = state.since_ns.replace(time_ns) {
            state.runs.add(time_ns.saturating_sub(since_ns), task.index());
        }
        let status;
        (status, state.wait) = state.scheduling.leave(entity);
        // Whoever states each wait did not wait now.
        state.preemptions += u64::from(status == TaskStatus::Ready);
        if status == TaskStatus::Undecided {
            let order = entities.priority_order(next);
            state.scheduling.note_running(state.priority, next_priority, is_idle(next, entities), order);
            if self.cores.len() <= 1 {
                self.undecided.push(task);
            }
        }
    }

    /// On the only core, a task runs while others are undecided.
    fn note_running(&mut self, running: TaskId, entities: &Entities) {
        let (is_idle, order) = (is_idle(running, entities), entities.priority_order(running));
        let priority = self.tasks[running.index()].priority;
        let tasks = &mut self.tasks;
        self.undecided.retain(|task| {
            let state = &mut tasks[task.index()];
            state.scheduling.note_running(state.priority, priority, is_idle, order);
            state.scheduling.status() == TaskStatus::Undecided
        });
    }

    fn enter(&mut self, task: TaskId, core: CoreId, time_ns: u64) {
        let Some(state) = self.touch(task) else { return };
        let before = state.scheduling.enter(core);
        match (before, state.since_ns) {
            (TaskStatus::Undecided, _) => state.preemptions += u64::from(!state.left_before),
            (TaskStatus::Ready, Some(since_ns)) if state.is_woken => {
                state.latency.add(time_ns.saturating_sub(since_ns), task.index());
            }
            _ => {}
        }
        self.end_state(task, before, time_ns);
    }

    /// The state `before` ends. Undecided time counts as ready.
    fn end_state(&mut self, task: TaskId, before: TaskStatus, time_ns: u64) {
        let state = &mut self.tasks[task.index()];
        state.is_woken = false;
        let left_before = std::mem::take(&mut state.left_before);
        let wait = state.wait.take();
        let Some(begin_ns) = state.since_ns.replace(time_ns) else { return };
        let spent_ns = time_ns.saturating_sub(begin_ns);
        match before {
            TaskStatus::Ready | TaskStatus::Undecided => state.ready_ns += spent_ns,
            TaskStatus::Suspended => state.suspended_ns += spent_ns,
            TaskStatus::Waiting if left_before => {}
            TaskStatus::Waiting => {
                if state.waits.add(spent_ns, task.index()) {
                    state.longest_wait = Some(LongestWait { begin_ns, wait });
                }
                if let Some(object) = wait.and_then(|wait| wait.object) {
                    self.waited_for(object, task, begin_ns, spent_ns);
                }
            }
            TaskStatus::Unknown | TaskStatus::Running(_) | TaskStatus::Deleted => {}
        }
    }

    pub(super) fn waiting(&mut self, wait: Wait, core: CoreId, time_ns: u64) {
        // A task says that it waits: no interrupt can be active on its core. The exits of those that seem to be are missing.
        self.close_isrs(core, time_ns);
        let Some(task) = self.cores[core.index()].current else { return };
        self.tasks[task.index()].scheduling.will_wait(wait);
    }

    pub(super) fn waiting_for_bits(&mut self, object: ObjectId, kernel_ticks: u32, core: CoreId, time_ns: u64) {
        self.waiting(Wait { reason: WaitReason::Bits, object: Some(object), kernel_ticks }, core, time_ns);
    }

    pub(super) fn waiting_for_notification(&mut self, kernel_ticks: u32, core: CoreId, time_ns: u64) {
        self.waiting(Wait { reason: WaitReason::Notification, object: None, kernel_ticks }, core, time_ns);
    }

    /// A task was made ready, or resumed.
    pub(super) fn ready(&mut self, task: TaskId, time_ns: u64) {
        let Some(before) = self.touch(task).and_then(|state| state.scheduling.make_ready()) else { return };
        self.end_state(task, if before == TaskStatus::Undecided { TaskStatus::Waiting } else { before }, time_ns);
        self.tasks[task.index()].is_woken = true;
    }

    /// A task was put on the list of its new priority: if it waited, that is over.
    pub(super) fn relisted(&mut self, task: TaskId, time_ns: u64) {
        if self.tasks.get(task.index()).is_some_and(|state| state.scheduling.status().is_parked()) {
            self.ready(task, time_ns);
        }
    }

    pub(super) fn suspended(&mut self, task: TaskId, time_ns: u64) {
        self.give_up_undecided(task);
        let before = self.touch(task).and_then(|state| state.scheduling.suspend());
        before.into_iter().for_each(|before| self.end_state(task, before, time_ns));
    }

    pub(super) fn task_deleted(&mut self, task: TaskId, time_ns: u64) {
        self.give_up_undecided(task);
        let before = self.touch(task).and_then(|state| state.scheduling.delete());
        before.into_iter().for_each(|before| self.end_state(task, before, time_ns));
    }

    /// The continuation of an undecided task will not be seen: its time counts as what the timeline draws.
    fn give_up_undecided(&mut self, task: TaskId) {
        let has_one_core = self.cores.len() <= 1;
        let Some(state) = self.tasks.get_mut(task.index()).filter(|state| state.scheduling.status() == TaskStatus::Undecided)
        else {
            return;
        };
        match state.scheduling.presumed(has_one_core) {
            TaskStatus::Waiting => state.scheduling.decide_waiting(),
            TaskStatus::Ready => {}
            _ => state.since_ns = None,
        }
    }

    /// The state of a task that does not run. Since when is not known: from here on the time in which it is ready or suspended counts, and a wait does not.
    pub(super) fn task_reported(&mut self, task: TaskId, reported: ReportedState, time_ns: u64) {
        if let Some(before) = self.touch(task).and_then(|state| state.scheduling.report(reported)) {
            self.end_state(task, before, time_ns);
            let counts = matches!(reported, ReportedState::Ready | ReportedState::Suspended);
            self.tasks[task.index()].since_ns = counts.then_some(time_ns);
        }
    }

    /// The task's state is unknown from here on. The time in which it was ready or suspended until here counts, and an undecided state as what the
    /// timeline draws. A run, a wait and a latency do not: how long they took is not known.
    pub(super) fn forget_task(&mut self, task: TaskId, time_ns: u64) {
        if let Some(state) = self.tasks.get_mut(task.index()) {
            let presumed = state.scheduling.presumed(self.cores.len() <= 1);
            let spent_ns = state.since_ns.map_or(0, |since_ns| time_ns.saturating_sub(since_ns));
            match state.scheduling.forget() {
                TaskStatus::Ready => state.ready_ns += spent_ns,
                TaskStatus::Undecided if presumed == TaskStatus::Ready => {
                    // If anything was seen since then: the evidence that it did not wait.
                    state.preemptions += u64::from(spent_ns > 0 && !state.left_before);
                    state.ready_ns += spent_ns;
                }
                TaskStatus::Suspended => state.suspended_ns += spent_ns,
                _ => {}
            }
            (state.since_ns, state.is_woken, state.left_before, state.wait) = (None, false, false, None);
            state.is_touched = false;
        }
    }
}

fn is_idle(task: TaskId, entities: &Entities) -> bool {
    entities.tasks.get(task.index()).is_some_and(|task| task.kind == TaskKind::Idle)
}
