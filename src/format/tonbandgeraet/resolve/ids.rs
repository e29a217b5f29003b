//! The target's ids → handles of the model. One set per session: after a reset the same ids may mean other things.

use rustc_hash::FxHashMap;

use crate::model::{
    CoreId, Entities, Isr, IsrId, Lane, LaneId, LaneKind, LaneOwner, Object, ObjectId, ObjectKind, Task, TaskId, TaskKind,
};

use super::names::{Fact, Names, Subject};

/// Where to look names up: the input that asks, and where the session starts in each input.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub names: &'a Names,
    pub input: usize,
    pub starts: &'a [u64],
    pub session: u32,
}

impl Place<'_> {
    fn name(&self, subject: Subject) -> Option<std::sync::Arc<str>> {
        self.names.name(subject, self.input, self.starts)
    }

    fn told(&self, subject: Subject) -> bool {
        self.names.fact(subject, self.input, self.starts).is_some()
    }
}

/// A map from the target's ids, which count from 1 and are mostly small.
#[derive(Debug, Default)]
struct IdMap {
    /// Handle plus one, by id.
    small: Vec<u32>,
    large: FxHashMap<u32, u32>,
}

const SMALL_IDS: u32 = 1 << 12;

impl IdMap {
    #[inline]
    fn get(&self, id: u32) -> Option<u32> {
        match self.small.get(id as usize) {
            Some(0) => None,
            Some(&handle) => Some(handle - 1),
            None => self.large.get(&id).copied(),
        }
    }

    fn set(&mut self, id: u32, handle: u32) {
        if id >= SMALL_IDS {
            self.large.insert(id, handle);
            return;
        }
        let index = id as usize;
        if index >= self.small.len() {
            self.small.resize(index + 1, 0);
        }
        self.small[index] = handle + 1;
    }
}

fn other_object(
    known: &mut IdMap,
    id: u32,
    kind: ObjectKind,
    subject: Subject,
    place: Place<'_>,
    entities: &mut Entities,
) -> Option<ObjectId> {
    if let Some(object) = known.get(id) {
        return Some(ObjectId(object));
    }
    let handle = entities.add_object(Object { number: id, name: place.name(subject), kind, session: place.session })?;
    known.set(id, handle.0);
    Some(handle)
}

/// The ids of one session.
#[derive(Debug, Default)]
pub struct Ids {
    tasks: IdMap,
    queues: IdMap,
    streams: IdMap,
    event_groups: IdMap,
    timers: IdMap,
    isrs: Vec<IdMap>,
    event_markers: IdMap,
    value_markers: IdMap,
    task_lanes: FxHashMap<(Option<TaskId>, LaneKind, u32), u32>,
    /// Names of task-local markers that came without a task, given to the task that ran then.
    pub running_names: FxHashMap<(TaskId, LaneKind, u32), std::sync::Arc<str>>,
}

impl Ids {
    /// The task behind an id. `None` at the limit of entities.
    #[inline]
    pub fn task(&mut self, id: u32, place: Place<'_>, entities: &mut Entities) -> Option<TaskId> {
        match self.tasks.get(id) {
            Some(task) => Some(TaskId(task)),
            None => self.new_task(id, place, entities),
        }
    }

    /// Another task under the same id: the one before is gone.
    #[cold]
    pub fn new_task(&mut self, id: u32, place: Place<'_>, entities: &mut Entities) -> Option<TaskId> {
        let kind = match () {
            () if place.told(Subject::IdleTask(id)) => TaskKind::Idle,
            () if place.told(Subject::TimerTask(id)) => TaskKind::TimerService,
            () => TaskKind::Normal,
        };
        let task = Task { number: id, name: place.name(Subject::Task(id)), kind, session: place.session };
        let handle = entities.add_task(task)?;
        self.tasks.set(id, handle.0);
        Some(handle)
    }

    /// Whether a task of this id was met.
    pub fn has_task(&self, id: u32) -> bool {
        self.tasks.get(id).is_some()
    }

    /// The object behind a queue's id.
    #[inline]
    pub fn queue(&mut self, id: u32, place: Place<'_>, entities: &mut Entities) -> Option<ObjectId> {
        match self.queues.get(id) {
            Some(object) => Some(ObjectId(object)),
            None => self.new_queue(id, place, entities),
        }
    }

    #[cold]
    fn new_queue(&mut self, id: u32, place: Place<'_>, entities: &mut Entities) -> Option<ObjectId> {
        let kind = match place.names.fact(Subject::QueueKind(id), place.input, place.starts) {
            Some(Fact::Kind(kind)) => *kind,
            _ => ObjectKind::Unknown,
        };
        let object = Object { number: id, name: place.name(Subject::Queue(id)), kind, session: place.session };
        let handle = entities.add_object(object)?;
        self.queues.set(id, handle.0);
        Some(handle)
    }

