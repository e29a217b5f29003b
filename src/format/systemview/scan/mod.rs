//! The first pass: facts that hold for the whole recording, and where the target restarted (`restarts.rs`).

mod restarts;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::InputOptions;
use super::decode::{Decoder, each_packet};
use super::functions::ModuleEvents;
use super::hooks::Hooks;
use super::packet::{Framing, Packet, Reading, is_sent_start, read_any};
use super::record::{Fields, extended, id};
use super::resolve::Resolver;
use crate::format::{Part, Recording, Stages};
use crate::frame::sync;
use crate::model::{CoreId, Ledger, Rate, losses, lossy};
pub use restarts::SessionStart;

/// The limit of names, ids and descriptions in a recording.
const METADATA_LIMIT: usize = 1 << 16;

/// The limit of starts and of times of the system.
const STARTS_LIMIT: usize = 1 << 12;

/// The limit of texts about one module.
const MODULE_TEXTS_LIMIT: usize = 256;

/// The limit of allocations whose sizes are kept for the frees.
const ALLOCATIONS_LIMIT: usize = 1 << 18;

/// How close packets follow each other is learned from this number of them.
const CLOSE_FROM_PACKETS: u64 = 1_000;

/// Damage makes up one overflow packet or less in this number of places.
const DAMAGED_TO_AN_OVERFLOW: u64 = 4;

/// The module of ESP-IDF that traces the heap.
pub const HEAP_MODULE: &[u8] = b"Heap Tracing Module";

/// The name of its first event in ESP-IDF's file of descriptions.
pub const HEAP_EVENT: &str = "esp_sysview_heap_trace_alloc";

/// The first pass over a recording.
pub(super) struct Scanner {
    options: Vec<InputOptions>,
}

impl Scanner {
    pub(super) fn new(options: Vec<InputOptions>) -> Scanner {
        Scanner { options }
    }
}

/// The owner of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A task.
    Task,
    /// A resource.
    Resource,
    /// A marker.
    Marker,
    /// An interrupt.
    Interrupt,
    /// A sampled value.
    Data,
}

/// A name as it was said, once or several times without another name between.
#[derive(Clone, Debug)]
pub struct Name {
    /// Where it was said first, …
    pub first: u64,
    /// … and last.
    pub last: u64,
    /// Where its task was created, or another one of the same id ended.
    pub created: Option<u64>,
    /// The last place before the first one where packets are missing: the recorder dropped some, or was stopped.
    pub gap: Option<u64>,
    /// The name.
    pub text: Vec<u8>,
}

/// How a task is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Where it is used first.
    pub first: u64,
    /// Whether it runs at all.
    pub runs: bool,
}

/// The first packet of the library's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Init {
    /// Ticks of the time stamps per second.
    pub sys_freq: u32,
    /// Of the processor's clock.
    pub cpu_freq: u32,
    /// Ids are addresses minus this, …
    pub ram_base: u64,
    /// … shifted right by this number of bits.
    pub id_shift: u32,
    /// Whether addresses have 64 bits.
    pub is_wide: bool,
}

impl Init {
    /// The length of a tick, if it is recorded.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        Rate::from_hz(u64::from(self.sys_freq), 1)
    }

    fn read(reading: Reading, fields: &mut Fields<'_>) -> Init {
        let (sys_freq, cpu_freq) = (fields.number(), fields.number());
        let (ram_base, id_shift) = (fields.long(), fields.number());
        Init { sys_freq, cpu_freq, ram_base, id_shift, is_wide: reading == Reading::Wide }
    }

    /// The id of a value that may be an address or an id: Zephyr's hooks shorten only some addresses to ids. Memory has fewer bytes than there are
    /// addresses before it.
    #[must_use]
    pub fn id(&self, value: u64) -> u64 {
        match value.checked_sub(self.ram_base) {
            Some(offset) if self.ram_base > 0 => offset >> self.id_shift.min(63),
            _ => value,
        }
    }

    /// The address that was shortened to an id.
    #[must_use]
    pub fn address(&self, id: u64) -> u64 {
        let address = id.checked_shl(self.id_shift).unwrap_or(0).wrapping_add(self.ram_base);
        if self.is_wide { address } else { address & u64::from(u32::MAX) }
    }
}

