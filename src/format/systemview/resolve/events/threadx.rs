//! What ThreadX' hooks leave out: that a thread suspends or terminates another one.

use super::super::super::descriptions::Role;
use super::Scene;
use crate::model::{EventKind, TaskId};

impl Scene<'_, '_, '_> {
    /// The thread that an argument names, by its address or its id. The sources do not describe the arguments: another value names none, and a thread
    /// that nothing was recorded of has no state to change.
    pub(super) fn seen_thread(&mut self, value: u64) -> Option<TaskId> {
        let id = u32::try_from(self.input.init.id(value)).ok()?;
        let life = self.life(id);
        self.context.shared.seen_task(id, life, self.input.session)
    }

    /// A call suspends or terminates a thread. The one that runs does so at the next switch, which shows its state.
    pub(super) fn change_other_thread(&mut self, task: TaskId, role: Role) {
        if self.state().running == Some(task) {
            return;
        }
        match role {
            // A thread that has ended can't be suspended, and its end may have been before the recording.
            Role::Suspend if self.input.alive.contains(&task) => self.push(EventKind::Suspended(task)),
            Role::DeleteTask => self.end_thread(task),
            _ => {}
        }
    }

    /// A thread has ended, and with it the calls that it was in. It may start again (`tx_thread_reset`).
    #[cold]
    pub(super) fn end_thread(&mut self, task: TaskId) {
        self.input.alive.remove(&task);
        self.forget_calls_of(task);
        self.push(EventKind::TaskDeleted(task));
    }
}
