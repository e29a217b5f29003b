//! What each record means, in the language of the common model.

use crate::model::{
    Arg, ArgValue, Args, EventKind, LaneKind, Level, LogNote, LogSeverity, NameId, Nanos, Origin, Packed, StepResult,
};

use super::super::decode::{Records, Stored};
use super::super::layout::Fields;
use super::super::record::{Kind, command_name};
use super::super::sessions::Session;
use super::Resolved;
use super::firmware::{Firmware, Part, Single, Word, put};
use super::tables::{Armed, Verb};

/// What a session is in the midst of.
#[derive(Default)]
pub struct Course {
    /// Who publishes what.
    publishing: Option<(Origin, NameId)>,
    /// The priority that was scheduled last and has taken no event yet.
    scheduled: Option<u8>,
    /// By priority: the object that runs at it, and whether it has been preempted.
    running: Vec<Option<usize>>,
    preempted: Vec<bool>,
    /// By priority: what it is called while it runs, and while the scheduler is locked up to it.
    running_labels: Vec<Option<NameId>>,
    lock_labels: Vec<Option<NameId>>,
    /// How deep the scheduler is locked.
    locks: u32,
    criticals: u32,
    /// By priority: a slice says what the thread waits for.
    pub(super) blocked: Vec<bool>,
}

impl Course {
    pub fn new() -> Course {
        Course {
            running: vec![None; 256],
            running_labels: vec![None; 256],
            lock_labels: vec![None; 256],
            preempted: vec![false; 256],
            blocked: vec![false; 256],
            ..Course::default()
        }
    }

    /// Something is missing: nothing of before holds, but for who has which priority.
    pub fn forget(&mut self) {
        (self.publishing, self.scheduled) = (None, None);
        (self.locks, self.criticals) = (0, 0);
        self.preempted.fill(false);
        self.blocked.fill(false);
    }
}

/// What is shown beyond the usual.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shows {
    /// The allocation of events, critical sections.
    pub everything: bool,
    /// Units of the time stamps in a clock tick, if they could be measured.
    pub units_per_tick: Option<u64>,
}

/// One record on its way to events.
pub struct Work<'a, 'b> {
    pub firmware: &'a mut Firmware,
    pub course: &'a mut Course,
    pub from: &'a Session,
    pub shows: Shows,
    pub out: &'a mut Resolved<'b>,
    pub now: Nanos,
}

impl Work<'_, '_> {
    #[inline]
    pub(super) fn put(&mut self, kind: EventKind) {
        put(self.out.batch, self.firmware.core, self.now, kind);
    }

    #[inline]
    pub(super) fn object(&mut self, address: u64) -> Option<usize> {
        self.firmware.tables.object(address)
    }

    #[inline]
    fn state(&mut self, address: u64) -> Option<NameId> {
        let width = self.from.layout.config.sizes.function;
        self.firmware.tables.function(address, width, &self.from.names, self.out.entities).map(|function| function.name)
    }

    #[inline]
    pub(super) fn signal(&mut self, signal: u64, object: Option<usize>) -> Option<NameId> {
        self.firmware.tables.signal(signal as u32, object, &self.from.names, self.out.entities)
    }

    /// Who sent something.
    #[inline]
    pub(super) fn origin(&mut self, fields: &Fields<'_>, field: usize) -> Origin {
        let address = fields.uint(field);
        if address == 0 {
            return Origin::UNKNOWN;
        }
        let Some(index) = self.object(address) else { return Origin::UNKNOWN };
        if let Some(machine) = self.firmware.tables.objects.get(index).and_then(|object| object.machine) {
            return Origin::machine(machine);
        }
        let lane = self.firmware.lane_of(index, (LaneKind::Events, Part::Senders), self.from, self.out.entities);
        lane.map_or(Origin::UNKNOWN, Origin::lane)
    }

