//! The events of each record. The handler of the table's kinds is one state machine per session ([`RunState`]).

use crate::model::{
    Arg, ArgValue, Args, EventKind, LaneId, LaneKind, Level, LogNote, LogSeverity, LossNote, MachineId, NameId, Nanos, Origin,
    Packed, StepResult, losses,
};

use super::super::decode::{Records, Stored};
use super::super::layout::FixedFields;
use super::super::record::{Field, Kind, command_name, error_text};
use super::super::sessions::{Session, Source};
use super::firmware::{ArgName, Counter, Firmware, SingleTrack, TrackGroup, push_event};
use super::tables::{Armed, ByNumber, Verb};
use super::view::{ViewFields, ViewValue};
use super::{DrawOptions, Resolved};

/// The first version whose scheduler records to what it returns.
const RETURNS_FROM: u16 = 550;

/// The first version in which the event at the front of a queue takes one of its places. It has a place of its own.
const FRONT_COUNTS_FROM: u16 = 511;

/// The first version that records the places of a queue that are free after a post, and not before it.
const FREE_AFTER_POST_FROM: u16 = 636;

/// How many mutexes are followed.
const MUTEXES_LIMIT: usize = 256;

/// The state of the scheduler and of the event in progress, in one session.
#[derive(Default)]
pub struct RunState {
    /// The sender and signal of the event that is being published.
    publishing: Option<(Origin, NameId)>,
    /// The priority that was scheduled last, until it takes an event.
    scheduled: Option<u8>,
    /// Before 5.5: the priorities that were scheduled and have not ended their step, each with the one that it pre-empted.
    started: Vec<(u8, u8)>,
    /// By priority: the object that runs at it, and whether it is preempted.
    running: ByNumber<Option<usize>>,
    preempted: ByNumber<bool>,
    /// By priority: the label while it runs, and while the scheduler is locked up to it.
    running_labels: ByNumber<Option<NameId>>,
    lock_labels: ByNumber<Option<NameId>>,
    /// Whether posts record the places that were free before them, where the records say so and the version is not known.
    free_is_before: Option<bool>,
    /// The priority that runs, and the one before it.
    current: Option<(u8, u8)>,
    /// The mutexes that are held, with the priority of the thread; and the ceiling of each, to which it raises that thread.
    holders: Vec<(usize, u8)>,
    ceilings: Vec<(usize, u8)>,
    /// By ceiling: the thread that runs at it.
    raised: ByNumber<Option<u8>>,
    /// The nesting depth of scheduler locks.
    locks: u32,
    /// By priority: whether a slice of the thread's wait is open.
    blocked: ByNumber<bool>,
}

impl RunState {
    /// Discards the state at a gap, except the priorities of objects.
    pub fn forget(&mut self) {
        (self.publishing, self.scheduled) = (None, None);
        (self.current, self.holders) = (None, Vec::new());
        self.started.clear();
        self.locks = 0;
        self.raised.clear();
        self.preempted.clear();
        self.blocked.clear();
    }
}

/// Resolves one record.
pub struct RecordResolver<'a, 'b> {
    pub firmware: &'a mut Firmware,
    pub run_state: &'a mut RunState,
    pub from: &'a Session,
    pub draw: &'a DrawOptions,
    pub out: &'a mut Resolved<'b>,
    pub now: Nanos,
}

impl RecordResolver<'_, '_> {
    /// Emits a loss, and discards the state from before it.
    #[cold]
    pub fn lose(&mut self, note: LossNote) {
        self.firmware.stretch += 1;
        self.run_state.forget();
        self.out.batch.add_loss(self.now, self.firmware.core, note);
    }

    /// The target was reset, and runs the same program.
    pub fn begin_session(&mut self, number: u32) {
        let mut begun = Firmware::new(number, self.firmware.core, self.firmware.stretch + 1);
        begun.counters = self.firmware.counters.iter().map(|&counter| Counter { lane: None, ..counter }).collect();
        begun.counted = std::mem::take(&mut self.firmware.counted);
        begun.tables.lookups = self.firmware.tables.lookups;
        *self.firmware = begun;
        *self.run_state = RunState::default();
        self.emit(EventKind::SessionStart(number));
    }

    #[inline]
    pub(super) fn emit(&mut self, kind: EventKind) -> Option<()> {
        push_event(self.out.batch, self.firmware.core, self.now, kind);
        Some(())
    }

    #[inline]
    pub(super) fn object(&mut self, address: u64) -> Option<usize> {
        self.firmware.tables.object(address)
    }

    #[inline]
    fn state(&mut self, address: u64) -> Option<NameId> {
        let width = self.from.layout.config.sizes.function;
        self.firmware.tables.function(address, width, &self.from.names, self.out.entities)
    }

    #[inline]
    pub(super) fn signal(&mut self, signal: u64, object: Option<usize>) -> Option<NameId> {
        self.firmware.tables.signal(signal as u32, object, &self.from.names, self.out.entities)
    }

    /// The sender of an event.
    #[inline]
    fn sender(&mut self, fields: FixedFields<'_>) -> Origin {
        let address = fields.uint(Field::Sender);
        if address == 0 {
            return Origin::UNKNOWN;
        }
        let Some(index) = self.object(address) else { return Origin::UNKNOWN };
        if let Some(machine) = self.firmware.tables.objects.get(index).and_then(|object| object.machine) {
            return Origin::machine(machine);
        }
        let lane = self.firmware.lane_of(index, (LaneKind::Events, TrackGroup::Senders), self.from, self.out.entities);
        lane.map_or(Origin::UNKNOWN, Origin::lane)
    }