/// A time of the system, as the target reads it on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemTime {
    /// The time stamps' clock.
    Cycles(u32),
    /// Microseconds of the operating system.
    Microseconds(u64),
}

/// A place in the stream of time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed<T> {
    /// Where the packet is in the input.
    offset: u64,
    /// All ticks up to its time stamp, from the start of the part or input.
    ticks: u64,
    what: T,
}

/// A start of the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    /// Its own time stamp.
    stamp: u64,
    /// Whether this is not the first packet of a start but its time of the system. The packets before it may be missing.
    is_time: bool,
    /// Whether the recorder was stopped since the start before.
    is_after_stop: bool,
    /// The configuration in the next packet.
    init: Option<Init>,
    /// Which tasks there were.
    tasks: Option<FirstTask>,
}

/// The first packet after a start that says which tasks there were at it: the library lists them, then the kernel creates others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstTask {
    /// There was none, and this one is created.
    Created(u32),
    /// There were some, or packets are missing.
    Other,
}

/// The facts about a part, or about the whole input.
#[derive(Clone, Debug, Default)]
pub struct ScanFacts {
    /// The sum of all time stamps.
    ticks: u64,
    /// How many packets have a time stamp, in all and by the number of bits of its ticks.
    pub packets: u64,
    by_bits: [u64; 32],
    /// How many stretches of bytes are not packets.
    pub damaged: u64,
    /// The longest time from one packet to the next, unless that is a start.
    longest: u64,
    /// The last place where packets are missing.
    gap: Option<u64>,
    /// Whether a core idles.
    is_idle: bool,
    /// Whether tasks become ready, or stop being so.
    pub has_readiness: bool,
    /// Whether tasks become ready.
    pub has_wake_ups: bool,
    /// Whether a task stops being ready for a cause other than 0.
    pub has_causes: bool,
    /// The configuration.
    pub init: Option<Init>,
    /// The descriptions of the system, each once.
    pub descriptions: BTreeSet<Vec<u8>>,
    /// The names of each thing, in file order.
    pub names: BTreeMap<(Named, u32), Vec<Name>>,
    /// How many there are.
    all_names: usize,
    /// Where each task was created or ended last.
    created: BTreeMap<u32, u64>,
    /// The descriptions of modules, by event offset.
    pub modules: BTreeMap<u32, Vec<Vec<u8>>>,
    /// Their events.
    pub module_events: ModuleEvents,
    /// The ids of tasks, interrupts, markers, timers and data that are used.
    pub tasks: BTreeMap<u32, Use>,
    pub interrupts: BTreeSet<(u8, u32)>,
    pub markers: BTreeSet<u32>,
    pub timers: BTreeSet<u32>,
    pub data: BTreeSet<u32>,
    /// The types of sampled values, if registered: unsigned, signed, or with a fraction.
    pub data_types: BTreeMap<u32, u32>,
    /// The ids of events whose ends are recorded.
    pub ended: BTreeSet<u16>,
    /// Which bits for the core occur.
    pub cores: [bool; 2],
    starts: Vec<Placed<Start>>,
    /// Which tasks there were at the last start before the part.
    first_task: Option<FirstTask>,
    /// Whether the recorder was stopped after the last start.
    is_stopped: bool,
    times: Vec<Placed<SystemTime>>,
    /// The overflow packets: offset and count.
    overflows: Vec<(u64, u32)>,
    /// Blocks of the heap that were taken: address, ticks, bytes.
    pub allocations: Vec<(u32, u64, u32)>,
    /// How much more there was than the limits allow.
    excess: u64,
    noted: Noted,
    /// Of it, possible allocations: events of the first module, whatever that is.
    excess_allocations: u64,
}

