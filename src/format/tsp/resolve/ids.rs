//! From the target's numbers to the entities of one session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::record::{name_of, object_type};
use super::super::scan::Listed;
use super::facts::Filtered;
use crate::model::{
    Entities, Lane, LaneId, LaneKind, LaneOwner, NameId, Object, ObjectId, ObjectKind, RecordedWaits, Task, TaskId, TaskKind,
};

/// The lane of low-power sleep, after those of the 256 ids.
pub const LOW_POWER_LANE: usize = 256;
/// The lane of kernel events that belong to no object.
pub const KERNEL_LANE: usize = 257;
const LANES: usize = 258;

/// The names from the object lists.
pub struct ListedNames {
    by_type: Vec<Vec<Option<Arc<str>>>>,
}

impl ListedNames {
    /// Keeps the names of tasks, and names of objects that are not generic: the tracer names most objects `Queue` or by their type.
    pub fn new(names: &BTreeMap<(u8, u8), Vec<u8>>) -> ListedNames {
        let mut by_type = vec![vec![None; 256]; object_type::TYPES];
        for (&(type_number, number), name) in names {
            let name = String::from_utf8_lossy(name);
            let is_task = type_number == object_type::TASK;
            let is_generic = name.is_empty() || !is_task && ["Queue", "Mutex", "Semaphore"].contains(&&*name);
            if let Some(place) = by_type.get_mut(usize::from(type_number)).and_then(|names| names.get_mut(usize::from(number)))
                && !is_generic
            {
                *place = Some(Arc::from(&*name));
            }
        }
        ListedNames { by_type }
    }

    /// The names in the session that begins at an offset: up to where a task is created again under a number in use, because the tracer
    /// uses no number twice. Without creations that show the session, the first names are its own; with them, the last. `None`: it has none,
    /// and the target is probably the same as before the reset.
    pub fn of_session(listed: &[Listed], offset: u64) -> Option<ListedNames> {
        let mut names: BTreeMap<(u8, u8), Vec<u8>> = BTreeMap::new();
        let mut created = BTreeSet::new();
        for Listed { type_number, number, name, .. } in listed.iter().skip_while(|listed| listed.offset < offset) {
            let key = (*type_number, *number);
            match name {
                None if names.contains_key(&key) || !created.insert(*number) => break,
                Some(name) if !(names.contains_key(&key) && (created.is_empty() || name.is_empty())) => {
                    names.insert(key, name.clone());
                }
                _ => {}
            }
        }
        (!names.is_empty()).then(|| ListedNames::new(&names))
    }

    fn get(&self, type_number: u8, number: u8) -> Option<Arc<str>> {
        self.by_type.get(usize::from(type_number))?.get(usize::from(number))?.clone()
    }
}

/// An object, and its state as known from its operations.
#[derive(Clone, Copy, Debug)]
pub struct ObjectState {
    pub id: ObjectId,
    /// The number of items in it, if known.
    pub level: Option<u32>,
    /// The holder of a recursive mutex, and how often it has taken the mutex.
    pub held: Option<(Option<TaskId>, u32)>,
}

/// The handles of one session.
pub struct Ids {
    session: u32,
    filtered: Filtered,
    tasks: [Option<TaskId>; 256],
    objects: [[Option<ObjectState>; 256]; object_type::TYPES - 1],
    lanes: [Option<LaneId>; LANES],
}

impl Ids {
    pub fn new(session: u32, filtered: Filtered) -> Ids {
        Ids { session, filtered, tasks: [None; 256], objects: [[None; 256]; object_type::TYPES - 1], lanes: [None; LANES] }
    }

    /// Those of a later session.
    pub fn of_next(&self, session: u32) -> Ids {
        Ids::new(session, self.filtered)
    }

    #[inline]
    pub fn task(&mut self, number: u8, names: &ListedNames, entities: &mut Entities) -> Option<TaskId> {
        self.tasks[usize::from(number)].or_else(|| self.add_task(number, names, entities))
    }

    #[cold]
    fn add_task(&mut self, number: u8, names: &ListedNames, entities: &mut Entities) -> Option<TaskId> {
        let name = names.get(object_type::TASK, number);
        let kind = match name.as_deref() {
            Some("IDLE") => TaskKind::Idle,
            Some("Tmr Svc") => TaskKind::TimerService,
            _ => TaskKind::Normal,
        };
        let waits = if self.filtered.readiness { RecordedWaits::Nothing } else { RecordedWaits::Ends };
        let task = entities.add_task(Task { number: u32::from(number), name, kind, session: self.session, waits });
        self.tasks[usize::from(number)] = task;
        task
    }