    /// Emits the events of a record. `None`: a field or entity that is required is missing, or a limit is reached.
    #[inline]
    pub fn record(&mut self, records: &Records, stored: &Stored) -> Option<()> {
        let fields = records.fields(&self.from.layout, stored)?;
        if let Some((_, published)) = self.run_state.publishing {
            self.check_publishing(stored.kind, fields, published);
        }
        match stored.kind {
            Kind::Dispatch => self.dispatch(fields),
            Kind::InternTran => self.step_end(StepResult::Internal, fields),
            Kind::Tran => self.step_end(StepResult::Transition, fields),
            Kind::Ignored => self.step_end(StepResult::Ignored, fields),
            Kind::Post => self.post(fields, false),
            Kind::PostLifo => self.post(fields, true),
            Kind::Get => self.get(fields, Some(Field::Free)),
            Kind::GetLast => self.get(fields, None),
            Kind::StateEntry => self.note(Verb::Entry, fields, Field::State),
            Kind::StateExit => self.note(Verb::Exit, fields, Field::State),
            Kind::StateInit => self.note(Verb::Init, fields, Field::Target),
            Kind::TranHist => self.note(Verb::History, fields, Field::Target),
            Kind::TranEp => self.note(Verb::EntryPoint, fields, Field::Target),
            Kind::TranXp => self.note(Verb::ExitPoint, fields, Field::Target),
            Kind::Unhandled => self.note(Verb::Unhandled, fields, Field::State),
            Kind::PoolGet | Kind::PoolPut => self.pool(fields),
            Kind::SchedNext | Kind::SchedPreempt | Kind::SchedRestore => {
                self.switch(fields.uint(Field::Next) as u8, fields.uint(Field::Previous) as u8)
            }
            Kind::SchedResume => self.switch_back(fields.uint(Field::Next) as u8, fields.uint(Field::Previous) as u8),
            Kind::SchedIdle => self.switch_back(0, fields.uint(Field::Previous) as u8),
            Kind::SchedLock => self.lock(fields),
            Kind::SchedUnlock => self.unlock(),
            Kind::TimeArm | Kind::TimeRearm => self.arm(fields, stored.time),
            Kind::TimePost => self.time_post(fields, stored.time),
            Kind::TimeDisarm => self.disarm(fields),
            Kind::Publish => self.publish(fields),
            Kind::User => self.user(records, stored),
            // Drawn on request only.
            Kind::New
            | Kind::NewRef
            | Kind::DeleteRef
            | Kind::Gc
            | Kind::GcAttempt
            | Kind::TimeAutoDisarm
            | Kind::TimeDisarmAttempt
            | Kind::CritEntry
            | Kind::CritExit
                if !self.draw.everything =>
            {
                None
            }
            _ => self.rare(records, stored, fields),
        }
    }

    #[inline]
    fn dispatch(&mut self, fields: FixedFields<'_>) -> Option<()> {
        let object = self.object(fields.uint(Field::Obj))?;
        let signal = self.signal(fields.uint(Field::Sig), Some(object))?;
        let state = self.state(fields.uint(Field::State));
        let machine = self.firmware.machine(object, self.from, self.out.entities)?;
        let stretch = self.firmware.stretch;
        self.firmware.tables.objects.get_mut(object)?.step_in = Some(stretch);
        if self.draw.lacks_gets {
            self.emit(EventKind::Taken { machine, signal, fill: Level::UNKNOWN });
            self.out.batch.added += 1;
        }
        self.emit(EventKind::StepBegin { machine, signal, state: state.into() })
    }

    #[inline]
    fn step_end(&mut self, result: StepResult, fields: FixedFields<'_>) -> Option<()> {
        let object = self.object(fields.uint(Field::Obj))?;
        let from = self.state(fields.uint(if result == StepResult::Ignored { Field::State } else { Field::Source }));
        let to = if result == StepResult::Transition { self.state(fields.uint(Field::Target)) } else { None };
        let machine = self.firmware.machine(object, self.from, self.out.entities)?;
        self.firmware.tables.objects.get_mut(object)?.step_in = None;
        self.emit(EventKind::StepEnd { machine, result, from: from.into(), to: to.into() });
        if let Some(&(priority, preempted)) = self.run_state.started.last() {
            self.run_ends(object, priority, preempted);
        }
        Some(())
    }

    /// A note of what a machine does, from a record without a time.
    #[inline]
    fn note(&mut self, verb: Verb, fields: FixedFields<'_>, state: Field) -> Option<()> {
        let object = self.object(fields.uint(Field::Obj))?;
        let machine = self.firmware.machine(object, self.from, self.out.entities)?;
        let width = self.from.layout.config.sizes.function;
        let label = self.firmware.tables.note(verb, fields.uint(state), width, &self.from.names, self.out.entities)?;
        self.emit(EventKind::MachineNote { machine, label })
    }

    /// The fill of an object's queue after a post that leaves `free` places.
    #[inline]
    fn fill_after_post(&mut self, object_index: usize, free: u64) -> Level {
        let stretch = self.firmware.stretch;
        // The queue is empty if no record since the target's reset is missing and it has not been used.
        let is_new = stretch == self.firmware.first_stretch && self.from.info.is_some_and(|info| info.is_reset);
        let Some(object) = self.firmware.tables.objects.get_mut(object_index) else { return Level::UNKNOWN };
        if self.draw.lacks_gets {
            return Level::UNKNOWN;
        }
        let was_used = std::mem::replace(&mut object.is_used, true);
        let was_empty = object.empty_in.take() == Some(stretch) || (is_new && !was_used);
        let mut free = u32::try_from(free).unwrap_or(u32::MAX);
        object.posted_in = Some((stretch, free));
        if was_empty {
            object.free_when_empty = Some((stretch, free));
        }
        if self.free_is_before() && !(was_empty && self.from.layout.config.version < FRONT_COUNTS_FROM) {
            let Some(before) = free.checked_sub(1) else { return Level::UNKNOWN };
            free = before;
        }
        self.fill(object_index, free)
    }