/// The numbers that were noted last, by kind of thing: nearly all numbers that come were noted shortly before.
#[derive(Clone, Debug)]
struct Noted([u64; Noted::PLACES]);

impl Default for Noted {
    fn default() -> Self {
        Noted([u64::MAX; Noted::PLACES])
    }
}

impl Noted {
    const PLACES: usize = 64;
}

/// What a number is of.
#[derive(Clone, Copy)]
enum Kind {
    /// A task that is used, and one that runs, with the place.
    Tasks(u64),
    Runs(u64),
    Markers,
    Timers,
    Data,
    Interrupts(u8),
    Ended,
}

/// Adds an item, if there is room. True if it is among the others.
fn insert<T: Ord>(set: &mut BTreeSet<T>, item: T, excess: &mut u64) -> bool {
    if set.len() < METADATA_LIMIT {
        set.insert(item);
        return true;
    }
    let is_there = set.contains(&item);
    *excess += u64::from(!is_there);
    is_there
}

/// Adds the use of a task, if there is room. True if the task is among the others.
fn insert_task(tasks: &mut BTreeMap<u32, Use>, task: u32, one: Use, excess: &mut u64) -> bool {
    if tasks.len() >= METADATA_LIMIT && !tasks.contains_key(&task) {
        *excess += 1;
        return false;
    }
    tasks.entry(task).or_insert(one).runs |= one.runs;
    true
}

/// Ticks after others. Times beyond this limit are beyond all others too.
#[inline]
pub fn later(ticks: u64, delta: u64) -> u64 {
    ticks.saturating_add(delta).min(1 << 62)
}

impl ScanFacts {
    /// Notes that a thing is used.
    #[inline]
    fn note(&mut self, kind: Kind, number: u32) {
        let key = match kind {
            Kind::Tasks(_) => 0,
            Kind::Markers => 1,
            Kind::Timers => 2,
            Kind::Data => 3,
            Kind::Ended => 4,
            Kind::Runs(_) => 5,
            Kind::Interrupts(core) => 6 + u64::from(core),
        };
        let key = key << 32 | u64::from(number);
        let place = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize % Noted::PLACES;
        if self.noted.0[place] == key {
            return;
        }
        let excess = &mut self.excess;
        let is_there = match kind {
            Kind::Tasks(first) => insert_task(&mut self.tasks, number, Use { first, runs: false }, excess),
            Kind::Runs(first) => insert_task(&mut self.tasks, number, Use { first, runs: true }, excess),
            Kind::Markers => insert(&mut self.markers, number, excess),
            Kind::Timers => insert(&mut self.timers, number, excess),
            Kind::Data => insert(&mut self.data, number, excess),
            Kind::Ended => u16::try_from(number).is_ok_and(|event| insert(&mut self.ended, event, excess)),
            Kind::Interrupts(core) => insert(&mut self.interrupts, (core, number), excess),
        };
        if is_there {
            self.noted.0[place] = key;
        }
    }

    fn name(&mut self, key: (Named, u32), text: &[u8], offset: u64) {
        if let Some(last) = self.names.get_mut(&key).and_then(|names| names.last_mut()).filter(|last| last.text == text) {
            last.last = offset;
            return;
        }
        self.add_name(key, Name { first: offset, last: offset, created: None, gap: None, text: text.to_vec() });
    }

    fn add_name(&mut self, key: (Named, u32), mut name: Name) {
        let is_full = self.all_names >= METADATA_LIMIT;
        if is_full && !self.names.contains_key(&key) {
            self.excess += 1;
            return;
        }
        if key.0 == Named::Task {
            name.created = name.created.or_else(|| self.created.get(&key.1).copied());
            name.gap = name.gap.or(self.gap);
        }
        let names = self.names.entry(key).or_default();
        match names.last_mut() {
            Some(last) if last.text == name.text => last.last = name.last,
            Some(last) if is_full => *last = name,
            _ => {
                names.push(name);
                self.all_names += 1;
            }
        }
    }

