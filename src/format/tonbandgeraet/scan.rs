//! The first pass: facts about the whole recording.
//!
//! Names, kinds and the tick rate may come after their first use, so they are collected before anything is decoded. The
//! first two bytes of a frame show whether it is metadata.
//!
//! Targets repeat their metadata, some with every restart of the recording. Only metadata
//! that differs from the last one of the same subject is kept, so that memory is bounded by the changes.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::format::{CORES_SEPARATE, Detail, FormatOptions, Part, Recording, Stages, is_unrecorded};
use crate::frame::split::{self, Delimiters};
use crate::model::{Ledger, TextRef};

use super::decode::{BadFrame, DELIMITER, Decoder, Decoders, Wire};
use super::field::KeepText;
use super::intervals::Intervals;
use super::record::{DELTA, EVENTS, Record, SyncFields, is_freertos};
use super::resolve::{Program, Resolver};
use super::sync_frame;

/// The first pass over a recording.
pub(super) struct Scanner {
    inputs: Vec<FormatOptions>,
    /// The program that ran.
    program: Option<Program>,
}

impl Scanner {
    pub(super) fn new(inputs: &[FormatOptions], program: Option<Program>) -> Scanner {
        Scanner { inputs: inputs.to_vec(), program }
    }
}

impl Recording for Scanner {
    type PartFacts = ScanFacts;
    type Facts = Collector;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        split::cut::<DELIMITER>(input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> ScanFacts {
        ScanFacts::scan(part.input, part.start..part.end)
    }

    fn join(&self, _bytes: &[u8], facts: &mut Collector, next: ScanFacts) {
        facts.add_part(next);
    }

    fn finish(self, facts: Vec<Collector>, ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let mut facts: Vec<ScanFacts> = facts.into_iter().map(Collector::finish).collect();
        let has_freertos = facts.iter().any(ScanFacts::has_freertos);
        let wires: Vec<Wire> = facts.iter().map(ScanFacts::wire).collect();
        // In the plain format no event of one has an id of the other, so a few events of FreeRTOS are read even if it probably did not
        // run. In the superset the target says whether it did.
        let reads_freertos = |wire: Wire| wire == Wire::Plain || has_freertos;
        for (facts, &wire) in facts.iter_mut().zip(&wires) {
            facts.retain(wire, reads_freertos(wire));
        }
        let are_separate = if self.inputs.iter().any(|options| options.flag(CORES_SEPARATE)) {
            Some("given by an option".to_owned())
        } else {
            separate_by_names(&facts)
        };
        let separate =
            are_separate.map(|source| Detail { name: "cores", value: "each runs a program of its own".to_owned(), source });
        let resolver = Resolver::new(&self.inputs, self.program.clone(), facts, has_freertos, separate, ledgers);
        let decoders = Decoders(wires.iter().map(|&wire| Decoder::new(wire, reads_freertos(wire))).collect());
        Stages { cores: resolver.cores(), decode: decoders, resolve: resolver }
    }
}

/// The least number of ids with different names that proves different programs: one may be damage.
const DIFFERENT_NAMES_MIN: usize = 2;

/// Whether the inputs were recorded by programs of their own, and why: the same ids of FreeRTOS have other names in another input, more
/// often than the same ones. A kernel of several cores names its objects once for all of them.
pub(super) fn separate_by_names(facts: &[ScanFacts]) -> Option<String> {
    // By kind of record and id: the record of each input.
    type Named<'a> = FxHashMap<(u8, u32), Vec<Option<Record<&'a [u8]>>>>;
    let mut named = Named::default();
    for (input, facts) in facts.iter().enumerate() {
        for entry in &facts.metadata {
            let id = match entry.record {
                Record::TaskName { task_id: id, .. }
                | Record::QueueName { queue_id: id, .. }
                | Record::QueueKind { queue_id: id, .. }
                | Record::StreamName { stream_id: id, .. }
                | Record::EventGroupName { event_group_id: id, .. }
                | Record::TimerName { timer_id: id, .. } => id,
                _ => continue,
            };
            let by_input = named.entry((entry.record.id(), id)).or_default();
            by_input.resize(by_input.len().max(input + 1), None);
            if let Some(place) = by_input.get_mut(input) {
                *place = Some(entry.record.map_text(|text| facts.bytes(text)));
            }
        }
    }
    let (mut same, mut different) = (0, 0);
    for by_input in named.values() {
        let mut known = by_input.iter().flatten();
        let Some(first) = known.next() else { continue };
        for other in known {
            *(if first == other { &mut same } else { &mut different }) += 1;
        }
    }
    let are_separate = different >= DIFFERENT_NAMES_MIN && different > same;
    are_separate.then(|| format!("inferred: of the same ids {different} have different names or kinds, {same} the same"))
}

/// The limit of metadata records of one input. A real one has some hundreds.
pub const METADATA_LIMIT: usize = 1 << 17;

/// The limit of their texts, in bytes.
const METADATA_TEXT_BYTES: usize = 16 << 20;

/// The limit of syncs that are kept, to be compared with each other. Further syncs are not checked.
const SYNCS_LIMIT: usize = 1 << 19;

/// The limit of different core numbers.
const CORES_LIMIT: usize = 1 << 10;

/// A metadata record with a new fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Where its frame starts in the input, in bytes.
    pub offset: u64,
    /// The same of its last repetition before its subject got another fact.
    pub last_offset: u64,
    /// The core that the last `core_id` record before it named; `None` before the first one.
    pub core: Option<u32>,
    /// The record; its text is in [`ScanFacts::text`].
    pub record: Record<TextRef>,
    /// Whether its frame is invalid in the plain format.
    pub is_superset: bool,
}

