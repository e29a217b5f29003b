//! The handles of threads, objects, interrupts, lanes and names.

use std::ops::RangeInclusive;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::names::Names;
use super::super::scan::Registered;
use crate::model::{
    Arg, ArgValue, Args, CoreId, Entities, EventBatch, Isr, IsrId, Label, Lane, LaneId, LaneKind, LaneOwner, NameId, Object,
    ObjectId, ObjectKind, PriorityOrder, RecentMap, RecordedWaits, Session, Task, TaskId, TaskKind,
};

/// An option to wait without limit.
pub const FOREVER: u32 = u32::MAX;

/// Numbers from here on are shown in hex, if their field is not an amount: they are addresses.
const FIRST_ADDRESS: u64 = 0x1_0000;

/// Parts of the names of fields that are amounts.
const AMOUNTS: &[&str] = &[
    "size",
    "length",
    "bytes",
    "count",
    "ticks",
    "time",
    "sequence",
    "sector",
    "blocks",
    "packets",
    "offset",
    "misses",
    "timeout",
    "lifetime",
    "wait_option",
    "clusters",
];

/// Names of fields that are addresses of the Internet protocol, version 4.
const IP_ADDRESSES: &[&str] =
    &["ip_address", "server_ip", "dest_ip", "net_mask", "network_mask", "next_hop", "gateway_address", "destination_ip"];

/// The form of a field's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Amount,
    Pattern,
    Ip,
    Wait,
    Other,
}

impl Form {
    fn of(field: &str) -> Form {
        match field {
            "wait_option" => Form::Wait,
            field if field.contains("flags") => Form::Pattern,
            field if IP_ADDRESSES.iter().any(|name| field.ends_with(name)) => Form::Ip,
            field if AMOUNTS.iter().any(|name| field.contains(name)) => Form::Amount,
            _ => Form::Other,
        }
    }
}

/// A field of an event.
#[derive(Clone, Copy)]
struct Field {
    name: NameId,
    form: Form,
    /// Shown only if it is not 0, because nobody named it.
    is_unnamed: bool,
}

/// The names of an event, as handles.
#[derive(Clone, Copy)]
struct Labelled {
    label: Label,
    category: Option<NameId>,
    fields: [Option<Field>; 4],
}

/// What is known about the events of an id.
#[derive(Clone, Copy)]
struct Known {
    /// The field that is a stack pointer.
    stack: Option<usize>,
    /// Once the first one was drawn.
    labelled: Option<Labelled>,
}

/// The names of registered objects, as handles from their first use on.
struct ObjectNames {
    /// Numbers that were looked up lately, and the names of the objects at these addresses, which do not change. There is no object at 0.
    recent: Box<[(u32, Option<NameId>); 256]>,
    all: FxHashMap<u32, Option<NameId>>,
    /// From the lowest to the highest one.
    addresses: RangeInclusive<u32>,
}

impl ObjectNames {
    fn new(registry: &FxHashMap<u32, Registered>) -> ObjectNames {
        let (lowest, highest) = (registry.keys().min(), registry.keys().max());
        ObjectNames {
            recent: Box::new([(0, None); 256]),
            all: FxHashMap::default(),
            addresses: lowest.copied().unwrap_or(u32::MAX)..=highest.copied().unwrap_or(0),
        }
    }

    /// The name of the object at an address.
    #[inline]
    fn get(&mut self, pointer: u32, registry: &FxHashMap<u32, Registered>, entities: &mut Entities) -> Option<NameId> {
        if !self.addresses.contains(&pointer) {
            return None;
        }
        // Objects and stacks are at multiples of 4.
        let place = (pointer >> 2 ^ pointer >> 10) as usize % self.recent.len();
        let (known, name) = self.recent[place];
        if known == pointer {
            return name;
        }
        let name = self.find(pointer, registry, entities);
        self.recent[place] = (pointer, name);
        name
    }

    #[inline(never)]
    fn find(&mut self, pointer: u32, registry: &FxHashMap<u32, Registered>, entities: &mut Entities) -> Option<NameId> {
        if let Some(name) = self.all.get(&pointer) {
            return *name;
        }
        let object = registry.get(&pointer)?;
        let name = entities.add_name(&object.name).filter(|_| !object.name.is_empty());
        self.all.insert(pointer, name);
        name
    }
}