    /// A task begins or ends: another name after this is that of another task.
    fn note_life(&mut self, task: u32, offset: u64) {
        if self.created.len() < METADATA_LIMIT || self.created.contains_key(&task) {
            self.created.insert(task, offset);
        }
    }

    /// A packet says of tasks.
    fn note_first_task(&mut self, first: FirstTask) {
        let tasks = self.starts.last_mut().map_or(&mut self.first_task, |start| &mut start.what.tasks);
        tasks.get_or_insert(first);
    }

    fn describe_module(&mut self, offset: u32, text: &[u8]) {
        if self.modules.len() >= METADATA_LIMIT && !self.modules.contains_key(&offset) {
            self.excess += 1;
            return;
        }
        let texts = self.modules.entry(offset).or_default();
        if texts.len() < MODULE_TEXTS_LIMIT && !texts.iter().any(|known| known == text) {
            texts.push(text.to_vec());
        }
    }

    fn packet(&mut self, reading: Reading, input: &[u8], at: usize, packet: &Packet) {
        if !packet.has_time() {
            return;
        }
        self.ticks = later(self.ticks, packet.delta);
        self.packets += 1;
        self.by_bits[(u64::BITS - packet.delta.leading_zeros()).min(31) as usize] += 1;
        if let Some(core) = self.cores.get_mut(usize::from(packet.core)) {
            *core = true;
        }
        if packet.id != id::TRACE_START {
            self.longest = self.longest.max(packet.delta);
        }
        let mut fields = packet.fields(input, at);
        let place = at as u64;
        match packet.id {
            id::TASK_START_EXEC => self.note(Kind::Runs(place), fields.number()),
            id::IDLE => self.is_idle = true,
            id::TASK_START_READY | id::TASK_STOP_READY => {
                self.has_readiness = true;
                // µC/OS-II says right before it creates a task that it is ready: nobody else had its id before.
                self.note(Kind::Tasks(place + u64::from(packet.bytes)), fields.number());
                self.has_wake_ups |= packet.id == id::TASK_START_READY;
                self.has_causes = self.has_causes || packet.id == id::TASK_STOP_READY && fields.number() != 0;
            }
            id::TASK_CREATE | id::TASK_TERMINATE => {
                let task = fields.number();
                self.note(Kind::Tasks(place), task);
                self.note_life(task, place);
                let is_created = packet.id == id::TASK_CREATE;
                self.note_first_task(if is_created { FirstTask::Created(task) } else { FirstTask::Other });
            }
            id::STACK_INFO => self.note(Kind::Tasks(place), fields.number()),
            id::TASK_INFO => {
                let task = fields.number();
                self.note(Kind::Tasks(place), task);
                fields.number();
                self.name((Named::Task, task), fields.text(), place);
                self.note_first_task(FirstTask::Other);
            }
            id::ISR_ENTER => self.note(Kind::Interrupts(packet.core), fields.number()),
            id::TRACE_START if self.starts.len() < STARTS_LIMIT => {
                let next = read_any(reading, input, at + usize::from(packet.bytes)).filter(|next| next.id == id::INIT);
                let init = next.map(|next| Init::read(reading, &mut next.fields(input, at + usize::from(packet.bytes))));
                if !is_sent_start(reading, input, at) {
                    return;
                }
                self.gap = Some(place);
                let is_after_stop = std::mem::take(&mut self.is_stopped);
                let what = Start { stamp: packet.delta, is_time: false, is_after_stop, init, tasks: None };
                self.starts.push(Placed { offset: place, ticks: self.ticks, what });
            }
            id::TRACE_START => self.excess += 1,
            id::TRACE_STOP => self.is_stopped = true,
            id::SYSTIME_CYCLES | id::SYSTIME_US if self.times.len() < STARTS_LIMIT => {
                let what = match (packet.id, fields.number()) {
                    (id::SYSTIME_CYCLES, cycles) => SystemTime::Cycles(cycles),
                    (_, low) => SystemTime::Microseconds(u64::from(low) | u64::from(fields.number()) << 32),
                };
                let (offset, ticks) = (place, self.ticks);
                self.times.push(Placed { offset, ticks, what });
                // The list of tasks or the number of modules follows the time at each start.
                let next = read_any(reading, input, at + usize::from(packet.bytes));
                if next.is_some_and(|next| matches!(next.id, id::TASK_INFO | id::NUMMODULES)) && self.starts.len() < STARTS_LIMIT
                {
                    let is_after_stop = std::mem::take(&mut self.is_stopped);
                    let what = Start { stamp: packet.delta, is_time: true, is_after_stop, init: None, tasks: None };
                    self.starts.push(Placed { offset, ticks, what });
                }
            }
            id::OVERFLOW => {
                self.gap = Some(place);
                self.note_first_task(FirstTask::Other);
                if self.overflows.len() < STARTS_LIMIT {
                    self.overflows.push((place, fields.number()));
                }
            }
            id::SYSDESC => {
                let text = fields.text();
                for item in text.split(|&byte| byte == b',') {
                    if let Some((number, name)) = interrupt_name(item) {
                        self.name((Named::Interrupt, number), name, place);
                    }
                }
                if !text.starts_with(b"I#") {
                    _ = insert(&mut self.descriptions, text.to_vec(), &mut self.excess);
                }
            }
            id::MARK_START | id::MARK_STOP => self.note(Kind::Markers, fields.number()),
            id::TIMER_ENTER => self.note(Kind::Timers, fields.number()),
            id::MODULEDESC => {
                fields.number();
                let offset = fields.number();
                self.describe_module(offset, fields.text());
            }
            id::DATA_SAMPLE => self.note(Kind::Data, fields.number()),
            id::INIT => {
                self.init = self.init.or(Some(Init::read(reading, &mut fields)));
            }
            id::NAME_RESOURCE => {
                let resource = fields.number();
                self.name((Named::Resource, resource), fields.text(), place);
            }
            id::END_CALL => self.note(Kind::Ended, fields.number()),
            id::EX => match fields.number() {
                extended::MARK => self.note(Kind::Markers, fields.number()),
                extended::NAME_MARKER => {
                    let marker = fields.number();
                    self.note(Kind::Markers, marker);
                    self.name((Named::Marker, marker), fields.text(), place);
                }
                extended::REGISTER_DATA => {
                    let data = fields.number();
                    self.note(Kind::Data, data);
                    let (name, kind) = (fields.text(), fields.next_number());
                    self.name((Named::Data, data), &with_unit(name, fields), place);
                    if let (Some(kind), true) = (kind, self.data_types.len() < METADATA_LIMIT) {
                        self.data_types.insert(data, kind);
                    }
                }
                extended::HEAP_ALLOC | extended::HEAP_ALLOC_EX => {
                    fields.number();
                    self.allocated(&mut fields);
                }
                _ => {}
            },
            id::FIRST_OF_MODULES.. => self.module_event(packet.id, fields),
            _ => {}
        }
    }

