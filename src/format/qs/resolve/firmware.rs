//! The entities of the common model for the firmware of one session. They are made at their first use.

use std::borrow::Cow;

use super::super::info::TargetInfo;
use super::super::names::address_text;
use super::super::sessions::{Session as QsSession, Source};
use crate::model::{
    Arg, ArgValue, CoreId, Entities, Event, EventBatch, EventKind, Group, GroupId, Isr, IsrId, Lane, LaneId, LaneKind, LaneOwner,
    Machine, MachineId, NameId, Nanos, Session,
};

use super::tables::{ByNumber, Tables};

/// Groups of tracks, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackGroup {
    Records,
    Counters,
    TimeEvents,
    Pools,
    Queues,
    Senders,
    Sync,
    Scheduler,
}

impl TrackGroup {
    const COUNT: usize = 8;

    fn name(self) -> &'static str {
        match self {
            TrackGroup::Records => "Application records",
            TrackGroup::Counters => "Application counters",
            TrackGroup::TimeEvents => "Time events",
            TrackGroup::Pools => "Event pools (free blocks)",
            TrackGroup::Queues => "Event queues (used places)",
            TrackGroup::Senders => "Senders",
            TrackGroup::Sync => "Semaphores and mutexes",
            TrackGroup::Scheduler => "Scheduler",
        }
    }
}

/// Tracks that exist once in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingleTrack {
    Cpu,
    Lock,
    Failures,
    Memory,
    HostLink,
    Asserts,
    Critical,
    Ceiling,
}

impl SingleTrack {
    const COUNT: usize = 8;

    fn describe(self) -> (&'static str, LaneKind, Option<TrackGroup>) {
        match self {
            SingleTrack::Cpu => ("running", LaneKind::States, Some(TrackGroup::Scheduler)),
            SingleTrack::Lock => ("scheduler lock", LaneKind::Events, Some(TrackGroup::Scheduler)),
            SingleTrack::Ceiling => ("priority ceiling", LaneKind::Events, Some(TrackGroup::Scheduler)),
            SingleTrack::Critical => ("critical sections", LaneKind::Events, Some(TrackGroup::Scheduler)),
            SingleTrack::Failures => ("failed attempts", LaneKind::Events, None),
            SingleTrack::Memory => ("event memory", LaneKind::Events, None),
            SingleTrack::HostLink => ("host link", LaneKind::Events, None),
            SingleTrack::Asserts => ("assertions", LaneKind::Log, None),
        }
    }
}

/// The names of arguments of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgName {
    Ticks,
    Interval,
    LateTicks,
    Free,
    Margin,
    Object,
    Function,
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