/// All handles of one input.
pub struct Handles {
    pub registry: FxHashMap<u32, Registered>,
    /// Whether the scheduler's entries are recorded: they may be filtered.
    pub waits_are_recorded: bool,
    /// By address and kind.
    objects: RecentMap<ObjectId>,
    isrs: FxHashMap<(CoreId, u32), IsrId>,
    idle: FxHashMap<CoreId, TaskId>,
    lanes: FxHashMap<(CoreId, bool), LaneId>,
    /// By event.
    known: Vec<Option<Known>>,
    names: ObjectNames,
    unnamed: Option<[Option<NameId>; 4]>,
    forever: Option<Option<NameId>>,
    /// Memory for a text.
    text: String,
}

/// Appends an address of the Internet protocol, version 4. There are so many that formatting them takes a share of all time.
fn push_ip(address: u32, text: &mut String) {
    for (place, byte) in address.to_be_bytes().into_iter().enumerate() {
        if place > 0 {
            text.push('.');
        }
        for (unit, least) in [(100, 100), (10, 10), (1, 0)] {
            if byte >= least {
                text.push(char::from(b'0' + byte / unit % 10));
            }
        }
    }
}

impl Handles {
    pub fn new(registry: FxHashMap<u32, Registered>, waits_are_recorded: bool) -> Handles {
        Handles {
            names: ObjectNames::new(&registry),
            registry,
            waits_are_recorded,
            objects: RecentMap::default(),
            isrs: FxHashMap::default(),
            idle: FxHashMap::default(),
            lanes: FxHashMap::default(),
            known: Vec::new(),
            unnamed: None,
            forever: None,
            text: String::new(),
        }
    }

    fn name(&self, pointer: u32) -> Option<Arc<str>> {
        self.registry.get(&pointer).map(|object| object.name.as_str()).filter(|name| !name.is_empty()).map(Arc::from)
    }

    /// A new life of the thread at an address.
    pub fn add_task(&mut self, pointer: u32, entities: &mut Entities) -> Option<TaskId> {
        if entities.sessions.is_empty() {
            entities.sessions.push(Session { priorities: PriorityOrder::Descending, ..Session::default() });
        }
        let name = self.name(pointer);
        let is_timer = name.as_deref() == Some("System Timer Thread");
        let kind = if is_timer { TaskKind::TimerService } else { TaskKind::Normal };
        let waits = if self.waits_are_recorded { RecordedWaits::All } else { RecordedWaits::Nothing };
        entities.add_task(Task { number: pointer, name, kind, session: 0, waits })
    }

    pub fn idle(&mut self, core: CoreId, entities: &mut Entities) -> Option<TaskId> {
        if let Some(&idle) = self.idle.get(&core) {
            return Some(idle);
        }
        let (number, name, kind) = (u32::from(core.0), Some("idle".into()), TaskKind::Idle);
        let idle = entities.add_task(Task { number, name, kind, session: 0, waits: RecordedWaits::All })?;
        self.idle.insert(core, idle);
        Some(idle)
    }

    pub fn isr(&mut self, core: CoreId, number: u32, entities: &mut Entities) -> Option<IsrId> {
        if let Some(&isr) = self.isrs.get(&(core, number)) {
            return Some(isr);
        }
        let isr = entities.add_isr(Isr { number, name: None, core, session: 0 })?;
        self.isrs.insert((core, number), isr);
        Some(isr)
    }

    /// The object at an address. `kind` is that of the operation, which is always right.
    pub fn object(&mut self, pointer: u32, kind: ObjectKind, entities: &mut Entities) -> Option<ObjectId> {
        let key = u64::from(pointer) | (kind as u64) << 32;
        if let Some(object) = self.objects.get(key) {
            return Some(object);
        }
        let name = self.name(pointer);
        let object = entities.add_object(Object { number: pointer, name, kind, session: 0, giving_is_unrecorded: false })?;
        self.objects.insert(key, object);
        Some(object)
    }

    /// The lane of the calls of a thread.
    pub fn task_lane(&self, task: TaskId, entities: &mut Entities) -> Option<LaneId> {
        let (name, owner) = (Some("calls".into()), LaneOwner::Task(task));
        entities.add_lane(Lane { number: 0, name, owner, kind: LaneKind::Events, session: 0 })
    }

    /// The lane of the calls of interrupts, or of those before threads run.
    pub fn other_lane(&mut self, core: CoreId, is_interrupt: bool, entities: &mut Entities) -> Option<LaneId> {
        if let Some(&lane) = self.lanes.get(&(core, is_interrupt)) {
            return Some(lane);
        }
        let what = if is_interrupt { "calls from interrupts" } else { "calls during initialization" };
        let name = if core.0 == 0 { what.to_owned() } else { format!("{what}, core {}", core.0) };
        let number = 2 * u32::from(core.0) + u32::from(!is_interrupt);
        let (name, owner) = (Some(name.into()), LaneOwner::Firmware);
        let lane = entities.add_lane(Lane { number, name, owner, kind: LaneKind::Events, session: 0 })?;
        self.lanes.insert((core, is_interrupt), lane);
        Some(lane)
    }