    #[inline(never)]
    fn module_event(&mut self, event: u16, mut fields: Fields<'_>) {
        self.module_events.note(event, fields);
        // The heap tracer of ESP-IDF is the first module.
        if event == id::FIRST_OF_MODULES {
            self.allocated(&mut fields);
        }
    }

    fn allocated(&mut self, fields: &mut Fields<'_>) {
        if let (Some(address), Some(bytes)) = (fields.next_number(), fields.next_number()) {
            if self.allocations.len() < ALLOCATIONS_LIMIT {
                self.allocations.push((address, self.ticks, bytes));
            } else {
                self.excess_allocations += 1;
            }
        }
    }

    /// The ticks between two packets that follow each other closely: fewer than a sixteenth of all are closer. `None` if there are too few
    /// packets to say.
    pub fn close_ticks(&self) -> Option<u64> {
        if self.packets < CLOSE_FROM_PACKETS {
            return None;
        }
        let mut closer = 0;
        let bits = self.by_bits.iter().position(|packets| {
            closer += packets;
            closer * 16 >= self.packets
        });
        Some(bits.and_then(|bits| bits.checked_sub(1)).map_or(1, |bits| 1 << bits))
    }

    /// Only so few packets have more ticks than this that damage may have made up all of them.
    pub fn unusual_ticks(&self) -> u64 {
        let mut longer = 0;
        let bits = self.by_bits.iter().rposition(|packets| {
            longer += packets;
            longer > self.damaged
        });
        match bits {
            Some(31) => u64::MAX,
            bits => bits.map_or(0, |bits| 1 << bits),
        }
    }

