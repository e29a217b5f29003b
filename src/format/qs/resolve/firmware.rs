//! What the firmware of one session has, as entities of the common model: made when they are first met.

use super::super::info::TargetInfo;
use super::super::names::address_text;
use super::super::sessions::Session as QsSession;
use crate::model::{
    Arg, ArgValue, CoreId, Entities, Event, EventBatch, EventKind, Group, GroupId, Isr, IsrId, Lane, LaneId, LaneKind, LaneOwner,
    Machine, MachineId, NameId, Nanos, Session,
};

use super::tables::Tables;

/// Groups of tracks, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Records,
    Counters,
    TimeEvents,
    Pools,
    Queues,
    Senders,
    Sync,
    Scheduler,
}

impl Part {
    const COUNT: usize = 8;

    fn name(self) -> &'static str {
        match self {
            Part::Records => "Application records",
            Part::Counters => "Application counters",
            Part::TimeEvents => "Time events",
            Part::Pools => "Event pools (free blocks)",
            Part::Queues => "Event queues (used places)",
            Part::Senders => "Senders",
            Part::Sync => "Semaphores and mutexes",
            Part::Scheduler => "Scheduler",
        }
    }
}

/// Tracks of which there is one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Single {
    Cpu,
    Lock,
    Failures,
    Memory,
    HostLink,
    Asserts,
    Critical,
    Ceiling,
}

impl Single {
    const COUNT: usize = 8;

    fn describe(self) -> (&'static str, LaneKind, Option<Part>) {
        match self {
            Single::Cpu => ("running", LaneKind::States, Some(Part::Scheduler)),
            Single::Lock => ("scheduler lock", LaneKind::Events, Some(Part::Scheduler)),
            Single::Ceiling => ("priority ceiling", LaneKind::Events, Some(Part::Scheduler)),
            Single::Critical => ("critical sections", LaneKind::Events, Some(Part::Scheduler)),
            Single::Failures => ("failed attempts", LaneKind::Events, None),
            Single::Memory => ("event memory", LaneKind::Events, None),
            Single::HostLink => ("host link", LaneKind::Events, None),
            Single::Asserts => ("assertions", LaneKind::Log, None),
        }
    }
}

/// What is told of events beyond their signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Ticks,
    Interval,
    LateTicks,
    Free,
    Margin,
    Object,
    Size,
    Thread,
    Count,
    Module,
    Location,
    Ref,
    Data,
    Armed,
    Disarmed,
    ClosedBy,
}

impl Word {
    const COUNT: usize = 16;
    const TEXTS: [&'static str; Word::COUNT] = [
        "ticks",
        "interval",
        "late_ticks",
        "free",
        "margin",
        "object",
        "size",
        "thread",
        "count",
        "module",
        "location",
        "ref_ctr",
        "data",
        "armed",
        "disarmed",
        "closed_by",
    ];
}

/// Elements of an application record beyond this one are not shown.
const ELEMENTS_MAX: usize = 64;

/// The entities of one session.
pub struct Firmware {
    pub tables: Tables,
    /// The number of the session.
    pub session: u32,
    pub core: CoreId,
    /// The number of the present stretch without a gap.
    pub stretch: u32,
    /// The number of the stretch in which the session began.
    pub first_stretch: u32,
    groups: [Option<GroupId>; Part::COUNT],
    singles: [Option<LaneId>; Single::COUNT],
    words: [Option<NameId>; Word::COUNT],
    elements: Vec<Option<NameId>>,
    records: Vec<Option<LaneId>>,
    rates: Vec<Option<LaneId>>,
    isrs: Vec<Option<IsrId>>,
    threads: Vec<Option<LaneId>>,
    pub counters: Vec<(u8, usize, Option<LaneId>)>,
}