/// The `core_id` records of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreFacts {
    /// The core's number.
    pub core: u32,
    /// The number of `core_id` records with this core.
    pub records: u64,
    /// Where the first of them starts in the input, in bytes.
    pub first_offset: u64,
    /// The number of these with time 0, as at the start of a recording.
    pub at_time_zero: u64,
}

/// The fields of a sync frame that are compared with other syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncPoint {
    /// Where its frame starts in the input, in bytes.
    pub offset: u64,
    /// The number of frames before it, good or bad.
    pub frame: u64,
    /// Its time, in ticks.
    pub ts: u64,
    /// Its number.
    pub seq: u32,
    /// The number of events that the target dropped.
    pub dropped: u32,
    /// The number of cores.
    pub cores: u32,
    /// The length of a tick in nanoseconds, as numerator and denominator.
    pub clock: (u32, u32),
    /// Whether a recording starts here.
    pub starts: bool,
}

impl SyncPoint {
    fn new(sync: &SyncFields, offset: u64, frame: u64) -> SyncPoint {
        SyncPoint {
            offset,
            frame,
            ts: sync.ts,
            seq: sync.seq,
            dropped: sync.dropped,
            cores: sync.cores,
            clock: (sync.clock_num, sync.clock_den),
            starts: sync.starts(),
        }
    }
}

/// The facts about a part, or about the whole input.
#[derive(Clone, Debug, Default)]
pub struct ScanFacts {
    /// Metadata in file order. If a record repeats the last one of its subject (its ids, and the core), only its place is noted there. Of
    /// syncs, the clock is the fact.
    pub metadata: Vec<Metadata>,
    /// The texts of the metadata, not necessarily UTF-8.
    pub text: Vec<u8>,
    /// Whether there was more metadata than [`METADATA_LIMIT`], so that later records were left out.
    pub metadata_cut: bool,
    /// The cores that `core_id` records name, in order of first appearance.
    pub cores: Vec<CoreFacts>,
    /// The core that the last `core_id` record named.
    pub last_core: Option<u32>,
    /// Whole frames, good or bad.
    pub frames: u64,
    /// Frames that, by their ids alone, are events of FreeRTOS in the plain format.
    pub freertos_frames: u64,
    /// The number of frames by the first byte of their payload.
    pub ids: Vec<u64>,
    /// Sync frames.
    pub syncs: u64,
    /// Frames that, by their ids alone, have a delta time stamp.
    pub delta_frames: u64,
    /// Frames that, by their ids alone, are events of the plain format with a time stamp.
    pub plain_frames: u64,
    /// Whether the firmware traces FreeRTOS, by a sync.
    pub sync_freertos: bool,
    /// All syncs, up to the limit.
    pub sync_points: Vec<SyncPoint>,
    /// The last drop counter, of the plain format.
    dropped: Option<u32>,
    /// The intervals between drop counters.
    pub intervals: Intervals,
}