    /// The longest time from one packet to the next, unless that is a start. `None`: damage may have made it up.
    pub fn longest_ticks(&self) -> Option<u64> {
        (self.damaged == 0).then_some(self.longest)
    }

    /// The idle task, if the library's hooks for FreeRTOS say of one core that it idles: they name every task but this one, and never say that it
    /// runs.
    pub fn idle_task(&self) -> Option<u32> {
        let is_whole = self.is_idle && self.damaged == 0 && self.overflows.is_empty();
        let is_idle = |&(&task, one): &(&u32, &Use)| {
            !one.runs && self.created.contains_key(&task) && !self.names.contains_key(&(Named::Task, task))
        };
        let mut all = self.tasks.iter().filter(is_idle).map(|(&task, _)| task);
        all.next().filter(|_| is_whole && all.next().is_none())
    }

    /// The idle task, if hooks that say of one core that it idles give it this name: one that never runs, by what they say.
    pub fn named_idle_task(&self, name: &[u8]) -> Option<u32> {
        let is_idle = |&(&task, one): &(&u32, &Use)| {
            let names = self.names.get(&(Named::Task, task)).map_or(&[][..], Vec::as_slice);
            !one.runs && !names.is_empty() && names.iter().all(|given| given.text == name)
        };
        let mut all = self.tasks.iter().filter(is_idle).map(|(&task, _)| task);
        all.next().filter(|_| all.next().is_none())
    }

    /// The id of the address 0, if a task of it has a name but never runs: embassy's executor says so for each task without a name.
    pub fn nobody(&self) -> Option<u32> {
        let init = self.init.filter(|init| init.ram_base != 0)?;
        let id = (0_u32.wrapping_sub(init.ram_base as u32)).checked_shr(init.id_shift)?;
        let is_used = self.tasks.get(&id).is_none_or(|task| task.runs);
        (self.names.contains_key(&(Named::Task, id)) && !is_used).then_some(id)
    }

