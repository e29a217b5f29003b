//! RT-Thread's hooks record late, since version 5, that a thread was resumed.

use super::Scene;
use crate::model::TaskId;

/// How long the rest of a call takes when its thread runs again, in nanoseconds.
const REST_OF_CALL_NS: u64 = 50_000;

impl Scene<'_, '_, '_> {
    /// Another thread runs next. The present one may be kept from running by it.
    pub(super) fn note_switch(&mut self, next: TaskId) {
        let time = self.at.time;
        let state = self.state();
        state.since = time;
        let left = state.running.filter(|&left| left != next && !state.is_idle);
        let is_leaving = state.is_leaving;
        match left {
            Some(left) if is_leaving => drop(self.input.kept_by.remove(&left)),
            Some(left) => drop(self.input.kept_by.insert(left, next)),
            None => {}
        }
    }

    /// `rt_thread_resume` lets the resumed thread run if it has the higher priority, and records that it is ready when the caller goes on.
    pub(super) fn is_late(&mut self, resumed: TaskId) -> bool {
        let time = self.at.time;
        let state = self.state();
        let (since, caller) = (state.since, state.running.filter(|_| state.isrs.is_empty()));
        let kept_by = caller.and_then(|caller| self.input.kept_by.remove(&caller));
        kept_by == Some(resumed) && time.0.saturating_sub(since.0) < REST_OF_CALL_NS
    }
}