impl ScanFacts {
    /// Scans the part `range` of `input`.
    #[must_use]
    pub fn scan(input: &[u8], range: Range<usize>) -> ScanFacts {
        let edges = split::edges::<DELIMITER>(input, range.clone());
        let part = input.get(range.clone()).unwrap_or(&[]);
        let whole_frames = part.get(..part.len() - edges.tail_fragment - edges.unfinished).unwrap_or(&[]);
        let mut collector = Collector::default();
        let mut payload = Vec::new();
        let mut ids = vec![0; 256];
        let (mut at, mut last_counter) = (edges.head_fragment, &[][..]);
        for (number, delimiter) in (0..).zip(Delimiters::<DELIMITER>::new(whole_frames, at)) {
            let frame = whole_frames.get(at..=delimiter).unwrap_or(&[]);
            let id = id_of(frame);
            ids[usize::from(id)] += 1;
            if CLASSES[usize::from(id)] & READ != 0 {
                let offset = (range.start + at) as u64;
                if id == DROPPED_EVT_CNT {
                    collector.facts.intervals.add_counter(offset, number);
                    last_counter = frame;
                } else {
                    collector.facts.frames = number;
                    collector.add_frame(offset, frame, &mut payload);
                }
            }
            at = delimiter + 1;
        }
        if let Ok((Record::DroppedEvtCnt { cnt, .. }, _)) = PLAIN.record(last_counter, &mut payload) {
            collector.facts.dropped = Some(cnt);
        }
        let mut facts = collector.facts;
        facts.add_syncs_within(whole_frames, edges.head_fragment, range.start, &mut payload);
        let count = |flag: u8| CLASSES.iter().zip(&ids).filter(|(class, _)| **class & flag != 0).map(|(_, count)| count).sum();
        facts.frames = ids.iter().sum();
        (facts.freertos_frames, facts.delta_frames, facts.plain_frames) = (count(FREERTOS), count(DELTA_TIME), count(PLAIN_TIME));
        facts.ids = ids;
        facts
    }

    /// Adds the syncs at the end of bad frames, which decoding finds too: a target that is reset within a frame does not end it.
    fn add_syncs_within(&mut self, frames: &[u8], first: usize, start: usize, payload: &mut Vec<u8>) {
        let (mut at, mut counted, mut number, own) = (first, first, 0, self.sync_points.len());
        let begin = memchr::memmem::Finder::new(&sync_frame::BEGIN);
        while let Some(found) = frames.get(at..).and_then(|rest| begin.find(rest)).map(|found| at + found) {
            let frame_at = memchr::memrchr(DELIMITER, &frames[at..found]).map_or(at, |delimiter| at + delimiter + 1);
            at = memchr::memchr(DELIMITER, &frames[found..]).map_or(frames.len(), |delimiter| found + delimiter + 1);
            let frame = &frames[frame_at..at];
            if let Some(within) = sync_frame::place_within(frame)
                && let Ok((Record::Sync { fields }, _)) = SUPERSET.record(&frame[within..], payload)
                && let Ok(sync) = SyncFields::read(fields)
                && self.sync_points.len() < SYNCS_LIMIT
            {
                number += memchr::memchr_iter(DELIMITER, &frames[counted..frame_at]).count() as u64;
                counted = frame_at;
                self.sync_points.push(SyncPoint::new(&sync, (start + frame_at + within) as u64, number));
            }
        }
        if self.sync_points.len() > own {
            self.sync_points.sort_by_key(|point| point.offset);
        }
    }

    /// The facts of the whole input from those of its parts, in file order. They do not depend on the cuts.
    #[must_use]
    pub fn merge(parts: impl IntoIterator<Item = ScanFacts>) -> ScanFacts {
        let mut collector = Collector::default();
        parts.into_iter().for_each(|part| collector.add_part(part));
        collector.facts
    }

    /// The bytes that a reference into [`ScanFacts::text`] refers to; empty if it is out of range.
    #[must_use]
    pub fn bytes(&self, text: TextRef) -> &[u8] {
        self.text.get(text.range()).unwrap_or(&[])
    }

    /// The format. The superset has syncs and, except for a few frames, delta time stamps; the plain format has neither, except for
    /// a few damaged frames.
    #[must_use]
    pub fn wire(&self) -> Wire {
        if self.syncs > 0 && self.delta_frames >= self.plain_frames { Wire::Superset } else { Wire::Plain }
    }

