//! The scheduling of one task, as the kernel's records report it. Timeline and statistics decide by the same rules; the one draws
//! each change, the other counts its time.
//!
//! A task that leaves its core without a stated reason is *undecided*: if it is made ready before it runs again, it waited (reason
//! unknown); if it runs again without that, it was pre-empted. If the recording never reports that tasks become ready, its state is
//! unknown until it runs again; if it states each wait, the task is ready. If the continuation of an undecided task was not seen, the tasks that
//! ran instead of it are the evidence ([`Scheduling::presumed`]).

use super::{CoreId, PriorityOrder, RecordedWaits, ReportedState, Task, TaskKind, Wait, WaitReason};

/// The state of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskStatus {
    /// Unknown.
    #[default]
    Unknown,
    /// On a core.
    Running(CoreId),
    /// Ready to run.
    Ready,
    /// Off its core without a stated reason.
    Undecided,
    /// Waits.
    Waiting,
    /// Suspended.
    Suspended,
    /// Deleted.
    Deleted,
}

impl TaskStatus {
    /// Whether it cannot run until another task or an interrupt lets it.
    pub fn is_parked(self) -> bool {
        matches!(self, Self::Waiting | Self::Suspended)
    }
}

/// The reason why a running task is about to leave its core.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    Wait(Wait),
    Suspended,
    Deleted,
}

/// The evidence on an undecided task by those that run instead of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Evidence {
    /// None has run yet.
    #[default]
    Nothing,
    /// The first one may have run because this one waited, or because both take turns.
    Open,
    /// The first one has a higher priority: it pre-empts this one.
    Preempted,
    /// One of lower priority ran, so this one cannot have been ready.
    Outrun,
}

/// The state of one task, and what is known of its next one. Methods that change the state return the one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scheduling {
    status: TaskStatus,
    leaving: Option<Leaving>,
    /// While undecided: the evidence of the tasks that run meanwhile.
    evidence: Evidence,
}

impl Scheduling {
    /// The state.
    #[inline]
    pub fn status(&self) -> TaskStatus {
        self.status
    }

    /// It runs on `core` from here on.
    #[inline]
    pub fn enter(&mut self, core: CoreId) -> TaskStatus {
        self.leaving = None;
        std::mem::replace(&mut self.status, TaskStatus::Running(core))
    }

    /// A switch to the task that runs anyway, as some ports record: it did not wait.
    pub fn stay(&mut self) {
        self.leaving = None;
    }

    /// It leaves its core. Returns its new state, and what it waits for.
    #[inline]
    pub fn leave(&mut self, task: &Task) -> (TaskStatus, Option<Wait>) {
        let (status, wait) = match self.leaving.take() {
            Some(Leaving::Wait(wait)) => (TaskStatus::Waiting, Some(wait)),
            Some(Leaving::Suspended) => (TaskStatus::Suspended, None),
            Some(Leaving::Deleted) => (TaskStatus::Deleted, None),
            None if task.kind == TaskKind::Idle || task.waits == RecordedWaits::All => (TaskStatus::Ready, None),
            None if task.waits == RecordedWaits::Nothing => (TaskStatus::Unknown, None),
            None => {
                self.evidence = Evidence::Nothing;
                (TaskStatus::Undecided, None)
            }
        };
        self.status = status;
        (status, wait)
    }

    /// It runs, and states the reason of its next wait.
    pub fn will_wait(&mut self, wait: Wait) {
        // A stream's wait is carried out by a notification: the first reason is kept.
        let is_kept = matches!(self.leaving, Some(Leaving::Wait(first)) if first.object.is_some());
        if !(is_kept && wait.reason == WaitReason::Notification) {
            self.leaving = Some(Leaving::Wait(wait));
        }
    }

    /// Whether it has stated that it will wait.
    #[must_use]
    pub fn is_about_to_wait(&self) -> bool {
        matches!(self.leaving, Some(Leaving::Wait(_) | Leaving::Suspended))
    }

    /// It was made ready, or resumed. `None`: it was ready or runs.
    pub fn make_ready(&mut self) -> Option<TaskStatus> {
        match self.status {
            TaskStatus::Running(_) => {
                // Made ready before it left its core: if it leaves at all, it leaves as ready.
                if !matches!(self.leaving, Some(Leaving::Deleted)) {
                    self.leaving = None;
                }
                None
            }
            // A resume is recorded twice: as such, and as becoming ready.
            TaskStatus::Ready => None,
            _ => Some(std::mem::replace(&mut self.status, TaskStatus::Ready)),
        }
    }

    /// It was suspended. `None`: it is suspended or deleted already, or will be suspended when it leaves its core.
    pub fn suspend(&mut self) -> Option<TaskStatus> {
        match self.status {
            TaskStatus::Running(_) => {
                self.leaving = Some(Leaving::Suspended);
                None
            }
            TaskStatus::Suspended | TaskStatus::Deleted => None,
            _ => Some(std::mem::replace(&mut self.status, TaskStatus::Suspended)),
        }
    }

    /// It was deleted. `None`: it will be when it leaves its core.
    pub fn delete(&mut self) -> Option<TaskStatus> {
        if let TaskStatus::Running(_) = self.status {
            self.leaving = Some(Leaving::Deleted);
            return None;
        }
        Some(std::mem::replace(&mut self.status, TaskStatus::Deleted))
    }

