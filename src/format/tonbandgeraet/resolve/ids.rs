//! The target's ids → handles of the model. One set per session: after a reset the same ids may mean other things.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::model::{
    CoreId, Entities, Isr, IsrId, Lane, LaneId, LaneKind, LaneOwner, Object, ObjectId, ObjectKind, RecordedWaits, Task, TaskId,
};

use super::names::{Fact, Names, Subject};

/// The scope for looking up names: the input, and where the session starts in each input.
#[derive(Clone, Copy)]
pub struct NameScope<'a> {
    pub names: &'a Names,
    pub input: usize,
    pub starts: &'a [u64],
    pub session: u32,
}

impl NameScope<'_> {
    fn name(&self, subject: Subject) -> Option<std::sync::Arc<str>> {
        self.names.name(subject, self.input, self.starts)
    }

    /// What addresses are counted from; 0 if the capture does not record it.
    pub fn address_base(&self) -> u64 {
        match self.names.fact(Subject::AddressBase, self.input, self.starts) {
            Some(Fact::Address(address)) => *address,
            _ => 0,
        }
    }
}

/// The lane of functions, and how many are open on it: an exit beyond that belongs to a call before the recording.
#[derive(Debug)]
pub struct FunctionLane {
    pub lane: LaneId,
    pub open: u32,
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
    scope: &NameScope<'_>,
    entities: &mut Entities,
) -> Option<ObjectId> {
    if let Some(object) = known.get(id) {
        return Some(ObjectId(object));
    }
    let object = Object { number: id, name: scope.name(subject), kind, session: scope.session, giving_is_unrecorded: false };
    let handle = entities.add_object(object)?;
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
    task_lanes: FxHashMap<(Option<TaskId>, LaneKind, u32), LaneId>,
    functions: FxHashMap<(Option<TaskId>, CoreId), FunctionLane>,
    logs: FxHashMap<(Option<TaskId>, CoreId), LaneId>,
    /// Names of task-local markers without a task, by the task that was running.
    pub running_names: FxHashMap<(TaskId, LaneKind, u32), std::sync::Arc<str>>,
}

impl Ids {
    /// The task of an id. `None` at the limit of entities.
    #[inline]
    pub fn task(&mut self, id: u32, scope: &NameScope<'_>, entities: &mut Entities) -> Option<TaskId> {
        match self.tasks.get(id) {
            Some(task) => Some(TaskId(task)),
            None => self.new_task(id, None, scope, entities),
        }
    }

    /// A new task. Its id may have been used by a deleted one: then it was created at the offset `created`, and its name follows.
    #[cold]
    pub fn new_task(&mut self, id: u32, created: Option<u64>, scope: &NameScope<'_>, entities: &mut Entities) -> Option<TaskId> {
        let mut starts = scope.starts.to_vec();
        if let (Some(created), Some(start)) = (created, starts.get_mut(scope.input)) {
            *start = created;
        }
        let task = Task {
            number: id,
            name: scope.names.name(Subject::Task(id), scope.input, &starts),
            kind: scope.names.task_kind(id, scope.input, scope.starts),
            session: scope.session,
            waits: if scope.names.unrecorded.readiness { RecordedWaits::Nothing } else { RecordedWaits::Ends },
        };
        let handle = entities.add_task(task)?;
        self.tasks.set(id, handle.0);
        Some(handle)
    }

    /// Whether there is a task of this id.
    pub fn has_task(&self, id: u32) -> bool {
        self.tasks.get(id).is_some()
    }

    /// The object of a queue's id.
    #[inline]
    pub fn queue(&mut self, id: u32, scope: &NameScope<'_>, entities: &mut Entities) -> Option<ObjectId> {
        match self.queues.get(id) {
            Some(object) => Some(ObjectId(object)),
            None => self.new_queue(id, scope, entities),
        }
    }

    #[cold]
    fn new_queue(&mut self, id: u32, scope: &NameScope<'_>, entities: &mut Entities) -> Option<ObjectId> {
        let kind = match scope.names.fact(Subject::QueueKind(id), scope.input, scope.starts) {
            Some(Fact::Kind(kind)) => *kind,
            _ => ObjectKind::Unknown,
        };
        let giving_is_unrecorded = scope.names.unrecorded.sends;
        let object =
            Object { number: id, name: scope.name(Subject::Queue(id)), kind, session: scope.session, giving_is_unrecorded };
        let handle = entities.add_object(object)?;
        self.queues.set(id, handle.0);
        Some(handle)
    }

    /// The object of the id of a stream or message buffer. `kind` is its kind if it is new.
    pub fn stream(&mut self, id: u32, kind: ObjectKind, scope: &NameScope<'_>, entities: &mut Entities) -> Option<ObjectId> {
        other_object(&mut self.streams, id, kind, Subject::Stream(id), scope, entities)
    }

    /// The object of the id of an event group.
    pub fn event_group(&mut self, id: u32, scope: &NameScope<'_>, entities: &mut Entities) -> Option<ObjectId> {
        other_object(&mut self.event_groups, id, ObjectKind::EventGroup, Subject::EventGroup(id), scope, entities)
    }

    /// The object of the id of a software timer.
    pub fn timer(&mut self, id: u32, scope: &NameScope<'_>, entities: &mut Entities) -> Option<ObjectId> {
        other_object(&mut self.timers, id, ObjectKind::Timer, Subject::Timer(id), scope, entities)
    }