    /// The number of its recordings, and the last count of events that the target dropped.
    pub(super) fn dropped(&self) -> Option<(u64, u32)> {
        let (starts, dropped) = match self.wire() {
            Wire::Plain => (self.cores.iter().map(|core| core.at_time_zero).sum(), self.dropped),
            Wire::Superset => {
                let starts = self.sync_points.iter().filter(|sync| sync.starts).count();
                (starts as u64, self.sync_points.last().map(|sync| sync.dropped))
            }
        };
        // The start of the first one may be missing.
        Some((starts.max(1), dropped?))
    }

    /// Removes records that are not metadata in the format, or not without FreeRTOS.
    pub fn retain(&mut self, wire: Wire, reads_freertos: bool) {
        self.metadata.retain(|entry| {
            (wire == Wire::Superset || !entry.is_superset) && (reads_freertos || !is_freertos(entry.record.id()))
        });
    }

    /// Whether FreeRTOS ran on the target. In the superset the syncs record it. In the plain format, it did if tasks or queues have
    /// names, or if its events are more frequent than damage can explain.
    #[must_use]
    pub fn has_freertos(&self) -> bool {
        if self.wire() == Wire::Superset {
            return self.sync_freertos;
        }
        let of_freertos = |entry: &&Metadata| !entry.is_superset && is_freertos(entry.record.id());
        let has_names = self.metadata.iter().filter(of_freertos).nth(1).is_some();
        has_names || self.freertos_frames > self.frames / 1000
    }

    fn add_core(&mut self, added: CoreFacts) {
        if let Some(core) = self.cores.iter_mut().find(|core| core.core == added.core) {
            core.records += added.records;
            core.at_time_zero += added.at_time_zero;
        } else if self.cores.len() < CORES_LIMIT {
            self.cores.push(added);
        }
    }
}

/// The subject of a metadata record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Subject {
    Resolution,
    AddressBase,
    Isr {
        core: u32,
        isr: u32,
    },
    EventMarker(u32),
    ValueMarker(u32),
    Task(u32),
    /// The idle task of a core, and the timer service of the kernel that runs there.
    IdleTask(u32),
    TimerTask(u32),
    Queue(u32),
    QueueKind(u32),
    Stream(u32),
    EventGroup(u32),
    Timer(u32),
    TaskEventMarker {
        task: u32,
        marker: u32,
    },
    TaskValueMarker {
        task: u32,
        marker: u32,
    },
}

impl Subject {
    /// Whether it has one name or kind in a session. Real targets write the names of all task markers with task 0.
    pub(super) fn is_named_once(self) -> bool {
        use Subject::{AddressBase, IdleTask, Resolution, TaskEventMarker, TaskValueMarker, TimerTask};
        match self {
            TaskEventMarker { task, .. } | TaskValueMarker { task, .. } => task != 0,
            Resolution | AddressBase | IdleTask(_) | TimerTask(_) => false,
            _ => true,
        }
    }

    /// The subject of a record; `None` for records that are not kept. `core` is that of records that name none.
    pub(super) fn of<T: Copy>(record: &Record<T>, core: u32) -> Option<Subject> {
        Some(match *record {
            Record::TsResolutionNs { .. } | Record::Sync { .. } => Subject::Resolution,
            Record::AddressBase { .. } => Subject::AddressBase,
            Record::IsrName { isr_id: isr, .. } => Subject::Isr { core, isr },
            Record::CoreIsrName { core_id: core, isr_id: isr, .. } => Subject::Isr { core, isr },
            Record::EvtmarkerName { evtmarker_id, .. } => Subject::EventMarker(evtmarker_id),
            Record::ValmarkerName { valmarker_id, .. } => Subject::ValueMarker(valmarker_id),
            Record::TaskName { task_id, .. } => Subject::Task(task_id),
            Record::TaskIsIdleTask { core_id, .. } => Subject::IdleTask(core_id),
            Record::TaskIsTimerTask { .. } => Subject::TimerTask(core),
            Record::QueueName { queue_id, .. } => Subject::Queue(queue_id),
            Record::QueueKind { queue_id, .. } => Subject::QueueKind(queue_id),
            Record::StreamName { stream_id, .. } => Subject::Stream(stream_id),
            Record::EventGroupName { event_group_id, .. } => Subject::EventGroup(event_group_id),
            Record::TimerName { timer_id, .. } => Subject::Timer(timer_id),
            Record::TaskEvtmarkerName { evtmarker_id: marker, task_id: task, .. } => Subject::TaskEventMarker { task, marker },
            Record::TaskValmarkerName { valmarker_id: marker, task_id: task, .. } => Subject::TaskValueMarker { task, marker },
            _ => return None,
        })
    }
}