impl Firmware {
    pub fn new(session: u32, core: CoreId, stretch: u32) -> Firmware {
        Firmware {
            tables: Tables::default(),
            session,
            core,
            stretch,
            first_stretch: stretch,
            groups: [None; Part::COUNT],
            singles: [None; Single::COUNT],
            words: [None; Word::COUNT],
            elements: Vec::new(),
            records: vec![None; 256],
            rates: vec![None; 256],
            isrs: vec![None; 256],
            threads: vec![None; 256],
            counters: Vec::new(),
        }
    }

    fn group(&mut self, part: Part, entities: &mut Entities) -> Option<GroupId> {
        let place = self.groups.get_mut(part as usize)?;
        if place.is_none() {
            *place = entities.add_group(Group {
                name: part.name().into(),
                parent: None,
                description: None,
                rank: part as u32 + 1,
                is_process: false,
                session: self.session,
            });
        }
        *place
    }

    fn lane(&mut self, name: &str, number: u32, kind: LaneKind, part: Option<Part>, entities: &mut Entities) -> Option<LaneId> {
        let owner = match part {
            Some(part) => LaneOwner::Group(self.group(part, entities)?),
            None => LaneOwner::Firmware,
        };
        entities.add_lane(Lane { number, name: Some(name.into()), owner, kind, session: self.session })
    }

    /// A track of which there is one.
    pub fn single(&mut self, single: Single, entities: &mut Entities) -> Option<LaneId> {
        if let Some(Some(lane)) = self.singles.get(single as usize) {
            return Some(*lane);
        }
        let (name, kind, part) = single.describe();
        let lane = self.lane(name, single as u32, kind, part, entities);
        if let Some(place) = self.singles.get_mut(single as usize) {
            *place = lane;
        }
        lane
    }

    /// The name of an arg.
    pub fn word(&mut self, word: Word, entities: &mut Entities) -> Option<NameId> {
        let place = self.words.get_mut(word as usize)?;
        if place.is_none() {
            *place = entities.add_name(Word::TEXTS.get(word as usize)?);
        }
        *place
    }

    /// An arg.
    pub fn arg(&mut self, word: Word, value: ArgValue, entities: &mut Entities) -> Option<Arg> {
        Some(Arg::new(self.word(word, entities)?, value))
    }

    /// The name of an element of an application record.
    pub fn element(&mut self, number: usize, entities: &mut Entities) -> Option<NameId> {
        if number >= ELEMENTS_MAX {
            return None;
        }
        if number >= self.elements.len() {
            self.elements.resize(number + 1, None);
        }
        let place = self.elements.get_mut(number)?;
        if place.is_none() {
            *place = entities.add_name(&format!("v{number}"));
        }
        *place
    }

    /// The track of an application record.
    pub fn record(&mut self, id: u8, user_base: u8, from: &QsSession, entities: &mut Entities) -> Option<LaneId> {
        if let Some(Some(lane)) = self.records.get(usize::from(id)) {
            return Some(*lane);
        }
        let name = from.names.record(id).map_or_else(|| format!("USER+{:03}", id.saturating_sub(user_base)), str::to_owned);
        let lane = self.lane(&name, id.into(), LaneKind::Events, Some(Part::Records), entities);
        if let Some(place) = self.records.get_mut(usize::from(id)) {
            *place = lane;
        }
        lane
    }

    /// The counter of an element of an application record.
    pub fn counter(&mut self, number: usize, from: &QsSession, entities: &mut Entities) -> Option<LaneId> {
        let &(id, index, lane) = self.counters.get(number)?;
        if lane.is_some() {
            return lane;
        }
        let name = format!("{}:{index}", from.names.record(id).unwrap_or("USER"));
        let lane = self.lane(&name, number as u32, LaneKind::Values, Some(Part::Counters), entities);
        if let Some(place) = self.counters.get_mut(number) {
            place.2 = lane;
        }
        lane
    }

