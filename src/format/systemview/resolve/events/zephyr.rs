//! What Zephyr's hooks leave out: the timer's interrupt, the ends of some calls, and why a priority changes.

use super::super::super::descriptions::Role;
use super::super::super::hooks::Hooks;
use super::Scene;
use crate::model::{Args, EventKind, LaneId, OpenFunctions, PriorityChange, ReportedState, TaskId, losses};

impl Scene<'_, '_, '_> {
    /// Whether Zephyr's system timer makes a thread ready, whose interrupt versions before 4 do not record on ARM's microcontrollers: the idle thread
    /// makes nobody ready, and only two functions end the sleep of another thread.
    pub(super) fn is_by_untraced_timer(&mut self, task: TaskId) -> bool {
        let has_slept = self.input.sleepers.remove(&task);
        self.input.suspending.take_if(|one| *one == task);
        let is_recorded = self.input.timer_is_recorded;
        let state = self.state();
        let is_woken = state.woken.take_if(|one| *one == task).is_some();
        !is_recorded && state.isrs.is_empty() && (state.is_idle || has_slept && !is_woken)
    }

    /// A call that resumes a thread ends, and has not made it ready: the thread goes on with the wait in which it was suspended.
    pub(super) fn still_waits(&mut self) {
        if let Some(task) = self.state().woken.take() {
            self.push(EventKind::TaskReported { task, state: ReportedState::Waiting });
        }
    }

    /// All calls of a task have ended with it.
    #[cold]
    pub(super) fn forget_calls_of(&mut self, task: TaskId) {
        let (core, session) = (self.core(), self.input.session);
        if let Some(lane) = self.context.shared.call_lane(core, Some(task), session, self.out.entities) {
            self.input.open_functions.remove(&lane);
        }
    }

    /// The ends of calls that began before it was known what runs are those of a task, which is not known.
    #[cold]
    pub(super) fn end_stray_calls(&mut self) {
        let (core, session) = (self.core(), self.input.session);
        let lane = self.context.shared.call_lane(core, None, session, self.out.entities);
        let Some(lane) = lane else { return };
        for _ in 0..self.input.open_functions.get_mut(&lane).map_or(0, OpenFunctions::exit_all) {
            self.out.ledger.enter(losses::EXIT_MISSING, self.at.offset, 0);
            self.push(EventKind::SpanEnd { lane, args: Args::NONE });
        }
    }

    /// Zephyr does not record the ends of calls that suspend or resume a thread and have nothing to do. There are no others of the thread in them, but
    /// maybe those of the timer's interrupt, if that is not recorded. It can call only some functions.
    pub(super) fn end_leaf(&mut self, lane: LaneId, next: u16, role: Role) {
        let innermost = self.input.open_functions.get(&lane).and_then(OpenFunctions::innermost);
        let Some(event) = innermost.and_then(|event| u16::try_from(event).ok()) else { return };
        let is_threads_own = self.input.timer_is_recorded
            || event == next
            || matches!(role, Role::Sleep | Role::Yield | Role::Lock | Role::Unlock);
        if is_threads_own && self.context.shared.is_leaf(event) {
            self.exit(lane, u64::from(event), Args::NONE);
            self.out.ledger.enter(losses::EXIT_MISSING, self.at.offset, 0);
        }
    }

    /// A call changes a thread, unless the packets of its version say so too.
    pub(super) fn change_thread(&mut self, task: TaskId, role: Role, priority: i32) {
        let is_own = self.state().running == Some(task);
        match role {
            Role::Wake => self.state().woken = Some(task),
            Role::Suspend => {
                self.input.sleepers.remove(&task);
                self.state().has_reason |= is_own;
                if is_own {
                    self.input.suspending = Some(task);
                }
                if is_own || !self.input.suspensions_are_recorded {
                    self.push(EventKind::Suspended(task));
                }
            }
            Role::DeleteTask => {
                self.input.sleepers.remove(&task);
                self.forget_calls_of(task);
                self.push(EventKind::TaskDeleted(task));
            }
            Role::SetPriority => {
                let change = self.change_of_priority();
                self.push(EventKind::Priority { task, priority, change });
            }
            _ => {}
        }
    }

    /// The kind of a change of priority that Zephyr records, by the innermost call: those of mutexes set priorities too.
    fn change_of_priority(&mut self) -> PriorityChange {
        let innermost = self.calls().and_then(|lane| self.input.open_functions.get(&lane)?.innermost());
        let call = innermost.and_then(|call| self.context.shared.descriptions.get(u16::try_from(call).ok()?));
        match call.map(|call| call.role) {
            Some(Role::Lock) if self.state().is_locking => PriorityChange::Inherit,
            Some(Role::Lock | Role::Unlock) => PriorityChange::Disinherit,
            _ => PriorityChange::Set,
        }
    }

    /// The task that a call is about: by its id, or as Zephyr mostly and ThreadX perhaps record it, by its address.
    pub(super) fn subject(&mut self, value: u64) -> Option<TaskId> {
        match self.context.shared.hooks {
            Hooks::ThreadX => self.seen_thread(value),
            Hooks::Zephyr => self.task_or_running(self.input.init.id(value)),
            _ => self.task_or_running(value),
        }
    }
}
