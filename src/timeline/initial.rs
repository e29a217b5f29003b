//! States that began before the capture did: the state of tasks, the holder of a mutex, the capacity of an object. States that
//! are known from events are not overridden.

use super::writer::{Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{ObjectId, ReportedState, TaskId};
use crate::track::PrevState;

impl Timeline {
    /// The state of a task that does not run.
    pub(super) fn task_reported(&mut self, task: TaskId, reported: ReportedState, at: &At<'_>) {
        let Some(before) = self.tasks[task.index()].scheduling.report(reported) else { return };
        self.touch(task);
        self.drawn(task, at);
        self.stop_waiting(task, before, at.time_ns);
        let state = match reported {
            ReportedState::Ready => PrevState::Ready,
            ReportedState::Waiting => PrevState::Waiting,
            ReportedState::Suspended => PrevState::Suspended,
            ReportedState::Deleted => PrevState::Deleted,
        };
        self.change_state(task, state, at.time_ns);
        match reported {
            ReportedState::Waiting => self.begin_unknown_wait(task, at.time_ns),
            ReportedState::Suspended => self.begin_suspended(task, at.core, at.time_ns),
            ReportedState::Ready | ReportedState::Deleted => {}
        }
    }

    /// The holder of a mutex.
    pub(super) fn holder_reported(&mut self, object: ObjectId, task: Option<TaskId>, at: &At<'_>) {
        self.touch_object(object);
        match (self.objects[object.index()].held.map(|held| held.by), task) {
            (Some(_), None) => self.close_held(object, at.time_ns, self.words.loss),
            (None, Some(task)) => {
                self.drawn(task, at);
                let track = self.object_track(object, at);
                let label = self.held_by(Some(task));
                let note = Note { name: self.words.continued, value: NoteValue::Uint(1) };
                self.writer.begin(track, at.time_ns, SliceName::Name(label), &[note], None);
                self.objects[object.index()].held = Some(super::objects::Held { by: Some(task) });
            }
            _ => {}
        }
    }

    /// A recursive mutex was taken again by its holder, or given back without being released.
    pub(super) fn mutex_depth(&mut self, object: ObjectId, depth: u32, at: &At<'_>) {
        if self.settings.operations
            && let Some(track) = self.context(false, at)
        {
            let name = super::layout::object_name(&at.entities.objects[object.index()]);
            let name = self.writer.name(&format!("nest {name}"));
            let note = Note { name: self.words.depth, value: NoteValue::Uint(u64::from(depth)) };
            self.writer.instant(track, at.time_ns, SliceName::Name(name), &[note], None);
        }
    }

    /// The capacity of an object in items, and the size of an item in bytes.
    pub(super) fn capacity_reported(&mut self, object: ObjectId, items: u32, item_bytes: u32) {
        self.objects[object.index()].capacity = Some((items, item_bytes));
    }
}