    /// Its state as the kernel reports it. `None`: a state is known from events, and is kept, unless a suspended task waits again.
    pub fn report(&mut self, reported: ReportedState) -> Option<TaskStatus> {
        match (self.status, reported) {
            (TaskStatus::Unknown, _) | (TaskStatus::Suspended, ReportedState::Waiting) => {}
            _ => return None,
        }
        let status = match reported {
            ReportedState::Ready => TaskStatus::Ready,
            ReportedState::Waiting => TaskStatus::Waiting,
            ReportedState::Suspended => TaskStatus::Suspended,
            ReportedState::Deleted => TaskStatus::Deleted,
        };
        Some(std::mem::replace(&mut self.status, status))
    }

    /// Undecided: its core takes another task instead, or on a single core another task runs. These are the priorities of both. With fixed priorities,
    /// a task of lower priority, or the idle task, runs only when none of higher priority is ready. Other cores say nothing, because
    /// tasks may be bound to cores.
    pub fn note_running(&mut self, own: Option<i32>, running: Option<i32>, is_idle: bool, order: PriorityOrder) {
        // A task of the idle task's priority takes turns with it.
        let is_lower = match (is_idle, own, running) {
            (true, Some(own), Some(running)) => own != running,
            (true, Some(own), None) => own != 0 || order != PriorityOrder::Ascending,
            (true, None, _) => true,
            (false, ..) => order.is_lower(running, own),
        };
        if is_lower {
            self.evidence = Evidence::Outrun;
        } else if self.evidence == Evidence::Nothing {
            self.evidence = if order.is_lower(own, running) { Evidence::Preempted } else { Evidence::Open };
        }
    }

    /// Undecided until here, and its continuation was not seen: the state that it has had by the evidence. With a single core, a task of higher
    /// priority that follows was made ready and took the core at once. After one of the same or of an unknown priority, either is possible.
    #[must_use]
    pub fn presumed(&self, has_one_core: bool) -> TaskStatus {
        match self.evidence {
            Evidence::Outrun => TaskStatus::Waiting,
            Evidence::Preempted if has_one_core => TaskStatus::Ready,
            Evidence::Preempted | Evidence::Open | Evidence::Nothing => TaskStatus::Unknown,
        }
    }

    /// Undecided until here: it waits.
    pub fn decide_waiting(&mut self) {
        self.status = TaskStatus::Waiting;
    }

    /// Its state is unknown from here on.
    pub fn forget(&mut self) -> TaskStatus {
        self.leaving = None;
        std::mem::take(&mut self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_priorities_decides_who_waited() {
        let presumed = |order, running, has_one_core| {
            let mut left = Scheduling { status: TaskStatus::Undecided, ..Scheduling::default() };
            left.note_running(Some(4), running, false, order);
            left.presumed(has_one_core)
        };
        use PriorityOrder::{Ascending, Descending, Unknown};
        use TaskStatus::{Ready, Waiting};
        // Of the same priority: they may take turns, or the first one waited.
        assert_eq!([3, 4, 8].map(|running| presumed(Ascending, Some(running), true)), [Waiting, TaskStatus::Unknown, Ready]);
        assert_eq!([3, 4, 8].map(|running| presumed(Descending, Some(running), true)), [Ready, TaskStatus::Unknown, Waiting]);
        // A cooperative thread of Zephyr.
        assert_eq!(presumed(Descending, Some(-1), true), Ready);
        assert_eq!(presumed(Unknown, Some(3), true), TaskStatus::Unknown);
        assert_eq!(presumed(Ascending, None, true), TaskStatus::Unknown);
        assert_eq!(presumed(Ascending, Some(8), false), TaskStatus::Unknown);
    }

    #[test]
    fn the_first_task_that_follows_says_whether_it_was_preempted() {
        let before_idle = |own, idle| {
            let mut left = Scheduling { status: TaskStatus::Undecided, ..Scheduling::default() };
            left.note_running(own, idle, true, PriorityOrder::Ascending);
            left.presumed(true)
        };
        assert_eq!([Some(1), None].map(|own| before_idle(own, Some(0))), [TaskStatus::Waiting; 2]);
        assert_eq!([Some(0), None].map(|idle| before_idle(Some(0), idle)), [TaskStatus::Unknown; 2]);
        let mut left = Scheduling { status: TaskStatus::Undecided, ..Scheduling::default() };
        assert_eq!(left.presumed(true), TaskStatus::Unknown);
        let mut run = |priority| {
            left.note_running(Some(4), Some(priority), false, PriorityOrder::Ascending);
            left.presumed(true)
        };
        assert_eq!([5, 4, 6, 3, 5].map(&mut run), {
            use TaskStatus::{Ready, Waiting};
            [Ready, Ready, Ready, Waiting, Waiting]
        });
        let mut left = Scheduling { status: TaskStatus::Undecided, ..Scheduling::default() };
        let mut run = |priority| {
            left.note_running(Some(4), Some(priority), false, PriorityOrder::Ascending);
            left.presumed(true)
        };
        assert_eq!([4, 5].map(&mut run), [TaskStatus::Unknown; 2]);
    }
}