    /// The events of a record.
    #[inline]
    pub fn record(&mut self, records: &Records, stored: &Stored) -> Option<()> {
        let fields = records.fields(&self.from.layout, stored);
        if let Some((_, published)) = self.course.publishing {
            self.check_publishing(stored.kind, &fields, published);
        }
        match stored.kind {
            Kind::Dispatch => self.dispatch(&fields),
            Kind::InternTran => self.step_end(StepResult::Internal, &fields),
            Kind::Tran => self.step_end(StepResult::Transition, &fields),
            Kind::Ignored => self.step_end(StepResult::Ignored, &fields),
            Kind::Post => self.post(&fields, (2, 3), Some(1), (6, false)),
            Kind::PostLifo => self.post(&fields, (1, 2), None, (5, true)),
            Kind::Get => self.get(&fields, Some(5)),
            Kind::GetLast => self.get(&fields, None),
            Kind::StateEntry => self.note(Verb::Entry, &fields, 0, 1),
            Kind::StateExit => self.note(Verb::Exit, &fields, 0, 1),
            Kind::StateInit => self.note(Verb::Init, &fields, 0, 2),
            Kind::TranHist => self.note(Verb::History, &fields, 0, 2),
            Kind::TranEp => self.note(Verb::EntryPoint, &fields, 0, 2),
            Kind::TranXp => self.note(Verb::ExitPoint, &fields, 0, 2),
            Kind::Unhandled => self.note(Verb::Unhandled, &fields, 1, 2),
            Kind::PoolGet | Kind::PoolPut => self.pool(&fields),
            Kind::SchedNext | Kind::SchedPreempt | Kind::SchedRestore | Kind::SchedResume => {
                self.switch(fields.uint(1) as u8, fields.uint(2) as u8)
            }
            Kind::SchedIdle => self.switch(0, fields.uint(1) as u8),
            Kind::SchedLock => self.lock(&fields),
            Kind::SchedUnlock => self.unlock(),
            Kind::TimeArm | Kind::TimeRearm => self.arm(&fields, stored.time),
            Kind::TimePost => self.time_post(&fields, stored.time),
            Kind::TimeDisarm => self.disarm(&fields, 1),
            Kind::Publish => self.publish(&fields),
            Kind::User => self.user(records, stored),
            // What no slice or instant is drawn for unless asked.
            Kind::New
            | Kind::NewRef
            | Kind::DeleteRef
            | Kind::Gc
            | Kind::GcAttempt
            | Kind::TimeAutoDisarm
            | Kind::TimeDisarmAttempt
            | Kind::CritEntry
            | Kind::CritExit
                if !self.shows.everything =>
            {
                None
            }
            _ => self.rare(records, stored, &fields),
        }
    }

    #[inline]
    fn dispatch(&mut self, fields: &Fields<'_>) -> Option<()> {
        let object = self.object(fields.uint(2))?;
        let signal = self.signal(fields.uint(1), Some(object))?;
        let state = self.state(fields.uint(3));
        let machine = self.firmware.machine(object, self.from, self.out.entities)?;
        let stretch = self.firmware.stretch;
        self.firmware.tables.objects.get_mut(object)?.step_in = Some(stretch);
        self.put(EventKind::StepBegin { machine, signal, state: state.into() });
        Some(())
    }

    #[inline]
    fn step_end(&mut self, result: StepResult, fields: &Fields<'_>) -> Option<()> {
        let object = self.object(fields.uint(2))?;
        let from = self.state(fields.uint(3));
        let to = if result == StepResult::Transition { self.state(fields.uint(4)) } else { None };
        let machine = self.firmware.machine(object, self.from, self.out.entities)?;
        self.firmware.tables.objects.get_mut(object)?.step_in = None;
        self.put(EventKind::StepEnd { machine, result, from: from.into(), to: to.into() });
        Some(())
    }

    /// A record without a time of what a machine does.
    #[inline]
    fn note(&mut self, verb: Verb, fields: &Fields<'_>, object: usize, state: usize) -> Option<()> {
        let object = self.object(fields.uint(object))?;
        let machine = self.firmware.machine(object, self.from, self.out.entities)?;
        let width = self.from.layout.config.sizes.function;
        let label = self.firmware.tables.note(verb, fields.uint(state), width, &self.from.names, self.out.entities)?;
        self.put(EventKind::MachineNote { machine, label });
        Some(())
    }