    fn append(&mut self, next: ScanFacts) {
        let base = self.ticks;
        let mut excess = self.excess + next.excess;
        self.ticks = later(self.ticks, next.ticks);
        self.packets += next.packets;
        self.damaged += next.damaged;
        self.longest = self.longest.max(next.longest);
        self.is_idle |= next.is_idle;
        self.has_readiness |= next.has_readiness;
        self.has_wake_ups |= next.has_wake_ups;
        self.has_causes |= next.has_causes;
        self.by_bits.iter_mut().zip(next.by_bits).for_each(|(all, next)| *all += next);
        self.init = self.init.or(next.init);
        next.descriptions.into_iter().for_each(|text| _ = insert(&mut self.descriptions, text, &mut excess));
        next.tasks.into_iter().for_each(|(task, one)| _ = insert_task(&mut self.tasks, task, one, &mut excess));
        next.interrupts.into_iter().for_each(|item| _ = insert(&mut self.interrupts, item, &mut excess));
        next.markers.into_iter().for_each(|item| _ = insert(&mut self.markers, item, &mut excess));
        next.timers.into_iter().for_each(|item| _ = insert(&mut self.timers, item, &mut excess));
        next.data.into_iter().for_each(|item| _ = insert(&mut self.data, item, &mut excess));
        self.ended.extend(next.ended);
        self.data_types.extend(next.data_types.into_iter().take(METADATA_LIMIT.saturating_sub(self.data_types.len())));
        self.cores = [self.cores[0] | next.cores[0], self.cores[1] | next.cores[1]];
        self.excess = excess;
        for (key, names) in next.names {
            names.into_iter().for_each(|name| self.add_name(key, name));
        }
        next.created.into_iter().for_each(|(task, offset)| self.note_life(task, offset));
        self.gap = next.gap.or(self.gap);
        for (offset, texts) in next.modules {
            texts.iter().for_each(|text| self.describe_module(offset, text));
        }
        self.module_events.append(next.module_events);
        let room = |len: usize| STARTS_LIMIT.saturating_sub(len);
        if let Some(first) = next.first_task {
            self.note_first_task(first);
        }
        let mut next_starts = next.starts;
        match next_starts.first_mut() {
            Some(first) => {
                first.what.is_after_stop |= self.is_stopped;
                self.is_stopped = next.is_stopped;
            }
            None => self.is_stopped |= next.is_stopped,
        }
        let starts = next_starts.into_iter().map(|start| Placed { ticks: later(start.ticks, base), ..start });
        self.starts.extend(starts.take(room(self.starts.len())));
        let times = next.times.into_iter().map(|time| Placed { ticks: later(time.ticks, base), ..time });
        self.times.extend(times.take(room(self.times.len())));
        self.overflows.extend(next.overflows.into_iter().take(room(self.overflows.len())));
        let room = ALLOCATIONS_LIMIT.saturating_sub(self.allocations.len());
        self.excess_allocations += next.excess_allocations + next.allocations.len().saturating_sub(room) as u64;
        self.allocations
            .extend(next.allocations.into_iter().map(|(address, ticks, bytes)| (address, later(ticks, base), bytes)).take(room));
    }

    /// The offsets of overflow packets that damage has made up: two of the three counts after such a one are lower, or there are few
    /// overflows and much damage.
    pub fn made_up_overflows(&self, sessions: &[SessionStart]) -> Vec<u64> {
        let are_few = self.overflows.len() as u64 * DAMAGED_TO_AN_OVERFLOW <= self.damaged;
        let key = |&(offset, count): &(u64, u32)| (sessions.partition_point(|session| session.offset <= offset), count);
        let is_made_up = |&(index, this): &(usize, &(u64, u32))| {
            let next = self.overflows.iter().skip(index + 1).take(3);
            are_few || next.filter(|next| key(next) < key(this)).count() > 1
        };
        self.overflows.iter().enumerate().filter(is_made_up).map(|(_, overflow)| overflow.0).collect()
    }

    /// The operating system whose hooks record.
    pub fn hooks(&self) -> Hooks {
        let name = |text: &Vec<u8>| {
            let text = String::from_utf8_lossy(text);
            text.split(',').find_map(|item| item.trim().strip_prefix("O=").map(Hooks::of))
        };
        self.descriptions.iter().find_map(name).unwrap_or_default()
    }
}