    /// Whether posts record the places that were free before them.
    #[inline]
    fn free_is_before(&self) -> bool {
        self.run_state.free_is_before.unwrap_or(self.from.layout.config.version < FREE_AFTER_POST_FROM)
    }

    /// The fill of an object's queue with this number of free places.
    #[inline]
    fn fill(&self, object: usize, free: u32) -> Level {
        let known = self.firmware.tables.objects.get(object).and_then(|object| object.free_when_empty);
        let Some((known_in, free_when_empty)) = known else { return Level::UNKNOWN };
        let front_counts = self.from.layout.config.version >= FRONT_COUNTS_FROM;
        // If it does not, how full a queue is that is nearly empty can only be told from the records before.
        if !front_counts && known_in != self.firmware.stretch {
            return Level::UNKNOWN;
        }
        // The event has taken a place of those that were free after it.
        let capacity = free_when_empty.saturating_add(u32::from(!(front_counts && self.free_is_before())));
        capacity.checked_sub(free).map_or(Level::UNKNOWN, Level::known)
    }

    /// The fill of an object's queue after a get that leaves `free` places; `None`: it was the last event.
    #[inline]
    fn fill_after_get(&mut self, object_index: usize, free: Option<u64>) -> Level {
        let stretch = self.firmware.stretch;
        let is_open = matches!(self.from.version_source, Source::Inferred | Source::Default);
        let Some(object) = self.firmware.tables.objects.get_mut(object_index) else { return Level::UNKNOWN };
        let posted = object.posted_in.take().filter(|&(posted_in, _)| posted_in == stretch);
        object.is_used = true;
        object.empty_in = if free.is_none() { Some(stretch) } else { None };
        let Some(free) = free else { return Level::known(0) };
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        if is_open && let Some((_, posted)) = posted {
            self.compare_free(posted, free);
        }
        self.fill(object_index, free)
    }

    /// A post and the next get of a queue: between them one place becomes free, if the post recorded those that were free after it.
    fn compare_free(&mut self, posted: u32, got: u32) {
        if let Some(places @ (0 | 1)) = got.checked_sub(posted) {
            self.run_state.free_is_before = Some(places == 0);
        }
    }

    /// The active object that a record names, its signal, and its machine.
    #[inline]
    fn addressed(&mut self, fields: FixedFields<'_>) -> Option<(usize, NameId, MachineId)> {
        let object = self.object(fields.uint(Field::Ao))?;
        let signal = self.signal(fields.uint(Field::Sig), Some(object))?;
        Some((object, signal, self.firmware.machine(object, self.from, self.out.entities)?))
    }

    #[inline]
    fn post(&mut self, fields: FixedFields<'_>, urgent: bool) -> Option<()> {
        let (object, signal, to) = self.addressed(fields)?;
        // Only an object itself posts an event to the front of its queue.
        let by = if urgent { Origin::machine(to) } else { self.sender(fields) };
        let fill = self.fill_after_post(object, fields.uint(Field::Free));
        self.emit(EventKind::Posted { to, by, signal, fill, urgent })
    }

    #[inline]
    fn get(&mut self, fields: FixedFields<'_>, free: Option<Field>) -> Option<()> {
        let (object, signal, machine) = self.addressed(fields)?;
        let fill = self.fill_after_get(object, free.map(|free| fields.uint(free)));
        self.emit(EventKind::Taken { machine, signal, fill });
        if let Some(priority) = self.run_state.scheduled.take() {
            self.learn_priority(priority, object);
        }
        Some(())
    }

    /// The first object that takes an event after a priority was scheduled has that priority.
    fn learn_priority(&mut self, priority: u8, object: usize) -> Option<()> {
        if self.run_state.ceilings.iter().any(|&(_, ceiling)| ceiling == priority) {
            return None;
        }
        if self.run_state.running[priority].replace(object) != Some(object) {
            let shown = self.run_state.running_labels[priority].take();
            let machine = self.firmware.tables.objects.get(object)?.machine?;
            self.emit(EventKind::MachinePriority { machine, priority: priority.into() });
            if shown.is_none() || self.running_label(priority) != shown {
                self.show_running(priority);
            }
        }
        Some(())
    }

    fn show_running(&mut self, priority: u8) -> Option<()> {
        let lane = self.firmware.single(SingleTrack::Cpu, self.out.entities)?;
        let label = match self.run_state.running_labels[priority] {
            Some(label) => label,
            None => self.running_label(priority)?,
        };
        self.emit(EventKind::State { lane, label: label.into(), args: Args::NONE })
    }

    /// The label of a priority while it runs.
    #[cold]
    fn running_label(&mut self, priority: u8) -> Option<NameId> {
        if let Some(own) = self.run_state.raised[priority].filter(|&own| own != priority) {
            return self.own_label(own);
        }
        let label = self.own_label(priority);
        self.run_state.running_labels[priority] = label;
        label
    }