    /// The object behind the id of a stream or message buffer. `kind` is what the capture says of it here.
    pub fn stream(&mut self, id: u32, kind: ObjectKind, place: Place<'_>, entities: &mut Entities) -> Option<ObjectId> {
        other_object(&mut self.streams, id, kind, Subject::Stream(id), place, entities)
    }

    /// The object behind the id of an event group.
    pub fn event_group(&mut self, id: u32, place: Place<'_>, entities: &mut Entities) -> Option<ObjectId> {
        other_object(&mut self.event_groups, id, ObjectKind::EventGroup, Subject::EventGroup(id), place, entities)
    }

    /// The object behind the id of a software timer.
    pub fn timer(&mut self, id: u32, place: Place<'_>, entities: &mut Entities) -> Option<ObjectId> {
        other_object(&mut self.timers, id, ObjectKind::Timer, Subject::Timer(id), place, entities)
    }

    /// The interrupt behind an id on a core.
    #[inline]
    pub fn isr(&mut self, id: u32, core: CoreId, place: Place<'_>, entities: &mut Entities) -> Option<IsrId> {
        match self.isrs.get(core.index()).and_then(|isrs| isrs.get(id)) {
            Some(isr) => Some(IsrId(isr)),
            None => self.new_isr(id, core, place, entities),
        }
    }

    #[cold]
    fn new_isr(&mut self, id: u32, core: CoreId, place: Place<'_>, entities: &mut Entities) -> Option<IsrId> {
        let own = Subject::Isr { core: u32::from(core.0), isr: id };
        // Interrupts are numbered per core, but where only one core was told a name, the others have the same vector table.
        let name = place.name(own).or_else(|| place.name(Subject::Isr { core: 0, isr: id }));
        let handle = entities.add_isr(Isr { number: id, name, core, session: place.session })?;
        if core.index() >= self.isrs.len() {
            self.isrs.resize_with(core.index() + 1, IdMap::default);
        }
        self.isrs[core.index()].set(id, handle.0);
        Some(handle)
    }

    /// The lane of a global marker.
    #[inline]
    pub fn marker(&mut self, kind: LaneKind, id: u32, place: Place<'_>, entities: &mut Entities) -> Option<LaneId> {
        let map = match kind {
            LaneKind::Values => &mut self.value_markers,
            _ => &mut self.event_markers,
        };
        if let Some(lane) = map.get(id) {
            return Some(LaneId(lane));
        }
        let subject = match kind {
            LaneKind::Values => Subject::ValueMarker(id),
            _ => Subject::EventMarker(id),
        };
        let lane = Lane { number: id, name: place.name(subject), owner: LaneOwner::Firmware, kind, session: place.session };
        let handle = entities.add_lane(lane)?;
        map.set(id, handle.0);
        Some(handle)
    }

    /// The lane of a marker of a task. Without a task it is drawn with those of the firmware.
    #[inline]
    pub fn task_marker(
        &mut self,
        kind: LaneKind,
        task: Option<TaskId>,
        id: u32,
        place: Place<'_>,
        entities: &mut Entities,
    ) -> Option<LaneId> {
        match self.task_lanes.get(&(task, kind, id)) {
            Some(&lane) => Some(LaneId(lane)),
            None => self.new_task_marker(kind, task, id, place, entities),
        }
    }

    #[cold]
    fn new_task_marker(
        &mut self,
        kind: LaneKind,
        task: Option<TaskId>,
        id: u32,
        place: Place<'_>,
        entities: &mut Entities,
    ) -> Option<LaneId> {
        let subject = |task| match kind {
            LaneKind::Values => Subject::TaskValueMarker { task, marker: id },
            _ => Subject::TaskEventMarker { task, marker: id },
        };
        let number = task.and_then(|task| entities.tasks.get(task.index())).map(|task| task.number);
        let name = number
            .and_then(|number| place.name(subject(number)))
            .or_else(|| task.and_then(|task| self.running_names.get(&(task, kind, id)).cloned()))
            // Real targets write these names with task 0.
            .or_else(|| place.name(subject(0)));
        let owner = task.map_or(LaneOwner::Firmware, LaneOwner::Task);
        let handle = entities.add_lane(Lane { number: id, name, owner, kind, session: place.session })?;
        self.task_lanes.insert((task, kind, id), handle.0);
        Some(handle)
    }
}