/// Collects facts from frames or from parts.
#[derive(Debug, Default)]
pub struct Collector {
    facts: ScanFacts,
    /// The last record by its id, subject, core and format, as an index into [`ScanFacts::metadata`].
    last: FxHashMap<(u8, Subject, Option<u32>, bool), usize>,
    /// The clock of the last sync, and the index of the first one with it.
    clock: Option<((u32, u32), usize)>,
}

const PLAIN: Decoder = Decoder::plain();
const SUPERSET: Decoder = Decoder::new(Wire::Superset, true);

impl Collector {
    /// Adds the facts of the next part.
    pub fn add_part(&mut self, part: ScanFacts) {
        let core_before = self.facts.last_core;
        for entry in &part.metadata {
            let record = entry.record.map_text(|text| part.bytes(text));
            self.add_metadata((entry.offset, entry.last_offset), entry.core.or(core_before), record, entry.is_superset);
        }
        let facts = &mut self.facts;
        facts.metadata_cut |= part.metadata_cut;
        let room = SYNCS_LIMIT - facts.sync_points.len().min(SYNCS_LIMIT);
        let frames = facts.frames;
        let points = part.sync_points.into_iter().take(room);
        facts.sync_points.extend(points.map(|point| SyncPoint { frame: point.frame + frames, ..point }));
        facts.last_core = part.last_core.or(core_before);
        facts.dropped = part.dropped.or(facts.dropped);
        facts.intervals.join(&part.intervals, facts.frames);
        facts.frames += part.frames;
        facts.freertos_frames += part.freertos_frames;
        facts.ids.resize(part.ids.len().max(facts.ids.len()), 0);
        facts.ids.iter_mut().zip(&part.ids).for_each(|(all, part)| *all += part);
        facts.syncs += part.syncs;
        facts.delta_frames += part.delta_frames;
        facts.plain_frames += part.plain_frames;
        facts.sync_freertos |= part.sync_freertos;
        for core in part.cores {
            facts.add_core(core);
        }
    }

    /// All facts.
    #[must_use]
    pub fn finish(self) -> ScanFacts {
        self.facts
    }

    /// Adds a frame. The format, and whether the target ran FreeRTOS, are not known yet.
    fn add_frame(&mut self, offset: u64, frame: &[u8], payload: &mut Vec<u8>) {
        let is_superset = match PLAIN.record(frame, payload) {
            Ok((record, _)) => return self.add(offset, record, false),
            Err(reason) => matches!(reason, BadFrame::UnknownEvent | BadFrame::LooseBytes),
        };
        if is_superset && let Ok((record, _)) = SUPERSET.record(frame, payload) {
            self.add(offset, record, true);
        }
    }

    fn add(&mut self, offset: u64, record: Record<&[u8]>, is_superset: bool) {
        match record {
            Record::Sync { fields } => {
                let Ok(sync) = SyncFields::read(fields) else { return };
                let facts = &mut self.facts;
                facts.syncs += 1;
                if facts.sync_points.len() < SYNCS_LIMIT {
                    facts.sync_points.push(SyncPoint::new(&sync, offset, facts.frames));
                }
                facts.sync_freertos |= sync.flags & sync_frame::flags::FREERTOS != 0;
                facts.last_core = Some(sync.core);
                self.add_metadata((offset, offset), Some(sync.core), record, is_superset);
            }
            // With fields after those of the plain format: in the superset the cores are known from the syncs.
            Record::CoreId { .. } if is_superset => {}
            Record::CoreId { ts, core_id } => {
                self.facts.intervals.add_start();
                self.facts.last_core = Some(core_id);
                let at_time_zero = u64::from(ts == 0);
                self.facts.add_core(CoreFacts { core: core_id, records: 1, first_offset: offset, at_time_zero });
            }
            _ => self.add_metadata((offset, offset), self.facts.last_core, record, is_superset),
        }
    }