    /// The interrupt of an id on a core.
    #[inline]
    pub fn isr(&mut self, id: u32, core: CoreId, scope: &NameScope<'_>, entities: &mut Entities) -> Option<IsrId> {
        match self.isrs.get(core.index()).and_then(|isrs| isrs.get(id)) {
            Some(isr) => Some(IsrId(isr)),
            None => self.new_isr(id, core, scope, entities),
        }
    }

    #[cold]
    fn new_isr(&mut self, id: u32, core: CoreId, scope: &NameScope<'_>, entities: &mut Entities) -> Option<IsrId> {
        let own = Subject::Isr { core: u32::from(core.0), isr: id };
        // Interrupts are numbered per core. If only core 0 has a name, the others probably have the same vector table.
        let name = scope.name(own).or_else(|| scope.name(Subject::Isr { core: 0, isr: id }));
        let handle = entities.add_isr(Isr { number: id, name, core, session: scope.session })?;
        if core.index() >= self.isrs.len() {
            self.isrs.resize_with(core.index() + 1, IdMap::default);
        }
        self.isrs[core.index()].set(id, handle.0);
        Some(handle)
    }

    /// The lane of a global marker.
    #[inline]
    pub fn marker(&mut self, kind: LaneKind, id: u32, scope: &NameScope<'_>, entities: &mut Entities) -> Option<LaneId> {
        let (map, subject) = match kind {
            LaneKind::Values => (&mut self.value_markers, Subject::ValueMarker(id)),
            _ => (&mut self.event_markers, Subject::EventMarker(id)),
        };
        if let Some(lane) = map.get(id) {
            return Some(LaneId(lane));
        }
        let lane = Lane { number: id, name: scope.name(subject), owner: LaneOwner::Firmware, kind, session: scope.session };
        let handle = entities.add_lane(lane)?;
        map.set(id, handle.0);
        Some(handle)
    }

    /// The lane of a marker of a task. Without a task it belongs to the firmware.
    #[inline]
    pub fn task_marker(
        &mut self,
        kind: LaneKind,
        task: Option<TaskId>,
        id: u32,
        scope: &NameScope<'_>,
        entities: &mut Entities,
    ) -> Option<LaneId> {
        match self.task_lanes.get(&(task, kind, id)) {
            Some(&lane) => Some(lane),
            None => self.new_task_marker(kind, task, id, scope, entities),
        }
    }

    /// The lane of the functions of a task, or without a task, of a core.
    pub fn functions(
        &mut self,
        task: Option<TaskId>,
        core: CoreId,
        scope: &NameScope<'_>,
        entities: &mut Entities,
    ) -> Option<&mut FunctionLane> {
        // The calls of a task go with it from core to core.
        let key = (task, if task.is_some() { CoreId(0) } else { core });
        match self.functions.entry(key) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) => {
                let lane = entities.add_lane(activity_lane("Functions", LaneKind::Events, key, scope))?;
                Some(entry.insert(FunctionLane { lane, open: 0 }))
            }
        }
    }

    /// The lane of the log messages of a task, or without a task, of a core.
    pub fn log(&mut self, task: Option<TaskId>, core: CoreId, scope: &NameScope<'_>, entities: &mut Entities) -> Option<LaneId> {
        let key = (task, if task.is_some() { CoreId(0) } else { core });
        if let Some(&lane) = self.logs.get(&key) {
            return Some(lane);
        }
        let lane = entities.add_lane(activity_lane("Log", LaneKind::Log, key, scope))?;
        self.logs.insert(key, lane);
        Some(lane)
    }

    /// After a gap it is unknown which functions are open.
    pub fn forget_functions(&mut self) {
        self.functions.values_mut().for_each(|lane| lane.open = 0);
    }

    #[cold]
    fn new_task_marker(
        &mut self,
        kind: LaneKind,
        task: Option<TaskId>,
        id: u32,
        scope: &NameScope<'_>,
        entities: &mut Entities,
    ) -> Option<LaneId> {
        let subject = |task| match kind {
            LaneKind::Values => Subject::TaskValueMarker { task, marker: id },
            _ => Subject::TaskEventMarker { task, marker: id },
        };
        let number = task.and_then(|task| entities.tasks.get(task.index())).map(|task| task.number);
        let name = number
            .and_then(|number| scope.name(subject(number)))
            .or_else(|| task.and_then(|task| self.running_names.get(&(task, kind, id)).cloned()))
            // Real targets write these names with task 0.
            .or_else(|| scope.name(subject(0)));
        let owner = task.map_or(LaneOwner::Firmware, LaneOwner::Task);
        let handle = entities.add_lane(Lane { number: id, name, owner, kind, session: scope.session })?;
        self.task_lanes.insert((task, kind, id), handle);
        Some(handle)
    }
}

/// The lane of what a task does, or a core without a task.
fn activity_lane(name: &str, kind: LaneKind, (task, core): (Option<TaskId>, CoreId), scope: &NameScope<'_>) -> Lane {
    let owner = task.map_or(LaneOwner::Firmware, LaneOwner::Task);
    let name = if task.is_none() && core.0 > 0 { format!("{name}, core {}", core.0) } else { name.to_owned() };
    Lane { number: 0, name: Some(name.into()), owner, kind, session: scope.session }
}