    fn own_label(&mut self, priority: u8) -> Option<NameId> {
        let mut object = self.run_state.running[priority];
        if object.is_none() {
            // It has not taken an event yet, but the first pass knows who will.
            let known = self.from.priorities.iter().find(|(known, _)| *known == priority);
            object = known.and_then(|&(_, address)| self.object(address));
        }
        let machine = object.and_then(|object| self.firmware.machine(object, self.from, self.out.entities));
        let entities = &mut *self.out.entities;
        let name = machine.and_then(|machine| entities.machines.get(machine.index())).map(|machine| machine.name.clone());
        match name {
            _ if priority == 0 => entities.add_name("idle"),
            Some(name) => entities.add_name(&name),
            None => entities.add_name(&format!("priority {priority}")),
        }
    }

    /// A mutex raises the thread of a priority to its ceiling, at which others run at other times.
    #[cold]
    fn raise(&mut self, own: u8, ceiling: u8) {
        self.run_state.raised[ceiling] = Some(own);
        self.run_state.running_labels[ceiling] = None;
    }

    /// A thread that holds a mutex ran at `own`, and leaves off at another priority: the ceiling of the mutex.
    #[cold]
    fn learn_ceiling(&mut self, own: u8, ceiling: u8) -> Option<()> {
        let &(mutex, _) = self.run_state.holders.iter().rev().find(|(_, holder)| *holder == own)?;
        let running = &self.run_state.running;
        // No object has this priority of its own. Records of switches may be missing by a filter.
        if ceiling < own || running[ceiling].is_some() && running[ceiling] != running[own] {
            return None;
        }
        let ceilings = &mut self.run_state.ceilings;
        ceilings.retain(|&(known, _)| known != mutex);
        ceilings.truncate(MUTEXES_LIMIT - 1);
        ceilings.push((mutex, ceiling));
        self.raise(own, ceiling);
        Some(())
    }

    /// The machine that is in a step at a priority.
    fn in_step(&self, priority: u8) -> Option<MachineId> {
        let object = self.firmware.tables.objects.get(self.run_state.running[priority]?)?;
        object.machine.filter(|_| object.step_in == Some(self.firmware.stretch))
    }

    /// The scheduler switches from one priority to another; 0 is idle.
    fn switch(&mut self, next: u8, previous: u8) -> Option<()> {
        self.run_state.scheduled = Some(next).filter(|&next| next != 0);
        if let Some((current, _)) = self.run_state.current.replace((next, previous))
            && current != previous
            && !self.run_state.holders.is_empty()
        {
            self.learn_ceiling(current, previous);
        }
        // A thread that waited until its timeout: no other record says so.
        self.unblock(next);
        if self.from.layout.config.version < RETURNS_FROM {
            let started = &mut self.run_state.started;
            started.retain(|&(priority, _)| priority <= previous && priority < next);
            started.push((next, previous));
        }
        if next > previous
            && previous != 0
            && let Some(machine) = self.in_step(previous)
        {
            // It may be so already: a thread pre-empts it, and when that waits, an object of a higher priority runs.
            if !std::mem::replace(&mut self.run_state.preempted[previous], true) {
                self.emit(EventKind::Preempted { machine });
            }
        }
        self.continues(next)
    }

    /// The scheduler returns to a priority, or to the idle loop.
    fn switch_back(&mut self, next: u8, previous: u8) -> Option<()> {
        match self.run_state.current {
            // QXK before 7.1: an object made way to a thread, which has been recorded, and afterwards the object's activation ends.
            Some((current, before)) if before == previous && current > next && current != previous => None,
            _ => self.switch(next, previous),
        }
    }

    /// A priority runs, perhaps one that was pre-empted.
    fn continues(&mut self, next: u8) -> Option<()> {
        if std::mem::take(&mut self.run_state.preempted[next]) {
            // It continues its step, and takes no event.
            self.run_state.scheduled = None;
            if let Some(machine) = self.in_step(next) {
                self.emit(EventKind::Unpreempted { machine });
            }
        }
        self.show_running(next)
    }

    /// Before 5.5 the scheduler says which priority it starts, but not that it returns to the one that was pre-empted, or to the idle loop: it
    /// does so when the step ends, unless it starts another one.
    #[cold]
    fn run_ends(&mut self, object: usize, priority: u8, preempted: u8) -> Option<()> {
        if self.run_state.running[priority] == Some(object) {
            self.run_state.started.pop();
            self.continues(preempted)?;
        }
        Some(())
    }

    fn lock(&mut self, fields: FixedFields<'_>) -> Option<()> {
        let lane = self.firmware.single(SingleTrack::Lock, self.out.entities)?;
        let ceiling = fields.uint(Field::Ceiling) as u8;
        let label = &mut self.run_state.lock_labels[ceiling];
        if label.is_none() {
            *label = self.out.entities.add_name(&format!("locked up to priority {ceiling}"));
        }
        let label = (*label)?;
        self.run_state.locks += 1;
        self.emit(EventKind::SpanBegin { lane, label: label.into(), args: Args::NONE })
    }

    fn unlock(&mut self) -> Option<()> {
        self.run_state.locks = self.run_state.locks.checked_sub(1)?;
        let lane = self.firmware.single(SingleTrack::Lock, self.out.entities)?;
        self.emit(EventKind::SpanEnd { lane, args: Args::NONE })
    }