    /// Adds a record that was first at one offset, and last at another.
    fn add_metadata(&mut self, offsets: (u64, u64), core: Option<u32>, record: Record<&[u8]>, is_superset: bool) {
        let Some(subject) = Subject::of(&record, core.unwrap_or(0)) else { return };
        let key = (record.id(), subject, core, is_superset);
        let facts = &mut self.facts;
        let clock = match record {
            Record::Sync { fields } => SyncFields::read(fields).ok().map(|sync| (sync.clock_num, sync.clock_den)),
            _ => None,
        };
        let repeated = match (clock, self.clock) {
            (Some(clock), Some((last, index))) => (clock == last).then_some(index),
            (Some(_), None) => None,
            (None, _) => self.last.get(&key).copied().filter(|&index| {
                facts.metadata.get(index).is_some_and(|last| last.record.map_text(|text| facts.bytes(text)) == record)
            }),
        };
        if let Some(last) = repeated.and_then(|index| facts.metadata.get_mut(index)) {
            last.last_offset = offsets.1;
            return;
        }
        if facts.metadata.len() >= METADATA_LIMIT || facts.text.len() >= METADATA_TEXT_BYTES {
            facts.metadata_cut = true;
            return;
        }
        self.last.insert(key, facts.metadata.len());
        self.clock = clock.map(|clock| (clock, facts.metadata.len())).or(self.clock);
        let record = record.map_text(|text| facts.text.keep(text));
        let (offset, last_offset) = offsets;
        facts.metadata.push(Metadata { offset, last_offset, core, record, is_superset });
    }
}

/// An event of FreeRTOS in the plain format.
const FREERTOS: u8 = 1;
/// Metadata, a `core_id` or a drop counter, which this pass reads.
const READ: u8 = 2;
/// A delta time stamp.
const DELTA_TIME: u8 = 4;
/// An event of the plain format with a time stamp.
const PLAIN_TIME: u8 = 8;

/// The class of a frame, by the first byte of its payload.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut index = 0;
    while index < EVENTS.len() {
        let event = EVENTS[index];
        let mut class = 0;
        if event.is_metadata || matches!(event.id, CORE_ID | DROPPED_EVT_CNT) {
            class |= READ;
        }
        if event.is_freertos && !event.is_superset {
            class |= FREERTOS;
        }
        if !event.is_metadata && !event.is_superset {
            class |= PLAIN_TIME;
        }
        classes[event.id as usize] = class;
        if !event.is_metadata {
            classes[(event.id | DELTA) as usize] = DELTA_TIME;
        }
        index += 1;
    }
    classes
};

const CORE_ID: u8 = 0x00;
const DROPPED_EVT_CNT: u8 = 0x01;

/// The id of a frame by its first two bytes: a COBS code, and the id. For id 0, the code is 1. A frame without these has one that is not
/// used.
#[inline]
fn id_of(frame: &[u8]) -> u8 {
    match frame {
        [1, ..] => CORE_ID,
        [_, id, ..] => *id,
        _ => u8::MAX,
    }
}

/// Events that the tracer of a recording is configured not to record, so that what they would say is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrecorded {
    /// Tasks that become ready.
    pub readiness: bool,
    /// Items sent to queues, and mutexes given.
    pub sends: bool,
}

impl Unrecorded {
    const SWITCHES: &[u8] = &[0x54];
    const READY: &[u8] = &[0x55];
    const SENDS: &[u8] = &[0x66, 0x67, 0x68, 0x69];
    const RECEIVES: &[u8] = &[0x6A, 0x6B];

    /// Of all inputs of a recording.
    pub(super) fn new(facts: &[ScanFacts]) -> Unrecorded {
        let count = |ids: &[u8]| -> u64 {
            let ids = ids.iter().flat_map(|&id| [id, id | DELTA]);
            ids.flat_map(|id| facts.iter().filter_map(move |facts| facts.ids.get(usize::from(id)))).sum()
        };
        Unrecorded {
            readiness: is_unrecorded(count(Self::READY), count(Self::SWITCHES)),
            sends: is_unrecorded(count(Self::SENDS), count(Self::RECEIVES)),
        }
    }

    /// Advice for the user.
    pub(super) fn hints(self) -> impl Iterator<Item = String> {
        let all = [
            (self.readiness, "task_to_rdy_state (0x55)", "the states of tasks that do not run are unknown"),
            (self.sends, "queue_send (0x66 to 0x69)", "how long a mutex is held is unknown"),
        ];
        let all = all.into_iter().filter(|(is_missing, ..)| *is_missing);
        all.map(|(_, events, effect)| {
            format!("The capture has no events {events}: {effect}. Enable them in the target's tracer.")
        })
    }
}