    /// A queue-like object. `None` for a type that does not exist.
    pub fn object(
        &mut self,
        type_number: u8,
        number: u8,
        names: &ListedNames,
        entities: &mut Entities,
    ) -> Option<&mut ObjectState> {
        let place = &mut self.objects.get_mut(usize::from(type_number))?[usize::from(number)];
        if place.is_none() {
            let kind = match type_number {
                object_type::QUEUE => ObjectKind::Queue,
                object_type::MUTEX => ObjectKind::Mutex,
                object_type::COUNTING_SEMAPHORE => ObjectKind::CountingSemaphore,
                object_type::BINARY_SEMAPHORE => ObjectKind::BinarySemaphore,
                _ => ObjectKind::RecursiveMutex,
            };
            let name = names.get(type_number, number);
            let (session, giving_is_unrecorded) = (self.session, self.filtered.sends);
            let object = Object { number: u32::from(number), name, kind, session, giving_is_unrecorded };
            *place = entities.add_object(object).map(|id| ObjectState { id, level: None, held: None });
        }
        place.as_mut()
    }

    /// Whether the object has an entity already.
    pub fn has_object(&self, type_number: u8, number: u8) -> bool {
        self.objects.get(usize::from(type_number)).is_some_and(|objects| objects[usize::from(number)].is_some())
    }

    /// The lane of an id, or one of the others.
    pub fn lane(&mut self, number: usize, entities: &mut Entities) -> Option<LaneId> {
        let place = self.lanes.get_mut(number)?;
        if place.is_none() {
            let name = match number {
                LOW_POWER_LANE => "low power".to_owned(),
                KERNEL_LANE => "kernel".to_owned(),
                _ => match name_of(number as u8) {
                    Some(name) => name.to_lowercase().replace('_', " "),
                    None => format!("id {number}"),
                },
            };
            let number = number as u32;
            let lane = Lane {
                number,
                name: Some(name.into()),
                owner: LaneOwner::Firmware,
                kind: LaneKind::Events,
                session: self.session,
            };
            *place = entities.add_lane(lane);
        }
        *place
    }

    /// Discards the states of all objects, at a gap.
    pub fn forget_levels(&mut self) {
        for object in self.objects.iter_mut().flatten().flatten() {
            (object.level, object.held) = (None, None);
        }
    }
}

/// Frequent names of events and arguments, to avoid looking them up.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommonNames {
    pub data: Option<NameId>,
    pub ticks: Option<NameId>,
    pub ticks_skipped: Option<NameId>,
    pub type_number: Option<NameId>,
}

impl CommonNames {
    pub fn new(entities: &mut Entities) -> CommonNames {
        CommonNames {
            data: entities.add_name("data"),
            ticks: entities.add_name("ticks"),
            ticks_skipped: entities.add_name("ticks skipped"),
            type_number: entities.add_name("type"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_its_own_names() {
        let task = |offset, number, name: Option<&str>| {
            let name = name.map(|name| name.as_bytes().to_vec());
            Listed { offset, type_number: object_type::TASK, number, name }
        };
        let name = |listed: &[Listed], offset, number| {
            ListedNames::of_session(listed, offset).map(|names| names.get(object_type::TASK, number).map(|name| name.to_string()))
        };
        let named = |name: &str| Some(Some(name.to_owned()));
        // Two recordings of which each says that it creates tasks 1 and 2, one that does not, and one without a list.
        let listed = [
            task(10, 1, None),
            task(20, 1, Some("old")),
            task(30, 1, Some("A")),
            task(40, 2, None),
            task(110, 1, None),
            task(120, 2, None),
            task(130, 1, Some("B")),
            task(210, 1, Some("C")),
            task(310, 1, None),
        ];
        assert_eq!(name(&listed[..7], 0, 1), named("A"));
        assert_eq!(name(&listed[..7], 0, 2), Some(None));
        assert_eq!(name(&listed[..7], 105, 1), named("B"));
        assert_eq!(name(&listed, 205, 1), named("C"));
        assert_eq!(name(&listed, 305, 1), None);
    }
}