    #[inline]
    fn pool(&mut self, fields: FixedFields<'_>) -> Option<()> {
        let object = self.object(fields.uint(Field::Obj))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Values, TrackGroup::Pools), self.from, self.out.entities)?;
        self.emit(EventKind::Value { lane, value: Packed(fields.uint(Field::Free).cast_signed()) })
    }

    fn publish(&mut self, fields: FixedFields<'_>) -> Option<()> {
        let signal = self.signal(fields.uint(Field::Sig), None)?;
        let by = self.sender(fields);
        self.run_state.publishing = Some((by, signal));
        self.emit(EventKind::Publish { by, signal })
    }

    /// Ends the publishing of an event if a record no longer belongs to it.
    fn check_publishing(&mut self, kind: Kind, fields: FixedFields<'_>, published: NameId) {
        let belongs = match kind {
            Kind::SchedLock | Kind::NewRef | Kind::PoolGet => true,
            Kind::Post => {
                let object = self.object(fields.uint(Field::Ao));
                self.signal(fields.uint(Field::Sig), object) == Some(published)
            }
            _ => false,
        };
        if !belongs && let Some((by, _)) = self.run_state.publishing.take() {
            self.emit(EventKind::PublishEnd { by });
        }
    }

    fn time_event(&mut self, fields: FixedFields<'_>) -> Option<(usize, LaneId)> {
        let object = self.object(fields.uint(Field::Te))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Events, TrackGroup::TimeEvents), self.from, self.out.entities)?;
        Some((object, lane))
    }

    fn arm(&mut self, fields: FixedFields<'_>, stamp: u32) -> Option<()> {
        let (object, lane) = self.time_event(fields)?;
        let (ticks, interval) = (fields.uint(Field::Ticks), fields.uint(Field::Interval));
        let stretch = self.firmware.stretch;
        let place = self.firmware.tables.objects.get_mut(object)?;
        let was_open = place.armed_in.replace(stretch) == Some(stretch);
        place.armed = Armed { at: stamp, ticks: ticks as u32, interval: interval as u32, is_first: true };
        if was_open {
            self.emit(EventKind::SpanEnd { lane, args: Args::NONE });
        }
        self.begin_armed(lane, ticks, interval)
    }

    fn begin_armed(&mut self, lane: LaneId, ticks: u64, interval: u64) -> Option<()> {
        let label = self.firmware.word(ArgName::Armed, self.out.entities)?;
        let ticks = self.firmware.arg(ArgName::Ticks, ArgValue::Uint(ticks), self.out.entities)?;
        let interval = match interval {
            0 => None,
            interval => self.firmware.arg(ArgName::Interval, ArgValue::Uint(interval), self.out.entities),
        };
        let args = match interval {
            Some(interval) => self.out.batch.add_args(&[ticks, interval]),
            None => self.out.batch.add_args(&[ticks]),
        };
        self.emit(EventKind::SpanBegin { lane, label: label.into(), args })
    }

    fn time_post(&mut self, fields: FixedFields<'_>, stamp: u32) -> Option<()> {
        let (object, lane) = self.time_event(fields)?;
        let stretch = self.firmware.stretch;
        let bits = 8 * u32::from(self.from.layout.config.sizes.time).clamp(1, 4);
        let place = self.firmware.tables.objects.get_mut(object)?;
        if place.armed_in != Some(stretch) {
            // Armed before the recording began, or before a gap. The signal is one of the active object that it is posted to.
            let ao = self.object(fields.uint(Field::Ao));
            let signal = self.signal(fields.uint(Field::Sig), ao)?;
            self.emit(EventKind::Instant { lane, label: signal.into(), args: Args::NONE });
            return Some(());
        }
        let armed = place.armed;
        let interval = armed.interval;
        place.armed_in = (interval > 0).then_some(stretch);
        place.armed = Armed { at: stamp, ticks: interval, interval, is_first: false };
        let passed = stamp.wrapping_sub(armed.at) & u32::MAX >> (32 - bits);
        let late = self.draw.units_per_tick.and_then(|units| armed.late_ticks(passed, bits, units));
        // The ticks of other rates are not measured.
        let late = late.filter(|&late| late != 0 && fields.uint(Field::Rate) == 0);
        let late = late.and_then(|late| self.firmware.arg(ArgName::LateTicks, ArgValue::Int(late), self.out.entities));
        let args = late.map_or(Args::NONE, |late| self.out.batch.add_args(&[late]));
        self.emit(EventKind::SpanEnd { lane, args });
        if interval > 0 { self.begin_armed(lane, interval.into(), interval.into()) } else { Some(()) }
    }

    /// A time event was disarmed before its time.
    fn disarm(&mut self, fields: FixedFields<'_>) -> Option<()> {
        let (object, lane) = self.time_event(fields)?;
        let stretch = self.firmware.stretch;
        if self.firmware.tables.objects.get_mut(object)?.armed_in.take() == Some(stretch) {
            let result = self.firmware.word(ArgName::Disarmed, self.out.entities)?;
            let result = self.firmware.arg(ArgName::ClosedBy, ArgValue::Name(result), self.out.entities)?;
            let args = self.out.batch.add_args(&[result]);
            self.emit(EventKind::SpanEnd { lane, args });
        }
        Some(())
    }

    /// Less frequent records, out of the hot path.
    #[inline(never)]
    fn rare(&mut self, records: &Records, stored: &Stored, fields: FixedFields<'_>) -> Option<()> {
        match stored.kind {
            Kind::InitTran => {
                let object = self.object(fields.uint(Field::Obj))?;
                let state = self.state(fields.uint(Field::State))?;
                let machine = self.firmware.machine(object, self.from, self.out.entities)?;
                self.emit(EventKind::InState { machine, state });
            }
            Kind::Subscribe => self.signal_note("subscribe", fields)?,
            Kind::Unsubscribe => self.signal_note("unsubscribe", fields)?,
            Kind::Defer => self.signal_note("defer", fields)?,
            Kind::Recall => self.signal_note("recall", fields)?,
            Kind::RecallAttempt => {
                let object = self.object(fields.uint(Field::Ao))?;
                let machine = self.firmware.machine(object, self.from, self.out.entities)?;
                let label = self.out.entities.add_name("recall: nothing deferred")?;
                self.emit(EventKind::MachineNote { machine, label });
            }
            Kind::QueuePost | Kind::QueuePostLifo | Kind::QueueGet | Kind::QueueGetLast => self.queue(stored.kind, fields)?,
            Kind::Tick => {
                let lane = self.firmware.rate(fields.uint(Field::Rate) as u8, self.out.entities)?;
                self.emit(EventKind::Value { lane, value: Packed(fields.uint(Field::Count).cast_signed()) });
            }
            Kind::IsrEntry | Kind::IsrExit => {
                let isr = self.firmware.isr(fields.uint(Field::Prio) as u8, self.out.entities)?;
                let is_entry = stored.kind == Kind::IsrEntry;
                self.emit(if is_entry { EventKind::IsrEnter(isr) } else { EventKind::IsrExit(isr) });
            }
            Kind::AssertFail | Kind::OldAssert => self.assertion(records, stored)?,
            _ => return self.rarest(records, stored, fields),
        }
        Some(())
    }

    /// A note of what an active object did with a signal.
    fn signal_note(&mut self, word: &'static str, fields: FixedFields<'_>) -> Option<()> {
        let (_, signal, machine) = self.addressed(fields)?;
        let label = self.firmware.tables.phrase(word, signal, self.out.entities)?;
        self.emit(EventKind::MachineNote { machine, label })
    }

    /// An operation on a queue that belongs to no active object.
    fn queue(&mut self, kind: Kind, fields: FixedFields<'_>) -> Option<()> {
        let object = self.object(fields.uint(Field::Queue))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Values, TrackGroup::Queues), self.from, self.out.entities)?;
        let fill = match kind {
            Kind::QueuePost | Kind::QueuePostLifo => self.fill_after_post(object, fields.uint(Field::Free)),
            Kind::QueueGet => self.fill_after_get(object, Some(fields.uint(Field::Free))),
            _ => self.fill_after_get(object, None),
        };
        self.emit(EventKind::Value { lane, value: Packed(fill.get()?.into()) })
    }

    fn assertion(&mut self, records: &Records, stored: &Stored) -> Option<()> {
        let lane = self.firmware.single(SingleTrack::Asserts, self.out.entities)?;
        let fields = self.from.layout.fields(stored.kind, records.data_of(stored));
        let (module, location) = (String::from_utf8_lossy(fields.text(Field::Module)).into_owned(), fields.uint(Field::Location));
        let body = self.out.batch.texts.add(&format!("assertion {location} failed in module {module}"));
        let name = self.out.entities.add_name("assertion failed")?;
        let module = ArgValue::Text(self.out.batch.texts.add(&module));
        let module = self.firmware.arg(ArgName::Module, module, self.out.entities)?;
        let location = self.firmware.arg(ArgName::Location, ArgValue::Uint(location), self.out.entities)?;
        let args = self.out.batch.add_args(&[module, location]);
        let note = LogNote { lane, severity: LogSeverity::Fatal, name: name.into(), body, source: None, grade: None, args };
        self.out.batch.add_log(self.now, self.firmware.core, note);
        Some(())
    }

    /// An instant named `text` on one of the single tracks.
    pub(super) fn instant(&mut self, single: SingleTrack, text: &str, args: &[Option<Arg>]) -> Option<()> {
        let lane = self.firmware.single(single, self.out.entities)?;
        let label = self.out.entities.add_name(text)?;
        let start = self.out.batch.args.len();
        self.out.batch.args.extend(args.iter().flatten());
        let args = self.out.batch.args_since(start);
        self.emit(EventKind::Instant { lane, label: label.into(), args })
    }

    /// The target's answer to a command of the host.
    pub(super) fn command(&mut self, answer: &str, command: u64) -> Option<()> {
        let name = command_name(command as u8).map_or_else(|| format!("{command:#04X}"), str::to_owned);
        self.instant(SingleTrack::HostLink, &format!("{answer} {name}"), &[])
    }

    /// The target's answer to a question of the host, with its data.
    fn answer(&mut self, text: &str, records: &Records, stored: &Stored) -> Option<()> {
        let mut args = Vec::new();
        for (name, value) in ViewFields::of(records, stored, &self.from.layout, &self.from.names).of_data() {
            let value = match value {
                ViewValue::Uint(value) => ArgValue::Uint(*value),
                ViewValue::Int(value) => ArgValue::Int(*value),
                ViewValue::Float(value) => ArgValue::Float(*value),
                ViewValue::Text(text) => ArgValue::Text(self.out.batch.texts.add(text)),
                ViewValue::Bytes(bytes) => self.bytes(bytes),
            };
            args.push(self.out.entities.add_name(name).map(|name| Arg::new(name, value)));
        }
        self.instant(SingleTrack::HostLink, text, &args)
    }

    /// Rare records: failed attempts, threads that block, the link to the host.
    fn rarest(&mut self, records: &Records, stored: &Stored, fields: FixedFields<'_>) -> Option<()> {
        match stored.kind {
            Kind::PostAttempt => {
                self.failure("post", fields, Some(Field::Ao), &[(ArgName::Free, Field::Free), (ArgName::Margin, Field::Margin)]);
                self.not_posted(fields)
            }
            Kind::QueuePostAttempt => self.failure(
                "post",
                fields,
                Some(Field::Queue),
                &[(ArgName::Free, Field::Free), (ArgName::Margin, Field::Margin)],
            ),
            Kind::DeferAttempt => self.failure("defer", fields, Some(Field::Ao), &[]),
            Kind::NewAttempt => self.failure("new", fields, None, &[(ArgName::Size, Field::Size)]),
            Kind::PoolGetAttempt => {
                let object = self.named_arg(fields.uint(Field::Obj));
                let free = self.uint_arg(ArgName::Free, fields.uint(Field::Free));
                let margin = self.uint_arg(ArgName::Margin, fields.uint(Field::Margin));
                self.instant(SingleTrack::Failures, "pool get failed", &[object, free, margin])
            }
            Kind::SemBlockAttempt => self.sync_failure("semaphore", fields, Field::Thread),
            Kind::MutexLockAttempt | Kind::MutexBlockAttempt => self.sync_failure("lock", fields, Field::Holder),
            Kind::New => self.memory("new", fields, Some((ArgName::Size, Field::Size))),
            Kind::NewRef => self.memory("reference", fields, Some((ArgName::Ref, Field::RefCtr))),
            Kind::DeleteRef => self.memory("drop reference", fields, Some((ArgName::Ref, Field::RefCtr))),
            Kind::Gc => self.memory("recycle", fields, None),
            Kind::GcAttempt => self.memory("keep", fields, Some((ArgName::Ref, Field::RefCtr))),
            Kind::CritEntry => {
                let lane = self.firmware.single(SingleTrack::Critical, self.out.entities)?;
                let label = self.out.entities.add_name("critical section")?;
                self.emit(EventKind::SpanBegin { lane, label: label.into(), args: Args::NONE })
            }
            Kind::CritExit => {
                let lane = self.firmware.single(SingleTrack::Critical, self.out.entities)?;
                self.emit(EventKind::SpanEnd { lane, args: Args::NONE })
            }
            Kind::MutexCeilingLock | Kind::QkMutexLock => {
                if stored.kind == Kind::MutexCeilingLock {
                    self.raise(fields.uint(Field::Start) as u8, fields.uint(Field::Ceiling) as u8);
                }
                let lane = self.firmware.single(SingleTrack::Ceiling, self.out.entities)?;
                let label = self.out.entities.add_name(&format!("ceiling {}", fields.uint(Field::Ceiling)))?;
                self.emit(EventKind::SpanBegin { lane, label: label.into(), args: Args::NONE })
            }
            Kind::MutexCeilingUnlock | Kind::QkMutexUnlock => {
                let lane = self.firmware.single(SingleTrack::Ceiling, self.out.entities)?;
                self.emit(EventKind::SpanEnd { lane, args: Args::NONE })
            }
            Kind::SemTake | Kind::SemSignal | Kind::SemBlock => self.semaphore(stored.kind, fields),
            Kind::MutexLock | Kind::MutexBlock | Kind::MutexUnlock | Kind::MutexUnlockAttempt => self.mutex(stored.kind, fields),
            Kind::ActiveAdd | Kind::ActiveRemove => {
                let object = self.named_arg(fields.uint(Field::Ao));
                let word = if stored.kind == Kind::ActiveAdd { "active object added" } else { "active object removed" };
                self.instant(SingleTrack::HostLink, word, &[object])
            }
            Kind::TestPaused => self.instant(SingleTrack::HostLink, "test paused", &[]),
            Kind::Run => self.instant(SingleTrack::HostLink, "QF_RUN", &[]),
            Kind::TestProbeGet => {
                let data = self.uint_arg(ArgName::Data, fields.uint(Field::Data));
                let function = self.state(fields.uint(Field::Function)).map(ArgValue::Name);
                let function = function.and_then(|name| self.firmware.arg(ArgName::Function, name, self.out.entities));
                self.instant(SingleTrack::HostLink, "test probe", &[function, data])
            }
            Kind::TargetDone => self.command("done", fields.uint(Field::Command)),
            Kind::RxStatus => match fields.uint(Field::Status) {
                // The commands that set filters: all, those of objects, that of an object.
                status @ 10..=12 => {
                    self.filter_changed(records.offset_of(stored));
                    self.command("acknowledged", status)
                }
                status @ 0..128 => self.command("acknowledged", status),
                status => match error_text(status as u8, self.from.layout.config.version) {
                    Some(text) => self.instant(SingleTrack::HostLink, &format!("error {:#04X} ({text})", status & 0x7F), &[]),
                    None => self.command("error", status & 0x7F),
                },
            },
            Kind::QueryData => self.answer("query data", records, stored),
            Kind::PeekData | Kind::PeekAddress => self.answer("peek data", records, stored),
            // Names, TARGET_INFO, and facts that other records also have.
            _ => None,
        }
    }

    /// The host set a filter. It is not known which, and neither what the target did while records were left out.
    #[cold]
    fn filter_changed(&mut self, offset: u64) {
        let kind = losses::FILTER_CHANGED;
        self.out.ledger.enter(kind, offset, 0);
        self.lose(LossNote { kind, offset, bytes: 0, at_least_lost: 0 });
    }

    /// An event could not be posted to an active object.
    fn not_posted(&mut self, fields: FixedFields<'_>) -> Option<()> {
        let (_, signal, to) = self.addressed(fields)?;
        let by = self.sender(fields);
        self.emit(EventKind::NotPosted { to, by, signal })
    }

    /// A failed attempt to do something with an event.
    fn failure(
        &mut self,
        attempt: &str,
        fields: FixedFields<'_>,
        object: Option<Field>,
        args_of: &[(ArgName, Field)],
    ) -> Option<()> {
        let address = object.map(|object| fields.uint(object));
        let index = address.and_then(|address| self.firmware.tables.object(address));
        let signal = self.signal(fields.uint(Field::Sig), index)?;
        let text = format!("{attempt} failed: {}", self.out.entities.names.get(signal.index())?);
        let mut args = [None; 3];
        if let Some(address) = address {
            args[0] = self.named_arg(address);
        }
        for (place, &(word, field)) in args.iter_mut().skip(1).zip(args_of) {
            *place = self.uint_arg(word, fields.uint(field));
        }
        self.instant(SingleTrack::Failures, &text, &args)
    }

    fn sync_failure(&mut self, attempt: &str, fields: FixedFields<'_>, thread: Field) -> Option<()> {
        let object = self.named_arg(fields.uint(Field::Obj));
        let thread = self.uint_arg(ArgName::Thread, fields.uint(thread));
        self.instant(SingleTrack::Failures, &format!("{attempt} failed"), &[object, thread])
    }

    /// The allocation, use or release of an event, which is drawn on request only.
    fn memory(&mut self, operation: &str, fields: FixedFields<'_>, arg: Option<(ArgName, Field)>) -> Option<()> {
        let signal = self.signal(fields.uint(Field::Sig), None)?;
        let text = format!("{operation} {}", self.out.entities.names.get(signal.index())?);
        let arg = arg.and_then(|(word, field)| self.uint_arg(word, fields.uint(field)));
        self.instant(SingleTrack::Memory, &text, &[arg])
    }

    fn uint_arg(&mut self, word: ArgName, value: u64) -> Option<Arg> {
        self.firmware.arg(word, ArgValue::Uint(value), self.out.entities)
    }

    /// The argument with an object's name.
    fn named_arg(&mut self, address: u64) -> Option<Arg> {
        let name = self.from.names.object_or_address(address, self.from.layout.config.sizes.object);
        let object = self.out.entities.add_name(&name).map_or(ArgValue::Hex(address), ArgValue::Name);
        self.firmware.arg(ArgName::Object, object, self.out.entities)
    }

    fn semaphore(&mut self, kind: Kind, fields: FixedFields<'_>) -> Option<()> {
        let object = self.firmware.tables.object(fields.uint(Field::Obj))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Events, TrackGroup::Sync), self.from, self.out.entities)?;
        let (thread, count) = (fields.uint(Field::Thread) as u8, fields.uint(Field::Count));
        let word = match kind {
            Kind::SemTake => "take",
            Kind::SemSignal => "signal",
            _ => "block",
        };
        let label = self.out.entities.add_name(word)?;
        let count = self.uint_arg(ArgName::Count, count)?;
        let args = match (kind, self.uint_arg(ArgName::Thread, thread.into())) {
            (Kind::SemTake | Kind::SemBlock, Some(thread)) => self.out.batch.add_args(&[count, thread]),
            _ => self.out.batch.add_args(&[count]),
        };
        self.emit(EventKind::Instant { lane, label: label.into(), args });
        match kind {
            Kind::SemTake => self.unblock(thread),
            Kind::SemBlock => self.block(thread, fields.uint(Field::Obj)),
            _ => Some(()),
        }
    }

    fn mutex(&mut self, kind: Kind, fields: FixedFields<'_>) -> Option<()> {
        let object = self.firmware.tables.object(fields.uint(Field::Obj))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Events, TrackGroup::Sync), self.from, self.out.entities)?;
        let holder = fields.uint(Field::Holder) as u8;
        let stretch = self.firmware.stretch;
        match kind {
            Kind::MutexLock => {
                self.unblock(holder);
                self.run_state.holders.retain(|&(held, _)| held != object);
                self.run_state.holders.truncate(MUTEXES_LIMIT - 1);
                self.run_state.holders.push((object, holder));
                if let Some(&(_, ceiling)) = self.run_state.ceilings.iter().find(|(mutex, _)| *mutex == object) {
                    self.raise(holder, ceiling);
                }
                let place = self.firmware.tables.objects.get_mut(object)?;
                // A nested lock by its holder.
                if fields.uint(Field::Nesting) > 1 && place.held_in == Some(stretch) {
                    return Some(());
                }
                if place.held_in.replace(stretch) == Some(stretch) {
                    self.emit(EventKind::SpanEnd { lane, args: Args::NONE });
                }
                let label = self.out.entities.add_name(&format!("held by priority {holder}"))?;
                self.emit(EventKind::SpanBegin { lane, label: label.into(), args: Args::NONE })
            }
            // What is called an attempt gives back a nested lock.
            Kind::MutexUnlock | Kind::MutexUnlockAttempt => {
                let place = self.firmware.tables.objects.get_mut(object)?;
                if fields.uint(Field::Nesting) == 0 {
                    self.run_state.holders.retain(|&(held, _)| held != object);
                }
                if fields.uint(Field::Nesting) > 0 || place.held_in.take() != Some(stretch) {
                    return Some(());
                }
                self.emit(EventKind::SpanEnd { lane, args: Args::NONE })
            }
            _ => self.block(fields.uint(Field::Thread) as u8, fields.uint(Field::Obj)),
        }
    }

    /// A thread begins to wait for an object.
    fn block(&mut self, thread: u8, object: u64) -> Option<()> {
        self.unblock(thread);
        let lane = self.firmware.thread(thread, self.out.entities)?;
        let object = self.named_arg(object)?;
        let label = self.out.entities.add_name("blocked")?;
        let args = self.out.batch.add_args(&[object]);
        self.run_state.blocked[thread] = true;
        self.emit(EventKind::SpanBegin { lane, label: label.into(), args })
    }

    fn unblock(&mut self, thread: u8) -> Option<()> {
        if std::mem::take(&mut self.run_state.blocked[thread]) {
            let lane = self.firmware.thread(thread, self.out.entities)?;
            self.emit(EventKind::SpanEnd { lane, args: Args::NONE })?;
        }
        Some(())
    }
}