    /// The counter of the ticks of a rate.
    pub fn rate(&mut self, rate: u8, entities: &mut Entities) -> Option<LaneId> {
        if let Some(Some(lane)) = self.rates.get(usize::from(rate)) {
            return Some(*lane);
        }
        let lane = self.lane(&format!("ticks of rate {rate}"), rate.into(), LaneKind::Values, Some(Part::TimeEvents), entities);
        if let Some(place) = self.rates.get_mut(usize::from(rate)) {
            *place = lane;
        }
        lane
    }

    /// The track of what a thread of a priority waits for.
    pub fn thread(&mut self, priority: u8, entities: &mut Entities) -> Option<LaneId> {
        if let Some(Some(lane)) = self.threads.get(usize::from(priority)) {
            return Some(*lane);
        }
        let name = format!("thread of priority {priority}");
        let lane = self.lane(&name, 1 << 20 | u32::from(priority), LaneKind::Events, Some(Part::Sync), entities);
        if let Some(place) = self.threads.get_mut(usize::from(priority)) {
            *place = lane;
        }
        lane
    }

    /// The interrupt of a priority.
    pub fn isr(&mut self, priority: u8, entities: &mut Entities) -> Option<IsrId> {
        if let Some(Some(isr)) = self.isrs.get(usize::from(priority)) {
            return Some(*isr);
        }
        let name = Some(format!("ISR of priority {priority}").into());
        let isr = entities.add_isr(Isr { number: priority.into(), name, core: self.core, session: self.session });
        if let Some(place) = self.isrs.get_mut(usize::from(priority)) {
            *place = isr;
        }
        isr
    }

    /// An object as a state machine.
    #[inline]
    pub fn machine(&mut self, object: usize, from: &QsSession, entities: &mut Entities) -> Option<MachineId> {
        match self.tables.objects.get(object)?.machine {
            Some(machine) => Some(machine),
            None => self.make_machine(object, from, entities),
        }
    }

    #[cold]
    fn make_machine(&mut self, object: usize, from: &QsSession, entities: &mut Entities) -> Option<MachineId> {
        let place = self.tables.objects.get_mut(object)?;
        let address = address_text(place.address, from.layout.config.sizes.object);
        let name = from.names.object(place.address).map_or_else(|| address.clone(), str::to_owned);
        let description = Some(format!("at {address}").into());
        place.machine = entities.add_machine(Machine { name: name.into(), description, session: self.session });
        place.machine
    }

    /// An object as anything else, with a track of its own.
    #[inline]
    pub fn lane_of(
        &mut self,
        object: usize,
        (kind, part): (LaneKind, Part),
        from: &QsSession,
        entities: &mut Entities,
    ) -> Option<LaneId> {
        let place = match part {
            Part::TimeEvents => 0,
            Part::Pools => 1,
            Part::Queues => 2,
            Part::Senders => 3,
            _ => 4,
        };
        let known = self.tables.objects.get(object)?;
        if let Some(lane) = known.lanes.get(place).copied().flatten() {
            return Some(lane);
        }
        let name = match from.names.object(known.address) {
            Some(name) => name.to_owned(),
            None => address_text(known.address, from.layout.config.sizes.object),
        };
        let lane = self.lane(&name, object as u32, kind, Some(part), entities);
        if let Some(place) = self.tables.objects.get_mut(object).and_then(|object| object.lanes.get_mut(place)) {
            *place = lane;
        }
        lane
    }
}

/// What the viewer is told of a session as a whole.
pub fn session_of(from: &QsSession) -> Session {
    let version = super::super::info::version_text(from.layout.config.version);
    let mut details = vec![("sizes".into(), from.layout.config.sizes.to_string().into())];
    let product = from.info.as_ref().map_or("QP", TargetInfo::product_text);
    if let Some(info) = &from.info {
        details.push(("build".into(), info.build_text().into()));
        details.push(("active objects at most".into(), info.max_active.to_string().into()));
    }
    Session { name: Some(format!("{product} {version}").into()), details }
}

/// Appends an event.
#[inline]
pub fn put(batch: &mut EventBatch, core: CoreId, time: Nanos, kind: EventKind) {
    batch.events.push(Event { time, core, kind });
}