    /// The fill of an object's queue after something was put into it, which leaves so many places free.
    #[inline]
    fn fill_after_post(&mut self, object: usize, free: u64) -> Level {
        let stretch = self.firmware.stretch;
        // Since the target's reset nothing is missing, and nothing was put into it.
        let is_new = stretch == self.firmware.first_stretch && self.from.info.is_some_and(|info| info.is_reset);
        let Some(object) = self.firmware.tables.objects.get_mut(object) else { return Level::UNKNOWN };
        let was_used = std::mem::replace(&mut object.is_used, true);
        let was_empty = object.empty_in.take() == Some(stretch) || (is_new && !was_used);
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        if was_empty {
            // The first one is not in the ring: its place counts as well.
            object.capacity = Some(free.saturating_add(1));
        }
        match object.capacity {
            Some(capacity) if free <= capacity => Level::known(capacity - free),
            _ => Level::UNKNOWN,
        }
    }

    /// The fill of an object's queue after something was taken out of it; `None`: it was the last.
    #[inline]
    fn fill_after_get(&mut self, object: usize, free: Option<u64>) -> Level {
        let stretch = self.firmware.stretch;
        let Some(object) = self.firmware.tables.objects.get_mut(object) else { return Level::UNKNOWN };
        let Some(free) = free else {
            object.empty_in = Some(stretch);
            object.is_used = true;
            return Level::known(0);
        };
        object.empty_in = None;
        object.is_used = true;
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        match object.capacity {
            Some(capacity) if free <= capacity => Level::known(capacity - free),
            _ => Level::UNKNOWN,
        }
    }

    #[inline]
    fn post(
        &mut self,
        fields: &Fields<'_>,
        (signal, object): (usize, usize),
        sender: Option<usize>,
        (free, urgent): (usize, bool),
    ) -> Option<()> {
        let object = self.object(fields.uint(object))?;
        let signal = self.signal(fields.uint(signal), Some(object))?;
        let to = self.firmware.machine(object, self.from, self.out.entities)?;
        let by = match sender {
            Some(sender) => self.origin(fields, sender),
            // Only an object itself puts an event to the front of its queue.
            None => Origin::machine(to),
        };
        let fill = self.fill_after_post(object, fields.uint(free));
        self.put(EventKind::Posted { to, by, signal, fill, urgent });
        Some(())
    }

    #[inline]
    fn get(&mut self, fields: &Fields<'_>, free: Option<usize>) -> Option<()> {
        let object = self.object(fields.uint(2))?;
        let signal = self.signal(fields.uint(1), Some(object))?;
        let machine = self.firmware.machine(object, self.from, self.out.entities)?;
        let fill = self.fill_after_get(object, free.map(|free| fields.uint(free)));
        self.put(EventKind::Taken { machine, signal, fill });
        if let Some(priority) = self.course.scheduled.take() {
            self.learn_priority(priority, object);
        }
        Some(())
    }

    /// The first one that takes an event after a priority was scheduled is the one of that priority.
    fn learn_priority(&mut self, priority: u8, object: usize) -> Option<()> {
        let known = self.course.running.get_mut(usize::from(priority))?;
        if *known != Some(object) {
            *known = Some(object);
            *self.course.running_labels.get_mut(usize::from(priority))? = None;
            let machine = self.firmware.tables.objects.get(object)?.machine?;
            self.put(EventKind::MachinePriority { machine, priority: priority.into() });
            self.show_running(priority);
        }
        Some(())
    }

    fn show_running(&mut self, priority: u8) -> Option<()> {
        let lane = self.firmware.single(Single::Cpu, self.out.entities)?;
        let label = match self.course.running_labels.get(usize::from(priority)).copied().flatten() {
            Some(label) => label,
            None => self.running_label(priority)?,
        };
        self.put(EventKind::State { lane, label: label.into(), args: Args::NONE });
        Some(())
    }

    /// What a priority is called while it runs.
    #[cold]
    fn running_label(&mut self, priority: u8) -> Option<NameId> {
        let object = self.course.running.get(usize::from(priority)).copied().flatten();
        let machine = object.and_then(|object| self.firmware.tables.objects.get(object)?.machine);
        let entities = &mut *self.out.entities;
        let name = machine.and_then(|machine| entities.machines.get(machine.index())).map(|machine| machine.name.clone());
        let label = match name {
            _ if priority == 0 => entities.add_name("idle"),
            Some(name) => entities.add_name(&name),
            None => entities.add_name(&format!("priority {priority}")),
        };
        *self.course.running_labels.get_mut(usize::from(priority))? = label;
        label
    }