/// The name of sampled values with their unit, if that is recorded: `name (0.1 mV)`, or `name (mV, offset 20)`. The fields are those after the type. The
/// library does not say in which order the factor and the offset apply, so the values stay as they are recorded.
fn with_unit<'a>(name: &'a [u8], mut fields: Fields<'_>) -> Cow<'a, [u8]> {
    let (offset, _, _) = (fields.number().cast_signed(), fields.number(), fields.number());
    let factor = f32::from_bits(fields.number());
    let mut unit = lossy(fields.text());
    if factor.is_finite() && factor != 0.0 && factor != 1.0 {
        unit = format!("{factor} {unit}");
    }
    if offset != 0 {
        unit = format!("{unit}, offset {offset}");
    }
    let unit = unit.trim_matches([' ', ',']);
    if unit.is_empty() { name.into() } else { format!("{} ({unit})", lossy(name)).into_bytes().into() }
}

/// The number and name in `I#7=name`.
fn interrupt_name(item: &[u8]) -> Option<(u32, &[u8])> {
    let item = item.trim_ascii().strip_prefix(b"I#")?;
    let equals = memchr::memchr(b'=', item)?;
    let number = std::str::from_utf8(item.get(..equals)?).ok()?.parse().ok()?;
    Some((number, item.get(equals + 1..)?))
}

/// The facts about an input for the second pass.
pub(super) struct Setup {
    pub options: InputOptions,
    pub reading: Reading,
    pub core: CoreId,
    pub facts: ScanFacts,
    pub sessions: Vec<SessionStart>,
    /// How many other starts may be restarts of the target.
    pub undecided: u64,
    /// Whether an earlier input has copies of the packets that concern all cores.
    pub is_copy: bool,
}

impl Setup {
    /// The cores that may have events.
    pub(super) fn cores(&self) -> Vec<CoreId> {
        match self.facts.cores {
            [_, false] => vec![self.core],
            [true, true] => vec![CoreId(0), CoreId(1)],
            [false, true] => vec![CoreId(1)],
        }
    }
}

impl Recording for Scanner {
    type PartFacts = (Reading, ScanFacts);
    type Facts = Option<Box<(Reading, ScanFacts)>>;
    type Decoder = Decoder;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        sync::cut(&Framing::new(Reading::of(input)), input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> Self::PartFacts {
        let reading = Reading::of(part.input);
        let mut facts = ScanFacts::default();
        each_packet(reading, part.input, part.start..part.end, |at, packet| match packet {
            Ok(packet) => facts.packet(reading, part.input, at, &packet),
            Err(_) => facts.damaged += 1,
        });
        (reading, facts)
    }

    fn join(&self, _bytes: &[u8], facts: &mut Self::Facts, next: Self::PartFacts) {
        match facts {
            None => *facts = Some(Box::new(next)),
            Some(facts) => facts.1.append(next.1),
        }
    }

    fn finish(self, facts: Vec<Self::Facts>, ledgers: &mut [Ledger]) -> Stages<Decoder, Resolver> {
        let mut setups: Vec<Setup> = Vec::new();
        for (index, (facts, options)) in facts.into_iter().zip(self.options).enumerate() {
            let (reading, facts) = facts.map(|facts| *facts).unwrap_or_default();
            if let Some(ledger) = ledgers.get_mut(index) {
                let is_heap = facts.modules.values().flatten().any(|text| memchr::memmem::find(text, HEAP_MODULE).is_some())
                    || options.descriptions.iter().any(|(_, text)| text.contains(HEAP_EVENT));
                let excess = facts.excess + if is_heap { facts.excess_allocations } else { 0 };
                ledger.enter_unplaced(losses::METADATA_LIMIT, excess);
            }
            let core = CoreId(options.core.unwrap_or(u16::try_from(index).unwrap_or(u16::MAX)));
            let (sessions, undecided) = facts.sessions();
            let is_copy = index > 0 && reading == Reading::CoreBit;
            setups.push(Setup { options, reading, core, facts, sessions, undecided, is_copy });
        }
        let decode = Decoder(setups.iter().map(|setup| setup.reading).collect());
        let cores = setups.iter().map(Setup::cores).collect();
        Stages { cores, decode, resolve: Resolver::new(setups) }
    }
}
