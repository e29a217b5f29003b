//! Tasks: how long they run, wait, and are kept from running.
//!
//! As on the timeline, a task that leaves its core without having said why is undecided: made ready before it runs again it had
//! waited, running again without that it had been pre-empted. Time of which neither is known is not counted.

use super::Statistics;
use super::spread::Distribution;
use crate::model::{CoreId, Entities, ObjectId, ReportedState, TaskId, TaskKind, Wait, WaitReason};

/// The state of a task, and since when if that was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Status {
    #[default]
    Unknown,
    Running(CoreId),
    /// Made ready (if `woken`), or pre-empted.
    Ready {
        since_ns: Option<u64>,
        woken: bool,
    },
    /// Off its core for no stated reason.
    Undecided {
        since_ns: u64,
    },
    Waiting {
        since_ns: Option<u64>,
        wait: Option<Wait>,
    },
    Suspended {
        since_ns: Option<u64>,
    },
    Deleted,
}

/// Why a running task is about to leave its core.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    Wait(Wait),
    Suspended,
    Deleted,
}

/// One life of a task.
#[derive(Debug, Default)]
pub(super) struct TaskState {
    pub(super) status: Status,
    leaving: Option<Leaving>,
    pub(super) is_touched: bool,
    /// The time on each core, without the interrupts there.
    pub(super) run_ns: Vec<u64>,
    /// From switch to switch, interrupts included.
    pub(super) runs: Distribution,
    run_since_ns: Option<u64>,
    pub(super) preemptions: u64,
    /// Ready without running.
    pub(super) ready_ns: u64,
    pub(super) waits: Distribution,
    pub(super) longest_wait: Option<LongestWait>,
    pub(super) suspended_ns: u64,
    /// From being made ready to running.
    pub(super) latency: Distribution,
    pub(super) priority: Option<u32>,
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
    /// Resets all counts; the task's state goes on from there. Undecided time counts for
    /// nothing: it may be a wait, which began before the part.
    pub(super) fn begin_part(&mut self, from_ns: u64) {
        let status = match self.status {
            Status::Ready { since_ns, .. } => Status::Ready { since_ns: since_ns.map(|_| from_ns), woken: false },
            Status::Suspended { since_ns } => Status::Suspended { since_ns: since_ns.map(|_| from_ns) },
            Status::Waiting { wait, .. } => Status::Waiting { since_ns: None, wait },
            Status::Undecided { .. } => Status::Unknown,
            status @ (Status::Unknown | Status::Running(_) | Status::Deleted) => status,
        };
        let TaskState { leaving, is_touched, priority, stack_free_bytes, .. } = *self;
        *self = TaskState { status, leaving, is_touched, priority, stack_free_bytes, ..TaskState::default() };
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
            // Some ports report a switch to the task that runs anyway.
            self.tasks[task.index()].leaving = None;
            return;
        }
        if let Status::Running(other) = self.tasks[task.index()].status {
            // It moved from another core whose own switch is missing.
            self.account(other, time_ns);
            self.leave_unknown(other);
        }
        self.account(core, time_ns);
        if let Some(previous) = previous {
            self.leave(previous, time_ns, entities);
        }
        self.enter(task, time_ns);
        if let Some(state) = self.touch(task) {
            state.status = Status::Running(core);
            state.leaving = None;
            state.run_since_ns = Some(time_ns);
        }
        let state = &mut self.cores[core.index()];
        state.current = Some(task);
        state.switches += 1;
    }

    fn leave(&mut self, task: TaskId, time_ns: u64, entities: &Entities) {
        let is_idle = entities.tasks.get(task.index()).is_some_and(|task| task.kind == TaskKind::Idle);
        let Some(state) = self.tasks.get_mut(task.index()) else { return };
        if let Some(since_ns) = state.run_since_ns.take() {
            state.runs.add(time_ns.saturating_sub(since_ns), task.index());
        }
        let since_ns = Some(time_ns);
        state.status = match state.leaving.take() {
            Some(Leaving::Wait(wait)) => Status::Waiting { since_ns, wait: Some(wait) },
            Some(Leaving::Suspended) => Status::Suspended { since_ns },
            Some(Leaving::Deleted) => Status::Deleted,
            None if is_idle => Status::Ready { since_ns, woken: false },
            None => Status::Undecided { since_ns: time_ns },
        };
    }

    /// The task's state before it runs ends.
    fn enter(&mut self, task: TaskId, time_ns: u64) {
        let state = &mut self.tasks[task.index()];
        match state.status {
            Status::Ready { since_ns: Some(since_ns), woken } => {
                let ready_ns = time_ns.saturating_sub(since_ns);
                state.ready_ns += ready_ns;
                if woken {
                    state.latency.add(ready_ns, task.index());
                }
            }
            Status::Undecided { since_ns } => {
                state.preemptions += 1;
                state.ready_ns += time_ns.saturating_sub(since_ns);
            }
            _ => self.end_pause(task, time_ns),
        }
    }

    /// The wait or suspension of a task ends.
    fn end_pause(&mut self, task: TaskId, time_ns: u64) {
        let state = &mut self.tasks[task.index()];
        let (begin_ns, wait) = match state.status {
            Status::Waiting { since_ns: Some(since_ns), wait } => (since_ns, wait),
            Status::Undecided { since_ns } => (since_ns, None),
            Status::Suspended { since_ns: Some(since_ns) } => {
                state.suspended_ns += time_ns.saturating_sub(since_ns);
                return;
            }
            _ => return,
        };
        let waited_ns = time_ns.saturating_sub(begin_ns);
        if state.waits.add(waited_ns, task.index()) {
            state.longest_wait = Some(LongestWait { begin_ns, wait });
        }
        if let Some(object) = wait.and_then(|wait| wait.object) {
            self.waited_for(object, task, begin_ns, waited_ns);
        }
    }

    pub(super) fn waiting(&mut self, wait: Wait, core: CoreId, time_ns: u64) {
        // A task says that it waits: no interrupt can be active on its core. The exits of those that seem to be are missing.
        self.close_isrs(core, time_ns);
        let Some(task) = self.cores[core.index()].current else { return };
        let leaving = &mut self.tasks[task.index()].leaving;
        // A stream's wait is carried out by a notification: the first reason is kept.
        let is_kept = matches!(leaving, Some(Leaving::Wait(first)) if first.object.is_some());
        if !(is_kept && wait.reason == WaitReason::Notification) {
            *leaving = Some(Leaving::Wait(wait));
        }
    }

    pub(super) fn waiting_for_bits(&mut self, object: ObjectId, kernel_ticks: u32, core: CoreId, time_ns: u64) {
        self.waiting(Wait { reason: WaitReason::Bits, object: Some(object), kernel_ticks }, core, time_ns);
    }

    pub(super) fn waiting_for_notification(&mut self, kernel_ticks: u32, core: CoreId, time_ns: u64) {
        self.waiting(Wait { reason: WaitReason::Notification, object: None, kernel_ticks }, core, time_ns);
    }

    /// A task was made ready, or resumed.
    pub(super) fn ready(&mut self, task: TaskId, time_ns: u64) {
        let Some(state) = self.touch(task) else { return };
        match state.status {
            Status::Running(_) => {
                if !matches!(state.leaving, Some(Leaving::Deleted)) {
                    state.leaving = None;
                }
            }
            // Resuming is reported twice: as such, and as becoming ready.
            Status::Ready { .. } => {}
            _ => {
                self.end_pause(task, time_ns);
                self.tasks[task.index()].status = Status::Ready { since_ns: Some(time_ns), woken: true };
            }
        }
    }

    /// A task was put on the list of its new priority: if it waited, that is over.
    pub(super) fn relisted(&mut self, task: TaskId, time_ns: u64) {
        let status = self.tasks.get(task.index()).map(|state| state.status);
        if matches!(status, Some(Status::Waiting { .. } | Status::Suspended { .. })) {
            self.ready(task, time_ns);
        }
    }

    pub(super) fn suspended(&mut self, task: TaskId, time_ns: u64) {
        let Some(state) = self.touch(task) else { return };
        match state.status {
            Status::Running(_) => state.leaving = Some(Leaving::Suspended),
            Status::Suspended { .. } | Status::Deleted => {}
            status => {
                match status {
                    Status::Ready { since_ns: Some(since_ns), .. } | Status::Undecided { since_ns } => {
                        state.ready_ns += time_ns.saturating_sub(since_ns);
                    }
                    _ => self.end_pause(task, time_ns),
                }
                self.tasks[task.index()].status = Status::Suspended { since_ns: Some(time_ns) };
            }
        }
    }

    pub(super) fn task_deleted(&mut self, task: TaskId, time_ns: u64) {
        let Some(state) = self.touch(task) else { return };
        match state.status {
            Status::Running(_) => state.leaving = Some(Leaving::Deleted),
            status => {
                match status {
                    Status::Ready { since_ns: Some(since_ns), .. } | Status::Undecided { since_ns } => {
                        state.ready_ns += time_ns.saturating_sub(since_ns);
                    }
                    _ => self.end_pause(task, time_ns),
                }
                self.tasks[task.index()].status = Status::Deleted;
            }
        }
    }

    /// The state of a task that does not run; since when is not known.
    pub(super) fn task_reported(&mut self, task: TaskId, reported: ReportedState) {
        let Some(state) = self.touch(task) else { return };
        if matches!(state.status, Status::Unknown) {
            state.status = match reported {
                ReportedState::Ready => Status::Ready { since_ns: None, woken: false },
                ReportedState::Waiting => Status::Waiting { since_ns: None, wait: None },
                ReportedState::Suspended => Status::Suspended { since_ns: None },
                ReportedState::Deleted => Status::Deleted,
            };
        }
    }

    /// The task's state is unknown from here on. Its state when that began is not counted: how long it did is not known.
    pub(super) fn forget_task(&mut self, task: TaskId) {
        if let Some(state) = self.tasks.get_mut(task.index()) {
            state.status = Status::Unknown;
            state.leaving = None;
            state.run_since_ns = None;
            state.is_touched = false;
        }
    }
}