impl ArgName {
    const COUNT: usize = 17;
    const TEXTS: [&'static str; ArgName::COUNT] = [
        "ticks",
        "interval",
        "late_ticks",
        "free",
        "margin",
        "object",
        "function",
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

/// The number of elements of an application record that are shown: more than fit into the 512 bytes that `qspy` reads.
const ELEMENTS_MAX: usize = 256;

/// The entities of one session.
pub struct Firmware {
    pub tables: Tables,
    /// The number of the session.
    pub session: u32,
    pub core: CoreId,
    /// The number of the current stretch without a gap.
    pub stretch: u32,
    /// The number of the stretch in which the session began.
    pub first_stretch: u32,
    groups: [Option<GroupId>; TrackGroup::COUNT],
    singles: [Option<LaneId>; SingleTrack::COUNT],
    words: [Option<NameId>; ArgName::COUNT],
    elements: Vec<Option<NameId>>,
    records: ByNumber<Option<LaneId>>,
    rates: ByNumber<Option<LaneId>>,
    isrs: ByNumber<Option<IsrId>>,
    threads: ByNumber<Option<LaneId>>,
    pub counters: Vec<Counter>,
    /// Which of the counters that the user asked for have had a value, in any session.
    pub counted: Vec<bool>,
}

/// An element of application records to draw as a counter.
#[derive(Clone, Copy)]
pub struct Counter {
    /// Its number among those that the user asked for.
    pub number: usize,
    pub id: u8,
    pub index: usize,
    /// Once it has been drawn in this session.
    pub lane: Option<LaneId>,
}

impl Firmware {
    pub fn new(session: u32, core: CoreId, stretch: u32) -> Firmware {
        Firmware {
            tables: Tables::default(),
            session,
            core,
            stretch,
            first_stretch: stretch,
            groups: [None; TrackGroup::COUNT],
            singles: [None; SingleTrack::COUNT],
            words: [None; ArgName::COUNT],
            elements: Vec::new(),
            records: ByNumber::default(),
            rates: ByNumber::default(),
            isrs: ByNumber::default(),
            threads: ByNumber::default(),
            counters: Vec::new(),
            counted: Vec::new(),
        }
    }

    fn group(&mut self, part: TrackGroup, entities: &mut Entities) -> Option<GroupId> {
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

    fn lane(
        &mut self,
        name: &str,
        number: u32,
        kind: LaneKind,
        part: Option<TrackGroup>,
        entities: &mut Entities,
    ) -> Option<LaneId> {
        let owner = match part {
            Some(part) => LaneOwner::Group(self.group(part, entities)?),
            None => LaneOwner::Firmware,
        };
        entities.add_lane(Lane { number, name: Some(name.into()), owner, kind, session: self.session })
    }

    /// A single track.
    pub fn single(&mut self, single: SingleTrack, entities: &mut Entities) -> Option<LaneId> {
        if self.singles[single as usize].is_none() {
            let (name, kind, part) = single.describe();
            self.singles[single as usize] = self.lane(name, single as u32, kind, part, entities);
        }
        self.singles[single as usize]
    }

    /// The name of an argument.
    pub fn word(&mut self, word: ArgName, entities: &mut Entities) -> Option<NameId> {
        let place = self.words.get_mut(word as usize)?;
        if place.is_none() {
            *place = entities.add_name(ArgName::TEXTS.get(word as usize)?);
        }
        *place
    }

    /// An argument.
    pub fn arg(&mut self, word: ArgName, value: ArgValue, entities: &mut Entities) -> Option<Arg> {
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
    pub fn record(&mut self, id: u8, from: &QsSession, entities: &mut Entities) -> Option<LaneId> {
        if self.records[id].is_none() {
            let name = record_name(id, from);
            self.records[id] = self.lane(&name, id.into(), LaneKind::Events, Some(TrackGroup::Records), entities);
        }
        self.records[id]
    }

    /// The counter of an element of an application record.
    pub fn counter(&mut self, number: usize, from: &QsSession, entities: &mut Entities) -> Option<LaneId> {
        let &Counter { id, index, lane, .. } = self.counters.get(number)?;
        if lane.is_some() {
            return lane;
        }
        let name = format!("{}:{index}", record_name(id, from));
        let lane = self.lane(&name, number as u32, LaneKind::Values, Some(TrackGroup::Counters), entities);
        self.counters.get_mut(number)?.lane = lane;
        lane
    }

    /// The counter of the ticks of a rate.
    pub fn rate(&mut self, rate: u8, entities: &mut Entities) -> Option<LaneId> {
        if self.rates[rate].is_none() {
            let name = format!("ticks of rate {rate}");
            self.rates[rate] = self.lane(&name, rate.into(), LaneKind::Values, Some(TrackGroup::TimeEvents), entities);
        }
        self.rates[rate]
    }

    /// The track of the waits of the thread of a priority.
    pub fn thread(&mut self, priority: u8, entities: &mut Entities) -> Option<LaneId> {
        if self.threads[priority].is_none() {
            let (name, number) = (format!("thread of priority {priority}"), 1 << 20 | u32::from(priority));
            self.threads[priority] = self.lane(&name, number, LaneKind::Events, Some(TrackGroup::Sync), entities);
        }
        self.threads[priority]
    }

    /// The interrupt of a priority.
    pub fn isr(&mut self, priority: u8, entities: &mut Entities) -> Option<IsrId> {
        let isr = &mut self.isrs[priority];
        if isr.is_none() {
            let name = Some(format!("ISR of priority {priority}").into());
            *isr = entities.add_isr(Isr { number: priority.into(), name, core: self.core, session: self.session });
        }
        *isr
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
        let width = from.layout.config.sizes.object;
        let name = from.names.object_or_address(place.address, width);
        let description = Some(format!("at {}", address_text(place.address, width)).into());
        place.machine = entities.add_machine(Machine { name: name.into(), description, session: self.session });
        place.machine
    }

    /// The track of an object that is not a state machine.
    #[inline]
    pub fn lane_of(
        &mut self,
        object: usize,
        (kind, part): (LaneKind, TrackGroup),
        from: &QsSession,
        entities: &mut Entities,
    ) -> Option<LaneId> {
        let place = match part {
            TrackGroup::TimeEvents => 0,
            TrackGroup::Pools => 1,
            TrackGroup::Queues => 2,
            TrackGroup::Senders => 3,
            _ => 4,
        };
        let known = self.tables.objects.get(object)?;
        if let Some(lane) = known.lanes.get(place).copied().flatten() {
            return Some(lane);
        }
        let name = from.names.object_or_address(known.address, from.layout.config.sizes.object);
        let lane = self.lane(&name, object as u32, kind, Some(part), entities);
        if let Some(place) = self.tables.objects.get_mut(object).and_then(|object| object.lanes.get_mut(place)) {
            *place = lane;
        }
        lane
    }
}

/// The name of an application record, or its number among these.
pub fn record_name(id: u8, from: &QsSession) -> Cow<'_, str> {
    let unnamed = || format!("USER+{:03}", id.saturating_sub(from.layout.config.user_base)).into();
    from.names.record(id).map_or_else(unnamed, Cow::Borrowed)
}

/// The description of a session for the viewer.
pub fn session_of(from: &QsSession) -> Session {
    let version = super::super::info::version_text(from.layout.config.version);
    let mut details = vec![("sizes".into(), from.layout.config.sizes.to_string().into())];
    let product = from.info.as_ref().map_or("QP", TargetInfo::product_text);
    if let Some(info) = &from.info {
        details.push(("build".into(), info.build_text().into()));
        details.push(("active objects at most".into(), info.max_active.to_string().into()));
    }
    let mark = match from.version_source {
        Source::Inferred => " (version inferred)",
        Source::Default => " (version assumed)",
        _ => "",
    };
    Session { name: Some(format!("{product} {version}{mark}").into()), details, ..Session::default() }
}

/// Appends an event.
#[inline]
pub fn push_event(batch: &mut EventBatch, core: CoreId, time: Nanos, kind: EventKind) {
    batch.events.push(Event { time, core, kind });
}