    /// The scheduler goes from one priority to another; 0 is idle.
    fn switch(&mut self, next: u8, previous: u8) -> Option<()> {
        self.course.scheduled = Some(next).filter(|&next| next != 0);
        let in_step = |work: &Self, priority: u8| {
            let object = work.course.running.get(usize::from(priority)).copied().flatten()?;
            let object = work.firmware.tables.objects.get(object)?;
            object.machine.filter(|_| object.step_in == Some(work.firmware.stretch))
        };
        if next > previous
            && previous != 0
            && let Some(machine) = in_step(self, previous)
        {
            *self.course.preempted.get_mut(usize::from(previous))? = true;
            self.put(EventKind::Preempted { machine });
        }
        if std::mem::take(self.course.preempted.get_mut(usize::from(next))?) {
            // It goes on with its step, and takes no event.
            self.course.scheduled = None;
            if let Some(machine) = in_step(self, next) {
                self.put(EventKind::Unpreempted { machine });
            }
        }
        self.show_running(next)
    }

    fn lock(&mut self, fields: &Fields<'_>) -> Option<()> {
        let lane = self.firmware.single(Single::Lock, self.out.entities)?;
        let ceiling = fields.uint(2) as u8;
        let label = match self.course.lock_labels.get(usize::from(ceiling)).copied().flatten() {
            Some(label) => label,
            None => {
                let label = self.out.entities.add_name(&format!("locked up to priority {ceiling}"))?;
                *self.course.lock_labels.get_mut(usize::from(ceiling))? = Some(label);
                label
            }
        };
        self.course.locks += 1;
        self.put(EventKind::SpanBegin { lane, label: label.into(), args: Args::NONE });
        Some(())
    }

    fn unlock(&mut self) -> Option<()> {
        self.course.locks = self.course.locks.checked_sub(1)?;
        let lane = self.firmware.single(Single::Lock, self.out.entities)?;
        self.put(EventKind::SpanEnd { lane, args: Args::NONE });
        Some(())
    }

