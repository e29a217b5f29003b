//! States that began before the capture did: the state of tasks, the holder of a mutex, the capacity of an object. States that
//! are known from events are not overridden.

use super::Timeline;
use super::tasks::Status;
use super::writer::{Label, Note, NoteValue};
use crate::model::{CoreId, Entities, ObjectId, Standing, TaskId};

impl Timeline {
    /// The state of a task that does not run.
    pub(super) fn task_standing(&mut self, task: TaskId, standing: Standing, core: CoreId, time_ns: u64, entities: &Entities) {
        if self.tasks[task.index()].status != Status::Unknown {
            return;
        }
        self.touch(task);
        self.drawn(task, entities);
        match standing {
            Standing::Ready => self.tasks[task.index()].status = Status::Ready,
            Standing::Waiting => self.begin_unknown_wait(task, time_ns),
            Standing::Suspended => self.begin_suspended(task, core, time_ns),
            Standing::Deleted => self.tasks[task.index()].status = Status::Deleted,
        }
    }

    /// The holder of a mutex.
    pub(super) fn holder_told(&mut self, object: ObjectId, task: Option<TaskId>, time_ns: u64, entities: &Entities) {
        self.touch_object(object);
        match (self.objects[object.index()].held.map(|held| held.by), task) {
            (Some(_), None) => self.close_held(object, time_ns, self.words.loss),
            (None, Some(task)) => {
                self.drawn(task, entities);
                let track = self.object_track(object, entities);
                let label = self.held_by(Some(task));
                let note = Note { name: self.words.continued, value: NoteValue::Uint(1) };
                self.writer.begin(track, time_ns, Label::Name(label), &[note], None);
                self.objects[object.index()].held = Some(super::objects::Held { by: Some(task) });
            }
            _ => {}
        }
    }

    /// A recursive mutex was taken again by its holder, or given back without being released.
    pub(super) fn mutex_depth(&mut self, object: ObjectId, depth: u32, core: CoreId, time_ns: u64, entities: &Entities) {
        if self.settings.operations
            && let Some(track) = self.context(core, false, entities)
        {
            let name = super::layout::object_name(&entities.objects[object.index()]);
            let name = self.writer.name(&format!("nest {name}"));
            let note = Note { name: self.words.depth, value: NoteValue::Uint(u64::from(depth)) };
            self.writer.instant(track, time_ns, Label::Name(name), &[note], None);
        }
    }

    /// The capacity of an object in items, and the size of an item in bytes.
    pub(super) fn capacity_told(&mut self, object: ObjectId, items: u32, item_bytes: u32) {
        self.objects[object.index()].capacity = Some((items, item_bytes));
    }
}