    /// The name of the object at an address, as a handle.
    pub fn name_id(&mut self, pointer: u32, entities: &mut Entities) -> Option<NameId> {
        self.names.get(pointer, &self.registry, entities)
    }

    /// Whether an event has occurred.
    pub fn has_occurred(&self, id: u32) -> bool {
        matches!(self.known.get(id as usize), Some(Some(_)))
    }

    /// The field of an event that is a stack pointer.
    #[inline]
    pub fn stack_field(&mut self, id: u32, names: &Names) -> Option<usize> {
        match self.known.get(id as usize) {
            Some(Some(known)) => known.stack,
            _ => self.learn(id, names).stack,
        }
    }

    #[cold]
    fn learn(&mut self, id: u32, names: &Names) -> Known {
        let index = id as usize;
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        let fields = names.get(id).map_or(&[][..], |event| &event.fields);
        let known = Known { stack: fields.iter().position(|field| field == "stack"), labelled: None };
        self.known[index] = Some(known);
        known
    }

    #[cold]
    fn learn_label(&mut self, id: u32, names: &Names, entities: &mut Entities) {
        self.learn(id, names);
        let unnamed =
            *self.unnamed.get_or_insert_with(|| [1, 2, 3, 4].map(|number| entities.add_name(&format!("info {number}"))));
        self.forever.get_or_insert_with(|| entities.add_name("forever"));
        let fields = names.get(id).map_or(&[][..], |event| &event.fields);
        let mut fields = fields.iter();
        let fields = unnamed.map(|unnamed| {
            let field = fields.next().filter(|field| !field.is_empty());
            let named =
                field.and_then(|field| Some(Field { name: entities.add_name(field)?, form: Form::of(field), is_unnamed: false }));
            named.or(unnamed.map(|name| Field { name, form: Form::Other, is_unnamed: true }))
        });
        let label = entities.add_name(&names.name(id)).map_or(Label::NONE, Label::name);
        let category = entities.add_name(Names::component(id));
        let labelled = Labelled { label, category, fields };
        if let Some(known) = self.known.get_mut(id as usize) {
            *known = known.map(|known| Known { labelled: Some(labelled), ..known });
        }
    }

    /// The label of an event, and its fields as args. Of addresses the lower 32 bits identify the object.
    pub fn label(
        &mut self,
        id: u32,
        info: &[u64; 4],
        names: &Names,
        entities: &mut Entities,
        batch: &mut EventBatch,
    ) -> (Label, Args) {
        let index = id as usize;
        let is_known = matches!(self.known.get(index), Some(Some(Known { labelled: Some(_), .. })));
        if !is_known {
            self.learn_label(id, names, entities);
        }
        let Some(Some(Known { labelled: Some(labelled), .. })) = self.known.get(index) else { return (Label::NONE, Args::NONE) };
        let &Labelled { label, category, ref fields } = labelled;
        let forever = self.forever.flatten();
        let start = batch.args.len();
        for (&value, field) in info.iter().zip(fields) {
            let Some(Field { name, form, .. }) = field.filter(|field| value != 0 || !field.is_unnamed) else { continue };
            let is_forever = form == Form::Wait && value == u64::from(FOREVER);
            let object = self.names.get(value as u32, &self.registry, entities);
            let value = match (form, object.or(forever.filter(|_| is_forever))) {
                (_, Some(name)) => ArgValue::Name(name),
                (Form::Pattern, _) => ArgValue::Hex(value),
                (Form::Ip, _) => {
                    self.text.clear();
                    push_ip(value as u32, &mut self.text);
                    ArgValue::Text(batch.texts.add(&self.text))
                }
                (Form::Other, _) if value >= FIRST_ADDRESS => ArgValue::Hex(value),
                _ => ArgValue::Uint(value),
            };
            batch.args.push(Arg::new(name, value));
        }
        if let Some(category) = category {
            batch.args.push(Arg::new(category, ArgValue::Category(category)));
        }
        (label, batch.args_since(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_usual() {
        for expected in ["0.0.0.0", "192.168.1.10", "255.100.99.9", "1.200.101.110"] {
            let bytes: Vec<u8> = expected.split('.').map(|number| number.parse::<u8>().unwrap()).collect();
            let mut text = String::new();
            push_ip(u32::from_be_bytes(bytes.try_into().unwrap()), &mut text);
            assert_eq!(text, expected);
        }
    }
}