    #[inline]
    fn pool(&mut self, fields: &Fields<'_>) -> Option<()> {
        let object = self.object(fields.uint(1))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Values, Part::Pools), self.from, self.out.entities)?;
        self.put(EventKind::Value { lane, value: Packed(fields.uint(2).cast_signed()) });
        Some(())
    }

    fn publish(&mut self, fields: &Fields<'_>) -> Option<()> {
        let signal = self.signal(fields.uint(2), None)?;
        let by = self.origin(fields, 1);
        self.course.publishing = Some((by, signal));
        self.put(EventKind::Publish { by, signal });
        Some(())
    }

    /// Whether what follows still belongs to the publishing of an event.
    fn check_publishing(&mut self, kind: Kind, fields: &Fields<'_>, published: NameId) {
        let goes_on = match kind {
            Kind::SchedLock | Kind::NewRef | Kind::PoolGet => true,
            Kind::Post => {
                let object = self.object(fields.uint(3));
                self.signal(fields.uint(2), object) == Some(published)
            }
            _ => false,
        };
        if !goes_on && let Some((by, _)) = self.course.publishing.take() {
            self.put(EventKind::PublishEnd { by });
        }
    }

    fn time_event(&mut self, fields: &Fields<'_>, field: usize) -> Option<(usize, crate::model::LaneId)> {
        let object = self.object(fields.uint(field))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Events, Part::TimeEvents), self.from, self.out.entities)?;
        Some((object, lane))
    }

    fn arm(&mut self, fields: &Fields<'_>, stamp: u32) -> Option<()> {
        let (object, lane) = self.time_event(fields, 1)?;
        let (ticks, interval) = (fields.uint(3), fields.uint(4));
        let stretch = self.firmware.stretch;
        let place = self.firmware.tables.objects.get_mut(object)?;
        let was_open = place.armed_in.replace(stretch) == Some(stretch);
        place.armed = Armed { at: stamp, ticks: ticks as u32, interval: interval as u32, is_first: true };
        if was_open {
            self.put(EventKind::SpanEnd { lane, args: Args::NONE });
        }
        self.begin_armed(lane, ticks, interval)
    }

    fn begin_armed(&mut self, lane: crate::model::LaneId, ticks: u64, interval: u64) -> Option<()> {
        let label = self.firmware.word(Word::Armed, self.out.entities)?;
        let ticks = self.firmware.arg(Word::Ticks, ArgValue::Uint(ticks), self.out.entities)?;
        let interval = match interval {
            0 => None,
            interval => self.firmware.arg(Word::Interval, ArgValue::Uint(interval), self.out.entities),
        };
        let args = match interval {
            Some(interval) => self.out.batch.add_args(&[ticks, interval]),
            None => self.out.batch.add_args(&[ticks]),
        };
        self.put(EventKind::SpanBegin { lane, label: label.into(), args });
        Some(())
    }

    fn time_post(&mut self, fields: &Fields<'_>, stamp: u32) -> Option<()> {
        let (object, lane) = self.time_event(fields, 1)?;
        let stretch = self.firmware.stretch;
        let mask = u32::MAX >> (32 - 8 * u32::from(self.from.layout.config.sizes.time).min(4));
        let place = self.firmware.tables.objects.get_mut(object)?;
        if place.armed_in != Some(stretch) {
            // Armed before the recording began, or before a gap.
            let signal = self.signal(fields.uint(2), Some(object))?;
            self.put(EventKind::Instant { lane, label: signal.into(), args: Args::NONE });
            return Some(());
        }
        let armed = place.armed;
        let interval = armed.interval;
        place.armed_in = (interval > 0).then_some(stretch);
        place.armed = Armed { at: stamp, ticks: interval, interval, is_first: false };
        let passed = stamp.wrapping_sub(armed.at) & mask;
        let late = self.shows.units_per_tick.and_then(|units| armed.late_ticks(passed, units)).filter(|&late| late != 0);
        let late = late.and_then(|late| self.firmware.arg(Word::LateTicks, ArgValue::Int(late), self.out.entities));
        let args = late.map_or(Args::NONE, |late| self.out.batch.add_args(&[late]));
        self.put(EventKind::SpanEnd { lane, args });
        if interval > 0 { self.begin_armed(lane, interval.into(), interval.into()) } else { Some(()) }
    }

    /// A time event was disarmed before its time.
    fn disarm(&mut self, fields: &Fields<'_>, field: usize) -> Option<()> {
        let (object, lane) = self.time_event(fields, field)?;
        let stretch = self.firmware.stretch;
        if self.firmware.tables.objects.get_mut(object)?.armed_in.take() == Some(stretch) {
            let result = self.firmware.word(Word::Disarmed, self.out.entities)?;
            let result = self.firmware.arg(Word::ClosedBy, ArgValue::Name(result), self.out.entities)?;
            let args = self.out.batch.add_args(&[result]);
            self.put(EventKind::SpanEnd { lane, args });
        }
        Some(())
    }

    /// Records that are few.
    #[inline(never)]
    fn rare(&mut self, records: &Records, stored: &Stored, fields: &Fields<'_>) -> Option<()> {
        match stored.kind {
            Kind::InitTran => {
                let object = self.object(fields.uint(1))?;
                let state = self.state(fields.uint(2))?;
                let machine = self.firmware.machine(object, self.from, self.out.entities)?;
                self.put(EventKind::InState { machine, state });
            }
            Kind::Subscribe => self.machine_word("subscribe", fields, (1, 2))?,
            Kind::Unsubscribe => self.machine_word("unsubscribe", fields, (1, 2))?,
            Kind::Defer => self.machine_word("defer", fields, (3, 1))?,
            Kind::Recall => self.machine_word("recall", fields, (3, 1))?,
            Kind::RecallAttempt => {
                let object = self.object(fields.uint(1))?;
                let machine = self.firmware.machine(object, self.from, self.out.entities)?;
                let label = self.out.entities.add_name("recall: nothing deferred")?;
                self.put(EventKind::MachineNote { machine, label });
            }
            Kind::QueuePost | Kind::QueuePostLifo | Kind::QueueGet | Kind::QueueGetLast => self.queue(stored.kind, fields)?,
            Kind::Tick => {
                let lane = self.firmware.rate(fields.uint(1) as u8, self.out.entities)?;
                self.put(EventKind::Value { lane, value: Packed(fields.uint(0).cast_signed()) });
            }
            Kind::IsrEntry | Kind::IsrExit => {
                let isr = self.firmware.isr(fields.uint(2) as u8, self.out.entities)?;
                let is_entry = stored.kind == Kind::IsrEntry;
                self.put(if is_entry { EventKind::IsrEnter(isr) } else { EventKind::IsrExit(isr) });
            }
            Kind::AssertFail => self.assertion(records, stored)?,
            _ => return self.rarer(stored, fields),
        }
        Some(())
    }

    /// Something that a machine did with a signal.
    fn machine_word(&mut self, word: &'static str, fields: &Fields<'_>, (signal, object): (usize, usize)) -> Option<()> {
        let object = self.object(fields.uint(object))?;
        let signal = self.signal(fields.uint(signal), Some(object))?;
        let machine = self.firmware.machine(object, self.from, self.out.entities)?;
        let label = self.firmware.tables.phrase(word, signal, self.out.entities)?;
        self.put(EventKind::MachineNote { machine, label });
        Some(())
    }

    /// A queue that belongs to no active object.
    fn queue(&mut self, kind: Kind, fields: &Fields<'_>) -> Option<()> {
        let object = self.object(fields.uint(2))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Values, Part::Queues), self.from, self.out.entities)?;
        let fill = match kind {
            Kind::QueuePost | Kind::QueuePostLifo => self.fill_after_post(object, fields.uint(5)),
            Kind::QueueGet => self.fill_after_get(object, Some(fields.uint(5))),
            _ => self.fill_after_get(object, None),
        };
        self.put(EventKind::Value { lane, value: Packed(fill.get()?.into()) });
        Some(())
    }

    fn assertion(&mut self, records: &Records, stored: &Stored) -> Option<()> {
        let lane = self.firmware.single(Single::Asserts, self.out.entities)?;
        let fields = self.from.layout.fields(stored.kind, records.data_of(stored));
        let (module, location) = (String::from_utf8_lossy(fields.text(2)).into_owned(), fields.uint(1));
        let body = self.out.batch.texts.add(&format!("assertion {location} failed in module {module}"));
        let name = self.out.entities.add_name("assertion failed")?;
        let module = ArgValue::Text(self.out.batch.texts.add(&module));
        let module = self.firmware.arg(Word::Module, module, self.out.entities)?;
        let location = self.firmware.arg(Word::Location, ArgValue::Uint(location), self.out.entities)?;
        let args = self.out.batch.add_args(&[module, location]);
        let number = u32::try_from(self.out.batch.logs.len()).ok()?;
        let severity = LogSeverity::Fatal;
        self.out.batch.logs.push(LogNote { lane, severity, name: name.into(), body, source: None, args });
        self.put(EventKind::Log(number));
        Some(())
    }

    /// An instant on a track of its own, with a phrase for a name.
    pub(super) fn instant(&mut self, single: Single, text: &str, args: &[Option<Arg>]) -> Option<()> {
        let lane = self.firmware.single(single, self.out.entities)?;
        let label = self.out.entities.add_name(text)?;
        let start = self.out.batch.args.len();
        self.out.batch.args.extend(args.iter().flatten());
        let args = self.out.batch.args_since(start);
        self.put(EventKind::Instant { lane, label: label.into(), args });
        Some(())
    }

    pub(super) fn named(&mut self, address: u64) -> ArgValue {
        let width = self.from.layout.config.sizes.object;
        let text = match self.from.names.object(address) {
            Some(name) => name.to_owned(),
            None => super::super::names::address_text(address, width),
        };
        self.out.entities.add_name(&text).map_or(ArgValue::Hex(address), ArgValue::Name)
    }

    /// What the host asked for, and what the target answered.
    pub(super) fn command(&mut self, what: &str, command: u64) -> Option<()> {
        let name = command_name(command as u8).map_or_else(|| format!("{command:#04X}"), str::to_owned);
        self.instant(Single::HostLink, &format!("{what} {name}"), &[])
    }
}
